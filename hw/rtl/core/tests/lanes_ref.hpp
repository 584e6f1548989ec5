// SPDX-License-Identifier: MIT
// One element of a vector operation (hw/doc/core.md, "Arithmetic"), on the host's FPU:
// twin_fp_enter() first.
#ifndef WSE_RTL_LANES_REF_HPP
#define WSE_RTL_LANES_REF_HPP
#include <cstdlib>

#include "twin/exact/vop.h"

// What uapi/wse/wse.regs says of it: of a reduction a is what has been joined so far, b the next
// element.
static inline uint32_t lane_element(unsigned op, uint32_t a, uint32_t b, uint32_t d)
{
	switch (op) {
#define ELEMENT(name, value, kind, expr) case value: return expr;
	WSE_VOPS(ELEMENT)
#undef ELEMENT
	}
	(void)d;
	abort();
}
#endif
