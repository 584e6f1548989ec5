/* SPDX-License-Identifier: MIT */
/*
 * Streamed linear layers: Y = X W^T with its pass over the sums, and dW = dY^T X. Arguments and
 * geometry: uapi/wse/wse_kernel.h. A program includes this header once.
 *
 * Weights arrive in blocks of b features, from each column's features in turn. A block's sums
 * travel once round the row: the core behind the owner begins, the owner comes last and keeps them.
 * When 2 * b * t <= 128 the accumulator file has two halves: the lanes fill one while mover 0
 * empties the other. The lanes and mover 0 get their next block as soon as its half is free, so
 * that the lanes find it waiting when they finish the last; what the scalar code has to prepare
 * comes behind both. The order of blocks is the same in every core, so a waiting core always waits
 * for one earlier in this order, which can proceed: no deadlock.
 *
 * The loop only issues control words that were made when the core's role changed. Bias, activation
 * and residual follow the last block, over all sums at once.
 *
 * A program that needs only a few passes first defines LINEAR_POSTS, a bit for each of enum
 * wse_post; any other pass is then a fault of the core.
 */
#ifndef WSE_LINEAR_H
#define WSE_LINEAR_H

#include "kernel.h"
#include "row.h"

#ifdef KERNELS_FULL
#include "swiglu.h"
#ifndef LINEAR_POSTS
#define LINEAR_POSTS	((2u << WSE_POST_SCALE) - 1)
#endif
#endif

#ifndef LINEAR_POSTS
#define LINEAR_POSTS	((2u << WSE_POST_GELU) - 1)
#endif

/* descriptors; the two halves are neighbours, and the first has an even number */
enum {
	L_STREAM = 0,
	L_X = 1,
	L_HALF = 2 /* and 3 */,
	L_IN = 4,
	L_OUT = 5,
	L_OWN = 6,
	L_DOTQ = 7,
	L_COLIN = 8,
	L_COLOUT = 9,
	L_SRC = 10,
	L_SUM = 11
};

/*
 * tasks that never run: their flags say that the lanes have finished a half; the first is even
 */
enum { T_HALF = 8 /* and 9 */ };

/* the field of a control word that names the half: flips it */
#define FLIP_LANES	(1u << WSE_TCW_DST_SHIFT | 1u << WSE_TCW_TASK_SHIFT)
#define FLIP_DST	(1u << WSE_TCW_DST_SHIFT)
#define FLIP_SRC1	(1u << WSE_TCW_SRC1_SHIFT)
#define FLIP_SRC2	(1u << WSE_TCW_SRC2_SHIFT)

#define ENG_L	(1u << WSE_ENGINE_L)
#define ENG_M0	(1u << WSE_ENGINE_M0)
#define ENG_M1	(1u << WSE_ENGINE_M1)

/* a control word of the first half, and the bits that make it the second half's */
struct word {
	uint32_t tcw, flip;
};

/* this core's place in the trip when column 0 owns the block, and for the next column's blocks */
static inline uint32_t first_place(uint32_t cols)
{
	uint32_t c = wse_col();

	return c ? c - 1 : cols - 1;
}

static inline uint32_t next_place(uint32_t place, uint32_t cols)
{
	return place ? place - 1 : cols - 1;
}

/*
 * Each half has a task's flag. A flag does not count, and the half gets no other block before the
 * flag was taken; the other half's is blocked meanwhile. The task of the half that comes first:
 */
static inline uint32_t halves_begin(uint32_t half)
{
	wse_task_block(T_HALF + (half ^ 1));
	return T_HALF + half;
}

/* behind wse_task_take(): the task of the half that comes next; flip 0: there is one */
static inline uint32_t next_half(uint32_t task, uint32_t flip)
{
	wse_task_block(task);
	task ^= flip;
	wse_task_unblock(task);
	return task;
}

static inline void halves_end(void)
{
	wse_task_unblock(T_HALF);
	wse_task_unblock(T_HALF + 1);
}

/*
 * descriptors of both products, in the order of their use: halves, the lanes' part, the row's part
 */
