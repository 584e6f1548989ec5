// SPDX-License-Identifier: MIT
/* Windows of waves of a device of sim:rtl,...,waves=1, and where to look. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "sim.h"

/* Between two advances, so at a cycle that is the same in every run of one program. */
static int begin(struct sim *sim, void *arg)
{
	const struct wse_wave *wave = arg;

	return sim->ops->wave_begin(sim->machine, wave);
}

static int end(struct sim *sim, void *arg)
{
	uint64_t *ran = arg;

	return sim->ops->wave_end(sim->machine, ran);
}

int sim_wave(struct wse_device *dev, const struct wse_wave_window *w)
{
	struct sim *sim = to_sim(dev);
	struct wse_wave wave;
	uint64_t ran = 0;
	char why[1400];
	int ret;

	if (w) {
		ret = wse_wave_on(w, dev->info.rows, dev->info.cols, &wave, why, sizeof(why));
		if (ret)
			return wse_fail(ret, "%s", why);
		ret = sim_call(sim, begin, &wave);
		if (!ret)
			sim->wave = *w;
	} else {
		ret = sim_call(sim, end, &ran);
	}
	if (ret == -ENOENT && !w)
		return wse_fail(ret, "%s: no window of waves was begun", dev->uri);
	if (ret == -EBUSY)
		return wse_fail(ret, "%s: a window of waves is open: end it first", dev->uri);
	if (ret == -ENOTSUP)
		return wse_fail(ret, "%s has no waves: sim:rtl,rows=%u,cols=%u,waves=1 has",
				dev->uri, dev->info.rows, dev->info.cols);
	if (ret) {
		wse_wave_explain(w ? w : &sim->wave, ret, ran, why, sizeof(why));
		return wse_fail(ret, "%s", why);
	}
	return 0;
}

/* On the RTL a core that comes to rest says so by a STALL. What a reset does is not looked at. */
static void see(void *arg, const struct wse_ev *e)
{
	struct sim *sim = arg;

	if (sim->watch.failed)
		return;
	if (e->kind == WSE_EV_COMMAND_END && e->info != WSE_ST_OK)
		sim->watch.failed = e->cycle;
	else if (e->kind != WSE_EV_COMMAND_END)
		sim->watch.moved = e->cycle;
}

static int look(struct sim *sim, void *arg)
{
	const uint32_t kinds = (1u << WSE_EV_KINDS) - 1 - (1u << WSE_EV_COMMAND);
	struct wse_watch *seen = arg;

	if (!sim->ops->events)
		return -ENOTSUP;
	sim->watches = !seen;
	if (!seen) {
		sim->watched = sim->ops->cycles(sim->machine);
		sim->watch = (struct wse_watch){.moved = sim->watched};
		return sim->ops->events(sim->machine, ~0u, kinds, see, sim);
	}
	sim->ops->events(sim->machine, ~0u, 0, NULL, NULL);
	seen->moved = sim->watch.moved - sim->watched;
	seen->failed = sim->watch.failed ? sim->watch.failed - sim->watched : 0;
	return 0;
}

int sim_watch(struct wse_device *dev, struct wse_watch *seen)
{
	return sim_call(to_sim(dev), look, seen);
}
