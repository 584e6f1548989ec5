// SPDX-License-Identifier: MIT
/* halves.elf whose rows share the work of attention backward, too (attn_back_half.h). */
#include "train.c"
