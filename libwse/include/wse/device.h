/* SPDX-License-Identifier: MIT */
/*
 * Devices, memory, commands and programs of a wafer. One API over two transports: a device node of
 * the wse driver, and the same device as a model inside this process. wse.h says what holds for all
 * calls.
 *
 * Threads: any function may be called from any thread at any time, except that an object must not
 * be destroyed while another thread uses it. Objects keep what they stand on alive, so a device,
 * its contexts, buffers and fences may be destroyed in any order. A handle that was destroyed, is
 * NULL or of another kind: -EBADF (NULL, 0) and a sentence in wse_error(). So is one that a fork of
 * the process has from before, of a trainer too; models, parameters and tokenizers go on there.
 */
#ifndef WSE_WSE_DEVICE_H
#define WSE_WSE_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <drm/wse_accel.h>
#ifdef __cplusplus
#define _Static_assert static_assert
#include <wse/gen/wse_regs.h>
#undef _Static_assert
#else
#include <wse/gen/wse_regs.h> /* WSE_OP_*, WSE_ETYPE_*, WSE_CNT_*, WSE_SRAM_BASE */
#endif

#pragma GCC visibility push(default) /* libwse.so exports what follows */
#ifdef __cplusplus
extern "C" {
#endif

struct wse_device;
struct wse_buffer;
struct wse_context;
struct wse_fence;
struct wse_program;

/* ---- devices ---- */

/*
 * uri:
 *   accel:N				/dev/accel/accelN
 *   accel:/dev/accel/accelN
 *   sim:func,rows=R,cols=C		the twin in this process, any shape
 *   sim:rtl,rows=R,cols=C		the Verilated RTL in this process, in the shapes that were
 *                          built
 * and for sim, each optional:
 *   seed=N		not 0: random back-pressure and DMA latency (a result must not depend on it)
 *   threads=N		func: host threads a large tile may use; 0 (default): its share of the
 *              processors,
 *			more than 8, or than one for 64 cores, is the same as that, as is any number
 *   for
 *			tiles of less than 256 cores (no result depends on it)
 *   hostfp=1		rtl: the build with host floating point
 *   races=1		func: report programs that are not confluent
 *   shuffle=1		func: another order of events for each seed (a result must not depend on it)
 *   exact=1		func: none of the ways that save time, one thread (the same result, slowly:
 *            where
 *			it is another one, a fast way is wrong)
 *   group=N		columns that share a bus to the host, a divisor of cols; 0: one bus for all
 *			(default: 4 where there are 16 columns or more and 4 divides them, else 0)
 *   latency=N		cycles from a DMA request to its first data
 *   pages=N		12 ... 30: buffers are scattered over pages of 2^N bytes and named by page
 * lists
 *
 * -EINVAL	the URI is malformed
 * -ENOENT	there is no such device
 * -EACCES	no permission for the node
 * -ENOTSUP	a model, or a shape of it, that was not built in
 * -EPROTO	the node is not one of the wse driver, or versions do not fit
 */
int wse_device_open(const char *uri, struct wse_device **dev);

void wse_device_close(struct wse_device *dev);

/* Copies what is known about the device. See struct drm_wse_info; resets is counted anew by each
 * call. */
int wse_device_info(struct wse_device *dev, struct drm_wse_info *info);

/* The URI it was opened with. Lives as long as dev. */
const char *wse_device_uri(const struct wse_device *dev);

/*
 * Counters, for the whole device (DRM_WSE_SCOPE_TILE) or kept for each core, link or queue
 * (drm/wse_accel.h says how these are numbered). This is what is known about the i-th of a scope,
 * NULL behind the last; of scope tile all are, the others as sums over their objects.
 */
struct wse_counter {
	const char *name, *unit, *what; /* "mac", "lane-cycles", a line for people */
	uint32_t scope;			/* the finest that it is kept for */
	uint32_t since;			/* minor version of the device's ABI that has it first */
	int exact; /* the RTL and the twin count the same; else the twin's is an estimate */
};

const struct wse_counter *wse_counter(uint32_t scope, uint32_t i);

/*
 * The counters of one object of a scope since the last reset of the device: writes at most room
 * values, in the order of wse_counter(), and returns in n how many the device has, which may be
 * fewer or more than this library knows.
 *
 * -EINVAL	no such scope or object
 * -ENOTSUP	the driver is older than 1.2
 */
int wse_device_counters(struct wse_device *dev, uint32_t scope, uint32_t object, uint64_t *values,
			uint32_t room, uint32_t *n);

/* Reads a register of BAR0. -ENOTSUP on accel, -EINVAL for an offset that is no multiple of 4 or
 * outside. */
int wse_device_mmio_read(struct wse_device *dev, uint32_t offset, uint32_t *value);

/*
 * Records waves, the signals of a device "sim:rtl,...,waves=1", from now on: window is
 * "FILE.fst[,from=A][,to=B][,core=COLUMN.ROW]", of the device's cycles A to B - 1 since this call
 * (from 0, and 10000 of them, where it does not say), of one core and its router or of the whole
 * tile. Beside FILE.fst is FILE.gtkw, what gtkwave shows first. No result and no cycle changes.
 * NULL ends it and completes the file, which closing the device does not.
 *
 * -ENOTSUP	a device without waves
 * -EINVAL	another text, an empty window, a core that is not there
 * -EBUSY	a window is open
 * -ENODATA	of ending: the window never came; no file is left, as in the next case
 * -ENOSPC ...	of the file
 * -ENOENT	NULL, and no window is open
 */
int wse_device_wave(struct wse_device *dev, const char *window);

/* ---- buffers: host memory that the device can reach ---- */

/* size bytes, rounded up to pages, zeroed. -ENOMEM. */
int wse_buffer_create(struct wse_device *dev, size_t size, struct wse_buffer **buf);

/*
 * The same memory for another device, without a copy. -EXDEV where that cannot be: the memory of an
 * in-process device cannot be given to a device node.
 */
int wse_buffer_share(struct wse_device *dev, struct wse_buffer *buf, struct wse_buffer **shared);

/* Commands that were submitted keep the memory as long as they need it. NULL is ignored. */
void wse_buffer_destroy(struct wse_buffer *buf);

/* Mapped for the life of buf. */
void *wse_buffer_map(const struct wse_buffer *buf);
size_t wse_buffer_size(const struct wse_buffer *buf);

/* What the members bo and mask_bo of a command take; valid on its own device only. Never 0. */
uint32_t wse_buffer_handle(const struct wse_buffer *buf);

/* ---- contexts: the lease of a whole device ---- */

#define WSE_CONTEXT_WAIT DRM_WSE_CTX_WAIT /* wait until the device is free */

/*
 * SRAM is scrubbed and the firmware runs on all cores when this returns.
 *
 * -EBUSY	another context has the device
 * -ENOENT	there is no firmware; -ENOEXEC: it is damaged; -EOPNOTSUPP: of another ABI
 * -EIO		the firmware did not boot
 * -ENODEV	the device is gone
 */
int wse_context_create(struct wse_device *dev, uint32_t flags, struct wse_context **ctx);

/* Waits for its commands, then scrubs the device. NULL is ignored. */
void wse_context_destroy(struct wse_context *ctx);

struct wse_device *wse_context_device(const struct wse_context *ctx);

/* The first fault of a context that is lost, -ENODATA if there was none. */
int wse_context_fault(struct wse_context *ctx, struct drm_wse_fault *fault);

/* ---- commands ---- */

/*
 * Submits n commands, all or nothing. They start when all nin fences of in (may be NULL if nin is
 * 0) have signalled, well or badly. *fence signals when all commands are done; fence may be NULL.
 * A start and the streams it lives from belong into one submit.
 *
 * -EINVAL	a member is wrong (wse_error() says which)
 * -ENOENT	a buffer handle that does not exist
 * -ERANGE	a rectangle, an SRAM range or a host range leaves what it must stay in
 * -EIO		the context is lost after an error; -ENODEV: with its device
 */
int wse_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
	       struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence);

