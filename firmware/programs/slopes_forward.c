// SPDX-License-Identifier: MIT
/* full_forward.elf with slopes in attention's scores, and without rotary positions. */
#define KERNELS_SLOPES
#include "full_forward.c"
