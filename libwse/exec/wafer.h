/* SPDX-License-Identifier: MIT */
/* Inside of the wafer executor: its state, and the commands of a micro-batch. */
#ifndef WSE_EXEC_WAFER_H
#define WSE_EXEC_WAFER_H

#include <pthread.h>
#include <stdint.h>

#include <wse/wse.h>

#include "exec.h"
#include "model/layout.h"

enum { Q_IN = 1, Q_RUN = 2, Q_OUT = 3 };

#define MAX_PENDING 64

struct shared_buf {
	void *ptr;
	struct wse_buffer *buf;
};

/* a submit that runs, and what to do when it is done */
struct pending {
	struct wse_fence *fence;
	const struct wse_job *job;
	struct wse_buf *grad; /* to hand over, or NULL */
	uint32_t layer;
	int loss;      /* pick the losses of job */
	uint32_t slot; /* of the loss scratch */
};

struct wafer {
	struct wse_exec base;
	struct wse_exec_cfg cfg;
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	struct drm_wse_info info;
	struct wse_mlp m;
	uint32_t tokens, t;			       /* per micro-batch, per core */
	uint32_t forward, wgrad, bgrad, gelu, softmax; /* entries */
	struct wse_layout at;
	struct wse_buffer *losses; /* [2][cols][tokens] fp32: every column's, two micro-batches */
	pthread_mutex_t lock;	   /* the table of buffers */
	struct shared_buf *bufs;
	size_t nbufs;
	struct pending pend[MAX_PENDING];
	uint32_t npend, first;
	/* of the last run */
	int timed;
	uint32_t begin, end, last_grad; /* device cycles */
	struct wse_counters before;
};

/* what a layer does with its sums; must match firmware/lib/linear_tasks.h */
enum { ACT_NONE, ACT_RELU, ACT_GATE, ACT_MUL };

#define MAX_CMDS 16

struct batch {
	struct wafer *w;
	struct drm_wse_cmd cmd[MAX_CMDS];
	uint32_t n;
	int ret;
};

/* the device's view of a buffer that it was shown, or NULL */
struct wse_buffer *wse_wafer_buffer(struct wafer *w, const struct wse_buf *buf);

/* commands.c: each adds to the batch; a buffer never shown sets its ret */
void wse_wafer_add(struct batch *b, struct drm_wse_cmd cmd);
const struct wse_buffer *wse_wafer_span(struct batch *b, struct wse_span s);
uint32_t wse_wafer_addr(uint32_t sram);
void wse_wafer_add_start(struct batch *b, uint32_t entry, const uint32_t *arg, uint32_t narg);
/* host [width][tokens] <-> core [width / cols][t], size bytes an element */
void wse_wafer_add_rows(struct batch *b, int out, struct wse_span s, uint32_t sram, uint32_t width,
			uint32_t size);
/* y [outs / cols][t] = image [outs][ins] x, and the stream it lives from */
void wse_wafer_add_linear(struct batch *b, struct wse_span image, uint32_t ins, uint32_t outs,
			  uint32_t x, uint32_t y, uint32_t bias, uint32_t act, uint32_t gate,
			  uint32_t ytype);
/* dW of layer l from dy and the layer's input, then db, into grad */
void wse_wafer_add_grads(struct batch *b, uint32_t l, uint32_t dy, const struct wse_buffer *grad);

#endif
