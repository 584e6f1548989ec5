// SPDX-License-Identifier: MIT
/*
 * Vector instructions of the engine's queue, each at once, from and to their operands' places with
 * vectors of the host: groups of LANES strictly in order, as exact/vector.c takes them.
 */
#include "twin/exact/operand.h"
#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"

static uint8_t *place_of(struct twin_core *c, const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? (uint8_t *)&c->acc[o->pos] : c->sram + o->pos;
}

/* bytes from row to row */
static int32_t step(const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? o->stride1 * 4 : o->stride1;
}

/* all rows of an operand were written */
static void written(struct twin_core *c, const struct twin_opnd *d)
{
	uint32_t n = d->len * (uint32_t)twin_opnd_size(d), rows = d->len1, i;

	if (d->kind == WSE_KIND_ACC)
		return;
	if (d->stride1 == (int32_t)n) {
		n *= rows;
		rows = 1;
	}
	for (i = 0; i < rows; i++)
		twin_code_changed(c, (uint32_t)(d->pos + d->stride1 * (int32_t)i), n);
}

bool twin_run_vector_in_place(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	const struct twin_opnd *d = &e->o[OPND_DST], *a = &e->o[OPND_SRC1], *b = &e->o[OPND_SRC2];
	bool scalar = b->kind == WSE_KIND_NONE;
	enum twin_src2 src2 = scalar		     ? TWIN_SRC2_SCALAR
			      : twin_opnd_is_bf16(b) ? TWIN_SRC2_BF16
						     : TWIN_SRC2_WORDS;
	twin_vector_fn *fn = twin_vector[e->op - WSE_TOP_VADD][twin_vector_variant(
		twin_opnd_is_bf16(d), (enum twin_src1)twin_opnd_is_bf16(a), src2)];
	struct twin_rows s = {(uint16_t)e->width, (uint16_t)e->rows, step(d), step(a), step(b)};
	uint32_t n = e->width * e->rows;

	/* one that takes several rounds, or that another order of events may stop anywhere */
	if (!fn || n / WSE_LANES > m->equantum || unlikely(m->shuffle))
		return twin_run_vector(m, c, e);
	fn(place_of(c, d), place_of(c, a), scalar ? NULL : place_of(c, b), e->q[0].scalar, &s);
	written(c, d);
	c->ecyc[WSE_ENGINE_L] += n / WSE_LANES;
	if (twin_vop_kind(e->op) == TWIN_VOP_MAC)
		c->cnt[WSE_CNT_MAC] += n;
	m->ways.grouped++;
	twin_engine_complete(m, c, e);
	return true;
}
