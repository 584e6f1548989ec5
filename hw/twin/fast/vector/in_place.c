// SPDX-License-Identifier: MIT
/*
 * Vector instructions of the engine's queue, from and to their operands' places with vectors of the
 * host: groups of LANES strictly in order, as exact/vector.c takes them. Processors with AVX2 only.
 */
#include "twin/exact/vector.h"
#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"

#define CHUNK 256u /* elements between two looks at the engine's share of the round, at most */

static uint8_t *place_of(struct twin_core *c, const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? (uint8_t *)&c->acc[o->pos] : c->sram + o->pos;
}

/* bytes from row to row */
static int32_t step(const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? o->stride1 * 4 : o->stride1;
}

/* what to do next without a look at the time: rows of n elements each, CHUNK elements at most */
static uint32_t span(const struct twin_engine *e, uint16_t *n)
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
static void written(struct twin_core *c, const struct twin_opnd *d, uint32_t n, uint32_t rows)
{
	uint32_t i;

	if (d->kind == WSE_KIND_ACC)
		return;
	n *= (uint32_t)twin_opnd_size(d);
	if (d->stride1 == (int32_t)n) {
		n *= rows;
		rows = 1;
	}
	for (i = 0; i < rows; i++)
		twin_code_changed(c, (uint32_t)(d->pos + d->stride1 * (int32_t)i), n);
}

static bool elementwise(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	bool scalar = s2->kind == WSE_KIND_NONE;
	enum twin_src1 src1 = twin_opnd_is_bf16(s1) ? TWIN_SRC1_BF16 : TWIN_SRC1_WORDS;
	enum twin_src2 src2 = scalar		      ? TWIN_SRC2_SCALAR
			      : twin_opnd_is_bf16(s2) ? TWIN_SRC2_BF16
						      : TWIN_SRC2_WORDS;
	twin_vector_fn *fn = twin_vector[e->op - WSE_TOP_VADD]
					[twin_vector_variant(twin_opnd_is_bf16(d), src1, src2)];
	struct twin_rows s = {.d = step(d), .a = step(s1), .b = step(s2)};
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
		if (twin_vop_kind(e->op) == TWIN_VOP_MAC)
			c->cnt[WSE_CNT_MAC] += n;
		if (s.rows == e->outer && n == s.rows * e->width)
			break; /* it completes: its operands' positions are not read again */
		twin_opnd_advance(d, e->inner, e->width, n);
		twin_opnd_advance(s1, e->inner, e->width, n);
		if (!scalar)
			twin_opnd_advance(s2, e->inner, e->width, n);
		twin_vector_advance(e, n);
	}
	m->ways.grouped++;
	twin_engine_complete(m, c, e);
	return true;
}

static bool reduce(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *s = &e->o[OPND_SRC1];
	struct twin_rows at = {.a = step(s)};
	uint32_t n;

	twin_reduce_begin(e);
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		m->ways.reduced++;
		at.rows = span(e, &at.width);
		twin_vector_reduce(e->op == WSE_TOP_VRMAX, e->part, place_of(c, s),
				   twin_opnd_is_bf16(s), &at);
		n = at.width * at.rows;
		twin_opnd_advance(s, e->inner, e->width, n);
		twin_vector_advance(e, n);
		c->ecyc[WSE_ENGINE_L] += n / WSE_LANES;
	}
	twin_reduce_end(m, c, e);
	return true;
}

bool twin_run_vector_in_place(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	return twin_vop_kind(e->op) == TWIN_VOP_REDUCE ? reduce(m, c, e) : elementwise(m, c, e);
}
