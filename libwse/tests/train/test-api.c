// SPDX-License-Identifier: MIT
/*
 * The public calls of wse/model.h and wse/train.h: a model of one's own gives the bits of the
 * ready-made one, whatever the number of devices; checkpoints, text, weights, runs.
 * test-api-wrong.c: what a caller can do wrong.
 */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wse/wse.h>

#include "own_dir.h"
#include "own_model.h"
#include "tap.h"

static void test_own(void)
{
	struct wse_model *m = NULL;
	struct wse_trainer *a = open_mlp(1), *b, *c, *d;
	struct wse_step_result r[4];
	struct wse_tensor_info x, y;
	int same = 1;

	b = own_model(&m) ? NULL : open_model(m, uri, 3);
	c = own_model(&m) ? NULL : open_model(m, "sim:func,rows=2,cols=2", 1);
	d = own_model(&m) ? NULL : open_model(m, "sim:func,rows=2,cols=3", 1);
	if (!ok(a && b && c && d,
		"a model of operations, params and model destroyed before the trainer"))
		return;
	for (int i = 0; i < 4; i++) {
		same &= !wse_trainer_step(a, &r[0]) && !wse_trainer_step(b, &r[1]) &&
			!wse_trainer_step(c, &r[2]) && !wse_trainer_step(d, &r[3]);
		for (int k = 1; k < 4; k++)
			same &= !memcmp(&r[0], &r[k], sizeof(r[0]));
	}
	ok(same && r[0].loss < 6.0 && r[0].norm > 0.0 && r[0].lr == 2e-3,
	   "the loss of the ready-made MLP, on 1 oracle, 3 oracles, the twin and 2 of 3 columns: %.4f",
	   r[0].loss);
	for (uint32_t i = 0; i < PARAMS && same; i++) {
		same &= !wse_trainer_tensor(a, i, &x) && !wse_trainer_tensor(b, i, &y);
		same &= !memcmp(x.data, y.data, (size_t)x.rows * x.cols * sizeof(float));
	}
	ok(same && wse_trainer_tensor(a, PARAMS, &x) == -ENOENT, "and its weights");
	wse_trainer_close(a);
	wse_trainer_close(b);
	wse_trainer_close(c);
	wse_trainer_close(d);
}

/* ---- an embedding that is the output layer's matrix, too ---- */

enum { TIED_B1 = 3, TIED_PARAMS };

static pthread_t caller;
static int by_others;

static int tied_graph(void *ctx, struct wse_graph *g)
{
	uint32_t k = wse_graph_kernels(g), tokens = wse_graph_tokens(g);
	uint32_t u0, u1, targets, logits, in, dx, x, t, act, deriv, y, dy;
	struct wse_linear_op l = {.program = k,
				  .post = WSE_POST_GELU_NEW,
				  .aux = WSE_NO_VALUE,
				  .what = "activations"};
	struct wse_tile tile;

	(void)ctx;
	wse_graph_tile(g, &tile);
	u0 = wse_graph_unit(g, W0, EMBED, INPUTS, 1);
	u1 = wse_graph_unit(g, WTE, VOCAB, EMBED, 1);
	wse_graph_vec(g, u0, B0, EMBED, 1);
	wse_graph_vec(g, u1, TIED_B1, VOCAB, 1);
	wse_graph_classes(g, VOCAB, &targets, &logits);
	in = wse_graph_in(g, "inputs", (size_t)INPUTS * tokens * 2);
	dx = wse_graph_out(g, "gradient of the inputs", (size_t)INPUTS * tokens * 4);
	l.unit = u0;
	l.x = x = wse_op_in(g, "inputs", in, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, INPUTS / tile.cols);
	t = wse_op_in(g, "targets", targets, WSE_TYPE_U16, WSE_SHAPE_SHARED, 1);
	l.vec = wse_op_vec_in(g, u0);
	act = wse_op_linear(g, &l, &deriv);
	l = (struct wse_linear_op){.program = k,
				   .unit = u1,
				   .x = act,
				   .vec = wse_op_vec_in(g, u1),
				   .aux = WSE_NO_VALUE,
				   .what = "logits"};
	y = wse_op_linear(g, &l, NULL);
	wse_op_out(g, logits, y);
	dy = wse_op_loss(g, k, y, t);
	wse_op_vec_out(g, u1, wse_op_wgrad(g, k, u1, act, dy, WSE_NO_VALUE, 0));
	l = (struct wse_linear_op){.program = k,
				   .unit = u1,
				   .back = 1,
				   .x = dy,
				   .bias = WSE_NO_BIAS,
				   .post = WSE_POST_MUL,
				   .aux = deriv,
				   .what = "gradients"};
	dy = wse_op_linear(g, &l, NULL);
	wse_op_vec_out(g, u0, wse_op_wgrad(g, k, u0, x, dy, WSE_NO_VALUE, 0));
	l.unit = u0;
	l.x = dy;
	l.post = WSE_POST_NONE;
	l.aux = WSE_NO_VALUE;
	wse_op_out(g, dx, wse_op_linear(g, &l, NULL));
	return 0;
}

