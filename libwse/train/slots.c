// SPDX-License-Identifier: MIT
/* Inputs, outputs and losses of micro-batches: in slots, or of a whole step. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "session.h"

static uint32_t samples_of(const struct wse_session *s)
{
	return s->plan.tokens / s->cfg.model.span;
}

/* a job reads and writes its slot's part of the buffers */
static void place(struct wse_slots *b, struct wse_micro_batch *job, size_t slot)
{
	const struct wse_graph *g = &b->s->plan.graph;

	for (uint32_t i = 0; i < g->nin; i++)
		job->in[i] = (struct wse_span){b->in[i], slot * wse_align64(g->in[i].bytes)};
	for (uint32_t i = 0; i < g->nout; i++)
		if (i != g->logits)
			job->out[i] =
				(struct wse_span){b->out[i], slot * wse_align64(g->out[i].bytes)};
}

/* of a micro-batch, where not all tokens count */
static void scales(const struct wse_slots *b, struct wse_micro_batch *job,
		   const uint16_t *const *samples)
{
	const struct wse_session *s = b->s;
	uint32_t span = s->cfg.model.span;
	float *scale = wse_span_ptr(job->in[s->plan.graph.scale_in]);

	for (uint32_t t = 0; t < s->plan.tokens; t += span) {
		const uint8_t *mask = wse_session_mask(s, samples[t / span]);

		for (uint32_t i = 0; i < span; i++)
			scale[t + i] = !mask || mask[i] ? job->scale : 0.0f;
	}
}

void wse_slots_gather_one(struct wse_slots *b, struct wse_micro_batch *job,
			  const uint16_t *const *samples)
{
	const struct wse_session *s = b->s;
	const struct wse_graph *g = &s->plan.graph;
	uint32_t span = s->cfg.model.span, vocab = s->cfg.model.vocab;
	uint16_t *target = wse_span_ptr(job->in[g->target]);

	for (uint32_t t = 0; t < s->plan.tokens; t++)
		wse_token_put(target, t, vocab, wse_token(samples[t / span], t % span, vocab));
	if (g->scale_in != WSE_NO_VALUE)
		scales(b, job, samples);
	s->cfg.model.family->gather(&s->cfg.model, g, wse_memx_inputs(s->memx), samples, job);
}

int wse_slots_counts(const struct wse_slots *b, uint64_t i)
{
	const struct wse_session *s = b->s;
	uint32_t span = s->cfg.model.span;
	const uint8_t *mask = wse_session_mask(s, s->samples[i / span]);

	return !mask || mask[i % span];
}

int wse_slots_scale(struct wse_slots *b, uint64_t *n)
{
	const struct wse_session *s = b->s;
	uint64_t all = s->cfg.batch * s->cfg.model.span;
	float scale;

	*n = s->cfg.model.masked ? 0 : all;
	for (uint64_t i = 0; i < all && s->cfg.model.masked; i++)
		*n += (uint64_t)wse_slots_counts(b, i);
	if (!*n)
		return wse_fail(-EINVAL, "no token of the batch counts: its loss masks are all 0");
	scale = s->cfg.loss_weight != 0.0 ? (float)(s->cfg.loss_weight / (double)s->cfg.batch)
					  : 1.0f / (float)*n;
	if (s->cfg.model.logits_scale != 0.0f)
		scale *= s->cfg.model.logits_scale;
	for (uint32_t k = 0; k < s->plan.micro_batches; k++)
		b->jobs[k].scale = scale;
	return 0;
}

static const uint16_t *const *samples_at(const struct wse_slots *b, uint32_t index)
{
	return b->s->samples + (size_t)index * samples_of(b->s);
}

void wse_slots_gather(struct wse_slots *b, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		b->jobs[k].images = wse_memx_images(b->s->memx);
		if (!b->per)
			wse_slots_gather_one(b, &b->jobs[k], samples_at(b, k));
	}
}

static int begin(void *ctx, uint32_t device, uint32_t index)
{
	struct wse_slots *b = ctx;

	if (!b->per)
		return 0;
	place(b, &b->jobs[index], (size_t)device * b->per + index % b->per);
	wse_slots_gather_one(b, &b->jobs[index], samples_at(b, index));
	return 0;
}

