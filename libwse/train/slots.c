// SPDX-License-Identifier: MIT
/* Inputs, outputs and losses of micro-batches, in slots. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "num/num.h"
#include "session.h"

/* of the run's random numbers, apart from those of tensors, text and masks */
#define DROP_STREAM (0xd209ull << 48)

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
	uint64_t end = s->cfg.batch * span; /* behind the tokens of the batch */

	for (uint32_t t = 0; t < s->plan.tokens; t += span) {
		const uint8_t *mask = wse_session_mask(s, samples[t / span]);
		int fills = (uint64_t)job->index * s->plan.tokens + t >= end;

		for (uint32_t i = 0; i < span; i++)
			scale[t + i] = !fills && (!mask || mask[i]) ? job->scale : 0.0f;
	}
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
	struct wse_session *s = b->s;
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
	for (uint32_t k = 0; k < s->plan.micro_batches; k++) {
		b->jobs[k].scale = scale;
		b->jobs[k].drop = wse_rng_u64(s->cfg.seed, DROP_STREAM, wse_session_step(s)) | 1;
	}
	return 0;
}

static const uint16_t *const *samples_at(const struct wse_slots *b, uint32_t index)
{
	return b->s->samples + (size_t)index * samples_of(b->s);
}

void wse_slots_images(struct wse_slots *b, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		b->jobs[k].images = wse_memx_images(b->s->memx);
}

void wse_slots_gather(struct wse_slots *b, uint32_t index)
{
	const struct wse_session *s = b->s;
	const struct wse_graph *g = &s->plan.graph;
	struct wse_micro_batch *job = &b->jobs[index];
	const uint16_t *const *samples = samples_at(b, index);
	uint32_t span = s->cfg.model.span, vocab = s->cfg.model.vocab;
	uint16_t *target = wse_span_ptr(job->in[g->target]);

	for (uint32_t t = 0; t < s->plan.tokens; t++)
		wse_token_put(target, t, vocab, wse_token(samples[t / span], t % span, vocab));
	if (g->scale_in != WSE_NO_VALUE)
		scales(b, job, samples);
	s->cfg.model.family->gather(&s->cfg.model, g, wse_memx_inputs(s->memx), samples, job);
}

static int begin(void *ctx, uint32_t device, uint32_t index)
{
	struct wse_slots *b = ctx;

	place(b, &b->jobs[index], (size_t)device * b->per + index % b->per);
	wse_slots_gather(b, index);
	return 0;
}

/* what a family's leaf() makes: rows, or onto the gradient that is parked */
static int add_leaf(struct wse_slots *b, uint32_t index, float *parked, struct wse_rows *rows)
{
	const struct wse_session *s = b->s;
	const struct wse_model *m = &s->cfg.model;
	struct wse_leaf leaf[WSE_LEAVES] = {0};

	for (uint32_t i = 0, r = 0; i < b->nleaf; i++) {
		if (r < b->nrows && b->rowed[r] == b->leaf[i])
			leaf[i].rows = &rows[r++];
		else
			leaf[i].grad = parked;
	}
	return m->family->leaf(m, &s->plan.graph, &b->jobs[index], samples_at(b, index), leaf);
}

/* what a callback adds, as rows */
static int scatter(struct wse_slots *b, uint32_t index, struct wse_rows *rows)
{
	const struct wse_session *s = b->s;
	const struct wse_model *m = &s->cfg.model;
	int ret = 0;

	m->family->scatter(m, &s->plan.graph, &b->jobs[index], samples_at(b, index), b->grad);
	for (uint32_t i = 0; i < b->nrows && !ret; i++) {
		const struct wse_tensor *t = &s->table->t[b->rowed[i]];

		ret = wse_rows_collect(&rows[i], b->grad[b->rowed[i]], t->dim[0], t->dim[1]);
	}
	return ret;
}

