// SPDX-License-Identifier: MIT
/* Proof of a run by replay. */
#include "train/check.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "num/decimal.h"
#include "output/metrics.h"
#include "train/model_dir.h"
#include "train/ranks.h"

/* what the run says of a step */
struct claim {
	char hash[WSE_CHAIN];
	double loss, lr, norm;
};

struct check {
	struct wse_session *s;
	const struct wse_run *run;
	const struct wse_run_ops *ops;
	struct wse_exec_cfg log;
	uint64_t from, to;
	struct wse_train_state file; /* what the checkpoint says, which is of this step: */
	uint64_t step;
	uint64_t start; /* the step after which the chain begins, its hash then: */
	char first[WSE_CHAIN];
	struct claim *claims; /* of from + 1 ..., n of them */
	uint64_t n, room;
	int no_metrics;
	char at_from[WSE_CHAIN]; /* the hash of step `from`, "" if unknown */
	/* while metrics.csv is read: the row before, and which steps had a hash */
	uint64_t last, low, high;
	char prev[WSE_CHAIN];
	char dir[WSE_PATH + 64], path[WSE_PATH + 128];
};

/* ---- the checkpoint ---- */

static int look(struct check *c)
{
	struct wse_memx_cfg mc = wse_session_memx_cfg(&c->s->cfg);
	struct wse_train_state begin;
	unsigned long long start = 0;
	char *slash;
	int ret;

	snprintf(c->dir, sizeof(c->dir), "%s", c->run->checkpoint);
	slash = strrchr(c->dir, '/');
	if (slash)
		slash[slash == c->dir] = 0; /* of "/file": "/" */
	else
		snprintf(c->dir, sizeof(c->dir), ".");
	c->file = c->s->state;
	ret = wse_ckpt_look(c->run->checkpoint, c->s->memx, &mc, &c->file, &c->step);
	if (ret)
		return wse_fail_in(ret, "checkpoint %.200s: ", c->run->checkpoint);
	sscanf(c->file.start, "step %llu of", &start);
	c->start = start;
	begin = c->s->state;
	wse_ckpt_start(&mc, &begin, c->file.start);
	memcpy(c->first, begin.chain, sizeof(c->first));
	return 0;
}

/* ---- the chain ---- */

static int keep(struct check *c, const struct wse_metric *m)
{
	if (c->n == c->room) {
		uint64_t room = 2 * c->room + 64;
		struct claim *p = realloc(c->claims, room * sizeof(*p));

		if (!p)
			return wse_fail(-ENOMEM, "no memory for the chain");
		c->claims = p;
		c->room = room;
	}
	c->claims[c->n].loss = m->loss;
	c->claims[c->n].lr = m->lr;
	c->claims[c->n].norm = m->norm;
	memcpy(c->claims[c->n++].hash, m->chain, WSE_CHAIN);
	return 0;
}

/* does the hash of a row follow from the row and the hash before it? */
static int check_link(struct check *c, const struct wse_metric *m)
{
	struct wse_chain_step step = {m->step, m->loss, m->lr, m->norm, NULL};
	char batch[WSE_CHAIN_BATCH], hash[WSE_CHAIN];

	if (m->step == c->start + 1)
		memcpy(hash, c->first, sizeof(hash));
	else if (m->step == c->last + 1 && c->prev[0])
		memcpy(hash, c->prev, sizeof(hash));
	else
		return 0; /* rows before it are missing: a disk was full, or it began elsewhere */
	wse_session_batch(c->s, m->step, batch);
	step.batch = batch;
	wse_chain_add(hash, &step);
	return strcmp(hash, m->chain)
		       ? wse_fail(-EILSEQ,
				  "%.300s: the hash of step %" PRIu64 " is not that of its row and "
				  "of the step before: the chain was edited there",
				  c->path, m->step)
		       : 0;
}

static int row(void *ctx, const struct wse_metric *m)
{
	struct check *c = ctx;
	int ret;

	if (m->held_out)
		return 0;
	if (m->step <= c->last)
		return wse_fail(-EILSEQ,
				"%.300s: step %" PRIu64 " comes after step %" PRIu64
				": the chain was edited there",
				c->path, m->step, c->last);
	if (!m->chain) {
		c->last = m->step;
		c->prev[0] = 0;
		return 0;
	}
	if (!wse_chain_is_hash(m->chain))
		return wse_fail(-EILSEQ,
				"%.300s: step %" PRIu64 " has \"%.64s\" for a hash: the chain was "
				"edited there",
				c->path, m->step, m->chain);
	ret = check_link(c, m);
	if (!ret && m->step == c->step && strcmp(m->chain, c->file.chain))
		ret = wse_fail(-EILSEQ,
			       "%.300s: the hash of step %" PRIu64 " is not the one in the "
			       "checkpoint: one of them was edited, or they are of two runs",
			       c->path, m->step);
	if (m->step == c->from)
		memcpy(c->at_from, m->chain, sizeof(c->at_from));
	if (!ret && m->step > c->from && m->step <= c->to && m->step == c->from + c->n + 1)
		ret = keep(c, m);
	c->low = c->low ? c->low : m->step;
	c->high = c->last = m->step;
	memcpy(c->prev, m->chain, sizeof(c->prev));
	return ret;
}

