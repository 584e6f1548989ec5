/* SPDX-License-Identifier: MIT */
/* A debugger of tests: packets of gdb's remote protocol on a socket. */
#ifndef WSE_GDB_CLIENT_H
#define WSE_GDB_CLIENT_H

/* connected to the stub's socket, within 5 s; an answer may take 10 s */
int gdb_dial(const char *path);
void gdb_send_packet(int fd, const char *body);
/* the body of the next packet, until the next call; "" when none comes in time */
const char *gdb_hear(int fd);
/* both */
const char *gdb_ask(int fd, const char *body);

#endif
