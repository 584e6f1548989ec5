/* SPDX-License-Identifier: MIT */
/* gdb's server for a device, with a thread of its own that waits for the debugger. */
#ifndef WSE_GDB_DEBUGGER_H
#define WSE_GDB_DEBUGGER_H

#include "gdb.h"

struct debugger;

struct debugger_cfg {
	struct gdb_cfg gdb;
	const char *where; /* as gdb_listen() has it */
	bool first;	   /* no time passes before a debugger has come */
	/*
	 * From the debugger's thread: calls work(work_arg) while nothing else uses the model, and
	 * lets its thread look, then, whether time may pass.
	 */
	void (*call)(void *arg, void (*work)(void *work_arg), void *work_arg);
	void *arg;
};

/* 0, or the error of gdb_create(), gdb_listen() or pthread_create */
int debugger_create(const struct debugger_cfg *cfg, struct debugger **d);
/* The model's thread has ended. NULL is allowed. */
void debugger_destroy(struct debugger *d);
const char *debugger_address(const struct debugger *d);
/* Of the model's thread: may time pass? */
bool debugger_runs(const struct debugger *d);
/* As the model's advance; WSE_STOP_BREAK without a cycle while time may not pass. */
enum wse_stop debugger_advance(struct debugger *d, uint64_t cycles, uint64_t *ran);
/* From a callback, as the model's brk: debugger_advance() returns soon. */
void debugger_brk(struct debugger *d);

#endif /* WSE_GDB_DEBUGGER_H */
