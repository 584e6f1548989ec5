// SPDX-License-Identifier: MIT
/*
 * All kernels of training in one program: WSE_KERNELS of wse_kernel.h. build.mk includes all of
 * firmware/lib.
 */
WSE_KERNELS(WSE_KERNEL_OF)
