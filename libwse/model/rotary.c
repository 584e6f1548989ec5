// SPDX-License-Identifier: MIT
/* The angles of rotary positions, in IEEE + - * / alone, so that they are the same everywhere. */
#include "model/rotary.h"

#include <string.h>

#include "num/num.h"

/* turns a token of pair i */
static double speed_of(const struct wse_rotary *r, uint32_t i)
{
	const double two_pi = 6.28318530717958647693;
	double ln = wse_log(r->base != 0.0f ? r->base : 10000.0);
	double by = r->scale != 0.0f ? r->scale : 1.0, speed = wse_exp(-ln * i / r->pairs), turns;

	if (r->original == 0.0f)
		return speed / by / two_pi;
	speed /= two_pi;
	turns = r->original * speed;
	if (turns > r->high)
		return speed;
	if (turns < r->low)
		return speed / by;
	turns = (turns - r->low) / ((double)r->high - r->low);
	return (1.0 - turns) * (speed / by) + turns * speed;
}

void wse_rotary_table(const struct wse_rotary *r, uint32_t per, uint32_t columns, uint32_t seq,
		      uint32_t tokens, float *table)
{
	memset(table, 0, 2ul * columns * per * tokens * sizeof(*table));
	for (uint32_t i = 0; i < r->pairs && i < columns * per; i++) {
		float *cos = table + (i / per * 2ul * per + i % per) * tokens;
		float *sin = cos + (uint64_t)per * tokens;
		double speed = speed_of(r, i);

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
