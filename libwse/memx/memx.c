// SPDX-License-Identifier: MIT
/* MemoryX: masters, optimizer state, streaming images. */
#include "memx/memx.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "memx/choose.h"
#include "memx/image_file.h"
#include "num/decimal.h"
#include "num/image.h"
#include "num/num.h"

struct wse_memx {
	struct wse_memx_cfg cfg;
	struct wse_buf_pool pool;
	const struct wse_graph *g;
	struct wse_tensor_table tab;
	struct wse_map map;	/* and the store */
	struct wse_share share; /* of several ranks */
	/* [tab.n]: of gradients that are shared among ranks, or in the file; NaN: not finite */
	double *squares;
	int squared;
	uint64_t step;
	double beta1_pow, beta2_pow;

	float *const *unit_grads;    /* [nunits], NULL: in the file */
	struct wse_grad_file *gfile; /* NULL: gradients are in memory */
	float *grad_piece;	     /* [pieces.longest]: from the file */
	float **own;		     /* [tab.n]: arrays of tensors in no unit, NULL for others */
	float **adds;		     /* [tab.n]: what wse_memx_grads() returns */
	float *scratch;		     /* the longest vector */
	void (*give)(void *ctx, uint32_t unit);
	void *give_ctx;
	int pending; /* a commit whose units are not updated yet */
	int failed;  /* -errno of the store: units are of different steps */
	int unset;   /* forward: nothing was loaded, and the initial values are not made either */
	uint32_t writing; /* the unit whose image other ranks' weights go to; WSE_NO_UNIT: none */
	struct wse_update update;
	struct wse_masks masks;
	int chosen; /* the masks of after this step are */
	int cut;    /* of several ranks: masks are to be made of the weights that were loaded */
	struct {
		uint32_t set; /* WSE_STEP_* */
		double lr, max_norm;
	} of_step; /* the next commit's */

	struct wse_shared_buf **bufs; /* [nunits]: fwd, tr, vec */
	struct wse_image *images;
	struct wse_image_file *ifile; /* NULL: all images are in memory */
	struct wse_input *inputs;     /* [tab.n] */
	float **mirror;		      /* [tab.n]: a tensor of a unit in its own order, for gather */

	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned char *early; /* [nunits]: the host gathers from it */
	unsigned char *ready; /* [nunits]: the image of the current step is written */
};

/* ---- opening ---- */

static int alloc_images(struct wse_memx *mx)
{
	if (mx->cfg.dir && mx->cfg.image_room && !mx->cfg.forward) {
		/* what inputs are gathered from stays where it is */
		for (uint32_t i = 0; i < mx->tab.n; i++)
			if (mx->tab.t[i].flags & WSE_TENSOR_INPUT &&
			    mx->map.home[i].unit != WSE_NO_UNIT)
				mx->early[mx->map.home[i].unit] = 1;
		return wse_image_file_open(mx->g, mx->early, mx->cfg.image_room, mx->cfg.dir,
					   &mx->pool, mx->images, &mx->ifile);
	}
	for (uint32_t i = 0; i < mx->g->nunits; i++) {
		const struct wse_unit *u = &mx->g->units[i];
		int ret =
			mx->pool.alloc(mx->pool.ctx, wse_unit_image_bytes(mx->g, u), &mx->bufs[i]);

		if (ret)
			return ret;
		mx->images[i] = wse_image_spans(mx->g, u, mx->bufs[i]);
	}
	return 0;
}

/* gradients of tensors in no unit are the host's, all of them; scratch for those of vectors */
static int alloc_grads(struct wse_memx *mx)
{
	size_t longest = 1;

	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_home *h = &mx->map.home[i];
		size_t count = mx->tab.t[i].count;

		if (h->unit == WSE_NO_UNIT) {
			mx->own[i] = mx->cfg.forward ? NULL : calloc(count, sizeof(float));
			if (!mx->own[i] && !mx->cfg.forward)
				return -ENOMEM;
		} else if (h->which && count > longest) {
			longest = count;
		}
	}
	mx->scratch = malloc(longest * sizeof(float));
	return mx->scratch ? 0 : -ENOMEM;
}

/* of a tensor of a unit, as its sum leaves the memory: the thread is a device's */
static void look_at(void *ctx, uint32_t unit, const float *grad)
{
	struct wse_memx *mx = ctx;
	const struct wse_unit *u = &mx->g->units[unit];
	struct wse_piece p;

	for (uint32_t which = u->weight == WSE_NO_TENSOR; which <= u->nvec; which++) {
		uint32_t tensor = which ? u->vec[which - 1].tensor : u->weight;
		const struct wse_tensor *t = &mx->tab.t[tensor];
		float *vec = which ? malloc(t->count * sizeof(*vec)) : NULL;

		for (size_t i = 0; vec && wse_unit_piece(mx->g, u, which, t, i, &p); i++)
			memcpy(vec + p.from, grad + p.at, p.count * sizeof(*vec));
		/* without memory the step ends: its norm is not finite */
		mx->squares[tensor] =
			which && !vec ? NAN : wse_sum_squares(which ? vec : grad, t->count);
		free(vec);
	}
}

