// SPDX-License-Identifier: GPL-2.0
/*
 * PCI probe and removal, the table of ioctls, the query.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>

#include "wse_compat.h"
#include "wse_ctx.h"
#include "wse_debugfs.h"
#include "wse_dev.h"
#include "wse_dump.h"
#include "wse_fence.h"
#include "wse_gem.h"
#include "wse_ioctl.h"
#include "wse_irq.h"
#include "wse_job.h"
#include "wse_lease.h"
#include "wse_pages.h"
#include "wse_power.h"
#include "wse_reset.h"

static char *wse_id;
module_param_named(id, wse_id, charp, 0444);
MODULE_PARM_DESC(id, "vendor:device in hexadecimal, another PCI ID that wafers have");

int wse_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_query *args = data;
	struct drm_wse_info info = {
		.abi_major = wdev->abi >> WSE_ABI_MAJOR_SHIFT,
		.abi_minor = wdev->abi & WSE_ABI_MINOR_MASK,
		.rows = wdev->geom.rows,
		.cols = wdev->geom.cols,
		.sram_kib = wdev->sram_kib,
		.lanes = wdev->lanes,
		.colors = wdev->geom.colors,
		.queues = wdev->geom.queues,
		.features = wdev->features,
		.max_cmds = wdev->depth - 1,
		.max_budget = WSE_MAX_BUDGET,
	};
	u32 size = args->size;

	if (args->pad)
		return -EINVAL;
	if (wse_fw_loaded(wdev)) {
		info.fw_version = wdev->fw.version;
		info.fw_end = wdev->fw.bytes;
	}
	info.resets = READ_ONCE(wdev->resets);
	args->size = sizeof(info);
	size = min_t(u32, size, sizeof(info));
	return copy_to_user(u64_to_user_ptr(args->ptr), &info, size) ? -EFAULT : 0;
}

#define WSE_IOCTL_DESC(name, serve) DRM_IOCTL_DEF_DRV(name, serve, 0),
static const struct drm_ioctl_desc wse_ioctls[] = { WSE_IOCTLS(WSE_IOCTL_DESC) };

/*
 * Two ioctls of the core take the file's master, and files of accel nodes have none: they would
 * dereference NULL (driver/upstream has the patch that mends the core). The core selects by the
 * number alone, whatever the type, size and direction.
 */
static bool wse_ioctl_refused(unsigned int cmd)
{
	return _IOC_NR(cmd) == _IOC_NR(DRM_IOCTL_GET_UNIQUE) ||
	       _IOC_NR(cmd) == _IOC_NR(DRM_IOCTL_GET_MAGIC);
}

static long wse_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return wse_ioctl_refused(cmd) ? -EINVAL : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
static long wse_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return wse_ioctl_refused(cmd) ? -EINVAL : drm_compat_ioctl(filp, cmd, arg);
}
#else
#define wse_compat_ioctl NULL
#endif

/* DRM_ACCEL_FOPS has neither these ioctls nor show_fdinfo */
static const struct file_operations wse_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = wse_ioctl,
	.compat_ioctl = wse_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
	.show_fdinfo = drm_show_fdinfo,
};

/* the version of the user API; wse_accel.h has its history */
static const struct drm_driver wse_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.name = "wse",
	.desc = "wafer-scale engine",
	WSE_DRIVER_DATE
	.major = WSE_UAPI_MAJOR,
	.minor = WSE_UAPI_MINOR,
	.fops = &wse_fops,
	.open = wse_open,
	.postclose = wse_postclose,
	.ioctls = wse_ioctls,
	.num_ioctls = ARRAY_SIZE(wse_ioctls),
	.gem_create_object = wse_gem_create_object,
	.gem_prime_import = wse_gem_import,
	.gem_prime_import_sg_table = wse_gem_import_sgt,
	.show_fdinfo = wse_show_fdinfo,
};

