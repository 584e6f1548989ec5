// SPDX-License-Identifier: MIT
/* The program that trains an MLP: linear layers and loss, one program for all phases. */
#define LINEAR_POSTS                                                       \
	(1u << WSE_POST_NONE | 1u << WSE_POST_RELU | 1u << WSE_POST_GELU | \
	 1u << WSE_POST_GELU_NEW | 1u << WSE_POST_GATE | 1u << WSE_POST_MUL)

#include "../lib/linear.h"
#include "../lib/loss.h"

WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(linear_wgrad, wse_wgrad_args)
WSE_KERNEL(loss, wse_loss_args)
