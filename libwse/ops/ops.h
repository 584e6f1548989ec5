/* SPDX-License-Identifier: MIT */
/*
 * The kinds of operations: one row a kind, one file an operation. A row holds all that anybody needs of it: the
 * check of its shapes, the commands of a micro-batch (emit), its scalar definition (oracle), its cycles.
 *
 * The functions below add an operation to a graph and return the number of the value that it makes. Shapes are
 * given in features of a core (rows).
 */
#ifndef WSE_OPS_OPS_H
#define WSE_OPS_OPS_H

#include "graph/graph.h"
#include "wse_kernel.h"

enum wse_op_kind {
	WSE_OP_IN,		/* host -> value */
	WSE_OP_OUT,		/* value -> host */
	WSE_OP_VEC_IN,		/* a unit's vectors */
	WSE_OP_VEC_OUT,		/* their gradients */
	WSE_OP_LINEAR,
	WSE_OP_WGRAD,
	WSE_OP_ADD,
	WSE_OP_NORM,
	WSE_OP_NORM_BACK,
	WSE_OP_ATTN,
	WSE_OP_ATTN_BACK,
	WSE_OP_LOSS,
	WSE_OP_LOSS_OUT,	/* a token's loss is in the column that owns its target */
	WSE_OP_KINDS
};

struct wse_emit;
struct wse_oracle_run;

enum wse_grad_part { WSE_GRAD_MATRIX = 1, WSE_GRAD_VECTORS = 2 };

struct wse_op_type {
	const char *name;
	const char *entry;	/* start function of the kernel, NULL: no kernel */
	uint32_t writes_grad;	/* enum wse_grad_part: of its unit */
	/* -EINVAL, and why [WSE_WHY] says which shape does not fit */
	int (*check)(const struct wse_graph *g, const struct wse_op *op, char *why);
	void (*emit)(struct wse_emit *e, const struct wse_op *op);
	int (*oracle)(struct wse_oracle_run *o, const struct wse_op *op);
	/* device cycles of one micro-batch, as the planner adds them up */
	uint64_t (*cycles)(const struct wse_graph *g, const struct wse_op *op);
};

/* NULL: there is no such kind */
const struct wse_op_type *wse_op_type(uint32_t kind);
const char *wse_kind_name(uint32_t kind);
/* wse_graph_finish() with these kinds; also finds which operations write each unit's gradient: -EINVAL when none does */
int wse_ops_finish(struct wse_graph *g, char *why);

/* ---- in and out ---- */
uint32_t wse_op_in(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type, enum wse_shape shape,
		   uint32_t rows);
void wse_op_out(struct wse_graph *g, uint32_t output, uint32_t value);
/* a unit's vectors, binary32 [unit.vec_rows]; their gradients, from a value of that shape */
uint32_t wse_op_vec_in(struct wse_graph *g, uint32_t unit);
void wse_op_vec_out(struct wse_graph *g, uint32_t unit, uint32_t grads);

/* ---- linear layers ---- */
#define WSE_NO_BIAS UINT32_MAX

struct wse_linear_op {
	uint32_t program, unit;
	int back;		/* to the data: with the transposed image */
	uint32_t x;		/* bf16 */
	uint32_t vec, bias;	/* value with the vectors, place of the bias in it; WSE_NO_BIAS */
	uint32_t post;		/* enum wse_post */
	uint32_t aux;
	int over;		/* the result takes the place of aux, which ends; the sums are the operation's own */
	float scale;		/* WSE_POST_BF16 */
	uint32_t nscale;
	uint32_t chunk;		/* of the unit */
	const char *what;	/* of the result, for the plan */
};

/* out2: the second result, or NULL: GELU's derivative, or the bf16 copy of WSE_POST_ADD* */
uint32_t wse_op_linear(struct wse_graph *g, const struct wse_linear_op *l, uint32_t *out2);
/* dW of a unit into its gradient; db at `bias` of value vec, which is made if it is WSE_NO_VALUE. Returns vec */
uint32_t wse_op_wgrad(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t x, uint32_t dy, uint32_t vec,
		      uint32_t bias);

uint32_t wse_op_wgrad_chunk(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t chunk, uint32_t x,
			    uint32_t dy, uint32_t vec, uint32_t bias);

/* ---- out = bf16(a + b) ---- */
uint32_t wse_op_add(struct wse_graph *g, uint32_t program, uint32_t a, uint32_t b, const char *what);

/* ---- layer norm over the width ---- */
struct wse_norm_op {
	uint32_t program;
	uint32_t x;		/* bf16 */
	uint32_t vec, gain, bias;	/* value with the vectors, places in it */
	float eps;
	uint32_t mean, rstd;	/* out: kept for the backward pass */
};

uint32_t wse_op_norm(struct wse_graph *g, struct wse_norm_op *n, const char *what);
/*
 * Backward: dy binary32, destroyed. Adds to *dres (binary32), or makes it if it is WSE_NO_VALUE; the gradients of gain
 * and bias go to the places of both in vec. Returns dres in bf16.
 */
uint32_t wse_op_norm_back(struct wse_graph *g, const struct wse_norm_op *n, uint32_t dy, uint32_t *dres);

/* ---- causal attention; sequences of g->seq tokens ---- */
struct wse_attn_op {
	uint32_t program;
	uint32_t qkv;		/* bf16, [3][heads * d] rows */
	uint32_t d, heads;	/* features of a head that a column has, heads of a column */
	uint32_t group;		/* columns of a head; more than 1 only if heads is 1 */
	uint32_t max, recip;	/* out: kept for the backward pass */
};

uint32_t wse_op_attn(struct wse_graph *g, struct wse_attn_op *a);
/* the gradients take the place of qkv; dout is destroyed */
void wse_op_attn_back(struct wse_graph *g, const struct wse_attn_op *a, uint32_t o, uint32_t dout);

/* ---- loss: dlogits, bf16; destroys the logits. The losses go to output g->loss ---- */
uint32_t wse_op_loss(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target);

#endif
