// SPDX-License-Identifier: MIT
/*
 * Micro-batches on the devices: a step's gradients, an evaluation, the forward that proves a last
 * checkpoint; and what their losses say.
 */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/safetensors.h"
#include "num/num.h"
#include "profile.h"
#include "ranks.h"

static int unit_ready(void *ctx, uint32_t unit)
{
	return wse_memx_unit_ready(ctx, unit);
}

static int unit_take(void *ctx, uint32_t unit, enum wse_image_part part, int wait)
{
	return wse_memx_unit_take(ctx, unit, part, wait);
}

static void unit_done(void *ctx, uint32_t unit, enum wse_image_part part)
{
	wse_memx_unit_done(ctx, unit, part);
}

void wse_session_images(struct wse_session *s, struct wse_swarm_step *step)
{
	step->ready_ctx = s->memx;
	if (!wse_memx_images_move(s->memx))
		return;
	step->unit_take = unit_take;
	step->unit_done = unit_done;
}

uint32_t wse_session_devices(struct wse_session *s)
{
	return s->ranks ? wse_ranks_devices(s->ranks) : wse_swarm_alive(s->swarm);
}

/*
 * The first n micro-batches, of the samples in s->samples; of several ranks each does its part.
 * They run until end_jobs(); *begin is when they began
 */
static int begin_jobs(struct wse_session *s, uint32_t n, uint64_t *begin)
{
	struct wse_swarm_step step = wse_slots_step(&s->io, n);
	unsigned int before = wse_failures();
	struct wse_failure finish;
	int ret = wse_session_check_whole(s);

	*begin = wse_profile_now(s->profile);
	if (!ret && s->cfg.forward) /* images and inputs are there before a device waits for them */
		ret = wse_memx_finish(s->memx);
	if (!ret && s->ranks)
		ret = wse_ranks_deal(s, &step);
	if (ret)
		return ret;
	step.step = wse_session_step(s) + 1;
	step.unit_ready = unit_ready;
	wse_session_images(s, &step);
	wse_slots_images(&s->io, n);
	ret = wse_swarm_start(s->swarm, &step);
	if (ret)
		return wse_fail_since(before, ret, "%s",
				      ret == -ENODEV ? "no device is left" : strerror(-ret));
	/* the rest of the last update, while the first unit runs */
	ret = wse_memx_finish(s->memx);
	wse_profile_span(s->profile, WSE_SPAN_FINISH, *begin);
	if (!ret)
		return 0;
	wse_failure_keep(&finish, ret);
	wse_swarm_wait(s->swarm);
	wse_profile_span(s->profile, WSE_SPAN_MICRO_BATCHES, *begin);
	return wse_failure_tell(&finish);
}

static int end_jobs(struct wse_session *s, uint64_t begin)
{
	unsigned int before = wse_failures();
	int ret = wse_swarm_wait(s->swarm);

	wse_profile_span(s->profile, WSE_SPAN_MICRO_BATCHES, begin);
	/* another rank failed; this one may have, too, and then says so */
	if (ret && s->ranks && wse_ranks_failed(s->ranks) && wse_swarm_alive(s->swarm))
		return ret;
	/* no device's fault: a scratch file is bad */
	if (ret && wse_swarm_alive(s->swarm))
		return wse_fail_since(before, ret, "%s", strerror(-ret));
	if (ret)
		return wse_fail_in(wse_fail_since(before, ret, "%s", strerror(-ret)),
				   "step %llu: the last device failed: ",
				   (unsigned long long)wse_session_step(s) + 1);
	return 0;
}

static int run_jobs(struct wse_session *s, uint32_t n)
{
	uint64_t begin;
	int ret = begin_jobs(s, n, &begin);

	return ret ? ret : end_jobs(s, begin);
}

int wse_session_scatter(struct wse_session *s)
{
	int ret;

	if (!s->scattered)
		wse_slots_scatter(&s->io);
	s->scattered = 1;
	ret = wse_memx_squares(s->memx);
	s->squared = !ret;
	return ret;
}

struct all_params {
	struct wse_session *s;
	float *p;
};

static int read_params(void *ctx)
{
	struct all_params *a = ctx;
	const struct wse_tensor_table *tab = a->s->table;
	int ret = 0;

	for (uint32_t i = 0; a->p && i < tab->n && !ret; i++)
		ret = wse_memx_read(a->s->memx, WSE_MEMX_P, i, 0, tab->t[i].count,
				    a->p + tab->t[i].off);
	return ret;
}

