// SPDX-License-Identifier: MIT
/* The run: when to step, evaluate, checkpoint and report. */
#include "loop.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "export.h"
#include "input/hf_config.h"
#include "memx/safetensors.h"
#include "output/metrics.h"
#include "output/tensorboard.h"
#include "live.h"
#include "model_dir.h"
#include "norms.h"
#include "plan_sparse.h"
#include "ranks.h"
#include "samples.h"
#include "session.h"
#include "verify.h"

struct loop {
	const struct wse_run *run;
	const struct wse_run_ops *ops;
	struct wse_run_result *res;
	struct wse_exec_cfg log;
	struct wse_session *s;
	struct wse_metrics metrics;
	int board;	       /* TensorBoard's file, -1: none */
	int lock;	       /* of model_dir, -1: none */
	double begin;	       /* seconds */
	uint64_t first;	       /* step at which this process began */
	uint64_t line_step;    /* of the last log line */
	double line_seconds;   /* that its steps took, evaluations and checkpoints not counted */
	double line_exposed;   /* in which devices waited for the end of the step before */
	uint64_t line_gaps;    /* of so many of the steps */
	struct wse_event last; /* of the last step */
	double params;	       /* ComputeNorm: of the parameters that it began with */
	uint64_t saved;	       /* step of the last checkpoint, UINT64_MAX if none */
	uint64_t due;	       /* step whose checkpoint waits for proof, likewise */
	int saved_before;      /* in the last step, before its commit */
	char path[WSE_PATH + 64];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(const struct loop *l)
{
	return l->metrics.seconds + now() - l->begin;
}

static void tell(struct loop *l, struct wse_event e)
{
	e.seconds = seconds(l);
	e.devices = wse_session_devices(l->s);
	if (l->ops->event)
		l->ops->event(l->ops->ctx, &e);
}

static const char *in_dir(struct loop *l, const char *name)
{
	snprintf(l->path, sizeof(l->path), "%s/%s", l->run->cfg.model_dir, name);
	return l->path;
}

static int load(struct loop *l, enum wse_ckpt_load what)
{
	int ret;

	wse_logf(&l->log, WSE_LOG_INFO, "| Loading checkpoint %s", l->res->checkpoint);
	ret = wse_session_load(l->s, l->res->checkpoint, what);
	return !ret && l->s->ranks ? wse_ranks_load(l->s, l->res->checkpoint, what) : ret;
}

/* the run's, or the file's of its mode; NULL: none is named */
static const char *start_from(const struct loop *l)
{
	const char *file = l->run->mode == WSE_MODE_GENERATE ? "" : l->run->cfg.ckpt;

	return l->run->checkpoint ? l->run->checkpoint : *file ? file : NULL;
}

static int resume(struct loop *l, enum wse_ckpt_load what)
{
	const char *from = start_from(l);
	int named = from && strcmp(from, "auto"), ret;

	if (named)
		snprintf(l->res->checkpoint, sizeof(l->res->checkpoint), "%.*s",
			 (int)sizeof(l->res->checkpoint) - 1, from);
	else if (from || what == WSE_CKPT_EVAL)
		wse_model_dir_last(l->run->cfg.model_dir, ULLONG_MAX, l->res->checkpoint);
	if (!l->res->checkpoint[0])
		return what == WSE_CKPT_EVAL ? wse_fail(-ENOENT,
							"no checkpoint in "
							"%.200s: give --checkpoint_path",
							l->run->cfg.model_dir)
					     : 0;
	ret = load(l, what);
	return ret == -EBADMSG && !named
		       ? wse_model_dir_damaged(l->run->cfg.model_dir, l->res->checkpoint, ret)
		       : ret;
}

#define PROGRESS_EVERY 5.0 /* seconds between two lines about a slow checkpoint */

struct saving {
	struct loop *l;
	const char *name;
	double begin, said;
};

/* a slow disk: how far it is, every few seconds */
static void wrote(void *ctx, uint64_t done, uint64_t total)
{
	struct saving *s = ctx;
	double t = now(), rate = (double)done / (t - s->begin);

	if (t - s->said < PROGRESS_EVERY || done == total)
		return;
	s->said = t;
	wse_logf(&s->l->log, WSE_LOG_INFO, "| Writing %s: %.0f of %.0f MB, %.1f MB/s, %.0f s left",
		 s->name, (double)done * 1e-6, (double)total * 1e-6, rate * 1e-6,
		 (double)(total - done) / rate);
}

/* a slow wafer: the file waits for the forward that proves it */
static int whole(void *ctx)
{
	const struct saving *s = ctx;

	if (now() - s->said >= PROGRESS_EVERY || s->said > s->begin)
		wse_logf(&s->l->log, WSE_LOG_INFO,
			 "| %s is written: a forward of the next step is to prove it", s->name);
	return 0;
}

typedef int (*save_fn)(struct wse_session *s, const char *path,
		       const struct wse_st_progress *progress);

static int save(struct loop *l, save_fn how)
{
	uint64_t step = wse_session_step(l->s);
	char name[64];
	struct saving s = {.l = l, .name = name, .begin = now()};
	const struct wse_st_progress progress = {wrote, &s,
						 how == wse_session_save_probed ? whole : NULL};
	int ret;

	if (l->saved == step)
		return 0;
	snprintf(name, sizeof(name), "checkpoint_%" PRIu64 ".safetensors", step);
	s.said = s.begin;
	ret = how(l->s, in_dir(l, name), &progress);
	if (ret)
		return ret;
	l->saved = step;
	memcpy(l->res->checkpoint, l->path, sizeof(l->path));
	ret = wse_hf_config_write(l->run->cfg.model_dir, &l->s->cfg.model);
	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "no config.json: %s", strerror(-ret));
	wse_logf(&l->log, WSE_LOG_INFO, "| Saved checkpoint %s", l->path);
	wse_model_dir_keep(l->run->cfg.model_dir, step, l->run->cfg.keep_checkpoints, &l->log);
	tell(l, (struct wse_event){.kind = WSE_EVENT_CHECKPOINT, .step = step, .text = l->path});
	return 0;
}

