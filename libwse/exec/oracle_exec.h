/* SPDX-License-Identifier: MIT */
/*
 * An executor that runs every operation's scalar definition (ops/). Tests compare the wafer with it
 * bit for bit; it is no device to train on.
 */
#ifndef WSE_EXEC_ORACLE_EXEC_H
#define WSE_EXEC_ORACLE_EXEC_H

#include "exec/exec.h"

/*
 * "oracle:rows=R,cols=C" (default 4x4). For tests, ",die_at=N" fails with -ENODEV in the N-th
 * micro-batch that it runs and ever after, half way through its gradients.
 */
int wse_oracle_open(const char *uri, const struct wse_exec_cfg *cfg, struct wse_exec **exec);

#endif
