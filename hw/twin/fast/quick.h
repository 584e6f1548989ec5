/* SPDX-License-Identifier: MIT */
/* Vector instructions that run at their ISSUE: what translated code needs of quick.c. */
#ifndef TWIN_FAST_QUICK_H
#define TWIN_FAST_QUICK_H

#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"
#include "twin/twin.h"

/* what an instruction does with operands of these shapes */
struct twin_prepared_op {
	uint32_t tcw; /* 0: nothing is known */
	/* the shapes' ids: DST, SRC1, SRC2; the last may be TWIN_NO_SHAPE */
	uint32_t id[3];
	uint32_t ready, wake; /* tasks that its completion makes ready, does not block */
	uint16_t cycles, macs;
	uint8_t uses; /* ISSUEs from translated code so far, while it has no code */
	struct twin_rows s;
	twin_vector_fn *fn;
	const void *code; /* emit_op.c's; NULL: none */
};
#define TWIN_QUICK_CYCLES (TWIN_EQUANTUM - 2) /* that L may have worked in this round before */
#define TWIN_NO_SHAPE	  UINT32_MAX	      /* a scalar's, as if it were a shape's id */

/*
 * An ISSUE of a translated block calls `code`, with edx and ecx as twin_issue_inside() gets them:
 * the code of the operation that it did last, or a jump to twin_issue_inside().
 */
struct twin_site {
	const void *code;
	uint32_t pc;
};

int twin_quick_create(struct twin_mesh *m); /* what the part's cores share; 0, or -1: no memory */
void twin_quick_hold(struct twin_core *c);  /* struct twin_fast: hold */
/* runs a vector instruction here and now; false: nothing was done, queue it */
bool twin_issue_quick(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);
/* ISSUE from translated code: the interpreter has to do it; done, go on; done, but leave */
enum { TWIN_INSIDE_NOT, TWIN_INSIDE_ON, TWIN_INSIDE_LEAVE };
/* prepared.c: in all cases; the function after this one is tried first */
uint32_t twin_issue_from_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw,
				uint32_t scalar);

/* enum TWIN_INSIDE_* */
uint32_t twin_issue_inside(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar,
			   struct twin_site *site);
/* the code of all operations is gone */
void twin_quick_forget(struct twin_mesh *m);

/* translate.c: the code of an operation on operands of these shapes, b may be NULL; NULL: none */
const void *twin_translate_op(struct twin_mesh *m, const struct twin_prepared_op *w,
			      const struct twin_shape *d, const struct twin_shape *a,
			      const struct twin_shape *b);

#define TWIN_TCW_FIELD(tcw, name) (((tcw)&WSE_TCW_##name##_MASK) >> WSE_TCW_##name##_SHIFT)

/* may it run at its ISSUE with operands of some shapes? */
static inline bool twin_is_quick(uint32_t tcw)
{
	return twin_vop_kind(tcw & WSE_TCW_OP_MASK) != TWIN_VOP_NONE &&
	       !(tcw & WSE_TCW_ENGINE_MASK);
}

/* does the instruction read SRC2? */
static inline bool twin_has_src2(uint32_t tcw)
{
	enum twin_vop_kind kind = twin_vop_kind(tcw & WSE_TCW_OP_MASK);

	return !(tcw & WSE_TCW_SCALAR_MASK) && kind != TWIN_VOP_UNARY && kind != TWIN_VOP_REDUCE;
}

#endif /* TWIN_FAST_QUICK_H */
