// SPDX-License-Identifier: MIT
/* Streaming sum over the left-balanced binary tree. */
#include "reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

int wse_reduce_init(struct wse_reduce *r, const struct wse_buf_pool *pool, size_t count)
{
	memset(r, 0, sizeof(*r));
	r->pool = *pool;
	r->count = count;
	r->bytes = count * sizeof(float);
	pthread_cond_init(&r->written, NULL);
	return -pthread_mutex_init(&r->lock, NULL);
}

void wse_reduce_in_file(struct wse_reduce *r, struct wse_grad_file *file, uint32_t unit, int stays,
			struct wse_bank *bank)
{
	r->file = file;
	r->unit = unit;
	r->stays = stays;
	r->bank = bank;
}

/* a node is not needed any more: its buffer, or its place in the file, serves another */
static void spare(struct wse_reduce *r, struct wse_node *n)
{
	if (!r->bank) {
		n->next = r->spare;
		r->spare = n;
		return;
	}
	if (n->buf)
		wse_bank_put(r->bank, n->buf);
	else if (r->file)
		wse_grad_file_drop(r->file, r->unit, n->place);
	free(n);
}

static void spare_list(struct wse_reduce *r, struct wse_node **list)
{
	while (*list) {
		struct wse_node *n = *list;

		*list = n->next;
		spare(r, n);
	}
}

static void free_list(struct wse_reduce *r, struct wse_node *n)
{
	while (n) {
		struct wse_node *next = n->next;

		r->pool.free(r->pool.ctx, n->buf);
		free(n);
		n = next;
	}
}

void wse_reduce_fini(struct wse_reduce *r)
{
	if (!r->count)
		return;
	r->file = NULL;
	wse_reduce_begin(r, 0);
	spare_list(r, &r->held);
	free_list(r, r->spare);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->written);
	memset(r, 0, sizeof(*r));
}

void wse_reduce_begin(struct wse_reduce *r, uint32_t leaves)
{
	pthread_mutex_lock(&r->lock);
	spare_list(r, &r->waiting);
	spare_list(r, &r->lent);
	spare_list(r, &r->root);
	r->leaves = leaves;
	pthread_mutex_unlock(&r->lock);
}

void wse_reduce_size(struct wse_reduce *r, const struct wse_graph *g, uint32_t unit,
		     const struct wse_image *img)
{
	const struct wse_unit *u = &g->units[unit];
	const struct wse_packed *p = wse_image_grad_rows(img, (size_t)u->outs * u->ins);
	size_t vec = (size_t)u->vec_rows * g->tile.cols;
	size_t count = p ? p->n + vec : wse_unit_grad_floats(g, u);
	/* as it comes back it is somewhat longer */
	size_t bytes = p ? p->bytes4 + vec * sizeof(float) : count * sizeof(float);

	pthread_mutex_lock(&r->lock);
	if (r->count != count || r->bytes != bytes) { /* a sum of this step may be at it */
		r->count = count;
		r->bytes = bytes;
	}
	r->rows = p;
	pthread_mutex_unlock(&r->lock);
}

/* a spare node whose buffer fits; those that do not, of steps of another size, are freed */
static struct wse_node *take_spare(struct wse_reduce *r)
{
	while (r->spare) {
		struct wse_node *n = r->spare;

		r->spare = n->next;
		n->next = NULL;
		if (n->buf->size >= r->bytes && n->buf->size - r->bytes <= r->bytes / 8)
			return n;
		r->nodes--;
		free_list(r, n);
	}
	return NULL;
}

