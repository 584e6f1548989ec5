// SPDX-License-Identifier: MIT
/*
 * Steps on batches of the caller's with a mask, a learning rate and a norm of their own
 * (wse_trainer_step_with(), wse_trainer_loss_on()): the bits of parameters that say the same, what
 * does not count changes nothing, and a checkpoint says what was the caller's. A batch that is no
 * multiple of the micro-batch.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "own_dir.h"
#include "tap.h"

enum { VOCAB = 64, SEQ = 16, BATCH = 8, WIDTH = SEQ + 1, TOKENS = BATCH * WIDTH };
enum { TARGETS = BATCH * SEQ };

static const char *const uri = "oracle:rows=2,cols=2";
static const struct wse_gpt_shape gpt = {.vocab = VOCAB,
					 .positions = SEQ,
					 .seq = SEQ,
					 .hidden = 32,
					 .filter = 64,
					 .layers = 1,
					 .heads = 2,
					 .activation = WSE_GELU_NEW};

static struct wse_train_shape training(void)
{
	return (struct wse_train_shape){
		.batch = BATCH, .micro_batch = 2, .lr = 2e-3, .max_norm = 1.0};
}

static struct wse_trainer *open_on(const struct wse_train_shape *shape, const char *device,
				   uint32_t n)
{
	const char *const uris[] = {device, device, device};
	struct wse_trainer *t = NULL;
	struct wse_params *p = NULL;
	struct wse_model *m = NULL;
	int ret = wse_model_gpt(&gpt, &m);

	ret = ret ? ret : wse_params_create(&p);
	ret = ret ? ret : wse_params_make(p, m, shape);
	ret = ret ? ret : wse_trainer_open(p, uris, n, NULL, NULL, &t);
	if (ret)
		printf("# %s\n", wse_error());
	wse_params_destroy(p);
	wse_model_destroy(m);
	return t;
}

static struct wse_trainer *open_gpt(const struct wse_train_shape *shape)
{
	return open_on(shape, uri, 1);
}

static void fill(uint16_t *samples, uint32_t seed)
{
	for (int i = 0; i < TOKENS; i++) {
		seed = seed * 69069 + 1;
		samples[i] = (uint16_t)(seed >> 16 & 15);
	}
}

static int same_weights(struct wse_trainer *a, struct wse_trainer *b)
{
	struct wse_tensor_info x, y;
	int same = 1, ret;

	for (uint32_t i = 0; !(ret = wse_trainer_tensor(a, i, &x)); i++)
		same &= !wse_trainer_tensor(b, i, &y) &&
			!memcmp(x.data, y.data, (size_t)x.rows * x.cols * sizeof(float));
	return same && ret == -ENOENT;
}

/* the call failed with this errno, and its sentence has these words */
static int is(int ret, int want, const char *words)
{
	if (ret == want && strstr(wse_error(), words))
		return 1;
	printf("# %d \"%s\"; expected %d \"%s\"\n", ret, wse_error(), want, words);
	return 0;
}

static void test_rates(void)
{
	struct wse_train_shape shape = training(), other = training();
	struct wse_trainer *a = open_gpt(&shape), *b, *c;
	char one[80], two[80], cmd[300];
	uint16_t samples[TOKENS];
	struct wse_step_shape how = {.samples = samples,
				     .n = TOKENS,
				     .own = WSE_STEP_LR | WSE_STEP_MAX_NORM,
				     .lr = 7e-3,
				     .max_norm = 0.25};
	struct wse_step_result r[2];
	int ret = 0;

	other.lr = how.lr;
	other.max_norm = how.max_norm;
	b = open_gpt(&other);
	c = open_gpt(&shape);
	for (uint32_t i = 1; i < 3; i++) {
		fill(samples, i);
		ret |= wse_trainer_step_with(a, &how, &r[0]) |
		       wse_trainer_step_on(b, samples, TOKENS, &r[1]);
		ret |= memcmp(&r[0], &r[1], sizeof(r[0]));
	}
	ok(!ret && r[0].lr == 7e-3 && r[0].norm > 0.25 && same_weights(a, b),
	   "a rate and a norm of the step's: the bits of params with them (norm %.3f)", r[0].norm);

	snprintf(one, sizeof(one), "%s/one.safetensors", dir);
	snprintf(two, sizeof(two), "%s/two.safetensors", dir);
	ret = wse_trainer_save(a, one) | wse_trainer_load(c, one, WSE_CKPT_ALL) |
	      wse_trainer_save(c, two);
	snprintf(cmd, sizeof(cmd), "cmp %s %s && grep -aq '\"wse.own\":\"3\"' %s", one, two, one);
	ok(!ret && !system(cmd), "the checkpoint says that steps had their own, also over a break");
	how.own = 0;
	how.lr = how.max_norm = 0.0;
	ret = wse_trainer_step_with(a, &how, &r[0]) |
	      wse_trainer_step_on(c, samples, TOKENS, &r[1]);
	ok(!ret && !memcmp(&r[0], &r[1], sizeof(r[0])) && r[0].lr == 2e-3,
	   "the step after it has the params' again");
	how.own = WSE_STEP_LR;
	ret = wse_trainer_step_with(a, &how, &r[0]);
	fill(samples, 9);
	ok(!ret && r[0].lr == 0.0, "a learning rate of 0 is one");
	how.lr = NAN;
	ok(is(wse_trainer_step_with(a, &how, NULL), -EINVAL, "lr is") &&
		   (how.own = 4, how.lr = 0.0,
		    is(wse_trainer_step_with(a, &how, NULL), -EINVAL, "own is 0x4")) &&
		   (how.own = 0, how.max_norm = 1.0,
		    is(wse_trainer_step_with(a, &how, NULL), -EINVAL, "own has not its bit")) &&
		   is(wse_trainer_step_with(a, NULL, NULL), -EINVAL, "NULL") &&
		   is(wse_trainer_loss_on(a, NULL, NULL), -EINVAL, "NULL"),
	   "rates that are none, bits that are not known");
	wse_trainer_close(a);
	wse_trainer_close(b);
	wse_trainer_close(c);
}

