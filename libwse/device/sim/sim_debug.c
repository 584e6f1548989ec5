// SPDX-License-Identifier: MIT
/* What debuggers see of the cores of an in-process device, and gdb's turns. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sim.h"

struct peek {
	uint32_t core, addr;
	void *buf;
	size_t len;
};

static int peek(struct sim *sim, void *arg)
{
	const struct peek *p = arg;

	return sim->ops->peek(sim->machine, p->core, p->addr, p->buf, p->len);
}

int sim_peek(struct wse_device *dev, uint32_t core, uint32_t addr, void *buf, size_t len)
{
	struct peek p = {core, addr, buf, len};

	return sim_call(to_sim(dev), peek, &p);
}

struct turn {
	void (*work)(void *arg);
	void *arg;
};

static int take_turn(struct sim *sim, void *arg)
{
	const struct turn *t = arg;
	uint64_t ran;

	t->work(t->arg);
	debugger_advance(sim->debugger, 0, &ran); /* Ctrl-C, where no time passes otherwise */
	return 0;
}

static void call_for_gdb(void *arg, void (*work)(void *work_arg), void *work_arg)
{
	struct turn t = {work, work_arg};

	sim_gdb_call(arg, take_turn, &t);
}

static int listen_for_gdb(struct sim *sim, void *arg)
{
	const struct debugger_cfg cfg = {
		.gdb.ops = sim->ops,
		.gdb.machine = sim->machine,
		.gdb.rows = sim->geom.rows,
		.gdb.cols = sim->geom.cols,
		.where = arg,
		.first = true,
		.call = call_for_gdb,
		.arg = sim,
	};

	return debugger_create(&cfg, &sim->debugger);
}

int sim_debug(struct sim *sim, const char *where)
{
	char address[108];
	int ret;

	snprintf(address, sizeof(address), "%s", where);
	ret = sim_call(sim, listen_for_gdb, address);
	if (!ret)
		sim->base.gdb = debugger_address(sim->debugger);
	else if (ret == -EADDRINUSE)
		wse_fail(ret,
			 "gdb=%s: another process or device has this address: give each its own",
			 where);
	else
		wse_fail(ret, "gdb=%s: %s", where, strerror(-ret));
	return ret;
}
