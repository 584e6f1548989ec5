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
 * The page list of a buffer. A command names one place where its list begins. So a list lies in one
 * block where the host can allocate that much, else in several, each of which repeats the second
 * half of the previous one: a command that spans at most step bytes fits into one.
 */
struct wse_list {
	struct wse_list_block *block;
	unsigned int nblocks; /* 0: there is no list */
	size_t bytes;	      /* of a block */
	u64 step;	      /* bytes of the buffer between the begins of two blocks */
	u64 reach;	      /* bytes that a block describes */
};

/* The most that the page allocator gives in one piece; an IOMMU makes larger ones. */
#define WSE_LIST_BYTES (PAGE_SIZE << MAX_PAGE_ORDER)

int wse_sgt_shape(struct sg_table *sgt, size_t size, u32 *pshift, bool *direct);
int wse_list_build(struct device *dev, struct wse_list *list, struct sg_table *sgt, size_t size,
		   u32 pshift, u32 limit);
void wse_list_free(struct device *dev, struct wse_list *list);
int wse_list_window(const struct wse_list *list, u64 begin, u64 end, u64 *addr, u64 *base);

#endif