static void tied_gather(void *ctx, const struct wse_batch *b)
{
	by_others += !pthread_equal(pthread_self(), caller);
	gather(ctx, b);
}

static void tied_scatter(void *ctx, const struct wse_batch *b)
{
	by_others += !pthread_equal(pthread_self(), caller);
	scatter(ctx, b);
}

static struct wse_trainer *open_tied(const char *device, uint32_t n, int with_scatter)
{
	const struct wse_builder builder = {tied_graph, tied_gather,
					    with_scatter ? tied_scatter : NULL};
	static const struct wse_param params[TIED_PARAMS] = {
		{.name = "wte",
		 .rows = VOCAB,
		 .cols = EMBED,
		 .dev = 0.5f,
		 .flags = WSE_TENSOR_INPUT},
		{.name = "w0", .rows = EMBED, .cols = INPUTS, .dev = 0.1f},
		{.name = "b0", .rows = EMBED},
		{.name = "b1", .rows = VOCAB}};
	const struct wse_model_shape shape = {.name = "tied",
					      .vocab = VOCAB,
					      .window = WINDOW,
					      .span = 1,
					      .nparams = TIED_PARAMS,
					      .params = params};
	struct wse_model *m = NULL;

	return wse_model_create(&shape, &builder, NULL, &m) ? NULL : open_model(m, device, n);
}

static void test_tied(void)
{
	struct wse_trainer *t[4] = {open_tied(uri, 1, 1), open_tied(uri, 3, 1),
				    open_tied("sim:func,rows=2,cols=2", 2, 1),
				    open_tied(uri, 1, 0)};
	struct wse_step_result r[4];
	struct wse_tensor_info x[4];
	int ret = 0, same = 1, other = 1;

	caller = pthread_self();
	for (int i = 0; i < 4; i++)
		ret |= !t[i] || wse_trainer_step(t[i], &r[i]) ||
		       wse_trainer_tensor(t[i], WTE, &x[i]);
	for (int i = 1; i < 3 && !ret; i++)
		same &= !memcmp(&r[0], &r[i], sizeof(r[0])) &&
			!memcmp(x[0].data, x[i].data, sizeof(float) * VOCAB * EMBED);
	/* a token of the text, and one that is not in it: AdamW's first step has signs alone */
	for (uint32_t k = 0; k < EMBED && !ret; k++) {
		same &= x[0].data['~' * EMBED + k] == x[3].data['~' * EMBED + k];
		other &= x[0].data['q' * EMBED + k] == x[3].data['q' * EMBED + k];
	}
	ok(!ret && same && r[0].norm != r[3].norm,
	   "a tied model of one's own on 1 and 3 oracles and 2 twins: one step, %.4f", r[0].norm);
	ok(!ret && !other && !by_others,
	   "scatter() adds to the rows that were read; callbacks are in the caller's thread");
	for (int i = 0; i < 4; i++)
		wse_trainer_close(t[i]);
}

/* one with data NULL, or one whose samples come in the order of the text */
static struct wse_trainer *open_in_order(const char *data, uint64_t forward)
{
	struct wse_train_shape shape = training();
	struct wse_params *p = NULL;
	struct wse_trainer *t = NULL;
	struct wse_model *m = NULL;
	int ret = wse_model_mlp(&mlp, &m);

	shape.data = data;
	shape.in_order = 1;
	shape.forward = forward;
	ret = ret ? ret : wse_params_create(&p);
	ret = ret ? ret : wse_params_make(p, m, &shape);
	ret = ret ? ret : wse_trainer_open(p, &uri, 1, NULL, NULL, &t);
	if (ret)
		printf("# %s\n", wse_error());
	wse_params_destroy(p);
	wse_model_destroy(m);
	return t;
}

