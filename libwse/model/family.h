/* SPDX-License-Identifier: MIT */
/*
 * A model: its parameters, how its graph is built for a tile, and what of the text goes in and
 * comes back. One row of functions a family (mlp.c, gpt.c); everything else walks the tensor table
 * and the graph.
 *
 * A sample is `span` targets and the `window` tokens before the first of them, found by its number
 * (input/data.h). Token t of a micro-batch is target t % span of its sample t / span.
 */
#ifndef WSE_MODEL_FAMILY_H
#define WSE_MODEL_FAMILY_H

#include "graph/graph.h"
#include "graph/rows.h"
#include "ops/micro_batch.h"

struct wse_model;

#define WSE_LEAVES 4

/*
 * What a tensor with WSE_TENSOR_INPUT is gathered from: binary32 in its own order, or rows of its
 * unit's image, which are bf16 of the same. A family with leaf takes either (f32 NULL: the image),
 * any other gets f32
 */
struct wse_input {
	const float *f32;
	const uint16_t *bf16;
};

/* where the host's part of a micro-batch's gradient of a tensor goes */
struct wse_leaf {
	float *grad;	       /* added to: its unit's gradient, rows in the tensor's own order */
	struct wse_rows *rows; /* grad NULL, the tensor is in no unit: filled in */
};

struct wse_model_family {
	const char *name;
	/* the parameters; -ENOMEM */
	int (*tensors)(const struct wse_model *m, struct wse_tensor_table *tab);
	/*
	 * the operations for a tile with t tokens a core, finished (wse_ops_finish); mode: 0 ...
	 * modes - 1, from the fewest cycles to the fewest bytes; those from `last` on are for
	 * models that fit with no t otherwise. -EINVAL, -E2BIG as there, in the model's words. A
	 * mode that is none for these sizes is -EINVAL, too: others may go
	 */
	int (*graph)(const struct wse_model *m, const struct wse_tile *tile, uint32_t t,
		     uint32_t mode, struct wse_graph *g);
	/*
	 * optional: -EINVAL when no number of tokens goes with this tile, and the sentence with the
	 * nearest sizes that do: "...: choose ..."; say 0: the error alone. graph() asks it first
	 */
	int (*sizes)(const struct wse_model *m, const struct wse_tile *tile, int say);
	/*
	 * with sizes: the nearest model to this one whose sizes go with the tile, at most n units
	 * wide; what [size] names those that are others, as errors do: "hidden_size 64 and
	 * num_heads 4". -ERANGE: n does not make it narrower; -EINVAL: there is none
	 */
	int (*resize)(const struct wse_model *m, const struct wse_tile *tile, uint32_t n,
		      struct wse_model *to, char *what, size_t size);
	/*
	 * optional: a model of few layers of the same sizes, which takes no more bytes in any mode
	 * from `last` on. The planner tries it first, for a graph of many layers takes long
	 */
	void (*shallow)(const struct wse_model *m, struct wse_model *to);
	/* one line for checkpoints: what makes two models the same */
	void (*describe)(const struct wse_model *m, char *text, size_t size);
	/*
	 * the inputs of a micro-batch (targets excepted) from in [tensor] and the tokens before its
	 * targets
	 */
	void (*gather)(const struct wse_model *m, const struct wse_graph *g,
		       const struct wse_input *in, const uint16_t *const *samples,
		       struct wse_micro_batch *job);
	/*
	 * The gradient of one micro-batch's inputs as a part of its leaf of the tree, so that
	 * inputs and outputs live no longer than their micro-batch. leaf [i] is of the i-th tensor
	 * with WSE_TENSOR_INPUT; at most WSE_LEAVES. gather and leaf are called by the devices'
	 * threads. -ENOMEM
	 */
	int (*leaf)(const struct wse_model *m, const struct wse_graph *g,
		    const struct wse_micro_batch *job, const uint16_t *const *samples,
		    const struct wse_leaf *leaf);
	/*
	 * Instead of leaf, for callbacks of a user's: adds it onto grad [tensor][...], which is 0,
	 * in token order; NULL for a tensor without WSE_TENSOR_INPUT. Rows with a bit set are the
	 * micro-batch's leaf then. gather and scatter are called by the thread that is in a call on
	 * the session
	 */
	void (*scatter)(const struct wse_model *m, const struct wse_graph *g,
			const struct wse_micro_batch *job, const uint16_t *const *samples,
			float *const *grad);
	/*
	 * optional: where a NaN came from, by a plain forward on the host of token t; a name, NULL:
	 * nowhere
	 */
	const char *(*find_nonfinite)(const struct wse_model *m, const struct wse_tensor_table *tab,
				      const float *params, const struct wse_graph *g,
				      const struct wse_micro_batch *job, uint32_t t);
	/* optional: which tensors have a part of the learning rate, in words; "": none */
	void (*rates)(const struct wse_model *m, char *text, size_t size);
	/* optional: what training drops, in words; "": nothing */
	void (*dropout)(const struct wse_model *m, char *text, size_t size);
	/* multiply-adds of the forward pass for one token; a training step does 3 x as many */
	uint64_t (*macs)(const struct wse_model *m);
	uint32_t modes;
	uint32_t last; /* 0: none */
	/* so many of them, from `last` on, have the same bits: the one of the fewest cycles goes */
	uint32_t alike;
};

struct wse_model {
	const struct wse_model_family *family;
	uint32_t vocab;	       /* tokens are below it */
	uint32_t window, span; /* of a sample */
	uint32_t mode;	       /* the first that the planner tries; 0: all */
	uint32_t forward;      /* its graphs are the forward pass alone: struct wse_graph */
	uint32_t masked;       /* some tokens do not count: a loss has a scale a token */
	/* logits are the output layer's sums times this, which their gradient takes, too; 0: 1 */
	float logits_scale;
	_Alignas(8) unsigned char family_data[256]; /* the family's own struct */
};

#endif
