// SPDX-License-Identifier: MIT
/* Connections that tell when another rank's process ends. */
#include "lifeline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 2.0 /* seconds for a connection to one address: there may be another way */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int tcp(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* connections are not accepted: that they are there is all that they are for */
static int listens(struct wse_lifeline *l, struct sockaddr_in *at)
{
	socklen_t size = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET};
	l->listens = tcp();
	return l->listens >= 0 && !bind(l->listens, (struct sockaddr *)at, sizeof(*at)) &&
	       !listen(l->listens, 16) && !getsockname(l->listens, (struct sockaddr *)at, &size);
}

void wse_lifeline_open(struct wse_lifeline *l, char *text, size_t size)
{
	struct ifaddrs *all = NULL;
	char addr[INET_ADDRSTRLEN];
	struct sockaddr_in at;
	unsigned int n = 0;
	size_t len;

	memset(l, 0, sizeof(*l));
	l->listens = l->fd = -1;
	text[0] = 0;
	if (!listens(l, &at))
		return;
	len = (size_t)snprintf(text, size, "%u", ntohs(at.sin_port));
	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *i = all; i && n < WSE_LIFELINE_ADDRS; i = i->ifa_next) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(void *)i->ifa_addr;

		if (!in || in->sin_family != AF_INET || i->ifa_flags & IFF_LOOPBACK ||
		    !(i->ifa_flags & IFF_UP) ||
		    !inet_ntop(AF_INET, &in->sin_addr, addr, sizeof(addr)) ||
		    len + sizeof(addr) + 1 >= size)
			continue;
		len += (size_t)snprintf(text + len, size - len, " %s", addr);
		n++;
	}
	freeifaddrs(all);
}

static void add(struct wse_lifeline *l, const char *addr, unsigned long port)
{
	struct sockaddr_in *to = &l->to[l->n];

	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	if (l->n <= WSE_LIFELINE_ADDRS && inet_pton(AF_INET, addr, &to->sin_addr) == 1)
		l->n++;
}

/* to the next address, if there is one */
static void begin(struct wse_lifeline *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	while (l->next < l->n && l->fd < 0) {
		const struct sockaddr_in *to = &l->to[l->next++];

		l->fd = tcp();
		if (l->fd < 0)
			return;
		l->since = now();
		if (!connect(l->fd, (const struct sockaddr *)to, sizeof(*to)) ||
		    errno == EINPROGRESS)
			return;
		close(l->fd);
		l->fd = -1;
	}
}

void wse_lifeline_to(struct wse_lifeline *l, const char *text, int near)
{
	char addr[INET_ADDRSTRLEN];
	unsigned long port;
	char *end;
	int used;

	port = strtoul(text, &end, 10);
	if (end == text || !port || port > 65535)
		return;
	if (near)
		add(l, "127.0.0.1", port);
	while (l->n < WSE_LIFELINE_ADDRS && sscanf(end, " %15s%n", addr, &used) == 1) {
		add(l, addr, port);
		end += used;
	}
	begin(l);
}

int wse_lifeline_lost(struct wse_lifeline *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};
	int err = 0;
	socklen_t size = sizeof(err);
	ssize_t n;
	char c;

	if (l->fd < 0 || l->lost)
		return l->lost;
	if (!l->made) {
		if (poll(&p, 1, 0) <= 0) {
			if (now() - l->since > PATIENCE)
				begin(l);
			return 0;
		}
		if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &err, &size) || err) {
			begin(l);
			return 0;
		}
		l->made = 1;
	}
	n = recv(l->fd, &c, 1, MSG_DONTWAIT);
	l->lost = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
	return l->lost;
}

void wse_lifeline_close(struct wse_lifeline *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->listens >= 0)
		close(l->listens);
	l->fd = l->listens = -1;
}
