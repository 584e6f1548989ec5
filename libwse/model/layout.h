/* SPDX-License-Identifier: MIT */
/*
 * Where everything of an MLP lies in a core's SRAM: the one answer that the planner budgets with
 * and the executor places by.
 *
 * Kept: the input of every layer (bf16) and, under GELU, the activation's derivative before it.
 * Backward, layer by layer: first dW from dy and the layer's input, then dX, which is gated by that
 * input and written over it, as the next dy. So the only gradient with a place of its own is that
 * of the logits. Biases are brought in with their layer, into one place, which takes the bias
 * gradient on the way back.
 *
 * Two binary32 intermediates reuse what is free at their time: a GELU layer's sums begin where its
 * output will be (element i is read at 4 i before it is written at 2 i) and reach into the next
 * layers' places; the gradient of the input lies behind the second layer's.
 */
#ifndef WSE_TRAIN_LAYOUT_H
#define WSE_TRAIN_LAYOUT_H

#include "mlp.h"
#include "num/why.h"

/* first SRAM offset that is the trainer's: above every version of the program (a test holds the
 * program against it), and a constant, so that a plan does not depend on the compiler */
#define WSE_LAYOUT_BASE 0x2800u
/* above the data: stack and argument words */
#define WSE_LAYOUT_TOP (1024u + 64u)

struct wse_layout {
	uint32_t nfeat; /* features of a block of the streams: 1, 2 or 4 */
	/* SRAM offsets, per core; T tokens per core, C columns */
	uint32_t act[WSE_MLP_MAX_LINEAR];   /* bf16 [width[l] / C][T] */
	uint32_t deriv[WSE_MLP_MAX_LINEAR]; /* bf16 [width[l] / C][T], l > 0 and GELU only */
	uint32_t bias;			    /* binary32 [widest output / C] */
	uint32_t target;		    /* u16 [T] */
	uint32_t loss;			    /* binary32 [T] */
	uint32_t scratch;		    /* binary32 [3][T] */
	uint32_t logits;		    /* binary32 [vocab / C][T] */
	uint32_t dy;			    /* bf16 [vocab / C][T] */
	uint32_t dx;			    /* binary32 [width[0] / C][T] */
	/* bytes by kind; they add up to total */
	uint32_t b_fixed, b_act, b_deriv, b_bias, b_softmax, b_logits, b_dy, b_over;
	uint32_t total;
};

/*
 * tokens: per core. -EINVAL when the shape cannot be mapped, -E2BIG when it does not fit into
 * `sram` bytes; why [WSE_WHY] says what to change. After -E2BIG the byte counts are valid.
 */
int wse_layout_make(const struct wse_mlp *m, uint32_t cols, uint32_t lanes, uint32_t tokens,
		    uint32_t sram, struct wse_layout *lay, char *why);

#endif
