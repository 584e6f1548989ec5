/* SPDX-License-Identifier: MIT */
/* out = bf16(a + b), element by element: struct wse_add_args. */
#ifndef WSE_ADD_H
#define WSE_ADD_H

#include "kernel.h"
#include "vec.h"

static inline void add_kernel(const struct wse_add_args *a)
{
	wse_dsr_mem(D_A, a->a, WSE_DT_BF16, a->n, 2);
	wse_dsr_mem(D_B, a->b, WSE_DT_BF16, a->n, 2);
	wse_dsr_mem(D_C, a->out, WSE_DT_BF16, a->n, 2);
	vv(VADD, D_C, D_A, D_B);
	wse_wait(1);
}

#endif /* WSE_ADD_H */
