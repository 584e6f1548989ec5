// SPDX-License-Identifier: MIT
/* What debuggers see of the cores of an in-process device. */
#include "sim.h"

struct peek {
	uint32_t core, addr;
	void *buf;
	size_t len;
};

static int peek(struct sim *sim, void *arg)
{
	const struct peek *p = arg;

	return sim->ops->peek(sim->model, p->core, p->addr, p->buf, p->len);
}

int sim_peek(struct wse_device *dev, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	struct peek p = {core, addr, buf, len};

	return sim_call(to_sim(dev), peek, &p);
}
