// SPDX-License-Identifier: MIT
/* Whole runs on oracle devices: the same bits whatever happens on the way, and learning. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ref/mlp_ref.h"
#include "train/loop.h"
#include "train/session.h"
#include "train/verify.h"
#include "gradient.h"
#include "other_cpu.h"
#include "state.h"
#include "tap.h"
#include "whole_run.h"

static void same_bits(char *hash)
{
	const char *dying[] = {four[0], "oracle:rows=2,cols=4,die_at=9", four[0]};
	const char *dead[] = {"oracle:rows=2,cols=4,die_at=40"};
	const char *mixed[] = {four[0], "oracle:rows=4,cols=2"};
	struct wse_run_result res;
	char name[20];
	struct watch w = {0};

	for (uint32_t n = 1; n <= 4; n++) {
		int ret;

		snprintf(name, sizeof(name), "n%u", n);
		ret = go(name, four, n, NULL, 0, 0, &w, &res);
		if (n == 1)
			snprintf(hash, 65, "%s", res.hash);
		ok(!ret && !strcmp(hash, res.hash) && res.steps == 20, "%u device%s: hash %.16s %s",
		   n, n > 1 ? "s" : "", res.hash, ret ? wse_error() : "");
	}
	ok(strstr(w.last, "| Train Device=WSE x4, Step=20, Loss=") == w.last &&
		   strstr(w.last, " samples/sec, GlobalRate="),
	   "%s", w.last);
	w.repeated = 0;
	ok(!go("die", dying, 3, NULL, 0, 0, &w, &res) && !strcmp(hash, res.hash) && w.repeated,
	   "a device dies in the run: the same hash");
	ok(go("dead", dead, 1, NULL, 0, 0, &w, &res) == -ENODEV &&
		   strstr(wse_error(), "checkpoint_6.safetensors"),
	   "the only device dies: %s", wse_error());
	ok(!go("dead", four, 2, NULL, 0, 1, &w, &res) && !strcmp(hash, res.hash),
	   "and goes on with two others: the same hash");
	ok(go("mixed", mixed, 2, NULL, 0, 0, &w, &res) == -EINVAL, "%s", wse_error());
}

static void interruptions(const char *hash)
{
	struct watch w = {.kill_at = 13};
	struct wse_run_result res;
	char path[100], text[4096];
	int status;
	pid_t pid = fork();
	FILE *f;
	size_t n;

	if (!pid) {
		go("kill", four, 2, NULL, 0, 0, &w, &res);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	w.kill_at = 0;
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
		   !go("kill", four, 3, NULL, 0, 1, &w, &res) && !strcmp(hash, res.hash),
	   "kill -9 at step 13, resumed from 10 on other devices: the same hash");
	snprintf(path, sizeof(path), "%s/kill/metrics.csv", dir);
	f = fopen(path, "r");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	n = 0;
	for (char *p = text; *p; p++)
		n += *p == '\n';
	ok(n == 1 + 20 + 2, "metrics.csv has every step once");
	w.stop_at = 7;
	ok(!go("int", four, 1, NULL, 0, 0, &w, &res) && res.stopped && res.steps == 7,
	   "asked to stop at step 7: a checkpoint and a clean end");
	w.stop_at = 0;
	ok(!go("int", four, 1, NULL, 0, 1, &w, &res) && !strcmp(hash, res.hash),
	   "and resumed: the same hash");
}

static void bad_input(void)
{
	struct wse_run_result res;
	struct watch w = {0};
	const char *nan[] = {"schedulers=[{ConstantLR: {learning_rate: 100000}}]",
			     "optimizer={SGD: {}}", "precision.max_gradient_norm=0",
			     "checkpoint.steps=1"};
	const char *wide[] = {"model.hidden_sizes=[4096]"};
	const char *odd[] = {"model.hidden_sizes=[102]"};
	const char *tile[] = {"oracle:rows=1,cols=4"};
	const char *hidden[] = {"model.hidden_sizes=[64, 64]"};
	int ret = go("nan", four, 1, nan, 4, 0, &w, &res);

	ok(ret == -ERANGE && strstr(wse_error(), "step ") &&
		   strstr(wse_error(), "last good checkpoint: ") &&
		   (strstr(wse_error(), "layer") || strstr(wse_error(), "gradient of")),
	   "%s", wse_error());
	ok(go("wide", four, 1, wide, 1, 0, &w, &res) == -E2BIG, "%s", wse_error());
	ok(go("odd", four, 1, odd, 1, 0, &w, &res) == -EINVAL, "%s", wse_error());
	ok(go("n1", tile, 1, NULL, 0, 1, &w, &res) == -EINVAL, "%s", wse_error());
	ok(go("n1", four, 1, hidden, 1, 1, &w, &res) == -EINVAL, "%s", wse_error());
}

/* a changed bit in the masters between the two runs must be seen */
static void replay(void)
{
	struct wse_config cfg;
	struct wse_session s;
	struct wse_step_result r;
	const struct wse_rows *rows;
	char place[128];
	float was;
	int ret;

	wse_config_parse("test", yaml, strlen(yaml), NULL, 0, &cfg);
	snprintf(cfg.data, sizeof(cfg.data), "%s/text", dir);
	ret = wse_session_open(&s, &cfg, four, 1, NULL);
	ret = ret ? ret : wse_session_compute(&s, &r);
	ok(!ret && !wse_verify_step(&s, four[0]), "a replayed step has the same bits");
	was = s.io.sums[1][5];
	s.io.sums[1][5] += 1e-9f; /* of the weights of the second layer */
	ok(wse_verify_step(&s, four[0]) == -EILSEQ && strstr(wse_error(), s.table->t[3].name) &&
		   strstr(wse_error(), "[5]"),
	   "%s", wse_error());
	s.io.sums[1][5] = was;
	was = s.io.sums[0][64 * 64 + 7];
	s.io.sums[0][64 * 64 + 7] += 1e-9f; /* of the biases of the first */
	ok(wse_verify_step(&s, four[0]) == -EILSEQ && strstr(wse_error(), s.table->t[2].name) &&
		   strstr(wse_error(), "[7]"),
	   "%s", wse_error());
	s.io.sums[0][64 * 64 + 7] = was;
	rows = s.io.rows[0]; /* of the embedding: the inputs' */
	rows->data[9] = -rows->data[9];
	snprintf(place, sizeof(place), "%s[%zu]", s.table->t[s.io.rowed[0]].name,
		 (size_t)rows->row[9 / rows->width] * rows->width + 9 % rows->width);
	ok(s.io.nrows == 1 && wse_verify_step(&s, four[0]) == -EILSEQ && strstr(wse_error(), place),
	   "%s", wse_error());
	wse_session_close(&s);
}

