// SPDX-License-Identifier: MIT
/*
 * The program that trains an MLP: the streamed linear layers of linear_tasks.h and, as start functions of their
 * own, GELU and the softmax cross-entropy across the columns. One program for all phases: nothing is
 * loaded between them, and activations stay where they are.
 */
#include "../lib/linear_tasks.h"
#include "../lib/row.h"
#include "../lib/vec.h"

/* argument words of mlp_gelu */
struct gelu_args {
	uint32_t y;	/* binary32 [n], n = N / COLS * T, a multiple of 8 */
	uint32_t out;	/* bf16 [n] */
	uint32_t deriv; /* bf16 [n] */
	uint32_t n;
};

/* argument words of mlp_softmax; T tokens per core, V / COLS classes per column */
struct softmax_args {
	uint32_t y;	  /* binary32 [V / COLS][T] logits; destroyed */
	uint32_t dy;	  /* bf16 [V / COLS][T]: gradient of the logits */
	uint32_t target;  /* u16 [T] classes 0 ... V - 1, the same in every column of a row */
	uint32_t loss;	  /* binary32 [T]: valid in the column that owns the token's target */
	uint32_t scratch; /* binary32 [3][T] */
	uint32_t t;
	uint32_t v;	   /* V / COLS */
	uint32_t scale;	   /* binary32: dy = (softmax - onehot) * scale */
	uint32_t backward; /* 0: loss alone */
};

WSE_ENTRY void mlp_gelu(uint32_t args, uint32_t info)
{
	const struct gelu_args *a = (const struct gelu_args *)args;
	uint32_t i, n;

	(void)info;
	for (i = 0; i < a->n; i += n) {
		n = a->n - i < 32 ? a->n - i : 32;
		vgelu_setup(n);
		vec_mem(D_A, a->y + 4 * i, WSE_DT_FP32, n);
		vec_mem(D_B, a->out + 2 * i, WSE_DT_BF16, n);
		vec_mem(D_C, a->deriv + 2 * i, WSE_DT_BF16, n);
		vgelu(D_B, D_C, D_A);
	}
	wse_wait(1);
	wse_done(0);
}

static uint32_t softmax_onehot[64] __attribute__((aligned(16))); /* 8 x 8 identity, binary32 */

WSE_ENTRY void mlp_softmax(uint32_t args, uint32_t info)
{
	const struct softmax_args *a = (const struct softmax_args *)args;
	uint32_t t = a->t, v = a->v, first = wse_col() * v, i, n;
	uint32_t row = a->scratch, zt = row + 4 * t, recip = zt + 4 * t;
	const uint16_t *target = (const uint16_t *)a->target;

	(void)info;
	routes_ring();

	/* m[t] = max over all classes, from -inf */
	dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
	dsr_repeat_acc(D_B, 0, t, v);
	wse_dsr_acc(D_TMP, 0, t);
	vs(VAND, D_TMP, D_TMP, 0);
	vs(VOR, D_TMP, D_TMP, 0xff800000);
	vv(VMAX, D_B, D_A, D_B);
	row_combine(row, t, 1);

	/* z = y - m; z of the target, for the loss */
	dsr_repeat(D_C, row, t, v);
	vv(VSUB, D_A, D_A, D_C);
	wse_wait(1);
	for (i = 0; i < t; i++) {
		n = target[i] - first;
		((uint32_t *)zt)[i] = n < v ? ((const uint32_t *)a->y)[n * t + i] : 0;
	}

	/* e = exp(z), S[t] = sum over all classes */
	for (i = 0; i < v * t; i += n) {
		n = v * t - i < 32 ? v * t - i : 32;
		vexp_setup(n);
		vec_mem(D_A, a->y + 4 * i, WSE_DT_FP32, n);
		vexp(D_A, D_A);
	}
	dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
	wse_dsr_acc(D_TMP, 0, t);
	vs(VAND, D_TMP, D_TMP, 0);
	vv(VADD, D_B, D_B, D_A);
	row_combine(row, t, 0);

	/* loss = log S - z[target]; 1 / S */
	for (i = 0; i < t; i += n) {
		n = t - i < 16 ? t - i : 16;
		vec_regs8(n);
		vec_mem(D_A, row + 4 * i, WSE_DT_FP32, n);
		vv(VMOV, V4, D_A, 0);
		vlog();
		vec_mem(D_A, zt + 4 * i, WSE_DT_FP32, n);
		vec_mem(D_C, a->loss + 4 * i, WSE_DT_FP32, n);
		vv(VSUB, D_C, V5, D_A);
		vv(VMOV, V0, V4, 0);
		vrecip();
		vec_mem(D_A, recip + 4 * i, WSE_DT_FP32, n);
		vv(VMOV, D_A, V1, 0);
	}

	/* dy = (e / S - onehot) * scale. Subtracting 0 changes nothing, so only groups with a 1 are touched */
	if (a->backward) {
		dsr_rows(D_A, a->y, WSE_DT_FP32, t, v);
		dsr_repeat(D_C, recip, t, v);
		vv(VMUL, D_A, D_A, D_C);
		for (i = 0; i < 8; i++)
			softmax_onehot[9 * i] = 0x3f800000;
		for (i = 0; i < t; i++) {
			n = target[i] - first;
			if (n >= v)
				continue;
			wse_dsr_mem(D_B, a->y + 4 * (n * t + (i & ~7u)), WSE_DT_FP32, 8, 4);
			wse_dsr_mem(D_C, &softmax_onehot[8 * (i & 7)], WSE_DT_FP32, 8, 4);
			vv(VSUB, D_B, D_B, D_C);
		}
		dsr_rows(D_B, a->dy, WSE_DT_BF16, t, v);
		vs(VMUL, D_B, D_A, a->scale);
	}
	wse_wait(1);
	wse_done(0);
}
