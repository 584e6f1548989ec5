/* SPDX-License-Identifier: MIT */
/* What the builder of a GPT's graph (gpt.c) and that of its blocks (gpt_block.c) share. */
#ifndef WSE_MODEL_GPT_BUILD_H
#define WSE_MODEL_GPT_BUILD_H

#include "model/gpt.h"
#include "model/gpt_sizes.h"
#include "model/gpt_tensors.h"
#include "ops/drop.h"
#include "ops/ops.h"
#include "ops/spill.h"

/* how much of a block is kept for the backward pass */
enum keep {
	KEEP_ALL,
	KEEP_ATTENTION, /* norms and FFN are made again */
	KEEP_INPUT,	/* all but the second FFN layer is */
	SPILL_INPUT	/* as well, and the block's input leaves the cores until then */
};

struct block;

enum phase { FORWARD, LOSS, BACKWARD };

struct build {
	struct wse_graph *g;
	const struct wse_gpt *m;
	uint32_t cols, hidden;	       /* hidden: with its padding */
	uint32_t programs[3], program; /* by phase; the one of the operations that are added */
	enum keep keep;
	/* inputs of blocks 0, every, ... are kept, and of those behind the last such; 0: of all */
	uint32_t every;
	/* with SPILL_INPUT: copies run beside kernels, which takes room for a second input */
	int beside;
	struct block *below; /* whose input comes back meanwhile; NULL: none */
	uint32_t chunks, chunk;
	uint32_t angles; /* value with the table of rotary positions */
	uint32_t slopes; /* with that of the heads' slopes */
	struct wse_gpt_head head;
	uint32_t head_unit, head_vec, head_bias; /* value of its biases and their place */
};

/*
 * places of a block's vectors in a column, in floats; WSE_NO_BIAS where the form has none
 */
struct vectors {
	uint32_t ln1_g, ln1_b, qkv, proj, ln2_g, ln2_b, fc, fc2;
};

struct block {
	uint32_t layer;
	uint32_t vec_unit, qkv_unit, proj_unit, fc_unit, fc2_unit;
	struct vectors at;
	/*
	 * values of the forward pass that the backward pass reads; made again if they are not kept
	 */
	uint32_t x; /* bf16: the residual at the block's beginning */
	uint32_t spill;
	/* of its input, while the block above goes back: rows that come so far, weights done */
	uint32_t rows_back;
	uint64_t weights_done;
	struct wse_norm_op ln1, ln2;
	struct wse_attn_op attn;
	uint32_t a, o, mid, c, g, deriv;
};

/* where in the model something is dropped: numbers of places */
enum { DROP_EMBED, DROP_ATTENTION, DROP_PROJ, DROP_FFN, DROP_PLACES = DROP_FFN };

/* in a graph of the forward pass alone nothing is */
static inline int wse_gpt_drops(const struct build *b, float rate)
{
	return rate > 0.0f && !b->g->forward;
}

static inline uint32_t drop_place(const struct block *k, uint32_t what)
{
	return k->layer * DROP_PLACES + what;
}

static inline void enter(struct build *b, enum phase phase)
{
	b->program = b->programs[phase];
}

/* a tensor's place among a unit's vectors, WSE_NO_BIAS without one */
static inline uint32_t place_vec(struct wse_graph *g, uint32_t unit, uint32_t tensor,
				 uint32_t width, uint32_t parts)
{
	return tensor == WSE_NO_TENSOR ? WSE_NO_BIAS : wse_graph_vec(g, unit, tensor, width, parts);
}

/* place_vec() of a vector over hidden_size */
uint32_t wse_gpt_hidden_vec(const struct build *b, uint32_t unit, uint32_t tensor);
struct wse_norm_op wse_gpt_norm_of(const struct build *b, uint32_t x, uint32_t vec, uint32_t gain,
				   uint32_t bias);
uint32_t wse_gpt_linear(const struct build *b, uint32_t unit, uint32_t x, uint32_t vec,
			uint32_t bias, enum wse_post post, uint32_t aux, const char *what,
			uint32_t *out2);
/* to the data, through a unit's transposed image */
uint32_t wse_gpt_linear_back(const struct build *b, uint32_t unit, uint32_t dy, enum wse_post post,
			     uint32_t aux);

void wse_gpt_add_units(const struct build *b, struct block *k, uint32_t layer);
/* the next block's input */
uint32_t wse_gpt_forward_block(struct build *b, struct block *k);
/* the inputs of blocks behind `first` up to `last`, of which that of the first was kept */
void wse_gpt_inputs_again(struct build *b, struct block *blocks, uint32_t first, uint32_t last);
/* dres: the gradient of the residual, dy its bf16 copy; both become those of the block's input */
uint32_t wse_gpt_backward_block(struct build *b, struct block *k, uint32_t *dres, uint32_t dy);

#endif
