// SPDX-License-Identifier: MIT
/*
 * Linked with a test that was written for the twin: every name finds the RTL, so the same test
 * judges both. With RTL_SEED not 0 the bus answers at random times; with RTL_GROUPS the tile is the
 * one whose columns have buses of their own: one group of two columns, three of one, two of two,
 * three of four.
 */
#include "machine.h"

#ifndef RTL_SEED
#define RTL_SEED 0
#endif

extern const struct wse_machine_ops wse_machine_rtl;

static int create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
		  struct wse_machine **m)
{
	struct wse_machine_cfg c = *cfg;

	c.seed = RTL_SEED;
#ifdef RTL_GROUPS
	c.group = c.cols == 12 ? 4 : c.cols == 3 ? 1 : c.cols == 1 ? 0 : 2;
#endif
	c.flags &= ~WSE_MACHINE_CHECK_RACES;
	return wse_machine_rtl.create(&c, ops, host, m);
}

const struct wse_machine_ops *wse_machine_find(const char *name)
{
	static struct wse_machine_ops seeded;

	(void)name;
	seeded = wse_machine_rtl;
	seeded.create = create;
	return &seeded;
}
