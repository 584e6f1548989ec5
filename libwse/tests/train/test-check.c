// SPDX-License-Identifier: MIT
/* A run is checked by replay: a good one, and every way in which it may not be what it says. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "st_whole.h"
#include "tap.h"
#include "whole_run.h"

static const char *const sets[] = {"loop.max_steps=8", "checkpoint.steps=4"};

static char all[1 << 16];

/* the output of a command in dir */
static const char *shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *shell(const char *fmt, ...)
{
	char cmd[1000];
	va_list ap;
	FILE *f;
	size_t n;

	n = (size_t)snprintf(cmd, sizeof(cmd), "cd %s && ", dir);
	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - n, fmt, ap);
	va_end(ap);
	f = popen(cmd, "r");
	n = f ? fread(all, 1, sizeof(all) - 1, f) : 0;
	all[n] = 0;
	if (!f || pclose(f))
		ok(0, "%s", cmd);
	return all;
}

/* a folder like that of the run */
static void copy(const char *name)
{
	shell("rm -rf %s && cp -r run %s", name, name);
}

/* steps from..to of the run in folder `name` by its checkpoint of step `at`, on n devices */
static int check(const char *name, int at, uint64_t from, uint64_t to, uint32_t n,
		 const char *const *more, uint32_t nmore, struct watch *w)
{
	char path[200];
	struct wse_run_result res;

	snprintf(path, sizeof(path), "%s/%s/checkpoint_%d.safetensors", dir, name, at);
	w->check = path;
	w->check_from = from;
	w->check_to = to;
	w->listen = "are what the run says";
	w->said[0] = 0;
	return go("nowhere", four, n, more, nmore, 0, w, &res);
}

static void good(uint64_t from, uint64_t to, int at, uint32_t n, const char *says)
{
	struct watch w = {0};
	int ret = check("run", at, from, to, n, sets, 2, &w);

	ok(!ret && strstr(w.said, says), "%d..%d by checkpoint %d on %u: %s", (int)from, (int)to,
	   at, n, ret ? wse_error() : w.said);
}

static void bad(const char *name, int at, uint64_t from, uint64_t to, int err, const char *says)
{
	struct watch w = {0};
	int ret = check(name, at, from, to, 2, sets, 2, &w);

	ok(ret == err && !w.said[0] && strstr(wse_error(), says), "%s", wse_error());
}

/* the same run with another setting */
static void another(const char *set, uint64_t from, const char *says)
{
	const char *more[] = {sets[0], sets[1], set};
	struct watch w = {0};
	int ret = check("run", 8, from, 8, 2, more, 3, &w);

	ok(ret == -EINVAL && strstr(wse_error(), says), "%s: %s", set, wse_error());
}

/*
 * a checkpoint with one bit of a number flipped, or without metadata `drop`, or with another last
 * digit of `edit`, and right checksums
 */
static void forge(const char *name, const char *tensor, uint32_t bit, const char *drop,
		  const char *edit)
{
	char value[WSE_ST_NAME];
	struct st_whole w;
	char path[200];
	uint32_t n = 0;
	int ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ret = st_whole_read(path, &w);
	if (ret) {
		ok(0, "%s: %s", path, wse_error());
		return;
	}
	for (uint32_t i = 0; i < w.st.nmeta; i++)
		if (strncmp(w.st.meta[i].key, "sum.", 4) &&
		    (!drop || strncmp(w.st.meta[i].key, drop, strlen(drop))))
			w.st.meta[n++] = w.st.meta[i];
	w.st.nmeta = n;
	for (uint32_t i = 0; edit && i < n; i++)
		if (!strcmp(w.st.meta[i].key, edit)) {
			snprintf(value, sizeof(value), "%s", w.st.meta[i].value);
			/* another digit, of a number or of a hash */
			value[strlen(value) - 1] = value[strlen(value) - 1] == '7' ? '8' : '7';
			w.st.meta[i].value = value;
		}
	for (uint32_t i = 0; tensor && i < w.st.ntensors; i++)
		if (!strcmp(w.st.tensors[i].name, tensor)) {
			uint32_t u;

			memcpy(&u, w.st.tensors[i].data + 7, 4);
			u ^= 1u << bit;
			memcpy(w.st.tensors[i].data + 7, &u, 4);
		}
	if (wse_st_write(path, &w.st))
		ok(0, "%s cannot be written", path);
	st_whole_free(&w);
}

