// SPDX-License-Identifier: MIT
/* full_forward.elf with attention that deals its work out to the rows (attn_half.h). */
#define KERNELS_HALVES
#include "full_forward.c"
