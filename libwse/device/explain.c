// SPDX-License-Identifier: MIT
/* Errors in words: refused commands and fault records. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device.h"
#include "wse_cmd.h"

const char *wse_op_name(uint32_t op)
{
	static const char *const names[] = {
		"nop", "copy in", "copy out", "stream in", "stream out", "start", "fence",
	};

	return op < sizeof(names) / sizeof(names[0]) ? names[op] : "unknown command";
}

static void geom_of(const struct drm_wse_info *info, struct wse_geom *g)
{
	g->rows = info->rows;
	g->cols = info->cols;
	g->sram_bytes = info->sram_kib * 1024;
	g->colors = info->colors;
	g->queues = info->queues;
	g->bcast_dim = info->features & WSE_FEATURES_BCAST_DIM_MASK;
	g->linear = info->features & WSE_FEATURES_LINEAR_MASK;
}

/* -ERANGE of one command: what leaves what. */
static void range_words(const struct wse_geom *g, const struct drm_wse_cmd *c, uint64_t size,
			uint64_t mask_size, char *buf, size_t len)
{
	bool stream = wse_cmd_is_stream(c);

	if ((!stream && c->row0 + c->rows > (int)g->rows) || c->col0 + c->cols > (int)g->cols)
		snprintf(buf, len, "rows %u...%u, columns %u...%u leave the tile of %u x %u",
			 c->row0, stream ? c->row0 : c->row0 + c->rows - 1, c->col0,
			 c->col0 + c->cols - 1, g->rows, g->cols);
	else if (c->op == WSE_OP_START)
		snprintf(buf, len, "the entry %#x lies outside of the SRAM at %#x, %u bytes",
			 c->sram, WSE_SRAM_BASE, g->sram_bytes);
	else if (!stream &&
		 (uint64_t)c->sram + c->len + (uint64_t)(c->nline - 1) * c->sstride > g->sram_bytes)
		snprintf(buf, len,
			 "%u lines of %u bytes at SRAM offset %#x, %u apart, leave the SRAM of %u "
			 "bytes",
			 c->nline, c->len, c->sram, c->sstride, g->sram_bytes);
	else if (stream && c->flags & DRM_WSE_CMD_MASKED)
		snprintf(buf, len,
			 "offsets and strides lead out of the buffer (%llu bytes) or the mask "
			 "(%llu bytes)",
			 (unsigned long long)size, (unsigned long long)mask_size);
	else
		snprintf(buf, len, "offset and strides lead out of the buffer of %llu bytes",
			 (unsigned long long)size);
}

/* of a stream with LINEAR; NULL: nothing of that */
static const char *linear_words(const struct wse_geom *g, const struct drm_wse_cmd *c)
{
	if (!g->linear)
		return "the device or its driver has no LINEAR streams (FEATURES.LINEAR): leave the "
		       "flag away and give the rows of the image";
	if (c->flags & DRM_WSE_CMD_INDEX_ONLY)
		return "LINEAR names the order of values, and an INDEX_ONLY stream reads none";
	if (!c->len || c->len & 7)
		return "len, the bytes of a column's LINEAR run, must be a multiple of 8 and not 0";
	if (c->lstride)
		return "a LINEAR stream has no lstride: its blocks lie one behind the other";
	if (c->etype <= WSE_ETYPE_RAW32 && wse_linear_check(g, c))
		return "len holds fewer elements than the blocks of a column have";
	return NULL;
}

