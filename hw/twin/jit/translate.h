/* SPDX-License-Identifier: MIT */
/* Translated scalar code: what exec.c needs of it. */
#ifndef WSE_FUNC_TRANSLATE_H
#define WSE_FUNC_TRANSLATE_H

#include "twin/twin.h"

#define WSE_BLOCK_MAX  64u /* instructions of a block */
/* wse_core.block: arrivals so far; this; or the place of the code */
#define WSE_NO_BLOCK 15u /* not worth trying */

/* struct twin_fast: enter_block */
struct twin_left wse_enter_block(struct wse_mesh *m, struct wse_core *c, uint32_t word,
				 uint32_t limit, uint32_t done);

void wse_translator_create(struct wse_mesh *m);
void wse_translator_destroy(struct wse_mesh *m);
/* n words from index on have changed */
void wse_translate_forget(struct wse_core *c, uint32_t index, uint32_t n);

#endif /* WSE_FUNC_TRANSLATE_H */
