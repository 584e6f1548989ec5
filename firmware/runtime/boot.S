/* SPDX-License-Identifier: MIT */
/*
 * The resident firmware: sets up the stack, tells the host that the core is ready, and runs tasks
 * in an endless loop. wse-fw.bin is this code behind the header that the driver checks. mtvec stays
 * 0, so that a trap in a kernel halts the core and becomes a fault record.
 */
#define __ASSEMBLER__ 1
#include "wse_regs.h"

/*
 * minor version of the ABI that this image needs: raise it with the first newer instruction in here
 */
#define FW_NEEDS_MINOR 0

	.section .header, "a"
	.word	WSE_FW_MAGIC
	.half	FW_NEEDS_MINOR
	.half	WSE_ABI_MAJOR
	.word	_start
	.word	__fw_bytes
	.word	0			/* CRC, filled in by fw-pack */
	.word	1			/* version */
	.word	0, 0

	.section .text
	.globl	_start
_start:
	li	sp, WSE_SRAM_BASE + WSE_ARGS_OFFSET
	.insn r 0x0b, WSE_F3_SYS, WSE_SYSOP_DONE, x0, x0, x0
1:	.insn r 0x0b, WSE_F3_TNEXT, 0, t0, x0, x0
	csrr	a0, WSE_CSR_WDATA
	csrr	a1, WSE_CSR_WINFO
	jalr	t0
	j	1b
