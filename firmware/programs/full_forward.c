// SPDX-License-Identifier: MIT
/* forward.elf with every form of its kernels, and those of full.c alone. */
#define KERNELS_FULL
#ifdef KERNELS_DROP /* the sums come before what drops them, which adds the residual */
#define DROP_POSTS (1u << WSE_POST_NONE)
#else
#define DROP_POSTS 0
#endif
#define LINEAR_POSTS                                                                    \
	(DROP_POSTS | 1u << WSE_POST_BF16 | 1u << WSE_POST_RELU | 1u << WSE_POST_GELU | \
	 1u << WSE_POST_GELU_NEW | 1u << WSE_POST_RELU2 | 1u << WSE_POST_ADD16 |        \
	 1u << WSE_POST_ADD32 | 1u << WSE_POST_SWIGLU)

#include "../lib/add.h"
#include "../lib/attn.h"
#include "../lib/linear.h"
#include "../lib/norm.h"
#if !defined(KERNELS_SLOPES) || defined(KERNELS_DROP)
#include "../lib/rope.h"
#endif

WSE_KERNEL(add, wse_add_args)
WSE_KERNEL(attn, wse_attn_args)
WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(norm, wse_norm_args)
#if !defined(KERNELS_SLOPES) || defined(KERNELS_DROP)
WSE_KERNELS_FULL(WSE_KERNEL_OF)
#endif