static void wse_destroy_wq(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

static void wse_free_dump(struct drm_device *drm, void *wdev)
{
	wse_dump_free(wdev);
}

static int wse_init_wq(struct drm_device *drm, struct workqueue_struct **wq, const char *name,
		       unsigned int flags)
{
	*wq = alloc_workqueue("%s", WQ_UNBOUND | flags, 0, name);
	return *wq ? drmm_add_action_or_reset(drm, wse_destroy_wq, *wq) : -ENOMEM;
}

/* Initialization that cannot fail and needs no cleanup; the devices of KUnit begin here, too. */
void wse_init_early(struct wse_device *wdev)
{
	spin_lock_init(&wdev->lock);
	INIT_LIST_HEAD(&wdev->pending);
	INIT_LIST_HEAD(&wdev->active);
	INIT_LIST_HEAD(&wdev->bos);
	wdev->list_bytes = WSE_LIST_BYTES;
	INIT_LIST_HEAD(&wdev->waiters);
	init_llist_head(&wdev->reap);
	init_completion(&wdev->admin_done);
	wse_fw_init(wdev);
	INIT_WORK(&wdev->push_work, wse_push_work);
	INIT_WORK(&wdev->reset_work, wse_reset_work);
	INIT_WORK(&wdev->lease_work, wse_lease_work);
	INIT_WORK(&wdev->dump_work, wse_dump_work);
	INIT_DELAYED_WORK(&wdev->reap_work, wse_reap_work);
	INIT_DELAYED_WORK(&wdev->watchdog, wse_watchdog);
	INIT_DELAYED_WORK(&wdev->recovery, wse_recovery_failed);
}

static int wse_init(struct wse_device *wdev)
{
	struct drm_device *drm = &wdev->drm;
	int ret;

	wse_init_early(wdev);
	ret = drmm_mutex_init(drm, &wdev->hw_mutex);
	if (!ret)
		ret = drmm_mutex_init(drm, &wdev->fw_mutex);
	if (!ret)
		ret = drmm_mutex_init(drm, &wdev->bo_lock);
	if (!ret)
		ret = drmm_mutex_init(drm, &wdev->cycles_lock);
	if (!ret)
		ret = wse_init_wq(drm, &wdev->slow_wq, "wse-slow", 0);
	if (!ret)
		ret = wse_init_wq(drm, &wdev->wq, "wse", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	return ret ?: drmm_add_action_or_reset(drm, wse_free_dump, wdev);
}

static int wse_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct wse_device *wdev;
	int ret;

	wdev = devm_drm_dev_alloc(&pdev->dev, &wse_driver, struct wse_device, drm);
	if (IS_ERR(wdev))
		return PTR_ERR(wdev);
	pci_set_drvdata(pdev, wdev);
	ret = wse_init(wdev);
	if (ret)
		return ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	if (pci_resource_len(pdev, 0) < WSE_BAR0_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "BAR 0 is too small\n");
	wdev->mmio = pcim_iomap_region(pdev, 0, "wse");
	if (IS_ERR(wdev->mmio))
		return PTR_ERR(wdev->mmio);
	ret = wse_dev_identify(wdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	/* page lists describe buffers: segments may have any length */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ret = wse_probe_bounces(&pdev->dev, &wdev->bounces);
	if (!ret)
		ret = wse_irq_init(wdev);
	if (!ret)
		ret = wse_dev_alloc(wdev);
	if (ret)
		return ret;
	pci_set_master(pdev);
	/* for wse_slot_reset() */
	pci_save_state(pdev);
	ret = wse_irq_request(wdev);
	if (ret)
		goto stop;

	wse_dump_room(wdev);
	scoped_guard(mutex, &wdev->hw_mutex)
		ret = wse_start(wdev);
	if (ret)
		goto stop;
	/* if it is missing, the first context asks for it again */
	wse_fw_get(wdev);
	wse_debugfs_init(wdev);
	ret = drm_dev_register(&wdev->drm, 0);
	if (ret)
		goto stop;
	drm_info(&wdev->drm, "%u x %u cores, ABI %u.%u, %u queues of %u, %u vectors\n",
		 wdev->geom.rows, wdev->geom.cols, wdev->abi >> WSE_ABI_MAJOR_SHIFT,
		 wdev->abi & WSE_ABI_MINOR_MASK, wdev->geom.queues, wdev->depth, wdev->nvectors);
	return 0;
stop:
	/* the device has memory and interrupts, and may have caused work */
	wse_stop(wdev);
	return ret;
}

static void wse_remove(struct pci_dev *pdev)
{
	struct wse_device *wdev = pci_get_drvdata(pdev);

	/* all waits for the lease or the device end: drm_dev_unplug() waits for them */
	wse_set_dead(wdev);
	drm_dev_unplug(&wdev->drm);
	cancel_delayed_work_sync(&wdev->recovery);
	wse_stop(wdev);
	wse_gem_remove(wdev);
}

static void wse_shutdown(struct pci_dev *pdev)
{
	wse_stop(pci_get_drvdata(pdev));
}

static const struct pci_device_id wse_ids[] = {
	{ PCI_DEVICE(WSE_PCI_VENDOR, WSE_PCI_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, wse_ids);

static struct pci_driver wse_pci_driver = {
	.name = "wse",
	.id_table = wse_ids,
	.probe = wse_probe,
	.remove = wse_remove,
	.shutdown = wse_shutdown,
	.err_handler = &wse_error_handlers,
	.driver.pm = pm_sleep_ptr(&wse_pm_ops),
};

static int __init wse_module_init(void)
{
	unsigned int vendor, device;
	char rest;
	int ret;

	if (wse_id && sscanf(wse_id, "%4x:%4x%c", &vendor, &device, &rest) != 2) {
		pr_err("wse: id=%s is no vendor:device in hexadecimal, such as id=1b36:0e57\n",
		       wse_id);
		return -EINVAL;
	}
	wse_compat_init();
	ret = pci_register_driver(&wse_pci_driver);
	if (ret || !wse_id)
		return ret;
	ret = pci_add_dynid(&wse_pci_driver, vendor, device, PCI_ANY_ID, PCI_ANY_ID, 0, 0, 0);
	if (ret)
		pci_unregister_driver(&wse_pci_driver);
	return ret;
}
module_init(wse_module_init);

static void __exit wse_module_exit(void)
{
	pci_unregister_driver(&wse_pci_driver);
	wse_fences_exit();
	wse_compat_exit();
}
module_exit(wse_module_exit);

MODULE_DESCRIPTION("DRM accel driver of the wafer-scale engine");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(WSE_IMPORT_NS_DMA_BUF);
MODULE_FIRMWARE(WSE_FIRMWARE);
