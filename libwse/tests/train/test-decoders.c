// SPDX-License-Identifier: MIT
/*
 * GPT-J, GPT-NeoX, LLaMA, BLOOM, BTLM and MPT on the wafer: gradients against the plain fp32
 * reference, the same bits on any number of devices, recomputed, and resumed from a checkpoint.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gradient.h"
#include "input/config.h"
#include "memx/entries.h"
#include "model/gpt.h"
#include "num/num.h"
#include "ops/ops.h"
#include "ref/decoder_ref.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static char text[] = "/tmp/wse-decoders-XXXXXX", saved[] = "/tmp/wse-decoders-XXXXXX.safetensors";

/* behind a model's keys: another section */
#define SPARSE(section) "}\n    sparsity: " section "\n    logging: {log_steps: 10"

/* a session of this model, 64 wide */
static int open_run(const char *model, const char *uri, uint32_t devices, struct wse_session *s)
{
	const char *uris[4] = {uri, uri, uri, uri};
	struct wse_faults faults;
	struct wse_config cfg;
	char yaml[2048];
	const struct wse_config_source src = {
		.name = "test",
		.text = yaml,
		.size = (size_t)snprintf(
			yaml, sizeof(yaml),
			"trainer:\n"
			"  init:\n"
			"    model: {%s\n"
			"            max_position_embeddings: 64, layer_norm_epsilon: 1.0e-5, %s}\n"
			"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
			"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
			"    precision: {max_gradient_norm: 1.0}\n"
			"    loop: {max_steps: 20, eval_frequency: 0}\n"
			"    sampling: {bytes: 8}\n"
			"  fit:\n"
			"    train_dataloader: {batch_size: 4, micro_batch_size: 1, data_dir: TEXT}\n"
			"    val_dataloader: {held_out_bytes: 1024}\n",
			strstr(model, " hidden_size") ? "" : "hidden_size: 64,", model),
		.data = text};
	int ret = wse_config_read(&src, &cfg, &faults);

	memset(s, 0, sizeof(*s));
	return ret ? ret : wse_session_open(s, &cfg, uris, devices, NULL);
}

static struct decoder_cfg ref_cfg(const struct wse_gpt *m)
{
	return (struct decoder_cfg){
		.family = m->norm == WSE_GPT_NORM_RMS	     ? DECODER_LLAMA
			  : m->norm == WSE_GPT_NORM_BIASLESS ? DECODER_MPT
			  : m->block == WSE_GPT_PARALLEL_ONE ? DECODER_GPTJ
			  : m->gated			     ? DECODER_BTLM
							     : DECODER_NEOX,
		.vocab = m->vocab,
		.hidden = m->hidden,
		.layers = m->layers,
		.heads = m->heads,
		.head_dim = m->head_dim,
		.kv_heads = m->kv_heads,
		.filter = m->filter,
		.rotary = m->rotary,
		.base = m->rotary_base,
		.scale = m->rotary_scale,
		.low = m->rotary_low,
		.high = m->rotary_high,
		.original = m->rotary_original,
		/* GELU by tanh is 1 in enum wse_activation, whatever its name */
		.act = m->act == WSE_SILU ? DECODER_SILU
		       : m->act == 1	  ? DECODER_GELU_TANH
					  : DECODER_GELU,
		.embed_scale = m->embed_scale,
		.score_scale = m->score_scale,
		.logits_scale = m->logits_scale,
		.eps = m->eps,
		.serial = m->block == WSE_GPT_SERIAL,
		.tied = (int)m->tied,
		.embed_norm = (int)m->embed_norm,
		.ffn_bias = !m->no_ffn_bias,
		.alibi = (int)m->alibi,
	};
}

/* between the table's order and the reference's, which is that of files: both by name */
struct way {
	const struct wse_tensor *t;
	float *flat;
	int back;
};

static int run(void *ctx, size_t at, size_t count, float *data)
{
	const struct way *w = ctx;
	float *here = w->flat + w->t->off + at;

	memcpy(w->back ? here : data, w->back ? data : here, count * sizeof(*data));
	return 0;
}

