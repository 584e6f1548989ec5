// SPDX-License-Identifier: MIT
/* The inline functions of wse/device.h once more, for languages that cannot compile them. */
#define WSE_INLINE
#include <wse/device.h>
