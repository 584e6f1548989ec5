// SPDX-License-Identifier: MIT
/* Bytes, cycles and micro-batches of a model on a tile. */
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* code, stack, task tables and stream buffers of a core */
#define FIXED_BYTES (14 * 1024 + 512)
/* cycles between two blocks of four features: ring hop, drain, END wavelets (first estimate; an
 * executor that knows better answers through its plan operation) */
#define BLOCK_OVERHEAD 24

/*
 * The layout that the budget is for. Kept: the input of every layer (bf16), and under GELU the
 * derivative beside it. Backward, layer by layer: first dW from dy and the layer's input, then dX,
 * which is gated by that input and written over it, as the next dy. So the only gradient with a
 * place of its own is that of the logits. Biases are brought in with their layer, into one place.
 */
static void bytes(const struct wse_mlp *m, const struct wse_exec_info *tile, struct wse_plan *p)
{
	uint32_t t = p->tokens_core, c = tile->cols;

	p->fixed = FIXED_BYTES;
	p->activations = p->derivatives = p->bias = 0;
	for (uint32_t l = 0; l < m->nlinear; l++) {
		p->activations += m->width[l] / c * t * 2;
		if (l && m->act == WSE_ACT_GELU)
			p->derivatives += m->width[l] / c * t * 2;
		if (m->width[l + 1] / c * 4 > p->bias)
			p->bias = m->width[l + 1] / c * 4;
	}
	p->logits = m->vocab / c * t * 4 + 16 * t;	/* + maximum, sum, target, loss */
	p->dy = m->vocab / c * t * 2;
	p->total = p->fixed + p->activations + p->derivatives + p->bias + p->logits + p->dy;
	p->sram = tile->sram;
}

static void costs(const struct wse_mlp *m, const struct wse_exec_info *tile, struct wse_plan *p)
{
	uint64_t macs = wse_mlp_macs(m) * 3 * p->tokens;

	p->cycles = p->streamed_in = p->streamed_out = 0;
	for (uint32_t l = 0; l < m->nlinear; l++) {
		uint64_t k = m->width[l], n = m->width[l + 1];
		uint64_t groups = (p->tokens_core + tile->lanes - 1) / tile->lanes;

		p->streamed_in += 2 * n * k * 2 + n * 4;
		p->streamed_out += (n * k + n) * 4;
		/* forward, data and weights: every core does its share of n x k for its tokens */
		p->cycles += 3 * n * k / tile->cols * groups;
		p->cycles += (2 * (n / 4) + k / 4) * BLOCK_OVERHEAD;
	}
	p->streamed_out += (uint64_t)m->width[0] * p->tokens * 4 + p->tokens * 4;
	/* about 40 operations an element for softmax, on all lanes */
	p->cycles += (uint64_t)m->vocab / tile->cols * p->tokens_core / tile->lanes * 40;
	p->useful = (double)macs /
		    ((double)p->cycles * tile->lanes * tile->rows * tile->cols);
}

static int shape_fits(const struct wse_mlp *m, const struct wse_exec_info *tile, char *why)
{
	for (uint32_t l = 0; l <= m->nlinear; l++)
		if (m->width[l] % (4 * tile->cols))
			return wse_why(why, -EINVAL, "the %s of width %u is not a multiple of 4 x "
				       "%u columns; choose %u or %u",
				       l == 0 ? "input (window x embedding_size)" :
				       l == m->nlinear ? "vocabulary" : "hidden layer", m->width[l],
				       tile->cols, m->width[l] / (4 * tile->cols) * 4 * tile->cols,
				       (m->width[l] / (4 * tile->cols) + 1) * 4 * tile->cols);
	return 0;
}

