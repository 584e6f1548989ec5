/* SPDX-License-Identifier: MIT */
/*
 * What the exact machine knows of the ways that save time: one table. Each part of the mesh has a
 * pointer to it; where that is NULL (WSE_MACHINE_EXACT, a host without AVX2, or a build without
 * fast/ and jit/) the exact machine does everything itself.
 *
 * A cache lives in fast/ or jit/ and ends through memory_written, and through twin_mesh.routes,
 * which counts what was written to routes.
 */
#ifndef TWIN_EXACT_FAST_H
#define TWIN_EXACT_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct twin_core;
struct twin_engine;
struct twin_mesh;
struct wse_machine;

/* how a translated block was left: at pc, and done instructions of the turn have run */
struct twin_left {
	/*
	 * a jump's target; with _AT the interpreter has to do the instruction, with _WAITING it
	 * waits
	 */
	uint64_t pc;
	uint64_t done;
};
#define TWIN_LEFT_AT	  1u
#define TWIN_LEFT_WAITING 2u
#define TWIN_LEFT_NONE	  UINT64_MAX /* pc: no block was entered */

/* twin_core.code: what was made of a page of the SRAM */
#define TWIN_PAGE_DECODED 1u /* its instructions were decoded: exact/ */
#define TWIN_PAGE_TEXT	  4u /* its instructions were translated: jit/ */
#define TWIN_PAGE_COPIED  2u /* operands in binary32: fast/ */

/*
 * Exponents, as they stand in bf16 and binary32, of values that are not 0; FIRST > LAST where all
 * are 0. NaN and infinity have the greatest.
 */
struct twin_range {
	int16_t first, last;
};

/* element i of a dense run as a wavelet: feature i % nb of k = i / nb, nb = 1 << shift */
static inline uint32_t twin_wavelet(float v, uint32_t i, unsigned int shift)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return u | (i & ((1u << shift) - 1)) << 14 | i >> shift;
}

/* ---- what fast/ and jit/ keep in a core ---- */

/* what is known of a bf16 operand, see opnd_copy.c */
struct twin_opnd_copy {
	bool full, uses;	     /* it is valid; the operand has been used once */
	struct twin_range range;     /* of its values */
	int32_t base, stride1;	     /* the operand */
	uint32_t tokens, rows;
	uint32_t lo, hi;	     /* SRAM bytes that it depends on: [lo, hi) */
	const void *copy;	     /* NULL: it is too large for one */
	void *room;		     /* for copies */
	size_t cap;		     /* bytes */
};

/* ---- the table ---- */

struct twin_fast {
	/* after the parts; 0, or -1: no memory. destroy: also of what create did not come to */
	int (*create)(struct wse_machine *m);
	void (*destroy)(struct wse_machine *m);
	/* as twin_issue() */
	bool (*issue)(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);
	/* as twin_engine_check() */
	uint32_t (*check)(struct twin_mesh *m, struct twin_engine *e, unsigned int which);
	/* as twin_run_vector() */
	bool (*run_vector)(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);
	/*
	 * runs translated code from a word of the SRAM on; done: instructions of the turn so far,
	 * of limit
	 */
	struct twin_left (*enter_block)(struct twin_mesh *m, struct twin_core *c, uint32_t word,
					uint32_t limit, uint32_t done);
	/* SRAM bytes were written of which TWIN_PAGE_* had been made */
	void (*memory_written)(struct twin_core *c, uint32_t off, uint32_t len, uint32_t made);
	/* a round's runs of all ports and movers; true: something moved */
	bool (*run_sources)(struct wse_machine *m);
	/* before a reader looks at the counters of cores and links */
	void (*settle)(struct wse_machine *m);
	/*
	 * a block of a port: bf16 row[nb][nk] as values v[nk][nb], and their range; nb is 1, 2 or 4
	 */
	struct twin_range (*values)(struct wse_machine *m, float *v, const uint16_t *const *row,
				    uint32_t nk, unsigned int nb);
};

/* the table; NULL: the build has no fast/ and jit/, or the host no AVX2 with FMA */
const struct twin_fast *twin_fast_find(void);

#endif /* TWIN_EXACT_FAST_H */
