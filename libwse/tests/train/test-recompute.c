// SPDX-License-Identifier: MIT
/*
 * What is kept of a GPT's blocks for the backward pass: all inputs, those of every second or third
 * block, or none. The same bits on twin, oracle and RTL, fewer bytes of a core for more operations;
 * and which of them the planner takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "input/config.h"
#include "model/gpt.h"
#include "model/plan.h"
#include "num/num.h"
#include "ops/ops.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"

#define SIZES "hidden_size: 32, filter_size: 64, num_heads: 2, max_position_embeddings: 32"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: %s\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: %u, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-recompute-XXXXXX";

/* every third block is the root's: of five to nine */
enum way { BLOCK, SECOND, THIRD, SPILLED, WAYS };

static const char *const names[] = {"all", "every second", "every third", "spilled"};

struct kept {
	uint32_t bytes, every, spills;
	uint32_t again; /* layers of the backward pass, forward or to the data */
};

/* the first mode of a way */
static uint32_t mode_of(enum way way)
{
	static const uint32_t of[] = {2, 3, 3, 4};

	return wse_gpt_mode[of[way]] + (way == THIRD ? 2 : 0);
}

static int open_run(const char *model, enum way way, const char *uri, uint32_t devices,
		    uint32_t batch, struct wse_session *s)
{
	const char *uris[] = {uri, uri, uri};
	struct wse_config_source src = {.name = "test", .data = text};
	struct wse_faults faults;
	struct wse_config cfg;
	char file[2000];
	int ret;

	src.text = file;
	src.size = (size_t)snprintf(file, sizeof(file), yaml, model, batch);
	ret = wse_config_read(&src, &cfg, &faults);
	cfg.model.mode = mode_of(way);
	return ret ? ret : wse_session_open(s, &cfg, uris, devices, NULL);
}

static void look(const struct wse_graph *g, struct kept *k)
{
	*k = (struct kept){g->total, g->every, g->nspills, 0};
	for (uint32_t i = g->nforward; i < g->nops; i++)
		k->again += g->ops[i].kind == WSE_OP_LINEAR;
}

/* two steps: a checksum over weights, moments, losses and norms, 0 on failure */
static uint64_t two_steps(const char *model, enum way way, const char *uri, uint32_t devices,
			  uint32_t steps, struct kept *k)
{
	struct wse_step_result step = {0};
	struct wse_session s;
	struct state st;
	uint64_t sum = 0;
	double seen[4] = {0};
	int ret = open_run(model, way, uri, devices, 2, &s);

	if (ret)
		return 0;
	look(&s.plan.graph, k);
	for (uint32_t i = 0; i < steps && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
		seen[2 * i] = step.loss;
		seen[2 * i + 1] = step.norm;
	}
	ret = ret ? ret : wse_memx_finish(s.memx);
	if (!ret) {
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      3 * wse_checksum64(st.v, st.table->params * 4) ^
		      wse_checksum64(seen, sizeof(seen));
		state_free(&st);
	}
	wse_session_close(&s);
	return sum;
}

/*
 * five blocks: of two one input is kept (0, 2, 4) and 1 and 3 are made again; of three (0, 3, and 4
 * as it is in the last ones) 1 and 2 are
 */
static void same_bits(const char *what, const char *model)
{
	static const struct {
		enum way way;
		const char *uri;
		uint32_t devices;
	} runs[] = {
		{BLOCK, "sim:func,rows=2,cols=2", 1},  {SECOND, "sim:func,rows=2,cols=2", 1},
		{THIRD, "sim:func,rows=2,cols=2", 1},  {SPILLED, "sim:func,rows=2,cols=2", 1},
		{SECOND, "oracle:rows=2,cols=2", 1},   {THIRD, "oracle:rows=2,cols=2", 1},
		{SECOND, "sim:func,rows=2,cols=2", 2}, {THIRD, "sim:func,rows=2,cols=2", 2},
	};
	struct kept first[WAYS] = {{0}};
	uint64_t want = 0;

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		enum way way = runs[i].way;
		struct kept k = {0};
		uint64_t got = two_steps(model, way, runs[i].uri, runs[i].devices, 2, &k);

		want = i ? want : got;
		if (i < WAYS)
			first[i] = k;
		ok(got && got == want &&
			   k.every == (way == SECOND  ? 2
				       : way == THIRD ? 3
						      : 0) &&
			   !k.spills == (way != SPILLED),
		   "%s, %s on %u x %s: %s bits%s%s", what, names[way], runs[i].devices, runs[i].uri,
		   got == want ? "the same" : "other", got ? "" : ": ", got ? "" : wse_error());
	}
	ok(first[SECOND].again > first[BLOCK].again && first[SECOND].bytes < first[BLOCK].bytes &&
		   first[SPILLED].bytes < first[BLOCK].bytes &&
		   first[THIRD].bytes < first[BLOCK].bytes &&
		   first[SPILLED].again == first[BLOCK].again,
	   "%s: %u, %u, %u and %u bytes of a core; %u, %u, %u and %u layers backward", what,
	   first[0].bytes, first[1].bytes, first[2].bytes, first[3].bytes, first[0].again,
	   first[1].again, first[2].again, first[3].again);
}