/*
 * A checkpoint is written when it is known that training can go on from it. That of a step in the
 * middle waits for losses and gradients of the next step, which are the proof, and is written
 * before they are committed. -ERANGE only: a disk that is full now may have room later.
 */
static int save_due(struct loop *l)
{
	struct wse_failure before;
	int ret;

	if (l->due != wse_session_step(l->s))
		return 0;
	l->due = UINT64_MAX;
	wse_failure_keep(&before, 0);
	ret = wse_session_check_grads(l->s);
	ret = ret ? ret : save(l, wse_session_save);
	if (!ret || ret == -ERANGE)
		return ret;
	wse_logf(&l->log, WSE_LOG_ERROR, "%s", wse_error());
	return wse_failure_undo(&before);
}

/* the last one: no next step will prove it, so a forward of it is done for that alone */
static int save_last(struct loop *l)
{
	return save(l, wse_session_save_probed);
}

/* the weights of the end, for transformers */
static int export(struct loop *l)
{
	uint32_t files;
	int ret;

	if (!l->run->cfg.max_shard)
		return 0;
	ret = wse_session_export(l->s, in_dir(l, "model"), l->run->cfg.max_shard, &files);
	if (!ret)
		wse_logf(&l->log, WSE_LOG_INFO, "| Exported %s: %u file%s", l->path, files,
			 files == 1 ? "" : "s");
	return ret;
}

/* no reason to stop a run for */
static void record(struct loop *l, const struct wse_metric *m)
{
	int ret = wse_metrics_add(&l->metrics, m);

	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "metrics.csv ends here: %s", strerror(-ret));
}

/* likewise */
static void board(struct loop *l, uint64_t step, const struct wse_scalar *s, uint32_t n)
{
	int ret = l->board < 0 ? 0 : wse_tensorboard_add(l->board, step, s, n);

	if (!ret)
		return;
	wse_logf(&l->log, WSE_LOG_WARN, "TensorBoard's events end here: %s", strerror(-ret));
	close(l->board);
	l->board = -1;
}

