// SPDX-License-Identifier: MIT
/*
 * Images in a file: they come and go, by several threads; no more are in memory than there is
 * room; bad disks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "bad_disk.h"
#include "base/error.h"
#include "heap.h"
#include "memx/image_file.h"
#include "tap.h"

enum { UNITS = 12, THREADS = 3, TURNS = 300 };

static const enum wse_image_part parts[] = {WSE_IMAGE_FWD, WSE_IMAGE_TR};

static uint64_t in_memory, most;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static int count_alloc(void *ctx, size_t size, struct wse_shared_buf **buf)
{
	pthread_mutex_lock(&counting);
	in_memory += size;
	most = in_memory > most ? in_memory : most;
	pthread_mutex_unlock(&counting);
	return heap_alloc(ctx, size, buf);
}

static void count_free(void *ctx, struct wse_shared_buf *buf)
{
	pthread_mutex_lock(&counting);
	in_memory -= buf->size;
	pthread_mutex_unlock(&counting);
	heap_free(ctx, buf);
}

static const struct wse_buf_pool counted = {count_alloc, count_free, NULL};

struct rig {
	struct wse_graph g;
	struct wse_image images[UNITS];
	unsigned char stays[UNITS];
	struct wse_image_file *f;
	uint64_t room;
};

/* of one image */
static size_t bytes(const struct rig *r, uint32_t unit)
{
	return wse_unit_fwd_bytes(&r->g.units[unit]);
}

static uint8_t *image(const struct rig *r, uint32_t unit, uint32_t part)
{
	const struct wse_image *img = &r->images[unit];

	return wse_span_ptr(part ? img->tr : img->fwd);
}

/* what is in memory at all times */
static size_t stay(const struct rig *r)
{
	size_t sum = 2 * bytes(r, 3);

	for (uint32_t i = 0; i < UNITS; i++)
		sum += wse_unit_image_bytes(&r->g, &r->g.units[i]) - 2 * bytes(r, i);
	return sum;
}

/* unit 3 stays, the images of unit 5 have two records, the rest are small */
static int make(struct rig *r, const char *dir)
{
	const struct wse_tile tile = {.rows = 1, .cols = 4, .lanes = 8, .sram = 1u << 20};
	uint64_t file;

	memset(r, 0, sizeof(*r));
	wse_graph_init(&r->g, &tile, 8);
	for (uint32_t i = 0; i < UNITS; i++)
		wse_graph_unit(&r->g, i, i == 5 ? 32000 : 640, 96, 1);
	for (uint32_t i = 0; i < UNITS; i++)
		wse_graph_vec(&r->g, i, 100 + i, 640, 1);
	r->stays[3] = 1;
	wse_image_file_memory(&r->g, r->stays, THREADS, &r->room, &file);
	r->room = 2 * bytes(r, 5) + 2 * bytes(r, 0);
	return wse_image_file_open(&r->g, r->stays, r->room, dir, &counted, r->images, &r->f);
}

static void unmake(struct rig *r)
{
	wse_image_file_close(r->f);
	wse_graph_fini(&r->g);
}

static uint8_t value(uint32_t unit, uint32_t part, uint64_t step, size_t i)
{
	return (uint8_t)(unit * 37 + part * 101 + step * 11 + i * 3 + i / 251);
}

static int write_all(struct rig *r, uint64_t step)
{
	int ret = 0;

	for (uint32_t u = 0; u < UNITS && !ret; u++) {
		ret = wse_image_file_begin(r->f, u, 0);
		for (size_t i = 0; !ret && i < bytes(r, u); i++)
			for (uint32_t p = 0; p < 2; p++)
				image(r, u, p)[i] = value(u, p, step, i);
		ret = ret ? ret : wse_image_file_end(r->f, u, step, 1);
	}
	return ret;
}

struct reader {
	struct rig *r;
	uint32_t seed;
	uint64_t wrong, again;
	int ret;
};

