# SPDX-License-Identifier: MIT
# Each trap that a program can cause: a handler records cause and value; 0 if all are right.
	.globl main
	.option norelax
	.macro expect cause, tval_reg
	li	t3, \cause
	bne	s0, t3, bad
	bne	s1, \tval_reg, bad
	addi	a0, a0, 1
	.endm
main:
	la	t0, handler
	csrw	mtvec, t0
	li	a0, 1			# number of the trap that is tested, the result if it fails
	li	t1, 0x80000001
	lw	t2, 0(t1)		# 4: misaligned load
	expect	4, t1
	li	t1, 0x7ffffffc
	lw	t2, 0(t1)		# 5: load outside
	expect	5, t1
	li	t1, 0x80000002
	sw	t2, 0(t1)		# 6
	expect	6, t1
	li	t1, 0x8000c000
	sb	t2, 0(t1)		# 7
	expect	7, t1
	.word	0x0000000f + 0x70	# 2: opcode 0x7f is no instruction
	li	t1, 0x7f
	expect	2, t1
	ecall				# 11
	li	t1, 0
	expect	11, t1
	csrr	t1, mstatus
	csrw	cycle, t1		# 2: read-only; csrrw x0, cycle, t1
	li	t1, 0xc0031073
	expect	2, t1
	li	t1, 0x80000002
	la	s3, 1f
	jr	t1			# 0: misaligned target
1:	expect	0, t1
	csrr	t1, mhartid
	csrr	t2, mcycle
	csrr	t3, mcycle
	bgeu	t2, t3, bad
	csrr	t2, minstret
	csrr	t3, minstret
	addi	t2, t2, 1
	bne	t2, t3, bad
	li	a0, 0
	ret
bad:	ret
	.align	2
handler:
	csrr	s0, mcause
	csrr	s1, mtval
	csrr	s2, mepc
	addi	s2, s2, 4
	csrw	mepc, s2
	mret
