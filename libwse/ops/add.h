/* SPDX-License-Identifier: MIT */
/* out[i] = bf16(a[i] + b[i]): bf16, n elements. */
#ifndef WSE_OPS_ADD_H
#define WSE_OPS_ADD_H

#include <stddef.h>
#include <stdint.h>

void wse_add_oracle(size_t n, const uint16_t *a, const uint16_t *b, uint16_t *out);

#endif
