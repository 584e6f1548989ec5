// SPDX-License-Identifier: MIT
/*
 * train.elf with every form of the kernels: a norm without mean or bias. build.mk includes all of
 * firmware/lib.
 */
WSE_KERNELS(WSE_KERNEL_OF)
