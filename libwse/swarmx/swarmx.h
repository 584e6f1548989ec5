/* SPDX-License-Identifier: MIT */
/*
 * SwarmX: one step over N devices. Each device has a worker thread and takes a contiguous range of
 * the step's micro-batches; the gradients of a unit are added in the left-balanced binary tree
 * over the global micro-batch index:
 *
 *   sum[a, b) = one gradient, if b - a = 1
 *             = sum[a, a + h) + sum[a + h, b), h the largest power of two below b - a
 *
 * whichever device computed which, as they arrive: at most log2(M) + 1 buffers a device and unit
 * wait for their partner. So 1, 2, 3 or 4 devices give the same bits.
 *
 * When a device fails, nothing has been committed: it is taken out and the step is run again.
 */
#ifndef WSE_TRAIN_SWARMX_H
#define WSE_TRAIN_SWARMX_H

#include "base/spans.h"
#include "exec/exec.h"
#include "graph/rows.h"
#include "memx/memx.h"
#include "swarmx/reduce.h"
#include "swarmx/row_sum.h"

struct wse_swarm;

/* Executors are opened by the caller, prepared, and owned by the swarm from here on. */
int wse_swarm_open(struct wse_exec **execs, uint32_t n, const struct wse_exec_cfg *log,
		   struct wse_swarm **swarm);
void wse_swarm_close(struct wse_swarm *s);

/* buffers made by the first device, mapped once by all others; all are given back by close */
struct wse_buf_pool wse_swarm_pool(struct wse_swarm *s);

/*
 * Between steps: another graph for all devices that are alive, with units of the same sizes. One
 * that is gone by then (-ENODEV) is lost, and the others go on. The first error of another kind, or
 * that of the last one that was lost; after it a device may have no graph. But none has the graph
 * before, which may be freed, and nor has one that is not alive
 */
int wse_swarm_prepare(struct wse_swarm *s, const struct wse_graph *g);
/*
 * Before the first step: gradients lie in a file where they wait, and so do the sums of a step, but
 * of units that stay [units]; NULL: none does. The file is the caller's, open until the last step.
 */
void wse_swarm_grad_file(struct wse_swarm *s, struct wse_grad_file *file,
			 const unsigned char *stays);

/*
 * of gradients a device makes so many bytes at a time, or as many as are open at once, of one unit
 * or of those that go by chunks together; where images come and go, which are about as large, twice
 * that is enough for what it runs and what it runs next
 */
#define WSE_SWARM_AT_A_TIME (64u << 20)
/*
 * bytes of the gradients that are in memory all the same: those that n micro-batches' devices are
 * making, and those of the unit that is parked; bytes [nunits]: of each unit's; take: images come
 * and go, so units are taken
 */
uint64_t wse_swarm_grad_bytes(const struct wse_graph *g, const uint64_t *bytes, uint32_t devices,
			      uint32_t n, uint32_t parked, int take);
/* most of them that there have been: a test asks for it */
uint64_t wse_swarm_grads_held(struct wse_swarm *s);

uint32_t wse_swarm_alive(const struct wse_swarm *s);
/* devices, those that have failed included */
uint32_t wse_swarm_size(const struct wse_swarm *s);

/* what the last step cost a device; between steps. -ENOTSUP when it does not tell */
int wse_swarm_cost(const struct wse_swarm *s, uint32_t device, struct wse_exec_cost *cost);

/* between steps: what a device executes is told to fn (exec/exec.h). -ENOTSUP, -ENOMEM */
int wse_swarm_record(const struct wse_swarm *s, uint32_t device, wse_record_fn fn, void *ctx);
/* Between steps: the executor's pause(), if it has that. */
void wse_swarm_pause(const struct wse_swarm *s, uint32_t device, const struct wse_pauses *pauses);
/* between steps: when a worker (who) adds a unit's gradient (what) to its sum, in its thread */
void wse_swarm_spans(struct wse_swarm *s, const struct wse_spans *spans);
/* between steps: to read its counters; NULL when it tells none, or has failed */
struct wse_device *wse_swarm_device(const struct wse_swarm *s, uint32_t device);
/* its name, for people; 0, or -EINVAL when there is none (any more) */
int wse_swarm_name(const struct wse_swarm *s, uint32_t device, struct wse_exec_info *info);

/*
 * Seconds in which no device had work between two steps: from the end of the last one's backward
 * pass on the last device to the first unit of this one on the first. 0 unless both are training
 * steps, one behind the other
 */
double wse_swarm_gap(const struct wse_swarm *s);

/*
 * What the host does with a micro-batch, in the thread of the device that takes it: begin before it
 * is read, done when it is complete. One that is repeated on another device begins again.
 *
 * The host may have a part in a micro-batch's gradient: done gets that of unit `parked` to add to
 * before it becomes a leaf of the tree, and fills in rows [nrows], which are summed in a tree of
 * their own. Without a backward pass they are NULL.
 *
 * by_caller: begin and done are called by the thread that is in start() or wait(), for what may be
 * called by no other; devices wait for it.
 */
struct wse_swarm_host {
	int (*begin)(void *ctx, uint32_t device, uint32_t index);
	int (*done)(void *ctx, uint32_t index, float *parked, struct wse_rows *rows);
	void *ctx;
	uint32_t parked; /* WSE_NO_UNIT: none */
	uint32_t nrows;
	int by_caller;
};

struct wse_swarm_step {
	const struct wse_graph *graph;
	/* [n], index 0 ... n-1; device spans from wse_swarm_pool */
	const struct wse_micro_batch *jobs;
	uint32_t n;
	uint64_t step;			/* for messages; 0: no training step */
	int (*unit_ready)(void *ctx, uint32_t unit);
	/* exec.h's, in place of unit_ready; NULL: images stay where they are */
	int (*unit_take)(void *ctx, uint32_t unit, enum wse_image_part part, int wait);
	void (*unit_done)(void *ctx, uint32_t unit, enum wse_image_part part);
	void *ready_ctx; /* of all three */
	const struct wse_swarm_host *host; /* NULL: nothing */
	/*
	 * of several ranks: this one's devices do [first, end) alone. In wait(), share_unit()
	 * brings the other ranks' part of a unit's sum into its reduce as soon as all of this
	 * rank's is there, unit after unit as a backward pass completes them, while the devices go
	 * on; after all, share() does so for losses and rows [host.nrows]. NULL: alone
	 */
	int (*share_unit)(void *ctx, struct wse_reduce *reduce, uint32_t unit);
	int (*share)(void *ctx, struct wse_row_sum *rows, uint32_t nrows);
	void *share_ctx;
	uint32_t first, end;
	/*
	 * out [graph.nunits]: the sums, until given back or the next backward step ends; NULL: in
	 * the file
	 */
	float **grads;
	const struct wse_rows **rows; /* out [host.nrows], likewise */
};

/* start gives the work to the devices and returns; wait returns when the step is complete, -errno
 * of the last device when none is left. The step's memory must stay until then. */
int wse_swarm_start(struct wse_swarm *s, const struct wse_swarm_step *step);
int wse_swarm_wait(struct wse_swarm *s);
/* a unit's sum is used up: its memory serves the steps to come. ctx: the swarm. From any thread */
void wse_swarm_give_back(void *ctx, uint32_t unit);

#endif