static void edited(void)
{
	copy("e");
	shell("sed -i '/^6,train/s/,train,[0-9]/,train,9/' e/metrics.csv");
	bad("e", 8, 4, 8, -EILSEQ, "the hash of step 6 is not that of its row");
	bad("e", 8, 0, 2, -EILSEQ, "the hash of step 6 is not that of its row");
	copy("e");
	shell("sed -i '/^6,train/s/.$/x/' e/metrics.csv");
	bad("e", 8, 4, 8, -EILSEQ, "step 6 has");
	copy("e");
	shell("sed -i '/^6,train/s/....$/0000/' e/metrics.csv");
	bad("e", 8, 4, 8, -EILSEQ, "the hash of step 6 is not that of its row");
	copy("e");
	shell("sed -i '/^1,train/s/....$/0000/' e/metrics.csv");
	bad("e", 8, 4, 8, -EILSEQ, "the hash of step 1 is not that of its row");
	copy("e");
	shell("sed -i '/^8,train/s/....$/0000/' e/metrics.csv");
	bad("e", 8, 4, 6, -EILSEQ, "the hash of step 8 is not that of its row");
	copy("e");
	shell("sed -i '/^6,train/d' e/metrics.csv");
	bad("e", 8, 4, 8, -ENODATA, "hashes of steps 1 to 8, and none of step 6");
	copy("e");
	shell("sed -n '/^5,train/p' run/metrics.csv >> e/metrics.csv");
	bad("e", 8, 4, 8, -EILSEQ, "step 5 comes after step 8");
	copy("e");
	shell("cut -d, -f1-6 run/metrics.csv > e/metrics.csv");
	bad("e", 8, 4, 8, -ENODATA, "no hashes: it is of an earlier release");
}

static void flipped(void)
{
	copy("f");
	forge("f/checkpoint_4.safetensors", "lm_head.weight", 20, NULL, NULL);
	bad("f", 8, 4, 8, -EILSEQ, "step 5 is not what the run says: loss ");
	bad("f", 4, 4, 6, -EILSEQ, "step 5 is not what the run says: loss ");
	copy("f");
	forge("f/checkpoint_4.safetensors", "optimizer.exp_avg.lm_head.weight", 22, NULL, NULL);
	bad("f", 8, 4, 8, -EILSEQ, "step 6 is not what the run says: loss ");
	copy("f");
	forge("f/checkpoint_8.safetensors", "lm_head.weight", 0, NULL, NULL);
	bad("f", 8, 4, 8, -EILSEQ,
	    "checkpoint_8.safetensors is not what they make: lm_head.weight[7] is ");
	copy("f");
	forge("f/checkpoint_8.safetensors", "optimizer.exp_avg_sq.lm_head.weight", 0, NULL, NULL);
	bad("f", 8, 0, 8, -EILSEQ, "not what they make: optimizer.exp_avg_sq.lm_head.weight[7] is");
	copy("f");
	shell("sed -i 's/\"chain\":\"....../\"chain\":\"000000/' f/checkpoint_8.safetensors");
	bad("f", 8, 4, 8, -EBADMSG, "checksum of the header does not match");
	copy("f");
	forge("f/checkpoint_8.safetensors", NULL, 0, NULL, "chain");
	bad("f", 8, 4, 8, -EILSEQ, "the hash of step 8 is not the one in the checkpoint");
	copy("f");
	forge("f/checkpoint_4.safetensors", NULL, 0, NULL, "chain");
	bad("f", 8, 4, 8, -EILSEQ, "checkpoint_4.safetensors: its hash is not that of step 4");
	copy("f");
	forge("f/checkpoint_8.safetensors", NULL, 0, NULL, "wse.beta2_pow");
	bad("f", 8, 4, 8, -EILSEQ,
	    "checkpoint_8.safetensors is not what they make: step, beta1_pow");
}

