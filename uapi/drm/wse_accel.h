/* SPDX-License-Identifier: MIT */
/*
 * User API of the wse driver (/dev/accel/accelN). What an ioctl does, its errnos and members
 * stand here and nowhere else: uapi/ioctls.md is made of this file (make ioctls). What they
 * have in common: uapi/README.md.
 *
 * Rules: every struct is a multiple of 8 bytes, has no implicit padding and no unions; reserved
 * members and unknown flags must be zero (-EINVAL); arrays carry their stride, so members can
 * be added at the end of an element; a new member or flag raises the driver's minor version.
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

#define DRM_WSE_QUERY		0x00	/* what the device and the driver are */
#define DRM_WSE_BO_CREATE	0x01	/* a buffer */
#define DRM_WSE_BO_MAP		0x02	/* its offset for mmap() */
#define DRM_WSE_CTX_CREATE	0x03	/* lease the device */
#define DRM_WSE_CTX_DESTROY	0x04	/* give it back */
#define DRM_WSE_SUBMIT		0x05	/* commands */
#define DRM_WSE_FAULT		0x06	/* the first fault of a lost context */
#define DRM_WSE_COUNTERS	0x07	/* counters of the device; since 1.2 */

/*
 * DRM_IOCTL_WSE_QUERY: fills the first min(size, what the driver knows) bytes of struct
 * drm_wse_info at ptr and returns in size what it knows.
 *
 * -EINVAL	pad
 * -EFAULT	ptr
 */
struct drm_wse_query {
	__u64 ptr;	/* address of a struct drm_wse_info */
	__u32 size;	/* in: bytes there; out: bytes that the driver knows */
	__u32 pad;	/* 0 */
};

struct drm_wse_info {
	__u32 abi_major;	/* ABI of the device: register ABI of BAR0 */
	__u32 abi_minor;
	__u32 rows;		/* rows of cores */
	__u32 cols;		/* columns */
	__u32 sram_kib;		/* SRAM of a core in KiB */
	__u32 lanes;		/* lanes of a tensor unit */
	__u32 colors;		/* colors of the fabric */
	__u32 queues;		/* I/O queues, numbered from 1 */
	__u32 features;		/* register FEATURES */
	__u32 fw_version;	/* of the firmware that contexts boot; 0: not loaded yet */
	__u32 fw_end;		/* first SRAM offset behind the firmware; 0: not loaded yet */
	__u32 max_cmds;		/* commands in one submit: entries of a ring less one */
	__u64 resets;		/* device resets since probe */
	__u64 max_budget;	/* device cycles that a command may be given; since 1.1 */
};

/*
 * DRM_IOCTL_WSE_BO_CREATE: zeroed host memory, pinned and mapped for the device until the last
 * handle, mapping and command let go of it. A host that would copy what is mapped for a device
 * (swiotlb=force; encrypted guests, which have not been tried) gets pages that are allocated
 * for the device, so that nothing is copied there either. Buffers and their page lists, jobs
 * and fences are accounted to the memory cgroup of their maker. RLIMIT_MEMLOCK does not
 * count them: it is for pages of a process that are pinned, and there are none here.
 *
 * -EINVAL	flags, or size 0
 * -ENOMEM	no memory, or more than there is in the machine
 * -EINTR	a signal
 * -EOPNOTSUPP	a host whose caches the device does not see
 */
struct drm_wse_bo_create {
	__u64 size;	/* bytes, rounded up to pages */
	__u32 flags;	/* 0 */
	__u32 handle;	/* out: GEM handle */
};

/*
 * DRM_IOCTL_WSE_BO_MAP: the offset for mmap(NULL, length, prot, MAP_SHARED, fd, offset): cached
 * memory, coherent with the device, up to the buffer's size. mmap() gives -EINVAL beyond it and
 * for MAP_PRIVATE, -EACCES for an offset of a buffer that this file has no handle of. There is
 * nothing to flush: what was written before DRM_IOCTL_WSE_SUBMIT is seen by its commands, what
 * a command wrote is there when its fence has signalled.
 *
 * -EINVAL	pad
 * -ENOENT	no such handle
 */
