/* SPDX-License-Identifier: MIT */
/* The reduction tree's definition, and threads that feed a tree. */
#ifndef TEST_TREE_H
#define TEST_TREE_H

#include <pthread.h>

#include "swarmx/reduce.h"

/* the test's: element i of micro-batch m's gradient */
static float leaf(uint32_t m, size_t i);

/* the definition in swarmx.h, word for word */
static float tree(uint32_t a, uint32_t b, size_t i)
{
	uint32_t h = 1;
	float left;

	if (b - a == 1)
		return leaf(a, i);
	while (2 * h < b - a)
		h *= 2;
	left = tree(a, a + h, i);
	return left + tree(a + h, b, i);
}

struct feeder {
	struct wse_reduce *r;
	uint32_t first, end;
};

static void *feed(void *arg)
{
	struct feeder *f = arg;
	struct wse_shared_buf *buf;

	for (uint32_t m = f->first; m < f->end; m++) {
		if (wse_reduce_get(f->r, &buf))
			return arg;
		for (size_t i = 0; i < f->r->count; i++)
			((float *)buf->ptr)[i] = leaf(m, i);
		if (wse_reduce_put(f->r, m, buf))
			return arg;
	}
	return NULL;
}

/* leaves from several threads; their number that failed */
static inline int feed_all(struct wse_reduce *r, uint32_t leaves, uint32_t threads)
{
	struct feeder f[4];
	pthread_t th[4];
	void *bad;
	int errors = 0;

	wse_reduce_begin(r, leaves);
	for (uint32_t d = 0; d < threads; d++) {
		f[d] = (struct feeder){r, d * leaves / threads, (d + 1) * leaves / threads};
		pthread_create(&th[d], NULL, feed, &f[d]);
	}
	for (uint32_t d = 0; d < threads; d++) {
		pthread_join(th[d], &bad);
		errors += bad != NULL;
	}
	return errors;
}

#endif