/* what the run says of the steps in question */
static int read_chain(struct check *c)
{
	unsigned int before = wse_failures();
	int ret;

	snprintf(c->path, sizeof(c->path), "%s/metrics.csv", c->dir);
	ret = wse_metrics_read(c->path, row, c);
	if (ret == -ENOENT && c->step == c->to && c->start != c->step) {
		c->no_metrics = 1; /* the end alone is known */
		return 0;
	}
	if (ret == -ENOENT)
		return wse_fail(
			-ENODATA,
			"%.300s is not there, and the checkpoint has no hash of step %" PRIu64,
			c->path, c->to);
	if (ret)
		return wse_fail_since(before, ret, "%.300s: %s", c->path, strerror(-ret));
	if (c->n == c->to - c->from)
		return 0;
	if (!c->high)
		return wse_fail(-ENODATA, "%.300s has no hashes: it is of an earlier release",
				c->path);
	return wse_fail(-ENODATA,
			"%.300s has the hashes of steps %" PRIu64 " to %" PRIu64
			", and none of step %" PRIu64,
			c->path, c->low, c->high, c->from + c->n + 1);
}

/* ---- the replay ---- */

/* the steps of which checkpoints lie in the folder, the last one first; text [size] */
static void list_checkpoints(const struct check *c, char *text, size_t size)
{
	unsigned long long step = ULLONG_MAX;
	char path[WSE_MODEL_DIR_PATH];
	size_t n = 0;

	snprintf(text, size, "none");
	for (;;) {
		wse_model_dir_last(c->dir, step, path);
		if (!path[0] || n + 24 >= size)
			break;
		sscanf(strrchr(path, '/') + 1, "checkpoint_%llu", &step);
		n += (size_t)snprintf(text + n, size - n, "%s%llu", n ? ", " : "", step);
	}
}

/* path of the run's checkpoint of a step; is it there? */
static int find(struct check *c, uint64_t step)
{
	if (step == c->step)
		snprintf(c->path, sizeof(c->path), "%s", c->run->checkpoint);
	else
		snprintf(c->path, sizeof(c->path), "%s/checkpoint_%" PRIu64 ".safetensors", c->dir,
			 step);
	return !access(c->path, F_OK);
}

static int load(struct check *c, const char *path, enum wse_ckpt_load what)
{
	int ret = wse_session_load(c->s, path, what);

	return !ret && c->s->ranks ? wse_ranks_load(c->s, path, what) : ret;
}

static int begin_at_0(struct check *c)
{
	const struct wse_train_state *here = &c->s->state;
	const char *weights = c->run->check_weights;
	int ret = weights ? load(c, weights, WSE_CKPT_MODEL) : 0;

	if (ret || !strcmp(c->file.start, here->start))
		return ret;
	if (weights)
		return wse_fail(-EINVAL, "the run began with %s, %.200s has the %s", c->file.start,
				weights, here->start);
	if (!strncmp(c->file.start, "seed ", 5))
		return wse_fail(-EINVAL, "the run began with %s, the parameters say %s",
				c->file.start, here->start);
	return wse_fail(-EINVAL,
			"the run began with %s: give this file with --checkpoint_path, or check "
			"from a later checkpoint of the run on",
			c->file.start);
}

static int begin(struct check *c)
{
	char steps[200];
	int ret;

	if (!c->from)
		return begin_at_0(c);
	if (!find(c, c->from)) {
		list_checkpoints(c, steps, sizeof(steps));
		return wse_fail(-ENODATA,
				"%.300s is not there, from which the steps would be made again: "
				"there are checkpoints of %s",
				c->path, steps);
	}
	ret = load(c, c->path, WSE_CKPT_ALL);
	if (ret)
		return ret;
	if (wse_session_step(c->s) != c->from)
		return wse_fail(-EILSEQ, "%.300s is of step %" PRIu64, c->path,
				wse_session_step(c->s));
	if (c->at_from[0] && strcmp(c->at_from, c->s->state.chain))
		return wse_fail(-EILSEQ,
				"%.300s: its hash is not that of step %" PRIu64
				" in metrics.csv: one of them was edited, or they are of two runs",
				c->path, c->from);
	return 0;
}

