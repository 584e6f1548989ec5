// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of a host that does not let the device access ordinary pages (swiotlb=force, encrypted
 * guests). There a mapping is a copy, which the driver would have to renew for each command, line
 * by line, while other commands of the same buffer still run. So these buffers consist of pages
 * that the driver allocates for the device, one by one, and that the host never copies.
 */
#include <linux/cc_platform.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>

#include "wse_compat.h"
#include "wse_dev.h"
#include "wse_gem.h"
#include "wse_pages.h"

/*
 * dma_need_sync() is exact without an IOMMU. Behind one, a kernel with DMA_API_DEBUG always returns
 * true, to see all calls; so this reads the device's own state first, as kernels without that
 * option do.
 */
static bool wse_need_sync(struct device *dev, dma_addr_t dma)
{
#if defined(CONFIG_DMA_API_DEBUG) && defined(CONFIG_DMA_NEED_SYNC)
	if (wse_dma_skip_sync(dev))
		return false;
#endif
	return dma_need_sync(dev, dma);
}

/* Whether any part of the mapping is a copy, or may be stale in a cache. */
bool wse_sgt_bounces(struct device *dev, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (wse_need_sync(dev, sg_dma_address(sg)))
			return true;
	return false;
}

/* *bounces: whether an ordinary page is copied. */
int wse_probe_bounces(struct device *dev, bool *bounces)
{
	struct page *page = alloc_page(GFP_KERNEL);
	dma_addr_t dma;
	int ret;

	if (!page)
		return -ENOMEM;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	ret = dma_mapping_error(dev, dma);
	if (!ret) {
		*bounces = wse_need_sync(dev, dma);
		dma_unmap_page(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	__free_page(page);
	return ret;
}

static int wse_pages_alloc(struct device *dev, struct wse_bo *bo, unsigned long n)
{
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	bo->pages = kvcalloc(n, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	bo->shmem.sgt = kzalloc(sizeof(*bo->shmem.sgt), GFP_KERNEL_ACCOUNT);
	if (!bo->pages || !bo->shmem.sgt)
		return -ENOMEM;
	ret = sg_alloc_table(bo->shmem.sgt, n, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	for_each_sgtable_sg(bo->shmem.sgt, sg, i) {
		dma_addr_t dma;
		struct page *page = dma_alloc_pages(dev, PAGE_SIZE, &dma, DMA_BIDIRECTIONAL,
						    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

		if (!page)
			return -ENOMEM;
		/*
		 * this buffer's reference besides the allocation's: a process that has mapped the
		 * page may keep it
		 */
		get_page(page);
		bo->pages[i] = page;
		sg_set_page(sg, page, PAGE_SIZE, 0);
		sg_dma_address(sg) = dma;
		sg_dma_len(sg) = PAGE_SIZE;
		/* a host whose caches are not coherent with the device */
		if (wse_need_sync(dev, dma))
			return -EOPNOTSUPP;
	}
	return 0;
}

static const struct drm_gem_object_funcs wse_pages_funcs = {
	.free = wse_gem_free,
	.status = wse_gem_status,
	.get_sg_table = wse_pages_get_sg_table,
	.mmap = wse_pages_mmap,
	.vm_ops = &wse_pages_vm_ops,
};

/* Makes a buffer with its table of pages, mapped; or an error. size is a multiple of a page. */
struct wse_bo *wse_pages_create(struct drm_device *drm, size_t size)
{
	struct wse_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!bo)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&bo->link);
	bo->shmem.base.funcs = &wse_pages_funcs;
	drm_gem_private_object_init(drm, &bo->shmem.base, size);
	/* before any process maps it: wse_pages_fault() counts its pages from there */
	ret = drm_gem_create_mmap_offset(&bo->shmem.base);
	if (!ret)
		ret = wse_pages_alloc(drm->dev, bo, size / PAGE_SIZE);
	if (!ret)
		return bo;
	wse_pages_unmap(drm->dev, bo);
	drm_gem_object_put(&bo->shmem.base);
	return ERR_PTR(ret);
}

/* Takes the pages away from the device, not from processes that have mapped them. */
void wse_pages_unmap(struct device *dev, struct wse_bo *bo)
{
	struct sg_table *sgt = bo->shmem.sgt;
	struct scatterlist *sg;
	unsigned int i;

	if (!sgt)
		return;
	bo->shmem.sgt = NULL;
	for_each_sgtable_sg(sgt, sg, i) {
		if (!sg_page(sg))
			break;
		dma_free_pages(dev, PAGE_SIZE, sg_page(sg), sg_dma_address(sg), DMA_BIDIRECTIONAL);
	}
	sg_free_table(sgt);
	kfree(sgt);
}

/* After the last handle, mapping and export. */
void wse_pages_free(struct wse_bo *bo)
{
	unsigned long i, n = bo->shmem.base.size / PAGE_SIZE;

	/* of a buffer that has got no page list */
	wse_pages_unmap(bo->shmem.base.dev->dev, bo);
	for (i = 0; bo->pages && i < n && bo->pages[i]; i++)
		put_page(bo->pages[i]);
	kvfree(bo->pages);
	drm_gem_object_release(&bo->shmem.base);
	kfree(bo);
}

struct sg_table *wse_pages_get_sg_table(struct drm_gem_object *obj)
{
	return drm_prime_pages_to_sg(obj->dev, to_wse_bo(obj)->pages, obj->size / PAGE_SIZE);
}

static vm_fault_t wse_pages_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	unsigned long n = vmf->pgoff - drm_vma_node_start(&obj->vma_node);

	if (n >= obj->size / PAGE_SIZE)
		return VM_FAULT_SIGBUS;
	vmf->page = to_wse_bo(obj)->pages[n];
	get_page(vmf->page);
	return 0;
}

const struct vm_operations_struct wse_pages_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = wse_pages_fault,
};

int wse_pages_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	/* no private copies */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		vma->vm_page_prot = pgprot_decrypted(vma->vm_page_prot);
	return 0;
}
