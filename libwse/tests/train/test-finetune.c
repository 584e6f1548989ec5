// SPDX-License-Identifier: MIT
/*
 * A GPT's checkpoints are Hugging Face files, and Hugging Face files begin a run: see hf-file, an
 * independent program
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "memx/hf.h"
#include "num/num.h"
#include "state.h"
#include "hf_file.h"
#include "own_dir.h"
#include "tap.h"
#include "train/loop.h"
#include "train/session.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 8, num_hidden_layers: 2, num_heads: 2, filter_size: 16,\n"
	"            max_position_embeddings: 16}\n"
	"    optimizer: {AdamW: {learning_rate: 1.0e-3}}\n"
	"    loop: {max_steps: 2}\n"
	"    sampling: {bytes: 0}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 4, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 256}\n";

#define SIZES "vocab=256 hidden=8 positions=16 filter=16 "

static const char *const uri = "oracle:rows=1,cols=2";

/* what hf-file puts at [row][col] of a tensor that is [out][in] */
static float value(const char *name, uint32_t row, uint32_t col)
{
	uint32_t sum = 5 * row + 3 * col;

	name = strncmp(name, "transformer.", 12) ? name : name + 12;
	for (; *name; name++)
		sum += (unsigned char)*name;
	return ((float)(sum % 31) - 15) / 8;
}

static int read_cfg(struct wse_config *cfg, const char *const *sets, uint32_t nsets)
{
	int ret = wse_config_parse("test", yaml, sizeof(yaml) - 1, sets, nsets, cfg);

	snprintf(cfg->data, sizeof(cfg->data), "%s/text", dir);
	return ret;
}

static void open_with(struct wse_session *s, const char *set)
{
	struct wse_config cfg;

	if (read_cfg(&cfg, &set, set ? 1 : 0) || wse_session_open(s, &cfg, &uri, 1, NULL)) {
		printf("Bail out! %s\n", wse_error());
		exit(1);
	}
}

static void open_session(struct wse_session *s)
{
	open_with(s, NULL);
}

static int steps(struct wse_session *s, int n)
{
	struct wse_step_result r;
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		ret = wse_session_compute(s, &r);
		ret = ret ? ret : wse_session_commit(s, &r);
	}
	wse_memx_finish(s->memx);
	return ret;
}

/* parameters that are not what hf-file writes */
static size_t wrong(const struct state *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->table->n; i++) {
		const struct wse_tensor *t = &m->table->t[i];

		for (uint32_t j = 0; j < t->count; j++)
			n += m->params[t->off + j] != value(t->name, j / t->dim[1], j % t->dim[1]);
	}
	return n;
}

/* ---- in ---- */

static void starts(const char *words, enum wse_ckpt_load what)
{
	struct wse_session s;
	size_t moments = 0;
	struct state m;
	int ret;

	if (hf_file("write %s " SIZES "%s", in_dir("in"), words))
		abort();
	open_session(&s);
	ret = wse_session_load(&s, in_dir("in"), what);
	m = state_of(s.memx);
	for (size_t i = 0; i < m.table->params; i++)
		moments += m.m[i] != 0 || m.v[i] != 0;
	ok(!ret && !wrong(&m) && !moments && !m.step && !steps(&s, 1),
	   "%s: %zu parameters wrong, %zu moments not 0, step %llu %s", words, wrong(&m), moments,
	   (unsigned long long)m.step, ret ? wse_error() : "");
	state_free(&m);
	wse_session_close(&s);
}

static void refuses(const char *words, enum wse_ckpt_load what, const char *says)
{
	struct wse_session s;
	struct state m;
	uint64_t before;
	int ret;

	open_session(&s);
	if (hf_file("write %s " SIZES "%s", in_dir("in"), words))
		abort();
	m = state_of(s.memx);
	before = wse_checksum64(m.params, m.table->params * sizeof(float));
	ret = wse_session_load(&s, in_dir("in"), what);
	state_again(s.memx, &m);
	ok(ret == -EINVAL && strstr(wse_error(), says) &&
		   wse_checksum64(m.params, m.table->params * sizeof(float)) == before,
	   "%s: %s", words, wse_error());
	state_free(&m);
	wse_session_close(&s);
}

static void in(void)
{
	starts("dtype=F32", WSE_CKPT_MODEL);
	starts("dtype=F16 prefix= masks=1", WSE_CKPT_MODEL);
	starts("dtype=BF16 head=1", WSE_CKPT_EVAL);
	refuses("layers=3", WSE_CKPT_MODEL, "num_hidden_layers is 3 there, 2 in this model");
	refuses("hidden=16", WSE_CKPT_MODEL, "hidden_size is 16 there, 8 in this model");
	refuses("linear=1", WSE_CKPT_MODEL, "it lies as [out][in], Hugging Face's as [in][out]");
	refuses("dtype=F32", WSE_CKPT_ALL, "load_checkpoint_states=model");
	refuses("dtype=F32", WSE_CKPT_RATES_NEW, "load_checkpoint_states=model");
}