struct drm_wse_bo_map {
	__u32 handle;
	__u32 pad;	/* 0 */
	__u64 offset;	/* out: for mmap() on the device node */
};

/*
 * DRM_IOCTL_WSE_CTX_CREATE: the lease. This file gets the whole device until
 * DRM_IOCTL_WSE_CTX_DESTROY or close(); a device has one context at a time, whosever it is.
 * Before the ioctl returns, queues, cores and routers have been reset, SRAM has been zeroed,
 * and the firmware has been loaded and booted: every core waits for a START.
 *
 * With DRM_WSE_CTX_WAIT the call waits for a lease, in the order in which the calls came; a
 * file that waits for its own waits until another thread destroys it. A file has one place in
 * line, however many threads it has. A device that is only
 * cleaned up after an owner who has gone is waited for without the flag, too. After -ENOENT,
 * -ENOEXEC and -EOPNOTSUPP the firmware is looked for ten times in five seconds at most.
 *
 * -EBUSY	leased, and DRM_WSE_CTX_WAIT was not given; also while others wait. Another thread
 *		of this file waits, even if the flag was given
 * -EINTR	a signal while it waited, for the lease or for the firmware to boot
 * -EINVAL	an unknown flag
 * -ENOENT	there is no firmware wse/wse-fw.bin
 * -ENOEXEC	that file is no firmware, or damaged
 * -EOPNOTSUPP	it needs another ABI
 * -EIO		the firmware did not boot
 * -ENODEV	the device is gone, or has been given up
 * -ENOMEM
 */
struct drm_wse_ctx_create {
	__u32 flags;	/* DRM_WSE_CTX_* */
	__u32 ctx;	/* out: id, never 0; of this file alone */
};

#define DRM_WSE_CTX_WAIT	(1 << 0)	/* wait for the lease */

/*
 * DRM_IOCTL_WSE_CTX_DESTROY: waits until its commands have ended, resets queues, cores and
 * routers, scrubs SRAM. close() does not wait for commands: what still executes is aborted, and
 * its fences carry -ECANCELED. A process that is being killed waits for nothing at all: a worker
 * cleans up after it, and the next owner waits for that worker.
 *
 * -EINVAL	pad
 * -ENOENT	no such context of this file
 * -EINTR	a signal while it waited; the context stays
 */
struct drm_wse_ctx_destroy {
	__u32 ctx;
	__u32 pad;	/* 0 */
};

/*
 * DRM_IOCTL_WSE_SUBMIT: all or nothing. Either every command is accepted and the out syncs hold
 * a fence that will signal, or nothing has happened. In syncs must hold a fence already. Out
 * syncs get one and the same fence, which signals when every command is done; on failure it
 * carries the errno of the first that failed:
 *
 * -ETIME	its budget ran out while the tile was moving (completion status TIMEOUT)
 * -EDEADLK	nothing moves any more (DEADLOCK)
 * -EFAULT	a core was halted by a fault (CORE_FAULT)
 * -EREMOTEIO	the program said DONE with a value other than 0 (KERNEL_ERROR)
 * -EIO		the host's memory refused an access (DMA_ERROR)
 * -EPROTO	the device refused an entry, a START found a core without firmware, or it said
 *		something unknown (any other status)
 * -ECANCELED	swallowed by a reset
 * -ENODEV	the device is gone
 *
 * After any of these the context is lost: only destroying it helps. The errno is in the fence:
 * read it from a sync_file of a binary syncobj (SYNCOBJ_HANDLE_TO_FD with EXPORT_SYNC_FILE,
 * then SYNC_IOC_FILE_INFO). Waiting alone does not tell it, and a timeline forgets it.
 *
 * Refused by the ioctl:
 *
 * -EINVAL	a flag; no command, or more than max_cmds; more than 1024 syncs; a stride; a
 *		pad; an in sync without a fence; a command with an unknown op, queue or flag, a
 *		member that must not be 0 and is, or must be and is not, a misaligned or
 *		impossible value, a FENCE that names no earlier command or no other queue
 * -ERANGE	the rectangle leaves the tile, the range or entry the SRAM, or the pattern a
 *		buffer
 * -ENOENT	no such context of this file, buffer, or syncobj
 * -EFBIG	the bytes from a command's first to its last in a buffer are more than one piece
 *		of its page list describes
 * -E2BIG	an element has something in a part that this driver does not know
 * -EFAULT	an array cannot be read
 * -EIO		the context is lost
 * -ENODEV	the device is gone
 * -ENOMEM
 * -EINTR	a signal while 1024 submits of this context were unfinished, or somebody else
 *		had one of its buffers locked (then the ioctl waits)
 */