static int open_grad_file(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	int ret;

	if (!cfg->dir || !cfg->grad_places || cfg->forward)
		return 0;
	mx->grad_piece = malloc((mx->map.pieces.longest + 1) * sizeof(float));
	if (!mx->grad_piece)
		return -ENOMEM;
	ret = wse_grad_file_open(&mx->map.pieces, mx->g->nunits, cfg->grad_places, cfg->dir,
				 &mx->gfile);
	if (ret)
		return ret;
	if (mx->map.ranks == 1) /* else a rank has the sums of its pieces alone */
		wse_grad_file_look(mx->gfile, look_at, mx);
	wse_grad_file_step(mx->gfile, 1);
	return 0;
}

static int done_writing(struct wse_memx *mx)
{
	uint32_t unit = mx->writing;

	mx->writing = WSE_NO_UNIT;
	return unit == WSE_NO_UNIT ? 0 : wse_image_file_end(mx->ifile, unit, mx->step, 1);
}

/* weights of another rank come: the image that they are rounded into is in memory until done() */
static int want_image(void *ctx, uint32_t unit)
{
	struct wse_memx *mx = ctx;
	int ret = unit == mx->writing ? 0 : done_writing(mx);

	if (ret || unit == mx->writing)
		return ret;
	ret = wse_image_file_begin(mx->ifile, unit, 1);
	if (!ret)
		mx->writing = unit;
	return ret;
}

/*
 * Where nothing is trained the images are all there is of the weights, unless the model gathers its
 * inputs from binary32, as models of one's own do.
 */
static int images_alone(const struct wse_memx_cfg *cfg)
{
	return cfg->forward && cfg->model.family->leaf;
}

static int open_store(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	uint32_t arrays = cfg->forward ? 1 : wse_optim_arrays(&cfg->optim);

	if (images_alone(cfg))
		return wse_store_image(&mx->map.pieces, mx->g, mx->images, &mx->map.store);
	if (cfg->dir)
		return wse_store_file(&mx->map.kept, arrays, cfg->dir, &mx->map.store);
	return wse_store_ram(&mx->map.kept, arrays, &mx->map.store);
}

/*
 * What inputs are gathered from: a tensor in no unit where it lies; a matrix of a unit from its
 * image, or from a copy where the image has another order, or the model wants binary32.
 */
