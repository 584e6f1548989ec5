/* SPDX-License-Identifier: MIT */
/*
 * What the trainer asks of a wafer: run micro-batches of a graph. The trainer above this line knows
 * nothing of queues, firmware or transports; an executor below it knows nothing of models,
 * optimizers or files.
 *
 * An executor is used by one thread at a time (each device has its own worker thread), different
 * executors run in parallel. All sizes are in bytes, all counts in elements, all arrays row-major,
 * little-endian, and start at 64-byte aligned addresses.
 *
 * Geometry of a micro-batch of T tokens on a tile of rows x cols cores (contract 3):
 *   tokens    row r of the tile holds tokens [r T/rows, (r+1) T/rows); T/rows a multiple of lanes
 *   features  column c owns features [c N/cols, (c+1) N/cols) of every width N; N multiple of cols
 * The order of every sum is written down in ops/; the oracle is its executable form.
 */
#ifndef WSE_EXEC_EXEC_H
#define WSE_EXEC_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include <wse/train.h>

#include "ops/micro_batch.h"

struct wse_exec;
struct wse_device;
struct drm_wse_fault;
struct wse_watch;

/*
 * Called by run() in the worker's thread, or in a thread of the executor's own.
 * A gradient buffer holds a unit's dW [outs][ins] fp32, then the gradients of its vectors. Where
 * wse_image_grad_rows() says so, dW is of the weights that are there alone.
 */
struct wse_micro_ops {
	/* wait until the images of this unit are written (MemoryX may still be updating it while
	 * earlier units already run); 0, or -ECANCELED when the step is being given up */
	int (*unit_ready)(void *ctx, uint32_t unit);
	/*
	 * Optional, in place of unit_ready: images come and go. That part of the unit's is in
	 * memory when this returns 0, and its span is valid, until as many calls of unit_done. wait
	 * 0: -EAGAIN where it would wait; who has taken one does not wait, but is done with it
	 * first
	 */
	int (*unit_take)(void *ctx, uint32_t unit, enum wse_image_part part, int wait);
	void (*unit_done)(void *ctx, uint32_t unit, enum wse_image_part part);
	/*
	 * borrow a buffer for a unit's gradient of one micro-batch: of wse_unit_grad_floats()
	 * floats, or of what LINEAR streams bring back and the vectors
	 */
	int (*grad_get)(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf **buf);
	/* the gradient is complete: hand the buffer over. SwarmX reduces it at once */
	int (*grad_put)(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf *buf);
	/*
	 * Optional: is there room for another unit's gradient? 0: first hand over what is complete,
	 * if anything of this device will be
	 */
	int (*grad_room)(void *ctx, uint32_t unit);
	/*
	 * Optional. begin: the executor is about to read a micro-batch, whose spans are valid and
	 * inputs written when this returns. done: all its outputs are written and all its gradients
	 * handed over. In the order of the index; at most WSE_EXEC_AHEAD have begun and are not
	 * done
	 */
	int (*begin)(void *ctx, uint32_t index);
	int (*done)(void *ctx, uint32_t index);
};

/* micro-batches that an executor has at once: one runs, the next one is queued */
#define WSE_EXEC_AHEAD 2u

struct wse_exec_info {
	char name[64];		/* for people: "sim:rtl 4x4" */
	struct wse_tile tile;
};

/* Device cycles, begin to end, and counters of the whole device in between, by ID (WSE_CNT_*). */
struct wse_exec_cost {
	uint64_t cycles;	/* first command's start to last completion */
	uint64_t last_grad;	/* from the first command's start to the last gradient's arrival */
	uint64_t count[32];	/* there is room for WSE_CNT_MAX */
};

/* A command that a device has executed, and for which operation of the graph. */
struct wse_exec_command {
	const struct wse_graph *graph;	/* the one that was prepared */
	uint32_t device;	/* id of the executor */
	uint32_t index;		/* of the micro-batch */
	uint32_t op;		/* number in graph->ops */
	uint32_t queue;		/* enum of ops/emit.h */
	uint32_t opcode;	/* WSE_OP_* of wse_regs.h */
	/* device cycles since the device was opened; a queue's commands follow each other */
	uint64_t begin, end;
};

/* Called in the worker's thread, in order of submits; commands of one submit in its order. */
typedef void (*wse_record_fn)(void *ctx, const struct wse_exec_command *cmd);

