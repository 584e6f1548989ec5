// SPDX-License-Identifier: MIT
/* wse-emu from the other end of its socket: configuration space, DMA, interrupts, bad clients.
 * What of the protocol needs no wafer is in hw/pci/tests/test_protocol.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gdb/tests/gdb_client.h"
#include "pci/tests/vu_client.h"
#include "tap.h"
#include "vu_admin.h"

#define LIST (VU_DATA - 0x1000) /* a page list in guest memory */

static const char *emu_path = "build/wse-emu";
static const char *model = "func";
static char dir[] = "/tmp/wse-test-emu-XXXXXX";
static char sock[64], logfile[64];

/* Starts the server with extra arguments (NULL-terminated) and waits for its socket. */
static pid_t start(const char *const *extra)
{
	const char *argv[16] = {emu_path, "--socket", sock, "--log",   logfile, "--rows",
				"2",	  "--cols",   "2",  "--model", model};
	int n = 11;
	pid_t pid;

	while (extra && *extra)
		argv[n++] = *extra++;
	pid = fork();
	if (!pid) {
		execv(emu_path, (char **)argv);
		_exit(127);
	}
	for (int i = 0; i < 1000 && access(sock, F_OK); i++) {
		siginfo_t info = {0};

		if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid == pid)
			break;
		usleep(10000);
	}
	return pid;
}

