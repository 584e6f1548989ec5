// SPDX-License-Identifier: GPL-2.0
/*
 * `make bench-driver`: all figures of the driver, in one run of the guest (4 x 4 cores of the twin,
 * vm/run --nvme). A nop through the driver alternates with a read of 4 KiB from QEMU's own nvme.
 *
 * Arguments (rtt, iops, bulk, owner, kill, reset) choose some of them. Each prints a line: name,
 * value, unit, limit. The host's load changes times: repeat them.
 */
#include <linux/aio_abi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "wse_test.h"

#define TURNS  20u
#define ROUNDS 200u /* of a turn */
#define DEPTH  32u

static int fd;
static uint32_t ctx;
static char address[32];
static int misses;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void die(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* limit: at least that if it is positive, at most -limit if it is negative; 0: there is none */
static void result(const char *name, double value, const char *unit, double limit)
{
	bool miss = limit > 0 ? value < limit : limit < 0 && value > -limit;

	printf("%-28s %10.3f %-8s", name, value, unit);
	if (limit)
		printf(" %s %g%s", limit > 0 ? ">=" : "<=", limit > 0 ? limit : -limit,
		       miss ? "  MISSED" : "");
	printf("\n");
	fflush(stdout);
	misses += miss;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *t, unsigned int n)
{
	qsort(t, n, sizeof(*t), compare);
	return t[n / 2];
}

/* that the module has got */
static unsigned long interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long sum = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " wse\n"))
			sum += strtoul(strchr(line, ':') + 1, NULL, 10);
	if (f)
		fclose(f);
	return sum;
}

static void lease(void)
{
	int ret = wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx);

	if (ret)
		die("no lease", ret);
}

/* ---- round trips ---- */

static void nop_turn(double *t)
{
	static struct drm_wse_sync sync;
	struct drm_wse_cmd nop = cmd_nop(1);
	unsigned int i;
	int ret;

	if (!sync.handle)
		sync.handle = syncobj_create(fd);
	for (i = 0; i < ROUNDS; i++) {
		double begin = now();

		ret = wse_submit_syncs(fd, ctx, &nop, 1, NULL, 0, &sync, 1);
		if (!ret)
			ret = syncobj_wait(fd, sync.handle, 0, SECONDS(10));
		if (ret)
			die("nop", ret);
		t[i] = now() - begin;
	}
}

static void nvme_turn(int nvme, void *page, double *t)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		double begin = now();

		if (pread(nvme, page, 4096, 4096ll * (i * 7919 % 100000)) != 4096)
			die("/dev/nvme0n1", -errno);
		t[i] = now() - begin;
	}
}

static void round_trips(int nvme, void *page)
{
	static double nop[TURNS * ROUNDS], read[TURNS * ROUNDS], ratio[TURNS];
	double best[2] = { 1, 1 };
	unsigned int i;

	for (i = 0; i < TURNS; i++) {
		double a[ROUNDS], b[ROUNDS];

		nop_turn(nop + i * ROUNDS);
		nvme_turn(nvme, page, read + i * ROUNDS);
		memcpy(a, nop + i * ROUNDS, sizeof(a));
		memcpy(b, read + i * ROUNDS, sizeof(b));
		ratio[i] = median(a, ROUNDS) / median(b, ROUNDS);
		best[0] = best[0] < a[ROUNDS / 2] ? best[0] : a[ROUNDS / 2];
		best[1] = best[1] < b[ROUNDS / 2] ? best[1] : b[ROUNDS / 2];
	}
	result("nop_rtt", 1e6 * median(nop, TURNS * ROUNDS), "us", 0);
	result("nop_rtt_p99", 1e6 * nop[TURNS * ROUNDS * 99 / 100], "us", 0);
	result("nvme_rtt", 1e6 * median(read, TURNS * ROUNDS), "us", 0);
	result("driver_rtt_vs_nvme", median(ratio, TURNS), "x", -1.2);
	/* the value of a quiet machine, if one turn ran undisturbed */
	result("nop_rtt_best_turn", 1e6 * best[0], "us", 0);
	result("nvme_rtt_best_turn", 1e6 * best[1], "us", 0);
}

