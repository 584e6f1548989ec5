// SPDX-License-Identifier: MIT
/*
 * Vector operations of the lane engine. They work in groups of LANES, strictly in order: one after
 * the other from and to their places where the processor has AVX2. Elsewhere through buffers, and
 * where no group reads what an earlier one wrote, many groups are done at once.
 */
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"
#include "twin/twin.h"

#define CHUNK 256u /* elements done at once, at most */

/* n elements in a row */
static void load(const struct wse_core *c, const struct wse_opnd *o, uint32_t *v, uint32_t n)
{
	uint16_t h[CHUNK];
	uint32_t i;

	if (o->kind == WSE_KIND_ACC) {
		memcpy(v, &c->acc[o->pos], n * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		memcpy(h, c->sram + o->pos, n * 2);
		for (i = 0; i < n; i++)
			v[i] = wse_bf16_widen(h[i]);
	} else {
		memcpy(v, c->sram + o->pos, n * 4);
	}
}

static void store(struct wse_core *c, const struct wse_opnd *o, const uint32_t *v, uint32_t n)
{
	uint16_t h[CHUNK];

	if (o->kind == WSE_KIND_ACC) {
		memcpy(&c->acc[o->pos], v, n * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		wse_bf16_round_n(h, v, n);
		memcpy(c->sram + o->pos, h, n * 2);
		wse_code_changed(c, o->pos, n * 2);
	} else {
		memcpy(c->sram + o->pos, v, n * 4);
		wse_code_changed(c, o->pos, n * 4);
	}
}

/* moves an operand n elements on, of which `inner` are in the current row */
static void advance(struct wse_opnd *o, uint32_t inner, uint32_t width, uint32_t n)
{
	uint32_t at = width - inner + n;

	o->row += o->stride1 * (int32_t)(at / width);
	o->pos = o->row + o->stride * (int32_t)(at % width);
}

/* n elements, row by row unless the rows adjoin, from or to v; the operand stays where it is */
#define EACH_ROW(what)                                                                   \
	do {                                                                             \
		struct wse_opnd at_ = *o;                                                \
		uint32_t in_ = o->stride1 == o->stride * (int32_t)width ? n : inner, k_; \
                                                                                         \
		for (; n; n -= k_, v += k_) {                                            \
			k_ = n < in_ ? n : in_;                                          \
			what(c, &at_, v, k_);                                            \
			at_.pos = at_.row += at_.stride1;                                \
			in_ = width;                                                     \
		}                                                                        \
	} while (0)

static void load_rows(const struct wse_core *c, const struct wse_opnd *o, uint32_t inner,
		      uint32_t width, uint32_t *v, uint32_t n)
{
	EACH_ROW(load);
}

static void store_rows(struct wse_core *c, const struct wse_opnd *o, uint32_t inner, uint32_t width,
		       const uint32_t *v, uint32_t n)
{
	EACH_ROW(store);
}

static int32_t size_of(const struct wse_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? 1 : o->dtype == WSE_DT_BF16 ? 2 : 4;
}

/* source s and destination d meet in n elements of this row, or in rows rows; but not element on
 * element */
static bool meet(const struct wse_opnd *d, const struct wse_opnd *s, uint32_t n, uint32_t rows)
{
	int32_t dn = size_of(d) * (int32_t)n, sn = size_of(s) * (int32_t)n;
	int32_t dlo = d->pos, slo = s->pos, dspan, sspan;

	if (s->kind != d->kind)
		return false;
	if (d->pos == s->pos && size_of(d) == size_of(s) &&
	    (rows == 1 || (d->stride1 == s->stride1 && (d->stride1 >= dn || d->stride1 <= -dn))))
		return false;
	if (rows > 1) {
		dlo = d->row;
		slo = s->row;
	}
	dspan = d->stride1 * (int32_t)(rows - 1);
	sspan = s->stride1 * (int32_t)(rows - 1);
	dlo += dspan < 0 ? dspan : 0;
	slo += sspan < 0 ? sspan : 0;
	dn += dspan < 0 ? -dspan : dspan;
	sn += sspan < 0 ? -sspan : sspan;
	return dlo < slo + sn && slo < dlo + dn;
}

/* how many elements may be read before the first result is written */
static uint32_t at_once(const struct wse_engine *e)
{
	const struct wse_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	bool mac = wse_vop_kind(e->op) == WSE_VOP_MAC;

	/* it reads DST too: a row that comes again must have been written */
	if (!meet(d, s1, e->width, e->outer) && !meet(d, s2, e->width, e->outer) &&
	    !(mac && e->outer > 1 && meet(d, d, e->width, e->outer)))
		return CHUNK;
	if (!meet(d, s1, e->inner, 1) && !meet(d, s2, e->inner, 1))
		return e->inner < CHUNK ? e->inner : CHUNK;
	return WSE_LANES;
}

/* the operation of n elements: of SRC1 with those of SRC2 into v, which holds DST's old values for VMAC */
#define EACH(name, value, kind, expr)                                                    \
	case value:                                                                      \
		for (i = 0; i < n; i++) {                                                \
			const uint32_t d __attribute__((unused)) = v[i], a = v1[i];      \
			const uint32_t b __attribute__((unused)) = v2[i];                \
                                                                                         \
			v[i] = (expr);                                                   \
		}                                                                        \
		break;
__attribute__((target_clones("avx2", "default"))) static void
compute(unsigned int op, uint32_t *restrict v, const uint32_t *restrict v1,
	const uint32_t *restrict v2, uint32_t n)
{
	unsigned int i;

	switch (op) {
		WSE_VOPS_ELEMENTS(EACH)
	}
}

/* the instruction goes n elements on */
static void pass(struct wse_engine *e, uint32_t n)
{
	uint32_t i = e->width - e->inner + n;

	e->inner = e->width - i % e->width;
	e->outer -= i / e->width;
}

static uint8_t *place_of(struct wse_core *c, const struct wse_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? (uint8_t *)&c->acc[o->pos] : c->sram + o->pos;
}

static bool is_bf16(const struct wse_opnd *o)
{
	return o->kind != WSE_KIND_ACC && o->dtype == WSE_DT_BF16;
}

/* bytes from row to row */
static int32_t step(const struct wse_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? o->stride1 * 4 : o->stride1;
}

/* what to do next without a look at the time: rows of n elements each, CHUNK elements at most */
static uint32_t span(const struct wse_engine *e, uint16_t *n)
{
	uint32_t rows = CHUNK / e->width;

	if (e->inner < e->width || !rows) {
		*n = e->inner < CHUNK ? e->inner : CHUNK;
		return 1;
	}
	*n = e->width;
	return rows < e->outer ? rows : e->outer;
}

/* n elements of each of these rows were written */
static void written(struct wse_core *c, const struct wse_opnd *d, uint32_t n, uint32_t rows)
{
	uint32_t i;

	if (d->kind == WSE_KIND_ACC)
		return;
	n *= (uint32_t)size_of(d);
	if (d->stride1 == (int32_t)n) {
		n *= rows;
		rows = 1;
	}
	for (i = 0; i < rows; i++)
		wse_code_changed(c, (uint32_t)(d->pos + d->stride1 * (int32_t)i), n);
}

static bool in_place(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e)
{
	struct wse_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	bool scalar = s2->kind == WSE_KIND_NONE;
	enum wse_src1 src1 = is_bf16(s1) ? WSE_SRC1_BF16 : WSE_SRC1_WORDS;
	enum wse_src2 src2 = scalar	   ? WSE_SRC2_SCALAR
			     : is_bf16(s2) ? WSE_SRC2_BF16
					   : WSE_SRC2_WORDS;
	wse_vector_fn *fn =
		wse_vector_avx2[e->op - WSE_TOP_VADD][wse_vector_variant(is_bf16(d), src1, src2)];
	struct wse_rows s = {.d = step(d), .a = step(s1), .b = step(s2)};
	uint32_t n;

	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		s.rows = span(e, &s.width);
		fn(place_of(c, d), place_of(c, s1), scalar ? NULL : place_of(c, s2), e->q[0].scalar,
		   &s);
		written(c, d, s.width, s.rows);
		n = s.width * s.rows;
		c->ecyc[WSE_ENGINE_L] += n / WSE_LANES;
		if (wse_vop_kind(e->op) == WSE_VOP_MAC)
			c->cnt[WSE_CNT_MAC] += n;
		if (s.rows == e->outer && n == s.rows * e->width)
			break; /* nobody asks where it has ended */
		advance(d, e->inner, e->width, n);
		advance(s1, e->inner, e->width, n);
		if (!scalar)
			advance(s2, e->inner, e->width, n);
		pass(e, n);
	}
	m->ways.grouped++;
	wse_engine_complete(m, c, e);
	return true;
}

/* what has been joined so far, and the next element */
#define JOIN(name, value, kind, expr) \
	case value:                   \
		return expr;
static uint32_t join(unsigned int op, uint32_t a, uint32_t b)
{
	switch (op) {
		WSE_VOPS_REDUCE(JOIN)
	}
	return 0;
}

/* one more group into the lane partials */
static void reduce_step(struct wse_core *c, struct wse_engine *e, uint32_t *part)
{
	uint32_t a[WSE_LANES];
	unsigned int i;

	load(c, &e->o[OPND_SRC1], a, WSE_LANES);
	for (i = 0; i < WSE_LANES; i++)
		part[i] = join(e->op, part[i], a[i]);
}

/* the lane tree */
static uint32_t tree(unsigned int op, const uint32_t *part)
{
	uint32_t p[WSE_LANES];
	unsigned int i, n;

	memcpy(p, part, sizeof(p));
	for (n = WSE_LANES; n > 1; n /= 2)
		for (i = 0; i < n / 2; i++)
			p[i] = join(op, p[2 * i], p[2 * i + 1]);
	return p[0];
}

static bool reduce(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e)
{
	struct wse_opnd *s = &e->o[OPND_SRC1];
	bool max = e->op == WSE_TOP_VRMAX;
	struct wse_rows at = {.a = step(s)};
	unsigned int i;
	uint32_t n;

	if (e->inner == e->width && e->outer == s->len1)
		for (i = 0; i < WSE_LANES; i++)
			e->part[i] = max ? 0xff800000u : 0;
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		if (m->avx2) {
			m->ways.reduced++;
			at.rows = span(e, &at.width);
			wse_reduce_avx2(max, e->part, place_of(c, s), is_bf16(s), &at);
			n = at.width * at.rows;
		} else {
			n = WSE_LANES;
			reduce_step(c, e, e->part);
		}
		advance(s, e->inner, e->width, n);
		pass(e, n);
		c->ecyc[WSE_ENGINE_L] += n / WSE_LANES;
	}
	store(c, &e->o[OPND_DST], (uint32_t[]){tree(e->op, e->part)}, 1);
	wse_engine_complete(m, c, e);
	return true;
}