/* all parameters, in the order of the table; NULL: no memory, or the store failed */
static float *all_params(struct wse_session *s)
{
	struct all_params a = {s, malloc(s->table->params * sizeof(*a.p))};
	int ret = wse_memx_finish(s->memx);

	ret = ret ? ret : wse_ranks_read_all(s, read_params, &a);
	if (ret) {
		free(a.p);
		a.p = NULL;
	}
	return a.p;
}

/*
 * where the first NaN of the tokens [first, end) came from, as a plain forward on the host sees it;
 * *token is its number
 */
static const char *find_nonfinite(struct wse_session *s, uint64_t first, uint64_t end,
				  uint64_t *token)
{
	const struct wse_model_family *f = s->cfg.model.family;
	float *params = f->find_nonfinite ? all_params(s) : NULL;
	const char *where = NULL;

	for (uint64_t t = first; params && t < end && !where; t++) {
		/* another micro-batch may have its slot by now */
		if (t == first || t % s->plan.tokens == 0)
			wse_slots_gather(&s->io, (uint32_t)(t / s->plan.tokens));
		where = f->find_nonfinite(&s->cfg.model, s->table, params, &s->plan.graph,
					  &s->io.jobs[t / s->plan.tokens],
					  (uint32_t)(t % s->plan.tokens));
		*token = t;
	}
	free(params);
	return where;
}

struct held_loss {
	const char *set; /* its name, "" of the only one */
	uint64_t first;	 /* number of its first token */
};

/* the first n losses, in token order, added to *sum; held: they are of held-out samples, NULL: not.
 * -ERANGE with the first layer that is not finite for one that is not */
static int add_losses(struct wse_session *s, uint64_t n, const struct held_loss *held, double *sum)
{
	unsigned long long step = wse_session_step(s);
	char who[80 + WSE_VAL_NAME];
	const char *where;
	uint64_t token;

	for (uint64_t b = 0; b < n; b++) {
		float loss = s->io.losses[b];

		*sum += wse_slots_counts(&s->io, b) ? loss : 0.0f;
		if (!wse_f32_isbad(loss))
			continue;
		if (held)
			snprintf(who, sizeof(who),
				 "evaluation%s%s at step %llu: the loss of held-out "
				 "token %llu",
				 *held->set ? " on " : "", held->set, step,
				 (unsigned long long)(held->first + b));
		else
			snprintf(who, sizeof(who), "step %llu: the loss of token %llu", step + 1,
				 (unsigned long long)b);
		where = find_nonfinite(s, b, b + 1, &token);
		return wse_fail(-ERANGE, "%s is not finite; first seen at %s%s", who,
				where ? "layer " : "the loss", where ? where : "");
	}
	return 0;
}

/* the last micro-batch's places behind the batch: its last sample, again */
static void fill_up(struct wse_session *s)
{
	for (uint64_t b = s->cfg.batch; b < s->cfg.batch + s->plan.fill; b++)
		s->samples[b] = s->samples[s->cfg.batch - 1];
}

/* the next batch of the text */
static void next_batch(struct wse_session *s)
{
	for (uint32_t b = 0; b < s->cfg.batch; b++)
		s->samples[b] = wse_data_train(&s->data, s->state.epoch, s->state.position + b);
	fill_up(s);
}

/* targets of a batch */
static uint64_t batch_tokens(const struct wse_session *s)
{
	return s->cfg.batch * s->cfg.model.span;
}

/* no gradients of the first micro-batches, or again */
static void set_backward(struct wse_session *s, uint32_t micro_batches, unsigned char backward)
{
	for (uint32_t i = 0; i < micro_batches; i++)
		s->io.jobs[i].backward = backward;
}

static int forward(struct wse_session *s, uint32_t micro_batches)
{
	int ret;

	set_backward(s, micro_batches, 0);
	ret = run_jobs(s, micro_batches);
	set_backward(s, micro_batches, 1);
	return ret;
}

