// SPDX-License-Identifier: MIT
/*
 * All kernels, in every form: train.elf's with norms without mean or bias and with SwiGLU, and
 * rotary positions. build.mk includes all of firmware/lib.
 */
WSE_KERNELS(WSE_KERNEL_OF)
WSE_KERNELS_FULL(WSE_KERNEL_OF)
