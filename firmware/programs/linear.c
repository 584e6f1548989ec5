// SPDX-License-Identifier: MIT
/* The program behind libwse's linear operations: start functions linear_forward and linear_wgrad. */
#include "../lib/linear_tasks.h"
