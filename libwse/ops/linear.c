// SPDX-License-Identifier: MIT
/* The oracle of the streamed linear layers. The orders are in linear.h. */
#include "linear.h"

#include <string.h>

#include "num/elementwise.h"

/* four tokens at once: every count of tokens is a multiple, and the bits do not depend on it */
typedef float four_t __attribute__((vector_size(16)));
typedef uint32_t four_bits_t __attribute__((vector_size(16)));
typedef uint16_t four_half_t __attribute__((vector_size(8)));

static four_t widen4(const uint16_t *p)
{
	four_half_t h;

	memcpy(&h, p, sizeof(h));
	return (four_t)(__builtin_convertvector(h, four_bits_t) << 16);
}

void wse_linear_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs, uint32_t tokens,
		       const uint16_t *w, const uint16_t *x, float *y)
{
	uint32_t per = ins / tile->cols, saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++) {
		const uint16_t *row = w + (size_t)n * ins;
		uint32_t owner = n / (outs / tile->cols);

		for (uint32_t t = 0; t < tokens; t += 4) {
			four_t s = {0};

			for (uint32_t i = 1; i <= tile->cols; i++) {
				uint32_t c = (owner + i) % tile->cols;
				four_t p = {0};

				for (uint32_t k = c * per; k < (c + 1) * per; k++)
					p = p + widen4(x + (size_t)k * tokens + t) *
							wse_bf16_to_f32(row[k]);
				s = i == 1 ? p : s + p;
			}
			for (uint32_t j = 0; j < 4; j++)
				y[(size_t)n * tokens + t + j] = wse_canon(s[j]);
		}
	}
	wse_ftz_leave(saved);
}

static uint16_t bf16_of(float f)
{
	return wse_f32_to_bf16_ftz(f);
}

/* element i, of a feature that is scaled or not */
static void post_element(const struct wse_linear_post *p, int scaled, size_t i, float *y)
{
	const uint16_t *aux16 = p->aux;
	float a, d;

	switch (p->post) {
	case WSE_POST_NONE:
		break;
	case WSE_POST_BF16:
		p->out[i] = bf16_of(scaled ? ew_mul(*y, p->scale) : *y);
		break;
	case WSE_POST_RELU:
		p->out[i] = bf16_of(ew_relu(*y));
		break;
	case WSE_POST_GELU:
		p->out[i] = bf16_of(ew_gelu(*y, &d));
		p->out2[i] = bf16_of(d);
		break;
	case WSE_POST_GATE:
		p->out[i] = bf16_of(ew_relu_back(wse_bf16_to_f32(aux16[i]), *y));
		break;
	case WSE_POST_MUL:
		p->out[i] = bf16_of(ew_mul(wse_bf16_to_f32(aux16[i]), *y));
		break;
	case WSE_POST_ADD16:
	case WSE_POST_ADD32:
		if (p->post == WSE_POST_ADD16)
			a = wse_bf16_to_f32(aux16[i]);
		else
			a = ((const float *)p->aux)[i];
		*y = ew_add(a, *y);
		if (p->out2)
			p->out2[i] = bf16_of(*y);
		break;
	}
}

void wse_linear_post_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			    const struct wse_linear_post *p, float *y)
{
	uint32_t per = outs / tile->cols, saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++) {
		for (uint32_t t = 0; t < tokens; t++) {
			size_t i = (size_t)n * tokens + t;

			if (p->bias)
				y[i] = ew_add(y[i], p->bias[n]);
			post_element(p, n % per < p->nscale, i, &y[i]);
		}
	}
	wse_ftz_leave(saved);
}

/* sum over t of a[t] b[t], b NULL: of a[t], in the order of stream DOT and the column's chain */
static float dot(const struct wse_tile *tile, uint32_t tokens, const uint16_t *a, const uint16_t *b)
{
	uint32_t per = tokens / tile->rows;
	const four_t one = {1, 1, 1, 1};
	float sum = 0.0f;

	for (uint32_t r = 0; r < tile->rows; r++) {
		four_t l[2] = {{0}, {0}};
		float d;

		for (uint32_t t = r * per; t < (r + 1) * per; t += 4) {
			four_t *p = &l[t % tile->lanes / 4];

			*p = *p + widen4(a + t) * (b ? widen4(b + t) : one);
		}
		d = (l[0][0] + l[0][1]) + (l[0][2] + l[0][3]);
		if (tile->lanes == 8)
			d = d + ((l[1][0] + l[1][1]) + (l[1][2] + l[1][3]));
		sum = r ? sum + d : d;
	}
	return wse_canon(sum);
}

void wse_linear_wgrad_oracle(const struct wse_tile *tile, uint32_t ins, uint32_t outs,
			     uint32_t tokens, const uint16_t *x, const uint16_t *dy, float *dw)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++)
		for (uint32_t k = 0; k < ins; k++)
			dw[(size_t)n * ins + k] =
				dot(tile, tokens, dy + (size_t)n * tokens, x + (size_t)k * tokens);
	wse_ftz_leave(saved);
}

void wse_linear_bgrad_oracle(const struct wse_tile *tile, uint32_t outs, uint32_t tokens,
			     const uint16_t *dy, float *db)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t n = 0; n < outs; n++)
		db[n] = dot(tile, tokens, dy + (size_t)n * tokens, NULL);
	wse_ftz_leave(saved);
}
