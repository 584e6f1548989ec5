// SPDX-License-Identifier: MIT
/*
 * A client of a PCI device over vfio-user: messages of a byte for the command, one for the flags
 * (bit 7: with a descriptor, bit 6: the size is not the message's), one for the length of what
 * follows. A version comes first, unless the first byte is 0xff.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fuzz.h"
#include "pci/vfio_user_proto.h"
#include "pci/wse_pci.h"

static struct wse_pci_dma *dma;
static struct wse_pci_server *server;
static char path[64];
static int stop;

/* a register of the device is an address: writing there reads and writes the client's memory */
static uint32_t read32(void *dev, uint32_t offset)
{
	uint32_t word = 0;

	(void)dev;
	wse_pci_dma_read(dma, offset, &word, sizeof(word));
	return word;
}

static void write32(void *dev, uint32_t offset, uint32_t value)
{
	char buf[64] = "";

	(void)dev;
	wse_pci_dma_read(dma, value, buf, sizeof(buf));
	wse_pci_dma_write(dma, offset, buf, value % sizeof(buf));
	wse_pci_irq(server, value % 8);
}

static void reset(void *dev)
{
	(void)dev;
}

static const struct wse_pci_ops ops = {.read32 = read32, .write32 = write32, .reset = reset};

static void *serve(void *arg)
{
	(void)arg;
	wse_pci_serve(server, &ops, NULL, stop);
	return NULL;
}

static void end(void)
{
	unlink(path);
}

static void begin(void)
{
	static const struct wse_pci_id id = {.vendor = 0x1234,
					     .device = 1,
					     .class_code = 0xff0000,
					     .bar0_bytes = 4096,
					     .vectors = 4};
	static struct wse_pci_log log;
	pthread_t thread;

	fuzz_path(path, ".sock");
	wse_pci_log_init(&log, NULL, "fuzz");
	stop = eventfd(0, 0);
	if (wse_pci_dma_catch_sigbus() || wse_pci_stop_signals() < 0 || wse_pci_dma_create(&dma) ||
	    wse_pci_create(path, &id, dma, &log, &server) ||
	    pthread_create(&thread, NULL, serve, NULL))
		fuzz_found("no server");
	atexit(end);
}

static int send_message(int fd, unsigned int cmd, unsigned int flags, const uint8_t *body, size_t n)
{
	struct vu_hdr h = {.cmd = (uint16_t)cmd,
			   .flags = flags & 0x3f,
			   .size = (uint32_t)(sizeof(h) + n + (flags & 0x40 ? 7 : 0))};
	struct iovec part[2] = {{&h, sizeof(h)}, {(void *)body, n}};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = n ? 2 : 1};
	int given = -1, ret;

	if (flags & 0x80) {
		given = cmd == VU_SET_IRQS ? eventfd(0, 0) : memfd_create("fuzz", 0);
		if (given >= 0 && cmd != VU_SET_IRQS && ftruncate(given, 65536))
			fuzz_found("no memory");
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.head), &given, sizeof(given));
	}
	ret = sendmsg(fd, &m, MSG_NOSIGNAL) < 0;
	if (given >= 0)
		close(given);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint8_t version[] = "\0\0\1\0{\"capabilities\":{}}";
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char answer[4096];
	size_t i = 0;
	int fd;

	if (!server)
		begin();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		fuzz_found("the server is gone: %s", strerror(errno));
	if (!size || bytes[0] != 0xff)
		send_message(fd, VU_VERSION, 0, version, sizeof(version));
	while (i + 3 <= size) {
		size_t n = bytes[i + 2] < size - i - 3 ? bytes[i + 2] : size - i - 3;

		if (send_message(fd, bytes[i], bytes[i + 1], bytes + i + 3, n))
			break;
		i += 3 + n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, answer, sizeof(answer), 0) > 0)
		;
	close(fd);
	return 0;
}
