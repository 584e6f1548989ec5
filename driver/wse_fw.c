// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware of the cores: the driver finds and checks it, and keeps it until it releases the device.
 */
#include <linux/crc32.h>
#include <linux/dma-mapping.h>
#include <linux/firmware.h>
#include <linux/ratelimit.h>

#include "wse_dev.h"
#include "wse_fw.h"

static int wse_fw_check(struct wse_device *wdev, const struct firmware *fw)
{
	struct device *dev = wdev->drm.dev;
	const struct wse_fw *head = (const void *)fw->data;
	u32 bytes, entry, dev_minor = wdev->abi & WSE_ABI_MINOR_MASK;

	if (fw->size < sizeof(*head) || le32_to_cpu(head->magic) != WSE_FW_MAGIC) {
		dev_err_ratelimited(dev, "%s is no firmware of a wafer: install the one of this release\n",
				    WSE_FIRMWARE);
		return -ENOEXEC;
	}
	if (le16_to_cpu(head->abi_major) != WSE_ABI_MAJOR ||
	    le16_to_cpu(head->abi_minor) > dev_minor) {
		dev_err_ratelimited(dev,
				    "%s needs ABI %u.%u, the device has %u.%u: install the firmware of the device's release\n",
				    WSE_FIRMWARE, le16_to_cpu(head->abi_major),
				    le16_to_cpu(head->abi_minor), WSE_ABI_MAJOR, dev_minor);
		return -EOPNOTSUPP;
	}
	bytes = le32_to_cpu(head->bytes);
	entry = le32_to_cpu(head->entry) - WSE_SRAM_BASE;
	/* START writes its arguments to the end of the SRAM */
	if (bytes != fw->size - sizeof(*head) || !bytes || bytes % 8 || bytes > WSE_ARGS_OFFSET ||
	    bytes > wdev->geom.sram_bytes || entry >= bytes || entry % 4 || head->resv[0] ||
	    head->resv[1] ||
	    (crc32_le(~0u, fw->data + sizeof(*head), bytes) ^ ~0u) != le32_to_cpu(head->crc)) {
		dev_err_ratelimited(dev, "%s is damaged: install it again\n", WSE_FIRMWARE);
		return -ENOEXEC;
	}
	return 0;
}

void wse_fw_init(struct wse_device *wdev)
{
	ratelimit_state_init(&wdev->fw.limit, 5 * HZ, 10);
	ratelimit_set_flags(&wdev->fw.limit, RATELIMIT_MSG_ON_RELEASE);
}

/* Whether wdev->fw is valid; it then stays so. */
bool wse_fw_loaded(struct wse_device *wdev)
{
	/* the other members were written before it */
	return smp_load_acquire(&wdev->fw.loaded);
}

/*
 * Makes wdev->fw valid. -ENOENT: no such file; -ENOEXEC: it is no firmware or damaged; -EOPNOTSUPP:
 * it has another ABI. The device cannot be removed meanwhile.
 */
int wse_fw_get(struct wse_device *wdev)
{
	struct device *dev = wdev->drm.dev;
	struct wse_fw_image *image = &wdev->fw;
	const struct firmware *fw;
	const struct wse_fw *head;
	int ret;

	ret = mutex_lock_interruptible(&wdev->fw_mutex);
	if (ret)
		return ret;
	if (image->loaded)
		goto unlock;
	/* the core logs each missing file, and users may ask at any rate */
	ret = image->err;
	if (ret && !__ratelimit(&image->limit))
		goto unlock;
	ret = firmware_request_nowarn(&fw, WSE_FIRMWARE, dev);
	if (ret) {
		dev_err_ratelimited(dev, "no firmware %s (%d): put it into /lib/firmware\n",
				    WSE_FIRMWARE, ret);
		goto remember;
	}
	ret = wse_fw_check(wdev, fw);
	if (!ret) {
		head = (const void *)fw->data;
		image->bytes = le32_to_cpu(head->bytes);
		image->entry = le32_to_cpu(head->entry);
		image->version = le32_to_cpu(head->version);
		image->cpu = dmam_alloc_coherent(dev, image->bytes, &image->dma, GFP_KERNEL);
		if (image->cpu) {
			memcpy(image->cpu, fw->data + sizeof(*head), image->bytes);
			/* pairs with wse_fw_loaded() */
			smp_store_release(&image->loaded, true);
		} else {
			ret = -ENOMEM;
		}
	}
	release_firmware(fw);
remember:
	image->err = ret;
unlock:
	mutex_unlock(&wdev->fw_mutex);
	return ret;
}
