// SPDX-License-Identifier: MIT
/*
 * A pass over pieces of MemoryX's state: the optimizer updates what is due, masters follow their
 * masks, and what comes out is rounded into the images while it is in the cache.
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/image.h"

/* n elements of a tensor, of the arrays and of its gradient */
static void update_range(const struct wse_memx *mx, uint32_t tensor, float *const *array, size_t at,
			 const float *grad, size_t n)
{
	struct wse_update u = mx->update;

	u.decay = !!(mx->tab.t[tensor].flags & WSE_TENSOR_DECAY);
	u.lr *= mx->tab.t[tensor].rate;
	wse_optim_update(&mx->cfg.optim, &u, n, array[WSE_MEMX_P] + at, array[WSE_MEMX_M] + at,
			 array[WSE_MEMX_V] ? array[WSE_MEMX_V] + at : NULL, grad);
}

/* rows [first, end) of the matrix w, of which the transposed image has the inputs chunk by chunk */
static void write_back_chunks(size_t cols, const struct wse_unit *u, const float *w, size_t first,
			      size_t end, uint16_t *fwd, uint16_t *tr)
{
	size_t h = u->ins / u->chunks_back / cols;

	for (size_t i = 0; i < cols * u->chunks_back; i++) {
		size_t k = (i % cols * u->chunks_back + i / cols) * h;
		/* row 0 of the image, if all of it lay as these rows do */
		uint16_t *to = tr + ((ptrdiff_t)(i * h) - (ptrdiff_t)k) * (ptrdiff_t)u->outs;

		wse_bf16_image_part(w, u->outs, u->ins, first, end, k, k + h, fwd, to);
	}
}

/* weights that are not there any more, or not yet, and their moments */
static void clear_range(const struct wse_masks *m, const struct wse_memx_piece *p,
			float *const *array, size_t at, size_t n)
{
	for (uint32_t i = 0; i < WSE_MEMX_ARRAYS; i++)
		if (array[i])
			wse_masks_clear(m, p->unit, at, n, array[i] + (at - p->at));
}

/*
 * A pass over a piece of a unit's matrix updates it, where that is due, and writes the images, a
 * row of tiles at a time: what the optimizer has written is still in the cache. Rows beyond the
 * tensor are 0 and stay so, as does padding among its elements, whose gradient is 0. Without
 * parameters the plain image is there, and the transposed one is made.
 */
static void pass_matrix(struct wse_memx *mx, const struct wse_memx_piece *p, float *const *array,
			const float *grad)
{
	const struct wse_unit *u = &mx->g->units[p->unit];
	const struct wse_image *img = &mx->images.unit[p->unit];
	size_t real = wse_unit_matrix_floats(u, &mx->tab.t[u->weight]) / u->ins;
	size_t last = (size_t)p->row + p->rows;
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
			clear_range(&mx->masks, p, array, at, (some - first) * u->ins);
		if (u->chunks_back > 1 && tr)
			write_back_chunks(mx->g->tile.cols, u, w, first, end, fwd, tr);
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
	memcpy(wse_span_ptr(mx->images.unit[p->unit].vec), array[WSE_MEMX_P] + (p->count - p->vec),
	       p->vec * sizeof(float));
}

/* pieces [first, end) of a unit, or of tensors in none */
int wse_memx_pass(struct wse_memx *mx, uint32_t first, uint32_t end, int updating)
{
	int ret = 0;

	for (uint32_t k = first; k < end && !ret; k++) {
		const struct wse_memx_piece *p = &mx->map.pieces.p[k];
		float *array[WSE_MEMX_ARRAYS];
		const float *grad = NULL;

		if (!wse_map_has(&mx->map, k))
			continue;
		ret = updating ? wse_memx_piece_grad(mx, p, &grad) : 0;
		ret = ret ? ret : wse_map_get(&mx->map, k, array);
		if (!ret && mx->initial && p->unit != WSE_NO_UNIT)
			ret = wse_map_init_piece(&mx->map, mx->cfg.seed, k, array[WSE_MEMX_P]);
		if (ret)
			break;
		if (grad && grad == mx->grads.piece && p->unit != WSE_NO_UNIT && mx->masks.moving)
			wse_masks_clear_grad(&mx->masks, p, mx->grads.piece);
		if (p->unit == WSE_NO_UNIT && updating)
			update_range(mx, p->tensor, array, 0, grad, p->count);
		if (p->unit == WSE_NO_UNIT && mx->map.ranks > 1)
			wse_memx_show_piece(mx, p, 0, p->count, array[WSE_MEMX_P]);
		if (p->unit != WSE_NO_UNIT && p->rows)
			pass_matrix(mx, p, array, grad);
		if (p->vec)
			pass_vectors(mx, p, array, grad);
		if (mx->share.whole && p->unit != WSE_NO_UNIT && mx->share.whole[p->unit])
			memcpy(mx->share.whole[p->unit] + p->at, array[WSE_MEMX_P],
			       p->count * sizeof(float));
		ret = wse_map_put(&mx->map, k, updating || mx->masks.moving || mx->initial);
	}
	return ret;
}

/* weights that come, by the masks of now: the gradients that lie by the old ones are used up */
static int others_sent(struct wse_memx *mx, uint32_t unit)
{
	int ret;
	const struct wse_packed *rows = wse_masks_rows(&mx->masks, unit, &ret);

	return ret ? ret : wse_share_images(&mx->share, unit, rows);
}

/* initial weights of a piece that another rank has, w [count] */
static int others_made(struct wse_memx *mx, uint32_t piece, float *w)
{
	const struct wse_memx_piece *p = &mx->map.pieces.p[piece];
	int ret = wse_map_init_piece(&mx->map, mx->cfg.seed, piece, w);

	if (!ret && mx->share.whole[p->unit])
		memcpy(mx->share.whole[p->unit] + p->at, w, p->count * sizeof(*w));
	return ret;
}

int wse_memx_pass_others(struct wse_memx *mx, uint32_t unit, enum wse_memx_others from)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	float *made = from == WSE_OTHERS_MADE ? malloc(l->longest * sizeof(*made)) : NULL;
	int ret = from == WSE_OTHERS_MADE && !made ? -ENOMEM : 0;

	if (from == WSE_OTHERS_SENT)
		ret = others_sent(mx, unit);
	for (uint32_t k = l->first[unit]; k < l->first[unit + 1] && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		float *array[WSE_MEMX_ARRAYS] = {NULL};

		if (wse_map_has(&mx->map, k))
			continue;
		if (made)
			ret = others_made(mx, k, made);
		if (ret)
			break;
		if (made)
			array[WSE_MEMX_P] = made;
		else if (mx->share.whole[unit])
			array[WSE_MEMX_P] = mx->share.whole[unit] + p->at;
		if (p->rows && (array[WSE_MEMX_P] || mx->images.unit[unit].tr.buf))
			pass_matrix(mx, p, array, NULL);
		if (p->vec && array[WSE_MEMX_P])
			pass_vectors(mx, p, array, NULL);
	}
	free(made);
	return ret;
}