/* ---- out ---- */

/* a checkpoint is such a file: to hf-file and to wse_hf_read() */
static void out(void)
{
	struct wse_hf_tensor table[64];
	struct wse_session s;
	struct state m;
	float *back;
	int ret;

	open_session(&s);
	ret = steps(&s, 2);
	m = state_of(s.memx);
	back = calloc(m.table->params, sizeof(float));
	for (uint32_t i = 0; i < m.table->n; i++) {
		const struct wse_tensor *t = &m.table->t[i];

		table[i] = (struct wse_hf_tensor){t->name,
						  t->ndim,
						  {t->dim[0], t->dim[1]},
						  (t->flags & WSE_TENSOR_TRANSPOSED) != 0,
						  back + t->off};
	}
	ret = ret ? ret : wse_session_save(&s, in_dir("trained"), NULL);
	ret = ret ? ret : wse_hf_read(in_dir("trained"), table, m.table->n);
	ok(!ret && !memcmp(back, m.params, m.table->params * sizeof(float)),
	   "a checkpoint after two steps, read as a Hugging Face file %s", ret ? wse_error() : "");
	for (uint32_t i = 0; i < m.table->n; i++) {
		const struct wse_tensor *t = &m.table->t[i];

		for (uint32_t j = 0; j < t->count; j++)
			back[j] = value(t->name, j / t->dim[1], j % t->dim[1]);
		ret = ret ? ret : wse_memx_write(s.memx, WSE_MEMX_P, i, 0, t->count, back);
	}
	state_free(&m);
	ret = ret ? ret : wse_session_save(&s, in_dir("known"), NULL);
	ok(!ret && !hf_file("check %s " SIZES "moments=1", in_dir("known")),
	   "a checkpoint of known numbers, to an independent reader %s", ret ? wse_error() : "");
	free(back);
	wse_session_close(&s);
}

/* two steps, a checkpoint, two more: the bits of four */
static void resumes(void)
{
	struct wse_session one, two;
	struct state a, b;
	int ret;

	open_session(&one);
	ret = steps(&one, 2);
	ret = ret ? ret : wse_session_save(&one, in_dir("two"), NULL);
	ret = ret ? ret : steps(&one, 2);
	open_session(&two);
	ret = ret ? ret : wse_session_load(&two, in_dir("two"), WSE_CKPT_ALL);
	ret = ret ? ret : steps(&two, 2);
	a = state_of(one.memx);
	b = state_of(two.memx);
	ok(!ret && b.step == 4 && !memcmp(a.params, b.params, a.table->params * 4) &&
		   !memcmp(a.m, b.m, a.table->params * 4) && !memcmp(a.v, b.v, a.table->params * 4),
	   "two steps, a checkpoint and two more: the bits of four %s", ret ? wse_error() : "");
	state_free(&a);
	state_free(&b);
	two.torn = 1; /* as after a load that ended half way */
	ret = steps(&two, 1);
	ok(ret == -ESTALE && wse_session_save(&two, in_dir("three"), NULL) == -ESTALE &&
		   strstr(wse_error(), "load one"),
	   "no step and no checkpoint: %s", wse_error());
	ret = wse_session_load(&two, in_dir("two"), WSE_CKPT_ALL);
	ret = ret ? ret : steps(&two, 1);
	ok(!ret && wse_session_step(&two) == 3, "until one is loaded %s", ret ? wse_error() : "");
	wse_session_close(&one);
	wse_session_close(&two);
}

/* a checkpoint of ours in a model that is not quite the same */
static void other(const char *set, enum wse_ckpt_load what, const char *says)
{
	struct wse_session s;
	int ret;

	open_with(&s, set);
	ret = wse_session_load(&s, in_dir("two"), what);
	ok(says ? ret == -EINVAL && strstr(wse_error(), says) : !ret, "%s: %s", set,
	   ret ? wse_error() : "goes on");
	wse_session_close(&s);
}

static void others(void)
{
	static const char shorter[] = "train_dataloader.max_sequence_length=8";

	other(shorter, WSE_CKPT_MODEL, NULL);
	other(shorter, WSE_CKPT_EVAL, NULL);
	other(shorter, WSE_CKPT_ALL, "seq=8 act=gelu_erf\" in this run; a run goes on with what");
	other("model.layer_norm_epsilon=1.0e-6", WSE_CKPT_MODEL, "eps=1e-06\" in this run");
	other("model.layer_norm_epsilon=1.0e-6", WSE_CKPT_ALL, "eps=1e-06\" in this run");
	other("model.nonlinearity=relu", WSE_CKPT_EVAL, "act=gelu_erf\" there");
	other("model.nonlinearity=gelu_new", WSE_CKPT_EVAL, "act=gelu\" in this run");
	other("model.num_heads=1", WSE_CKPT_MODEL, "heads=2 ");
	other("model.num_hidden_layers=1", WSE_CKPT_MODEL, "layers=2 ");
}