/* BLOOM's names as those of the reference's, which has it as a GPT-NeoX; others as they are */
static const char *ref_name(const struct wse_tensor_table *tab, const char *name, char text[200])
{
	static const char *const pairs[][2] = {
		{"transformer.word_embeddings.", "gpt_neox.embed_in."},
		{"transformer.word_embeddings_", "gpt_neox.word_embeddings_"},
		{"transformer.h.", "gpt_neox.layers."},
		{"transformer.ln_f.", "gpt_neox.final_layer_norm."},
		{"lm_head.", "embed_out."}};
	char *at;

	if (strcmp(tab->t[0].name, "transformer.word_embeddings.weight"))
		return name;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (!strncmp(name, pairs[i][0], strlen(pairs[i][0])))
			snprintf(text, 200, "%s%s", pairs[i][1], name + strlen(pairs[i][0]));
	at = strstr(text, ".self_attention.");
	if (at)
		memmove(at + 1, at + 6, strlen(at + 6) + 1);
	return text;
}

/* table [params] -> ref [nparams], or back; how many elements found their places */
static size_t reorder(const struct wse_tensor_table *tab, const struct decoder_cfg *c, float *table,
		      float *ref, int back)
{
	struct wse_entry *e;
	char name[200];
	size_t found = 0;
	uint32_t n;

	e = wse_entries(tab, &n);
	for (uint32_t i = 0; e && i < n; i++)
		for (uint32_t k = 0; k < decoder_ntensors(c); k++) {
			struct decoder_tensor t = decoder_tensor(c, k);
			struct way w = {&tab->t[e[i].tensor], table, back};

			if (strcmp(t.name, ref_name(tab, e[i].name, name)) ||
			    t.count != (size_t)e[i].dim[0] * e[i].dim[1])
				continue;
			wse_entry_each(&e[i], 0, t.count, ref + t.off, run, &w);
			found += t.count;
		}
	free(e);
	return found;
}

/* gradients of one step in the table's order, beside the reference's */
static int gradients(struct wse_session *s, float *got, float *want, double *loss, double *ref_loss)
{
	const struct decoder_cfg c = ref_cfg(wse_gpt(&s->cfg.model));
	uint32_t seq = s->cfg.model.span, batch = (uint32_t)s->cfg.batch;
	uint32_t *tokens = malloc(batch * (seq + 1ul) * sizeof(*tokens));
	float *params = malloc(s->table->params * sizeof(*params));
	float *grads = malloc(s->table->params * sizeof(*grads));
	struct wse_step_result r;
	struct state st;
	int ret = wse_session_compute(s, &r);

	ret = ret ? ret : wse_session_check_grads(s);
	ret = ret ? ret : decoder_check(&c);
	if (ret)
		goto out;
	st = state_of(s->memx);
	for (uint32_t i = 0; i < st.table->n; i++)
		wse_memx_grad(s->memx, i, got + st.table->t[i].off);
	for (uint32_t b = 0; b < batch; b++)
		for (uint32_t t = 0; t <= seq; t++)
			tokens[b * (seq + 1) + t] = s->samples[b][(int)t - 1];
	if (decoder_nparams(&c) != st.table->params ||
	    reorder(st.table, &c, st.params, params, 0) != st.table->params) {
		ret = -EINVAL;
	} else {
		*ref_loss = decoder_loss(&c, params, tokens, batch, seq, grads, NULL);
		reorder(st.table, &c, want, grads, 1);
		/* the reference knows no masks: weights that are 0 have a gradient there */
		state_mask(s->memx, st.table, want);
		*loss = r.loss;
	}
	state_free(&st);
out:
	free(tokens);
	free(params);
	free(grads);
	return ret;
}

static double whole(size_t n, const float *a, const float *b)
{
	double dd = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		dd += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		bb += (double)b[i] * b[i];
	}
	return sqrt(dd / bb);
}

