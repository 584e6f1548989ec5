// SPDX-License-Identifier: MIT
/* Replay of one step on one device, and the comparison. */
#include "verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

struct replay {
	struct wse_swarm *swarm;
	struct wse_buf loss, dx;
	struct wse_job *jobs;
	float *grads;
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
	struct wse_buf_pool pool = wse_swarm_pool(r->swarm);
	struct wse_swarm_step step = {
		.mlp = &s->cfg.mlp,
		.jobs = r->jobs,
		.n = s->plan.micro_batches,
		.step = wse_session_step(s) + 1,
		.grads = r->grads,
		.table = &s->table,
	};
	int ret = pool.alloc(pool.ctx, s->loss.size, &r->loss);

	ret = ret ? ret : pool.alloc(pool.ctx, s->dx.size, &r->dx);
	ret = ret ? ret : e->ops->map(e, &s->x);
	ret = ret ? ret : e->ops->map(e, &s->target);
	for (uint32_t l = 0; l < s->cfg.mlp.nlinear && !ret; l++)
		ret = e->ops->map(e, s->jobs[0].layers[l].fwd.buf);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < s->plan.micro_batches; i++) {
		r->jobs[i] = s->jobs[i];
		r->jobs[i].loss.buf = &r->loss;
		r->jobs[i].dx.buf = &r->dx;
	}
	ret = wse_swarm_start(r->swarm, &step);
	return ret ? ret : wse_swarm_wait(r->swarm);
}

static int compare(struct wse_session *s, const char *uri, const struct replay *r)
{
	size_t t = s->plan.tokens, k = s->cfg.mlp.width[0];
	int ret = 0;

	for (uint32_t i = 0; i < s->plan.micro_batches && !ret; i++)
		ret = differ(s, "the loss", uri, wse_span_ptr(s->jobs[i].loss),
			     wse_span_ptr(r->jobs[i].loss), t);
	for (uint32_t i = 1; i < s->table.n && !ret; i++)
		ret = differ(s, s->table.t[i].name, uri, s->grads + s->table.t[i].off,
			     r->grads + s->table.t[i].off, s->table.t[i].count);
	for (uint32_t i = 0; i < s->plan.micro_batches && !ret; i++)
		ret = differ(s, "the gradient of the inputs", uri, wse_span_ptr(s->jobs[i].dx),
			     wse_span_ptr(r->jobs[i].dx), t * k);
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
	r.jobs = calloc(s->plan.micro_batches, sizeof(*r.jobs));
	r.grads = calloc(s->table.params, sizeof(float));
	ret = r.jobs && r.grads ? run(s, e, &r) : -ENOMEM;
	if (ret)
		wse_why(s->why, ret, "replay on %.100s: %s", uri, strerror(-ret));
	else
		ret = compare(s, uri, &r);
	wse_swarm_close(r.swarm);
	free(r.jobs);
	free(r.grads);
	return ret;
}