/* takes one image or two at a time, as a device does */
static void *use(void *arg)
{
	struct reader *d = arg;
	struct rig *r = d->r;

	for (int turn = 0; turn < TURNS && !d->ret; turn++) {
		uint32_t unit[2], part[2], n = 0;

		for (int k = 0; k < 2; k++) {
			d->seed = d->seed * 1664525 + 1013904223;
			unit[n] = (d->seed >> 20) % UNITS;
			part[n] = d->seed >> 19 & 1;
			d->ret = wse_image_file_take(r->f, unit[n], parts[part[n]], !n);
			if (d->ret == -EAGAIN) {
				d->again++;
				d->ret = 0;
				continue;
			}
			if (d->ret)
				break;
			for (size_t i = 0; i < bytes(r, unit[n]); i += 97)
				d->wrong += image(r, unit[n], part[n])[i] !=
					    value(unit[n], part[n], 2, i);
			n++;
		}
		for (; n; n--)
			wse_image_file_done(r->f, unit[n - 1], parts[part[n - 1]]);
	}
	return NULL;
}

static void come_and_go(const char *dir, const char *how)
{
	struct reader d[THREADS];
	pthread_t th[THREADS];
	uint64_t wrong = 0, again = 0;
	struct rig r;
	int ret = make(&r, dir);

	ret = ret ? ret : write_all(&r, 1);
	ret = ret ? ret : write_all(&r, 2);
	for (uint32_t i = 0; i < THREADS && !ret; i++) {
		d[i] = (struct reader){.r = &r, .seed = i};
		pthread_create(&th[i], NULL, use, &d[i]);
	}
	for (uint32_t i = 0; i < THREADS && !ret; i++) {
		pthread_join(th[i], NULL);
		wrong += d[i].wrong + (d[i].ret != 0);
		again += d[i].again;
	}
	ok(!ret && !wrong && wse_image_file_reads(r.f) > 100 && again,
	   "%s: what was written last is what %d threads take: %llu images read, %llu times no room%s%s",
	   how, THREADS, (unsigned long long)wse_image_file_reads(r.f), (unsigned long long)again,
	   ret ? ": " : "", ret ? wse_error() : "");
	ok(most <= r.room + stay(&r), "at most %.1f MB in memory, of %.1f", (double)most * 1e-6,
	   (double)(r.room + stay(&r)) * 1e-6);
	unmake(&r);
	most = in_memory;
}

/*
 * a cut file may be made longer again by a write that was on its way: the record is seen to be
 * wrong all the same
 */
static int says(int how)
{
	static const char *const what[] = {"no room is left", "not what was written",
					   "the file ends too early"};

	return strstr(wse_error(), what[how]) ||
	       (how == 2 && (strstr(wse_error(), "the record is another one") || says(1)));
}

static void faults(const char *dir)
{
	uint8_t byte = 0x5a;
	struct rig r;
	int fd, ret;

	full = 1;
	ret = make(&r, dir);
	ok(ret == -ENOSPC && !r.f && !in_memory && strstr(wse_error(), "the images take"),
	   "no room: %s", wse_error());
	full = 0;
	unmake(&r);
	no_ring = 1;
	for (int how = 0; how < 3; how++) {
		if (make(&r, dir))
			abort();
		fd = scratch();
		full_now = how == 0;
		ret = write_all(&r, 1);
		full_now = 0;
		if (how == 1) /* in the middle of the first unit's record */
			ret = __real_pwrite(fd, &byte, 1, 4096 + 5000) != 1;
		if (how == 2)
			ret = ftruncate(fd, 4096);
		ret = ret ? ret : wse_image_file_take(r.f, 0, WSE_IMAGE_FWD, 1);
		ok(ret < 0 && strstr(wse_error(), "the images in a file in") &&
			   strstr(wse_error(), "unit 0, piece 1 of 2") && says(how),
		   "%s", wse_error());
		/* it is asked again, and others go on */
		ok(how == 0 ||
			   (wse_image_file_take(r.f, 0, WSE_IMAGE_FWD, 1) < 0 &&
			    !wse_image_file_begin(r.f, 0, 0) && !wse_image_file_end(r.f, 0, 2, 1) &&
			    !wse_image_file_take(r.f, 0, WSE_IMAGE_FWD, 1)),
		   "written anew it is there again");
		close(fd);
		unmake(&r);
	}
	no_ring = 0;
}

int main(void)
{
	char dir[] = "/tmp/wse-image-file-XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	come_and_go(dir, "io_uring, where there is one");
	no_ring = 1;
	come_and_go(dir, "a thread");
	no_ring = 0;
	faults(dir);
	ok(!rmdir(dir) && !in_memory, "nothing is left in the folder, and in memory");
	return tap_end();
}
