// SPDX-License-Identifier: MIT
/* full_backward.elf and slopes_backward.elf with dropout. */
#define KERNELS_SLOPES
#define KERNELS_DROP
#include "full_backward.c"

WSE_KERNELS_DROP(WSE_KERNEL_OF)