static inline void setup_halves(uint32_t bt)
{
	wse_dsr_acc(L_HALF, 0, bt);
	wse_dsr_acc(L_HALF + 1, bt, bt);
}

static __attribute__((noinline)) void setup_lanes(uint32_t x, uint32_t t, uint32_t k)
{
	routes_stream();
	wse_dsr_fabin(L_STREAM, WSE_COLOR_STREAM);
	wse_dsr_mem2(L_X, x, WSE_DT_BF16, t, 2, k, t * 2);
}

static __attribute__((noinline)) void setup_row(uint32_t bt)
{
	uint32_t c = wse_col(), cols = used_cols();

	routes_ring();
	wse_dsr_fabin(L_IN, ring_in(c));
	wse_dsr_fabout(L_OUT, ring_out(c, cols), bt);
}

/* ---- the pass over the sums, n = features * tokens of them, at y ---- */

/* y[f][t] += bias[f] */
static inline void post_bias(uint32_t y, uint32_t t, uint32_t features, const uint32_t *bias)
{
	wse_dsr_mem(D_A, y, WSE_DT_FP32, t, 4);
	for (; features; features--) {
		wse_dsr_base(D_A, y, t, 4);
		vs(VADD, D_A, D_A, *bias++);
		y += 4 * t;
	}
}

static inline void post_gelu(uint32_t y, uint32_t out, uint32_t deriv, uint32_t n, uint32_t erf)
{
	uint32_t shaped = 0, m;

	for (; n; n -= m, y += 4 * m, out += 2 * m, deriv += 2 * m) {
		m = n < 32 ? n : 32;
		if (m != shaped) {
			vgelu_setup(m);
			vec_mem(D_A, y, WSE_DT_FP32, m);
			vec_mem(D_B, out, WSE_DT_BF16, m);
			vec_mem(D_C, deriv, WSE_DT_BF16, m);
			shaped = m;
		}
		wse_dsr_base(D_A, y, 8, 4);
		wse_dsr_base(D_B, out, 8, 2);
		wse_dsr_base(D_C, deriv, 8, 2);
		vgelu(D_B, D_C, D_A, erf);
	}
}

/* out = bf16(y), the first features scaled */
static inline void post_bf16(const struct wse_linear_args *a, uint32_t t, uint32_t n)
{
	uint32_t scaled = a->nscale * t;

	if (scaled) {
		vec_mem(D_A, a->y, WSE_DT_FP32, scaled);
		vec_mem(D_B, a->out, WSE_DT_BF16, scaled);
		vs(VMUL, D_B, D_A, a->scale);
	}
	if (scaled < n) {
		vec_mem(D_A, a->y + 4 * scaled, WSE_DT_FP32, n - scaled);
		vec_mem(D_B, a->out + 2 * scaled, WSE_DT_BF16, n - scaled);
		vv(VMOV, D_B, D_A, 0);
	}
}

#define LINEAR_HAS(p, a)	((LINEAR_POSTS >> WSE_POST_##p & 1) && (a)->post == WSE_POST_##p)

