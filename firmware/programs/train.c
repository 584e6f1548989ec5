// SPDX-License-Identifier: MIT
/* Everything that training needs, in one program: WSE_KERNELS of wse_kernel.h. */
#include "../lib/add.h"
#include "../lib/attn.h"
#include "../lib/attn_back.h"
#include "../lib/linear.h"
#include "../lib/loss.h"
#include "../lib/norm.h"

WSE_KERNELS(WSE_KERNEL)
