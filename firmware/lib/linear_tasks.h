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
 * T_NEXT, at the owner after bias and activation, gives the half back to AXPY of block i + 2. The lanes wait
 * for this code, so a task does no more than hand on a control word that was made when its place changed.
 */
#ifndef WSE_LINEAR_TASKS_H
#define WSE_LINEAR_TASKS_H

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

/*
 * Descriptors; the two halves are neighbours, as are their tasks, and each pair begins with an even number:
 * a control word goes from one half to the other by flipping a bit in some of its fields.
 */
#define FLIP_TASK	(1u << WSE_TCW_TASK_SHIFT)
#define FLIP_DST	(FLIP_TASK | 1u << WSE_TCW_DST_SHIFT)
#define FLIP_SRC1	(FLIP_TASK | 1u << WSE_TCW_SRC1_SHIFT)
#define FLIP_SRC2	(FLIP_TASK | 1u << WSE_TCW_SRC2_SHIFT)

enum { D_STREAM = 0, D_X = 1, D_ACC = 2 /* and 3 */, D_IN = 4, D_OUT = 5, D_MEM = 6, D_ROW = 7, D_DOTQ = 8,
       D_COLIN = 9, D_COLOUT = 10, D_ACT = 11 };

/* a control word that alternates between the halves */
struct word {
	uint32_t tcw, flip;	/* the next one; what to flip for the one after */
};

/* what a core does in the ring is one of these, by its place: 0 comes first, cols - 1 owns the block */
enum role { ROLE_EDGE, ROLE_MIDDLE, ROLE_OWNER };

/* the tasks of a kind whose flag was taken: halves as masks, bit h for half h */
struct turns {
	uint32_t ready;		/* the task has run, but its turn has not come */
	uint32_t turn;		/* whose turn it is */
};

static struct {
	struct word lanes;	/* AXPY or DOT */
	struct word ring;	/* mover 0 */
	uint32_t left;		/* blocks with this ring word */
	uint32_t base;		/* not 0: they need D_MEM at the next block's y (dy) */
	struct turns sum, next;
	uint32_t other;		/* flips a turn: 3, or 0 with one half */
	uint32_t nleft;		/* as left, for the next block whose half comes back */
	uint32_t nown;		/* not 0: finish those */
	uint32_t issued;	/* blocks not yet handed to the lanes (forward) or to mover 0 (wgrad) */
	uint32_t tail;		/* blocks in flight when all are */
	uint32_t t, b, bt;
	uint32_t mem, memstep;	/* next block's y (dy), bytes of a block */
	uint32_t esize;
	uint32_t own;		/* blocks that one column owns in a row */
	uint32_t pos, npos;	/* place in the ring: of the next block for mover 0, of the next that comes back */
	uint32_t cols;
	struct word role[3];
	uint32_t edge;		/* place of ROLE_EDGE */
	uint32_t owner_base;	/* base, for the owner */
	uint32_t finish;	/* the owner finishes a block by bias and activation: its last control word */
	uint32_t finish_flip;
	uint32_t bias, gate, gatestep;
} L;

static const uint16_t linear_zero[WSE_NACC] __attribute__((aligned(16)));

#define INLINE	static inline __attribute__((always_inline))

/* the next word of an alternating pair */
INLINE uint32_t flipped(struct word *w)
{
	uint32_t tcw = w->tcw;

	w->tcw = tcw ^ w->flip;
	return tcw;
}

INLINE uint32_t place_next(uint32_t pos)
{
	return pos ? pos - 1 : L.cols - 1;
}

/* mover 0's control word for blocks at place pos, of the half that the one before left off with */
static inline void ring_place(uint32_t pos)
{
	enum role r = pos == L.cols - 1 ? ROLE_OWNER : pos == L.edge ? ROLE_EDGE : ROLE_MIDDLE;
	uint32_t half = L.ring.tcw & FLIP_TASK;

	L.pos = pos;
	L.left = L.own;
	L.base = r == ROLE_OWNER ? L.owner_base : 0;
	L.ring = L.role[r];
	if (half)
		L.ring.tcw ^= L.ring.flip;
}

