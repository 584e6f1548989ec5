/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_LIST_H
#define WSE_LIST_H

#include <linux/mmzone.h>
#include <linux/types.h>

struct device;
struct sg_table;

/* Bus addresses of consecutive pages, in memory that the device reads. */
struct wse_list_block {
	__le64 *cpu;
	dma_addr_t dma;
};

/*
 * The page list of a buffer. A command names one place where its list begins, so a list lies in one
 * block where the host can give one of that size, else in several of which each repeats the second
 * half of the one before: a command that reaches over no more than step bytes fits into one.
 */
struct wse_list {
	struct wse_list_block *block;
	unsigned int nblocks; /* 0: there is no list */
	size_t bytes;	      /* of a block */
	u64 step;	      /* bytes of the buffer between the begins of two blocks */
	u64 reach;	      /* that a block describes */
};

/* As much as the page allocator gives in one piece; an IOMMU makes larger ones. */
#define WSE_LIST_BYTES (PAGE_SIZE << MAX_PAGE_ORDER)

int wse_sgt_shape(struct sg_table *sgt, size_t size, u32 *pshift, bool *direct);
int wse_list_build(struct device *dev, struct wse_list *list, struct sg_table *sgt, size_t size,
		   u32 pshift, u32 limit);
void wse_list_free(struct device *dev, struct wse_list *list);
int wse_list_window(const struct wse_list *list, u64 begin, u64 end, u64 *addr, u64 *base);

#endif