/* one more step of a trained model: each tensor's gradient against the reference, same masters;
 * for ReLU the reference stores in bf16 as the wafer does (mlp_ref.h) */
static void trained_gradients(struct wse_session *s, struct mlp_ref *ref, uint16_t *context,
			      uint16_t *target)
{
	struct state st;
	struct wse_step_result r;
	struct distance d;
	float *grads;
	int ret = wse_session_compute(s, &r);

	ret = ret ? ret : wse_session_check_grads(s); /* adds the gradients of the inputs */
	st = state_of(s->memx);
	memcpy(ref->params, st.params, ref->tab.params * sizeof(float));
	state_free(&st);
	for (int b = 0; b < 128 && !ret; b++) {
		memcpy(context + b * 8, s->samples[b] - 8, 16);
		target[b] = s->samples[b][0];
	}
	ref->bf16_storage = ref->m.act == WSE_RELU;
	mlp_ref_forward(ref, context, target);
	mlp_ref_backward(ref, context);
	grads = calloc(ref->tab.params, sizeof(float));
	for (uint32_t i = 0; i < s->table->n && !ret; i++)
		wse_memx_grad(s->memx, i, grads + s->table->t[i].off);
	d = gradient_distance(&ref->tab, grads, ref->grads);
	free(grads);
	ok(!ret && gradient_close(d),
	   "gradients of the trained model: worst relative L2 "
	   "%.3f %%, worst cosine %.6f, small tensors %.1e",
	   100 * d.l2, d.cosine, d.small);
}

