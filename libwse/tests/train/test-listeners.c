// SPDX-License-Identifier: MIT
/* Callbacks and loggers of parameter files: a run with all of them, and TensorBoard's files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "input/config.h"
#include "output/tensorboard.h"
#include "tap.h"
#include "train/keep.h"
#include "train/loop.h"
#include "train/norms.h"

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 8, embedding_size: 8, hidden_sizes: [32],\n"
	"            nonlinearity: gelu}\n"
	"    optimizer: {AdamW: {}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 1.0e-3}}]\n"
	"    loop: {max_steps: 9, eval_frequency: 3}\n"
	"    checkpoint: {steps: 2}\n"
	"    logging: {log_steps: 3}\n"
	"    sampling: {tokens: 0}\n"
	"    callbacks: CALLBACKS\n"
	"    loggers: LOGGERS\n"
	"    autorestart: {max_num_restarts: 3}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 64}\n";

static char dir[] = "/tmp/wse-listen-XXXXXX";
static char lines[1 << 16];

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	size_t n = strlen(lines);

	(void)ctx;
	(void)level;
	snprintf(lines + n, sizeof(lines) - n, "%s\n", text);
}

static int read_with(const char *callbacks, const char *loggers, struct wse_config *c)
{
	static struct wse_faults f;
	char text[2000], *at;
	struct wse_config_source src = {
		.name = "f.yaml", .text = text, .data = "README.md", .model_dir = dir};

	snprintf(text, sizeof(text), "%s", yaml);
	at = strstr(yaml, "CALLBACKS") - yaml + text;
	snprintf(at, sizeof(text) - (size_t)(at - text), "%s\n    loggers: %s\n%s", callbacks,
		 loggers, strstr(yaml, "    autorestart"));
	src.size = strlen(text);
	return wse_config_read(&src, c, &f);
}

static int has(const char *name)
{
	char path[300];
	struct stat sb;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !stat(path, &sb);
}

/* ---- TensorBoard's file, read by its definition ---- */

struct events {
	uint32_t n, scalars, bad;
	uint64_t step;	 /* of the last one */
	char tags[2000]; /* all of them */
	float loss;	 /* the last one called loss */
};

static uint32_t masked(const void *p, size_t n)
{
	uint32_t c = wse_crc32c(p, n);

	return (c >> 15 | c << 17) + 0xa282ead8u;
}

static uint64_t varint(const unsigned char **p)
{
	uint64_t v = 0;

	for (int shift = 0;; shift += 7) {
		v |= (uint64_t)(**p & 127) << shift;
		if (!(*(*p)++ & 128))
			return v;
	}
}

/* a message: fields one after the other, those of summaries and values inside */
static void message(struct events *e, const unsigned char *p, const unsigned char *end, int depth)
{
	char tag[120] = "";

	while (p < end) {
		uint64_t key = varint(&p), n;
		float f;

		switch (key & 7) {
		case 0:
			e->step = varint(&p);
			break;
		case 1:
			p += 8;
			break;
		case 2:
			n = varint(&p);
			if ((depth == 0 && key >> 3 == 5) || (depth == 1 && key >> 3 == 1))
				message(e, p, p + n, depth + 1);
			else if (depth == 2 && key >> 3 == 1)
				snprintf(tag, sizeof(tag), "%.*s", (int)n, (const char *)p);
			else if (depth != 0 || key >> 3 != 3 || memcmp(p, "brain.Event:2", n))
				e->bad++;
			p += n;
			break;
		case 5:
			memcpy(&f, p, 4);
			p += 4;
			e->scalars++;
			if (!strcmp(tag, "loss"))
				e->loss = f;
			snprintf(e->tags + strlen(e->tags), sizeof(e->tags) - strlen(e->tags),
				 "%s ", tag);
			break;
		default:
			e->bad++;
			return;
		}
	}
	e->bad += p != end;
}

static int read_events(const char *folder, struct events *e)
{
	unsigned char buf[1 << 16];
	char path[600];
	DIR *d = opendir(folder);
	struct dirent *f;
	ssize_t n;
	int fd = -1;

	memset(e, 0, sizeof(*e));
	while (d && (f = readdir(d)))
		if (strstr(f->d_name, "events.out.tfevents.")) {
			snprintf(path, sizeof(path), "%s/%s", folder, f->d_name);
			fd = open(path, O_RDONLY);
		}
	if (d)
		closedir(d);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
	close(fd);
	for (ssize_t at = 0; at < n; e->n++) {
		uint64_t len;
		uint32_t crc;

		memcpy(&len, buf + at, 8);
		memcpy(&crc, buf + at + 8, 4);
		if (crc != masked(&len, 8) || at + 16 + (ssize_t)len > n)
			return -1;
		memcpy(&crc, buf + at + 12 + len, 4);
		if (crc != masked(buf + at + 12, len))
			return -1;
		message(e, buf + at + 12, buf + at + 12 + len, 0);
		at += 16 + (ssize_t)len;
	}
	return n < 0 ? -1 : 0;
}

