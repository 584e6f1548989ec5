/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * From struct drm_wse_cmd to a submission entry: the checks and the encoding. The kernel driver and
 * libwse's in-process device share this file, so that both refuse and accept the same commands.
 *
 * Usage: wse_cmd_check() and, for a fence, wse_fence_check(); then wse_cmd_encode() or
 * wse_fence_encode().
 */
#ifndef WSE_SQE_H
#define WSE_SQE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/byteorder/generic.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <linux/types.h>
#endif

#include <drm/wse_accel.h>
#include "wse_regs.h"

#ifdef __KERNEL__
#define wse_le16(x) cpu_to_le16(x)
#define wse_le32(x) cpu_to_le32(x)
#define wse_le64(x) cpu_to_le64(x)
#else
/* user space that can run this is little-endian, as the models are */
#define wse_le16(x) (x)
#define wse_le32(x) (x)
#define wse_le64(x) (x)
#endif

/* What commands are checked against, from the capability registers. */
struct wse_geom {
	__u32 rows, cols; /* cores */
	__u32 sram_bytes; /* of a core */
	__u32 colors;
	__u32 queues; /* I/O queues, numbered from 1 */
	bool bcast_dim; /* FEATURES.BCAST_DIM: a broadcast may have one stride */
	bool linear; /* FEATURES.LINEAR: streams may have DRM_WSE_CMD_LINEAR */
};

/* A buffer as the device sees it. */
struct wse_buf {
	__u64 addr;   /* bus address of the page list, or of the buffer itself when direct */
	__u32 pshift; /* log2 of the list's page size in bytes; 0 when direct */
	bool direct;
	__u64 size; /* bytes */
};

/*
 * Device cycles that a command may be given: every fence signals some day. At 1 GHz this is 18
 * minutes, at the 50 kHz of an emulated wafer 8 months.
 */
#define WSE_MAX_BUDGET 0x10000000000ull

/* elements k of one column: what 14 bits of a wavelet's index can name */
#define WSE_STREAM_KMAX 16384

static inline bool wse_cmd_is_stream(const struct drm_wse_cmd *c)
{
	return c->op == WSE_OP_STREAM_IN || c->op == WSE_OP_STREAM_OUT;
}

/* c names a buffer in bo. With INDEX_ONLY it may (and is then checked), but does not have to. */
static inline bool wse_cmd_has_bo(const struct drm_wse_cmd *c)
{
	if (c->op == WSE_OP_STREAM_IN && c->flags & DRM_WSE_CMD_INDEX_ONLY)
		return c->bo != 0;
	return c->op == WSE_OP_COPY_IN || c->op == WSE_OP_COPY_OUT || wse_cmd_is_stream(c);
}

/* c names a buffer in mask_bo. */
static inline bool wse_cmd_has_mask(const struct drm_wse_cmd *c)
{
	return wse_cmd_is_stream(c) && c->flags & DRM_WSE_CMD_MASKED;
}

/* The device writes c's bo. */
static inline bool wse_cmd_writes(const struct drm_wse_cmd *c)
{
	return c->op == WSE_OP_COPY_OUT || c->op == WSE_OP_STREAM_OUT;
}

/* Bytes of an element of a stream in host memory; 0: no such type. */
static inline __u32 wse_etype_bytes(__u32 etype)
{
	switch (etype) {
	case WSE_ETYPE_BF16:
		return 2;
	case WSE_ETYPE_FP32:
	case WSE_ETYPE_RAW32:
		return 4;
	default:
		return 0;
	}
}

/* *end += (n - 1) * stride; true when that overflows. */
static inline bool wse_extend(__u64 *end, __u64 n, __u64 stride)
{
	__u64 span;

	return __builtin_mul_overflow(n - 1, stride, &span) ||
	       __builtin_add_overflow(*end, span, end);
}

/*
 * Where the pattern of a copy or a stream in its bo ends, and that of a stream's mask; true when
 * that overflows. c->off and c->moff are where they begin.
 */
static inline bool wse_cmd_end(const struct drm_wse_cmd *c, __u64 *end)
{
	*end = c->off;
	if (wse_cmd_is_stream(c) && c->flags & DRM_WSE_CMD_LINEAR)
		return __builtin_add_overflow(*end, (__u64)c->len, end) ||
		       wse_extend(end, c->cols, c->cstride);
	if (wse_cmd_is_stream(c))
		return __builtin_add_overflow(*end, (__u64)c->kcol * wse_etype_bytes(c->etype),
					      end) ||
		       wse_extend(end, (__u64)c->nline * c->nfeat, c->lstride) ||
		       wse_extend(end, c->cols, c->cstride);
	return __builtin_add_overflow(*end, (__u64)c->len, end) ||
	       wse_extend(end, c->nline, c->lstride) || wse_extend(end, c->cols, c->cstride) ||
	       wse_extend(end, c->rows, c->rstride);
}