/* Exit status, or 1000 + signal. */
static int stop(pid_t pid, int sig)
{
	int status;

	kill(pid, sig);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool logged(const char *text)
{
	char buf[65536];
	FILE *f = fopen(logfile, "r");
	size_t n;

	if (!f)
		return false;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = 0;
	fclose(f);
	return strstr(buf, text);
}

/* A client with the handshake done, memory mapped at VU_IOVA, and interrupts. */
static bool ready(struct vu_client *c)
{
	return !vu_client_open(c, sock, VU_MEM) && !vu_client_hello(c) &&
	       !vu_client_map(c, c->memfd, 0, VU_IOVA, VU_MEM) && !vu_client_irqs(c);
}

/* The device halts, at the latest when a loaded host has come round to it. */
static bool halts(struct vu_client *c)
{
	for (int i = 0; i < 1000; i++) {
		if (vu_client_reg(c, WSE_REG_STATUS) & WSE_STATUS_HALTED_MASK)
			return true;
		usleep(10000);
	}
	return false;
}

/* --- tests --- */

static void test_info(struct vu_client *c)
{
	struct vu_region_info r = {.argsz = sizeof(r)};
	struct vu_irq_info q = {.argsz = sizeof(q), .index = VU_IRQ_MSIX};
	struct vu_device_info d = {.argsz = sizeof(d)};
	uint64_t sizes[VU_NREGIONS];
	uint32_t flags = 0;
	bool good = true;

	ok(!vu_client_call(c, VU_GET_INFO, &d, sizeof(d), NULL, 0, &d, sizeof(d), NULL) &&
		   d.flags == (VU_DEVICE_RESET | VU_DEVICE_PCI) && d.nregions == 9 && d.nirqs == 5,
	   "device info");
	for (uint32_t i = 0; i < VU_NREGIONS; i++) {
		r = (struct vu_region_info){.argsz = sizeof(r), .index = i};
		good &= !vu_client_call(c, VU_REGION_INFO, &r, sizeof(r), NULL, 0, &r, sizeof(r),
					NULL);
		sizes[i] = r.size;
		flags |= r.flags;
	}
	ok(good && sizes[0] == WSE_BAR0_SIZE && sizes[1] == 0 && sizes[4] == 4096 &&
		   sizes[7] == 4096,
	   "region sizes");
	ok(flags == (VU_REGION_R | VU_REGION_W), "no region can be mapped");
	r.index = VU_NREGIONS;
	ok(vu_client_call(c, VU_REGION_INFO, &r, sizeof(r), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "a region too many is refused");
	ok(!vu_client_call(c, VU_IRQ_INFO, &q, sizeof(q), NULL, 0, &q, sizeof(q), NULL) &&
		   q.count == WSE_MAX_QUEUES && (q.flags & VU_IRQ_EVENTFD),
	   "a vector per queue");
}

static void test_config(struct vu_client *c)
{
	unsigned int caps = 0, n = 0;
	uint32_t v;

	ok(vu_client_config(c, 0) == (WSE_PCI_DEVICE << 16 | WSE_PCI_VENDOR), "vendor and device");
	ok(vu_client_config(c, 8) >> 8 == WSE_PCI_CLASS, "class");
	vu_client_set_config(c, 0, 0x12345678, 4);
	vu_client_set_config(c, 0x2c, 0x12345678, 4);
	ok(vu_client_config(c, 0) == (WSE_PCI_DEVICE << 16 | WSE_PCI_VENDOR) &&
		   vu_client_config(c, 0x2c) == (WSE_PCI_DEVICE << 16 | WSE_PCI_VENDOR),
	   "IDs cannot be written");
	vu_client_set_config(c, 4, 0xffff, 2);
	ok((vu_client_config(c, 4) & 0xffff) == 0x0546, "only existing command bits can be set");
	vu_client_set_config(c, 4, 6, 2);
	vu_client_set_config(c, 0x10, ~0u, 4);
	vu_client_set_config(c, 0x14, ~0u, 4);
	ok(vu_client_config(c, 0x10) == (~(WSE_BAR0_SIZE - 1u) | 4) &&
		   vu_client_config(c, 0x14) == ~0u,
	   "BAR0 is 64-bit memory and tells its size");
	vu_client_set_config(c, 0x18, ~0u, 4);
	vu_client_set_config(c, 0x30, ~0u, 4);
	ok(!vu_client_config(c, 0x18) && !vu_client_config(c, 0x30), "no BAR2, no ROM");
	for (v = vu_client_config(c, 0x34) & 0xff; v && n < 10;
	     v = vu_client_config(c, v) >> 8 & 0xff, n++)
		caps |= 1u << (vu_client_config(c, v) & 31);
	ok(caps == (1u << 1 | 1u << 0x10 | 1u << 0x11) && n == 3, "capabilities PM, MSI-X, PCIe");
	ok(vu_client_config(c, 0x64) >> 28 & 1, "FLR is announced");
	vu_client_read(c, VU_REGION_CONFIG, 4095, &v, 1);
	ok(vu_client_read(c, VU_REGION_CONFIG, 4094, &v, 4) == -EINVAL, "config reads end at 4096");
}

static void test_bar0(struct vu_client *c)
{
	uint64_t both = 0;
	uint16_t half = 1;

	ok(vu_client_reg(c, WSE_REG_MAGIC) == WSE_MAGIC, "MAGIC");
	ok(vu_client_reg(c, WSE_REG_ABI) == (WSE_ABI_MAJOR << 16 | WSE_ABI_MINOR), "ABI");
	ok(vu_client_reg(c, WSE_REG_TILE) == (2 << 16 | 2), "TILE");
	ok(!vu_client_read(c, VU_REGION_BAR0, 0, &both, 8) && (uint32_t)both == WSE_MAGIC &&
		   both >> 32 == (WSE_ABI_MAJOR << 16 | WSE_ABI_MINOR),
	   "two registers in one access");
	ok(!vu_client_read(c, VU_REGION_BAR0, 0, &half, 2) && !half, "16-bit accesses read 0");
	ok(vu_client_read(c, VU_REGION_BAR0, WSE_BAR0_SIZE, &both, 4) == -EINVAL, "BAR0 ends");
}

static void test_nop(struct vu_client *c)
{
	struct vu_irq_set q = {.argsz = sizeof(q),
			       .flags = VU_SET_DATA_NONE | VU_SET_MASK,
			       .index = VU_IRQ_MSIX,
			       .count = 9};
	uint16_t cid = 0;
	bool good = true;
	double t;

	ok(vu_admin_enable(c), "the admin queue starts");
	t = vu_now();
	vu_admin_push(c, &vu_nop);
	good = vu_client_wait(c, 0, 5000);
	t = vu_now() - t;
	ok(good && vu_admin_complete(c, 0, &cid) == WSE_ST_OK && cid == 77,
	   "NOP completes and interrupts (%.0f us)", 1e6 * t);
	for (unsigned int i = 0; i < 5 * VU_DEPTH; i++)
		good &= vu_admin_run(c, &vu_nop) == WSE_ST_OK;
	ok(good, "five times around the ring");
	while (vu_client_wait(c, 0, 50))
		; /* an interrupt follows its completion, and later on a loaded host */

	vu_client_set_config(c, 0x52, 0xc000, 2);
	good = vu_admin_run(c, &vu_nop) == WSE_ST_OK && !vu_client_wait(c, 0, 50);
	vu_client_set_config(c, 0x52, 0x8000, 2);
	ok(good && vu_client_wait(c, 0, 1000), "the function mask holds an interrupt back");
	vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), NULL, 0, NULL, 0, NULL);
	good = vu_admin_run(c, &vu_nop) == WSE_ST_OK && !vu_client_wait(c, 0, 50);
	q.flags = VU_SET_DATA_NONE | VU_SET_UNMASK;
	vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), NULL, 0, NULL, 0, NULL);
	ok(good && vu_client_wait(c, 0, 1000), "so does masking all vectors");
	vu_client_set_config(c, 0x52, 0, 2);
	/* the one of this command must have come, and be lost, before MSI-X is on again */
	good = vu_admin_run(c, &vu_nop) == WSE_ST_OK && !vu_client_wait(c, 0, 50) &&
	       vu_client_reg(c, WSE_REG_MAGIC) == WSE_MAGIC;
	vu_client_set_config(c, 0x52, 0x8000, 2);
	ok(good && !vu_client_wait(c, 0, 50), "without MSI-X there are no interrupts");
}

