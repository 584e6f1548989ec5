// SPDX-License-Identifier: MIT
/* MemoryX: masters, optimizer state, double-buffered streaming images. */
#include "memx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "num/image.h"
#include "num/num.h"

struct wse_memx {
	struct wse_memx_cfg cfg;
	struct wse_buf_pool pool;
	struct wse_tensor_table tab;
	float *params, *m, *v; /* [tab.params] */
	uint64_t step;
	double beta1_pow, beta2_pow;

	const float *pending; /* gradients of a commit whose layers are not updated yet */
	struct wse_update update;

	struct wse_buf bufs[2][WSE_MLP_MAX_LINEAR]; /* one per layer: fwd, tr, bias */
	struct wse_image images[2][WSE_MLP_MAX_LINEAR];
	uint32_t set; /* which of the two the current step streams */

	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint32_t ready; /* layers whose image of the current set is written */
};

static size_t align64(size_t n)
{
	return (n + 63) / 64 * 64;
}

static int alloc_images(struct wse_memx *mx)
{
	for (uint32_t s = 0; s < 2; s++) {
		for (uint32_t l = 0; l < mx->cfg.mlp.nlinear; l++) {
			uint32_t k = mx->cfg.mlp.width[l], n = mx->cfg.mlp.width[l + 1];
			size_t image = align64((size_t)k * n * sizeof(uint16_t));
			struct wse_buf *b = &mx->bufs[s][l];
			int ret = mx->pool.alloc(mx->pool.ctx, 2 * image + n * sizeof(float), b);

			if (ret)
				return ret;
			mx->images[s][l] = (struct wse_image){{b, 0}, {b, image}, {b, 2 * image}};
		}
	}
	return 0;
}

int wse_memx_open(const struct wse_memx_cfg *cfg, const struct wse_buf_pool *pool,
		  struct wse_memx **memx)
{
	struct wse_memx *mx = calloc(1, sizeof(*mx));
	int ret = -ENOMEM;

	*memx = NULL;
	if (!mx)
		return -ENOMEM;
	mx->cfg = *cfg;
	mx->pool = *pool;
	mx->beta1_pow = mx->beta2_pow = 1.0;
	pthread_mutex_init(&mx->lock, NULL);
	pthread_cond_init(&mx->cond, NULL);
	wse_mlp_tensors(&cfg->mlp, &mx->tab);
	mx->params = calloc(mx->tab.params, sizeof(float));
	mx->m = calloc(mx->tab.params, sizeof(float));
	if (cfg->optim.kind != WSE_OPTIM_SGD)
		mx->v = calloc(mx->tab.params, sizeof(float));
	if (mx->params && mx->m && (mx->v || cfg->optim.kind == WSE_OPTIM_SGD))
		ret = alloc_images(mx);
	if (ret) {
		wse_memx_close(mx);
		return ret;
	}
	wse_mlp_init_params(&cfg->mlp, cfg->seed, mx->params);
	wse_memx_refresh(mx);
	*memx = mx;
	return 0;
}

void wse_memx_close(struct wse_memx *mx)
{
	if (!mx)
		return;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t l = 0; l < mx->cfg.mlp.nlinear; l++)
			if (mx->bufs[s][l].ptr)
				mx->pool.free(mx->pool.ctx, &mx->bufs[s][l]);
	free(mx->params);
	free(mx->m);
	free(mx->v);
	pthread_mutex_destroy(&mx->lock);
	pthread_cond_destroy(&mx->cond);
	free(mx);
}

void wse_memx_state(struct wse_memx *mx, struct wse_memx_state *state)
{
	*state = (struct wse_memx_state){
		.table = &mx->tab,
		.params = mx->params,
		.m = mx->m,
		.v = mx->v,
		.step = &mx->step,
		.beta1_pow = &mx->beta1_pow,
		.beta2_pow = &mx->beta2_pow,
	};
}

static void write_image(struct wse_memx *mx, uint32_t layer)
{
	const struct wse_image *img = &mx->images[mx->set][layer];
	uint32_t k = mx->cfg.mlp.width[layer], n = mx->cfg.mlp.width[layer + 1];
	const float *w = mx->params + mx->tab.t[wse_mlp_weight(layer)].off;
	const float *bias = mx->params + mx->tab.t[wse_mlp_bias(layer)].off;

	wse_bf16_image(w, n, k, wse_span_ptr(img->fwd), wse_span_ptr(img->tr));
	memcpy(wse_span_ptr(img->bias), bias, n * sizeof(float));
}

static void set_ready(struct wse_memx *mx, uint32_t layers)
{
	pthread_mutex_lock(&mx->lock);
	mx->ready = layers;
	pthread_cond_broadcast(&mx->cond);
	pthread_mutex_unlock(&mx->lock);
}

void wse_memx_refresh(struct wse_memx *mx)
{
	for (uint32_t l = 0; l < mx->cfg.mlp.nlinear; l++) {
		write_image(mx, l);
		set_ready(mx, l + 1);
	}
}

const struct wse_image *wse_memx_images(struct wse_memx *mx)
{
	return mx->images[mx->set];
}

int wse_memx_layer_ready(struct wse_memx *mx, uint32_t layer)
{
	pthread_mutex_lock(&mx->lock);
	while (mx->ready <= layer)
		pthread_cond_wait(&mx->cond, &mx->lock);
	pthread_mutex_unlock(&mx->lock);
	return 0;
}

static void update(struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_tensor *t = &mx->tab.t[tensor];
	struct wse_update u = mx->update;

	u.decay = !t->is_bias;
	wse_optim_update(&mx->cfg.optim, &u, t->count, mx->params + t->off, mx->m + t->off,
			 mx->v ? mx->v + t->off : NULL, mx->pending + t->off);
}

int wse_memx_commit(struct wse_memx *mx, const float *grads, double *norm, double *lr)
{
	double sum = 0.0;

	wse_memx_finish(mx);
	for (uint32_t i = 0; i < mx->tab.n; i++)
		sum += wse_sum_squares(grads + mx->tab.t[i].off, mx->tab.t[i].count);
	*norm = wse_sqrt(sum);
	*lr = wse_sched_rate(&mx->cfg.sched, mx->step);
	if (!(sum - sum == 0.0)) /* NaN or infinite */
		return -ERANGE;
	mx->beta1_pow *= mx->cfg.optim.beta1;
	mx->beta2_pow *= mx->cfg.optim.beta2;
	mx->update = (struct wse_update){
		.lr = *lr,
		.beta1_pow = mx->beta1_pow,
		.beta2_pow = mx->beta2_pow,
		.grad_scale = 1.0f,
	};
	/* as torch's clip_grad_norm_, so that a published max_gradient_norm means the same */
	if (mx->cfg.max_norm > 0.0 && *norm > mx->cfg.max_norm)
		mx->update.grad_scale = (float)(mx->cfg.max_norm / (*norm + 1e-6));
	mx->step++;
	mx->set ^= 1;
	mx->pending = grads;
	set_ready(mx, 0);
	update(mx, 0);
	return 0;
}

void wse_memx_finish(struct wse_memx *mx)
{
	if (!mx->pending)
		return;
	for (uint32_t l = 0; l < mx->cfg.mlp.nlinear; l++) {
		update(mx, wse_mlp_weight(l));
		update(mx, wse_mlp_bias(l));
		write_image(mx, l);
		set_ready(mx, l + 1);
	}
	mx->pending = NULL;
}
