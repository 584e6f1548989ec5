// SPDX-License-Identifier: MIT
/* A session as a handle: one call at a time, every error in words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "model/create.h"
#include "train/loop.h"
#include "train/params.h"
#include "train/live.h"
#include "train/profile.h"
#include "train/ranks.h"
#include "wave.h"

struct wse_trainer {
	struct wse_session s;
	wse_log_fn log;
	void *log_ctx;
	unsigned int before; /* wse_failures() when its thread came in */
	float *tensor;	     /* what wse_trainer_tensor() shows: a copy, in the tensor's order */
};

static int enter(struct wse_trainer *t)
{
	int ret = wse_handle_enter(WSE_HANDLE_TRAINER, t);

	if (!ret)
		t->before = wse_failures();
	return ret;
}

static int leave(struct wse_trainer *t, int ret)
{
	ret = wse_fail_since(t->before, ret, "%s", strerror(-ret));
	wse_handle_leave(t);
	return ret;
}

/* with the other ranks, where a launcher started this process as one of several */
static int open_on_ranks(const struct wse_config *cfg, const char *const *uris, uint32_t n,
			 const struct wse_exec_cfg *log, struct wse_session *s)
{
	struct wse_hosts *hosts = NULL;
	struct wse_link *link;
	int ret = wse_link_find(&link), joined;

	if (!ret && link)
		ret = wse_hosts_open(link, &hosts);
	if (!ret && hosts)
		ret = wse_session_open_part(s, cfg, uris, n, log, wse_hosts_rank(hosts),
					    wse_hosts_ranks(hosts));
	else if (!ret)
		ret = wse_session_open(s, cfg, uris, n, log);
	if (!hosts)
		return ret;
	joined = wse_ranks_join(s, hosts, ret);
	if (!ret && joined)
		wse_session_close(s);
	return joined;
}

static int open_with(const struct wse_config *cfg, const char *const *uris, uint32_t n,
		     struct wse_trainer *t)
{
	struct wse_exec_cfg log = {t->log, t->log_ctx};
	unsigned int before = wse_failures();
	int ret = 0;

	for (uint32_t i = 0; i < n && i < WSE_SWARM_MAX && !ret; i++)
		if (!uris || !uris[i])
			ret = wse_fail(-EINVAL, "the URI of device %u is NULL", i);
	ret = ret ? ret : open_on_ranks(cfg, uris, n, &log, &t->s);
	if (ret)
		return wse_fail_since(before, ret, "%s", strerror(-ret));
	wse_model_get(&t->s.cfg.model);
	ret = wse_handle_add(WSE_HANDLE_TRAINER, t);
	if (ret) {
		wse_session_close(&t->s);
		wse_model_put(&cfg->model);
	}
	return ret;
}

int wse_trainer_open(const struct wse_params *p, const char *const *uris, uint32_t n,
		     wse_log_fn log, void *ctx, struct wse_trainer **out)
{
	struct wse_trainer *t;
	int ret = wse_handle_enter(WSE_HANDLE_PARAMS, p);

	if (ret)
		return ret;
	t = calloc(1, sizeof(*t));
	if (!t)
		ret = wse_fail(-ENOMEM, "no memory");
	else if (!p->ready)
		ret = wse_fail(
			-EINVAL,
			"the params are empty: wse_params_read() or wse_params_make() first");
	else if (p->cfg.unneeded[0])
		ret = wse_fail(-ENOTSUP, "read for a plan only: not available are %.300s",
			       p->cfg.unneeded);
	if (!ret) {
		t->log = log;
		t->log_ctx = ctx;
		ret = open_with(&p->cfg, uris, n, t);
	}
	if (ret)
		free(t);
	else
		*out = t;
	wse_handle_leave(p);
	return ret;
}

