// SPDX-License-Identifier: MIT
/* Opening a session, and the training step. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

static int open_devices(struct wse_session *s, const char *const *uris, uint32_t n)
{
	struct wse_exec *execs[WSE_SWARM_MAX] = { NULL };
	struct wse_exec_info info;
	int ret = n && n <= WSE_SWARM_MAX ? 0 : -EINVAL;

	if (ret)
		return wse_why(s->why, ret, "%u devices: 1 to %d are possible", n, WSE_SWARM_MAX);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = wse_exec_open(uris[i], &s->log, &execs[i]);
		if (ret) {
			wse_why(s->why, ret, "device %.100s: %s", uris[i], strerror(-ret));
			break;
		}
		execs[i]->ops->info(execs[i], &info);
		if (i == 0)
			s->tile = info;
		if (info.rows != s->tile.rows || info.cols != s->tile.cols ||
		    info.lanes != s->tile.lanes)
			ret = wse_why(s->why, -EINVAL, "device %.100s has %u x %u cores, the first "
				      "has %u x %u: tile shapes are not mixed", uris[i], info.rows,
				      info.cols, s->tile.rows, s->tile.cols);
	}
	if (!ret)
		ret = wse_plan_make(&s->cfg.mlp, &s->tile, s->cfg.batch, s->cfg.micro_batch,
				    &s->plan, s->why);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = execs[i]->ops->prepare(execs[i], &s->cfg.mlp, s->plan.tokens);
		if (ret)
			wse_why(s->why, ret, "device %.100s cannot take the model: %s", uris[i],
				strerror(-ret));
	}
	if (!ret)
		ret = wse_swarm_open(execs, n, &s->log, &s->swarm);
	for (uint32_t i = 0; i < n && ret; i++)
		if (execs[i])
			execs[i]->ops->close(execs[i]);
	return ret;
}

/* one buffer of each kind for the whole step; each micro-batch has its span in it */
static int alloc_jobs(struct wse_session *s, const struct wse_buf_pool *pool)
{
	size_t t = s->plan.tokens, k = s->cfg.mlp.width[0], m = s->plan.micro_batches;
	size_t x = align64(k * t * 2), target = align64(t * 2), loss = align64(t * 4);
	size_t dx = align64(k * t * 4);
	int ret;

	ret = pool->alloc(pool->ctx, m * x, &s->x);
	ret = ret ? ret : pool->alloc(pool->ctx, m * target, &s->target);
	ret = ret ? ret : pool->alloc(pool->ctx, m * loss, &s->loss);
	ret = ret ? ret : pool->alloc(pool->ctx, m * dx, &s->dx);
	ret = ret ? ret : pool->alloc(pool->ctx, (size_t)s->cfg.mlp.vocab * t * 4, &s->logits);
	s->jobs = calloc(m, sizeof(*s->jobs));
	s->grads = calloc(s->table.params, sizeof(float));
	s->samples = calloc(m * t, sizeof(*s->samples));
	if (ret || !s->jobs || !s->grads || !s->samples)
		return ret ? ret : -ENOMEM;
	for (uint32_t i = 0; i < m; i++)
		s->jobs[i] = (struct wse_job){
			.index = i, .backward = 1, .scale = 1.0f / (float)s->cfg.batch,
			.x = { &s->x, i * x }, .target = { &s->target, i * target },
			.loss = { &s->loss, i * loss }, .dx = { &s->dx, i * dx },
		};
	return 0;
}

int wse_session_open(struct wse_session *s, const struct wse_config *cfg, const char *const *uris,
		     uint32_t n, const struct wse_exec_cfg *log)
{
	struct wse_data_cfg dc = {
		.path = cfg->data, .val_path = cfg->val_data[0] ? cfg->val_data : NULL,
		.vocab = cfg->mlp.vocab, .window = cfg->mlp.window, .held_out = cfg->held_out,
		.shuffle = cfg->shuffle, .shuffle_seed = cfg->shuffle_seed,
	};
	struct wse_memx_cfg mc = {
		.mlp = cfg->mlp, .optim = cfg->optim, .sched = cfg->sched,
		.max_norm = cfg->max_norm, .seed = cfg->seed,
	};
	struct wse_buf_pool pool;
	int ret = 0;

	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	if (log)
		s->log = *log;
	wse_mlp_tensors(&cfg->mlp, &s->table);
	if (cfg->data[0])
		ret = wse_data_open(&dc, &s->data, s->why);
	if (!ret && cfg->data[0] && s->data.ntrain < cfg->batch)
		ret = wse_why(s->why, -EINVAL, "%.200s: %llu training samples are less than a "
			      "batch of %llu", cfg->data, (unsigned long long)s->data.ntrain,
			      (unsigned long long)cfg->batch);
	ret = ret ? ret : open_devices(s, uris, n);
	if (ret)
		goto fail;
	pool = wse_swarm_pool(s->swarm);
	ret = alloc_jobs(s, &pool);
	ret = ret ? ret : wse_memx_open(&mc, &pool, &s->memx);
	if (ret) {
		wse_why(s->why, ret, "no memory for buffers and weights: %s", strerror(-ret));
		goto fail;
	}
	s->state = (struct wse_train_state){
		.shuffle_seed = cfg->shuffle_seed, .batch = cfg->batch,
		.micro_batch = s->plan.tokens, .rows = s->tile.rows, .cols = s->tile.cols,
		.lanes = s->tile.lanes,
	};
	return 0;
fail:
	wse_session_close(s);
	return ret;
}

