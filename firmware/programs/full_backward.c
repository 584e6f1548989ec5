// SPDX-License-Identifier: MIT
/* backward.elf with every form of its kernels, and those of full.c alone. */
#define KERNELS_FULL
#define LINEAR_POSTS                                                                            \
	(1u << WSE_POST_NONE | 1u << WSE_POST_BF16 | 1u << WSE_POST_GATE | 1u << WSE_POST_MUL | \
	 1u << WSE_POST_ADD32 | 1u << WSE_POST_MUL2)

#include "../lib/attn_back.h"
#include "../lib/linear.h"
#include "../lib/norm.h"
#if !defined(KERNELS_SLOPES) || defined(KERNELS_DROP)
#include "../lib/rope.h"
#endif

WSE_KERNEL(attn_back, wse_attn_back_args)
WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(linear_wgrad, wse_wgrad_args)
WSE_KERNEL(norm_back, wse_norm_back_args)
#if !defined(KERNELS_SLOPES) || defined(KERNELS_DROP)
WSE_KERNELS_FULL(WSE_KERNEL_OF)
#endif
