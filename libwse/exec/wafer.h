/* SPDX-License-Identifier: MIT */
/*
 * A wafer's executor in two files: wafer.c opens, prepares and closes it and has its buffers;
 * wafer_run.c runs micro-batches.
 */
#ifndef WSE_WAFER_H
#define WSE_WAFER_H

#include "device/device.h"
#include "exec/exec.h"
#include "exec/programs.h"
#include "ops/emit.h"
#include "wse_regs.h"

/* submits that run, and images that a batch takes */
#define MAX_PENDING 64
#define BATCH_TAKEN 16

/* a submit that runs, and what to do when it is done */
struct pending {
	struct wse_fence *fence;
	const struct wse_micro_batch *job;
	struct wse_shared_buf *grad; /* complete: to hand over, or NULL */
	uint32_t unit;
	int loss;				 /* pick the losses of job */
	uint32_t slot;				 /* of the loss scratch */
	const struct wse_op *taken[BATCH_TAKEN]; /* whose images are taken for it */
	uint32_t ntaken, ncmd;
};

/* whose command it is: what wse_exec_command says of it before it ran */
struct label {
	uint32_t op;
	uint16_t queue, opcode;
};

struct wafer {
	struct wse_exec base;
	struct wse_exec_cfg cfg;
	struct wse_device *dev;
	struct wse_context *ctx;
	struct drm_wse_info info;
	const struct wse_graph *g;
	struct wse_programs programs;
	uint32_t loaded;	   /* the program that the cores have, in program order */
	uint32_t rows;		   /* that the last graph took; 0: there was none */
	struct wse_buffer *losses; /* [2][cols][tokens] fp32: every column's, two micro-batches */
	/* [nspills]: of the micro-batch that runs, for all commands on them are in one queue */
	struct wse_buffer **spills;
	uint64_t budget;	       /* of a stream */
	int short_budgets;	       /* a step that is known to fail is watched */
	struct wse_shared_buf **grads; /* [nunits]: of the micro-batch that is being submitted */
	uint32_t taken;		       /* images of batches that are not done */
	struct pending pend[MAX_PENDING];
	uint32_t npend, first;
	/* of the last run */
	int timed;
	uint64_t begin, end, last_grad; /* device cycles, by a clock of this executor's */
	uint64_t before[WSE_CNT_MAX];
	/* who is told of commands, or NULL; labels of those in pend, and of the batch */
	wse_record_fn record;
	void *record_ctx;
	struct wse_pauses pauses; /* due NULL: none */
	struct label (*labels)[WSE_EMIT_CMDS], *label;
	uint64_t clock; /* of the last command that was told, on the device's own clock */
};

/* an error of the device: what it was at, before its sentence */
int wse_wafer_fail(struct wafer *w, int ret, const char *what);
int wse_wafer_linear(const struct wafer *w);

int wse_wafer_run(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		  const struct wse_micro_ops *ops, void *ctx);
/* the oldest submit: wait for it, deliver what it made. An earlier error goes on in ret */
int wse_wafer_reap(struct wafer *w, const struct wse_micro_ops *ops, void *ctx, int ret);

#endif /* WSE_WAFER_H */
