// SPDX-License-Identifier: MIT
/*
 * The reference's parameters: which tensors there are, how they begin, and AdamW with clipping of
 * the whole gradient. Nothing of the trainer's arithmetic is shared with it but the random numbers.
 */
#include "gpt_ref.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "num/num.h"

int gpt_ref_check(const struct gpt_ref_cfg *c)
{
	if (!c->vocab || c->vocab > 65536 || !c->positions || !c->hidden || !c->layers ||
	    !c->heads || !c->filter || c->hidden % c->heads || c->hidden > 1u << 20 ||
	    c->filter > 1u << 22 || c->layers > 4096 || c->positions > 1u << 20 ||
	    !(c->eps >= 0.0f))
		return -EINVAL;
	return 0;
}

uint32_t gpt_ref_ntensors(const struct gpt_ref_cfg *c)
{
	return GPT_BLOCKS + c->layers * GPT_BLOCK + (c->tied ? GPT_HEAD : GPT_HEAD + 1);
}

/* name and shape of tensor i; vectors have cols = 0 */
static void describe(const struct gpt_ref_cfg *c, uint32_t i, struct gpt_ref_tensor *t,
		     uint32_t *rows, uint32_t *cols)
{
	static const char *const block[GPT_BLOCK] = {
		"ln_1.weight",	      "ln_1.bias",	  "attn.c_attn.weight", "attn.c_attn.bias",
		"attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",	"ln_2.bias",
		"mlp.c_fc.weight",    "mlp.c_fc.bias",	  "mlp.c_proj.weight",	"mlp.c_proj.bias"};
	const uint32_t h = c->hidden, f = c->filter, v = c->vocab;
	const uint32_t block_rows[GPT_BLOCK] = {h, h, 3 * h, 3 * h, h, h, h, h, f, f, h, h};
	const uint32_t block_cols[GPT_BLOCK] = {0, 0, h, 0, h, 0, 0, 0, h, 0, f, 0};
	static const char *const rest[] = {"transformer.wte.weight", "transformer.wpe.weight",
					   "transformer.ln_f.weight", "transformer.ln_f.bias",
					   "lm_head.weight"};
	const uint32_t rest_rows[] = {v, c->positions, h, h, v}, rest_cols[] = {h, h, 0, 0, h};
	uint32_t in_blocks = i - GPT_BLOCKS;

	if (i >= GPT_BLOCKS && in_blocks < c->layers * GPT_BLOCK) {
		uint32_t k = in_blocks % GPT_BLOCK;

		snprintf(t->name, sizeof(t->name), "transformer.h.%u.%s", in_blocks / GPT_BLOCK,
			 block[k]);
		*rows = block_rows[k];
		*cols = block_cols[k];
		t->transposed = *cols != 0;
		return;
	}
	if (i >= GPT_BLOCKS)
		i -= c->layers * GPT_BLOCK;
	snprintf(t->name, sizeof(t->name), "%s", rest[i]);
	*rows = rest_rows[i];
	*cols = rest_cols[i];
	t->transposed = 0;
}

/* in front of tensor k of block l, in floats */
static size_t block_off(const struct gpt_ref_cfg *c, uint32_t l, uint32_t k)
{
	const size_t h = c->hidden, f = c->filter;
	const size_t count[GPT_BLOCK] = {h, h, 3 * h * h, 3 * h, h * h, h,
					 h, h, f * h,	  f,	 h * f, h};
	size_t all = 0, before = 0;

	for (uint32_t i = 0; i < GPT_BLOCK; i++) {
		before += i < k ? count[i] : 0;
		all += count[i];
	}
	return (c->vocab + (size_t)c->positions) * h + l * all + before;
}

size_t gpt_ref_offset(const struct gpt_ref_cfg *c, uint32_t i)
{
	const size_t h = c->hidden;
	uint32_t in_blocks = i - GPT_BLOCKS;

	if (i < GPT_BLOCKS)
		return i == GPT_WTE ? 0 : c->vocab * h;
	if (in_blocks < c->layers * GPT_BLOCK)
		return block_off(c, in_blocks / GPT_BLOCK, in_blocks % GPT_BLOCK);
	return block_off(c, c->layers, 0) + (in_blocks - c->layers * GPT_BLOCK) * h;
}

struct gpt_ref_tensor gpt_ref_tensor(const struct gpt_ref_cfg *c, uint32_t i)
{
	struct gpt_ref_tensor t = {.off = gpt_ref_offset(c, i)};
	uint32_t rows, cols;

	describe(c, i, &t, &rows, &cols);
	t.ndim = cols ? 2 : 1;
	t.dim[0] = rows;
	t.dim[1] = cols ? cols : 1;
	t.count = (size_t)t.dim[0] * t.dim[1];
	return t;
}

size_t gpt_ref_nparams(const struct gpt_ref_cfg *c)
{
	struct gpt_ref_tensor last = gpt_ref_tensor(c, gpt_ref_ntensors(c) - 1);

	return last.off + last.count;
}

void gpt_ref_init(const struct gpt_ref_cfg *c, uint64_t seed, float *params)
{
	for (uint32_t i = 0; i < gpt_ref_ntensors(c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(c, i);
		float dev =
			strstr(t.name, "c_proj") ? 0.02f / sqrtf(2.0f * (float)c->layers) : 0.02f;
		float fill = strstr(t.name, "ln_") && strstr(t.name, "weight") ? 1.0f : 0.0f;

		for (size_t j = 0; j < t.count; j++)
			params[t.off + j] = t.ndim == 2 ? dev * wse_rng_normal(seed, i, j) : fill;
	}
}

double gpt_ref_step(const struct gpt_ref_cfg *c, const struct gpt_ref_adamw *a, uint64_t step,
		    float lr, float *params, float *m, float *v, const float *grads)
{
	const size_t all = gpt_ref_nparams(c);
	const float c1 = 1.0f - powf(a->beta1, (float)step),
		    c2 = 1.0f - powf(a->beta2, (float)step);
	double sum = 0.0, norm;
	float scale;

	for (size_t i = 0; i < all; i++)
		sum += (double)grads[i] * grads[i];
	norm = sqrt(sum);
	scale = a->clip > 0.0f && norm > a->clip ? (float)(a->clip / norm) : 1.0f;
	for (uint32_t i = 0; i < gpt_ref_ntensors(c); i++) {
		struct gpt_ref_tensor t = gpt_ref_tensor(c, i);
		float wd = t.ndim == 2 ? a->decay : 0.0f;

		for (size_t j = t.off; j < t.off + t.count; j++) {
			float g = scale * grads[j];

			m[j] = a->beta1 * m[j] + (1.0f - a->beta1) * g;
			v[j] = a->beta2 * v[j] + (1.0f - a->beta2) * g * g;
			params[j] -=
				lr * (wd * params[j] + m[j] / c1 / (sqrtf(v[j] / c2) + a->eps));
		}
	}
	return norm;
}
