// SPDX-License-Identifier: MIT
/* The stub's life: made and freed, a debugger connects and leaves, a core ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

int gdb_create(const struct gdb_cfg *cfg, struct gdb_stub **out)
{
	struct gdb_stub *g;

	if (!cfg->ops->get_units)
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->cfg = *cfg;
	g->ncores = cfg->rows * cfg->cols;
	g->core = calloc(g->ncores, sizeof(*g->core));
	g->last = malloc(2 * PACKET_MAX + 8);
	g->program = cfg->program ? strdup(cfg->program) : NULL;
	g->running = true;
	g->stop_signal = 5;
	if (!g->core || !g->last || (cfg->program && !g->program)) {
		gdb_destroy(g);
		return -ENOMEM;
	}
	if (cfg->retire)
		g->traced = true; /* as gdb_disconnect() finds and leaves it */
	gdb_disconnect(g);
	*out = g;
	return 0;
}

void gdb_destroy(struct gdb_stub *g)
{
	if (!g)
		return;
	if (g->core)
		for (uint32_t i = 0; i < g->ncores; i++)
			free(g->core[i].breaks);
	g->cfg.ops->trace_retire(g->cfg.machine, ~0u, NULL, NULL);
	free(g->core);
	free(g->last);
	free(g->program);
	free(g->out);
	free(g->text);
	free(g);
}

/*
 * Attached from the beginning: the cores that run; if none does yet, all. Without a program's file
 * one alone: gdb 13 asks for the registers' description of the first process, and of one that it is
 * told to attach to, and takes the others' from the file.
 */
void gdb_connect(struct gdb_stub *g)
{
	struct wse_core_state st;
	uint32_t i, n = 0;

	g->connected = true;
	g->running = g->interrupted = g->multi = g->no_ack = g->choked = false;
	g->swbreak = g->hwbreak = false;
	g->in_state = IN_IDLE;
	g->nout = g->nlast = 0;
	g->stop_signal = 5;
	for (i = g->ncores; i-- > 0;) {
		struct gdb_core *c = &g->core[i];

		c->attached =
			!g->cfg.ops->get_state(g->cfg.machine, i, &st) && st.run != WSE_CORE_HELD;
		c->told_pc = 1;
		c->told = st.run == WSE_CORE_FAULTED;
		if (c->attached)
			g->stop_core = i;
		n += c->attached;
	}
	for (i = 0; i < g->ncores && !n; i++)
		g->core[i].attached = true;
	if (!n)
		g->stop_core = 0;
	for (i = 0; i < g->ncores && !g->program; i++)
		g->core[i].attached = i == g->stop_core;
	g->general = g->stop_core;
}

void gdb_disconnect(struct gdb_stub *g)
{
	g->connected = false;
	for (uint32_t i = 0; i < g->ncores; i++)
		gdb_forget(g, i);
	g->running = true;
	g->nout = 0;
}

void gdb_exited(struct gdb_stub *g, uint32_t core, unsigned int status)
{
	if (!g->connected || !g->core[core].attached)
		return;
	g->nreply = 0;
	gdb_say(g, g->multi ? "W%02x;process:%x" : "W%02x", status & 0xff, core + 1);
	gdb_send(g);
	gdb_release(g, core);
}

bool gdb_ended(struct gdb_stub *g)
{
	uint32_t i = 0;

	while (i < g->ncores && !g->core[i].attached)
		i++;
	if (!g->connected || !g->running || i == g->ncores)
		return false;
	gdb_exited(g, i, 0);
	return true;
}

bool gdb_killed(const struct gdb_stub *g, uint32_t core)
{
	return g->core[core].killed;
}
