// SPDX-License-Identifier: MIT
/* Training runs of the fp32 reference on bytes. */
#include "gpt_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

/* nanoGPT has the sizes in its README, the rest in config/train_shakespeare_char.py. GELU is its
 * tanh form and every layer has a bias here: the wafer's model. */
const struct gpt_recipe gpt_recipe_nanogpt = {
	.cfg = {.vocab = 256,
		.positions = 64,
		.hidden = 128,
		.layers = 4,
		.heads = 4,
		.filter = 512,
		.act = GPT_REF_GELU_NEW,
		.eps = 1e-5f,
		.tied = 1},
	.adamw = {.beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f, .decay = 0.1f, .clip = 1.0f},
	.batch = 12,
	.seq = 64,
	.warmup = 100,
	.steps = 2000,
	.lr = 1e-3f,
	.min_lr = 1e-4f,
};

float gpt_recipe_rate(const struct gpt_recipe *recipe, uint32_t step)
{
	double x;

	if (step < recipe->warmup)
		return recipe->lr * (float)(step + 1) / (float)(recipe->warmup + 1);
	if (step >= recipe->steps)
		return recipe->min_lr;
	x = (double)(step - recipe->warmup) / (double)(recipe->steps - recipe->warmup);
	return recipe->min_lr +
	       (recipe->lr - recipe->min_lr) * (float)(0.5 * (1.0 + cos(M_PI * x)));
}

int gpt_run_open(struct gpt_run *run, const struct gpt_recipe *recipe, uint64_t seed,
		 uint32_t threads)
{
	int ret;

	memset(run, 0, sizeof(*run));
	run->recipe = *recipe;
	run->seed = seed;
	ret = gpt_ref_open(&run->ref, &recipe->cfg, recipe->batch, recipe->seq, threads);
	if (ret)
		return ret;
	run->n = gpt_ref_nparams(&recipe->cfg);
	run->params = calloc(run->n, sizeof(float));
	run->m = calloc(run->n, sizeof(float));
	run->v = calloc(run->n, sizeof(float));
	run->grads = calloc(run->n, sizeof(float));
	run->tokens = calloc((size_t)recipe->batch * (recipe->seq + 1), sizeof(*run->tokens));
	if (!run->params || !run->m || !run->v || !run->grads || !run->tokens) {
		gpt_run_close(run);
		return -ENOMEM;
	}
	gpt_ref_init(&recipe->cfg, seed, run->params);
	return 0;
}

void gpt_run_close(struct gpt_run *run)
{
	gpt_ref_close(run->ref);
	free(run->params);
	free(run->m);
	free(run->v);
	free(run->grads);
	free(run->tokens);
	memset(run, 0, sizeof(*run));
}

/* sequence b of the batch from text [seq + 1] */
static void put(struct gpt_run *run, uint32_t b, const uint8_t *text)
{
	uint16_t *to = run->tokens + (size_t)b * (run->recipe.seq + 1);

	for (uint32_t i = 0; i <= run->recipe.seq; i++)
		to[i] = text[i];
}

double gpt_run_steps(struct gpt_run *run, const uint8_t *text, size_t len, uint32_t n)
{
	const struct gpt_recipe *rc = &run->recipe;
	double sum = 0.0;

	for (uint32_t i = 0; i < n; i++, run->step++) {
		for (uint32_t b = 0; b < rc->batch; b++)
			put(run, b, text + wse_rng_u64(run->seed, run->step, b) % (len - rc->seq));
		sum += gpt_ref_loss(run->ref, run->params, run->tokens, rc->batch, run->grads,
				    NULL);
		gpt_ref_step(&rc->cfg, &rc->adamw, run->step + 1, gpt_recipe_rate(rc, run->step),
			     run->params, run->m, run->v, run->grads);
	}
	return sum / n;
}

double gpt_run_held_out(struct gpt_run *run, const uint8_t *text, size_t len, size_t limit)
{
	const struct gpt_recipe *rc = &run->recipe;
	size_t all = len ? (len - 1) / rc->seq : 0, n = limit && limit < all ? limit : all;
	double sum = 0.0;

	for (size_t i = 0; i < n;) {
		uint32_t b = 0;

		for (; b < rc->batch && i < n; b++, i++)
			put(run, b, text + i * all / n * rc->seq);
		sum += b * gpt_ref_loss(run->ref, run->params, run->tokens, b, NULL, NULL);
	}
	return sum / (double)n;
}
