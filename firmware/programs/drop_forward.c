// SPDX-License-Identifier: MIT
/* full_forward.elf and slopes_forward.elf with dropout. */
#define KERNELS_SLOPES
#define KERNELS_DROP
#include "full_forward.c"

WSE_KERNELS_DROP(WSE_KERNEL_OF)