static inline bool wse_cmd_mask_end(const struct drm_wse_cmd *c, __u64 *end)
{
	*end = c->moff;
	return __builtin_add_overflow(*end, (__u64)(c->kcol + 7) / 8, end) ||
	       wse_extend(end, (__u64)c->nline * c->nfeat, c->rstride) ||
	       wse_extend(end, c->cols, c->mcstride);
}

static inline int wse_rect_check(const struct wse_geom *g, const struct drm_wse_cmd *c)
{
	if (!c->rows || !c->cols)
		return -EINVAL;
	if ((__u32)c->row0 + c->rows > g->rows || (__u32)c->col0 + c->cols > g->cols)
		return -ERANGE;
	return 0;
}

static inline int wse_copy_check(const struct wse_geom *g, const struct drm_wse_cmd *c,
				 __u64 bo_size)
{
	__u64 sram_end = (__u64)c->sram + c->len, end;
	int ret;

	if (c->flags & ~(c->op == WSE_OP_COPY_IN ? DRM_WSE_CMD_BROADCAST : 0))
		return -EINVAL;
	if (c->mcstride || c->kcol || c->nfeat || c->etype || c->color)
		return -EINVAL;
	if (!c->len || !c->nline)
		return -EINVAL;
	if ((c->off | c->sram | c->len | c->lstride | c->sstride | c->cstride | c->rstride) & 7)
		return -EINVAL;
	if (c->flags & DRM_WSE_CMD_BROADCAST &&
	    (g->bcast_dim ? c->cstride && c->rstride : c->cstride || c->rstride))
		return -EINVAL;
	ret = wse_rect_check(g, c);
	if (ret)
		return ret;
	if (wse_extend(&sram_end, c->nline, c->sstride) || sram_end > g->sram_bytes)
		return -ERANGE;
	if (wse_cmd_end(c, &end) || end > bo_size)
		return -ERANGE;
	return 0;
}

/*
 * LINEAR streams: a run of len bytes for each column. Without a mask all elements have to fit; how
 * many a mask selects the device alone learns, and it goes no further than len.
 */
static inline int wse_linear_check(const struct wse_geom *g, const struct drm_wse_cmd *c)
{
	__u64 all;

	if (!g->linear || c->flags & DRM_WSE_CMD_INDEX_ONLY || !c->len || c->len & 7 || c->lstride)
		return -EINVAL;
	if (__builtin_mul_overflow((__u64)c->nline * c->nfeat,
				   (__u64)c->kcol * wse_etype_bytes(c->etype), &all))
		return -EINVAL;
	return !(c->flags & DRM_WSE_CMD_MASKED) && all > c->len ? -EINVAL : 0;
}

static inline int wse_stream_check(const struct wse_geom *g, const struct drm_wse_cmd *c,
				   __u64 bo_size, __u64 mask_size)
{
	__u32 flags = DRM_WSE_CMD_MASKED | DRM_WSE_CMD_LINEAR, bytes = wse_etype_bytes(c->etype);
	__u64 end;

	if (c->op == WSE_OP_STREAM_IN)
		flags |= DRM_WSE_CMD_DROP_ZERO | DRM_WSE_CMD_INDEX_ONLY;
	if (c->flags & ~flags)
		return -EINVAL;
	if (c->flags & DRM_WSE_CMD_DROP_ZERO && c->flags & DRM_WSE_CMD_INDEX_ONLY)
		return -EINVAL;
	if (c->row0 || c->rows || c->sram || c->sstride)
		return -EINVAL;
	if (c->flags & DRM_WSE_CMD_LINEAR ? wse_linear_check(g, c) : c->len != 0)
		return -EINVAL;
	if (!bytes || (c->nfeat != 1 && c->nfeat != 2 && c->nfeat != 4) ||
	    (c->etype == WSE_ETYPE_RAW32 && c->nfeat != 1))
		return -EINVAL;
	if (!c->nline || !c->kcol || c->kcol > WSE_STREAM_KMAX || c->color >= g->colors || !c->cols)
		return -EINVAL;
	if ((c->off | c->moff | c->lstride | c->cstride | c->rstride | c->mcstride) & 7)
		return -EINVAL;
	if (!wse_cmd_has_bo(c) && (c->off || c->lstride || c->cstride))
		return -EINVAL;
	if (!wse_cmd_has_mask(c) && (c->moff || c->rstride || c->mcstride))
		return -EINVAL;
	if ((__u32)c->col0 + c->cols > g->cols)
		return -ERANGE;
	if (wse_cmd_has_bo(c) && (wse_cmd_end(c, &end) || end > bo_size))
		return -ERANGE;
	if (wse_cmd_has_mask(c) && (wse_cmd_mask_end(c, &end) || end > mask_size))
		return -ERANGE;
	return 0;
}

