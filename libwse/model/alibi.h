/* SPDX-License-Identifier: MIT */
/* Positions by slopes (Press et al., Train Short, Test Long: ALiBi). */
#ifndef WSE_MODEL_ALIBI_H
#define WSE_MODEL_ALIBI_H

#include <stdint.h>

/*
 * By how much the scores of a head fall with each token between query and key: of n heads, n a
 * power of two, head i has 2^(-8 (i + 1) / n). Of another number the first n heads, n the largest
 * power of two below it, have those of n, and the others every second one of 2 n, from the first.
 */
float wse_alibi_slope(uint32_t head, uint32_t heads);

#endif
