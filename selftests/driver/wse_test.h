/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the kselftests of wse.ko: raw ioctls, no library. Functions return the kernel's result,
 * 0 or -errno; functions with another result fail only if the test is broken.
 */
#ifndef WSE_TEST_H
#define WSE_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <drm/wse_accel.h>
#include "wse_regs.h"

#define PAGE	   4096u
#define SECONDS(n) (1000000000ll * (n))
#define BUDGET	   100000000ull

/*
 * The harness gives each test so many seconds, of a kernel that is not busy with itself: in guests
 * that are slower by far, WSE_SLOW says how often as many.
 */
static inline unsigned int wse_alarm(unsigned int seconds)
{
	const char *slow = getenv("WSE_SLOW");

	return alarm(seconds * (slow ? strtoul(slow, NULL, 0) : 1));
}

#define alarm(seconds) wse_alarm(seconds)

/* The ioctl with 0xcc in everything that the kernel is to fill in is the caller's business. */
static inline int wse_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

/* PCI address of the n-th bound wafer, "" if there is none. */
static inline void wse_address(unsigned int n, char address[32])
{
	struct dirent **names;
	int i, count = scandir("/sys/bus/pci/drivers/wse", &names, NULL, alphasort);

	address[0] = 0;
	for (i = 0; i < count; i++) {
		if (strchr(names[i]->d_name, ':') && !n--)
			snprintf(address, 32, "%.31s", names[i]->d_name);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* Without a device there is nothing to test: that is no failure. */
static void __attribute__((constructor)) wse_skip_without_device(void)
{
	char address[32];

	wse_address(0, address);
	if (address[0])
		return;
	printf("1..0 # SKIP no wafer is bound to the driver wse: is the module loaded?\n");
	exit(4); /* KSFT_SKIP */
}

/* The accel node of the wafer at that address, or -errno. */
static inline int wse_open_at(const char *address)
{
	char path[128], node[64] = "";
	struct dirent *e;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/accel", address);
	dir = opendir(path);
	if (!dir)
		return -ENODEV;
	while ((e = readdir(dir)))
		if (!strncmp(e->d_name, "accel", 5))
			snprintf(node, sizeof(node), "/dev/accel/%.32s", e->d_name);
	closedir(dir);
	fd = open(node, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static inline int wse_open_nth(unsigned int n)
{
	char address[32];

	wse_address(n, address);
	return address[0] ? wse_open_at(address) : -ENODEV;
}

static inline int wse_sysfs_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* All of a small file as text, "" if it cannot be read. */
static inline void wse_slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t got;

	while (fd >= 0 && n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += got;
	text[n] = 0;
	if (fd >= 0)
		close(fd);
}

/* Page lists of more bytes may lie in pieces, of buffers that this device gets from now on. */
static inline int wse_list_bytes(const char *address, const char *bytes)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%.31s/list_bytes", address);
	return wse_sysfs_write(path, bytes);
}

/* A file of the driver in debugfs, of the first device; "" if there is none. */
static inline void wse_debugfs(const char *name, char *text, size_t size)
{
	char address[32], path[128];

	wse_address(0, address);
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/%s", address, name);
	wse_slurp(path, text, size);
}

/* The number behind a key of the file's fdinfo, or -1. */
static inline long long wse_usage(int fd, const char *key)
{
	char path[64], text[4096], line[64], *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	wse_slurp(path, text, sizeof(text));
	snprintf(line, sizeof(line), "\n%s:\t", key);
	at = strstr(text, line);
	return at ? atoll(at + strlen(line)) : -1;
}

/* Messages of the driver in the kernel's log, of any level. */
static inline unsigned int wse_messages(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	unsigned int n = 0;
	char record[8192];
	ssize_t len;

	while (fd >= 0 && ((len = read(fd, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		record[len > 0 ? len : 0] = 0;
		n += strstr(record, ";wse ") || strstr(record, "\n DRIVER=wse");
	}
	if (fd >= 0)
		close(fd);
	return n;
}

#define TRACING "/sys/kernel/tracing/"

/* Empties the trace and switches the driver's events on; trace_end() gives what they said. */
static inline int trace_begin(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC);

	if (fd < 0)
		return -errno;
	close(fd);
	return wse_sysfs_write(TRACING "events/wse/enable", "1");
}

static inline void trace_end(char *text, size_t size)
{
	wse_sysfs_write(TRACING "events/wse/enable", "0");
	wse_slurp(TRACING "trace", text, size);
}

/* These n texts come in that order; NULL, or the first that does not. */
static inline const char *in_order(const char *text, const char *const *want, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		text = strstr(text, want[i]);
		if (!text)
			return want[i];
		text += strlen(want[i]);
	}
	return NULL;
}

/* Path of the device's core dump, or "". */
static inline void core_dump(char path[128])
{
	struct dirent **names;
	int i, n = scandir("/sys/class/devcoredump", &names, NULL, alphasort);

	path[0] = 0;
	for (i = 0; i < n; i++) {
		if (!strncmp(names[i]->d_name, "devcd", 5))
			snprintf(path, 128, "/sys/class/devcoredump/%.64s/data", names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* The dump of a reset comes from a work of the driver, after the new owner's lease. */
static inline bool wait_for_dump(char path[128])
{
	int i;

	for (i = 0; i < 6000; i++) {
		core_dump(path);
		if (path[0])
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Throws dumps away. The kernel does that in its own time, and makes no other one of a device that
 * still has one.
 */
static inline bool drop_dumps(void)
{
	char path[128];
	int i;

	for (i = 0; i < 1000; i++) {
		core_dump(path);
		if (!path[0])
			return true;
		wse_sysfs_write(path, "0");
		usleep(10000);
	}
	return false;
}

static inline int wse_unbind(const char *address)
{
	return wse_sysfs_write("/sys/bus/pci/drivers/wse/unbind", address);
}

static inline int wse_bind(const char *address)
{
	return wse_sysfs_write("/sys/bus/pci/drivers/wse/bind", address);
}

/* A reset of the function through sysfs. */
static inline int wse_reset(const char *address)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", address);
	return wse_sysfs_write(path, "1");
}

static inline struct drm_wse_info wse_info(int fd)
{
	struct drm_wse_info info;
	struct drm_wse_query query = { .ptr = (uintptr_t)&info, .size = sizeof(info) };

	memset(&info, 0xcc, sizeof(info));
	if (wse_ioctl(fd, DRM_IOCTL_WSE_QUERY, &query))
		memset(&info, 0, sizeof(info));
	return info;
}

static inline int wse_bo_create(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_wse_bo_create create = { .size = size, .handle = 0xcccccccc };
	int ret = wse_ioctl(fd, DRM_IOCTL_WSE_BO_CREATE, &create);

	*handle = create.handle;
	return ret;
}

/* NULL if that fails */
static inline void *wse_bo_map(int fd, uint32_t handle, size_t size)
{
	struct drm_wse_bo_map map = { .handle = handle, .offset = 0xcccccccc };
	void *p;

	if (wse_ioctl(fd, DRM_IOCTL_WSE_BO_MAP, &map))
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
	return p == MAP_FAILED ? NULL : p;
}

static inline int wse_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close close = { .handle = handle };

	return wse_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &close);
}

static inline int wse_ctx_create(int fd, uint32_t flags, uint32_t *ctx)
{
	struct drm_wse_ctx_create create = { .flags = flags, .ctx = 0 };
	int ret = wse_ioctl(fd, DRM_IOCTL_WSE_CTX_CREATE, &create);

	*ctx = create.ctx;
	return ret;
}

static inline int wse_ctx_destroy(int fd, uint32_t ctx)
{
	struct drm_wse_ctx_destroy destroy = { .ctx = ctx };

	return wse_ioctl(fd, DRM_IOCTL_WSE_CTX_DESTROY, &destroy);
}

static inline int wse_fault(int fd, uint32_t ctx, struct drm_wse_fault *fault)
{
	memset(fault, 0xcc, sizeof(*fault));
	fault->ctx = ctx;
	return wse_ioctl(fd, DRM_IOCTL_WSE_FAULT, fault);
}

static inline uint32_t syncobj_create(int fd)
{
	struct drm_syncobj_create create = {};

	return wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create) ? 0 : create.handle;
}

/* 0, -ETIME, ...; timeout in ns from now */
static inline int syncobj_wait(int fd, uint32_t handle, uint64_t point, int64_t timeout)
{
	struct timespec now;
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.timeout_nsec = now.tv_sec * 1000000000ll + now.tv_nsec + timeout;
	return wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static inline int syncobj_signal(int fd, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_array array = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	return wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &array);
}

/* What the fence in a binary syncobj says: 1 active, 0 signalled well, -errno. */
static inline int syncobj_status(int fd, uint32_t handle)
{
	struct drm_syncobj_handle h = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = {};
	int ret = wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);

	if (ret)
		return ret;
	ret = wse_ioctl(h.fd, SYNC_IOC_FILE_INFO, &info);
	close(h.fd);
	if (ret)
		return ret;
	return info.status < 0 ? info.status : !info.status;
}

static inline int wse_submit_syncs(int fd, uint32_t ctx, const struct drm_wse_cmd *cmds, uint32_t n,
				   const struct drm_wse_sync *in, uint32_t nin,
				   const struct drm_wse_sync *out, uint32_t nout)
{
	struct drm_wse_submit submit = {
		.ctx = ctx,
		.cmds = { .ptr = (uintptr_t)cmds, .count = n, .stride = sizeof(*cmds) },
		.in_syncs = { .ptr = (uintptr_t)in, .count = nin, .stride = nin ? sizeof(*in) : 0 },
		.out_syncs = { .ptr = (uintptr_t)out,
			       .count = nout,
			       .stride = nout ? sizeof(*out) : 0 },
	};

	return wse_ioctl(fd, DRM_IOCTL_WSE_SUBMIT, &submit);
}

/* Submits and gives a new syncobj in *sync. */
static inline int wse_submit(int fd, uint32_t ctx, const struct drm_wse_cmd *cmds, uint32_t n,
			     uint32_t *sync)
{
	struct drm_wse_sync out = { .handle = syncobj_create(fd) };

	*sync = out.handle;
	return wse_submit_syncs(fd, ctx, cmds, n, NULL, 0, &out, 1);
}

/* Submits and waits: the errno of the submit, of the wait, or of the fence. */
static inline int wse_run(int fd, uint32_t ctx, const struct drm_wse_cmd *cmds, uint32_t n)
{
	struct drm_syncobj_destroy destroy = {};
	int ret = wse_submit(fd, ctx, cmds, n, &destroy.handle);

	if (!ret)
		ret = syncobj_wait(fd, destroy.handle, 0, SECONDS(25));
	if (!ret)
		ret = syncobj_status(fd, destroy.handle);
	wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return ret;
}

static inline int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC), ret;

	if (uffd < 0)
		return -errno;
	ret = wse_ioctl(uffd, UFFDIO_API, &api);
	return ret ? ret : uffd;
}

/* A thread that touches the last of bytes from p waits for uffd_give(). */
static inline int uffd_hold(int uffd, void *p, size_t bytes)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)p + bytes - PAGE, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return wse_ioctl(uffd, UFFDIO_REGISTER, &reg);
}

