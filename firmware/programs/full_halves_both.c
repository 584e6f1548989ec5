// SPDX-License-Identifier: MIT
/* full_halves.elf whose rows share the work of attention backward, too (attn_back_half.h). */
#include "full.c"