static int evaluate_set(struct loop *l, uint32_t set)
{
	struct wse_metric m = {.step = wse_session_step(l->s), .held_out = 1};
	const char *name = l->run->cfg.val[set].name;
	char tag[20 + WSE_VAL_NAME];
	uint64_t samples;
	int ret = wse_session_eval(l->s, set, l->run->cfg.eval_steps, &m.loss, &samples);

	if (ret)
		return ret;
	m.seconds = seconds(l);
	_Static_assert(sizeof(m.set) == WSE_VAL_NAME, "a name of a set");
	memcpy(m.set, name, sizeof(m.set));
	if (!set) {
		l->res->evaluated = 1;
		l->res->held_out = m.loss;
	}
	wse_logf(&l->log, WSE_LOG_INFO,
		 "| Eval Device=WSE x%u, GlobalStep=%" PRIu64 "%s%s, Loss=%.5f, Samples=%" PRIu64
		 " held-out",
		 wse_session_devices(l->s), m.step, *name ? ", Set=" : "", name, m.loss, samples);
	tell(l, (struct wse_event){.kind = WSE_EVENT_EVAL,
				   .step = m.step,
				   .loss = m.loss,
				   .samples = samples,
				   .text = *name ? name : NULL});
	record(l, &m);
	snprintf(tag, sizeof(tag), "eval/%s%sloss", name, *name ? "/" : "");
	board(l, m.step, &(struct wse_scalar){tag, m.loss}, 1);
	return 0;
}

/* on each held-out set */
static int evaluate(struct loop *l)
{
	int ret = 0;

	for (uint32_t i = 0; i < l->run->cfg.nval && !ret; i++)
		ret = evaluate_set(l, i);
	return ret;
}

/* each checkpoint on each held-out set; the result is that of the last one */
static int evaluate_all(struct loop *l)
{
	const char *from = l->run->checkpoint ? l->run->checkpoint : l->run->cfg.ckpt;
	char **paths = NULL;
	uint32_t n = 0;
	int ret = wse_model_dir_find(l->run->cfg.model_dir, strcmp(from, "auto") ? from : "",
				     &paths, &n);

	for (uint32_t i = 0; i < n && !ret; i++) {
		snprintf(l->res->checkpoint, sizeof(l->res->checkpoint), "%s", paths[i]);
		ret = load(l, WSE_CKPT_EVAL);
		ret = ret ? ret : evaluate(l);
		if (!ret && i + 1 < n && l->ops->stop && l->ops->stop(l->ops->ctx)) {
			l->res->stopped = 1;
			break;
		}
	}
	wse_model_dir_free(paths, n);
	return ret;
}

/* samples of all held-out sets */
static uint64_t held_samples(const struct loop *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->run->cfg.nval; i++)
		n += l->s->data.val[i].samples;
	return n;
}

static int is_asked(const struct loop *l, uint64_t step)
{
	for (uint32_t i = 0; i < l->run->nverify; i++)
		if (l->run->verify[i] == step)
			return 1;
	return l->run->wave && step == l->run->wave_step;
}

static int replay(struct loop *l, uint64_t step)
{
	const char *wave = l->run->wave && step == l->run->wave_step ? l->run->wave : NULL;
	const char *uri = wave ? l->run->wave_uri : l->run->verify_uri;
	int ret;

	wse_logf(&l->log, WSE_LOG_INFO, "| Replaying step %" PRIu64 " on %s", step, uri);
	ret = wse_verify_wave(l->s, uri, wave);
	if (!ret && wave)
		wse_logf(&l->log, WSE_LOG_INFO, "| Waves of step %" PRIu64 ": %s", step, wave);
	if (!ret)
		wse_logf(&l->log, WSE_LOG_INFO,
			 "| Step %" PRIu64 ": all losses and gradients are the same bits", step);
	return ret;
}

/*
 * What of the exchange of ranks is not hidden behind the devices' work: gradients of the last
 * layers, norm, the first images. A checkpoint or a replay in the gap is not counted.
 */
static void note_gap(struct loop *l, int saved)
{
	double gap = wse_swarm_gap(l->s->swarm);

	if (!l->s->ranks)
		return;
	if (gap > 0.0 && !l->saved_before) {
		l->line_exposed += gap;
		l->line_gaps++;
	}
	l->saved_before = saved;
}

/* "" unless there are several ranks and steps behind each other */
static const char *exposed(const struct loop *l, double step, char *text, size_t size)
{
	double gap = l->line_gaps ? l->line_exposed / (double)l->line_gaps : 0.0;

	text[0] = 0;
	if (l->line_gaps)
		snprintf(text, size, ", Exposed=%.2f ms/step (%.1f %%)", 1e3 * gap,
			 100.0 * gap / step);
	return text;
}

/* does a step have a line of progress? */
static int has_line(const struct loop *l, uint64_t step)
{
	return step % l->run->cfg.log_steps == 0 || step == l->run->cfg.max_steps;
}