int wse_trainer_live(struct wse_trainer *t, const char *path)
{
	int ret = enter(t);

	if (ret)
		return ret;
	if (path && t->s.live)
		ret = wse_fail(-EBUSY, "a live socket is open: close it first");
	else if (path)
		ret = wse_live_open(&t->s, path, &t->s.live);
	else if (!t->s.live)
		ret = wse_fail(-EINVAL, "no live socket is open");
	if (!path) {
		wse_live_close(t->s.live);
		t->s.live = NULL;
	}
	return leave(t, ret);
}

int wse_trainer_profile(struct wse_trainer *t, const char *dir)
{
	struct wse_profile *p;
	int ret = enter(t);

	if (ret)
		return ret;
	p = t->s.profile;
	if (dir && p) {
		ret = wse_fail(-EBUSY, "a profile is being recorded: end it first");
	} else if (dir) {
		ret = wse_profile_open(&t->s, dir, &t->s.profile);
	} else if (!p) {
		ret = wse_fail(-EINVAL, "no profile is being recorded");
	} else {
		t->s.profile = NULL;
		ret = wse_profile_close(&t->s, p);
	}
	return leave(t, ret);
}

int wse_trainer_close(struct wse_trainer *t)
{
	struct wse_model m;
	int ret = t ? wse_handle_remove(WSE_HANDLE_TRAINER, t) : 0;

	if (!t || ret)
		return ret;
	m = t->s.cfg.model;
	wse_session_close(&t->s);
	wse_model_put(&m);
	free(t->tensor);
	free(t);
	return 0;
}

int wse_trainer_info(struct wse_trainer *t, struct wse_trainer_info *info)
{
	struct wse_trainer_info zero = {0};
	int ret = enter(t);

	if (ret)
		return ret;
	*info = zero;
	info->step = wse_session_step(&t->s);
	info->devices = wse_session_devices(&t->s);
	info->rank = t->s.ranks ? wse_ranks_rank(t->s.ranks) : 0;
	info->ranks = t->s.ranks ? wse_ranks_ranks(t->s.ranks) : 1;
	info->tensors = t->s.table->n;
	info->weights = t->s.table->params;
	info->tokens = t->s.data.t.ntok;
	info->unigram = t->s.data.unigram;
	info->bigram = t->s.data.bigram;
	info->max_steps = t->s.cfg.max_steps;
	info->vocab = t->s.cfg.model.vocab;
	info->token_bytes = wse_session_text_room(&t->s, 1) - 1;
	return leave(t, 0);
}

/*
 * of several ranks the whole of it at once: what a program asks of one rank next needs no other one
 */
static int commit(struct wse_trainer *t, struct wse_step_result *r)
{
	int ret = wse_session_commit(&t->s, r);

	if (!ret)
		wse_live_result(&t->s, r);
	return !ret && t->s.ranks ? wse_memx_finish(t->s.memx) : ret;
}

static int need_text(struct wse_session *s)
{
	return s->cfg.data[0] ? 0 : wse_fail(-ENODATA, "the trainer has no text: give params data");
}

/*
 * The other ranks wait for this one, unless it is in their steps, too, that a number is not finite:
 * then all know, and may go on from somewhere else.
 */
static int tell_ranks(struct wse_trainer *t, int ret)
{
	return ret && ret != -ERANGE && t->s.ranks ? wse_ranks_fail(t->s.ranks, ret) : ret;
}

int wse_trainer_step(struct wse_trainer *t, struct wse_step_result *result)
{
	struct wse_step_result r = {0};
	int ret = enter(t);

	if (ret)
		return ret;
	ret = need_text(&t->s);
	ret = ret ? ret : wse_session_compute(&t->s, &r);
	ret = tell_ranks(t, ret ? ret : commit(t, &r));
	if (!ret && result)
		*result = r;
	return leave(t, ret);
}

static int need_no_text(struct wse_session *s)
{
	return s->cfg.data[0] ? wse_fail(-EINVAL,
					 "the trainer has a text, %.200s: give params no data, or "
					 "do wse_trainer_step()",
					 s->cfg.data)
			      : 0;
}

