/* SPDX-License-Identifier: MIT */
/*
 * User API of the wse driver (/dev/accel/accelN). Reference, with every offset and errno: uapi/README.md,
 * which selftests/interfaces holds against this file.
 *
 * Rules: every struct is a multiple of 8 bytes, has no implicit padding and no unions; reserved members
 * and unknown flags must be zero (-EINVAL); arrays carry their stride, so members can be added at the end
 * of an element; a new member or flag raises the driver's minor version.
 *
 * Waiting is done with the core's syncobj ioctls; there is no wait ioctl here.
 *
 * libwse's in-process devices take the same struct drm_wse_cmd.
 */
#ifndef _UAPI_WSE_ACCEL_H_
#define _UAPI_WSE_ACCEL_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * Version history:
 * 1.0	first
 * 1.1	max_budget in struct drm_wse_info
 * 1.2	DRM_IOCTL_WSE_COUNTERS
 */
#define WSE_UAPI_MAJOR	1
#define WSE_UAPI_MINOR	2

#define DRM_WSE_QUERY		0x00
#define DRM_WSE_BO_CREATE	0x01
#define DRM_WSE_BO_MAP		0x02
#define DRM_WSE_CTX_CREATE	0x03
#define DRM_WSE_CTX_DESTROY	0x04
#define DRM_WSE_SUBMIT		0x05
#define DRM_WSE_FAULT		0x06
#define DRM_WSE_COUNTERS	0x07

/* An array in user memory. */
struct drm_wse_array {
	__u64 ptr;	/* address of the first element */
	__u32 count;	/* elements */
	__u32 stride;	/* bytes from one element to the next, at least the size known to user space */
};

/*
 * DRM_IOCTL_WSE_QUERY: fills min(size, what the driver knows) bytes of struct drm_wse_info at ptr and
 * returns in size what the driver knows.
 */
struct drm_wse_query {
	__u64 ptr;
	__u32 size;
	__u32 pad;	/* zero */
};

struct drm_wse_info {
	__u32 abi_major, abi_minor;	/* of the device (BAR0) */
	__u32 rows, cols;
	__u32 sram_kib, lanes;
	__u32 colors, queues;		/* queues: I/O queues, numbered from 1 */
	__u32 features;			/* register FEATURES */
	__u32 fw_version;		/* of the firmware that contexts boot; 0: not loaded yet */
	__u32 fw_end;			/* first SRAM offset that the firmware leaves to programs; 0: ditto */
	__u32 max_cmds;			/* commands in one submit */
	__u64 resets;			/* device resets since probe */
	__u64 max_budget;		/* device cycles that a command may be given */
};

/* DRM_IOCTL_WSE_BO_CREATE: a buffer in host memory that the device can reach. */
struct drm_wse_bo_create {
	__u64 size;	/* bytes, rounded up to pages */
	__u32 flags;	/* zero */
	__u32 handle;	/* out */
};

/* DRM_IOCTL_WSE_BO_MAP: the offset for mmap() on the device node. */
struct drm_wse_bo_map {
	__u32 handle;
	__u32 pad;	/* zero */
	__u64 offset;	/* out */
};

/*
 * DRM_IOCTL_WSE_CTX_CREATE: leases the whole device to this file. SRAM is scrubbed and the firmware booted
 * on every core before it returns. -EBUSY if another context has it, unless DRM_WSE_CTX_WAIT
 * (interruptible).
 */
#define DRM_WSE_CTX_WAIT	(1 << 0)
struct drm_wse_ctx_create {
	__u32 flags;	/* DRM_WSE_CTX_* */
	__u32 ctx;	/* out: id, never 0 */
};

/*
 * DRM_IOCTL_WSE_CTX_DESTROY: waits for its commands, then scrubs. Closing the file does not wait: what
 * still executes ends with -ECANCELED.
 */
struct drm_wse_ctx_destroy {
	__u32 ctx;
	__u32 pad;	/* zero */
};

/*
 * One command. The members mean what those of the submission entry of the same name mean
 * (hw/doc/registers.md); buffers are named by handle. Those that op does not use must be zero.
 */
struct drm_wse_cmd {
	/* WSE_OP_NOP ... WSE_OP_FENCE: nop, copy in, copy out, stream in, ... out, start, fence */
	__u32 op;
	__u32 queue;		/* 1 ... info.queues */
	__u32 flags;		/* DRM_WSE_CMD_* */
	__u32 bo;		/* GEM handle: copies and streams; with INDEX_ONLY it may be 0 */
	__u64 off;
	__u32 mask_bo;		/* GEM handle, with DRM_WSE_CMD_MASKED */
	__u32 color;
	__u64 moff;
	__u64 budget;		/* device cycles, 1 ... info.max_budget (0 for nop and fence) */
	__u16 row0, col0, rows, cols;
	__u32 sram;		/* SRAM offset; start: entry address */
	__u32 len, nline;
	__u32 lstride, sstride, cstride, rstride, mcstride;
	__u16 kcol;
	__u8 nfeat;
	__u8 etype;
	/*
	 * fence: wait_cmd is the index of an earlier command of this submit (on another queue;
	 * wait_queue is 0), or 0xffffffff: everything accepted on queue wait_queue (another one)
	 * before this submit.
	 */
	__u32 wait_cmd;
	__u32 wait_queue;
	__u32 pad;		/* zero */
	__u32 arg[16];		/* start */
};

