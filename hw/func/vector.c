// SPDX-License-Identifier: MIT
/* Vector operations of the lane engine, one group of LANES after the other. */
#include <string.h>

#include "fp.h"
#include "wse_func.h"

static void load(const struct wse_core *c, const struct wse_opnd *o, uint32_t v[WSE_LANES])
{
	uint16_t h[WSE_LANES];
	unsigned int i;

	if (o->kind == WSE_KIND_ACC) {
		memcpy(v, &c->acc[o->pos], WSE_LANES * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		memcpy(h, c->sram + o->pos, sizeof(h));
		for (i = 0; i < WSE_LANES; i++)
			v[i] = wse_bf16_widen(h[i]);
	} else {
		memcpy(v, c->sram + o->pos, WSE_LANES * 4);
	}
}

static void store(struct wse_core *c, const struct wse_opnd *o, const uint32_t *v, unsigned int n)
{
	uint16_t h[WSE_LANES];
	unsigned int i;

	if (o->kind == WSE_KIND_ACC) {
		memcpy(&c->acc[o->pos], v, n * 4);
	} else if (o->dtype == WSE_DT_BF16) {
		for (i = 0; i < n; i++)
			h[i] = wse_bf16_round(v[i]);
		memcpy(c->sram + o->pos, h, n * 2);
		wse_code_changed(c, o->pos, n * 2);
	} else {
		memcpy(c->sram + o->pos, v, n * 4);
		wse_code_changed(c, o->pos, n * 4);
	}
}

static void next_group(struct wse_opnd *o, bool new_row)
{
	if (o->kind == WSE_KIND_NONE)
		return;
	if (new_row)
		o->pos = o->row += o->stride1;
	else
		o->pos += o->stride * (int32_t)WSE_LANES;
}

/* the operation of one group: a with b into d (d holds DST's old values for VMAC) */
#define EACH(expr)                              \
	do {                                    \
		for (i = 0; i < WSE_LANES; i++) \
			d[i] = (expr);          \
	} while (0)
static void group(unsigned int op, uint32_t *restrict d, const uint32_t *restrict a,
		  const uint32_t *restrict b)
{
	unsigned int i;

	switch (op) {
	case WSE_TOP_VADD:
		EACH(wse_fadd(a[i], b[i]));
		break;
	case WSE_TOP_VSUB:
		EACH(wse_canon(wse_u(wse_f(a[i]) - wse_f(b[i]))));
		break;
	case WSE_TOP_VMUL:
		EACH(wse_fmul(a[i], b[i]));
		break;
	case WSE_TOP_VMAC:
		EACH(wse_canon(wse_u(wse_f(d[i]) + wse_f(a[i]) * wse_f(b[i]))));
		break;
	case WSE_TOP_VMAX:
		EACH(wse_flush(wse_fgt(a[i], b[i]) ? a[i] : b[i]));
		break;
	case WSE_TOP_VMIN:
		EACH(wse_flush(wse_f(a[i]) < wse_f(b[i]) ? a[i] : b[i]));
		break;
	case WSE_TOP_VMOV:
		EACH(a[i]);
		break;
	case WSE_TOP_VGATE:
		EACH(wse_fgt(a[i], 0) ? b[i] : 0);
		break;
	case WSE_TOP_VCGT:
		EACH(wse_fgt(a[i], b[i]) ? ~0u : 0);
		break;
	case WSE_TOP_VIADD:
		EACH(a[i] + b[i]);
		break;
	case WSE_TOP_VISUB:
		EACH(a[i] - b[i]);
		break;
	case WSE_TOP_VAND:
		EACH(a[i] & b[i]);
		break;
	case WSE_TOP_VOR:
		EACH(a[i] | b[i]);
		break;
	case WSE_TOP_VXOR:
		EACH(a[i] ^ b[i]);
		break;
	case WSE_TOP_VSHL:
		EACH(a[i] << (b[i] & 31));
		break;
	case WSE_TOP_VSHR:
		EACH(a[i] >> (b[i] & 31));
		break;
	case WSE_TOP_VSRA:
		EACH((uint32_t)((int32_t)a[i] >> (b[i] & 31)));
		break;
	case WSE_TOP_VF2I:
		EACH(wse_f2i(a[i]));
		break;
	case WSE_TOP_VI2F:
		EACH(wse_i2f(a[i]));
		break;
	}
}

static uint32_t combine(bool max, uint32_t p, uint32_t v)
{
	return max ? wse_flush(wse_fgt(p, v) ? p : v) : wse_fadd(p, v);
}

/* one more group into the lane partials */
static void reduce_step(struct wse_core *c, struct wse_engine *e, uint32_t *part)
{
	bool max = e->op == WSE_TOP_VRMAX;
	uint32_t a[WSE_LANES];
	unsigned int i;

	load(c, &e->o[OPND_SRC1], a);
	for (i = 0; i < WSE_LANES; i++)
		part[i] = combine(max, part[i], a[i]);
}

static uint32_t tree(bool max, uint32_t *p, unsigned int n)
{
	unsigned int i;

	for (; n > 1; n /= 2)
		for (i = 0; i < n / 2; i++)
			p[i] = combine(max, p[2 * i], p[2 * i + 1]);
	return p[0];
}

bool wse_run_vector(struct wse_model *m, struct wse_core *c, struct wse_engine *e)
{
	struct wse_opnd *d = &e->o[OPND_DST], *s1 = &e->o[OPND_SRC1], *s2 = &e->o[OPND_SRC2];
	bool reduce = e->op == WSE_TOP_VRSUM || e->op == WSE_TOP_VRMAX,
	     max = e->op == WSE_TOP_VRMAX;
	uint32_t a[WSE_LANES], b[WSE_LANES], v[WSE_LANES] = {0};
	unsigned int i;
	bool last;

	for (i = 0; i < WSE_LANES; i++)
		b[i] = e->q[0].scalar;
	if (reduce && e->inner == e->width && e->outer == s1->len1)
		for (i = 0; i < WSE_LANES; i++)
			e->part[i] = max ? 0xff800000u : 0;
	while (e->outer) {
		if (c->ecyc[WSE_ENGINE_L] >= WSE_EQUANTUM)
			return true;
		if (reduce) {
			reduce_step(c, e, e->part);
		} else {
			load(c, s1, a);
			if (s2->kind != WSE_KIND_NONE)
				load(c, s2, b);
			if (e->op == WSE_TOP_VMAC)
				load(c, d, v);
			group(e->op, v, a, b);
			store(c, d, v, WSE_LANES);
		}
		e->inner -= WSE_LANES;
		last = !e->inner;
		if (last) {
			e->inner = e->width;
			e->outer--;
		}
		if (e->outer) {
			next_group(s1, last);
			if (!reduce) {
				next_group(s2, last);
				next_group(d, last);
			}
		}
		c->ecyc[WSE_ENGINE_L]++;
		if (e->op == WSE_TOP_VMAC)
			m->cnt_mac += WSE_LANES;
	}
	if (reduce) {
		v[0] = tree(max, e->part, WSE_LANES);
		store(c, d, v, 1);
	}
	wse_engine_complete(m, c, e);
	return true;
}
