/* SPDX-License-Identifier: MIT */
/*
 * A model as a wafer runs it: a list of operations over values and units, made by a model's builder
 * for one tile and one number of tokens per core. Executor, oracle, planner, MemoryX and SwarmX
 * walk this list and know no model.
 *
 *   value   what lies in the cores' SRAM: core (r, c) holds [rows][T] of it (features along x,
 *           tokens along y), or
 *           [rows] of a vector. It lives from the operation that makes it to the last one that
 *           reads it.
 *   unit    what streams: a weight matrix with its two images and its gradient, and vectors
 *           (biases, gains) that
 *           are copied in and whose gradients are copied out. MemoryX updates units in order of
 *           their number.
 *   op      an operation of a kind (ops/ops.h), with the values that it reads and writes.
 *
 * Includes go one way: graph <- ops <- model, exec <- memx, swarmx <- train.
 */
#ifndef WSE_GRAPH_GRAPH_H
#define WSE_GRAPH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <wse/model.h>

#include "graph/tensor.h"
#include "graph/tile.h"
#include "num/token.h"

struct wse_value {
	const char *what; /* for the plan: "activations", ... */
	enum wse_type type;
	enum wse_shape shape;
	uint32_t rows;
	uint32_t bytes; /* of a core, a multiple of 16 */
	/* bytes while the first operation runs: its sums lie in the same place */
	uint32_t bytes_at_start;
	uint32_t first, last; /* operations */
	uint32_t sram;	      /* offset */
};

/*
 * How attention's heads lie. A tensor has the queries of all heads, the keys of `kv` heads, their
 * values, d features each. Where `kv` is a multiple of COLS a column has kv / COLS of these heads
 * and the queries that share them; else COLS / kv columns have one, each d / (COLS / kv) features
 * of it and of every head of queries that shares it. In a column: queries by head, keys, values.
 * halves: of a head of queries or keys, feature i of the first `halves` stands before feature
 * i + halves / 2, as a pair.
 * real: the tensor has the first so many features of each head; the others have weights of 0. 0: d
 */
struct wse_heads {
	uint32_t heads, kv, d, halves; /* heads 0: none */
	uint32_t real;
};

/* columns that a head spans; heads of queries and of keys that such a group of columns has */
static inline uint32_t wse_heads_group(const struct wse_heads *h, uint32_t cols)
{
	return h->kv < cols ? cols / h->kv : 1;
}

static inline uint32_t wse_heads_of(uint32_t heads, uint32_t group, uint32_t cols)
{
	return (uint32_t)((uint64_t)heads * group / cols);
}

/*
 * vectors of a unit, packed for a copy: column c has [rows] floats, of each vector N / COLS in turn
 */
struct wse_unit_vec {
	uint32_t tensor;
	uint32_t at, rows;	/* floats of a column: where its part begins, and how many */
	uint32_t parts;		/* as a unit's: rows / parts of each of `parts` vectors */
	uint32_t chunks;	/* as a unit's of outputs: a chunk has its share of all parts */
	uint32_t real;		/* as a unit's real_outs; 0: all */
	struct wse_heads heads; /* as a unit's */
};

#define WSE_UNIT_VECS 16

struct wse_unit {
	uint32_t weight; /* tensor, WSE_NO_TENSOR: vectors alone */
	/* of the streamed matrix; outs may be padded beyond the tensor's rows */
	uint32_t outs, ins;
	/*
	 * parts > 1: the tensor is `parts` matrices of outs / parts rows, and a column owns its
	 * features of each: row (part p, column c, i) is row c * parts * h + p * h + i of the
	 * image, h = outs / parts / COLS
	 */
	uint32_t parts;
	/*
	 * A matrix that is used a chunk at a time: chunk j is a column's j-th share of its outputs
	 * (chunks_out) or inputs (chunks_in). In the image chunks lie one behind the other: (chunk
	 * j, column c, i) is row (element of a row) (j * COLS + c) * h + i, h the features of a
	 * column and chunk. Of parts and chunks only one is above 1, but that chunks of outputs may
	 * have parts: row (chunk j, column c, part p, i) is ((j * COLS + c) * parts + p) * h + i.
	 */
	uint32_t chunks_out, chunks_in;
	/*
	 * The way back to the data alone, in chunks of a column's inputs: in the transposed image
	 * (chunk j, column c, i) is row (j * COLS + c) * h + i, all else lies as without chunks.
	 * Sums are those of the whole matrix, a chunk at a time.
	 */
	uint32_t chunks_back;
	/*
	 * The matrix is wider than its tensor: of each part's outputs the first real_outs, of the
	 * inputs the first real_ins are in the tensor; the rest has weights of 0, which have no
	 * place there. 0: all are, but rows beyond the tensor's last one, where there are no parts.
	 * Heads are padded each (struct wse_heads)
	 */
	uint32_t real_outs, real_ins;
	/* chunks_out whose rows lie as in the tensor: row n is of chunk n / (outs / chunks_out) */
	uint32_t in_order;
	/* its rows are queries, keys and values; its inputs are what attention makes of them */
	struct wse_heads heads, in_heads;
	uint32_t nvec;
	struct wse_unit_vec vec[WSE_UNIT_VECS];
	uint32_t vec_rows;		/* floats of a column */
	double density;			/* of the matrix's weights that there are; 0: all */
	uint32_t linear;		/* all are there, and images lie as they are sent */
	uint32_t grad_first, grad_last; /* operations that write its gradient; UINT32_MAX: none */
};

