// SPDX-License-Identifier: GPL-2.0
/*
 * Submits: good ones, of which a part is then spoilt somewhere.
 */
#include "fuzz.h"

#define EVIL	0x0e110000u
#define MAX_CMDS 64u

static uint64_t align8(uint64_t v)
{
	return v & ~7ull;
}

/* A copy that fits, of some lines for some cores. */
static struct drm_wse_cmd good_copy(struct fuzz_worker *w, struct fuzz_file *f)
{
	const struct drm_wse_info *info = &fuzz_info[f->dev];
	struct fuzz_bo *bo = &f->bo[below(&w->rng, f->nbo)];
	struct drm_wse_cmd c = { .op = WSE_OP_COPY_IN + below(&w->rng, 2), .bo = bo->handle };
	uint64_t share;

	c.budget = BUDGET;
	c.row0 = below(&w->rng, info->rows);
	c.col0 = below(&w->rng, info->cols);
	c.rows = 1 + below(&w->rng, info->rows - c.row0);
	c.cols = 1 + below(&w->rng, info->cols - c.col0);
	c.nline = 1 + below(&w->rng, 4);
	if (c.op == WSE_OP_COPY_IN && percent(&w->rng, 30))
		c.flags = DRM_WSE_CMD_BROADCAST;
	share = align8(bo->size / (c.rows * c.cols * c.nline + 1));
	c.len = 8 + align8(below(&w->rng, share < 2048 ? share : 2048));
	/* programs and the firmware's data lie below */
	c.sram = info->fw_end + 0x1000 + align8(below(&w->rng, 1024));
	c.lstride = c.len;
	c.sstride = c.len;
	c.cstride = c.len * c.nline;
	c.rstride = c.cstride * c.cols;
	if (c.flags & DRM_WSE_CMD_BROADCAST) {
		if (!(info->features & WSE_FEATURES_BCAST_DIM_MASK) || percent(&w->rng, 50))
			c.cstride = c.rstride = 0;
		else
			*(percent(&w->rng, 50) ? &c.cstride : &c.rstride) = 0;
	}
	c.off = align8(below(&w->rng, share));
	return c;
}

/* A program of zeros, or an order to the evil device. */
static struct drm_wse_cmd good_start(struct fuzz_worker *w, struct fuzz_file *f)
{
	static const uint32_t survived[] = { 0,	 1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,
					     10, 12, 13, 14, 16, 17, 24, 25, 26, 27, 28 };
	struct drm_wse_cmd c = cmd_start(&fuzz_info[f->dev], 0x4000 + align8(below(&w->rng, 8192)),
					 1000 + below(&w->rng, 100000));

	if (opt.evil == 99)
		c.arg[0] = EVIL + survived[below(&w->rng, sizeof(survived) / sizeof(*survived))];
	else if (opt.evil)
		c.arg[0] = EVIL + opt.evil;
	if (percent(&w->rng, 30))
		c.flags = DRM_WSE_CMD_CLOSED;
	return c;
}

static struct drm_wse_cmd good_stream(struct fuzz_worker *w, struct fuzz_file *f)
{
	const struct drm_wse_info *info = &fuzz_info[f->dev];

	bool linear = info->features & WSE_FEATURES_LINEAR_MASK && percent(&w->rng, 30);

	return (struct drm_wse_cmd){
		.op = WSE_OP_STREAM_IN + below(&w->rng, 2),
		.flags = linear ? DRM_WSE_CMD_LINEAR : 0,
		.len = linear ? 64 : 0, /* 16 elements of 4 bytes */
		.bo = f->bo[below(&w->rng, f->nbo)].handle,
		.color = below(&w->rng, info->colors),
		.budget = 1000 + below(&w->rng, 10000),
		.cols = 1 + below(&w->rng, info->cols),
		.nline = 1,
		.kcol = 1 + below(&w->rng, 16),
		.nfeat = 1,
		.etype = below(&w->rng, 2),
	};
}

