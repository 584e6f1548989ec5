// SPDX-License-Identifier: MIT
/*
 * Models that fit a tile by the planner's last modes: the FFN in as many chunks as divide it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "input/config.h"
#include "model/gpt.h"
#include "model/plan.h"
#include "num/num.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static char text[] = "/tmp/wse-plan-XXXXXX";

/* ---- models that are planned alone ---- */

struct large {
	const char *name;
	uint32_t layers, hidden, heads, filter, vocab, rows, cols;
	uint32_t chunks; /* 0: any */
};

static int plan_of(const struct large *l, struct wse_plan *p)
{
	struct wse_tile tile = {.rows = l->rows, .cols = l->cols, .lanes = 8, .sram = 48 * 1024};
	struct wse_gpt shape = {.vocab = l->vocab,
				.positions = 128,
				.seq = 128,
				.hidden = l->hidden,
				.layers = l->layers,
				.heads = l->heads,
				.filter = l->filter,
				.tied = 1,
				.eps = 1e-5f,
				.dev = 0.02f};
	struct wse_model m;
	int ret = wse_gpt_init(&m, &shape);

	return ret ? ret : wse_plan_make(&m, &tile, 16, 0, p);
}

static void plans(const struct large *l)
{
	struct wse_plan p = {0};
	int ret = plan_of(l, &p);

	ok(!ret && p.graph.total <= 48 * 1024 && (!l->chunks || p.graph.variant == l->chunks),
	   "%s: %u layers on %u x %u cores take %u bytes, FFN in %u chunks%s%s", l->name,
	   l->layers, l->rows, l->cols, p.graph.total, p.graph.variant, ret ? ": " : "",
	   ret ? wse_error() : "");
	wse_plan_fini(&p);
}

/* every divisor is the number of chunks of some mode, the largest one that of the last */
static void divisors(void)
{
	struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	struct wse_gpt shape = {.vocab = 64,
				.positions = 32,
				.seq = 32,
				.hidden = 32,
				.layers = 1,
				.heads = 4,
				.filter = 16 * 60,
				.eps = 1e-5f,
				.dev = 0.02f};
	uint32_t seen[61] = {0}, found = 0, wanted = 0, last = 0;
	struct wse_model m;

	wse_gpt_init(&m, &shape);
	for (uint32_t mode = 0; mode < m.family->modes; mode++) {
		struct wse_graph g = {0};
		int ret = m.family->graph(&m, &tile, 8, mode, &g);

		last = ret ? 0 : g.variant;
		seen[last]++;
		wse_graph_fini(&g);
	}
	for (uint32_t n = 1; n <= 60; n++) {
		wanted += 60 % n == 0;
		found += 60 % n == 0 && seen[n];
	}
	ok(found == wanted && last == 60 && seen[0],
	   "60 blocks of four features a column come in %u of %u numbers of chunks; last %u", found,
	   wanted, last);
}

/* ---- a model that is run ---- */

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64, filter_size: 96}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

/* chunks: the planner begins with the first mode that has so many; 0: with all */
static int open_run(const char *uri, uint32_t chunks, struct wse_session *s)
{
	struct wse_config_source src = {
		.name = "test", .text = yaml, .size = sizeof(yaml) - 1, .data = text};
	struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	struct wse_faults faults;
	struct wse_config cfg;
	int ret = wse_config_read(&src, &cfg, &faults);

	for (; !ret && chunks && cfg.model.mode < cfg.model.family->modes; cfg.model.mode++) {
		struct wse_graph g = {0};
		uint32_t n = cfg.model.family->graph(&cfg.model, &tile, 16, cfg.model.mode, &g)
				     ? 0
				     : g.variant;

		wse_graph_fini(&g);
		if (n == chunks)
			break;
	}
	return ret ? ret : wse_session_open(s, &cfg, &uri, 1, NULL);
}

/* three chunks: other bits than one, a gradient that is as long, and the oracle's bits */
static void chunks(void)
{
	struct wse_step_result r[2];
	struct wse_session s;
	uint32_t variant[2] = {0};
	int ret = 0;

	for (uint32_t i = 0; i < 2 && !ret; i++) {
		ret = open_run("sim:func,rows=4,cols=4", i ? 3 : 0, &s);
		if (ret)
			break;
		variant[i] = s.plan.graph.variant;
		ret = wse_session_compute(&s, &r[i]);
		if (!ret && i)
			ret = wse_verify_step(&s, "oracle:rows=4,cols=4");
		ret = ret ? ret : wse_session_commit(&s, &r[i]);
		wse_session_close(&s);
	}
	if (!ok(!ret && variant[0] == 1 && variant[1] == 3,
		"the FFN in one chunk and in three, which have the oracle's bits%s%s",
		ret ? ": " : "", ret ? wse_error() : ""))
		return;
	ok(r[0].norm != r[1].norm && r[0].norm / r[1].norm > 0.999 &&
		   r[0].norm / r[1].norm < 1.001 && r[0].loss / r[1].loss > 0.9999 &&
		   r[0].loss / r[1].loss < 1.0001,
	   "losses %.6f and %.6f, norms of the gradients %.5f and %.5f", r[0].loss, r[1].loss,
	   r[0].norm, r[1].norm);
}

int main(void)
{
	static const struct large large[] = {
		{"filter 11008", 20, 4096, 32, 11008, 256, 16, 64, 43},
		{"filter 22016", 2, 8192, 64, 22016, 256, 16, 64, 43},
	};
	int fd = mkstemp(text);
	FILE *f = fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		plans(&large[i]);
	divisors();
	chunks();
	unlink(text);
	return tap_end();
}
