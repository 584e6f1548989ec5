// SPDX-License-Identifier: MIT
/* MemoryX: masters, optimizer state, streaming images. */
#include "memx/memx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "num/image.h"
#include "num/num.h"

/* where a tensor's gradient is: the matrix (0) or a vector (1 ...) of a unit */
struct home {
	uint32_t unit, which;
};

struct wse_memx {
	struct wse_memx_cfg cfg;
	struct wse_buf_pool pool;
	const struct wse_graph *g;
	struct wse_tensor_table tab;
	struct home *home;     /* [tab.n]; unit WSE_NO_UNIT: the host alone makes its gradient */
	float *params, *m, *v; /* [tab.params] */
	uint64_t step;
	double beta1_pow, beta2_pow;

	float *const *unit_grads; /* [nunits] */
	float **own;		  /* [tab.n]: arrays of tensors in no unit, NULL for others */
	float **adds;		  /* [tab.n]: what wse_memx_grads() returns */
	float *scratch;		  /* the longest vector */
	int pending;		  /* a commit whose units are not updated yet */
	struct wse_update update;

	struct wse_shared_buf **bufs; /* [nunits]: fwd, tr, vec */
	struct wse_image *images;

	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned char *ready; /* [nunits]: the image of the current step is written */
};

/* ---- opening ---- */

static int alloc_images(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		const struct wse_unit *u = &mx->g->units[i];
		size_t fwd = wse_unit_fwd_bytes(u);
		int ret =
			mx->pool.alloc(mx->pool.ctx, wse_unit_image_bytes(mx->g, u), &mx->bufs[i]);

		if (ret)
			return ret;
		mx->images[i] = (struct wse_image){
			{mx->bufs[i], 0}, {mx->bufs[i], fwd}, {mx->bufs[i], 2 * fwd}};
	}
	return 0;
}

/* every tensor has one home; where the graph has it twice, the graph is none */
static int find_homes(struct wse_memx *mx)
{
	size_t longest = 1;

	for (uint32_t i = 0; i < mx->tab.n; i++)
		mx->home[i].unit = WSE_NO_UNIT;
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		const struct wse_unit *u = &mx->g->units[i];

		for (uint32_t which = 0; which <= u->nvec; which++) {
			uint32_t t = which ? u->vec[which - 1].tensor : u->weight;

			if (t == WSE_NO_TENSOR && !which)
				continue;
			if (t >= mx->tab.n || mx->home[t].unit != WSE_NO_UNIT)
				return -EINVAL;
			mx->home[t] = (struct home){i, which};
			if (which && mx->tab.t[t].count > longest)
				longest = mx->tab.t[t].count;
		}
	}
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		if (mx->home[i].unit != WSE_NO_UNIT || mx->cfg.forward)
			continue;
		mx->own[i] = calloc(mx->tab.t[i].count, sizeof(float));
		if (!mx->own[i])
			return -ENOMEM;
	}
	mx->scratch = malloc(longest * sizeof(float));
	return mx->scratch ? 0 : -ENOMEM;
}

int wse_memx_open(const struct wse_memx_cfg *cfg, const struct wse_graph *graph,
		  const struct wse_buf_pool *pool, struct wse_memx **memx)
{
	struct wse_memx *mx = calloc(1, sizeof(*mx));
	int ret;

	*memx = NULL;
	if (!mx)
		return -ENOMEM;
	mx->cfg = *cfg;
	mx->pool = *pool;
	mx->g = graph;
	mx->beta1_pow = mx->beta2_pow = 1.0;
	pthread_mutex_init(&mx->lock, NULL);
	pthread_cond_init(&mx->cond, NULL);
	ret = cfg->model.family->tensors(&cfg->model, &mx->tab);
	if (!ret) {
		size_t bytes = mx->tab.params * sizeof(float);
		int m = !cfg->forward, v = m && cfg->optim.kind != WSE_OPTIM_SGD;

		mx->params = wse_pages_alloc(bytes);
		mx->m = m ? wse_pages_alloc(bytes) : NULL;
		mx->v = v ? wse_pages_alloc(bytes) : NULL;
		mx->home = calloc(mx->tab.n, sizeof(*mx->home));
		mx->own = calloc(mx->tab.n, sizeof(*mx->own));
		mx->adds = calloc(mx->tab.n, sizeof(*mx->adds));
		mx->bufs = calloc(graph->nunits + 1, sizeof(struct wse_shared_buf *));
		mx->images = calloc(graph->nunits + 1, sizeof(*mx->images));
		mx->ready = calloc(graph->nunits + 1, 1);
		if (!mx->params || (m && !mx->m) || (v && !mx->v) || !mx->home || !mx->own ||
		    !mx->adds || !mx->bufs || !mx->images || !mx->ready)
			ret = -ENOMEM;
	}
	ret = ret ? ret : find_homes(mx);
	ret = ret ? ret : alloc_images(mx);
	if (ret) {
		wse_memx_close(mx);
		return ret;
	}
	wse_tensor_init(&mx->tab, cfg->seed, mx->params);
	wse_memx_refresh(mx);
	*memx = mx;
	return 0;
}

