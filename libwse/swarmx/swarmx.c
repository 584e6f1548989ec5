// SPDX-License-Identifier: MIT
/* SwarmX: a worker thread per device, one step at a time, repeated when a device is lost. */
#include "swarmx_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

double wse_swarm_gap(const struct wse_swarm *s)
{
	return s->gap;
}

int wse_swarm_open(struct wse_exec **execs, uint32_t n, const struct wse_exec_cfg *log,
		   struct wse_swarm **swarm)
{
	struct wse_swarm *s;
	int ret = 0;

	*swarm = NULL;
	if (!n || n > WSE_SWARM_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (log)
		s->log = *log;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->pool_lock, NULL);
	pthread_cond_init(&s->cond, NULL);
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct worker *w = &s->w[i];

		*w = (struct worker){.s = s, .exec = execs[i], .id = i, .alive = 1};
		execs[i]->id = i;
		ret = -pthread_create(&w->thread, NULL, wse_worker_main, w);
		if (!ret)
			s->n++;
	}
	if (ret) { /* the executors stay the caller's */
		for (uint32_t i = 0; i < s->n; i++)
			s->w[i].exec = NULL;
		wse_swarm_close(s);
		return ret;
	}
	*swarm = s;
	return 0;
}

static void give_back(struct wse_swarm *s, struct pool_buf *b)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->w[i].exec && s->w[i].exec != b->buf.owner)
			s->w[i].exec->ops->unmap(s->w[i].exec, &b->buf);
	b->buf.owner->ops->free(b->buf.owner, &b->buf);
	free(b);
}

void wse_swarm_close(struct wse_swarm *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = 1;
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
	for (uint32_t i = 0; i < s->n; i++)
		pthread_join(s->w[i].thread, NULL);
	for (uint32_t l = 0; l < s->nreduce; l++)
		wse_reduce_fini(&s->reduce[l]);
	for (uint32_t i = 0; i < s->nrows; i++)
		wse_row_sum_fini(&s->rows[i]);
	for (uint32_t i = 0; i < s->n; i++)
		free(s->w[i].rows);
	if (s->file)
		wse_bank_fini(&s->bank);
	free(s->reduce);
	free(s->rows);
	free(s->order);
	free(s->in);
	free(s->shared);
	while (s->bufs) {
		struct pool_buf *b = s->bufs;

		s->bufs = b->next;
		give_back(s, b);
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (s->w[i].exec)
			s->w[i].exec->ops->close(s->w[i].exec);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->pool_lock);
	pthread_cond_destroy(&s->cond);
	free(s);
}

/*
 * A device that is gone has no memory, and it is the next one's turn: it is found to be lost when
 * its own worker uses it, which must not take along the one that asks.
 */
static int alloc_on_first(struct wse_swarm *s, size_t size, struct wse_shared_buf *buf,
			  uint32_t *owner)
{
	int ret = -ENODEV;

	for (uint32_t i = 0; i < s->n && ret == -ENODEV; i++) {
		struct wse_exec *e = s->w[i].exec;

		if (!s->w[i].alive && i + 1 < s->n)
			continue;
		ret = e->ops->alloc(e, size, buf);
		*owner = i;
	}
	return ret;
}

static int pool_alloc(void *ctx, size_t size, struct wse_shared_buf **buf)
{
	struct wse_swarm *s = ctx;
	struct pool_buf *b = calloc(1, sizeof(*b));
	struct wse_failure before;
	struct wse_exec *e;
	uint32_t i, owner = 0;
	int ret;

	if (!b)
		return -ENOMEM;
	wse_failure_keep(&before, 0);
	pthread_mutex_lock(&s->pool_lock);
	ret = alloc_on_first(s, size, &b->buf, &owner);
	if (ret)
		goto out;
	e = s->w[owner].exec;
	for (i = 0; i < s->n && !ret; i++) {
		if (i != owner && s->w[i].alive)
			ret = s->w[i].exec->ops->map(s->w[i].exec, &b->buf);
		if (ret == -ENODEV) /* as above: its commands that name the buffer fail */
			ret = 0;
	}
	if (ret) {
		while (i-- > 1)
			if (i - 1 != owner && s->w[i - 1].alive)
				s->w[i - 1].exec->ops->unmap(s->w[i - 1].exec, &b->buf);
		e->ops->free(e, &b->buf);
		goto out;
	}
	wse_failure_undo(&before);
	*buf = &b->buf;
	b->next = s->bufs;
	s->bufs = b;
	b = NULL;
out:
	pthread_mutex_unlock(&s->pool_lock);
	free(b);
	return ret;
}

