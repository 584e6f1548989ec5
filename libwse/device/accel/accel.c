// SPDX-License-Identifier: MIT
/* The device node transport: the ioctls of the wse driver, and libdrm for what all DRM drivers
 * share. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <xf86drm.h>

#include "base/error.h"
#include "device/device.h"
#include "wse_regs.h"

#define NSEC 1000000000ll

/* One GEM handle; buffers that are the same memory on this device share it. */
struct accel_bo {
	struct accel_bo *next;
	uint32_t handle, refs;
	uint64_t size;
};

struct accel {
	struct wse_device base;
	int fd, minor; /* of the driver's interface */
	char node[64];
	pthread_mutex_t
		bo_lock; /* bos; held over import and close: importing twice gives one handle */
	struct accel_bo *bos;
};

struct accel_context {
	struct wse_context base;
	uint32_t id;
};

struct accel_fence {
	struct wse_fence base;
	uint32_t syncobj;
};

static struct accel *to_accel(struct wse_device *dev)
{
	return (struct accel *)dev;
}

static int call(struct accel *a, unsigned long request, void *arg)
{
	return drmIoctl(a->fd, request, arg) ? -errno : 0;
}

static void accel_close(struct wse_device *dev)
{
	struct accel *a = to_accel(dev);

	close(a->fd);
	pthread_mutex_destroy(&a->bo_lock);
	wse_device_fini(dev);
	free(a);
}

static int accel_info(struct wse_device *dev, struct drm_wse_info *info)
{
	struct drm_wse_info got = {0};
	struct drm_wse_query q = {.ptr = (uintptr_t)&got, .size = sizeof(got)};
	int ret = call(to_accel(dev), DRM_IOCTL_WSE_QUERY, &q);

	if (ret)
		return wse_fail(ret, "%s: the query failed: %s", to_accel(dev)->node,
				strerror(-ret));
	*info = got;
	/* an older driver refuses what the device could do */
	if (to_accel(dev)->minor < 2)
		info->features &= ~WSE_FEATURES_BCAST_DIM_MASK;
	if (to_accel(dev)->minor < 3)
		info->features &= ~WSE_FEATURES_LINEAR_MASK;
	return 0;
}

static int accel_ask(struct wse_device *dev, unsigned long request, void *arg)
{
	return call(to_accel(dev), request, arg);
}

static int open_node(const char *node, int *out, int *minor)
{
	int fd = open(node, O_RDWR | O_CLOEXEC), ret;
	drmVersionPtr v;

	if (fd < 0) {
		ret = -errno;
		switch (ret) {
		case -ENOENT:
			return wse_fail(
				ret,
				"%s does not exist: is wse.ko loaded and bound? `wse-info` says",
				node);
		case -EACCES:
		case -EPERM:
			return wse_fail(
				-EACCES,
				"no permission for %s: join the group that owns it (ls -l %s), or "
				"be root",
				node, node);
		case -ENODEV:
		case -ENXIO:
			return wse_fail(
				ret, "%s is there, but its device is gone: bind the driver again",
				node);
		default:
			return wse_fail(ret, "%s cannot be opened: %s", node, strerror(-ret));
		}
	}
	v = drmGetVersion(fd);
	if (!v || v->name_len != 3 || memcmp(v->name, "wse", 3)) {
		ret = wse_fail(
			-EPROTO,
			"%s belongs to the driver \"%.*s\", not to wse: `wse-info` names the "
			"right node",
			node, v ? v->name_len : 0, v ? v->name : "");
	} else if (v->version_major != WSE_UAPI_MAJOR) {
		ret = wse_fail(
			-EPROTO,
			"%s speaks version %d.%d of the interface, libwse %d.%d: use driver and "
			"library of one "
			"release",
			node, v->version_major, v->version_minor, WSE_UAPI_MAJOR, WSE_UAPI_MINOR);
	} else {
		ret = 0;
		*minor = v->version_minor;
	}
	drmFreeVersion(v);
	if (ret)
		close(fd);
	else
		*out = fd;
	return ret;
}

int wse_accel_open(const char *text, const struct wse_uri *uri, struct wse_device **dev)
{
	struct accel *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	ret = open_node(uri->node, &a->fd, &a->minor);
	if (ret)
		goto free;
	ret = wse_device_init(&a->base, &wse_accel_transport, text);
	if (ret) {
		close(a->fd);
		goto free;
	}
	strcpy(a->node, uri->node);
	a->base.wait = uri->wait;
	pthread_mutex_init(&a->bo_lock, NULL);
	ret = accel_info(&a->base, &a->base.info);
	if (!ret && a->base.info.abi_major != WSE_ABI_MAJOR) {
		ret = wse_fail(
			-EPROTO,
			"%s has ABI %u.%u, libwse %u.%u: use device and library of one release",
			uri->node, a->base.info.abi_major, a->base.info.abi_minor, WSE_ABI_MAJOR,
			WSE_ABI_MINOR);
	}
	if (ret) {
		accel_close(&a->base);
		return ret;
	}
	*dev = &a->base;
	return 0;
free:
	free(a);
	return ret;
}

