// SPDX-License-Identifier: MIT
/* Replay of one step on one device, and the comparison. */
#include "verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

struct replay {
	struct wse_swarm *swarm;
	struct wse_buf *out[WSE_GRAPH_IO];
	struct wse_job *jobs;
	float **sums; /* [graph.nunits] */
};

/* the first of n floats that differs, in words */
static int differ(struct wse_session *s, const char *what, const char *uri, const float *a,
		  const float *b, size_t n)
{
	size_t i = 0;

	while (i < n && wse_f2u(a[i]) == wse_f2u(b[i]))
		i++;
	if (i == n)
		return 0;
	return wse_why(s->why, -EILSEQ,
		       "step %llu differs at %s[%zu]: %08x (%g) in the run, %08x "
		       "(%g) on %.60s",
		       (unsigned long long)wse_session_step(s) + 1, what, i, wse_f2u(a[i]), a[i],
		       wse_f2u(b[i]), b[i], uri);
}

/* the replay writes to buffers of its own and reads the run's, which its device has to see */
static int run(struct wse_session *s, struct wse_exec *e, struct replay *r)
{
	const struct wse_graph *g = &s->plan.graph;
	struct wse_buf_pool pool = wse_swarm_pool(r->swarm);
	struct wse_swarm_step step = {
		.graph = g,
		.jobs = r->jobs,
		.n = s->plan.micro_batches,
		.step = wse_session_step(s) + 1,
		.grads = r->sums,
	};
	int ret = 0;

	for (uint32_t i = 0; i < g->nout && !ret; i++)
		if (i != g->logits)
			ret = pool.alloc(pool.ctx, s->out[i]->size, &r->out[i]);
	for (uint32_t i = 0; i < g->nin && !ret; i++)
		ret = e->ops->map(e, s->in[i]);
	for (uint32_t i = 0; i < g->nunits && !ret; i++)
		ret = e->ops->map(e, s->jobs[0].images[i].fwd.buf);
	if (ret)
		return ret;
	for (uint32_t k = 0; k < s->plan.micro_batches; k++) {
		r->jobs[k] = s->jobs[k];
		for (uint32_t i = 0; i < g->nout; i++)
			if (r->jobs[k].out[i].buf)
				r->jobs[k].out[i].buf = r->out[i];
	}
	ret = wse_swarm_start(r->swarm, &step);
	return ret ? ret : wse_swarm_wait(r->swarm);
}

/* the device's views of the run's buffers end before the device does */
static void unmap(struct wse_session *s, struct wse_exec *e)
{
	const struct wse_graph *g = &s->plan.graph;

	for (uint32_t i = 0; i < g->nin; i++)
		e->ops->unmap(e, s->in[i]);
	for (uint32_t i = 0; i < g->nunits; i++)
		e->ops->unmap(e, s->jobs[0].images[i].fwd.buf);
}

/* name of the tensor in whose place of a unit's buffer element i lies */
static const char *tensor_at(const struct wse_session *s, const struct wse_unit *u, size_t i)
{
	struct wse_piece p;

	if (u->weight != WSE_NO_TENSOR && i < (size_t)u->outs * u->ins)
		return s->table->t[u->weight].name;
	for (uint32_t v = 1; v <= u->nvec; v++) {
		const struct wse_tensor *t = &s->table->t[u->vec[v - 1].tensor];

		for (size_t k = 0; wse_unit_piece(&s->plan.graph, u, v, t, k, &p); k++)
			if (i >= p.at && i < p.at + p.count)
				return t->name;
	}
	return "padding";
}

static int compare_unit(struct wse_session *s, const char *uri, const struct replay *r,
			uint32_t unit)
{
	const struct wse_unit *u = &s->plan.graph.units[unit];
	size_t n = wse_unit_grad_floats(&s->plan.graph, u), i = 0;

	while (i < n && wse_f2u(s->sums[unit][i]) == wse_f2u(r->sums[unit][i]))
		i++;
	return i == n ? 0 : differ(s, tensor_at(s, u, i), uri, s->sums[unit], r->sums[unit], n);
}

/* every output, every sum of gradients */
static int compare(struct wse_session *s, const char *uri, const struct replay *r)
{
	const struct wse_graph *g = &s->plan.graph;
	int ret = 0;

	for (uint32_t i = 0; i < g->nout; i++)
		for (uint32_t k = 0; k < s->plan.micro_batches && !ret && i != g->logits; k++)
			ret = differ(s, g->out[i].name, uri, wse_span_ptr(s->jobs[k].out[i]),
				     wse_span_ptr(r->jobs[k].out[i]), g->out[i].bytes / 4);
	for (uint32_t i = 0; i < g->nunits && !ret; i++)
		ret = compare_unit(s, uri, r, i);
	return ret;
}

int wse_verify_step(struct wse_session *s, const char *uri)
{
	struct replay r = {0};
	struct wse_exec *e = NULL;
	int ret = wse_session_device(s, uri, &e);

	if (ret)
		return ret;
	ret = wse_swarm_open(&e, 1, &s->log, &r.swarm);
	if (ret) {
		e->ops->close(e);
		return wse_why(s->why, ret, "replay on %.100s: %s", uri, strerror(-ret));
	}
	e->id = WSE_SWARM_MAX; /* beside the run's own devices */
	r.jobs = calloc(s->plan.micro_batches, sizeof(*r.jobs));
	r.sums = calloc(s->plan.graph.nunits + 1, sizeof(*r.sums));
	ret = r.jobs && r.sums ? run(s, e, &r) : -ENOMEM;
	if (ret)
		wse_why(s->why, ret, "replay on %.100s: %s", uri, strerror(-ret));
	else
		ret = compare(s, uri, &r);
	unmap(s, e);
	wse_swarm_close(r.swarm);
	free(r.jobs);
	free(r.sums);
	return ret;
}
