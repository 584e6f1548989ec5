// SPDX-License-Identifier: MIT
/* Opening a session, and the training step. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/num.h"

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* What a device says while it is opened is why it cannot be: one message instead of two. Later its
 * errors are events of the run and go to the log, from any thread. */
static void device_said(void *ctx, enum wse_log_level level, const char *text)
{
	struct wse_session *s = ctx;

	if (s->opening && level == WSE_LOG_ERROR)
		snprintf(s->device_why, sizeof(s->device_why), "%s", text);
	else
		wse_logf(&s->log, level, "%s", text);
}

static int device_failed(struct wse_session *s, const char *uri, int ret, const char *what)
{
	if (strstr(s->device_why, uri))
		return wse_why(s->why, ret, "%s", s->device_why);
	return wse_why(s->why, ret, "device %.100s %s: %.350s", uri, what,
		       s->device_why[0] ? s->device_why : strerror(-ret));
}

static int open_device(struct wse_session *s, const char *uri, struct wse_exec **exec)
{
	int ret;

	s->opening = 1;
	s->device_why[0] = 0;
	ret = wse_exec_open(uri, &s->device_log, exec);
	s->opening = 0;
	return ret ? device_failed(s, uri, ret, "cannot be opened") : 0;
}

static int prepare_device(struct wse_session *s, const char *uri, struct wse_exec *e)
{
	int ret;

	s->opening = 1;
	s->device_why[0] = 0;
	ret = e->ops->prepare(e, &s->cfg.mlp, s->plan.tokens);
	s->opening = 0;
	return ret ? device_failed(s, uri, ret, "cannot take the model") : 0;
}

static int check_shape(struct wse_session *s, const char *uri, struct wse_exec *e)
{
	struct wse_exec_info info;

	e->ops->info(e, &info);
	if (info.rows != s->tile.rows || info.cols != s->tile.cols || info.lanes != s->tile.lanes)
		return wse_why(s->why, -EINVAL,
			       "device %.100s has %u x %u cores, the first has "
			       "%u x %u: tile shapes are not mixed",
			       uri, info.rows, info.cols, s->tile.rows, s->tile.cols);
	return 0;
}

int wse_session_device(struct wse_session *s, const char *uri, struct wse_exec **exec)
{
	int ret = open_device(s, uri, exec);

	if (ret)
		return ret;
	ret = check_shape(s, uri, *exec);
	ret = ret ? ret : prepare_device(s, uri, *exec);
	if (ret) {
		(*exec)->ops->close(*exec);
		*exec = NULL;
	}
	return ret;
}

static int open_devices(struct wse_session *s, const char *const *uris, uint32_t n)
{
	struct wse_exec *execs[WSE_SWARM_MAX] = {NULL};
	int ret = n && n <= WSE_SWARM_MAX ? 0 : -EINVAL;

	if (ret)
		return wse_why(s->why, ret, "%u devices: 1 to %d are possible", n, WSE_SWARM_MAX);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = open_device(s, uris[i], &execs[i]);
		if (!ret && i == 0)
			execs[i]->ops->info(execs[i], &s->tile);
		ret = ret ? ret : check_shape(s, uris[i], execs[i]);
	}
	if (!ret)
		ret = wse_plan_make(&s->cfg.mlp, &s->tile, s->cfg.batch, s->cfg.micro_batch,
				    &s->plan, s->why);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = prepare_device(s, uris[i], execs[i]);
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
			.index = i,
			.backward = 1,
			.scale = 1.0f / (float)s->cfg.batch,
			.x = {&s->x, i * x},
			.target = {&s->target, i * target},
			.loss = {&s->loss, i * loss},
			.dx = {&s->dx, i * dx},
		};
	return 0;
}

static struct wse_memx_cfg memx_cfg(const struct wse_config *cfg)
{
	return (struct wse_memx_cfg){
		.mlp = cfg->mlp,
		.optim = cfg->optim,
		.sched = cfg->sched,
		.max_norm = cfg->max_norm,
		.seed = cfg->seed,
	};
}