static void board_one(void *ctx, const struct wse_scalar *s)
{
	struct loop *l = ctx;

	board(l, wse_session_step(l->s), s, 1);
}

static int one_step(struct loop *l)
{
	uint64_t step = wse_session_step(l->s) + 1;
	struct wse_step_result r;
	struct wse_metric m;
	double t0 = now(), took;
	int ret = wse_session_compute(l->s, &r), saved;

	took = now() - t0;
	if (!ret && is_asked(l, step))
		ret = replay(l, step);
	if (!ret && l->run->cfg.log_norms && has_line(l, step))
		ret = wse_session_param_norm(l->s, &l->params);
	saved = l->due == wse_session_step(l->s) || is_asked(l, step);
	ret = ret ? ret : save_due(l);
	t0 = now();
	ret = ret ? ret : wse_session_commit(l->s, &r);
	if (ret)
		return ret;
	took += now() - t0;
	l->line_seconds += took;
	note_gap(l, saved);
	l->res->loss = r.loss;
	m = (struct wse_metric){.step = step,
				.loss = r.loss,
				.lr = r.lr,
				.norm = r.norm,
				.seconds = seconds(l),
				.chain = l->s->state.chain};
	record(l, &m);
	l->last = (struct wse_event){.kind = WSE_EVENT_TRAIN,
				     .step = step,
				     .loss = r.loss,
				     .lr = r.lr,
				     .norm = r.norm,
				     .ms = 1e3 * took,
				     .rate = (double)l->run->cfg.batch / (took + 1e-9)};
	tell(l, l->last);
	wse_live_step(l->s->live, l->s, &l->last, l->run->cfg.max_steps);
	return 0;
}

static void say_sparsity(struct loop *l)
{
	uint64_t all = 0, there = 0;

	for (uint32_t i = 0; i < wse_memx_masks(l->s->memx)->nparts; i++) {
		all += wse_memx_masks(l->s->memx)->part[i].count;
		there += wse_memx_masks(l->s->memx)->part[i].keep;
	}
	wse_logf(&l->log, WSE_LOG_INFO,
		 "| Sparse: %" PRIu64 " of %" PRIu64 " weights in %u matrices", there, all,
		 wse_memx_masks(l->s->memx)->nparts);
}

/* of n steps, recomputation not counted; utilization: of the lanes, as the plan predicts it */
static void say_flops(struct loop *l, double n)
{
	const struct wse_plan *p = &l->s->plan;
	double macs = 3.0 * ((double)l->s->cfg.model.family->macs(&l->s->cfg.model) -
			     wse_plan_left_out(p));
	double tokens = (double)p->tokens * p->micro_batches;

	wse_logf(&l->log, WSE_LOG_INFO,
		 "| FLOPs a step=%.4g, Rate=%.4g FLOP/s, planned utilization=%.3f",
		 2.0 * macs * tokens, 2.0 * macs * tokens * n / (l->line_seconds + 1e-9),
		 p->useful);
}

/* no reason to stop a run for */
static void say_norms(struct loop *l)
{
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	if (wse_norms_say(l->s, l->params, l->last.norm, board_one, l))
		wse_logf(&l->log, WSE_LOG_WARN, "%s", wse_error());
	wse_failure_undo(&before);
}

static void report(struct loop *l)
{
	uint64_t step = wse_session_step(l->s), max = l->run->cfg.max_steps;
	double batch = (double)l->run->cfg.batch;
	double rate = batch * (double)(step - l->first) / (now() - l->begin + 1e-9);
	double n = (double)(step - l->line_step);
	char text[64];
	struct wse_progress p = {step, max, l->res->loss, rate,
				 (double)(max - step) * batch / (rate + 1e-9)};

	if (has_line(l, step)) {
		wse_logf(&l->log, WSE_LOG_INFO,
			 "| Train Device=WSE x%u, Step=%" PRIu64
			 ", Loss=%.5f, Rate=%.2f samples/sec, GlobalRate=%.2f samples/sec"
			 ", LR=%.4g, GradNorm=%.4g, Time=%.2f ms/step%s",
			 wse_session_devices(l->s), step, l->res->loss,
			 batch * n / (l->line_seconds + 1e-9), rate, l->last.lr, l->last.norm,
			 1e3 * l->line_seconds / n,
			 exposed(l, l->line_seconds / n, text, sizeof(text)));
		board(l, step,
		      (struct wse_scalar[]){
			      {"loss", l->res->loss},
			      {"learning_rate", l->last.lr},
			      {"gradient_norm", l->last.norm},
			      {"samples_per_second", batch * n / (l->line_seconds + 1e-9)}},
		      4);
		if (l->run->cfg.log_flops)
			say_flops(l, n);
		if (l->run->cfg.log_norms)
			say_norms(l);
		l->line_step = step;
		l->line_seconds = l->line_exposed = 0.0;
		l->line_gaps = 0;
	}
	if (l->ops->progress)
		l->ops->progress(l->ops->ctx, &p);
}

