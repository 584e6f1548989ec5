/* SPDX-License-Identifier: MIT */
/*
 * Streamed linear layers: Y = X W^T (+ bias, activation) and dW = dY^T X. Included by a program, once.
 *
 * Hidden along x, tokens along y: core (r, c) holds x[K][T] (bf16, k of its column, tokens of its row) and
 * ends with y[N / COLS][T] of the features that its column owns. Weights arrive in blocks of B features; the
 * accumulator file is used as two halves when 2 * B * T <= 128, so that summing a block along the row
 * overlaps with the next block's stream.
 *
 * Life of a block i in the forward pass: AXPY (lanes) -> task T_SUM issues the ring step (mover 0) -> task
 * T_NEXT, at the owner after bias and activation, gives the half back to AXPY of block i + 2.
 */
#ifndef WSE_LINEAR_H
#define WSE_LINEAR_H

#include "ring.h"

enum linear_act {
	ACT_NONE,
	ACT_RELU,
	ACT_GATE,	/* y where gate > 0, else 0: backward through ReLU */
	ACT_MUL,	/* y * gate: backward through GELU, gate is its derivative */
};

/* argument words of linear_forward; addresses are absolute, y and gate are [N / COLS][T] */
struct linear_args {
	uint32_t x;		/* bf16 [K][T] */
	uint32_t y;		/* [N / COLS][T], bf16 or binary32 by ytype */
	uint32_t t;		/* tokens per core: a multiple of the lanes */
	uint32_t k;		/* rows of x */
	uint32_t nblk;		/* blocks: N / B, a multiple of COLS */
	uint32_t b;		/* features per block: 1, 2 or 4; b * t <= 128 */
	uint32_t bias;		/* binary32 [N / COLS], or 0 */
	uint32_t act;		/* enum linear_act */
	uint32_t gate;		/* bf16, for ACT_GATE and ACT_MUL */
	uint32_t ytype;		/* WSE_DT_BF16 or WSE_DT_FP32 */
};

/* argument words of linear_wgrad */
struct wgrad_args {
	uint32_t x;		/* bf16 [K][T] */
	uint32_t dy;		/* bf16 [N / COLS][T] */
	uint32_t t, k, nblk, b;	/* as above */
};

/* argument words of linear_bgrad */
struct bgrad_args {
	uint32_t dy;		/* bf16 [n][T] */
	uint32_t db;		/* binary32 [n]: the sums; valid in the last row */
	uint32_t t;
	uint32_t n;		/* features of a column: N / COLS */
};

/*
 * Tasks: one of each kind per half. A task's flag does not count, and a half's next completion cannot come
 * before the last one was handled, so none is ever lost; where both halves are ready, blocks go in order.
 */
enum { T_SUM = 8 /* and 9 */, T_NEXT = 10 /* and 11 */, T_END = 12 };

/* descriptors; the two halves are neighbours so that a control word picks one by adding to its field */
#define WSE_TASK1	(1u << WSE_TCW_TASK_SHIFT)	/* added to a control word: the next task */

enum { D_STREAM = 0, D_X = 1, D_ACC = 2 /* and 3 */, D_IN = 4, D_OUT = 5, D_MEM = 6, D_ROW = 7, D_DOTQ = 8,
       D_COLIN = 9, D_COLOUT = 10 };

static struct {
	uint32_t issued;	/* blocks handed to the lanes (forward) or to mover 0 (wgrad) */
	uint32_t summed;	/* blocks handed to mover 0 (forward) or to the lanes (wgrad) */
	uint32_t next;		/* blocks whose half came back */
	uint32_t nblk;
	uint32_t own;		/* blocks that one column owns in a row */
	uint32_t pos, left;	/* place in the ring of the next block to sum (0 starts, cols - 1 owns), blocks left there */
	uint32_t npos, nleft;	/* the same for the next block whose half comes back */
	uint32_t cols;
	uint32_t halves;	/* 1 or 2 */
	uint32_t sum_ready, next_ready;	/* halves, as a mask, whose task has run but whose turn has not come */
	uint32_t t, b, bt;
	uint32_t mem, memstep;	/* next block's y (dy), bytes of a block */
	uint32_t esize;
	uint32_t bias, act, gate, ytype;
} L;

