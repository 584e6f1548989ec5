/* SPDX-License-Identifier: MIT */
/* Buffers without a device: the pool of tests and benches that need none. */
#ifndef WSE_TESTS_TRAIN_HEAP_H
#define WSE_TESTS_TRAIN_HEAP_H

#include <errno.h>
#include <stdlib.h>

#include "base/pages.h"
#include "memx/memx.h"

static inline int heap_alloc(void *ctx, size_t size, struct wse_shared_buf **buf)
{
	struct wse_shared_buf *b = calloc(1, sizeof(*b));

	(void)ctx;
	if (!b)
		return -ENOMEM;
	b->size = size;
	b->ptr = wse_pages_alloc(size);
	*buf = b;
	return b->ptr ? 0 : -ENOMEM;
}

static inline void heap_free(void *ctx, struct wse_shared_buf *buf)
{
	(void)ctx;
	free(buf->ptr);
	free(buf);
}

static const struct wse_buf_pool heap = { heap_alloc, heap_free, NULL };

#endif