#define WSE_FOREVER INT64_MAX

/*
 * Waits at most timeout_ns nanoseconds (0: looks).
 *
 * -ETIMEDOUT	the waiting timed out: the commands still run
 * else what became of the commands: 0, or of the first that failed
 * -ETIME	its budget ran out
 * -EDEADLK	nothing on the tile could move any more
 * -EFAULT	a core was halted by a fault
 * -EREMOTEIO	the program said DONE with a value other than 0
 * -EIO		the host's memory refused
 * -EPROTO	the device refused the entry
 * -ECANCELED	an earlier error swallowed it
 * -ENODEV	the device is gone
 * After any of these the context is lost.
 */
int wse_fence_wait(struct wse_fence *fence, int64_t timeout_ns);

/* wse_fence_wait() without waiting: -ETIMEDOUT while the commands run. */
int wse_fence_poll(struct wse_fence *fence);

/* Does not wait. NULL is ignored. */
void wse_fence_destroy(struct wse_fence *fence);

/*
 * Device cycles (low 32 bits) at the start of the first and at the end of the last command of a
 * fence that has signalled. -EAGAIN while it runs, -ENOTSUP on accel.
 */
int wse_fence_cycles(struct wse_fence *fence, uint32_t *start, uint32_t *end);

/* wse_submit() and wse_fence_wait() in one. */
int wse_submit_wait(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		    int64_t timeout_ns);

