// SPDX-License-Identifier: MIT
/*
 * uapi/wse/wse_cmd.h on the host: refusals, extents compared with arithmetic in 128 bits, the
 * encoding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>

#include "wse_cmd.h"
#include "wse_scope.h"

static const struct wse_geom geom = {
	.rows = 4,
	.cols = 6,
	.sram_bytes = WSE_SRAM_BYTES,
	.colors = WSE_NCOLORS,
	.queues = 2,
	.bcast_dim = true,
	.linear = true,
};

/* a device without FEATURES.BCAST_DIM and FEATURES.LINEAR */
static const struct wse_geom old = {
	.rows = 4,
	.cols = 6,
	.sram_bytes = WSE_SRAM_BYTES,
	.colors = WSE_NCOLORS,
	.queues = 2,
};

#define BO_SIZE	  (1u << 20)
#define MASK_SIZE (1u << 14)

static unsigned int count, failed;

static void report(int good, const char *name)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++count, name);
	failed += !good;
}

static int check(const struct drm_wse_cmd *c)
{
	return wse_cmd_check(&geom, c, c->bo ? BO_SIZE : 0, c->mask_bo ? MASK_SIZE : 0);
}

/* A good command of each kind. */
static struct drm_wse_cmd good(unsigned int op)
{
	struct drm_wse_cmd c = { .op = op, .queue = 1 };

	if (op == WSE_OP_FENCE) {
		c.wait_cmd = DRM_WSE_WAIT_QUEUE;
		c.wait_queue = 2;
		return c;
	}
	if (op == WSE_OP_NOP)
		return c;
	c.budget = 1000;
	c.cols = 3;
	c.col0 = 2;
	if (op != WSE_OP_STREAM_IN && op != WSE_OP_STREAM_OUT) {
		c.rows = 2;
		c.row0 = 1;
	}
	if (op == WSE_OP_START) {
		c.sram = WSE_SRAM_BASE + 0x100;
		c.arg[15] = 1;
		return c;
	}
	c.bo = 7;
	c.off = 64;
	c.nline = 3;
	c.lstride = 128;
	c.cstride = 1024;
	if (op == WSE_OP_COPY_IN || op == WSE_OP_COPY_OUT) {
		c.sram = 0x400;
		c.len = 32;
		c.sstride = 64;
		c.rstride = 8192;
		return c;
	}
	c.flags = DRM_WSE_CMD_MASKED;
	c.mask_bo = 8;
	c.moff = 8;
	c.color = 5;
	c.rstride = 16;
	c.mcstride = 256;
	c.kcol = 37;
	c.nfeat = 2;
	return c;
}

/* every byte of every member that op does not use, one at a time */
static int unused_members(unsigned int op)
{
	static const struct {
		size_t off, len;
		unsigned int users;
	} members[] = {
#define M(m, u) { offsetof(struct drm_wse_cmd, m), sizeof(((struct drm_wse_cmd *)0)->m), u }
#define COPY	(1 << WSE_OP_COPY_IN | 1 << WSE_OP_COPY_OUT)
#define STREAM	(1 << WSE_OP_STREAM_IN | 1 << WSE_OP_STREAM_OUT)
#define START	(1 << WSE_OP_START)
#define FENCE	(1 << WSE_OP_FENCE)
		M(bo, COPY | STREAM),
		M(off, COPY | STREAM),
		M(mask_bo, STREAM),
		M(color, STREAM),
		M(moff, STREAM),
		M(budget, COPY | STREAM | START),
		M(row0, COPY | START),
		M(col0, COPY | STREAM | START),
		M(rows, COPY | START),
		M(cols, COPY | STREAM | START),
		M(sram, COPY | START),
		M(len, COPY),
		M(nline, COPY | STREAM),
		M(lstride, COPY | STREAM),
		M(sstride, COPY),
		M(cstride, COPY | STREAM),
		M(rstride, COPY | STREAM),
		M(mcstride, STREAM),
		M(kcol, STREAM),
		M(nfeat, STREAM),
		M(etype, STREAM),
		M(wait_cmd, FENCE),
		M(wait_queue, FENCE),
		M(pad, 0),
		M(arg, START),
	};
	struct drm_wse_cmd c;
	size_t i, j;
	int bad = 0;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].users & 1 << op)
			continue;
		for (j = 0; j < members[i].len; j++) {
			c = good(op);
			((unsigned char *)&c)[members[i].off + j] = 1;
			if (check(&c) != -EINVAL) {
				printf("# op %u takes byte %zu\n", op, members[i].off + j);
				bad++;
			}
		}
	}
	return !bad;
}