/* ---- commands and reads a second ---- */

/* n submits of k nops each, depth of them in flight: commands a second */
static double nop_rate(unsigned int n, unsigned int k, unsigned int depth)
{
	static struct drm_wse_sync sync[DEPTH];
	struct drm_wse_cmd cmds[64];
	double begin = now();
	unsigned int i;
	int ret;

	for (i = 0; i < k; i++)
		cmds[i] = cmd_nop(1);
	for (i = 0; i < depth; i++)
		if (!sync[i].handle)
			sync[i].handle = syncobj_create(fd);
	for (i = 0; i < n + depth; i++) {
		ret = i < depth ? 0 : syncobj_wait(fd, sync[i % depth].handle, 0, SECONDS(60));
		if (!ret && i < n)
			ret = wse_submit_syncs(fd, ctx, cmds, k, NULL, 0, &sync[i % depth], 1);
		if (ret)
			die("nops", ret);
	}
	return n * k / (now() - begin);
}

/* reads a second, DEPTH of them in flight, one a submit */
static double nvme_rate(int nvme, char *pages, unsigned int n)
{
	struct iocb cb[DEPTH], *p;
	struct io_event event[DEPTH];
	aio_context_t aio = 0;
	unsigned int i, done = 0;
	double begin;

	if (syscall(SYS_io_setup, DEPTH, &aio))
		die("io_setup", -errno);
	begin = now();
	for (i = 0; done < n;) {
		unsigned int slot = i < DEPTH ? i : 0;
		long got;

		for (; i < DEPTH; i++) {
			slot = i;
			cb[slot] = (struct iocb){
				.aio_fildes = nvme,
				.aio_lio_opcode = IOCB_CMD_PREAD,
				.aio_buf = (uintptr_t)(pages + 4096 * slot),
				.aio_nbytes = 4096,
				.aio_offset = 4096ll * (slot * 7919 % 100000),
				.aio_data = slot,
			};
			p = &cb[slot];
			if (syscall(SYS_io_submit, aio, 1, &p) != 1)
				die("io_submit", -errno);
		}
		got = syscall(SYS_io_getevents, aio, 1, DEPTH, event, NULL);
		if (got < 1)
			die("io_getevents", -errno);
		for (; got; got--, done++) {
			p = &cb[event[got - 1].data];
			if (event[got - 1].res != 4096)
				die("a read", -EIO);
			if (done + DEPTH <= n && syscall(SYS_io_submit, aio, 1, &p) != 1)
				die("io_submit", -errno);
		}
	}
	begin = done / (now() - begin);
	syscall(SYS_io_destroy, aio);
	return begin;
}

static void rates(int nvme, char *pages)
{
	double one[TURNS], many[TURNS], read[TURNS];
	unsigned long irqs[2] = {}, before;
	unsigned int i;

	for (i = 0; i < TURNS; i++) {
		double base = nvme_rate(nvme, pages, 2000);

		read[i] = base;
		before = interrupts();
		one[i] = nop_rate(2000, 1, DEPTH) / base;
		irqs[0] += interrupts() - before;
		before = interrupts();
		many[i] = nop_rate(400, 32, 8) / base;
		irqs[1] += interrupts() - before;
	}
	result("nvme_iops", median(read, TURNS), "1/s", 0);
	result("driver_iops_vs_nvme", median(one, TURNS), "x", 0.8);
	result("driver_iops32_vs_nvme", median(many, TURNS), "x", 2.0);
	result("irqs_per_command", irqs[0] / (TURNS * 2000.0), "", -0.2);
	result("irqs_per_command32", irqs[1] / (TURNS * 12800.0), "", -0.2);
}

/* ---- bulk data ----
 * Rates: of commands that were queued ahead, as a trainer's are, beside the guest's memcpy of as
 * much. What one command takes from submit to wake-up is told beside them; of that, some 100 us are
 * the round trip of round_trips().
 */

