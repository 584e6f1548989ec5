/* SPDX-License-Identifier: MIT */
#ifndef WSE_CAUSE_H
#define WSE_CAUSE_H

#include <stdint.h>

/* What WSE_CAUSE_* of a faulted core means, in words; never NULL. */
const char *wse_cause_name(uint32_t cause);

#endif /* WSE_CAUSE_H */
