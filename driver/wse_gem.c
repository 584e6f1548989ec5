// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers. Their pages are pinned and mapped at once, and the list of pages that the device reads
 * is built then too: a submit only copies its address.
 *
 * Synchronization is explicit (syncobjs); buffers carry no fences in their reservation objects.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "wse_dev.h"
#include "wse_gem.h"

/* Takes a buffer away from the device. Its pages stay, for whoever has mapped them. */
static void wse_bo_unmap(struct wse_device *wdev, struct wse_bo *bo)
{
	struct dma_buf_attachment *attach = bo->shmem.base.import_attach;
	struct sg_table *sgt = bo->shmem.sgt;

	lockdep_assert_held(&wdev->bo_lock);
	if (list_empty(&bo->link))
		return;
	list_del_init(&bo->link);
	if (bo->list)
		dma_free_coherent(wdev->drm.dev, bo->list_bytes, bo->list, bo->list_dma);
	bo->list = NULL;
	/* the helpers leave alone what they do not find */
	bo->shmem.sgt = NULL;
	if (attach) {
		dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
		/* exporters may keep the mapping for as long as there is an attachment */
		bo->detached = attach->dmabuf;
		bo->shmem.base.import_attach = NULL;
		dma_buf_detach(attach->dmabuf, attach);
		return;
	}
	/* what the device wrote is there since its fences signalled; nothing newer must be lost */
	dma_unmap_sgtable(wdev->drm.dev, sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

static void wse_gem_free(struct drm_gem_object *obj)
{
	struct wse_device *wdev = to_wse_device(obj->dev);
	struct wse_bo *bo = to_wse_bo(obj);
	struct dma_buf *dma_buf;

	mutex_lock(&wdev->bo_lock);
	wse_bo_unmap(wdev, bo);
	dma_buf = bo->detached;
	mutex_unlock(&wdev->bo_lock);
	drm_gem_shmem_free(&bo->shmem);
	/* not before: its reservation object was the buffer's too */
	if (dma_buf)
		dma_buf_put(dma_buf);
}

/*
 * The device is about to leave: mappings and memory that belong to it must not stay, buffers may.
 * It does no DMA any more, and users can no longer get in.
 */
void wse_gem_remove(struct wse_device *wdev)
{
	struct wse_bo *bo, *next;

	mutex_lock(&wdev->bo_lock);
	list_for_each_entry_safe(bo, next, &wdev->bos, link)
		wse_bo_unmap(wdev, bo);
	mutex_unlock(&wdev->bo_lock);
}

/* For fdinfo, under a spinlock: whoever misses that the device left just now finds out later. */
static enum drm_gem_object_status wse_gem_status(struct drm_gem_object *obj)
{
	return list_empty(&to_wse_bo(obj)->link) ? 0 : DRM_GEM_OBJECT_RESIDENT;
}

static const struct drm_gem_object_funcs wse_gem_funcs = {
	.free = wse_gem_free,
	.status = wse_gem_status,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = drm_gem_shmem_object_mmap,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

struct drm_gem_object *wse_gem_create_object(struct drm_device *drm, size_t size)
{
	struct wse_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&bo->link);
	bo->shmem.base.funcs = &wse_gem_funcs;
	return &bo->shmem.base;
}

/*
 * The largest page that all of the mapping consists of: every border between two pieces that are
 * not contiguous, and every piece's address, is a multiple of it. Only the end may be ragged, since
 * nothing beyond the buffer's size is ever accessed. *direct: there is but one piece.
 */
static int wse_sgt_shape(struct sg_table *sgt, size_t size, u32 *pshift, bool *direct)
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
	/* what we were given to import might not consist of pages, or not be all there */
	if (off < size || !pieces || *pshift < WSE_PAGE_SHIFT_MIN)
		return -EINVAL;
	return 0;
}

static int wse_bo_build_list(struct wse_device *wdev, struct wse_bo *bo, struct sg_table *sgt)
{
	size_t size = bo->buf.size, page = (size_t)1 << bo->buf.pshift, off = 0;
	struct scatterlist *sg;
	unsigned int i;

	bo->list_bytes = DIV_ROUND_UP(size, page) * sizeof(*bo->list);
	bo->list = dma_alloc_coherent(wdev->drm.dev, bo->list_bytes, &bo->list_dma,
				      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->list)
		return -ENOMEM;
	/* a page begins in some segment, at a multiple of its size from the buffer's start */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		size_t end = min(off + sg_dma_len(sg), size), at;

		for (at = ALIGN(off, page); at < end; at += page)
			bo->list[at >> bo->buf.pshift] =
				cpu_to_le64(sg_dma_address(sg) + (at - off));
		off = end;
	}
	bo->buf.addr = bo->list_dma;
	return 0;
}