#define BULK  (512u << 10)
#define BULKS 100u
#define AHEAD 8u /* commands that a trainer has queued when the first of them begins */

static double copy_time(void *to, const void *from)
{
	double t[BULKS];
	unsigned int i;

	for (i = 0; i < BULKS; i++) {
		double begin = now();

		memcpy(to, from, BULK);
		__asm__ volatile("" ::: "memory");
		t[i] = now() - begin;
	}
	return median(t, BULKS);
}

/* Seconds of one of n alike in a submit, its share of the round trip included. */
static double command_time(const struct drm_wse_cmd *cmd, unsigned int n)
{
	struct drm_wse_sync sync = { .handle = syncobj_create(fd) };
	struct drm_wse_cmd cmds[AHEAD];
	double t[BULKS];
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++)
		cmds[i] = *cmd;
	for (i = 0; i < BULKS; i++) {
		double begin = now();

		ret = wse_submit_syncs(fd, ctx, cmds, n, NULL, 0, &sync, 1);
		if (!ret)
			ret = syncobj_wait(fd, sync.handle, 0, SECONDS(10));
		t[i] = (now() - begin) / n;
		if (!ret)
			ret = syncobj_status(fd, sync.handle);
		if (ret)
			die("512 KiB", ret);
	}
	return median(t, BULKS);
}

static void bulk_times(const struct drm_wse_cmd *cmd, double t[2])
{
	t[0] = command_time(cmd, 1);
	t[1] = command_time(cmd, AHEAD);
}

/*
 * 32 KiB to each of 16 cores; a stream of the same size that sends no value, so that no core has to
 * take one
 */
static void bulk(void)
{
	struct drm_wse_info info = wse_info(fd);
	struct drm_wse_cmd copy = {
		.op = WSE_OP_COPY_IN,
		.queue = 1,
		.budget = BUDGET,
		.rows = info.rows,
		.cols = info.cols,
		.sram = 0x2000,
		.len = BULK / (info.rows * info.cols),
		.nline = 1,
	};
	struct drm_wse_cmd stream = {
		.op = WSE_OP_STREAM_IN,
		.queue = 2,
		.flags = DRM_WSE_CMD_DROP_ZERO,
		.budget = BUDGET,
		.cols = info.cols,
		.nline = BULK / 65536 / info.cols,
		.lstride = 65536,
		.cstride = BULK / info.cols,
		.kcol = 16384,
		.nfeat = 1,
		/* the other types end with a wavelet that a core has to take */
		.etype = WSE_ETYPE_RAW32,
	};
	double base, in[2], out[2], zeros[2]; /* seconds: of one alone, of one of AHEAD */
	uint32_t bo;
	char *p;

	copy.cstride = copy.len;
	copy.rstride = copy.len * info.cols;
	if (wse_bo_create(fd, 2 * BULK, &bo))
		die("no buffer", -ENOMEM);
	p = wse_bo_map(fd, bo, 2 * BULK);
	copy.bo = bo;
	stream.bo = bo;
	memset(p, 0, 2 * BULK);
	base = copy_time(p + BULK, p);
	bulk_times(&copy, in);
	bulk_times(&stream, zeros);
	copy.op = WSE_OP_COPY_OUT;
	copy.off = BULK;
	bulk_times(&copy, out);
	/* ten times as long in the boots in which QEMU's TLB has no room for the pages */
	result("memcpy_512k", 1e6 * base, "us", 0);
	result("copy_in_512k_alone", 1e6 * in[0], "us", 0);
	result("copy_out_512k_alone", 1e6 * out[0], "us", 0);
	result("stream_512k_alone", 1e6 * zeros[0], "us", 0);
	result("copy_in_vs_memcpy", base / in[1], "x", 1.0);
	result("copy_out_vs_memcpy", base / out[1], "x", 1.0);
	result("stream_vs_memcpy", base / zeros[1], "x", 1.0);
	munmap(p, 2 * BULK);
	wse_gem_close(fd, bo);
}

/* ---- owners, resets, kills ---- */