static inline int wse_start_check(const struct wse_geom *g, const struct drm_wse_cmd *c)
{
	int ret;

	if (c->flags & ~(DRM_WSE_CMD_BOOT | DRM_WSE_CMD_CLOSED))
		return -EINVAL;
	if (c->off || c->moff || c->color || c->len || c->nline || c->lstride || c->sstride ||
	    c->cstride || c->rstride || c->mcstride || c->kcol || c->nfeat || c->etype)
		return -EINVAL;
	ret = wse_rect_check(g, c);
	if (ret)
		return ret;
	if (c->sram & 3)
		return -EINVAL;
	if (c->sram < WSE_SRAM_BASE || c->sram - WSE_SRAM_BASE >= g->sram_bytes)
		return -ERANGE;
	return 0;
}

/* nop and fence: nothing but op, queue and the fence's own two members */
static inline int wse_bare_check(const struct drm_wse_cmd *c)
{
	if (c->flags || c->off || c->moff || c->color || c->budget || c->row0 || c->col0 ||
	    c->rows || c->cols || c->sram || c->len || c->nline || c->lstride || c->sstride ||
	    c->cstride || c->rstride || c->mcstride || c->kcol || c->nfeat || c->etype)
		return -EINVAL;
	return 0;
}

/*
 * Everything that can be said about one command alone. bo_size and mask_size are the bytes of its
 * buffers, 0 where it has none.
 *
 * -EINVAL: unknown op or flag, a member that must not be 0 is, one that op does not use is not 0, a
 * misaligned or impossible value. -ERANGE: the rectangle leaves the tile, the SRAM range or entry
 * the SRAM, or the host pattern a buffer.
 */
static inline int wse_cmd_check(const struct wse_geom *g, const struct drm_wse_cmd *c,
				__u64 bo_size, __u64 mask_size)
{
	unsigned int i;

	if (c->op > WSE_OP_FENCE || !c->queue || c->queue > g->queues || c->pad)
		return -EINVAL;
	/* an INDEX_ONLY stream is the one command that may go without its bo */
	if (wse_cmd_has_bo(c) != !!c->bo || wse_cmd_has_mask(c) != !!c->mask_bo)
		return -EINVAL;
	if (c->op != WSE_OP_FENCE && (c->wait_cmd || c->wait_queue))
		return -EINVAL;
	if (c->op != WSE_OP_START)
		for (i = 0; i < WSE_NARGS; i++)
			if (c->arg[i])
				return -EINVAL;
	if (c->op != WSE_OP_NOP && c->op != WSE_OP_FENCE && !c->budget)
		return -EINVAL;
	if (c->budget > WSE_MAX_BUDGET)
		return -EINVAL;

	switch (c->op) {
	case WSE_OP_COPY_IN:
	case WSE_OP_COPY_OUT:
		if (c->moff)
			return -EINVAL;
		return wse_copy_check(g, c, bo_size);
	case WSE_OP_STREAM_IN:
	case WSE_OP_STREAM_OUT:
		return wse_stream_check(g, c, bo_size, mask_size);
	case WSE_OP_START:
		return wse_start_check(g, c);
	default:
		return wse_bare_check(c);
	}
}

/*
 * The fence cmds[i] names an earlier command on another queue, or another queue that exists.
 * -EINVAL if not. cmds[i] and those before it have passed wse_cmd_check().
 */
static inline int wse_fence_check(const struct wse_geom *g, const struct drm_wse_cmd *cmds, __u32 i)
{
	const struct drm_wse_cmd *c = &cmds[i];

	if (c->wait_cmd == DRM_WSE_WAIT_QUEUE) {
		if (!c->wait_queue || c->wait_queue > g->queues || c->wait_queue == c->queue)
			return -EINVAL;
		return 0;
	}
	if (c->wait_queue || c->wait_cmd >= i || cmds[c->wait_cmd].queue == c->queue)
		return -EINVAL;
	return 0;
}