/*
 * Commands are plain structs; these build the usual ones from designated members, for example
 *
 *	cmds[0] = wse_cmd_copy_in((struct wse_copy){ .queue = 1, .buf = b, .sram = 0x4000,
 *		.len = 512, .rows = 4, .cols = 4, .broadcast = 1 });
 *
 * Units are bytes. A member that is left out is 0; queue 0 becomes 1, nline 0 becomes 1, budget 0 a
 * generous default (see each).
 */
#ifndef WSE_INLINE
#define WSE_INLINE static inline /* libwse.so has them as functions, too, for other languages */
#endif

struct wse_copy {
	const struct wse_buffer *buf;
	uint64_t off; /* of the first line of the first core in buf */
	uint32_t queue;
	uint16_t row0, col0, rows, cols;
	uint32_t sram;		   /* SRAM offset of the first line */
	uint32_t len, nline;	   /* bytes of a line, lines */
	uint32_t lstride, sstride; /* from line to line: in buf, in SRAM */
	uint32_t cstride, rstride; /* in buf: from one column (row) of cores to the next */
	/*
	 * in: every core gets the same lines, cstride and rstride are 0. Where info.features has
	 * WSE_FEATURES_BCAST_DIM_MASK one of them may be other than 0: each column has lines of its
	 * own for all its rows, or each row for all its columns
	 */
	int broadcast;
	uint64_t budget;	   /* cycles; default 64 for each 8 bytes, and 100,000 */
};

struct wse_stream {
	const struct wse_buffer *buf;  /* NULL: index_only without a buffer */
	const struct wse_buffer *mask; /* NULL: dense */
	uint64_t off, moff;
	uint32_t queue;
	uint32_t color;
	uint16_t col0, cols;
	uint32_t nblock;	    /* blocks */
	uint8_t nfeat;		    /* features of a block: 1, 2 or 4 */
	uint8_t etype;		    /* WSE_ETYPE_* */
	uint16_t kcol;		    /* elements of a column */
	uint32_t lstride, cstride;  /* of buf: from feature to feature, column to column */
	uint32_t rstride, mcstride; /* of mask */
	int drop_zero, index_only;  /* in */
	/*
	 * bytes of a column's run, where info.features has WSE_FEATURES_LINEAR_MASK: its elements
	 * lie one behind the other as they are sent, with a mask those alone that it selects, and
	 * lstride is 0; 0: features lie in rows
	 */
	uint32_t run;
	uint64_t budget; /* cycles; default 1024 for each element of a column, and 1,000,000 */
};

struct wse_start {
	uint32_t queue;
	uint16_t row0, col0, rows, cols;
	uint32_t entry; /* absolute, from wse_program_symbol() */
	uint32_t arg[16];
	int boot, closed;
	uint64_t budget; /* cycles; default 1,000,000,000 */
};