/* In drm_dev_enter(): wse_gem_remove() must find every buffer. */
static int wse_bo_build(struct wse_device *wdev, struct wse_bo *bo, struct sg_table *sgt)
{
	int ret;

	bo->buf.size = bo->shmem.base.size;
	ret = wse_sgt_shape(sgt, bo->buf.size, &bo->buf.pshift, &bo->buf.direct);
	if (ret)
		return ret;
	if (bo->buf.direct) {
		bo->buf.addr = sg_dma_address(sgt->sgl);
		bo->buf.pshift = 0;
	} else {
		ret = wse_bo_build_list(wdev, bo, sgt);
		if (ret)
			return ret;
	}
	mutex_lock(&wdev->bo_lock);
	list_add(&bo->link, &wdev->bos);
	mutex_unlock(&wdev->bo_lock);
	return 0;
}

int wse_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_bo_create *args = data;
	struct drm_gem_shmem_object *shmem;
	struct sg_table *sgt;
	struct sysinfo si;
	int idx, ret;
	u64 pages;

	if (args->flags || !args->size)
		return -EINVAL;
	pages = args->size / PAGE_SIZE + !!(args->size % PAGE_SIZE);
	/* spares the allocators below requests that they would warn about */
	si_meminfo(&si);
	if (pages > si.totalram)
		return -ENOMEM;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	shmem = drm_gem_shmem_create(drm, pages * PAGE_SIZE);
	if (IS_ERR(shmem)) {
		ret = PTR_ERR(shmem);
		goto exit;
	}
	sgt = drm_gem_shmem_get_pages_sgt(shmem);
	ret = PTR_ERR_OR_ZERO(sgt);
	if (!ret)
		ret = wse_bo_build(wdev, to_wse_bo(&shmem->base), sgt);
	if (!ret)
		ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	drm_gem_object_put(&shmem->base);
exit:
	drm_dev_exit(idx);
	return ret;
}

int wse_bo_map_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_wse_bo_map *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (args->pad)
		return -EINVAL;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	ret = drm_gem_create_mmap_offset(obj);
	if (!ret)
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);
	return ret;
}

/* In drm_dev_enter(), as above: the core calls this from within drm_gem_prime_import(). */
struct drm_gem_object *wse_gem_import_sgt(struct drm_device *drm, struct dma_buf_attachment *attach,
					  struct sg_table *sgt)
{
	struct drm_gem_object *obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	int ret;

	if (IS_ERR(obj))
		return obj;
	ret = wse_bo_build(to_wse_device(drm), to_wse_bo(obj), sgt);
	if (ret) {
		/* the table stays the caller's */
		to_wse_bo(obj)->shmem.sgt = NULL;
		drm_gem_object_put(obj);
		return ERR_PTR(ret);
	}
	return obj;
}

/* From another driver, or another wafer. */
struct drm_gem_object *wse_gem_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = drm_gem_prime_import(drm, dma_buf);
	drm_dev_exit(idx);
	return obj;
}
