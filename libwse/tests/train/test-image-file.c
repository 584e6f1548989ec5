// SPDX-License-Identifier: MIT
/*
 * Images in a file: they come and go, by several threads; no more are in memory than there is
 * room; some lie packed, by masks that change; bad disks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "bad_disk.h"
#include "base/error.h"
#include "heap.h"
#include "memx/image_file.h"
#include "num/num.h"
#include "ops/emit.h"
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
	struct wse_masks masks; /* of units that lie packed alone */
	struct wse_unit_mask unit[UNITS];
	struct wse_shared_buf bits[UNITS];
	unsigned char stays[UNITS];
	struct wse_image_file *f;
	uint64_t room;
};

static const struct wse_packed *packed(const struct rig *r, uint32_t unit, uint32_t part)
{
	return part ? &r->unit[unit].packed_tr : &r->unit[unit].packed;
}

/* of one image */
static size_t bytes(const struct rig *r, uint32_t unit, uint32_t part)
{
	return r->unit[unit].alone ? packed(r, unit, part)->bytes2
				   : wse_unit_fwd_bytes(&r->g.units[unit]);
}

static uint8_t *image(const struct rig *r, uint32_t unit, uint32_t part)
{
	const struct wse_image *img = &r->images[unit];

	if (r->unit[unit].alone)
		return packed(r, unit, part)->buf->ptr;
	return wse_span_ptr(part ? img->tr : img->fwd);
}

/* a unit's masks of a step */
static int lay_out(struct rig *r, uint32_t unit, uint64_t step)
{
	struct wse_unit_mask *k = &r->unit[unit];
	size_t back = wse_mask_bytes(&k->fwd);
	unsigned char *bits = k->buf->ptr;
	uint32_t percent = (unit * 11 + 20 + (uint32_t)step % 2 * 55) % 100;
	int ret = 0;

	memset(bits, 0, k->buf->size);
	for (size_t i = 0; i < (size_t)k->fwd.rows * k->fwd.width; i++) {
		size_t row = i / k->fwd.width, j = i % k->fwd.width;

		if (wse_rng_u64(step, unit, i) % 100 >= percent)
			continue;
		wse_mask_set(&k->fwd, bits, row, j, 1);
		wse_mask_set(&k->back, bits + back, j, row, 1);
	}
	for (int i = 0; i < 2 && !ret; i++) {
		struct wse_packed *p = i ? &k->packed_tr : &k->packed;

		wse_packed_fini(p);
		ret = wse_packed_init(p, &r->g, &r->g.units[unit], i, bits + (i ? back : 0),
				      wse_emit_stream_bytes);
	}
	return ret;
}

static int mask(struct rig *r, uint32_t unit)
{
	struct wse_unit_mask *k = &r->unit[unit];
	struct wse_shared_buf *b = &r->bits[unit];

	k->alone = k->moves = k->values = 1;
	k->fwd = wse_mask_shape(&r->g, &r->g.units[unit], 0);
	k->back = wse_mask_shape(&r->g, &r->g.units[unit], 1);
	b->size = wse_mask_bytes(&k->fwd) + wse_mask_bytes(&k->back);
	b->ptr = malloc(b->size);
	k->buf = b;
	return b->ptr ? lay_out(r, unit, 0) : -ENOMEM;
}

/* what is in memory at all times */
static size_t stay(const struct rig *r)
{
	size_t sum = 2 * wse_unit_fwd_bytes(&r->g.units[3]);

	for (uint32_t i = 0; i < UNITS; i++)
		sum += wse_unit_image_bytes(&r->g, &r->g.units[i]) -
		       2 * wse_unit_fwd_bytes(&r->g.units[i]);
	return sum;
}

/*
 * unit 3 stays, the images of unit 5 have two records, the rest are small; masks: every other one
 * of these lies packed, 2: unit 5, too
 */
static int make(struct rig *r, const char *dir, int masks)
{
	const struct wse_tile tile = {.rows = 1, .cols = 4, .lanes = 8, .sram = 1u << 20};
	uint64_t file;
	int ret = 0;

	memset(r, 0, sizeof(*r));
	wse_graph_init(&r->g, &tile, 8);
	for (uint32_t i = 0; i < UNITS; i++)
		wse_graph_unit(&r->g, i, i == 5 ? 32000 : 640, 96, 1);
	for (uint32_t i = 0; i < UNITS; i++)
		wse_graph_vec(&r->g, i, 100 + i, 640, 1);
	r->stays[3] = 1;
	wse_image_file_memory(&r->g, r->stays, THREADS, &r->room, &file);
	r->room = 2 * wse_unit_fwd_bytes(&r->g.units[masks == 2 ? 0 : 5]) +
		  2 * wse_unit_fwd_bytes(&r->g.units[0]);
	r->masks = (struct wse_masks){.g = &r->g, .unit = r->unit};
	for (uint32_t i = 0; i < UNITS && masks && !ret; i += i == 4 ? 3 : 2)
		ret = mask(r, i);
	if (masks == 2)
		ret = ret ? ret : mask(r, 5);
	if (ret)
		abort();
	return wse_image_file_open(&r->g, r->stays, &r->masks, r->room, dir, &counted, r->images,
				   &r->f);
}

