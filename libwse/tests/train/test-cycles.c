// SPDX-License-Identifier: MIT
/*
 * What the planner believes that a step takes, against the RTL's cycles: every kind of operation,
 * the forward pass and the whole. The linker sends wse_submit() and wse_fence_destroy() through
 * here, so that of each command is known when it began and ended.
 * --table prints every operation; --wide looks at wide and high tiles, which `make wide` builds,
 * or at those of one shape: --wide 2x48. --only TEXT: of the steps those whose name has it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "device/device.h"
#include "input/config.h"
#include "model/plan.h"
#include "model/gpt.h"
#include "num/num.h"
#include "ops/emit.h"
#include "ops/kinds.h"
#include "ops/spill.h"
#include "tap.h"
#include "train/session.h"

#define URI "sim:rtl,rows=4,cols=4"

static const char gpt[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 1, num_heads: 4,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static const char mlp[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 32, hidden_sizes: [256], nonlinearity: relu}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    loop: {max_steps: 1, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 64, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-cycles-XXXXXX";

/* ---- submits on their way ---- */

#define MAX_CMDS 4096

static struct {
	int on;
	int ret;
	uint32_t n;
	struct {
		uint32_t queue, op;
		struct wse_fence *fence; /* of its submit, until that has ended */
		uint32_t at;		 /* there */
		uint32_t begin, end;
	} cmd[MAX_CMDS];
} seen;

int __real_wse_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		      struct wse_fence *const *waits, uint32_t nwaits, struct wse_fence **fence);
int __wrap_wse_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		      struct wse_fence *const *waits, uint32_t nwaits, struct wse_fence **fence);
void __real_wse_fence_destroy(struct wse_fence *fence);
void __wrap_wse_fence_destroy(struct wse_fence *fence);

int __wrap_wse_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		      struct wse_fence *const *waits, uint32_t nwaits, struct wse_fence **fence)
{
	int ret = __real_wse_submit(ctx, cmds, n, waits, nwaits, fence);

	if (seen.on && MAX_CMDS - seen.n < n)
		seen.ret = -ENOSPC;
	for (uint32_t i = 0; i < n && seen.on && !ret && !seen.ret; i++) {
		seen.cmd[seen.n].queue = cmds[i].queue;
		seen.cmd[seen.n].op = cmds[i].op;
		seen.cmd[seen.n].at = i;
		seen.cmd[seen.n++].fence = *fence;
	}
	return ret;
}

void __wrap_wse_fence_destroy(struct wse_fence *fence)
{
	for (uint32_t i = 0; fence && i < seen.n; i++) {
		if (seen.cmd[i].fence != fence)
			continue;
		seen.ret |= fence->dev->ops->command_cycles(fence, seen.cmd[i].at,
							    &seen.cmd[i].begin, &seen.cmd[i].end);
		seen.cmd[i].fence = NULL;
	}
	__real_wse_fence_destroy(fence);
}

/* ---- a step ---- */

static int verbose;
static const char *only; /* steps with this in their name; NULL: all */

static void close_to(uint64_t plan, uint64_t count, const char *what, const char *of)
{
	double off = (double)plan / (double)count - 1;
	/* of some hundred cycles: what streams behind them on the same bus fetch meanwhile */
	int little = llabs((long long)plan - (long long)count) <= 96;

	ok(fabs(off) <= 0.06 || little, "%s, %s: %llu cycles planned, %llu counted, %+.1f %%", what,
	   of, (unsigned long long)plan, (unsigned long long)count, 100 * off);
}

/* a form of a GPT beside that of the file */
typedef void form_fn(struct wse_gpt *m);

static void llama(struct wse_gpt *m)
{
	m->norm = WSE_GPT_NORM_RMS;
	m->learned = 0;
	m->rotary = m->hidden / m->heads;
	m->rotary_halves = m->gated = m->no_qkv_bias = m->no_proj_bias = m->no_ffn_bias = 1;
	m->act = WSE_SILU;
	m->filter = 176;
}

