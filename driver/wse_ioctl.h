/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_IOCTL_H
#define WSE_IOCTL_H

struct drm_device;
struct drm_file;

/* Every ioctl of wse_accel.h and the function that serves it, for the table of wse_drv.c. */
#define WSE_IOCTLS(X) \
	X(WSE_QUERY, wse_query_ioctl) \
	X(WSE_BO_CREATE, wse_bo_create_ioctl) \
	X(WSE_BO_MAP, wse_bo_map_ioctl) \
	X(WSE_CTX_CREATE, wse_ctx_create_ioctl) \
	X(WSE_CTX_DESTROY, wse_ctx_destroy_ioctl) \
	X(WSE_SUBMIT, wse_submit_ioctl) \
	X(WSE_FAULT, wse_fault_ioctl) \
	X(WSE_COUNTERS, wse_counters_ioctl)

#define WSE_IOCTL_SERVE(name, serve) \
	int serve(struct drm_device *drm, void *data, struct drm_file *file);
WSE_IOCTLS(WSE_IOCTL_SERVE)
#undef WSE_IOCTL_SERVE

#endif
