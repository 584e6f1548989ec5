// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* memfd_create */
#include "vu_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int vu_client_open(struct vu_client *c, const char *path, size_t mem_size)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	memset(c, 0, sizeof(*c));
	for (int v = 0; v < 9; v++)
		c->irq[v] = -1;
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	c->memfd = memfd_create("guest", MFD_CLOEXEC);
	c->mem_size = mem_size;
	if (c->memfd < 0 || ftruncate(c->memfd, (off_t)mem_size))
		return -errno;
	c->mem = mmap(NULL, mem_size, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	return c->mem == MAP_FAILED ? -errno : 0;
}

void vu_client_close(struct vu_client *c)
{
	close(c->fd);
	munmap(c->mem, c->mem_size);
	close(c->memfd);
	for (int v = 0; v < 9; v++) {
		if (c->irq[v] >= 0)
			close(c->irq[v]);
	}
}

int vu_client_send(struct vu_client *c, const void *bytes, size_t len, const int *fds,
		   unsigned int nfds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(64 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds) {
		struct cmsghdr *cm;

		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&mh);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	return sendmsg(c->fd, &mh, MSG_NOSIGNAL) == (ssize_t)len ? 0 : VU_LOST;
}

static int recv_all(int fd, void *buf, size_t len)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (char *b = buf; len;) {
		ssize_t n;

		if (poll(&p, 1, 20000) != 1) /* a reply is never that late */
			return VU_LOST;
		n = recv(fd, b, len, 0);
		if (n <= 0)
			return VU_LOST;
		b += n;
		len -= (size_t)n;
	}
	return 0;
}

int vu_client_call(struct vu_client *c, uint16_t cmd, const void *body, size_t len, const int *fds,
		   unsigned int nfds, void *out, size_t room, size_t *got)
{
	uint8_t msg[8192], drop[8192];
	struct vu_hdr h = {.id = ++c->id, .cmd = cmd, .size = (uint32_t)(sizeof(h) + len)};
	size_t n;

	if (len > sizeof(msg) - sizeof(h))
		return -E2BIG;
	memcpy(msg, &h, sizeof(h));
	if (len)
		memcpy(msg + sizeof(h), body, len);
	if (vu_client_send(c, msg, sizeof(h) + len, fds, nfds) || recv_all(c->fd, &h, sizeof(h)))
		return VU_LOST;
	n = h.size - sizeof(h);
	if (h.id != c->id || h.cmd != cmd || !(h.flags & VU_REPLY) || n > sizeof(drop) ||
	    recv_all(c->fd, drop, n))
		return VU_LOST;
	if (h.flags & VU_ERROR)
		return h.err ? -(int)h.err : -EIO;
	if (out && n)
		memcpy(out, drop, n < room ? n : room);
	if (got)
		*got = n;
	return 0;
}

int vu_client_hello(struct vu_client *c)
{
	static const char json[] =
		"{\"capabilities\": {\"max_msg_fds\": 8, \"max_data_xfer_size\": 1048576, "
		"\"write_multiple\": true}}";
	char msg[sizeof(struct vu_version) + sizeof(json)] = {0};

	memcpy(msg + sizeof(struct vu_version), json, sizeof(json));
	return vu_client_call(c, VU_VERSION, msg, sizeof(msg), NULL, 0, NULL, 0, NULL);
}

int vu_client_map(struct vu_client *c, int fd, uint64_t offset, uint64_t iova, uint64_t size)
{
	struct vu_dma_map q = {
		.argsz = sizeof(q),
		.flags = VU_DMA_READABLE | VU_DMA_WRITEABLE,
		.offset = offset,
		.iova = iova,
		.size = size,
	};

	return vu_client_call(c, VU_DMA_MAP, &q, sizeof(q), &fd, fd >= 0, NULL, 0, NULL);
}

int vu_client_unmap(struct vu_client *c, uint64_t iova, uint64_t size)
{
	struct vu_dma_unmap q = {.argsz = sizeof(q), .iova = iova, .size = size};

	return vu_client_call(c, VU_DMA_UNMAP, &q, sizeof(q), NULL, 0, NULL, 0, NULL);
}

int vu_client_read(struct vu_client *c, uint32_t region, uint64_t offset, void *data, uint32_t n)
{
	struct vu_region_rw q = {.offset = offset, .region = region, .count = n};
	uint8_t reply[sizeof(q) + 4096] = {0};
	size_t got = 0;
	int err = vu_client_call(c, VU_REGION_READ, &q, sizeof(q), NULL, 0, reply, sizeof(reply),
				 &got);

	if (!err && got != sizeof(q) + n)
		return -EBADMSG;
	if (!err)
		memcpy(data, reply + sizeof(q), n);
	return err;
}

int vu_client_write(struct vu_client *c, uint32_t region, uint64_t offset, const void *data,
		    uint32_t n)
{
	struct vu_region_rw q = {.offset = offset, .region = region, .count = n};
	uint8_t msg[sizeof(q) + 4096];

	memcpy(msg, &q, sizeof(q));
	memcpy(msg + sizeof(q), data, n);
	return vu_client_call(c, VU_REGION_WRITE, msg, sizeof(q) + n, NULL, 0, NULL, 0, NULL);
}

int vu_client_post(struct vu_client *c, uint64_t offset, uint32_t value)
{
	struct {
		struct vu_hdr h;
		struct vu_region_rw q;
		uint32_t value;
	} __attribute__((packed)) m = {
		.h = {.id = ++c->id,
		      .cmd = VU_REGION_WRITE,
		      .size = sizeof(m),
		      .flags = VU_NO_REPLY},
		.q = {.offset = offset, .region = VU_REGION_BAR0, .count = 4},
		.value = value,
	};

	return vu_client_send(c, &m, sizeof(m), NULL, 0);
}

uint32_t vu_client_reg(struct vu_client *c, uint32_t offset)
{
	uint32_t v = ~0u;

	vu_client_read(c, VU_REGION_BAR0, offset, &v, 4);
	return v;
}

uint32_t vu_client_config(struct vu_client *c, uint32_t offset)
{
	uint32_t v = ~0u;

	vu_client_read(c, VU_REGION_CONFIG, offset, &v, 4);
	return v;
}

void vu_client_set_config(struct vu_client *c, uint32_t offset, uint32_t value, uint32_t n)
{
	vu_client_write(c, VU_REGION_CONFIG, offset, &value, n);
}

int vu_client_irqs(struct vu_client *c)
{
	struct vu_irq_set q = {
		.argsz = sizeof(q),
		.flags = VU_SET_DATA_EVENTFD | VU_SET_TRIGGER,
		.index = VU_IRQ_MSIX,
		.count = 9,
	};

	for (int v = 0; v < 9; v++)
		c->irq[v] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	vu_client_set_config(c, 4, 6, 2); /* memory, bus master */
	vu_client_set_config(c, 0x52, 0x8000, 2);
	return vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), c->irq, 9, NULL, 0, NULL);
}

uint64_t vu_client_wait(struct vu_client *c, unsigned int vector, int ms)
{
	struct pollfd p = {.fd = c->irq[vector], .events = POLLIN};
	uint64_t n = 0;

	if (poll(&p, 1, ms) == 1 && read(c->irq[vector], &n, sizeof(n)) != sizeof(n))
		n = 0;
	return n;
}
