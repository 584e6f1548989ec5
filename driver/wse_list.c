// SPDX-License-Identifier: GPL-2.0
/*
 * Page lists, by which the device finds a buffer that is not contiguous on the bus.
 */
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "wse_cmd.h"
#include "wse_list.h"

/*
 * The largest page size of which the whole mapping consists: every border between two pieces that
 * are not contiguous, and every piece's address, is a multiple of it. Only the end may be ragged,
 * since commands never access bytes beyond the buffer's size. *direct: there is one piece only.
 */
int wse_sgt_shape(struct sg_table *sgt, size_t size, u32 *pshift, bool *direct)
{
	dma_addr_t next = 0, borders = 0;
	struct scatterlist *sg;
	size_t off = 0;
	unsigned int i, pieces = 0;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!pieces || sg_dma_address(sg) != next) {
			borders |= sg_dma_address(sg) | off;
			pieces++;
		}
		off += sg_dma_len(sg);
		next = sg_dma_address(sg) + sg_dma_len(sg);
	}
	*direct = pieces == 1;
	*pshift = borders ? __ffs64(borders) : WSE_PAGE_SHIFT_MAX;
	*pshift = min(*pshift, WSE_PAGE_SHIFT_MAX);
	/* an imported mapping may not consist of pages, or may be incomplete */
	if (off < size || !pieces || *pshift < WSE_PAGE_SHIFT_MIN)
		return -EINVAL;
	return 0;
}

/* Allocates n blocks of that many bytes, all or none. */
static int wse_list_alloc(struct device *dev, struct wse_list *list, unsigned int n, size_t bytes)
{
	list->block = kvcalloc(n, sizeof(*list->block), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!list->block)
		return -ENOMEM;
	list->bytes = bytes;
	for (list->nblocks = 0; list->nblocks < n; list->nblocks++) {
		struct wse_list_block *block = &list->block[list->nblocks];

		block->cpu = dma_alloc_coherent(dev, bytes, &block->dma,
						GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!block->cpu) {
			wse_list_free(dev, list);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Writes entry number page of the whole list to the blocks that have it, two at most. */
static void wse_list_put(struct wse_list *list, size_t page, dma_addr_t addr)
{
	size_t half = list->bytes / sizeof(__le64) / 2, k = page / half;

	if (list->nblocks == 1) {
		list->block[0].cpu[page] = cpu_to_le64(addr);
		return;
	}
	if (k < list->nblocks)
		list->block[k].cpu[page % half] = cpu_to_le64(addr);
	if (k)
		list->block[k - 1].cpu[half + page % half] = cpu_to_le64(addr);
}

/* limit: bytes beyond which a list may lie in pieces. */
int wse_list_build(struct device *dev, struct wse_list *list, struct sg_table *sgt, size_t size,
		   u32 pshift, u32 limit)
{
	size_t page = (size_t)1 << pshift, pages = DIV_ROUND_UP(size, page), off = 0;
	/* a whole number of entries in each half */
	size_t piece = max_t(size_t, rounddown_pow_of_two(limit | 1), 4096);
	size_t half = piece / sizeof(__le64) / 2;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	list->step = size;
	list->reach = size;
	ret = -ENOMEM;
	/* unless a test asks for pieces, one block is tried whatever its size */
	if (pages * sizeof(__le64) <= piece || piece >= WSE_LIST_BYTES)
		ret = wse_list_alloc(dev, list, 1, pages * sizeof(__le64));
	if (ret && pages > 2 * half) {
		list->step = (u64)half << pshift;
		list->reach = 2 * list->step;
		ret = wse_list_alloc(dev, list, DIV_ROUND_UP(pages, half) - 1, piece);
	}
	if (ret)
		return ret;
	/* a page begins in some segment, at a multiple of its size from the buffer's start */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		size_t end = min(off + sg_dma_len(sg), size), at;

		for (at = ALIGN(off, page); at < end; at += page)
			wse_list_put(list, at >> pshift, sg_dma_address(sg) + (at - off));
		off = end;
	}
	return 0;
}

void wse_list_free(struct device *dev, struct wse_list *list)
{
	while (list->nblocks) {
		struct wse_list_block *block = &list->block[--list->nblocks];

		dma_free_coherent(dev, list->bytes, block->cpu, block->dma);
	}
	kvfree(list->block);
	list->block = NULL;
}

/*
 * The address of the list for a command that touches the bytes from begin to end of the buffer, and
 * the byte of the buffer at which that list begins. -EFBIG: no block describes all of them.
 */
int wse_list_window(const struct wse_list *list, u64 begin, u64 end, u64 *addr, u64 *base)
{
	u64 k = min_t(u64, div64_u64(begin, list->step), list->nblocks - 1);

	if (end > k * list->step + list->reach)
		return -EFBIG;
	*addr = list->block[k].dma;
	*base = k * list->step;
	return 0;
}
