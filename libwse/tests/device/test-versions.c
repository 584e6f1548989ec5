// SPDX-License-Identifier: MIT
/*
 * Releases that do not fit together, as libwse sees them: the driver's interface, the device behind
 * a node, the firmware. The kernel is played by what this file puts in libdrm's place (--wrap); the
 * driver's own refusals are in selftests/driver.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <drm/wse_accel.h>
#include <wse/wse.h>
#include <xf86drm.h>

#include "device.h"
#include "tap.h"
#include "wse_regs.h"

#define OK(cond, ...) ok(cond, __VA_ARGS__)
#define NODE	      "/dev/null" /* anything that can be opened */

/* ---- a kernel of another release ---- */

static struct {
	char name[8];
	int major, minor;
	uint32_t abi_major, abi_minor;
	int ctx_errno;
} kernel;

drmVersionPtr __wrap_drmGetVersion(int fd);
void __wrap_drmFreeVersion(drmVersionPtr v);
int __wrap_drmIoctl(int fd, unsigned long request, void *arg);

drmVersionPtr __wrap_drmGetVersion(int fd)
{
	static drmVersion v;

	(void)fd;
	v = (drmVersion){.version_major = kernel.major,
			 .version_minor = kernel.minor,
			 .name = kernel.name,
			 .name_len = (int)strlen(kernel.name)};
	return &v;
}

void __wrap_drmFreeVersion(drmVersionPtr v)
{
	(void)v;
}

int __wrap_drmIoctl(int fd, unsigned long request, void *arg)
{
	(void)fd;
	if (request == DRM_IOCTL_WSE_QUERY) {
		struct drm_wse_query *q = arg;
		struct drm_wse_info *info = (void *)(uintptr_t)q->ptr;

		*info = (struct drm_wse_info){.abi_major = kernel.abi_major,
					      .abi_minor = kernel.abi_minor,
					      .features = WSE_FEATURES_BCAST_DIM_MASK |
							  WSE_FEATURES_LINEAR_MASK,
					      .rows = 4,
					      .cols = 4};
		return 0;
	}
	errno = request == DRM_IOCTL_WSE_CTX_CREATE ? kernel.ctx_errno : ENOTTY;
	return -1;
}

static void this_release(void)
{
	memset(&kernel, 0, sizeof(kernel));
	strcpy(kernel.name, "wse");
	kernel.major = WSE_UAPI_MAJOR;
	kernel.minor = WSE_UAPI_MINOR;
	kernel.abi_major = WSE_ABI_MAJOR;
	kernel.abi_minor = WSE_ABI_MINOR;
}

static bool sentence(const char *words)
{
	return strstr(wse_error(), words) && !strchr(wse_error(), '\n');
}

static void refused(const char *words, const char *name)
{
	struct wse_device *dev;
	int ret = wse_device_open("accel:" NODE, &dev);

	OK(ret == -EPROTO && sentence(words), "%s: %s", name, wse_error());
	if (!ret)
		wse_device_close(dev);
}

