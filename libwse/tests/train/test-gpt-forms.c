// SPDX-License-Identifier: MIT
/*
 * The forms in which GPT-J, GPT-NeoX and LLaMA differ from GPT-2, as graphs: the same bits on
 * oracle, twin and RTL, on any number of devices, with and without recomputation; and what they
 * compute, against a plain forward pass in binary64.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "exact_gpt.h"
#include "input/config.h"
#include "model/gpt.h"
#include "model/gpt_sizes.h"
#include "num/num.h"
#include "ops/ops.h"
#include "ops/rope.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

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

#define LLAMA8                                                                                   \
	.norm = WSE_GPT_NORM_RMS, .rotary = 8, .rotary_halves = 1, .gated = 1, .no_qkv_bias = 1, \
	.no_proj_bias = 1, .no_ffn_bias = 1, .heads = 8

/* the factors; in which order products of tensors are formed depends on none of them */
#define DROP .drop_embed = 0.1f, .drop_residual = 0.2f, .drop_attention = 0.3f
#define MUP  .embed_scale = 2.2f, .score_scale = 0.19f, .logits_scale = 0.55f

struct form {
	const char *name;
	struct wse_gpt m; /* sizes that are 0 are those of the file above */
};

/* where the planner begins, if not at its first mode; that of gpt.c with the FFN in two chunks */
static uint32_t first_mode;
#define CHUNKS_2 6u
static int eval_only; /* a session that does not train */

static const struct form forms[] = {
	{"RMS norm, no biases, untied",
	 {.norm = WSE_GPT_NORM_RMS,
	  .learned = 1,
	  .no_qkv_bias = 1,
	  .no_proj_bias = 1,
	  .no_ffn_bias = 1}},
	{"an output layer with bias", {.learned = 1, .head_bias = 1}},
	{"rotary positions, all of a head, tied", {.rotary = 16, .tied = 1}},
	{"GPT-J's", {GPTJ}},
	{"GPT-NeoX's", {NEOX}},
	{"GPT-NeoX's, two columns a head", {NEOX, .heads = 2}},
	{"GPT-J's, two heads a column, a vocabulary in chunks",
	 {GPTJ, .heads = 8, .vocab = 2000, .rotary_base = 500000.0f, .rotary_scale = 2.0f}},
	{"LLaMA's, filter 176", {LLAMA, .filter = 176}},
	{"LLaMA's, filter 171", {LLAMA, .filter = 171}},
	{"GPT-J's, filter 249", {GPTJ, .filter = 249}},
	{"MPT's: norms without a bias, slopes",
	 {.norm = WSE_GPT_NORM_BIASLESS,
	  .alibi = 1,
	  .tied = 1,
	  .no_qkv_bias = 1,
	  .no_proj_bias = 1,
	  .no_ffn_bias = 1}},
	{"BTLM's, filter 107", {.gated = 1, .alibi = 1, .tied = 1, .filter = 107}},
	{"Mistral NeMo's: heads of 24, two share one of keys over two columns",
	 {.norm = WSE_GPT_NORM_RMS,
	  .rotary = 24,
	  .rotary_halves = 1,
	  .gated = 1,
	  .no_qkv_bias = 1,
	  .no_proj_bias = 1,
	  .no_ffn_bias = 1,
	  .head_dim = 24,
	  .kv_heads = 2}},
	{"GPT-J's, heads of 8 in 64", {GPTJ, .head_dim = 8}},
	{"GPT-NeoX's with biases, heads of 40 over two columns",
	 {NEOX, .heads = 2, .head_dim = 40}},
	{"GPT-2's, heads of 40 over two columns", {.learned = 1, .heads = 2, .head_dim = 40}},
	{"LLaMA's, two heads a column share one of keys", {LLAMA8, .kv_heads = 4}},
	{"LLaMA 3's, slow pairs scaled",
	 {LLAMA, .kv_heads = 2, .rotary_base = 100.0f, .rotary_scale = 8.0f, .rotary_low = 1.0f,
	  .rotary_high = 4.0f, .rotary_original = 64.0f}},
	{"LLaMA's, two heads share one of keys over two columns", {LLAMA, .kv_heads = 2}},
	{"LLaMA's, one head of keys over all columns", {LLAMA, .kv_heads = 1}},
	{"GPT-NeoX's with biases, keys shared over two columns", {NEOX, .kv_heads = 2}},
	{"BTLM's: SwiGLU with biases, slopes, muP", {.gated = 1, .alibi = 1, .tied = 1, MUP}},
	{"muP, tied", {.learned = 1, .tied = 1, MUP}},
	{"muP of GPT-J's, a head over two columns, a vocabulary in chunks",
	 {GPTJ, .heads = 2, .vocab = 2000, MUP}},
	{"GPT-2's with dropout", {.learned = 1, DROP}},
	{"GPT-NeoX's with dropout, a head over two columns", {NEOX, .heads = 2, DROP}},
	{"BTLM's, filter 107, two heads share one of keys, with dropout",
	 {.gated = 1, .alibi = 1, .kv_heads = 2, .filter = 107, DROP}},
	{"GPT-2's, tied, heads of 9 as 12, 36 features as 48, with dropout",
	 {.learned = 1, .tied = 1, .hidden = 36, DROP}},
	{"LLaMA's, heads of 11 as 16, two share one of keys over two columns, 44 as 48",
	 {.norm = WSE_GPT_NORM_RMS,
	  .rotary = 6,
	  .rotary_halves = 1,
	  .gated = 1,
	  .no_qkv_bias = 1,
	  .no_proj_bias = 1,
	  .no_ffn_bias = 1,
	  .hidden = 44,
	  .kv_heads = 2}},
};

