// SPDX-License-Identifier: MIT
/*
 * Linked with a test that was written for the twin: every name finds the RTL, so the same test
 * judges both. With RTL_SEED not 0 the bus answers at random times.
 */
#include "model.h"

#ifndef RTL_SEED
#define RTL_SEED 0
#endif

extern const struct wse_model_ops wse_model_rtl;

static int create(const struct wse_model_cfg *cfg, const struct wse_host_ops *ops, void *host,
		  struct wse_model **m)
{
	struct wse_model_cfg c = *cfg;

	c.seed = RTL_SEED;
	c.flags &= ~WSE_MODEL_CHECK_RACES;
	return wse_model_rtl.create(&c, ops, host, m);
}

const struct wse_model_ops *wse_model_find(const char *name)
{
	static struct wse_model_ops seeded;

	(void)name;
	seeded = wse_model_rtl;
	seeded.create = create;
	return &seeded;
}
