/* SPDX-License-Identifier: MIT */
/*
 * Layer norm over the width and its backward pass: struct wse_norm_args, struct wse_norm_back_args;
 * t <= 64. libwse/ops/norm.h defines the order of every sum and rounding.
 *
 * Features are processed in chunks that fit the accumulators beside the sums. A quantity per token
 * (mean, rstd, the two means of the backward pass) is a row that applies to every feature; it lies
 * in accumulators where t <= 16, else in memory. A quantity per feature (gain, bias) is a scalar
 * operand. A kernel sets descriptors when the size of a chunk changes, at most for the last chunk;
 * between chunks only their bases move.
 *
 * A program that defines KERNELS_FULL also has the forms without mean (RMS norm) or without bias,
 * and that of a width whose last features are padding; in others those are always there.
 */
#ifndef WSE_NORM_H
#define WSE_NORM_H

#include "kernel.h"
#include "row.h"

#ifdef KERNELS_FULL
#define NORM_HAS(place)	(place)
#else
#define NORM_HAS(place)	((void)(place), 1)
#endif

/* descriptors: matrices of a chunk, rows of t, accumulators; N_ONE, N_TWO: a row of t of these */
enum {
	N_X,
	N_MEAN,
	N_RSTD,
	N_ACC,
	N_SUM,
	N_ONE,
	N_TWO,
	N_DY,
	N_MORE,
	N_OUT,
	N_OUT2,
	N_DGAIN = 12,
	N_DBIAS
};

/* of this core's h features, how many are behind the width: the last ones, padding */
#ifdef KERNELS_FULL
static __attribute__((noinline)) uint32_t norm_pad(uint32_t h, uint32_t width)
{
	uint32_t end = (wse_col() + 1) * h;

	if (!width || end <= width)
		return 0;
	return end - width < h ? end - width : h;
}
#else
#define norm_pad(h, width)	((void)(h), (void)(width), 0u)
#endif

/* accumulators base ... base + n - 1 are 0 */
static inline void acc_zero(uint32_t base, uint32_t n)
{
	wse_dsr_acc(N_ONE, base, n);
	vs(VAND, N_ONE, N_ONE, 0);
}

/* where rows are held, up to 16 tokens; the accumulators below hold chunks */
enum { HELD_MG = 64, HELD_SLOPE = 80, HELD_MEAN = 96, HELD_RSTD = 112 };

static inline int norm_holds(uint32_t t)
{
	return t <= 16;
}

/* copies a row at addr to its place in the accumulators, if rows have one */
static __attribute__((noinline)) void norm_hold(uint32_t place, uint32_t addr, uint32_t t)
{
	if (!norm_holds(t))
		return;
	wse_dsr_mem(N_ONE, addr, WSE_DT_FP32, t, 4);
	wse_dsr_acc(N_TWO, place, t);
	vv(VMOV, N_TWO, N_ONE, 0);
}

/* descriptor of a row for n features */
#define norm_row(d, place, addr, t, n) do { \
	uint32_t held_ = (uint32_t)norm_holds(t); \
	wse_dsr_base(d, held_ ? (uint32_t)(place) : (addr), t, held_ ? 1 : 4); \
	WSE_DSR_HALF(d, 1, WSE_SHAPE(n, 0), WSE_KIND_TYPE(WSE_KIND_MEM, WSE_DT_FP32) + \
		     held_ * (WSE_KIND_ACC - WSE_KIND_MEM)); \
	} while (0)

/* a chunk of n features: x, its mean and deviation */
static __attribute__((noinline)) void norm_chunk(uint32_t x, uint32_t mean, uint32_t rstd,
						 uint32_t t, uint32_t n)
{
	dsr_rows(N_X, x, WSE_DT_BF16, t, n);
	norm_row(N_MEAN, HELD_MEAN, mean, t, n);
	norm_row(N_RSTD, HELD_RSTD, rstd, t, n);
}

