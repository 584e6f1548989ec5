/* SPDX-License-Identifier: MIT */
/*
 * What the trainer asks of a wafer: run micro-batches. The trainer above this line knows nothing of
 * queues, firmware or transports; an executor below it knows nothing of optimizers or files.
 *
 * An executor is used by one thread at a time (each device has its own worker thread), different
 * executors run in parallel. All sizes are in bytes, all counts in elements, all arrays row-major,
 * little-endian, and start at 64-byte aligned addresses.
 *
 * Geometry of a micro-batch of T tokens on a tile of rows x cols cores (contract 3):
 *   tokens    row r of the tile holds tokens [r T/rows, (r+1) T/rows); T/rows a multiple of lanes
 *   features  column c owns features [c N/cols, (c+1) N/cols) of every width N; N multiple of cols
 * The order of every sum is written down in oracle.h; the oracle is its executable form.
 */
#ifndef WSE_TRAIN_EXEC_H
#define WSE_TRAIN_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "model/mlp.h"

enum wse_log_level { WSE_LOG_ERROR, WSE_LOG_WARN, WSE_LOG_INFO };

/* one line of text without the newline; may be called from any thread */
typedef void (*wse_log_fn)(void *ctx, enum wse_log_level level, const char *text);

struct wse_exec;

/*
 * Memory that a device can read and write by DMA. Made by the first executor's alloc, then shown
 * once to every other executor by map, for the life of the buffer: broadcasting costs no copy.
 */
struct wse_buf {
	void *ptr;	/* CPU address */
	size_t size;
	void *priv;	/* the allocating executor's */
	struct wse_exec *owner;	/* the allocating executor; SwarmX fills it in */
};

struct wse_span {
	struct wse_buf *buf;
	size_t off;
};

static inline void *wse_span_ptr(struct wse_span s)
{
	return (char *)s.buf->ptr + s.off;
}

/* Streaming images of one linear layer, K inputs and N outputs; read-only for the executor. */
struct wse_image {
	struct wse_span fwd;	/* [N][K] bf16 */
	struct wse_span tr;	/* [K][N] bf16: the same values transposed */
	struct wse_span bias;	/* [N] fp32 */
};

/* One micro-batch. */
struct wse_job {
	uint32_t index;			/* global number of the micro-batch in the step */
	int backward;			/* 0: only losses (and logits) are wanted */
	float scale;			/* dlogits = (softmax - onehot) * scale: 1 / batch */
	const struct wse_image *layers;	/* [nlinear] */
	struct wse_span x;		/* in:  [width[0]][T] bf16, the gathered embeddings */
	struct wse_span target;		/* in:  [T] uint16 */
	struct wse_span loss;		/* out: [T] fp32 */
	struct wse_span dx;		/* out if backward: [width[0]][T] fp32 */
	struct wse_span logits;		/* out if logits.buf: [vocab][T] fp32 */
};

/*
 * Called by run() in the worker's thread, or in a thread of the executor's own.
 * A gradient buffer holds dW [N][K] fp32, then db [N] fp32.
 */
struct wse_job_ops {
	/* wait until the images of this layer are written (MemoryX may still be updating it while
	 * earlier layers already run); 0, or -ECANCELED when the step is being given up */
	int (*layer_ready)(void *ctx, uint32_t layer);
	/* borrow a buffer of (N*K + N) * 4 bytes for a layer's gradient of one micro-batch */
	int (*grad_get)(void *ctx, uint32_t index, uint32_t layer, struct wse_buf **buf);
	/* the gradient is complete: hand the buffer over. SwarmX reduces it at once */
	int (*grad_put)(void *ctx, uint32_t index, uint32_t layer, struct wse_buf *buf);
};

struct wse_exec_info {
	char name[64];		/* for people: "sim:rtl 4x4" */
	uint32_t rows, cols, lanes;
	uint32_t sram;		/* bytes per core */
	uint32_t acc;		/* bytes of the accumulator file */
};

/* Device cycles, begin to end, and counters of the whole device in between. */
struct wse_exec_cost {
	uint32_t cycles;	/* first command's start to last completion, below 2^32 */
	uint32_t last_grad;	/* from the first command's start to the last gradient's arrival */
	uint64_t mac;		/* lane-cycles with a multiply-add */
	uint64_t lwait;		/* core-cycles in which lanes waited for wavelets or for room */
	uint64_t wavelet;
	uint64_t dma;		/* bytes, both ways */
};

struct wse_exec_ops {
	void (*info)(struct wse_exec *e, struct wse_exec_info *info);

	/* Load what a model of this shape needs, with micro-batches of `tokens`. The planner (see
	 * the layout in plan.c) has let it pass; -E2BIG and a log line with the numbers when it
	 * does not fit all the same. Called once, before any run. */
	int (*prepare)(struct wse_exec *e, const struct wse_mlp *m, uint32_t tokens);

	/* Buffers; thread-safe. map shows a buffer of another executor (look it up by its ptr);
	 * unmap of one that was never mapped does nothing. free and unmap must work after the
	 * device is lost. */
	int (*alloc)(struct wse_exec *e, size_t size, struct wse_buf *buf);
	void (*free)(struct wse_exec *e, struct wse_buf *buf);
	int (*map)(struct wse_exec *e, struct wse_buf *buf);
	void (*unmap)(struct wse_exec *e, struct wse_buf *buf);

	/*
	 * Run `n` micro-batches of ascending index; the executor may pipeline them. Returns when
	 * all outputs are written and all gradients handed over, or with -errno, after which the
	 * device is not used again (-ECANCELED excepted: a callback asked for it). Gradient
	 * buffers that were borrowed and not handed over are taken back by the trainer, and the
	 * device must no longer write to any buffer once run() has returned.
	 */
	int (*run)(struct wse_exec *e, const struct wse_job *jobs, uint32_t n,
		   const struct wse_job_ops *ops, void *ctx);

	/* optional (may be NULL): what the last run() cost; -ENOTSUP when nobody can tell */
	int (*cost)(struct wse_exec *e, struct wse_exec_cost *cost);

	void (*close)(struct wse_exec *e);
};

struct wse_exec {
	const struct wse_exec_ops *ops;
};

struct wse_exec_cfg {
	wse_log_fn log;		/* may be NULL */
	void *log_ctx;
};

/*
 * accel:N, sim:rtl,rows=4,cols=4 and sim:func,... go to wse_exec_open_wafer(); oracle:rows=2,cols=2
 * is the scalar model for tests. -EINVAL for a URI that none of them knows, -ENODEV when there is
 * no such device.
 */
int wse_exec_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec);

int wse_exec_open_wafer(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec);

/* "name,key=value,...": the number of `key`, or `fallback`; -EINVAL when it is not positive */
int wse_uri_number(const char *uri, const char *key, uint32_t fallback, uint32_t *value);

void wse_logf(const struct wse_exec_cfg *cfg, enum wse_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
