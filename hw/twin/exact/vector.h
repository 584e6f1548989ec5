/* SPDX-License-Identifier: MIT */
/* The steps of a vector instruction. */
#ifndef TWIN_EXACT_VECTOR_H
#define TWIN_EXACT_VECTOR_H

#include "twin/exact/operand.h"

/* moves the instruction n elements on */
static inline void twin_vector_advance(struct twin_engine *e, uint32_t n)
{
	uint32_t i = e->width - e->inner + n;

	e->inner = e->width - i % e->width;
	e->outer -= i / e->width;
}

/* VRSUM, VRMAX: the lane partials before the first group */
static inline void twin_reduce_begin(struct twin_engine *e)
{
	unsigned int i;

	if (e->inner != e->width || e->outer != e->o[OPND_SRC1].len1)
		return;
	for (i = 0; i < WSE_LANES; i++)
		e->part[i] = e->op == WSE_TOP_VRMAX ? 0xff800000u : 0;
}

/* stores what the lane tree makes of the partials; the instruction completes */
void twin_reduce_end(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);

#endif /* TWIN_EXACT_VECTOR_H */