/* held-out loss below the unigram entropy, and within 1 % of the plain fp32 reference's */
static void learning(const char *act)
{
	struct wse_config cfg;
	struct wse_session s;
	struct wse_step_result r;
	struct mlp_ref ref;
	const char *set[] = {"train_dataloader.batch_size=128",
			     "train_dataloader.micro_batch_size=64",
			     "model.hidden_sizes=[128]",
			     "val_dataloader.held_out_bytes=2048",
			     "precision.max_gradient_norm=0",
			     "schedulers=[{ConstantLR: {learning_rate: 3.0e-3}}]",
			     "optimizer={AdamW: {betas: [0.9, 0.95]}}",
			     act};
	uint16_t *context, *target;
	double held = 0, fp32 = 0;
	uint64_t samples = 0;
	int ret = wse_config_parse("test", yaml, strlen(yaml), set, 8, &cfg);

	snprintf(cfg.data, sizeof(cfg.data), "%s/text", dir);
	ret = ret ? ret : wse_session_open(&s, &cfg, four, 2, NULL);
	mlp_ref_open(&ref, &cfg.model, 128, cfg.seed);
	context = malloc(128 * 8 * 2);
	target = malloc(128 * 2);
	for (int step = 0; step < 200 && !ret; step++) {
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_commit(&s, &r);
		for (int b = 0; b < 128 && !ret; b++) {
			memcpy(context + b * 8, s.samples[b] - 8, 16);
			target[b] = s.samples[b][0];
		}
		mlp_ref_forward(&ref, context, target);
		mlp_ref_backward(&ref, context);
		mlp_ref_adamw(&ref, 3e-3f, 0.9f, 0.95f, 1e-8f, 0.0f);
	}
	ret = ret ? ret : wse_session_eval(&s, 0, 0, &held, &samples);
	for (uint64_t i = 0; i < s.data.val[0].samples / 128 && !ret; i++) {
		for (uint64_t b = 0; b < 128; b++) {
			memcpy(context + b * 8, wse_data_held(&s.data, 0, i * 128 + b) - 8, 16);
			target[b] = *wse_data_held(&s.data, 0, i * 128 + b);
		}
		fp32 += mlp_ref_forward(&ref, context, target) /
			(double)(s.data.val[0].samples / 128);
	}
	ok(!ret && held > 0 && held < s.data.unigram,
	   "%s: held-out loss after 200 steps %.4f, unigram entropy %.4f", act, held,
	   s.data.unigram);
	ok(fabs(held - fp32) < 0.01 * fp32, "the fp32 reference reaches %.4f", fp32);
	if (!ret)
		trained_gradients(&s, &ref, context, target);
	free(context);
	free(target);
	mlp_ref_close(&ref);
	wse_session_close(&s);
}

int main(int argc, char **argv)
{
	char hash[65];
	int ret;

	if (argc == 2) { /* other_cpu()'s child: print the hash of the plain run */
		struct wse_run_result res;
		struct watch w = {0};

		snprintf(dir, sizeof(dir), "%s", argv[1]);
		if (go("cpu", four, 1, NULL, 0, 0, &w, &res))
			return 1;
		puts(res.hash);
		return 0;
	}
	ret = make_text();
	if (ret)
		return ret < 0;
	same_bits(hash);
	interruptions(hash);
	other_cpu(dir, hash);
	replay();
	bad_input();
	learning("model.nonlinearity=gelu_new");
	if (!TAP_SANITIZED) /* the same way to other numbers */
		learning("model.nonlinearity=relu");
	return dir_remove() ? 1 : tap_end();
}