static int flags_refused(void)
{
	static const unsigned int allowed[] = {
		[WSE_OP_COPY_IN] = DRM_WSE_CMD_BROADCAST,
		[WSE_OP_STREAM_IN] = DRM_WSE_CMD_MASKED | DRM_WSE_CMD_DROP_ZERO |
				     DRM_WSE_CMD_INDEX_ONLY,
		[WSE_OP_STREAM_OUT] = DRM_WSE_CMD_MASKED,
		[WSE_OP_START] = DRM_WSE_CMD_BOOT | DRM_WSE_CMD_CLOSED,
		[WSE_OP_FENCE] = 0,
	};
	unsigned int op, bit;
	int bad = 0;

	for (op = 0; op <= WSE_OP_FENCE; op++) {
		for (bit = 0; bit < 32; bit++) {
			struct drm_wse_cmd c = good(op);
			int want = allowed[op] >> bit & 1 ? 0 : -EINVAL;

			c.flags |= 1u << bit;
			if (c.flags & DRM_WSE_CMD_BROADCAST)
				c.rstride = 0;
			bad += check(&c) != want;
		}
	}
	return !bad;
}

#define REFUSED(ops, err, change)                                                        \
	do {                                                                             \
		for (op = 0; op <= WSE_OP_FENCE; op++) {                                 \
			if (!((ops)&1 << op))                                            \
				continue;                                                \
			c = good(op);                                                    \
			change;                                                          \
			if (check(&c) != (err)) {                                        \
				printf("# op %u: %s gave %d\n", op, #change, check(&c)); \
				bad++;                                                   \
			}                                                                \
		}                                                                        \
	} while (0)

static int values_refused(void)
{
	struct drm_wse_cmd c;
	unsigned int op;
	int bad = 0;

	REFUSED(0x7f, -EINVAL, c.op = WSE_OP_FENCE + 1);
	REFUSED(0x7f, -EINVAL, c.op = WSE_OP_SCRUB);
	REFUSED(0x7f, -EINVAL, c.op = 0x101);
	REFUSED(0x7f, -EINVAL, c.queue = 0);
	REFUSED(0x7f, -EINVAL, c.queue = 3);
	REFUSED(COPY | STREAM | START, -EINVAL, c.budget = 0);
	REFUSED(COPY | STREAM | START, -EINVAL, c.budget = WSE_MAX_BUDGET + 1);
	REFUSED(COPY | STREAM | START, -EINVAL, c.budget = ~0ull);
	REFUSED(COPY | STREAM, -EINVAL, c.bo = 0);
	REFUSED(STREAM, -EINVAL, c.mask_bo = 0);
	REFUSED(STREAM, -EINVAL, c.flags = 0);
	REFUSED(COPY | START, -EINVAL, c.rows = 0);
	REFUSED(COPY | STREAM | START, -EINVAL, c.cols = 0);
	REFUSED(COPY | START, -ERANGE, c.rows = 4);
	REFUSED(COPY | START, -ERANGE, (c.row0 = 0xffff, c.rows = 0xffff));
	REFUSED(COPY | STREAM | START, -ERANGE, c.cols = 5);
	REFUSED(COPY | STREAM | START, -ERANGE, (c.col0 = 0xffff, c.cols = 1));
	REFUSED(COPY, -EINVAL, c.len = 0);
	REFUSED(COPY, -EINVAL, c.len = 28);
	REFUSED(COPY | STREAM, -EINVAL, c.nline = 0);
	REFUSED(COPY, -EINVAL, c.sram += 4);
	REFUSED(COPY, -EINVAL, c.sstride += 4);
	REFUSED(COPY, -ERANGE, c.sram = WSE_SRAM_BYTES);
	REFUSED(COPY, -ERANGE, c.sram = 0xfffffff8u);
	REFUSED(COPY, -ERANGE, c.len = 0xfffffff8u);
	REFUSED(COPY, -ERANGE, c.sstride = 0xfffffff8u);
	REFUSED(COPY, -ERANGE, c.nline = 0xffffffffu);
	REFUSED(COPY | STREAM, -EINVAL, c.off += 4);
	REFUSED(COPY | STREAM, -EINVAL, c.lstride += 2);
	REFUSED(COPY | STREAM, -EINVAL, c.cstride += 1);
	REFUSED(COPY | STREAM, -EINVAL, c.rstride += 4);
	REFUSED(STREAM, -EINVAL, c.mcstride += 4);
	REFUSED(STREAM, -EINVAL, c.moff += 4);
	REFUSED(COPY | STREAM, -ERANGE, c.off = -8ull);
	REFUSED(STREAM, -ERANGE, c.moff = -8ull);
	REFUSED(STREAM, -EINVAL, c.color = WSE_NCOLORS);
	REFUSED(STREAM, -EINVAL, c.kcol = 0);
	REFUSED(STREAM, -EINVAL, c.kcol = WSE_STREAM_KMAX + 1);
	REFUSED(STREAM, -EINVAL, c.nfeat = 0);
	REFUSED(STREAM, -EINVAL, c.nfeat = 3);
	REFUSED(STREAM, -EINVAL, c.nfeat = 8);
	REFUSED(STREAM, -EINVAL, c.etype = WSE_ETYPE_FP16);
	REFUSED(STREAM, -EINVAL, c.etype = WSE_ETYPE_RAW32);
	REFUSED(1 << WSE_OP_STREAM_IN, -EINVAL,
		c.flags |= DRM_WSE_CMD_DROP_ZERO | DRM_WSE_CMD_INDEX_ONLY);
	REFUSED(1 << WSE_OP_STREAM_IN, -EINVAL, (c.flags |= DRM_WSE_CMD_INDEX_ONLY, c.bo = 0));
	REFUSED(1 << WSE_OP_STREAM_IN, 0,
		(c.flags |= DRM_WSE_CMD_INDEX_ONLY, c.bo = 0, c.off = 0, c.lstride = 0,
		 c.cstride = 0));
	REFUSED(START, -EINVAL, c.sram += 2);
	REFUSED(START, -ERANGE, c.sram = WSE_SRAM_BASE - 4);
	REFUSED(START, -ERANGE, c.sram = WSE_SRAM_BASE + WSE_SRAM_BYTES);
	REFUSED(START, 0, c.sram = WSE_SRAM_BASE + WSE_SRAM_BYTES - 4);
	c = good(WSE_OP_COPY_IN);
	c.flags = DRM_WSE_CMD_BROADCAST;
	bad += check(&c) != -EINVAL; /* both strides */
	c.rstride = 0;
	bad += check(&c) != 0;
	bad += wse_cmd_check(&old, &c, BO_SIZE, 0) != -EINVAL;
	c.rstride = c.cstride;
	c.cstride = 0;
	bad += check(&c) != 0;
	bad += wse_cmd_check(&old, &c, BO_SIZE, 0) != -EINVAL;
	c.rstride = 0;
	bad += wse_cmd_check(&old, &c, BO_SIZE, 0) != 0;
	return !bad;
}

static int linear_refused(void)
{
	static const unsigned int ops[] = { WSE_OP_STREAM_IN, WSE_OP_STREAM_OUT };
	struct drm_wse_cmd c, m;
	unsigned int i, bad = 0;

	for (i = 0; i < 2; i++) {
		m = good(ops[i]); /* 3 blocks of 2 features of 37 elements on 3 columns */
		m.lstride = 0;
		m.flags |= DRM_WSE_CMD_LINEAR;
		m.len = 8;
		bad += check(&m) != 0; /* what the mask selects the device looks at */
		bad += wse_cmd_check(&old, &m, BO_SIZE, MASK_SIZE) != -EINVAL;
		c = m;
		c.len = 0;
		bad += check(&c) != -EINVAL;
		c.len = 12;
		bad += check(&c) != -EINVAL;
		c = m;
		c.lstride = 8;
		bad += check(&c) != -EINVAL;
		c = m;
		c.flags &= ~DRM_WSE_CMD_LINEAR;
		bad += check(&c) != -EINVAL; /* a len without LINEAR */
		c = m;
		/* the last column's run ends with the buffer */
		c.off = BO_SIZE - 2 * c.cstride - 8;
		bad += check(&c) != 0;
		c.off += 8;
		bad += check(&c) != -ERANGE;
		c = m;
		c.len = 0xfffffff8;
		bad += check(&c) != -ERANGE;
		c = m;
		c.off = -8ull;
		bad += check(&c) != -ERANGE;
		c = m; /* without a mask all elements have to fit */
		c.flags &= ~DRM_WSE_CMD_MASKED;
		c.mask_bo = c.moff = c.rstride = c.mcstride = 0;
		c.len = 448;
		bad += check(&c) != 0; /* 444 bytes */
		c.len = 440;
		bad += check(&c) != -EINVAL;
		c.etype = WSE_ETYPE_FP32;
		c.len = 888;
		bad += check(&c) != 0;
		c.len = 880;
		bad += check(&c) != -EINVAL;
		c.nline = 0xffffffff;
		c.kcol = WSE_STREAM_KMAX;
		bad += check(&c) != -EINVAL; /* more than 32 bits */
	}
	c = m;
	c.op = WSE_OP_STREAM_IN;
	c.flags |= DRM_WSE_CMD_INDEX_ONLY;
	bad += check(&c) != -EINVAL;
	return !bad;
}

static int fences_refused(void)
{
	struct drm_wse_cmd c[3] = { good(WSE_OP_NOP), good(WSE_OP_NOP), good(WSE_OP_FENCE) };
	int bad = 0;

	c[1].queue = 2;
	bad += wse_fence_check(&geom, c, 2) != 0;
	c[2].wait_queue = 1; /* its own */
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_queue = 0;
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_queue = 3;
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_cmd = 1; /* with a queue */
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_queue = 0;
	bad += wse_fence_check(&geom, c, 2) != 0;
	c[2].wait_cmd = 0; /* on its own queue */
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_cmd = 2; /* itself */
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	c[2].wait_cmd = 3; /* later */
	bad += wse_fence_check(&geom, c, 2) != -EINVAL;
	return !bad;
}

static unsigned long long rnd_state = 1;

static unsigned int rnd(void)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(rnd_state >> 32);
}

