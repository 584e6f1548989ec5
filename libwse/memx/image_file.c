// SPDX-License-Identifier: MIT
/* Images in a scratch file, and those of them that are in memory. */
#include "memx/image_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/records.h"
#include "ops/ops.h"

#define CHUNK ((size_t)4 << 20) /* bytes of a record */
#define PARTS 2u		/* images of a unit: as it is, and transposed */

/* an image in memory */
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
	struct wse_shared_buf **stay; /* [nunits]: what is no window: vectors, or all of it */
	struct window *w;	      /* [nunits * PARTS] */
	uint64_t room, used, turn, reads;
	pthread_mutex_t lock, file_lock;
	pthread_cond_t changed;
	struct wse_records *records;
	struct wse_record *list;
	uint32_t *first; /* [nunits * PARTS + 1] records of an image */
};

/* of images [nunits * PARTS] */
static size_t part_bytes(const struct wse_graph *g, uint32_t at)
{
	return at % PARTS && g->forward ? 0 : wse_unit_fwd_bytes(&g->units[at / PARTS]);
}

/* of a unit that is no window; a buffer has a length */
static size_t stay_bytes(const struct wse_graph *g, uint32_t unit, int all)
{
	const struct wse_unit *u = &g->units[unit];
	size_t n = all ? wse_unit_image_bytes(g, u) : (size_t)u->vec_rows * g->tile.cols * 4;

	return n ? n : 1;
}

static size_t bytes_of(const struct wse_image_file *f, uint32_t at)
{
	return part_bytes(f->g, at);
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

/* where an image is now, buf NULL: nowhere; vectors and masks stay in memory */
static void place(struct wse_image_file *f, uint32_t at, struct wse_shared_buf *buf)
{
	struct wse_image *img = &f->images[at / PARTS];

	*(at % PARTS ? &img->tr : &img->fwd) = (struct wse_span){buf, 0};
}

/* records of all images that do not stay; first [nunits * PARTS + 1]; NULL: no memory */
static struct wse_record *make_list(const struct wse_graph *g, const unsigned char *stays,
				    uint32_t *first)
{
	struct wse_record *list;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < g->nunits * PARTS; i++) {
		first[i] = n;
		n += stays[i / PARTS] ? 0 : (uint32_t)((part_bytes(g, i) + CHUNK - 1) / CHUNK);
	}
	first[g->nunits * PARTS] = n;
	list = calloc(n + 1ul, sizeof(*list));
	for (uint32_t i = 0; i < g->nunits * PARTS && list; i++) {
		uint32_t unit = i / PARTS, all = first[(unit + 1) * PARTS] - first[unit * PARTS];
		size_t left = part_bytes(g, i);

		for (; k < first[i + 1]; k++) {
			list[k] = (struct wse_record){.bytes = left < CHUNK ? left : CHUNK,
						      .unit = unit,
						      .piece = k - first[unit * PARTS] + 1,
						      .pieces = all};
			left -= list[k].bytes;
		}
	}
	return list;
}

/* a pass's operations that stream an image */
struct use {
	uint32_t first, last;
};

/*
 * Most bytes of images that operations [begin, end) take by turns: one, or more of them where a
 * feed-forward network goes by chunks. use [nunits * PARTS] is scratch
 */
static uint64_t by_turns(const struct wse_graph *g, const unsigned char *stays, uint32_t begin,
			 uint32_t end, struct use *use)
{
	const uint32_t n = g->nunits * PARTS;
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		use[i] = (struct use){UINT32_MAX, 0};
	for (uint32_t at = begin; at < end; at++) {
		enum wse_image_part part = wse_op_image(&g->ops[at]);
		struct use *u;

		if (part == WSE_IMAGE_NONE || stays[g->ops[at].unit])
			continue;
		u = &use[g->ops[at].unit * PARTS + (part == WSE_IMAGE_TR)];
		u->first = at < u->first ? at : u->first;
		u->last = at;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (uint32_t k = 0; k < n && use[i].first != UINT32_MAX; k++)
			if (use[k].first <= use[i].first && use[k].last >= use[i].first)
				sum += part_bytes(g, k);
		most = sum > most ? sum : most;
	}
	return most;
}

/* bytes that devices need so that none reads an image twice in a pass */
static uint64_t room_of(const struct wse_graph *g, const unsigned char *stays, uint32_t devices,
			struct use *use)
{
	uint64_t fwd = by_turns(g, stays, 0, g->nforward, use);
	uint64_t back = by_turns(g, stays, g->nforward, g->nops, use), most = 0, turns, room;

	for (uint32_t i = 0; i < g->nunits * PARTS; i++)
		if (!stays[i / PARTS] && part_bytes(g, i) > most)
			most = part_bytes(g, i);
	turns = devices * (fwd > back ? fwd : back);
	/* an image a device, and one that comes next; both of the unit that is updated */
	room = (devices + 1) * most;
	return turns > room ? turns : room;
}

