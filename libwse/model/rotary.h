/* SPDX-License-Identifier: MIT */
/* Rotary positions (Su et al., RoFormer): the angles of a sequence's tokens. */
#ifndef WSE_MODEL_ROTARY_H
#define WSE_MODEL_ROTARY_H

#include <stdint.h>

/*
 * Pair i turns by p / scale * base ^ (-i / pairs) at position p; base 0: 10000; scale 0: 1.
 *
 * original 0: all pairs are scaled alike ("linear"). Else LLaMA 3's scaling, of a model that was
 * trained with `original` positions: a pair with more than `high` turns in them is not scaled, one
 * with fewer than `low` is, and between them the speed goes from the one to the other evenly.
 */
struct wse_rotary {
	uint32_t pairs;
	float base, scale;
	float low, high, original;
};

/*
 * table [columns][2][per][tokens]: cosine and sine of the angle by which pair i turns at token t,
 * whose position is t % seq; column i / per has pair i. Behind the last pair there are zeros.
 */
void wse_rotary_table(const struct wse_rotary *r, uint32_t per, uint32_t columns, uint32_t seq,
		      uint32_t tokens, float *table);

#endif