#define WSE_OP_INS  7
#define WSE_OP_OUTS 4
#define WSE_OP_ARGS 6

struct wse_op {
	uint32_t kind;	  /* enum wse_op_kind, ops/ops.h */
	uint32_t unit;	  /* WSE_NO_UNIT: none */
	uint32_t program; /* number in graph.programs: in which the kernel is */
	/* values, WSE_NO_VALUE where there is none */
	uint32_t in[WSE_OP_INS], out[WSE_OP_OUTS];
	uint32_t arg[WSE_OP_ARGS];
};

/* a value that leaves the cores in the forward pass and comes back as another one later */
struct wse_spill {
	const char *what; /* for the plan */
	uint32_t value;
};

#define WSE_GRAPH_IO	   8
#define WSE_GRAPH_PROGRAMS 4

/*
 * a program of the cores, and where it may end: a constant, so that a plan does not depend on a
 * compiler
 */
struct wse_graph_program {
	const char *file;
	uint32_t end;
};

/* what goes in and out with each micro-batch, by number: a job has a span for each */
struct wse_io {
	const char *name;
	size_t bytes; /* of a micro-batch */
};

struct wse_graph {
	struct wse_tile tile;
	uint32_t t;	/* tokens of a core */
	uint32_t seq;	/* tokens of a sequence; 1: tokens do not know of each other */
	uint32_t nfeat; /* features of a block of the streams: 1, 2 or 4; nfeat * t <= 64 */
	struct wse_graph_program programs[WSE_GRAPH_PROGRAMS];
	uint32_t nprograms;
	struct wse_value *values;
	uint32_t nvalues;
	struct wse_unit *units;
	uint32_t nunits;
	struct wse_op *ops;
	uint32_t nops;
	/* by number; the memory that they go to is the executor's */
	struct wse_spill *spills;
	uint32_t nspills;
	/* graphs of one model with another order of sums have another; 0 or 1: the plain one */
	uint32_t variant;
	uint32_t parts; /* 1: rows share attention's backward pass, some sums are of two parts */
	uint32_t every; /* of so many blocks the first one's input is kept, for the plan; 0: all */
	uint32_t nforward; /* operations up to here are the forward pass, the loss included */
	/* no others are there: units have no gradient and no transposed image */
	uint32_t forward;
	struct wse_io in[WSE_GRAPH_IO], out[WSE_GRAPH_IO];
	uint32_t nin, nout;
	/* number of the input with the classes, of the output with the losses */
	uint32_t target, loss;
	/*
	 * the input with the scales of the loss, and their value: binary32 [T] in place of a
	 * micro-batch's scale, 0 for tokens that do not count; WSE_NO_VALUE: there are none
	 */
	uint32_t scale_in, scales;
	uint32_t logits;  /* number of the output with the logits, for text */
	uint32_t classes; /* that exist; the rest of the vocabulary is padding */
	/* classes of a column (and chunk, where logits come in chunks), padding included */
	uint32_t vocab_rows;
	uint32_t base;	/* first SRAM offset of the values */
	uint32_t total; /* bytes of a core, everything included */
	int failed;	/* -ENOMEM while building: wse_graph_finish() says so */
};

/* what a checkpoint says of a graph's order of sums (variant); 0 or 1: the plain one */
static inline uint32_t wse_graph_order(const struct wse_graph *g)
{
	return g->variant | g->parts << 16;
}

/* of a core: as many as a core has sums in its accumulators for a feature of a block */
#define WSE_TOKENS_MAX 64u

/* a width has at most so many features a column: the index of a wavelet has 14 bits */
#define WSE_COLUMN_MAX 16384u

/* above the data: stack and argument words */
#define WSE_GRAPH_TOP (1024u + 64u)

/* empty; nfeat by t. */
void wse_graph_init(struct wse_graph *g, const struct wse_tile *tile, uint32_t t);
void wse_graph_fini(struct wse_graph *g);

/*
 * chunks of outputs in the order of the tensor's rows: for a unit whose outputs no other matrix has
 * as inputs
 */
void wse_graph_chunks_in_order(struct wse_graph *g, uint32_t unit, uint32_t chunks);

