/* SPDX-License-Identifier: MIT */
/* Translated scalar code: what exec.c needs of it. */
#ifndef TWIN_JIT_TRANSLATE_H
#define TWIN_JIT_TRANSLATE_H

#include "twin/twin.h"

#define TWIN_BLOCK_MAX  64u /* instructions of a block */
/* twin_text.block: arrivals so far; this; or the place of the code */
#define TWIN_NO_BLOCK 15u /* not worth trying */

/* struct twin_fast: enter_block */
struct twin_left twin_enter_block(struct twin_mesh *m, struct twin_core *c, uint32_t word,
				  uint32_t limit, uint32_t done);

void twin_translator_create(struct twin_mesh *m);
void twin_translator_destroy(struct twin_mesh *m);
/* n words from index on were written */
void twin_translate_written(struct twin_core *c, uint32_t index, uint32_t n);

#endif /* TWIN_JIT_TRANSLATE_H */