static void test_masks(void)
{
	struct wse_train_shape shape = training(), plain = training();
	struct wse_trainer *a, *b, *c, *d = open_gpt(&plain);
	uint8_t mask[TARGETS], rest[TARGETS], none[TARGETS] = {0};
	uint16_t samples[TOKENS], other[TOKENS];
	struct wse_step_shape x = {.samples = samples, .n = TOKENS, .mask = mask, .nmask = TARGETS},
			      y = x, z = x;
	double all, half[2], again;
	struct wse_step_result r[3];
	int ret;

	shape.masked = 1;
	a = open_gpt(&shape);
	b = open_gpt(&shape);
	c = open_gpt(&shape);
	fill(samples, 1);
	memcpy(other, samples, sizeof(other));
	y.samples = other;
	/* of each sample some first targets; a token behind them is seen by none that counts */
	for (int i = 0; i < TARGETS; i++) {
		mask[i] = i % SEQ <= i / SEQ + 4;
		rest[i] = !mask[i];
		if (rest[i])
			other[i / SEQ * WIDTH + 1 + i % SEQ] ^= 1;
	}
	z.mask = rest;
	ret = wse_trainer_loss_on(a, &x, &half[0]) | wse_trainer_loss_on(a, &z, &half[1]);
	x.mask = NULL;
	ret |= wse_trainer_loss_on(a, &x, &all) | wse_trainer_loss_on(d, &x, &again);
	x.mask = mask;
	ok(!ret && all == again &&
		   fabs((half[0] * (4 * 8 + 36) + half[1] * (TARGETS - 68)) / TARGETS - all) < 1e-6,
	   "losses of the two parts of a batch are its loss: %.5f, %.5f, %.5f", half[0], half[1],
	   all);
	ret = wse_trainer_step_with(a, &x, &r[0]) | wse_trainer_step_with(b, &y, &r[1]) |
	      wse_trainer_step_on(c, samples, TOKENS, &r[2]);
	ok(!ret && r[0].loss == half[0] && !memcmp(&r[0], &r[1], sizeof(r[0])) &&
		   same_weights(a, b) && !same_weights(a, c),
	   "targets that do not count change no bit: loss %.5f, norm %.5f", r[0].loss, r[0].norm);
	memset(mask, 1, sizeof(mask));
	ret = wse_trainer_loss_on(c, &x, &all) | wse_trainer_step_with(c, &x, &r[0]);
	x.mask = NULL;
	ret |= wse_trainer_step_on(d, samples, TOKENS, &r[1]) | wse_trainer_step_with(d, &x, &r[1]);
	ok(!ret && !memcmp(&r[0], &r[1], sizeof(r[0])) && same_weights(c, d) && all == r[0].loss,
	   "all of them, no mask, and params without: the same bits");
	x.mask = mask;
	z.mask = none;
	ok(is(wse_trainer_step_with(d, &x, NULL), -EINVAL, "masked 1") &&
		   is(wse_trainer_step_with(a, &z, NULL), -EINVAL, "no token of the batch counts"),
	   "a mask where there is none, a mask of nothing");
	z.nmask = TOKENS;
	ok(is(wse_trainer_loss_on(a, &z, &all), -EINVAL,
	      "136 numbers are no mask: 8 samples of 16"),
	   "a mask of another size");
	z.n = 3;
	ok(is(wse_trainer_loss_on(a, &z, &all), -EINVAL, "3 tokens are no batch"),
	   "a batch that is none");
	wse_trainer_close(a);
	wse_trainer_close(b);
	wse_trainer_close(c);
	wse_trainer_close(d);
}