/* device cycles since probe */
static double cycles(void)
{
	char path[64], text[2048], *p;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	wse_slurp(path, text, sizeof(text));
	p = strstr(text, "drm-total-cycles-queue:");
	return p ? strtod(p + 23, NULL) : 0;
}

static void owners(void)
{
	double c[20], t[20];
	unsigned int i;

	for (i = 0; i < 20; i++) {
		double before = cycles(), begin = now();

		wse_ctx_destroy(fd, ctx);
		lease();
		t[i] = now() - begin;
		c[i] = cycles() - before;
	}
	result("driver_owner_change", median(c, 20), "cycles", -10000);
	result("owner_change_time", 1e3 * median(t, 20), "ms", 0);
}

/* a process that submits all the time, with the lease once this returns */
static pid_t submitter(void)
{
	struct drm_wse_cmd nops[20];
	int ready[2];
	unsigned int i;
	uint32_t sync;
	pid_t pid;
	char c;

	for (i = 0; i < 20; i++)
		nops[i] = cmd_nop(1 + i % 4);
	if (pipe(ready))
		die("pipe", -errno);
	pid = fork();
	if (!pid) {
		fd = wse_open_at(address);
		lease();
		for (i = 0;; i++) {
			struct drm_syncobj_destroy destroy = {};

			if (wse_submit(fd, ctx, nops, 20, &sync))
				pause();
			destroy.handle = sync;
			wse_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
			if (i == 100 && write(ready[1], "", 1) != 1)
				_exit(1);
		}
	}
	if (pid < 0 || read(ready[0], &c, 1) != 1)
		die("fork", -errno);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void kills(void)
{
	double t[10], begin;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		pid_t pid;

		wse_ctx_destroy(fd, ctx);
		pid = submitter();
		begin = now();
		kill(pid, SIGKILL);
		lease();
		t[i] = now() - begin;
		waitpid(pid, NULL, 0);
	}
	result("kill_to_next_lease", 1e3 * median(t, 10), "ms", -100);
	result("kill_to_next_lease_max", 1e3 * t[9], "ms", 0);
}

/* from the reset of a device with commands in all queues to the next good submit */
static void resets(void)
{
	struct drm_wse_cmd nop = cmd_nop(1);
	double t[5], begin;
	char path[64];
	unsigned int i;
	int ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", address);
	for (i = 0; i < 5; i++) {
		pid_t pid;

		wse_ctx_destroy(fd, ctx);
		pid = submitter();
		begin = now();
		ret = wse_sysfs_write(path, "1");
		if (ret)
			die("reset", ret);
		kill(pid, SIGKILL);
		lease();
		ret = wse_run(fd, ctx, &nop, 1);
		if (ret)
			die("after the reset", ret);
		t[i] = now() - begin;
		waitpid(pid, NULL, 0);
	}
	result("reset_to_next_submit", median(t, 5), "s", -1.0);
}

/* of the figures: all, or those that the arguments name */
static bool wanted(int argc, char **argv, const char *part)
{
	while (--argc > 0)
		if (!strcmp(argv[argc], part))
			return true;
	return !argv[1];
}

int main(int argc, char **argv)
{
	int nvme = open("/dev/nvme0n1", O_RDONLY | O_DIRECT);
	void *pages;

	wse_address(0, address);
	fd = wse_open_at(address);
	if (fd < 0)
		die("no device", fd);
	if (nvme < 0 || posix_memalign(&pages, 4096, 4096 * DEPTH))
		die("/dev/nvme0n1 (vm/run --nvme)", -errno);
	lease();
	if (wanted(argc, argv, "rtt"))
		round_trips(nvme, pages);
	if (wanted(argc, argv, "iops"))
		rates(nvme, pages);
	if (wanted(argc, argv, "bulk"))
		bulk();
	if (wanted(argc, argv, "owner"))
		owners();
	if (wanted(argc, argv, "kill"))
		kills();
	if (wanted(argc, argv, "reset"))
		resets();
	printf("%d of the goals missed\n", misses);
	return 0;
}