static const uint16_t linear_zero[WSE_NACC] __attribute__((aligned(16)));

static inline uint32_t half_of(uint32_t block)
{
	return L.halves == 2 ? block & 1 : 0;
}

static inline void place_next(uint32_t *pos, uint32_t *left)
{
	if (--*left)
		return;
	*left = L.own;
	*pos = *pos ? *pos - 1 : L.cols - 1;
}

/* runs fn for the half whose completion has come, and for the other one if that came too early */
static inline void in_order(uint32_t *ready, const uint32_t *count, uint32_t half, void (*fn)(uint32_t half))
{
	uint32_t h;

	*ready |= 1u << half;
	while (*ready & 1u << (h = half_of(*count))) {
		*ready &= ~(1u << h);
		fn(h);
	}
}

static inline void linear_setup(uint32_t x, uint32_t t, uint32_t k, uint32_t nblk, uint32_t b)
{
	uint32_t c = wse_col(), cols = wse_cols(), bt = b * t;

	L.issued = 0;
	L.summed = 0;
	L.next = 0;
	L.nblk = nblk;
	L.cols = cols;
	L.own = nblk / cols;
	/* block 0 is owned by column 0: its ring starts at column 1 */
	L.pos = c ? c - 1 : cols - 1;
	L.npos = L.pos;
	L.left = L.own;
	L.nleft = L.own;
	L.sum_ready = 0;
	L.next_ready = 0;
	L.halves = 2 * bt <= WSE_NACC ? 2 : 1;
	L.t = t;
	L.b = b;
	L.bt = bt;

	routes_stream();
	routes_ring();
	wse_dsr_fabin(D_STREAM, COLOR_STREAM);
	wse_dsr_mem2(D_X, x, WSE_DT_BF16, t, 2, k, t * 2);
	wse_dsr_acc(D_ACC, 0, bt);
	wse_dsr_acc(D_ACC + 1, bt, bt);
	wse_dsr_fabin(D_IN, ring_in(c));
	wse_dsr_fabout(D_OUT, ring_out(c, cols), bt);
}

/* ---- forward, and backward to the data with the transposed image ---- */

static inline void forward_axpy(void)
{
	uint32_t h = half_of(L.issued);

	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_AXPY, D_ACC, D_STREAM, D_X) + WSE_THEN(T_SUM) + WSE_CLEAR +
		  h * (WSE_TASK1 + (1u << WSE_TCW_DST_SHIFT)), L.b);
	L.issued++;
}

/* the lanes have finished block L.summed: send it round the ring */
static void forward_sum(uint32_t h)
{
	uint32_t plain = !L.bias && L.act == ACT_NONE, task = h * WSE_TASK1;

	if (L.pos == L.cols - 1) {
		uint32_t ring = L.cols > 1;
		uint32_t dst = plain ? D_MEM : D_ACC + h;

		if (plain) {
			wse_dsr_base(D_MEM, L.mem, L.bt, L.esize);
			L.mem += L.memstep;
		}
		if (ring)
			wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, 0, D_IN, D_ACC) + WSE_THEN(T_NEXT) + task +
				  (dst << WSE_TCW_DST_SHIFT) + (h << WSE_TCW_SRC2_SHIFT), 0);
		else
			wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, 0, D_ACC, 0) + WSE_THEN(T_NEXT) + task +
				  (dst << WSE_TCW_DST_SHIFT) + (h << WSE_TCW_SRC1_SHIFT), 0);
	} else if (L.pos) {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, D_OUT, D_IN, D_ACC) + WSE_THEN(T_NEXT) + task +
			  (h << WSE_TCW_SRC2_SHIFT), 0);
	} else {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_OUT, D_ACC, 0) + WSE_THEN(T_NEXT) + task +
			  (h << WSE_TCW_SRC1_SHIFT), 0);
	}
	L.summed++;
	place_next(&L.pos, &L.left);
}

