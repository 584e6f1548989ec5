/* SPDX-License-Identifier: MIT */
/* gdb's server for a device, with a thread of its own that waits for the debugger. */
#ifndef WSE_EMU_DEBUGGER_H
#define WSE_EMU_DEBUGGER_H

#include "gdb/gdb.h"

struct debugger;

struct debugger_cfg {
	struct gdb_cfg gdb;
	const char *where; /* as gdb_listen() has it */
	/* around work on the model; behind it the model's thread looks whether time may pass */
	void (*lock)(void *arg);
	void (*unlock)(void *arg);
	void *arg;
};

/* 0, or the error of gdb_create(), gdb_listen() or pthread_create */
int debugger_create(const struct debugger_cfg *cfg, struct debugger **d);
void debugger_destroy(struct debugger *d); /* without the lock; NULL is allowed */
const char *debugger_address(const struct debugger *d);
/* As the model's advance, with the lock held; *held: the debugger holds the wafer. */
enum wse_stop debugger_advance(struct debugger *d, uint64_t cycles, uint64_t *ran, bool *held);

#endif /* WSE_EMU_DEBUGGER_H */