/* An array in user memory. */
struct drm_wse_array {
	__u64 ptr;	/* address of the first element; not looked at when count is 0 */
	__u32 count;	/* elements */
	__u32 stride;	/* bytes from one to the next, at least the size known to user space */
};

struct drm_wse_submit {
	__u32 ctx;
	__u32 flags;			/* 0 */
	struct drm_wse_array cmds;	/* 1 ... max_cmds of struct drm_wse_cmd */
	struct drm_wse_array in_syncs;	/* struct drm_wse_sync: have signalled before it starts */
	struct drm_wse_array out_syncs;	/* struct drm_wse_sync: get the submit's fence */
};

/* A syncobj, or a point of a timeline syncobj; up to 1024 in and 1024 out. */
struct drm_wse_sync {
	__u32 handle;
	__u32 pad;	/* 0 */
	__u64 point;	/* of a timeline; 0: a binary syncobj */
};

/*
 * One command. The members mean what those of the submission entry of the same name mean;
 * buffers are named by handle. Those that op does not use must be 0. op is one of WSE_OP_NOP
 * ... WSE_OP_FENCE: 0 NOP, 1 COPY_IN, 2 COPY_OUT, 3 STREAM_IN, 4 STREAM_OUT, 5 START, 6 FENCE.
 *
 * A FENCE waits for an earlier command of the same submit on another queue (wait_cmd is its
 * index, wait_queue is 0), or for everything accepted on another queue before this submit
 * (wait_cmd is DRM_WSE_WAIT_QUEUE, wait_queue is that queue).
 *
 * With CLOSED all input of a START is in this submit or an earlier one, so standing still is a
 * deadlock at once. On a device older than ABI 1.3 it has no effect.
 * INDEX_ONLY does not go with DROP_ZERO.
 */
struct drm_wse_cmd {
	__u32 op;
	__u32 queue;		/* 1 ... info.queues */
	__u32 flags;		/* DRM_WSE_CMD_* */
	__u32 bo;		/* GEM handle: copies and streams; with INDEX_ONLY it may be 0 */
	__u64 off;		/* first byte in bo */
	__u32 mask_bo;		/* GEM handle, with DRM_WSE_CMD_MASKED */
	__u32 color;		/* streams */
	__u64 moff;		/* first byte in mask_bo */
	__u64 budget;		/* device cycles, 1 ... info.max_budget; 0 for NOP and FENCE */
	__u16 row0;		/* first row of the rectangle: copies, START */
	__u16 col0;		/* first column: copies, START, streams */
	__u16 rows;		/* copies, START */
	__u16 cols;		/* copies, START, streams */
	__u32 sram;		/* copies: SRAM offset; START: entry address (absolute) */
	__u32 len;		/* copies: bytes of a line */
	__u32 nline;		/* copies: lines; streams: blocks */
	__u32 lstride;		/* host memory: bytes between lines, or feature rows */
	__u32 sstride;		/* copies: bytes between lines in SRAM */
	__u32 cstride;		/* host memory: bytes between columns of cores */
	__u32 rstride;		/* host: bytes between rows of cores; streams: mask rows */
	__u32 mcstride;		/* streams: bytes between the masks of two columns */
	__u16 kcol;		/* streams: elements k of one column */
	__u8 nfeat;		/* streams: features per block */
	__u8 etype;		/* streams: WSE_ETYPE_* */
	__u32 wait_cmd;		/* FENCE */
	__u32 wait_queue;	/* FENCE */
	__u32 pad;		/* 0 */
	__u32 arg[16];		/* START: argument words */
};

