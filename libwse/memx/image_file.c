// SPDX-License-Identifier: MIT
/* Images in a scratch file, and those of them that are in memory. */
#include "memx/image_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/records.h"
#include "ops/emit.h"
#include "ops/ops.h"

#define CHUNK ((size_t)4 << 20) /* bytes of a record */
#define PARTS 2u		/* images of a unit: as it is, and transposed */
#define HEAD  8u		/* of a packed record without content some bytes are cleared */

/* an image in memory */
struct window {
	struct wse_shared_buf *buf; /* NULL: it is not */
	uint32_t users;
	int moving;   /* between file and memory: no other thread touches it */
	int whole;    /* it is what was written last */
	size_t bytes; /* of buf */
	uint64_t turn;
};

struct wse_image_file {
	const struct wse_graph *g;
	const unsigned char *stays;
	struct wse_masks *masks;
	struct wse_buf_pool pool;
	struct wse_image *images;
	struct wse_shared_buf **stay; /* [nunits]: what is no window: vectors, or all of it */
	struct window *w;	      /* [nunits * PARTS] */
	uint64_t room, used, turn, reads;
	uint64_t read_bytes; /* of their images, as they lie in the file; with file_lock */
	pthread_mutex_t lock, file_lock;
	pthread_cond_t changed;
	struct wse_records *records;
	struct wse_record *list;
	uint32_t *first; /* [nunits * PARTS + 1] records of an image */
};

/* which images there are, and how they lie */
struct kinds {
	const struct wse_graph *g;
	const unsigned char *stays;
	const struct wse_masks *masks; /* NULL: a plan's */
};

/* is it kept packed alone? */
static int is_packed(const struct kinds *k, uint32_t unit)
{
	const struct wse_graph *g = k->g;

	if (k->masks)
		return wse_masks_alone(k->masks, unit);
	return wse_unit_packs(&g->units[unit]) && !g->forward && !g->tile.no_linear &&
	       !k->stays[unit];
}

static int stays_there(const struct kinds *k, uint32_t unit)
{
	return k->stays[unit] && !is_packed(k, unit);
}

/* of images [nunits * PARTS]: of a packed one as many as the plan thinks */
static size_t part_bytes(const struct kinds *k, uint32_t at)
{
	const struct wse_unit *u = &k->g->units[at / PARTS];

	if (at % PARTS && k->g->forward)
		return 0;
	return is_packed(k, at / PARTS) && u->density > 0.0
		       ? wse_masks_packed(k->g, u) * sizeof(uint16_t)
		       : wse_unit_fwd_bytes(u);
}

/* of a unit that is no window; a buffer has a length */
static size_t stay_bytes(const struct kinds *k, uint32_t unit)
{
	const struct wse_unit *u = &k->g->units[unit];
	size_t n = stays_there(k, unit) ? wse_unit_image_bytes(k->g, u)
					: (size_t)u->vec_rows * k->g->tile.cols * 4;

	return n ? n : 1;
}

static struct kinds kinds_of(const struct wse_image_file *f)
{
	return (struct kinds){f->g, f->stays, f->masks};
}

static int alone(const struct wse_image_file *f, uint32_t unit)
{
	return wse_masks_alone(f->masks, unit);
}

static int stays(const struct wse_image_file *f, uint32_t unit)
{
	return f->stays[unit] && !alone(f, unit);
}

/* of an image that lies packed alone, by its layout */
static struct wse_packed *packed(const struct wse_image_file *f, uint32_t at)
{
	struct wse_unit_mask *k = &f->masks->unit[at / PARTS];

	return at % PARTS ? &k->packed_tr : &k->packed;
}

static size_t bytes_of(const struct wse_image_file *f, uint32_t at)
{
	const struct kinds k = kinds_of(f);

	return alone(f, at / PARTS) ? packed(f, at)->bytes2 : part_bytes(&k, at);
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

	if (alone(f, at / PARTS))
		packed(f, at)->buf = buf;
	else
		*(at % PARTS ? &img->tr : &img->fwd) = (struct wse_span){buf, 0};
}

/* bytes that an image has in the file; of a packed one with any masks */
static size_t most_bytes(const struct kinds *k, uint32_t at)
{
	const struct wse_unit *u = &k->g->units[at / PARTS];

	if (stays_there(k, at / PARTS))
		return 0;
	return is_packed(k, at / PARTS)
		       ? wse_packed_most(k->g, u, at % PARTS, wse_emit_stream_bytes)
		       : part_bytes(k, at);
}

