// SPDX-License-Identifier: MIT
/* What a checkpoint is worth: it is good, it is this run's, and nothing in it is another's. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "st_whole.h"
#include "tap.h"
#include "whole_run.h"

static int is_there(const char *name)
{
	char path[200];
	struct stat sb;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !stat(path, &sb);
}

/* steps of 1e5 x the gradient: the loss of step 3 is not finite */
static const char *const nan_sets[] = {"schedulers=[{ConstantLR: {learning_rate: 100000}}]",
				       "optimizer={SGD: {}}", "precision.max_gradient_norm=0",
				       "checkpoint.steps=1", "loop.max_steps=2"};

static void not_finite(void)
{
	const char *dying[] = {"oracle:rows=2,cols=4,die_at=14"};
	struct watch w = {.listen = "| Eval"};
	struct wse_run_result res;
	int ret = go("nan", four, 1, nan_sets, 4, 0, &w, &res);

	ok(ret == -ERANGE && strstr(wse_error(), "step 3: ") &&
		   strstr(wse_error(), "checkpoint_1.safet") &&
		   is_there("nan/checkpoint_1.safetensors") &&
		   !is_there("nan/checkpoint_2.safetensors"),
	   "a step that breaks the parameters leaves no checkpoint: %s", wse_error());
	ret = go("nan", four, 1, nan_sets, 4, 1, &w, &res);
	ok(ret == -ERANGE && strstr(wse_error(), "step 3: ") &&
		   strstr(wse_error(), "checkpoint_1.safet"),
	   "and auto goes on from the one before it: %s", wse_error());
	w.eval_only = 1;
	ret = go("nan", four, 1, nan_sets, 4, 1, &w, &res);
	ok(!ret && res.evaluated && isfinite(res.held_out),
	   "which is as good as it was called: loss %.3f", res.held_out);
	w.eval_only = 0;
	w.no_eval = 1;
	ret = go("end", four, 1, nan_sets, 5, 0, &w, &res);
	ok(ret == -ERANGE && !is_there("end/checkpoint_2.safetensors"),
	   "the last step broke them: not saved either: %s", wse_error());
	w.no_eval = 0;
	ret = go("eval", four, 1, nan_sets, 5, 0, &w, &res);
	ok(ret == -ERANGE &&
		   strstr(wse_error(), "evaluation at step 2: the loss of held-out token") &&
		   strstr(wse_error(), "layer transformer.h.") &&
		   !is_there("eval/checkpoint_2.safetensors") && !strstr(w.said, "nan"),
	   "a held-out loss that is not finite: %s", wse_error());
	w.stop_at = 2;
	ret = go("int", four, 1, nan_sets, 4, 0, &w, &res);
	ok(ret == -ERANGE && !is_there("int/checkpoint_2.safetensors"),
	   "stopped by a signal there: %s", wse_error());
	w.stop_at = 0;
	ret = go("die", dying, 1, nan_sets, 4, 0, &w, &res);
	ok(ret == -ENODEV && strstr(wse_error(), "last good checkpoint: ") &&
		   strstr(wse_error(), "checkpoint_1.safet") &&
		   !is_there("die/checkpoint_2.safetensors"),
	   "the last device dies there: %s", wse_error());
}

/* ---- a last checkpoint, written while a forward of the next step proves it ---- */

struct writing {
	uint64_t calls, last, total;
	int back, whole, refuse;
};

static void wrote(void *ctx, uint64_t done, uint64_t total)
{
	struct writing *w = ctx;

	w->calls++;
	w->back += done < w->last || done > total;
	w->last = done;
	w->total = total;
}

static int is_whole(void *ctx)
{
	struct writing *w = ctx;

	w->whole++;
	return w->refuse ? wse_fail(-ECANCELED, "it is not wanted") : 0;
}

/* a step, and then a file */
static int step_and_save(const char *const *sets, uint32_t nsets, int files, const char *name,
			 struct writing *w)
{
	char hash[65], of_file[65];
	const struct wse_st_progress progress = {wrote, w, is_whole, hash};
	struct wse_step_result r;
	struct wse_config cfg;
	struct wse_session s;
	char path[200];
	int ret = wse_config_parse("test", yaml, strlen(yaml), sets, nsets, &cfg);