/* ---- buffers ---- */

/* Counts one more user of that handle; with bo_lock. */
static int bo_ref(struct accel *a, uint32_t handle, uint64_t size)
{
	struct accel_bo *bo;

	for (bo = a->bos; bo; bo = bo->next)
		if (bo->handle == handle) {
			bo->refs++;
			return 0;
		}
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	*bo = (struct accel_bo){.next = a->bos, .handle = handle, .refs = 1, .size = size};
	a->bos = bo;
	return 0;
}

static void bo_unref(struct accel *a, uint32_t handle)
{
	struct accel_bo **p, *bo;

	pthread_mutex_lock(&a->bo_lock);
	for (p = &a->bos; (bo = *p) && bo->handle != handle; p = &bo->next)
		;
	if (bo && !--bo->refs) {
		*p = bo->next;
		free(bo);
		drmCloseBufferHandle(a->fd, handle);
	}
	pthread_mutex_unlock(&a->bo_lock);
}

static int map(struct accel *a, struct wse_buffer *buf)
{
	struct drm_wse_bo_map arg = {.handle = buf->handle};
	int ret = call(a, DRM_IOCTL_WSE_BO_MAP, &arg);
	void *p;

	if (ret)
		return ret;
	p = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, (off_t)arg.offset);
	if (p == MAP_FAILED)
		return -errno;
	buf->ptr = p;
	return 0;
}

static int accel_buffer_create(struct wse_device *dev, size_t size, struct wse_buffer **out)
{
	struct accel *a = to_accel(dev);
	struct drm_wse_bo_create arg = {.size = size};
	struct wse_buffer *buf = calloc(1, sizeof(*buf));
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = call(a, DRM_IOCTL_WSE_BO_CREATE, &arg);
	if (ret)
		goto fail;
	buf->handle = arg.handle;
	buf->size = (size + 4095) & ~(size_t)4095;
	pthread_mutex_lock(&a->bo_lock);
	ret = bo_ref(a, buf->handle, buf->size);
	pthread_mutex_unlock(&a->bo_lock);
	if (ret) {
		drmCloseBufferHandle(a->fd, buf->handle);
		goto fail;
	}
	ret = map(a, buf);
	if (!ret) {
		wse_buffer_init(buf, dev);
		*out = buf;
		return 0;
	}
	bo_unref(a, buf->handle);
fail:
	free(buf);
	return wse_fail(ret, "%s: a buffer of %zu bytes: %s", dev->uri, size, strerror(-ret));
}

/* Through a dma-buf. */
static int accel_buffer_share(struct wse_device *dev, struct wse_buffer *src,
			      struct wse_buffer **out)
{
	struct accel *a = to_accel(dev);
	struct wse_buffer *buf;
	int fd, ret = 0;

	if (src->dev->ops != &wse_accel_transport)
		return wse_fail(-EXDEV,
				"%s cannot use memory of %s: create the buffer on a device node "
				"and share it "
				"from there",
				dev->uri, src->dev->uri);
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return -ENOMEM;
	if (drmPrimeHandleToFD(to_accel(src->dev)->fd, src->handle, DRM_CLOEXEC | DRM_RDWR, &fd)) {
		ret = -errno;
		goto fail;
	}
	pthread_mutex_lock(&a->bo_lock);
	if (drmPrimeFDToHandle(a->fd, fd, &buf->handle)) {
		ret = -errno;
	} else {
		ret = bo_ref(a, buf->handle, src->size);
		if (ret)
			drmCloseBufferHandle(a->fd, buf->handle);
	}
	pthread_mutex_unlock(&a->bo_lock);
	if (ret) {
		close(fd);
		goto fail;
	}
	buf->size = src->size;
	/* a dma-buf maps by itself, so that no buffer depends on another one's device */
	buf->ptr = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buf->ptr == MAP_FAILED)
		ret = -errno;
	close(fd);
	if (ret) {
		bo_unref(a, buf->handle);
		goto fail;
	}
	wse_buffer_init(buf, dev);
	*out = buf;
	return 0;
fail:
	free(buf);
	return wse_fail(ret, "%s: memory of %s cannot be shared with it: %s", dev->uri,
			src->dev->uri, strerror(-ret));
}

