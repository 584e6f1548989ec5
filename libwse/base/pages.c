// SPDX-License-Identifier: MIT
/* Large memory on huge pages, see pages.h. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64u
#define HUGE ((size_t)2 << 20)

void wse_pages_want_huge(void *p, size_t bytes)
{
	if (bytes >= HUGE)
		madvise(p, bytes, MADV_HUGEPAGE);
}

static size_t alignment(size_t bytes)
{
	return bytes < HUGE ? LINE : HUGE;
}

size_t wse_pages_bytes(size_t bytes)
{
	size_t align = alignment(bytes);

	return (bytes + align - 1) / align * align;
}

void *wse_pages_alloc(size_t bytes)
{
	size_t align = alignment(bytes);
	void *p;

	if (bytes > SIZE_MAX - align)
		return NULL;
	bytes = wse_pages_bytes(bytes);
	p = aligned_alloc(align, bytes);
	if (!p)
		return NULL;
	wse_pages_want_huge(p, bytes);
	return memset(p, 0, bytes);
}