/* [t] at addr: 1 / sqrt(value * inv_width + eps) */
static inline void norm_rstd(uint32_t addr, uint32_t t, uint32_t inv_width, uint32_t eps)
{
	uint32_t n;

	for (; t; t -= n) {
		n = t < 32 ? t : 32;
		vec_regs4(n);
		vec_mem(D_A, addr, WSE_DT_FP32, n);
		vs(VMUL, V0, D_A, inv_width);
		vs(VADD, V0, V0, eps);
		vrsqrt(V1, V0, V2);
		vv(VMOV, D_A, V1, 0);
		addr += 4 * n;
	}
}

/* of a chunk, into its accumulators */
static inline void norm_xhat(uint32_t mean)
{
	if (NORM_HAS(mean)) {
		vv(VSUB, N_ACC, N_X, N_MEAN);
		vv(VMUL, N_ACC, N_ACC, N_RSTD);
	} else {
		vv(VMUL, N_ACC, N_X, N_RSTD);
	}
}

/* sum of centred squares over this core's features: accumulators 0 ... t-1 */
static inline void norm_squares(const struct wse_norm_args *a)
{
	uint32_t t = a->t, h = a->h - norm_pad(a->h, a->width), x = a->x, shaped = 0, n;
	uint32_t chunk = (norm_holds(t) ? HELD_MEAN : WSE_NACC) / t - 1;

	if (NORM_HAS(a->mean))
		norm_hold(HELD_MEAN, a->mean, t);
	acc_zero(0, t);
	for (; h; h -= n, x += 2 * n * t) {
		n = h < chunk ? h : chunk;
		if (n != shaped) {
			norm_chunk(x, a->mean, 0, t, n);
			wse_dsr_acc2(N_ACC, t, t, n, t);
			dsr_repeat_acc(N_SUM, 0, t, n);
			shaped = n;
		}
		wse_dsr_base(N_X, x, t, 2);
		if (NORM_HAS(a->mean))
			vv(VSUB, N_ACC, N_X, N_MEAN);
		else
			vv(VMOV, N_ACC, N_X, 0);
		vv(VMAC, N_SUM, N_ACC, N_ACC);
	}
}

static inline void norm_out(const struct wse_norm_args *a)
{
	const uint32_t *gain = (const uint32_t *)a->gain, *bias = (const uint32_t *)a->bias;
	uint32_t t = a->t, h = a->h, x = a->x, out = a->out, shaped = 0, n, i, acc;
	uint32_t biased = NORM_HAS(a->bias);
	uint32_t chunk = (norm_holds(t) ? HELD_MEAN : WSE_NACC) / t;

	norm_hold(HELD_RSTD, a->rstd, t);
	wse_dsr_acc(N_ONE, 0, t);
	wse_dsr_mem(N_OUT, out, WSE_DT_BF16, t, 2);
	for (; h; h -= n, x += 2 * n * t) {
		n = h < chunk ? h : chunk;
		if (n != shaped) {
			norm_chunk(x, a->mean, a->rstd, t, n);
			wse_dsr_acc2(N_ACC, 0, t, n, t);
			shaped = n;
		}
		wse_dsr_base(N_X, x, t, 2);
		norm_xhat(a->mean);
		for (i = n, acc = 0; i; i--, acc += t, out += 2 * t) {
			wse_dsr_base(N_ONE, acc, t, 1);
			if (!biased) {
				wse_dsr_base(N_OUT, out, t, 2);
				vs(VMUL, N_OUT, N_ONE, *gain++);
				continue;
			}
			vs(VMUL, N_ONE, N_ONE, *gain++);
			wse_dsr_base(N_OUT, out, t, 2);
			vs(VADD, N_OUT, N_ONE, *bias++);
		}
	}
}

static inline void norm_kernel(const struct wse_norm_args *a)
{
	uint32_t t = a->t;

	routes_ring();
	if (NORM_HAS(a->mean)) {
		acc_zero(0, t);
		dsr_repeat_acc(N_SUM, 0, t, a->h);
		dsr_rows(N_X, a->x, WSE_DT_BF16, t, a->h);
		vv(VADD, N_SUM, N_SUM, N_X);
		row_combine(a->mean, t, 0);
		wse_dsr_mem(N_ONE, a->mean, WSE_DT_FP32, t, 4);
		vs(VMUL, N_ONE, N_ONE, a->inv_width);
	}
	norm_squares(a);
	row_combine(a->rstd, t, 0);
	norm_rstd(a->rstd, t, a->inv_width, a->eps);
	norm_out(a);
	wse_wait(1);
}

