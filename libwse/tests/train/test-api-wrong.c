// SPDX-License-Identifier: MIT
/*
 * Everything that a caller of wse/model.h and wse/train.h can do wrong has an errno and a sentence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own_model.h"
#include "tap.h"

/* ---- what a caller can do wrong ---- */

static void test_handles(void)
{
	struct wse_trainer *t = open_mlp(1), *gone = t;
	struct wse_model *m = NULL;
	struct wse_params *p = NULL;
	struct wse_train_shape shape = training();
	struct wse_step_result r;
	int ret = wse_trainer_close(t);

	ok(!ret && is(wse_trainer_step(gone, &r), -EBADF, "is no trainer: it was destroyed") &&
		   is(wse_trainer_close(gone), -EBADF, "no trainer") && !wse_trainer_close(NULL),
	   "calls after close");
	ret = wse_model_mlp(&mlp, &m) | wse_params_create(&p);
	ok(!ret && is(wse_trainer_step((struct wse_trainer *)m, &r), -EBADF, "it is a model") &&
		   is(wse_params_make(p, (struct wse_model *)p, &shape), -EBADF,
		      "it is a params") &&
		   is(wse_params_make(p, NULL, &shape), -EBADF, "the model is NULL") &&
		   is(wse_params_devices(NULL), -EBADF, "params is NULL"),
	   "handles of another kind");
	ok(is(wse_trainer_open(p, &uri, 1, NULL, NULL, &t), -EINVAL, "the params are empty"),
	   "empty params");
	wse_params_destroy(p);
	wse_model_destroy(m);
	ok(is(wse_model_destroy(m), -EBADF, "is no model") &&
		   is(wse_params_destroy(p), -EBADF, "is no params"),
	   "destroyed twice");
}

static void test_members(void)
{
	struct wse_train_shape s;
	struct wse_model *m = NULL;
	struct wse_params *p = NULL;
	struct wse_trainer *t = NULL;
	struct wse_plan_info info;
	const char *const none[] = {NULL}, *const bad[] = {"nonsense"};
	int ret = wse_model_mlp(&mlp, &m) | wse_params_create(&p);

#define WRONG(words, ...) \
	(s = training(), __VA_ARGS__, is(wse_params_make(p, m, &s), -EINVAL, words))
	ok(!ret && WRONG("batch is 0", s.batch = 0) &&
		   WRONG("micro_batch is", s.micro_batch = 1ull << 63) &&
		   WRONG("lr is 0", s.lr = 0) && WRONG("lr is nan", s.lr = NAN) &&
		   WRONG("optimizer 9", s.optimizer = 9) && WRONG("beta1", s.beta1 = 1.0) &&
		   WRONG("max_norm", s.max_norm = -1) && WRONG("9 schedules", s.nsched = 9) &&
		   WRONG("lr contradicts", s.nsched = 1,
			 s.sched = &(struct wse_sched){.total_iters = 1}) &&
		   WRONG("sched[0]", s.lr = 0, s.nsched = 1,
			 s.sched = &(struct wse_sched){.begin = 3}),
	   "members out of range");
	s = training();
	s.batch = 3;
	s.micro_batch = 0;
	ret = wse_params_make(p, m, &s);
	ok(!ret && is(wse_trainer_open(p, &uri, 1, NULL, NULL, &t), -EINVAL, "batch_size 3"),
	   "a batch that does not divide");
	s = training();
	s.data = "/nonexistent";
	ret = wse_params_make(p, m, &s);
	ok(!ret && is(wse_trainer_open(p, &uri, 1, NULL, NULL, &t), -ENOENT, "/nonexistent"),
	   "a text that is not there");
	s.data = NULL;
	ret = wse_params_make(p, m, &s);
	ok(!ret && is(wse_trainer_open(p, none, 1, NULL, NULL, &t), -EINVAL, "device 0 is NULL") &&
		   is(wse_trainer_open(p, bad, 1, NULL, NULL, &t), -EINVAL,
		      "\"nonsense\" is no device") &&
		   is(wse_trainer_open(p, &uri, 0, NULL, NULL, &t), -EINVAL, "0 devices"),
	   "devices that are none");
	ret = wse_trainer_open(p, &uri, 1, NULL, NULL, &t);
	ok(!ret && is(wse_trainer_step(t, NULL), -ENODATA, "no text"), "a step without a text");
	wse_trainer_close(t);
	ret = wse_params_plan(p, "sim:func,rows=2,cols=2", WSE_PLAN_SHAPE, NULL, NULL, &info);
	ok(!ret && info.tile.rows == 2 && info.tokens == 16 && info.micro_batches == 4 &&
		   info.cycles > 1000 && info.sram > 10000 && info.sram < info.tile.sram &&
		   info.units == 2 && info.useful > 0,
	   "a plan: %llu cycles, %u bytes of a core", (unsigned long long)info.cycles, info.sram);
	ok(is(wse_params_plan(p, "sim:func,rows=x", 0, NULL, NULL, &info), -EINVAL, "rows"),
	   "of a URI that is none");
	ret = wse_params_read(p, text_file, NULL);
	ok(is(ret, -EINVAL, text_file) && wse_params_fault(p, 0) && !wse_params_fault(p, 1000) &&
		   is(wse_params_read(p, "/nonexistent", NULL), -ENOENT, "/nonexistent"),
	   "a parameter file that is none");
	wse_params_destroy(p);
	wse_model_destroy(m);
}

/* ---- models that are none ---- */

