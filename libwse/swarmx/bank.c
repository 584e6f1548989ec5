// SPDX-License-Identifier: MIT
/* Buffers that pass from unit to unit. */
#include "swarmx/bank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wse_bank_buf {
	struct wse_shared_buf *buf;
	struct wse_bank_buf *next;
};

int wse_bank_init(struct wse_bank *b, const struct wse_buf_pool *pool)
{
	memset(b, 0, sizeof(*b));
	b->pool = *pool;
	return -pthread_mutex_init(&b->lock, NULL);
}

/* the first spare buffer, out of the bank */
static void free_one(struct wse_bank *b)
{
	struct wse_bank_buf *s = b->spare;

	b->spare = s->next;
	b->total -= s->buf->size;
	b->pool.free(b->pool.ctx, s->buf);
	free(s);
}

void wse_bank_empty(struct wse_bank *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->spare)
		free_one(b);
	pthread_mutex_unlock(&b->lock);
}

void wse_bank_fini(struct wse_bank *b)
{
	wse_bank_empty(b);
	pthread_mutex_destroy(&b->lock);
}

void wse_bank_limit(struct wse_bank *b, size_t bytes)
{
	pthread_mutex_lock(&b->lock);
	b->limit = bytes;
	pthread_mutex_unlock(&b->lock);
}

int wse_bank_get(struct wse_bank *b, size_t size, struct wse_shared_buf **buf)
{
	struct wse_bank_buf **at, *s;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	for (at = &b->spare; *at && (*at)->buf->size != size; at = &(*at)->next)
		;
	s = *at;
	if (s) {
		*at = s->next;
		*buf = s->buf;
	} else {
		while (b->spare && b->total + size > b->limit)
			free_one(b);
		ret = b->pool.alloc(b->pool.ctx, size, buf);
		b->total += ret ? 0 : size;
		b->most = b->total > b->most ? b->total : b->most;
	}
	pthread_mutex_unlock(&b->lock);
	free(s);
	return ret;
}

void wse_bank_put(struct wse_bank *b, struct wse_shared_buf *buf)
{
	struct wse_bank_buf *s = malloc(sizeof(*s));

	pthread_mutex_lock(&b->lock);
	if (s && b->total <= b->limit) {
		*s = (struct wse_bank_buf){buf, b->spare};
		b->spare = s;
		s = NULL;
	} else {
		b->total -= buf->size;
		b->pool.free(b->pool.ctx, buf);
	}
	pthread_mutex_unlock(&b->lock);
	free(s);
}