static void whole_run(void)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2"};
	struct wse_run_ops ops = {.line = line};
	struct wse_run run = {.mode = WSE_MODE_TRAIN_AND_EVAL, .uris = uris, .nuris = 1};
	struct wse_run_result res;
	struct events e;
	char events[300];
	int ret = read_with("[ComputeNorm: {}, KeepNCheckpoints: {n: 2}, CountParams: {}, "
			    "FlopUtilization: {}, NaNChecker, CheckLoss: {}]",
			    "[ProgressLogger: {}, TensorBoardLogger: {}]", &run.cfg);

	ok(!ret && strstr(run.cfg.ignored, "autorestart (wse-train --launch"), "all of them: %s",
	   ret ? wse_error() : run.cfg.ignored);
	ret = ret ? ret : wse_run(&run, &ops, &res);
	ok(!ret, "a run%s%s", ret ? ": " : "", ret ? wse_error() : "");
	ok(strstr(lines, "| Parameters: 12576 in 5 tensors"), "CountParams");
	ok(strstr(lines, "| FLOPs a step=") != NULL, "FlopUtilization");
	ok(!has("checkpoint_2.safetensors") && !has("checkpoint_4.safetensors") &&
		   !has("checkpoint_6.safetensors") && has("checkpoint_8.safetensors") &&
		   has("checkpoint_9.safetensors") && strstr(lines, "the last 2 stay"),
	   "KeepNCheckpoints: two are there");
	snprintf(events, sizeof(events), "%s/events", dir);
	ret = read_events(events, &e);
	ok(strstr(lines, "| Norms: parameters=") && strstr(e.tags, "model_wise_params_norm ") &&
		   strstr(e.tags, "model_wise_grad_norm ") &&
		   strstr(e.tags, "per_layer_grad_norm/layer_0 ") &&
		   strstr(e.tags, "gsqnorm/transformer.h.0.mlp.c_fc.weight "),
	   "ComputeNorm");
	/* with each of three lines the two norms, that of one layer, and of five tensors */
	ok(!ret && !e.bad && e.n == 1 + 3 + 4 + 3 * 8 && e.step == 9 &&
		   !strncmp(e.tags,
			    "eval/loss loss learning_rate gradient_norm samples_per_second ", 62),
	   "TensorBoardLogger: %u events, the last of step %llu: %s", e.n,
	   (unsigned long long)e.step, e.tags);
	ok(e.loss == (float)res.loss, "the loss is the run's");
}

/* against sums of another order; of the gradients, the layers are parts of the whole */
static void norms(void)
{
	static const char *const uris[] = {"sim:func,rows=2,cols=2"};
	static struct wse_config c;
	struct wse_session s;
	struct wse_step_result r;
	double norm = 0.0, want = 0.0, grads = 0.0;
	int ret = read_with("[ComputeNorm]", "[]", &c);

	ret = ret ? ret : wse_session_open(&s, &c, uris, 1, NULL);
	if (ret) {
		ok(0, "%s", wse_error());
		return;
	}
	for (int step = 0; step < 2 && !ret; step++) {
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_param_norm(&s, &norm);
		want = grads = 0.0;
		for (uint32_t i = 0; i < s.table->n && !ret; i++) {
			size_t n = s.table->t[i].count;
			float *p = malloc(n * sizeof(*p));

			ret = wse_memx_read(s.memx, WSE_MEMX_P, i, 0, n, p);
			for (size_t k = 0; k < n; k++)
				want += (double)p[k] * p[k];
			free(p);
		}
		ret = ret ? ret : wse_session_commit(&s, &r);
		for (uint32_t i = 0; i < s.table->n && !ret; i++)
			grads += wse_memx_grad_squares(s.memx)[i];
		ok(!ret && fabs(norm - sqrt(want)) < 1e-12 * norm && norm > 1.0 &&
			   sqrt(grads) == r.norm,
		   "step %d: norm of the parameters %.15g, by another sum %.15g; of gradients %.9g",
		   step + 1, norm, sqrt(want), r.norm);
	}
	wse_session_close(&s);
	ok(wse_norms_layer("transformer.h.12.mlp.c_fc.weight") == 12 &&
		   wse_norms_layer("model.layers.0.x.1.weight") == 0 &&
		   wse_norms_layer("transformer.ln_1.weight") == UINT32_MAX &&
		   wse_norms_layer("lm_head") == UINT32_MAX &&
		   wse_norms_layer("a.7") == UINT32_MAX &&
		   wse_norms_layer("a.99999999999.b") == UINT32_MAX,
	   "layers by names");
}

