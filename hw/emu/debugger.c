// SPDX-License-Identifier: MIT
#include "debugger.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gdb/server.h"

struct debugger {
	struct debugger_cfg cfg;
	struct gdb_stub *stub;
	struct gdb_server *server;
	pthread_t thread;
	atomic_bool stop;
};

static void *wait_for_gdb(void *arg)
{
	struct debugger *d = arg;

	while (!atomic_load(&d->stop)) {
		gdb_wait(d->server, -1);
		d->cfg.lock(d->cfg.arg);
		gdb_turn(d->server);
		d->cfg.unlock(d->cfg.arg);
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
	gdb_close(d->server);
	gdb_destroy(d->stub);
	free(d);
}

const char *debugger_address(const struct debugger *d)
{
	return gdb_address(d->server);
}

enum wse_stop debugger_advance(struct debugger *d, uint64_t cycles, uint64_t *ran, bool *held)
{
	enum wse_stop why = gdb_advance(d->stub, cycles, ran);
	size_t len;

	*held = !gdb_runs(d->stub);
	gdb_output(d->stub, &len);
	if (len) /* a stop: the thread sends it */
		gdb_wake(d->server);
	return why;
}