int main(void)
{
	const char *tune[] = {sets[0], sets[1], "checkpoint.load_checkpoint_states=model"};
	struct watch w = {.no_eval = 1};
	struct wse_run_result res;
	char was[1 << 14], path[200];
	int ret = make_text();

	if (ret)
		return ret < 0;
	ret = go("run", four, 4, sets, 2, 0, &w, &res);
	ok(!ret && res.steps == 8, "a run of eight steps %s", ret ? wse_error() : "");
	snprintf(was, sizeof(was), "%s", shell("ls -lA --full-time run; sha256sum run/*"));

	good(0, 8, 8, 1, "Steps 1 to 8 are");
	good(0, 8, 8, 3, "every weight and moment of");
	good(4, 8, 8, 2, "checkpoint_8.safetensors");
	good(4, 8, 4, 1, "checkpoint_8.safetensors");
	good(4, 6, 8, 1, "batch of each");
	bad("run", 8, 2, 8, -ENODATA, "checkpoint_2.safetensors is not there");
	bad("run", 8, 4, 9, -ENODATA, "hashes of steps 1 to 8, and none of step 9");
	bad("run", 8, 9, 10, -ENODATA, "none of step 10");
	bad("run", 8, 4, 4, -EINVAL, "A < B");
	bad("run", 7, 4, 8, -ENOENT, "checkpoint_7.safetensors: No such file");
	another("model.nonlinearity=relu", 4, "act=gelu layers=3\" there");
	another("train_dataloader.shuffle_seed=2", 4, "what is given here is not that run");
	another("optimizer.AdamW.eps=1.0e-6", 0, "eps");
	another("init.seed=2", 0, "the run began with seed 1, the parameters say seed 2");
	shell("head -c 20000 text > small");
	snprintf(path, sizeof(path), "train_dataloader.data_dir=%s/small", dir);
	another(path, 0, "text: ");
	ok(!strcmp(was, shell("ls -lA --full-time run; sha256sum run/*")) &&
		   access(strcat(strcpy(path, dir), "/nowhere"), F_OK),
	   "no check has written anything");

	edited();
	flipped();

	copy("m"); /* the end alone is known */
	shell("rm m/metrics.csv");
	w = (struct watch){0};
	ret = check("m", 8, 4, 8, 1, sets, 2, &w);
	ok(!ret && strstr(w.said, "every weight"), "without metrics.csv: %s",
	   ret ? wse_error() : w.said);
	forge("m/checkpoint_4.safetensors", "lm_head.weight", 20, NULL, NULL);
	bad("m", 8, 4, 8, -EILSEQ, "step 8 has another hash in");
	bad("m", 8, 4, 7, -ENODATA,
	    "metrics.csv is not there, and the checkpoint has no hash of step 7");
	forge("m/checkpoint_8.safetensors", NULL, 0, "chain", NULL);
	bad("m", 8, 0, 8, -ENODATA, "the checkpoint has no hash of step 8");

	w = (struct watch){.stop_at = 6};
	ret = check("run", 8, 4, 8, 1, sets, 2, &w);
	ok(ret == -EINTR && strstr(wse_error(), "stopped after step 6"), "%s", wse_error());

	/* a checkpoint of an earlier release, and a run that goes on from it */
	shell("mkdir old && cp run/checkpoint_4.safetensors old");
	forge("old/checkpoint_4.safetensors", NULL, 0, "chain", NULL);
	w = (struct watch){.no_eval = 1};
	ret = go("old", four, 2, sets, 2, 1, &w, &res);
	w = (struct watch){0};
	ret = ret ? ret : check("old", 8, 4, 8, 1, sets, 2, &w);
	ok(!ret && strstr(w.said, "Steps 5 to 8 are"), "a chain that begins at step 4: %s",
	   ret ? wse_error() : w.said);
	bad("old", 8, 0, 8, -ENODATA, "hashes of steps 5 to 8, and none of step 1");

	/* a run that began with the weights of another one */
	snprintf(path, sizeof(path), "%s/run/checkpoint_8.safetensors", dir);
	w = (struct watch){.no_eval = 1, .from = path};
	ret = go("tune", four, 2, tune, 3, 1, &w, &res);
	ok(!ret, "a run that began with weights %s", ret ? wse_error() : "");
	bad("tune", 8, 0, 8, -EINVAL, "the run began with weights of");
	w = (struct watch){.check_weights = path};
	ret = check("tune", 8, 0, 8, 1, sets, 2, &w);
	ok(!ret && strstr(w.said, "Steps 1 to 8 are"), "which are given: %s",
	   ret ? wse_error() : w.said);
	strcpy(strrchr(path, '/'), "/checkpoint_4.safetensors");
	ret = check("tune", 8, 0, 8, 1, sets, 2, &w);
	ok(ret == -EINVAL && strstr(wse_error(), "checkpoint_4.safetensors has the weights of"),
	   "%s", wse_error());
	ret = check("run", 8, 0, 8, 1, sets, 2, &w);
	ok(ret == -EINVAL && strstr(wse_error(), "the run began with seed 1, "), "%s", wse_error());
	w = (struct watch){0};
	ret = check("tune", 8, 4, 8, 1, sets, 2, &w);
	ok(!ret && strstr(w.said, "Steps 5 to 8 are"), "later steps of it: %s",
	   ret ? wse_error() : w.said);
	return dir_remove() ? 1 : tap_end();
}
