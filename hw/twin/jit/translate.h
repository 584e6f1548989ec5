/* SPDX-License-Identifier: MIT */
/* Translated scalar code: what exec.c needs of it. */
#ifndef WSE_FUNC_TRANSLATE_H
#define WSE_FUNC_TRANSLATE_H

#include <string.h>

#include "twin/twin.h"

#define WSE_BLOCK_MAX  64u /* instructions of a block */
/* wse_core.block: arrivals so far; this; or the place of the code */
#define WSE_NO_BLOCK 15u /* not worth trying */

/* how translated code was left: at pc, done instructions have run */
struct wse_left {
	/* a jump's target; with WSE_LEFT_AT an instruction that exec.c has to do, with WSE_LEFT_WAITING
	 * one that waits, as wse_core.wait says */
	uint64_t pc;
	uint64_t done;
};
#define WSE_LEFT_AT	 1u
#define WSE_LEFT_WAITING 2u

/* execution has arrived at a word for which no code is known: its block, 0: there is none (yet) */
uint32_t wse_translate(struct wse_mesh *m, struct wse_core *c, uint32_t index);
static inline struct wse_left wse_translated(struct wse_mesh *m, struct wse_core *c, uint32_t block,
					     uint32_t limit, uint32_t done)
{
	typedef struct wse_left enter(struct wse_core *c, uint8_t *sram, const uint32_t *table,
				      const uint8_t *code, uint32_t limit, uint32_t done);
	enter *fn;

	memcpy(&fn, &m->code, sizeof(fn));
	return fn(c, c->sram, c->block, m->code + block, limit, done);
}

/* n words from index on have changed */
void wse_translate_forget(struct wse_core *c, uint32_t index, uint32_t n);

#endif /* WSE_FUNC_TRANSLATE_H */