uint64_t wse_image_file_memory(const struct wse_graph *g, const unsigned char *stays,
			       uint32_t devices, uint64_t *room, uint64_t *file)
{
	const uint32_t n = g->nunits * PARTS;
	uint32_t *first = calloc(n + 1ul, sizeof(*first));
	struct use *use = calloc(n + 1ul, sizeof(*use));
	struct wse_record *list = first ? make_list(g, stays, first) : NULL;
	uint64_t sum = 0, stay = 0, slots = 0;

	for (uint32_t i = 0; i < g->nunits; i++)
		stay += stay_bytes(g, i, stays[i]);
	for (uint32_t i = 0; i < n; i++)
		sum += stays[i / PARTS] ? 0 : part_bytes(g, i);
	*file = 0;
	if (list)
		slots = wse_records_memory(list, first[n], file);
	*room = use ? room_of(g, stays, devices, use) : sum;
	*room = *room < sum ? *room : sum;
	free(first);
	free(use);
	free(list);
	return stay + *room + slots;
}

/* what is in memory at all times */
static int open_stay(struct wse_image_file *f)
{
	const struct wse_graph *g = f->g;
	int ret = 0;

	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		ret = f->pool.alloc(f->pool.ctx, stay_bytes(g, i, f->stays[i]), &f->stay[i]);
		if (ret)
			return ret;
		f->images[i] = f->stays[i] ? wse_image_spans(g, &g->units[i], f->stay[i])
					   : (struct wse_image){.vec = {f->stay[i], 0}};
	}
	return 0;
}

int wse_image_file_open(const struct wse_graph *g, const unsigned char *stays, uint64_t room,
			const char *dir, const struct wse_buf_pool *pool, struct wse_image *images,
			struct wse_image_file **file)
{
	struct wse_image_file *f = calloc(1, sizeof(*f));
	int ret;

	*file = NULL;
	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->g = g;
	f->stays = stays;
	f->pool = *pool;
	f->images = images;
	f->room = room;
	for (uint32_t i = 0; i < g->nunits; i++) /* both are there to be written */
		if (!stays[i] && PARTS * wse_unit_fwd_bytes(&g->units[i]) > f->room)
			f->room = PARTS * wse_unit_fwd_bytes(&g->units[i]);
	f->stay = calloc(g->nunits + 1ul, sizeof(struct wse_shared_buf *));
	f->w = calloc(g->nunits * PARTS + 1ul, sizeof(*f->w));
	f->first = calloc(g->nunits * PARTS + 1ul, sizeof(*f->first));
	f->list = f->first ? make_list(g, stays, f->first) : NULL;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->file_lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	ret = f->stay && f->w && f->list ? open_stay(f) : wse_fail(-ENOMEM, "no memory");
	ret = ret ? ret
		  : wse_records_open(dir, "images", f->list, f->first[g->nunits * PARTS],
				     &f->records);
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
	for (uint32_t i = 0; f->w && i < f->g->nunits * PARTS; i++)
		if (f->w[i].buf)
			f->pool.free(f->pool.ctx, f->w[i].buf);
	for (uint32_t i = 0; f->stay && i < f->g->nunits; i++)
		if (f->stay[i])
			f->pool.free(f->pool.ctx, f->stay[i]);
	wse_records_close(f->records);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->file_lock);
	pthread_cond_destroy(&f->changed);
	free(f->stay);
	free(f->w);
	free(f->first);
	free(f->list);
	free(f);
}

/* ---- between file and memory: alone on the window ---- */