static void test_callers_batches(void)
{
	enum { BATCH = 64, WIDTH = WINDOW + 1, TOKENS = BATCH * WIDTH };
	struct wse_trainer *a = open_in_order(text_file, 0), *b = open_in_order(NULL, 0),
			   *c = open_in_order(NULL, 0);
	static uint16_t samples[3][TOKENS];
	char text[3 * BATCH + WINDOW], path[80], cmd[200];
	struct wse_step_result r[2];
	struct wse_tensor_info x;
	FILE *f = fopen(text_file, "r");
	int ret = !f || fread(text, 1, sizeof(text), f) != sizeof(text);

	if (f)
		fclose(f);
	for (int i = 0; i < 3 * TOKENS; i++)
		samples[i / TOKENS][i % TOKENS] = (uint16_t)text[i / WIDTH + i % WIDTH];
	for (int i = 0; i < 2; i++) {
		ret |= wse_trainer_step(a, &r[0]) |
		       wse_trainer_step_on(b, samples[i], TOKENS, &r[1]);
		ret |= memcmp(&r[0], &r[1], sizeof(r[0]));
	}
	ok(!ret, "steps on the caller's batches have the bits of those on the text: %.4f, %.4f",
	   r[0].loss, r[1].loss);
	snprintf(path, sizeof(path), "%s/on.safetensors", dir);
	ret = wse_trainer_save(b, path) | wse_trainer_load(c, path, WSE_CKPT_ALL) |
	      wse_trainer_step(a, &r[0]) | wse_trainer_step_on(c, samples[2], TOKENS, &r[1]);
	ok(!ret && !memcmp(&r[0], &r[1], sizeof(r[0])), "a checkpoint in between changes nothing");
	samples[0][TOKENS - 1] = VOCAB;
	ok(is(wse_trainer_step_on(a, samples[1], TOKENS, NULL), -EINVAL, "has a text") &&
		   is(wse_trainer_step_on(b, samples[1], TOKENS - 1, NULL), -EINVAL,
		      "575 tokens are no batch: 64 samples of 8") &&
		   is(wse_trainer_step_on(b, NULL, TOKENS, NULL), -EINVAL, "NULL") &&
		   is(wse_trainer_step_on(b, samples[0], TOKENS, NULL), -EINVAL,
		      "token 8 of sample 63 is 256: the vocabulary has 256"),
	   "batches that are none");
	ok(!wse_trainer_tensor(b, 0, &x) && !wse_trainer_step_on(b, samples[2], TOKENS, &r[1]) &&
		   !memcmp(&r[0], &r[1], sizeof(r[0])),
	   "and change nothing");
	snprintf(cmd, sizeof(cmd),
		 "cd %s && cmp b.safetensors c.safetensors && ! cmp -s b.safetensors a.safetensors",
		 dir);
	ret = wse_trainer_save(a, strcat(strcpy(path, dir), "/a.safetensors")) |
	      wse_trainer_save(b, strcat(strcpy(path, dir), "/b.safetensors")) |
	      wse_trainer_save(c, strcat(strcpy(path, dir), "/c.safetensors")) | system(cmd);
	ok(!ret, "the chain is of the samples: the same over a break, another one for a text");
	wse_trainer_close(a);
	wse_trainer_close(b);
	wse_trainer_close(c);
}

