// SPDX-License-Identifier: MIT
/*
 * The library with a device that is no wafer: its example, started with a readiness descriptor, and
 * a client that gives it right and wrong work. test_adder ADDER
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pci/dma_map.h"
#include "pci/wse_pci.h"
#include "pci/tests/vu_client.h"
#include "tap.h"

#define MEM  (1u << 20)
#define IOVA 0x500000000ull

static char dir[] = "/tmp/wse-test-pci-XXXXXX";
static char sock[64], logfile[64];

static int set_irq(struct vu_client *c, uint32_t count)
{
	struct vu_irq_set q = {
		.argsz = sizeof(q),
		.flags = VU_SET_DATA_EVENTFD | VU_SET_TRIGGER,
		.index = VU_IRQ_MSIX,
		.count = count,
	};

	return vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), c->irq, count, NULL, 0, NULL);
}

/* Its status; *sum. 0xff: no interrupt. */
static uint32_t add(struct vu_client *c, uint64_t iova, uint32_t count, uint32_t *sum)
{
	vu_client_post(c, 0x04, (uint32_t)iova);
	vu_client_post(c, 0x08, (uint32_t)(iova >> 32));
	vu_client_post(c, 0x0c, count);
	vu_client_post(c, 0x10, 1);
	if (!vu_client_wait(c, 0, 5000))
		return 0xff;
	*sum = vu_client_reg(c, 0x14);
	return vu_client_reg(c, 0x18);
}

static void test_identity(void)
{
	struct wse_pci_id good = {.bar0_bytes = 4096, .vectors = 1}, bad[6];

	for (int i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].bar0_bytes = 2048;
	bad[1].bar0_bytes = 12288;
	bad[2].bar0_bytes = 0;
	bad[3].vectors = 0;
	bad[4].vectors = WSE_PCI_VECTORS_MAX + 1;
	bad[5].class_code = 0x1000000;
	ok(wse_pci_id_valid(&good), "a function with the least BAR and one vector");
	for (int i = 0; i < 6; i++)
		ok(!wse_pci_id_valid(&bad[i]), "an impossible one, %d, is refused", i);
}

static void test_stop(void)
{
	struct wse_pci_id id = {.bar0_bytes = 4096, .vectors = 1};
	const struct wse_pci_ops ops = {0};
	struct wse_pci_server *s = NULL;
	struct wse_pci_dma *dma = NULL;
	struct wse_pci_log log;

	wse_pci_log_init(&log, NULL, "");
	snprintf(sock, sizeof(sock), "%s/e", dir);
	ok(!wse_pci_dma_create(&dma) && !wse_pci_create(sock, &id, dma, &log, &s) &&
		   wse_pci_serve(s, &ops, NULL, -1) == -EBADF,
	   "a server that nothing would stop does not begin");
	wse_pci_destroy(s);
	wse_pci_dma_destroy(dma);
}

/* One map with a hole in every other page: what it comes to has an end, as maps have. */
static void test_ranges(void)
{
	struct wse_pci_dma *dma = NULL;
	uint64_t holes = 0;
	int err = wse_pci_dma_create(&dma);

	err = err ? err : dma_map_add(dma, -1, 0, 0, 1ull << 40, true, true);
	while (!err && holes < 2 * DMA_MAP_MAX)
		err = dma_map_remove(dma, (2 * holes++ + 1) * 4096, 4096);
	ok(err == -ENOSPC && holes == DMA_MAP_MAX && !dma_map_remove(dma, 4096, 4096),
	   "a map does not become more than %u ranges", DMA_MAP_MAX);
	wse_pci_dma_destroy(dma);
}