/* bias and activation of the owner's block in half h, then to memory */
static inline void forward_finish(uint32_t h)
{
	uint32_t f, acc = h * L.bt;
	const uint32_t *bias = (const uint32_t *)L.bias;

	if (bias) {
		for (f = 0; f < L.b; f++) {
			wse_dsr_acc(D_ROW, acc + f * L.t, L.t);
			wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VADD, D_ROW, D_ROW, 0) + WSE_SCALAR, bias[f]);
		}
		L.bias += L.b * 4;
	}
	wse_dsr_base(D_MEM, L.mem, L.bt, L.esize);
	L.mem += L.memstep;
	if (L.act == ACT_RELU) {	/* max(0, y), 0 first so that a NaN gets through */
		wse_dsr_mem(D_ROW, linear_zero, WSE_DT_BF16, L.bt, 2);
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMAX, D_MEM, D_ROW, D_ACC) + (h << WSE_TCW_SRC2_SHIFT), 0);
	} else if (L.act == ACT_GATE || L.act == ACT_MUL) {
		uint32_t op = L.act == ACT_GATE ? WSE_TOP_VGATE : WSE_TOP_VMUL;

		wse_dsr_mem(D_ROW, L.gate, WSE_DT_BF16, L.bt, 2);
		L.gate += L.bt * 2;
		wse_issue(WSE_TCW(WSE_ENGINE_L, op, D_MEM, D_ROW, D_ACC) + (h << WSE_TCW_SRC2_SHIFT), 0);
	} else {
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMOV, D_MEM, D_ACC, 0) + (h << WSE_TCW_SRC1_SHIFT), 0);
	}
}

/* block L.next has left its half (or, at the owner, is complete in it) */
static void forward_next(uint32_t h)
{
	if (L.npos == L.cols - 1 && (L.bias || L.act != ACT_NONE))
		forward_finish(h);
	L.next++;
	place_next(&L.npos, &L.nleft);
	if (L.issued < L.nblk)
		forward_axpy();
	else if (L.next == L.nblk) {
		wse_wait(1);	/* the last vector operations */
		wse_done(0);
	}
}

/* the tasks: sum and next for each half (the dispatcher's data and info are not needed) */
static void forward_sum0(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.sum_ready, &L.summed, 0, forward_sum);
}

static void forward_sum1(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.sum_ready, &L.summed, 1, forward_sum);
}

static void forward_next0(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.next_ready, &L.next, 0, forward_next);
}

static void forward_next1(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.next_ready, &L.next, 1, forward_next);
}

/* start function: args of struct linear_args */
WSE_ENTRY void linear_forward(uint32_t args, uint32_t info)
{
	const struct linear_args *a = (const struct linear_args *)args;

	(void)info;
	linear_setup(a->x, a->t, a->k, a->nblk, a->b);
	L.esize = a->ytype == WSE_DT_BF16 ? 2 : 4;
	L.mem = a->y;
	L.memstep = L.bt * L.esize;
	L.bias = a->bias;
	L.act = a->act;
	L.gate = a->gate;
	wse_dsr_mem(D_MEM, a->y, a->ytype, L.bt, L.esize);
	wse_task_entry(T_SUM, forward_sum0);
	wse_task_entry(T_SUM + 1, forward_sum1);
	wse_task_entry(T_NEXT, forward_next0);
	wse_task_entry(T_NEXT + 1, forward_next1);
	forward_axpy();
	if (L.halves == 2 && L.nblk > 1)
		forward_axpy();
}

/* ---- backward to the weights ---- */

/* the owner passes its dy round the ring; everybody keeps a copy in half h */
static inline void wgrad_dy(void)
{
	uint32_t h = half_of(L.issued), pos = L.pos, task = h * WSE_TASK1;

	if (pos == L.cols - 1) {		/* the owner: it starts this ring */
		wse_dsr_base(D_MEM, L.mem, L.bt, 2);
		L.mem += L.memstep;
		if (L.cols > 1)
			wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, D_OUT, D_MEM, D_ACC) + WSE_THEN(T_SUM) + task +
				  (h << WSE_TCW_SRC2_SHIFT), 0);
		else
			wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_ACC, D_MEM, 0) + WSE_THEN(T_SUM) + task +
				  (h << WSE_TCW_DST_SHIFT), 0);
	} else if (pos == L.cols - 2) {		/* the owner's predecessor: the ring ends here */
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_ACC, D_IN, 0) + WSE_THEN(T_SUM) + task +
			  (h << WSE_TCW_DST_SHIFT), 0);
	} else {
		wse_issue(WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, D_OUT, D_IN, D_ACC) + WSE_THEN(T_SUM) + task +
			  (h << WSE_TCW_SRC2_SHIFT), 0);
	}
	L.issued++;
	place_next(&L.pos, &L.left);
}

