// SPDX-License-Identifier: MIT
/*
 * MemoryX, opened and closed, and its parameters and moments by tensor and by piece. What a step
 * does with them is in grads.c, mask_update.c, commit.c, pass.c and images.c (memx_inside.h).
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/choose.h"
#include "memx/image_file.h"

/* ---- opening and closing ---- */

/* in memory, or in a file; of a sparse run what is left out is not kept */
static int open_kept(struct wse_memx *mx, uint32_t arrays)
{
	const char *dir = mx->cfg.dir;
	unsigned char *masked = calloc(mx->g->nunits + 1ul, 1);
	int ret = masked ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < mx->g->nunits && masked; i++)
		masked[i] = wse_masks_bits(&mx->masks, i) != NULL;
	if (!ret && dir)
		ret = wse_store_file(&mx->map.kept, arrays, masked, dir, &mx->map.store);
	else if (!ret && mx->masks.nparts)
		ret = wse_store_packed(&mx->map.kept, arrays, masked, &mx->map.store);
	else if (!ret)
		ret = wse_store_ram(&mx->map.kept, arrays, &mx->map.store);
	free(masked);
	return ret;
}

static int open_store(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	uint32_t arrays = cfg->forward ? 1 : wse_optim_arrays(&cfg->optim);

	if (wse_memx_images_alone(cfg))
		return wse_store_image(&mx->map.pieces, mx->g, mx->images.unit, &mx->map.store);
	return open_kept(mx, arrays);
}

/* what lies packed of masked units, in memory and in files */
static int open_masks(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	int ret = wse_masks_open(&mx->masks, &cfg->sparsity, &mx->map, &mx->pool);
	int may = !cfg->forward && !cfg->by_rows;

	if (!ret)
		wse_masks_packs(&mx->masks, may, may, wse_memx_images_in_file(cfg));
	return ret;
}

/*
 * Weights and images of a run that begins: a piece is rounded into its image when its weights are
 * made, and a file of the state is not read for that; so are the weights that other ranks keep.
 * Masks come first: they do not depend on weights that are kept.
 */
static int make_initial(struct wse_memx *mx)
{
	int ret;

	mx->initial = 1;
	ret = wse_choose_first(&mx->masks, mx->cfg.seed);
	if (!ret)
		ret = wse_map_init(&mx->map, mx->cfg.seed, mx->map.pieces.first[0]);
	ret = ret ? ret : wse_memx_refresh(mx);
	mx->initial = 0;
	return ret;
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
	mx->images.writing = WSE_NO_UNIT;
	pthread_mutex_init(&mx->images.lock, NULL);
	pthread_cond_init(&mx->images.cond, NULL);
	ret = cfg->model.family->tensors(&cfg->model, &mx->tab);
	if (!ret)
		ret = wse_map_make(&mx->map, graph, &mx->tab, cfg->rank,
				   cfg->ranks ? cfg->ranks : 1);
	ret = ret ? ret : open_masks(mx);
	ret = ret ? ret : wse_memx_open_grads(mx);
	ret = ret ? ret : wse_memx_open_images(mx);
	if (!ret && mx->map.ranks > 1) {
		ret = wse_share_make(&mx->share, &mx->map, mx->images.unit);
		mx->map.elsewhere = wse_share_elsewhere;
		mx->share.want = mx->images.file ? wse_memx_want_image : NULL;
		mx->share.show = wse_memx_show_piece;
		mx->share.want_ctx = mx;
		mx->map.ctx = &mx->share;
	}
	ret = ret ? ret : open_store(mx);
	ret = ret ? ret : wse_memx_find_inputs(mx);
	if (!ret)
		ret = cfg->forward ? wse_memx_refresh(mx) : make_initial(mx);
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
	wse_masks_close(&mx->masks);
	wse_memx_close_grads(mx);
	wse_memx_close_images(mx);
	wse_share_fini(&mx->share);
	if (mx->map.store)
		mx->map.store->ops->close(mx->map.store);
	wse_map_fini(&mx->map);
	wse_tensor_table_fini(&mx->tab);
	pthread_mutex_destroy(&mx->images.lock);
	pthread_cond_destroy(&mx->images.cond);
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

/* ---- by piece and by tensor ---- */

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
	if (wse_memx_images_alone(&mx->cfg))
		return mx->map.ranks > 1;
	return mx->map.ranks > 1 || mx->cfg.dir || mx->masks.nparts;
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

size_t wse_memx_packed(const struct wse_memx *mx)
{
	return wse_store_packed_floats(mx->map.store);
}

void wse_memx_moved(const struct wse_memx *mx, enum wse_memx_file file, uint64_t *in, uint64_t *out)
{
	*in = *out = 0;
	if (file == WSE_MEMX_STATE_FILE)
		wse_store_file_moved(mx->map.store, in, out);
	else if (file == WSE_MEMX_GRAD_FILE && mx->grads.file)
		wse_grad_file_moved(mx->grads.file, in, out);
	else if (file == WSE_MEMX_IMAGE_FILE && mx->images.file)
		wse_image_file_moved(mx->images.file, in, out);
}
