// SPDX-License-Identifier: MIT
/* full.elf with attention that deals its work out to the rows (attn_half.h). */
#include "full.c"