static void pool_free(void *ctx, struct wse_shared_buf *buf)
{
	struct wse_swarm *s = ctx;

	pthread_mutex_lock(&s->pool_lock);
	for (struct pool_buf **at = &s->bufs; *at; at = &(*at)->next) {
		struct pool_buf *b = *at;

		if (&b->buf == buf) {
			*at = b->next;
			give_back(s, b);
			break;
		}
	}
	pthread_mutex_unlock(&s->pool_lock);
}

struct wse_buf_pool wse_swarm_pool(struct wse_swarm *s)
{
	return (struct wse_buf_pool){pool_alloc, pool_free, s};
}

uint32_t wse_swarm_alive(const struct wse_swarm *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->w[i].alive != 0;
	return n;
}

uint32_t wse_swarm_size(const struct wse_swarm *s)
{
	return s->n;
}

int wse_swarm_prepare(struct wse_swarm *s, const struct wse_graph *g)
{
	struct wse_failure first = {0}, lost = {0}, none;
	int ret;

	if (s->in_flight)
		return -EINVAL;
	wse_failure_keep(&none, 0);
	/* all of them, behind an error, too: the graph before may be freed then */
	for (uint32_t i = 0; i < s->n; i++) {
		struct worker *w = &s->w[i];
		unsigned int before = wse_failures();

		ret = w->exec->ops->prepare(w->exec, w->alive ? g : NULL);
		if (!w->alive || !ret)
			continue;
		wse_fail_since(before, ret, "%s", strerror(-ret));
		if (ret == -ENODEV) {
			w->alive = 0;
			wse_failure_keep(&lost, ret);
			wse_logf(&s->log, WSE_LOG_WARN, "device %u is lost (%s)", w->id, lost.text);
		} else if (!first.err) {
			wse_failure_keep(&first, ret);
		}
	}
	if (!first.err && lost.err && !wse_swarm_alive(s))
		first = lost;
	return wse_failure_undo(first.err ? &first : &none);
}

int wse_swarm_cost(const struct wse_swarm *s, uint32_t device, struct wse_exec_cost *cost)
{
	struct wse_exec *e = device < s->n ? s->w[device].exec : NULL;

	if (!e)
		return -EINVAL;
	return e->ops->cost ? e->ops->cost(e, cost) : -ENOTSUP;
}

int wse_swarm_record(const struct wse_swarm *s, uint32_t device, wse_record_fn fn, void *ctx)
{
	struct wse_exec *e = device < s->n ? s->w[device].exec : NULL;

	if (!e)
		return -EINVAL;
	return e->ops->record ? e->ops->record(e, fn, ctx) : -ENOTSUP;
}

void wse_swarm_pause(const struct wse_swarm *s, uint32_t device, const struct wse_pauses *pauses)
{
	struct wse_exec *e = device < s->n ? s->w[device].exec : NULL;

	if (e && e->ops->pause)
		e->ops->pause(e, pauses);
}

void wse_swarm_spans(struct wse_swarm *s, const struct wse_spans *spans)
{
	s->spans = *spans;
}

struct wse_device *wse_swarm_device(const struct wse_swarm *s, uint32_t device)
{
	struct wse_exec *e = device < s->n && s->w[device].alive ? s->w[device].exec : NULL;

	return e && e->ops->device ? e->ops->device(e) : NULL;
}

int wse_swarm_name(const struct wse_swarm *s, uint32_t device, struct wse_exec_info *info)
{
	if (device >= s->n || !s->w[device].exec)
		return -EINVAL;
	s->w[device].exec->ops->info(s->w[device].exec, info);
	return 0;
}

