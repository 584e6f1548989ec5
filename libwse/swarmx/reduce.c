// SPDX-License-Identifier: MIT
/* Streaming sum over the left-balanced binary tree. */
#include "reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wse_reduce_init(struct wse_reduce *r, const struct wse_buf_pool *pool, size_t count)
{
	memset(r, 0, sizeof(*r));
	r->pool = *pool;
	r->count = count;
	return -pthread_mutex_init(&r->lock, NULL);
}

static void spare_list(struct wse_reduce *r, struct wse_node **list)
{
	while (*list) {
		struct wse_node *n = *list;

		*list = n->next;
		n->next = r->spare;
		r->spare = n;
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
	wse_reduce_begin(r, 0);
	spare_list(r, &r->held);
	free_list(r, r->spare);
	pthread_mutex_destroy(&r->lock);
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

int wse_reduce_get(struct wse_reduce *r, struct wse_shared_buf **buf)
{
	struct wse_node *n;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	n = r->spare;
	if (n) {
		r->spare = n->next;
	} else {
		n = calloc(1, sizeof(*n));
		ret = n ? r->pool.alloc(r->pool.ctx, r->count * sizeof(float), &n->buf) : -ENOMEM;
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

static void add(float *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = to[i] + from[i];
}

int wse_reduce_put(struct wse_reduce *r, uint32_t leaf, struct wse_shared_buf *buf)
{
	struct wse_node *n, *other;

	pthread_mutex_lock(&r->lock);
	n = take(&r->lent, buf, 0, 0);
	if (!n || leaf >= r->leaves) {
		pthread_mutex_unlock(&r->lock);
		return -EINVAL;
	}
	n->level = 0;
	n->pos = leaf;
	while (n->pos || (1ull << n->level) < r->leaves) {
		uint32_t sibling = n->pos ^ 1;

		if ((uint64_t)sibling << n->level >= r->leaves) {
			/* a right sibling beyond the last leaf: the node moves up as it is */
			n->level++;
			n->pos >>= 1;
			continue;
		}
		other = take(&r->waiting, NULL, n->level, sibling);
		if (!other) {
			n->next = r->waiting;
			r->waiting = n;
			pthread_mutex_unlock(&r->lock);
			return 0;
		}
		if (sibling < n->pos) { /* left + right, into the left one's buffer */
			struct wse_node *t = n;

			n = other;
			other = t;
		}
		pthread_mutex_unlock(&r->lock);
		add(n->buf->ptr, other->buf->ptr, r->count);
		pthread_mutex_lock(&r->lock);
		other->next = r->spare;
		r->spare = other;
		n->level++;
		n->pos >>= 1;
	}
	r->root = n;
	pthread_mutex_unlock(&r->lock);
	return 0;
}

float *wse_reduce_take(struct wse_reduce *r)
{
	float *sum = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->root) {
		spare_list(r, &r->held);
		r->held = r->root;
		r->root = NULL;
		sum = r->held->buf->ptr;
	}
	pthread_mutex_unlock(&r->lock);
	return sum;
}
