// SPDX-License-Identifier: MIT
/* Images in a scratch file, and those of them that are in memory. */
#include "memx/image_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/records.h"

#define CHUNK ((size_t)4 << 20) /* bytes of a record */

/* a unit in memory */
struct window {
	struct wse_shared_buf *buf; /* NULL: it is not */
	uint32_t users;
	int moving; /* between file and memory: no other thread touches it */
	int whole;  /* it is what was written last */
	uint64_t turn;
};

struct wse_image_file {
	const struct wse_graph *g;
	const unsigned char *stays;
	struct wse_buf_pool pool;
	struct wse_image *images;
	struct window *w; /* [nunits] */
	uint64_t room, used, turn, reads;
	pthread_mutex_t lock, file_lock;
	pthread_cond_t changed;
	struct wse_records *records;
	struct wse_record *list;
	uint32_t *first; /* [nunits + 1] records of a unit */
};

static size_t bytes_of(const struct wse_image_file *f, uint32_t unit)
{
	return wse_unit_image_bytes(f->g, &f->g->units[unit]);
}

struct wse_image wse_image_spans(const struct wse_graph *g, const struct wse_unit *u,
				 struct wse_shared_buf *buf)
{
	size_t fwd = wse_unit_fwd_bytes(u);
	struct wse_image img = {.fwd = {buf, 0}, .vec = {buf, fwd}};

	if (g->forward)
		return img;
	img.tr = (struct wse_span){buf, fwd};
	img.vec.off = 2 * fwd;
	return img;
}

/* where a unit's images are now, buf NULL: nowhere; its mask stays in memory */
static void place(struct wse_image_file *f, uint32_t unit, struct wse_shared_buf *buf)
{
	struct wse_image old = f->images[unit], now = {0};

	if (buf)
		now = wse_image_spans(f->g, &f->g->units[unit], buf);
	now.mask = old.mask;
	now.mask_tr = old.mask_tr;
	now.packed = old.packed;
	now.packed_tr = old.packed_tr;
	now.dense_grad = old.dense_grad;
	now.packs = old.packs;
	f->images[unit] = now;
}

/* records of all units that do not stay; first [nunits + 1]; NULL: no memory */
static struct wse_record *make_list(const struct wse_graph *g, const unsigned char *stays,
				    uint32_t *first)
{
	struct wse_record *list;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < g->nunits; i++) {
		size_t bytes = wse_unit_image_bytes(g, &g->units[i]);

		first[i] = n;
		n += stays[i] ? 0 : (uint32_t)((bytes + CHUNK - 1) / CHUNK);
	}
	first[g->nunits] = n;
	list = calloc(n + 1ul, sizeof(*list));
	for (uint32_t i = 0; i < g->nunits && list; i++) {
		size_t left = wse_unit_image_bytes(g, &g->units[i]);
		uint32_t pieces = first[i + 1] - first[i];

		for (uint32_t p = 1; p <= pieces; p++, k++) {
			list[k] = (struct wse_record){left < CHUNK ? left : CHUNK, i, p, pieces};
			left -= list[k].bytes;
		}
	}
	return list;
}

uint64_t wse_image_file_memory(const struct wse_graph *g, const unsigned char *stays,
			       uint32_t devices, uint64_t *room, uint64_t *file)
{
	uint32_t *first = calloc(g->nunits + 1ul, sizeof(*first));
	struct wse_record *list = first ? make_list(g, stays, first) : NULL;
	uint64_t most = 0, sum = 0, stay = 0, slots = 0;

	for (uint32_t i = 0; i < g->nunits; i++) {
		uint64_t bytes = wse_unit_image_bytes(g, &g->units[i]);

		if (stays[i]) {
			stay += bytes;
			continue;
		}
		sum += bytes;
		most = bytes > most ? bytes : most;
	}
	*file = 0;
	if (list)
		slots = wse_records_memory(list, first[g->nunits], file);
	/* a unit a device, and one that is updated, or comes next */
	*room = (devices + 1) * most < sum ? (devices + 1) * most : sum;
	free(first);
	free(list);
	return stay + *room + slots;
}

int wse_image_file_open(const struct wse_graph *g, const unsigned char *stays, uint64_t room,
			const char *dir, const struct wse_buf_pool *pool, struct wse_image *images,
			struct wse_image_file **file)
{
	struct wse_image_file *f = calloc(1, sizeof(*f));
	int ret = 0;

	*file = NULL;
	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->g = g;
	f->stays = stays;
	f->pool = *pool;
	f->images = images;
	f->room = room;
	f->w = calloc(g->nunits + 1ul, sizeof(*f->w));
	f->first = calloc(g->nunits + 1ul, sizeof(*f->first));
	f->list = f->first ? make_list(g, stays, f->first) : NULL;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->file_lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	if (!f->w || !f->list)
		ret = wse_fail(-ENOMEM, "no memory");
	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		if (!stays[i])
			continue;
		ret = pool->alloc(pool->ctx, bytes_of(f, i), &f->w[i].buf);
		if (!ret)
			images[i] = wse_image_spans(g, &g->units[i], f->w[i].buf);
	}
	ret = ret ? ret
		  : wse_records_open(dir, "images", f->list, f->first[g->nunits], &f->records);
	if (ret) {
		wse_image_file_close(f);
		return ret;
	}
	*file = f;
	return 0;
}