/*
 * Called in the worker's thread before operation op of a micro-batch, and with op = nops behind the
 * last one: due() says whether the device is to come to rest first, and then at_rest() is called,
 * before which all commands of earlier operations have completed.
 */
struct wse_pauses {
	int (*due)(void *ctx, uint32_t device, const struct wse_graph *g, int backward,
		   uint32_t op);
	void (*at_rest)(void *ctx, uint32_t device, uint32_t op);
	void *ctx;
};

struct wse_exec_ops {
	void (*info)(struct wse_exec *e, struct wse_exec_info *info);

	/*
	 * Load what a graph needs, which is finished (ops/ops.h) and stays until the next one or
	 * close; it may take the first rows and columns of the tile alone. -E2BIG with the numbers
	 * in the sentence when a program is larger than the graph believes. Called before any run,
	 * and between runs for another graph; after an error there is none. NULL: it lets go of
	 * the one that it has.
	 */
	int (*prepare)(struct wse_exec *e, const struct wse_graph *g);

	/*
	 * Buffers; thread-safe. alloc fills in ptr, size, owner and view[e->id], map its own view;
	 * unmap of one that was never mapped does nothing. free and unmap must work after the
	 * device is lost.
	 */
	int (*alloc)(struct wse_exec *e, size_t size, struct wse_shared_buf *buf);
	void (*free)(struct wse_exec *e, struct wse_shared_buf *buf);
	int (*map)(struct wse_exec *e, struct wse_shared_buf *buf);
	void (*unmap)(struct wse_exec *e, struct wse_shared_buf *buf);

	/*
	 * Run `n` micro-batches of ascending index; the executor may pipeline them. Returns when
	 * all outputs are written and all gradients handed over, or with -errno, after which the
	 * device is not used again (-ECANCELED excepted: a callback asked for it). Gradient
	 * buffers that were borrowed and not handed over are taken back by the trainer, and the
	 * device must no longer write to any buffer once run() has returned.
	 */
	int (*run)(struct wse_exec *e, const struct wse_micro_batch *jobs, uint32_t n,
		   const struct wse_micro_ops *ops, void *ctx);

	/* optional (may be NULL): wse_device_wave() of its device */
	int (*wave)(struct wse_exec *e, const char *window);

	/* with wave: the transport's watch() */
	int (*watch)(struct wse_exec *e, struct wse_watch *seen);

	/* with watch: runs from now on are known to fail, and end after wse_emit_short_budget() */
	void (*short_budgets)(struct wse_exec *e);

	/* optional (may be NULL): wse_context_fault() of its context */
	int (*fault)(struct wse_exec *e, struct drm_wse_fault *fault);

	/*
	 * optional (may be NULL): what the last run() cost; -ENOTSUP where the transport does not
	 * say
	 */
	int (*cost)(struct wse_exec *e, struct wse_exec_cost *cost);

	/*
	 * optional (may be NULL): tell fn of every command from the next run() on; fn NULL: no
	 * more. -ENOTSUP where the transport does not say when a command ran
	 */
	int (*record)(struct wse_exec *e, wse_record_fn fn, void *ctx);

	/* optional (may be NULL): these pauses from the next run() on; NULL: no more */
	void (*pause)(struct wse_exec *e, const struct wse_pauses *pauses);

	/* optional (may be NULL): its device, to read counters of between two runs */
	struct wse_device *(*device)(struct wse_exec *e);

	void (*close)(struct wse_exec *e);
};

struct wse_exec {
	const struct wse_exec_ops *ops;
	/* below WSE_VIEWS: its view of buffers. SwarmX gives it before the first alloc */
	uint32_t id;
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
/*
 * As the executor's info(), of a device that need not be free: no context is leased, so a tile's
 * memory is not cleared. Errors as wse_exec_open()'s.
 */
int wse_exec_info(const char *uri, struct wse_exec_info *info);
int wse_exec_wafer_info(const char *uri, struct wse_exec_info *info);

/* "name,key=value,...": the number of `key`, or `fallback`; -EINVAL when it is not positive */
int wse_uri_number(const char *uri, const char *key, uint32_t fallback, uint32_t *value);

void wse_logf(const struct wse_exec_cfg *cfg, enum wse_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
