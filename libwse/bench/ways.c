// SPDX-License-Identifier: MIT
/* For --raw: the ways that the twin behind a device has taken since it was opened. */
#include <string.h>

#include <wse/wse.h>

#include "bench.h"
#include "device/sim/sim.h"
#include "twin/func.h"

static int read_ways(struct sim *sim, void *arg)
{
	twin_ways(sim->machine, arg);
	return 0;
}

void bench_ways(struct bench_measure *m, struct wse_device *dev)
{
	struct twin_ways w;

	if (strncmp(wse_device_uri(dev), "sim:func,", 9) || sim_call(to_sim(dev), read_ways, &w))
		return;
#define COUNT_WAY(name, what) bench_count(m, "way_" #name, "", (double)w.name);
	TWIN_WAYS(COUNT_WAY)
#undef COUNT_WAY
}
