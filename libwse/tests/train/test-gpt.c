// SPDX-License-Identifier: MIT
/*
 * The GPT as a graph: its gradients against the fp32 reference, and the same bits on oracle and
 * twin, on any number of devices, with sequences over any number of rows, with and without
 * recomputation.
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
#include "model/gpt.h"
#include "num/num.h"
#include "ops/ops.h"
#include "ref/gpt_ref.h"
#include "state.h"
#include "tap.h"
#include "train/session.h"
#include "train/verify.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 3.0e-3}}]\n"
	"    precision: {max_gradient_norm: 1.0}\n"
	"    loop: {max_steps: 20, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

static char text[] = "/tmp/wse-gpt-XXXXXX", words[] = "/tmp/wse-gpt-XXXXXX.bin";

/* uint16 tokens of a vocabulary in chunks */
#define WORDS 2000
static const char vocab[] = "model.vocab_size=2000";

struct run {
	const char *uri;
	uint32_t devices;
	const char *sets[8];
	uint32_t nsets;
};

/* a session of the model above with some settings changed */
static int open_run(const struct run *r, struct wse_session *s)
{
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.sets = r->sets,
					.nsets = r->nsets,
					.data = r->nsets && !strcmp(r->sets[0], vocab) ? words
										       : text};
	const char *uris[8] = {r->uri, r->uri, r->uri, r->uri, r->uri, r->uri, r->uri, r->uri};
	struct wse_faults faults;
	struct wse_config cfg;
	int ret = wse_config_read(&src, &cfg, &faults);

	if (ret)
		return ret;
	return wse_session_open(s, &cfg, uris, r->devices ? r->devices : 1, NULL);
}

static struct gpt_ref_cfg ref_cfg(const struct wse_session *s)
{
	static const enum gpt_ref_act acts[] = {[WSE_RELU] = GPT_REF_RELU,
						[WSE_GELU_NEW] = GPT_REF_GELU_NEW,
						[WSE_GELU] = GPT_REF_GELU,
						[WSE_SQUARED_RELU] = GPT_REF_RELU2};
	const struct wse_gpt *m = wse_gpt(&s->cfg.model);

	return (struct gpt_ref_cfg){
		.vocab = m->vocab,
		.positions = m->positions,
		.hidden = m->hidden,
		.layers = m->layers,
		.heads = m->heads,
		.filter = m->filter,
		.act = acts[m->act],
		.eps = m->eps,
		.tied = (int)m->tied,
	};
}

/* |a - b| / |b| over all parameters */
static double whole(size_t n, const float *a, const float *b)
{
	double dd = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		dd += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		bb += (double)b[i] * b[i];
	}
	return sqrt(dd / bb);
}

/*
 * gradients of one step, in the tensors' order, beside the reference's; stored: with bf16 storage
 */
static int gradients(struct wse_session *s, float *got, int stored, float *want, double *loss,
		     double *ref_loss)
{
	struct gpt_ref_cfg c = ref_cfg(s);
	uint32_t seq = s->cfg.model.span, batch = (uint32_t)s->cfg.batch;
	uint16_t *tokens = malloc(batch * (seq + 1ul) * sizeof(*tokens));
	struct wse_step_result r;
	struct gpt_ref *ref;
	struct state st;
	int ret = wse_session_compute(s, &r);

	c.bf16_storage = stored;
	ret = ret ? ret : wse_session_check_grads(s);
	if (ret)
		return ret;
	st = state_of(s->memx);
	for (uint32_t i = 0; i < st.table->n; i++)
		wse_memx_grad(s->memx, i, got + st.table->t[i].off);
	for (uint32_t b = 0; b < batch; b++)
		memcpy(tokens + b * (seq + 1), s->samples[b] - 1, (seq + 1) * sizeof(*tokens));
	ret = gpt_ref_open(&ref, &c, batch, seq, 2);
	if (!ret) {
		*ref_loss = gpt_ref_loss(ref, st.params, tokens, batch, want, NULL);
		gpt_ref_close(ref);
		/* the reference knows no masks: weights that are 0 have a gradient there */
		state_mask(s->memx, st.table, want);
	}
	*loss = r.loss;
	state_free(&st);
	free(tokens);
	return ret;
}

