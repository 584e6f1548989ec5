// SPDX-License-Identifier: MIT
#include "add.h"

#include "num/elementwise.h"

void wse_add_oracle(size_t n, const uint16_t *a, const uint16_t *b, uint16_t *out)
{
	uint32_t saved = wse_ftz_enter();

	for (size_t i = 0; i < n; i++)
		out[i] = wse_f32_to_bf16_ftz(ew_add(wse_bf16_to_f32(a[i]), wse_bf16_to_f32(b[i])));
	wse_ftz_leave(saved);
}