#define DRM_WSE_CMD_BROADCAST	(1 << 0)	/* copy in */
#define DRM_WSE_CMD_MASKED	(1 << 1)	/* streams */
#define DRM_WSE_CMD_DROP_ZERO	(1 << 2)	/* stream in */
#define DRM_WSE_CMD_INDEX_ONLY	(1 << 3)	/* stream in */
#define DRM_WSE_CMD_BOOT	(1 << 4)	/* start */
#define DRM_WSE_CMD_CLOSED	(1 << 5)	/* start */
#define DRM_WSE_WAIT_QUEUE	0xffffffffu	/* wait_cmd */

/* A syncobj (point 0) or a point of a timeline syncobj. */
struct drm_wse_sync {
	__u32 handle;
	__u32 pad;	/* zero */
	__u64 point;
};

/*
 * DRM_IOCTL_WSE_SUBMIT: all or nothing. In syncs must have a fence already. Out syncs signal when every
 * command is done; on failure they carry the errno of the first that failed: -ETIME budget, -EDEADLK deadlock, -EFAULT core fault, -EREMOTEIO the
 * program said DONE with a value, -EIO DMA error, -EPROTO the device refused an entry, -ECANCELED swallowed
 * by a reset, -ENODEV the device is gone. After any of these the context is lost: further submits give -EIO
 * (or -ENODEV), only destroying it helps. The errno is in the fence: read it from a sync_file of a binary
 * syncobj (SYNC_IOC_FILE_INFO); waiting alone does not tell it, and a timeline forgets it.
 */
struct drm_wse_submit {
	__u32 ctx;
	__u32 flags;			/* zero */
	struct drm_wse_array cmds;	/* struct drm_wse_cmd */
	struct drm_wse_array in_syncs;	/* struct drm_wse_sync */
	struct drm_wse_array out_syncs;	/* struct drm_wse_sync */
};

/*
 * DRM_IOCTL_WSE_FAULT: the first fault of a lost context. -ENODATA if there is none.
 * Members as in the fault record (hw/doc/registers.md).
 */
struct drm_wse_fault {
	__u32 ctx;
	__u32 cmd_op;		/* of the command */
	__u32 status;		/* WSE_ST_* */
	__u32 queue;
	__u32 ncores;
	__u32 cause;
	__u32 row, col;
	__u32 pc, addr;
	__u32 color, value;
	__u64 iova;
	__u64 cycle;
};

/*
 * DRM_IOCTL_WSE_COUNTERS: the counters of one object of a scope, in the order of hw/doc/registers.md; those of the
 * tile are all there are, each summed up over its objects. Fills min(count, what driver and device know) values at ptr
 * and returns in count how many they know. Of the whole device, whoever uses it, since its last reset. The order never
 * changes and new ones come last.
 */
#define DRM_WSE_SCOPE_TILE	0	/* object 0 */
#define DRM_WSE_SCOPE_CORE	1	/* row * cols + col */
#define DRM_WSE_SCOPE_LINK	2	/* 4 * core + port: 0 north, 1 east, 2 south, 3 west */
#define DRM_WSE_SCOPE_QUEUE	3	/* 0 (the driver's own) ... info.queues */
struct drm_wse_counters {
	__u32 scope;	/* DRM_WSE_SCOPE_* */
	__u32 object;
	__u64 ptr;	/* address of the first __u64 */
	__u32 count;	/* in: values that there is room for; out: values that there are */
	__u32 pad;	/* zero */
};

#define DRM_IOCTL_WSE_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_QUERY, struct drm_wse_query)
#define DRM_IOCTL_WSE_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_BO_CREATE, struct drm_wse_bo_create)
#define DRM_IOCTL_WSE_BO_MAP \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_BO_MAP, struct drm_wse_bo_map)
#define DRM_IOCTL_WSE_CTX_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_CTX_CREATE, struct drm_wse_ctx_create)
#define DRM_IOCTL_WSE_CTX_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_CTX_DESTROY, struct drm_wse_ctx_destroy)
#define DRM_IOCTL_WSE_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_SUBMIT, struct drm_wse_submit)
#define DRM_IOCTL_WSE_FAULT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_FAULT, struct drm_wse_fault)
#define DRM_IOCTL_WSE_COUNTERS \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_WSE_COUNTERS, struct drm_wse_counters)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_WSE_ACCEL_H_ */