static void unmake(struct rig *r)
{
	wse_image_file_close(r->f);
	for (uint32_t i = 0; i < UNITS; i++) {
		wse_packed_fini(&r->unit[i].packed);
		wse_packed_fini(&r->unit[i].packed_tr);
		free(r->bits[i].ptr);
	}
	wse_graph_fini(&r->g);
}

static uint8_t value(uint32_t unit, uint32_t part, uint64_t step, size_t i)
{
	return (uint8_t)(unit * 37 + part * 101 + step * 11 + i * 3 + i / 251);
}

/* a unit's images of a step; masks are others in each */
static int write_unit(struct rig *r, uint32_t u, uint64_t step)
{
	int ret = wse_image_file_begin(r->f, u, 0);

	if (!ret && r->unit[u].alone)
		ret = lay_out(r, u, step);
	ret = ret ? ret : wse_image_file_room(r->f, u);
	for (uint32_t p = 0; p < 2 && !ret; p++)
		for (size_t i = 0; i < bytes(r, u, p); i++)
			image(r, u, p)[i] = value(u, p, step, i);
	return ret ? ret : wse_image_file_end(r->f, u, step, 1);
}

static int write_all(struct rig *r, uint64_t step)
{
	int ret = 0;

	for (uint32_t u = 0; u < UNITS && !ret; u++)
		ret = write_unit(r, u, step);
	return ret;
}

/* what a step's images take in the file, by units' own sizes */
static size_t all_bytes(const struct rig *r)
{
	size_t sum = 0;

	for (uint32_t u = 0; u < UNITS; u++)
		for (uint32_t p = 0; p < 2 && !r->stays[u]; p++)
			sum += bytes(r, u, p);
	return sum;
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
			for (size_t i = 0; i < bytes(r, unit[n], part[n]); i += 97)
				d->wrong += image(r, unit[n], part[n])[i] !=
					    value(unit[n], part[n], 2, i);
			n++;
		}
		for (; n; n--)
			wse_image_file_done(r->f, unit[n - 1], parts[part[n - 1]]);
	}
	return NULL;
}

static void come_and_go(const char *dir, const char *how, int masks)
{
	struct reader d[THREADS];
	pthread_t th[THREADS];
	uint64_t wrong = 0, again = 0, in, out, before;
	struct rig r;
	int ret = make(&r, dir, masks);

	ret = ret ? ret : write_all(&r, 1);
	wse_image_file_moved(r.f, &in, &before);
	ret = ret ? ret : write_all(&r, 2);
	wse_image_file_moved(r.f, &in, &out);
	if (masks == 2 && r.room < bytes(&r, 5, 0) + bytes(&r, 5, 1)) /* both are there */
		r.room = bytes(&r, 5, 0) + bytes(&r, 5, 1);
	ok(!ret && out - before >= all_bytes(&r) &&
		   out - before <= all_bytes(&r) + 2 * 4096 * (2 * UNITS + 2),
	   "%s: %llu bytes of images go to the file, of %zu that there are", how,
	   (unsigned long long)(out - before), all_bytes(&r));
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

static void faults(const char *dir, int masks)
{
	uint8_t byte = 0x5a;
	struct rig r;
	int fd, ret;

	full = 1;
	ret = make(&r, dir, masks);
	ok(ret == -ENOSPC && !r.f && !in_memory && strstr(wse_error(), "the images take"),
	   "no room: %s", wse_error());
	full = 0;
	unmake(&r);
	no_ring = 1;
	for (int how = 0; how < 3; how++) {
		if (make(&r, dir, masks))
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
		ok(how == 0 || (wse_image_file_take(r.f, 0, WSE_IMAGE_FWD, 1) < 0 &&
				!write_unit(&r, 0, 2) &&
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
	come_and_go(dir, "io_uring, where there is one", 0);
	come_and_go(dir, "some lie packed", 1);
	come_and_go(dir, "a large one, too", 2);
	no_ring = 1;
	come_and_go(dir, "a thread", 0);
	no_ring = 0;
	faults(dir, 0);
	faults(dir, 1);
	ok(!rmdir(dir) && !in_memory, "nothing is left in the folder, and in memory");
	return tap_end();
}
