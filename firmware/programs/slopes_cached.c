// SPDX-License-Identifier: MIT
/* full_cached.elf with slopes in attention's scores, and without rotary positions. */
#define KERNELS_SLOPES
#include "full_cached.c"
