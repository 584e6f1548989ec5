/* SPDX-License-Identifier: MIT */
/* An operand while its instruction runs: what it is, its elements, and how it moves on. */
#ifndef TWIN_EXACT_OPERAND_H
#define TWIN_EXACT_OPERAND_H

#include <string.h>

#include "twin/exact/fp.h"
#include "twin/twin.h"

static inline bool twin_opnd_is_store(const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_MEM || o->kind == WSE_KIND_ACC;
}

static inline bool twin_opnd_is_bf16(const struct twin_opnd *o)
{
	return o->kind != WSE_KIND_ACC && o->dtype == WSE_DT_BF16;
}

/* an element in units of the operand's strides: bytes, or accumulators */
static inline int32_t twin_opnd_size(const struct twin_opnd *o)
{
	return o->kind == WSE_KIND_ACC ? 1 : o->dtype == WSE_DT_BF16 ? 2 : 4;
}

/* elements that are loaded or stored at once */
#define TWIN_OPND_MOST 64u

/* n elements one behind the other from the operand's place on */
static inline void twin_opnd_load(const struct twin_core *c, const struct twin_opnd *o, uint32_t *v,
				  uint32_t n)
{
	uint16_t h[TWIN_OPND_MOST];
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

static inline void twin_opnd_store(struct twin_core *c, const struct twin_opnd *o,
				   const uint32_t *v, uint32_t n)
{
	uint16_t h[TWIN_OPND_MOST];

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

/* moves an operand n elements on; inner: elements left in its current row of width */
static inline void twin_opnd_advance(struct twin_opnd *o, uint32_t inner, uint32_t width,
				     uint32_t n)
{
	uint32_t at = width - inner + n;

	o->row += o->stride1 * (int32_t)(at / width);
	o->pos = o->row + o->stride * (int32_t)(at % width);
}

#endif /* TWIN_EXACT_OPERAND_H */