static struct drm_wse_cmd good_cmd(struct fuzz_worker *w, struct fuzz_file *f,
				   const struct drm_wse_cmd *cmds, uint32_t i)
{
	uint32_t queue = 1 + below(&w->rng, fuzz_info[f->dev].queues), what = below(&w->rng, 1000);
	struct drm_wse_cmd c = cmd_nop(0);

	if (what < 2 || (opt.evil && what < 8)) {
		c = good_start(w, f);
	} else if (what < 10 && f->nbo && !opt.evil) {
		c = good_stream(w, f);
	} else if (what < 500 && f->nbo) {
		c = good_copy(w, f);
	} else if (what < 600 && queue > 1) {
		c = cmd_fence(0, 1 + below(&w->rng, queue - 1));
		if (i && percent(&w->rng, 50)) {
			c = cmd_fence_cmd(0, below(&w->rng, i));
			if (cmds[c.wait_cmd].queue == queue)
				c = cmd_nop(0);
		}
	}
	c.queue = queue;
	return c;
}

/* Changes one bit, byte or word of the kernel's input. */
static void spoil(struct fuzz_worker *w, void *data, size_t size)
{
	uint64_t odd = odd_value(&w->rng);
	size_t n = 1u << below(&w->rng, 4), at;

	if (size < n)
		n = size;
	at = below(&w->rng, size / n) * n;
	if (percent(&w->rng, 40))
		((char *)data)[at] ^= 1 << below(&w->rng, 8);
	else
		memcpy((char *)data + at, &odd, n);
}

bool op_submit(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_wse_cmd cmds[MAX_CMDS];
	struct drm_wse_sync in[4], out[4];
	struct drm_wse_submit s = { .ctx = f->ctx };
	uint32_t n = 1 + below(&w->rng, percent(&w->rng, 90) ? 8 : MAX_CMDS), i;
	uint32_t nin = percent(&w->rng, 25) ? below(&w->rng, 3) : 0;
	uint32_t nout = percent(&w->rng, 70) ? below(&w->rng, 4) : 0;
	bool bad = percent(&w->rng, 25), looks = percent(&w->rng, 10);
	uint32_t got = 0;
	int ret;

	if (looks)
		s.flags = DRM_WSE_SUBMIT_LOST;
	for (i = 0; i < n; i++)
		do
			cmds[i] = good_cmd(w, f, cmds, i);
		while (looks && cmds[i].op != WSE_OP_COPY_OUT && !percent(&w->rng, 2));
	if (!f->nsync)
		nin = nout = 0;
	for (i = 0; i < nin; i++) {
		struct fuzz_sync *sync = &f->sync[below(&w->rng, f->nsync)];

		/* it must have a fence already */
		if (sync->used || percent(&w->rng, 3))
			in[got++] =
				(struct drm_wse_sync){.handle = sync->handle, .point = sync->point};
	}
	nin = got;
	for (i = 0; i < nout; i++) {
		struct fuzz_sync *sync = &f->sync[below(&w->rng, f->nsync)];

		out[i] = (struct drm_wse_sync){ .handle = sync->handle };
		if (sync->point)
			out[i].point = ++sync->point;
		sync->used = true;
	}
	s.cmds = (struct drm_wse_array){ odd_pointer(w, (uintptr_t)cmds), n, sizeof(*cmds) };
	if (nin)
		s.in_syncs =
			(struct drm_wse_array){odd_pointer(w, (uintptr_t)in), nin, sizeof(*in)};
	if (nout)
		s.out_syncs =
			(struct drm_wse_array){odd_pointer(w, (uintptr_t)out), nout, sizeof(*out)};
	if (bad) {
		switch (below(&w->rng, 8)) {
		case 0:
			spoil(w, &s, sizeof(s));
			break;
		case 1:
			spoil(w, nin ? (void *)in : &s, nin ? nin * sizeof(*in) : sizeof(s));
			break;
		case 2:
			spoil(w, nout ? (void *)out : &s, nout ? nout * sizeof(*out) : sizeof(s));
			break;
		case 3: /* elements of another version, some with something behind */
			s.cmds.stride += 8 * below(&w->rng, 6);
			s.cmds.count = 1 + n / 2;
			break;
		default:
			spoil(w, cmds, n * sizeof(*cmds));
		}
	}
	ret = call(w, f->fd, DRM_IOCTL_WSE_SUBMIT, &s, sizeof(s));
	count(&stats->submits);
	if (!ret)
		count(&stats->accepted);
	else
		count(&stats->refused[-ret < 160 ? -ret : 0]);
	/* the context was lost, or the device */
	/* or a child has given it back, or closed a file that it needs */
	w->stale = ret == -ENOENT ? w->stale + 1 : 0;
	if (ret == -EIO || ret == -ENODEV || w->stale > 3)
		w->lost = true;
	return !ret;
}
