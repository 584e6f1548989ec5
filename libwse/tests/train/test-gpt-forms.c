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
#include "gpt_form.h"
#include "model/gpt_sizes.h"
#include "ops/ops.h"
#include "ops/rope.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

#define LLAMA8                                                                                   \
	.norm = WSE_GPT_NORM_RMS, .rotary = 8, .rotary_halves = 1, .gated = 1, .no_qkv_bias = 1, \
	.no_proj_bias = 1, .no_ffn_bias = 1, .heads = 8

/* the factors; in which order products of tensors are formed depends on none of them */
#define DROP .drop_embed = 0.1f, .drop_residual = 0.2f, .drop_attention = 0.3f
#define MUP  .embed_scale = 2.2f, .score_scale = 0.19f, .logits_scale = 0.55f

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
	{"GPT-2's, heads of 60 as 64 over two columns", {.learned = 1, .heads = 2, .hidden = 120}},
	{"GPT-NeoX's, heads of 60 as 64 over two columns, 120 as 128",
	 {NEOX, .heads = 2, .hidden = 120}},
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
#define DROPPED 26

/* checksums over all parameters and moments after each of one or two steps; 0: it failed */
struct sums {
	uint64_t after[2];
};

static struct sums train(const struct run *r, const struct form *f, int steps,
			 struct wse_plan *plan)
{
	struct wse_step_result step;
	struct sums sums = {{0}};
	struct wse_session s;
	struct state st;
	int ret = open_run(r, f, &s);

	if (ret)
		return sums;
	for (int i = 0; i < steps && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
		if (ret)
			break;
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sums.after[i] = wse_checksum64(st.params, st.table->params * 4) ^
				wse_checksum64(st.v, st.table->params * 4);
		state_free(&st);
	}
	if (!ret && plan)
		*plan = s.plan;
	wse_session_close(&s);
	return sums;
}

static void same_bits(const struct form *f)
{
	/* what is recomputed has its bits after one step, or has other ones in its moments */
	static const struct {
		struct run run;
		int steps;
	} runs[] = {
		{{"oracle:rows=2,cols=4", 1, {0}, 0}, 2},
		{{"sim:func,rows=2,cols=4", 3, {0}, 0}, 2},
		{{"sim:func,rows=2,cols=4", 1, {"model.recompute=ffn"}, 1}, 1},
		{{"sim:func,rows=2,cols=4", 2, {"model.recompute=block"}, 1}, 1},
		{{"sim:func,rows=2,cols=4", 1, {"model.recompute=nth_block"}, 1}, 1},
		{{"sim:func,rows=2,cols=4", 1, {"model.recompute=spill"}, 1}, 1},
	};
	const struct run one = {"sim:func,rows=2,cols=4", 1, {0}, 0};
	const struct sums want = train(&one, f, 2, NULL);
	const int there = want.after[0] && want.after[1];

	ok(there, "%s: two steps%s%s", f->name, there ? "" : ": ", there ? "" : wse_error());
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs) && there; i++) {
		const struct run *r = &runs[i].run;
		const int last = runs[i].steps - 1;
		struct wse_plan plan = {0};
		struct sums got;

		/* one of them for each form, each of them for a few */
		if (TAP_SANITIZED && i != (size_t)(f - forms) % (sizeof(runs) / sizeof(*runs)))
			continue;
		got = train(r, f, runs[i].steps, &plan);

		ok(got.after[last] && got.after[last] == want.after[last],
		   "the same bits on %u x %s, mode %u%s%s", r->devices, r->uri, plan.mode,
		   got.after[last] ? "" : ": ", got.after[last] ? "" : wse_error());
		if (r->nsets)
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
	if (write_text())
		return 1;
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
	unlink(text);
	return tap_end();
}