static int check_samples(struct wse_session *s, const uint16_t *samples, uint64_t n)
{
	const struct wse_model *m = &s->cfg.model;
	uint64_t width = (uint64_t)m->window + m->span, want = s->cfg.batch * width;

	if (!samples)
		return wse_fail(-EINVAL, "samples is NULL");
	if (n != want)
		return wse_fail(-EINVAL,
				"%llu tokens are no batch: %llu samples of %u tokens before the "
				"first target and %u targets are %llu",
				(unsigned long long)n, (unsigned long long)s->cfg.batch, m->window,
				m->span, (unsigned long long)want);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t token = wse_token(samples, (ptrdiff_t)i, m->vocab);

		if (token >= m->vocab)
			return wse_fail(-EINVAL,
					"token %llu of sample %llu is %u: the vocabulary has %u",
					(unsigned long long)(i % width),
					(unsigned long long)(i / width), token, m->vocab);
	}
	return 0;
}

static int check_mask(const struct wse_session *s, const struct wse_step_shape *how)
{
	uint64_t want = s->cfg.batch * s->cfg.model.span;

	return !how->mask || how->nmask == want
		       ? 0
		       : wse_fail(-EINVAL,
				  "%llu numbers are no mask: %llu samples of %u targets are %llu",
				  (unsigned long long)how->nmask, (unsigned long long)s->cfg.batch,
				  s->cfg.model.span, (unsigned long long)want);
}

/* a number from 0 on, given when own has its bit */
static int check_own(const struct wse_step_shape *how, uint64_t bit, const char *name, double v)
{
	if (!(how->own & bit))
		return v == 0.0 ? 0
				: wse_fail(-EINVAL, "%s is %g, and own has not its bit", name, v);
	return v >= 0.0 && v <= 1e30
		       ? 0
		       : wse_fail(-EINVAL, "%s is %g: it must be from 0 to 1e30", name, v);
}

static int check_step(struct wse_session *s, const struct wse_step_shape *how)
{
	int ret = how ? need_no_text(s) : wse_fail(-EINVAL, "the batch is NULL");

	ret = ret ? ret : check_samples(s, how->samples, how->n);
	ret = ret ? ret : check_mask(s, how);
	ret = ret ? ret : check_own(how, WSE_STEP_LR, "lr", how->lr);
	ret = ret ? ret : check_own(how, WSE_STEP_MAX_NORM, "max_norm", how->max_norm);
	if (!ret && how->own & ~(uint64_t)(WSE_STEP_LR | WSE_STEP_MAX_NORM))
		ret = wse_fail(-EINVAL, "own is %#llx: WSE_STEP_LR and WSE_STEP_MAX_NORM are known",
			       (unsigned long long)how->own);
	return ret;
}

int wse_trainer_step_with(struct wse_trainer *t, const struct wse_step_shape *how,
			  struct wse_step_result *result)
{
	struct wse_step_result r = {0};
	int ret = enter(t);

	if (ret)
		return ret;
	ret = check_step(&t->s, how);
	ret = ret ? ret : wse_session_compute_on(&t->s, how->samples, how->mask, &r);
	if (!ret)
		wse_memx_own(t->s.memx, (uint32_t)how->own, how->lr, how->max_norm);
	ret = tell_ranks(t, ret ? ret : commit(t, &r));
	wse_session_own_end(&t->s);
	if (ret)
		wse_memx_own(t->s.memx, 0, 0.0, 0.0);
	else if (result)
		*result = r;
	return leave(t, ret);
}

int wse_trainer_step_on(struct wse_trainer *t, const void *samples, uint64_t n,
			struct wse_step_result *result)
{
	const struct wse_step_shape how = {.samples = samples, .n = n};

	return wse_trainer_step_with(t, &how, result);
}

