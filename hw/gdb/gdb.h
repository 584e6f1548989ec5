/* SPDX-License-Identifier: MIT */
/*
 * gdb's remote protocol for a model: a debugger sees each core as a process with one thread.
 *
 * The stub has no sockets and no threads (server.h has them): it takes bytes of a connection,
 * leaves bytes for it, and is asked to let time pass in the caller's place. Its calls follow the
 * rules of hw/model/machine.h: one at a time for a model. Bytes may be anything; what is no packet
 * has no effect.
 *
 * Time is the wafer's: while the debugger holds a core that it is attached to, no cycle passes,
 * and when it lets one core run, all run.
 */
#ifndef WSE_GDB_H
#define WSE_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

struct gdb_stub;

struct gdb_cfg {
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint32_t rows, cols;
	const char *program; /* the cores' ELF file, which gdb is told to open; may be NULL */
	/* NULL, or gets the records of core `traced`, whose trace_retire the stub has */
	wse_retire_fn retire;
	void *retire_arg;
	uint32_t traced;
	bool closed; /* nothing comes from outside: an idle wafer stays so: gdb is told */
};

/* 0, -EINVAL (a model without get_units), -ENOMEM */
int gdb_create(const struct gdb_cfg *cfg, struct gdb_stub **g);
/* Traces end. NULL is allowed. */
void gdb_destroy(struct gdb_stub *g);

/*
 * A connection begins: the wafer stands still. It ends, detached or not: breakpoints go, and the
 * wafer runs.
 */
void gdb_connect(struct gdb_stub *g);
void gdb_disconnect(struct gdb_stub *g);
void gdb_input(struct gdb_stub *g, const void *bytes, size_t len);
/*
 * What is to be sent, *len bytes (0: nothing), until the next call; gdb_sent() drops those that
 * were sent.
 */
const void *gdb_output(const struct gdb_stub *g, size_t *len);
void gdb_sent(struct gdb_stub *g, size_t len);
/* The debugger does not read what it asked for: the connection is to be ended. */
bool gdb_choked(const struct gdb_stub *g);

/* May time pass? */
bool gdb_runs(const struct gdb_stub *g);
/* As the model's advance; WSE_STOP_BREAK with 0 cycles while the debugger holds the wafer. */
enum wse_stop gdb_advance(struct gdb_stub *g, uint64_t max_cycles, uint64_t *ran);
/* From `retire`, as the model's brk: gdb_advance() returns soon; no stop for the debugger. */
void gdb_brk(struct gdb_stub *g);
/* The program of a core ended with a status: tells the debugger. */
void gdb_exited(struct gdb_stub *g, uint32_t core, unsigned int status);
/* The device goes: tells a debugger that lets it run, of the first of its cores. False: it is not
 * told. */
bool gdb_ended(struct gdb_stub *g);
/* The debugger killed a core: that is held now. */
bool gdb_killed(const struct gdb_stub *g, uint32_t core);

#endif /* WSE_GDB_H */