/* -EINVAL of one command: the commonest mistakes by name. */
static const char *invalid_words(const struct wse_geom *g, const struct drm_wse_cmd *c)
{
	bool stream = wse_cmd_is_stream(c),
	     copy = c->op == WSE_OP_COPY_IN || c->op == WSE_OP_COPY_OUT;
	const char *words = NULL;

	if (c->op > WSE_OP_FENCE)
		return "there is no such op";
	if (!c->queue || c->queue > g->queues)
		return "there is no such queue (they are numbered from 1, see info.queues)";
	if (wse_cmd_has_bo(c) && !c->bo)
		return "bo is missing: it takes wse_buffer_handle()";
	if (!wse_cmd_has_bo(c) && c->bo)
		return "it takes no bo";
	if (wse_cmd_has_mask(c) != (c->mask_bo != 0))
		return "a mask needs both the flag MASKED and mask_bo";
	if (c->op != WSE_OP_NOP && c->op != WSE_OP_FENCE && !c->budget)
		return "budget is 0: give the device cycles that it may take";
	if (c->budget > WSE_MAX_BUDGET)
		return "budget is above info.max_budget: every command ends some day";
	if ((copy || c->op == WSE_OP_START) && (!c->rows || !c->cols))
		return "the rectangle is empty: rows and cols count cores";
	if (copy && (!c->len || !c->nline))
		return "len or nline is 0";
	if (copy &&
	    (c->off | c->sram | c->len | c->lstride | c->sstride | c->cstride | c->rstride) & 7)
		return "off, sram, len and all strides must be multiples of 8";
	if (copy && c->flags & DRM_WSE_CMD_BROADCAST && c->cstride && c->rstride)
		return "a broadcast has cstride or rstride, or neither: with both every core gets "
		       "lines of its own";
	if (copy && c->flags & DRM_WSE_CMD_BROADCAST && !g->bcast_dim && (c->cstride || c->rstride))
		return "a broadcast to this device has no cstride and rstride: every core gets the "
		       "same";
	if (stream && c->flags & DRM_WSE_CMD_LINEAR)
		words = linear_words(g, c);
	if (words)
		return words;
	if (stream && (c->row0 || c->rows))
		return "a stream has no row0 and rows: it enters or leaves at the edge";
	if (stream && !wse_etype_bytes(c->etype))
		return "etype is none of BF16, FP32, RAW32";
	if (stream && c->nfeat != 1 && c->nfeat != 2 && c->nfeat != 4)
		return "nfeat must be 1, 2 or 4";
	if (stream && c->etype == WSE_ETYPE_RAW32 && c->nfeat != 1)
		return "RAW32 streams have nfeat 1";
	if (stream && (!c->nline || !c->kcol || c->kcol > WSE_STREAM_KMAX || !c->cols))
		return "nline, cols must not be 0, and kcol must be 1 ... 16384";
	if (stream && c->color >= g->colors)
		return "there is no such color";
	if (stream && (c->off | c->moff | c->lstride | c->cstride | c->rstride | c->mcstride) & 7)
		return "off, moff and all strides must be multiples of 8";
	if (c->op == WSE_OP_START && c->sram & 3)
		return "the entry address must be a multiple of 4";
	return "a flag or member that this op does not use is not 0";
}

static int explain_cmd(struct wse_device *dev, const struct wse_geom *g,
		       const struct drm_wse_cmd *cmds, uint32_t i)
{
	const struct drm_wse_cmd *c = &cmds[i];
	uint64_t size = 0, mask_size = 0;
	char words[200];
	int ret;

	if (c->bo) {
		size = dev->ops->handle_size(dev, c->bo);
		if (!size)
			return wse_fail(
				-ENOENT,
				"command %u (%s): %s has no buffer of handle %u (handles of "
				"another device do not count: use wse_buffer_share)",
				i, wse_op_name(c->op), dev->uri, c->bo);
	}
	if (c->mask_bo) {
		mask_size = dev->ops->handle_size(dev, c->mask_bo);
		if (!mask_size)
			return wse_fail(
				-ENOENT,
				"command %u (%s): %s has no buffer of handle %u for the mask", i,
				wse_op_name(c->op), dev->uri, c->mask_bo);
	}
	ret = wse_cmd_check(g, c, size, mask_size);
	if (ret == -ERANGE) {
		range_words(g, c, size, mask_size, words, sizeof(words));
		return wse_fail(ret, "command %u (%s): %s", i, wse_op_name(c->op), words);
	}
	if (ret)
		return wse_fail(ret, "command %u (%s): %s", i, wse_op_name(c->op),
				invalid_words(g, c));
	if (c->op == WSE_OP_FENCE && wse_fence_check(g, cmds, i))
		return wse_fail(
			-EINVAL,
			"command %u (fence): it must name an earlier command of this submit on "
			"another queue, or with wait_cmd DRM_WSE_WAIT_QUEUE another queue",
			i);
	return 0;
}

static void copy_lost(struct wse_device *dev, const char *lost, char text[WSE_LOST])
{
	pthread_mutex_lock(&dev->lost_lock);
	memcpy(text, lost, WSE_LOST);
	pthread_mutex_unlock(&dev->lost_lock);
}

int wse_explain_gone(struct wse_device *dev)
{
	char text[WSE_LOST];

	copy_lost(dev, dev->lost, text);
	if (text[0])
		return wse_fail(-ENODEV, "%s", text);
	return wse_fail(-ENODEV, "%s is gone: close it and open it again", dev->uri);
}