int wse_trainer_loss_on(struct wse_trainer *t, const struct wse_step_shape *how, double *loss)
{
	int ret = enter(t);

	if (ret)
		return ret;
	ret = how ? check_samples(&t->s, how->samples, how->n)
		  : wse_fail(-EINVAL, "the batch is NULL");
	ret = ret ? ret : check_mask(&t->s, how);
	ret = ret ? ret : wse_session_loss_on(&t->s, how->samples, how->mask, loss);
	wse_session_own_end(&t->s);
	return leave(t, ret);
}

int wse_trainer_eval(struct wse_trainer *t, uint64_t max_batches, double *loss, uint64_t *samples)
{
	return wse_trainer_eval_set(t, 0, max_batches, loss, samples, NULL);
}

int wse_trainer_eval_set(struct wse_trainer *t, uint32_t set, uint64_t max_batches, double *loss,
			 uint64_t *samples, const char **name)
{
	uint64_t n;
	int ret = enter(t);

	if (ret)
		return ret;
	ret = need_text(&t->s);
	if (!ret && set >= t->s.cfg.nval)
		ret = wse_fail(-ENOENT, "there is no held-out set %u: there are %u, from 0 on", set,
			       t->s.cfg.nval);
	ret = ret ? ret : wse_session_eval(&t->s, set, max_batches, loss, samples ? samples : &n);
	if (!ret && name)
		*name = t->s.cfg.val[set].name;
	return leave(t, ret);
}

/* ---- weights ---- */

/* enters; all of a step is written; the row of tensor i, or NULL with the error in ret */
static int enter_tensor(struct wse_trainer *t, uint32_t i, const struct wse_tensor **row, int *ret)
{
	const struct wse_tensor_table *tab;
	int entered = enter(t);

	*row = NULL;
	*ret = 0;
	if (entered)
		return entered;
	tab = t->s.table;
	*ret = wse_memx_finish(t->s.memx);
	if (!*ret && i < tab->n)
		*row = &tab->t[i];
	else if (!*ret)
		*ret = wse_fail(-ENOENT, "there is no tensor %u of %u", i, tab->n);
	return 0;
}

struct reading {
	struct wse_trainer *t;
	uint32_t tensor;
	const struct wse_tensor *row;
};

static int read_tensor(void *ctx)
{
	const struct reading *r = ctx;
	float *copy = realloc(r->t->tensor, r->row->count * sizeof(*copy));

	if (!copy)
		return wse_fail(-ENOMEM, "no memory for %s", r->row->name);
	r->t->tensor = copy;
	return wse_memx_read(r->t->s.memx, WSE_MEMX_P, r->tensor, 0, r->row->count, copy);
}

int wse_trainer_tensor(struct wse_trainer *t, uint32_t i, struct wse_tensor_info *info)
{
	const struct wse_tensor *row;
	int ret, entered = enter_tensor(t, i, &row, &ret);
	struct reading r = {t, i, row};

	if (entered)
		return entered;
	if (row)
		ret = wse_ranks_meet(&t->s, WSE_TOGETHER_TENSOR, i);
	if (row && !ret)
		ret = wse_ranks_read_all(&t->s, read_tensor, &r);
	if (row && !ret)
		*info = (struct wse_tensor_info){
			.name = row->name,
			.rows = row->dim[0],
			.cols = row->dim[1],
			.data = t->tensor,
		};
	return leave(t, ret);
}