void wse_memx_close(struct wse_memx *mx)
{
	if (!mx)
		return;
	for (uint32_t i = 0; mx->bufs && i < mx->g->nunits; i++)
		if (mx->bufs[i])
			mx->pool.free(mx->pool.ctx, mx->bufs[i]);
	for (uint32_t i = 0; mx->own && i < mx->tab.n; i++)
		free(mx->own[i]);
	free(mx->bufs);
	free(mx->images);
	free(mx->ready);
	free(mx->home);
	free(mx->own);
	free(mx->adds);
	free(mx->scratch);
	free(mx->params);
	free(mx->m);
	free(mx->v);
	wse_tensor_table_fini(&mx->tab);
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

/* where these elements lie, NULL: nowhere */
static float *elements(const struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor,
		       size_t from, size_t count)
{
	float *const arrays[] = {mx->params, mx->m, mx->v};

	if (which > WSE_MEMX_V || !arrays[which] || tensor >= mx->tab.n ||
	    from > mx->tab.t[tensor].count || count > mx->tab.t[tensor].count - from)
		return NULL;
	return arrays[which] + mx->tab.t[tensor].off + from;
}

int wse_memx_read(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		  size_t count, float *out)
{
	const float *p = elements(mx, which, tensor, from, count);

	if (!p)
		return wse_fail(-EINVAL, "tensor %u has no such elements", tensor);
	memcpy(out, p, count * sizeof(*out));
	return 0;
}

int wse_memx_write(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		   size_t count, const float *in)
{
	float *p = elements(mx, which, tensor, from, count);

	if (!p)
		return wse_fail(-EINVAL, "tensor %u has no such elements", tensor);
	memcpy(p, in, count * sizeof(*in));
	return 0;
}

/* ---- images, and the update that they follow ---- */

static void update_range(struct wse_memx *mx, const struct wse_tensor *t, size_t from,
			 const float *grad, size_t n)
{
	struct wse_update u = mx->update;
	size_t at = t->off + from;

	u.decay = !!(t->flags & WSE_TENSOR_DECAY);
	wse_optim_update(&mx->cfg.optim, &u, n, mx->params + at, mx->m + at,
			 mx->v ? mx->v + at : NULL, grad);
}

/* pieces [i, end) of a tensor of a unit */
static void update_pieces(struct wse_memx *mx, uint32_t tensor, size_t i, size_t end)
{
	const struct wse_tensor *t = &mx->tab.t[tensor];
	const struct home *h = &mx->home[tensor];
	struct wse_piece p;

	for (; i < end && wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, t, i, &p); i++)
		update_range(mx, t, p.from, mx->unit_grads[h->unit] + p.at, p.count);
}

static void update(struct wse_memx *mx, uint32_t tensor)
{
	if (mx->own[tensor])
		update_range(mx, &mx->tab.t[tensor], 0, mx->own[tensor], mx->tab.t[tensor].count);
	else
		update_pieces(mx, tensor, 0, SIZE_MAX);
}

/* a unit and all that is in it; or a tensor that is in none */
static int early(const struct wse_memx *mx, uint32_t tensor)
{
	return mx->own[tensor] || mx->tab.t[tensor].flags & WSE_TENSOR_INPUT;
}

/* element 0 of the image, if all of it lay as this piece of a tensor does */
static const float *as_in_image(const struct wse_memx *mx, const struct wse_tensor *t,
				const struct wse_piece *p)
{
	return mx->params + ((ptrdiff_t)(t->off + p->from) - (ptrdiff_t)p->at);
}