/* the first of those with dropout */
#define DROPPED 24

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

/* two steps; a checksum over all parameters and moments, 0 on failure */
static uint64_t two_steps(const struct run *r, const struct form *f, struct wse_plan *plan)
{
	struct wse_session s;
	struct wse_step_result step;
	struct state st;
	uint64_t sum = 0;
	int ret = open_run(r, f, &s);

	if (ret)
		return 0;
	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	if (!ret) {
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      wse_checksum64(st.v, st.table->params * 4);
		state_free(&st);
		if (plan)
			*plan = s.plan;
	}
	wse_session_close(&s);
	return ret ? 0 : sum;
}

static void same_bits(const struct form *f)
{
	static const struct run runs[] = {
		{"oracle:rows=2,cols=4", 1, {0}, 0},
		{"sim:func,rows=2,cols=4", 3, {0}, 0},
		{"sim:func,rows=2,cols=4", 1, {"model.recompute=ffn"}, 1},
		{"sim:func,rows=2,cols=4", 2, {"model.recompute=block"}, 1},
		{"sim:func,rows=2,cols=4", 1, {"model.recompute=nth_block"}, 1},
		{"sim:func,rows=2,cols=4", 1, {"model.recompute=spill"}, 1},
	};
	const struct run one = {"sim:func,rows=2,cols=4", 1, {0}, 0};
	uint64_t want = two_steps(&one, f, NULL);

	ok(want != 0, "%s: two steps%s%s", f->name, want ? "" : ": ", want ? "" : wse_error());
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs) && want; i++) {
		struct wse_plan plan = {0};
		uint64_t got;

		/* one of them for each form, each of them for a few */
		if (TAP_SANITIZED && i != (size_t)(f - forms) % (sizeof(runs) / sizeof(*runs)))
			continue;
		got = two_steps(&runs[i], f, &plan);

		ok(got && got == want, "the same bits on %u x %s, mode %u%s%s", runs[i].devices,
		   runs[i].uri, plan.mode, got ? "" : ": ", got ? "" : wse_error());
		if (runs[i].nsets)
			ok(plan.mode >= wse_gpt_mode[i - 1], "recomputation as asked for");
	}
}

