// SPDX-License-Identifier: MIT
/* Everything that training needs, in one program: the kernels of wse_kernel.h that exist so far. */
#include "../lib/attn.h"
#include "../lib/attn_back.h"
#include "../lib/linear.h"
