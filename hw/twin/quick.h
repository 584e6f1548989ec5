/* SPDX-License-Identifier: MIT */
/* Vector instructions that run at their ISSUE: what translated code needs of quick.c. */
#ifndef WSE_FUNC_QUICK_H
#define WSE_FUNC_QUICK_H

#include "twin.h"
#include "vector.h"

/* what an instruction does with operands of these shapes */
struct wse_way {
	uint32_t tcw;		/* 0: nothing is known */
	uint32_t id[3];		/* the shapes' ids: DST, SRC1, SRC2; the last may be WSE_NO_SHAPE */
	uint32_t ready, wake;	/* tasks that its completion makes ready, does not block */
	uint16_t cycles, macs;
	bool look;		/* operands may overlap, and fn must not be called then */
	bool apart;		/* none overlaps DST but at the same place */
	uint8_t src1;		/* enum wse_src1 */
	uint8_t met;		/* how often translated code came here, while it has no code */
	struct wse_rows s;
	wse_vector_fn *fn;
	const void *code;	/* emit_way.c's; NULL: none */
};
#define WSE_QUICK_CYCLES (WSE_EQUANTUM - 2) /* that L may have worked in this round before */
#define WSE_NO_SHAPE UINT32_MAX /* a scalar's, as if it were a shape's id */

/* An ISSUE of a translated block calls what `code` says, with the arguments of wse_issue_inside() but for
 * the first two: the code of the way that it went the last time, or a jump to wse_issue_inside(). */
struct wse_site {
	const void *code;
};

/* enum WSE_INSIDE_* */
uint32_t wse_issue_inside(struct wse_mesh *m, struct wse_core *c, uint32_t tcw, uint32_t scalar,
			  struct wse_site *site);
/* an operand of the instruction has no id: looks at its words again; false: it has none now */
uint32_t wse_quick_renew(struct wse_mesh *m, struct wse_core *c, uint32_t tcw);
/* the code of all ways is gone */
void wse_quick_forget(struct wse_mesh *m);

/* translate.c: the code of a way with operands of these shapes, b may be NULL; NULL: it has none */
const void *wse_translate_way(struct wse_mesh *m, const struct wse_way *w,
			      const struct wse_shape *d, const struct wse_shape *a,
			      const struct wse_shape *b);

#define WSE_TCW_FIELD(tcw, name) (((tcw) & WSE_TCW_##name##_MASK) >> WSE_TCW_##name##_SHIFT)

/* may it run at its ISSUE with operands of some shapes? Reductions may, too, but have no way. */
static inline bool wse_has_way(uint32_t tcw)
{
	return (tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD < WSE_VECTOR_OPS &&
	       !(tcw & WSE_TCW_ENGINE_MASK);
}

/* does the instruction read SRC2? */
static inline bool wse_has_src2(uint32_t tcw)
{
	return !(tcw & WSE_TCW_SCALAR_MASK) &&
	       !(WSE_VECTOR_UNARY >> ((tcw & WSE_TCW_OP_MASK) - WSE_TOP_VADD) & 1);
}

#endif /* WSE_FUNC_QUICK_H */