static void test_checkpoint(void)
{
	struct wse_trainer *a = open_mlp(1), *b = open_mlp(1);
	struct wse_step_result r[2];
	struct wse_trainer_info info;
	char path[80], hash[2][65], text[2][41];
	struct wse_sampling how = {.prompt = "the ",
				   .prompt_len = 4,
				   .n = 40,
				   .temperature = 0.7,
				   .top_k = 8,
				   .seed = 3,
				   .streams = 1};
	double loss[2];
	uint64_t n = 0;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/c.safetensors", dir);
	for (int i = 0; i < 3; i++)
		ret |= wse_trainer_step(a, &r[0]);
	ret |= wse_trainer_save(a, path) | wse_checkpoint_hash(path, hash[0]);
	ret |= wse_trainer_load(b, path, WSE_CKPT_ALL) | wse_trainer_save(b, path) |
	       wse_checkpoint_hash(path, hash[1]);
	ok(!ret && !strcmp(hash[0], hash[1]) && strlen(hash[0]) == 64,
	   "save, load, save: the same hash");
	ret = wse_trainer_info(b, &info);
	ok(!ret && info.step == 3 && info.devices == 1 && info.tensors == PARAMS &&
		   info.tokens == 4000 && info.max_steps == 1 &&
		   info.weights ==
			   VOCAB * EMBED + HIDDEN * INPUTS + HIDDEN + VOCAB * HIDDEN + VOCAB &&
		   info.unigram > info.bigram,
	   "step, devices, tensors, text");
	ret = wse_trainer_step(a, &r[0]) | wse_trainer_step(b, &r[1]);
	ok(!ret && !memcmp(&r[0], &r[1], sizeof(r[0])), "and the next step has the same bits");
	ret = wse_trainer_eval(a, 0, &loss[0], &n) | wse_trainer_eval(b, 0, &loss[1], NULL);
	ok(!ret && loss[0] == loss[1] && loss[0] > 1.0 && n > 200,
	   "evaluation: %.4f over %u samples", loss[0], (unsigned int)n);
	ret = wse_trainer_generate(a, &how, text[0]) | wse_trainer_generate(b, &how, text[1]);
	ok(!ret && !strcmp(text[0], text[1]) && strlen(text[0]) == 40, "text");
	how.top_p = 2.0;
	ok(is(wse_trainer_generate(a, &how, text[0]), -EINVAL, "top_p 2"), "top_p above 1");
	ok(is(wse_trainer_load(a, "/nonexistent", WSE_CKPT_ALL), -ENOENT, "/nonexistent"),
	   "a file that is not there");
	ok(is(wse_trainer_load(a, text_file, WSE_CKPT_ALL), -EBADMSG, text_file),
	   "a file that is none");
	ok(is(wse_checkpoint_hash(text_file, hash[0]), -EBADMSG, text_file), "nor has a hash");
	wse_trainer_close(a);
	wse_trainer_close(b);
}

/* a trainer without optimizer state and gradients */
static void test_forward(void)
{
	struct wse_trainer *a = open_in_order(text_file, 0), *b = open_in_order(text_file, 1);
	struct wse_run_shape run = {.mode = WSE_MODE_TRAIN};
	struct wse_run_result res;
	struct wse_step_result r;
	double loss[2];
	char path[80];
	int ret;

	snprintf(path, sizeof(path), "%s/f.safetensors", dir);
	ret = wse_trainer_step(a, &r) | wse_trainer_save(a, path) |
	      wse_trainer_eval(a, 0, &loss[0], NULL) | wse_trainer_load(b, path, WSE_CKPT_EVAL) |
	      wse_trainer_eval(b, 0, &loss[1], NULL);
	ok(!ret && loss[0] == loss[1], "a forward-only trainer evaluates a checkpoint: %.4f %s",
	   loss[1], ret ? wse_error() : "");
	ok(is(wse_trainer_step(b, &r), -EINVAL, "no optimizer state and no gradients") &&
		   is(wse_trainer_save(b, path), -EINVAL, "no optimizer state") &&
		   is(wse_trainer_load(b, path, WSE_CKPT_ALL), -EINVAL, "no optimizer state") &&
		   !wse_trainer_load(b, path, WSE_CKPT_MODEL) &&
		   !wse_trainer_eval(b, 0, &loss[1], NULL) && loss[0] == loss[1],
	   "it takes no step and makes no checkpoint");
	wse_trainer_close(b);
	b = open_in_order(text_file, 1);
	ok(is(wse_trainer_run(b, &run, &res), -EINVAL, "to evaluate and to generate, not to train"),
	   "nor a run");
	wse_trainer_close(a);
	wse_trainer_close(b);
}

static void test_weights(void)
{
	struct wse_trainer *a = open_mlp(1);
	struct wse_tensor_info w;
	float bias[VOCAB] = {0};
	double before, after;
	int ret;

	bias['e'] = 20.0f; /* now every prediction is an e */
	ret = wse_trainer_eval(a, 0, &before, NULL) | wse_trainer_set_tensor(a, B1, bias, VOCAB) |
	      wse_trainer_eval(a, 0, &after, NULL) | wse_trainer_tensor(a, B1, &w);
	ok(!ret && after > before + 5.0 && w.data['e'] == 20.0f && w.rows == VOCAB && w.cols == 1,
	   "weights that are set are used: %.2f, then %.2f", before, after);
	ok(is(wse_trainer_set_tensor(a, B1, NULL, VOCAB), -EINVAL, "the values are NULL"),
	   "values that are NULL");
	ok(is(wse_trainer_set_tensor(a, B1, bias, VOCAB - 1), -EINVAL, "has 256 elements, not 255"),
	   "not as many");
	bias[7] = NAN;
	ok(is(wse_trainer_set_tensor(a, B1, bias, VOCAB), -ERANGE, "element 7 is not finite"),
	   "NaN");
	wse_trainer_close(a);
}