/* the next block's step in the ring */
INLINE void ring_step(void)
{
	if (L.base) {
		wse_dsr_base(D_MEM, L.mem, L.bt, L.esize);
		L.mem += L.memstep;
	}
	wse_issue(flipped(&L.ring), 0);
	if (!--L.left)
		ring_place(place_next(L.pos));
}

INLINE void lanes_step(void)
{
	wse_issue(flipped(&L.lanes), L.b);
}

/*
 * Runs fn(half's mask) for the half whose completion has come, and for the other one if that came too early:
 * blocks go in order.
 */
INLINE void in_order(struct turns *s, uint32_t half, void (*fn)(uint32_t half))
{
	uint32_t ready = s->ready | half, turn = s->turn;

	while (ready & turn) {
		ready &= ~turn;
		fn(turn);
		turn ^= L.other;
	}
	s->ready = ready;
	s->turn = turn;
}

static inline void linear_setup(uint32_t x, uint32_t t, uint32_t k, uint32_t nblk, uint32_t b, uint32_t lanes)
{
	uint32_t c = wse_col(), cols = wse_cols(), bt = b * t, i;

	L.cols = cols;
	L.own = nblk / cols;
	L.sum = (struct turns){ 0, 1 };
	L.next = (struct turns){ 0, 1 };
	L.other = 2 * bt <= WSE_NACC ? 3 : 0;
	L.issued = nblk;
	L.tail = L.other && nblk > 1 ? 2 : 1;
	L.t = t;
	L.b = b;
	L.bt = bt;
	L.lanes = (struct word){ lanes, FLIP_DST };
	if (!L.other) {
		L.lanes.flip = 0;
		for (i = 0; i < 3; i++)
			L.role[i].flip = 0;
	}
	/* block 0 is owned by column 0: its ring starts at column 1 */
	L.npos = c ? c - 1 : cols - 1;
	L.nleft = L.own;
	L.ring.tcw = 0;
	ring_place(L.npos);

	routes_stream();
	routes_ring();
	wse_dsr_fabin(D_STREAM, WSE_COLOR_STREAM);
	wse_dsr_mem2(D_X, x, WSE_DT_BF16, t, 2, k, t * 2);
	wse_dsr_acc(D_ACC, 0, bt);
	wse_dsr_acc(D_ACC + 1, bt, bt);
	wse_dsr_fabin(D_IN, ring_in(c));
	wse_dsr_fabout(D_OUT, ring_out(c, cols), bt);
}

/* ---- forward, and backward to the data with the transposed image ---- */

/* the lanes have finished a block: send it round the ring */
INLINE void forward_sum(uint32_t half)
{
	(void)half;
	ring_step();
}

/* bias and activation of the owner's block, then to memory */
INLINE void forward_finish(uint32_t half)
{
	uint32_t f, acc = half == 1 ? 0 : L.bt;
	const uint32_t *bias = (const uint32_t *)L.bias;

	if (bias) {
		for (f = 0; f < L.b; f++, acc += L.t) {
			wse_dsr_base(D_ROW, acc, L.t, 1);
			wse_issue(WSE_TCW(WSE_ENGINE_L, WSE_TOP_VADD, D_ROW, D_ROW, 0) + WSE_SCALAR, bias[f]);
		}
		L.bias = (uint32_t)(bias + f);
	}
	wse_dsr_base(D_MEM, L.mem, L.bt, L.esize);
	L.mem += L.memstep;
	if (L.gatestep) {
		wse_dsr_base(D_ACT, L.gate, L.bt, 2);
		L.gate += L.gatestep;
	}
	wse_issue(half == 1 ? L.finish : L.finish ^ L.finish_flip, 0);
}

/* a block has left its half (or, at the owner, is complete in it) */
INLINE void forward_next(uint32_t half)
{
	if (L.nown)
		forward_finish(half);
	if (!--L.nleft) {
		L.nleft = L.own;
		L.npos = place_next(L.npos);
		L.nown = L.npos == L.cols - 1 ? L.finish : 0;
	}
	if (L.issued) {
		L.issued--;
		lanes_step();
	} else if (!--L.tail) {
		wse_wait(1);	/* the last vector operations */
		wse_done(0);
	}
}

