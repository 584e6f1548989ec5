// SPDX-License-Identifier: MIT
/* The masks of a run. */
#include "memx/mask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/memx.h"
#include "num/image.h"
#include "num/num.h"
#include "ops/emit.h"

static size_t back_at(const struct wse_unit_mask *u)
{
	return wse_mask_bytes(&u->fwd);
}

static int open_unit(struct wse_masks *m, uint32_t unit)
{
	const struct wse_unit *u = &m->g->units[unit];
	struct wse_unit_mask *k = &m->unit[unit];
	size_t bytes;
	int ret;

	if (k->buf)
		return 0;
	k->fwd = wse_mask_shape(m->g, u, 0);
	k->back = wse_mask_shape(m->g, u, 1);
	bytes = wse_mask_bytes(&k->fwd) + (m->g->forward ? 0 : wse_mask_bytes(&k->back));
	ret = m->pool->alloc(m->pool->ctx, bytes, &k->buf);
	if (ret)
		return wse_fail(ret, "no memory for the mask of %s", m->tab->t[u->weight].name);
	memset(k->buf->ptr, 0, bytes);
	return 0;
}

/* of a run of a tensor's elements: where they lie in the unit's matrix, one behind the other */
static size_t run_at(const struct wse_masks *m, uint32_t tensor, size_t from, size_t count,
		     size_t *n)
{
	const struct wse_unit *u = &m->g->units[m->map->home[tensor].unit];
	struct wse_piece p = {0};

	wse_unit_piece(m->g, u, 0, &m->tab->t[tensor], wse_unit_piece_of(m->g, u, 0, from), &p);
	*n = p.from + p.count - from;
	*n = *n < count ? *n : count;
	return p.at + (from - p.from);
}

/* all of a tensor's weights are there */
static void fill(struct wse_masks *m, uint32_t tensor)
{
	const struct wse_sparse_part all = {.tensor = tensor};
	unsigned char ones[256];

	memset(ones, 1, sizeof(ones));
	for (size_t at = 0, n, count = m->tab->t[tensor].count; at < count; at += n) {
		n = count - at < sizeof(ones) ? count - at : sizeof(ones);
		wse_masks_put(m, &all, at, n, ones);
	}
}

/* units that have a mask, or images that lie as they are sent: their shapes */
static int open_shapes(struct wse_masks *m, const struct wse_sparsity *cfg)
{
	int any = cfg && cfg->n;

	for (uint32_t i = 0; i < m->g->nunits; i++)
		any |= m->g->units[i].linear != 0;
	if (!any)
		return 0;
	m->unit = calloc(m->g->nunits + 1ul, sizeof(*m->unit));
	if (!m->unit)
		return wse_fail(-ENOMEM, "no memory for masks");
	for (uint32_t i = 0; i < m->g->nunits; i++) {
		if (!m->g->units[i].linear)
			continue;
		m->unit[i].fwd = wse_mask_shape(m->g, &m->g->units[i], 0);
		m->unit[i].back = wse_mask_shape(m->g, &m->g->units[i], 1);
		m->unit[i].stale = 1;
	}
	return 0;
}

int wse_masks_open(struct wse_masks *m, const struct wse_sparsity *cfg, const struct wse_map *map,
		   const struct wse_buf_pool *pool)
{
	uint32_t n, k = 0;
	int ret;

	*m = (struct wse_masks){.cfg = cfg, .g = map->g, .tab = map->tab, .map = map, .pool = pool};
	ret = open_shapes(m, cfg);
	if (ret || !cfg || !cfg->n)
		return ret;
	m->part = wse_sparse_parts(map->tab, cfg, &n);
	if (!m->part)
		return wse_fail(-ENOMEM, "no memory for masks");
	for (uint32_t i = 0; i < n && !ret; i++) {
		const struct wse_home *h = &map->home[m->part[i].tensor];

		if (m->part[i].group == UINT32_MAX)
			continue;
		if (h->unit == WSE_NO_UNIT || h->which)
			ret = wse_fail(-EINVAL, "%s does not stream: it cannot be sparse",
				       m->part[i].name);
		else
			ret = open_unit(m, h->unit);
		m->part[k++] = m->part[i];
	}
	m->nparts = k;
	for (uint32_t i = 0; i < k && !ret; i++)
		if (!i || m->part[i].tensor != m->part[i - 1].tensor)
			fill(m, m->part[i].tensor);
	return ret;
}