static void reference(const char *what, const char *uri, const char *model)
{
	struct wse_session s;
	float *got, *want;
	double loss = 0, ref_loss = 1;
	struct distance d;
	int ret = open_run(model, uri, 1, &s);

	if (ret) {
		ok(0, "%s: %s", what, wse_error());
		return;
	}
	got = malloc(s.table->params * sizeof(*got));
	want = malloc(s.table->params * sizeof(*want));
	ret = gradients(&s, got, want, &loss, &ref_loss);
	if (ok(!ret, "%s: a step%s%s", what, ret ? ": " : "", ret ? wse_error() : "")) {
		d = gradient_distance(s.table, got, want);
		ok(gradient_close(d) && fabs(loss - ref_loss) < 1e-3 * ref_loss,
		   "%s: worst tensor %.3f %%, cosine %.6f, small ones %.1e, whole %.3f %%; loss "
		   "%.5f, fp32 %.5f",
		   what, 100 * d.l2, d.cosine, d.small, 100 * whole(s.table->params, got, want),
		   loss, ref_loss);
	}
	free(got);
	free(want);
	wse_session_close(&s);
}

/* ---- the same bits ---- */

static uint64_t sum_of(struct wse_session *s)
{
	struct state st;
	uint64_t sum;

	wse_memx_finish(s->memx);
	st = state_of(s->memx);
	sum = wse_checksum64(st.params, st.table->params * 4) ^
	      wse_checksum64(st.v, st.table->params * 4);
	state_free(&st);
	return sum;
}

static int steps(struct wse_session *s, int n)
{
	struct wse_step_result step;
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(s, &step);
		ret = ret ? ret : wse_session_commit(s, &step);
	}
	return ret;
}

/* with sanitizers half of them, the second of which has moments */
enum { STEPS = TAP_SANITIZED ? 2 : 4 };

/* a checksum over all parameters and moments after these steps, 0 on failure */
static uint64_t some_steps(const char *model, const char *uri, uint32_t devices)
{
	struct wse_session s;
	uint64_t sum = 0;

	if (!open_run(model, uri, devices, &s)) {
		sum = steps(&s, STEPS) ? 0 : sum_of(&s);
		wse_session_close(&s);
	}
	return sum;
}

/* half of the steps, a checkpoint, and the others by another session */
static uint64_t resumed(const char *model, const char *uri)
{
	struct wse_session s;
	uint64_t sum = 0;
	int ret = open_run(model, uri, 1, &s);

	if (ret)
		return 0;
	ret = steps(&s, STEPS / 2);
	ret = ret ? ret : wse_session_save(&s, saved, NULL);
	wse_session_close(&s);
	ret = ret ? ret : open_run(model, uri, 1, &s);
	if (ret)
		return 0;
	ret = wse_session_load(&s, saved, WSE_CKPT_ALL);
	ret = ret ? ret : steps(&s, STEPS / 2);
	sum = ret ? 0 : sum_of(&s);
	wse_session_close(&s);
	return sum;
}

static void same_bits(const char *what, const char *model)
{
	const char *twin = "sim:func,rows=4,cols=4";
	char again[512];
	uint64_t want = some_steps(model, twin, 1), got;

	ok(want != 0, "%s: %d steps%s%s", what, STEPS, want ? "" : ": ", want ? "" : wse_error());
	for (uint32_t devices = TAP_SANITIZED ? 3 : 2; devices <= 3; devices++) {
		got = some_steps(model, twin, devices);
		ok(got && got == want, "%s: the same bits on %u devices%s%s", what, devices,
		   got ? "" : ": ", got ? "" : wse_error());
	}
	got = some_steps(model, "oracle:rows=4,cols=4", 1);
	ok(got && got == want, "%s: on the oracle", what);
	snprintf(again, sizeof(again), "%s, recompute: block", model);
	got = some_steps(again, twin, 1);
	ok(got && got == want, "%s: recomputed", what);
	got = resumed(model, twin);
	ok(got && got == want, "%s: resumed%s%s", what, got ? "" : ": ", got ? "" : wse_error());
}

