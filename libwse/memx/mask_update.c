// SPDX-License-Identifier: MIT
/*
 * When the masks of MemoryX change (choose.h says to what): at the weights that were loaded, and
 * after steps that the sparsity section names.
 */
#include "memx/memx_inside.h"

#include "memx/choose.h"

struct wse_masks *wse_memx_masks(struct wse_memx *mx)
{
	return &mx->masks;
}

static int look_at_piece(void *ctx, uint32_t piece, const float **p, const float **grad)
{
	struct wse_memx *mx = ctx;
	float *array[WSE_MEMX_ARRAYS];
	int ret = grad ? wse_memx_piece_grad(mx, &mx->map.pieces.p[piece], grad) : 0;

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

int wse_memx_loaded(struct wse_memx *mx)
{
	const struct wse_choose_source from = source(mx);
	int ret = mx->cut ? wse_choose_largest(&mx->masks, &from) : 0;

	if (!ret && mx->cut)
		ret = wse_memx_refresh(mx);
	mx->cut = 0;
	return ret ? ret : wse_memx_gather_images(mx);
}

/* where masks change after this step: to what, and gradients of the weights that stay */
int wse_memx_choose_masks(struct wse_memx *mx)
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
		if (!mx->grads.unit[i])
			ret = wse_memx_square_again(mx, i);
		for (uint32_t k = l->first[i]; k < l->first[i + 1] && wse_memx_grad_is_plain(mx, i);
		     k++)
			if (wse_map_has(&mx->map, k))
				wse_masks_clear_grad(&mx->masks, &l->p[k],
						     mx->grads.unit[i] + l->p[k].at);
	}
	mx->chosen = !ret;
	return ret;
}