static void drop_packed(const struct wse_masks *m, struct wse_packed *p, int moves)
{
	wse_packed_fini(p);
	if (p->buf && !moves)
		m->pool->free(m->pool->ctx, p->buf);
	p->buf = NULL;
}

void wse_masks_close(struct wse_masks *m)
{
	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++) {
		if (m->unit[i].buf)
			m->pool->free(m->pool->ctx, m->unit[i].buf);
		drop_packed(m, &m->unit[i].packed, m->unit[i].moves);
		drop_packed(m, &m->unit[i].packed_tr, m->unit[i].moves);
		free(m->unit[i].next);
	}
	free(m->unit);
	free(m->part);
	memset(m, 0, sizeof(*m));
}

int wse_masks_has(const struct wse_masks *m, uint32_t tensor)
{
	for (uint32_t i = 0; i < m->nparts; i++)
		if (m->part[i].tensor == tensor)
			return 1;
	return 0;
}

/* are inputs gathered from its matrix? */
static int is_input(const struct wse_masks *m, uint32_t unit)
{
	return (m->tab->t[m->g->units[unit].weight].flags & WSE_TENSOR_INPUT) != 0;
}

void wse_masks_packs(struct wse_masks *m, int grads, int images, int file)
{
	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++) {
		struct wse_unit_mask *k = &m->unit[i];
		int masked = k->buf && !is_input(m, i);

		k->packs = grads && masked;
		k->alone = images && (masked || m->g->units[i].linear) && !m->g->tile.no_linear;
		k->moves = k->alone && file;
		k->values = !m->g->tile.no_linear && (k->alone || !file);
	}
}

int wse_masks_packs_any(const struct wse_masks *m)
{
	int any = 0;

	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++)
		any |= m->unit[i].packs && !m->g->tile.no_linear;
	return any;
}

int wse_masks_alone_any(const struct wse_masks *m)
{
	int any = 0;

	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++)
		any |= m->unit[i].alone;
	return any;
}

/* ---- what streams read ---- */

/* row k of the transposed image is what the columns of this one have of input k */
static void transpose(const struct wse_masks *m, uint32_t unit)
{
	const struct wse_unit *u = &m->g->units[unit];
	const struct wse_unit_mask *k = &m->unit[unit];
	unsigned char *fwd = k->buf->ptr, *back = fwd + back_at(k);
	size_t cols = m->g->tile.cols, n = u->chunks_back, h = u->ins / n / cols;

	memset(back, 0, wse_mask_bytes(&k->back));
	for (size_t row = 0; row < u->ins; row++) {
		/* in chunks, row (chunk j, column c, i) is input (c, j, i) */
		size_t j = row / h / cols, c = row / h % cols;
		size_t in = n > 1 ? (c * n + j) * h + row % h : row;

		for (size_t o = 0; o < u->outs; o++)
			if (wse_mask_get(&k->fwd, fwd, o, in))
				wse_mask_set(&k->back, back, row, o, 1);
	}
}

void wse_masks_show(struct wse_masks *m, struct wse_image *images)
{
	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++) {
		struct wse_unit_mask *k = &m->unit[i];

		if (!k->buf)
			continue;
		k->stale = 1;
		images[i].packs = k->packs;
		images[i].packed = images[i].packed_tr = NULL;
		images[i].mask = (struct wse_span){m->there ? k->buf : NULL, 0};
		if (m->g->forward)
			continue;
		images[i].mask_tr = (struct wse_span){m->there ? k->buf : NULL, back_at(k)};
		transpose(m, i);
	}
}

static int layout(struct wse_masks *m, uint32_t unit, int back)
{
	struct wse_unit_mask *k = &m->unit[unit];
	struct wse_packed *p = back ? &k->packed_tr : &k->packed;
	const unsigned char *bits = k->buf ? k->buf->ptr : NULL;
	int ret;

	if (bits && back)
		bits += back_at(k);
	wse_packed_fini(p);
	ret = wse_packed_init(p, m->g, &m->g->units[unit], back, bits, wse_emit_stream_bytes);
	if (p->buf && !k->moves && (ret || p->buf->size < p->bytes2)) {
		m->pool->free(m->pool->ctx, p->buf);
		p->buf = NULL;
	}
	if (!ret && k->values && !k->moves && !p->buf)
		ret = m->pool->alloc(m->pool->ctx, p->bytes2, &p->buf);
	return ret;
}

