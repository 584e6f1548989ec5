/* SPDX-License-Identifier: MIT */
/*
 * A whole run: train, evaluate, checkpoint, draw, sample. Everything it has to say goes through
 * callbacks; it never prints and never ends the process.
 */
#ifndef WSE_TRAIN_LOOP_H
#define WSE_TRAIN_LOOP_H

#include "input/config.h"
#include "exec/exec.h"
#include "output/event.h"

enum wse_mode { WSE_MODE_TRAIN, WSE_MODE_EVAL, WSE_MODE_TRAIN_AND_EVAL, WSE_MODE_GENERATE };

struct wse_progress {
	uint64_t step, max_steps;
	double loss;
	double rate;		/* samples a second */
	double eta;		/* seconds */
};

struct wse_run_ops {
	wse_log_fn line;				/* one line of text */
	/* after a step; may be NULL */
	void (*progress)(void *ctx, const struct wse_progress *p);
	int (*stop)(void *ctx);	/* asked between steps; not 0: checkpoint and end. May be NULL */
	void *ctx;
	/* what the lines say, for programs; may be NULL */
	void (*event)(void *ctx, const struct wse_event *e);
};

#define WSE_VERIFY_MAX 16

struct wse_run {
	enum wse_mode mode;
	struct wse_config cfg;
	const char *const *uris;
	uint32_t nuris;
	const char *checkpoint;		/* to start from; NULL: none; "auto": the last one in
					 * model_dir, if any. A run that does not go on from the
					 * last one there refuses a model_dir that has some */
	uint64_t verify[WSE_VERIFY_MAX];	/* steps (1...) to replay; all must be run */
	uint32_t nverify;
	const char *verify_uri;
};

struct wse_run_result {
	uint64_t steps;			/* committed in all */
	double loss;			/* of the last step */
	int evaluated;
	double held_out;		/* of the last evaluation, if evaluated */
	double unigram, bigram;		/* entropies of the text, nats */
	char checkpoint[WSE_PATH + 64];	/* the last one written or read, "" if none */
	char hash[65];			/* of that checkpoint */
	int stopped;			/* by ops->stop */
};

/* 0 also when stopped. On error why [WSE_WHY] says why, and what was kept */
int wse_run(const struct wse_run *run, const struct wse_run_ops *ops, struct wse_run_result *res,
	    char *why);

#endif