/*
 * Batches of 7 and of 1 in micro-batches of 2: the bits of one that has the last sample once more,
 * where it does not count; on any device, and any number of them.
 */
static void test_rest(uint32_t batch)
{
	static const struct {
		const char *uri;
		uint32_t n;
	} on[] = {{"oracle:rows=2,cols=2", 1},
		  {"sim:func,rows=2,cols=2", 1},
		  {"sim:func,rows=2,cols=2", 3},
		  {"sim:rtl,rows=2,cols=2", 1}};
	struct wse_train_shape rest = training(), whole = training();
	struct wse_trainer *a, *b;
	uint16_t samples[TOKENS];
	uint8_t mask[TARGETS];
	struct wse_step_shape x = {.samples = samples, .n = batch * WIDTH},
			      y = {.samples = samples,
				   .n = (batch + 1) * WIDTH,
				   .mask = mask,
				   .nmask = (batch + 1) * SEQ};
	struct wse_step_result r[2] = {{0}};
	double loss[2];

	rest.batch = batch;
	whole.batch = batch + 1;
	whole.masked = 1;
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		int ret = 0;

		b = open_gpt(&whole);
		a = open_on(&rest, on[i].uri, on[i].n);
		if (!a && TAP_SANITIZED && strstr(on[i].uri, "rtl")) {
			tap_skip("the RTL is not linked into this program", "a batch of %u", batch);
			wse_trainer_close(b);
			continue;
		}
		for (uint32_t k = 1; k < 3 && a && b && !ret; k++) {
			fill(samples, k);
			for (uint32_t t = 0; t < TARGETS; t++)
				mask[t] = t < batch * SEQ;
			memcpy(samples + batch * WIDTH, samples + (batch - 1) * WIDTH,
			       WIDTH * sizeof(*samples));
			ret = wse_trainer_loss_on(a, &x, &loss[0]) |
			      wse_trainer_loss_on(b, &y, &loss[1]) |
			      wse_trainer_step_with(a, &x, &r[0]) |
			      wse_trainer_step_with(b, &y, &r[1]);
			ret |= loss[0] != loss[1] || memcmp(&r[0], &r[1], sizeof(r[0]));
		}
		ok(a && b && !ret && r[0].norm > 0.0 && same_weights(a, b),
		   "a batch of %u, 2 a micro-batch, %u x %s: loss %.5f, norm %.5f", batch, on[i].n,
		   on[i].uri, r[0].loss, r[0].norm);
		wse_trainer_close(a);
		wse_trainer_close(b);
	}
}

/* of one that evaluates only, and of one that has a text; nothing is changed */
static void test_loss(void)
{
	struct wse_train_shape shape = training(), text = training();
	struct wse_trainer *a = open_gpt(&shape), *b, *c;
	struct wse_step_result r[2];
	uint16_t samples[TOKENS];
	struct wse_step_shape how = {.samples = samples, .n = TOKENS};
	char path[80];
	double l[3], after;
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "%s/text.bin", dir);
	f = fopen(path, "w");
	for (uint32_t i = 0; f && i < 20; i++) {
		fill(samples, i);
		fwrite(samples, 1, sizeof(samples), f);
	}
	if (f)
		fclose(f);
	shape.forward = 1;
	b = open_gpt(&shape);
	text.data = path;
	text.held_out = 256;
	c = open_gpt(&text);
	ret = wse_trainer_loss_on(a, &how, &l[0]) | wse_trainer_loss_on(b, &how, &l[1]) |
	      wse_trainer_loss_on(c, &how, &l[2]);
	ok(!ret && l[0] == l[1] && l[1] == l[2] && l[0] > 3.0,
	   "a trainer of batches, one that evaluates only, one with a text: %.5f", l[0]);
	ret = wse_trainer_step(c, &r[0]) | wse_trainer_loss_on(c, &how, &l[0]) |
	      wse_trainer_eval(c, 0, &after, NULL) | wse_trainer_loss_on(c, &how, &l[1]);
	ok(!ret && l[0] == l[1] && l[0] < l[2], "between steps and evaluations: %.5f", l[0]);
	ret = wse_trainer_step_on(a, samples, TOKENS, &r[0]);
	ok(!ret && r[0].loss == l[2], "and the loss of a step is that");
	wse_trainer_close(a);
	wse_trainer_close(b);
	wse_trainer_close(c);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_rates();
	test_masks();
	test_rest(BATCH - 1);
	test_rest(1);
	test_loss();
	return dir_remove() ? 1 : tap_end();
}