/* sums over features: of dy * gain times xhat and, if x has a mean, of dy * gain before it */
static inline uint32_t norm_back_nsums(const struct wse_norm_back_args *a)
{
	return NORM_HAS(a->mean) ? 2 * a->t : a->t;
}

/*
 * First pass over the features: dy * xhat for the gain's gradient and, times the gain, for a sum
 * over features; dy for the bias's gradient; then dy * gain replaces dy and is summed over
 * features, too. The pass reads a gain before its gradient replaces it. Sums: accumulators 0 ...
 * 2t-1 (t-1 without a mean), or work where they do not fit.
 */
static inline void norm_back_sums(const struct wse_norm_back_args *a)
{
	uint32_t t = a->t, h = a->h, x = a->x, dy = a->dy, dgain = a->dgain, dbias = a->dbias, gain,
		 acc, n, i;
	uint32_t room = t <= WSE_NACC / 4, first = room ? 2 * t : 0, shaped = 0;
	uint32_t chunk = ((norm_holds(t) ? HELD_MEAN : WSE_NACC) - first) / 2 / t;
	uint32_t second = NORM_HAS(a->mean) ? t : 0, biased = NORM_HAS(a->dbias);

	if (NORM_HAS(a->mean))
		norm_hold(HELD_MEAN, a->mean, t);
	norm_hold(HELD_RSTD, a->rstd, t);
	acc_zero(0, 2 * t);
	wse_dsr_acc(N_OUT, second, t);
	wse_dsr_mem(N_MORE, a->work, WSE_DT_FP32, 2 * t, 4);
	if (!room) {
		vv(VMOV, N_MORE, N_ONE, 0);
		wse_dsr_mem(N_OUT, a->work + 4 * second, WSE_DT_FP32, t, 4);
	}
	wse_dsr_acc(N_ONE, 0, t);
	wse_dsr_acc(N_TWO, 0, t);
	wse_dsr_mem(N_DGAIN, dgain, WSE_DT_FP32, 1, 4);
	wse_dsr_mem(N_DBIAS, dbias, WSE_DT_FP32, 1, 4);
	for (; h; h -= n, x += 2 * n * t, dy += 4 * n * t) {
		n = h < chunk ? h : chunk;
		if (n != shaped) {
			norm_chunk(x, a->mean, a->rstd, t, n);
			wse_dsr_acc2(N_ACC, first, t, n, t);
			wse_dsr_acc2(N_MORE, first + n * t, t, n, t);
			dsr_rows(N_DY, dy, WSE_DT_FP32, t, n);
			if (room)
				dsr_repeat_acc(N_SUM, 0, t, n);
			else
				dsr_repeat(N_SUM, a->work, t, n);
			shaped = n;
		}
		wse_dsr_base(N_X, x, t, 2);
		wse_dsr_base(N_DY, dy, t, 4);
		vv(VMOV, N_MORE, N_DY, 0);
		norm_xhat(a->mean);
		vv(VMUL, N_ACC, N_ACC, N_MORE);
		for (i = n, acc = first; i; i--, acc += t) {
			gain = *(const uint32_t *)(a->gain + (dgain - a->dgain));
			wse_dsr_base(N_ONE, acc, t, 1);
			wse_dsr_base(N_TWO, acc + n * t, t, 1);
			wse_dsr_base(N_DGAIN, dgain, 1, 4);
			wse_dsr_base(N_DBIAS, dbias, 1, 4);
			vv(VRSUM, N_DGAIN, N_ONE, 0);
			if (biased)
				vv(VRSUM, N_DBIAS, N_TWO, 0);
			vs(VMAC, N_OUT, N_ONE, gain);
			vs(VMUL, N_TWO, N_TWO, gain);
			dgain += 4;
			dbias += 4;
		}
		if (NORM_HAS(a->mean))
			vv(VADD, N_SUM, N_SUM, N_MORE);
		vv(VMOV, N_DY, N_MORE, 0);
	}
	if (!room) {
		wse_dsr_acc(N_ONE, 0, 2 * t);
		wse_dsr_mem(N_MORE, a->work, WSE_DT_FP32, 2 * t, 4);
		vv(VMOV, N_ONE, N_MORE, 0);
	}
}

