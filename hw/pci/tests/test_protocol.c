// SPDX-License-Identifier: MIT
/*
 * What of the vfio-user protocol needs no wafer, on the example's device: handshake, DMA maps, and
 * clients that send what is no message. test_protocol ADDER
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pci/tests/vu_client.h"
#include "tap.h"

#define VU_MEM	 (1u << 20)
#define VU_IOVA	 0x100000000ull /* above 4 GiB: all address bits count */
#define ADDER_ID 0x31444441

static char dir[] = "/tmp/wse-test-protocol-XXXXXX";
static char sock[64];

/* A client with the handshake done, and memory mapped at VU_IOVA. */
static bool ready(struct vu_client *c)
{
	return !vu_client_open(c, sock, VU_MEM) && !vu_client_hello(c) &&
	       !vu_client_map(c, c->memfd, 0, VU_IOVA, VU_MEM);
}

static void test_handshake(void)
{
	struct vu_client c;
	char hello[4 + 3] = "\0\0\0\0{}";
	char reply[64];
	struct vu_version v2 = {.major = 7};
	size_t got;

	ok(!vu_client_open(&c, sock, VU_MEM), "connect");
	ok(vu_client_call(&c, VU_GET_INFO, NULL, 0, NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "a command before VERSION is refused");
	ok(vu_client_call(&c, VU_VERSION, &v2, sizeof(v2), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "another major version is refused");
	ok(!vu_client_call(&c, VU_VERSION, hello, sizeof(hello), NULL, 0, reply, sizeof(reply),
			   &got) &&
		   got <= sizeof(hello),
	   "the reply to VERSION is not longer than the request");
	ok(vu_client_hello(&c) == -EINVAL, "VERSION twice is refused");
	ok(!vu_client_unmap(&c, VU_IOVA, VU_MEM), "an unmap may come before the first map");
	vu_client_close(&c);
}

static void test_dma_maps(struct vu_client *c)
{
	int null = open("/dev/null", O_RDWR);
	bool good = true;

	ok(vu_client_map(c, c->memfd, 0, VU_IOVA + 4096, 4096) == -EEXIST,
	   "a map over another is refused");
	ok(vu_client_map(c, c->memfd, VU_MEM - 4096, 0x1000, 8192) == -EINVAL,
	   "a map beyond the file is refused");
	ok(vu_client_map(c, c->memfd, 0, ~0xfffull, 8192) == -EINVAL,
	   "a map that wraps is refused");
	ok(vu_client_map(c, c->memfd, 0, 0x1000, 0) == -EINVAL, "an empty map is refused");
	ok(vu_client_map(c, null, 0, 0x1000, 4096) < 0,
	   "a descriptor that is no memory is refused");
	ok(!vu_client_map(c, -1, 0, 0xc0000, 0x20000), "a map without descriptor is kept");
	for (unsigned int i = 0; i < 64; i++)
		good &= !vu_client_map(c, c->memfd, i * 4096, 0x10000000 + i * 8192ull, 4096);
	ok(good, "64 maps of one page");
	ok(!vu_client_unmap(c, 0, 0x80000000), "an unmap may cover many maps");
	ok(!vu_client_unmap(c, 0, 0x80000000), "or none");
	ok(!vu_client_map(c, c->memfd, 0, 0x10000000, VU_MEM), "all are gone");
	ok(!vu_client_unmap(c, 0x10000000 + 4096, 4096) &&
		   !vu_client_map(c, c->memfd, 0, 0x10000000 + 4096, 4096),
	   "an unmap may punch a hole");
	vu_client_unmap(c, 0, 0x80000000);
	close(null);
}

/*
 * Errors after which the server disconnects. Each time the next client must find a working device.
 */
static void test_hostile(void)
{
	static const struct {
		const char *what;
		struct vu_hdr h;
		size_t send;
	} bad[] = {
		{"a message of size 3", {.cmd = VU_GET_INFO, .size = 3}, 16},
		{"a message of 4 GiB", {.cmd = VU_GET_INFO, .size = ~0u}, 16},
		{"a reply without a request",
		 {.cmd = VU_GET_INFO, .size = 16, .flags = VU_REPLY},
		 16},
		{"half a header", {.cmd = VU_GET_INFO, .size = 16}, 7},
		{"a body that never comes", {.cmd = VU_DMA_MAP, .size = 48}, 16},
	};
	struct vu_client c;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		bool good = ready(&c);

		good &= !vu_client_send(&c, &bad[i].h, bad[i].send, NULL, 0);
		usleep(10000);
		vu_client_close(&c);
		good &= ready(&c) && vu_client_reg(&c, 0) == ADDER_ID;
		vu_client_close(&c);
		ok(good, "%s", bad[i].what);
	}
}

int main(int argc, char **argv)
{
	struct vu_client c;
	char line[160], fd[16];
	int p[2], status;
	pid_t pid;

	if (argc != 2 || !mkdtemp(dir) || pipe(p))
		return 1;
	snprintf(sock, sizeof(sock), "%s/s", dir);
	snprintf(fd, sizeof(fd), "%d", p[1]);
	pid = fork();
	if (!pid) {
		close(p[0]);
		if (!freopen("/dev/null", "w", stderr))
			_exit(126);
		execl(argv[1], argv[1], sock, fd, NULL);
		_exit(127);
	}
	close(p[1]);
	while (read(p[0], line, sizeof(line)) > 0)
		; /* until the server closes its side: clients may connect */
	test_handshake();
	if (ok(ready(&c), "a client with memory"))
		test_dma_maps(&c);
	vu_client_close(&c);
	test_hostile();
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "SIGTERM ends the server, which has lived");
	rmdir(dir);
	return tap_end();
}