static void gptj(struct wse_gpt *m)
{
	m->block = WSE_GPT_PARALLEL_ONE;
	m->learned = m->tied = 0;
	m->rotary = 8;
	m->no_qkv_bias = m->no_proj_bias = m->head_bias = 1;
}

static void dropout(struct wse_gpt *m)
{
	m->drop_embed = m->drop_residual = m->drop_attention = 0.1f;
}

static int open_session(struct wse_session *s, const char *yaml, const char *uri,
			const char *const *sets, uint32_t nsets, uint32_t micro_batches,
			form_fn *form)
{
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = strlen(yaml),
					.sets = sets,
					.nsets = nsets,
					.data = text};
	struct wse_faults faults;
	struct wse_config cfg;
	int ret = wse_config_read(&src, &cfg, &faults);

	if (ret)
		return ret;
	cfg.batch *= micro_batches;
	if (form) {
		struct wse_gpt m = *wse_gpt(&cfg.model);

		form(&m);
		ret = wse_gpt_init(&cfg.model, &m);
	}
	return ret ? ret : wse_session_open(s, &cfg, &uri, 1, NULL);
}

static uint32_t is_out(const struct wse_graph *g, const struct wse_op *op)
{
	return op->kind == WSE_OP_OUT && op->arg[0] == g->logits;
}

/*
 * An operation has one command on WSE_QUEUE_RUN: a START, or a copy; before a START may be the copy
 * of a program.
 */
static void check_kinds(const char *what, const struct wse_graph *g)
{
	uint64_t plan[WSE_OP_KINDS] = {0}, count[WSE_OP_KINDS] = {0}, forward[2] = {0}, p, n;
	uint32_t first = seen.n - seen.n / 2, at = first; /* of two micro-batches */
	uint32_t start = wse_cmd_start((struct wse_start){0}).op;
	struct wse_beside beside = {0};

	for (uint32_t i = 0; i < g->nops; i++) {
		const struct wse_op *op = &g->ops[i];
		const struct wse_op_type *type = wse_op_type(op->kind);

		if (is_out(g, op))
			continue;
		p = wse_op_cycles(&beside, g, op);
		if (!p) /* on a queue of its own */
			continue;
		while (at < seen.n && (seen.cmd[at].queue != WSE_QUEUE_RUN ||
				       (type->entry && seen.cmd[at].op != start)))
			at++;
		if (at == seen.n)
			break;
		n = seen.cmd[at].end - seen.cmd[at].begin + WSE_COMMAND_CYCLES;
		at++;
		plan[op->kind] += p;
		count[op->kind] += n;
		forward[0] += i < g->nforward ? p : 0;
		forward[1] += i < g->nforward ? n : 0;
		if (verbose)
			printf("# %3u %-20s planned %7llu, counted %7llu, %+.1f %%\n", i,
			       type->name, (unsigned long long)p, (unsigned long long)n,
			       100 * ((double)p / (double)n - 1));
	}
	ok(at > first && at <= seen.n, "%s: %u commands", what, seen.n);
	for (uint32_t k = 0; k < WSE_OP_KINDS; k++)
		if (count[k])
			close_to(plan[k], count[k], what, wse_kind_name(k));
	close_to(forward[0], forward[1], what, "the forward pass");
}

/* the first micro-batch brings the program that later ones find there, where all have the same */
static uint64_t first_program(const struct wse_graph *g)
{
	uint32_t program = UINT32_MAX;

	for (uint32_t i = 0; i < g->nops; i++) {
		if (!wse_op_type(g->ops[i].kind)->entry)
			continue;
		if (program != UINT32_MAX && program != g->ops[i].program)
			return 0;
		program = g->ops[i].program;
	}
	return wse_copy_in_cycles(1, 1, g->programs[program].end);
}

/*
 * Two micro-batches. Kinds are those of the second: where a run begins, copies wait for streams of
 * the same bus that fill their rings.
 */
