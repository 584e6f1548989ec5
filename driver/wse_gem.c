// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers. The driver pins and maps their pages at creation, and then also builds the page list
 * that the device reads: a submit only copies its address.
 *
 * Synchronization is explicit (syncobjs). For other drivers, buffers carry fences in their
 * reservation objects, see wse_resv.c.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>

#include "wse_dev.h"
#include "wse_gem.h"
#include "wse_ioctl.h"
#include "wse_pages.h"

/* Takes a buffer away from the device. Its pages stay, for processes that have mapped them. */
static void wse_bo_unmap(struct wse_device *wdev, struct wse_bo *bo)
{
	struct dma_buf_attachment *attach = bo->attach;
	struct sg_table *sgt = bo->shmem.sgt;

	lockdep_assert_held(&wdev->bo_lock);
	if (list_empty(&bo->link))
		return;
	list_del_init(&bo->link);
	wse_list_free(wdev->drm.dev, &bo->list);
	if (bo->pages) {
		wse_pages_unmap(wdev->drm.dev, bo);
		return;
	}
	/* the helpers skip what they do not find */
	bo->shmem.sgt = NULL;
	if (attach) {
		dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
		/* exporters may keep the mapping while there is an attachment */
		bo->attach = NULL;
		dma_buf_detach(attach->dmabuf, attach);
		return;
	}
	/* the device's data arrived before its fences signalled; newer data must not be lost */
	dma_unmap_sgtable(wdev->drm.dev, sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

void wse_gem_free(struct drm_gem_object *obj)
{
	struct wse_device *wdev = to_wse_device(obj->dev);
	struct wse_bo *bo = to_wse_bo(obj);
	struct dma_buf *dma_buf = NULL;

	scoped_guard(mutex, &wdev->bo_lock)
		wse_bo_unmap(wdev, bo);
	if (obj->import_attach) {
		dma_buf = obj->import_attach->dmabuf;
		/* the helper would detach it */
		obj->import_attach = NULL;
	}
	if (bo->pages)
		wse_pages_free(bo);
	else
		drm_gem_shmem_free(&bo->shmem);
	/* not before: the buffer used its reservation object */
	if (dma_buf)
		dma_buf_put(dma_buf);
}

/*
 * The device is about to leave: mappings and memory that belong to it must go, buffers may stay. It
 * does no DMA any more, and users can no longer enter.
 */
void wse_gem_remove(struct wse_device *wdev)
{
	struct wse_bo *bo, *next;

	guard(mutex)(&wdev->bo_lock);
	list_for_each_entry_safe(bo, next, &wdev->bos, link)
		wse_bo_unmap(wdev, bo);
}

/*
 * For fdinfo, under a spinlock: a reader that misses that the device has just left finds out later.
 */
enum drm_gem_object_status wse_gem_status(struct drm_gem_object *obj)
{
	return list_empty(&to_wse_bo(obj)->link) ? 0 : DRM_GEM_OBJECT_RESIDENT;
}

/*
 * The helper's counts pages from the begin of the mapping, which need not be the buffer's first:
 * that of a part of it that munmap() has left or mprotect() has made, or of a dma-buf, is not. The
 * pages are there from the buffer's creation to its end.
 */
static vm_fault_t wse_shmem_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	unsigned long n = vmf->pgoff - drm_vma_node_start(&obj->vma_node);

	if (n >= obj->size / PAGE_SIZE)
		return VM_FAULT_SIGBUS;
	return vmf_insert_pfn(vmf->vma, vmf->address,
			      page_to_pfn(to_drm_gem_shmem_obj(obj)->pages[n]));
}

static void wse_shmem_open(struct vm_area_struct *vma)
{
	drm_gem_shmem_vm_ops.open(vma);
}

static void wse_shmem_close(struct vm_area_struct *vma)
{
	drm_gem_shmem_vm_ops.close(vma);
}

static const struct vm_operations_struct wse_shmem_vm_ops = {
	.open = wse_shmem_open,
	.close = wse_shmem_close,
	.fault = wse_shmem_fault,
};

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
	.vm_ops = &wse_shmem_vm_ops,
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
		ret = wse_list_build(wdev->drm.dev, &bo->list, sgt, bo->buf.size, bo->buf.pshift,
				     READ_ONCE(wdev->list_bytes));
		if (ret)
			return ret;
		bo->buf.addr = bo->list.block[0].dma;
	}
	guard(mutex)(&wdev->bo_lock);
	list_add(&bo->link, &wdev->bos);
	return 0;
}