int wse_trainer_set_tensor(struct wse_trainer *t, uint32_t i, const float *data, uint64_t n)
{
	const struct wse_tensor *row;
	int ret, done, entered = enter_tensor(t, i, &row, &ret);

	if (entered)
		return entered;
	if (row && n != row->count)
		ret = wse_fail(-EINVAL, "%s has %zu elements, not %llu", row->name, row->count,
			       (unsigned long long)n);
	else if (row && !data)
		ret = wse_fail(-EINVAL, "%s: the values are NULL", row->name);
	for (uint64_t j = 0; j < n && !ret; j++)
		if (!(data[j] - data[j] == 0.0f))
			ret = wse_fail(-ERANGE, "%s: element %llu is not finite", row->name,
				       (unsigned long long)j);
	/* all ranks can, and with the same values, before any does */
	if (t->s.ranks && !wse_ranks_failed(t->s.ranks)) {
		struct wse_failure why;

		wse_failure_keep(&why, ret);
		ret = wse_ranks_meet(&t->s, WSE_TOGETHER_TENSOR, i);
		if (!ret && why.err)
			wse_failure_tell(&why);
		ret = ret ? ret
			  : wse_ranks_agree(t->s.ranks, why.err,
					    why.err ? 0 : wse_ranks_sum(data, n * sizeof(*data)),
					    row ? row->name : "tensor", &done);
	}
	if (!ret)
		ret = wse_memx_write(t->s.memx, WSE_MEMX_P, i, 0, n, data);
	if (!ret)
		ret = wse_memx_refresh(t->s.memx);
	if (!ret && t->s.ranks)
		ret = wse_memx_loaded(t->s.memx);
	return leave(t, ret);
}

/* ---- checkpoints ---- */

int wse_trainer_save(struct wse_trainer *t, const char *path)
{
	int ret = enter(t);

	if (ret)
		return ret;
	if (!path)
		ret = wse_fail(-EINVAL, "the path is NULL");
	else /* rank 0 writes it, with what the others keep */
		ret = wse_session_save(&t->s, path, NULL);
	return leave(t, ret);
}

int wse_trainer_load(struct wse_trainer *t, const char *path, enum wse_ckpt_load what)
{
	int ret = enter(t);

	if (ret)
		return ret;
	if (!path || (unsigned int)what > WSE_CKPT_EVAL)
		ret = wse_fail(-EINVAL,
			       path ? "an unknown enum wse_ckpt_load" : "the path is NULL");
	ret = ret ? ret : wse_session_load(&t->s, path, what);
	if (t->s.ranks)
		ret = wse_ranks_load_each(&t->s, path ? path : "", what, ret);
	return leave(t, ret);
}

int wse_checkpoint_hash(const char *path, char *hex)
{
	char text[65];
	int ret = path ? wse_ckpt_hash(path, text) : wse_fail(-EINVAL, "the path is NULL");

	if (ret)
		return wse_fail_in(ret, "checkpoint %.200s: ", path ? path : "");
	memcpy(hex, text, sizeof(text));
	return 0;
}

/* ---- text ---- */

int wse_trainer_generate(struct wse_trainer *t, const struct wse_sampling *how, char *text)
{
	struct wse_sampling h = *how;
	int ret = enter(t);

	if (ret)
		return ret;
	if (h.top_p == 0.0)
		h.top_p = 1.0;
	if (!(h.top_p > 0.0 && h.top_p <= 1.0 && h.temperature >= 0.0 && h.temperature <= 100.0))
		ret = wse_fail(
			-EINVAL,
			"top_p %g, temperature %g: it must be above 0 and up to 1, and from 0 to 100",
			h.top_p, h.temperature);
	else if (h.prompt_len && !h.prompt)
		ret = wse_fail(-EINVAL, "the prompt is NULL");
	else if (h.nprompts && (!h.prompts || h.prompt))
		ret = wse_fail(-EINVAL, h.prompt ? "prompt contradicts prompts: give the one or "
						   "the other"
						 : "prompts is NULL");
	for (uint32_t i = 0; i < h.nprompts && !ret; i++)
		if (!h.prompts[i].text)
			ret = wse_fail(-EINVAL, "prompt %u is NULL", i + 1);
	if (!ret && (uint64_t)h.streams * (h.nprompts ? h.nprompts : 1) > UINT32_MAX)
		ret = wse_fail(-EINVAL, "%u prompts of %u texts are too many", h.nprompts,
			       h.streams);
	ret = ret ? ret : wse_session_generate(&t->s, &h, text);
	return leave(t, ret);
}

/* ---- a run ---- */