static void step(const char *what, const char *uri, const char *yaml, const char *const *sets,
		 uint32_t nsets, form_fn *form)
{
	struct wse_exec_cost cost = {0};
	struct wse_step_result r;
	struct wse_session s = {0};
	int ret;

	if (only && !strstr(what, only))
		return;
	ret = open_session(&s, yaml, uri, sets, nsets, 2, form);
	seen.n = 0;
	seen.on = 1;
	seen.ret = 0;
	ret = ret ? ret : wse_session_compute(&s, &r);
	seen.on = 0;
	ret = ret ? ret : seen.ret ? seen.ret : wse_swarm_cost(s.swarm, 0, &cost);
	if (ret) {
		ok(0, "%s: %s", what, wse_error());
	} else {
		check_kinds(what, &s.plan.graph);
		close_to(2 * s.plan.cycles + first_program(&s.plan.graph), cost.cycles, what,
			 "the whole step");
	}
	if (s.memx)
		wse_session_close(&s);
}

/* cycles of a step's first micro-batch; 0: an error, which is told */
static uint64_t cycles_of(const char *what, const char *uri, const char *yaml,
			  const char *const *sets, uint32_t nsets, uint64_t *planned)
{
	struct wse_exec_cost cost = {0};
	struct wse_step_result r;
	struct wse_session s = {0};
	int ret = open_session(&s, yaml, uri, sets, nsets, 1, NULL);

	ret = ret ? ret : wse_session_compute(&s, &r);
	ret = ret ? ret : wse_swarm_cost(s.swarm, 0, &cost);
	if (ret)
		ok(0, "%s: %s", what, wse_error());
	*planned = s.plan.cycles;
	if (s.memx)
		wse_session_close(&s);
	return ret ? 0 : cost.cycles;
}

/*
 * The twin's CYCLES know lanes, buses, copies and what a command costs, but no trip of sums and no
 * scalar code that waits: they are lower, by at most so many percent. Beside the RTL's, or beside
 * the plan, which --wide holds against the RTL.
 */
static void twin(const char *what, const char *tile, const char *yaml, const char *const *sets,
		 uint32_t nsets, uint32_t low, int beside_plan)
{
	uint64_t planned, rtl, func;
	char uri[64];

	if (only && !strstr(what, only))
		return;
	snprintf(uri, sizeof(uri), "sim:func,%s", tile);
	func = cycles_of(what, uri, yaml, sets, nsets, &planned);
	snprintf(uri, sizeof(uri), "sim:rtl,%s", tile);
	rtl = beside_plan ? planned : cycles_of(what, uri, yaml, sets, nsets, &planned);
	if (func && rtl)
		ok(func * 100 >= rtl * (100 - low) && func * 100 <= rtl * 105,
		   "%s: %s %llu cycles, the twin says %llu, %+.1f %%", what,
		   beside_plan ? "planned" : "the RTL takes", (unsigned long long)rtl,
		   (unsigned long long)func, 100 * ((double)func / (double)rtl - 1));
}

/* copies of what is spilled run while the cores work: the step is shorter by most of their time */
static void beside(const char *what, const char *uri, const char *yaml, const char *const *sets,
		   uint32_t nsets)
{
	uint64_t planned, fewer, more;

	if (only && !strstr(what, only))
		return;
	fewer = cycles_of(what, uri, yaml, sets, nsets, &planned);
	wse_copies_beside = 0;
	more = cycles_of(what, uri, yaml, sets, nsets, &planned);
	wse_copies_beside = 1;
	ok(fewer && fewer < more, "%s: %llu cycles, %llu with the copies between kernels", what,
	   (unsigned long long)fewer, (unsigned long long)more);
}

