/* SPDX-License-Identifier: MIT */
/*
 * Rotary positions: neighbouring features of queries and keys turn by their token's angle, in
 * place (struct wse_rope_args). libwse/ops/rope.h defines every rounding. A chunk is as many pairs
 * as fill half of the accumulators; cosines and sines of it serve all heads.
 */
#ifndef WSE_ROPE_H
#define WSE_ROPE_H

#include "kernel.h"
#include "ring.h"
#include "vec.h"

enum { R_FIRST = V0, R_SECOND, R_COS, R_SIN, R_ACC /* and the next */, R_ACC2 };

static inline void rope_kernel(const struct wse_rope_args *a)
{
	uint32_t t = a->t, half = a->d / 2, head = 2 * t * a->d, pairs = a->pairs, first, i, n, m;
	uint32_t neg = a->back ? R_ACC2 : R_ACC, x = a->x, cos = a->table, sin, at;

	/* this column's place among those of a head */
	for (i = wse_col(); i >= a->group; i -= a->group)
		;
	first = i * half;
	sin = cos + 4 * t * (pairs < half ? pairs : half);
	pairs = pairs > first ? pairs - first : 0;
	for (n = pairs < half ? pairs : half; n; n -= m) {
		m = WSE_NACC / 2 / t;
		m = n < m ? n : m;
		wse_dsr_mem2(R_COS, cos, WSE_DT_FP32, t, 4, m, 4 * t);
		wse_dsr_mem2(R_SIN, sin, WSE_DT_FP32, t, 4, m, 4 * t);
		wse_dsr_acc2(R_ACC, 0, t, m, t);
		wse_dsr_acc2(R_ACC2, WSE_NACC / 2, t, m, t);
		wse_dsr_mem2(R_FIRST, x, WSE_DT_BF16, t, 2, m, 4 * t);
		wse_dsr_mem2(R_SECOND, x, WSE_DT_BF16, t, 2, m, 4 * t);
		for (i = a->heads, at = x; i; i--, at += head) {
			wse_dsr_base(R_FIRST, at, t, 2);
			wse_dsr_base(R_SECOND, at + 2 * t, t, 2);
			vv(VMUL, R_ACC, R_SECOND, R_SIN);
			vv(VMUL, R_ACC2, R_FIRST, R_SIN);
			wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMUL, 0, 0, 0) + WSE_SCALAR +
					  (neg << WSE_TCW_DST_SHIFT) + (neg << WSE_TCW_SRC1_SHIFT),
				  WSE_F32(-1.0f));
			vv(VMAC, R_ACC, R_FIRST, R_COS);
			vv(VMAC, R_ACC2, R_SECOND, R_COS);
			vv(VMOV, R_FIRST, R_ACC, 0);
			vv(VMOV, R_SECOND, R_ACC2, 0);
		}
		x += 4 * t * m;
		cos += 4 * t * m;
		sin += 4 * t * m;
	}
	wse_wait(1);
}

#endif /* WSE_ROPE_H */