static int steps(struct loop *l)
{
	const struct wse_config *cfg = &l->run->cfg;
	int evals = l->run->mode == WSE_MODE_TRAIN_AND_EVAL, ret = 0;

	if (evals && !wse_session_step(l->s))
		ret = evaluate(l);
	if (cfg->save_initial && !wse_session_step(l->s))
		l->due = 0;
	while (!ret && wse_session_step(l->s) < cfg->max_steps) {
		uint64_t step;

		ret = one_step(l);
		if (ret)
			break;
		report(l);
		step = wse_session_step(l->s);
		if (evals && ((cfg->eval_frequency && step % cfg->eval_frequency == 0) ||
			      step == cfg->max_steps))
			ret = evaluate(l);
		if (cfg->checkpoint_steps && step % cfg->checkpoint_steps == 0)
			l->due = step;
		if (!ret && l->ops->stop && l->ops->stop(l->ops->ctx)) {
			l->res->stopped = 1;
			break;
		}
	}
	return ret;
}

static void curve_line(void *ctx, const char *text)
{
	struct loop *l = ctx;

	wse_logf(&l->log, WSE_LOG_INFO, "%s", text);
}

static void show_curve(struct loop *l)
{
	const struct wse_data *d = &l->s->data;
	int ret;

	if (l->run->chart)
		wse_curve_text(&l->metrics, 64, 12, d->unigram, d->bigram, curve_line, l);
	ret = wse_curve_svg(&l->metrics, in_dir(l, "loss.svg"), d->unigram, d->bigram);
	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "no loss curve in %s: %s", l->path, strerror(-ret));
	else
		wse_logf(&l->log, WSE_LOG_INFO, "| Loss curve in %s", l->path);
}

/* its step, its device, its core and its file */
static int check_wave(struct loop *l, unsigned long long first, unsigned long long last)
{
	struct wse_failure before;
	struct wse_exec *e;
	int ret;

	if (!l->run->wave)
		return 0;
	if (l->run->wave_step < first || l->run->wave_step > last)
		return wse_fail(-EINVAL,
				"waves of step %llu: this run makes the steps %llu to %llu",
				(unsigned long long)l->run->wave_step, first, last);
	ret = wse_session_device(l->s, l->run->wave_uri, &e);
	if (ret)
		return ret;
	ret = e->ops->wave ? e->ops->wave(e, l->run->wave) : -ENOTSUP;
	wse_failure_keep(&before, ret);
	if (!ret) {
		/* nothing has run yet: it does not come, and leaves no file */
		e->ops->wave(e, NULL);
		wse_failure_undo(&before);
	}
	e->ops->close(e);
	return ret;
}

/* a step that is asked for and never comes, or a device that is missing at the end of a long run */
static int check_verify(struct loop *l)
{
	unsigned long long first = wse_session_step(l->s) + 1, last = l->run->cfg.max_steps;
	struct wse_exec *e;
	int ret;

	for (uint32_t i = 0; i < l->run->nverify; i++)
		if (l->run->verify[i] < first || l->run->verify[i] > last)
			return wse_fail(-EINVAL,
					"--verify-steps %llu: this run makes the "
					"steps %llu to %llu",
					(unsigned long long)l->run->verify[i], first, last);
	ret = l->run->nverify ? wse_session_device(l->s, l->run->verify_uri, &e) : 0;
	if (!ret && l->run->nverify)
		e->ops->close(e);
	return ret ? ret : check_wave(l, first, last);
}