static int find_inputs(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_home *h = &mx->map.home[i];
		float *array[WSE_MEMX_ARRAYS];
		int ret;

		if (!(mx->tab.t[i].flags & WSE_TENSOR_INPUT))
			continue;
		if (h->unit == WSE_NO_UNIT && images_alone(&mx->cfg)) {
			mx->inputs[i].bf16 = wse_store_image_rows(mx->map.store, mx->map.alone[i]);
			continue;
		}
		if (h->unit == WSE_NO_UNIT) {
			ret = wse_map_get(&mx->map, mx->map.alone[i], array);
			ret = ret ? ret : wse_map_put(&mx->map, mx->map.alone[i], 0);
			if (ret)
				return ret;
			mx->inputs[i].f32 = array[WSE_MEMX_P];
			continue;
		}
		mx->early[h->unit] = 1;
		if (mx->cfg.model.family->leaf && !h->which &&
		    wse_map_is_plain(&mx->g->units[h->unit])) {
			mx->inputs[i].bf16 = wse_span_ptr(mx->images[h->unit].fwd);
			continue;
		}
		mx->mirror[i] = wse_pages_alloc(mx->tab.t[i].count * sizeof(float));
		if (!mx->mirror[i] || (mx->map.ranks > 1 && wse_share_whole(&mx->share, h->unit)))
			return -ENOMEM;
		mx->inputs[i].f32 = mx->mirror[i];
	}
	return 0;
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
	mx->writing = WSE_NO_UNIT;
	pthread_mutex_init(&mx->lock, NULL);
	pthread_cond_init(&mx->cond, NULL);
	ret = cfg->model.family->tensors(&cfg->model, &mx->tab);
	if (!ret)
		ret = wse_map_make(&mx->map, graph, &mx->tab, cfg->rank,
				   cfg->ranks ? cfg->ranks : 1);
	if (!ret) {
		mx->squares = calloc(mx->tab.n, sizeof(*mx->squares));
		mx->own = calloc(mx->tab.n, sizeof(*mx->own));
		mx->adds = calloc(mx->tab.n, sizeof(*mx->adds));
		mx->inputs = calloc(mx->tab.n, sizeof(*mx->inputs));
		mx->mirror = calloc(mx->tab.n, sizeof(*mx->mirror));
		mx->bufs = calloc(graph->nunits + 1, sizeof(struct wse_shared_buf *));
		mx->images = calloc(graph->nunits + 1, sizeof(*mx->images));
		mx->early = calloc(graph->nunits + 1, 1);
		mx->ready = calloc(graph->nunits + 1, 1);
		if (!mx->own || !mx->adds || !mx->inputs || !mx->mirror || !mx->bufs ||
		    !mx->images || !mx->early || !mx->ready || !mx->squares)
			ret = -ENOMEM;
	}
	ret = ret ? ret : alloc_grads(mx);
	ret = ret ? ret : open_grad_file(mx);
	ret = ret ? ret : alloc_images(mx);
	if (!ret && mx->map.ranks > 1) {
		ret = wse_share_make(&mx->share, &mx->map, mx->images);
		mx->map.elsewhere = wse_share_elsewhere;
		mx->share.want = mx->ifile ? want_image : NULL;
		mx->share.want_ctx = mx;
		mx->map.ctx = &mx->share;
	}
	ret = ret ? ret : open_store(mx);
	ret = ret ? ret : find_inputs(mx);
	ret = ret ? ret : wse_masks_open(&mx->masks, &mx->cfg.sparsity, &mx->map, &mx->pool);
	if (!ret && !cfg->forward)
		ret = wse_map_init(&mx->map, cfg->seed);
	if (!ret && !cfg->forward)
		ret = wse_choose_first(&mx->masks, cfg->seed);
	ret = ret ? ret : wse_memx_refresh(mx);
	mx->unset = cfg->forward;
	if (ret) {
		wse_memx_close(mx);
		return ret;
	}
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
	for (uint32_t i = 0; mx->mirror && i < mx->tab.n; i++)
		free(mx->mirror[i]);
	wse_masks_close(&mx->masks);
	free(mx->bufs);
	free(mx->images);
	free(mx->inputs);
	free(mx->mirror);
	free(mx->early);
	free(mx->ready);
	free(mx->own);
	free(mx->adds);
	free(mx->scratch);
	free(mx->squares);
	wse_share_fini(&mx->share);
	free(mx->grad_piece);
	wse_grad_file_close(mx->gfile);
	wse_image_file_close(mx->ifile);
	if (mx->map.store)
		mx->map.store->ops->close(mx->map.store);
	wse_map_fini(&mx->map);
	wse_tensor_table_fini(&mx->tab);
	pthread_mutex_destroy(&mx->lock);
	pthread_cond_destroy(&mx->cond);
	free(mx);
}

void wse_memx_state(struct wse_memx *mx, struct wse_memx_state *state)
{
	*state = (struct wse_memx_state){
		.table = &mx->tab,
		.step = &mx->step,
		.beta1_pow = &mx->beta1_pow,
		.beta2_pow = &mx->beta2_pow,
	};
}

void wse_memx_join(struct wse_memx *mx, const struct wse_memx_peers *peers)
{
	mx->share.peers = *peers;
}

const struct wse_memx_pieces *wse_memx_pieces(const struct wse_memx *mx)
{
	return &mx->map.pieces;
}

int wse_memx_piece(struct wse_memx *mx, uint32_t piece, enum wse_memx_array which, float *out)
{
	float *array[WSE_MEMX_ARRAYS];
	int ret;

	if (piece >= mx->map.pieces.n || (uint32_t)which >= WSE_MEMX_ARRAYS ||
	    !wse_map_has(&mx->map, piece))
		return wse_fail(-EINVAL, "piece %u is not this rank's", piece);
	ret = wse_map_get(&mx->map, piece, array);
	if (ret)
		return ret;
	if (array[which])
		memcpy(out, array[which], mx->map.pieces.p[piece].count * sizeof(*out));
	return wse_map_put(&mx->map, piece, 0);
}

/* are there such elements? */
static int check_range(const struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor,
		       size_t from, size_t count)
{
	uint32_t arrays = mx->cfg.forward ? 1 : wse_optim_arrays(&mx->cfg.optim);

	if ((uint32_t)which >= arrays || tensor >= mx->tab.n || from > mx->tab.t[tensor].count ||
	    count > mx->tab.t[tensor].count - from)
		return wse_fail(-EINVAL, "tensor %u has no such elements", tensor);
	return 0;
}

int wse_memx_read(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		  size_t count, float *out)
{
	int ret = check_range(mx, which, tensor, from, count);

	if (mx->failed)
		ret = wse_fail(-ESTALE, "the weights are in part those of a step that failed: load "
					"a checkpoint");
	return ret ? ret : wse_map_copy(&mx->map, which, tensor, from, count, out, NULL);
}

int wse_memx_write(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		   size_t count, const float *in)
{
	int ret = check_range(mx, which, tensor, from, count);

	return ret ? ret : wse_map_copy(&mx->map, which, tensor, from, count, NULL, in);
}

