/* SPDX-License-Identifier: MIT */
/*
 * Models: what is trained. Two are ready-made, an MLP and a GPT; one's own is a list of operations.
 *
 * A model reads text as tokens, numbers below `vocab`. A sample is `span` neighbouring tokens, the
 * targets, and the `window` tokens before the first of them. A micro-batch is T targets of whole
 * samples; token t is target t % span of sample t / span.
 *
 * Geometry: a tile of R x C cores holds a value of width N as [N / C][T / R] in each core: features
 * along the columns, tokens along the rows. On the host it is [N][T], row-major.
 *
 * A model does not change after it was made: any thread may use it.
 */
#ifndef WSE_WSE_MODEL_H
#define WSE_WSE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <wse/wse_post.h>

#pragma GCC visibility push(default) /* libwse.so exports what follows */
#ifdef __cplusplus
extern "C" {
#endif

struct wse_model;
struct wse_graph;

/*
 * Trainers keep the model that they use. NULL is ignored. -EBADF: it is no model, or was destroyed
 * before
 */
int wse_model_destroy(struct wse_model *model);

/* ---- ready-made models ---- */

enum wse_activation {
	WSE_RELU,
	WSE_GELU_NEW,	  /* GELU's tanh form: Hugging Face's gelu_new, approximate="tanh" */
	WSE_SQUARED_RELU, /* of a GPT alone */
	WSE_GELU,	  /* y Phi(y), by erf: PyTorch's and the Model Zoo's gelu */
};

/*
 * The last `window` tokens are looked up in an embedding table, concatenated, and go through linear
 * layers with an activation to a softmax. Widths (window * embed, hidden, vocab) are multiples of
 * 4 * C of the tile that it is trained on.
 */
struct wse_mlp_shape {
	uint32_t vocab;		/* 1 ... 65536 */
	uint32_t window;	/* tokens of context */
	uint32_t embed;		/* width of an embedding row */
	uint32_t nhidden;	/* hidden layers, 0 ... 31 */
	const uint32_t *hidden; /* [nhidden] their widths */
	uint32_t activation;	/* enum wse_activation */
	uint32_t resv[7];
};

/* -EINVAL	a size is 0 or out of range */
int wse_model_mlp(const struct wse_mlp_shape *shape, struct wse_model **model);

/*
 * A decoder-only transformer of GPT-2's form: learned positions, layer norm before each half of a
 * block, causal attention, a feed-forward layer, residuals. The plan says which sizes
 * a tile takes: its columns are a multiple or a divisor of the heads, or the model takes fewer of
 * them. Widths that do not divide over those are padded.
 */
struct wse_gpt_shape {
	uint32_t vocab;	    /* 1 ... 262144 */
	uint32_t positions; /* rows of the position table */
	uint32_t seq;	    /* tokens of a sequence in training; 0: positions */
	uint32_t hidden, layers, heads;
	uint32_t filter;     /* width of the feed-forward layer; 0: 4 * hidden */
	uint32_t activation; /* enum wse_activation */
	uint32_t untied;     /* 1: the output layer has weights of its own, 0: the embedding's */
	float eps;	     /* of the norms; 0: 1e-5 */
	float dev;	     /* standard deviation of initial weights; 0: 0.02 */
	uint32_t resv[5];
};

/* -EINVAL	a size is out of range, heads do not divide hidden, or seq is above positions */
int wse_model_gpt(const struct wse_gpt_shape *shape, struct wse_model **model);

/* ---- a model of one's own ---- */

/* A parameter: MemoryX keeps it, its moments and its gradient, and updates it after every step. */
struct wse_param {
	const char *name; /* in checkpoints; less than 64 characters, unique */
	uint32_t rows;
	uint32_t cols;	 /* [rows][cols]; 0: a vector [rows] */
	float mean, dev; /* initial values: mean + dev * normal(seed, parameter, element) */
	uint32_t flags;	 /* WSE_TENSOR_* */
	uint32_t resv[3];
};

enum wse_tensor_flags {
	WSE_TENSOR_DECAY = 1,	   /* weight decay applies */
	WSE_TENSOR_TRANSPOSED = 2, /* a Hugging Face file has it as [in][out]; ours is [out][in] */
	/* gather() reads it: it is updated before the next inputs are made */
	WSE_TENSOR_INPUT = 4,
};

/* One micro-batch, as gather() and scatter() see it. */
struct wse_batch {
	uint32_t tokens;   /* T */
	uint32_t nsamples; /* T / span */
	/* [nsamples] first target of each; [-window] ... [span - 1] are there */
	const uint16_t *const *samples;
	/* gather: [nparams]; NULL for parameters without WSE_TENSOR_INPUT */
	const float *const *param;
	/* [inputs], in order of wse_graph_in(); the targets are filled in already */
	void *const *in;
	const void *const *out; /* scatter: [outputs], as the cores made them */
	/* scatter: [nparams]; NULL for parameters without WSE_TENSOR_INPUT */
	float *const *grad;
};

struct wse_builder {
	/*
	 * Lists the operations of a micro-batch for a tile (wse_graph_tile()) and a number of
	 * tokens (wse_graph_tokens()), with the calls below. The planner calls it for every number
	 * of tokens that it tries, and again for the one that it takes; a result other than 0 is
	 * the error of that try. Where all numbers of tokens give -EINVAL, the planner tries the
	 * tile with a column less, and so on: widths need not divide by all columns of a device.
	 */
	int (*graph)(void *ctx, struct wse_graph *g);
	/*
	 * writes the inputs of a micro-batch, which depend on b alone. It is called when a device
	 * begins the micro-batch: within a step in any order, and again for one that is repeated
	 */
	void (*gather)(void *ctx, const struct wse_batch *b);
	/*
	 * adds up the gradients of what gather() read, from 0 on and in token order, of one
	 * micro-batch. It is called when the micro-batch is complete; NULL: there are none
	 */
	void (*scatter)(void *ctx, const struct wse_batch *b);
};

struct wse_model_shape {
	const char *name; /* in plans and checkpoints: another name is another model */
	uint32_t vocab, window, span;
	uint32_t nparams;
	const struct wse_param *params; /* [nparams] */
	uint64_t macs; /* multiply-adds of a token forward, for the plan's efficiency; 0: unknown */
	uint64_t resv[4];
};

/*
 * shape is copied; ops and ctx stay until the model and all trainers that use it are gone.
 * The thread that is in a call on params or trainer makes the callbacks, so one at a time for each
 * of these; a callback must not call them.
 *
 * -EINVAL	a size or a name is missing, out of range, or there twice
 */
int wse_model_create(const struct wse_model_shape *shape, const struct wse_builder *ops, void *ctx,
		     struct wse_model **model);

/* ---- the graph: values, units, operations ---- */

/*
 * A graph is filled in by graph() alone. Calls return numbers; after a failure they are harmless,
 * and the call that asked for the graph returns the error: which operation, and what does not fit.
 * Strings must live as long as the model.
 *
 * A value lies in the cores' SRAM from the operation that makes it to the last one that reads it;
 * the library finds its place. A unit is what streams: a weight matrix, and vectors (biases, gains)
 * that are copied in; each needs an operation that makes its gradient.
 */
struct wse_tile {
	uint32_t rows, cols;
	uint32_t lanes; /* 4 or 8: tokens of a core are a multiple */
	uint32_t sram;	/* bytes of a core; no sum depends on it */
	/* columns that share a bus to the host, 0: all; time alone depends on it */
	uint32_t group;
	uint32_t no_linear; /* the device has no LINEAR streams: likewise */
};

enum wse_type { WSE_TYPE_BF16, WSE_TYPE_F32, WSE_TYPE_U16, WSE_TYPE_BYTE, WSE_TYPE_U32 };

enum wse_shape {
	WSE_SHAPE_TOKENS, /* [rows][T] on each core: width rows * COLS, token index fastest */
	WSE_SHAPE_SHARED, /* [rows][T], the same in every column of a row */
	WSE_SHAPE_VECTOR, /* [rows] on each core, the same in every row */
	WSE_SHAPE_WORK,	  /* rows bytes of scratch for one operation */
};

#define WSE_NO_VALUE  UINT32_MAX
#define WSE_NO_UNIT   UINT32_MAX
#define WSE_NO_TENSOR UINT32_MAX
#define WSE_NO_BIAS   UINT32_MAX

void wse_graph_tile(const struct wse_graph *g, struct wse_tile *tile);
/* T, of all rows */
uint32_t wse_graph_tokens(const struct wse_graph *g);

/* sequences of seq tokens, for attention; without it tokens do not know of each other */
void wse_graph_sequence(struct wse_graph *g, uint32_t seq);

/* A program of the cores by its file name, and the SRAM offset where data may begin above it. */
uint32_t wse_graph_program(struct wse_graph *g, const char *file, uint32_t end);
/* the library's program with all kernels of the operations below */
uint32_t wse_graph_kernels(struct wse_graph *g);

/*
 * The targets as input u16 [T], the losses as output binary32 [T], the logits as output binary32
 * [width][T]: every model has them. width: vocab, or more where the last ones are padding. The
 * numbers of the input and of the output of the logits.
 */
void wse_graph_classes(struct wse_graph *g, uint32_t width, uint32_t *targets, uint32_t *logits);
/* One more input or output of every micro-batch, of so many bytes on the host; its number. */
uint32_t wse_graph_in(struct wse_graph *g, const char *name, size_t bytes);
uint32_t wse_graph_out(struct wse_graph *g, const char *name, size_t bytes);

/*
 * A unit whose matrix is parameter `weight` [outs][ins] (outs may be more: zeros), or one of
 * vectors alone (WSE_NO_TENSOR). parts > 1: the matrix is `parts` of outs / parts rows each, and a
 * column of cores owns its features of each (queries, keys and values).
 */
uint32_t wse_graph_unit(struct wse_graph *g, uint32_t weight, uint32_t outs, uint32_t ins,
			uint32_t parts);
/*
 * A unit without parts that is used a chunk at a time: of its outputs or of its inputs, at most one
 * of both above 1. Chunk j is each column's j-th share of them.
 */
void wse_graph_chunks(struct wse_graph *g, uint32_t unit, uint32_t chunks_out, uint32_t chunks_in);
/*
 * One more vector of a unit, in parts like its matrix; returns its place among the unit's vectors.
 */
uint32_t wse_graph_vec(struct wse_graph *g, uint32_t unit, uint32_t tensor, uint32_t width,
		       uint32_t parts);
/* A value that no operation below makes by itself; rows of a core. */
uint32_t wse_graph_value(struct wse_graph *g, const char *what, enum wse_type type,
			 enum wse_shape shape, uint32_t rows);

/*
 * Each adds one operation and returns the value that it makes; `rows` are features of a core (N /
 * C), `what` names the value in plans.
 */

/* input -> value; value -> output */
uint32_t wse_op_in(struct wse_graph *g, const char *what, uint32_t input, enum wse_type type,
		   enum wse_shape shape, uint32_t rows);
void wse_op_out(struct wse_graph *g, uint32_t output, uint32_t value);
/* a unit's vectors, binary32; their gradients, from a value of that shape */
uint32_t wse_op_vec_in(struct wse_graph *g, uint32_t unit);
void wse_op_vec_out(struct wse_graph *g, uint32_t unit, uint32_t grads);

/* y = pass(x W^T + b): the streamed product */
struct wse_linear_op {
	uint32_t program, unit;
	int back;	    /* to the data: with the transposed image */
	uint32_t x;	    /* bf16 */
	uint32_t vec, bias; /* value with the vectors, place of the bias in it; WSE_NO_BIAS */
	uint32_t post;	    /* enum wse_post */
	uint32_t aux;	    /* its second operand, or WSE_NO_VALUE */
	/* the result takes the place of aux, which ends; the sums are the operation's own */
	int over;
	float scale; /* WSE_POST_BF16 */
	uint32_t nscale;
	uint32_t chunk; /* of the unit */
	const char *what;
	uint32_t resv[4];
};

/*
 * out2: the second result, or NULL: GELU's derivative, SwiGLU's by both halves, or the bf16 copy of
 * WSE_POST_ADD*
 */
uint32_t wse_op_linear(struct wse_graph *g, const struct wse_linear_op *l, uint32_t *out2);
/*
 * dW of a unit into its gradient; db at `bias` of value vec, which is made if it is WSE_NO_VALUE.
 * Returns vec
 */
uint32_t wse_op_wgrad(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t x, uint32_t dy,
		      uint32_t vec, uint32_t bias);
/* the same for a chunk */
uint32_t wse_op_wgrad_chunk(struct wse_graph *g, uint32_t program, uint32_t unit, uint32_t chunk,
			    uint32_t x, uint32_t dy, uint32_t vec, uint32_t bias);

/* bf16(a + b) */
uint32_t wse_op_add(struct wse_graph *g, uint32_t program, uint32_t a, uint32_t b,
		    const char *what);

/* layer norm over the width; rms: RMS norm, of x without its mean */
struct wse_norm_op {
	uint32_t program;
	uint32_t x;		  /* bf16 */
	uint32_t vec, gain, bias; /* value with the vectors, places in it; bias: or WSE_NO_BIAS */
	float eps;
	uint32_t mean, rstd; /* out: kept for the backward pass; rms: no mean */
	uint32_t rms;
	/*
	 * features that are there, of all columns: those behind them are padding, whose x, gains
	 * and biases are 0, and stay so; 0: all are
	 */
	uint32_t width;
	uint32_t resv[2];
};

uint32_t wse_op_norm(struct wse_graph *g, struct wse_norm_op *n, const char *what);
/*
 * Backward: dy binary32, destroyed. Adds to *dres (binary32), or makes it if it is WSE_NO_VALUE;
 * the gradients of gain and bias go to the places of both in vec. Returns dres in bf16.
 */
uint32_t wse_op_norm_back(struct wse_graph *g, const struct wse_norm_op *n, uint32_t dy,
			  uint32_t *dres);

/* causal attention within sequences (wse_graph_sequence()) */
struct wse_attn_op {
	uint32_t program;
	uint32_t qkv;	     /* bf16, [3][heads * d] rows */
	uint32_t d, heads;   /* features of a head that a column has, heads of a column */
	uint32_t group;	     /* columns of a head */
	uint32_t max, recip; /* out: kept for the backward pass */
	/*
	 * heads of keys and values, each shared by heads / kv of queries; 0: heads. qkv has
	 * (heads + 2 kv) * d rows
	 */
	uint32_t kv;
	float scale; /* by which q is scaled already; 0: 1 / sqrt(d * group) */
	/* ALiBi: 1 + a value with a table of slopes (struct wse_attn_args); 0: there are none */
	uint32_t slopes;
	/* dropout of P: 1 + a value with a table (struct wse_drop_args); 0: there is none */
	uint32_t drop;
};

uint32_t wse_op_attn(struct wse_graph *g, struct wse_attn_op *a);
/* the gradients take the place of qkv; dout is destroyed */
void wse_op_attn_back(struct wse_graph *g, const struct wse_attn_op *a, uint32_t o, uint32_t dout);

/* Softmax and cross-entropy: dlogits, bf16; destroys the logits. The losses go to their output. */
uint32_t wse_op_loss(struct wse_graph *g, uint32_t program, uint32_t logits, uint32_t target);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* WSE_WSE_MODEL_H */