/* at the initial weights, and after some steps */
static void reference(const struct run *r, const char *what)
{
	struct wse_session s;
	struct wse_step_result step;
	float *got, *want;
	double loss = 0, ref_loss = 1;
	struct distance d;
	int ret = open_run(r, &s);

	if (!ok(!ret, "%s on %s%s%s", what, r->uri, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	got = malloc(s.table->params * sizeof(*got));
	want = malloc(s.table->params * sizeof(*want));
	ret = gradients(&s, got, 0, want, &loss, &ref_loss);
	if (!ok(!ret, "%s: a step%s%s", what, ret ? ": " : "", ret ? wse_error() : ""))
		goto out;
	d = gradient_distance(s.table, got, want);
	ok(!ret && gradient_close(d),
	   "%s, initial weights: worst relative L2 %.3f %%, cosine %.6f, small ones %.1e of the norm",
	   what, 100 * d.l2, d.cosine, d.small);
	ok(fabs(loss - ref_loss) < 1e-3 * ref_loss, "%s: loss %.5f, fp32 %.5f", what, loss,
	   ref_loss);
	ret = wse_session_commit(&s, &step);
	for (int i = 0; i < 15 && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	wse_memx_finish(s.memx);
	ret = ret ? ret : gradients(&s, got, 0, want, &loss, &ref_loss);
	ok(!ret && whole(s.table->params, got, want) <= 0.015,
	   "%s, after 16 steps: the whole gradient %.3f %% off", what,
	   100 * whole(s.table->params, got, want));
	ok(fabs(loss - ref_loss) < 0.01 * ref_loss, "%s, after 16 steps: loss %.5f, fp32 %.5f",
	   what, loss, ref_loss);
out:
	free(got);
	free(want);
	wse_session_close(&s);
}

/*
 * ReLU's kink: rounding moves units to its other side, on whatever device, and roundings that
 * differ move others. The wafer is about as far from fp32 as fp32 with bf16 storage is, and nearer
 * to the latter.
 */
static void kink(const char *layers)
{
	const struct run r = {"sim:func,rows=4,cols=4", 1, {"model.nonlinearity=relu", layers}, 2};
	struct distance plain, stored, alone;
	struct wse_session s;
	float *got, *want, *bf16;
	double loss, ref_loss;
	int ret = open_run(&r, &s);

	if (!ok(!ret, "ReLU, %s%s%s", layers, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	got = malloc(s.table->params * sizeof(*got));
	want = malloc(s.table->params * sizeof(*want));
	bf16 = malloc(s.table->params * sizeof(*bf16));
	ret = gradients(&s, got, 1, bf16, &loss, &ref_loss);
	ret = ret ? ret : gradients(&s, got, 0, want, &loss, &ref_loss);
	plain = gradient_distance(s.table, got, want);
	stored = gradient_distance(s.table, got, bf16);
	alone = gradient_distance(s.table, bf16, want);
	ok(!ret && stored.l2 <= alone.l2 && plain.l2 <= 1.25 * alone.l2,
	   "ReLU, %s: worst tensor %.2f %% from fp32 (whole %.2f %%, cosine %.5f), %.2f %% from bf16 "
	   "storage, which alone is %.2f %% (%.2f %%)",
	   layers, 100 * plain.l2, 100 * whole(s.table->params, got, want), plain.cosine,
	   100 * stored.l2, 100 * alone.l2, 100 * whole(s.table->params, bf16, want));
	free(got);
	free(want);
	free(bf16);
	wse_session_close(&s);
}

/* three steps; a checksum over all parameters and moments, 0 on failure */
static uint64_t three_steps(const struct run *r, uint32_t *mode)
{
	struct wse_session s;
	struct wse_step_result step;
	struct state st;
	uint64_t sum = 0;
	int ret = open_run(r, &s);

	for (int i = 0; i < 3 && !ret; i++) {
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
	}
	if (!ret) {
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      wse_checksum64(st.v, st.table->params * 4);
		state_free(&st);
		if (mode)
			*mode = s.plan.mode;
	}
	wse_session_close(&s);
	return ret ? 0 : sum;
}

static void same_bits(void)
{
	static const struct run runs[] = {
		{"oracle:rows=4,cols=4", 1, {0}, 0},
		{"sim:func,rows=4,cols=4", 2, {0}, 0},
		{"sim:func,rows=4,cols=4", 3, {0}, 0},
		{"sim:func,rows=4,cols=4", 4, {0}, 0},
		{"sim:func,rows=4,cols=4", 2, {"model.recompute=ffn"}, 1},
		{"sim:func,rows=4,cols=4", 1, {"model.recompute=block"}, 1},
	};
	uint64_t want = three_steps(&(struct run){"sim:func,rows=4,cols=4", 1, {0}, 0}, NULL);

	ok(want != 0, "three steps on one twin%s%s", want ? "" : ": ", want ? "" : wse_error());
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		uint32_t mode = 99;
		uint64_t got = three_steps(&runs[i], &mode);

		ok(got && got == want, "the same bits on %u x %s, mode %u%s%s", runs[i].devices,
		   runs[i].uri, mode, got ? "" : ": ", got ? "" : wse_error());
		if (runs[i].nsets)
			ok(mode >= wse_gpt_mode[i == 4 ? 1 : 2], "recomputation as asked for");
	}
}

/* ---- the part of the embeddings ---- */

/* the gradients of the first n samples of the step, with all of them */
static int grads_of(struct wse_session *s, uint32_t n, float *out)
{
	struct wse_swarm_step step = wse_slots_step(&s->io, n);
	int ret;

	wse_slots_images(&s->io, n);
	ret = wse_swarm_start(s->swarm, &step);
	ret = ret ? ret : wse_swarm_wait(s->swarm);
	if (ret)
		return ret;
	wse_slots_scatter(&s->io);
	for (uint32_t i = 0; i < s->table->n; i++)
		wse_memx_grad(s->memx, i, out + s->table->t[i].off);
	return 0;
}

/* of three micro-batches: the sum of the leaves 0, 1 and 2 is (0 + 1) + 2 in every element */
static void leaves(const char *tied)
{
	const struct run r = {"sim:func,rows=4,cols=4",
			      1,
			      {"train_dataloader.batch_size=3", "model.num_hidden_layers=1", tied},
			      3};
	struct wse_step_result step;
	struct wse_session s;
	int ret = open_run(&r, &s);
	float *g[4] = {NULL};
	size_t bad = 0, used = 0, both = 0;

	ret = ret ? ret : wse_session_compute(&s, &step);
	if (!ok(!ret, "three micro-batches, %s%s%s", tied, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	for (int k = 0; k < 4; k++)
		g[k] = malloc(s.table->params * sizeof(float));
	ret = grads_of(&s, 3, g[3]);
	for (int k = 0; k < 3 && !ret; k++) {
		ret = grads_of(&s, 1, g[k]);
		s.samples[0] = s.samples[k < 2 ? k + 1 : 0];
	}
	for (size_t i = 0; i < s.table->params && !ret; i++) {
		float left = g[0][i] + g[1][i];

		bad += left + g[2][i] != g[3][i];
		used += g[3][i] != 0;
		both += i < s.table->t[0].count && g[0][i] != 0 && g[1][i] != 0;
	}
	ok(!ret && !bad && used > s.table->params / 2 && both,
	   "all gradients are those of the tree, those of the embeddings, too: %zu of %zu differ",
	   bad, s.table->params);
	for (int k = 0; k < 4; k++)
		free(g[k]);
	wse_session_close(&s);
}

/* bytes of all inputs and outputs */
static size_t io_bytes(const char *batch, uint32_t devices)
{
	const struct run r = {"oracle:rows=4,cols=4", devices, {batch}, 1};
	struct wse_session s;
	size_t sum = 0;

	if (open_run(&r, &s))
		return 0;
	for (uint32_t i = 0; i < s.plan.graph.nin; i++)
		sum += s.io.in[i]->size;
	for (uint32_t i = 0; i < s.plan.graph.nout; i++)
		sum += s.io.out[i]->size;
	wse_session_close(&s);
	return sum;
}

static void slots(void)
{
	size_t two = io_bytes("train_dataloader.batch_size=2", 1);
	size_t many = io_bytes("train_dataloader.batch_size=64", 1);
	size_t three = io_bytes("train_dataloader.batch_size=64", 3);

	ok(two && two == many && three > many && three < 3 * many,
	   "inputs and outputs of 2 and of 64 micro-batches: %zu and %zu bytes; 3 devices: %zu",
	   two, many, three);
	leaves("model.share_embedding_weights=true");
	leaves("model.share_embedding_weights=false");
}

/* a device that is lost in the middle of a step: the leaves that it made are made again */
static void lost(void)
{
	static const char *const uris[] = {"oracle:rows=2,cols=2", "oracle:rows=2,cols=2,die_at=3"};
	static const char *const sets[] = {"model.hidden_size=32", "train_dataloader.batch_size=6"};
	struct wse_config_source src = {.name = "test",
					.text = yaml,
					.size = sizeof(yaml) - 1,
					.sets = sets,
					.nsets = 2,
					.data = text};
	uint64_t sum[2] = {0};
	struct wse_faults faults;
	struct wse_config cfg;
	int ret = wse_config_read(&src, &cfg, &faults);
	uint32_t alive = 0;

	for (uint32_t k = 0; k < 2 && !ret; k++) {
		struct wse_step_result step;
		struct wse_session s;
		struct state st;

		ret = wse_session_open(&s, &cfg, uris, k + 1, NULL);
		if (ret)
			break;
		ret = wse_session_compute(&s, &step);
		ret = ret ? ret : wse_session_commit(&s, &step);
		wse_memx_finish(s.memx);
		st = state_of(s.memx);
		sum[k] = wse_checksum64(st.m, st.table->params * 4);
		state_free(&st);
		alive = wse_swarm_alive(s.swarm);
		wse_session_close(&s);
	}
	ok(!ret && alive == 1 && sum[0] == sum[1], "a device is lost: the same bits%s%s",
	   ret ? ": " : "", ret ? wse_error() : "");
}

/*
 * a model that needs a program for each phase, and the FFN in chunks: the programs end where the
 * plan says
 */
static void phases(void)
{
	static const struct run r = {"sim:func,rows=4,cols=4",
				     1,
				     {"model.hidden_size=128",
				      "train_dataloader.micro_batch_size=2",
				      "train_dataloader.batch_size=2"},
				     3};
	struct wse_step_result step;
	struct wse_session s;
	int ret = open_run(&r, &s);

	ok(!ret && s.plan.graph.nprograms == 3 && s.plan.graph.variant > 1,
	   "hidden 128, 32 tokens a core: a program a phase%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	if (ret)
		return;
	ret = wse_session_compute(&s, &step);
	ret = ret ? ret : wse_verify_step(&s, "oracle:rows=4,cols=4");
	ok(!ret, "and the oracle's bits%s%s", ret ? ": " : "", ret ? wse_error() : "");
	wse_session_close(&s);
}

/* five samples, two a micro-batch: the last one has a sample that does not count */
static void rest(void)
{
	static const char *const uri = "sim:func,rows=4,cols=4";
	struct run r = {uri,
			1,
			{"train_dataloader.micro_batch_size=2", "train_dataloader.batch_size=5",
			 "model.num_hidden_layers=1"},
			3};
	struct wse_step_result step;
	struct wse_session s;
	uint64_t one, two, three, all;
	int ret;

	reference(&r, "five samples in micro-batches of two");
	one = three_steps(&r, NULL);
	r.devices = 2;
	two = three_steps(&r, NULL);
	r.devices = 3;
	three = three_steps(&r, NULL);
	r.sets[1] = "train_dataloader.batch_size=6";
	all = three_steps(&r, NULL);
	ok(one && one == two && one == three && one != all,
	   "and the same bits on one, two and three devices, which are not those of six samples");
	r.sets[1] = "train_dataloader.batch_size=5";
	r.devices = 2;
	ret = open_run(&r, &s);
	ret = ret ? ret : wse_session_compute(&s, &step);
	ret = ret ? ret : wse_verify_step(&s, "oracle:rows=4,cols=4");
	ok(!ret && s.plan.fill == 1, "a replay by the oracle%s%s", ret ? ": " : "",
	   ret ? wse_error() : "");
	ret = ret ? ret : wse_session_commit(&s, &step);
	ret = ret ? ret : wse_session_probe(&s);
	ok(!ret, "and a forward after it%s%s", ret ? ": " : "", ret ? wse_error() : "");
	wse_session_close(&s);
}

/* ---- a vocabulary in chunks ---- */

static uint32_t chunks_of(const struct wse_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nops; i++)
		n += g->ops[i].kind == WSE_OP_LOSS_GRAD;
	return n;
}

/* log sum exp - y of the target, from the logits [vocab][tokens] that went out */
static double loss_of(const float *logits, uint32_t classes, uint32_t tokens, uint32_t t,
		      uint32_t target)
{
	double sum = 0;

	for (uint32_t v = 0; v < classes; v++)
		sum += exp(logits[(size_t)v * tokens + t]);
	return log(sum) - logits[(size_t)target * tokens + t];
}

/*
 * the forward pass alone, with its logits: every one is where its class is, and they give the
 * losses
 */
static void logits(const struct run *r)
{
	struct wse_session s;
	int ret = open_run(r, &s);
	const struct wse_graph *g = &s.plan.graph;
	struct wse_swarm_step step = {.graph = g, .n = 1};
	struct wse_step_result result;
	struct wse_micro_batch job;
	double off = 0;

	/* a step first: it gathers the inputs of micro-batch 0 */
	ret = ret ? ret : wse_session_compute(&s, &result);
	if (!ok(!ret && chunks_of(g) > 1, "a vocabulary in %u chunks on %s%s%s",
		ret ? 0 : chunks_of(g), r->uri, ret ? ": " : "", ret ? wse_error() : ""))
		return;
	job = s.io.jobs[0];
	job.backward = 0;
	job.out[g->logits] = (struct wse_span){s.io.out[g->logits], 0};
	job.images = wse_memx_images(s.memx);
	step.jobs = &job;
	memset(s.io.out[g->logits]->ptr, 0, g->out[g->logits].bytes);
	memset(s.io.out[g->loss]->ptr, 0, g->out[g->loss].bytes);
	ret = wse_swarm_start(s.swarm, &step);
	ret = ret ? ret : wse_swarm_wait(s.swarm);
	for (uint32_t t = 0; t < s.plan.tokens && !ret; t++) {
		const uint16_t *target = wse_span_ptr(job.in[g->target]);
		const float *loss = wse_span_ptr(job.out[g->loss]);

		off = fmax(off, fabs(loss[t] - loss_of(s.io.out[g->logits]->ptr, g->classes,
						       s.plan.tokens, t, target[t])));
	}
	ok(!ret && off < 1e-5, "losses of the forward pass alone and those of its logits: %.2g off",
	   off);
	wse_session_close(&s);
}

static void chunks(void)
{
	static const struct run runs[] = {
		{"oracle:rows=4,cols=4", 1, {vocab}, 1},
		{"sim:func,rows=4,cols=4", 3, {vocab}, 1},
		{"sim:func,rows=4,cols=4", 2, {vocab, "model.recompute=block"}, 2},
	};
	const struct run one = {"sim:func,rows=4,cols=4", 1, {vocab}, 1};
	const struct run bytes = {"sim:func,rows=2,cols=4", 1, {0}, 0};
	uint64_t want = three_steps(&one, NULL);

	ok(want != 0, "three steps with a vocabulary in chunks%s%s", want ? "" : ": ",
	   want ? "" : wse_error());
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		uint64_t got = three_steps(&runs[i], NULL);

		ok(got && got == want, "the same bits on %u x %s%s%s", runs[i].devices, runs[i].uri,
		   got ? "" : ": ", got ? "" : wse_error());
	}
	reference(&one, "2000 tokens in chunks");
	reference(&(struct run){"oracle:rows=2,cols=2",
				1,
				{vocab, "model.hidden_size=32",
				 "model.share_embedding_weights=false"},
				3},
		  "2000 tokens in chunks, untied");
	logits(&one);
	logits(&bytes);
}

/* what does not divide or fit is refused with the numbers */
static void refused(void)
{
	static const struct {
		struct run r;
		const char *words;
	} all[] = {
		{{"sim:func,rows=4,cols=4", 1, {"model.num_heads=3"}, 1}, "heads"},
		{{"sim:func,rows=4,cols=4", 1, {"model.num_heads=8", "model.hidden_size=60"}, 2},
		 "choose 32 or 64"},
		/* more padding than features */
		{{"sim:func,rows=4,cols=4", 1, {"model.hidden_size=8", "model.num_heads=4"}, 2},
		 "hidden_size 8 is not a multiple of 4 x 4 columns = 16: choose 16"},
		{{"sim:func,rows=4,cols=4", 1, {"model.filter_size=65540"}, 1},
		 "filter_size 65540 is more than 16384 x 4 columns: choose 65536"},
		/* with 8 tokens a core chunks have up to 136 rows, of which 120 are 16320 */
		{{"sim:func,rows=4,cols=4",
		  1,
		  {"model.vocab_size=65536", "model.max_position_embeddings=8",
		   "train_dataloader.batch_size=4", "train_dataloader.micro_batch_size=4"},
		  4},
		 "vocab_size 65536 in chunks of 8 tokens is more than 16384 x 4 columns: choose "
		 "65280"},
		{{"sim:func,rows=4,cols=4",
		  1,
		  {"model.max_position_embeddings=512", "val_dataloader.held_out_bytes=8192"},
		  2},
		 "sequences"},
		{{"sim:func,rows=4,cols=4", 1, {"model.hidden_size=1024", "model.num_heads=16"}, 2},
		 "does not fit"},
		{{"sim:func,rows=4,cols=4", 1, {"model.dropout_rate=1"}, 1},
		 "1 drops all but all: choose at most 0.99"},
		{{"sim:func,rows=4,cols=4",
		  1,
		  {vocab, "train_dataloader.batch_size=256",
		   "train_dataloader.micro_batch_size=256"},
		  3},
		 "tokens"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct wse_session s;
		int ret = open_run(&all[i].r, &s);

		ok(ret && strstr(wse_error(), all[i].words), "%s",
		   ret ? wse_error() : "not refused");
		if (!ret)
			wse_session_close(&s);
	}
}

/* a held-out text of its own, of which fewer tokens are wanted than a sample has */
static void few_held_out(void)
{
	static char val[80];
	struct run r = {"oracle:rows=4,cols=4", 1, {val, "val_dataloader.held_out_bytes=63"}, 2};
	uint64_t samples = 0;
	struct wse_session s;
	double loss;
	int ret;

	snprintf(val, sizeof(val), "val_dataloader.data_dir=%s", text);
	ret = open_run(&r, &s);
	ok(!ret && wse_session_eval(&s, 0, 0, &loss, &samples) == -ENODATA &&
		   strstr(wse_error(), "held_out_bytes 63 hold no sample of 64 tokens: choose 64"),
	   "%s", wse_error());
	wse_session_close(&s);
	r.sets[1] = "val_dataloader.held_out_bytes=64";
	ret = open_run(&r, &s);
	ok(!ret && !wse_session_eval(&s, 0, 0, &loss, &samples) && samples == 1,
	   "which is one sample%s", ret ? wse_error() : "");
	wse_session_close(&s);
}

/* tokens that come and go, the later ones of the vocabulary less often */
static int write_words(void)
{
	int fd = mkstemps(words, 4);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	for (uint64_t i = 0; f && i < 20000; i++) {
		uint64_t r = wse_rng_u64(9, 0, i / 7 * 5 % 501 + i % 7) % (WORDS * WORDS);
		uint16_t v = (uint16_t)(i % 3 ? r % 16 * 125 + 3 : wse_sqrt((double)r));

		fwrite(&v, sizeof(v), 1, f);
	}
	return f ? fclose(f) : -1;
}

int main(void)
{
	FILE *f;
	int fd = mkstemp(text);

	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f || write_words())
		return 1;
	for (uint64_t i = 0; i < 40000; i++) /* words that repeat */
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	reference(&(struct run){"sim:func,rows=4,cols=4", 1, {0}, 0},
		  "hidden 64, a sequence over four rows");
	reference(&(struct run){"oracle:rows=2,cols=2",
				1,
				{"model.hidden_size=32", "model.nonlinearity=squared_relu",
				 "model.share_embedding_weights=false"},
				3},
		  "hidden 32, untied, two heads a column, squared ReLU");
	reference(&(struct run){"sim:func,rows=4,cols=4", 1, {"model.nonlinearity=gelu"}, 1},
		  "GELU by erf");
	reference(&(struct run){"sim:func,rows=4,cols=4", 1, {"model.num_heads=2"}, 1},
		  "two heads on four columns");
	reference(&(struct run){"sim:func,rows=4,cols=4", 1, {"sparsity=0.75"}, 1},
		  "a quarter of the blocks' weights, a sequence over four rows");
	reference(&(struct run){"sim:func,rows=2,cols=4",
				1,
				{"sparsity={sparsity: 0.9, param_filter: '*'}", "model.num_heads=2",
				 "model.share_embedding_weights=false", "model.nonlinearity=gelu"},
				4},
		  "a tenth of all matrices, untied, two heads on four columns");
	reference(&(struct run){"oracle:rows=1,cols=4",
				1,
				{"model.num_hidden_layers=1", "model.max_position_embeddings=16"},
				2},
		  "one block, a sequence in one row");
	kink("model.num_hidden_layers=2");
	if (!TAP_SANITIZED) { /* the same way to other numbers */
		kink("model.num_hidden_layers=8");
		kink("model.hidden_size=128");
	}
	same_bits();
	slots();
	lost();
	phases();
	rest();
	chunks();
	refused();
	few_held_out();
	unlink(text);
	unlink(words);
	return tap_end();
}
