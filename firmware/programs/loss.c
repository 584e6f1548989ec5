// SPDX-License-Identifier: MIT
/* The output layer, the loss and their backward pass. */
#define LINEAR_POSTS (1u << WSE_POST_NONE | 1u << WSE_POST_BF16)

#include "../lib/linear.h"
#include "../lib/loss.h"

WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(linear_wgrad, wse_wgrad_args)
WSE_KERNEL(loss, wse_loss_args)