/* of the samples in s->samples */
static int compute(struct wse_session *s, struct wse_step_result *r)
{
	double sum = 0.0;
	uint64_t n;
	int ret = wse_session_check_trains(s);

	if (!ret && s->ranks)
		ret = wse_ranks_meet(s, WSE_TOGETHER_STEP, wse_ranks_samples(s));
	ret = ret ? ret : wse_slots_scale(&s->io, &n);
	ret = ret ? ret : run_jobs(s, s->plan.micro_batches);
	ret = ret ? ret : add_losses(s, batch_tokens(s), NULL, &sum);
	if (ret)
		return ret;
	r->loss = sum / (double)n;
	s->scattered = s->squared = 0;
	return 0;
}

int wse_session_compute(struct wse_session *s, struct wse_step_result *r)
{
	next_batch(s);
	return compute(s, r);
}

const uint8_t *wse_session_mask(const struct wse_session *s, const uint16_t *sample)
{
	const struct wse_model *m = &s->cfg.model;
	size_t token;

	if (!s->own_samples)
		return wse_data_mask(&s->data, sample);
	if (!s->own_mask)
		return NULL;
	token = (size_t)(sample - s->own_samples) / wse_token_places(m->vocab);
	return s->own_mask + token / (m->window + m->span) * m->span;
}

static int own_batch(struct wse_session *s, const uint16_t *samples, const uint8_t *mask)
{
	const struct wse_model *m = &s->cfg.model;

	if (mask && s->plan.graph.scale_in == WSE_NO_VALUE)
		return wse_fail(-EINVAL,
				"there is a mask, and the trainer has no losses with masks: params "
				"are to have masked 1%s",
				m->masked ? ", and its model has no input of scales" : "");
	s->own_samples = samples;
	s->own_mask = mask;
	for (uint32_t b = 0; b < s->cfg.batch; b++)
		s->samples[b] = samples + ((size_t)b * (m->window + m->span) + m->window) *
						  wse_token_places(m->vocab);
	fill_up(s);
	return 0;
}

void wse_session_own_end(struct wse_session *s)
{
	s->own_samples = NULL;
	s->own_mask = NULL;
}

int wse_session_compute_on(struct wse_session *s, const uint16_t *samples, const uint8_t *mask,
			   struct wse_step_result *r)
{
	int ret = own_batch(s, samples, mask);

	return ret ? ret : compute(s, r);
}

int wse_session_loss_on(struct wse_session *s, const uint16_t *samples, const uint8_t *mask,
			double *loss)
{
	double sum = 0.0;
	uint64_t n;
	int ret = own_batch(s, samples, mask);

	if (!ret && s->ranks)
		ret = wse_ranks_meet(s, WSE_TOGETHER_EVAL, wse_ranks_samples(s));
	ret = ret ? ret : wse_slots_scale(&s->io, &n);
	ret = ret ? ret : forward(s, s->plan.micro_batches);
	ret = ret ? ret : add_losses(s, batch_tokens(s), NULL, &sum);
	if (!ret)
		*loss = sum / (double)n;
	return ret;
}

/* ---- can training go on from here? ---- */

struct probe {
	struct wse_session *s;
	struct wse_failure before, found; /* found: what it came to */
	uint64_t begin;
	int running, ended;
	const struct wse_st_progress *progress; /* of what it runs beside, NULL: of nothing */
};

static void begin_probe(struct probe *p)
{
	struct wse_session *s = p->s;

	next_batch(s);
	wse_failure_keep(&p->before, 0);
	set_backward(s, s->plan.micro_batches, 0);
	wse_failure_keep(&p->found, begin_jobs(s, s->plan.micro_batches, &p->begin));
	p->running = !p->found.err;
}

static int end_probe(struct probe *p)
{
	struct wse_session *s = p->s;
	int ret = p->running ? end_jobs(s, p->begin) : wse_failure_tell(&p->found);
	const char *where;
	uint64_t token = 0;
	double sum = 0.0;

	set_backward(s, s->plan.micro_batches, 1);
	p->ended = 1;
	if (!ret) {
		ret = add_losses(s, batch_tokens(s), NULL, &sum);
	} else if (!s->ranks) {
		wse_failure_undo(&p->before);
		where = find_nonfinite(s, 0, batch_tokens(s), &token);
		ret = where ? wse_fail(-ERANGE, "step %llu: token %llu is not finite at %s",
				       (unsigned long long)wse_session_step(s) + 1,
				       (unsigned long long)token, where)
			    : wse_memx_finish(s->memx);
	}
	return wse_failure_keep(&p->found, ret);
}