	snprintf(cfg.data, sizeof(cfg.data), "%s/text", dir);
	snprintf(cfg.model_dir, sizeof(cfg.model_dir), "%s", dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!ret && files)
		ret = limit_for(&cfg, four, 2, (enum wse_memory_files)files, 1);
	ret = ret ? ret : wse_session_open(&s, &cfg, four, 2, NULL);
	if (ret)
		return ret;
	ret = wse_session_compute(&s, &r);
	ret = ret ? ret : wse_session_commit(&s, &r);
	ret = ret ? ret : wse_session_save_probed(&s, path, &progress);
	ret = ret ? ret : wse_ckpt_hash(path, of_file);
	if (!ret && strcmp(hash, of_file))
		ret = wse_fail(-EILSEQ, "the hash is %s as it is written and %s when it is read",
			       hash, of_file);
	if (!ret) { /* the session goes on, and there is one more file */
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_commit(&s, &r);
		snprintf(path, sizeof(path), "%s/after", dir);
		ret = ret ? ret : wse_session_save(&s, path, NULL);
	}
	wse_session_close(&s);
	return ret;
}

static void probed(void)
{
	/* more than a file has buffers; the learning rate is last: a good run goes without it */
	static const char *const sets[] = {
		"model.hidden_sizes=[320, 320, 320, 320, 320, 320, 320, 320, 320]",
		"train_dataloader.batch_size=32", "train_dataloader.micro_batch_size=16",
		"precision.max_gradient_norm=0",
		"schedulers=[{ConstantLR: {learning_rate: 100000}}]"};
	char hash[3][65];
	int ret = 0;

	for (int files = 0; files < 2; files++) {
		struct writing w = {0}, bad = {0}, no = {.refuse = 1};
		const char *how = files ? "state in a file" : "state in memory";

		ret = step_and_save(sets, 4, files ? WSE_FILES_STATE : 0, "probed", &w);
		ret = ret ? ret : wse_ckpt_hash(in_dir("probed"), hash[files]);
		ret = ret ? ret : wse_ckpt_hash(in_dir("after"), hash[2]);
		ok(!ret && w.whole == 1 && !w.back && w.last == w.total && w.calls > 8,
		   "%s: a file and its proof: told %llu times of %.1f MB%s%s", how,
		   (unsigned long long)w.calls, 1e-6 * (double)w.total, ret ? ": " : "",
		   ret ? wse_error() : "");
		ret = step_and_save(sets, 5, files ? WSE_FILES_STATE : 0, "bad", &bad);
		ok(ret == -ERANGE && bad.whole == 1 && bad.last == bad.total && !is_there("bad") &&
			   !is_there("bad.tmp") && !strncmp(wse_error(), "step 2: ", 8),
		   "%s: all was written when it was found bad, and is gone: %s", how, wse_error());
		ret = step_and_save(sets, 4, files ? WSE_FILES_STATE : 0, "no", &no);
		ok(ret == -ECANCELED && no.whole == 1 && !is_there("no") && !is_there("no.tmp") &&
			   strstr(wse_error(), "it is not wanted"),
		   "%s: a file that is refused: %s", how, wse_error());
	}
	ok(!strcmp(hash[0], hash[1]) && strcmp(hash[0], hash[2]), "the same file from both");
}

/* a checkpoint with all numbers of a tensor replaced, and right checksums */
static void damaged(const char *tensor, float value, int eval, const char *want)
{
	char path[200], good[200];
	struct watch w = {.eval_only = eval};
	struct wse_run_result res;
	struct st_whole whole;
	struct wse_st *st = &whole.st;
	uint32_t n = 0;
	int ret;

	snprintf(path, sizeof(path), "%s/bad.safetensors", dir);
	w.from = path;
	snprintf(good, sizeof(good), "%s/ten/checkpoint_10.safetensors", dir);
	ret = st_whole_read(good, &whole);
	while (!ret && n < st->nmeta && strncmp(st->meta[n].key, "sum.", 4))
		n++;
	st->nmeta = n; /* the writer makes the sums */
	for (uint32_t i = 0; i < st->ntensors && !ret; i++)
		if (!strcmp(st->tensors[i].name, tensor))
			for (size_t j = 0; j < st->tensors[i].count; j++)
				st->tensors[i].data[j] = value;
	ret = ret ? ret : wse_st_write(path, st);
	st_whole_free(&whole);
	if (strstr(tensor, "optimizer"))
		w.eval_only = 0;
	w.no_eval = 1;
	ret = ret ? ret : go("damaged", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -ERANGE && strstr(wse_error(), tensor) && strstr(wse_error(), want), "%s",
	   wse_error());
}

