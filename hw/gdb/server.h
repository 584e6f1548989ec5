/* SPDX-License-Identifier: MIT */
/* The socket of a stub: one debugger at a time; a second one is refused with a sentence. */
#ifndef WSE_GDB_SERVER_H
#define WSE_GDB_SERVER_H

#include "gdb.h"

struct gdb_server;

/*
 * where: a TCP port of this host's loopback interface (digits; 0: one that is free), else the
 * path of a unix socket. 0, or -errno: -EADDRINUSE, -EEXIST (a file that is no socket), ...
 */
int gdb_listen(const char *where, struct gdb_stub *g, struct gdb_server **s);
/* As gdb's `target extended-remote` has it: ":PORT" or the path. */
const char *gdb_address(const struct gdb_server *s);
/*
 * Waits at most ms (< 0: without end) for the debugger or gdb_wake(), and works off what it sent.
 */
void gdb_serve(struct gdb_server *s, int ms);
/*
 * The same in two steps for a stub under a lock: gdb_wait() touches no stub, gdb_turn() waits for
 * nothing. gdb_wake(), from any thread: ends a wait.
 */
void gdb_wait(struct gdb_server *s, int ms);
void gdb_turn(struct gdb_server *s);
void gdb_wake(struct gdb_server *s);
bool gdb_has_debugger(const struct gdb_server *s);
/* One has said something, whether it is still there or not. */
bool gdb_met_debugger(const struct gdb_server *s);
/* Sends what is left, within a second. */
void gdb_close(struct gdb_server *s);

#endif /* WSE_GDB_SERVER_H */
