/* SPDX-License-Identifier: MIT */
/*
 * User API of the wse driver (/dev/accel/accelN). What an ioctl does, its errnos and members
 * stand here alone: make ioctls makes uapi/ioctls.md of this file. Their common rules:
 * uapi/README.md.
 *
 * Rules: every struct is a multiple of 8 bytes, has no implicit padding and no unions; reserved
 * members and unknown flags must be zero (-EINVAL); arrays carry their stride, so members can
 * be added at the end of an element; a new member or flag raises the driver's minor version.
 *
 * Programs wait with DRM's syncobj ioctls; there is no wait ioctl here.
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
 * 1.2	DRM_IOCTL_WSE_COUNTERS; DRM_WSE_CMD_BROADCAST with one stride
 * 1.3	DRM_WSE_CMD_LINEAR, DRM_WSE_SUBMIT_LOST
 */
#define WSE_UAPI_MAJOR	1
#define WSE_UAPI_MINOR	3

#define DRM_WSE_QUERY		0x00	/* properties of device and driver */
#define DRM_WSE_BO_CREATE	0x01	/* a buffer */
#define DRM_WSE_BO_MAP		0x02	/* its offset for mmap() */
#define DRM_WSE_CTX_CREATE	0x03	/* lease the device */
#define DRM_WSE_CTX_DESTROY	0x04	/* give it back */
#define DRM_WSE_SUBMIT		0x05	/* commands */
#define DRM_WSE_FAULT		0x06	/* the first fault of a lost context */
#define DRM_WSE_COUNTERS	0x07	/* counters of the device; since 1.2 */

/*
 * DRM_IOCTL_WSE_QUERY: fills the first min(size, bytes that the driver knows) bytes of struct
 * drm_wse_info at ptr and returns in size the number that it knows.
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
 * handle, mapping and command releases it. On a host that would copy mapped memory for a
 * device (swiotlb=force; encrypted guests, untested) the driver allocates the pages for the
 * device, so that nothing is copied there either. The memory cgroup of their creator is charged
 * for buffers and their page lists, jobs and fences. RLIMIT_MEMLOCK does not apply: it limits
 * pinned pages of a process, and these are none.
 *
 * -EINVAL	flags, or size 0
 * -ENOMEM	no memory, or a size above the machine's memory
 * -EINTR	a signal
 * -EOPNOTSUPP	a host whose caches are not coherent with the device
 */
struct drm_wse_bo_create {
	__u64 size;	/* bytes, rounded up to pages */
	__u32 flags;	/* 0 */
	__u32 handle;	/* out: GEM handle */
};

/*
 * DRM_IOCTL_WSE_BO_MAP: the offset for mmap(NULL, length, prot, MAP_SHARED, fd, offset): cached
 * memory, coherent with the device, up to the buffer's size. mmap() gives -EINVAL beyond it and
 * for MAP_PRIVATE, -EACCES for an offset of a buffer of which this file has no handle. No
 * flush is needed: commands see all writes before their DRM_IOCTL_WSE_SUBMIT, and the process
 * sees all writes of a command once its fence has signalled.
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
 * DRM_IOCTL_WSE_CTX_DESTROY or close(); a device has one context at a time, in all files.
 * Before the ioctl returns, it resets queues, cores and routers, zeroes SRAM, and loads and
 * boots the firmware: every core waits for a START.
 *
 * With DRM_WSE_CTX_WAIT the call waits for the lease, in the order of the calls; a file that
 * holds the lease itself waits until another of its threads destroys the context. A file has
 * one place in line, however many threads it has. While the driver cleans the device up after
 * a closed owner, the call waits without the flag, too. After -ENOENT, -ENOEXEC and
 * -EOPNOTSUPP the driver looks for the firmware at most ten times in five seconds.
 *
 * -EBUSY	leased, or other files wait, and DRM_WSE_CTX_WAIT was not given; or another thread
 *		of this file waits, even with the flag
 * -EINTR	a signal while it waited, for the lease or for the firmware to boot
 * -EINVAL	an unknown flag
 * -ENOENT	there is no firmware wse/wse-fw.bin
 * -ENOEXEC	that file is not a firmware, or damaged
 * -EOPNOTSUPP	the firmware needs another ABI
 * -EIO		the firmware did not boot
 * -ENODEV	the device is gone, or has been given up
 * -ENOMEM
 */
