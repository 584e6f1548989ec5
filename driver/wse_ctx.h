/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_CTX_H
#define WSE_CTX_H

#include <linux/cleanup.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include <drm/wse_accel.h>

struct drm_device;
struct drm_file;
struct drm_printer;
struct wse_completion;
struct wse_device;

/* Unfinished jobs of a context; with that many, a submit waits. */
#define WSE_MAX_JOBS 1024u

/* Where the record of a fault lies. */
struct wse_ctx_fault {
	u32 status; /* 0: none yet */
	u32 queue, cid, op;
	u32 index; /* in the ring of fault records; 0xffff: no record */
};

/* A lease of the device. wse_device.lock protects members without another note. */
struct wse_ctx {
	struct kref ref; /* the file's, the lease's, and one of each job */
	struct wse_device *wdev;
	u32 id;
	pid_t pid; /* of the owner, as is comm; constant */
	char comm[TASK_COMM_LEN];
	struct list_head waiting; /* wse_device.waiters */
	int boot; /* of the firmware: -EAGAIN, -EINPROGRESS once it is due, then the result */
	bool ending;		/* the file has closed it: the lease ends once it is clean */
	int err;		/* errno for submits: 0 while the context lives */
	bool looks; /* lost, and its cores stand as they were: takes jobs that only look */
	unsigned int njobs;	/* accepted and not finished */
	u64 cmds;		/* completed */
	u64 cycles;		/* that these executed */
	u64 busy;		/* ns in which queues had its commands, added over queues */
	wait_queue_head_t wait; /* for njobs, the lease, boot */
	struct wse_ctx_fault first;
	struct drm_wse_fault fault; /* hw_mutex; status 0: none */
	u64 timelines; /* context of the fences of no queue; constant */
	u32 seqno[];   /* of the last fence of each set of queues, see wse_fence.c */
};

/* State of an open file. */
struct wse_file {
	struct wse_ctx *ctx; /* wse_device.lock, as for the rest */
	bool in_line;	     /* one of its threads waits for the lease */
	u64 cmds, cycles, busy; /* of its earlier contexts */
};

struct wse_ctx *wse_ctx_alloc(struct wse_device *wdev);
struct wse_ctx *wse_ctx_find(struct drm_file *file, u32 id);
void wse_ctx_get(struct wse_ctx *ctx);
void wse_ctx_put(struct wse_ctx *ctx);
DEFINE_FREE(wse_ctx, struct wse_ctx *, wse_ctx_put(_T))
void wse_ctx_fault(struct wse_ctx *ctx, u32 queue, const struct wse_completion *completion);
void wse_ctx_read_fault(struct wse_ctx *ctx);
void wse_show_fdinfo(struct drm_printer *p, struct drm_file *file);

#endif
