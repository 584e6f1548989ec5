// SPDX-License-Identifier: MIT
/*
 * The gradients of a step in MemoryX: the units' sums, in memory or in a file, those of tensors in
 * no unit, which are rows, and the squares of all, for the norm.
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

#define AT_ONCE 16u /* blocks of a packed gradient whose squares are added up */

static size_t matrix_of(const struct wse_memx *mx, uint32_t unit)
{
	const struct wse_unit *u = &mx->g->units[unit];

	return u->weight == WSE_NO_TENSOR ? 0 : (size_t)u->outs * u->ins;
}

/* scratch for gradients of vectors, and for a piece that has no place of its own */
static int alloc_grads(struct wse_memx *mx)
{
	const struct wse_memx_pieces *l = &mx->map.pieces;
	size_t longest = 1, piece = 1;

	mx->grads.squares = calloc(mx->tab.n, sizeof(*mx->grads.squares));
	mx->grads.rows = calloc(mx->tab.n, sizeof(*mx->grads.rows));
	mx->grads.adds = calloc(mx->tab.n, sizeof(*mx->grads.adds));
	mx->grads.rows_of = calloc(mx->g->nunits + 1ul, sizeof(*mx->grads.rows_of));
	if (!mx->grads.squares || !mx->grads.rows || !mx->grads.adds || !mx->grads.rows_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < mx->tab.n; i++)
		if (mx->map.home[i].which && mx->tab.t[i].count > longest)
			longest = mx->tab.t[i].count;
	mx->grads.scratch = malloc(longest * sizeof(float));
	for (uint32_t k = 0; k < l->first[0] && !mx->cfg.forward; k++)
		piece = l->p[k].count > piece ? l->p[k].count : piece;
	if (((mx->cfg.dir && mx->cfg.grad_places) || mx->cfg.sparsity.n) && !mx->cfg.forward)
		piece = l->longest;
	mx->grads.piece = malloc(piece * sizeof(float));
	return mx->grads.scratch && mx->grads.piece ? 0 : -ENOMEM;
}

/* the squares of a packed matrix, block by block of all its places; NaN: no memory */
static double squares_packed(const struct wse_packed *rows, const float *grad, size_t floats)
{
	float *x = malloc(AT_ONCE * 4096 * sizeof(*x));
	double b[AT_ONCE], sum = x ? 0.0 : (double)NAN;

	for (size_t at = 0, n; x && at < floats; at += n) {
		size_t blocks;

		n = floats - at < AT_ONCE * 4096 ? floats - at : AT_ONCE * 4096;
		wse_packed_spread(rows, rows->bits, grad, at, n, x);
		blocks = wse_square_blocks(x, n, b);
		for (size_t i = 0; i < blocks; i++)
			sum += b[i];
	}
	free(x);
	return sum;
}

/*
 * of a tensor of a unit, as its sum leaves the memory: the thread is a device's. Masks are those of
 * the step, as its own units are updated
 */
static void look_at(void *ctx, uint32_t unit, const struct wse_packed *rows, const float *grad)
{
	struct wse_memx *mx = ctx;
	const struct wse_unit *u = &mx->g->units[unit];
	/* vectors are behind the matrix, however that lies */
	const float *vecs = rows ? grad + rows->n : grad + matrix_of(mx, unit);
	struct wse_piece p;

	for (uint32_t which = u->weight == WSE_NO_TENSOR; which <= u->nvec; which++) {
		uint32_t tensor = which ? u->vec[which - 1].tensor : u->weight;
		const struct wse_tensor *t = &mx->tab.t[tensor];
		float *vec = which ? malloc(t->count * sizeof(*vec)) : NULL;

		for (size_t i = 0; vec && wse_unit_piece(mx->g, u, which, t, i, &p); i++)
			memcpy(vec + p.from, vecs + (p.at - matrix_of(mx, unit)),
			       p.count * sizeof(*vec));
		/* without memory the step ends: its norm is not finite */
		mx->grads.squares[tensor] =
			which && !vec ? NAN
			: which	      ? wse_sum_squares(vec, t->count)
			: rows	      ? squares_packed(rows, grad, wse_unit_matrix_floats(u, t))
				      : wse_sum_squares(grad, wse_unit_matrix_floats(u, t));
		free(vec);
	}
}

static int open_grad_file(struct wse_memx *mx)
{
	const struct wse_memx_cfg *cfg = &mx->cfg;
	unsigned char *packs;
	int ret;

	if (!cfg->dir || !cfg->grad_places || cfg->forward)
		return 0;
	packs = calloc(mx->g->nunits + 1ul, 1);
	if (!packs)
		return -ENOMEM;
	for (uint32_t i = 0; i < mx->g->nunits && mx->masks.unit; i++)
		packs[i] = mx->masks.unit[i].packs && !mx->g->tile.no_linear;
	ret = wse_grad_file_open(&mx->map.pieces, mx->g->nunits, cfg->grad_places, packs, cfg->dir,
				 &mx->grads.file);
	free(packs);
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
	free(mx->grads.rows);
	free(mx->grads.adds);
	free(mx->grads.rows_of);
	free(mx->grads.scratch);
	free(mx->grads.squares);
	free(mx->grads.piece);
}

