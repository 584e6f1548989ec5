// SPDX-License-Identifier: MIT
/*
 * The kernels of the output layer, of the loss and of their backward pass, also for a vocabulary in
 * chunks (ADD32: the gradient of the data, over its chunks).
 */
#define LINEAR_POSTS \
	(1u << WSE_POST_NONE | 1u << WSE_POST_BF16 | 1u << WSE_POST_ADD32 | 1u << WSE_POST_SCALE)
#define LOSS_FN static __attribute__((noinline))

#include "../lib/linear.h"
#include "../lib/loss.h"
#include "../lib/loss_chunk.h"

WSE_KERNEL(linear_forward, wse_linear_args)
WSE_KERNEL(linear_wgrad, wse_wgrad_args)
WSE_KERNEL(loss, wse_loss_args)
WSE_KERNELS_CHUNKS(WSE_KERNEL_OF)
