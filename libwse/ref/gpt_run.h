/* SPDX-License-Identifier: MIT */
/* Training runs of the fp32 reference: held-out loss and speed to compare a wafer with. */
#ifndef WSE_REF_GPT_RUN_H
#define WSE_REF_GPT_RUN_H

#include "gpt_ref.h"

struct gpt_recipe {
	struct gpt_ref_cfg cfg;
	struct gpt_ref_adamw adamw;
	uint32_t batch, seq;		/* sequences of a step, tokens of a sequence */
	uint32_t warmup, steps;
	/* linear warm-up to lr, then a cosine to min_lr at `steps` */
	float lr, min_lr;
};

/* nanoGPT's recipe for a CPU on bytes: 4 layers, 4 heads, 128 wide, 12 x 64 tokens, 2000 steps */
extern const struct gpt_recipe gpt_recipe_nanogpt;

float gpt_recipe_rate(const struct gpt_recipe *recipe, uint32_t step);	/* of step 0, 1, ... */

struct gpt_run {
	struct gpt_recipe recipe;
	struct gpt_ref *ref;
	size_t n;
	float *params, *m, *v, *grads;	/* [n] */
	uint16_t *tokens;		/* [batch][seq + 1] */
	uint64_t seed;
	uint32_t step;
};

/* 0, -EINVAL or -ENOMEM; OpenBLAS's threads are the caller's to set */
int gpt_run_open(struct gpt_run *run, const struct gpt_recipe *recipe, uint64_t seed,
		 uint32_t threads);
void gpt_run_close(struct gpt_run *run);

/* n steps on random windows of text [len], len above seq; the mean of their losses */
double gpt_run_steps(struct gpt_run *run, const uint8_t *text, size_t len, uint32_t n);

/* mean loss of text [len] cut into sequences: of all, or of `limit` evenly spaced ones */
double gpt_run_held_out(struct gpt_run *run, const uint8_t *text, size_t len, size_t limit);

#endif