static void accel_buffer_free(struct wse_buffer *buf)
{
	munmap(buf->ptr, buf->size);
	bo_unref(to_accel(buf->dev), buf->handle);
	free(buf);
}

static uint64_t accel_handle_size(struct wse_device *dev, uint32_t handle)
{
	struct accel *a = to_accel(dev);
	struct accel_bo *bo;
	uint64_t size = 0;

	pthread_mutex_lock(&a->bo_lock);
	for (bo = a->bos; bo; bo = bo->next)
		if (bo->handle == handle)
			size = bo->size;
	pthread_mutex_unlock(&a->bo_lock);
	return size;
}

/* ---- contexts ---- */

/* who has it, as far as this process may know */
static int leased(struct wse_device *dev)
{
	char who[100];

	if (wse_accel_holder(to_accel(dev)->node, who, sizeof(who)))
		snprintf(who, sizeof(who), "another user, or by one who waits for it");
	if (dev->wait)
		return wse_fail(-EBUSY, "%s is leased by %.99s", dev->uri, who);
	return wse_fail(-EBUSY,
			"%s is leased by %.99s: wse-train --wait waits in line for it, and so does "
			"a program that opens \"%s,wait\"",
			dev->uri, who, dev->uri);
}

static int accel_context_create(struct wse_device *dev, uint32_t flags, struct wse_context **out)
{
	struct drm_wse_ctx_create arg = {.flags = flags};
	struct accel_context *ctx = calloc(1, sizeof(*ctx));
	int ret;

	if (!ctx)
		return -ENOMEM;
	ret = call(to_accel(dev), DRM_IOCTL_WSE_CTX_CREATE, &arg);
	if (!ret) {
		ctx->id = arg.ctx;
		*out = &ctx->base;
		return 0;
	}
	free(ctx);
	switch (ret) {
	case -EBUSY:
		return leased(dev);
	case -ENOENT:
		return wse_fail(
			ret,
			"%s: the driver found no firmware: put wse-fw.bin into /lib/firmware/wse",
			dev->uri);
	case -ENOEXEC:
		return wse_fail(
			ret, "%s: the firmware in /lib/firmware/wse is damaged: install it again",
			dev->uri);
	case -EOPNOTSUPP:
		return wse_fail(ret,
				"%s: the firmware in /lib/firmware/wse is of another ABI: install "
				"that of the "
				"device's release (dmesg has both versions)",
				dev->uri);
	case -ENODEV:
		return wse_explain_gone(dev);
	default:
		return wse_fail(ret, "%s: no context: %s (dmesg may say more)", dev->uri,
				strerror(-ret));
	}
}

static void accel_context_end(struct wse_context *base)
{
	struct drm_wse_ctx_destroy arg = {.ctx = ((struct accel_context *)base)->id};

	call(to_accel(base->dev), DRM_IOCTL_WSE_CTX_DESTROY, &arg);
}

static void accel_context_free(struct wse_context *ctx)
{
	free(ctx);
}

static int accel_context_fault(struct wse_context *base, struct drm_wse_fault *fault)
{
	struct drm_wse_fault got = {.ctx = ((struct accel_context *)base)->id};
	int ret = call(to_accel(base->dev), DRM_IOCTL_WSE_FAULT, &got);

	if (!ret)
		*fault = got;
	return ret;
}

/* ---- submits and fences ---- */

/* A syncobj of ours for a fence of any device. *own: it was made for this and must be destroyed. */
static int import_fence(struct accel *a, struct wse_fence *fence, uint32_t *syncobj, bool *own)
{
	struct accel *from = to_accel(fence->dev);
	int fd, ret = 0;

	*own = false;
	*syncobj = ((struct accel_fence *)fence)->syncobj;
	if (from == a)
		return 0;
	if (drmSyncobjHandleToFD(from->fd, *syncobj, &fd))
		return -errno;
	if (drmSyncobjFDToHandle(a->fd, fd, syncobj))
		ret = -errno;
	else
		*own = true;
	close(fd);
	return ret;
}

static int submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		  const struct drm_wse_sync *in, uint32_t nin, uint32_t out, uint32_t flags)
{
	struct drm_wse_sync sync = {.handle = out};
	struct drm_wse_submit arg = {
		.ctx = ((struct accel_context *)ctx)->id,
		.flags = flags,
		.cmds = {.ptr = (uintptr_t)cmds, .count = n, .stride = sizeof(*cmds)},
		.in_syncs = {.ptr = (uintptr_t)in, .count = nin, .stride = sizeof(*in)},
		.out_syncs = {.ptr = (uintptr_t)&sync,
			      .count = out ? 1 : 0,
			      .stride = sizeof(sync)},
	};

	return call(to_accel(ctx->dev), DRM_IOCTL_WSE_SUBMIT, &arg);
}