/* the tasks: sum and next for each half (the dispatcher's data and info are not needed) */
static __attribute__((noinline)) void forward_sums(uint32_t half)
{
	in_order(&L.sum, half, forward_sum);
}

static __attribute__((noinline)) void forward_nexts(uint32_t half)
{
	in_order(&L.next, half, forward_next);
}

#define TASKS_OF_HALVES(name)					\
	static void name##0(uint32_t data, uint32_t info)	\
	{							\
		(void)data, (void)info;				\
		name(1);					\
	}							\
	static void name##1(uint32_t data, uint32_t info)	\
	{							\
		(void)data, (void)info;				\
		name(2);					\
	}

TASKS_OF_HALVES(forward_sums)
TASKS_OF_HALVES(forward_nexts)

/* what the owner's last instruction of a block is, and what it needs beside D_MEM */
static inline void forward_activation(const struct linear_args *a)
{
	L.finish_flip = 1u << WSE_TCW_SRC2_SHIFT;
	L.bias = a->bias;
	L.gate = a->gate;
	L.gatestep = 0;
	wse_dsr_acc(D_ROW, 0, L.t);
	if (a->act == ACT_RELU) {	/* max(0, y), 0 first so that a NaN gets through */
		L.finish = WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMAX, D_MEM, D_ACT, D_ACC);
		wse_dsr_mem(D_ACT, linear_zero, WSE_DT_BF16, L.bt, 2);
	} else if (a->act == ACT_GATE || a->act == ACT_MUL) {
		uint32_t op = a->act == ACT_GATE ? WSE_TOP_VGATE : WSE_TOP_VMUL;

		L.finish = WSE_TCW(WSE_ENGINE_L, op, D_MEM, D_ACT, D_ACC);
		L.gatestep = L.bt * 2;
		wse_dsr_mem(D_ACT, a->gate, WSE_DT_BF16, L.bt, 2);
	} else if (a->bias) {
		L.finish = WSE_TCW(WSE_ENGINE_L, WSE_TOP_VMOV, D_MEM, D_ACC, 0);
		L.finish_flip = 1u << WSE_TCW_SRC1_SHIFT;
	} else {
		L.finish = 0;	/* mover 0 writes y */
	}
}

/* start function: args of struct linear_args */
WSE_ENTRY void linear_forward(uint32_t args, uint32_t info)
{
	const struct linear_args *a = (const struct linear_args *)args;
	uint32_t i;

	(void)info;
	L.t = a->t;
	L.bt = a->b * a->t;
	forward_activation(a);
	/* place 0 starts the sum, the owner takes it from its half, or straight to y */
	L.edge = 0;
	L.role[ROLE_EDGE] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_OUT, D_ACC, 0), FLIP_SRC1 };
	L.role[ROLE_MIDDLE] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, D_OUT, D_IN, D_ACC), FLIP_SRC2 };
	if (wse_cols() > 1)
		L.role[ROLE_OWNER] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MADD, D_ACC, D_IN, D_ACC),
						    FLIP_DST | FLIP_SRC2 };
	else
		L.role[ROLE_OWNER] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_ACC, D_ACC, 0),
						    FLIP_DST | FLIP_SRC1 };
	L.owner_base = !L.finish;
	if (!L.finish) {
		L.role[ROLE_OWNER].tcw += (D_MEM - D_ACC) << WSE_TCW_DST_SHIFT;
		L.role[ROLE_OWNER].flip &= ~FLIP_DST | FLIP_TASK;
	}
	for (i = 0; i < 3; i++)
		L.role[i].tcw += WSE_THEN(T_NEXT);
	linear_setup(a->x, a->t, a->k, a->nblk, a->b,
		     WSE_TCW(WSE_ENGINE_L, WSE_TOP_AXPY, D_ACC, D_STREAM, D_X) + WSE_THEN(T_SUM) + WSE_CLEAR);
	L.nown = L.npos == L.cols - 1 ? L.finish : 0;
	L.esize = a->ytype == WSE_DT_BF16 ? 2 : 4;
	L.mem = a->y;
	L.memstep = L.bt * L.esize;
	wse_dsr_mem(D_MEM, a->y, a->ytype, L.bt, L.esize);
	wse_task_entry(T_SUM, forward_sums0);
	wse_task_entry(T_SUM + 1, forward_sums1);
	wse_task_entry(T_NEXT, forward_nexts0);
	wse_task_entry(T_NEXT + 1, forward_nexts1);
	L.issued -= L.tail;
	for (i = 0; i < L.tail; i++)
		lanes_step();
}

