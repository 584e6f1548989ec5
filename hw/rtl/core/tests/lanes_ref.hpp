// SPDX-License-Identifier: MIT
// One element of a vector operation (hw/doc/core.md, "Arithmetic"), on the host's FPU: wse_fp_enter() first.
#ifndef WSE_RTL_LANES_REF_HPP
#define WSE_RTL_LANES_REF_HPP
#include "twin/fp.h"
#include "wse_regs.h"

static inline uint32_t lane_element(unsigned op, uint32_t a, uint32_t b, uint32_t d)
{
	switch (op) {
	case WSE_TOP_VADD: return wse_fadd(a, b);
	case WSE_TOP_VSUB: return wse_fadd(a, b ^ 0x80000000);
	case WSE_TOP_VMUL: return wse_fmul(a, b);
	case WSE_TOP_VMAC: return wse_fadd(d, wse_fmul(a, b));
	case WSE_TOP_VMAX: return wse_flush(wse_fgt(a, b) ? a : b);
	case WSE_TOP_VMIN: return wse_flush(wse_fgt(b, a) ? a : b);
	case WSE_TOP_VMOV: return a;
	case WSE_TOP_VGATE: return wse_fgt(a, 0) ? b : 0;
	case WSE_TOP_VCGT: return wse_fgt(a, b) ? ~0u : 0;
	case WSE_TOP_VIADD: return a + b;
	case WSE_TOP_VISUB: return a - b;
	case WSE_TOP_VAND: return a & b;
	case WSE_TOP_VOR: return a | b;
	case WSE_TOP_VXOR: return a ^ b;
	case WSE_TOP_VSHL: return a << (b & 31);
	case WSE_TOP_VSHR: return a >> (b & 31);
	case WSE_TOP_VSRA: return uint32_t(int32_t(a) >> (b & 31));
	case WSE_TOP_VF2I: return wse_f2i(a);
	default: return wse_i2f(a);
	}
}
#endif
