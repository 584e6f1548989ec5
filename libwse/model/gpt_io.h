/* SPDX-License-Identifier: MIT */
/* What goes into a GPT's graph with a micro-batch, and comes back. */
#ifndef WSE_MODEL_GPT_IO_H
#define WSE_MODEL_GPT_IO_H

#include "model/gpt.h"

/* the last one: where there is no table of positions, angles or slopes */
enum { IN_TARGETS, IN_TOKENS, IN_POSITIONS };
enum { OUT_LOSSES, OUT_DX, OUT_LOGITS };

/* number of the input with cosines and sines, or with slopes */
static inline uint32_t wse_gpt_in_angles(const struct wse_gpt *m)
{
	return IN_POSITIONS + !!m->learned;
}

/* struct wse_model_family has them */
void wse_gpt_gather(const struct wse_model *model, const struct wse_graph *g,
		    const struct wse_input *in, const uint16_t *const *samples,
		    struct wse_micro_batch *job);
int wse_gpt_leaf(const struct wse_model *model, const struct wse_graph *g,
		 const struct wse_micro_batch *job, const uint16_t *const *samples,
		 const struct wse_leaf *leaf);

#endif