/* one step of a block on the RTL, and on the twin */
static void on_rtl(const struct form *f)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2",
					   "sim:rtl,rows=2,cols=2,seed=3"};
	struct wse_step_result step;
	double norm[2] = {0}, loss[2] = {0};
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		const struct run r = {
			uris[i],
			1,
			{"train_dataloader.batch_size=1", "model.num_hidden_layers=1"},
			2};
		struct wse_session s;

		ret = open_run(&r, f, &s);
		if (ret == -ENOTSUP) {
			tap_skip(wse_error(), "%s on the RTL", f->name);
			return;
		}
		if (ret)
			break;
		ret = wse_session_compute(&s, &step);
		/* every gradient, bit by bit */
		ret = ret || !i ? ret : wse_verify_step(&s, "oracle:rows=2,cols=2");
		loss[i] = step.loss;
		ret = ret ? ret : wse_session_commit(&s, &step);
		norm[i] = step.norm;
		wse_session_close(&s);
	}
	ok(!ret && loss[0] == loss[1] && norm[0] == norm[1] && norm[0] != 0,
	   "%s: a step on the RTL is the twin's and the oracle's%s%s", f->name, ret ? ": " : "",
	   ret ? wse_error() : "");
}

/*
 * the FFN in two chunks: a column's vectors have a chunk's biases together, gate and factor, and
 * every gradient is the oracle's; RTL too
 */
static void in_chunks(const struct form *f)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2",
					   "sim:rtl,rows=2,cols=2,seed=3"};
	struct wse_step_result step;
	double norm[3] = {0};
	uint32_t variant = 0;
	int ret = 0;

	for (int i = 0; i < 3 && !ret; i++) {
		const struct run r = {
			uris[i == 2],
			1,
			{"train_dataloader.batch_size=1", "model.num_hidden_layers=1"},
			2};
		struct wse_session s;

		first_mode = i ? CHUNKS_2 : 0;
		ret = open_run(&r, f, &s);
		first_mode = 0;
		if (ret == -ENOTSUP) {
			tap_skip(wse_error(), "%s in chunks on the RTL", f->name);
			return;
		}
		if (ret)
			break;
		variant = s.plan.graph.variant;
		ret = wse_session_compute(&s, &step);
		ret = ret || !i ? ret : wse_verify_step(&s, "oracle:rows=2,cols=2");
		ret = ret ? ret : wse_session_commit(&s, &step);
		norm[i] = step.norm;
		wse_session_close(&s);
	}
	ok(!ret && variant == 2 && norm[1] == norm[2] && fabs(norm[0] / norm[1] - 1) < 1e-3,
	   "%s: the FFN in two chunks, twin, RTL and oracle; norm %.6f, in one chunk %.6f%s%s",
	   f->name, norm[1], norm[0], ret ? ": " : "", ret ? wse_error() : "");
}

/* a model that needs a program for each phase: they end where the plan says; in two of them */
static void phases(const struct form *f, const char *prefix)
{
	static const struct run r = {"sim:func,rows=2,cols=4",
				     1,
				     {"model.hidden_size=128", "train_dataloader.batch_size=2",
				      "train_dataloader.micro_batch_size=2"},
				     3};
	struct wse_step_result step;
	struct wse_session s;
	int ret = open_run(&r, f, &s);
	int full = 0;

	for (uint32_t i = 0; i < s.plan.graph.nprograms && !ret; i++)
		full += !strncmp(s.plan.graph.programs[i].file, prefix, strlen(prefix));
	ok(!ret && full == 2, "%s, hidden 128: %d programs %s, mode %u%s%s", f->name, full, prefix,
	   s.plan.mode, ret ? ": " : "", ret ? wse_error() : "");
	if (ret)
		return;
	ret = wse_session_compute(&s, &step);
	ret = ret ? ret : wse_verify_step(&s, "oracle:rows=2,cols=4");
	ok(!ret, "and the oracle's bits%s%s", ret ? ": " : "", ret ? wse_error() : "");
	wse_session_close(&s);
}

/*
 * An evaluation drops nothing: in a run that trains it has the bits of a session that evaluates,
 * whose graph has no dropout. What is dropped is other elements each step
 */
static void evaluated(const struct form *f)
{
	static const struct run r = {"sim:func,rows=2,cols=4", 1, {0}, 0};
	uint64_t samples, seeds[2] = {0};
	struct wse_step_result step;
	double loss[2] = {0};
	struct wse_session s;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		eval_only = !i;
		ret = open_run(&r, f, &s);
		if (ret)
			break;
		ret = wse_session_eval(&s, 0, 1, &loss[i], &samples);
		for (int k = 0; k < 2 && i && !ret; k++) {
			ret = wse_session_compute(&s, &step);
			ret = ret ? ret : wse_session_commit(&s, &step);
			seeds[k] = s.io.jobs[0].drop;
		}
		wse_session_close(&s);
	}
	eval_only = 0;
	ok(!ret && loss[0] == loss[1] && loss[0] > 0.0,
	   "%s: evaluated without and with it: %.9f, %.9f%s%s", f->name, loss[0], loss[1],
	   ret ? ": " : "", ret ? wse_error() : "");
	ok(seeds[0] && seeds[1] && seeds[0] != seeds[1], "and other seeds each step");
}

