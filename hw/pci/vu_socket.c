// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* accept4 */
#include "vu_socket.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINGER_NS     40000
#define LINGER_SHARED 8000  /* ns of a poll during which another task ran */
#define LINGER_PAUSE  1024u /* messages */

/*
 * Whether a server answers at the path: only then it is in use. A killed server leaves its socket.
 */
static int clear_stale(const char *path, const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/*
 * The name appears when the server listens, so that who waits for it can connect at once: bind()
 * gives the socket a name of its own, to which link() adds the one that was asked for.
 */
int vu_listen(const char *path, int *out)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX}, own = addr;
	size_t len = strlen(path);
	int fd, err;

	if (len + 1 >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	strcpy(own.sun_path, path);
	err = clear_stale(path, &addr);
	if (err)
		return err;
	/* the first name that is free: "PATH~" may be an editor's copy of a file */
	err = -EEXIST;
	for (const char *end = "~#%+"; *end && err; end++) {
		own.sun_path[len] = *end;
		err = clear_stale(own.sun_path, &own);
	}
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&own, sizeof(own))) {
		err = -errno;
	} else {
		if (listen(fd, 4) || link(own.sun_path, path))
			err = errno == EEXIST ? -EADDRINUSE : -errno;
		unlink(own.sun_path);
	}
	if (err) {
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

/* Waits until fd is ready for `events`. */
static int wait_for(int fd, short events, int listen_fd, int stop_fd)
{
	for (;;) {
		struct pollfd p[3] = {
			{.fd = fd, .events = events},
			{.fd = stop_fd, .events = POLLIN},
			{.fd = listen_fd, .events = POLLIN},
		};

		if (poll(p, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (p[1].revents)
			return -EINTR;
		/* first: when the client has just left, the next one connects at the same moment */
		if (p[0].revents)
			return 0;
		if (p[2].revents) {
			int other = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

			if (other >= 0)
				close(other);
		}
	}
}

bool vu_stopped(int stop_fd)
{
	struct pollfd p = {.fd = stop_fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void take_fds(struct vu_msg *m, struct msghdr *mh)
{
	if (mh->msg_flags & MSG_CTRUNC)
		m->fds_lost = 1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (m->nfds < VU_MAX_FDS) {
				m->fd[m->nfds++] = fd;
			} else {
				close(fd);
				m->fds_lost = 1;
			}
		}
	}
}

static int recv_all(int fd, int listen_fd, int stop_fd, struct vu_msg *m, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		union {
			struct cmsghdr align;
			char space[CMSG_SPACE(VU_MAX_FDS * sizeof(int))];
		} control;
		struct iovec iov = {.iov_base = p, .iov_len = len};
		struct msghdr mh = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		ssize_t n = recvmsg(fd, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		int err;

		if (n > 0) {
			take_fds(m, &mh);
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (!n || errno == ECONNRESET)
			return -EPIPE;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		err = wait_for(fd, POLLIN, listen_fd, stop_fd);
		if (err)
			return err;
	}
	return 0;
}

int vu_recv(int fd, int listen_fd, int stop_fd, struct vu_msg *m)
{
	int err;

	m->nfds = 0;
	m->fds_lost = 0;
	m->len = 0;
	err = recv_all(fd, listen_fd, stop_fd, m, &m->hdr, sizeof(m->hdr));
	if (!err && (m->hdr.size < sizeof(m->hdr) || m->hdr.size > sizeof(m->hdr) + VU_MAX_BODY ||
		     (m->hdr.flags & VU_TYPE_MASK) != VU_REQUEST))
		err = -EPROTO;
	if (!err) {
		m->len = m->hdr.size - (uint32_t)sizeof(m->hdr);
		err = recv_all(fd, listen_fd, stop_fd, m, m->body, m->len);
	}
	if (err)
		vu_close_fds(m);
	return err;
}

void vu_close_fds(struct vu_msg *m)
{
	for (unsigned int i = 0; i < m->nfds; i++) {
		if (m->fd[i] >= 0)
			close(m->fd[i]);
	}
	m->nfds = 0;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/*
 * A client in the middle of short commands sends its next message within microseconds: polling for
 * it is cheaper than sleeping and waking up. This polls less and less often where that failed, or
 * where another task wanted the processor: a sleeper then runs sooner.
 */
void vu_linger(int fd, struct vu_linger *l)
{
	int64_t end, now = now_ns(), last;
	char c;

	if (l->skip) {
		l->skip--;
		return;
	}
	end = now + LINGER_NS;
	do {
		if (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN) {
			l->pause = 0;
			return;
		}
		sched_yield();
		last = now;
		now = now_ns();
	} while (now < end && now - last < LINGER_SHARED);
	l->pause = !l->pause ? 1 : l->pause < LINGER_PAUSE ? 2 * l->pause : LINGER_PAUSE;
	l->skip = l->pause;
}

int vu_send(int fd, int stop_fd, const struct vu_hdr *hdr, const void *body, size_t len)
{
	struct iovec iov[2] = {
		{.iov_base = (void *)hdr, .iov_len = sizeof(*hdr)},
		{.iov_base = (void *)body, .iov_len = len},
	};
	struct msghdr mh = {.msg_iov = iov, .msg_iovlen = 2};

	while (iov[0].iov_len + iov[1].iov_len) {
		ssize_t n = sendmsg(fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err;

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EPIPE || errno == ECONNRESET)
				return -EPIPE;
			if (errno != EAGAIN)
				return -errno;
			/* a client that sends but never reads waits here, and no other */
			err = wait_for(fd, POLLOUT, -1, stop_fd);
			if (err)
				return err;
			continue;
		}
		for (int i = 0; i < 2; i++) {
			size_t k = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

			iov[i].iov_base = (char *)iov[i].iov_base + k;
			iov[i].iov_len -= k;
			n -= (ssize_t)k;
		}
	}
	return 0;
}