static __attribute__((noinline)) void linear_post(const struct wse_linear_args *a)
{
	uint32_t t = a->t, features = a->nblk / used_cols() * a->b, n = features * t;

	if (a->bias)
		post_bias(a->y, t, features, (const uint32_t *)a->bias);
	if (!(LINEAR_POSTS >> a->post & 1))
		__builtin_trap();
	vec_mem(D_A, a->y, WSE_DT_FP32, n);
	vec_mem(D_B, a->out, WSE_DT_BF16, n);
	vec_mem(D_C, a->aux, a->post == WSE_POST_ADD32 ? WSE_DT_FP32 : WSE_DT_BF16, n);
	if (LINEAR_HAS(BF16, a))
		post_bf16(a, t, n);
	if (LINEAR_HAS(SCALE, a))
		vs(VMUL, D_A, D_A, a->scale);
	if (LINEAR_HAS(RELU, a)) {
		vec_const(D_K, vec_zero, n);
		vv(VMAX, D_B, D_K, D_A);
	}
	if (LINEAR_HAS(RELU2, a)) {
		vec_const(D_K, vec_zero, n);
		vec_mem(D_C, a->out2, WSE_DT_BF16, n);
		vv(VMAX, D_A, D_K, D_A);
		vv(VADD, D_C, D_A, D_A);
		vv(VMUL, D_B, D_A, D_A);
	}
	if (LINEAR_HAS(GELU, a) || LINEAR_HAS(GELU_NEW, a))
		post_gelu(a->y, a->out, a->out2, n, LINEAR_HAS(GELU, a));
	if (LINEAR_HAS(GATE, a))
		vv(VGATE, D_B, D_C, D_A);
	if (LINEAR_HAS(MUL, a))
		vv(VMUL, D_B, D_C, D_A);
	if (LINEAR_HAS(ADD16, a) || LINEAR_HAS(ADD32, a)) {
		vv(VADD, D_A, D_C, D_A);
		if (a->out2) {
			vec_mem(D_B, a->out2, WSE_DT_BF16, n);
			vv(VMOV, D_B, D_A, 0);
		}
	}
#ifdef KERNELS_FULL
	if (LINEAR_HAS(SWIGLU, a))
		post_swiglu(a->y, a->out, a->out2, n / 2);
	if (LINEAR_HAS(MUL2, a))
		post_mul2(a->y, a->out, a->aux, n);
#endif
}

/* ---- forward, and backward to the data with the transposed image ---- */

/* mover 0's instruction for a block's sums, by this core's place in their trip */
static inline struct word sum_word(uint32_t place, uint32_t cols)
{
	if (cols == 1)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, L_OWN, L_HALF, 0),
				     FLIP_SRC1};
	if (place == cols - 1)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, L_OWN, L_IN, L_HALF),
				     FLIP_SRC2};
	if (place)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, L_OUT, L_IN, L_HALF),
				     FLIP_SRC2};
	return (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, L_OUT, L_HALF, 0), FLIP_SRC1 };
}

static inline void linear_forward_kernel(const struct wse_linear_args *a)
{
	uint32_t cols = used_cols(), nblk = a->nblk, own = nblk / cols, b = a->b, bt = b * a->t;
	uint32_t overlap = 2 * bt <= WSE_NACC, y = a->y, place = first_place(cols), filled, i, o;
	uint32_t lanes = WSE_TCW(WSE_ENGINE_L, WSE_TOP_AXPY, L_HALF, L_STREAM, L_X) +
			 WSE_THEN(T_HALF) + WSE_CLEAR;

	setup_halves(bt);
	setup_lanes(a->x, a->t, a->k);
	wse_issue(lanes, b);
	if (overlap)
		lanes ^= FLIP_LANES;
	filled = halves_begin(0);
	setup_row(bt);
	wse_dsr_mem(L_OWN, y, WSE_DT_FP32, bt, 4);
	for (o = 0; o < cols; o++) {
		struct word w = sum_word(place, cols);
		uint32_t step = place == cols - 1 ? 4 * bt : 0;

		if (filled != T_HALF)
			w.tcw ^= w.flip;
		/* without a free half the next block waits until mover 0 has emptied this one */
		for (i = own; i; i--) {
			nblk--;
			if (overlap) {
				wse_wait(ENG_M0);
				if (nblk)
					wse_issue(lanes, b);
				wse_task_take();
				wse_issue(w.tcw, 0);
				lanes ^= FLIP_LANES;
				w.tcw ^= w.flip;
				filled = next_half(filled, 1);
			} else {
				wse_task_take();
				wse_issue(w.tcw, 0);
				wse_wait(ENG_M0);
				if (nblk)
					wse_issue(lanes, b);
			}
			if (step) {
				y += step;
				wse_dsr_base(L_OWN, y, bt, 4);
			}
		}
		place = next_place(place, cols);
	}
	halves_end();
	wse_wait(ENG_M0);
	linear_post(a);
	wse_wait(ENG_L);
}

/* ---- backward to the weights ---- */

/*
 * db[f] = sum over this core's tokens of dy[f][t]; meanwhile mover 1 still sends results of the
 * last block
 */
