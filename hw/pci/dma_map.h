/* SPDX-License-Identifier: MIT */
/*
 * What the server does with the guest memory of wse_pci.h. Thread-safe: when unmap returns, no
 * thread uses the range any more.
 */
#ifndef PCI_DMA_MAP_H
#define PCI_DMA_MAP_H

#include "wse_pci.h"

#define DMA_MAP_MAX (1u << 20) /* ranges */

/*
 * Adds [iova, iova + size). fd < 0: known but not accessible (ROM). The caller keeps the
 * descriptor. -EINVAL: empty, wraps, or outside the file; -EEXIST: overlaps; -ENOSPC: too many; or
 * mmap's errno.
 */
int dma_map_add(struct wse_pci_dma *d, int fd, uint64_t fd_offset, uint64_t iova, uint64_t size,
		bool readable, bool writeable);

/*
 * Removes the ranges in [iova, iova + size): many, parts of them, or none. -ENOSPC: a hole in one
 * would make too many.
 */
int dma_map_remove(struct wse_pci_dma *d, uint64_t iova, uint64_t size);
void dma_map_clear(struct wse_pci_dma *d);

#endif /* PCI_DMA_MAP_H */
