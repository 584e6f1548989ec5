/* SPDX-License-Identifier: MIT */
/* A whole run of a small model on oracle devices, in a folder below `dir`. */
#ifndef TEST_WHOLE_RUN_H
#define TEST_WHOLE_RUN_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swarmx/hosts.h"
#include "base/error.h"
#include "train/loop.h"
#include "train/memory.h"
#include "train/session.h"
#include "own_dir.h"

static const char yaml[] =
"trainer:\n"
"  init:\n"
"    model: {name: mlp, window: 8, embedding_size: 8, hidden_sizes: [64, 32], nonlinearity: gelu_new}\n"
"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.01}}\n"
"    schedulers: [{CosineDecayLR: {initial_learning_rate: 5.0e-3, end_learning_rate: 1.0e-3,"
" total_iters: 100}}]\n"
"    precision: {max_gradient_norm: 1.0}\n"
"    loop: {max_steps: 20, eval_frequency: 0}\n"
"    checkpoint: {steps: 5}\n"
"    logging: {log_steps: 5}\n"
"    sampling: {bytes: 0}\n"
"  fit:\n"
"    train_dataloader: {batch_size: 96, micro_batch_size: 16, data_dir: TEXT}\n"
"    val_dataloader: {held_out_bytes: 1000}\n";

struct watch {
	int no_eval, eval_only;
	uint64_t kill_at, stop_at, step;
	char last[600];		/* the last train line */
	char said[600];		/* the last line with `listen` in it */
	const char *listen;
	int repeated;
	const char *from;	/* a checkpoint by name */
	uint64_t verify;	/* a step to replay, and where; default 3 */
	const char *verify_uri;
	const char *check;	/* a checkpoint whose run is checked, steps */
	uint64_t check_from, check_to;
	struct wse_link *link;	/* to other ranks */
	const char *check_weights;
	int (*stop)(void *ctx);	/* asked between steps; NULL: stop_at decides */
	uint32_t files, ranks;	/* an enum wse_memory_files: what the limit has lie in files */
};

/* the lowest memory_limit with which that is so, of a rank of so many */
static int limit_for(struct wse_config *cfg, const char *const *uris, uint32_t n,
		     enum wse_memory_files files, uint32_t ranks)
{
	struct wse_memory m;
	struct wse_session s;
	int ret = wse_session_open(&s, cfg, uris, n, NULL);

	if (ret)
		return ret;
	ret = wse_memory_of(cfg, &s.plan, uris[0], n, ranks, &m);
	wse_session_close(&s);
	cfg->memory_limit = wse_memory_sum(&m, files);
	if (!ret && wse_memory_file(&m, cfg->memory_limit) != (int)files)
		ret = wse_fail(-EINVAL, "the limit does not ask for that");
	return ret;
}

static void line(void *ctx, enum wse_log_level level, const char *text)
{
	struct watch *w = ctx;

	(void)level;
	if (!strncmp(text, "| Train", 7))
		snprintf(w->last, sizeof(w->last), "%s", text);
	if (w->listen && strstr(text, w->listen))
		snprintf(w->said, sizeof(w->said), "%s", text);
	w->repeated |= strstr(text, "is repeated") != NULL;
}

static void progress(void *ctx, const struct wse_progress *p)
{
	struct watch *w = ctx;

	w->step = p->step;
	if (w->kill_at && p->step == w->kill_at)
		raise(SIGKILL);
}

static int stop(void *ctx)
{
	struct watch *w = ctx;

	if (w->stop)
		return w->stop(w);
	return w->stop_at && w->step == w->stop_at;
}

static const char *const four[] = { "oracle:rows=2,cols=4", "oracle:rows=2,cols=4",
				    "oracle:rows=2,cols=4", "oracle:rows=2,cols=4" };

/* a run with the devices and settings given; name is its folder below dir */
static int go(const char *name, const char *const *uris, uint32_t n, const char *const *sets,
	      uint32_t nsets, int resume, struct watch *w, struct wse_run_result *res)
{
	struct wse_run_ops ops = { line, progress, stop, w, NULL, w };
	struct wse_run run = { .mode = w->eval_only ? WSE_MODE_EVAL : w->no_eval ? WSE_MODE_TRAIN :
			       WSE_MODE_TRAIN_AND_EVAL, .uris = uris, .nuris = n,
			       .checkpoint = w->from ? w->from : resume ? "auto" : NULL,
			       .verify_uri = w->verify_uri ? w->verify_uri : four[0] };
	int ret;

	if (w->check) {
		run.mode = WSE_MODE_CHECK;
		run.checkpoint = w->check;
		run.check_from = w->check_from;
		run.check_to = w->check_to;
		run.check_weights = w->check_weights;
	}
	ret = wse_config_parse("test", yaml, strlen(yaml), sets, nsets, &run.cfg);

	if (ret)
		return ret;
	if (!strcmp(run.cfg.data, "TEXT"))
		snprintf(run.cfg.data, sizeof(run.cfg.data), "%s/text", dir);
	snprintf(run.cfg.model_dir, sizeof(run.cfg.model_dir), "%s/%s", dir, name);
	run.verify[0] = w->verify ? w->verify : 3;
	run.nverify =
		!w->check && (w->verify || (!resume && !w->link && run.cfg.max_steps >= 3));
	if (w->files)
		ret = limit_for(&run.cfg, uris, n, (enum wse_memory_files)w->files, w->ranks);
	if (w->link && !ret)
		ret = wse_hosts_open(w->link, &run.hosts);
	return ret ? ret : wse_run(&run, &ops, res);
}

/* dir/text; 1, after a line for the reader of TAP, where there is none; -1 without a dir */
static int make_text(void)
{
	char cmd[200];

	if (!mkdtemp(dir))
		return -1;
	snprintf(cmd, sizeof(cmd), "cat /usr/share/common-licenses/GPL-3 "
		 "/usr/share/common-licenses/LGPL-2.1 > %s/text", dir);
	if (!system(cmd))
		return 0;
	printf("1..0 # SKIP no text: /usr/share/common-licenses is missing\n");
	return 1;
}

#endif