/* ---- sums ---- */

static int in_no_unit(const struct wse_memx *mx, uint32_t tensor)
{
	return mx->map.home[tensor].unit == WSE_NO_UNIT;
}

struct wse_grad_file *wse_memx_grad_file(struct wse_memx *mx)
{
	return mx->grads.file;
}

const unsigned char *wse_memx_host_units(const struct wse_memx *mx)
{
	return mx->cfg.model.family->leaf ? NULL : mx->images.early;
}

/* how a unit's gradient lies; NULL: with the places of all weights */
static const struct wse_packed *rows_in(const struct wse_memx *mx, uint32_t unit)
{
	return mx->pending ? mx->grads.rows_of[unit]
			   : wse_image_grad_rows(&mx->images.unit[unit], matrix_of(mx, unit));
}

void wse_memx_keep_rows(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->g->nunits; i++)
		mx->grads.rows_of[i] = wse_image_grad_rows(&mx->images.unit[i], matrix_of(mx, i));
}

int wse_memx_grad_is_plain(const struct wse_memx *mx, uint32_t unit)
{
	return mx->grads.unit[unit] && !rows_in(mx, unit);
}

/* floats [at, at + n) of a gradient that lies so */
static void spread(const struct wse_memx *mx, const struct wse_packed *rows, const float *grad,
		   uint32_t unit, size_t at, size_t n, float *out)
{
	size_t matrix = matrix_of(mx, unit), some = at < matrix ? matrix - at : 0;

	some = some < n ? some : n;
	if (some)
		wse_masks_spread(&mx->masks, unit, rows, grad, at, some, out);
	if (n > some)
		memcpy(out + some, grad + rows->n + (at + some - matrix),
		       (n - some) * sizeof(*out));
}

/* likewise of one in the file: its rows come, and are spread out */
static int read_packed(const struct wse_memx *mx, const struct wse_packed *rows, uint32_t unit,
		       uint32_t place, size_t at, size_t n, float *out)
{
	size_t matrix = matrix_of(mx, unit), some = at < matrix ? matrix - at : 0, from, count;
	const size_t width = rows->shape.width;
	float *x;
	int ret;

	some = some < n ? some : n;
	from = some ? rows->start[at / width] : rows->n;
	count = some ? rows->start[(at + some + width - 1) / width] - from : 0;
	x = malloc((count + 1) * sizeof(*x));
	if (!x)
		return wse_fail(-ENOMEM, "no memory for %zu gradients", count);
	ret = count ? wse_grad_file_read(mx->grads.file, unit, place, from, count, x) : 0;
	if (!ret && some) /* as if all that is before lay before it */
		wse_masks_spread(&mx->masks, unit, rows, x - (ptrdiff_t)from, at, some, out);
	free(x);
	if (ret || n == some)
		return ret;
	return wse_grad_file_read(mx->grads.file, unit, place, rows->n + (at + some - matrix),
				  n - some, out + some);
}

int wse_memx_sum(const struct wse_memx *mx, float *const *sums, uint32_t unit, size_t at, size_t n,
		 float *out)
{
	const struct wse_packed *rows = sums[unit] ? rows_in(mx, unit) : NULL;
	uint32_t place;

	if (rows) {
		spread(mx, rows, sums[unit], unit, at, n, out);
		return 0;
	}
	if (sums[unit]) {
		memcpy(out, sums[unit] + at, n * sizeof(*out));
		return 0;
	}
	place = mx->grads.file ? wse_grad_file_held(mx->grads.file, unit) : WSE_NO_PLACE;
	if (place == WSE_NO_PLACE)
		return wse_fail(-ENODATA, "unit %u has no gradient", unit);
	rows = wse_grad_file_rows(mx->grads.file, unit, place);
	return rows ? read_packed(mx, rows, unit, place, at, n, out)
		    : wse_grad_file_read(mx->grads.file, unit, place, at, n, out);
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

		mx->grads.rows[i] = NULL;
		mx->grads.adds[i] = NULL;
		if (t->flags & WSE_TENSOR_INPUT && !mx->map.home[i].which && !in_no_unit(mx, i))
			mx->grads.adds[i] = unit[mx->map.home[i].unit];
	}
	return mx->grads.adds;
}

void wse_memx_grad_rows(struct wse_memx *mx, uint32_t tensor, const struct wse_rows *rows)
{
	mx->grads.rows[tensor] = rows;
}

