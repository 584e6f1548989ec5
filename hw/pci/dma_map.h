/* SPDX-License-Identifier: MIT */
/*
 * The guest memory that a device may access: bus address ranges, each backed by a piece of a file
 * that the client sent, or by nothing. Thread-safe: when unmap returns, no thread uses the range
 * any more.
 */
#ifndef PCI_DMA_MAP_H
#define PCI_DMA_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dma_map;

#define DMA_MAP_MAX (1u << 20) /* ranges */

int dma_map_create(struct dma_map **d);
void dma_map_destroy(struct dma_map *d);

/*
 * Adds [iova, iova + size). fd < 0: known but not accessible (ROM). The caller keeps the
 * descriptor. -EINVAL: empty, wraps, or outside the file; -EEXIST: overlaps; -ENOSPC: too many; or
 * mmap's errno.
 */
int dma_map_add(struct dma_map *d, int fd, uint64_t fd_offset, uint64_t iova, uint64_t size,
		bool readable, bool writeable);

/* Removes the ranges in [iova, iova + size): many, parts of them, or none. */
int dma_map_remove(struct dma_map *d, uint64_t iova, uint64_t size);
void dma_map_clear(struct dma_map *d);

/*
 * Copies between buf and guest memory. -EFAULT, and no write, if any byte is not accessible.
 */
int dma_map_read(struct dma_map *d, uint64_t iova, void *buf, size_t len);
int dma_map_write(struct dma_map *d, uint64_t iova, const void *buf, size_t len);

/* Whether the client shares any memory: if not, its memory is private. */
bool dma_map_shared(struct dma_map *d);

/*
 * A client may shrink a file that it shared. The accessing thread then gets SIGBUS, which this
 * handler turns into -EFAULT. Process-wide; other SIGBUS keep their default action.
 */
int dma_map_catch_sigbus(void);

#endif /* PCI_DMA_MAP_H */
