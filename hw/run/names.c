// SPDX-License-Identifier: MIT
#include "names.h"

#include "wse_regs.h"

const char *ev_operation(uint32_t tcw)
{
	static const struct {
		const char *name;
		uint32_t op;
	} names[] = {{"AXPY", WSE_TOP_AXPY}, {"DOT", WSE_TOP_DOT},   {"DOTX", WSE_TOP_DOTX},
		     {"MOVE", WSE_TOP_MOVE}, {"MADD", WSE_TOP_MADD}, {"MTEE", WSE_TOP_MTEE},
		     {"MIDX", WSE_TOP_MIDX},
#define VOP(name, value, kind, expr) {#name, value},
		     WSE_VOPS(VOP)
#undef VOP
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].op == (tcw & WSE_TCW_OP_MASK))
			return names[i].name;
	return "?";
}

const char *ev_wait(uint32_t cause)
{
	static const char *const name[] = {"task", "recv", "send", "engine", "L", "M0", "M1"};

	return cause >= WSE_CAUSE_WAIT_TASK && cause <= WSE_CAUSE_WAIT_M1
		       ? name[cause - WSE_CAUSE_WAIT_TASK]
		       : "?";
}