static unsigned int rnd8(unsigned int bits)
{
	return (rnd() >> (rnd() & 31)) & ((1ull << bits) - 1) & ~7u;
}

/* the last byte that a pattern touches, plus one, without the help of overflow */
static int extents_exact(void)
{
	unsigned int i, accepted = 0, refused = 0;

	for (i = 0; i < 2000000; i++) {
		unsigned int op = 1 + (rnd() & 3);
		struct drm_wse_cmd c = good(op);
		unsigned __int128 end, mask_end = 0, sram_end = 0;
		int want;

		c.off = (unsigned long long)rnd8(32) << (rnd() & 1 ? 0 : rnd() & 31);
		c.lstride = rnd8(32);
		c.cstride = rnd8(32);
		c.rstride = rnd8(32);
		c.nline = rnd() >> (rnd() & 31);
		if (!c.nline)
			c.nline = 1;
		if (op <= WSE_OP_COPY_OUT) {
			c.len = rnd8(16);
			if (!c.len)
				c.len = 8;
			c.sstride = rnd8(32);
			c.sram = rnd8(16);
			sram_end = (unsigned __int128)c.sram + c.len +
				   (unsigned __int128)(c.nline - 1) * c.sstride;
			end = (unsigned __int128)c.off + c.len +
			      (unsigned __int128)(c.nline - 1) * c.lstride +
			      (unsigned __int128)(c.cols - 1) * c.cstride +
			      (unsigned __int128)(c.rows - 1) * c.rstride;
		} else {
			unsigned __int128 n;

			c.nfeat = 1 << (rnd() % 3);
			c.etype = c.nfeat == 1 ? rnd() % 3 : rnd() % 2;
			c.kcol = 1 + rnd() % WSE_STREAM_KMAX;
			c.moff = rnd8(16);
			c.mcstride = rnd8(32);
			n = (unsigned __int128)c.nline * c.nfeat;
			end = c.off + (n - 1) * c.lstride +
			      (unsigned __int128)(c.cols - 1) * c.cstride +
			      (unsigned __int128)c.kcol * (c.etype == WSE_ETYPE_BF16 ? 2 : 4);
			mask_end = c.moff + (n - 1) * c.rstride +
				   (unsigned __int128)(c.cols - 1) * c.mcstride + (c.kcol + 7) / 8;
		}
		want = end > BO_SIZE || mask_end > MASK_SIZE || sram_end > WSE_SRAM_BYTES ? -ERANGE
											  : 0;
		if (check(&c) != want) {
			printf("# op %u: %d instead of %d\n", op, check(&c), want);
			return 0;
		}
		accepted += !want;
		refused += !!want;
	}
	printf("# %u accepted, %u refused\n", accepted, refused);
	return accepted > 1000 && refused > 1000;
}