/* COPY_IN through a page list whose pages are separate maps, COPY_OUT back. */
static void test_copy(struct vu_client *c)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_COPY_IN,
		.cid = 5,
		.pshift = 12,
		.rows = 2,
		.cols = 2,
		.budget = 1000000,
		.buf = VU_IOVA + LIST,
		.sram = 0x100,
		.len = 2048,
		.nline = 1,
		.cstride = 2048,
		.rstride = 4096,
	};
	uint64_t *list = (void *)(c->mem + LIST);
	bool good = true;

	for (unsigned int i = 0; i < 2; i++) {
		good &= !vu_client_map(c, c->memfd, VU_DATA + i * 4096,
				       0x5000000000ull + i * 0x10000, 4096);
		list[i] = 0x5000000000ull + i * 0x10000;
		good &= !vu_client_map(c, c->memfd, VU_DATA + 8192 + i * 4096,
				       0x6000000000ull + i * 0x10000, 4096);
		list[8 + i] = 0x6000000000ull + i * 0x10000;
	}
	for (unsigned int i = 0; i < 8192; i++)
		c->mem[VU_DATA + i] = (uint8_t)(i * 7 + i / 256);
	memset(c->mem + VU_DATA + 8192, 0, 8192);
	ok(good && vu_admin_run(c, &s) == WSE_ST_OK, "COPY_IN from scattered pages");
	s.opcode = WSE_OP_COPY_OUT;
	s.buf = VU_IOVA + LIST + 64;
	ok(vu_admin_run(c, &s) == WSE_ST_OK &&
		   !memcmp(c->mem + VU_DATA, c->mem + VU_DATA + 8192, 8192),
	   "COPY_OUT brings it back");
	vu_client_unmap(c, 0x6000000000ull, 0x10000);
	ok(vu_admin_run(c, &s) == WSE_ST_DMA_ERROR && logged("IOMMU fault iova=0x6000000000"),
	   "a page that was unmapped is a DMA error, and logged");
	ok(vu_admin_run(c, &vu_nop) == WSE_ST_OK, "the queue goes on");
	vu_client_unmap(c, 0x5000000000ull, 0x2000000000ull);
}

/* A core that never ends: registers must still answer. */
static void test_bounded(struct vu_client *c)
{
	static const uint32_t loop = 0x0000006f; /* j . */
	struct wse_sqe copy = {
		.opcode = WSE_OP_COPY_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST,
		.rows = 2,
		.cols = 2,
		.budget = 100000,
		.buf = VU_IOVA + VU_DATA,
		.len = 8,
		.nline = 1,
	};
	struct wse_sqe_start start = {
		.opcode = WSE_OP_START,
		.flags = WSE_SQF_BOOT,
		.rows = 2,
		.cols = 2,
		.budget = 1ull << 40,
		.entry = WSE_SRAM_BASE,
	};
	double worst = 0, sum = 0;
	uint32_t before, after;
	bool good;

	memcpy(c->mem + VU_DATA, &loop, 4);
	good = vu_admin_run(c, &copy) == WSE_ST_OK;
	vu_admin_push(c, (const struct wse_sqe *)&start);
	before = vu_client_reg(c, WSE_REG_CYCLES_LO);
	for (int i = 0; i < 500; i++) {
		double t = vu_now();

		good &= vu_client_reg(c, WSE_REG_MAGIC) == WSE_MAGIC;
		t = vu_now() - t;
		sum += t;
		worst = t > worst ? t : worst;
	}
	after = vu_client_reg(c, WSE_REG_CYCLES_LO);
	ok(good && worst < 1.0,
	   "registers answer while the cores loop (mean %.0f us, worst %.0f us)", 1e6 * sum / 500,
	   1e6 * worst);
	ok(after != before && vu_client_reg(c, WSE_REG_STATUS) & WSE_STATUS_BUSY_MASK,
	   "and cycles pass");
}