/* without values: as gradients come back alone */
static int lay_out(struct wse_masks *m, uint32_t unit)
{
	struct wse_unit_mask *k = &m->unit[unit];
	int ret;

	if (!k->stale)
		return 0;
	ret = layout(m, unit, 0);
	if (!ret && !m->g->forward && k->values)
		ret = layout(m, unit, 1);
	k->stale = ret != 0;
	return ret ? wse_fail(ret, "no memory for the packed weights of %s",
			      m->tab->t[m->g->units[unit].weight].name)
		   : 0;
}

const struct wse_packed *wse_masks_rows(struct wse_masks *m, uint32_t unit, int *ret)
{
	*ret = 0;
	if (!m->there || !wse_masks_bits(m, unit) || is_input(m, unit))
		return NULL;
	*ret = lay_out(m, unit);
	return *ret ? NULL : &m->unit[unit].packed;
}

int wse_masks_lay_out(struct wse_masks *m, uint32_t unit, struct wse_image *img)
{
	struct wse_unit_mask *k = m->unit ? &m->unit[unit] : NULL;
	int ret;

	if (!k || !(k->buf ? m->there : k->alone) || m->g->tile.no_linear)
		return 0;
	ret = lay_out(m, unit);
	if (ret)
		return ret;
	img->packed = &k->packed;
	img->packed_tr = k->values && !m->g->forward ? &k->packed_tr : NULL;
	return 0;
}

/* the plain image of a unit, of which the transposed one is made */
struct plain {
	const struct wse_unit *u;
	uint32_t cols;
	const uint16_t *fwd;
};

/* rows [row, end) of the transposed image, of them elements [from, to) */
static void turn_strip(const void *ctx, uint32_t row, uint32_t end, uint32_t from, uint32_t to,
		       uint16_t *strip)
{
	const struct plain *p = ctx;
	uint32_t n = p->u->chunks_back, h = p->u->ins / n / p->cols, some, in;

	for (; row < end; row += some, strip += (size_t)some * p->u->outs) {
		/* in chunks, row (chunk j, column c, i) is input (c, j, i) */
		uint32_t j = row / h / p->cols, c = row / h % p->cols;

		in = n > 1 ? (c * n + j) * h + row % h : row;
		some = n > 1 && h - row % h < end - row ? h - row % h : end - row;
		wse_bf16_turn_part(p->fwd, p->u->outs, p->u->ins, from, to, in, in + some,
				   strip - (ptrdiff_t)((size_t)in * p->u->outs));
	}
}

int wse_masks_pack(struct wse_masks *m, uint32_t unit, const struct wse_image *img)
{
	const struct wse_packed *p = img->packed, *tr = img->packed_tr;
	const struct plain plain = {&m->g->units[unit], m->g->tile.cols,
				    img->fwd.buf ? wse_span_ptr(img->fwd) : NULL};
	int ret = 0;

	if (p && p->buf)
		ret = wse_packed_image(p, plain.fwd, p->buf->ptr);
	if (ret || !tr || !tr->buf)
		return ret;
	return img->tr.buf ? wse_packed_image(tr, wse_span_ptr(img->tr), tr->buf->ptr)
			   : wse_packed_strips(tr, turn_strip, &plain, tr->buf->ptr);
}

uint64_t wse_masks_sum(const struct wse_masks *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; m->there && i < m->g->nunits; i++)
		if (wse_masks_bits(m, i))
			sum = sum * 31 +
			      wse_checksum64(wse_masks_bits(m, i), wse_mask_bytes(&m->unit[i].fwd));
	return sum;
}

uint64_t wse_masks_packed(const struct wse_graph *g, const struct wse_unit *u)
{
	double n = (double)u->outs * u->ins * wse_unit_density(u);

	if (u->density <= 0.0)
		return (uint64_t)n;
	/* what the longest of the columns' runs adds to the others */
	return (uint64_t)(n + 2.0 * g->tile.cols * wse_sqrt(n / g->tile.cols));
}

/* ---- a tensor's own order ---- */

void wse_masks_put(struct wse_masks *m, const struct wse_sparse_part *p, size_t from, size_t count,
		   const unsigned char *bytes)
{
	const uint32_t unit = m->map->home[p->tensor].unit;
	struct wse_unit_mask *k = &m->unit[unit];
	unsigned char *bits = k->next ? k->next : k->buf->ptr;
	size_t width = k->fwd.width, n, at;

	for (from += p->from; count; from += n, count -= n, bytes += n) {
		at = run_at(m, p->tensor, from, count, &n);
		for (size_t i = 0; i < n; i++)
			wse_mask_set(&k->fwd, bits, (at + i) / width, (at + i) % width, bytes[i]);
	}
}

