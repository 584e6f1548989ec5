/* SPDX-License-Identifier: MIT */
/* The x86-64 code of translated blocks: what translate.c needs of it. */
#ifndef TWIN_JIT_X86_EMIT_H
#define TWIN_JIT_X86_EMIT_H

#include "twin/fast/quick.h"
#include "twin/jit/translate.h"

#define TWIN_EMIT_ROOM (TWIN_BLOCK_MAX * 128u) /* bytes that a block takes at most */
#define TWIN_OP_ROOM   1024u /* bytes that the code of an operation takes at most */

struct twin_code {
	uint8_t *buf;
	uint32_t at, leave, leave_index, first; /* offsets: next byte; common exits; first block */
	uint32_t miss;	    /* where the code of an operation goes that is not the right one */
	const void **site;  /* ISSUEs of blocks: the code of the operation that each did last */
	uint32_t nsites;
};

/*
 * the way into blocks and out of them, at the beginning of the buffer: struct
 * twin_left (*)(core, sram, table, code, limit, done)
 */
void twin_emit_entry(struct twin_mesh *m, struct twin_code *t);
/* may the instruction at a word be one of a block? is it the last one then? */
bool twin_emits(const struct twin_dec *d, uint32_t index);
bool twin_emit_ends(const struct twin_dec *d);
/* the code of n instructions from word index on; its offset */
uint32_t twin_emit_block(struct twin_mesh *m, struct twin_code *t, const struct twin_dec *dec,
			 uint32_t index, uint32_t n);
/* emit_op.c: the code of an operation (quick.h); its offset, 0: there is none */
uint32_t twin_emit_op(struct twin_mesh *m, struct twin_code *t, const struct twin_quick *w);

/* translate.c: ISSUE from translated code; enum TWIN_INSIDE_* */
uint32_t twin_issue_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar,
			   const void **site);

#endif /* TWIN_JIT_X86_EMIT_H */