static void test_flr(struct vu_client *c)
{
	uint16_t devctl;

	vu_client_read(c, VU_REGION_CONFIG, 0x68, &devctl, 2);
	vu_client_set_config(c, 0x68, devctl | 0x8000, 2);
	ok(!(vu_client_config(c, 4) & 7) && !(vu_client_config(c, 0x50) >> 16 & 0xc000) &&
		   !(vu_client_config(c, 0x68) & 0x8000),
	   "FLR resets the configuration space");
	ok(!(vu_client_reg(c, WSE_REG_STATUS) & 7), "and the device");
	vu_client_set_config(c, 4, 6, 2);
	vu_client_set_config(c, 0x52, 0x8000, 2);
	ok(vu_admin_enable(c) && vu_admin_run(c, &vu_nop) == WSE_ST_OK &&
		   vu_client_wait(c, 0, 1000),
	   "which works again, interrupts and maps included");
	ok(!vu_client_call(c, VU_RESET, NULL, 0, NULL, 0, NULL, 0, NULL) &&
		   !(vu_client_reg(c, WSE_REG_STATUS) & 7),
	   "so does RESET");
	vu_client_set_config(c, 0x52, 0x8000, 2);
	vu_client_set_config(c, 4, 2, 2);
	vu_client_post(c, WSE_REG_AQ_SIZE, (VU_DEPTH - 1) << 16 | (VU_DEPTH - 1));
	vu_post64(c, WSE_REG_ASQ_LO, VU_IOVA + VU_ASQ);
	vu_post64(c, WSE_REG_ACQ_LO, VU_IOVA + VU_ACQ);
	vu_client_post(c, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	vu_client_post(c, WSE_DB_BASE, 1);
	ok(halts(c) && logged("bus master off"), "without bus master it reaches nothing and halts");
}

static void test_write_multi(struct vu_client *c)
{
	struct {
		uint64_t n;
		struct vu_write_one w[3];
	} m = {.n = 3};
	uint64_t done = 0;

	for (unsigned int i = 0; i < 3; i++) {
		m.w[i] = (struct vu_write_one){.offset = WSE_REG_ASQ_LO, .count = 4};
		m.w[i].data[1] = (uint8_t)(0x10 * (i + 1));
	}
	ok(!vu_client_call(c, VU_REGION_WRITE_MULTI, &m, sizeof(m), NULL, 0, &done, 8, NULL) &&
		   done == 3 && vu_client_reg(c, WSE_REG_ASQ_LO) == 0x3000,
	   "WRITE_MULTI writes in order");
	m.n = 1ull << 60;
	ok(vu_client_call(c, VU_REGION_WRITE_MULTI, &m, sizeof(m), NULL, 0, NULL, 0, NULL) ==
		   -EINVAL,
	   "a false count is refused");
}

/* Errors of a client after which it stays connected. */
static void test_refused(struct vu_client *c)
{
	struct vu_irq_set q = {.argsz = sizeof(q),
			       .flags = VU_SET_DATA_EVENTFD | VU_SET_TRIGGER,
			       .index = VU_IRQ_MSIX,
			       .start = 0,
			       .count = 3};
	struct vu_region_rw rw = {.region = VU_REGION_CONFIG, .offset = ~0ull - 1, .count = 4};
	int fds[40];
	uint8_t b = 0;

	for (int i = 0; i < 40; i++)
		fds[i] = c->irq[0];
	ok(vu_client_call(c, 99, NULL, 0, NULL, 0, NULL, 0, NULL) == -ENOSYS, "an unknown command");
	ok(vu_client_call(c, VU_DMA_MAP, &b, 1, NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "a short DMA_MAP");
	ok(vu_client_call(c, VU_SET_IRQS, &b, 1, NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "a short SET_IRQS");
	ok(vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), fds, 2, NULL, 0, NULL) == -EINVAL,
	   "two descriptors for three vectors");
	ok(vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), fds, 40, NULL, 0, NULL) == -EINVAL,
	   "40 descriptors");
	q.start = ~0u;
	ok(vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), fds, 3, NULL, 0, NULL) == -EINVAL,
	   "vector 2^32 - 1");
	q = (struct vu_irq_set){.argsz = sizeof(q),
				.flags = VU_SET_DATA_BOOL | VU_SET_TRIGGER,
				.index = VU_IRQ_MSIX,
				.count = 9};
	ok(vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "missing booleans");
	ok(vu_client_call(c, VU_REGION_READ, &rw, sizeof(rw), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "an offset that wraps");
	rw.offset = 0;
	rw.count = ~0u;
	ok(vu_client_call(c, VU_REGION_READ, &rw, sizeof(rw), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "4 GiB to read");
	rw.count = 64;
	ok(vu_client_call(c, VU_REGION_WRITE, &rw, sizeof(rw), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "a write without its data");
	rw = (struct vu_region_rw){.region = ~0u, .count = 4};
	ok(vu_client_call(c, VU_REGION_READ, &rw, sizeof(rw), NULL, 0, NULL, 0, NULL) == -EINVAL,
	   "no such region");
	ok(vu_client_reg(c, WSE_REG_MAGIC) == WSE_MAGIC, "it still answers");
}

static int set_vector0(struct vu_client *c, int fd)
{
	struct vu_irq_set q = {.argsz = sizeof(q),
			       .flags = VU_SET_DATA_EVENTFD | VU_SET_TRIGGER,
			       .index = VU_IRQ_MSIX,
			       .count = 1};

	return vu_client_call(c, VU_SET_IRQS, &q, sizeof(q), &fd, 1, NULL, 0, NULL);
}

/* Descriptors for interrupts that could end or block the server. */
static void test_irq_fds(struct vu_client *c)
{
	uint64_t full = UINT64_MAX - 1, n;
	int sv[2], p[2], efd = eventfd(0, EFD_CLOEXEC); /* blocks its readers and writers */

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) || pipe(p) || efd < 0) {
		ok(false, "a socket, a pipe and an eventfd");
		return;
	}
	close(sv[1]);
	ok(set_vector0(c, sv[0]) == -EINVAL, "a socket for interrupts is refused");
	ok(set_vector0(c, p[1]) == -EINVAL, "a pipe for interrupts is refused");
	close(sv[0]);
	close(p[0]);
	close(p[1]);

	vu_client_call(c, VU_RESET, NULL, 0, NULL, 0, NULL, 0, NULL);
	vu_client_set_config(c, 4, 6, 2);
	vu_client_set_config(c, 0x52, 0x8000, 2);
	if (ok(!set_vector0(c, efd) && vu_admin_enable(c) && vu_admin_run(c, &vu_nop) == WSE_ST_OK,
	       "an eventfd that blocks is taken"))
		ok(read(efd, &n, sizeof(n)) == sizeof(n) && n == 1 &&
			   !(fcntl(efd, F_GETFL) & O_NONBLOCK),
		   "it gets its event, and still blocks its owner");
	ok(write(efd, &full, sizeof(full)) == sizeof(full) &&
		   vu_admin_run(c, &vu_nop) == WSE_ST_OK &&
		   vu_client_reg(c, WSE_REG_MAGIC) == WSE_MAGIC,
	   "when it is full the device does not wait for it");
	close(efd);
	ok(!set_vector0(c, c->irq[0]), "the usual one comes back");
}

