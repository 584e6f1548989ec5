/* SPDX-License-Identifier: MIT */
/*
 * A TCP connection from one rank to another on which nothing is sent: when a process ends, however
 * it does, its kernel says so at once. It is a hint: where it cannot be made (a firewall, no IPv4)
 * signs of life have to do.
 *
 * No call waits. One thread uses it.
 */
#ifndef WSE_SWARMX_LIFELINE_H
#define WSE_SWARMX_LIFELINE_H

#include <netinet/in.h>
#include <stddef.h>

#define WSE_LIFELINE_ADDRS 8

struct wse_lifeline {
	int listens; /* -1: not */
	int fd;	     /* to the other rank, -1: none, or none yet */
	int made, lost;
	double since; /* when the connection that is being made was begun */
	struct sockaddr_in to[WSE_LIFELINE_ADDRS + 1];
	unsigned int n, next;
};

/* for others to connect to; text [size] is what they need to know, "" if it cannot be */
void wse_lifeline_open(struct wse_lifeline *l, char *text, size_t size);
/* begins a connection to one with this text; near: it is on the same host */
void wse_lifeline_to(struct wse_lifeline *l, const char *text, int near);
/* 1: there was a connection, and the other process has ended it; to be asked often */
int wse_lifeline_lost(struct wse_lifeline *l);
void wse_lifeline_close(struct wse_lifeline *l);

#endif