/* a checkpoint with one scalar of its state replaced, and right checksums; `name` in its folder */
static void forged(const char *name, const char *key, const char *value, const char *want)
{
	char path[200];
	struct watch w = {.from = path, .no_eval = 1};
	struct wse_run_result res;
	struct st_whole whole;
	struct wse_st *st = &whole.st;
	uint32_t n = 0;
	int ret;

	snprintf(path, sizeof(path), "%s/ten/checkpoint_10.safetensors", dir);
	ret = st_whole_read(path, &whole);
	for (uint32_t i = 0; i < st->nmeta && !ret; i++)
		if (!strcmp(st->meta[i].key, key))
			st->meta[i].value = value;
	while (!ret && n < st->nmeta && strncmp(st->meta[n].key, "sum.", 4))
		n++;
	st->nmeta = n;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ret = ret ? ret : wse_st_write(path, st);
	st_whole_free(&whole);
	ret = ret ? ret : go("forged", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EBADMSG && strstr(wse_error(), want), "%s=%s: %s", key, value, wse_error());
}

/* auto and a last checkpoint that is damaged: the one before it is named, and nothing is begun */
static void last_is_damaged(void)
{
	struct watch w = {0};
	struct wse_run_result res;
	char cmd[400];
	int ret;

	snprintf(
		cmd, sizeof(cmd),
		"cp -r %s/ten %s/hurt && cd %s/hurt && head -c 5000 "
		"checkpoint_10.safetensors > checkpoint_11.safetensors && "
		"printf x | dd of=checkpoint_10.safetensors conv=notrunc bs=1 seek=900 2>/dev/null",
		dir, dir, dir);
	ret = system(cmd);
	ret = ret ? ret : go("hurt", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EBADMSG && strstr(wse_error(), "checkpoint_11.safetensors: cut short") &&
		   strstr(wse_error(),
			  "checkpoint_5.safetensors is good: move checkpoint_11.safetensors away"),
	   "%s", wse_error());
	w.eval_only = 1;
	ret = go("hurt", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EBADMSG && strstr(wse_error(), "checkpoint_5.safetensors is good"),
	   "eval, too: %s", wse_error());
	w.eval_only = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(cmd, sizeof(cmd), "cd %s/hurt && rm checkpoint_11.safetensors && %s", dir,
			 i ? "mkdir checkpoint_11.safetensors"
			   : "mkfifo checkpoint_11.safetensors");
		ret = system(cmd);
		ret = ret ? ret : go("hurt", four, 1, NULL, 0, 1, &w, &res);
		ok(ret == -EINVAL && strstr(wse_error(), "checkpoint_5.safetensors is good: move "
							 "checkpoint_11.safetensors away"),
		   "%s", wse_error());
	}
	snprintf(cmd, sizeof(cmd),
		 "cd %s/hurt && rmdir checkpoint_11.safetensors && rm checkpoint_5.safetensors && "
		 "head -c 5000 checkpoint_10.safetensors > checkpoint_11.safetensors",
		 dir);
	ret = system(cmd);
	ret = ret ? ret : go("hurt", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EBADMSG && strstr(wse_error(), "no good one before it"), "%s", wse_error());
}

/* resume ten steps with one setting changed */
static void changed(const char *set, const char *there, const char *here)
{
	struct wse_run_result res;
	struct watch w = {0};
	char one[80], two[80];
	int ret = go("ten", four, 1, &set, 1, 1, &w, &res);

	snprintf(one, sizeof(one), "%s\" there", there);
	snprintf(two, sizeof(two), "%s\" in this run", here);
	ok(ret == -EINVAL && strstr(wse_error(), one) && strstr(wse_error(), two) &&
		   (strstr(wse_error(), "load_checkpoint_states=model") || strstr(set, "model.")),
	   "%s", wse_error());
}

