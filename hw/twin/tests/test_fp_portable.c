// SPDX-License-Identifier: MIT
/* The same arithmetic as hosts do it that are not x86-64. */
#define TWIN_FP_PORTABLE
#include "test_fp.c"
