// SPDX-License-Identifier: MIT
/*
 * full.elf with slopes in attention's scores (ALiBi), and without rotary positions, which no model
 * has beside them: so it is no longer. build.mk includes all of firmware/lib.
 */
WSE_KERNELS(WSE_KERNEL_OF)