int wse_memx_is_far(const struct wse_memx *mx)
{
	return mx->map.ranks > 1 || (mx->cfg.dir && !images_alone(&mx->cfg));
}

int wse_memx_runs(struct wse_memx *mx, uint32_t arrays, wse_map_run fn, void *ctx)
{
	return wse_map_runs(&mx->map, arrays, fn, ctx);
}

size_t wse_memx_longest(const struct wse_memx *mx)
{
	size_t longest = mx->map.pieces.longest;

	for (uint32_t i = 0; i < mx->tab.n; i++) /* a vector's run is all of it */
		if (mx->map.home[i].which && mx->tab.t[i].count > longest)
			longest = mx->tab.t[i].count;
	return longest;
}

void wse_memx_moved(const struct wse_memx *mx, uint64_t *in, uint64_t *out)
{
	wse_store_file_moved(mx->map.store, in, out);
}

const struct wse_input *wse_memx_inputs(struct wse_memx *mx)
{
	return mx->inputs;
}

/* ---- images, and the update that they follow ---- */

/* n elements of a tensor, of the arrays and of its gradient */
static void update_range(struct wse_memx *mx, uint32_t tensor, float *const *array, size_t at,
			 const float *grad, size_t n)
{
	struct wse_update u = mx->update;

	u.decay = !!(mx->tab.t[tensor].flags & WSE_TENSOR_DECAY);
	u.lr *= mx->tab.t[tensor].rate;
	wse_optim_update(&mx->cfg.optim, &u, n, array[WSE_MEMX_P] + at, array[WSE_MEMX_M] + at,
			 array[WSE_MEMX_V] ? array[WSE_MEMX_V] + at : NULL, grad);
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

/* weights that are not there any more, or not yet, and their moments */
static void clear_range(struct wse_memx *mx, const struct wse_memx_piece *p, float *const *array,
			size_t at, size_t n)
{
	for (uint32_t i = 0; i < WSE_MEMX_ARRAYS; i++)
		if (array[i])
			wse_masks_clear(&mx->masks, p->unit, at, n, array[i] + (at - p->at));
}

/*
 * A pass over a piece of a unit's matrix updates it, where that is due, and writes the images, a
 * row of tiles at a time: what the optimizer has written is still in the cache. Rows beyond the
 * tensor are 0 and stay so. Without parameters the plain image is there, and the transposed one is
 * made.
 */
static void pass_matrix(struct wse_memx *mx, const struct wse_memx_piece *p, float *const *array,
			const float *grad)
{
	const struct wse_unit *u = &mx->g->units[p->unit];
	const struct wse_image *img = &mx->images[p->unit];
	size_t real = mx->tab.t[u->weight].count / u->ins, last = (size_t)p->row + p->rows;
	uint16_t *fwd = wse_span_ptr(img->fwd);
	uint16_t *tr = img->tr.buf ? wse_span_ptr(img->tr) : NULL;
	/* row 0 of the matrix, if all of it lay as this piece does */
	const float *w = array[WSE_MEMX_P] ? array[WSE_MEMX_P] - (ptrdiff_t)p->at : NULL;

	for (size_t first = p->row, end; first < last; first = end) {
		size_t at = first * u->ins, some;

		end = wse_image_tile_end(first, last);
		some = end < real ? end : real;
		if (grad && first < some)
			update_range(mx, u->weight, array, at - p->at, grad + (at - p->at),
				     (some - first) * u->ins);
		if (mx->masks.moving && wse_masks_bits(&mx->masks, p->unit) && first < some)
			clear_range(mx, p, array, at, (some - first) * u->ins);
		if (u->chunks_back > 1 && tr)
			write_back_chunks(mx, u, w, first, end, fwd, tr);
		else
			wse_bf16_image_part(w, u->outs, u->ins, first, end, 0, u->ins, fwd, tr);
	}
}

/* the vectors at the end of a piece */
static void pass_vectors(struct wse_memx *mx, const struct wse_memx_piece *p, float *const *array,
			 const float *grad)
{
	const struct wse_unit *u = &mx->g->units[p->unit];
	struct wse_piece q;

	for (uint32_t which = 1; which <= u->nvec && grad; which++) {
		uint32_t tensor = u->vec[which - 1].tensor;

		for (size_t i = 0; wse_unit_piece(mx->g, u, which, &mx->tab.t[tensor], i, &q); i++)
			update_range(mx, tensor, array, q.at - p->at, grad + (q.at - p->at),
				     q.count);
	}
	memcpy(wse_span_ptr(mx->images[p->unit].vec), array[WSE_MEMX_P] + (p->count - p->vec),
	       p->vec * sizeof(float));
}

/* the gradient of a piece [count] */
static int piece_grad(const struct wse_memx *mx, const struct wse_memx_piece *p, const float **grad)
{
	if (p->unit == WSE_NO_UNIT) {
		*grad = mx->own[p->tensor] + p->at;
		return 0;
	}
	if (mx->unit_grads[p->unit]) {
		*grad = mx->unit_grads[p->unit] + p->at;
		return 0;
	}
	*grad = mx->grad_piece;
	return wse_memx_sum(mx, mx->unit_grads, p->unit, p->at, p->count, mx->grad_piece);
}

/* of a piece's gradient what is not used: grad [count] */
static void clear_grad(const struct wse_memx *mx, const struct wse_memx_piece *p, float *grad)
{
	if (p->unit != WSE_NO_UNIT && p->rows && wse_masks_bits(&mx->masks, p->unit))
		wse_masks_clear(&mx->masks, p->unit, p->at, p->count - p->vec, grad);
}

/* pieces [first, end) of a unit, or of tensors in none */
static int pass(struct wse_memx *mx, uint32_t first, uint32_t end, int updating)
{
	int ret = 0;

	for (uint32_t k = first; k < end && !ret; k++) {
		const struct wse_memx_piece *p = &mx->map.pieces.p[k];
		float *array[WSE_MEMX_ARRAYS];
		const float *grad = NULL;

		if (!wse_map_has(&mx->map, k))
			continue;
		ret = updating ? piece_grad(mx, p, &grad) : 0;
		ret = ret ? ret : wse_map_get(&mx->map, k, array);
		if (ret)
			break;
		if (grad && grad == mx->grad_piece && mx->masks.moving)
			clear_grad(mx, p, mx->grad_piece);
		if (p->unit == WSE_NO_UNIT && updating)
			update_range(mx, p->tensor, array, 0, grad, p->count);
		if (p->unit != WSE_NO_UNIT && p->rows)
			pass_matrix(mx, p, array, grad);
		if (p->vec)
			pass_vectors(mx, p, array, grad);
		if (mx->share.whole && p->unit != WSE_NO_UNIT && mx->share.whole[p->unit])
			memcpy(mx->share.whole[p->unit] + p->at, array[WSE_MEMX_P],
			       p->count * sizeof(float));
		ret = wse_map_put(&mx->map, k, updating || mx->masks.moving);
	}
	return ret;
}

/*
 * The rest of a unit's images, of which other ranks have the pieces: as bf16 they are there, or
 * come after an update; transposed they are made here.
 */
static int pass_others(struct wse_memx *mx, uint32_t unit, int updating)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	int ret = updating ? wse_share_images(&mx->share, unit) : 0;

	for (uint32_t k = l->first[unit]; k < l->first[unit + 1] && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		float *array[WSE_MEMX_ARRAYS] = {NULL};

		if (wse_map_has(&mx->map, k))
			continue;
		if (mx->share.whole[unit])
			array[WSE_MEMX_P] = mx->share.whole[unit] + p->at;
		if (p->rows && (array[WSE_MEMX_P] || mx->images[unit].tr.buf))
			pass_matrix(mx, p, array, NULL);
		if (p->vec && array[WSE_MEMX_P])
			pass_vectors(mx, p, array, NULL);
	}
	return ret;
}