/* the way back to the data in chunks: for a unit that has no others */
void wse_graph_chunks_back(struct wse_graph *g, uint32_t unit, uint32_t chunks);

/*
 * a matrix that is wider than its tensor: of each part's outputs and of the inputs, how many the
 * tensor has
 */
void wse_graph_pad(struct wse_graph *g, uint32_t unit, uint32_t real_outs, uint32_t real_ins);
/*
 * the unit's last vector lies as the outputs of a matrix in as many chunks, of which the tensor has
 * `real` of each part
 */
void wse_graph_vec_chunks(struct wse_graph *g, uint32_t unit, uint32_t chunks, uint32_t real);

/* rows (in: inputs) of a unit, or a vector, as heads lie */
void wse_graph_heads(struct wse_graph *g, uint32_t unit, const struct wse_heads *h, int in);
uint32_t wse_graph_vec_heads(struct wse_graph *g, uint32_t unit, uint32_t tensor,
			     const struct wse_heads *h);

/* another number of rows of a value that is there; wse_graph_place() comes after it */
void wse_graph_resize(struct wse_graph *g, uint32_t value, uint32_t rows);

/*
 * One more operation; an operation's own file fills it in. The calls that builders use are public
 * (wse/model.h); after a failure of memory all are harmless and wse_graph_finish() returns -ENOMEM.
 */
struct wse_op *wse_graph_op(struct wse_graph *g, uint32_t kind, uint32_t unit, uint32_t program);

/* one more spill; its number */
uint32_t wse_graph_spill(struct wse_graph *g, const char *what, uint32_t value);

/*
 * Lifetimes, the check of every operation (ops/ops.h does it through `check`), and SRAM places
 * (graph/place.h). the sentence names the operation. -EINVAL for a graph that is none (a value read
 * before it is made, made twice, never made; a unit that nothing uses, or whose widths do not
 * divide), -ENOMEM; -E2BIG when it does not fit into tile.sram, after which `total` and the places
 * are valid all the same.
 */
int wse_graph_finish(struct wse_graph *g,
		     int (*check)(const struct wse_graph *g, const struct wse_op *op),
		     const char *(*name)(uint32_t kind));

/* a chunk of a unit's matrix in its image: rows and elements of a row, from where and how many */
struct wse_slice {
	uint32_t out0, outs, in0, ins;
};
struct wse_slice wse_unit_slice(const struct wse_unit *u, uint32_t chunk);
/* the same in the transposed image: there inputs are rows */
struct wse_slice wse_unit_slice_back(const struct wse_unit *u, uint32_t chunk);

/* do its images lie as they are sent, where streams are LINEAR? */
static inline int wse_unit_packs(const struct wse_unit *u)
{
	return u->density > 0.0 || u->linear;
}

static inline double wse_unit_density(const struct wse_unit *u)
{
	return u->density > 0.0 ? u->density : 1.0;
}

/* multiply-adds of a token's forward pass that masks leave out */
double wse_graph_left_out(const struct wse_graph *g);

/*
 * floats of a unit's gradient buffer: [outs][ins], then [COLS][vec_rows]; bytes of its image buffer
 * and its parts
 */
size_t wse_unit_grad_floats(const struct wse_graph *g, const struct wse_unit *u);
/* bf16 [outs][ins], rounded to 64; the transposed one alike */
size_t wse_unit_fwd_bytes(const struct wse_unit *u);
/* both (forward: the one) and the vectors behind them */
size_t wse_unit_image_bytes(const struct wse_graph *g, const struct wse_unit *u);

/*
 * A unit's tensors lie in its buffers in pieces: piece i of tensor `which` (0: the matrix, 1 ...:
 * vectors) is `count` floats at tensor offset `from` and buffer offset `at`; of one that is all
 * padding count is 0. Returns 0 when there is no such piece.
 */
struct wse_piece {
	size_t from, at, count;
	/* floats from `at` on that are no other piece's: more than count are padding */
	size_t room;
};
int wse_unit_piece(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
		   const struct wse_tensor *t, size_t i, struct wse_piece *p);
/* floats of a unit's matrix, from the first one on, that a tensor's elements lie among */
size_t wse_unit_matrix_floats(const struct wse_unit *u, const struct wse_tensor *t);
/* elements of a row of the tensor */
static inline uint32_t wse_unit_tensor_ins(const struct wse_unit *u)
{
	if (u->in_heads.real)
		return u->in_heads.heads * u->in_heads.real;
	return u->real_ins ? u->real_ins : u->ins;
}
/* pieces of a row of the matrix, row by row; 0: a piece has whole rows */
size_t wse_unit_row_pieces(const struct wse_graph *g, const struct wse_unit *u);
/* the number of the piece that has element `from` of the tensor */
size_t wse_unit_piece_of(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
			 size_t from);

#endif