static void test_adder(struct vu_client *c)
{
	struct vu_region_info r = {.argsz = sizeof(r)};
	struct vu_irq_info q = {.argsz = sizeof(q), .index = VU_IRQ_MSIX};
	uint32_t sum = 0, want = 0, *word = (uint32_t *)c->mem;

	ok(vu_client_config(c, 0) == 0xadd11234 && vu_client_config(c, 8) == 0xff000000,
	   "its own IDs, class and revision");
	ok(!vu_client_call(c, VU_REGION_INFO, &r, sizeof(r), NULL, 0, &r, sizeof(r), NULL) &&
		   r.size == 4096,
	   "its own BAR0");
	ok(!vu_client_call(c, VU_IRQ_INFO, &q, sizeof(q), NULL, 0, &q, sizeof(q), NULL) &&
		   q.count == 1 && vu_client_config(c, 0x50) >> 16 == 0x8000,
	   "and number of vectors");
	vu_client_set_config(c, 0x10, ~0u, 4);
	ok(vu_client_config(c, 0x10) == (~4095u | 4), "BAR0 tells its size");
	for (uint32_t i = 0; i < 1000; i++)
		want += word[i] = i * 2654435761u;
	ok(vu_client_reg(c, 0) == 0x31444441 && add(c, IOVA, 1000, &sum) == 1 && sum == want,
	   "a thousand words of the client's memory are added");
	ok(word[1000] == want && !word[1001], "the sum is behind them, and nothing more");
	ok(add(c, IOVA + 4, 999, &sum) == 1 && sum == want - word[0] && word[1000] == sum,
	   "and 999");
	ok(add(c, IOVA + 4004, 0, &sum) == 1 && !sum && !word[1001], "the sum of none is 0");
	ok(add(c, IOVA, 65536, &sum) == 1 && sum == 2 * want - word[0] && word[65536] == sum,
	   "as many words as it takes, 65536, are added");
	ok(add(c, IOVA, 65537, &sum) == 2 && !sum, "one more is an error, and the sum 0");
	ok(add(c, IOVA + MEM - 4, 2, &sum) == 2 && !sum, "so are words behind the memory");
	ok(add(c, IOVA + MEM - 8, 2, &sum) == 2 && !sum, "and a sum behind it");
	ok(add(c, ~0ull - 3, 2, &sum) == 2, "so are addresses that wrap");
	ok(add(c, IOVA, ~0u, &sum) == 2, "and 2^32 - 1 words");
	ok(set_irq(c, 2) == -EINVAL, "a second vector does not exist");
	ok(vu_client_read(c, VU_REGION_BAR0, 4096, &sum, 4) == -EINVAL, "nor does a second page");
	vu_client_set_config(c, 4, 2, 2);
	ok(add(c, IOVA, 1000, &sum) == 2, "without bus mastering it reads nothing");
	vu_client_set_config(c, 0x68, 0x8000, 2);
	ok(!vu_client_reg(c, 0x0c) && !vu_client_reg(c, 0x18) && vu_client_reg(c, 0) == 0x31444441,
	   "a function-level reset clears its registers");
}

static bool logged(const char *text)
{
	char buf[65536];
	FILE *f = fopen(logfile, "r");
	size_t n = f ? fread(buf, 1, sizeof(buf) - 1, f) : 0;

	buf[n] = 0;
	if (f)
		fclose(f);
	return strstr(buf, text);
}

/* What the log says when this client has gone. */
static void touch(struct vu_client *c)
{
	for (int i = 0; i < 9999; i++)
		vu_client_reg(c, 0x18);
	vu_client_post(c, 0x0c, 1);
	vu_client_reg(c, 0x18);
	ok(!logged("spins"), "9999 reads of a register, a write and a read are no spinning");
	for (int i = 0; i < 9999; i++)
		vu_client_reg(c, 0x18);
	ok(logged("spins: 10000 reads of register 0x18 STATUS"), "10000 are: the log names it");
	for (int i = 0; i < 3; i++)
		vu_client_reg(c, 0x1c);
	vu_client_post(c, 0x1c, 1);
	for (uint32_t i = 1; i < 40; i++)
		vu_client_post(c, 0x400 + 4 * i, 1);
	vu_client_reg(c, 0);
}

int main(int argc, char **argv)
{
	char line[160] = "", want[80], fd[16];
	struct vu_client c;
	int p[2], status;
	pid_t pid;
	size_t n;

	if (argc != 2 || !mkdtemp(dir) || pipe(p))
		return 1;
	test_identity();
	test_stop();
	test_ranges();
	snprintf(sock, sizeof(sock), "%s/s", dir);
	snprintf(logfile, sizeof(logfile), "%s/log", dir);
	snprintf(want, sizeof(want), "ready %s\n", sock);
	snprintf(fd, sizeof(fd), "%d", p[1]);
	pid = fork();
	if (!pid) {
		close(p[0]);
		if (!freopen(logfile, "w", stderr))
			_exit(126);
		execl(argv[1], argv[1], sock, fd, NULL);
		_exit(127);
	}
	close(p[1]);
	/* to the end of it: the server has closed its side */
	for (n = 0; n + 1 < sizeof(line);) {
		ssize_t got = read(p[0], line + n, sizeof(line) - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	ok(!strcmp(line, want), "the readiness descriptor gets a line, and is closed");
	if (ok(!vu_client_open(&c, sock, MEM) && !vu_client_hello(&c) &&
		       !vu_client_map(&c, c.memfd, 0, IOVA, MEM) && vu_client_irqs(&c) == -EINVAL &&
		       !set_irq(&c, 1),
	       "connected at once"))
		test_adder(&c);
	touch(&c);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status) && access(sock, F_OK),
	   "SIGTERM ends it, with a client connected, and the socket is gone");
	ok(logged("no register at 0x1c: 3 reads, 1 writes") &&
		   logged("no register at 0x404: 0 reads, 1 writes") &&
		   logged(": 8 accesses of more registers") && !logged("no register at 0xc:"),
	   "the log has the registers that are not there, and a bound");
	vu_client_close(&c);
	unlink(logfile);
	rmdir(dir);
	return tap_end();
}