static int copy_mirror(struct wse_memx *mx, uint32_t unit)
{
	int ret = 0;

	for (uint32_t i = 0; i < mx->tab.n && !ret; i++)
		if (mx->mirror[i] && mx->map.home[i].unit == unit)
			ret = wse_map_copy(&mx->map, WSE_MEMX_P, i, 0, mx->tab.t[i].count,
					   mx->mirror[i], NULL);
	return ret;
}

static void set_ready(struct wse_memx *mx, uint32_t unit, int ready)
{
	pthread_mutex_lock(&mx->lock);
	mx->ready[unit] = (unsigned char)ready;
	pthread_cond_broadcast(&mx->cond);
	pthread_mutex_unlock(&mx->lock);
}

/* updating: first, what the commit has not updated; its gradient is used up then */
static int pass_unit(struct wse_memx *mx, uint32_t unit, int updating)
{
	/* what other ranks have of it is there already, unless it comes after an update */
	int keep = mx->map.ranks > 1 && !updating;
	int ret = mx->ifile ? wse_image_file_begin(mx->ifile, unit, keep) : 0, end;

	if (ret)
		return ret;
	if (!images_alone(&mx->cfg))
		ret = pass(mx, mx->map.pieces.first[unit], mx->map.pieces.first[unit + 1],
			   updating);
	if (!ret && mx->map.ranks > 1)
		ret = pass_others(mx, unit, updating);
	if (!ret && mx->early[unit])
		ret = copy_mirror(mx, unit);
	if (!ret)
		ret = wse_masks_pack(&mx->masks, unit, &mx->images[unit], !mx->ifile);
	end = mx->ifile ? wse_image_file_end(mx->ifile, unit, mx->step, !ret) : 0;
	ret = ret ? ret : end;
	if (ret)
		return ret;
	if (updating && mx->give)
		mx->give(mx->give_ctx, unit);
	set_ready(mx, unit, 1);
	return 0;
}