static inline struct drm_wse_cmd wse_cmd_copy_(uint32_t op, const struct wse_copy *c)
{
	struct drm_wse_cmd cmd;
	uint32_t nline = c->nline ? c->nline : 1;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = op;
	cmd.queue = c->queue ? c->queue : 1;
	cmd.flags = op == WSE_OP_COPY_IN && c->broadcast ? DRM_WSE_CMD_BROADCAST : 0;
	cmd.bo = c->buf ? wse_buffer_handle(c->buf) : 0;
	cmd.off = c->off;
	cmd.row0 = c->row0;
	cmd.col0 = c->col0;
	cmd.rows = c->rows;
	cmd.cols = c->cols;
	cmd.sram = c->sram;
	cmd.len = c->len;
	cmd.nline = nline;
	cmd.lstride = c->lstride;
	cmd.sstride = c->sstride;
	cmd.cstride = c->cstride;
	cmd.rstride = c->rstride;
	cmd.budget =
		c->budget ? c->budget : 100000 + 8 * (uint64_t)c->len * nline * c->rows * c->cols;
	return cmd;
}

WSE_INLINE struct drm_wse_cmd wse_cmd_copy_in(struct wse_copy c)
{
	return wse_cmd_copy_(WSE_OP_COPY_IN, &c);
}

WSE_INLINE struct drm_wse_cmd wse_cmd_copy_out(struct wse_copy c)
{
	return wse_cmd_copy_(WSE_OP_COPY_OUT, &c);
}

/* cycles that a stream may take if nothing else is said */
static inline uint64_t wse_stream_budget(uint32_t nblock, uint32_t nfeat, uint32_t kcol)
{
	return 1000000 + 1024 * (uint64_t)nblock * nfeat * kcol;
}

static inline struct drm_wse_cmd wse_cmd_stream_(uint32_t op, const struct wse_stream *s)
{
	struct drm_wse_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = op;
	cmd.queue = s->queue ? s->queue : 1;
	cmd.flags = (s->mask ? DRM_WSE_CMD_MASKED : 0) | (s->run ? DRM_WSE_CMD_LINEAR : 0) |
		    (op == WSE_OP_STREAM_IN && s->drop_zero ? DRM_WSE_CMD_DROP_ZERO : 0) |
		    (op == WSE_OP_STREAM_IN && s->index_only ? DRM_WSE_CMD_INDEX_ONLY : 0);
	cmd.bo = s->buf ? wse_buffer_handle(s->buf) : 0;
	cmd.off = s->off;
	cmd.mask_bo = s->mask ? wse_buffer_handle(s->mask) : 0;
	cmd.moff = s->moff;
	cmd.len = s->run;
	cmd.color = s->color;
	cmd.col0 = s->col0;
	cmd.cols = s->cols;
	cmd.nline = s->nblock;
	cmd.nfeat = s->nfeat;
	cmd.etype = s->etype;
	cmd.kcol = s->kcol;
	cmd.lstride = s->lstride;
	cmd.cstride = s->cstride;
	cmd.rstride = s->rstride;
	cmd.mcstride = s->mcstride;
	cmd.budget = s->budget ? s->budget : wse_stream_budget(s->nblock, s->nfeat, s->kcol);
	return cmd;
}

WSE_INLINE struct drm_wse_cmd wse_cmd_stream_in(struct wse_stream s)
{
	return wse_cmd_stream_(WSE_OP_STREAM_IN, &s);
}

WSE_INLINE struct drm_wse_cmd wse_cmd_stream_out(struct wse_stream s)
{
	return wse_cmd_stream_(WSE_OP_STREAM_OUT, &s);
}

WSE_INLINE struct drm_wse_cmd wse_cmd_start(struct wse_start s)
{
	struct drm_wse_cmd cmd;
	unsigned int i;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = WSE_OP_START;
	cmd.queue = s.queue ? s.queue : 1;
	cmd.flags = (s.boot ? DRM_WSE_CMD_BOOT : 0) | (s.closed ? DRM_WSE_CMD_CLOSED : 0);
	cmd.row0 = s.row0;
	cmd.col0 = s.col0;
	cmd.rows = s.rows;
	cmd.cols = s.cols;
	cmd.sram = s.entry;
	cmd.budget = s.budget ? s.budget : 1000000000;
	for (i = 0; i < 16; i++)
		cmd.arg[i] = s.arg[i];
	return cmd;
}

