/* SPDX-License-Identifier: MIT */
/*
 * Large memory that is walked through every step: weights, moments, gradients, images. On huge
 * pages where the system gives them to who asks (transparent_hugepage: madvise or always), since a
 * transposed image touches another page with every line that is written.
 */
#ifndef WSE_BASE_PAGES_H
#define WSE_BASE_PAGES_H

#include <stddef.h>

/* asks for them, in memory of whole pages; where there are none, nothing happens */
void wse_pages_want_huge(void *p, size_t bytes);

/* bytes up to a whole number of cache lines */
static inline size_t wse_align64(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* bytes that wse_pages_alloc() takes for so many: large memory fills huge pages */
size_t wse_pages_bytes(size_t bytes);

/* cleared, aligned to a cache line or better, for free(); NULL: none left */
void *wse_pages_alloc(size_t bytes);

#endif
