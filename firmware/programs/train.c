// SPDX-License-Identifier: MIT
/* Everything that training needs, in one program: the kernels of wse_kernel.h that exist so far. */
#include "../lib/linear.h"
