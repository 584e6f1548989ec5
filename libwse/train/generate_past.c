// SPDX-License-Identifier: MIT
/* Texts with the keys and values of what came before. */
#include "train/generate_past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/past.h"

struct wse_gen_past {
	struct wse_session *s;
	struct wse_buf_pool pool;
	struct wse_past past;
	uint32_t texts;
	uint32_t *done; /* [texts] rows of T tokens whose keys and values are there */
	uint32_t *now;	/* [texts] the row that is made */
	struct wse_micro_batch job;
	const uint16_t **some; /* samples of a whole micro-batch */
};

static void free_buffers(struct wse_gen_past *p)
{
	for (uint32_t i = 0; i < WSE_GRAPH_IO; i++) {
		if (p->job.in[i].buf)
			p->pool.free(p->pool.ctx, p->job.in[i].buf);
		if (p->job.out[i].buf)
			p->pool.free(p->pool.ctx, p->job.out[i].buf);
	}
}

static int make_buffers(struct wse_gen_past *p)
{
	const struct wse_graph *g = &p->past.g;
	int ret = 0;

	for (uint32_t i = 0; i < g->nin && !ret; i++) {
		ret = p->pool.alloc(p->pool.ctx, g->in[i].bytes, &p->job.in[i].buf);
		if (!ret)
			memset(wse_span_ptr(p->job.in[i]), 0, g->in[i].bytes);
	}
	for (uint32_t i = 0; i < g->nout && !ret; i++)
		ret = p->pool.alloc(p->pool.ctx, g->out[i].bytes, &p->job.out[i].buf);
	return ret;
}

int wse_gen_past_open(struct wse_session *s, uint32_t texts, struct wse_gen_past **to)
{
	struct wse_gen_past *p = calloc(1, sizeof(*p));
	int ret;

	*to = NULL;
	if (!p)
		return -ENOMEM;
	p->s = s;
	p->pool = wse_swarm_pool(s->swarm);
	p->texts = texts;
	ret = wse_past_make(&s->plan.graph, texts, &p->past);
	if (ret) {
		free(p);
		return ret;
	}
	p->some = calloc(s->plan.tokens, sizeof(*p->some));
	p->done = calloc(texts, sizeof(*p->done));
	p->now = calloc(texts, sizeof(*p->now));
	ret = p->some && p->done && p->now ? make_buffers(p) : -ENOMEM;
	ret = ret ? ret : wse_swarm_prepare(s->swarm, &p->past.g);
	if (ret) {
		struct wse_failure first;

		wse_failure_keep(&first, ret);
		if (wse_gen_past_close(p))
			return wse_fail_in(-EIO, "after %.200s: ", first.text);
		return wse_failure_undo(&first), ret;
	}
	*to = p;
	return 0;
}

int wse_gen_past_close(struct wse_gen_past *p)
{
	int ret;

	if (!p)
		return 0;
	ret = wse_swarm_prepare(p->s->swarm, &p->s->plan.graph);
	free_buffers(p);
	wse_graph_fini(&p->past.g);
	free(p->some);
	free(p->done);
	free(p->now);
	free(p);
	return ret;
}

