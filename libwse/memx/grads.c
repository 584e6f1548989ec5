// SPDX-License-Identifier: MIT
/*
 * The gradients of a step in MemoryX: the units' sums, in memory or in a file, those of tensors in
 * no unit, which the host adds, and the squares of all, for the norm.
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

/* gradients of tensors in no unit are the host's, all of them; scratch for those of vectors */
static int alloc_grads(struct wse_memx *mx)
{
	size_t longest = 1;

	mx->grads.squares = calloc(mx->tab.n, sizeof(*mx->grads.squares));
	mx->grads.own = calloc(mx->tab.n, sizeof(*mx->grads.own));
	mx->grads.adds = calloc(mx->tab.n, sizeof(*mx->grads.adds));
	if (!mx->grads.squares || !mx->grads.own || !mx->grads.adds)
		return -ENOMEM;
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_home *h = &mx->map.home[i];
		size_t count = mx->tab.t[i].count;

		if (h->unit == WSE_NO_UNIT) {
			mx->grads.own[i] = mx->cfg.forward ? NULL : calloc(count, sizeof(float));
			if (!mx->grads.own[i] && !mx->cfg.forward)
				return -ENOMEM;
		} else if (h->which && count > longest) {
			longest = count;
		}
	}
	mx->grads.scratch = malloc(longest * sizeof(float));
	return mx->grads.scratch ? 0 : -ENOMEM;
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
		mx->grads.squares[tensor] =
			which && !vec ? NAN
			: which	      ? wse_sum_squares(vec, t->count)
				      : wse_sum_squares(grad, wse_unit_matrix_floats(u, t));
		free(vec);
	}
}

static int open_grad_file(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	int ret;

	if (!cfg->dir || !cfg->grad_places || cfg->forward)
		return 0;
	mx->grads.piece = malloc((mx->map.pieces.longest + 1) * sizeof(float));
	if (!mx->grads.piece)
		return -ENOMEM;
	ret = wse_grad_file_open(&mx->map.pieces, mx->g->nunits, cfg->grad_places, cfg->dir,
				 &mx->grads.file);
	if (ret)
		return ret;
	if (mx->map.ranks == 1) /* else a rank has the sums of its pieces alone */
		wse_grad_file_look(mx->grads.file, look_at, mx);
	wse_grad_file_step(mx->grads.file, 1);
	return 0;
}

int wse_memx_open_grads(struct wse_memx *mx)
{
	int ret = alloc_grads(mx);

	return ret ? ret : open_grad_file(mx);
}

void wse_memx_close_grads(struct wse_memx *mx)
{
	wse_grad_file_close(mx->grads.file);
	for (uint32_t i = 0; mx->grads.own && i < mx->tab.n; i++)
		free(mx->grads.own[i]);
	free(mx->grads.own);
	free(mx->grads.adds);
	free(mx->grads.scratch);
	free(mx->grads.squares);
	free(mx->grads.piece);
}

/* ---- sums ---- */

struct wse_grad_file *wse_memx_grad_file(struct wse_memx *mx)
{
	return mx->grads.file;
}

const unsigned char *wse_memx_host_units(const struct wse_memx *mx)
{
	return mx->cfg.model.family->leaf ? NULL : mx->images.early;
}

int wse_memx_sum(const struct wse_memx *mx, float *const *sums, uint32_t unit, size_t at, size_t n,
		 float *out)
{
	uint32_t place;

	if (sums[unit]) {
		memcpy(out, sums[unit] + at, n * sizeof(*out));
		return 0;
	}
	place = mx->grads.file ? wse_grad_file_held(mx->grads.file, unit) : WSE_NO_PLACE;
	if (place == WSE_NO_PLACE)
		return wse_fail(-ENODATA, "unit %u has no gradient", unit);
	return wse_grad_file_read(mx->grads.file, unit, place, at, n, out);
}

void wse_memx_give_back(struct wse_memx *mx, void (*give)(void *ctx, uint32_t unit), void *ctx)
{
	mx->grads.give = give;
	mx->grads.give_ctx = ctx;
}

float *const *wse_memx_grads(struct wse_memx *mx, float *const *unit)
{
	mx->grads.unit = unit;
	mx->grads.squared = 0;
	mx->chosen = 0;
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const struct wse_tensor *t = &mx->tab.t[i];

		mx->grads.adds[i] = mx->grads.own[i];
		if (mx->grads.own[i])
			memset(mx->grads.own[i], 0, t->count * sizeof(float));
		else if (t->flags & WSE_TENSOR_INPUT && !mx->map.home[i].which)
			mx->grads.adds[i] = unit[mx->map.home[i].unit];
	}
	return mx->grads.adds;
}

/* the gradient of a piece [count] */
int wse_memx_piece_grad(const struct wse_memx *mx, const struct wse_memx_piece *p,
			const float **grad)
{
	if (p->unit == WSE_NO_UNIT) {
		*grad = mx->grads.own[p->tensor] + p->at;
		return 0;
	}
	if (mx->grads.unit[p->unit]) {
		*grad = mx->grads.unit[p->unit] + p->at;
		return 0;
	}
	*grad = mx->grads.piece;
	return wse_memx_sum(mx, mx->grads.unit, p->unit, p->at, p->count, mx->grads.piece);
}