static int done(void *ctx, uint32_t index, float *parked, struct wse_rows *rows)
{
	struct wse_slots *b = ctx;
	const struct wse_session *s = b->s;
	const struct wse_model *m = &s->cfg.model;
	const struct wse_micro_batch *job = &b->jobs[index];
	struct wse_leaf leaf[WSE_LEAVES] = {0};
	size_t t = s->plan.tokens;

	memcpy(b->losses + index * t, wse_span_ptr(job->out[s->plan.graph.loss]),
	       t * sizeof(float));
	if (!b->per || !job->backward)
		return 0;
	for (uint32_t i = 0, r = 0; i < b->nleaf; i++) {
		if (r < b->nrows && b->rowed[r] == b->leaf[i])
			leaf[i].rows = &rows[r++];
		else
			leaf[i].grad = parked;
	}
	return m->family->leaf(m, &s->plan.graph, job, samples_at(b, index), leaf);
}

/* which tensors the host makes gradients of, and where these go */
static int find_leaves(struct wse_slots *b)
{
	const struct wse_graph *g = &b->s->plan.graph;
	const struct wse_tensor_table *tab = b->s->table;
	uint32_t unit;

	for (uint32_t i = 0; i < tab->n; i++) {
		if (!(tab->t[i].flags & WSE_TENSOR_INPUT))
			continue;
		if (b->nleaf == WSE_LEAVES)
			return -EINVAL;
		b->leaf[b->nleaf++] = i;
		for (unit = 0; unit < g->nunits && g->units[unit].weight != i; unit++)
			;
		if (unit == g->nunits)
			b->rowed[b->nrows++] = i;
		else if (b->host.parked != WSE_NO_UNIT)
			return -EINVAL; /* one unit waits, not two */
		else
			b->host.parked = unit;
	}
	b->host.nrows = b->nrows;
	return 0;
}

int wse_slots_open(struct wse_slots *b, struct wse_session *s, const struct wse_buf_pool *pool,
		   uint32_t devices, int logits)
{
	const struct wse_graph *g = &s->plan.graph;
	size_t m = s->plan.micro_batches, slots = m;
	int ret = 0;

	*b = (struct wse_slots){.s = s, .host = {begin, done, b, WSE_NO_UNIT, 0}};
	if (s->cfg.model.family->leaf) {
		b->per = m < WSE_EXEC_AHEAD ? (uint32_t)m : WSE_EXEC_AHEAD;
		slots = (size_t)devices * b->per;
		ret = find_leaves(b);
	}
	for (uint32_t i = 0; i < g->nin && !ret; i++)
		ret = pool->alloc(pool->ctx, slots * wse_align64(g->in[i].bytes), &b->in[i]);
	for (uint32_t i = 0; i < g->nout && !ret; i++)
		if (i != g->logits || logits)
			ret = pool->alloc(pool->ctx,
					  (i == g->logits ? 1 : slots) *
						  wse_align64(g->out[i].bytes),
					  &b->out[i]);
	b->jobs = calloc(m, sizeof(*b->jobs));
	b->losses = calloc(m * s->plan.tokens, sizeof(*b->losses));
	b->sums = calloc(g->nunits + 1, sizeof(*b->sums));
	if (ret || !b->jobs || !b->sums || !b->losses)
		return ret ? ret : -ENOMEM;
	for (uint32_t k = 0; k < m; k++) {
		b->jobs[k] = (struct wse_micro_batch){
			.index = k,
			.backward = 1,
		};
		place(b, &b->jobs[k], k % slots);
	}
	return 0;
}

void wse_slots_close(struct wse_slots *b)
{
	free(b->jobs);
	free(b->losses);
	free(b->sums);
}

struct wse_swarm_step wse_slots_step(struct wse_slots *b, uint32_t n)
{
	return (struct wse_swarm_step){
		.graph = &b->s->plan.graph,
		.jobs = b->jobs,
		.n = n,
		.host = &b->host,
		.grads = b->sums,
		.rows = b->rows,
	};
}

void wse_slots_scatter(const struct wse_slots *b, float *const *adds)
{
	const struct wse_session *s = b->s;
	const struct wse_model *m = &s->cfg.model;

	for (uint32_t i = 0; i < s->plan.micro_batches && !b->per; i++)
		m->family->scatter(m, &s->plan.graph, &b->jobs[i], samples_at(b, i), adds);
	for (uint32_t i = 0; i < b->nrows; i++) {
		const struct wse_rows *r = b->rows[i];

		for (uint32_t k = 0; k < r->n; k++)
			memcpy(adds[b->rowed[i]] + (size_t)r->row[k] * r->width,
			       r->data + (size_t)k * r->width, r->width * sizeof(float));
	}
}