enum wrong {
	RETURNS,
	NO_CLASSES,
	NO_OPS,
	NO_UNIT,
	NO_PARAM,
	TWICE,
	NARROW,
	VECTOR,
	EARLY,
	NO_GRAD,
	UNUSED,
	PARTS,
	WRONGS
};

static int wrong_graph(void *ctx, struct wse_graph *g)
{
	enum wrong w = *(enum wrong *)ctx;
	uint32_t a, b, u;

	if (w == RETURNS)
		return -EDOM;
	if (w == NO_CLASSES)
		return 0;
	if (w == NO_OPS)
		wse_graph_classes(g, VOCAB, &a, &b);
	else
		graph(NULL, g);
	if (w == NO_UNIT)
		wse_op_vec_in(g, 77);
	if (w == NO_PARAM || w == TWICE || w == NARROW || w == PARTS) {
		u = wse_graph_unit(g,
				   w == NO_PARAM ? 99
				   : w == TWICE	 ? W0
						 : WTE,
				   INPUTS, INPUTS, w != PARTS);
		a = wse_op_in(g, "x", 1, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, INPUTS / 2);
		wse_op_wgrad(g, 0, u, a, a, WSE_NO_VALUE, WSE_NO_BIAS);
	}
	if (w == VECTOR)
		wse_graph_vec(g, 0, B1, 8, 1);
	if (w == EARLY)
		wse_op_out(
			g, 2,
			wse_graph_value(g, "nothing", WSE_TYPE_F32, WSE_SHAPE_TOKENS, INPUTS / 2));
	if (w == NO_GRAD)
		wse_graph_unit(g, WTE, VOCAB, EMBED, 1);
	if (w == UNUSED)
		wse_graph_value(g, "nothing", WSE_TYPE_F32, WSE_SHAPE_TOKENS, 4);
	return 0;
}

static void no_gather(void *ctx, const struct wse_batch *b)
{
	(void)ctx;
	(void)b;
}

static void test_wrong_models(void)
{
	static const char *const words[] = {
		[RETURNS] = "returned -33",
		[NO_CLASSES] = "no wse_graph_classes()",
		[NO_OPS] = "0 wse_op_loss()",
		[NO_UNIT] = "there is no unit 77",
		[NO_PARAM] = "no parameter 99 of 5",
		[TWICE] = "w0 is in two places",
		[NARROW] = "wte is 256 x 16, the unit 128 x 128",
		[VECTOR] = "68 are needed",
		[EARLY] = "read before it is made",
		[NO_GRAD] = "unit 2 is not used",
		[UNUSED] = "made by no operation",
		[PARTS] = "no 0 parts",
	};
	struct wse_param params[PARAMS] = {
		{.name = "wte", .rows = VOCAB, .cols = EMBED, .flags = WSE_TENSOR_INPUT},
		{.name = "w0", .rows = HIDDEN, .cols = INPUTS},
		{.name = "b0", .rows = HIDDEN},
		{.name = "w1", .rows = VOCAB, .cols = HIDDEN},
		{.name = "b1", .rows = VOCAB}};
	struct wse_model_shape shape = {.name = "wrong",
					.vocab = VOCAB,
					.window = WINDOW,
					.span = 1,
					.nparams = PARAMS,
					.params = params};
	struct wse_builder builder = {.graph = wrong_graph, .gather = no_gather};
	struct wse_train_shape s = training();
	struct wse_params *p = NULL;
	struct wse_plan_info info;
	struct wse_model *m = NULL;
	enum wrong w;
	int ret = wse_model_create(&shape, &builder, &w, &m) | wse_params_create(&p);

	ret = ret ? ret : wse_params_make(p, m, &s);
	for (w = 0; w < WRONGS && !ret; w++) {
		int got = wse_params_plan(p, "sim:func,rows=2,cols=2", WSE_PLAN_SHAPE, NULL, NULL,
					  &info);

		ok(is(got, w == RETURNS ? -EDOM : -EINVAL, words[w]), "a graph that is none: %s",
		   wse_error());
	}
	ok(!ret, "of a model that can be made");
	wse_model_destroy(m);
	shape.span = 999;
	s.micro_batch = 0;
	ret = wse_model_create(&shape, &builder, &w, &m);
	ret = ret ? ret : wse_params_make(p, m, &s);
	ok(!ret && is(wse_params_plan(p, "sim:func,rows=2,cols=2", WSE_PLAN_SHAPE, NULL, NULL,
				      &info),
		      -EINVAL, "samples of 999 tokens do not lie on 2 rows of 8 to 64"),
	   "samples that no micro-batch has: %s", wse_error());
	wse_params_destroy(p);
	wse_model_destroy(m);
	params[2].name = "w0";
	ok(is(wse_model_create(&shape, &builder, &w, &m), -EINVAL, "both called w0"),
	   "one name twice");
	params[2].name = NULL;
	ok(is(wse_model_create(&shape, &builder, &w, &m), -EINVAL, "its name has 1 to 63"),
	   "no name");
	shape.vocab = 0;
	ok(is(wse_model_create(&shape, &builder, &w, &m), -EINVAL, "") &&
		   is(wse_model_gpt(&(struct wse_gpt_shape){.vocab = 256}, &m), -EINVAL,
		      "a size is 0") &&
		   is(wse_model_mlp(&(struct wse_mlp_shape){.vocab = 256, .nhidden = 1}, &m),
		      -EINVAL, "without their widths"),
	   "sizes of 0");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	write_text();
	test_handles();
	test_members();
	test_wrong_models();
	return dir_remove() ? 1 : tap_end();
}