/* what is left after a failed step, in words; nothing of it was committed */
static int failed(struct loop *l, int err, int keep)
{
	struct wse_failure failure;
	char kept[WSE_PATH + 64];

	wse_failure_keep(&failure, err);
	/*
	 * after NaN or a replay that differs, the state before the step is in doubt, too; of
	 * several ranks each has a part of it, and none can be asked for it in the middle of a step
	 */
	if (keep && !l->s->ranks && err != -ERANGE && err != -EILSEQ && save_last(l))
		wse_logf(&l->log, WSE_LOG_ERROR, "%s", wse_error());
	snprintf(kept, sizeof(kept), "%s", l->res->checkpoint);
	if (err == -ERANGE && kept[0] && wse_session_step(l->s) == l->first)
		return wse_fail(err,
				"%.600s; so %.150s, from which it started, is not "
				"good: take an earlier one",
				failure.text, kept);
	return wse_fail(err, "%.700s; last good checkpoint: %.150s", failure.text,
			kept[0] ? kept : "none yet");
}

/* samples that no step of an epoch takes, where the run comes to the end of one */
static void say_rest(struct loop *l)
{
	uint64_t batch = l->run->cfg.batch, n = l->s->data.ntrain;

	if (n % batch && l->run->cfg.max_steps > n / batch)
		wse_logf(&l->log, WSE_LOG_INFO,
			 "| Epoch: %" PRIu64 " batches of %" PRIu64 " samples; %" PRIu64
			 " at its end are no whole batch and left out",
			 n / batch, batch, n % batch);
}

static int open_board(struct loop *l)
{
	const char *to = l->run->cfg.tensorboard;
	char path[2 * WSE_PATH];
	int ret;

	if (!to[0])
		return 0;
	snprintf(path, sizeof(path), "%s%s%s", *to == '/' ? "" : l->run->cfg.model_dir,
		 *to == '/' ? "" : "/", to);
	ret = wse_tensorboard_open(path, &l->board);
	return ret ? wse_fail(ret, "TensorBoardLogger: %.300s: %s", path, strerror(-ret)) : 0;
}

static int train(struct loop *l)
{
	int ret;

	ret = wse_model_dir_open(l->run->cfg.model_dir, &l->log, &l->lock);
	ret = ret ? ret : resume(l, l->run->cfg.load_states);
	if (!ret)
		ret = wse_model_dir_check(
			l->run->cfg.model_dir,
			l->run->cfg.load_states != WSE_CKPT_MODEL ? l->res->checkpoint : NULL);
	if (ret)
		return ret;
	l->first = l->line_step = wse_session_step(l->s);
	l->saved = l->first ? l->first : UINT64_MAX;
	if (l->first >= l->run->cfg.max_steps)
		wse_logf(&l->log, WSE_LOG_WARN,
			 "nothing to train: the checkpoint is of step %" PRIu64
			 ", max_steps is %" PRIu64,
			 l->first, l->run->cfg.max_steps);
	ret = check_verify(l);
	if (ret)
		return ret;
	ret = wse_metrics_open(&l->metrics, in_dir(l, "metrics.csv"), l->first);
	if (ret)
		return ret;
	wse_logf(&l->log, WSE_LOG_INFO,
		 "| Text: %zu tokens, unigram entropy %.4f, bigram entropy "
		 "%.4f nats; %" PRIu64 " held out",
		 l->s->data.t.ntok, l->s->data.unigram, l->s->data.bigram, held_samples(l));
	say_rest(l);
	if (l->run->cfg.count_params)
		wse_logf(&l->log, WSE_LOG_INFO, "| Parameters: %zu in %u tensors",
			 l->s->table->params, l->s->table->n);
	if (l->run->cfg.count_params && l->run->cfg.sparsity.n)
		say_sparsity(l);
	ret = open_board(l);
	if (ret)
		return ret;
	l->begin = now();
	tell(l, (struct wse_event){.kind = WSE_EVENT_BEGIN,
				   .step = l->first,
				   .max_steps = l->run->cfg.max_steps,
				   .samples = held_samples(l)});
	ret = steps(l);
	if (ret) {
		failed(l, ret, 1);
	} else {
		ret = save_last(l);
		ret = ret ? ret : export(l);
		if (ret)
			failed(l, ret, 0);
	}
	if (l->metrics.n)
		show_curve(l);
	if (!ret && !l->res->stopped && l->run->cfg.sample_tokens)
		ret = wse_session_sample(l->s, &l->run->cfg, 2, &l->log);
	return ret;
}

