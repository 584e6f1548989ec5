/* SPDX-License-Identifier: MIT */
/*
 * The kinds of operations: one row a kind, one file an operation. A row holds all that anybody
 * needs of it: the check of its shapes, the commands of a micro-batch (emit), its scalar definition
 * (oracle), its cycles.
 *
 * The functions that add an operation to a graph are public: wse/model.h.
 */
#ifndef WSE_OPS_OPS_H
#define WSE_OPS_OPS_H

#include "graph/graph.h"
#include "ops/micro_batch.h"
#include "wse_kernel.h"

/* what the host does; those with a kernel are the lists of wse_kernel.h: X(KIND, name) */
#define WSE_HOST_OPS(X)                                                                     \
	X(IN, in)		/* host -> value */                                         \
	X(OUT, out)		/* value -> host */                                         \
	X(SPILL, spill)		/* value -> memory of the executor */                       \
	X(FILL, fill)		/* and back, some rows of cores of it */                    \
	X(WAIT, wait)		/* until a value has left, or is back */                    \
	X(VEC_IN, vec_in)	/* a unit's vectors */                                      \
	X(VEC_OUT, vec_out)	/* their gradients */                                       \
	X(LOSS_OUT, loss_out)	/* a token's loss is in the column that owns its target */

#define WSE_HOST_KIND(kind, name)	  WSE_OP_##kind,
#define WSE_KERNEL_KIND(kind, name, args) WSE_OP_##kind,
enum wse_op_kind {
	WSE_HOST_OPS(WSE_HOST_KIND) WSE_KERNELS(WSE_KERNEL_KIND) WSE_KERNELS_CHUNKS(WSE_KERNEL_KIND)
		WSE_KERNELS_FULL(WSE_KERNEL_KIND) WSE_KERNELS_DROP(WSE_KERNEL_KIND)
			WSE_KERNELS_PAST(WSE_KERNEL_KIND) WSE_OP_KINDS
};

struct wse_emit;
struct wse_oracle_run;

enum wse_grad_part { WSE_GRAD_MATRIX = 1, WSE_GRAD_VECTORS = 2 };

/* what an operation's cycles are spent on: the slowest of those that work on it */
enum wse_bound {
	WSE_BOUND_LANES,  /* multiply-adds */
	WSE_BOUND_TRIP,	  /* sums on their way round the row and down the columns */
	WSE_BOUND_PORT,	  /* the bus with weights or their gradients */
	WSE_BOUND_COPIES, /* the host interface, core by core */
	/* scalar code, wavelets and vectors of a core: what has no figures of its own */
	WSE_BOUND_CORE,
	WSE_BOUNDS
};

/* what a program must have beside the kernels of GPT-2's form: all forms; slopes; dropout, too */
enum wse_op_full { WSE_OP_PLAIN, WSE_OP_FULL, WSE_OP_SLOPES, WSE_OP_DROPS };

struct wse_op_type {
	const char *name;
	const char *entry;	/* start function of the kernel, NULL: no kernel */
	uint32_t writes_grad;	/* enum wse_grad_part: of its unit */
	/* optional: its form is in the programs with all kernels alone (ops.c) */
	enum wse_op_full (*full)(const struct wse_op *op);
	/* -EINVAL, and the sentence says which shape does not fit */
	int (*check)(const struct wse_graph *g, const struct wse_op *op);
	void (*emit)(struct wse_emit *e, const struct wse_op *op);
	int (*oracle)(struct wse_oracle_run *o, const struct wse_op *op);
	/* device cycles of one micro-batch, as the planner adds them up */
	uint64_t (*cycles)(const struct wse_graph *g, const struct wse_op *op);
	/* NULL: WSE_BOUND_CORE with a kernel, WSE_BOUND_COPIES without */
	enum wse_bound (*bound)(const struct wse_graph *g, const struct wse_op *op);
};

