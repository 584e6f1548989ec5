// SPDX-License-Identifier: MIT
#include "cause.h"

#include "wse_regs.h"

const char *wse_cause_name(uint32_t cause)
{
	switch (cause) {
	case WSE_CAUSE_FETCH_MISALIGNED:
		return "misaligned jump target";
	case WSE_CAUSE_FETCH_ACCESS:
		return "instruction fetch outside the SRAM";
	case WSE_CAUSE_ILLEGAL:
		return "illegal instruction";
	case WSE_CAUSE_BREAKPOINT:
		return "ebreak";
	case WSE_CAUSE_LOAD_MISALIGNED:
		return "misaligned load";
	case WSE_CAUSE_LOAD_ACCESS:
		return "load outside the SRAM";
	case WSE_CAUSE_STORE_MISALIGNED:
		return "misaligned store";
	case WSE_CAUSE_STORE_ACCESS:
		return "store outside the SRAM";
	case WSE_CAUSE_ECALL:
		return "ecall";
	case WSE_CAUSE_STREAM_INDEX:
		return "tensor fault: wavelet index outside the operand";
	case WSE_CAUSE_BAD_DSR:
		return "tensor fault: operand not allowed";
	case WSE_CAUSE_OPERAND_ADDR:
		return "tensor fault: operand leaves its memory";
	case WSE_CAUSE_BAD_CTRL:
		return "tensor fault: unexpected control wavelet";
	default:
		return "unknown cause";
	}
}