static void test_hostile(void)
{
	struct vu_client c;

	/* the memory behind a map shrinks: the device's DMA meets a hole in the file */
	if (ok(ready(&c) && vu_admin_enable(&c), "a client that is about to shrink its memory")) {
		if (ftruncate(c.memfd, 0))
			ok(false, "ftruncate");
		vu_client_post(&c, WSE_DB_BASE, 1);
		ok(halts(&c), "gets a halted device");
	}
	vu_client_close(&c);
}

static void test_reconnect(void)
{
	struct vu_client a, b;
	bool good = ready(&a) && vu_admin_enable(&a) && vu_admin_run(&a, &vu_nop) == WSE_ST_OK;

	ok(good, "first client");
	good = !vu_client_open(&b, sock, VU_MEM) && vu_client_hello(&b) == VU_LOST;
	vu_client_close(&b);
	ok(good && vu_admin_run(&a, &vu_nop) == WSE_ST_OK,
	   "a second one is turned away, the first does not notice");
	vu_client_close(&a);
	ok(!vu_client_open(&b, sock, VU_MEM) && !vu_client_hello(&b),
	   "it may come when the first is gone");
	ok(!(vu_client_config(&b, 4) & 7) && !vu_client_reg(&b, WSE_REG_CTRL) &&
		   !vu_client_map(&b, b.memfd, 0, VU_IOVA, VU_MEM),
	   "and finds a fresh device without maps");
	ok(!vu_client_irqs(&b) && vu_admin_enable(&b) && vu_admin_run(&b, &vu_nop) == WSE_ST_OK &&
		   vu_client_wait(&b, 0, 1000),
	   "that works");
	vu_client_close(&b);
}

