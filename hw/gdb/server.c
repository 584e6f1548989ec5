// SPDX-License-Identifier: MIT
#include "server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND_MS 1000

struct gdb_server {
	struct gdb_stub *stub;
	int listener, conn, event;
	bool pending; /* bytes wait for room in the socket */
	bool met;
	char address[128];
	char path[108]; /* of the unix socket, to be removed */
};

static int listen_tcp(struct gdb_server *s, unsigned long port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int one = 1;

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return -errno;
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) || listen(s->listener, 4) ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len))
		return -errno;
	snprintf(s->address, sizeof(s->address), ":%u", ntohs(a.sin_port));
	return 0;
}

static int listen_unix(struct gdb_server *s, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct stat st;
	int probe, err;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	if (!lstat(path, &st)) { /* a socket that a process left behind may be replaced */
		if (!S_ISSOCK(st.st_mode))
			return -EEXIST;
		/* one that is stopped, and has a full queue, would let a connect() wait */
		probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (probe < 0)
			return -errno;
		err = connect(probe, (struct sockaddr *)&a, sizeof(a)) ? errno : 0;
		close(probe);
		if (err != ECONNREFUSED && err != ENOENT)
			return -EADDRINUSE;
		unlink(path);
	}
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return -errno;
	if (bind(s->listener, (struct sockaddr *)&a, sizeof(a)) || listen(s->listener, 4))
		return -errno;
	strcpy(s->path, path);
	snprintf(s->address, sizeof(s->address), "%s", path);
	return 0;
}

int gdb_listen(const char *where, struct gdb_stub *g, struct gdb_server **out)
{
	struct gdb_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->stub = g;
	s->listener = s->conn = -1;
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event < 0)
		err = -errno;
	else if (!*where)
		err = -EINVAL;
	else if (where[strspn(where, "0123456789")])
		err = listen_unix(s, where);
	else
		err = strlen(where) > 5 || strtoul(where, NULL, 10) > 65535
			      ? -EINVAL
			      : listen_tcp(s, strtoul(where, NULL, 10));
	if (err) {
		gdb_close(s);
		return err;
	}
	*out = s;
	return 0;
}

const char *gdb_address(const struct gdb_server *s)
{
	return s->address;
}

bool gdb_has_debugger(const struct gdb_server *s)
{
	return s->conn >= 0;
}

bool gdb_met_debugger(const struct gdb_server *s)
{
	return s->met;
}

static void hang_up(struct gdb_server *s)
{
	close(s->conn);
	s->conn = -1;
	s->pending = false;
	gdb_disconnect(s->stub);
}

static void flush(struct gdb_server *s)
{
	const void *bytes;
	size_t len;
	ssize_t n;

	s->pending = false;
	while (s->conn >= 0 && (bytes = gdb_output(s->stub, &len), len)) {
		n = send(s->conn, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			gdb_sent(s->stub, (size_t)n);
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			s->pending = true;
			break;
		} else {
			hang_up(s);
		}
	}
	if (s->conn >= 0 && gdb_choked(s->stub))
		hang_up(s);
}

static void receive(struct gdb_server *s)
{
	char buf[4096];

	while (s->conn >= 0 && !s->pending) {
		ssize_t n = recv(s->conn, buf, sizeof(buf), MSG_DONTWAIT);

		if (n > 0) {
			s->met = true;
			gdb_input(s->stub, buf, (size_t)n);
			flush(s);
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		} else {
			hang_up(s);
		}
	}
}

static void accept_one(struct gdb_server *s)
{
	/* E.TEXT is an error that gdb prints */
	static const char busy[] = "+$E.another debugger is connected#98";
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), one = 1;

	if (fd < 0)
		return;
	if (s->conn >= 0) {
		send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	s->conn = fd;
	gdb_connect(s->stub);
}

void gdb_wait(struct gdb_server *s, int ms)
{
	struct pollfd p[3] = {
		{.fd = s->listener, .events = POLLIN},
		{.fd = s->event, .events = POLLIN},
		{.fd = s->conn, .events = s->pending ? POLLOUT : POLLIN},
	};

	poll(p, 3, ms);
}

void gdb_turn(struct gdb_server *s)
{
	uint64_t n;

	while (read(s->event, &n, sizeof(n)) > 0)
		;
	/* its end first: the next one may have come in the meantime */
	flush(s);
	receive(s);
	accept_one(s);
	receive(s);
}

void gdb_serve(struct gdb_server *s, int ms)
{
	flush(s); /* a stop */
	gdb_wait(s, ms);
	gdb_turn(s);
}

void gdb_wake(struct gdb_server *s)
{
	uint64_t one = 1;

	if (write(s->event, &one, sizeof(one)) < 0)
		return; /* it is full: the wait ends anyway */
}

void gdb_close(struct gdb_server *s)
{
	if (!s)
		return;
	for (int i = 0; s->conn >= 0 && i < 10; i++) {
		flush(s);
		if (!s->pending)
			break;
		gdb_wait(s, SECOND_MS / 10);
	}
	if (s->conn >= 0)
		hang_up(s);
	if (s->listener >= 0)
		close(s->listener);
	if (s->event >= 0)
		close(s->event);
	if (*s->path)
		unlink(s->path);
	free(s);
}
