/* SPDX-License-Identifier: MIT */
/* Names of predecoded operations. */
#ifndef WSE_FUNC_DECODE_H
#define WSE_FUNC_DECODE_H

#include "twin/twin.h"

enum wse_dec_op {
#define OP(name) OP_##name,
#include "twin/exact/ops.h"
#undef OP
};

#endif /* WSE_FUNC_DECODE_H */
