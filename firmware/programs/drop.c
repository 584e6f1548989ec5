// SPDX-License-Identifier: MIT
/*
 * All kernels in every form with dropout: full.elf's, with slopes as slopes.elf has them. build.mk
 * includes all of firmware/lib.
 */
WSE_KERNELS(WSE_KERNEL_OF)
WSE_KERNELS_FULL(WSE_KERNEL_OF)
WSE_KERNELS_DROP(WSE_KERNEL_OF)