/* dy of the next block is in half h */
static void wgrad_dot(uint32_t h)
{
	wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_DOT, D_ACC, D_STREAM, D_X) + WSE_THEN(T_NEXT) +
		  h * (WSE_TASK1 + (1u << WSE_TCW_DST_SHIFT)), L.b);
	L.summed++;
}

/* half h is free again */
static void wgrad_next(uint32_t h)
{
	(void)h;
	L.next++;
	if (L.issued < L.nblk)
		wgrad_dy();
}

static void wgrad_dot0(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.sum_ready, &L.summed, 0, wgrad_dot);
}

static void wgrad_dot1(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.sum_ready, &L.summed, 1, wgrad_dot);
}

static void wgrad_next0(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.next_ready, &L.next, 0, wgrad_next);
}

static void wgrad_next1(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	in_order(&L.next_ready, &L.next, 1, wgrad_next);
}

/* mover 1 has passed on the last sum */
static void wgrad_end(uint32_t data, uint32_t info)
{
	(void)data, (void)info;
	wse_done(0);
}

/* start function: args of struct wgrad_args */
WSE_ENTRY void linear_wgrad(uint32_t args, uint32_t info)
{
	const struct wgrad_args *a = (const struct wgrad_args *)args;
	uint32_t r = wse_row();

	(void)info;
	linear_setup(a->x, a->t, a->k, a->nblk, a->b);
	routes_column();
	L.mem = a->dy;
	L.memstep = L.bt * 2;
	wse_dsr_mem(D_MEM, a->dy, WSE_DT_BF16, L.bt, 2);
	wse_dsr_fabin(D_COLIN, COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(D_COLOUT, COLOR_COL + (r & 1), a->nblk);
	wse_dsr_dotq(D_DOTQ);
	wse_task_entry(T_SUM, wgrad_dot0);
	wse_task_entry(T_SUM + 1, wgrad_dot1);
	wse_task_entry(T_NEXT, wgrad_next0);
	wse_task_entry(T_NEXT + 1, wgrad_next1);
	wse_task_entry(T_END, wgrad_end);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, D_COLOUT, D_COLIN, D_DOTQ) + WSE_UNTIL_END +
			  WSE_THEN(T_END), 0);
	else
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_COLOUT, D_DOTQ, 0) + WSE_UNTIL_END +
			  WSE_THEN(T_END), 0);
	wgrad_dy();
	if (L.halves == 2 && L.nblk > 1)
		wgrad_dy();
}

/* ---- bias gradient: db[n] = sum over t of dy[n][t], lanes then tree, then north to south ---- */

/* start function: args of struct bgrad_args */
WSE_ENTRY void linear_bgrad(uint32_t args, uint32_t info)
{
	const struct bgrad_args *a = (const struct bgrad_args *)args;
	uint32_t r = wse_row(), last = r == wse_rows() - 1, i;

	(void)info;
	routes_column();
	for (i = 0; i < a->n; i++) {
		wse_dsr_mem(D_ROW, a->dy + i * a->t * 2, WSE_DT_BF16, a->t, 2);
		wse_dsr_mem(D_MEM, a->db + i * 4, WSE_DT_FP32, 1, 4);
		wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VRSUM, D_MEM, D_ROW, 0), 0);
	}
	wse_wait(1);
	wse_dsr_mem(D_MEM, a->db, WSE_DT_FP32, a->n, 4);
	wse_dsr_fabin(D_COLIN, COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(D_COLOUT, COLOR_COL + (r & 1), a->n);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, 0, D_COLIN, D_MEM) +
			  ((uint32_t)(last ? D_MEM : D_COLOUT) << WSE_TCW_DST_SHIFT), 0);
	else if (!last)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_COLOUT, D_MEM, 0), 0);
	wse_wait(4);
	wse_done(0);
}

#endif /* WSE_LINEAR_H */