struct drm_wse_ctx_create {
	__u32 flags;	/* DRM_WSE_CTX_* */
	__u32 ctx;	/* out: id, never 0; valid in this file alone */
};

#define DRM_WSE_CTX_WAIT	(1 << 0)	/* wait for the lease */

/*
 * DRM_IOCTL_WSE_CTX_DESTROY: waits until the context's commands have ended, resets queues,
 * cores and routers, scrubs SRAM. close() does not wait for commands: it aborts those that still
 * execute, and their fences carry -ECANCELED. A process that is being killed does not wait at
 * all: a worker cleans up after it, and the next owner waits for that worker.
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
 * a fence that will signal, or the call has no effect. In syncs must hold a fence already. Out
 * syncs all get the same fence, which signals when every command is done; on failure it
 * carries the errno of the first command that failed:
 *
 * -ETIME	its budget ran out while the tile was moving (completion status TIMEOUT)
 * -EDEADLK	nothing moves any more (DEADLOCK)
 * -EFAULT	a core was halted by a fault (CORE_FAULT)
 * -EREMOTEIO	the program executed DONE with a value other than 0 (KERNEL_ERROR)
 * -EIO		host memory refused an access (DMA_ERROR)
 * -EPROTO	the device refused an entry, a START found a core without firmware, or the device
 *		returned an unknown status (any other status)
 * -ECANCELED	a reset ended it
 * -ENODEV	the device is gone
 *
 * After any of these the context is lost: only destroying it helps. With SUBMIT_LOST (since 1.3) it
 * still takes COPY_OUTs if a command of its own has failed: the cores stand as that left them, also
 * what COPY_OUT reads of them, until the context is destroyed, or the device is reset, which may be
 * what it takes to end the command. The errno is in the fence:
 * read it from a sync_file of a binary syncobj (SYNCOBJ_HANDLE_TO_FD with EXPORT_SYNC_FILE,
 * then SYNC_IOC_FILE_INFO). A wait alone does not return it, and a timeline does not keep it.
 *
 * Refused by the ioctl:
 *
 * -EINVAL	an unknown flag; no command, or more than max_cmds; more than 1024 syncs; a stride;
 *		a pad; an in sync without a fence; with SUBMIT_LOST another command than COPY_OUT
 * -EINVAL	a command with an unknown op, queue or flag, with a member that must or must not
 *		be 0, or with a misaligned or impossible value
 * -EINVAL	a FENCE that names no earlier command or no other queue
 * -ERANGE	the rectangle leaves the tile, the range or entry leaves the SRAM, or the pattern
 *		leaves a buffer
 * -ENOENT	no such context of this file, buffer, or syncobj
 * -EFBIG	the bytes from a command's first to its last in a buffer are more than one piece
 *		of its page list describes
 * -E2BIG	an element is not 0 in a part that this driver does not know
 * -EFAULT	an array cannot be read
 * -EIO		the context is lost; with SUBMIT_LOST: not by a command that failed
 * -ENODEV	the device is gone
 * -ENOMEM
 * -EINTR	a signal during a wait: while 1024 submits of this context are unfinished, or
 *		another task has locked one of its buffers
 */
/* An array in user memory. */
struct drm_wse_array {
	__u64 ptr;	/* address of the first element; ignored when count is 0 */
	__u32 count;	/* elements */
	__u32 stride;	/* bytes from one to the next, at least the size known to user space */
};

struct drm_wse_submit {
	__u32 ctx;
	__u32 flags;			/* DRM_WSE_SUBMIT_* */
	struct drm_wse_array cmds;	/* 1 ... max_cmds of struct drm_wse_cmd */
	struct drm_wse_array in_syncs;	/* struct drm_wse_sync: have signalled before it starts */
	struct drm_wse_array out_syncs;	/* struct drm_wse_sync: get the submit's fence */
};

#define DRM_WSE_SUBMIT_LOST	(1 << 0)	/* COPY_OUT alone, also of a lost context */