void wse_session_close(struct wse_session *s)
{
	char why[WSE_WHY];

	wse_memx_close(s->memx);
	wse_swarm_close(s->swarm);	/* gives all buffers back */
	wse_data_close(&s->data);
	free(s->jobs);
	free(s->grads);
	free(s->samples);
	memcpy(why, s->why, sizeof(why));
	memset(s, 0, sizeof(*s));
	memcpy(s->why, why, sizeof(why));
}

int wse_session_save(struct wse_session *s, const char *path)
{
	int ret = wse_ckpt_save(path, s->memx, &s->cfg.mlp, &s->cfg.optim, &s->state);

	return ret ? wse_why(s->why, ret, "checkpoint %.200s: %s", path, strerror(-ret)) : 0;
}

int wse_session_load(struct wse_session *s, const char *path, int params_only)
{
	struct wse_train_state ts = s->state;
	char why[WSE_WHY];
	int ret = wse_ckpt_load(path, s->memx, &s->cfg.mlp, &s->cfg.optim, params_only, &ts, why);

	if (ret)
		return wse_why(s->why, ret, "checkpoint %.150s: %.300s", path, why);
	if (!params_only && s->cfg.data[0] &&
	    (ts.shuffle_seed != s->state.shuffle_seed || ts.position > s->data.ntrain))
		return wse_why(s->why, -EINVAL, "checkpoint %.200s was made with another "
			       "shuffle_seed or text", path);
	s->state = ts;
	return 0;
}

uint64_t wse_session_step(struct wse_session *s)
{
	struct wse_memx_state st;

	wse_memx_state(s->memx, &st);
	return *st.step;
}

/* embeddings of one micro-batch: job->x [width[0]][T] and job->target [T] from s->samples */
static void gather(struct wse_session *s, struct wse_job *job, const uint16_t **samples)
{
	uint32_t t_all = s->plan.tokens, win = s->cfg.mlp.window, e = s->cfg.mlp.embed;
	uint16_t *x = wse_span_ptr(job->x), *target = wse_span_ptr(job->target);
	struct wse_memx_state st;

	wse_memx_state(s->memx, &st);
	for (uint32_t t = 0; t < t_all; t++) {
		target[t] = samples[t][0];
		for (uint32_t i = 0; i < win; i++) {
			const float *row = st.params + (size_t)samples[t][(int)i - (int)win] * e;

			for (uint32_t j = 0; j < e; j++)
				x[((size_t)i * e + j) * t_all + t] = wse_f32_to_bf16(row[j]);
		}
	}
	job->layers = wse_memx_images(s->memx);
}

static int layer_ready(void *ctx, uint32_t layer)
{
	return wse_memx_layer_ready(ctx, layer);
}

static int run_jobs(struct wse_session *s, const struct wse_job *jobs, uint32_t n)
{
	struct wse_swarm_step step = {
		.mlp = &s->cfg.mlp, .jobs = jobs, .n = n, .step = wse_session_step(s) + 1,
		.layer_ready = layer_ready, .ready_ctx = s->memx, .grads = s->grads,
		.table = &s->table,
	};
	int ret = wse_swarm_start(s->swarm, &step);

	if (ret)
		return wse_why(s->why, ret, "no device is left");
	wse_memx_finish(s->memx);	/* the rest of the last update, while layer 0 runs */
	ret = wse_swarm_wait(s->swarm);
	if (ret)
		return wse_why(s->why, ret, "step %llu: the last device failed: %s",
			       (unsigned long long)step.step, strerror(-ret));
	return 0;
}

/* dx [K][T] of every token, in token order, window position by position, onto its row */
static void scatter_embedding(struct wse_session *s)
{
	uint32_t t_all = s->plan.tokens, win = s->cfg.mlp.window, e = s->cfg.mlp.embed;
	float *g = s->grads;	/* the embedding is the first tensor */

	memset(g, 0, s->table.t[0].count * sizeof(*g));
	for (uint32_t b = 0; b < s->cfg.batch; b++) {
		const float *dx = wse_span_ptr(s->jobs[b / t_all].dx);
		const uint16_t *target = s->samples[b];

		for (uint32_t i = 0; i < win; i++) {
			float *row = g + (size_t)target[(int)i - (int)win] * e;

			for (uint32_t j = 0; j < e; j++)
				row[j] += dx[((size_t)i * e + j) * t_all + b % t_all];
		}
	}
}