/* Why ctx is lost, "" if that is not known. */
static void words_of_loss(struct wse_context *ctx, int err, char text[WSE_LOST])
{
	struct wse_device *dev = ctx->dev;
	struct drm_wse_fault fault;

	copy_lost(dev, ctx->lost, text);
	if (!text[0] && err == -ENODEV)
		copy_lost(dev, dev->lost, text);
	if (!text[0] && !dev->ops->context_fault(ctx, &fault))
		wse_explain_fault(&fault, err, text, WSE_LOST);
}

int wse_explain_loss(struct wse_context *ctx, int err)
{
	char text[WSE_LOST];

	words_of_loss(ctx, err, text);
	if (!text[0])
		wse_explain_fence(err, text, sizeof(text));
	return wse_fail(err, "%s", text);
}

int wse_explain_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n, int err)
{
	struct wse_device *dev = ctx->dev;
	char text[WSE_LOST];
	struct wse_geom g;
	uint32_t i;

	switch (err) {
	case -EINVAL:
	case -ERANGE:
	case -ENOENT:
		geom_of(&dev->info, &g);
		for (i = 0; i < n; i++)
			if (explain_cmd(dev, &g, cmds, i))
				return err;
		return wse_fail(err,
				"%s refused the submit: the context or a fence is none of its own",
				dev->uri);
	case -EFBIG:
		return wse_fail(
			err,
			"%s: a command reaches over more of its buffer than a piece of the "
			"buffer's page list describes: split it (1 GiB always fits), or give "
			"the host an IOMMU",
			dev->uri);
	case -EIO:
		words_of_loss(ctx, err, text);
		return wse_fail(err, "%s",
				text[0] ? text
					: "the context is lost after an error: destroy it and "
					  "create another");
	case -ENODEV:
		return wse_explain_gone(dev);
	default:
		return wse_fail(err, "%s refused the submit: %s", dev->uri, strerror(-err));
	}
}

static const char *cause_words(uint32_t cause)
{
	static const struct {
		uint32_t cause;
		const char *words;
	} table[] = {
		{WSE_CAUSE_FETCH_MISALIGNED, "jumped to an address that is no multiple of 4"},
		{WSE_CAUSE_FETCH_ACCESS, "fetched code outside of its SRAM"},
		{WSE_CAUSE_ILLEGAL, "met an illegal instruction"},
		{WSE_CAUSE_BREAKPOINT, "executed ebreak"},
		{WSE_CAUSE_LOAD_MISALIGNED, "loaded from a misaligned address"},
		{WSE_CAUSE_LOAD_ACCESS, "loaded from outside of its SRAM"},
		{WSE_CAUSE_STORE_MISALIGNED, "stored to a misaligned address"},
		{WSE_CAUSE_STORE_ACCESS, "stored outside of its SRAM"},
		{WSE_CAUSE_ECALL, "executed ecall"},
		{WSE_CAUSE_STREAM_INDEX,
		 "got a wavelet whose feature or k its operand does not have"},
		{WSE_CAUSE_BAD_DSR,
		 "issued a tensor instruction with an operand that it does not allow"},
		{WSE_CAUSE_OPERAND_ADDR,
		 "issued a tensor instruction whose operand leaves the SRAM or the accumulators"},
		{WSE_CAUSE_BAD_CTRL, "got a control wavelet where a data wavelet was due"},
		{WSE_CAUSE_WAIT_TASK, "waits for a task, and none is ready"},
		{WSE_CAUSE_WAIT_RECV, "waits to receive a wavelet"},
		{WSE_CAUSE_WAIT_SEND, "waits for room to send a wavelet"},
		{WSE_CAUSE_WAIT_ENGINE, "waits for an engine"},
		{WSE_CAUSE_WAIT_L, "waits in its lane engine for a wavelet"},
		{WSE_CAUSE_WAIT_M0, "waits in mover 0"},
		{WSE_CAUSE_WAIT_M1, "waits in mover 1"},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].cause == cause)
			return table[i].words;
	return NULL;
}