/* elements [at, at + n) of a tensor in no unit, whole rows, from those that there are */
static void rows_of(const struct wse_memx *mx, uint32_t tensor, size_t at, size_t n, float *out)
{
	const struct wse_rows *r = mx->grads.rows[tensor];

	memset(out, 0, n * sizeof(*out));
	for (uint32_t k = 0; r && k < r->n; k++) {
		size_t to = (size_t)r->row[k] * r->width;

		if (to >= at && to - at < n)
			memcpy(out + (to - at), r->data + (size_t)k * r->width,
			       r->width * sizeof(*out));
	}
}

/* the gradient of a piece [count] */
int wse_memx_piece_grad(const struct wse_memx *mx, const struct wse_memx_piece *p,
			const float **grad)
{
	if (p->unit == WSE_NO_UNIT) {
		rows_of(mx, p->tensor, p->at, p->count, mx->grads.piece);
		*grad = mx->grads.piece;
		return 0;
	}
	if (wse_memx_grad_is_plain(mx, p->unit)) {
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

	if (in_no_unit(mx, tensor)) {
		rows_of(mx, tensor, 0, t->count, out);
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
	return !in_no_unit(mx, tensor) && !mx->grads.unit[mx->map.home[tensor].unit];
}

/* is it a matrix's, and lies packed? */
static const struct wse_packed *is_packed(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];

	return h->which ? NULL : rows_in(mx, h->unit);
}

/* a gradient in memory as one array: where it lies, or (a vector) gathered into scratch */
static const float *contiguous(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];
	const struct wse_packed *rows = rows_in(mx, h->unit);
	const float *grad = mx->grads.unit[h->unit];
	struct wse_piece p;

	if (!h->which)
		return grad;
	grad += rows ? rows->n : matrix_of(mx, h->unit);
	for (size_t i = 0;
	     wse_unit_piece(mx->g, &mx->g->units[h->unit], h->which, &mx->tab.t[tensor], i, &p);
	     i++)
		memcpy(mx->grads.scratch + p.from, grad + (p.at - matrix_of(mx, h->unit)),
		       p.count * sizeof(float));
	return mx->grads.scratch;
}

/* how many floats it has there: of a matrix that is padded, zeros among them */
static size_t floats_of(const struct wse_memx *mx, uint32_t tensor)
{
	const struct wse_home *h = &mx->map.home[tensor];
	const struct wse_tensor *t = &mx->tab.t[tensor];
	const struct wse_packed *rows = is_packed(mx, tensor);

	return h->which ? t->count
	       : rows	? rows->n
			: wse_unit_matrix_floats(&mx->g->units[h->unit], t);
}

uint32_t wse_memx_bad_grad(const struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++) {
		const float *g;
		size_t n;

		/* squares of binary32 numbers are in the range of a double */
		if (mx->map.ranks > 1 || in_file(mx, i)) {
			if (!(mx->grads.squares[i] - mx->grads.squares[i] == 0.0))
				return i;
			continue;
		}
		if (in_no_unit(mx, i)) {
			const struct wse_rows *r = mx->grads.rows[i];

			g = r ? r->data : NULL;
			n = r ? (size_t)r->n * r->width : 0;
		} else {
			g = contiguous(mx, i);
			n = floats_of(mx, i);
		}
		for (size_t j = 0; j < n; j++)
			if (wse_f32_isbad(g[j]))
				return i;
	}
	return WSE_NO_TENSOR;
}

/* block by block of all its places, without what is not used of it */
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

	if (!ret && mx->masks.nparts && p->unit != WSE_NO_UNIT && *grad == mx->grads.piece)
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

/* of all tensors in no unit, in one pass over their pieces */
static void square_rows(struct wse_memx *mx)
{
	for (uint32_t i = 0; i < mx->tab.n; i++)
		if (in_no_unit(mx, i))
			mx->grads.squares[i] = 0.0;
	for (uint32_t k = 0; k < mx->map.pieces.first[0]; k++) {
		const struct wse_memx_piece *p = &mx->map.pieces.p[k];

		rows_of(mx, p->tensor, p->at, p->count, mx->grads.piece);
		wse_add_squares(mx->grads.piece, p->count, &mx->grads.squares[p->tensor]);
	}
}

static int square(struct wse_memx *mx, uint32_t tensor)
{
	if (is_packed(mx, tensor))
		return wse_memx_square_again(mx, mx->map.home[tensor].unit);
	mx->grads.squares[tensor] = wse_sum_squares(contiguous(mx, tensor), floats_of(mx, tensor));
	return 0;
}

int wse_memx_sum_squares(struct wse_memx *mx, double *sum)
{
	int ret = 0;

	*sum = 0.0;
	if (mx->map.ranks == 1)
		square_rows(mx);
	for (uint32_t i = 0; i < mx->tab.n && !ret; i++) {
		if (mx->map.ranks == 1 && !in_no_unit(mx, i) && !in_file(mx, i))
			ret = square(mx, i);
		*sum += mx->grads.squares[i];
	}
	return ret;
}

const double *wse_memx_grad_squares(const struct wse_memx *mx)
{
	return mx->grads.squares;
}