/* what has been written is of no use any more; a device that waits for an image learns of it */
static int give_up(struct wse_memx *mx, int err)
{
	if (!err)
		return 0;
	pthread_mutex_lock(&mx->lock);
	mx->failed = err;
	pthread_cond_broadcast(&mx->cond);
	pthread_mutex_unlock(&mx->lock);
	return err;
}

/* a step after which weights come by their gradients makes those of all */
static void want_grads(struct wse_memx *mx)
{
	const struct wse_masks *m = &mx->masks;

	for (uint32_t i = 0; i < mx->g->nunits; i++)
		mx->images[i].dense_grad = 0;
	for (uint32_t i = 0; i < m->nparts; i++) {
		const struct wse_sparse_group *g = &m->cfg->g[m->part[i].group];

		if (g->algorithm == WSE_SPARSE_RIGL && wse_sparse_is_due(g, mx->step + 1))
			mx->images[mx->map.home[m->part[i].tensor].unit].dense_grad = 1;
	}
}

int wse_memx_refresh(struct wse_memx *mx)
{
	int ret = done_writing(mx);

	mx->failed = 0;
	mx->pending = 0;
	mx->unset = 0;
	wse_masks_turn(&mx->masks);
	wse_masks_forget(&mx->masks);
	wse_masks_show(&mx->masks, mx->images);
	want_grads(mx);
	mx->masks.moving = mx->masks.there && !mx->cfg.forward;
	wse_map_ahead(&mx->map, mx->map.pieces.first[0], mx->map.pieces.n);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		ret = pass_unit(mx, i, 0);
	mx->masks.moving = 0;
	return give_up(mx, ret);
}

struct wse_masks *wse_memx_masks(struct wse_memx *mx)
{
	return &mx->masks;
}

static int look_at_piece(void *ctx, uint32_t piece, const float **p, const float **grad)
{
	struct wse_memx *mx = ctx;
	float *array[WSE_MEMX_ARRAYS];
	int ret = grad ? piece_grad(mx, &mx->map.pieces.p[piece], grad) : 0;

	ret = ret ? ret : wse_map_get(&mx->map, piece, array);
	*p = ret ? NULL : array[WSE_MEMX_P];
	return ret;
}

static int looked_at_piece(void *ctx, uint32_t piece)
{
	struct wse_memx *mx = ctx;

	return wse_map_put(&mx->map, piece, 0);
}

static struct wse_choose_source source(struct wse_memx *mx)
{
	return (struct wse_choose_source){look_at_piece, looked_at_piece, mx, &mx->share.peers};
}

int wse_memx_masks_again(struct wse_memx *mx)
{
	const struct wse_choose_source from = source(mx);

	mx->cut = mx->map.ranks > 1 && !mx->cfg.forward;
	if (mx->cut)
		wse_choose_all(&mx->masks);
	return mx->cfg.forward || mx->cut ? 0 : wse_choose_largest(&mx->masks, &from);
}

int wse_memx_cut(struct wse_memx *mx)
{
	const struct wse_choose_source from = source(mx);
	int ret = mx->cut ? wse_choose_largest(&mx->masks, &from) : 0;

	if (!ret && mx->cut)
		ret = wse_memx_refresh(mx);
	mx->cut = 0;
	return ret;
}

const struct wse_image *wse_memx_images(struct wse_memx *mx)
{
	return mx->images;
}

int wse_memx_unit_ready(struct wse_memx *mx, uint32_t unit)
{
	int ret;

	pthread_mutex_lock(&mx->lock);
	while (!mx->ready[unit] && !mx->failed)
		pthread_cond_wait(&mx->cond, &mx->lock);
	ret = mx->failed ? -ECANCELED : 0;
	pthread_mutex_unlock(&mx->lock);
	return ret;
}

int wse_memx_images_move(const struct wse_memx *mx)
{
	return mx->ifile != NULL;
}

uint64_t wse_memx_image_reads(const struct wse_memx *mx)
{
	return mx->ifile ? wse_image_file_reads(mx->ifile) : 0;
}

int wse_memx_unit_take(struct wse_memx *mx, uint32_t unit, int wait)
{
	int ready, ret;

	pthread_mutex_lock(&mx->lock);
	ready = mx->ready[unit] || mx->failed;
	pthread_mutex_unlock(&mx->lock);
	if (!ready && !wait)
		return -EAGAIN;
	ret = wse_memx_unit_ready(mx, unit);
	return ret || !mx->ifile ? ret : wse_image_file_take(mx->ifile, unit, wait);
}

void wse_memx_unit_done(struct wse_memx *mx, uint32_t unit)
{
	if (mx->ifile)
		wse_image_file_done(mx->ifile, unit);
}