int wse_plan_make(const struct wse_mlp *m, const struct wse_exec_info *tile, uint64_t batch,
		  uint64_t micro_batch, struct wse_plan *p, char *why)
{
	static const uint32_t per_core[] = { 32, 16, 8 }, at_least[] = { 4, 2, 1 };
	uint32_t unit = tile->rows * tile->lanes;
	int ret;

	memset(p, 0, sizeof(*p));
	ret = shape_fits(m, tile, why);
	if (ret)
		return ret;
	if (micro_batch % unit || batch % unit)
		return wse_why(why, -EINVAL, "%s %" PRIu64 " is not a multiple of %u rows x %u "
			       "lanes = %u tokens", batch % unit ? "batch_size" :
			       "micro_batch_size", batch % unit ? batch : micro_batch, tile->rows,
			       tile->lanes, unit);
	/* many tokens per core amortise a weight, but there must be work for several wafers */
	for (int i = 0; i < 9 && !micro_batch; i++) {
		uint64_t mb = (uint64_t)tile->rows * per_core[i % 3];

		p->tokens_core = per_core[i % 3];
		bytes(m, tile, p);
		if (per_core[i % 3] % tile->lanes == 0 && batch % mb == 0 &&
		    batch / mb >= at_least[i / 3] && p->total <= p->sram)
			micro_batch = mb;
	}
	if (!micro_batch)
		micro_batch = unit;
	p->tokens = (uint32_t)micro_batch;
	p->tokens_core = p->tokens / tile->rows;
	p->micro_batches = (uint32_t)(batch / micro_batch);
	bytes(m, tile, p);
	costs(m, tile, p);
	if (p->total > p->sram)
		return wse_why(why, -E2BIG, "the model does not fit: %u bytes per core (%u fixed, "
			       "%u activations, %u derivatives, %u logits, %u gradients, %u bias) "
			       "of %u with %u tokens per core; use narrower layers, more columns, "
			       "or a micro_batch_size below %u", p->total, p->fixed, p->activations,
			       p->derivatives, p->logits, p->dy, p->bias, p->sram, p->tokens_core,
			       p->tokens);
	return 0;
}

void wse_plan_print(const struct wse_plan *p, const struct wse_mlp *m,
		    const struct wse_exec_info *tile, const struct wse_exec_cfg *log)
{
	const enum wse_log_level i = WSE_LOG_INFO;
	char widths[200] = "";

	for (uint32_t l = 0; l <= m->nlinear; l++) {
		size_t n = strlen(widths);

		snprintf(widths + n, sizeof(widths) - n, "%s%u", l ? " -> " : "", m->width[l]);
	}
	wse_logf(log, i, "model            %s, window %u, embedding %u", widths, m->window,
		 m->embed);
	wse_logf(log, i, "                 %" PRIu64 " multiply-adds a token forward, x 3 in "
		 "training", wse_mlp_macs(m));
	wse_logf(log, i, "tile             %u x %u cores, %u lanes (%s)", tile->rows, tile->cols,
		 tile->lanes, tile->name);
	wse_logf(log, i, "mapping          hidden along x: %u features of the widest layer a core; "
		 "tokens along y: %u a core", wse_mlp_widest(m) / tile->cols, p->tokens_core);
	wse_logf(log, i, "micro-batch      %u tokens, %u a step", p->tokens, p->micro_batches);
	wse_logf(log, i, "bytes per core   %u of %u", p->total, p->sram);
	wse_logf(log, i, "                 %6u code, stack, buffers", p->fixed);
	wse_logf(log, i, "                 %6u activations", p->activations);
	wse_logf(log, i, "                 %6u derivatives (GELU)", p->derivatives);
	wse_logf(log, i, "                 %6u logits", p->logits);
	wse_logf(log, i, "                 %6u gradient of the logits", p->dy);
	wse_logf(log, i, "                 %6u bias of one layer", p->bias);
	wse_logf(log, i, "streamed         %" PRIu64 " bytes in, %" PRIu64 " out, a micro-batch",
		 p->streamed_in, p->streamed_out);
	wse_logf(log, i, "predicted        %" PRIu64 " cycles a micro-batch, %.2f of the lanes "
		 "useful", p->cycles, p->useful);
}
