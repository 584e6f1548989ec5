/* SPDX-License-Identifier: MIT */
/* Rotary positions (Su et al., RoFormer): the angles of a sequence's tokens. */
#ifndef WSE_MODEL_ROTARY_H
#define WSE_MODEL_ROTARY_H

#include <stdint.h>

/*
 * table [2][pairs][tokens]: cosine and sine of the angle by which pair i turns at token t, whose
 * position is p = t % seq: p / scale * base ^ (-i / pairs). base 0: 10000; scale 0: 1.
 */
void wse_rotary_table(uint32_t pairs, float base, float scale, uint32_t seq, uint32_t tokens,
		      float *table);

#endif
