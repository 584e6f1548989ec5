# SPDX-License-Identifier: MIT
# Calls main and hands its result to the host: tohost = result << 1 | 1.
	.section .text.init
	.globl _start
_start:
	la	sp, _stack
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	call	main
	slli	a0, a0, 1
	ori	a0, a0, 1
	la	t0, tohost
	sw	a0, 0(t0)
1:	j	1b

	.section .tohost, "aw", @progbits
	.globl tohost
	.align 6
tohost:	.dword 0