int wse_memx_grad(const struct wse_memx *mx, uint32_t tensor, float *out)
{
	const struct wse_tensor *t = &mx->tab.t[tensor];
	const struct wse_home *h = &mx->map.home[tensor];
	struct wse_piece p;
	int ret = 0;

	if (mx->grads.own[tensor]) {
		memcpy(out, mx->grads.own[tensor], t->count * sizeof(float));
		return 0;
	}
	for (size_t i = 0;
	     !ret && wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, t, i, &p); i++)
		ret = wse_memx_sum(mx, mx->grads.unit, h->unit, p.at, p.count, out + p.from);
	return ret;
}

/* ---- squares ---- */

/* is the gradient of a tensor in the file? Then it was looked at on its way */
static int in_file(const struct wse_memx *mx, uint32_t tensor)
{
	return !mx->grads.own[tensor] && !mx->grads.unit[mx->map.home[tensor].unit];
}

/* a gradient as one array: where it lies, or (a vector) gathered into scratch */
static const float *contiguous(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];
	struct wse_piece p;

	if (mx->grads.own[tensor])
		return mx->grads.own[tensor];
	if (!h->which)
		return mx->grads.unit[h->unit];
	for (size_t i = 0;
	     wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, &mx->tab.t[tensor], i, &p);
	     i++)
		memcpy(mx->grads.scratch + p.from, mx->grads.unit[h->unit] + p.at,
		       p.count * sizeof(float));
	return mx->grads.scratch;
}

/* how many floats it has there: of a matrix that is padded, zeros among them */
static size_t floats_of(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];
	const struct wse_tensor *t = &mx->tab.t[tensor];

	return h->unit == WSE_NO_UNIT || h->which || mx->grads.own[tensor]
		       ? t->count
		       : wse_unit_matrix_floats(&mx->g->units[h->unit], t);
}

uint32_t wse_memx_bad_grad(const struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const float *g;

		/* squares of binary32 numbers are in the range of a double */
		if (mx->map.ranks > 1 || in_file(mx, i)) {
			if (!(mx->grads.squares[i] - mx->grads.squares[i] == 0.0))
				return i;
			continue;
		}
		g = contiguous(mx, i);
		for (size_t j = 0; j < floats_of(mx, i); j++)
			if (wse_f32_isbad(g[j]))
				return i;
	}
	return WSE_NO_TENSOR;
}

/* the squares of a gradient in the file, without what is not used of it */
int wse_memx_square_again(struct wse_memx *mx, uint32_t unit)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	const uint32_t tensor = mx->g->units[unit].weight;
	double *b = malloc((l->longest / 4096 + 1) * sizeof(*b)), sum = 0.0;
	int ret = b ? 0 : -ENOMEM;

	for (uint32_t k = l->first[unit]; k < l->first[unit + 1] && !ret; k++) {
		const struct wse_memx_piece *p = &l->p[k];
		size_t n = p->count - p->vec, blocks;
		size_t left =
			wse_unit_matrix_floats(&mx->g->units[unit], &mx->tab.t[tensor]) - p->at;
		const float *grad;

		ret = wse_memx_piece_grad(mx, p, &grad);
		if (ret)
			break;
		wse_masks_clear_grad(&mx->masks, p, mx->grads.piece);
		blocks = wse_square_blocks(grad, n < left ? n : left, b);
		for (size_t i = 0; i < blocks; i++)
			sum += b[i];
	}
	free(b);
	mx->grads.squares[tensor] = sum;
	return ret;
}

/* for the squares of all ranks; what is not used of it is 0, as in gradients in memory */
static int grad_of(void *ctx, uint32_t piece, const float **grad)
{
	const struct wse_memx *mx = ctx;
	const struct wse_memx_piece *p = &mx->map.pieces.p[piece];
	int ret = wse_memx_piece_grad(mx, p, grad);

	if (!ret && mx->masks.nparts && *grad == mx->grads.piece)
		wse_masks_clear_grad(&mx->masks, p, mx->grads.piece);
	return ret;
}

int wse_memx_squares(struct wse_memx *mx)
{
	int ret = wse_memx_choose_masks(mx);

	if (ret || mx->map.ranks == 1 || mx->grads.squared)
		return ret;
	ret = wse_share_squares(&mx->share, grad_of, mx, mx->grads.scratch, mx->grads.squares);
	mx->grads.squared = !ret;
	return ret;
}

double wse_memx_sum_squares(struct wse_memx *mx)
{
	double sum = 0.0;

	for (uint32_t i = 0; i < mx->tab.n; i++) {
		if (mx->map.ranks == 1 && !in_file(mx, i))
			mx->grads.squares[i] = wse_sum_squares(contiguous(mx, i), floats_of(mx, i));
		sum += mx->grads.squares[i];
	}
	return sum;
}

const double *wse_memx_grad_squares(const struct wse_memx *mx)
{
	return mx->grads.squares;
}