/* the window of a run: its step, and the rest as devices take it, into text */
static int name_wave(struct wse_run *run, const char *window, char *text, size_t size)
{
	struct wse_wave_window w;
	char why[400], core[32] = "";
	int ret = wse_wave_parse(window, &w, why, sizeof(why));

	if (ret)
		return wse_fail(ret, "%s", why);
	if (!w.step)
		return wse_fail(-EINVAL,
				"waves of a run need their step: %.300s,step=N,from=%llu,to=%llu, "
				"or step=fault",
				w.path, (unsigned long long)w.from, (unsigned long long)w.to);
	if (run->mode != WSE_MODE_TRAIN && run->mode != WSE_MODE_TRAIN_AND_EVAL)
		return wse_fail(-EINVAL, "waves are of a step that is trained: the modes train and "
					 "train_and_eval have some");
	if (w.one)
		snprintf(core, sizeof(core), ",core=%u.%u", w.x, w.y);
	run->wave = text;
	run->wave_step = w.step;
	if (w.step == WSE_WAVE_FAULT) {
		snprintf(text, size, "%s%s", w.path, core);
		return w.named ? wse_fail(-EINVAL, "step=fault with from= or to=: the window ends "
						   "with the fault")
			       : 0;
	}
	snprintf(text, size, "%s,from=%llu,to=%llu%s", w.path, (unsigned long long)w.from,
		 (unsigned long long)w.to, core);
	return 0;
}

static int run_on(struct wse_trainer *t, const struct wse_run_shape *how,
		  struct wse_run_result *result)
{
	struct wse_run_ops ops = {t->log,   how->progress, how->stop,
				  how->ctx, how->event,	   t->log_ctx};
	struct wse_session *s = &t->s;
	struct wse_run *run;
	char rtl[64], wave[WSE_PATH + 128], wave_uri[160];
	int ret;

	if ((unsigned int)how->mode > WSE_MODE_EVAL_ALL)
		return wse_fail(-EINVAL, "an unknown enum wse_mode");
	if (how->nverify > WSE_VERIFY_MAX || (how->nverify && !how->verify))
		return wse_fail(-EINVAL, "%u steps to verify: at most %d", how->nverify,
				WSE_VERIFY_MAX);
	if (wse_session_step(s))
		return wse_fail(-EINVAL,
				"this trainer has done %llu steps: a run begins with a new one",
				(unsigned long long)wse_session_step(s));
	run = calloc(1, sizeof(*run));
	if (!run)
		return wse_fail(-ENOMEM, "no memory");
	run->mode = how->mode;
	run->cfg = s->cfg;
	run->checkpoint = how->checkpoint;
	run->chart = how->chart != 0;
	run->check_from = how->check_from;
	run->check_to = how->check_to;
	run->check_weights = how->check_weights;
	for (uint32_t i = 0; i < how->nverify; i++)
		run->verify[run->nverify++] = how->verify[i];
	snprintf(rtl, sizeof(rtl), "sim:rtl,rows=%u,cols=%u", s->tile.rows, s->tile.cols);
	run->verify_uri = how->verify_uri ? how->verify_uri : rtl;
	ret = how->wave ? name_wave(run, how->wave, wave, sizeof(wave)) : 0;
	snprintf(wave_uri, sizeof(wave_uri), "%.140s,waves=1",
		 how->verify_uri && !strncmp(how->verify_uri, "sim:rtl", 7) ? how->verify_uri
									    : rtl);
	run->wave_uri = wave_uri;
	ret = ret ? ret : wse_run_session(s, run, &ops, result);
	free(run);
	return ret;
}

int wse_trainer_run(struct wse_trainer *t, const struct wse_run_shape *run,
		    struct wse_run_result *result)
{
	struct wse_run_result res = {0};
	int ret = enter(t);

	if (ret)
		return ret;
	ret = run_on(t, run, &res);
	*result = res;
	return leave(t, ret);
}
