// SPDX-License-Identifier: MIT
/* Vector operations of the lane engine: groups of LANES elements, strictly in order. */
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/exact/vector.h"
#include "twin/exact/vop.h"
#include "twin/twin.h"

/* n elements in a row, LANES at most */
static void load(const struct twin_core *c, const struct twin_opnd *o, uint32_t *v, uint32_t n)
{
	uint16_t h[WSE_LANES];
	uint32_t i;

	if (o->kind == WSE_KIND_ACC) {
		memcpy(v, &c->acc[o->pos], n * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		memcpy(h, c->sram + o->pos, n * 2);
		for (i = 0; i < n; i++)
			v[i] = twin_bf16_widen(h[i]);
	} else {
		memcpy(v, c->sram + o->pos, n * 4);
	}
}

static void store(struct twin_core *c, const struct twin_opnd *o, const uint32_t *v, uint32_t n)
{
	uint16_t h[WSE_LANES];

	if (o->kind == WSE_KIND_ACC) {
		memcpy(&c->acc[o->pos], v, n * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		twin_bf16_round_n(h, v, n);
		memcpy(c->sram + o->pos, h, n * 2);
		twin_code_changed(c, o->pos, n * 2);
	} else {
		memcpy(c->sram + o->pos, v, n * 4);
		twin_code_changed(c, o->pos, n * 4);
	}
}

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

/* one more group into the lane partials */
static void reduce_step(struct twin_core *c, struct twin_engine *e, uint32_t *part)
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

static bool reduce(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	struct twin_opnd *s = &e->o[OPND_SRC1];

	twin_reduce_begin(e);
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= m->equantum)
			return true;
		reduce_step(c, e, e->part);
		twin_opnd_advance(s, e->inner, e->width, WSE_LANES);
		twin_vector_advance(e, WSE_LANES);
		c->ecyc[WSE_ENGINE_L]++;
	}
	twin_reduce_end(m, c, e);
	return true;
}

void twin_reduce_end(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	store(c, &e->o[OPND_DST], (uint32_t[]){tree(e->op, e->part)}, 1);
	twin_engine_complete(m, c, e);
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
		load(c, s1, a, WSE_LANES);
		if (!scalar)
			load(c, s2, b, WSE_LANES);
		if (mac)
			load(c, d, v, WSE_LANES);
		compute(e->op, v, a, b);
		store(c, d, v, WSE_LANES);
		twin_opnd_advance(d, e->inner, e->width, WSE_LANES);
		twin_opnd_advance(s1, e->inner, e->width, WSE_LANES);
		if (!scalar)
			twin_opnd_advance(s2, e->inner, e->width, WSE_LANES);
		twin_vector_advance(e, WSE_LANES);
		c->ecyc[WSE_ENGINE_L]++;
		if (mac)
			c->cnt[WSE_CNT_MAC] += WSE_LANES;
	}
	twin_engine_complete(m, c, e);
	return true;
}