/* A syncobj, or a point of a timeline syncobj; up to 1024 in and 1024 out. */
struct drm_wse_sync {
	__u32 handle;
	__u32 pad;	/* 0 */
	__u64 point;	/* of a timeline; 0: a binary syncobj */
};

/*
 * One command. Members have the meaning of those of the same name in the submission entry;
 * handles name buffers. Members that op does not use must be 0. op is one of WSE_OP_NOP
 * ... WSE_OP_FENCE: 0 NOP, 1 COPY_IN, 2 COPY_OUT, 3 STREAM_IN, 4 STREAM_OUT, 5 START, 6 FENCE.
 *
 * A FENCE waits for an earlier command of the same submit on another queue (wait_cmd is its
 * index, wait_queue is 0), or for all commands accepted on another queue before this submit
 * (wait_cmd is DRM_WSE_WAIT_QUEUE, wait_queue is that queue).
 *
 * With CLOSED all input of a START is in this submit or an earlier one, so a START that stands
 * still is a deadlock at once. On a device older than ABI 1.3 CLOSED has no effect.
 * INDEX_ONLY excludes DROP_ZERO.
 *
 * A BROADCAST has cstride and rstride 0, and every core gets the same lines. Since 1.2, where
 * info.features has BCAST_DIM, one of them may be other than 0: with cstride all rows of a column
 * get the same lines, with rstride all columns of a row.
 *
 * LINEAR, since 1.3 and where info.features has LINEAR: a column's elements lie one behind the
 * other in the order in which they are sent, with MASKED those alone that the mask selects. The
 * run of column c is len bytes at off + c * cstride, lstride is 0, and the device goes no further:
 * without MASKED all elements fit, with it a column that has more waits until the budget ends.
 * LINEAR excludes INDEX_ONLY.
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
	__u32 len;		/* copies: bytes of a line; LINEAR: bytes of a column's run */
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
#define DRM_WSE_CMD_DROP_ZERO	(1 << 2)	/* STREAM_IN: does not send zeros */
#define DRM_WSE_CMD_INDEX_ONLY	(1 << 3)	/* STREAM_IN: sends 0 and reads no memory */
#define DRM_WSE_CMD_BOOT	(1 << 4)	/* START: reset the cores and run from the entry */
#define DRM_WSE_CMD_CLOSED	(1 << 5)	/* START: no later submit has input of it */
#define DRM_WSE_CMD_LINEAR	(1 << 6)	/* streams: elements lie as they are sent */
#define DRM_WSE_WAIT_QUEUE	0xffffffffu	/* wait_cmd of a FENCE */

/*
 * DRM_IOCTL_WSE_FAULT: the first fault of a lost context, available once the failed submit's
 * fence has signalled. The driver keeps no other record of a failure. Members other than status,
 * queue and cmd_op are those of the device's fault record; if the device wrote none, or one that
 * does not fit the command, they are 0 and color is 0xffffffff.
 *
 * -ENOENT	no such context of this file
 * -ENODATA	no command of the context has failed (also when the device was reset or lost for
 *		another reason)
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
	__u32 pc;	/* of a core that faulted; 0: unknown */
	__u32 addr;	/* bad address, instruction, or offset of the bad member of the entry */
	__u32 color;	/* 0xffffffff: none */
	__u32 value;	/* wavelet, or value of DONE */
	__u64 iova;	/* bus address of a DMA error; 0 for users without CAP_SYS_ADMIN */
	__u64 cycle;	/* device cycle */
};

/*
 * DRM_IOCTL_WSE_COUNTERS: the counters of one object of a scope, in the order of the device's
 * list (WSE_COUNTER_KINDS). The scope of the tile has all counters, each added over its objects.
 * Fills the first min(count, number of counters) values of 64 bits at ptr and returns in count
 * the number of counters that both this driver and the device know. The order never changes;
 * new counters come last.
 *
 * Counters belong to the device, over all users: a reset of the device (resets) sets them to 0,
 * a new context does not. No context is needed.
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
	__u32 count;	/* in: room at ptr, in values; out: number of counters */
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
