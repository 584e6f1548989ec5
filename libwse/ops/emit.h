/* SPDX-License-Identifier: MIT */
/*
 * The commands of a micro-batch, operation by operation. An operation's emit() adds commands to a
 * batch; the executor (exec/wafer.c) submits it.
 */
#ifndef WSE_OPS_EMIT_H
#define WSE_OPS_EMIT_H

#include <wse/wse.h>

#include "ops/micro_batch.h"
#include "ops/ops.h"

/*
 * weight and index streams; starts and copies in program order; gradients; copies that run beside
 * starts (ops/spill.h)
 */
enum { WSE_QUEUE_IN = 1, WSE_QUEUE_RUN, WSE_QUEUE_OUT, WSE_QUEUE_BESIDE, WSE_QUEUES };

#define WSE_EMIT_CMDS 128	/* of one batch */

/*
 * Bytes of a buffer that one stream spans: a driver without an IOMMU refuses one that spans more
 * than a piece of the buffer's page list describes, 1 to 2 GiB. What is larger comes as several
 * commands, cut between blocks: the cores see no difference. Tests set less.
 */
extern uint64_t wse_emit_stream_bytes;

/* budgets are 100 x what is predicted, at least these, and at most what a device takes, 2^40 */
#define WSE_EMIT_START_BUDGET 1000000000ull
#define WSE_EMIT_STREAM_BUDGET (1ull << 36)
uint64_t wse_emit_budget(uint64_t cycles, uint64_t least);
/*
 * of a step that is known to fail and is watched on the RTL, where 10^9 cycles of a loop without
 * end take an hour: 10 x what is predicted, and 200,000
 */
uint64_t wse_emit_short_budget(uint64_t cycles);

struct wse_emit {
	const struct wse_graph *g;
	const struct wse_micro_batch *job;
	uint32_t device;		/* whose view of the buffers */
	const uint32_t (*entry)[WSE_OP_KINDS];	/* [program]: addresses of the start functions */
	/* [nunits]: where the gradients of this micro-batch go */
	struct wse_shared_buf **grads;
	const struct wse_buffer *const *spills;	/* [nspills] */
	/* binary32 [COLS][T] from loss_off on: every column's */
	const struct wse_buffer *losses;
	size_t loss_off;
	/*
	 * the device broadcasts along rows or columns alone (FEATURES.BCAST_DIM); if not, each
	 * core's lines are read for it
	 */
	int bcast_dim;
	int linear; /* it has LINEAR streams (FEATURES.LINEAR) */
	int beside; /* it has WSE_QUEUE_BESIDE */
	/* of a stream, which waits for all starts before its own; 0: WSE_EMIT_STREAM_BUDGET */
	uint64_t budget;
	int short_budgets; /* of starts: wse_emit_short_budget() */
	struct drm_wse_cmd cmd[WSE_EMIT_CMDS];
	uint32_t n;
	int ret;			/* -EINVAL: a buffer that this device was never shown */
};

/* as a core sees it; 0 for WSE_NO_VALUE */
uint32_t wse_emit_addr(const struct wse_emit *e, uint32_t value);
void wse_emit_cmd(struct wse_emit *e, struct drm_wse_cmd cmd);
const struct wse_buffer *wse_emit_buffer(struct wse_emit *e, const struct wse_shared_buf *buf);
/* START of an operation's kernel on the whole tile; args is one of the structs of wse_kernel.h */
void wse_emit_start(struct wse_emit *e, const struct wse_op *op, const void *args, size_t size);
#define wse_emit_kernel(e, op, ...) wse_emit_start(e, op, &(__VA_ARGS__), sizeof(__VA_ARGS__))
/*
 * the stream of a chunk of a unit's image (back: of the transposed one), or of its indices; its
 * gradient coming back
 */
void wse_emit_image(struct wse_emit *e, uint32_t unit, uint32_t chunk, int back);
void wse_emit_index(struct wse_emit *e, uint32_t unit, uint32_t chunk);
void wse_emit_grads(struct wse_emit *e, uint32_t unit, uint32_t chunk);

#endif
