// SPDX-License-Identifier: MIT
/* full_backward.elf with attention whose rows share its work (attn_back_half.h). */
#define KERNELS_HALVES
#define KERNELS_BACK_HALVES
#include "full_backward.c"