/* records of all images that do not stay; first [nunits * PARTS + 1]; NULL: no memory */
static struct wse_record *make_list(const struct kinds *kinds, uint32_t *first)
{
	const uint32_t images = kinds->g->nunits * PARTS;
	struct wse_record *list;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < images; i++) {
		first[i] = n;
		n += (uint32_t)((most_bytes(kinds, i) + CHUNK - 1) / CHUNK);
	}
	first[images] = n;
	list = calloc(n + 1ul, sizeof(*list));
	for (uint32_t i = 0; i < images && list; i++) {
		uint32_t unit = i / PARTS, all = first[(unit + 1) * PARTS] - first[unit * PARTS];
		size_t left = most_bytes(kinds, i), usual = part_bytes(kinds, i);

		for (; k < first[i + 1]; k++) {
			list[k] = (struct wse_record){.bytes = left < CHUNK ? left : CHUNK,
						      .unit = unit,
						      .piece = k - first[unit * PARTS] + 1,
						      .pieces = all};
			left -= list[k].bytes;
			if (!is_packed(kinds, unit))
				continue;
			list[k].head = HEAD;
			list[k].usual = usual < CHUNK ? usual + HEAD : CHUNK;
			usual -= usual < CHUNK ? usual : CHUNK;
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
static uint64_t by_turns(const struct kinds *kinds, uint32_t begin, uint32_t end, struct use *use)
{
	const struct wse_graph *g = kinds->g;
	const uint32_t n = g->nunits * PARTS;
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		use[i] = (struct use){UINT32_MAX, 0};
	for (uint32_t at = begin; at < end; at++) {
		enum wse_image_part part = wse_op_image(&g->ops[at]);
		struct use *u;

		if (part == WSE_IMAGE_NONE || stays_there(kinds, g->ops[at].unit))
			continue;
		u = &use[g->ops[at].unit * PARTS + (part == WSE_IMAGE_TR)];
		u->first = at < u->first ? at : u->first;
		u->last = at;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (uint32_t k = 0; k < n && use[i].first != UINT32_MAX; k++)
			if (use[k].first <= use[i].first && use[k].last >= use[i].first)
				sum += part_bytes(kinds, k);
		most = sum > most ? sum : most;
	}
	return most;
}

/* bytes that devices need so that none reads an image twice in a pass */
static uint64_t room_of(const struct kinds *k, uint32_t devices, struct use *use)
{
	const struct wse_graph *g = k->g;
	uint64_t fwd = by_turns(k, 0, g->nforward, use);
	uint64_t back = by_turns(k, g->nforward, g->nops, use), most = 0, turns, room;

	for (uint32_t i = 0; i < g->nunits * PARTS; i++)
		if (!stays_there(k, i / PARTS) && part_bytes(k, i) > most)
			most = part_bytes(k, i);
	turns = devices * (fwd > back ? fwd : back);
	/* an image a device, and one that comes next; both of the unit that is updated */
	room = (devices + 1) * most;
	return turns > room ? turns : room;
}

uint64_t wse_image_file_memory(const struct wse_graph *g, const unsigned char *stays,
			       uint32_t devices, uint64_t *room, uint64_t *file)
{
	const uint32_t n = g->nunits * PARTS;
	const struct kinds k = {g, stays, NULL};
	uint32_t *first = calloc(n + 1ul, sizeof(*first));
	struct use *use = calloc(n + 1ul, sizeof(*use));
	struct wse_record *list = first ? make_list(&k, first) : NULL;
	uint64_t sum = 0, stay = 0, slots = 0;

	for (uint32_t i = 0; i < g->nunits; i++)
		stay += stay_bytes(&k, i);
	for (uint32_t i = 0; i < n; i++)
		sum += stays_there(&k, i / PARTS) ? 0 : part_bytes(&k, i);
	*file = 0;
	if (list)
		slots = wse_records_memory(list, first[n], file);
	*room = use ? room_of(&k, devices, use) : sum;
	*room = *room < sum ? *room : sum;
	free(first);
	free(use);
	free(list);
	return stay + *room + slots;
}

/* what is in memory at all times */
static int open_stay(struct wse_image_file *f)
{
	const struct kinds k = kinds_of(f);
	const struct wse_graph *g = f->g;
	int ret = 0;

	for (uint32_t i = 0; i < g->nunits && !ret; i++) {
		ret = f->pool.alloc(f->pool.ctx, stay_bytes(&k, i), &f->stay[i]);
		if (ret)
			return ret;
		f->images[i] = stays(f, i) ? wse_image_spans(g, &g->units[i], f->stay[i])
					   : (struct wse_image){.vec = {f->stay[i], 0}};
	}
	return 0;
}

int wse_image_file_open(const struct wse_graph *g, const unsigned char *stays,
			struct wse_masks *masks, uint64_t room, const char *dir,
			const struct wse_buf_pool *pool, struct wse_image *images,
			struct wse_image_file **file)
{
	const struct kinds k = {g, stays, masks};
	struct wse_image_file *f = calloc(1, sizeof(*f));
	int ret;

	*file = NULL;
	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->g = g;
	f->stays = stays;
	f->masks = masks;
	f->pool = *pool;
	f->images = images;
	f->room = room;
	for (uint32_t i = 0; i < g->nunits; i++) /* both are there to be written */
		if (!stays_there(&k, i) && !is_packed(&k, i) &&
		    PARTS * wse_unit_fwd_bytes(&g->units[i]) > f->room)
			f->room = PARTS * wse_unit_fwd_bytes(&g->units[i]);
	f->stay = calloc(g->nunits + 1ul, sizeof(struct wse_shared_buf *));
	f->w = calloc(g->nunits * PARTS + 1ul, sizeof(*f->w));
	f->first = calloc(g->nunits * PARTS + 1ul, sizeof(*f->first));
	f->list = f->first ? make_list(&k, f->first) : NULL;
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

/* its memory is free for others */
static void drop(struct wse_image_file *f, uint32_t at)
{
	struct window *w = &f->w[at];

	f->pool.free(f->pool.ctx, w->buf);
	f->used -= w->bytes;
	w->buf = NULL;
	w->whole = 0;
	place(f, at, NULL);
}

void wse_image_file_close(struct wse_image_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->w && i < f->g->nunits * PARTS; i++)
		if (f->w[i].buf)
			drop(f, i);
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
	size_t left = f->w[at].bytes;
	int ret = 0;

	for (uint32_t k = f->first[at]; k < f->first[at + 1] && left && !ret; k++) {
		size_t n = left < f->list[k].bytes ? left : f->list[k].bytes;
		void *mem;

		pthread_mutex_lock(&f->file_lock);
		ret = write ? wse_records_new(f->records, k, &mem)
			    : wse_records_get(f->records, k, f->first[at + 1], &mem);
		if (!ret) {
			if (write)
				memcpy(mem, image, n);
			else
				memcpy(image, mem, n);
			f->read_bytes += write ? 0 : wse_records_bytes(f->records, k);
			ret = write && f->list[k].head
				      ? wse_records_put_some(f->records, k, n, step)
				      : wse_records_put(f->records, k, write, step);
		}
		pthread_mutex_unlock(&f->file_lock);
		image += n;
		left -= n;
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
	drop(f, oldest);
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
	w->bytes = bytes;
	w->whole = 0;
	place(f, at, w->buf);
	return 0;
}

/*
 * waits until no thread moves the window (to write: none has it) and it has memory, and takes it
 * for moving; of packed ones that are written the memory comes later
 */
static int grab(struct wse_image_file *f, uint32_t at, int write, int wait)
{
	struct window *w = &f->w[at];
	int ret;

	for (;;) {
		if (w->moving || (write && w->users)) {
			ret = -EAGAIN;
		} else if (write && alone(f, at / PARTS)) {
			if (w->buf)
				drop(f, at);
			ret = 0;
		} else {
			ret = make_room(f, at);
		}
		if (ret != -EAGAIN || !wait)
			return ret;
		pthread_cond_wait(&f->changed, &f->lock);
	}
}

/* UINT32_MAX: it is no window */
static uint32_t window_of(const struct wse_image_file *f, uint32_t unit, enum wse_image_part part)
{
	if (part == WSE_IMAGE_NONE || stays(f, unit))
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

	if (stays(f, unit))
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

int wse_image_file_room(struct wse_image_file *f, uint32_t unit)
{
	uint64_t both = 0;
	int ret = 0;

	if (!alone(f, unit))
		return 0;
	pthread_mutex_lock(&f->lock);
	for (uint32_t at = unit * PARTS; at < (unit + 1) * PARTS; at++)
		both += bytes_of(f, at);
	f->room = both > f->room ? both : f->room;
	for (uint32_t at = unit * PARTS; at < (unit + 1) * PARTS && !ret; at++)
		while ((ret = make_room(f, at)) == -EAGAIN)
			pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	return ret;
}

int wse_image_file_end(struct wse_image_file *f, uint32_t unit, uint64_t step, int keep)
{
	int ret = keep ? 0 : -ECANCELED;

	if (stays(f, unit))
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

uint64_t wse_image_file_read_bytes(const struct wse_image_file *f)
{
	return f->read_bytes;
}

void wse_image_file_moved(const struct wse_image_file *f, uint64_t *in, uint64_t *out)
{
	wse_records_moved(f->records, in, out);
}