/* the edge itself, where random numbers seldom fall */
static int extents_edge(void)
{
	struct drm_wse_cmd c = good(WSE_OP_COPY_OUT);
	int bad = 0;

	c.off = BO_SIZE - 8192 - 2 * 1024 - 2 * 128 - 32;
	bad += check(&c) != 0;
	c.off += 8;
	bad += check(&c) != -ERANGE;
	c = good(WSE_OP_STREAM_IN);
	c.kcol = 36;
	c.off = BO_SIZE - 5 * 128 - 2 * 1024 - 72;
	bad += check(&c) != 0;
	c.kcol = 37;
	bad += check(&c) != -ERANGE;
	c = good(WSE_OP_STREAM_OUT);
	c.kcol = 64;
	c.moff = MASK_SIZE - 5 * 16 - 2 * 256 - 8;
	bad += check(&c) != 0;
	c.kcol = 65;
	bad += check(&c) != -ERANGE;
	return !bad;
}

static int encoding(void)
{
	struct wse_buf buf = { .addr = 0x123456789000ull, .pshift = 12, .size = BO_SIZE };
	struct wse_buf mask = { .addr = 0xabc000, .direct = true, .size = MASK_SIZE };
	struct drm_wse_cmd c = good(WSE_OP_STREAM_IN);
	struct wse_sqe_start *start;
	struct wse_sqe s;
	unsigned int i;
	int bad = 0;

	memset(&s, 0xcc, sizeof(s));
	wse_cmd_encode(&c, 0x1234, &buf, &mask, &s);
	bad += s.opcode != WSE_OP_STREAM_IN || s.flags != (WSE_SQF_MASKED | WSE_SQF_MASK_DIRECT) ||
	       s.cid != 0x1234 || s.pshift != 12 || s.mshift || s.row0 || s.rows || s.col0 != 2 ||
	       s.cols != 3 || s.color != 5 || s.etype || s.budget != 1000 || s.buf != buf.addr ||
	       s.off != 64 || s.mask != 0xabc000 || s.moff != 8 || s.sram || s.len ||
	       s.nline != 3 || s.lstride != 128 || s.sstride || s.cstride != 1024 ||
	       s.rstride != 16 || s.kcol != 37 || s.nfeat != 2 || s.queue || s.seq ||
	       s.mcstride != 256;
	for (i = 0; i < 8; i++)
		bad += s.resv[i] != 0;

	c = good(WSE_OP_START);
	c.flags = DRM_WSE_CMD_BOOT | DRM_WSE_CMD_CLOSED;
	memset(&s, 0xcc, sizeof(s));
	wse_cmd_encode(&c, 1, NULL, NULL, &s);
	start = (struct wse_sqe_start *)&s;
	bad += start->opcode != WSE_OP_START || start->flags != (WSE_SQF_BOOT | WSE_SQF_CLOSED) ||
	       start->resv || start->resv2 || start->row0 != 1 || start->rows != 2 ||
	       start->entry != WSE_SRAM_BASE + 0x100 || start->resv4 || start->arg[15] != 1 ||
	       start->arg[0] || start->budget != 1000;
	for (i = 0; i < 8; i++)
		bad += start->resv3[i] != 0;

	wse_fence_encode(9, 2, 77, &s);
	bad += s.opcode != WSE_OP_FENCE || s.cid != 9 || s.queue != 2 || s.seq != 77 || s.budget ||
	       s.flags;

	c = good(WSE_OP_COPY_IN);
	c.flags = DRM_WSE_CMD_BROADCAST;
	wse_cmd_encode(&c, 2, &buf, NULL, &s);
	bad += s.flags != WSE_SQF_BROADCAST || s.len != 32 || s.sstride != 64 || s.sram != 0x400 ||
	       s.mask;
	return !bad;
}