void wse_explain_fence(int err, char *buf, size_t len)
{
	const char *what;

	switch (err) {
	case -ETIME:
		what = "a command ran out of its budget: give it more cycles, or look why the "
		       "program does not end";
		break;
	case -EDEADLK:
		what = "the tile is deadlocked: every core waits for something that cannot come "
		       "any more";
		break;
	case -EFAULT:
		what = "a core was halted by a fault";
		break;
	case -EREMOTEIO:
		what = "the program reported an error: it said DONE with a value other than 0";
		break;
	case -EIO:
		what = "the host's memory refused an access of the device";
		break;
	case -EPROTO:
		what = "the device refused a command that the library accepted: use device and "
		       "library of one release";
		break;
	case -ECANCELED:
		what = "an earlier error in this context swallowed the command";
		break;
	case -ENODEV:
		what = "the device is gone: close it and open it again";
		break;
	default:
		what = strerror(-err);
		break;
	}
	snprintf(buf, len, "%s", what);
}

#define LOST "; the context is lost: destroy it and create another"

void wse_explain_fault(const struct drm_wse_fault *f, int err, char *buf, size_t len)
{
	const char *words = cause_words(f->cause);
	char color[40] = "", more[40] = "", pc[24] = "", who[200], general[160];
	bool wait = f->cause >= WSE_CAUSE_WAIT_TASK;

	if (f->color != 0xffffffff && (wait || f->cause > 0x100))
		snprintf(color, sizeof(color), " (color %u)", f->color);
	if (f->ncores > 1)
		snprintf(more, sizeof(more), ", and %u more cores alike", f->ncores - 1);
	if (f->pc) /* the record has one of a core that faulted (hw/doc/host.md) */
		snprintf(pc, sizeof(pc), " at pc %#x", f->pc);
	if (f->cause == WSE_CAUSE_WAIT_PORT)
		snprintf(who, sizeof(who), "the edge port of column %u waits%s", f->col, color);
	else if (words && wait)
		snprintf(who, sizeof(who), "core %u,%u %s%s%s%s", f->col, f->row, words, color, pc,
			 more);
	else if (words && f->status == WSE_ST_CORE_FAULT)
		snprintf(who, sizeof(who), "core %u,%u %s%s at pc %#x, %s %#x%s", f->col, f->row,
			 words, color, f->pc,
			 f->cause == WSE_CAUSE_ILLEGAL ? "instruction" : "address", f->addr, more);
	else if (f->cmd_op == WSE_OP_START)
		snprintf(who, sizeof(who), "core %u,%u runs and has not said DONE%s", f->col,
			 f->row, pc);
	else
		snprintf(who, sizeof(who), "the device names no core");

	switch (f->status) {
	case WSE_ST_TIMEOUT:
		if (f->cause == WSE_CAUSE_WAIT_PORT && !*color)
			snprintf(
				buf, len,
				"%s on queue %u: the host's memory has not answered the ports from "
				"column %u on within the budget; look at that bus, or give more "
				"cycles" LOST,
				wse_op_name(f->cmd_op), f->queue, f->col);
		else
			snprintf(
				buf, len,
				"%s on queue %u ran out of its budget while the tile was moving: %s; give "
				"it more "
				"cycles, or look why the program does not end" LOST,
				wse_op_name(f->cmd_op), f->queue, who);
		break;
	case WSE_ST_DEADLOCK:
		snprintf(buf, len,
			 "deadlock in %s on queue %u: %s; check routes, stream lengths and "
			 "colors" LOST,
			 wse_op_name(f->cmd_op), f->queue, who);
		break;
	case WSE_ST_CORE_FAULT:
		snprintf(buf, len, "%s on queue %u: %s" LOST, wse_op_name(f->cmd_op), f->queue,
			 who);
		break;
	case WSE_ST_KERNEL_ERROR:
		snprintf(
			buf, len, "%s on queue %u: core %u,%u said DONE with value %u (%#x)%s" LOST,
			wse_op_name(f->cmd_op), f->queue, f->col, f->row, f->value, f->value, more);
		break;
	case WSE_ST_DMA_ERROR:
		snprintf(buf, len,
			 "%s on queue %u: the host's memory refused bus address %#llx" LOST,
			 wse_op_name(f->cmd_op), f->queue, (unsigned long long)f->iova);
		break;
	case WSE_ST_NOT_BOOTED:
		snprintf(buf, len,
			 "%s on queue %u: a core of the rectangle is held, nothing was booted on "
			 "it" LOST,
			 wse_op_name(f->cmd_op), f->queue);
		break;
	default:
		wse_explain_fence(err, general, sizeof(general));
		snprintf(buf, len, "%s on queue %u: %s (status %u)" LOST, wse_op_name(f->cmd_op),
			 f->queue, general, f->status);
		break;
	}
}
