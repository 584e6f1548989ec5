/* SPDX-License-Identifier: MIT */
/* A session of a small GPT of any form: the numbers of a file, the form of a struct wse_gpt. */
#ifndef WSE_TEST_GPT_FORM_H
#define WSE_TEST_GPT_FORM_H

#include <stdio.h>
#include <stdlib.h>

#include "input/config.h"
#include "model/gpt.h"
#include "num/num.h"
#include "train/session.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 32}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    precision: {max_gradient_norm: 1.0}\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 3, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-forms-XXXXXX";

#define GPTJ                                                                             \
	.block = WSE_GPT_PARALLEL_ONE, .rotary = 8, .no_qkv_bias = 1, .no_proj_bias = 1, \
	.head_bias = 1
#define NEOX .block = WSE_GPT_PARALLEL_TWO, .rotary = 4, .rotary_halves = 1

#define LLAMA                                                                                     \
	.norm = WSE_GPT_NORM_RMS, .rotary = 16, .rotary_halves = 1, .gated = 1, .no_qkv_bias = 1, \
	.no_proj_bias = 1, .no_ffn_bias = 1

struct form {
	const char *name;
	struct wse_gpt m; /* sizes that are 0 are those of the file above */
};

/* where the planner begins, if not at its first mode; that of gpt.c with the FFN in two chunks */
static uint32_t first_mode;
#define CHUNKS_2 6u
static int eval_only; /* a session that does not train */

struct run {
	const char *uri;
	uint32_t devices;
	const char *sets[4];
	uint32_t nsets;
};

/* a session of a form */
static int open_run(const struct run *r, const struct form *f, struct wse_session *s)
{
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.sets = r->sets,
					.nsets = r->nsets,
					.data = text};
	const char *uris[4] = {r->uri, r->uri, r->uri, r->uri};
	struct wse_gpt m = f->m;
	const struct wse_gpt *was;
	struct wse_faults faults;
	struct wse_config cfg;
	uint32_t mode;
	int ret = wse_config_read(&src, &cfg, &faults);

	if (ret)
		return ret;
	was = wse_gpt(&cfg.model);
	mode = first_mode ? first_mode : cfg.model.mode;
	m.vocab = m.vocab ? m.vocab : was->vocab;
	m.heads = m.heads ? m.heads : was->heads;
	m.positions = was->positions;
	m.seq = was->seq;
	m.hidden = m.hidden ? m.hidden : was->hidden;
	m.layers = was->layers;
	m.filter = m.filter ? m.filter : was->filter;
	m.act = m.gated ? WSE_SILU : was->act;
	m.eps = was->eps;
	m.dev = 0.1f; /* angles and gates matter from the first step on */
	ret = wse_gpt_init(&cfg.model, &m);
	cfg.model.mode = mode;
	cfg.forward = eval_only;
	return ret ? ret : wse_session_open(s, &cfg, uris, r->devices, NULL);
}

/* the text of these sessions; the caller removes it */
static int write_text(void)
{
	FILE *f;
	int fd = mkstemp(text);

	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return -1;
	for (uint64_t i = 0; i < 40000; i++) /* words that repeat */
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	return fclose(f);
}

#endif /* WSE_TEST_GPT_FORM_H */