static void another_run(void)
{
	static const char rates[] = "checkpoint.load_checkpoint_states=model,optimizer,dataloader";
	static const char model[] = "checkpoint.load_checkpoint_states=model";
	const char *ten[] = {"loop.max_steps=10"};
	char text[200], small[200], path[200];
	const char *new_rates[] = {rates, "precision.max_gradient_norm=0.5",
				   "optimizer.AdamW.betas=[0.8, 0.95]"};
	const char *new_text[] = {rates, text}, *tune[] = {model, text};
	const char *longer[] = {"loop.max_steps=12"};
	struct watch w = {.listen = "Changed"};
	struct wse_run_result res;
	double fresh;
	int ret;

	snprintf(small, sizeof(small), "head -c 20000 %s/text > %s/small", dir, dir);
	ret = system(small);
	snprintf(text, sizeof(text), "train_dataloader.data_dir=%s/small", dir);
	snprintf(path, sizeof(path), "%s/ten/checkpoint_10.safetensors", dir);
	ret = ret ? ret : go("ten", four, 1, ten, 1, 0, &w, &res);
	ok(!ret, "ten steps %s", ret ? wse_error() : "");
	changed(text, "", ""); /* two checksums, of whatever text this machine has */
	changed("val_dataloader.held_out_bytes=1008", "\"1000", "\"1008");
	changed("train_dataloader.shuffle=false", "\"true, seed 1", "\"false");
	changed("train_dataloader.shuffle_seed=2", "\"true, seed 1", "\"true, seed 2");
	changed("optimizer.AdamW.betas=[0.9, 0.99]", "\"0.9, 0.95", "\"0.9, 0.99");
	changed("optimizer.AdamW.eps=1.0e-6", "\"1e-08", "\"1e-06");
	changed("optimizer.AdamW.weight_decay=0.1", "\"0.01", "\"0.1");
	changed("precision.max_gradient_norm=0.5", "\"1", "\"0.5");
	changed("schedulers=[{ConstantLR: {learning_rate: 0.1}}]",
		"cosine 0.005 to 0.001 in 100 from step 0", "0.1 from step 0");
	changed("schedulers.0.CosineDecayLR.total_iters=200", "in 100 from step 0",
		"in 200 from step 0");
	changed("model.nonlinearity=relu", "act=gelu layers=3", "act=relu layers=3");
	damaged("transformer.h.0.mlp.c_fc.weight", NAN, 1, "[0] is not finite");
	damaged("optimizer.exp_avg_sq.transformer.wte.weight", INFINITY, 0, "[0] is not finite");
	damaged("lm_head.weight", 1e38f, 0, "from which it started, is not good");
	damaged("lm_head.weight", 1e38f, 1, "evaluation at step 10: ");
	forged("bad.safetensors", "wse.step", "-3", "wse.step is -3");
	forged("bad.safetensors", "wse.step", "+3", "wse.step is +3");
	forged("bad.safetensors", "wse.step", "", "no number");
	forged("checkpoint_10.safetensors", "wse.step", "9", "step 9, not of the step in its name");
	forged("bad.safetensors", "wse.step", "9", "place in the text");
	forged("bad.safetensors", "wse.epoch", "1", "place in the text");
	forged("bad.safetensors", "wse.position", "95", "place in the text");
	forged("bad.safetensors", "wse.beta1_pow", "3ff8000000000000", "1.5, not from 0 to 1");
	forged("bad.safetensors", "wse.beta2_pow", "7ff8000000000000", "nan, not from 0 to 1");
	last_is_damaged();

	ret = go("ten", four, 1, new_text, 2, 1, &w, &res);
	ok(ret == -EINVAL && strstr(wse_error(), "text: "), "a new rate is no new text: %s",
	   wse_error());
	w.from = path;
	ret = go("rates", four, 1, new_rates, 3, 1, &w, &res);
	ok(!ret && res.steps == 20 && strstr(w.said, "betas: 0.9, 0.95 -> 0.8, 0.95") &&
		   strstr(w.said, "max_gradient_norm: 1 -> 0.5"),
	   "%s %s", w.said, ret ? wse_error() : "");
	w.from = NULL;
	ret = go("fresh", four, 1, tune + 1, 1, 0, &w, &res);
	fresh = res.loss;
	w.from = path;
	ret = ret ? ret : go("tune", four, 1, tune, 2, 1, &w, &res);
	ok(!ret && res.steps == 20 && res.loss < fresh,
	   "its parameters begin a run on another text: %.3f, from nothing %.3f %s", res.loss,
	   fresh, ret ? wse_error() : "");
	ret = go("ten", four, 1, tune, 2, 1, &w, &res);
	ok(ret == -EEXIST, "not in the same folder: %s", wse_error());

	w.from = NULL;
	ret = go("ten", four, 1, NULL, 0, 0, &w, &res);
	ok(ret == -EEXIST && strstr(wse_error(), "checkpoint_10.safetensors is there") &&
		   strstr(wse_error(), "--checkpoint_path auto") &&
		   strstr(wse_error(), "--model_dir"),
	   "%s", wse_error());
	ret = go("ten", four, 1, longer, 1, 1, &w, &res);
	ok(!ret && res.steps == 12, "more steps are the same run %s", ret ? wse_error() : "");
	w.from = path;
	ret = go("ten", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EEXIST, "back to step 10 beside step 12: %s", wse_error());
	w.from = NULL;
	w.listen = "nothing to train";
	ret = go("ten", four, 1, ten, 1, 1, &w, &res);
	ok(!ret && strstr(w.said, "of step 12, max_steps is 10"), "%s", w.said);
}

