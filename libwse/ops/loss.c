// SPDX-License-Identifier: MIT
/* The oracle of the loss. The order is in loss.h. */
#include "loss.h"

#include <stddef.h>

#include "num/elementwise.h"

/* S of one token; y points at its first logit, logits are `tokens` apart */
static float sum_of_exp(const struct wse_tile *tile, uint32_t width, uint32_t classes,
			uint32_t tokens, const float *y, float m)
{
	uint32_t per = width / tile->cols;
	float s = 0.0f;

	for (uint32_t i = 1; i <= tile->cols; i++) {
		uint32_t c = i % tile->cols;
		float p = 0.0f;

		for (uint32_t n = c * per; n < (c + 1) * per && n < classes; n++)
			p = ew_add(p, ew_exp(ew_sub(y[(size_t)n * tokens], m)));
		s = i == 1 ? p : ew_add(s, p);
	}
	return s;
}

void wse_loss_oracle(const struct wse_tile *tile, uint32_t width, uint32_t classes, uint32_t tokens,
		     const float *y, const uint16_t *target, float scale, float *loss, uint16_t *dy)
{
	uint32_t saved = wse_ftz_enter();

	for (uint32_t t = 0; t < tokens; t++, y++) {
		float m = wse_u2f(0xff800000u), s, r;

		for (uint32_t n = 0; n < classes; n++)
			m = ew_max(y[(size_t)n * tokens], m);
		s = sum_of_exp(tile, width, classes, tokens, y, m);
		loss[t] = ew_sub(ew_log(s), ew_sub(y[(size_t)target[t] * tokens], m));
		r = ew_recip(s);
		for (uint32_t n = 0; n < width && dy; n++) {
			float p = 0.0f;

			if (n < classes) {
				p = ew_mul(ew_exp(ew_sub(y[(size_t)n * tokens], m)), r);
				p = ew_mul(ew_sub(p, n == target[t] ? 1.0f : 0.0f), scale);
			}
			dy[(size_t)n * tokens + t] = wse_f32_to_bf16_ftz(p);
		}
	}
	wse_ftz_leave(saved);
}