/* what its files say: test-profile */
static void test_profile(void)
{
	struct wse_model *model = NULL;
	struct wse_trainer *t;
	char path[2][80], table[100];
	int ret;

	t = wse_model_mlp(&mlp, &model) ? NULL : open_model(model, "sim:func,rows=2,cols=2", 2);
	snprintf(path[0], sizeof(path[0]), "%s/a/profile", dir);
	snprintf(path[1], sizeof(path[1]), "%s/b", dir);
	ok(is(wse_trainer_profile(t, NULL), -EINVAL, "no profile"), "no profile to end");
	ret = wse_trainer_profile(t, path[0]) | wse_trainer_step(t, NULL);
	ok(!ret && is(wse_trainer_profile(t, path[1]), -EBUSY, "end it first"),
	   "one profile at a time");
	ret = wse_trainer_profile(t, NULL) | wse_trainer_step(t, NULL);
	ok(!ret && is(wse_trainer_profile(t, path[0]), -EEXIST, path[0]), "it is not overwritten");
	ret = wse_trainer_profile(t, path[1]) | wse_trainer_step(t, NULL);
	ok(!ret && !wse_trainer_close(t), "another one, which ends with its trainer");
	snprintf(table, sizeof(table), "%s/operations.txt", path[1]);
	ok(!access(table, R_OK), "and is whole");
}

/* ---- a run ---- */

struct watch {
	struct wse_trainer *t;
	int lines, steps, busy;
	pthread_t other;
};

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	struct watch *w = ctx;

	w->lines += level == WSE_LOG_INFO && !strncmp(text, "| Train", 7);
}

static void *from_elsewhere(void *ctx)
{
	struct watch *w = ctx;

	w->busy += is(wse_trainer_step(w->t, NULL), -EBUSY, "one thread at a time");
	w->busy += is(wse_trainer_close(w->t), -EBUSY, "one thread at a time");
	return NULL;
}

static void progress(void *ctx, const struct wse_progress *p)
{
	struct watch *w = ctx;

	w->steps++;
	if (p->step != 2)
		return;
	if (!pthread_create(&w->other, NULL, from_elsewhere, w))
		pthread_join(w->other, NULL);
	w->busy += is(wse_trainer_step(w->t, NULL), -EBUSY, "callbacks do not");
}

static int stop(void *ctx)
{
	struct watch *w = ctx;

	return w->steps == 4;
}

static void test_run(void)
{
	struct wse_train_shape shape = training();
	struct wse_run_shape how = {.mode = WSE_MODE_TRAIN, .progress = progress, .stop = stop};
	struct wse_run_result res;
	struct wse_params *p = NULL;
	struct wse_model *m = NULL;
	struct watch w = {0};
	char model_dir[64];
	int ret;

	snprintf(model_dir, sizeof(model_dir), "%s/run", dir);
	shape.model_dir = model_dir;
	shape.max_steps = 6;
	shape.log_steps = 2;
	how.ctx = &w;
	ret = wse_model_mlp(&mlp, &m) | wse_params_create(&p) | wse_params_make(p, m, &shape) |
	      wse_trainer_open(p, &uri, 1, line, &w, &w.t);
	ret = ret ? ret : wse_trainer_run(w.t, &how, &res);
	ok(!ret && res.stopped && res.steps == 4 && w.steps == 4 && w.lines == 2 &&
		   strstr(res.checkpoint, "run/") && strlen(res.hash) == 64,
	   "a run with callbacks, stopped after 4 of 6 steps");
	ok(w.busy == 3, "a second thread and a callback get -EBUSY");
	ok(is(wse_trainer_run(w.t, &how, &res), -EINVAL, "has done 4 steps"),
	   "a second run on the same trainer");
	wse_trainer_close(w.t);
	w.steps = -10;
	how.checkpoint = "auto";
	ret = wse_trainer_open(p, &uri, 1, NULL, NULL, &w.t);
	ret = ret ? ret : wse_trainer_run(w.t, &how, &res);
	ok(!ret && !res.stopped && res.steps == 6, "it goes on from its checkpoint, without a log");
	wse_trainer_close(w.t);
	wse_params_destroy(p);
	wse_model_destroy(m);
}