/* NULL: there is no such kind */
const struct wse_op_type *wse_op_type(uint32_t kind);
const char *wse_kind_name(uint32_t kind);
/* a linear layer on the way back, to its data */
int wse_linear_is_back(const struct wse_op *op);
/* which image of its unit an operation streams */
enum wse_image_part wse_op_image(const struct wse_op *op);
/* bytes of the weights that such a layer streams */
uint64_t wse_linear_image_bytes(const struct wse_graph *g, const struct wse_op *op);
/*
 * wse_graph_finish() with these kinds; also finds which operations write each unit's gradient:
 * -EINVAL when none does. A graph of the forward pass alone loses the operations after it first,
 * so that its builder need not know
 */
int wse_ops_finish(struct wse_graph *g);
/* the programs that it may put in place of those that a graph asks for; NULL: there are no more */
const struct wse_graph_program *wse_ops_program(uint32_t i);

/*
 * out = f(a, b), element by element: bf16 values of one shape, as those of WSE_OP_ADD; b may be
 * WSE_NO_VALUE
 */
uint32_t wse_op_map(struct wse_graph *g, enum wse_op_kind kind, uint32_t program, uint32_t a,
		    uint32_t b, const char *what);

/*
 * an input of so many rows for each of `group` columns, [group][rows][T]: the columns behind them
 * have the same, group by group
 */
uint32_t wse_op_in_group(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
			 uint32_t rows, uint32_t group);

/* an input that comes as several values, one behind the other: part 0 ... parts - 1 of it */
uint32_t wse_op_in_part(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
			enum wse_shape shape, uint32_t rows, uint32_t part, uint32_t parts);

/* an output whose rows are made in parts, one behind the other: part 0 ... parts - 1 of it */
void wse_op_out_part(struct wse_graph *g, uint32_t output, uint32_t value, uint32_t part,
		     uint32_t parts);

/*
 * Slopes of attention (ALiBi): a graph's input with their table [wse_attn_slope_rows()][tokens] for
 * so many heads of the tile. wse_attn_slopes() makes one whose slopes are 0, wse_attn_slope() gives
 * a head its own.
 */
uint32_t wse_op_slopes(struct wse_graph *g, uint32_t input, uint32_t heads);
void wse_attn_slopes(const struct wse_graph *g, uint32_t heads, float *table);
void wse_attn_slope(const struct wse_graph *g, uint32_t head, float slope, float *table);
/* number of that input of the operation */
#define WSE_ATTN_IN_SLOPES 5

/*
 * Attention of a row of cores to what came before: past bf16 [2][kv * d][longest] of a core, as
 * rows of T, count u16, shared (struct wse_attn_past_args). a: its d, heads, kv and group.
 */
uint32_t wse_op_attn_past(struct wse_graph *g, uint32_t program, uint32_t qkv, uint32_t past,
			  uint32_t count, const struct wse_attn_op *a);
/* predicted, of its START with a past of n rows in the row that has the longest */
uint64_t wse_op_attn_past_cycles(const struct wse_graph *g, const struct wse_op *op, uint32_t n);

/*
 * from here on losses have a scale a token, an input of the graph: before the loss, and after the
 * other inputs
 */
void wse_op_loss_scales(struct wse_graph *g);
/* the forward pass ends with it: the losses [T] of every column go out */
void wse_op_loss_out(struct wse_graph *g, uint32_t loss, uint32_t target);

/*
 * The loss of a vocabulary in chunks of `rows` classes a column; `first` is the class of a chunk.
 * Each destroys its logits. The first part makes the state (pass WSE_NO_VALUE), the others go on
 * with it; join sends the losses out.
 */
uint32_t wse_op_loss_part(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target,
			  uint32_t first, uint32_t state);
void wse_op_loss_join(struct wse_graph *g, uint32_t program, uint32_t target, uint32_t rows,
		      uint32_t state);
uint32_t wse_op_loss_grad(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target,
			  uint32_t first, uint32_t state);

#endif
