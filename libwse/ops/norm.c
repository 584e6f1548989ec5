// SPDX-License-Identifier: MIT
/* The oracle of layer norm. The orders are in norm.h. */
#include "norm.h"

#include <stddef.h>

#include "num/elementwise.h"

/* what is summed over the features of a token: feature n of token t of the arrays in `of` */
struct terms {
	const struct wse_norm_back *of; /* NULL: forward, x and mean */
	const uint16_t *x;
	const float *mean;
	uint32_t tokens;
	int second;
};

static float xhat_of(const struct wse_norm_back *b, uint32_t tokens, uint32_t n, uint32_t t)
{
	float x = wse_bf16_to_f32(b->x[(size_t)n * tokens + t]);

	return ew_mul(ew_sub(x, b->mean[t]), b->rstd[t]);
}

/* first: x, or dy * gain; second: centred squares, or xhat * dy * gain. `s` is what it is added to */
static float add_term(const struct terms *a, uint32_t n, uint32_t t, float s)
{
	size_t i = (size_t)n * a->tokens + t;
	float x;

	if (a->of) {
		x = a->second ? ew_mul(xhat_of(a->of, a->tokens, n, t), a->of->dy[i])
			      : a->of->dy[i];
		return ew_add(s, ew_mul(x, a->of->gain[n]));
	}
	x = wse_bf16_to_f32(a->x[i]);
	if (a->second) {
		x = ew_sub(x, a->mean[t]);
		x = ew_mul(x, x);
	}
	return ew_add(s, x);
}

static float sum_over_row(const struct wse_tile *tile, uint32_t width, const struct terms *a,
			  uint32_t t)
{
	uint32_t per = width / tile->cols;
	float s = 0.0f;

	for (uint32_t i = 1; i <= tile->cols; i++) {
		uint32_t c = i % tile->cols;
		float p = 0.0f;

		for (uint32_t n = c * per; n < (c + 1) * per; n++)
			p = add_term(a, n, t, p);
		s = i == 1 ? p : ew_add(s, p);
	}
	return s;
}

void wse_norm_oracle(const struct wse_tile *tile, uint32_t width, uint32_t tokens,
		     const uint16_t *x, const float *gain, const float *bias, float inv_width,
		     float eps, uint16_t *out, float *mean, float *rstd)
{
	struct terms first = {.x = x, .tokens = tokens}, second = {NULL, x, mean, tokens, 1};
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++) {
		mean[t] = ew_mul(sum_over_row(tile, width, &first, t), inv_width);
		rstd[t] = ew_mul(sum_over_row(tile, width, &second, t), inv_width);
		rstd[t] = ew_rsqrt(ew_add(rstd[t], eps));
	}
	for (uint32_t n = 0; n < width; n++) {
		for (uint32_t t = 0; t < tokens; t++) {
			size_t i = (size_t)n * tokens + t;
			float v = ew_mul(ew_sub(wse_bf16_to_f32(x[i]), mean[t]), rstd[t]);

			out[i] = wse_f32_to_bf16_ftz(ew_add(ew_mul(v, gain[n]), bias[n]));
		}
	}
	wse_ftz_leave(saved);
}

static float lane_tree(const struct wse_tile *tile, const float *l)
{
	float d = ew_add(ew_add(l[0], l[1]), ew_add(l[2], l[3]));

	if (tile->lanes == 8)
		d = ew_add(d, ew_add(ew_add(l[4], l[5]), ew_add(l[6], l[7])));
	return d;
}

static void vector_gradients(const struct wse_tile *tile, uint32_t tokens, uint32_t n,
			     const struct wse_norm_back *b)
{
	uint32_t per = tokens / tile->rows;
	float dgain = 0.0f, dbias = 0.0f;

	for (uint32_t r = 0; r < tile->rows; r++) {
		float lg[8] = {0}, lb[8] = {0};

		for (uint32_t t = r * per; t < (r + 1) * per; t++) {
			float dy = b->dy[(size_t)n * tokens + t];
			uint32_t l = t % tile->lanes;

			lg[l] = ew_add(lg[l], ew_mul(xhat_of(b, tokens, n, t), dy));
			lb[l] = ew_add(lb[l], dy);
		}
		dgain = r ? ew_add(dgain, lane_tree(tile, lg)) : lane_tree(tile, lg);
		dbias = r ? ew_add(dbias, lane_tree(tile, lb)) : lane_tree(tile, lb);
	}
	b->dgain[n] = dgain;
	b->dbias[n] = dbias;
}

void wse_norm_back_oracle(const struct wse_tile *tile, uint32_t width, uint32_t tokens,
			  const struct wse_norm_back *b)
{
	struct terms first = {.of = b, .tokens = tokens},
		     second = {.of = b, .tokens = tokens, .second = 1};
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++) {
		float mg = ew_mul(sum_over_row(tile, width, &first, t), b->inv_width);
		float mgx = ew_mul(sum_over_row(tile, width, &second, t), b->inv_width);
		float slope = ew_mul(ew_mul(mgx, b->rstd[t]), b->rstd[t]);

		for (uint32_t n = 0; n < width; n++) {
			size_t i = (size_t)n * tokens + t;
			float g = ew_mul(b->dy[i], b->gain[n]);
			float d = ew_sub(wse_bf16_to_f32(b->x[i]), b->mean[t]);
			float dx = ew_sub(ew_mul(ew_sub(g, mg), b->rstd[t]), ew_mul(d, slope));

			b->dres[i] = b->add ? ew_add(b->dres[i], dx) : dx;
			b->dres16[i] = wse_f32_to_bf16_ftz(b->dres[i]);
		}
	}
	for (uint32_t n = 0; n < width; n++)
		vector_gradients(tile, tokens, n, b);
	wse_ftz_leave(saved);
}