#define DRM_WSE_CMD_BROADCAST	(1 << 0)	/* COPY_IN: every core gets the same bytes */
#define DRM_WSE_CMD_MASKED	(1 << 1)	/* streams: only elements whose mask bit is 1 */
#define DRM_WSE_CMD_DROP_ZERO	(1 << 2)	/* STREAM_IN: zeros are not sent */
#define DRM_WSE_CMD_INDEX_ONLY	(1 << 3)	/* STREAM_IN: 0 is sent, nothing is read */
#define DRM_WSE_CMD_BOOT	(1 << 4)	/* START: reset the cores and run from the entry */
#define DRM_WSE_CMD_CLOSED	(1 << 5)	/* START: no later submit has input of it */
#define DRM_WSE_WAIT_QUEUE	0xffffffffu	/* wait_cmd of a FENCE */

/*
 * DRM_IOCTL_WSE_FAULT: the first fault of a lost context, there as soon as the failed submit's
 * fence has signalled. Nothing else is kept of a failure. Members other than status, queue and
 * cmd_op are those of the device's fault record; if it wrote none, or one that does not fit the
 * command, they are 0 and color is 0xffffffff.
 *
 * -ENOENT	no such context of this file
 * -ENODATA	no command of it has failed (also when the device was reset or lost for reasons
 *		of its own)
 */
struct drm_wse_fault {
	__u32 ctx;	/* in, and out */
	__u32 cmd_op;	/* op of the command */
	__u32 status;	/* WSE_ST_* */
	__u32 queue;
	__u32 ncores;	/* cores in the same state */
	__u32 cause;	/* WSE_CAUSE_* */
	__u32 row;
	__u32 col;
	__u32 pc;	/* of a core that faulted; 0: not told */
	__u32 addr;	/* bad address, instruction, or offset of the bad member of the entry */
	__u32 color;	/* 0xffffffff: none */
	__u32 value;	/* wavelet, or value of DONE */
	__u64 iova;	/* bus address of a DMA error; 0 for users without CAP_SYS_ADMIN */
	__u64 cycle;	/* device cycle */
};

/*
 * DRM_IOCTL_WSE_COUNTERS: the counters of one object of a scope, in the order of the device's
 * list (WSE_COUNTER_KINDS). Those of the tile are all there are, each summed up over its
 * objects. Fills the first min(count, what there is) values of 64 bits at ptr and returns in
 * count how many there are: what both this driver and the device know. The order never changes
 * and new ones come last.
 *
 * They are the device's, whoever uses it, and begin anew with a reset of the device (resets),
 * not with a context. No context is needed.
 *
 * -EINVAL	pad, an unknown scope, no such object, or one of 2^24 and above, of which the
 *		device only has the totals
 * -EFAULT	ptr
 * -EINTR	the process is being killed
 */
struct drm_wse_counters {
	__u32 scope;	/* DRM_WSE_SCOPE_* */
	__u32 object;	/* of the scope, from 0 */
	__u64 ptr;	/* address of the first value */
	__u32 count;	/* in: values that there is room for; out: values that there are */
	__u32 pad;	/* 0 */
};

#define DRM_WSE_SCOPE_TILE	0	/* object 0 */
#define DRM_WSE_SCOPE_CORE	1	/* row * cols + col */
#define DRM_WSE_SCOPE_LINK	2	/* 4 * core + port: 0 N, 1 E, 2 S, 3 W */
#define DRM_WSE_SCOPE_QUEUE	3	/* 0 (the driver's own) ... info.queues */

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
