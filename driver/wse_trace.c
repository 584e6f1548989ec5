// SPDX-License-Identifier: GPL-2.0
/* The bodies of the trace events. */
#define CREATE_TRACE_POINTS
#include "wse_trace.h"
