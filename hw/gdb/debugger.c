// SPDX-License-Identifier: MIT
#include "debugger.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "server.h"

struct debugger {
	struct debugger_cfg cfg;
	struct gdb_stub *stub;
	struct gdb_server *server;
	pthread_t thread;
	atomic_bool stop;
};

static void take_turn(void *arg)
{
	struct debugger *d = arg;

	gdb_turn(d->server);
}

static void *wait_for_gdb(void *arg)
{
	struct debugger *d = arg;

	while (!atomic_load(&d->stop)) {
		gdb_wait(d->server, -1);
		d->cfg.call(d->cfg.arg, take_turn, d);
	}
	return NULL;
}

int debugger_create(const struct debugger_cfg *cfg, struct debugger **out)
{
	struct debugger *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	err = gdb_create(&cfg->gdb, &d->stub);
	if (!err)
		err = gdb_listen(cfg->where, d->stub, &d->server);
	if (!err)
		err = -pthread_create(&d->thread, NULL, wait_for_gdb, d);
	if (err) {
		gdb_close(d->server);
		gdb_destroy(d->stub);
		free(d);
		return err;
	}
	*out = d;
	return 0;
}

void debugger_destroy(struct debugger *d)
{
	if (!d)
		return;
	atomic_store(&d->stop, true);
	gdb_wake(d->server);
	pthread_join(d->thread, NULL);
	if (gdb_ended(d->stub)) /* it has questions, then: for a second at most */
		for (int i = 0; i < 20 && gdb_has_debugger(d->server); i++)
			gdb_serve(d->server, 50);
	gdb_close(d->server);
	gdb_destroy(d->stub);
	free(d);
}

const char *debugger_address(const struct debugger *d)
{
	return gdb_address(d->server);
}

bool debugger_runs(const struct debugger *d)
{
	return gdb_runs(d->stub) && (!d->cfg.first || gdb_met_debugger(d->server));
}

enum wse_stop debugger_advance(struct debugger *d, uint64_t cycles, uint64_t *ran)
{
	enum wse_stop why = WSE_STOP_BREAK;
	size_t len;

	*ran = 0;
	if (debugger_runs(d))
		why = gdb_advance(d->stub, cycles, ran);
	gdb_output(d->stub, &len);
	if (len) /* a stop: the thread sends it */
		gdb_wake(d->server);
	return why;
}

void debugger_brk(struct debugger *d)
{
	gdb_brk(d->stub);
}