/* as often as the rate says; tokens, and features, do not know of each other */
static void bits(void)
{
	enum { N = 256 };
	static const float rates[] = {0.02f, 0.1f, 0.5f};
	static double drop[N][N];
	const struct wse_micro_batch job = {.index = 3, .backward = 1, .drop = 12345};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		const struct wse_drop d = wse_drop_of(&job, 2, rates[i]);
		double rate = rates[i], var = rate * (1 - rate), all = 0, pairs = 0, corners = 0;

		for (uint32_t t = 0; t < N; t++)
			for (uint32_t f = 0; f < N; f++)
				all += drop[t][f] = !wse_drop_keeps(&d, t, f) - rate;
		for (uint32_t t = 1; t < N; t++)
			for (uint32_t f = 1; f < N; f++) {
				pairs += drop[t][f] * (drop[t - 1][f] + drop[t][f - 1]);
				corners += drop[t][f] * drop[t - 1][f] * drop[t][f - 1] *
					   drop[t - 1][f - 1];
			}
		all /= N * sqrt(var);
		pairs /= N * var * sqrt(2.0);
		corners /= N * var * var;
		ok(fabs(all) < 4 && fabs(pairs) < 4 && fabs(corners) < 4,
		   "dropout %g: %.2f deviations from its rate, neighbours %.2f, squares %.2f", rate,
		   all, pairs, corners);
	}
}

/* the difference that a step makes of a tensor, as long as its rate */
static void rates(void)
{
	static const struct run r = {
		"oracle:rows=2,cols=4", 1, {"train_dataloader.batch_size=1"}, 1};
	static const char *const halved = "transformer.h.1.mlp.c_proj.weight";
	const struct form forms[2] = {{"", {.learned = 1}},
				      {"", {.learned = 1, .rate = {[WSE_GPT_RATE_FC2] = 0.5f}}}};
	float *p[2] = {NULL}, *begin = NULL;
	double off = 0, moved = 0;
	struct wse_step_result step;
	size_t others = 0, n = 0;
	struct wse_session s;
	struct state st;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		ret = open_run(&r, &forms[i], &s);
		if (ret)
			break;
		st = state_of(s.memx);
		n = st.table->params;
		if (!i)
			begin = malloc(n * sizeof(*begin));
		memcpy(begin, st.params, n * sizeof(*begin));
		state_free(&st);
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		p[i] = malloc(n * sizeof(**p));
		memcpy(p[i], st.params, n * sizeof(**p));
		for (uint32_t k = 0; i && k < st.table->n; k++) {
			const struct wse_tensor *t = &st.table->t[k];
			int fc2 = strstr(t->name, "mlp.c_proj.weight") != NULL;

			for (size_t j = t->off; j < t->off + t->count; j++) {
				double d = p[0][j] - begin[j];

				others += !fc2 && p[0][j] != p[1][j];
				if (strcmp(t->name, halved))
					continue;
				off = fmax(off, fabs(p[1][j] - begin[j] - d / 2));
				moved = fmax(moved, fabs(d));
			}
		}
		state_free(&st);
		wse_session_close(&s);
	}
	ok(!ret && !others && off < 1e-4 * moved && moved > 0,
	   "half a learning rate: half the way, off by %.1e of %.1e; %zu other numbers differ%s%s",
	   off, moved, others, ret ? ": " : "", ret ? wse_error() : "");
	free(p[0]);
	free(p[1]);
	free(begin);
}