int wse_session_probe(struct wse_session *s)
{
	struct probe p = {.s = s};
	int ret = wse_ranks_meet(s, WSE_TOGETHER_PROBE, 0);

	if (ret)
		return ret;
	begin_probe(&p);
	return end_probe(&p);
}

static void probe_wrote(void *ctx, uint64_t done, uint64_t total)
{
	const struct probe *p = ctx;

	if (p->progress && p->progress->wrote)
		p->progress->wrote(p->progress->ctx, done, total);
}

static int probe_whole(void *ctx)
{
	struct probe *p = ctx;
	int ret = p->progress && p->progress->whole ? p->progress->whole(p->progress->ctx) : 0;

	return ret ? ret : end_probe(p);
}

int wse_session_save_probed(struct wse_session *s, const char *path,
			    const struct wse_st_progress *progress)
{
	struct probe p = {.s = s, .progress = progress};
	const struct wse_st_progress mine = {probe_wrote, &p, probe_whole,
					     progress ? progress->hash : NULL};
	struct wse_failure saved;
	int ret;

	if (s->ranks) { /* state of the others comes by messages, as their gradients do */
		ret = wse_session_probe(s);
		return ret ? ret : wse_session_save(s, path, progress);
	}
	begin_probe(&p);
	wse_failure_keep(&saved, wse_session_save(s, path, &mine));
	if (!p.ended)
		end_probe(&p);
	return wse_failure_tell(p.found.err ? &p.found : &saved);
}

int wse_session_check_grads(struct wse_session *s)
{
	int ret = s->squared ? 0 : wse_ranks_meet(s, WSE_TOGETHER_CHECK, 0);
	uint32_t bad;

	ret = ret ? ret : wse_session_scatter(s);
	if (ret)
		return ret;
	bad = wse_memx_bad_grad(s->memx);
	return bad == WSE_NO_TENSOR
		       ? 0
		       : wse_fail(-ERANGE, "step %llu: the gradient of %s is not finite",
				  (unsigned long long)wse_session_step(s) + 1,
				  s->table->t[bad].name);
}

int wse_session_eval(struct wse_session *s, uint32_t set, uint64_t max_batches, double *loss,
		     uint64_t *samples)
{
	const struct wse_config_val *v = &s->cfg.val[set];
	uint64_t n = s->data.val[set].samples, done = 0, span = s->cfg.model.span;
	uint64_t batch = v->batch ? v->batch : s->cfg.batch; /* for max_batches alone */
	uint64_t per = s->plan.tokens / span;		     /* samples of a micro-batch */
	uint64_t begin = wse_profile_now(s->profile);
	uint64_t tokens = 0;
	double sum = 0.0;
	int ret = wse_ranks_eval(s, set, max_batches);

	if (ret)
		return ret;
	if (max_batches && n / batch >= max_batches)
		n = max_batches * batch;
	if (!n)
		return wse_fail(-ENODATA,
				"val_dataloader%s%s.held_out_bytes %llu hold no sample of %u "
				"tokens: choose %u",
				v->name[0] ? " " : "", v->name, (unsigned long long)v->held_out,
				s->cfg.model.span, s->cfg.model.span);
	while (done < n) {
		uint64_t left = n - done < s->cfg.batch ? n - done : s->cfg.batch;
		uint32_t m = (uint32_t)((left + per - 1) / per);
		const struct held_loss held = {v->name, done};

		for (uint64_t b = 0; b < m * per; b++) /* the last sample fills up */
			s->samples[b] =
				wse_data_held(&s->data, set, done + (b < left ? b : left - 1));
		ret = forward(s, m);
		ret = ret ? ret : add_losses(s, left * span, &held, &sum);
		if (ret)
			return ret;
		for (uint64_t i = 0; i < left * span; i++)
			tokens += (uint64_t)wse_slots_counts(&s->io, i);
		done += left;
	}
	wse_profile_span(s->profile, WSE_SPAN_EVAL, begin);
	if (!tokens)
		return wse_fail(-ENODATA,
				"no held-out token%s%s counts: their loss masks are all 0",
				v->name[0] ? " of " : "", v->name);
	*loss = sum / (double)tokens;
	*samples = n;
	return 0;
}
