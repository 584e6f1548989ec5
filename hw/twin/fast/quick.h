/* SPDX-License-Identifier: MIT */
/* quick.c: vector instructions that are done at once. prepared.c: checked instructions. */
#ifndef TWIN_FAST_QUICK_H
#define TWIN_FAST_QUICK_H

#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"
#include "twin/twin.h"

/* an operand, wherever word 0 of its DSR says that it lies */
struct twin_place {
	uint32_t dsr[3];       /* words 1 to 3 */
	uint32_t first, reach; /* it fits from word 0 = first to first + reach */
	uint32_t align;	       /* bits of word 0 that are 0 */
	bool acc;
};

/* what an instruction does with operands of such shapes */
struct twin_quick {
	uint32_t tcw;	      /* TWIN_QUICK_NONE: nothing is known */
	uint32_t ready, wake; /* tasks that its completion makes ready, does not block */
	uint16_t cycles, macs;
	bool src2; /* it reads SRC2 */
	struct twin_place o[3];
	uint32_t lo, hi; /* bytes of DST from where it lies: [lo, hi) */
	struct twin_rows s;
	twin_vector_fn *fn;
	const void *code; /* emit_op.c's; NULL: none */
};
#define TWIN_QUICK_NONE	  UINT32_MAX	      /* an instruction of no engine */
#define TWIN_QUICK_CYCLES (TWIN_EQUANTUM - 2) /* that L may have worked in this round before */

int twin_quick_create(struct twin_mesh *m); /* what the part's cores share; 0, or -1: no memory */
/* twin_issue_quick() for a vector instruction of L */
struct twin_quick *twin_quick_now(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				  uint32_t scalar);

/* an ISSUE of a vector instruction: what it does, which is done; NULL: nothing was, queue it */
static inline struct twin_quick *twin_issue_quick(struct twin_mesh *m, struct twin_core *c,
						  uint32_t tcw, uint32_t scalar)
{
	if (tcw & WSE_TCW_ENGINE_MASK || twin_vop_kind(tcw & WSE_TCW_OP_MASK) == TWIN_VOP_NONE)
		return NULL;
	return twin_quick_now(m, c, tcw, scalar);
}

/* struct twin_fast: run_vector */
bool twin_run_vector_at_once(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);
/* the code of all operations is gone */
void twin_quick_forget(struct twin_mesh *m);

/* ISSUE from translated code: the interpreter has to do it; done, go on; done, but leave */
enum { TWIN_INSIDE_NOT, TWIN_INSIDE_ON, TWIN_INSIDE_LEAVE };
/* prepared.c */
int twin_prepared_create(struct twin_mesh *m); /* as twin_quick_create() */
/* struct twin_fast: check, issue */
uint32_t twin_prepared_check(struct twin_mesh *m, struct twin_engine *e, unsigned int which);
bool twin_prepared_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);
uint32_t twin_issue_from_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				uint32_t scalar);

#endif /* TWIN_FAST_QUICK_H */