void wse_masks_read(const struct wse_masks *m, uint32_t tensor, size_t from, size_t count,
		    float *out)
{
	const uint32_t unit = m->map->home[tensor].unit;
	const struct wse_unit_mask *k = &m->unit[unit];
	size_t width = k->fwd.width, n, at;

	for (; count; from += n, count -= n, out += n) {
		at = run_at(m, tensor, from, count, &n);
		for (size_t i = 0; i < n; i++)
			out[i] = (float)wse_mask_get(&k->fwd, k->buf->ptr, (at + i) / width,
						     (at + i) % width);
	}
}

void wse_masks_write(struct wse_masks *m, uint32_t tensor, size_t from, size_t count,
		     const float *in)
{
	const struct wse_sparse_part all = {.tensor = tensor};
	unsigned char bytes[256];

	for (size_t n; count; from += n, count -= n, in += n) {
		n = count < sizeof(bytes) ? count : sizeof(bytes);
		for (size_t i = 0; i < n; i++)
			bytes[i] = in[i] != 0.0f;
		wse_masks_put(m, &all, from, n, bytes);
	}
}

void wse_masks_count(struct wse_masks *m)
{
	float bit[256];

	for (uint32_t i = 0; i < m->nparts; i++) {
		struct wse_sparse_part *p = &m->part[i];

		p->keep = 0;
		for (size_t at = 0, n; at < p->count; at += n) {
			n = p->count - at < 256 ? p->count - at : 256;
			wse_masks_read(m, p->tensor, p->from + at, n, bit);
			for (size_t k = 0; k < n; k++)
				p->keep += bit[k] != 0.0f;
		}
	}
	m->there = m->nparts != 0;
}

/* ---- what follows them ---- */

void wse_masks_clear(const struct wse_masks *m, uint32_t unit, size_t at, size_t n, float *x)
{
	const struct wse_unit_mask *k = &m->unit[unit];
	const unsigned char *bits = k->buf->ptr;
	size_t width = k->fwd.width, row = at / width, j = at % width;

	for (size_t i = 0; i < n; i++) {
		size_t b = wse_mask_byte(&k->fwd, row, j);
		unsigned int keep = bits[b] & (k->next ? k->next[b] : 0xffu);

		if (!(keep >> (j % k->fwd.run % 8) & 1))
			x[i] = 0.0f;
		if (++j == width) {
			j = 0;
			row++;
		}
	}
}

int wse_masks_turn(struct wse_masks *m)
{
	int any = 0;

	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++) {
		struct wse_unit_mask *k = &m->unit[i];
		unsigned char *now = k->next ? k->buf->ptr : NULL;

		if (now)
			memcpy(k->next + wse_mask_bytes(&k->fwd), now, wse_mask_bytes(&k->fwd));
		k->turned = now != NULL;
		for (size_t b = 0; now && b < wse_mask_bytes(&k->fwd); b++) {
			unsigned char stays = now[b] & k->next[b];

			now[b] = k->next[b];
			k->next[b] = stays;
		}
		any |= now != NULL;
	}
	return any;
}

void wse_masks_forget(struct wse_masks *m)
{
	for (uint32_t i = 0; m->unit && i < m->g->nunits; i++) {
		free(m->unit[i].next);
		m->unit[i].next = NULL;
		m->unit[i].turned = 0;
	}
}

void wse_masks_clear_grad(const struct wse_masks *m, const struct wse_memx_piece *p, float *grad)
{
	if (p->unit != WSE_NO_UNIT && p->rows && wse_masks_bits(m, p->unit))
		wse_masks_clear(m, p->unit, p->at, p->count - p->vec, grad);
}

void wse_masks_spread(const struct wse_masks *m, uint32_t unit, const struct wse_packed *rows,
		      const float *grad, size_t at, size_t count, float *out)
{
	const struct wse_unit_mask *k = &m->unit[unit];
	const unsigned char *bits = k->turned ? k->next + wse_mask_bytes(&k->fwd) : k->buf->ptr;

	wse_packed_spread(rows, bits, grad, at, count, out);
}
