/* SPDX-License-Identifier: MIT */
/* Vector instructions that run at their ISSUE: what translated code needs of quick.c. */
#ifndef WSE_FUNC_QUICK_H
#define WSE_FUNC_QUICK_H

#include "twin/exact/vop.h"
#include "twin/fast/vector/vector.h"
#include "twin/twin.h"

/* where rows of two operands lie in each other, but not one as the other */
enum wse_meet { WSE_MEET_NEVER, WSE_MEET_PERHAPS, WSE_MEET_SURELY };

/* what an instruction does with operands of these shapes */
struct wse_way {
	uint32_t tcw;		/* 0: nothing is known */
	uint32_t id[3];		/* the shapes' ids: DST, SRC1, SRC2; the last may be WSE_NO_SHAPE */
	uint32_t ready, wake;	/* tasks that its completion makes ready, does not block */
	uint16_t cycles, macs;
	uint8_t meet;		/* enum wse_meet of DST and the others */
	uint8_t src1;		/* enum wse_src1 */
	uint8_t met;		/* how often translated code came here, while it has no code */
	struct wse_rows s;
	wse_vector_fn *fn;	/* right where they meet for sure, or not at all */
	const void *code;	/* emit_way.c's; NULL: none */
};
#define WSE_QUICK_CYCLES (WSE_EQUANTUM - 2) /* that L may have worked in this round before */
#define WSE_NO_SHAPE UINT32_MAX /* a scalar's, as if it were a shape's id */

/* An ISSUE of a translated block calls what `code` says, with edx and ecx as wse_issue_inside() has them: the
 * code of the way that it went the last time, or a jump to wse_issue_inside(). */
struct wse_site {
	const void *code;
	uint32_t pc;
};

int wse_quick_create(struct wse_mesh *m); /* what the part's cores share; 0, or -1: no memory */
void wse_quick_hold(struct wse_mesh *m, struct wse_core *c); /* struct twin_fast: hold */
/* runs a vector instruction here and now; false: nothing was done, queue it */
bool wse_issue_quick(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar);
/* ISSUE from translated code: the interpreter has to do it; done, go on; done, but leave */
enum { WSE_INSIDE_NOT, WSE_INSIDE_ON, WSE_INSIDE_LEAVE };
/* prepared.c: in all cases; what follows is tried before */
uint32_t wse_issue_from_inside(struct wse_mesh *m, struct wse_core *c, uint32_t tcw,
			       uint32_t scalar);

/* enum WSE_INSIDE_* */
uint32_t wse_issue_inside(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar,
			  struct wse_site *site);
/* Looks at the words of operands again that have no id; false: none has one now that had none. Where
 * the instruction's way with them is known and has code, the site says that from now on. */
uint32_t wse_quick_renew(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar,
			 struct wse_site *site);
/* the code of all ways is gone */
void wse_quick_forget(struct wse_mesh *m);

/* translate.c: the code of a way with operands of these shapes, b may be NULL; NULL: it has none */
const void *wse_translate_way(struct wse_mesh *m, const struct wse_way *w,
			      const struct wse_shape *d, const struct wse_shape *a,
			      const struct wse_shape *b);

#define WSE_TCW_FIELD(tcw, name) (((tcw) & WSE_TCW_##name##_MASK) >> WSE_TCW_##name##_SHIFT)

/* may it run at its ISSUE with operands of some shapes? */
static inline bool wse_is_quick(uint32_t tcw)
{
	return wse_vop_kind(tcw & WSE_TCW_OP_MASK) != WSE_VOP_NONE && !(tcw & WSE_TCW_ENGINE_MASK);
}

/* does the instruction read SRC2? */
static inline bool wse_has_src2(uint32_t tcw)
{
	return !(tcw & WSE_TCW_SCALAR_MASK) &&
	       wse_vop_kind(tcw & WSE_TCW_OP_MASK) != WSE_VOP_UNARY;
}

#endif /* WSE_FUNC_QUICK_H */