/* A FENCE: waits until queue has completed seq commands since its creation or CTX_RESET. */
static inline void wse_fence_encode(__u16 cid, __u32 queue, __u32 seq, struct wse_sqe *sqe)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = WSE_OP_FENCE;
	sqe->cid = wse_le16(cid);
	sqe->queue = (__u8)queue;
	sqe->seq = wse_le32(seq);
}

static inline __u8 wse_sqe_flags(__u32 flags)
{
	return (flags & DRM_WSE_CMD_BROADCAST ? WSE_SQF_BROADCAST : 0) |
	       (flags & DRM_WSE_CMD_MASKED ? WSE_SQF_MASKED : 0) |
	       (flags & DRM_WSE_CMD_DROP_ZERO ? WSE_SQF_DROP_ZERO : 0) |
	       (flags & DRM_WSE_CMD_INDEX_ONLY ? WSE_SQF_INDEX_ONLY : 0) |
	       (flags & DRM_WSE_CMD_LINEAR ? WSE_SQF_LINEAR : 0) |
	       (flags & DRM_WSE_CMD_BOOT ? WSE_SQF_BOOT : 0) |
	       (flags & DRM_WSE_CMD_CLOSED ? WSE_SQF_CLOSED : 0);
}

/*
 * Every op but FENCE. buf and mask describe the command's buffers, ignored (may be NULL) where
 * wse_cmd_has_bo() and wse_cmd_has_mask() say that there is none.
 */
static inline void wse_cmd_encode(const struct drm_wse_cmd *c, __u16 cid, const struct wse_buf *buf,
				  const struct wse_buf *mask, struct wse_sqe *sqe)
{
	unsigned int i;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = (__u8)c->op;
	sqe->cid = wse_le16(cid);
	sqe->flags = wse_sqe_flags(c->flags);
	if (c->op == WSE_OP_NOP)
		return;
	sqe->row0 = wse_le16(c->row0);
	sqe->col0 = wse_le16(c->col0);
	sqe->rows = wse_le16(c->rows);
	sqe->cols = wse_le16(c->cols);
	sqe->budget = wse_le64(c->budget);
	sqe->sram = wse_le32(c->sram);
	if (c->op == WSE_OP_START) {
		struct wse_sqe_start *start = (struct wse_sqe_start *)sqe;

		for (i = 0; i < WSE_NARGS; i++)
			start->arg[i] = wse_le32(c->arg[i]);
		return;
	}
	sqe->color = (__u8)c->color;
	sqe->etype = c->etype;
	if (wse_cmd_has_bo(c)) {
		sqe->buf = wse_le64(buf->addr);
		sqe->pshift = (__u8)buf->pshift;
		sqe->flags |= buf->direct ? WSE_SQF_BUF_DIRECT : 0;
	}
	sqe->off = wse_le64(c->off);
	if (wse_cmd_has_mask(c)) {
		sqe->mask = wse_le64(mask->addr);
		sqe->mshift = (__u8)mask->pshift;
		sqe->flags |= mask->direct ? WSE_SQF_MASK_DIRECT : 0;
	}
	sqe->moff = wse_le64(c->moff);
	sqe->len = wse_le32(c->len);
	sqe->nline = wse_le32(c->nline);
	sqe->lstride = wse_le32(c->lstride);
	sqe->sstride = wse_le32(c->sstride);
	sqe->cstride = wse_le32(c->cstride);
	sqe->rstride = wse_le32(c->rstride);
	sqe->kcol = wse_le16(c->kcol);
	sqe->nfeat = c->nfeat;
	sqe->mcstride = wse_le32(c->mcstride);
}

/* WSE_ST_* of a completion to the errno that a fence carries. An unknown status is -EPROTO. */
static inline int wse_status_errno(unsigned int status)
{
	switch (status) {
	case WSE_ST_OK:
		return 0;
	case WSE_ST_TIMEOUT:
		return -ETIME;
	case WSE_ST_DEADLOCK:
		return -EDEADLK;
	case WSE_ST_CORE_FAULT:
		return -EFAULT;
	case WSE_ST_KERNEL_ERROR:
		return -EREMOTEIO;
	case WSE_ST_DMA_ERROR:
		return -EIO;
	default:
		return -EPROTO;
	}
}

#endif /* WSE_SQE_H */