/* ---- gradients ---- */

struct wse_grad_file *wse_memx_grad_file(struct wse_memx *mx)
{
	return mx->gfile;
}

const unsigned char *wse_memx_host_units(const struct wse_memx *mx)
{
	return mx->cfg.model.family->leaf ? NULL : mx->early;
}

int wse_memx_sum(const struct wse_memx *mx, float *const *sums, uint32_t unit, size_t at, size_t n,
		 float *out)
{
	uint32_t place;

	if (sums[unit]) {
		memcpy(out, sums[unit] + at, n * sizeof(*out));
		return 0;
	}
	place = mx->gfile ? wse_grad_file_held(mx->gfile, unit) : WSE_NO_PLACE;
	if (place == WSE_NO_PLACE)
		return wse_fail(-ENODATA, "unit %u has no gradient", unit);
	return wse_grad_file_read(mx->gfile, unit, place, at, n, out);
}

void wse_memx_give_back(struct wse_memx *mx, void (*give)(void *ctx, uint32_t unit), void *ctx)
{
	mx->give = give;
	mx->give_ctx = ctx;
}

float *const *wse_memx_grads(struct wse_memx *mx, float *const *unit)
{
	mx->unit_grads = unit;
	mx->squared = 0;
	mx->chosen = 0;
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_tensor *t = &mx->tab.t[i];

		mx->adds[i] = mx->own[i];
		if (mx->own[i])
			memset(mx->own[i], 0, t->count * sizeof(float));
		else if (t->flags & WSE_TENSOR_INPUT && !mx->map.home[i].which)
			mx->adds[i] = unit[mx->map.home[i].unit];
	}
	return mx->adds;
}

/* is the gradient of a tensor in the file? Then it was looked at on its way */
static int in_file(const struct wse_memx *mx, uint32_t tensor)
{
	return !mx->own[tensor] && !mx->unit_grads[mx->map.home[tensor].unit];
}

/* a gradient as one array: where it lies, or (a vector) gathered into scratch */
static const float *contiguous(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];
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

int wse_memx_grad(const struct wse_memx *mx, uint32_t tensor, float *out)
{
	const struct wse_tensor *t = &mx->tab.t[tensor];
	const struct wse_home *h = &mx->map.home[tensor];
	struct wse_piece p;
	int ret = 0;

	if (mx->own[tensor]) {
		memcpy(out, mx->own[tensor], t->count * sizeof(float));
		return 0;
	}
	for (size_t i = 0;
	     !ret && wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, t, i, &p); i++)
		ret = wse_memx_sum(mx, mx->unit_grads, h->unit, p.at, p.count, out + p.from);
	return ret;
}

uint32_t wse_memx_bad_grad(const struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const float *g;

		/* squares of binary32 numbers are in the range of a double */
		if (mx->map.ranks > 1 || in_file(mx, i)) {
			if (!(mx->squares[i] - mx->squares[i] == 0.0))
				return i;
			continue;
		}
		g = contiguous(mx, i);
		for (size_t j = 0; j < mx->tab.t[i].count; j++)
			if (wse_f32_isbad(g[j]))
				return i;
	}
	return WSE_NO_TENSOR;
}

/* the squares of a gradient in the file, without what is not used of it */
static int square_again(struct wse_memx *mx, uint32_t unit)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	const uint32_t tensor = mx->g->units[unit].weight;
	double *b = malloc((l->longest / 4096 + 1) * sizeof(*b)), sum = 0.0;
	int ret = b ? 0 : -ENOMEM;

	for (uint32_t k = l->first[unit]; k < l->first[unit + 1] && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		size_t n = p->count - p->vec, left = mx->tab.t[tensor].count - p->at, blocks;
		const float *grad;

		ret = piece_grad(mx, p, &grad);
		if (ret)
			break;
		clear_grad(mx, p, mx->grad_piece);
		blocks = wse_square_blocks(grad, n < left ? n : left, b);
		for (size_t i = 0; i < blocks; i++)
			sum += b[i];
	}
	free(b);
	mx->squares[tensor] = sum;
	return ret;
}

/* where masks change after this step: to what, and gradients of the weights that stay */
static int choose_masks(struct wse_memx *mx)
{
	const struct wse_choose_source from = source(mx);
	const struct wse_memx_pieces *l = &mx->map.pieces;
	int any = 0, ret;

	if (mx->chosen || !mx->masks.nparts)
		return 0;
	wse_masks_forget(&mx->masks);
	ret = wse_choose_step(&mx->masks, &from, mx->cfg.seed, mx->step + 1, &any);
	for (uint32_t i = 0; i < mx->g->nunits && any && !ret; i++) {
		if (!wse_masks_bits(&mx->masks, i))
			continue;
		if (!mx->unit_grads[i])
			ret = square_again(mx, i);
		for (uint32_t k = l->first[i]; k < l->first[i + 1] && mx->unit_grads[i]; k++)
			if (wse_map_has(&mx->map, k))
				clear_grad(mx, &l->p[k], mx->unit_grads[i] + l->p[k].at);
	}
	mx->chosen = !ret;
	return ret;
}

