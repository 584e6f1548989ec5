// SPDX-License-Identifier: MIT
/* cached.elf with every form of its kernels, and those of full.c alone. */
#define KERNELS_FULL
#define LINEAR_POSTS                                                                             \
	(1u << WSE_POST_NONE | 1u << WSE_POST_BF16 | 1u << WSE_POST_RELU | 1u << WSE_POST_GELU | \
	 1u << WSE_POST_GELU_NEW | 1u << WSE_POST_RELU2 | 1u << WSE_POST_ADD16 |                 \
	 1u << WSE_POST_ADD32 | 1u << WSE_POST_SWIGLU | 1u << WSE_POST_SCALE)

#include "../lib/add.h"
#include "../lib/attn_past.h"
#include "../lib/linear.h"
#include "../lib/norm.h"
#ifndef KERNELS_SLOPES
#include "../lib/rope.h"
#endif

WSE_KERNEL(add, wse_add_args)
WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(norm, wse_norm_args)
#ifndef KERNELS_SLOPES
WSE_KERNELS_FULL(WSE_KERNEL_OF)
#endif
WSE_KERNELS_PAST(WSE_KERNEL_OF)
