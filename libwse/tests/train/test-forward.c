// SPDX-License-Identifier: MIT
/*
 * Sessions that evaluate and generate: the bf16 images are all that they keep of the weights, and
 * losses and texts are bit for bit those of a session that trains.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "memx/store.h"
#include "num/num.h"
#include "ref/gpt_shards.h"
#include "tap.h"
#include "train/session.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 32, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 32}\n"
	"    optimizer: {AdamW: {learning_rate: 1.0e-2}}\n"
	"    loop: {max_steps: 2}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 256}\n";

#define N 40 /* tokens of a text: beyond the window */

static char dir[] = "/tmp/wse-forward-XXXXXX", text[64];
static const char *const uri = "oracle:rows=2,cols=2";

static void die(void)
{
	printf("Bail out! %s\n", wse_error());
	exit(1);
}

static const char *in_dir(const char *name)
{
	static char path[8][128];
	static int at;

	at = (at + 1) % 8;
	snprintf(path[at], sizeof(path[at]), "%s/%s", dir, name);
	return path[at];
}

/* mode: of the planner, beyond what --set has */
static void read_config(struct wse_config *cfg, const char *const *sets, uint32_t nsets,
			uint32_t mode)
{
	if (wse_config_parse("test", yaml, sizeof(yaml) - 1, sets, nsets, cfg))
		die();
	snprintf(cfg->data, sizeof(cfg->data), "%s", text);
	cfg->model.mode = mode;
}

static void start(struct wse_session *s, const struct wse_config *cfg, int forward)
{
	struct wse_config c = *cfg;

	c.forward = forward;
	if (wse_session_open(s, &c, &uri, 1, NULL))
		die();
}

struct result {
	double loss;
	char made[2][N + 1];
};

static void results(struct wse_session *s, struct result *r)
{
	const struct wse_sampling how = {.prompt = "eta",
					 .prompt_len = 3,
					 .n = N,
					 .temperature = 1.0,
					 .top_p = 1.0,
					 .streams = 2,
					 .seed = 5};
	uint64_t samples;

	memset(r, 0, sizeof(*r));
	if (wse_session_eval(s, 0, 0, &r->loss, &samples) ||
	    wse_session_generate(s, &how, r->made[0]))
		die();
}

static int same(const struct result *a, const struct result *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* is nothing but images there? */
static int images_alone(struct wse_session *s)
{
	const struct wse_input *in = wse_memx_inputs(s->memx);
	int bf16 = 0;

	for (uint32_t i = 0; i < s->table->n; i++)
		bf16 += in[i].bf16 && !in[i].f32 && s->table->t[i].flags & WSE_TENSOR_INPUT;
	return bf16 == 2 && !wse_memx_images(s->memx)[1].tr.buf;
}

/* a tensor as it was written: rounded, or a vector as it is */
static int weights_are(struct wse_session *s, struct wse_session *of)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->table->n && !bad; i++) {
		const struct wse_tensor *t = &s->table->t[i];
		float *a = calloc(t->count, sizeof(*a)), *b = calloc(t->count, sizeof(*b));

		if (!a || !b || wse_memx_read(s->memx, WSE_MEMX_P, i, 0, t->count, a) ||
		    wse_memx_read(of->memx, WSE_MEMX_P, i, 0, t->count, b))
			die();
		for (size_t j = 0; j < t->count; j++)
			bad |= wse_f2u(a[j]) !=
			       wse_f2u(t->ndim == 1 ? b[j]
						    : wse_bf16_to_f32(wse_f32_to_bf16(b[j])));
		/* a part, from inside a piece */
		if (t->count > 9 && wse_memx_read(s->memx, WSE_MEMX_P, i, 7, 2, b))
			die();
		bad |= t->count > 9 && memcmp(a + 7, b, 2 * sizeof(*a));
		free(a);
		free(b);
	}
	return !bad;
}

/* a model trained for two steps, saved, and loaded where nothing is trained */
static void trained(const char *what, const char *const *sets, uint32_t nsets, uint32_t mode,
		    uint32_t chunks)
{
	const char *path = in_dir("trained.safetensors");
	struct wse_session s, f;
	struct wse_step_result r;
	struct wse_config cfg;
	struct result a, b, c;
	uint32_t head;

	read_config(&cfg, sets, nsets, mode);
	start(&s, &cfg, 0);
	start(&f, &cfg, 1);
	head = f.plan.graph.units[f.plan.graph.nunits - 1].chunks_out;
	ok(images_alone(&f) && !images_alone(&s) && f.plan.graph.variant == chunks &&
		   (head > 1) == (cfg.model.vocab > 128),
	   "%s: images alone, variant %u, the output layer in %u", what, f.plan.graph.variant,
	   head);
	results(&s, &a);
	results(&f, &b);
	ok(same(&a, &b), "%s: the initial weights: loss %.9g, the same text", what, a.loss);
	for (int i = 0; i < 2; i++)
		if (wse_session_compute(&s, &r) || wse_session_commit(&s, &r))
			die();
	results(&s, &a);
	if (wse_session_save(&s, path, NULL) || wse_session_load(&f, path, WSE_CKPT_EVAL))
		die();
	results(&f, &c);
	ok(same(&a, &c) && !same(&b, &c), "%s: of a checkpoint: loss %.9g, the same text", what,
	   a.loss);
	ok(weights_are(&f, &s), "%s: the weights are the checkpoint's, matrices rounded", what);
	wse_session_close(&f);
	wse_session_close(&s);
	unlink(path);
}