/* QEMU without a shared memory backend: every range comes without a file */
static void test_unshared(void)
{
	struct vu_client c;

	ok(!vu_client_open(&c, sock, VU_MEM) && !vu_client_hello(&c) &&
		   !vu_client_map(&c, -1, 0, VU_IOVA, VU_MEM) && !vu_client_irqs(&c) &&
		   vu_admin_enable(&c),
	   "a client that shares no memory is served");
	/* the log limits lines per second, and earlier tests have written some */
	sleep(1);
	vu_admin_push(&c, &vu_nop);
	ok(halts(&c) && logged("the client shares no memory: start QEMU with"),
	   "until the device needs some: it halts, and the log says what to do");
	vu_client_close(&c);
}

/* Waits for a line of the log. */
static bool comes(const char *text)
{
	for (int i = 0; i < 500 && !logged(text); i++)
		usleep(10000);
	return logged(text);
}

static void test_report(struct vu_client *c, pid_t pid)
{
	uint32_t last = WSE_DB_BASE + WSE_DB_STRIDE * WSE_MAX_QUEUES - 4;

	kill(pid, SIGUSR1);
	ok(comes("no client is here that touched a register that is not there"),
	   "SIGUSR1: nothing is to report");
	vu_client_reg(c, last);
	vu_client_reg(c, WSE_REG_CNT_LINK_HI);
	vu_client_reg(c, last + 4);
	vu_client_reg(c, last + 4);
	vu_client_post(c, 0x2c, 1);
	vu_client_reg(c, WSE_REG_MAGIC);
	kill(pid, SIGUSR1);
	ok(comes("no register at 0x1048: 2 reads, 0 writes") &&
		   comes("no register at 0x2c: 0 reads, 1 writes") &&
		   !logged("no register at 0x1044") && !logged("no register at 0x144"),
	   "SIGUSR1 with a client: the registers that are not there, and no other");
}

static void test_faults(void)
{
	static const char *const args[] = {"--fault", "irq:1,dma-write:2", "--spin", "100", NULL};
	pid_t pid = start(args);
	struct vu_client c;

	ok(ready(&c) && vu_admin_enable(&c) && vu_admin_run(&c, &vu_nop) == WSE_ST_OK &&
		   !vu_client_wait(&c, 0, 100),
	   "an injected lost interrupt");
	for (int i = 0; i < 100; i++)
		vu_client_reg(&c, WSE_REG_MAGIC);
	ok(logged("the client spins: 100 reads of register 0x0 MAGIC"),
	   "100 reads of MAGIC are logged");
	test_report(&c, pid);
	vu_admin_push(&c, &vu_nop);
	ok(halts(&c) && vu_admin_complete(&c, 0, NULL) == -1,
	   "an injected error of a completion's write halts the device");
	vu_client_close(&c);
	stop(pid, SIGTERM);
}

