// SPDX-License-Identifier: MIT
/* Embeddings in, and their gradients. */
#include "model/gpt_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/alibi.h"
#include "model/gpt_sizes.h"
#include "model/rotary.h"
#include "num/num.h"
#include "ops/ops.h"

/* of the table's rows: what a micro-batch's inputs are gathered from */
enum { T_WTE, T_WPE };

/* the row of the embedding, or of the positions, that token t reads */
static uint32_t row_of(const struct wse_gpt *m, const uint16_t *const *samples, int positions,
		       uint32_t t)
{
	uint32_t at = t % m->seq;

	return positions ? at : wse_token(samples[t / m->seq], (int)at - 1, m->vocab);
}

/* an element of the table as bf16, then times the embeddings' scale */
static uint16_t element(const struct wse_gpt *m, const struct wse_input *in, size_t at)
{
	uint16_t x = in->f32 ? wse_f32_to_bf16(in->f32[at]) : in->bf16[at];

	return m->embed_scale != 0.0f ? wse_f32_to_bf16(wse_bf16_to_f32(x) * m->embed_scale) : x;
}

/* elements from a row to the next where it lies: an embedding that is a unit's lies in its image */
static size_t row_stride(const struct wse_gpt *m, const struct wse_graph *g, int positions)
{
	return positions || !m->tied ? m->hidden : wse_gpt_wide_hidden(m, g->tile.cols);
}

/* rows [H][T] of a tensor, as bf16: row_of() of every token; padding is 0 */
static void gather_rows(const struct wse_gpt *m, const struct wse_graph *g,
			const struct wse_input *in, const uint16_t *const *samples, int positions,
			uint16_t *to)
{
	size_t h = m->hidden, t_all = wse_graph_tokens(g);
	size_t stride = row_stride(m, g, positions), wide = wse_gpt_wide_hidden(m, g->tile.cols);

	memset(to + h * t_all, 0, (wide - h) * t_all * sizeof(*to));
	for (uint32_t t = 0; t < t_all; t++) {
		size_t at = row_of(m, samples, positions, t) * stride;

		for (size_t j = 0; j < h; j++)
			to[j * t_all + t] = element(m, in, at + j);
	}
}

/* the table of the heads' slopes */
static void gather_slopes(const struct wse_gpt *m, const struct wse_graph *g, float *table)
{
	wse_attn_slopes(g, m->heads, table);
	for (uint32_t i = 0; i < m->heads; i++)
		wse_attn_slope(g, i, wse_alibi_slope(i, m->heads), table);
}

/* the embeddings of the tokens before the targets, and of their positions, or angles of these */
void wse_gpt_gather(const struct wse_model *model, const struct wse_graph *g,
		    const struct wse_input *in, const uint16_t *const *samples,
		    struct wse_micro_batch *job)
{
	const struct wse_gpt *m = wse_gpt(model);
	const struct wse_rotary rotary = {m->rotary / 2, m->rotary_base, m->rotary_scale,
					  m->rotary_low, m->rotary_high, m->rotary_original};
	const struct wse_gpt_turns turns = wse_gpt_turns_of(m, g->tile.cols);
	uint32_t t_all = wse_graph_tokens(g);

	gather_rows(m, g, &in[T_WTE], samples, 0, wse_span_ptr(job->in[IN_TOKENS]));
	if (m->learned)
		gather_rows(m, g, &in[T_WPE], samples, 1, wse_span_ptr(job->in[IN_POSITIONS]));
	if (m->rotary)
		wse_rotary_table(&rotary, turns.pairs, turns.group, m->seq, t_all,
				 wse_span_ptr(job->in[wse_gpt_in_angles(m)]));
	if (m->alibi)
		gather_slopes(m, g, wse_span_ptr(job->in[wse_gpt_in_angles(m)]));
}

/* dx [H][T] of every token, in token order, onto its embedding's row and its position's */
int wse_gpt_leaf(const struct wse_model *model, const struct wse_graph *g,
		 const struct wse_micro_batch *job, const uint16_t *const *samples,
		 const struct wse_leaf *leaf)
{
	const struct wse_gpt *m = wse_gpt(model);
	uint32_t t_all = wse_graph_tokens(g), h = m->hidden;
	const float *dx = wse_span_ptr(job->out[OUT_DX]);
	uint32_t *of = malloc(t_all * sizeof(*of));
	float *scaled = NULL;
	int ret = of ? 0 : -ENOMEM;

	if (m->embed_scale != 0.0f) {
		scaled = malloc((size_t)h * t_all * sizeof(*scaled));
		ret = scaled ? ret : -ENOMEM;
		for (size_t i = 0; scaled && i < (size_t)h * t_all; i++)
			scaled[i] = dx[i] * m->embed_scale;
		dx = scaled;
	}

	for (uint32_t i = T_WTE; i <= (m->learned ? T_WPE : T_WTE) && !ret; i++) {
		for (uint32_t t = 0; t < t_all; t++)
			of[t] = row_of(m, samples, i == T_WPE, t);
		if (!leaf[i].grad) {
			ret = wse_rows_make(leaf[i].rows, of, dx, t_all, 1, h);
			continue;
		}
		for (uint32_t t = 0; t < t_all; t++) {
			float *row = leaf[i].grad + of[t] * row_stride(m, g, i == T_WPE);

			for (uint32_t j = 0; j < h; j++)
				row[j] += dx[(size_t)j * t_all + t];
		}
	}
	free(scaled);
	free(of);
	return ret;
}
