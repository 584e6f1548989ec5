// SPDX-License-Identifier: MIT
/*
 * A server whose client has always sent the next message already, as a guest that writes registers
 * in a loop does: it ends when it is told to all the same.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "pci/wse_pci.h"
#include "pci/tests/vu_client.h"
#include "tap.h"

#define POSTED 2000u /* writes: they fit into a socket's buffer */
#define SOON   64u   /* messages */

static const struct wse_pci_id id = {
	.vendor = 0x1234, .device = 1, .class_code = 0x120000, .bar0_bytes = 4096, .vectors = 1};
static int all[2], stop[2]; /* pipes: all writes have been sent; the server is to end */
static unsigned int writes;

static uint32_t read32(void *dev, uint32_t offset)
{
	(void)dev;
	return offset;
}

static void write32(void *dev, uint32_t offset, uint32_t value)
{
	char c = 0;

	(void)dev, (void)offset, (void)value;
	if (!writes++ && (read(all[0], &c, 1) != 1 || write(stop[1], &c, 1) != 1))
		abort();
}

static void reset(void *dev)
{
	(void)dev;
}

/* all in one go: each by itself would take a page of the socket's room */
static bool post_all(struct vu_client *c)
{
	static struct {
		struct vu_hdr h;
		struct vu_region_rw q;
		uint32_t value;
	} __attribute__((packed)) m[POSTED];

	for (uint32_t i = 0; i < POSTED; i++) {
		m[i].h.cmd = VU_REGION_WRITE;
		m[i].h.size = sizeof(m[i]);
		m[i].h.flags = VU_NO_REPLY;
		m[i].q.region = VU_REGION_BAR0;
		m[i].q.count = 4;
	}
	return !vu_client_send(c, m, sizeof(m), NULL, 0);
}

static void *serve(void *server)
{
	static const struct wse_pci_ops ops = {
		.read32 = read32, .write32 = write32, .reset = reset};

	return (void *)(intptr_t)wse_pci_serve(server, &ops, NULL, stop[0]);
}

int main(void)
{
	char dir[] = "/tmp/wse-test-stop-XXXXXX", path[64];
	struct wse_pci_server *server = NULL;
	struct wse_pci_dma *dma = NULL;
	struct wse_pci_log log;
	struct vu_client c;
	pthread_t thread;
	void *ret;
	bool good;

	alarm(600);
	if (!mkdtemp(dir) || pipe(all) || pipe(stop))
		return 1;
	snprintf(path, sizeof(path), "%s/s", dir);
	wse_pci_log_init(&log, NULL, "test");
	good = !wse_pci_dma_create(&dma) && !wse_pci_create(path, &id, dma, &log, &server) &&
	       !pthread_create(&thread, NULL, serve, server);
	if (!ok(good && !vu_client_open(&c, path, 4096) && !vu_client_hello(&c), "a client"))
		return tap_end();
	ok(post_all(&c) && write(all[1], "", 1) == 1, "that has sent %u writes", POSTED);
	pthread_join(thread, &ret);
	if (!ok(!ret && writes <= SOON, "a server ends within %u of them", SOON))
		printf("# after %u\n", writes);
	vu_client_close(&c);
	wse_pci_destroy(server);
	wse_pci_dma_destroy(dma);
	rmdir(dir);
	return tap_end();
}