static int errnos(void)
{
	return wse_status_errno(WSE_ST_OK) == 0 && wse_status_errno(WSE_ST_TIMEOUT) == -ETIME &&
	       wse_status_errno(WSE_ST_DEADLOCK) == -EDEADLK &&
	       wse_status_errno(WSE_ST_CORE_FAULT) == -EFAULT &&
	       wse_status_errno(WSE_ST_KERNEL_ERROR) == -EREMOTEIO &&
	       wse_status_errno(WSE_ST_DMA_ERROR) == -EIO &&
	       wse_status_errno(WSE_ST_BAD_FIELD) == -EPROTO && wse_status_errno(0x7fff) == -EPROTO;
}

static int scopes(void)
{
	return wse_scope_objects(4, 6, 2, WSE_SCOPE_TILE) == 1 &&
	       wse_scope_objects(4, 6, 2, WSE_SCOPE_CORE) == 24 &&
	       wse_scope_objects(4, 6, 2, WSE_SCOPE_LINK) == 96 &&
	       wse_scope_objects(4, 6, 2, WSE_SCOPE_QUEUE) == 3 &&
	       wse_scope_objects(4, 6, 2, WSE_SCOPE_QUEUE + 1) == 0 &&
	       wse_scope_objects(2048, 2047, 2, WSE_SCOPE_LINK) == 4 * 2048 * 2047 &&
	       wse_scope_objects(2048, 2049, 2, WSE_SCOPE_LINK) == 1 << 24 &&
	       wse_scope_objects(65535, 65535, 2, WSE_SCOPE_CORE) == 1 << 24 &&
	       wse_scope_objects(65535, 65535, 2, WSE_SCOPE_LINK) == 1 << 24;
}