static int move(struct wse_image_file *f, uint32_t at, int write, uint64_t step)
{
	char *image = f->w[at].buf ? f->w[at].buf->ptr : NULL;
	int ret = 0;

	for (uint32_t k = f->first[at]; k < f->first[at + 1] && !ret; k++) {
		void *mem;

		pthread_mutex_lock(&f->file_lock);
		ret = write ? wse_records_new(f->records, k, &mem)
			    : wse_records_get(f->records, k, f->first[at + 1], &mem);
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

/* the image that was done with longest ago leaves the memory; 0: all are in use */
static int evict(struct wse_image_file *f)
{
	uint32_t oldest = UINT32_MAX;

	for (uint32_t i = 0; i < f->g->nunits * PARTS; i++) {
		const struct window *w = &f->w[i];

		if (!w->buf || w->users || w->moving)
			continue;
		if (oldest == UINT32_MAX || w->turn < f->w[oldest].turn)
			oldest = i;
	}
	if (oldest == UINT32_MAX)
		return 0;
	f->pool.free(f->pool.ctx, f->w[oldest].buf);
	f->w[oldest].buf = NULL;
	f->w[oldest].whole = 0;
	f->used -= bytes_of(f, oldest);
	place(f, oldest, NULL);
	return 1;
}

/* memory for an image; -EAGAIN: others have all of it */
static int make_room(struct wse_image_file *f, uint32_t at)
{
	struct window *w = &f->w[at];
	size_t bytes = bytes_of(f, at);
	int ret;

	if (w->buf || !bytes)
		return 0;
	while (f->used && f->used + bytes > f->room)
		if (!evict(f))
			return -EAGAIN;
	ret = f->pool.alloc(f->pool.ctx, bytes, &w->buf);
	if (ret)
		return wse_fail(ret, "no memory for the images of unit %u", at / PARTS);
	f->used += bytes;
	w->whole = 0;
	place(f, at, w->buf);
	return 0;
}

/* waits until no thread has the window and it has memory, and takes it for moving */
static int grab(struct wse_image_file *f, uint32_t at, int alone, int wait)
{
	struct window *w = &f->w[at];
	int ret;

	for (;;) {
		ret = w->moving || (alone && w->users) ? -EAGAIN : make_room(f, at);
		if (ret != -EAGAIN || !wait)
			return ret;
		pthread_cond_wait(&f->changed, &f->lock);
	}
}

/* UINT32_MAX: it is no window */
static uint32_t window_of(const struct wse_image_file *f, uint32_t unit, enum wse_image_part part)
{
	if (part == WSE_IMAGE_NONE || f->stays[unit])
		return UINT32_MAX;
	return unit * PARTS + (part == WSE_IMAGE_TR);
}

int wse_image_file_take(struct wse_image_file *f, uint32_t unit, enum wse_image_part part, int wait)
{
	uint32_t at = window_of(f, unit, part);
	struct window *w;
	int ret;

	if (at == UINT32_MAX)
		return 0;
	w = &f->w[at];
	pthread_mutex_lock(&f->lock);
	ret = grab(f, at, 0, wait);
	if (!ret) {
		w->users++;
		w->turn = ++f->turn;
	}
	if (!ret && !w->whole) {
		w->moving = 1;
		f->reads++;
		pthread_mutex_unlock(&f->lock);
		ret = move(f, at, 0, 0);
		pthread_mutex_lock(&f->lock);
		w->moving = 0;
		w->whole = !ret;
		w->users -= ret != 0;
		pthread_cond_broadcast(&f->changed);
	}
	pthread_mutex_unlock(&f->lock);
	return ret;
}

void wse_image_file_done(struct wse_image_file *f, uint32_t unit, enum wse_image_part part)
{
	uint32_t at = window_of(f, unit, part);

	if (at == UINT32_MAX)
		return;
	pthread_mutex_lock(&f->lock);
	f->w[at].users--;
	f->w[at].turn = ++f->turn;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

/* with the lock: images [first, end) are as they are, whole or not, and for others */
static void let_go(struct wse_image_file *f, uint32_t first, uint32_t end, int whole)
{
	for (uint32_t at = first; at < end; at++) {
		f->w[at].moving = 0;
		f->w[at].whole = whole;
		f->w[at].turn = ++f->turn;
	}
	pthread_cond_broadcast(&f->changed);
}

int wse_image_file_begin(struct wse_image_file *f, uint32_t unit, int keep)
{
	const uint32_t first = unit * PARTS;
	int ret = 0, whole[PARTS] = {0};

	if (f->stays[unit])
		return 0;
	pthread_mutex_lock(&f->lock);
	for (uint32_t k = 0; k < PARTS && !ret; k++) {
		struct window *w = &f->w[first + k];

		ret = grab(f, first + k, 1, 1);
		if (ret) {
			let_go(f, first, first + k, 0);
			break;
		}
		w->moving = 1;
		whole[k] = w->whole;
		w->whole = 0;
	}
	pthread_mutex_unlock(&f->lock);
	if (ret)
		return ret;
	for (uint32_t k = 0; k < PARTS && !ret && keep; k++)
		ret = whole[k] ? 0 : move(f, first + k, 0, 0);
	if (ret)
		wse_image_file_end(f, unit, 0, 0);
	return ret;
}

int wse_image_file_end(struct wse_image_file *f, uint32_t unit, uint64_t step, int keep)
{
	int ret = keep ? 0 : -ECANCELED;

	if (f->stays[unit])
		return 0;
	for (uint32_t at = unit * PARTS; at < (unit + 1) * PARTS && !ret; at++)
		ret = move(f, at, 1, step);
	pthread_mutex_lock(&f->lock);
	let_go(f, unit * PARTS, (unit + 1) * PARTS, !ret);
	pthread_mutex_unlock(&f->lock);
	return keep ? ret : 0;
}

uint64_t wse_image_file_reads(const struct wse_image_file *f)
{
	return f->reads;
}
