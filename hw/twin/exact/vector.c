// SPDX-License-Identifier: MIT
/* Vector operations of the lane engine: groups of LANES elements, strictly in order. */
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/exact/operand.h"
#include "twin/exact/vop.h"
#include "twin/twin.h"

/* the operation of a group: SRC1 with SRC2 into v, which holds DST's old values for VMAC */
#define EACH(name, value, kind, expr)                                               \
	case value:                                                                 \
		for (i = 0; i < WSE_LANES; i++) {                                   \
			const uint32_t d __attribute__((unused)) = v[i], a = v1[i]; \
			const uint32_t b __attribute__((unused)) = v2[i];           \
                                                                                    \
			v[i] = (expr);                                              \
		}                                                                   \
		break;
static void compute(unsigned int op, uint32_t *restrict v, const uint32_t *restrict v1,
		    const uint32_t *restrict v2)
{
	unsigned int i;

	switch (op) {
		WSE_VOPS_ELEMENTS(EACH)
	}
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

/* moves the instruction a group on */
static void advance(struct twin_engine *e)
{
	e->inner -= WSE_LANES;
	if (e->inner)
		return;
	e->inner = e->width;
	e->outer--;
}

static bool reduce(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *s = &e->o[OPND_SRC1];
	uint32_t a[WSE_LANES], i;

	for (i = 0; i < WSE_LANES && e->inner == e->width && e->outer == e->rows; i++)
		e->part[i] = e->op == WSE_TOP_VRMAX ? 0xff800000u : 0;
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		twin_opnd_load(c, s, a, WSE_LANES);
		for (i = 0; i < WSE_LANES; i++)
			e->part[i] = join(e->op, e->part[i], a[i]);
		twin_opnd_advance(s, e->inner, e->width, WSE_LANES);
		advance(e);
		c->ecyc[WSE_ENGINE_L]++;
	}
	twin_opnd_store(c, &e->o[OPND_DST], (uint32_t[]){tree(e->op, e->part)}, 1);
	twin_engine_complete(m, c, e);
	return true;
}

bool twin_run_vector(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	bool scalar = s2->kind == WSE_KIND_NONE, mac = twin_vop_kind(e->op) == TWIN_VOP_MAC;
	uint32_t a[WSE_LANES], b[WSE_LANES], v[WSE_LANES] = {0}, i;

	if (twin_vop_kind(e->op) == TWIN_VOP_REDUCE)
		return reduce(m, c, e);
	for (i = 0; i < WSE_LANES; i++)
		b[i] = e->q[0].scalar;
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		twin_opnd_load(c, s1, a, WSE_LANES);
		if (!scalar)
			twin_opnd_load(c, s2, b, WSE_LANES);
		if (mac)
			twin_opnd_load(c, d, v, WSE_LANES);
		compute(e->op, v, a, b);
		twin_opnd_store(c, d, v, WSE_LANES);
		twin_opnd_advance(d, e->inner, e->width, WSE_LANES);
		twin_opnd_advance(s1, e->inner, e->width, WSE_LANES);
		if (!scalar)
			twin_opnd_advance(s2, e->inner, e->width, WSE_LANES);
		advance(e);
		c->ecyc[WSE_ENGINE_L]++;
		if (mac)
			c->cnt[WSE_CNT_MAC] += WSE_LANES;
	}
	twin_engine_complete(m, c, e);
	return true;
}
