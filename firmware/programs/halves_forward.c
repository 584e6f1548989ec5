// SPDX-License-Identifier: MIT
/* forward.elf with attention that deals its work out to the rows (attn_half.h). */
#define KERNELS_HALVES
#include "forward.c"
