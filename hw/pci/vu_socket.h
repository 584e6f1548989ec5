/* SPDX-License-Identifier: MIT */
/* Messages with descriptors over a unix socket, bounded in size, interruptible. */
#ifndef WSE_VU_SOCKET_H
#define WSE_VU_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfio_user_proto.h"

#define VU_MAX_FDS 16u
#define VU_MAX_BODY 65536u

struct vu_msg {
	struct vu_hdr hdr;
	uint8_t body[VU_MAX_BODY];
	uint32_t len;	    /* of body */
	int fd[VU_MAX_FDS]; /* the receiver sets those that it takes to -1 */
	unsigned int nfds;
	int fds_lost; /* number of descriptors that did not fit */
};

/* See wse_pci.h for the errors. *path is bound and listens. */
int vu_listen(const char *path, int *fd);

/*
 * Receives one message. While it waits it refuses connections at listen_fd, because a device has
 * one owner. 0; -EPIPE: the client is gone; -EINTR: stop_fd is readable; -EPROTO: no message (bad
 * size or type); -errno.
 */
int vu_recv(int fd, int listen_fd, int stop_fd, struct vu_msg *m);
/* Whether stop_fd is readable: vu_recv() looks only where it waits. */
bool vu_stopped(int stop_fd);
struct vu_linger {
	unsigned int skip, pause; /* messages until the next poll; pause after a failed one */
};

/* Before vu_recv(): polls some microseconds for a message that may be on its way. */
void vu_linger(int fd, struct vu_linger *l);
void vu_close_fds(struct vu_msg *m);

/* Sends header and body. Same errors. */
int vu_send(int fd, int stop_fd, const struct vu_hdr *hdr, const void *body, size_t len);

#endif /* WSE_VU_SOCKET_H */
