/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_GEM_H
#define WSE_GEM_H

#include <linux/dma-buf.h>

#include <drm/drm_gem_shmem_helper.h>

#include "wse_cmd.h"
#include "wse_list.h"

struct wse_device;

/* A buffer, resident and mapped for the device for its whole life. */
struct wse_bo {
	struct drm_gem_shmem_object shmem;
	struct wse_buf buf;    /* constant once the buffer has a handle */
	struct list_head link; /* wse_device.bos, while the device can reach it; bo_lock */
	struct wse_list list;  /* of pages of 2^pshift bytes, unless the buffer is direct */
	struct page **pages;   /* where ordinary pages are copied, see wse_pages.c; else NULL */
	struct dma_buf_attachment *attach; /* of an import, until the device leaves; bo_lock */
	struct dma_buf_attachment seen; /* the stand-in that the core sees, see wse_gem_import() */
};

static inline struct wse_bo *to_wse_bo(struct drm_gem_object *obj)
{
	return container_of(to_drm_gem_shmem_obj(obj), struct wse_bo, shmem);
}

struct drm_gem_object *wse_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *wse_gem_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *wse_gem_import_sgt(struct drm_device *drm, struct dma_buf_attachment *attach,
					  struct sg_table *sgt);
void wse_gem_remove(struct wse_device *wdev);
void wse_gem_free(struct drm_gem_object *obj);
enum drm_gem_object_status wse_gem_status(struct drm_gem_object *obj);
int wse_bo_window(const struct wse_bo *bo, u64 begin, u64 end, struct wse_buf *buf, u64 *base);

#endif
