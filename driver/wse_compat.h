/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels, and nothing else. WSE_HAVE_* come from Kbuild, which looks for the
 * feature itself in the headers.
 */
#ifndef WSE_COMPAT_H
#define WSE_COMPAT_H

/* struct drm_driver had a date, and DRM_IOCTL_VERSION warned when it was missing */
#ifdef WSE_HAVE_DRIVER_DATE
#define WSE_DRIVER_DATE .date = "20251101",
#else
#define WSE_DRIVER_DATE
#endif

/* WSE_HAVE_FENCE_DETACH: the core forgets a fence's ops once it has signalled */
/* WSE_HAVE_FENCE_LOCK: a fence can have a lock of its own */

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
