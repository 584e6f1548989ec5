// SPDX-License-Identifier: GPL-2.0
/*
 * The core's syncobj ioctls, which are where our fences go.
 */
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "fuzz.h"

#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle, flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};
#define DRM_IOCTL_SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

uint32_t any_sync(struct fuzz_worker *w, struct fuzz_file *f)
{
	if (!f->nsync || percent(&w->rng, 3))
		return odd_value(&w->rng);
	return f->sync[below(&w->rng, f->nsync)].handle;
}

static void add_sync(struct fuzz_worker *w, struct fuzz_file *f, uint32_t handle)
{
	struct fuzz_sync *s;

	if (f->nsync < MAX_SYNCS) {
		s = &f->sync[f->nsync++];
	} else {
		struct drm_syncobj_destroy destroy;

		s = &f->sync[below(&w->rng, MAX_SYNCS)];
		destroy = (struct drm_syncobj_destroy){ .handle = s->handle };
		call(w, f->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy, sizeof(destroy));
	}
	s->handle = handle;
	s->point = percent(&w->rng, 40);
	s->used = false;
}

static int64_t soon(struct fuzz_worker *w)
{
	struct timespec now;

	if (percent(&w->rng, 5))
		return odd_value(&w->rng);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + below(&w->rng, 2000000);
}

static uint32_t wait_flags(struct fuzz_worker *w)
{
	return percent(&w->rng, 3) ? odd_value(&w->rng) : below(&w->rng, 8);
}

/* Handles and points of up to four syncobjs; how many. */
static uint32_t some(struct fuzz_worker *w, struct fuzz_file *f, uint32_t handles[4],
		     uint64_t points[4])
{
	uint32_t n = below(&w->rng, 5), i;

	for (i = 0; i < n; i++) {
		handles[i] = any_sync(w, f);
		points[i] = percent(&w->rng, 80) ? below(&w->rng, 8) : odd_value(&w->rng);
	}
	return n;
}

static bool op_wait(struct fuzz_worker *w, struct fuzz_file *f)
{
	uint32_t handles[4] = {};
	uint64_t points[4] = {};
	struct drm_syncobj_timeline_wait wait = {
		.handles = odd_pointer(w, (uintptr_t)handles),
		.points = odd_pointer(w, (uintptr_t)points),
		.timeout_nsec = soon(w),
		.count_handles = some(w, f, handles, points),
		.flags = wait_flags(w),
	};
	struct drm_syncobj_wait binary = {
		.handles = wait.handles,
		.timeout_nsec = wait.timeout_nsec,
		.count_handles = wait.count_handles,
		.flags = wait.flags,
	};

	set_alarm(w, 4);
	if (percent(&w->rng, 50))
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait, sizeof(wait));
	return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_WAIT, &binary, sizeof(binary));
}

static bool op_array(struct fuzz_worker *w, struct fuzz_file *f)
{
	uint32_t handles[4] = {};
	uint64_t points[4] = {};
	struct drm_syncobj_timeline_array a = {
		.handles = odd_pointer(w, (uintptr_t)handles),
		.points = odd_pointer(w, (uintptr_t)points),
		.count_handles = some(w, f, handles, points),
		.flags = percent(&w->rng, 90) ? 0 : below(&w->rng, 4),
	};
	struct drm_syncobj_array b = { .handles = a.handles, .count_handles = a.count_handles };

	switch (below(&w->rng, 4)) {
	case 0:
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &a, sizeof(a));
	case 1:
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_QUERY, &a, sizeof(a));
	case 2:
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_RESET, &b, sizeof(b));
	default:
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &b, sizeof(b));
	}
}

static bool op_transfer(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_syncobj_transfer t = {
		.src_handle = any_sync(w, f),
		.dst_handle = any_sync(w, f),
		.src_point = below(&w->rng, 6),
		.dst_point = below(&w->rng, 12),
		.flags = percent(&w->rng, 70) ? 0 : wait_flags(w),
	};

	set_alarm(w, 4);
	return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &t, sizeof(t));
}

static bool op_handle(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_syncobj_handle h = {
		.handle = any_sync(w, f),
		.flags = percent(&w->rng, 95) ? below(&w->rng, 2) : odd_value(&w->rng),
		.fd = -1,
	};

	if (percent(&w->rng, 50)) {
		if (call(w, f->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h, sizeof(h)))
			return false;
		keep_fd(w, h.fd);
		return true;
	}
	h.fd = any_fd(w);
	if (h.flags != DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE)
		h.handle = 0;
	if (call(w, f->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &h, sizeof(h)))
		return false;
	if (!h.flags)
		add_sync(w, f, h.handle);
	return true;
}

static bool op_eventfd(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_syncobj_eventfd e = {
		.handle = any_sync(w, f),
		.flags = percent(&w->rng, 50) ? 0 : wait_flags(w),
		.point = below(&w->rng, 8),
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	bool good = !call(w, f->fd, DRM_IOCTL_SYNCOBJ_EVENTFD, &e, sizeof(e));

	keep_fd(w, e.fd);
	return good;
}

bool op_sync(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_syncobj_create create = {};
	struct drm_syncobj_destroy destroy = {};

	switch (below(&w->rng, 12)) {
	case 0:
	case 1:
	case 2:
		create.flags = percent(&w->rng, 95) ? below(&w->rng, 2) : odd_value(&w->rng);
		if (call(w, f->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create, sizeof(create)))
			return false;
		add_sync(w, f, create.handle);
		return true;
	case 3: /* its place in the list stays, a likely mistake */
		destroy.handle = any_sync(w, f);
		if (percent(&w->rng, 70))
			return false;
		return !call(w, f->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy, sizeof(destroy));
	case 4:
	case 5:
	case 6:
		return op_wait(w, f);
	case 7:
		return op_transfer(w, f);
	case 8:
		return op_eventfd(w, f);
	case 9:
		return op_array(w, f);
	default:
		return op_handle(w, f);
	}
}

/*
 * The fences of a dma-buf's users, as a sync_file, and the import of a fence of any driver, which
 * the dma-buf carries from then on.
 */
bool op_dmabuf(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct dma_buf_export_sync_file out = { .flags = 1 + below(&w->rng, 3), .fd = -1 };
	struct dma_buf_import_sync_file in = { .flags = 1 + below(&w->rng, 3), .fd = any_fd(w) };
	struct dma_buf_sync sync = { .flags = below(&w->rng, 8) };
	struct pollfd p = { .fd = any_fd(w), .events = below(&w->rng, 8) };

	(void)f;
	if (percent(&w->rng, 3))
		out.flags = in.flags = odd_value(&w->rng);
	switch (below(&w->rng, 4)) {
	case 0:
		if (call(w, p.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &out, sizeof(out)))
			return false;
		keep_fd(w, out.fd);
		return true;
	case 1:
		return !call(w, p.fd, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in, sizeof(in));
	case 2:
		set_alarm(w, 5);
		return !call(w, p.fd, DMA_BUF_IOCTL_SYNC, &sync, sizeof(sync));
	default:
		return poll(&p, 1, below(&w->rng, 3)) > 0;
	}
}