static inline void bias_sums(const struct wse_wgrad_args *a, uint32_t features)
{
	uint32_t dy = a->dy, db = a->db;

	wse_dsr_mem(L_SRC, dy, WSE_DT_BF16, a->t, 2);
	wse_dsr_mem(L_SUM, db, WSE_DT_FP32, 1, 4);
	for (; features; features--, dy += 2 * a->t, db += 4) {
		wse_dsr_base(L_SRC, dy, a->t, 2);
		wse_dsr_base(L_SUM, db, 1, 4);
		vv(VRSUM, L_SUM, L_SRC, 0);
	}
}

/*
 * the owner passes its dy round the ring, and every core keeps a copy in a half; the trip ends
 * before the owner
 */
static inline struct word copy_word(uint32_t place, uint32_t cols)
{
	if (cols == 1)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, L_HALF, L_OWN, 0),
				     FLIP_DST};
	if (place == cols - 1)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, L_OUT, L_OWN, L_HALF),
				     FLIP_SRC2};
	if (place < cols - 2)
		return (struct word){WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, L_OUT, L_IN, L_HALF),
				     FLIP_SRC2};
	return (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, L_HALF, L_IN, 0), FLIP_DST };
}

/*
 * descriptors for after the first block's dy: the lanes' part, and mover 1, which adds to the sums
 * from the north
 */
static __attribute__((noinline)) void wgrad_setup(const struct wse_wgrad_args *a)
{
	uint32_t r = wse_row();

	setup_lanes(a->x, a->t, a->k);
	routes_column();
	wse_dsr_fabin(L_COLIN, WSE_COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(L_COLOUT, WSE_COLOR_COL + (r & 1), a->nblk);
	wse_dsr_dotq(L_DOTQ);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, L_COLOUT, L_COLIN, L_DOTQ) +
				  WSE_UNTIL_END,
			  0);
	else
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, L_COLOUT, L_DOTQ, 0) + WSE_UNTIL_END,
			  0);
}

static inline void linear_wgrad_kernel(const struct wse_wgrad_args *a)
{
	uint32_t cols = used_cols(), own = a->nblk / cols, b = a->b, bt = b * a->t;
	uint32_t overlap = 2 * bt <= WSE_NACC, dy = a->dy, place = first_place(cols), begun = 0, o;
	uint32_t lanes =
		WSE_TCW(WSE_ENGINE_L, WSE_TOP_DOT, L_HALF, L_STREAM, L_X) + WSE_THEN(T_HALF);
	uint32_t used = halves_begin(overlap);

	/* as if the lanes had finished with the second half */
	if (overlap)
		wse_task_activate(used);
	setup_halves(bt);
	setup_row(bt);
	wse_dsr_mem(L_OWN, dy, WSE_DT_BF16, bt, 2);
	for (o = 0; o < cols; o++) {
		struct word w = copy_word(place, cols);
		uint32_t step = place == cols - 1 ? 2 * bt : 0, i = own;

		if (begun && used != T_HALF)
			w.tcw ^= w.flip;
		/*
		 * dy of the previous block is in its half: the lanes get that block, and mover 0
		 * gets this one once its half is free. What can wait comes behind both.
		 */
		do {
			if (begun++) {
				wse_wait(ENG_M0);
				wse_issue(lanes, b);
				wse_task_take();
				wse_issue(w.tcw, 0);
				if (overlap)
					lanes ^= FLIP_LANES;
				used = next_half(used, overlap);
			} else {
				wse_issue(w.tcw, 0);
				wgrad_setup(a);
			}
			if (overlap)
				w.tcw ^= w.flip;
			if (step) {
				dy += step;
				wse_dsr_base(L_OWN, dy, bt, 2);
			}
		} while (--i);
		place = next_place(place, cols);
	}
	wse_wait(ENG_M0);
	wse_issue(lanes, b);
	for (o = 0; o <= overlap; o++) {
		wse_task_take();
		used = next_half(used, overlap);
	}
	halves_end();
	if (a->db) {
		bias_sums(a, own * b);
		wse_wait(ENG_L);
		column_sum(a->db, own * b);
	}
	wse_wait(ENG_M1);
}

#endif /* WSE_LINEAR_H */