/* Waits until a thread does so; 0. */
static inline int uffd_wait(int uffd)
{
	struct uffd_msg msg;

	return read(uffd, &msg, sizeof(msg)) == sizeof(msg) ? 0 : -EIO;
}

static inline int uffd_give(int uffd, void *p, size_t bytes, const void *page)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)p + bytes - PAGE,
		.src = (uintptr_t)page,
		.len = PAGE,
	};

	return wse_ioctl(uffd, UFFDIO_COPY, &copy);
}

static inline struct drm_wse_cmd cmd_nop(uint32_t queue)
{
	return (struct drm_wse_cmd){ .op = WSE_OP_NOP, .queue = queue };
}

/* queue waits for what was accepted on other before this submit */
static inline struct drm_wse_cmd cmd_fence(uint32_t queue, uint32_t other)
{
	return (struct drm_wse_cmd){
		.op = WSE_OP_FENCE,
		.queue = queue,
		.wait_cmd = DRM_WSE_WAIT_QUEUE,
		.wait_queue = other,
	};
}

static inline struct drm_wse_cmd cmd_fence_cmd(uint32_t queue, uint32_t cmd)
{
	return (struct drm_wse_cmd){ .op = WSE_OP_FENCE, .queue = queue, .wait_cmd = cmd };
}