/* what can be said before a device is opened */
static int check_run(const struct wse_run *run)
{
	if (run->cfg.unneeded[0])
		return wse_fail(-ENOTSUP, "read for a plan only: not available are %.300s",
				run->cfg.unneeded);
	if ((run->cfg.forward == 2) != (run->mode == WSE_MODE_EVAL_ALL))
		return wse_fail(-EINVAL, "the mode that evaluates all checkpoints and parameters "
					 "read with forward 2 go together");
	if (run->cfg.forward && run->mode != WSE_MODE_EVAL && run->mode != WSE_MODE_GENERATE &&
	    run->mode != WSE_MODE_EVAL_ALL)
		return wse_fail(-EINVAL, "the parameters say forward: they are to evaluate and to "
					 "generate, not to train");
	if (!run->cfg.data[0] && run->mode != WSE_MODE_GENERATE)
		return wse_fail(
			-EINVAL,
			"no text: set trainer.fit.train_dataloader.data_dir, or give --data");
	return 0;
}

int wse_run_session(struct wse_session *s, const struct wse_run *run, const struct wse_run_ops *ops,
		    struct wse_run_result *res)
{
	struct wse_run_result zero = {0};
	struct loop *l = calloc(1, sizeof(*l));
	int ret;

	*res = zero;
	if (!l)
		return wse_fail(-ENOMEM, "no memory");
	l->run = run;
	l->ops = ops;
	l->res = res;
	l->s = s;
	l->saved = l->due = UINT64_MAX;
	l->lock = l->metrics.fd = l->board = -1;
	l->log = (struct wse_exec_cfg){ops->line, ops->line_ctx};
	l->begin = now();
	if (s->ranks && wse_ranks_rank(s->ranks)) { /* rank 0 makes the run */
		ret = wse_ranks_follow(s, &res->stopped);
		res->steps = wse_session_step(s);
		free(l);
		return ret;
	}
	res->unigram = s->data.unigram;
	res->bigram = s->data.bigram;
	ret = check_run(run);
	if (!ret && (run->mode == WSE_MODE_TRAIN || run->mode == WSE_MODE_TRAIN_AND_EVAL)) {
		ret = train(l);
	} else if (!ret && run->mode == WSE_MODE_CHECK) {
		ret = wse_check_run(s, run, ops);
	} else if (!ret && run->mode == WSE_MODE_EVAL_ALL) {
		ret = evaluate_all(l);
	} else if (!ret) {
		ret = resume(l, WSE_CKPT_EVAL);
		if (!ret && run->mode == WSE_MODE_EVAL)
			ret = evaluate(l);
		else if (!ret)
			ret = wse_session_sample(l->s, &l->run->cfg, 1, &l->log);
	}
	res->steps = wse_session_step(s);
	if (res->checkpoint[0] && !ret)
		ret = wse_ckpt_hash(res->checkpoint, res->hash);
	if (s->ranks)
		ret = wse_ranks_end(s, ret, res->stopped);
	wse_metrics_close(&l->metrics);
	if (l->lock >= 0)
		close(l->lock);
	if (l->board >= 0)
		close(l->board);
	free(l);
	return ret;
}

int wse_run(const struct wse_run *run, const struct wse_run_ops *ops, struct wse_run_result *res)
{
	struct wse_exec_cfg log = {ops->line, ops->line_ctx};
	struct wse_run_result zero = {0};
	struct wse_session *s = calloc(1, sizeof(*s));
	unsigned int before = wse_failures();
	int ret;

	*res = zero;
	if (!s)
		return wse_fail(-ENOMEM, "no memory");
	ret = check_run(run);
	if (!ret && run->hosts)
		ret = wse_session_open_part(s, &run->cfg, run->uris, run->nuris, &log,
					    wse_hosts_rank(run->hosts),
					    wse_hosts_ranks(run->hosts));
	else if (!ret)
		ret = wse_session_open(s, &run->cfg, run->uris, run->nuris, &log);
	if (run->hosts) {
		int joined = wse_ranks_join(s, run->hosts, ret);

		if (!ret && joined)
			wse_session_close(s);
		ret = joined;
	}
	if (!ret) {
		ret = wse_run_session(s, run, ops, res);
		wse_session_close(s);
	}
	free(s);
	return wse_fail_since(before, ret, "%s", strerror(-ret));
}