/* what is dropped depends on the step's number, not on where a run began */
static void goes_on(const char *what, const char *model)
{
	const char *twin = "sim:func,rows=4,cols=4";
	uint64_t want = some_steps(model, twin, 1), got = resumed(model, twin);

	ok(want && got == want, "%s: resumed%s%s", what, got ? "" : ": ", got ? "" : wse_error());
}

/* a model that fits with a program a phase alone: these have the bits of the oracle, too */
static void in_phases(const char *what, const char *model, const char *program)
{
	struct wse_session s;
	uint64_t want, got;
	int ret = open_run(model, "oracle:rows=4,cols=4", 1, &s);

	if (ret) {
		ok(0, "%s: %s", what, wse_error());
		return;
	}
	ok(!strcmp(s.plan.graph.programs[0].file, program), "%s: %s", what,
	   s.plan.graph.programs[0].file);
	wse_session_close(&s);
	want = some_steps(model, "oracle:rows=4,cols=4", 1);
	got = some_steps(model, "sim:func,rows=4,cols=4", 1);
	ok(want && got == want, "%s: the oracle's bits", what);
}

/* ---- logits ---- */

/* of one micro-batch, logits [vocab][tokens] as they come */
static int forward(struct wse_session *s, const uint16_t *const *samples)
{
	const struct wse_graph *g = &s->plan.graph;
	const struct wse_model *m = &s->cfg.model;
	struct wse_micro_batch job = s->io.jobs[0];
	struct wse_swarm_step step = {.graph = g, .jobs = &job, .n = 1};
	int ret = wse_memx_finish(s->memx);

	job.backward = 0;
	job.out[g->logits] = (struct wse_span){s->io.out[g->logits], 0};
	job.images = wse_memx_images(s->memx);
	memset(wse_span_ptr(job.in[g->target]), 0, g->in[g->target].bytes);
	m->family->gather(m, g, wse_memx_inputs(s->memx), samples, &job);
	ret = ret ? ret : wse_swarm_start(s->swarm, &step);
	return ret ? ret : wse_swarm_wait(s->swarm);
}

enum { TEXTS = 16, SEQ = 64 };

/*
 * 1,024 positions of random tokens: the same largest logit as the reference's, which PyTorch's are
 * (test-decoder-torch); at all positions where the reference's two largest are further apart than
 * four of bf16's roundings of them
 */
static void logits(const char *what, const char *model)
{
	static uint16_t tokens[SEQ + 1];
	const uint16_t *samples[1] = {tokens + 1};
	uint32_t wide[SEQ + 1], same = 0, all = 0, clear = 0, wrong = 0, v_all;
	double far = 0, large = 0;
	struct decoder_cfg c;
	struct wse_session s;
	float *params, *want;
	struct state st;
	int ret = open_run(model, "sim:func,rows=4,cols=4", 1, &s);

	if (ret) {
		ok(0, "%s: %s", what, wse_error());
		return;
	}
	c = ref_cfg(wse_gpt(&s.cfg.model));
	v_all = c.vocab;
	st = state_of(s.memx);
	params = malloc(st.table->params * sizeof(*params));
	want = malloc(SEQ * v_all * sizeof(*want));
	reorder(st.table, &c, st.params, params, 0);
	for (uint32_t n = 0; n < TEXTS && !ret; n++) {
		const float *got = s.io.out[s.plan.graph.logits]->ptr;

		for (uint32_t t = 0; t <= SEQ; t++)
			wide[t] = tokens[t] = (uint16_t)(wse_rng_u64(3, n, t) % v_all);
		ret = forward(&s, samples);
		decoder_loss(&c, params, wide, 1, SEQ, NULL, want);
		for (uint32_t t = 0; t < SEQ && !ret; t++, all++) {
			uint32_t best = 0, top = 0;
			float second = -INFINITY;

			for (uint32_t v = 0; v < v_all; v++) {
				float y = got[v * SEQ + t], ref = want[t * v_all + v];

				best = y > got[best * SEQ + t] ? v : best;
				top = ref > want[t * v_all + top] ? v : top;
				far = fmax(far, fabs(y - ref));
				large = fmax(large, fabs(ref));
			}
			same += best == top;
			for (uint32_t v = 0; v < v_all; v++)
				if (v != top && want[t * v_all + v] > second)
					second = want[t * v_all + v];
			if (want[t * v_all + top] * (1 - 0x1p-6f) > second) {
				clear++;
				wrong += best != top;
			}
		}
	}
	ok(!ret && all == TEXTS * SEQ && same >= 0.99 * all && clear > 0.8 * all && !wrong &&
		   far < 0.01 * large,
	   "%s: the largest logit of %u of %u positions, of all %u where it is clear; %.3f "
	   "apart at most, of up to %.1f",
	   what, same, all, clear, far, large);
	state_free(&st);
	free(params);
	free(want);
	wse_session_close(&s);
}