int wse_reduce_get(struct wse_reduce *r, struct wse_shared_buf **buf)
{
	struct wse_node *n;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	n = take_spare(r);
	if (!n) {
		n = calloc(1, sizeof(*n));
		ret = !n	? -ENOMEM
		      : r->bank ? wse_bank_get(r->bank, r->bytes, &n->buf)
				: r->pool.alloc(r->pool.ctx, r->bytes, &n->buf);
		if (!ret)
			r->nodes++;
	}
	if (!ret) {
		n->next = r->lent;
		r->lent = n;
		*buf = n->buf;
	} else {
		free(n);
	}
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* take a node out of a list: by its buffer, or by its place in the tree */
static struct wse_node *take(struct wse_node **list, const struct wse_shared_buf *buf,
			     uint32_t level, uint32_t pos)
{
	for (; *list; list = &(*list)->next) {
		struct wse_node *n = *list;

		if (buf ? n->buf == buf : n->level == level && n->pos == pos) {
			*list = n->next;
			n->next = NULL;
			return n;
		}
	}
	return NULL;
}

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));

/* how many were added: all but less than 32 */
__attribute__((target("avx2"))) static size_t add8(float *to, const float *from, size_t n)
{
	size_t i;

	for (i = 0; i + 32 <= n; i += 32)
		for (size_t k = i; k < i + 32; k += 8)
			*(v8 *)(to + k) += *(const v8 *)(from + k);
	return i;
}

static void add(float *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = wse_cpu_avx2() ? add8(to, from, n) : 0; i < n; i++)
		to[i] = to[i] + from[i];
}

/*
 * A subtree whose right sibling is beyond the last leaf is its parent, too: moved up to where it
 * has a sibling, or is the root. 1 for the root
 */
static int move_up(struct wse_part *p, uint32_t leaves)
{
	while (p->pos || (1ull << p->level) < leaves) {
		if ((uint64_t)(p->pos ^ 1) << p->level < leaves)
			return 0;
		p->level++;
		p->pos >>= 1;
	}
	return 1;
}

uint32_t wse_reduce_parts(uint32_t leaves, uint32_t first, uint32_t end,
			  struct wse_part parts[WSE_REDUCE_PARTS])
{
	uint32_t n = 0;

	while (first < end) {
		struct wse_part p = {0, first}, up = p;
		uint64_t next = first + 1;

		/* the largest subtree that begins here and ends in the range */
		for (;;) {
			uint64_t last;

			parts[n] = p;
			if (move_up(&up, leaves) || up.pos & 1)
				break;
			up = (struct wse_part){up.level + 1, up.pos >> 1};
			last = ((uint64_t)up.pos + 1) << up.level;
			last = last < leaves ? last : leaves;
			if (last > end)
				break;
			p = up;
			next = last;
		}
		move_up(&parts[n++], leaves);
		first = (uint32_t)next;
	}
	return n;
}

uint32_t wse_reduce_waiting(uint32_t leaves, uint32_t first, uint32_t end, uint32_t devices)
{
	struct wse_part parts[WSE_REDUCE_PARTS];
	uint64_t range = end - first;
	uint32_t most = 0;

	for (uint64_t n = 1; n <= devices && n <= range; n++) {
		uint32_t sum = 0;

		for (uint64_t d = 0; d < n; d++) {
			uint32_t from = first + (uint32_t)(d * range / n), own = 0, k;

			for (uint32_t to = from + 1; to <= first + (d + 1) * range / n; to++) {
				k = wse_reduce_parts(leaves, from, to, parts);
				own = k > own ? k : own;
			}
			sum += own;
		}
		most = sum > most ? sum : most;
	}
	return most;
}

/* nodes in the file come into memory */
static int bring_back(struct wse_reduce *r, struct wse_node *n)
{
	int ret = 0;

	for (; n && !ret; n = n->next) {
		if (n->buf)
			continue;
		ret = wse_bank_get(r->bank, r->count * sizeof(float), &n->buf);
		if (ret)
			break;
		ret = wse_grad_file_read(r->file, r->unit, n->place, 0, r->count, n->buf->ptr);
		wse_grad_file_drop(r->file, r->unit, n->place);
	}
	return ret;
}