/* for the squares of all ranks; what is not used of it is 0, as in gradients in memory */
static int grad_of(void *ctx, uint32_t piece, const float **grad)
{
	const struct wse_memx *mx = ctx;
	const struct wse_memx_piece *p = &mx->map.pieces.p[piece];
	int ret = piece_grad(mx, p, grad);

	if (!ret && mx->masks.nparts && *grad == mx->grad_piece)
		clear_grad(mx, p, mx->grad_piece);
	return ret;
}

int wse_memx_squares(struct wse_memx *mx)
{
	int ret = choose_masks(mx);

	if (ret || mx->map.ranks == 1 || mx->squared)
		return ret;
	ret = wse_share_squares(&mx->share, grad_of, mx, mx->scratch, mx->squares);
	for (uint32_t i = 0; i < mx->tab.n && !ret; i++)
		if (mx->own[i])
			mx->squares[i] = wse_sum_squares(mx->own[i], mx->tab.t[i].count);
	mx->squared = !ret;
	return ret;
}

/* ---- the end of a step ---- */

void wse_memx_own(struct wse_memx *mx, uint32_t own, double lr, double max_norm)
{
	mx->of_step.set = own;
	mx->of_step.lr = lr;
	mx->of_step.max_norm = max_norm;
}

void wse_memx_own_text(const struct wse_memx *mx, char *text, size_t size)
{
	char lr[32], norm[32];

	snprintf(text, size, "%s%s%s%s", mx->of_step.set & WSE_STEP_LR ? ", learning rate " : "",
		 mx->of_step.set & WSE_STEP_LR ? wse_f64_text(mx->of_step.lr, lr) : "",
		 mx->of_step.set & WSE_STEP_MAX_NORM ? ", clipped to " : "",
		 mx->of_step.set & WSE_STEP_MAX_NORM ? wse_f64_text(mx->of_step.max_norm, norm)
						     : "");
}

uint32_t wse_memx_own_done(struct wse_memx *mx)
{
	uint32_t own = mx->of_step.set;

	mx->of_step.set = 0;
	return own;
}

int wse_memx_commit(struct wse_memx *mx, double *norm, double *lr)
{
	double max_norm =
		mx->of_step.set & WSE_STEP_MAX_NORM ? mx->of_step.max_norm : mx->cfg.max_norm;
	double sum = 0.0;
	int ret = wse_memx_finish(mx);

	ret = ret ? ret : wse_memx_squares(mx);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < mx->tab.n; i++)
		sum += mx->map.ranks > 1 || in_file(mx, i)
			       ? mx->squares[i]
			       : wse_sum_squares(contiguous(mx, i), mx->tab.t[i].count);
	*norm = wse_sqrt(sum);
	*lr = mx->of_step.set & WSE_STEP_LR ? mx->of_step.lr
					    : wse_sched_rate(&mx->cfg.sched, mx->step);
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
	if (max_norm > 0.0 && *norm > max_norm)
		mx->update.grad_scale = (float)(max_norm / (*norm + 1e-6));
	mx->step++;
	mx->map.store->step = mx->step;
	if (mx->gfile)
		wse_grad_file_step(mx->gfile, mx->step + 1);
	mx->pending = 1;
	mx->masks.moving = wse_masks_turn(&mx->masks);
	if (mx->masks.moving)
		wse_masks_show(&mx->masks, mx->images);
	want_grads(mx);
	for (uint32_t i = 0; i < mx->g->nunits; i++)
		set_ready(mx, i, 0);
	ret = pass(mx, 0, mx->map.pieces.first[0], 1);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		if (mx->early[i])
			ret = pass_unit(mx, i, 1);
	return give_up(mx, ret);
}

int wse_memx_pending(const struct wse_memx *mx)
{
	return mx->pending;
}

int wse_memx_finish(struct wse_memx *mx)
{
	int ret = 0;

	if (mx->failed)
		return wse_fail(mx->failed, "the weights are in part those of a step that failed: "
					    "go on from the last checkpoint");
	if (mx->unset) {
		ret = wse_map_init(&mx->map, mx->cfg.seed);
		return ret ? give_up(mx, ret) : wse_memx_refresh(mx);
	}
	if (!mx->pending)
		return 0;
	wse_map_ahead(&mx->map, mx->map.pieces.first[0], mx->map.pieces.n);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		if (!mx->early[i])
			ret = pass_unit(mx, i, 1);
	mx->pending = 0;
	mx->masks.moving = 0;
	wse_masks_forget(&mx->masks);
	return give_up(mx, ret);
}