static int accel_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
			struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence)
{
	struct accel *a = to_accel(ctx->dev);
	struct accel_fence *f = NULL;
	struct drm_wse_sync *syncs = NULL;
	bool *own = NULL;
	uint32_t i, nsync = 0;
	int ret = -ENOMEM;

	if (nin) {
		syncs = calloc(nin, sizeof(*syncs));
		own = calloc(nin, sizeof(*own));
		if (!syncs || !own)
			goto free;
	}
	for (i = 0; i < nin; i++) {
		/* an in-process device has nothing that the kernel could wait for */
		if (in[i]->dev->ops != &wse_accel_transport) {
			wse_fence_wait(in[i], WSE_FOREVER);
			continue;
		}
		ret = import_fence(a, in[i], &syncs[nsync].handle, &own[nsync]);
		if (ret)
			goto free;
		nsync++;
	}
	if (fence) {
		ret = -ENOMEM;
		f = calloc(1, sizeof(*f));
		if (!f)
			goto free;
		if (drmSyncobjCreate(a->fd, 0, &f->syncobj)) {
			ret = -errno;
			goto free;
		}
	}
	ret = submit(ctx, cmds, n, syncs, nsync, f ? f->syncobj : 0, 0);
	if (!ret && f) {
		wse_fence_init(&f->base, ctx);
		*fence = &f->base;
		f = NULL;
	}
free:
	if (f && f->syncobj)
		drmSyncobjDestroy(a->fd, f->syncobj);
	free(f);
	for (i = 0; i < nsync; i++)
		if (own[i])
			drmSyncobjDestroy(a->fd, syncs[i].handle);
	free(own);
	free(syncs);
	return ret;
}

/* What the fence in a signalled syncobj carries. */
static int fence_result(struct accel *a, uint32_t syncobj)
{
	struct sync_fence_info point = {0};
	struct sync_file_info info = {.num_fences = 1, .sync_fence_info = (uintptr_t)&point};
	int fd, ret;

	if (drmSyncobjExportSyncFile(a->fd, syncobj, &fd))
		return -errno;
	ret = drmIoctl(fd, SYNC_IOC_FILE_INFO, &info) ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	/* 1: signalled, 0: active, negative: signalled with that error */
	return info.status < 0 ? info.status : point.status < 0 ? point.status : 0;
}

static int accel_fence_wait(struct wse_fence *base, int64_t timeout_ns)
{
	struct accel_fence *f = (struct accel_fence *)base;
	struct accel *a = to_accel(base->dev);
	struct timespec now;
	int64_t until, ns;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (int64_t)now.tv_sec * NSEC + now.tv_nsec;
	until = timeout_ns > INT64_MAX - ns ? INT64_MAX : ns + timeout_ns;
	ret = drmSyncobjWait(a->fd, &f->syncobj, 1, until, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, NULL);
	if (ret == -ETIME)
		return -ETIMEDOUT;
	return ret ? ret : fence_result(a, f->syncobj);
}

static int accel_look(struct wse_context *ctx, const struct drm_wse_cmd *copy)
{
	struct accel_fence f = {.base = {.dev = ctx->dev, .ctx = ctx}};
	int ret, fd = to_accel(ctx->dev)->fd;

	if (drmSyncobjCreate(fd, 0, &f.syncobj))
		return -errno;
	ret = submit(ctx, copy, 1, NULL, 0, f.syncobj, DRM_WSE_SUBMIT_LOST);
	if (!ret)
		ret = accel_fence_wait(&f.base, WSE_FOREVER);
	drmSyncobjDestroy(fd, f.syncobj);
	return ret;
}

static void accel_fence_free(struct wse_fence *base)
{
	struct accel_fence *f = (struct accel_fence *)base;

	drmSyncobjDestroy(to_accel(base->dev)->fd, f->syncobj);
	free(f);
}

const struct wse_transport wse_accel_transport = {
	.name = "accel",
	.close = accel_close,
	.info = accel_info,
	.ask = accel_ask,
	.buffer_create = accel_buffer_create,
	.buffer_share = accel_buffer_share,
	.buffer_free = accel_buffer_free,
	.context_create = accel_context_create,
	.context_end = accel_context_end,
	.context_free = accel_context_free,
	.context_fault = accel_context_fault,
	.handle_size = accel_handle_size,
	.submit = accel_submit,
	.look = accel_look,
	.fence_wait = accel_fence_wait,
	.fence_free = accel_fence_free,
};