/* contiguous ranges of the index, as equal as they can be */
static void hand_out(struct wse_swarm *s)
{
	uint64_t alive = wse_swarm_alive(s), i = 0;
	uint32_t first = s->step.share ? s->step.first : 0;
	uint32_t n = s->step.share ? s->step.end - first : s->step.n;

	for (uint32_t l = 0; l < s->nreduce; l++) {
		if (s->step.share_unit && s->shared[l])
			continue;
		wse_reduce_begin(&s->reduce[l], s->step.n);
		if (s->step.share_unit)
			s->in[l] = 0;
	}
	for (uint32_t i = 0; i < s->nrows; i++)
		wse_row_sum_begin(&s->rows[i], s->step.n);
	__atomic_store_n(&s->failed, 0, __ATOMIC_RELAXED);
	pthread_mutex_lock(&s->lock);
	for (uint32_t d = 0; d < s->n; d++) {
		struct worker *w = &s->w[d];

		if (!w->alive)
			continue;
		w->lent = 0;
		w->served = 0;
		w->no_device = 0;
		w->first = first + (uint32_t)(i * n / alive);
		w->n = first + (uint32_t)((i + 1) * n / alive) - w->first;
		w->begun++;
		i++;
	}
	pthread_cond_broadcast(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

/* for so many tensors, made once for a graph: at first there are none */
static int make_row_sums(struct wse_swarm *s, uint32_t nrows)
{
	if (s->rows)
		return -EINVAL;
	s->rows = calloc(nrows, sizeof(*s->rows));
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->w[i].rows);
		s->w[i].rows = calloc(nrows, sizeof(*s->w[i].rows));
		if (!s->w[i].rows)
			return -ENOMEM;
	}
	while (s->rows && s->nrows < nrows) {
		int ret = wse_row_sum_init(&s->rows[s->nrows]);

		if (ret)
			return ret;
		s->nrows++;
	}
	return s->rows ? 0 : -ENOMEM;
}

/* a reduction for each unit, and for rows, made once for a graph */
static int make_reductions(struct wse_swarm *s, const struct wse_graph *g, uint32_t nrows)
{
	struct wse_buf_pool pool = wse_swarm_pool(s);

	if (!s->reduce)
		s->reduce = calloc(g->nunits + 1, sizeof(*s->reduce));
	if (!s->reduce)
		return -ENOMEM;
	while (s->nreduce < g->nunits) {
		uint32_t i = s->nreduce;
		int ret = wse_reduce_init(&s->reduce[i], &pool,
					  wse_unit_grad_floats(g, &g->units[i]));

		if (ret)
			return ret;
		if (s->file)
			wse_reduce_in_file(&s->reduce[i], s->file, i, s->stays && s->stays[i],
					   &s->bank);
		s->nreduce++;
	}
	return s->nrows < nrows ? make_row_sums(s, nrows) : 0;
}

/*
 * units as a backward pass completes them: those whose gradient is written first, and last the
 * parked
 */
static int order_units(struct wse_swarm *s, const struct wse_swarm_step *step)
{
	const struct wse_graph *g = step->graph;
	uint32_t parked = step->host ? step->host->parked : WSE_NO_UNIT, n = g->nunits;

	if (!s->order) {
		s->order = calloc(n + 1ul, sizeof(*s->order));
		s->in = calloc(n + 1ul, sizeof(*s->in));
		s->shared = calloc(n + 1ul, 1);
	}
	if (!s->order || !s->in || !s->shared)
		return -ENOMEM;
	for (uint32_t u = 0; u < n; u++) {
		uint32_t at = u;

		for (; at && u != parked &&
		       (s->order[at - 1] == parked ||
			g->units[s->order[at - 1]].grad_last > g->units[u].grad_last);
		     at--)
			s->order[at] = s->order[at - 1];
		s->order[at] = u;
	}
	memset(s->shared, 0, n);
	return 0;
}

/* of a device that may have others besides it: sum of all units, most that are made at once */
static uint64_t at_a_time(uint64_t sum, uint64_t most, int take)
{
	uint64_t limit = WSE_SWARM_AT_A_TIME;

	if (take && 2 * most < limit)
		limit = 2 * most;
	limit = most > limit ? most : limit;
	return sum < limit ? sum : limit;
}

/* bytes of the gradients that are begun and not complete when a unit's begins, with that one */
static uint64_t grads_open(const struct wse_graph *g, const uint64_t *bytes, uint32_t parked,
			   uint32_t unit)
{
	uint32_t at = g->units[unit].grad_first;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->nunits; i++)
		if (i != parked && g->units[i].grad_first <= at && g->units[i].grad_last >= at)
			sum += bytes[i];
	return sum;
}

/*
 * What units' gradients take, all, and those that are made at once: the largest, or more of them
 * where a feed-forward network goes by chunks. One that is parked is another matter
 */