int main(void)
{
	unsigned int op;

	printf("1..18\n");
	for (op = 0; op <= WSE_OP_FENCE; op++) {
		struct drm_wse_cmd c = good(op);
		char name[64];

		snprintf(name, sizeof(name), "op %u: a good one passes, unused members are refused",
			 op);
		report(check(&c) == 0 && unused_members(op), name);
	}
	report(flags_refused(), "every flag is refused but those of the op");
	report(values_refused(), "impossible values, rectangles and ranges are refused");
	report(linear_refused(), "LINEAR streams: runs, lengths, devices that have none");
	report(fences_refused(),
	       "fences name an earlier command of another queue, or another queue");
	report(extents_exact(), "extents equal 128-bit arithmetic");
	report(extents_edge(), "extents up to the last byte");
	report(encoding(), "encoding of every member");
	report(errnos(), "status to errno");
	report(wse_cmd_writes(&(struct drm_wse_cmd){ .op = WSE_OP_COPY_OUT }) &&
		       wse_cmd_writes(&(struct drm_wse_cmd){ .op = WSE_OP_STREAM_OUT }) &&
		       !wse_cmd_writes(&(struct drm_wse_cmd){ .op = WSE_OP_COPY_IN }) &&
		       !wse_cmd_writes(&(struct drm_wse_cmd){ .op = WSE_OP_STREAM_IN }),
	       "which ops write a buffer");
	report(scopes(), "objects that have counters are those that CNT_SEL can name");
	report(sizeof(struct drm_wse_cmd) == 168 && sizeof(struct drm_wse_info) == 64 &&
		       sizeof(struct drm_wse_submit) == 56 && sizeof(struct drm_wse_fault) == 64 &&
		       sizeof(struct drm_wse_sync) == 16,
	       "sizes of the uapi");
	return failed != 0;
}
