/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels only. WSE_HAVE_* come from Kbuild, which looks for the feature itself
 * in the headers.
 */
#ifndef WSE_COMPAT_H
#define WSE_COMPAT_H

#include <linux/dma-fence.h>

/* struct drm_driver had a date, and DRM_IOCTL_VERSION warned when it was missing */
#ifdef WSE_HAVE_DRIVER_DATE
#define WSE_DRIVER_DATE .date = "20251101",
#else
#define WSE_DRIVER_DATE
#endif

/* the core drops a fence's ops once it has signalled */
#ifdef WSE_HAVE_FENCE_DETACH
static inline void wse_fence_detach(struct dma_fence *fence)
{
}
#else
void wse_fence_detach(struct dma_fence *fence);
#endif

/* a fence can have its own lock; before, the lock lies behind it */
#ifdef WSE_HAVE_FENCE_LOCK
#define WSE_FENCE_BYTES sizeof(struct dma_fence)

static inline spinlock_t *wse_fence_lock(struct dma_fence *fence)
{
	return NULL;
}
#else
#define WSE_FENCE_BYTES (sizeof(struct dma_fence) + sizeof(spinlock_t))
spinlock_t *wse_fence_lock(struct dma_fence *fence);
#endif

void wse_compat_init(void);
void wse_compat_exit(void);

/* flags of devices got accessors */
#ifdef WSE_HAVE_SKIP_SYNC_BIT
#define wse_dma_skip_sync(dev) ((dev)->dma_skip_sync)
#else
#define wse_dma_skip_sync(dev) dev_dma_skip_sync(dev)
#endif

/* name spaces of exported symbols became strings */
#ifdef WSE_HAVE_STRING_NS
#define WSE_IMPORT_NS_DMA_BUF "DMA_BUF"
#else
#define WSE_IMPORT_NS_DMA_BUF DMA_BUF
#endif

#endif