static uint64_t grads_of(const struct wse_graph *g, const uint64_t *bytes, uint32_t parked,
			 uint64_t *most)
{
	uint64_t sum = 0;

	*most = 0;
	for (uint32_t i = 0; i < g->nunits; i++) {
		uint64_t open = i == parked ? 0 : grads_open(g, bytes, parked, i);

		if (i == parked)
			continue;
		sum += bytes[i];
		*most = open > *most ? open : *most;
	}
	return sum;
}

uint64_t wse_swarm_grad_bytes(const struct wse_graph *g, const uint64_t *bytes, uint32_t devices,
			      uint32_t n, uint32_t parked, int take)
{
	uint64_t most, sum = grads_of(g, bytes, parked, &most), held = 0;

	if (parked != WSE_NO_UNIT)
		held = bytes[parked] * (n / devices < WSE_EXEC_AHEAD ? 1 : WSE_EXEC_AHEAD);
	return (n < devices ? n : devices) * (at_a_time(sum, most, take) + held);
}

static uint32_t parked_unit(const struct wse_swarm_host *h)
{
	return h ? h->parked : WSE_NO_UNIT;
}

void wse_swarm_grad_file(struct wse_swarm *s, struct wse_grad_file *file,
			 const unsigned char *stays)
{
	struct wse_buf_pool pool = wse_swarm_pool(s);

	if (!wse_bank_init(&s->bank, &pool))
		s->file = file;
	s->stays = stays;
}

/* bytes of a unit's gradient in a step, of a packed one about so many */
static uint64_t bytes_of(const struct wse_swarm_step *step, uint32_t unit)
{
	const struct wse_unit *u = &step->graph->units[unit];
	const struct wse_image *img = step->jobs[0].images ? &step->jobs[0].images[unit] : NULL;

	if (!img || !img->packs || !wse_image_grad_mask(img) || u->density <= 0.0)
		return wse_unit_grad_floats(step->graph, u) * sizeof(float);
	return (wse_masks_packed(step->graph, u) + (uint64_t)u->vec_rows * step->graph->tile.cols) *
	       sizeof(float);
}

/* with a file: what of gradients is in memory all the same. -ENOMEM */
static int limit_grads(struct wse_swarm *s, const struct wse_swarm_step *step)
{
	const uint32_t parked = parked_unit(step->host);
	const int take = step->unit_take != NULL;
	uint64_t *bytes = calloc(step->graph->nunits + 1ul, sizeof(*bytes)), most, sum;

	if (!bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < step->graph->nunits; i++)
		bytes[i] = bytes_of(step, i);
	sum = grads_of(step->graph, bytes, parked, &most);
	s->at_a_time = at_a_time(sum, most, take);
	wse_bank_limit(&s->bank, wse_swarm_grad_bytes(step->graph, bytes, wse_swarm_alive(s),
						      step->n, parked, take));
	free(bytes);
	return 0;
}

int wse_swarm_start(struct wse_swarm *s, const struct wse_swarm_step *step)
{
	int ret;

	if (s->in_flight || !step->n)
		return -EINVAL;
	if (!wse_swarm_alive(s))
		return -ENODEV;
	ret = make_reductions(s, step->graph, step->host ? step->host->nrows : 0);
	if (!ret && step->share_unit)
		ret = order_units(s, step);
	if (!ret && s->file)
		ret = limit_grads(s, step);
	if (ret)
		return ret;
	s->step = *step;
	s->in_flight = 1;
	s->gap = 0.0;
	s->waiting = 1;
	if (!step->jobs[0].backward)
		s->ended = 0.0;
	hand_out(s);
	if (step->host && step->host->by_caller)
		wse_worker_serve_first(s);
	return 0;
}

/* of what is no step of a training run, such as text that is made, the number is 0 */
static void log_lost(const struct wse_swarm *s, const struct worker *w)
{
	char step[40] = "";

	if (s->step.step)
		snprintf(step, sizeof(step), " in step %llu", (unsigned long long)s->step.step);
	wse_logf(&s->log, WSE_LOG_WARN, "device %u is lost (%s)%s", w->id, w->failure.text, step);
}

static void log_again(const struct wse_swarm *s)
{
	if (s->step.step)
		wse_logf(&s->log, WSE_LOG_WARN,
			 "nothing was committed: step %llu is repeated on the remaining %u",
			 (unsigned long long)s->step.step, wse_swarm_alive(s));
	else
		wse_logf(&s->log, WSE_LOG_WARN, "what it was at is repeated on the remaining %u",
			 wse_swarm_alive(s));
}