static void test_node(void)
{
	struct wse_device *dev;
	struct wse_context *ctx;
	struct drm_wse_info info;
	char words[128];
	int ret;

	this_release();
	kernel.major++;
	kernel.minor = 7;
	snprintf(words, sizeof(words),
		 NODE " speaks version %d.7 of the interface, libwse %d.%d: use driver",
		 WSE_UAPI_MAJOR + 1, WSE_UAPI_MAJOR, WSE_UAPI_MINOR);
	refused(words, "a driver of the next major version");
	kernel.major = WSE_UAPI_MAJOR - 1;
	snprintf(words, sizeof(words), "speaks version %d.7 ", WSE_UAPI_MAJOR - 1);
	refused(words, "a driver of the last major version");

	this_release();
	strcpy(kernel.name, "qaic");
	refused("belongs to the driver \"qaic\", not to wse", "another driver's node");

	this_release();
	kernel.abi_major++;
	kernel.abi_minor = 5;
	snprintf(words, sizeof(words), NODE " has ABI %u.5, libwse %u.%u: use device and library",
		 WSE_ABI_MAJOR + 1, WSE_ABI_MAJOR, WSE_ABI_MINOR);
	refused(words, "a device of the next major version");

	/*
	 * an older driver refuses a broadcast along one dimension, and LINEAR streams, whatever the
	 * device could do
	 */
	for (int minor = 1; minor <= 3; minor++) {
		this_release();
		kernel.minor = minor;
		ret = wse_device_open("accel:" NODE, &dev);
		OK(!ret && !wse_device_info(dev, &info) &&
			   !!(info.features & WSE_FEATURES_BCAST_DIM_MASK) == (minor >= 2) &&
			   !!(info.features & WSE_FEATURES_LINEAR_MASK) == (minor >= 3),
		   "a driver of version 1.%d on a new device: broadcasts %s, %s", minor,
		   minor < 2 ? "to all cores alone" : "along rows or columns, too",
		   minor < 3 ? "no LINEAR streams" : "LINEAR streams");
		if (!ret)
			wse_device_close(dev);
	}

	/* what is only newer is good: it has more, and asks nothing */
	this_release();
	kernel.minor++;
	kernel.abi_minor++;
	kernel.ctx_errno = EOPNOTSUPP;
	ret = wse_device_open("accel:" NODE, &dev);
	if (!OK(!ret, "newer minor versions are taken%s", ret ? wse_error() : ""))
		return;
	ret = wse_context_create(dev, 0, &ctx);
	OK(ret == -EOPNOTSUPP &&
		   sentence("firmware in /lib/firmware/wse is of another ABI: install that"),
	   "the driver refused its firmware: %s", wse_error());
	wse_device_close(dev);
}

/* ---- firmware of another release, in process ---- */

static void test_firmware(const struct wse_fw *good, size_t size, int major, int minor, int want)
{
	char path[] = "/tmp/wse-test-versions-XXXXXX", words[128];
	struct wse_fw *fw = malloc(size);
	struct wse_device *dev = NULL;
	struct wse_context *ctx;
	int fd = mkstemp(path), ret;

	memcpy(fw, good, size);
	fw->abi_major = (uint16_t)(good->abi_major + major);
	fw->abi_minor = (uint16_t)(WSE_ABI_MINOR + minor);
	snprintf(words, sizeof(words),
		 "%s needs ABI %u.%u, the device has %u.%u: use firmware and device of one", path,
		 fw->abi_major, fw->abi_minor, WSE_ABI_MAJOR, WSE_ABI_MINOR);
	ret = fd < 0 || write(fd, fw, size) != (ssize_t)size ? -EIO : 0;
	setenv("WSE_FIRMWARE", path, 1);
	if (!ret)
		ret = wse_device_open("sim:func,rows=1,cols=1", &dev);
	if (OK(!ret, "a device with firmware for ABI %u.%u", fw->abi_major, fw->abi_minor)) {
		ret = wse_context_create(dev, 0, &ctx);
		OK(ret == want && (!want || sentence(words)), "its context: %d %s", ret,
		   want ? wse_error() : "");
		if (!ret)
			wse_context_destroy(ctx);
		wse_device_close(dev);
	}
	unsetenv("WSE_FIRMWARE");
	close(fd);
	unlink(path);
	free(fw);
}

int main(void)
{
	char path[4096];
	void *fw;
	size_t size;

	test_node();
	if (!OK(!wse_find_file("WSE_FIRMWARE", "wse-fw.bin", sizeof(path), path) &&
			!wse_read_file(path, 65536, &fw, &size),
		"this release's firmware"))
		return tap_end();
	test_firmware(fw, size, 0, 0, 0);
	test_firmware(fw, size, 0, 1, -EOPNOTSUPP);
	test_firmware(fw, size, 1, 0, -EOPNOTSUPP);
	test_firmware(fw, size, -1, 0, -EOPNOTSUPP);
	free(fw);
	return tap_end();
}