/* -ERANGE with the first layer that is not finite for the token whose loss is not */
static int not_finite(struct wse_session *s, uint32_t token)
{
	uint32_t k = s->cfg.mlp.width[0], t_all = s->plan.tokens;
	const uint16_t *x = wse_span_ptr(s->jobs[token / t_all].x);
	float *x0 = malloc((k + 2 * (size_t)wse_mlp_widest(&s->cfg.mlp)) * sizeof(float));
	struct wse_memx_state st;
	char where[80] = "the loss";
	int layer;

	wse_memx_state(s->memx, &st);
	if (x0) {
		for (uint32_t i = 0; i < k; i++)
			x0[i] = wse_bf16_to_f32(x[(size_t)i * t_all + token % t_all]);
		layer = wse_mlp_find_nonfinite(&s->cfg.mlp, st.params, x0, x0 + k);
		if (layer < (int)s->cfg.mlp.nlinear)
			snprintf(where, sizeof(where), "%s", layer < 0 ? s->table.t[0].name :
				 s->table.t[wse_mlp_weight((uint32_t)layer)].name);
	}
	free(x0);
	return wse_why(s->why, -ERANGE, "step %llu: the loss of token %u is not finite; first seen "
		       "at layer %s", (unsigned long long)wse_session_step(s) + 1, token, where);
}

int wse_session_compute(struct wse_session *s, struct wse_step_result *r)
{
	uint32_t t_all = s->plan.tokens;
	double sum = 0.0;
	int ret;

	if (s->state.position + s->cfg.batch > s->data.ntrain) {	/* the incomplete batch */
		s->state.epoch++;
		s->state.position = 0;
	}
	for (uint32_t b = 0; b < s->cfg.batch; b++)
		s->samples[b] = wse_data_train(&s->data, s->state.epoch, s->state.position + b);
	for (uint32_t i = 0; i < s->plan.micro_batches; i++)
		gather(s, &s->jobs[i], s->samples + (size_t)i * t_all);
	ret = run_jobs(s, s->jobs, s->plan.micro_batches);
	if (ret)
		return ret;
	for (uint32_t b = 0; b < s->cfg.batch; b++) {
		float loss = ((float *)wse_span_ptr(s->jobs[b / t_all].loss))[b % t_all];

		if (wse_f32_isbad(loss))
			return not_finite(s, b);
		sum += loss;
	}
	r->loss = sum / (double)s->cfg.batch;
	scatter_embedding(s);
	return 0;
}

int wse_session_commit(struct wse_session *s, struct wse_step_result *r)
{
	int ret = wse_memx_commit(s->memx, s->grads, &r->norm, &r->lr);

	if (ret) {
		for (uint32_t i = 0; i < s->table.n; i++)
			for (size_t j = 0; j < s->table.t[i].count; j++)
				if (wse_f32_isbad(s->grads[s->table.t[i].off + j]))
					return wse_why(s->why, ret, "step %llu: the gradient of %s "
						       "is not finite",
						       (unsigned long long)wse_session_step(s) + 1,
						       s->table.t[i].name);
		return wse_why(s->why, ret, "the norm of the gradient is not finite");
	}
	s->state.position += s->cfg.batch;
	return 0;
}

int wse_session_eval(struct wse_session *s, uint64_t max_batches, double *loss)
{
	uint64_t n = s->data.nheld, done = 0, t_all = s->plan.tokens;
	double sum = 0.0;

	if (max_batches && n > max_batches * s->cfg.batch)
		n = max_batches * s->cfg.batch;
	if (!n)
		return wse_why(s->why, -ENODATA, "no held-out samples");
	while (done < n) {
		uint64_t left = n - done < s->cfg.batch ? n - done : s->cfg.batch;
		uint32_t m = (uint32_t)((left + t_all - 1) / t_all);
		int ret;

		for (uint64_t b = 0; b < m * t_all; b++)	/* the last sample fills up */
			s->samples[b] = wse_data_held(&s->data, done + (b < left ? b : left - 1));
		for (uint32_t i = 0; i < m; i++) {
			gather(s, &s->jobs[i], s->samples + i * t_all);
			s->jobs[i].backward = 0;
		}
		ret = run_jobs(s, s->jobs, m);
		for (uint32_t i = 0; i < m; i++)
			s->jobs[i].backward = 1;
		if (ret)
			return ret;
		for (uint64_t b = 0; b < left; b++)
			sum += ((float *)wse_span_ptr(s->jobs[b / t_all].loss))[b % t_all];
		done += left;
	}
	*loss = sum / (double)n;
	return 0;
}