uint32_t wse_reduce_left(struct wse_reduce *r, struct wse_node *nodes[WSE_REDUCE_PARTS])
{
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = bring_back(r, r->root);
	ret = ret ? ret : bring_back(r, r->waiting);
	pthread_mutex_unlock(&r->lock);
	return ret ? 0 : wse_reduce_stock(r, nodes);
}

uint32_t wse_reduce_stock(struct wse_reduce *r, struct wse_node *nodes[WSE_REDUCE_PARTS])
{
	uint32_t n = 0;

	pthread_mutex_lock(&r->lock);
	if (r->root)
		nodes[n++] = r->root;
	for (struct wse_node *w = r->waiting; w && n < WSE_REDUCE_PARTS; w = w->next) {
		uint32_t at = n++;

		for (; at && (uint64_t)nodes[at - 1]->pos << nodes[at - 1]->level >
				     (uint64_t)w->pos << w->level;
		     at--)
			nodes[at] = nodes[at - 1];
		nodes[at] = w;
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

static int is_waiting(const struct wse_reduce *r, struct wse_part p)
{
	for (const struct wse_node *n = r->waiting; n; n = n->next)
		if (n->level == p.level && n->pos == p.pos)
			return 1;
	return 0;
}

/* with the lock: the node that waits there, once it is not on its way to the file; NULL: none */
static struct wse_node *take_sibling(struct wse_reduce *r, uint32_t level, uint32_t pos)
{
	struct wse_node *n;

	do {
		for (n = r->waiting; n && (n->level != level || n->pos != pos); n = n->next)
			;
		if (n && n->busy)
			pthread_cond_wait(&r->written, &r->lock);
	} while (n && n->busy);
	return take(&r->waiting, NULL, level, pos);
}

/*
 * With the lock, which is left meanwhile: a node goes to the file, where there is one with room;
 * the buffer serves the next gradient.
 */
static int write_out(struct wse_reduce *r, struct wse_node *n, int root)
{
	int ret;

	if (!r->file || (root && r->stays))
		return 0;
	n->busy = 1;
	pthread_mutex_unlock(&r->lock);
	ret = root ? wse_grad_file_root(r->file, r->unit, r->rows, n->buf->ptr, &n->place)
		   : wse_grad_file_put(r->file, r->unit, r->rows, n->buf->ptr, &n->place);
	pthread_mutex_lock(&r->lock);
	n->busy = 0;
	if (!ret) {
		wse_bank_put(r->bank, n->buf);
		n->buf = NULL;
	}
	pthread_cond_broadcast(&r->written);
	return ret == -EAGAIN ? 0 : ret;
}

/*
 * With the lock, which is left meanwhile: left + right, into the left one's buffer, or the one that
 * is in memory. The other is spare then. The sum
 */
static struct wse_node *merge(struct wse_reduce *r, struct wse_node *n, struct wse_node *other,
			      int *err)
{
	pthread_mutex_unlock(&r->lock);
	if (!other->buf) {
		*err = wse_grad_file_add(r->file, r->unit, other->place, n->buf->ptr);
		free(other);
		pthread_mutex_lock(&r->lock);
		return n;
	}
	if (other->pos < n->pos) {
		struct wse_node *t = n;

		n = other;
		other = t;
	}
	add(n->buf->ptr, other->buf->ptr, r->count);
	pthread_mutex_lock(&r->lock);
	spare(r, other);
	return n;
}

int wse_reduce_put(struct wse_reduce *r, uint32_t leaf, struct wse_shared_buf *buf)
{
	return wse_reduce_put_node(r, 0, leaf, buf);
}

int wse_reduce_put_node(struct wse_reduce *r, uint32_t level, uint32_t pos,
			struct wse_shared_buf *buf)
{
	struct wse_part at = {level, pos};
	struct wse_node *n, *other, **list;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	n = level < 32 && (uint64_t)pos << level < r->leaves ? take(&r->lent, buf, 0, 0) : NULL;
	if (!n || r->root || (!move_up(&at, r->leaves) && is_waiting(r, at))) {
		if (n) {
			n->next = r->lent;
			r->lent = n;
		}
		pthread_mutex_unlock(&r->lock);
		return -EINVAL;
	}
	n->level = level;
	n->pos = pos;
	while (!ret) {
		int whole;

		at = (struct wse_part){n->level, n->pos};
		whole = move_up(&at, r->leaves);
		n->level = at.level;
		n->pos = at.pos;
		other = whole ? NULL : take_sibling(r, n->level, at.pos ^ 1);
		if (other) {
			n = merge(r, n, other, &ret);
			n->level++;
			n->pos >>= 1;
			continue;
		}
		list = whole ? &r->root : &r->waiting;
		n->next = *list;
		*list = n;
		ret = write_out(r, n, whole);
		pthread_mutex_unlock(&r->lock);
		return ret;
	}
	/* it is no sum: the next step takes it back */
	n->next = r->lent;
	r->lent = n;
	pthread_mutex_unlock(&r->lock);
	return ret;
}

int wse_reduce_drop(struct wse_reduce *r, struct wse_shared_buf *buf)
{
	struct wse_node *n;

	pthread_mutex_lock(&r->lock);
	n = take(&r->lent, buf, 0, 0);
	if (n) {
		n->next = r->spare;
		r->spare = n;
	}
	pthread_mutex_unlock(&r->lock);
	return n ? 0 : -EINVAL;
}

int wse_reduce_settle(struct wse_reduce *r, struct wse_shared_buf *buf)
{
	struct wse_node *n;

	pthread_mutex_lock(&r->lock);
	n = take(&r->waiting, buf, 0, 0);
	n = n ? n : take(&r->lent, buf, 0, 0);
	n = n ? n : take(&r->root, buf, 0, 0);
	if (n) {
		spare_list(r, &r->waiting);
		spare_list(r, &r->root);
		r->root = n;
	}
	pthread_mutex_unlock(&r->lock);
	return n ? 0 : -EINVAL;
}

/* the node in the file at that place, out of a list; NULL: it is not there */
static struct wse_node *take_place(struct wse_node **list, uint32_t place)
{
	for (; *list; list = &(*list)->next) {
		struct wse_node *n = *list;

		if (n->buf || n->place != place)
			continue;
		*list = n->next;
		return n;
	}
	return NULL;
}

int wse_reduce_settle_in_file(struct wse_reduce *r, uint32_t place)
{
	struct wse_node *n;

	pthread_mutex_lock(&r->lock);
	n = take_place(&r->waiting, place);
	n = n ? n : take_place(&r->root, place);
	n = n ? n : calloc(1, sizeof(*n));
	if (n) {
		n->place = place;
		n->next = NULL;
		spare_list(r, &r->waiting);
		spare_list(r, &r->root);
		r->root = n;
	}
	pthread_mutex_unlock(&r->lock);
	return n ? 0 : -ENOMEM;
}

int wse_reduce_whole(struct wse_reduce *r)
{
	int whole;

	pthread_mutex_lock(&r->lock);
	whole = r->root != NULL;
	pthread_mutex_unlock(&r->lock);
	return whole;
}

float *wse_reduce_take(struct wse_reduce *r)
{
	float *sum = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->root) {
		spare_list(r, &r->held);
		r->held = r->root;
		r->root = NULL;
		sum = r->held->buf ? r->held->buf->ptr : NULL;
		if (r->file)
			wse_grad_file_hold(r->file, r->unit, sum ? WSE_NO_PLACE : r->held->place);
	}
	pthread_mutex_unlock(&r->lock);
	return sum;
}

void wse_reduce_give_back(struct wse_reduce *r)
{
	pthread_mutex_lock(&r->lock);
	if (r->file)
		wse_grad_file_hold(r->file, r->unit, WSE_NO_PLACE);
	spare_list(r, &r->held);
	pthread_mutex_unlock(&r->lock);
}
