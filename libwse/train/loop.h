/* SPDX-License-Identifier: MIT */
/*
 * A whole run: train, evaluate, checkpoint, draw, sample. Everything it has to say goes through
 * callbacks; it never prints and never ends the process.
 */
#ifndef WSE_TRAIN_LOOP_H
#define WSE_TRAIN_LOOP_H

#include "exec/exec.h"
#include "input/config.h"
#include "train/session.h"

struct wse_run_ops {
	wse_log_fn line;	/* one line of text */
	/* after a step; may be NULL */
	void (*progress)(void *ctx, const struct wse_progress *p);
	int (*stop)(void *ctx);	/* asked between steps; not 0: checkpoint and end. May be NULL */
	void *ctx;
	/* what the lines say, for programs; may be NULL */
	void (*event)(void *ctx, const struct wse_event *e);
	void *line_ctx;		/* of line; ctx is of the others */
};

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
	const char *wave;	/* window of waves without its step; NULL: none */
	/* the step it is of, which is replayed on wave_uri; WSE_WAVE_FAULT: one that fails */
	uint64_t wave_step;
	const char *wave_uri;
	uint64_t check_from, check_to;	/* WSE_MODE_CHECK: see check.h */
	const char *check_weights;	/* likewise; may be NULL */
	int chart; /* the loss curve to the log, too */
	struct wse_hosts *hosts; /* of wse_run() over several ranks, its own from then on */
};

/*
 * A run on an open session; run->uris is not used, run->cfg is the session's. 0 also when stopped.
 * On error the sentence says what was kept, too.
 */
int wse_run_session(struct wse_session *s, const struct wse_run *run, const struct wse_run_ops *ops,
		    struct wse_run_result *res);

/* the same with a session of its own */
int wse_run(const struct wse_run *run, const struct wse_run_ops *ops, struct wse_run_result *res);

#endif
