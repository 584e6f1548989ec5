// SPDX-License-Identifier: MIT
/* The angles of rotary positions, in IEEE + - * / alone, so that they are the same everywhere. */
#include "model/rotary.h"

#include "num/num.h"

void wse_rotary_table(uint32_t pairs, float base, float scale, uint32_t seq, uint32_t tokens,
		      float *table)
{
	const double two_pi = 6.28318530717958647693;
	double ln = wse_log(base != 0.0f ? base : 10000.0), by = scale != 0.0f ? scale : 1.0;

	for (uint32_t i = 0; i < pairs; i++) {
		double speed = wse_exp(-ln * i / pairs) / by / two_pi; /* turns a token */
		float *cos = table + (uint64_t)i * tokens, *sin = cos + (uint64_t)pairs * tokens;

		for (uint32_t t = 0; t < tokens && t < seq; t++) {
			double turns = t * speed, quarter;

			turns -= (double)(uint64_t)turns;
			quarter = turns < 0.25 ? turns + 0.75 : turns - 0.25;
			cos[t] = (float)wse_cos_turns(turns);
			sin[t] = (float)wse_cos_turns(quarter);
		}
		for (uint32_t t = seq; t < tokens; t++) {
			cos[t] = cos[t - seq];
			sin[t] = sin[t - seq];
		}
	}
}