/*
 * ---- backward to the weights ----
 *
 * The owner passes its dy round the ring, everybody keeps a copy in a half; the ring ends before the owner.
 */

/* dy of the next block is in its half */
INLINE void wgrad_dot(uint32_t half)
{
	(void)half;
	lanes_step();
}

/* a half is free again */
INLINE void wgrad_next(uint32_t half)
{
	(void)half;
	if (L.issued) {
		L.issued--;
		ring_step();
	}
}

static __attribute__((noinline)) void wgrad_dots(uint32_t half)
{
	in_order(&L.sum, half, wgrad_dot);
}

static __attribute__((noinline)) void wgrad_nexts(uint32_t half)
{
	in_order(&L.next, half, wgrad_next);
}

TASKS_OF_HALVES(wgrad_dots)
TASKS_OF_HALVES(wgrad_nexts)

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
	uint32_t r = wse_row(), i;

	(void)info;
	L.edge = wse_cols() - 2;
	L.role[ROLE_EDGE] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_ACC, D_IN, 0), FLIP_DST };
	L.role[ROLE_MIDDLE] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, D_OUT, D_IN, D_ACC), FLIP_SRC2 };
	if (wse_cols() > 1)
		L.role[ROLE_OWNER] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MTEE, D_OUT, D_MEM, D_ACC),
						    FLIP_SRC2 };
	else
		L.role[ROLE_OWNER] = (struct word){ WSE_TCW(WSE_ENGINE_M0, WSE_TOP_MOVE, D_ACC, D_MEM, 0),
						    FLIP_DST };
	L.owner_base = 1;
	for (i = 0; i < 3; i++)
		L.role[i].tcw += WSE_THEN(T_SUM);
	linear_setup(a->x, a->t, a->k, a->nblk, a->b,
		     WSE_TCW(WSE_ENGINE_L, WSE_TOP_DOT, D_ACC, D_STREAM, D_X) + WSE_THEN(T_NEXT));
	routes_column();
	L.esize = 2;
	L.mem = a->dy;
	L.memstep = L.bt * 2;
	wse_dsr_mem(D_MEM, a->dy, WSE_DT_BF16, L.bt, 2);
	wse_dsr_fabin(D_COLIN, WSE_COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(D_COLOUT, WSE_COLOR_COL + (r & 1), a->nblk);
	wse_dsr_dotq(D_DOTQ);
	wse_task_entry(T_SUM, wgrad_dots0);
	wse_task_entry(T_SUM + 1, wgrad_dots1);
	wse_task_entry(T_NEXT, wgrad_nexts0);
	wse_task_entry(T_NEXT + 1, wgrad_nexts1);
	wse_task_entry(T_END, wgrad_end);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, D_COLOUT, D_COLIN, D_DOTQ) + WSE_UNTIL_END +
			  WSE_THEN(T_END), 0);
	else
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_COLOUT, D_DOTQ, 0) + WSE_UNTIL_END +
			  WSE_THEN(T_END), 0);
	L.issued -= L.tail;
	for (i = 0; i < L.tail; i++)
		ring_step();
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
	wse_dsr_fabin(D_COLIN, WSE_COLOR_COL + ((r - 1) & 1));
	wse_dsr_fabout(D_COLOUT, WSE_COLOR_COL + (r & 1), a->n);
	if (r)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MADD, 0, D_COLIN, D_MEM) +
			  ((uint32_t)(last ? D_MEM : D_COLOUT) << WSE_TCW_DST_SHIFT), 0);
	else if (!last)
		wse_issue(WSE_TCW(WSE_ENGINE_M1, WSE_TOP_MOVE, D_COLOUT, D_MEM, 0), 0);
	wse_wait(4);
	wse_done(0);
}

#endif /* WSE_LINEAR_TASKS_H */
