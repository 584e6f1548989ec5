/* SPDX-License-Identifier: MIT */
/* Names of predecoded operations. */
#ifndef TWIN_EXACT_DECODE_H
#define TWIN_EXACT_DECODE_H

#include "twin/twin.h"

enum twin_dec_op {
#define OP(name) OP_##name,
#include "twin/exact/ops.h"
#undef OP
};

#endif /* TWIN_EXACT_DECODE_H */
