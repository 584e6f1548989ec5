/* SPDX-License-Identifier: MIT */
/* What goes into a GPT's graph with a micro-batch, and comes back. */
#ifndef WSE_MODEL_GPT_IO_H
#define WSE_MODEL_GPT_IO_H

#include "model/gpt.h"

enum { IN_TARGETS, IN_TOKENS, IN_POSITIONS /* or, where there is no table of them, angles */ };
enum { OUT_LOSSES, OUT_DX, OUT_LOGITS };

/* rotary positions: number of the input with cosines and sines */
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
