/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_PAGES_H
#define WSE_PAGES_H

struct device;
struct drm_device;
struct drm_gem_object;
struct sg_table;
struct wse_bo;

bool wse_sgt_bounces(struct device *dev, struct sg_table *sgt);
int wse_probe_bounces(struct device *dev, bool *bounces);
struct wse_bo *wse_pages_create(struct drm_device *drm, size_t size);
void wse_pages_unmap(struct device *dev, struct wse_bo *bo);
void wse_pages_free(struct wse_bo *bo);
struct sg_table *wse_pages_get_sg_table(struct drm_gem_object *obj);
int wse_pages_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);
extern const struct vm_operations_struct wse_pages_vm_ops;

#endif