bool wse_run_vector(struct wse_mesh *m, struct wse_core *c, struct wse_engine *e)
{
	struct wse_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	uint32_t a[CHUNK], b[CHUNK], v[CHUNK], left, n, i;

	if (wse_vop_kind(e->op) == WSE_VOP_REDUCE)
		return reduce(m, c, e);
	if (m->avx2)
		return in_place(m, c, e);
	left = e->inner + (e->outer - 1) * e->width;
	if (s2->kind == WSE_KIND_NONE)
		for (i = 0; i < CHUNK && i < left; i++)
			b[i] = e->q[0].scalar;
	for (; left; left -= n) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		n = at_once(e);
		n = left < n ? left : n;
		load_rows(c, s1, e->inner, e->width, a, n);
		if (s2->kind != WSE_KIND_NONE)
			load_rows(c, s2, e->inner, e->width, b, n);
		if (wse_vop_kind(e->op) == WSE_VOP_MAC)
			load_rows(c, d, e->inner, e->width, v, n);
		compute(e->op, v, a, b, n);
		store_rows(c, d, e->inner, e->width, v, n);
		advance(d, e->inner, e->width, n);
		advance(s1, e->inner, e->width, n);
		if (s2->kind != WSE_KIND_NONE)
			advance(s2, e->inner, e->width, n);
		pass(e, n);
		c->ecyc[WSE_ENGINE_L] += n / WSE_LANES;
		if (wse_vop_kind(e->op) == WSE_VOP_MAC)
			c->cnt[WSE_CNT_MAC] += n;
	}
	wse_engine_complete(m, c, e);
	return true;
}
