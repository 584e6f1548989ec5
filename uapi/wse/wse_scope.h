/* SPDX-License-Identifier: MIT */
/* Objects that counters are kept for, as the driver and in-process devices number them. */
#ifndef WSE_SCOPE_H
#define WSE_SCOPE_H

#include "wse_regs.h"

/* What CNT_SEL has bits for. Of objects beyond there are only the totals. */
#define WSE_SCOPE_MAX (WSE_CNT_SEL_OBJECT_MASK + 1)

/*
 * How many objects of a scope have counters (queues: I/O queues of the device); 0: there is no such
 * scope.
 */
static inline __u64 wse_scope_objects(__u32 rows, __u32 cols, __u32 queues, __u32 scope)
{
	__u64 cores = (__u64)rows * cols;

	switch (scope) {
	case WSE_SCOPE_TILE:
		return 1;
	case WSE_SCOPE_CORE:
		return cores < WSE_SCOPE_MAX ? cores : WSE_SCOPE_MAX;
	case WSE_SCOPE_LINK:
		return 4 * cores < WSE_SCOPE_MAX ? 4 * cores : WSE_SCOPE_MAX;
	case WSE_SCOPE_QUEUE:
		return queues + 1; /* and the admin queue, which is number 0 */
	default:
		return 0;
	}
}

#endif