/* narrow and usual widths of a column, few and many tokens of a core */
static void wide(const char *tile)
{
	static const struct {
		const char *tile;
		uint32_t rows, cols, width, heads, span, batch; /* batch: samples */
	} of[] = {
		{"1x48", 1, 48, 4, 12, 8, 1},	     {"1x48", 1, 48, 4, 12, 16, 1},
		{"1x48", 1, 48, 4, 12, 32, 1},	     {"1x48", 1, 48, 16, 48, 16, 1},
		{"1x48", 1, 48, 16, 48, 32, 1},	     {"2x48", 2, 48, 4, 12, 16, 1},
		{"2x48", 2, 48, 4, 12, 32, 1},	     {"2x48", 2, 48, 4, 12, 32, 2},
		{"2x48", 2, 48, 16, 48, 64, 1},	     {"2x8", 2, 8, 4, 2, 16, 1},
		{"2x8", 2, 8, 4, 2, 32, 1},	     {"2x8", 2, 8, 4, 2, 64, 1},
		{"2x8", 2, 8, 16, 8, 16, 1},	     {"2x8", 2, 8, 16, 8, 32, 1},
		{"2x8", 2, 8, 16, 8, 64, 1},	     {"16x2", 16, 2, 4, 1, 128, 1},
		{"16x2", 16, 2, 16, 2, 128, 1},	     {"16x2", 16, 2, 16, 2, 256, 1},
		{"16x2", 16, 2, 16, 2, 64, 8},	     {"2x8", 2, 8, 4, 2, 48, 1},
		{"2x8", 2, 8, 16, 8, 48, 1},	     {"1x48", 1, 48, 16, 48, 8, 1},
		{"2x48", 2, 48, 16, 48, 16, 1},	     {"2x48", 2, 48, 16, 48, 32, 1},
		{"16x2", 16, 2, 4, 1, 256, 1},	     {"16x2", 16, 2, 4, 1, 512, 1},
		{"16x12g4", 16, 12, 16, 12, 256, 1}, {"1x2", 1, 2, 16, 2, 16, 1},
	};
	char set[8][64], uri[64], what[80];
	const char *sets[8];

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		uint32_t h = of[i].width * of[i].cols, n = 0;

		if (tile && strcmp(tile, of[i].tile))
			continue;
		snprintf(set[n++], sizeof(set[0]), "model.hidden_size=%u", h);
		snprintf(set[n++], sizeof(set[0]), "model.filter_size=%u", h);
		snprintf(set[n++], sizeof(set[0]), "model.num_heads=%u", of[i].heads);
		snprintf(set[n++], sizeof(set[0]), "model.max_position_embeddings=%u", of[i].span);
		snprintf(set[n++], sizeof(set[0]), "train_dataloader.batch_size=%u", of[i].batch);
		snprintf(set[n++], sizeof(set[0]), "train_dataloader.micro_batch_size=%u",
			 of[i].batch);
		snprintf(set[n++], sizeof(set[0]), "val_dataloader.held_out_bytes=8192");
		for (uint32_t k = 0; k < n; k++)
			sets[k] = set[k];
		snprintf(uri, sizeof(uri), "sim:rtl,rows=%u,cols=%u%s", of[i].rows, of[i].cols,
			 strchr(of[i].tile, 'g') ? ",group=4" : "");
		snprintf(what, sizeof(what), "%s, %u features, %u tokens a core", of[i].tile,
			 of[i].width, of[i].span * of[i].batch / of[i].rows);
		step(what, uri, gpt, sets, n, NULL);
	}
}