/*
 * wait for all workers; take out those whose device failed. What a lost device, or a worker whose
 * device is good all the same, failed with; NULL: none did. again: the other devices may do it
 */
static const struct wse_failure *collect(struct wse_swarm *s, int *again)
{
	const struct wse_failure *lost = NULL, *other = NULL;

	pthread_mutex_lock(&s->lock);
	for (uint32_t d = 0; d < s->n; d++)
		while (s->w[d].begun != s->w[d].done)
			wse_worker_serve(s);
	/* only now, when no worker looks at it any more */
	for (uint32_t d = 0; d < s->n; d++) {
		struct worker *w = &s->w[d];

		if (!w->alive || !w->failure.err || w->failure.err == -ECANCELED)
			continue;
		if (w->no_device) {
			other = &w->failure;
		} else {
			w->alive = 0;
			lost = &w->failure;
			log_lost(s, w);
		}
	}
	pthread_mutex_unlock(&s->lock);
	*again = !other;
	return other ? other : lost;
}

/*
 * all workers come to their end, on those that are left if need be; -errno of the last device, or
 * of what no other device would do better
 */
static int complete(struct wse_swarm *s)
{
	const struct wse_failure *lost;
	int again;

	while ((lost = collect(s, &again))) {
		if (!again || !wse_swarm_alive(s))
			return wse_failure_tell(lost);
		log_again(s);
		hand_out(s);
	}
	return wse_swarm_failed(s) ? -ECANCELED : 0;
}

static int all_done(const struct wse_swarm *s)
{
	for (uint32_t d = 0; d < s->n; d++)
		if (s->w[d].begun != s->w[d].done)
			return 0;
	return 1;
}

/* until the leaves of this rank are in, or all workers are done: whether they are */
static int wait_unit(struct wse_swarm *s, uint32_t unit)
{
	int in;

	pthread_mutex_lock(&s->lock);
	while (s->in[unit] < s->step.end - s->step.first && !all_done(s))
		wse_worker_serve(s);
	in = s->in[unit] == s->step.end - s->step.first;
	pthread_mutex_unlock(&s->lock);
	return in;
}

static int share_units(struct wse_swarm *s)
{
	for (uint32_t i = 0; i < s->nreduce; i++) {
		uint32_t unit = s->order[i];
		int ret;

		if (!wait_unit(s, unit)) {
			ret = complete(s);
			if (ret)
				return ret;
			if (!wait_unit(s, unit))
				return -EPROTO; /* an executor that kept a gradient */
		}
		ret = s->step.share_unit(s->step.share_ctx, &s->reduce[unit], unit);
		if (ret) {
			__atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
			collect(s, &(int){0});
			return ret;
		}
		s->shared[unit] = 1;
	}
	return 0;
}

int wse_swarm_wait(struct wse_swarm *s)
{
	int ret = 0;

	if (!s->in_flight)
		return -EINVAL;
	if (s->step.share_unit && s->step.jobs[0].backward)
		ret = share_units(s);
	ret = ret ? ret : complete(s);
	s->in_flight = 0;
	if (!ret && s->step.share)
		ret = s->step.share(s->step.share_ctx, s->rows,
				    s->step.host ? s->step.host->nrows : 0);
	if (ret)
		return ret;
	for (uint32_t i = 0; s->step.jobs[0].backward && i < s->nreduce; i++) {
		if (!wse_reduce_whole(&s->reduce[i]))
			return -EPROTO; /* an executor that kept a gradient */
		s->step.grads[i] = wse_reduce_take(&s->reduce[i]);
	}
	for (uint32_t i = 0; s->step.jobs[0].backward && s->step.host && i < s->step.host->nrows;
	     i++) {
		s->step.rows[i] = wse_row_sum_take(&s->rows[i]);
		if (!s->step.rows[i])
			return -EPROTO;
	}
	if (s->file && s->step.jobs[0].backward) /* a checkpoint has their memory until then */
		wse_bank_empty(&s->bank);
	return 0;
}

uint64_t wse_swarm_grads_held(struct wse_swarm *s)
{
	return s->file ? s->bank.most : 0;
}

void wse_swarm_give_back(void *ctx, uint32_t unit)
{
	struct wse_swarm *s = ctx;

	if (unit < s->nreduce)
		wse_reduce_give_back(&s->reduce[unit]);
}