/* a breakpoint holds a START that the client has given, and the device's time with it */
static void test_debugger(void)
{
	static char path[80];
	const char *const args[] = {"--gdb", path, "--program", "/bin/true", NULL};
	const uint32_t code[] = {0x00150513 /* addi a0, a0, 1 */, 0x0000700b /* done x0 */,
				 0x0000006f /* j . */};
	struct wse_sqe copy = {
		.opcode = WSE_OP_COPY_IN,
		.flags = WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST,
		.rows = 2,
		.cols = 2,
		.budget = 1 << 20,
		.buf = VU_IOVA + VU_DATA,
		.nline = 1,
		.len = 16,
	};
	struct wse_sqe_start start_all = {
		.opcode = WSE_OP_START,
		.flags = WSE_SQF_BOOT,
		.rows = 2,
		.cols = 2,
		.budget = 100000,
		.entry = WSE_SRAM_BASE,
	};
	struct vu_client c;
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/gdb", dir);
	pid = start(args);
	fd = gdb_dial(path);
	ok(strstr(gdb_ask(fd, "qSupported:multiprocess+;swbreak+"), "multiprocess+") != NULL,
	   "a debugger is served");
	ok(!strcmp(gdb_ask(fd, "qfThreadInfo"), "mp1.1,p2.1,p3.1,p4.1"),
	   "it is attached to all cores while none runs");
	ok(!strcmp(gdb_ask(fd, "Hgp3.1"), "OK") && !strcmp(gdb_ask(fd, "Z0,80000004,4"), "OK"),
	   "a breakpoint on one");
	gdb_send_packet(fd, "vCont;c");
	if (!ready(&c) || !vu_admin_enable(&c))
		ok(false, "a client");
	memcpy(c.mem + VU_DATA, code, sizeof(code));
	ok(vu_admin_run(&c, &copy) == WSE_ST_OK, "the code is there");
	vu_admin_push(&c, (const struct wse_sqe *)&start_all);
	ok(strstr(gdb_hear(fd), "thread:p3.1;swbreak:;") != NULL, "the breakpoint is hit");
	ok(!strcmp(gdb_ask(fd, "pa"), "01000000") && !strcmp(gdb_ask(fd, "p20"), "04000080"),
	   "registers");
	ok(vu_client_reg(&c, WSE_REG_MAGIC) == WSE_MAGIC && vu_admin_complete(&c, 200, NULL) < 0,
	   "registers of the device answer, and the START waits");
	gdb_send_packet(fd, "vCont;c");
	ok(vu_admin_complete(&c, 10000, NULL) == WSE_ST_OK, "it ends when the debugger goes on");
	close(fd);
	ok(vu_admin_run(&c, &vu_nop) == WSE_ST_OK, "the debugger vanishes: the device lives");
	fd = gdb_dial(path);
	ok(!strncmp(gdb_ask(fd, "?"), "T05", 3), "another one comes");
	vu_client_close(&c);
	ok(stop(pid, SIGTERM) == 0 && access(path, F_OK), "SIGTERM ends it, gdb's socket is gone");
	close(fd);
}

int main(int argc, char **argv)
{
	struct vu_client c;
	struct stat st;
	bool good;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		model = argv[1];
	if (argc > 2)
		emu_path = argv[2];
	if (!mkdtemp(dir))
		return 1;
	snprintf(sock, sizeof(sock), "%s/s", dir);
	snprintf(logfile, sizeof(logfile), "%s/log", dir);

	pid = start(NULL);
	if (waitpid(pid, NULL, WNOHANG) == pid) {
		printf("1..0 # SKIP no server for the %s model\n", model);
		rmdir(dir);
		return strcmp(model, "func") ? 0 : 1;
	}
	if (ok(ready(&c), "a client with memory and interrupts")) {
		test_info(&c);
		test_config(&c);
		test_bar0(&c);
		test_nop(&c);
		test_copy(&c);
		test_bounded(&c);
		test_flr(&c);
		test_write_multi(&c);
		test_refused(&c);
		test_irq_fds(&c);
	}
	vu_client_close(&c);
	test_hostile();
	test_reconnect();
	test_unshared();
	ok(stop(pid, SIGTERM) == 0 && stat(sock, &st),
	   "SIGTERM ends it cleanly, the socket is gone");
	pid = start(NULL);
	stop(pid, SIGKILL);
	ok(!stat(sock, &st), "SIGKILL leaves the socket");
	pid = start(NULL);
	for (int i = 0; i < 1000 && !(good = ready(&c)); i++)
		usleep(10000); /* until then it is the dead one's socket */
	ok(good && vu_client_reg(&c, WSE_REG_MAGIC) == WSE_MAGIC,
	   "which the next server takes over");
	ok(stop(pid, SIGTERM) == 0, "SIGTERM with a client connected");
	vu_client_close(&c);
	test_faults();
	test_debugger();
	unlink(logfile);
	rmdir(dir);
	return tap_end();
}