/* another order of sums is another run, whichever of the two is the plain one */
static void variants(void)
{
	static const uint32_t pairs[][2] = {{2, 1}, {1, 2}, {2, 4}, {2, 2}, {1, 0}};
	struct wse_session s;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		int ret, same = i > 2;

		open_session(&s);
		s.state.variant = pairs[i][0];
		ret = wse_session_save(&s, in_dir("variant"), NULL);
		s.state.variant = pairs[i][1];
		ret = ret ? ret : wse_session_load(&s, in_dir("variant"), WSE_CKPT_ALL);
		ok(same ? !ret
			: ret == -EINVAL && strstr(wse_error(), "variant: ") &&
				   strstr(wse_error(), "load_checkpoint_states=model"),
		   "variant %u goes on as %u: %s", pairs[i][0], pairs[i][1],
		   ret ? wse_error() : "");
		ret = wse_session_load(&s, in_dir("variant"), WSE_CKPT_MODEL);
		ok(!ret, "its parameters alone %s", ret ? wse_error() : "");
		wse_session_close(&s);
	}
}

/* ---- a whole run ---- */

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	printf("# %s\n", text);
}

/* runs that name no checkpoint, in a folder that has one of step 3 */
static void autoload(struct wse_run *run, const struct wse_run_ops *ops)
{
	struct wse_run_result res;
	int ret;

	run->checkpoint = NULL;
	run->cfg.max_steps = 4;
	ret = wse_run(run, ops, &res);
	ok(ret == -EEXIST, "a new run in a folder with checkpoints: %s", wse_error());
	run->cfg.autoload = WSE_AUTOLOAD_NEVER;
	ret = wse_run(run, ops, &res);
	ok(ret == -EEXIST, "autoload_last_checkpoint: false, the same");
	run->cfg.autoload = WSE_AUTOLOAD_ALWAYS;
	ret = wse_run(run, ops, &res);
	ok(!ret && res.steps == 4 && strstr(res.checkpoint, "checkpoint_4"),
	   "true: it goes on from step 3 %s", ret ? wse_error() : "");
	run->mode = WSE_MODE_EVAL;
	run->cfg.autoload = WSE_AUTOLOAD_EVAL;
	ret = wse_run(run, ops, &res);
	ok(!ret && strstr(res.checkpoint, "checkpoint_4"), "an evaluation takes the last one %s",
	   ret ? wse_error() : "");
	run->cfg.autoload = WSE_AUTOLOAD_NEVER;
	ret = wse_run(run, ops, &res);
	ok(ret == -ENOENT && strstr(wse_error(), "is false: give --checkpoint_path"), "but: %s",
	   wse_error());
	run->checkpoint = "auto";
	ok(!wse_run(run, ops, &res), "unless it is asked to");
}

static void whole(void)
{
	const char *sets[] = {"checkpoint.load_checkpoint_states=model"};
	struct wse_run_ops ops = {.line = line};
	struct wse_run run = {.mode = WSE_MODE_TRAIN_AND_EVAL, .uris = &uri, .nuris = 1};
	struct wse_run_result res;
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "%s", in_dir("gpt2.safetensors"));
	if (hf_file("write %s " SIZES "dtype=F16 masks=1", path))
		abort();
	ret = read_cfg(&run.cfg, sets, 1);
	snprintf(run.cfg.model_dir, sizeof(run.cfg.model_dir), "%s", in_dir("model_dir"));
	run.checkpoint = path;
	run.mode = WSE_MODE_EVAL;
	ret = ret ? ret : wse_run(&run, &ops, &res);
	ok(!ret && res.evaluated && res.steps == 0 && strlen(res.hash) == 64,
	   "a Hugging Face file is evaluated, held-out loss %.3f %s", res.held_out,
	   ret ? wse_error() : "");
	run.mode = WSE_MODE_TRAIN_AND_EVAL;
	ret = ret ? ret : wse_run(&run, &ops, &res);
	ok(!ret && res.steps == 2, "and trained on, for %llu steps %s",
	   (unsigned long long)res.steps, ret ? wse_error() : "");
	run.checkpoint = "auto";
	run.cfg.load_states = WSE_CKPT_ALL;
	run.cfg.max_steps = 3;
	ret = ret ? ret : wse_run(&run, &ops, &res);
	ok(!ret && res.steps == 3, "which goes on from its own checkpoint %s",
	   ret ? wse_error() : "");
	autoload(&run, &ops);
}

int main(void)
{
	FILE *f;

	if (!mkdtemp(dir))
		return 1;
	f = fopen(in_dir("text"), "w");
	if (!f)
		return 1;
	for (uint64_t i = 0; i < 4000; i++)
		fputc("etaoin shrdlu\n"[wse_rng_u64(7, 0, i / 5 * 3 % 97 + i % 5) % 14], f);
	fclose(f);
	in();
	out();
	resumes();
	others();
	variants();
	whole();
	return dir_remove() ? 1 : tap_end();
}