/* 1: loaded and as a session that trains has it */
static int loads(const struct wse_config *cfg, const char *path, struct result *r)
{
	struct wse_session s, f;
	struct result a;

	start(&s, cfg, 0);
	start(&f, cfg, 1);
	if (wse_session_load(&s, path, WSE_CKPT_MODEL) || wse_session_load(&f, path, WSE_CKPT_EVAL))
		die();
	results(&s, &a);
	results(&f, r);
	wse_session_close(&s);
	wse_session_close(&f);
	return same(&a, r);
}

static void sharded(void)
{
	struct result of_seed, whole, f32, bf16, f16;
	struct wse_config cfg;
	struct wse_session s;

	read_config(&cfg, NULL, 0, 0);
	start(&s, &cfg, 0);
	results(&s, &of_seed);
	if (wse_session_save(&s, in_dir("seed.safetensors"), NULL))
		die();
	wse_session_close(&s);
	if (gpt_shards_write(&cfg.model, 1, in_dir("f32"), "F32", 30000) ||
	    gpt_shards_write(&cfg.model, 1, in_dir("bf16"), "BF16", 30000) ||
	    gpt_shards_write(&cfg.model, 1, in_dir("f16"), "F16", 1u << 30))
		die();
	ok(loads(&cfg, in_dir("seed.safetensors"), &whole) && same(&whole, &of_seed),
	   "a checkpoint of ours");
	ok(!access(in_dir("f32/model-00002-of-00006.safetensors"), F_OK) &&
		   loads(&cfg, in_dir("f32"), &f32) && same(&f32, &of_seed),
	   "files of F32: the bits of one file");
	ok(loads(&cfg, in_dir("bf16"), &bf16) && same(&bf16, &of_seed),
	   "of BF16: the bits of F32, whose images are BF16");
	ok(loads(&cfg, in_dir("f16"), &f16) && !same(&f16, &of_seed), "of F16: others");
}

/* what path says when it is loaded; the session is as it was before */
static void refused(struct wse_session *f, const char *path, int err, const char *sentence)
{
	struct result before, after;
	char said[1024];
	int ret;

	results(f, &before);
	ret = wse_session_load(f, path, WSE_CKPT_EVAL);
	snprintf(said, sizeof(said), "%s", wse_error());
	results(f, &after);
	ok(ret == err && strstr(said, sentence) && same(&before, &after), "%s", said);
}

static void bad_files(void)
{
	const char *set = "model.hidden_size=64",
		   *shard = in_dir("bf16/model-00002-of-00003.safetensors");
	struct wse_config cfg, other;
	struct wse_session f;
	char cmd[300];

	read_config(&cfg, NULL, 0, 0);
	read_config(&other, &set, 1, 0);
	start(&f, &cfg, 1);
	if (gpt_shards_write(&other.model, 1, in_dir("other"), "BF16", 100000))
		die();
	refused(&f, in_dir("other"), -EINVAL, "hidden_size is 64 there, 32 in this model");
	if (truncate(shard, 5000))
		die();
	refused(&f, in_dir("bf16"), -EBADMSG, "shard model-00002-of-00003.safetensors: ");
	snprintf(cmd, sizeof(cmd), "cp %s/other/model-00001-of-00003.safetensors %s", dir, shard);
	if (system(cmd))
		die();
	refused(&f, in_dir("bf16"), -EBADMSG, "one of them is of another model");
	unlink(shard);
	refused(&f, in_dir("bf16"), -ENOENT, "shard model-00002-of-00003.safetensors: ");
	if (wse_session_load(&f, in_dir("f32"), WSE_CKPT_EVAL))
		die();
	ok(weights_are(&f, &f), "and a good one loads after them");
	wse_session_close(&f);
}

int main(void)
{
	static const char *const untied[] = {"model.share_embedding_weights=false",
					     "model.vocab_size=128"};
	char cmd[100];
	FILE *f;

	if (!mkdtemp(dir))
		return 1;
	snprintf(text, sizeof(text), "%s/text", dir);
	f = fopen(text, "w");
	if (!f)
		return 1;
	for (uint64_t i = 0; i < 4000; i++)
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	trained("a GPT", NULL, 0, 0, 1);
	trained("an FFN in chunks", NULL, 0, 6, 2);
	trained("an output layer of its own", untied, 2, 0, 1);
	sharded();
	bad_files();
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	if (system(cmd))
		return 1;
	return tap_end();
}
