/* SPDX-License-Identifier: MIT */
/* Numbers as text that loses no bit. */
#ifndef WSE_NUM_DECIMAL_H
#define WSE_NUM_DECIMAL_H

#include <stdint.h>

uint64_t wse_f64_bits(double d);
/* the shortest decimal that is this number; text [32] */
const char *wse_f64_text(double d, char *text);

#endif