/* the inputs of a row of each text, out of those of whole windows */
static void gather(struct wse_gen_past *p, const uint16_t *const *samples)
{
	const struct wse_session *s = p->s;
	const struct wse_graph *whole = &s->plan.graph, *g = &p->past.g;
	const struct wse_model *m = &s->cfg.model;
	struct wse_micro_batch job = s->io.jobs[0];
	uint32_t per = s->plan.tokens / m->span, tokens = wse_graph_tokens(g);
	uint16_t *count = wse_span_ptr(p->job.in[p->past.count]);

	for (uint32_t k = 0; k < p->texts; k++) {
		uint32_t at = k % per * m->span + p->now[k] * g->t;

		for (uint32_t i = 0; i < per && k % per == 0; i++)
			p->some[i] = samples[k + i < p->texts ? k + i : p->texts - 1];
		if (k % per == 0)
			m->family->gather(m, whole, wse_memx_inputs(s->memx), p->some, &job);
		for (uint32_t i = 0; i < p->past.nfrom; i++) {
			const char *from = wse_span_ptr(job.in[p->past.from[i]]);
			size_t e = p->past.element[i], rows = g->in[i].bytes / tokens / e;
			char *to = wse_span_ptr(p->job.in[i]);

			for (size_t r = 0; r < rows; r++)
				memcpy(to + (r * tokens + k * g->t) * e,
				       from + (r * s->plan.tokens + at) * e, g->t * e);
		}
		for (uint32_t i = 0; i < g->t; i++)
			count[k * g->t + i] = (uint16_t)p->now[k];
	}
}

static int run(struct wse_gen_past *p, int logits)
{
	struct wse_graph *g = &p->past.g;
	struct wse_swarm_step step = {.graph = g, .jobs = &p->job, .n = 1};
	int ret;

	g->nforward = logits ? g->nops : p->past.last_made;
	p->job.images = wse_memx_images(p->s->memx);
	wse_session_images(p->s, &step);
	ret = wse_swarm_start(p->s->swarm, &step);
	ret = ret ? ret : wse_swarm_wait(p->s->swarm);
	p->s->rows_made += !ret;
	return ret;
}

/* the keys and values of a text's row that will not change any more */
static void keep(struct wse_gen_past *p, uint32_t text, uint32_t chunk)
{
	const struct wse_past *past = &p->past;
	const size_t keys = 2 * past->keys, n = wse_graph_tokens(&past->g), t = past->g.t;
	const size_t columns = (size_t)past->layers * past->g.tile.cols;
	const uint16_t *from = (uint16_t *)wse_span_ptr(p->job.out[past->made]) + text * t;
	uint16_t *to = (uint16_t *)wse_span_ptr(p->job.in[past->past]) + text * t;

	for (size_t c = 0; c < columns; c++)
		for (size_t f = 0; f < keys; f++)
			memcpy(to + ((c * keys + f) * past->chunks + chunk) * n,
			       from + ((c + 1) * past->rows - keys + f) * n, t * sizeof(*to));
}

/* the row that a text with n inputs needs next, its last one again when all are there */
static uint32_t row_of(const struct wse_gen_past *p, uint32_t text, uint32_t n)
{
	uint32_t last = (n - 1) / p->past.g.t;

	return p->done[text] < last ? p->done[text] : last;
}

int wse_gen_past_logits(struct wse_gen_past *p, const uint16_t *const *samples, const uint32_t *n,
			const float **logits, size_t *stride)
{
	uint32_t t = p->past.g.t, rows = 0;
	int ret = wse_memx_finish(p->s->memx);

	/* the text that is furthest behind says how many; the others stay at their last one */
	for (uint32_t k = 0; k < p->texts; k++) {
		uint32_t left = (n[k] - 1) / t - row_of(p, k, n[k]) + 1;

		rows = left > rows ? left : rows;
	}
	while (rows-- && !ret) {
		for (uint32_t k = 0; k < p->texts; k++)
			p->now[k] = row_of(p, k, n[k]);
		gather(p, samples);
		ret = run(p, !rows);
		for (uint32_t k = 0; k < p->texts && !ret; k++) {
			if (n[k] < (p->now[k] + 1) * t)
				continue;
			keep(p, k, p->now[k]);
			p->done[k] = p->now[k] + 1;
		}
	}
	*logits = wse_span_ptr(p->job.out[p->past.g.logits]);
	*stride = wse_graph_tokens(&p->past.g);
	return ret;
}

size_t wse_gen_past_at(const struct wse_gen_past *p, uint32_t k, uint32_t n)
{
	return (size_t)k * p->past.g.t + (n - 1) % p->past.g.t;
}
