/* SPDX-License-Identifier: MIT */
/*
 * What a linear layer does with its sums: for kernels (wse_kernel.h) and for models (wse/model.h).
 */
#ifndef WSE_POST_H
#define WSE_POST_H

/*
 * a linear layer's pass over its sums, after the last block; s = sum, or sum + bias where there is
 * a bias
 */
enum wse_post {
	WSE_POST_NONE = 0,	/* y = s */
	WSE_POST_BF16 = 1,	/* out = bf16(s); the first nscale features bf16(s * scale) */
	WSE_POST_RELU = 2,	/* out = bf16(max(0, s)), NaN gets through */
	WSE_POST_GELU_NEW = 3,	/* out = bf16(gelu(s)), out2 = bf16(gelu'(s)); gelu's tanh form */
	/* out = bf16(s where aux > 0, else 0); aux bf16: backward through ReLU */
	WSE_POST_GATE = 4,
	/* out = bf16(s * aux); aux bf16: backward through an activation by its derivative */
	WSE_POST_MUL = 5,
	WSE_POST_ADD16 = 6,	/* y = aux + s; aux bf16; out2 = bf16(y) if out2 is not 0 */
	/* r = max(0, s); out = bf16(r * r), out2 = bf16(r + r), its derivative; y = r */
	WSE_POST_RELU2 = 8,
	WSE_POST_GELU = 9,	/* as GELU_NEW, of the exact form, by erf */
	WSE_POST_ADD32 = 7,	/* y = aux + s; aux binary32; out2 = bf16(y) if out2 is not 0 */
	/*
	 * In the programs with all kernels alone. A column's features are two halves, g and u: out
	 * = bf16(silu(g) * u), of half the features; out2 = bf16(d out / dg), then bf16(d out /
	 * du), of all
	 */
	WSE_POST_SWIGLU = 10,
	/*
	 * the way back through it: out = bf16(s * aux), twice: aux and out have twice the features;
	 * out is not y
	 */
	WSE_POST_MUL2 = 11,
	/* y = s * scale; in the programs with all kernels, and in those that make logits */
	WSE_POST_SCALE = 12,
};

#endif