/*
 * The bytes from begin to end of the buffer as the device sees them; they begin at offset begin -
 * *base of buf. -EFBIG: the page list lies in pieces, none of which has all of the bytes.
 */
int wse_bo_window(const struct wse_bo *bo, u64 begin, u64 end, struct wse_buf *buf, u64 *base)
{
	*buf = bo->buf;
	*base = 0;
	if (bo->list.nblocks < 2)
		return 0;
	return wse_list_window(&bo->list, begin, end, &buf->addr, base);
}

/* size is a multiple of a page. A buffer whose shmem.sgt is mapped, without a page list yet. */
static struct wse_bo *wse_bo_alloc(struct wse_device *wdev, size_t size)
{
	struct drm_gem_shmem_object *shmem;
	struct sg_table *sgt;
	bool bounces;

	if (wdev->bounces)
		return wse_pages_create(&wdev->drm, size);
	shmem = drm_gem_shmem_create(&wdev->drm, size);
	if (IS_ERR(shmem))
		return ERR_CAST(shmem);
	sgt = drm_gem_shmem_get_pages_sgt(shmem);
	bounces = !IS_ERR(sgt) && wse_sgt_bounces(wdev->drm.dev, sgt);
	if (!IS_ERR(sgt) && !bounces)
		return to_wse_bo(&shmem->base);
	drm_gem_object_put(&shmem->base);
	return bounces ? wse_pages_create(&wdev->drm, size) : ERR_CAST(sgt);
}

int wse_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_bo_create *args = data;
	struct sysinfo si;
	struct wse_bo *bo;
	int idx, ret;
	u64 pages;

	if (args->flags || !args->size)
		return -EINVAL;
	pages = args->size / PAGE_SIZE + !!(args->size % PAGE_SIZE);
	/* keeps from the allocators below requests that they would warn about */
	si_meminfo(&si);
	if (pages > si.totalram)
		return -ENOMEM;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	bo = wse_bo_alloc(wdev, pages * PAGE_SIZE);
	if (IS_ERR(bo)) {
		ret = PTR_ERR(bo);
		goto exit;
	}
	ret = wse_bo_build(wdev, bo, bo->shmem.sgt);
	if (!ret)
		ret = drm_gem_handle_create(file, &bo->shmem.base, &args->handle);
	drm_gem_object_put(&bo->shmem.base);
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
	struct drm_gem_object *obj;
	int ret;

	/* the exporter's memory would not be what the device reads and writes */
	if (wse_sgt_bounces(drm->dev, sgt)) {
		drm_dbg(drm, "import refused: its mapping bounces\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj))
		return obj;
	to_wse_bo(obj)->attach = attach;
	ret = wse_bo_build(to_wse_device(drm), to_wse_bo(obj), sgt);
	if (ret) {
		/* the table stays the caller's */
		to_wse_bo(obj)->shmem.sgt = NULL;
		drm_gem_object_put(obj);
		return ERR_PTR(ret);
	}
	return obj;
}

/*
 * A buffer of another driver, or of another wafer. This is no dynamic importer: the core makes the
 * exporter pin its memory, and waits for the fences of moving and clearing it
 * (DMA_RESV_USAGE_KERNEL) before this driver gets the mapping, so that no submit has to.
 *
 * The attachment ends with the device, but the core reads obj->import_attach, and what it points
 * to, without a lock, as long as the buffer lives. So it points to a stand-in in the buffer.
 */
struct drm_gem_object *wse_gem_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = drm_gem_prime_import(drm, dma_buf);
	/* not if it was this device's own buffer all the time */
	if (!IS_ERR(obj) && obj->import_attach) {
		to_wse_bo(obj)->seen.dmabuf = dma_buf;
		to_wse_bo(obj)->seen.dev = drm->dev;
		obj->import_attach = &to_wse_bo(obj)->seen;
	}
	drm_dev_exit(idx);
	return obj;
}
