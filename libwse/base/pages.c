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

void *wse_pages_alloc(size_t bytes)
{
	size_t align = bytes < HUGE ? LINE : HUGE;
	void *p;

	if (bytes > SIZE_MAX - align)
		return NULL;
	bytes = (bytes + align - 1) / align * align;
	p = aligned_alloc(align, bytes);
	if (!p)
		return NULL;
	wse_pages_want_huge(p, bytes);
	return memset(p, 0, bytes);
}