int main(int argc, char **argv)
{
	static const char *const two[] = {"train_dataloader.batch_size=2",
					  "train_dataloader.micro_batch_size=2"};
	static const char *const group[] = {"model.num_heads=2", "model.nonlinearity=relu"};
	static const char *const eight[] = {"model.max_position_embeddings=32",
					    "model.recompute=spill"};
	static const char *const thin[] = {"model.hidden_size=16", "model.num_hidden_layers=4",
					   "model.max_position_embeddings=128",
					   "model.recompute=spill"};
	static const char *const narrow[] = {"model.hidden_size=16",
					     "model.max_position_embeddings=32"};
	static const char *const many[] = {"model.hidden_size=16",
					   "model.max_position_embeddings=128"};
	static const char *const two_dozen[] = {"model.hidden_size=8", "model.num_heads=2",
						"model.max_position_embeddings=48"};
	static const char *const forty[] = {"model.hidden_size=16", "model.num_heads=2",
					    "model.max_position_embeddings=80"};
	static const char *const sparse[] = {"sparsity={sparsity: 0.75, param_filter: '*'}"};
	static const char *const half[] = {"train_dataloader.batch_size=128",
					   "train_dataloader.micro_batch_size=128",
					   "sparsity={sparsity: 0.5, param_filter: '*'}"};
	static const char *const wide_[] = {
		"model.hidden_size=768", "model.filter_size=768", "model.num_heads=48",
		"model.max_position_embeddings=32", "val_dataloader.held_out_bytes=8192"};
	struct wse_device *dev;
	FILE *f;
	const char *wide_only = NULL;
	int is_wide = 0;
	int fd, ret = TAP_SANITIZED ? -ENOTSUP : wse_device_open(URI, &dev);

	for (int i = 1; i < argc; i++) {
		verbose |= !strcmp(argv[i], "--table");
		if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		if (!strcmp(argv[i], "--wide")) {
			wide_only = i + 1 < argc ? argv[i + 1] : NULL;
			is_wide = 1;
		}
	}
	if (ret == -ENOTSUP) {
		tap_skip(TAP_SANITIZED ? "too slow with sanitizers"
				       : "the RTL is not linked into this program",
			 "planned cycles against the RTL's");
		return tap_end();
	}
	wse_device_close(dev);
	fd = mkstemp(text);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return 1;
	for (uint64_t i = 0; i < 40000; i++) /* words that repeat */
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	if (is_wide) {
		wide(wide_only);
		unlink(text);
		return tap_end();
	}
	step("hidden 64, 16 tokens", URI, gpt, NULL, 0, NULL);
	step("hidden 64, 32 tokens", URI, gpt, two, 2, NULL);
	step("hidden 64, 8 tokens, inputs spilled", URI, gpt, eight, 2, NULL);
	step("hidden 16, inputs spilled", URI, gpt, thin, 4, NULL);
	step("two buses, hidden 16", "sim:rtl,rows=2,cols=4,group=2", gpt, narrow, 2, NULL);
	step("two buses, hidden 16, inputs spilled", "sim:rtl,rows=2,cols=4,group=2", gpt, thin, 4,
	     NULL);
	step("two buses, LLaMA's form, 64 tokens", "sim:rtl,rows=2,cols=4,group=2", gpt, many, 2,
	     llama);
	wse_copies_beside = 0;
	step("hidden 64, 8 tokens, inputs spilled between kernels", URI, gpt, eight, 2, NULL);
	wse_copies_beside = 1;
	beside("hidden 16, inputs spilled", URI, gpt, thin, 4);
	beside("two buses, hidden 16, inputs spilled", "sim:rtl,rows=2,cols=4,group=2", gpt, thin,
	       4);
	step("2x2, LLaMA's form, 24 tokens", "sim:rtl,rows=2,cols=2", gpt, two_dozen, 3, llama);
	step("2x2, LLaMA's form, 40 tokens", "sim:rtl,rows=2,cols=2", gpt, forty, 3, llama);
	step("hidden 64, heads over two columns, relu", URI, gpt, group, 2, NULL);
	step("LLaMA's form, 16 tokens", URI, gpt, NULL, 0, llama);
	step("LLaMA's form, 32 tokens", URI, gpt, two, 2, llama);
	step("GPT-J's form, 16 tokens", URI, gpt, NULL, 0, gptj);
	step("dropout, 32 tokens", URI, gpt, two, 2, dropout);
	step("an MLP", URI, mlp, NULL, 0, NULL);
	step("an MLP, a quarter of its weights", URI, mlp, sparse, 1, NULL);
	wse_linear_streams = 0;
	step("an MLP, a quarter of its weights, by rows", URI, mlp, sparse, 1, NULL);
	wse_linear_streams = 1;
	step("an MLP, half of its weights, 32 tokens", URI, mlp, half, 3, NULL);
	twin("hidden 64, 16 tokens", "rows=4,cols=4", gpt, NULL, 0, 20, 0);
	twin("hidden 64, 32 tokens", "rows=4,cols=4", gpt, two, 2, 15, 0);
	twin("an MLP", "rows=4,cols=4", mlp, NULL, 0, 15, 0);
	twin("one bus for 48 columns", "rows=1,cols=48,group=0", gpt, wide_, 5, 10, 1);
	twin("a bus for each 4 of 48 columns", "rows=1,cols=48,group=4", gpt, wide_, 5, 15, 1);
	unlink(text);
	return tap_end();
}