/* len bytes of one core */
static inline struct drm_wse_cmd cmd_copy(uint32_t op, uint32_t bo, uint64_t off, uint16_t row,
					  uint16_t col, uint32_t sram, uint32_t len)
{
	return (struct drm_wse_cmd){
		.op = op,
		.queue = 1,
		.bo = bo,
		.off = off,
		.budget = BUDGET,
		.row0 = row,
		.col0 = col,
		.rows = 1,
		.cols = 1,
		.sram = sram,
		.len = len,
		.nline = 1,
	};
}

/* wavelets that no core takes, of zeros: `bo` is still to be set */
static inline struct drm_wse_cmd cmd_stuck(uint64_t budget)
{
	return (struct drm_wse_cmd){
		.op = WSE_OP_STREAM_IN,
		.queue = 1,
		.budget = budget,
		.cols = 1,
		.nline = 1,
		.kcol = 64,
		.nfeat = 1,
		.etype = WSE_ETYPE_RAW32,
	};
}

static inline struct drm_wse_cmd cmd_start(const struct drm_wse_info *info, uint32_t sram,
					   uint64_t budget)
{
	return (struct drm_wse_cmd){
		.op = WSE_OP_START,
		.queue = 1,
		.budget = budget,
		.rows = info->rows,
		.cols = info->cols,
		.sram = WSE_SRAM_BASE + sram,
	};
}

#endif