/* rows [first, end) of the matrix w, of which the transposed image has the inputs chunk by chunk */
static void write_back_chunks(struct wse_memx *mx, const struct wse_unit *u, const float *w,
			      size_t first, size_t end, uint16_t *fwd, uint16_t *tr)
{
	size_t cols = mx->g->tile.cols, h = u->ins / u->chunks_back / cols;

	for (size_t i = 0; i < cols * u->chunks_back; i++) {
		size_t k = (i % cols * u->chunks_back + i / cols) * h;
		/* row 0 of the image, if all of it lay as these rows do */
		uint16_t *to = tr + ((ptrdiff_t)(i * h) - (ptrdiff_t)k) * (ptrdiff_t)u->outs;

		wse_bf16_image_part(w, u->outs, u->ins, first, end, k, k + h, fwd, to);
	}
}

/* rows [first, end) of a matrix whose inputs lie chunk by chunk: in as many pieces as row 0 has */
static void write_in_chunks(struct wse_memx *mx, const struct wse_unit *u, size_t first, size_t end,
			    uint16_t *fwd, uint16_t *tr)
{
	const struct wse_tensor *t = &mx->tab.t[u->weight];
	struct wse_piece p;

	for (size_t i = 0; wse_unit_piece(mx->g, u, 0, t, i, &p) && p.at < u->ins; i++)
		wse_bf16_image_part(as_in_image(mx, t, &p), u->outs, u->ins, first, end, p.at,
				    p.at + p.count, fwd, tr);
}

/*
 * A pass over the masters of a unit updates them, where that is due, and writes the images, a row
 * of tiles at a time: what the optimizer has written is still in the cache.
 */
static void pass_in_chunks(struct wse_memx *mx, const struct wse_unit *u, int updating,
			   uint16_t *fwd, uint16_t *tr)
{
	size_t pieces = (size_t)mx->g->tile.cols * u->chunks_in; /* of a row */

	for (size_t first = 0, end; first < u->outs; first = end) {
		end = wse_image_tile_end(first, u->outs);
		if (updating)
			update_pieces(mx, u->weight, first * pieces, end * pieces);
		write_in_chunks(mx, u, first, end, fwd, tr);
	}
}

static void pass_piece(struct wse_memx *mx, const struct wse_unit *u, const struct wse_piece *p,
		       int updating, uint16_t *fwd, uint16_t *tr)
{
	const struct wse_tensor *t = &mx->tab.t[u->weight];
	const float *w = as_in_image(mx, t, p), *grad = NULL;
	size_t first = p->at / u->ins, last = first + p->count / u->ins;

	if (updating)
		grad = mx->unit_grads[mx->home[u->weight].unit];
	for (size_t end; first < last; first = end) {
		size_t at = first * u->ins;

		end = wse_image_tile_end(first, last);
		if (updating)
			update_range(mx, t, p->from + (at - p->at), grad + at,
				     (end - first) * u->ins);
		if (u->chunks_back > 1)
			write_back_chunks(mx, u, w, first, end, fwd, tr);
		else
			wse_bf16_image_part(w, u->outs, u->ins, first, end, 0, u->ins, fwd, tr);
	}
}

/* the masters in the order of the stream, and transposed; rows beyond the tensor are zero */
static void pass_matrix(struct wse_memx *mx, const struct wse_unit *u, int updating, uint16_t *fwd,
			uint16_t *tr)
{
	const struct wse_tensor *t = &mx->tab.t[u->weight];
	size_t rows = t->count / u->ins;
	struct wse_piece p;

	if (u->chunks_in > 1) {
		pass_in_chunks(mx, u, updating, fwd, tr);
		return;
	}
	for (size_t i = 0; wse_unit_piece(mx->g, u, 0, t, i, &p); i++)
		pass_piece(mx, u, &p, updating, fwd, tr);
	if (rows == u->outs)
		return;
	memset(fwd + t->count, 0, ((size_t)u->outs * u->ins - t->count) * sizeof(*fwd));
	for (size_t k = 0; k < u->ins; k++)
		memset(tr + k * u->outs + rows, 0, (u->outs - rows) * sizeof(*tr));
}