/* layers, heads */
#define SIZES(l, n) "num_hidden_layers: " #l ", num_heads: " #n ", "
#define GPTJ(l, n)  SIZES(l, n) "name: gptj, nonlinearity: gelu"
#define NEOX(l, n)  SIZES(l, n) "name: gpt_neox, nonlinearity: gelu"
#define LLAMA(l, n) SIZES(l, n) "name: llama"
/* weights far from those that training begins with, so that one logit is the largest */
#define RANDOM ", initializer_range: 0.05"
#define MUP                                                                            \
	", mup_base_hidden_size: 32, mup_base_filter_size: 128, embeddings_scale: 4, " \
	"output_logits_alpha: 2.22, scale_qk_dot_by_d: true, attention_logits_alpha: 4"
#define ALIBI	   ", position_embedding_type: alibi"
#define BLOOM_FORM NEOX(2, 4) ", use_parallel_residual: false" ALIBI
#define BLOOM	   BLOOM_FORM ", share_embedding_weights: true, embedding_layer_norm: true"
/* BTLM's and Jais': SwiGLU with biases; muP as theirs */
#define BTLM(l, n)                                                             \
	SIZES(l, n)                                                            \
	"name: btlm, nonlinearity: swiglu, use_projection_bias_in_attention: " \
	"true, use_ffn_bias_in_attention: true, use_ffn_bias: true" ALIBI
/* MPT's, in the words of its file */
#define MPT(l, n)                                                                  \
	SIZES(l, n)                                                                \
	"name: mpt, nonlinearity: gelu, norm_type: biasless-layernorm, "           \
	"share_embedding_weights: true, use_projection_bias_in_attention: false, " \
	"use_ffn_bias_in_attention: false, use_ffn_bias: false, use_bias_in_output: false" ALIBI
#define GROUPS(n) ", extra_attention_params: {num_kv_groups: " #n "}"

/* heads whose features are no multiple of 4 */
#define ODD_GPTJ  GPTJ(2, 2) ", hidden_size: 14, rotary_dim: 4"
#define ODD_NEOX  NEOX(2, 2) ", hidden_size: 14, rotary_dim: 6"
#define ODD_LLAMA LLAMA(2, 3) ", hidden_size: 27, rotary_dim: 8, filter_size: 72" GROUPS(1)
#define ODD_BTLM  BTLM(2, 4) ", hidden_size: 44, filter_size: 109"
#define ODD_MPT	  MPT(2, 6) ", hidden_size: 30"

#define NEMO	  SIZES(2, 4) "name: mistral, nonlinearity: swiglu, attention_inner_dim: 96" GROUPS(2)

