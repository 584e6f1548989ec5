// SPDX-License-Identifier: MIT
/* Bytes, cycles and micro-batches of a model on a tile. */
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * Cycles, from counters of steps on the RTL (tests/train/test-wafer.c holds the prediction against
 * them). A block of features takes what the lanes need, T / LANES cycles a wavelet, in stream DOT 7
 * more for every 8 (the lane tree), or what the scalar code of its tasks needs, whichever is
 * longer; gradients leave at DMA_BYTES a cycle at best. A phase begins with its start command and
 * its routes.
 */
enum {
	TREE_CYCLES = 7,
	GAP_CYCLES = 30,
	BLOCK_CYCLES = 265,
	PHASE_CYCLES = 1000,
	DMA_BYTES = 6,
	GELU_CYCLES = 15,
	SOFTMAX_CYCLES = 16
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t linear_cycles(const struct wse_plan *p, const struct wse_exec_info *tile,
			      uint64_t ins, uint64_t outs, int weights)
{
	uint64_t b = p->layout.nfeat,
		 groups = 8 * (p->tokens_core / tile->lanes) + (weights ? TREE_CYCLES : 0);
	uint64_t block = most(ins / tile->cols * b * groups / 8 + GAP_CYCLES, BLOCK_CYCLES);

	return most(outs / b * block, weights ? ins * outs * 4 / DMA_BYTES : 0) + PHASE_CYCLES;
}

/* `lines` lines of some bytes between host and each core */
static uint64_t copy_cycles(const struct wse_exec_info *tile, uint64_t lines, uint64_t bytes)
{
	return lines * tile->rows * tile->cols * (4 + bytes / 16);
}

static void costs(const struct wse_mlp *m, const struct wse_exec_info *tile, struct wse_plan *p)
{
	uint64_t macs = wse_mlp_macs(m) * 3 * p->tokens, t = p->tokens_core, cols = tile->cols;

	p->cycles = m->vocab / cols * t * SOFTMAX_CYCLES +
		    copy_cycles(tile, m->width[0] / cols, 2 * t) +
		    copy_cycles(tile, m->width[0] / cols, 4 * t);
	p->streamed_in = p->streamed_out = 0;
	for (uint32_t l = 0; l < m->nlinear; l++) {
		uint64_t k = m->width[l], n = m->width[l + 1];

		p->streamed_in += 2 * n * k * 2 + n * 4;
		p->streamed_out += (n * k + n) * 4;
		/* forward and to the weights; to the data with the transposed image */
		p->cycles += linear_cycles(p, tile, k, n, 0) + linear_cycles(p, tile, k, n, 1) +
			     linear_cycles(p, tile, n, k, 0);
		if (l + 1 < m->nlinear && m->act == WSE_ACT_GELU)
			p->cycles += n / cols * t * GELU_CYCLES;
	}
	p->streamed_out += (uint64_t)m->width[0] * p->tokens * 4 + p->tokens * 4;
	p->useful = (double)macs / ((double)p->cycles * tile->lanes * tile->rows * tile->cols);
}

int wse_plan_make(const struct wse_mlp *m, const struct wse_exec_info *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *p, char *why)
{
	static const uint32_t per_core[] = {32, 16, 8}, at_least[] = {4, 2, 1};
	uint32_t unit = tile->rows * tile->lanes;
	int ret;

	memset(p, 0, sizeof(*p));
	p->sram = tile->sram;
	if (micro_batch % unit || batch % unit)
		return wse_why(why, -EINVAL,
			       "%s %" PRIu64 " is not a multiple of %u rows x %u "
			       "lanes = %u tokens",
			       batch % unit ? "batch_size" : "micro_batch_size",
			       batch % unit ? batch : micro_batch, tile->rows, tile->lanes, unit);
	/* many tokens per core amortise a weight, but there must be work for several wafers */
	for (int i = 0; i < 9 && !micro_batch; i++) {
		uint64_t mb = (uint64_t)tile->rows * per_core[i % 3];

		if (batch % mb == 0 && batch / mb >= at_least[i / 3] &&
		    !wse_layout_make(m, tile->cols, tile->lanes, per_core[i % 3], tile->sram,
				     &p->layout, why))
			micro_batch = mb;
	}
	if (!micro_batch)
		micro_batch = unit;
	p->tokens = (uint32_t)micro_batch;
	p->tokens_core = p->tokens / tile->rows;
	p->micro_batches = (uint32_t)(batch / micro_batch);
	ret = wse_layout_make(m, tile->cols, tile->lanes, p->tokens_core, tile->sram, &p->layout,
			      why);
	if (ret == -EINVAL) {
		p->tokens = 0;
		return ret;
	}
	costs(m, tile, p);
	return ret;
}

void wse_plan_print(const struct wse_plan *p, const struct wse_mlp *m,
		    const struct wse_exec_info *tile, const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	const struct wse_layout *lay = &p->layout;
	char widths[200] = "";

	for (uint32_t l = 0; l <= m->nlinear; l++) {
		size_t n = strlen(widths);

		snprintf(widths + n, sizeof(widths) - n, "%s%u", l ? " -> " : "", m->width[l]);
	}
	wse_logf(log, i, "model            %s, window %u, embedding %u", widths, m->window,
		 m->embed);
	wse_logf(log, i,
		 "                 %" PRIu64 " multiply-adds a token forward, x 3 in "
		 "training",
		 wse_mlp_macs(m));
	wse_logf(log, i, "tile             %u x %u cores, %u lanes (%s)", tile->rows, tile->cols,
		 tile->lanes, tile->name);
	wse_logf(log, i,
		 "mapping          hidden along x: %u features of the widest layer a core; "
		 "tokens along y: %u a core",
		 wse_mlp_widest(m) / tile->cols, p->tokens_core);
	wse_logf(log, i, "micro-batch      %u tokens, %u a step", p->tokens, p->micro_batches);
	wse_logf(log, i, "bytes per core   %u of %u", lay->total, p->sram);
	wse_logf(log, i, "                 %6u code, stack, arguments", lay->b_fixed);
	wse_logf(log, i, "                 %6u activations", lay->b_act);
	wse_logf(log, i, "                 %6u derivatives (GELU)", lay->b_deriv);
	wse_logf(log, i, "                 %6u logits", lay->b_logits);
	wse_logf(log, i, "                 %6u gradient of the logits", lay->b_dy);
	wse_logf(log, i, "                 %6u bias of one layer", lay->b_bias);
	wse_logf(log, i, "                 %6u softmax", lay->b_softmax);
	if (lay->b_over)
		wse_logf(log, i,
			 "                 %6u sums before an activation, gradient of the input",
			 lay->b_over);
	wse_logf(log, i, "streamed         %" PRIu64 " bytes in, %" PRIu64 " out, a micro-batch",
		 p->streamed_in, p->streamed_out);
	wse_logf(log, i,
		 "predicted        %" PRIu64 " cycles a micro-batch, %.2f of the lanes "
		 "useful",
		 p->cycles, p->useful);
}