void wse_image_file_close(struct wse_image_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->w && i < f->g->nunits; i++)
		if (f->w[i].buf)
			f->pool.free(f->pool.ctx, f->w[i].buf);
	wse_records_close(f->records);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->file_lock);
	pthread_cond_destroy(&f->changed);
	free(f->w);
	free(f->first);
	free(f->list);
	free(f);
}

/* ---- between file and memory: alone on the window ---- */

static int move(struct wse_image_file *f, uint32_t unit, int write, uint64_t step)
{
	char *image = f->w[unit].buf->ptr;
	int ret = 0;

	for (uint32_t k = f->first[unit]; k < f->first[unit + 1] && !ret; k++) {
		void *mem;

		pthread_mutex_lock(&f->file_lock);
		ret = write ? wse_records_new(f->records, k, &mem)
			    : wse_records_get(f->records, k, f->first[unit + 1], &mem);
		if (!ret) {
			if (write)
				memcpy(mem, image, f->list[k].bytes);
			else
				memcpy(image, mem, f->list[k].bytes);
			ret = wse_records_put(f->records, k, write, step);
		}
		pthread_mutex_unlock(&f->file_lock);
		image += f->list[k].bytes;
	}
	return ret;
}

/* ---- room; with the lock ---- */

/* the unit that was done with longest ago leaves the memory; 0: all are in use */
static int evict(struct wse_image_file *f)
{
	uint32_t oldest = WSE_NO_UNIT;

	for (uint32_t i = 0; i < f->g->nunits; i++) {
		const struct window *w = &f->w[i];

		if (!w->buf || w->users || w->moving || f->stays[i])
			continue;
		if (oldest == WSE_NO_UNIT || w->turn < f->w[oldest].turn)
			oldest = i;
	}
	if (oldest == WSE_NO_UNIT)
		return 0;
	f->pool.free(f->pool.ctx, f->w[oldest].buf);
	f->w[oldest].buf = NULL;
	f->w[oldest].whole = 0;
	f->used -= bytes_of(f, oldest);
	place(f, oldest, NULL);
	return 1;
}

/* memory for a unit; -EAGAIN: others have all of it */
static int make_room(struct wse_image_file *f, uint32_t unit)
{
	struct window *w = &f->w[unit];
	size_t bytes = bytes_of(f, unit);
	int ret;

	if (w->buf)
		return 0;
	while (f->used && f->used + bytes > f->room)
		if (!evict(f))
			return -EAGAIN;
	ret = f->pool.alloc(f->pool.ctx, bytes, &w->buf);
	if (ret)
		return wse_fail(ret, "no memory for the images of unit %u", unit);
	f->used += bytes;
	w->whole = 0;
	place(f, unit, w->buf);
	return 0;
}

/* waits until no thread has the window and it has memory, and takes it for moving */
static int grab(struct wse_image_file *f, uint32_t unit, int alone, int wait)
{
	struct window *w = &f->w[unit];
	int ret;

	for (;;) {
		ret = w->moving || (alone && w->users) ? -EAGAIN : make_room(f, unit);
		if (ret != -EAGAIN || !wait)
			return ret;
		pthread_cond_wait(&f->changed, &f->lock);
	}
}

int wse_image_file_take(struct wse_image_file *f, uint32_t unit, int wait)
{
	struct window *w = &f->w[unit];
	int ret;

	if (f->stays[unit])
		return 0;
	pthread_mutex_lock(&f->lock);
	ret = grab(f, unit, 0, wait);
	if (!ret) {
		w->users++;
		w->turn = ++f->turn;
	}
	if (!ret && !w->whole) {
		w->moving = 1;
		f->reads++;
		pthread_mutex_unlock(&f->lock);
		ret = move(f, unit, 0, 0);
		pthread_mutex_lock(&f->lock);
		w->moving = 0;
		w->whole = !ret;
		w->users -= ret != 0;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return ret;
}

void wse_image_file_done(struct wse_image_file *f, uint32_t unit)
{
	if (f->stays[unit])
		return;
	pthread_mutex_lock(&f->lock);
	f->w[unit].users--;
	f->w[unit].turn = ++f->turn;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

int wse_image_file_begin(struct wse_image_file *f, uint32_t unit, int keep)
{
	int ret, whole = 0;

	if (f->stays[unit])
		return 0;
	pthread_mutex_lock(&f->lock);
	ret = grab(f, unit, 1, 1);
	if (!ret) {
		f->w[unit].moving = 1;
		whole = f->w[unit].whole;
		f->w[unit].whole = 0;
	}
	pthread_mutex_unlock(&f->lock);
	if (ret || whole || !keep)
		return ret;
	ret = move(f, unit, 0, 0);
	if (ret)
		wse_image_file_end(f, unit, 0, 0);
	return ret;
}

int wse_image_file_end(struct wse_image_file *f, uint32_t unit, uint64_t step, int keep)
{
	int ret;

	if (f->stays[unit])
		return 0;
	ret = keep ? move(f, unit, 1, step) : -ECANCELED;
	pthread_mutex_lock(&f->lock);
	f->w[unit].moving = 0;
	f->w[unit].whole = !ret;
	f->w[unit].turn = ++f->turn;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return keep ? ret : 0;
}

uint64_t wse_image_file_reads(const struct wse_image_file *f)
{
	return f->reads;
}