/* On queue: waits for the command of that index in the same submit, which is on another queue. */
WSE_INLINE struct drm_wse_cmd wse_cmd_fence(uint32_t queue, uint32_t wait_cmd)
{
	struct drm_wse_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = WSE_OP_FENCE;
	cmd.queue = queue;
	cmd.wait_cmd = wait_cmd;
	return cmd;
}

/* On queue: waits for everything that was submitted to wait_queue before this submit. */
WSE_INLINE struct drm_wse_cmd wse_cmd_fence_queue(uint32_t queue, uint32_t wait_queue)
{
	struct drm_wse_cmd cmd = wse_cmd_fence(queue, DRM_WSE_WAIT_QUEUE);

	cmd.wait_queue = wait_queue;
	return cmd;
}

WSE_INLINE struct drm_wse_cmd wse_cmd_nop(uint32_t queue)
{
	struct drm_wse_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.op = WSE_OP_NOP;
	cmd.queue = queue;
	return cmd;
}

/* ---- programs ---- */

/*
 * Reads an RV32 ELF (a file, or size bytes at image), copies it to every core, and waits for that.
 * Programs are linked with firmware/runtime/program.ld, above the resident firmware (info.fw_end).
 * A name without '/' that is no file here is one of the library's own programs, such as
 * "linear.elf" (FILES in wse(7)).
 *
 * -ENOEXEC	no ELF executable for RV32 (see wse_error()), or damaged
 * -ERANGE	a segment leaves the SRAM
 * -EADDRINUSE	a segment overlaps the resident firmware
 * and what open(2), wse_submit() and wse_fence_wait() return
 */
int wse_program_load(struct wse_context *ctx, const char *path, struct wse_program **prog);
int wse_program_load_memory(struct wse_context *ctx, const void *image, size_t size,
			    struct wse_program **prog);

/*
 * The same, but nothing is copied: the image stays in a buffer, for programs that take turns on the
 * cores. wse_program_copy() is the command that copies it to all cores; it is for programs made
 * this way alone.
 */
int wse_program_create(struct wse_context *ctx, const char *path, struct wse_program **prog);
struct drm_wse_cmd wse_program_copy(const struct wse_program *prog, uint32_t queue);

/* Absolute address of a symbol. -ENOENT (wse_error() says which). */
int wse_program_symbol(const struct wse_program *prog, const char *name, uint32_t *addr);

/* First SRAM offset behind the program (a multiple of 16); free up to the stack, info.sram_kib -
 * 1088 B. */
uint32_t wse_program_end(const struct wse_program *prog);

/*
 * Takes what the cores have said with wse_printf() (wse_print.h) since the last call, or since the
 * program was copied: fn gets each message of each core, cores by rows, a core's in its order, on
 * the calling thread. The text of a message does not depend on timing where the program does not.
 * It copies from and to all cores on queue 1: call it when no command runs the program. A core
 * whose area (512 bytes, if the program does not say other) is full drops messages, and the last
 * text of the core says how many. On a context that one of its commands has lost it still tells
 * what there is, at each call; behind a driver older than 1.3 it fails.
 *
 * -ENODATA	the program has no wse_printf(), or no symbols
 * -EBADMSG	a core's messages are damaged (wse_error() says which); the others were handed over
 * and what wse_submit() and wse_fence_wait() return
 */
typedef void (*wse_message_fn)(void *arg, uint32_t row, uint32_t col, const char *text);
int wse_program_print(struct wse_context *ctx, const struct wse_program *prog, wse_message_fn fn,
		      void *arg);

/*
 * The cores keep what was loaded. Commands that copy the program must have ended. NULL is ignored.
 */
void wse_program_destroy(struct wse_program *prog);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* WSE_WSE_DEVICE_H */