static int differs(const struct check *c, const struct claim *claim,
		   const struct wse_step_result *r)
{
	char there[3][32], here[3][32];

	return wse_fail(-EILSEQ,
			"step %" PRIu64 " is not what the run says: loss %s there, %s here; "
			"gradient norm %s, %s; rate %s, %s; made from %.200s",
			wse_session_step(c->s), wse_f64_text(claim->loss, there[0]),
			wse_f64_text(r->loss, here[0]), wse_f64_text(claim->norm, there[1]),
			wse_f64_text(r->norm, here[1]), wse_f64_text(claim->lr, there[2]),
			wse_f64_text(r->lr, here[2]), c->from ? c->path : "the seed");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int replay(struct check *c)
{
	const double first = now(), batch = (double)c->s->cfg.batch;
	struct wse_step_result r;
	int ret = 0;

	for (uint64_t i = 0; c->from + i < c->to && !ret; i++) {
		struct wse_progress p = {c->from + i + 1, c->to, 0, 0, 0};

		if (c->ops->stop && c->ops->stop(c->ops->ctx))
			return wse_fail(-EINTR,
					"stopped after step %" PRIu64 ", up to which all is what "
					"the run says",
					c->from + i);
		ret = wse_session_compute(c->s, &r);
		ret = ret ? ret : wse_session_commit(c->s, &r);
		if (!ret && !c->no_metrics && strcmp(c->s->state.chain, c->claims[i].hash))
			ret = differs(c, &c->claims[i], &r);
		p.loss = r.loss;
		p.rate = batch * (double)(i + 1) / (now() - first + 1e-9);
		p.eta = (double)(p.max_steps - p.step) * batch / (p.rate + 1e-9);
		if (!ret && c->ops->progress)
			c->ops->progress(c->ops->ctx, &p);
	}
	return ret;
}

static int compare(void *ctx)
{
	struct check *c = ctx;
	struct wse_memx_cfg mc = wse_session_memx_cfg(&c->s->cfg);

	return wse_ckpt_compare(c->path, c->s->memx, &mc, &c->s->state);
}

/* the checkpoint of the last step, if there is one; *compared: it is bit for bit what was made */
static int compare_end(struct check *c, int *compared)
{
	int ret;

	*compared = 0;
	if (c->step == c->to && strcmp(c->file.chain, c->s->state.chain))
		return wse_fail(-EILSEQ,
				"step %" PRIu64 " has another hash in %.200s than here: one of the "
				"steps from %" PRIu64 " on is not what the run says",
				c->to, c->run->checkpoint, c->from + 1);
	if (!find(c, c->to))
		return 0;
	ret = wse_ranks_read_first(c->s, compare, c);
	*compared = !ret;
	if (ret == -EILSEQ)
		return wse_fail_in(ret,
				   "steps %" PRIu64 " to %" PRIu64 " are what the run says, but "
				   "%.200s is not what they make: ",
				   c->from + 1, c->to, c->path);
	return ret ? wse_fail_in(ret, "checkpoint %.200s: ", c->path) : 0;
}

int wse_check_run(struct wse_session *s, const struct wse_run *run, const struct wse_run_ops *ops)
{
	struct check *c = calloc(1, sizeof(*c));
	int ret, compared = 0;

	if (!c)
		return wse_fail(-ENOMEM, "no memory");
	c->s = s;
	c->run = run;
	c->ops = ops;
	c->log = (struct wse_exec_cfg){ops->line, ops->line_ctx};
	c->from = run->check_from;
	c->to = run->check_to;
	if (!run->checkpoint || c->from >= c->to)
		ret = wse_fail(-EINVAL,
			       "a check needs a checkpoint of the run, and steps A..B with A < B");
	else
		ret = look(c);
	ret = ret ? ret : read_chain(c);
	ret = ret ? ret : begin(c);
	if (!ret)
		wse_logf(&c->log, WSE_LOG_INFO,
			 "| Replaying steps %" PRIu64 " to %" PRIu64 " of %.300s", c->from + 1,
			 c->to, c->dir);
	ret = ret ? ret : replay(c);
	ret = ret ? ret : compare_end(c, &compared);
	if (!ret)
		wse_logf(&c->log, WSE_LOG_INFO,
			 "| Steps %" PRIu64 " to %" PRIu64 " are what the run says: loss, gradient "
			 "norm, rate and batch of each%s%.300s",
			 c->from + 1, c->to, compared ? ", every weight and moment of " : "",
			 compared ? c->path : "");
	free(c->claims);
	free(c);
	return ret;
}