/* model_dir belongs to one process at a time */
static void locked(void)
{
	struct watch w = {0};
	struct wse_run_result res;
	char path[200];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/ten", dir);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ret = flock(fd, LOCK_EX | LOCK_NB);
	ret = ret ? ret : go("ten", four, 1, NULL, 0, 1, &w, &res);
	ok(ret == -EALREADY && strstr(wse_error(), "another run is writing there") && !w.step, "%s",
	   wse_error());
	w.eval_only = 1;
	ret = go("ten", four, 1, NULL, 0, 1, &w, &res);
	ok(!ret && res.evaluated, "which may be evaluated meanwhile %s", ret ? wse_error() : "");
	close(fd);
}

static void evaluations(void)
{
	const char *one[] = {"loop.eval_steps=1"};
	const char *leak[] = {"val_dataloader.held_out_bytes=64"};
	struct watch w = {.eval_only = 1, .listen = "| Eval"};
	struct wse_run_result res;
	int ret = go("ten", four, 2, one, 1, 1, &w, &res);

	ok(!ret && strstr(w.said, "GlobalStep=12,") && strstr(w.said, "Samples=96 held-out"), "%s",
	   w.said);
	w.listen = "trained on";
	ret = go("ten", four, 2, leak, 1, 1, &w, &res);
	ok(!ret && strstr(w.said, "held_out_bytes 1000 in training, 64 now"), "%s", w.said);
}

static void replays(void)
{
	struct watch w = {.verify = 21};
	struct wse_run_result res;

	ok(go("v", four, 1, NULL, 0, 0, &w, &res) == -EINVAL &&
		   strstr(wse_error(), "--verify-steps 21: this run makes the steps 1 to 20"),
	   "%s", wse_error());
	w.verify = 12;
	ok(go("ten", four, 1, NULL, 0, 1, &w, &res) == -EINVAL &&
		   strstr(wse_error(), "this run makes the steps 13 to 20"),
	   "%s", wse_error());
	w.verify = 20;
	w.verify_uri = "oracle:rows=x";
	ok(go("v", four, 1, NULL, 0, 0, &w, &res) == -EINVAL && !w.step &&
		   strstr(wse_error(), "oracle:rows=x"),
	   "before the first step: %s", wse_error());
	w.verify_uri = "oracle:rows=4,cols=4";
	ok(go("v", four, 1, NULL, 0, 0, &w, &res) == -EINVAL && !w.step &&
		   strstr(wse_error(), "tile shapes are not mixed"),
	   "likewise: %s", wse_error());
}

/*
 * the incomplete batch at an epoch's end belongs to no step: neither side of a break may count it
 */
static void epochs(void)
{
	char cmd[200], text[200], steps[40], hash[65];
	const char *sets[] = {text, steps};
	struct wse_run_result res;
	struct watch w = {0};
	int ret, same = 0;

	snprintf(cmd, sizeof(cmd), "head -c 1700 %s/text > %s/tiny", dir, dir);
	snprintf(text, sizeof(text), "train_dataloader.data_dir=%s/tiny", dir);
	ret = system(cmd);
	snprintf(steps, sizeof(steps), "loop.max_steps=20");
	ret = ret ? ret : go("epochs", four, 1, sets, 2, 0, &w, &res);
	snprintf(hash, sizeof(hash), "%s", res.hash);
	for (int i = 1; i <= 20 && !ret; i++) {
		snprintf(steps, sizeof(steps), "loop.max_steps=%d", i);
		ret = go("broken", four, 1, sets, 2, 1, &w, &res);
	}
	same = !strcmp(hash, res.hash);
	ok(!ret && same, "twenty runs of a step are a run of twenty, over epochs of six %s",
	   ret ? wse_error() : "");
}

int main(void)
{
	int ret = make_text();

	if (ret)
		return ret < 0;
	not_finite();
	probed();
	another_run();
	locked();
	evaluations();
	replays();
	epochs();
	return dir_remove() ? 1 : tap_end();
}
