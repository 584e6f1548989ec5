// SPDX-License-Identifier: MIT
/* train.elf with attention that deals its work out to the rows (attn_half.h). */
#include "train.c"
