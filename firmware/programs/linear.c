// SPDX-License-Identifier: MIT
/* The program behind libwse's linear operations. */
#define LINEAR_POSTS (1u << WSE_POST_NONE | 1u << WSE_POST_BF16)

#include "../lib/linear.h"

WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(linear_wgrad, wse_wgrad_args)