static int done(void *ctx, uint32_t index, float *parked, struct wse_rows *rows)
{
	struct wse_slots *b = ctx;
	const struct wse_session *s = b->s;
	const struct wse_micro_batch *job = &b->jobs[index];
	size_t t = s->plan.tokens;

	memcpy(b->losses + index * t, wse_span_ptr(job->out[s->plan.graph.loss]),
	       t * sizeof(float));
	if (!job->backward)
		return 0;
	return b->grad ? scatter(b, index, rows) : add_leaf(b, index, parked, rows);
}

/* the unit that a tensor is in, its matrix or (*vec 1) one of its vectors; WSE_NO_UNIT: none */
static uint32_t unit_of(const struct wse_graph *g, uint32_t tensor, int *vec)
{
	*vec = 0;
	for (uint32_t i = 0; i < g->nunits; i++) {
		if (g->units[i].weight == tensor)
			return i;
		for (uint32_t v = 0; v < g->units[i].nvec; v++)
			*vec |= g->units[i].vec[v].tensor == tensor;
		if (*vec)
			return i;
	}
	return WSE_NO_UNIT;
}

/* which tensors the host makes gradients of, and where these go */
static int find_leaves(struct wse_slots *b)
{
	const struct wse_graph *g = &b->s->plan.graph;
	const struct wse_tensor_table *tab = b->s->table;
	int own = !b->s->cfg.model.family->leaf;

	b->leaf = calloc(tab->n + 1ul, sizeof(*b->leaf));
	b->rowed = calloc(tab->n + 1ul, sizeof(*b->rowed));
	b->rows = calloc(tab->n + 1ul, sizeof(*b->rows));
	b->grad = own ? calloc(tab->n + 1ul, sizeof(*b->grad)) : NULL;
	if (!b->leaf || !b->rowed || !b->rows || (own && !b->grad))
		return -ENOMEM;
	for (uint32_t i = 0; i < tab->n; i++) {
		int vec;
		uint32_t unit = unit_of(g, i, &vec);

		if (!(tab->t[i].flags & WSE_TENSOR_INPUT) || vec)
			continue;
		if (b->nleaf == WSE_LEAVES && !own)
			return -EINVAL;
		b->leaf[b->nleaf++] = i;
		if (own || unit == WSE_NO_UNIT)
			b->rowed[b->nrows++] = i;
		else if (b->host.parked != WSE_NO_UNIT)
			return -EINVAL; /* one unit waits, not two */
		else
			b->host.parked = unit;
		if (!own || b->s->cfg.forward)
			continue;
		b->grad[i] = wse_pages_alloc(tab->t[i].count * sizeof(float));
		if (!b->grad[i])
			return -ENOMEM;
	}
	b->host.nrows = b->nrows;
	b->host.by_caller = own;
	return 0;
}

int wse_slots_open(struct wse_slots *b, struct wse_session *s, const struct wse_buf_pool *pool,
		   uint32_t devices, int logits)
{
	const struct wse_graph *g = &s->plan.graph;
	size_t m = s->plan.micro_batches, slots;
	int ret;

	*b = (struct wse_slots){.s = s,
				.per = m < WSE_EXEC_AHEAD ? (uint32_t)m : WSE_EXEC_AHEAD,
				.host = {begin, done, b, WSE_NO_UNIT, 0, 0}};
	slots = (size_t)devices * b->per;
	ret = find_leaves(b);
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
	for (uint32_t i = 0; b->grad && i < b->nrows; i++)
		free(b->grad[b->rowed[i]]);
	free(b->grad);
	free(b->leaf);
	free(b->rowed);
	free(b->rows);
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

void wse_slots_scatter(const struct wse_slots *b)
{
	float *const *adds = wse_memx_grads(b->s->memx, b->sums);

	for (uint32_t i = 0; i < b->nrows; i++) {
		const struct wse_rows *r = b->rows[i];

		if (!adds[b->rowed[i]]) { /* it is in no unit */
			wse_memx_grad_rows(b->s->memx, b->rowed[i], r);
			continue;
		}
		for (uint32_t k = 0; k < r->n; k++) {
			float *to = adds[b->rowed[i]] + (size_t)r->row[k] * r->width;
			const float *from = r->data + (size_t)k * r->width;

			for (uint32_t j = 0; j < r->width; j++)
				to[j] += from[j];
		}
	}
}