/*
 * second pass: dx. Rows of t in work: mean of dy * gain (if x has a mean), mean of that times xhat
 */
static inline void norm_back_dx(const struct wse_norm_back_args *a)
{
	uint32_t t = a->t, h = a->h, x = a->x, dy = a->dy, dres = a->dres, dres16 = a->dres16, n;
	uint32_t slope = a->work + (NORM_HAS(a->mean) ? 4 * t : 0);
	uint32_t half = norm_holds(t) ? HELD_MG / 2 : WSE_NACC / 2, chunk = half / t, shaped = 0;
	uint32_t pad = norm_pad(h, a->width);

	/* the factor of x - mean */
	wse_dsr_mem(N_ONE, slope, WSE_DT_FP32, t, 4);
	wse_dsr_mem(N_TWO, a->rstd, WSE_DT_FP32, t, 4);
	vv(VMUL, N_ONE, N_ONE, N_TWO);
	vv(VMUL, N_ONE, N_ONE, N_TWO);
	norm_hold(HELD_SLOPE, slope, t);
	norm_hold(HELD_MG, a->work, t);
	for (; h; h -= n, x += 2 * n * t, dy += 4 * n * t, dres += 4 * n * t, dres16 += 2 * n * t) {
		n = h > pad ? h - pad : h; /* a chunk has features or padding */
		n = n < chunk ? n : chunk;
		if (n != shaped) {
			norm_chunk(x, a->mean, a->rstd, t, n);
			norm_row(N_ONE, HELD_SLOPE, slope, t, n);
			norm_row(N_TWO, HELD_MG, a->work, t, n);
			wse_dsr_acc2(N_ACC, 0, t, n, t);
			wse_dsr_acc2(N_SUM, half, t, n, t);
			dsr_rows(N_DY, dy, WSE_DT_FP32, t, n);
			dsr_rows(N_OUT, dres, WSE_DT_FP32, t, n);
			dsr_rows(N_OUT2, dres16, WSE_DT_BF16, t, n);
			shaped = n;
		}
		wse_dsr_base(N_X, x, t, 2);
		wse_dsr_base(N_DY, dy, t, 4);
		wse_dsr_base(N_OUT, dres, t, 4);
		wse_dsr_base(N_OUT2, dres16, t, 2);
		if (NORM_HAS(a->mean)) {
			vv(VSUB, N_ACC, N_X, N_MEAN);
			vv(VMUL, N_ACC, N_ACC, N_ONE);
			vv(VSUB, N_SUM, N_DY, N_TWO);
			vv(VMUL, N_SUM, N_SUM, N_RSTD);
		} else {
			vv(VMUL, N_ACC, N_X, N_ONE);
			vv(VMUL, N_SUM, N_DY, N_RSTD);
		}
		vv(VSUB, N_ACC, N_SUM, N_ACC);
		if (a->add)
			vv(VADD, N_ACC, N_OUT, N_ACC);
		if (h <= pad) /* it would have the mean's part */
			vs(VAND, N_ACC, N_ACC, 0);
		vv(VMOV, N_OUT, N_ACC, 0);
		vv(VMOV, N_OUT2, N_ACC, 0);
	}
}

static inline void norm_back_kernel(const struct wse_norm_back_args *a)
{
	routes_ring();
	routes_column();
	norm_back_sums(a);
	wse_wait(1);
	column_sum(a->dgain, a->h);
	if (NORM_HAS(a->dbias))
		column_sum(a->dbias, a->h);
	row_combine(a->work, norm_back_nsums(a), 0);
	wse_dsr_mem(N_ONE, a->work, WSE_DT_FP32, norm_back_nsums(a), 4);
	vs(VMUL, N_ONE, N_ONE, a->inv_width);
	norm_back_dx(a);
	wse_wait(1 | 4);
}

#endif /* WSE_NORM_H */