int main(void)
{
	int fd = mkstemp(text), other = mkstemps(saved, 12);

	if (fd < 0 || other < 0)
		return 1;
	for (uint32_t i = 0; i < 16384; i++) {
		char c = "the quick brown fox jumps over a lazy dog. "[wse_rng_u64(1, i / 7, i) %
								       43];

		if (write(fd, &c, 1) != 1)
			return 1;
	}
	close(fd);
	close(other);
	reference("GPT-J, heads of 7, rotary 4, in 14 as 16", "sim:func,rows=4,cols=2", ODD_GPTJ);
	reference("NeoX, heads of 7 over two columns, rotary 6, in 14 as 16",
		  "sim:func,rows=4,cols=4", ODD_NEOX);
	reference("LLaMA, heads of 9, rotary 8, 1 of 3 of keys over 3 columns, in 27 as 36",
		  "sim:func,rows=4,cols=3", ODD_LLAMA);
	reference("BTLM, heads of 11 in 44 as 48, filter 109, a quarter of the weights",
		  "sim:func,rows=4,cols=4", ODD_BTLM SPARSE("0.75"));
	reference("MPT, heads of 5, 3 a column, in 30 as 32", "sim:func,rows=4,cols=2", ODD_MPT);
	same_bits("GPT-J, heads of 7", ODD_GPTJ);
	same_bits("LLaMA, heads of 9 over columns", ODD_LLAMA);
	same_bits("BTLM, heads of 11, filter 109", ODD_BTLM);
	reference("GPT-J, rotary 4 of 16", "sim:func,rows=4,cols=4", GPTJ(2, 4));
	reference("GPT-J, a head over two columns", "sim:func,rows=4,cols=8",
		  GPTJ(2, 4) ", rotary_dim: 16");
	reference("GPT-J, tied, 4 heads a column", "sim:func,rows=4,cols=2",
		  GPTJ(2, 8) ", share_embedding_weights: true");
	reference("NeoX, rotary 4 of 16", "sim:func,rows=4,cols=4", NEOX(2, 4));
	reference("NeoX, all of 16, four layers", "sim:func,rows=4,cols=4",
		  NEOX(4, 4) ", rotary_dim: 16");
	reference("NeoX, in series, a head over two columns", "sim:func,rows=2,cols=8",
		  NEOX(2, 4) ", use_parallel_residual: false");
	reference("LLaMA", "sim:func,rows=4,cols=4", LLAMA(2, 4) ", filter_size: 176");
	reference("LLaMA, tied, base 500000, positions / 4", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) ", filter_size: 176, share_embedding_weights: true, "
			      "rope_theta: 500000, pos_scaling_factor: 4");
	reference("LLaMA 3, slow pairs / 8", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) ", pos_scaling_type: llama3, pos_scaling_factor: 8, rope_theta: 100, "
			      "pos_scaling_extra_args: {original_max_position_embeddings: 64}");
	reference("LLaMA, a head over two columns", "sim:func,rows=2,cols=8", LLAMA(2, 4));
	reference("LLaMA, 2 of 4 heads of keys", "sim:func,rows=4,cols=2", LLAMA(2, 4) GROUPS(2));
	reference("LLaMA, one head of keys over 4 columns", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) GROUPS(1));
	reference("LLaMA, 2 of 4 heads of keys, a quarter of the weights", "sim:func,rows=4,cols=2",
		  LLAMA(2, 4) GROUPS(2) SPARSE("0.75"));
	reference("LLaMA, a head over two columns, half of all matrices", "sim:func,rows=2,cols=8",
		  LLAMA(2, 4) SPARSE("{sparsity: 0.5, param_filter: '*'}"));
	reference("NeoX, rotary 4 of 16, a quarter of the weights", "sim:func,rows=4,cols=4",
		  NEOX(2, 4) SPARSE("0.75"));
	reference("GPT-J, a head over two columns, a quarter of the weights",
		  "sim:func,rows=4,cols=8", GPTJ(2, 4) SPARSE("0.75"));
	reference("LLaMA, four layers, rotary 8 of 16", "sim:func,rows=4,cols=4",
		  LLAMA(4, 4) ", rotary_dim: 8");
	reference("BLOOM: tied, a norm behind the embeddings", "sim:func,rows=4,cols=4", BLOOM);
	reference("LLaMA, a norm behind the embeddings", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) ", embedding_layer_norm: true");
	reference("GPT-J, slopes of 12 heads, 6 a column", "sim:func,rows=4,cols=2",
		  SIZES(2, 12) "name: gptj, nonlinearity: gelu, hidden_size: 48" ALIBI);
	reference("LLaMA, slopes of 6 heads, 3 of keys, over 2 columns each",
		  "sim:func,rows=4,cols=12", LLAMA(2, 6) ", hidden_size: 96" GROUPS(3) ALIBI);
	reference("GPT-J, muP", "sim:func,rows=4,cols=4", GPTJ(2, 4) MUP);
	reference("LLaMA, biases of the FFN", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) ", filter_size: 176, use_ffn_bias: true");
	reference("BTLM, muP", "sim:func,rows=4,cols=4", BTLM(2, 4) MUP);
	reference("BTLM, untied, 4 heads a column", "sim:func,rows=4,cols=2",
		  BTLM(2, 8) ", share_embedding_weights: false");
	reference("LLaMA, filter 171 as 176", "sim:func,rows=4,cols=4",
		  LLAMA(2, 4) ", filter_size: 171");
	reference("NeoX, filter 170 as 192", "sim:func,rows=2,cols=16",
		  NEOX(2, 4) ", filter_size: 170");
	reference("BTLM, filter 109 as 112, a quarter of the weights", "sim:func,rows=4,cols=4",
		  BTLM(2, 4) ", filter_size: 109" SPARSE("0.75"));
	reference("MPT", "sim:func,rows=4,cols=4", MPT(2, 4));
	reference(
		"MPT, slopes of 6 heads, untied, filter 250 as 256", "sim:func,rows=4,cols=2",
		SIZES(2,
		      6) "name: mpt, nonlinearity: gelu, norm_type: biasless-layernorm, "
			 "share_embedding_weights: false, use_ffn_bias: false, "
			 "use_projection_bias_in_attention: false, "
			 "use_ffn_bias_in_attention: false, hidden_size: 48, filter_size: 250" ALIBI);
	goes_on("GPT-J with dropout",
		GPTJ(2, 4) ", residual_dropout_rate: 0.1, attention_dropout_rate: 0.2");
	same_bits("MPT", MPT(2, 4));
	same_bits("BTLM, filter 109 as 112", BTLM(2, 4) ", filter_size: 109");
	same_bits("NeoX, filter 250 as 256", NEOX(2, 4) ", filter_size: 250");
	same_bits("BTLM, muP", BTLM(2, 4) MUP);
	same_bits("LLaMA, biases of the FFN", LLAMA(2, 4) ", use_ffn_bias: true");
	reference("Mistral NeMo: heads of 24 in 64, 2 of keys over 2 columns each",
		  "sim:func,rows=4,cols=4", NEMO);
	reference("GPT-J, heads of 8 in 64", "sim:func,rows=4,cols=4",
		  GPTJ(2, 4) ", attention_inner_dim: 32");
	same_bits("Mistral NeMo", NEMO);
	same_bits("GPT-J, muP", GPTJ(2, 4) MUP);
	same_bits("GPT-J", GPTJ(2, 4));
	same_bits("BLOOM", BLOOM);
	same_bits("GPT-2, a norm behind the embeddings",
		  SIZES(2, 4) "name: gpt2, embedding_layer_norm: true");
	same_bits("NeoX", NEOX(2, 4));
	same_bits("LLaMA, 2 of 4 heads of keys", LLAMA(2, 4) GROUPS(2));
	in_phases("BLOOM",
		  SIZES(1, 4) "name: gpt_neox, nonlinearity: gelu, hidden_size: 256, "
			      "use_parallel_residual: false, embedding_layer_norm: true" ALIBI,
		  "slopes_forward.elf");
	logits("GPT-J", GPTJ(2, 4) RANDOM);
	logits("NeoX", NEOX(2, 4) RANDOM);
	logits("LLaMA, 2 of 4 heads of keys", LLAMA(2, 4) GROUPS(2) RANDOM);
	logits("BTLM", BTLM(2, 4) RANDOM);
	logits("MPT", MPT(2, 4) RANDOM);
	unlink(text);
	unlink(saved);
	return tap_end();
}