int wse_session_open(struct wse_session *s, const struct wse_config *cfg, const char *const *uris,
		     uint32_t n, const struct wse_exec_cfg *log)
{
	struct wse_data_cfg dc = {
		.path = cfg->data,
		.val_path = cfg->val_data[0] ? cfg->val_data : NULL,
		.vocab = cfg->mlp.vocab,
		.window = cfg->mlp.window,
		.held_out = cfg->held_out,
		.shuffle = cfg->shuffle,
		.shuffle_seed = cfg->shuffle_seed,
	};
	struct wse_memx_cfg mc = memx_cfg(cfg);
	struct wse_buf_pool pool;
	int ret = 0;

	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	if (log)
		s->log = *log;
	s->device_log = (struct wse_exec_cfg){device_said, s};
	wse_mlp_tensors(&cfg->mlp, &s->table);
	if (cfg->data[0])
		ret = wse_data_open(&dc, &s->data, s->why);
	if (!ret && cfg->data[0] && s->data.ntrain < cfg->batch)
		ret = wse_why(s->why, -EINVAL,
			      "%.200s: %llu training samples are less than a "
			      "batch of %llu: give a longer text, or a smaller "
			      "train_dataloader.batch_size",
			      cfg->data, (unsigned long long)s->data.ntrain,
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
		.shuffle = cfg->shuffle,
		.shuffle_seed = cfg->shuffle_seed,
		.text_tokens = s->data.ntok,
		.text_sum = s->data.sum,
		.held_out = s->data.val == s->data.tok ? cfg->held_out : 0,
		.batch = cfg->batch,
		.micro_batch = s->plan.tokens,
		.rows = s->tile.rows,
		.cols = s->tile.cols,
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
	wse_swarm_close(s->swarm); /* gives all buffers back */
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
	struct wse_memx_cfg mc = memx_cfg(&s->cfg);
	char why[WSE_WHY];
	int ret = wse_ckpt_save(path, s->memx, &mc, &s->state, why);

	return ret ? wse_why(s->why, ret, "checkpoint %.200s: %.300s", path, why) : 0;
}

int wse_session_load(struct wse_session *s, const char *path, enum wse_ckpt_load what)
{
	struct wse_memx_cfg mc = memx_cfg(&s->cfg);
	struct wse_train_state ts = s->state;
	char why[WSE_WHY];
	int ret = wse_ckpt_load(path, s->memx, &mc, what, &ts, why);

	if (ret)
		return wse_why(s->why, ret, "checkpoint %.120s: %.380s", path, why);
	if (s->cfg.data[0] && (what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW)) {
		uint64_t step = wse_session_step(s), batches = s->data.ntrain / s->cfg.batch;

		if (ts.epoch != step / batches || ts.position != step % batches * s->cfg.batch)
			return wse_why(s->why, -EBADMSG,
				       "checkpoint %.200s: its place in the text is not that of "
				       "step %llu",
				       path, (unsigned long long)step);
	}
	if (why[0])
		wse_logf(&s->log, what == WSE_CKPT_EVAL ? WSE_LOG_WARN : WSE_LOG_INFO, "%s%.400s",
			 what == WSE_CKPT_EVAL ? "" : "| Changed: ", why);
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
		.mlp = &s->cfg.mlp,
		.jobs = jobs,
		.n = n,
		.step = wse_session_step(s) + 1,
		.layer_ready = layer_ready,
		.ready_ctx = s->memx,
		.grads = s->grads,
		.table = &s->table,
	};
	int ret = wse_swarm_start(s->swarm, &step);

	if (ret)
		return wse_why(s->why, ret, "no device is left");
	wse_memx_finish(s->memx); /* the rest of the last update, while layer 0 runs */
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
	float *g = s->grads; /* the embedding is the first tensor */

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

/* plain fp32 forward of one token on the host: see wse_mlp_find_nonfinite() */
static int find_nonfinite(struct wse_session *s, uint32_t token)
{
	uint32_t k = s->cfg.mlp.width[0], t_all = s->plan.tokens;
	const uint16_t *x = wse_span_ptr(s->jobs[token / t_all].x);
	float *x0 = malloc((k + 2 * (size_t)wse_mlp_widest(&s->cfg.mlp)) * sizeof(float));
	struct wse_memx_state st;
	int layer;

	if (!x0)
		return (int)s->cfg.mlp.nlinear;
	wse_memx_state(s->memx, &st);
	for (uint32_t i = 0; i < k; i++)
		x0[i] = wse_bf16_to_f32(x[(size_t)i * t_all + token % t_all]);
	layer = wse_mlp_find_nonfinite(&s->cfg.mlp, st.params, x0, x0 + k);
	free(x0);
	return layer;
}

/* the first n losses, in token order, added to *sum; held [0] is the first one's number when they
 * are of held-out samples. -ERANGE with the first layer that is not finite for one that is not */
static int add_losses(struct wse_session *s, uint64_t n, const uint64_t *held, double *sum)
{
	unsigned long long step = wse_session_step(s);
	uint32_t t_all = s->plan.tokens;
	char who[80], where[90] = "the loss";
	int layer;

	for (uint64_t b = 0; b < n; b++) {
		float loss = ((float *)wse_span_ptr(s->jobs[b / t_all].loss))[b % t_all];

		*sum += loss;
		if (!wse_f32_isbad(loss))
			continue;
		if (held)
			snprintf(who, sizeof(who),
				 "evaluation at step %llu: the loss of held-out "
				 "token %llu",
				 step, (unsigned long long)(*held + b));
		else
			snprintf(who, sizeof(who), "step %llu: the loss of token %llu", step + 1,
				 (unsigned long long)b);
		layer = find_nonfinite(s, (uint32_t)b);
		if (layer < (int)s->cfg.mlp.nlinear)
			snprintf(where, sizeof(where), "layer %s",
				 layer < 0 ? s->table.t[0].name
					   : s->table.t[wse_mlp_weight((uint32_t)layer)].name);
		return wse_why(s->why, -ERANGE, "%s is not finite; first seen at %s", who, where);
	}
	return 0;
}

/* the next batch of the text */
static void gather_batch(struct wse_session *s)
{
	for (uint32_t b = 0; b < s->cfg.batch; b++)
		s->samples[b] = wse_data_train(&s->data, s->state.epoch, s->state.position + b);
	for (uint32_t i = 0; i < s->plan.micro_batches; i++)
		gather(s, &s->jobs[i], s->samples + (size_t)i * s->plan.tokens);
}

static int forward(struct wse_session *s, uint32_t micro_batches)
{
	int ret;

	for (uint32_t i = 0; i < micro_batches; i++)
		s->jobs[i].backward = 0;
	ret = run_jobs(s, s->jobs, micro_batches);
	for (uint32_t i = 0; i < micro_batches; i++)
		s->jobs[i].backward = 1;
	return ret;
}

int wse_session_compute(struct wse_session *s, struct wse_step_result *r)
{
	double sum = 0.0;
	int ret;

	gather_batch(s);
	ret = run_jobs(s, s->jobs, s->plan.micro_batches);
	ret = ret ? ret : add_losses(s, s->cfg.batch, NULL, &sum);
	if (ret)
		return ret;
	r->loss = sum / (double)s->cfg.batch;
	scatter_embedding(s);
	return 0;
}

int wse_session_probe(struct wse_session *s)
{
	double sum = 0.0;

	gather_batch(s);
	if (!forward(s, s->plan.micro_batches))
		return add_losses(s, s->cfg.batch, NULL, &sum);
	wse_memx_finish(s->memx);
	for (uint32_t b = 0; b < s->cfg.batch; b++) {
		int layer = find_nonfinite(s, b);

		if (layer < (int)s->cfg.mlp.nlinear)
			return wse_why(s->why, -ERANGE,
				       "step %llu: token %u is not finite at layer "
				       "%d",
				       (unsigned long long)wse_session_step(s) + 1, b, layer);
	}
	return 0;
}

int wse_session_check_grads(struct wse_session *s)
{
	for (uint32_t i = 0; i < s->table.n; i++)
		for (size_t j = 0; j < s->table.t[i].count; j++)
			if (wse_f32_isbad(s->grads[s->table.t[i].off + j]))
				return wse_why(s->why, -ERANGE,
					       "step %llu: the gradient of %s is "
					       "not finite",
					       (unsigned long long)wse_session_step(s) + 1,
					       s->table.t[i].name);
	return 0;
}

int wse_session_commit(struct wse_session *s, struct wse_step_result *r)
{
	int ret = wse_memx_commit(s->memx, s->grads, &r->norm, &r->lr);

	if (ret && !wse_session_check_grads(s))
		wse_why(s->why, ret, "the norm of the gradient is not finite");
	if (ret)
		return ret;
	s->state.position += s->cfg.batch;
	if (s->state.position + s->cfg.batch > s->data.ntrain) { /* the incomplete batch */
		s->state.epoch++;
		s->state.position = 0;
	}
	return 0;
}

int wse_session_eval(struct wse_session *s, uint64_t max_batches, double *loss, uint64_t *samples)
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

		for (uint64_t b = 0; b < m * t_all; b++) /* the last sample fills up */
			s->samples[b] = wse_data_held(&s->data, done + (b < left ? b : left - 1));
		for (uint32_t i = 0; i < m; i++)
			gather(s, &s->jobs[i], s->samples + i * t_all);
		ret = forward(s, m);
		ret = ret ? ret : add_losses(s, left, &done, &sum);
		if (ret)
			return ret;
		done += left;
	}
	*loss = sum / (double)n;
	*samples = n;
	return 0;
}
