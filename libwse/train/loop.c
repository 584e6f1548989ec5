// SPDX-License-Identifier: MIT
/* The run: when to step, evaluate, checkpoint and report. */
#include "loop_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "live.h"
#include "model_dir.h"
#include "ranks.h"
#include "samples.h"
#include "verify.h"
#include "wave.h"

static double seconds(const struct loop *l)
{
	return l->metrics.seconds + wse_loop_now() - l->begin;
}

void wse_loop_tell(struct loop *l, struct wse_event e)
{
	e.seconds = seconds(l);
	e.devices = wse_session_devices(l->s);
	if (l->ops->event)
		l->ops->event(l->ops->ctx, &e);
}

const char *wse_loop_in_dir(struct loop *l, const char *name)
{
	snprintf(l->path, sizeof(l->path), "%s/%s", l->run->cfg.model_dir, name);
	return l->path;
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
	wse_loop_tell(l, (struct wse_event){.kind = WSE_EVENT_EVAL,
					    .step = m.step,
					    .loss = m.loss,
					    .samples = samples,
					    .text = *name ? name : NULL});
	wse_loop_record(l, &m);
	snprintf(tag, sizeof(tag), "eval/%s%sloss", name, *name ? "/" : "");
	wse_loop_board(l, m.step, &(struct wse_scalar){tag, m.loss}, 1);
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
		ret = wse_loop_load(l, WSE_CKPT_EVAL);
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

/* the last device has a fault, whose sentence stays: its waves, if they are wanted */
static void replay_fault(struct loop *l, int err)
{
	struct wse_failure failure;
	char said[WSE_PATH + 160];

	if (!l->run->wave || l->run->wave_step != WSE_WAVE_FAULT || l->s->ranks ||
	    wse_swarm_alive(l->s->swarm))
		return;
	wse_failure_keep(&failure, err);
	wse_logf(&l->log, WSE_LOG_INFO, "| Replaying the step that failed on %s", l->run->wave_uri);
	if (wse_verify_fault(l->s, l->run->wave_uri, l->run->wave, said, sizeof(said)))
		wse_logf(&l->log, WSE_LOG_WARN, "no waves of the fault: %s", wse_error());
	else
		wse_logf(&l->log, WSE_LOG_INFO, "| Waves of %s", said);
	wse_failure_undo(&failure);
}

static int one_step(struct loop *l)
{
	uint64_t step = wse_session_step(l->s) + 1;
	struct wse_step_result r;
	struct wse_metric m;
	double t0 = wse_loop_now(), took;
	int ret = wse_session_compute(l->s, &r), saved;

	took = wse_loop_now() - t0;
	if (ret)
		replay_fault(l, ret);
	if (!ret && is_asked(l, step))
		ret = replay(l, step);
	if (!ret && l->run->cfg.log_norms && wse_loop_has_line(l, step))
		ret = wse_session_param_norm(l->s, &l->params);
	saved = l->due == wse_session_step(l->s) || is_asked(l, step);
	ret = ret ? ret : wse_loop_save_due(l);
	t0 = wse_loop_now();
	ret = ret ? ret : wse_session_commit(l->s, &r);
	if (ret)
		return ret;
	took += wse_loop_now() - t0;
	l->line_seconds += took;
	note_gap(l, saved);
	l->res->loss = r.loss;
	m = (struct wse_metric){.step = step,
				.loss = r.loss,
				.lr = r.lr,
				.norm = r.norm,
				.seconds = seconds(l),
				.chain = l->s->state.chain};
	wse_loop_record(l, &m);
	l->last = (struct wse_event){.kind = WSE_EVENT_TRAIN,
				     .step = step,
				     .loss = r.loss,
				     .lr = r.lr,
				     .norm = r.norm,
				     .ms = 1e3 * took,
				     .rate = (double)l->run->cfg.batch / (took + 1e-9)};
	wse_loop_tell(l, l->last);
	wse_live_step(l->s->live, l->s, &l->last, l->run->cfg.max_steps);
	return 0;
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
		wse_loop_report(l);
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

/* its step, its device, its core and its file */
static int check_wave(struct loop *l, unsigned long long first, unsigned long long last)
{
	struct wse_failure before;
	struct wse_exec *e;
	int ret;

	if (!l->run->wave)
		return 0;
	if (l->run->wave_step != WSE_WAVE_FAULT &&
	    (l->run->wave_step < first || l->run->wave_step > last))
		return wse_fail(-EINVAL,
				"waves of step %llu: this run makes the steps %llu to %llu",
				(unsigned long long)l->run->wave_step, first, last);
	if (l->run->wave_step == WSE_WAVE_FAULT && l->s->ranks)
		return wse_fail(-ENOTSUP, "waves of step=fault: a run of one process has them, of "
					  "several ranks each has a part of the step");
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
	if (keep && !l->s->ranks && err != -ERANGE && err != -EILSEQ && wse_loop_save_last(l))
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

static int train(struct loop *l)
{
	int ret;

	ret = wse_model_dir_open(l->run->cfg.model_dir, &l->log, &l->lock);
	ret = ret ? ret : wse_loop_resume(l, l->run->cfg.load_states);
	if (!ret)
		ret = wse_model_dir_check(l->run->cfg.model_dir, l->res->checkpoint,
					  l->run->cfg.load_states != WSE_CKPT_MODEL);
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
	ret = wse_metrics_open(&l->metrics, wse_loop_in_dir(l, "metrics.csv"), l->first);
	if (ret)
		return ret;
	wse_logf(&l->log, WSE_LOG_INFO,
		 "| Text: %zu tokens, unigram entropy %.4f, bigram entropy "
		 "%.4f nats; %" PRIu64 " held out",
		 l->s->data.t.ntok, l->s->data.unigram, l->s->data.bigram, held_samples(l));
	wse_loop_say_rest(l);
	if (l->run->cfg.count_params)
		wse_logf(&l->log, WSE_LOG_INFO, "| Parameters: %zu in %u tensors",
			 l->s->table->params, l->s->table->n);
	if (l->run->cfg.count_params && l->run->cfg.sparsity.n)
		wse_loop_say_sparsity(l);
	ret = wse_loop_open_board(l);
	if (ret)
		return ret;
	l->begin = wse_loop_now();
	wse_loop_tell(l, (struct wse_event){.kind = WSE_EVENT_BEGIN,
					    .step = l->first,
					    .max_steps = l->run->cfg.max_steps,
					    .samples = held_samples(l)});
	ret = steps(l);
	if (ret) {
		failed(l, ret, 1);
	} else {
		ret = wse_loop_save_last(l);
		ret = ret ? ret : wse_loop_export(l);
		if (ret)
			failed(l, ret, 0);
	}
	if (l->metrics.n)
		wse_loop_show_curve(l);
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
	l->begin = wse_loop_now();
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
		ret = wse_loop_resume(l, WSE_CKPT_EVAL);
		if (!ret && run->mode == WSE_MODE_EVAL)
			ret = evaluate(l);
		else if (!ret)
			ret = wse_session_sample(l->s, &l->run->cfg, 1, &l->log);
	}
	res->steps = wse_session_step(s);
	if (ret) /* of what was saved then is told where, not what */
		res->hash[0] = 0;
	else if (res->checkpoint[0] && !res->hash[0]) /* else it was taken as it was written */
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