static void refused(const char *callbacks, const char *loggers, const char *says)
{
	struct wse_config c;
	int ret = read_with(callbacks, loggers, &c);

	ok(ret == -EINVAL && strstr(wse_error(), says), "%s", ret ? wse_error() : "it was taken");
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void files(void)
{
	struct wse_config c;
	uint32_t removed;
	char path[300];
	int fd = -1;

	ok(wse_crc32c("123456789", 9) == 0xe3069283u, "CRC-32C");
	ok(wse_tensorboard_open("/proc/nowhere/at/all", &fd) == -ENOENT && fd < 0,
	   "a folder that cannot be made");
	snprintf(path, sizeof(path), "%s/runs/of/today/", dir);
	ok(!wse_tensorboard_open(path, &fd) && fd >= 0 && has("runs/of/today"),
	   "one is made with those above it");
	if (fd >= 0)
		close(fd);
	/* as runs of one program are, and runs while the clock is put back */
	ok(!wse_tensorboard_open(path, &fd) && !close(fd) && entries(path) == 2,
	   "two runs of a second in one process have two files");
	ok(wse_tensorboard_add(1, 1, NULL, 9) == -EINVAL, "nine scalars");
	ok(wse_keep_checkpoints("/nowhere", 5, 1, &removed) == -ENOENT, "no folder of checkpoints");
	for (int i = 1; i <= 5; i++) {
		snprintf(path, sizeof(path), "%s/checkpoint_%d.safetensors%s", dir, i,
			 i == 2 ? ".part" : "");
		fclose(fopen(path, "w"));
	}
	ok(!wse_keep_checkpoints(dir, 4, 1, &removed) && removed == 2 &&
		   !has("checkpoint_1.safetensors") && !has("checkpoint_3.safetensors") &&
		   has("checkpoint_4.safetensors") && has("checkpoint_5.safetensors") &&
		   has("checkpoint_2.safetensors.part"),
	   "later ones and other files are not touched");
	for (int i = 1; i <= 3; i++) {
		snprintf(path, sizeof(path), "%s/checkpoint_%s.safetensors", dir,
			 i == 1	  ? "1"
			 : i == 2 ? "02"
				  : "3");
		ok(i == 1 ? !mkdir(path, 0777) : !fclose(fopen(path, "w")), "%s", path);
	}
	ok(wse_keep_checkpoints(dir, 4, 1, &removed) == -EISDIR && removed == 1 &&
		   !has("checkpoint_3.safetensors") && has("checkpoint_02.safetensors") &&
		   has("checkpoint_4.safetensors"),
	   "a directory of such a name keeps no other, and 02 is no run's");
	ok(!read_with("[LogOptimizerParamGroup: {keys: [lr]}]", "[]", &c) && !c.log_norms,
	   "the learning rate");
	ok(!read_with("[CountParams]", "[TensorBoardLogger: {summary_dir: /tmp/x}]", &c) &&
		   c.count_params && !c.log_flops && !c.keep_checkpoints &&
		   !strcmp(c.tensorboard, "/tmp/x"),
	   "a name alone, and a folder");
}

int main(void)
{
	char rm[100];

	if (!mkdtemp(dir))
		return 1;
	files();
	snprintf(rm, sizeof(rm), "rm -r %s/*", dir);
	if (system(rm))
		return 1;
	norms();
	whole_run();
	refused("[KeepNCheckpoints: {}]", "[]", "lacks the key \"n\"");
	refused("[KeepNCheckpoints]", "[]", "give KeepNCheckpoints: {n: 3}");
	refused("[KeepNCheckpoints: {n: 0}]", "[]", "line 11");
	refused("[KeepNCheckpoints: {n: 1, m: 2}]", "[]", "KeepNCheckpoints.m is unknown");
	refused("[DumpActivations: {}]", "[]",
		"line 11: trainer.init.callbacks.0 is the callback DumpActivations, which is not "
		"available: remove it; there are ComputeNorm, CheckLoss");
	refused("[LogOptimizerParamGroup: {keys: betas}]", "[]", "accepted: lr");
	refused("[LogOptimizerParamGroup: {}]", "[]", "lacks the key \"keys\"");
	refused("{a: 1}", "[]", "must be a list");
	refused("[]", "[WandbLogger: {}]", "there are ProgressLogger, TensorBoardLogger");
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	return system(rm) ? 1 : tap_end();
}
