/* SPDX-License-Identifier: MIT */
/* Emits random, valid tensor instructions for lockstep_tensor.c; x5, x6 are used up. */
#ifndef WSE_LOCKSTEP_OPS_H
#define WSE_LOCKSTEP_OPS_H

#include "lockstep.h"
#include "lockstep_asm.h"

/* SRAM of a core, absolute addresses. */
#define OPS_DATA 0x80008000u
#define OPS_L 0x80008000u /* 4 KiB: vector operands, x[k][t] */
#define OPS_L_BYTES 0x1000u
#define OPS_M0 0x80009000u /* 2 KiB for each mover: one half is read, the other written */
#define OPS_M1 0x80009800u
#define OPS_M_HALF 0x400u
#define OPS_DATA_BYTES 0x2000u
#define OPS_SCALAR 0x8000a000u /* data that scalar code receives */
#define OPS_SCALAR_BYTES 0x1000u
#define OPS_TASKS 0x8000b000u /* counters and digests of tasks */

struct op_shape {
	uint32_t tokens, acc;
};

void op_random_floats(struct rng *r, uint8_t *bytes,
		      uint32_t n); /* wide exponents, special values */
void op_fill_acc(struct code *c, struct rng *r);
void op_route(struct code *c, uint32_t color, uint32_t rx, uint32_t tx);
void op_wait(struct code *c, uint32_t mask);

void op_vector(struct code *c, struct rng *r); /* any operation of L on L's region */
/*
 * A loop of a few operations of L and the movers on their own regions. It uses x28 and does not
 * wait at its end.
 */
void op_loop(struct code *c, struct rng *r);
void op_local_move(struct code *c, struct rng *r,
		   uint32_t engine); /* MOVE, MADD, MTEE without fabric */
/* one instruction of an engine that does flag, ACTIVATE or UNBLOCK, with the task at its end */
void op_then(struct code *c, struct rng *r, uint32_t engine, uint32_t flag, uint32_t task);

/* M0 sends n elements and, with end, END. B not 0: wavelets of B features and K rows. */
void op_send(struct code *c, struct rng *r, uint32_t color, uint32_t n, bool end, uint32_t B,
	     uint32_t K);
void op_receive(struct code *c, struct rng *r, uint32_t color, uint32_t n,
		bool add); /* M1: n elements */
/* M1: n elements of color in to color out, added to its own store or stored there, too; then END */
void op_pass(struct code *c, struct rng *r, uint32_t in, uint32_t out, uint32_t n);
void op_axpy(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K,
	     struct op_shape *x);
void op_dot(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K);
void op_dotx(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K);
/* M1: n entries of the DOT queue by count, added to color add (negative: to the mover's own store,
 * or to nothing), to color out (negative: into the mover's own store) */
void op_take_dots(struct code *c, struct rng *r, uint32_t n, int add, int out);
/* M0: MIDX of F features and K rows, from row k0 on; returns the number of wavelets */
uint32_t op_send_index(struct code *c, struct rng *r, uint32_t color, uint32_t F, uint32_t K,
		       uint32_t k0, bool end);
/* M1: the DOT queue, added to color add unless that is negative, to color out, END behind it */
void op_drain_dot(struct code *c, struct rng *r, int add, uint32_t out);
void op_forward(struct code *c, struct rng *r, uint32_t in, uint32_t out); /* M1, until END */

/* For programs with faults. */
void op_dsr(struct code *c, uint32_t n, const uint32_t w[4]);
void op_issue(struct code *c, uint32_t tcw, uint32_t scalar);

#endif /* WSE_LOCKSTEP_OPS_H */