/* heads that lie on one column, where a planner has them, and not on four */
static void on_four_columns(void)
{
	const struct wse_tile tile = {.rows = 2, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	const struct wse_gpt m = {.vocab = 256,
				  .positions = 32,
				  .seq = 32,
				  .hidden = 64,
				  .layers = 1,
				  .heads = 4,
				  .kv_heads = 1,
				  .head_dim = 12,
				  .filter = 256,
				  .learned = 1};
	struct wse_model model;

	ok(!wse_gpt_init(&model, &m) && wse_gpt_sizes(&model, &tile, 1) == -EINVAL &&
		   strstr(wse_error(), "attention_inner_dim 48 is not a multiple of 64: 4 heads "
				       "(num_heads), each over 4 columns, have 4 features or more "
				       "on each: choose 64"),
	   "%s", wse_error());
}

/* what no form has is refused in a sentence */
static void refused(void)
{
	static const struct {
		struct wse_gpt m;
		const char *words;
	} all[] = {
		{{.rotary = 7}, "rotary_dim 7 is odd: features turn in pairs: choose 6 or 8"},
		{{.rotary = 18}, "rotary_dim 18 is more than the 16 features of a head: choose 16"},
		{{.rotary = 8, .rotary_base = -1},
		 "rope_theta -1 is not a base of angles: choose 1 or more (10000)"},
		{{.rotary = 8, .rotary_scale = NAN},
		 "pos_scaling_factor nan does not scale positions: choose 0.001 or more (1)"},
		{{.heads = 8, .kv_heads = 3},
		 "num_kv_groups 3 does not divide num_heads 8: choose 2 or 4"},
		{{.rotary = 18, .head_dim = 8},
		 "rotary_dim 18 is more than the 8 features of a head: choose 8"},
		{{.learned = 1, .head_dim = 1},
		 "attention_inner_dim 4 is not a multiple of 16: 4 heads (num_heads), each over 1 "
		 "columns, have 4 features or more on each: choose 16"},
		{{.learned = 1, .head_dim = 1u << 20},
		 "4 heads of 1048576 features are more than 1048576: choose 262144"},
		{{.heads = 4, .kv_heads = 8},
		 "num_kv_groups 8 does not divide num_heads 4: choose 4"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct form f = {"", all[i].m};
		const struct run r = {"oracle:rows=2,cols=4", 1, {0}, 0};
		struct wse_session s;
		int ret = open_run(&r, &f, &s);

		ok(ret == -EINVAL && strstr(wse_error(), all[i].words), "%s",
		   ret ? wse_error() : "not refused");
		if (!ret)
			wse_session_close(&s);
	}
	on_four_columns();
	for (int gated = 0; gated < 2; gated++) {
		const struct wse_gpt m = {.vocab = 256,
					  .positions = 32,
					  .seq = 32,
					  .hidden = 64,
					  .layers = 1,
					  .heads = 4,
					  .filter = 256,
					  .gated = (uint32_t)gated,
					  .act = gated ? WSE_GELU : WSE_SILU};
		struct wse_model model;

		ok(wse_gpt_init(&model, &m) == -EINVAL &&
			   strstr(wse_error(), gated ? "a gate of another activation than SiLU"
						     : "SiLU without a gate"),
		   "%s", wse_error());
	}
}

/* which program a form's graph names */
static void programs(void)
{
	static const struct {
		struct wse_gpt m;
		const char *file;
	} all[] = {{{.learned = 1}, "train.elf"},
		   {{.learned = 1, .head_bias = 1, .no_qkv_bias = 1}, "train.elf"},
		   {{.learned = 1, .kv_heads = 1}, "full.elf"},
		   {{.rotary = 8}, "full.elf"},
		   {{.alibi = 1}, "slopes.elf"},
		   {{.learned = 1, .norm = WSE_GPT_NORM_BIASLESS}, "full.elf"},
		   {{.alibi = 1, .kv_heads = 1, .norm = WSE_GPT_NORM_RMS}, "slopes.elf"},
		   {{.learned = 1, .kv_heads = 1, .drop_residual = 0.1f}, "drop.elf"},
		   {{.alibi = 1, .kv_heads = 1, .drop_attention = 0.1f}, "drop.elf"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct form f = {"", all[i].m};
		const struct run r = {"oracle:rows=2,cols=4", 1, {0}, 0};
		struct wse_session s;
		int ret = open_run(&r, &f, &s);

		ok(!ret && s.plan.graph.nprograms == 1 &&
			   !strcmp(s.plan.graph.programs[0].file, all[i].file) &&
			   s.plan.graph.base == s.plan.graph.programs[0].end,
		   "form %zu is in %s%s%s", i, all[i].file, ret ? ": " : "",
		   ret ? wse_error() : "");
		if (!ret)
			wse_session_close(&s);
	}
}

/* operations of graphs of one's own that none of these models has */
static void bad_operations(void)
{
	static const char *const words[] = {
		"4 heads of queries do not share 3 of keys",
		"9 pairs of a head of 16 features on each of 1 columns",
		"its result does not lie at its sums",
		"the pass's second operand (value 1) has 16 features a column where 32 are needed",
	};
	const struct wse_tile tile = {.rows = 2, .cols = 2, .lanes = 8, .sram = 48 * 1024};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct wse_linear_op l = {.post = WSE_POST_MUL2, .bias = WSE_NO_BIAS};
		struct wse_attn_op a = {.d = 16, .heads = 4, .group = 1, .kv = 3};
		struct wse_rope_op r = {.d = 16, .heads = 8, .pairs = 9, .group = 1};
		struct wse_graph g;
		uint32_t x, y;
		int ret;

		wse_graph_init(&g, &tile, 8);
		wse_graph_sequence(&g, 16);
		wse_graph_kernels(&g);
		wse_graph_in(&g, "x", 160 * 2ul * 16 * 2);
		wse_graph_in(&g, "y", 16 * 2ul * 16 * 2);
		x = wse_op_in(&g, "x", 0, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 160);
		y = wse_op_in(&g, "y", 1, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 16);
		a.qkv = r.qkv = x;
		r.table = l.x = l.aux = y;
		if (i == 0)
			wse_op_attn(&g, &a);
		if (i == 1)
			wse_op_rope(&g, &r);
		if (i >= 2) {
			l.unit = wse_graph_unit(&g, 0, i == 2 ? 16 : 32, 32, 1);
			l.aux = i == 2 ? wse_op_in(&g, "y", 1, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 16)
				       : y;
			l.over = i == 3;
			wse_op_linear(&g, &l, NULL);
		}
		ret = wse_ops_finish(&g);
		ok(ret == -EINVAL && strstr(wse_error(), words[i]), "%s",
		   ret ? wse_error() : "not refused");
		wse_graph_fini(&g);
	}
}

/* narrower models of a form: each is one, lies on the tile, and is what the words say */
static void resized(void)
{
	static const struct {
		struct wse_gpt m;
		uint32_t cols, n;
		const char *words;
	} all[] = {
		{{LLAMA, .kv_heads = 2},
		 4,
		 1,
		 "hidden_size 32 and filter_size 128 and rotary_dim 8"},
		{{LLAMA, .kv_heads = 2}, 3, 2, "num_heads 3 and num_kv_groups 3"},
		{{GPTJ, .heads = 8}, 3, 2, "num_heads"},
		{{NEOX}, 4, 2, "rotary_dim 4"},
		{{.learned = 1, .head_dim = 24}, 4, 2, "hidden_size 32 and filter_size 128"},
		{{.learned = 1, .head_dim = 24}, 3, 5, "num_heads 3"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct wse_tile tile = {
			.rows = 2, .cols = all[i].cols, .lanes = 8, .sram = 48 * 1024};
		struct wse_model model, to = {0};
		struct wse_gpt m = all[i].m;
		const struct wse_gpt *got;
		char what[256];
		int ret;

		m.vocab = 256;
		m.positions = m.seq = 32;
		m.hidden = 64;
		m.layers = 2;
		m.heads = m.heads ? m.heads : 4;
		m.filter = 256;
		m.act = m.gated ? WSE_SILU : WSE_GELU;
		ret = wse_gpt_init(&model, &m);
		if (!ret)
			wse_gpt_resize(&model, &tile, all[i].n, &to, what, sizeof(what));
		got = wse_gpt(&to);
		m = *got;
		ok(!ret && strstr(what, all[i].words) && !wse_gpt_init(&model, &m) &&
			   !wse_gpt_sizes(&to, &tile, 1),
		   "on %u columns, %u units wide: %s%s%s", all[i].cols, all[i].n, what,
		   ret ? ": " : "", ret ? wse_error() : "");
	}
}

/* ---- what they compute ---- */

/*
 * The loss, and the gradient of every tensor g: along g / |g| the exact loss rises by |g|. A
 * gradient that is longer, shorter or points elsewhere does not.
 */
static void against_exact(const struct form *f)
{
	const struct run r = {"sim:func,rows=2,cols=4",
			      1,
			      {"train_dataloader.batch_size=1", "model.num_hidden_layers=1"},
			      2};
	double worst = 0, loss, total = 0, *p = NULL;
	struct wse_step_result step;
	const char *where = "";
	struct wse_session s;
	uint32_t compared = 0;
	struct exact e;
	struct state st;
	float *got;
	int ret = open_run(&r, f, &s);

	if (!ok(!ret, "%s: one block%s%s", f->name, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	ret = wse_session_compute(&s, &step);
	ret = ret ? ret : wse_session_check_grads(&s);
	st = state_of(s.memx);
	got = malloc(st.table->params * sizeof(*got));
	p = malloc(st.table->params * sizeof(*p));
	for (uint32_t i = 0; i < st.table->n; i++)
		wse_memx_grad(s.memx, i, got + st.table->t[i].off);
	for (size_t i = 0; i < st.table->params; i++) {
		p[i] = st.params[i];
		total += (double)got[i] * got[i];
	}
	e = (struct exact){wse_gpt(&s.cfg.model), st.table, p, s.cfg.model.span, s.io.jobs};
	if (e.m->drop_residual > 0.0f) {
		const struct exact all = {e.m, st.table, p, e.seq, NULL};

		loss = exact_loss(&all, s.samples[0] - 1);
		ok(fabs(step.loss - loss) > 3e-3 * loss, "%s: without dropout another loss, %.5f",
		   f->name, loss);
	}
	loss = exact_loss(&e, s.samples[0] - 1);
	ok(!ret && fabs(step.loss - loss) < 2e-3 * loss, "%s: loss %.5f, exactly %.5f%s%s", f->name,
	   step.loss, loss, ret ? ": " : "", ret ? wse_error() : "");
	/* with sanitizers the loss alone: the rest is this test's own arithmetic */
	for (uint32_t i = 0; i < st.table->n && !ret && !TAP_SANITIZED; i++) {
		const struct wse_tensor *t = &st.table->t[i];
		double gg = 0, rise[2], off, d;

		for (size_t j = t->off; j < t->off + t->count; j++)
			gg += (double)got[j] * got[j];
		if (gg <= 1e-7 * total)
			continue;
		d = 1e-4 / sqrt(gg);
		for (int way = 0; way < 2; way++) {
			for (size_t j = t->off; j < t->off + t->count; j++)
				p[j] = st.params[j] + (way ? d : -d) * got[j];
			rise[way] = exact_loss(&e, s.samples[0] - 1);
		}
		for (size_t j = t->off; j < t->off + t->count; j++)
			p[j] = st.params[j];
		off = fabs((rise[1] - rise[0]) / 2e-4 / sqrt(gg) - 1);
		compared++;
		if (off > worst) {
			worst = off;
			where = t->name;
		}
	}
	ok(!ret && worst < 0.015 && (TAP_SANITIZED || compared + 3 >= st.table->n),
	   "%s: %u of %u gradients by differences, worst %.2f %% off, %s", f->name, compared,
	   st.table->n, 100 * worst, where);
	free(got);
	free(p);
	state_free(&st);
	wse_session_close(&s);
}

int main(void)
{
	FILE *f;
	int fd = mkstemp(text);

	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return 1;
	for (uint64_t i = 0; i < 40000; i++) /* words that repeat */
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		same_bits(&forms[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		against_exact(&forms[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		on_rtl(&forms[i]);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].m.gated && !forms[i].m.no_ffn_bias)
			in_chunks(&forms[i]);
	phases(&forms[0], "full_");
	phases(&forms[3], "full_");
	phases(&forms[7], "full_");
	phases(&forms[DROPPED], "drop_");
	evaluated(&forms[DROPPED]);
	rates();
	bits();
	refused();
	resized();
	programs();
	bad_operations();
	unlink(text);
	return tap_end();
}