/* updating: first, what the commit has not updated */
static void pass_unit(struct wse_memx *mx, uint32_t unit, int updating)
{
	const struct wse_unit *u = &mx->g->units[unit];
	const struct wse_image *img = &mx->images[unit];
	size_t matrix = u->weight == WSE_NO_TENSOR ? 0 : (size_t)u->outs * u->ins;
	float *vec = wse_span_ptr(img->vec);
	struct wse_piece p;

	if (matrix)
		pass_matrix(mx, u, updating && !early(mx, u->weight), wse_span_ptr(img->fwd),
			    wse_span_ptr(img->tr));
	for (uint32_t which = 1; which <= u->nvec; which++) {
		uint32_t tensor = u->vec[which - 1].tensor;
		const struct wse_tensor *t = &mx->tab.t[tensor];

		if (updating && !early(mx, tensor))
			update(mx, tensor);
		for (size_t i = 0; wse_unit_piece(mx->g, u, which, t, i, &p); i++)
			memcpy(vec + (p.at - matrix), mx->params + t->off + p.from,
			       p.count * sizeof(float));
	}
}

static void set_ready(struct wse_memx *mx, uint32_t unit, int ready)
{
	pthread_mutex_lock(&mx->lock);
	mx->ready[unit] = (unsigned char)ready;
	pthread_cond_broadcast(&mx->cond);
	pthread_mutex_unlock(&mx->lock);
}

void wse_memx_refresh(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		pass_unit(mx, i, 0);
		set_ready(mx, i, 1);
	}
}

const struct wse_image *wse_memx_images(struct wse_memx *mx)
{
	return mx->images;
}

int wse_memx_unit_ready(struct wse_memx *mx, uint32_t unit)
{
	pthread_mutex_lock(&mx->lock);
	while (!mx->ready[unit])
		pthread_cond_wait(&mx->cond, &mx->lock);
	pthread_mutex_unlock(&mx->lock);
	return 0;
}

/* ---- gradients ---- */

float *const *wse_memx_grads(struct wse_memx *mx, float *const *unit)
{
	mx->unit_grads = unit;
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_tensor *t = &mx->tab.t[i];

		mx->adds[i] = mx->own[i];
		if (mx->own[i])
			memset(mx->own[i], 0, t->count * sizeof(float));
		else if (t->flags & WSE_TENSOR_INPUT && !mx->home[i].which)
			mx->adds[i] = unit[mx->home[i].unit];
	}
	return mx->adds;
}

/* a gradient as one array: where it lies, or (a vector) gathered into scratch */
static const float *contiguous(const struct wse_memx *mx, uint32_t tensor)
{
	const struct home *h = &mx->home[tensor];
	struct wse_piece p;

	if (mx->own[tensor])
		return mx->own[tensor];
	if (!h->which)
		return mx->unit_grads[h->unit];
	for (size_t i = 0;
	     wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, &mx->tab.t[tensor], i, &p);
	     i++)
		memcpy(mx->scratch + p.from, mx->unit_grads[h->unit] + p.at,
		       p.count * sizeof(float));
	return mx->scratch;
}

void wse_memx_grad(const struct wse_memx *mx, uint32_t tensor, float *out)
{
	const struct wse_tensor *t = &mx->tab.t[tensor];
	const struct home *h = &mx->home[tensor];
	struct wse_piece p;

	if (mx->own[tensor]) {
		memcpy(out, mx->own[tensor], t->count * sizeof(float));
		return;
	}
	for (size_t i = 0; wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, t, i, &p); i++)
		memcpy(out + p.from, mx->unit_grads[h->unit] + p.at, p.count * sizeof(float));
}

uint32_t wse_memx_bad_grad(const struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const float *g = contiguous(mx, i);

		for (size_t j = 0; j < mx->tab.t[i].count; j++)
			if (wse_f32_isbad(g[j]))
				return i;
	}
	return WSE_NO_TENSOR;
}

/* ---- the end of a step ---- */

int wse_memx_commit(struct wse_memx *mx, double *norm, double *lr)
{
	double sum = 0.0;

	wse_memx_finish(mx);
	for (uint32_t i = 0; i < mx->tab.n; i++)
		sum += wse_sum_squares(contiguous(mx, i), mx->tab.t[i].count);
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
	mx->pending = 1;
	for (uint32_t i = 0; i < mx->g->nunits; i++)
		set_ready(mx, i, 0);
	for (uint32_t i = 0; i < mx->tab.n; i++)
		if (early(mx, i))
			update(mx, i);
	return 0;
}

void wse_memx_finish(struct wse_memx *mx)
{
	if (!mx->pending)
		return;
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		pass_unit(mx, i, 1);
		set_ready(mx, i, 1);
	}
	mx->pending = 0;
}