/* ---- a program whose numbers have a comma ---- */

static const char comma_yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 4, embedding_size: 8, hidden_sizes: [16]}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 2.5e-3}}]\n"
	"    loop: {max_steps: 2, eval_frequency: 0}\n"
	"    sampling: {bytes: 0}\n"
	"    logging: {log_steps: 1}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 16, micro_batch_size: 16, data_dir: %s}\n"
	"    val_dataloader: {held_out_bytes: 256}\n";

/* glibc's form of a locale's numbers: a comma, no groups */
static int make_comma(void)
{
	static const unsigned char numbers[] =
		"\x14\x11\x03\x20\x06\0\0\0\x20\0\0\0\x22\0\0\0\x23\0\0\0\x24\0\0\0\x28\0\0\0"
		"\x2c\0\0\0,\0\0\0,\0\0\0\0\0\0\0ANSI_X3.4-1968";
	FILE *f;
	int ret;

	mkdir(in_dir("comma"), 0755);
	f = fopen(in_dir("comma/LC_NUMERIC"), "w");
	if (!f)
		return -1;
	ret = fwrite(numbers, sizeof(numbers), 1, f) != 1;
	if (fclose(f) || ret || setenv("LOCPATH", dir, 1))
		return -1;
	ret = !setlocale(LC_NUMERIC, "comma");
	unsetenv("LOCPATH"); /* each newlocale() of the C library would leak what it made of it */
	return ret;
}

/* a run of a file of parameters: its hash, and its metrics have as many columns in each row */
static int run_of_file(const char *name, char hash[65])
{
	const struct wse_override over = {.model_dir = in_dir(name)};
	struct wse_run_shape how = {.mode = WSE_MODE_TRAIN};
	struct wse_run_result res = {0};
	struct wse_params *p = NULL;
	struct wse_trainer *t = NULL;
	char path[300], row[300];
	uint32_t commas = 0, rows = 0;
	FILE *f;
	int ret = wse_params_create(&p) | wse_params_read(p, in_dir("comma.yaml"), &over);

	ret = ret ? ret : wse_trainer_open(p, &uri, 1, NULL, NULL, &t);
	ret = ret ? ret : wse_trainer_run(t, &how, &res);
	wse_trainer_close(t);
	wse_params_destroy(p);
	memcpy(hash, res.hash, 65);
	snprintf(path, sizeof(path), "%s/metrics.csv", in_dir(name));
	f = fopen(path, "r");
	while (!ret && f && fgets(row, sizeof(row), f)) {
		uint32_t n = 0;

		for (const char *c = row; *c; c++)
			n += *c == ',';
		commas = rows++ ? commas : n;
		ret = n == commas ? 0 : -ERANGE;
	}
	if (f)
		fclose(f);
	return ret ? ret : rows > 1 ? 0 : -ENODATA;
}

static void test_comma(void)
{
	char hash[2][65] = {"", ""}, text[8];
	FILE *f = fopen(in_dir("comma.yaml"), "w");
	int ret = f ? 0 : -1;

	if (f) {
		fprintf(f, comma_yaml, text_file);
		fclose(f);
	}
	ret = ret ? ret : run_of_file("with-points", hash[0]);
	if (make_comma()) {
		tap_skip("the C library has other locales", "a program whose numbers have a comma");
		return;
	}
	ret = ret ? ret : run_of_file("with-commas", hash[1]);
	snprintf(text, sizeof(text), "%.1f", 1.5);
	ok(!ret && !strcmp(hash[0], hash[1]) && hash[0][0] && !strcmp(text, "1,5"),
	   "a program whose numbers have a comma: parameters, hash and metrics as without%s%s",
	   ret ? ": " : "", ret ? wse_error() : "");
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	write_text();
	test_own();
	test_tied();
	test_callers_batches();
	test_checkpoint();
	test_weights();
	test_forward();
	test_profile();
	test_run();
	test_comma();
	return dir_remove() ? 1 : tap_end();
}