static void on_rtl(const char *model)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2", "sim:rtl,rows=2,cols=2"};
	struct wse_device *dev;
	struct kept k;

	if (wse_device_open(uris[1], &dev)) {
		tap_skip(wse_error(), "a step on the RTL");
		return;
	}
	wse_device_close(dev);
	for (int way = BLOCK; way < WAYS; way++) {
		uint64_t twin = two_steps(model, (enum way)way, uris[0], 1, 1, &k);
		uint64_t rtl = two_steps(model, (enum way)way, uris[1], 1, 1, &k);

		ok(twin && twin == rtl, "a step with %s inputs: the RTL has the twin's bits%s%s",
		   names[way], rtl ? "" : ": ", rtl ? "" : wse_error());
	}
}

/* ---- which one the planner takes ---- */

static int said;

static void line(void *ctx, enum wse_log_level level, const char *what)
{
	(void)ctx;
	(void)level;
	said |= !strncmp(what, "kept             the input of one of ", 37);
}

static int plan(const struct wse_gpt *shape, const struct wse_tile *tile, uint32_t mode,
		uint64_t micro, struct wse_plan *p)
{
	const struct wse_exec_cfg log = {line, NULL};
	struct wse_model m;
	int ret = wse_gpt_init(&m, shape);

	m.mode = mode;
	*p = (struct wse_plan){0};
	ret = ret ? ret : wse_plan_make(&m, tile, micro > 8 ? micro : 8, micro, p);
	said = 0;
	if (!ret)
		wse_plan_print(p, &m, "a tile", &log);
	return ret;
}

/*
 * a model whose inputs of all blocks do not fit: the planner takes what costs less, and --plan
 * names it
 */
static void chosen(const char *what, const struct wse_gpt *shape, uint32_t rows, uint32_t cols,
		   uint64_t micro, int spilled)
{
	const struct wse_tile tile = {.rows = rows, .cols = cols, .lanes = 8, .sram = 48 * 1024};
	struct wse_plan best, nth = {0}, spill = {0};
	int ret = plan(shape, &tile, 0, micro, &best), named = said;

	ret = ret ? ret : plan(shape, &tile, wse_gpt_mode[3], micro, &nth);
	ok(!ret && nth.graph.every && said, "%s: one of %u inputs is kept where it is asked for",
	   what, nth.graph.every);
	ret = ret ? ret : plan(shape, &tile, wse_gpt_mode[4], micro, &spill);
	ok(!ret && best.mode >= wse_gpt_mode[3] && (best.graph.nspills != 0) == spilled &&
		   (best.graph.every == 0) == spilled && named == !spilled && spill.graph.nspills &&
		   best.cycles <= nth.cycles && best.cycles <= spill.cycles,
	   "%s: %llu cycles with one of %u, %llu spilled: %llu are planned%s%s", what,
	   (unsigned long long)nth.cycles, nth.graph.every, (unsigned long long)spill.cycles,
	   (unsigned long long)best.cycles, ret ? ": " : "", ret ? wse_error() : "");
	wse_plan_fini(&best);
	wse_plan_fini(&nth);
	wse_plan_fini(&spill);
}

/* twice the tokens of a core, where the planner would not take them by itself: bits are others */
static void more_tokens(const struct wse_gpt *shape, uint32_t rows, uint32_t cols)
{
	const struct wse_tile tile = {.rows = rows, .cols = cols, .lanes = 8, .sram = 48 * 1024};
	struct wse_plan all, nth = {0};
	int ret = plan(shape, &tile, 0, 0, &all);

	ret = ret ? ret : plan(shape, &tile, wse_gpt_mode[3], 0, &nth);
	ok(!ret && !all.graph.every && !all.graph.nspills && nth.graph.every &&
		   nth.tokens == 2 * all.tokens,
	   "%u tokens with all inputs, %u with one of %u; %.0f and %.0f cycles a token%s%s",
	   all.tokens, nth.tokens, nth.graph.every, (double)all.cycles / all.tokens,
	   (double)nth.cycles / nth.tokens, ret ? ": " : "", ret ? wse_error() : "");
	wse_plan_fini(&all);
	wse_plan_fini(&nth);
}

static struct wse_gpt gpt_of(uint32_t layers, uint32_t hidden, uint32_t heads, uint32_t seq)
{
	return (struct wse_gpt){.vocab = 256,
				.positions = seq,
				.seq = seq,
				.hidden = hidden,
				.layers = layers,
				.heads = heads,
				.filter = 4 * hidden,
				.act = WSE_GELU_NEW,
				.tied = 1,
				.eps = 1e-5f,
				.dev = 0.02f,
				.learned = 1};
}

int main(void)
{
	const struct wse_gpt tall = gpt_of(64, 256, 16, 128), flat = gpt_of(96, 64, 4, 64);
	const struct wse_gpt deep = gpt_of(48, 64, 4, 64), deeper = gpt_of(128, 64, 4, 64);
	int fd = mkstemp(text);
	FILE *f = fdopen(fd, "w");

	if (!f)
		return 1;
	for (uint32_t i = 0, x = 1; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		fputc((int)(i * 7 % 40 + (x >> 24) % 24), f);
	}
	fclose(f);
	same_bits("gpt2", "{name: gpt2, num_hidden_layers: 5, " SIZES "}");
	same_bits("gptj", "{name: gptj, num_hidden_layers: 5, rotary_dim: 8, " SIZES "}");
	on_rtl("{name: gpt2, num_hidden_layers: 5, " SIZES "}");
	chosen("64 layers on 64 x 16 cores", &tall, 64, 16, 8, 1);
	chosen("128 layers on 256 x 16 cores", &deeper, 256, 16, 128, 0);
	chosen("96 layers on 4 x 4 cores", &flat, 4, 4, 1, 1);
	more_tokens(&deep, 4, 4);
	unlink(text);
	return tap_end();
}
