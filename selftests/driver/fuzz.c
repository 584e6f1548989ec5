// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile user space: several processes with several files, buffers, syncobjs, leases and submits,
 * mostly valid ones, since invalid ones alone end early; processes are killed, interrupted, given
 * missing memory. Afterwards no process, reference or buffer may remain; the module unloads and
 * loads again, and the devices work.
 *
 *	fuzz [--seconds N] [--ops N] [--seed N] [--procs N] [--fail PERCENT] [--evil MODE] [--chaos]
 *	     [--module FILE] [--root]
 *
 * --seed gives each process the same operations again; their timing depends on the machine.
 * --ops: ends after so many ioctls. --fail: so many percent of the ioctls get an injected failure,
 * if the kernel has fault injection. --evil: the device is selftests/driver/evil-device (99: any
 * mode that it survives). --chaos: resets, unbinds and binds devices meanwhile. --module: unloads
 * this module and loads it again.
 */
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fuzz.h"

#define MAX_PROCS 16u
#define STRUCK	  0xc8 /* of an evil device, see there */

struct fuzz_stats *stats;
struct fuzz_options opt = { .procs = 6, .seconds = 0, .module = NULL };
struct drm_wse_info fuzz_info[MAX_DEVICES];

static int mailbox[2];
static unsigned int tests, failed;

static void result(bool good, const char *what)
{
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++tests, what);
	failed += !good;
}

/* --- a process --- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void work(unsigned int n, uint64_t generation)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct rlimit memory = { 1ull << 30, 1ull << 30 };
	struct fuzz_file files[MAX_FILES];
	int fds[MAX_FDS], i;
	struct fuzz_worker w = {
		.rng.state = opt.seed * 1000003 + n * 7919 + generation * 104729,
		.files = files,
		.fds = fds,
		.arena = arena_map(),
		.mailbox = { mailbox[0], mailbox[1] },
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* not SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	setrlimit(RLIMIT_AS, &memory);
	w.root = opt.as_root || n % 2;
	if (!w.root && (setgroups(0, NULL) || setgid(65534) || setuid(65534)))
		_exit(1);
	/* its files in /proc are its own again */
	prctl(PR_SET_DUMPABLE, 1);
	for (i = 0; i < (int)MAX_FDS; i++)
		fds[i] = -1;
	memset(files, 0, sizeof(files));
	for (i = 0; i < (int)MAX_FILES; i++)
		files[i].fd = -1;
	if (w.arena)
		run_ops(&w, 200 + below(&w.rng, 3000));
	_exit(0);
}

/* --- the devices --- */

/* All users may open the nodes, which each bind creates anew. */
static void open_nodes(void)
{
	struct dirent **names;
	int i, n = scandir("/dev/accel", &names, NULL, NULL);
	char path[300];

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/dev/accel/%.255s", names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			chmod(path, 0666);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static bool bound(unsigned int dev)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/wse/%.31s", opt.address[dev]);
	return !access(path, F_OK);
}

static int rebind(unsigned int dev)
{
	wse_unbind(opt.address[dev]);
	if (wse_bind(opt.address[dev]))
		return -1;
	open_nodes();
	return 0;
}

static bool says(unsigned int dev, const char *file, const char *what)
{
	char path[128], text[4096];

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%.31s/%s", opt.address[dev], file);
	wse_slurp(path, text, sizeof(text));
	return strstr(text, what);
}

static void pci_reset(unsigned int dev)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/reset", opt.address[dev]);
	wse_sysfs_write(path, "1");
}

/* Now and then, in a separate process: an unbind waits for all calls in the driver. */
static pid_t chaos(struct fuzz_rng *r)
{
	unsigned int dev = below(r, opt.ndev);
	bool lost = !bound(dev) || says(dev, "rings", "lost yes"), reset = percent(r, 60);
	pid_t pid;

	if (!lost && !opt.chaos)
		return 0;
	pid = fork();
	if (pid)
		return pid;
	if (!lost && reset)
		pci_reset(dev);
	else
		rebind(dev);
	_exit(0);
}

/* --- running it --- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void set_up_injection(void)
{
	static const char *const settings[][2] = {
		{"failslab/ignore-gfp-wait", "N"},
		{"failslab/verbose", "0"},
		{"failslab/task-filter", "Y"},
		{"failslab/probability", "10"},
		{"failslab/times", "-1"},
		{"fail_page_alloc/ignore-gfp-wait", "N"},
		{"fail_page_alloc/ignore-gfp-highmem", "N"},
		{"fail_page_alloc/min-order", "0"},
		{"fail_page_alloc/verbose", "0"},
		{"fail_page_alloc/task-filter", "Y"},
		{"fail_page_alloc/probability", "10"},
		{"fail_page_alloc/times", "-1"},
		{"fail_usercopy/verbose", "0"},
		{"fail_usercopy/task-filter", "Y"},
		{"fail_usercopy/probability", "5"},
		{"fail_usercopy/times", "-1"},
	};
	char path[96];
	unsigned int i;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		if (wse_sysfs_write(path, settings[i][1])) {
			printf("1..0 # SKIP no %s: the kernel has no fault injection\n", path);
			exit(4);
		}
	}
}

/* All children end, by themselves or killed; those that cannot be killed are named. */
static unsigned int reap_all(void)
{
	double end = now() + 60;
	char path[64], stack[2048];
	unsigned int hang = 0;

	while (now() < end) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return 0;
		if (!pid)
			usleep(20000);
	}
	wse_slurp("/proc/thread-self/children", stack, sizeof(stack));
	printf("# cannot be killed: %s\n", stack);
	for (char *p = strtok(stack, " \n"); p; p = strtok(NULL, " \n")) {
		char text[2048];

		snprintf(path, sizeof(path), "/proc/%.16s/stack", p);
		wse_slurp(path, text, sizeof(text));
		printf("# %s\n", text);
		hang++;
	}
	return hang ? hang : 1;
}

static void kill_workers(const pid_t *pids)
{
	unsigned int i;

	for (i = 0; i < opt.procs; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
}

static double run(void)
{
	struct fuzz_rng r = { .state = opt.seed };
	uint64_t generation[MAX_PROCS] = {};
	double begin = now(), next_chaos = begin + 1;
	pid_t pids[MAX_PROCS] = {}, pid, agent = 0;
	unsigned int i;

	while ((!opt.seconds || now() - begin < opt.seconds) &&
	       (!opt.ops || __atomic_load_n(&stats->ioctls, __ATOMIC_RELAXED) < opt.ops)) {
		for (i = 0; i < opt.procs; i++) {
			if (pids[i])
				continue;
			fflush(stdout);
			pids[i] = fork();
			if (!pids[i])
				work(i, generation[i]);
			generation[i]++;
		}
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
			for (i = 0; i < opt.procs; i++)
				if (pids[i] == pid)
					pids[i] = 0;
			if (pid == agent)
				agent = 0;
		}
		if (!agent && now() > next_chaos) {
			next_chaos = now() + 0.5 + below(&r, 5000) * 1e-3;
			agent = chaos(&r);
		}
		usleep(10000);
	}
	stats->stop = 1;
	begin = now() - begin;
	usleep(500000);
	kill_workers(pids);
	return begin;
}

/* Percent of the processors' time that was idle. */
static double idle_share(void)
{
	unsigned long long t[8] = {}, sum = 0;
	char text[512];
	int i;

	wse_slurp("/proc/stat", text, sizeof(text));
	sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1, t + 2, t + 3, t + 4,
	       t + 5, t + 6, t + 7);
	for (i = 0; i < 8; i++)
		sum += t[i];
	return sum ? 100.0 * t[3] / sum : 0;
}

static void report(double seconds)
{
	double share = stats->submits ? 100.0 * stats->accepted / stats->submits : 0;
	char text[160];
	unsigned int i;

	printf(
		"# seed %llu: %llu ioctls in %.1f s, %.0f a second; %llu interrupted, %llu faults of user memory, %llu injected\n",
	       (unsigned long long)opt.seed, (unsigned long long)stats->ioctls, seconds,
	       stats->ioctls / seconds, (unsigned long long)stats->eintr,
	       (unsigned long long)stats->efault, (unsigned long long)stats->injected);
	printf("# %llu submits, %.1f %% accepted; %llu leases, %llu faults of commands\n",
	       (unsigned long long)stats->submits, share, (unsigned long long)stats->leases,
	       (unsigned long long)stats->faults);
	for (i = 0; i < 160; i++)
		if (stats->refused[i])
			printf("# %8llu refused: %s\n", (unsigned long long)stats->refused[i],
			       strerror(i));
	for (i = 0; op_name(i); i++)
		printf("# %-10s %8llu, good %8llu, %6.0f us each\n", op_name(i),
		       (unsigned long long)stats->op_calls[i],
		       (unsigned long long)stats->op_good[i],
		       stats->op_calls[i] ? stats->op_ns[i] * 1e-3 / stats->op_calls[i] : 0);
	result(stats->ioctls > 100, "hostile processes run");
	/* with injected failures, or a device that fails, results are open */
	if (!opt.fail && !opt.evil) {
		snprintf(text, sizeof(text), "at least half of %llu submits are accepted: %.1f %%",
			 (unsigned long long)stats->submits, share);
		result(share >= 50, text);
	}
}

/* --- afterwards --- */

static bool soon_says(unsigned int dev, const char *file, const char *what)
{
	int tries = 200;

	while (!says(dev, file, what) && --tries)
		usleep(100000);
	return tries;
}

/*
 * An evil device of mode 11 is back half a second after it was unbound, and not before; one of mode
 * 14, of which "any" is one, refuses one probe.
 */
static void revive(unsigned int dev)
{
	int tries = opt.evil == 11 ? 3 : opt.evil ? 2 : 1;

	if (bound(dev) && !says(dev, "rings", "lost yes") &&
	    !access("/sys/kernel/debug/accel", F_OK))
		return;
	while (rebind(dev) && --tries)
		sleep(1);
}

/* How often an evil device misbehaved as ordered: a figure in its configuration space. */
static unsigned int struck(unsigned int dev)
{
	char path[128];
	uint32_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/config", opt.address[dev]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &n, sizeof(n), STRUCK) != sizeof(n))
		n = 0;
	close(fd);
	return n;
}

static void drain_mailbox(void)
{
	close(mailbox[0]);
	close(mailbox[1]);
}

/* Other programs' too; the guest has none. */
static bool no_buffers(void)
{
	char text[65536];
	int tries = 50;

	do {
		wse_slurp("/sys/kernel/debug/dma_buf/bufinfo", text, sizeof(text));
		if (!text[0] || strstr(text, "Total 0 objects"))
			return true;
		usleep(100000);
	} while (--tries);
	printf("# %.2000s\n", text);
	return false;
}

static bool reload(void)
{
	int fd, tries = 100, ret = 0;

	while (syscall(SYS_delete_module, "wse", O_NONBLOCK) && --tries)
		usleep(100000);
	if (!tries) {
		printf("# rmmod: %s\n", strerror(errno));
		return false;
	}
	fd = open(opt.module, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		ret = -errno;
	close(fd);
	if (ret)
		printf("# insmod %s: %s\n", opt.module, strerror(-ret));
	return !ret;
}

/* A nop, and 64 KiB there and back. */
static bool device_works(unsigned int dev)
{
	const struct drm_wse_info *info = &fuzz_info[dev];
	int fd = wse_open_at(opt.address[dev]), ret;
	struct drm_wse_cmd cmds[2], nop = cmd_nop(1);
	uint32_t ctx, bo, i, bytes = 16 * 1024;
	uint32_t *p;

	ret = fd < 0 ? fd : wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx);
	if (!ret)
		ret = wse_run(fd, ctx, &nop, 1);
	if (!ret)
		ret = wse_bo_create(fd, 2 * bytes, &bo);
	p = ret ? NULL : wse_bo_map(fd, bo, 2 * bytes);
	if (p) {
		for (i = 0; i < bytes / 4; i++)
			p[i] = i * 2654435761u;
		cmds[0] = cmd_copy(WSE_OP_COPY_IN, bo, 0, info->rows - 1, 0, 0x4000, bytes);
		cmds[1] = cmd_copy(WSE_OP_COPY_OUT, bo, bytes, info->rows - 1, 0, 0x4000, bytes);
		ret = wse_run(fd, ctx, cmds, 2);
		if (!ret && memcmp(p, p + bytes / 4, bytes))
			ret = -EBADMSG;
		munmap(p, 2 * bytes);
	}
	close(fd);
	if (ret || !p)
		printf("# device %u: %s\n", dev, strerror(-ret));
	return !ret && p;
}

static void afterwards(void)
{
	bool good = true;
	unsigned int i;

	result(!reap_all(), "all processes end");
	drain_mailbox();
	for (i = 0; i < opt.ndev; i++)
		revive(i);
	for (i = 0; i < opt.ndev; i++)
		good = soon_says(i, "lease", "holder: none") &&
		       soon_says(i, "rings", " 0 commands in flight") && good;
	result(good, "no process has a lease, nothing is in flight");
	result(no_buffers(), "no buffer is left");
	if (opt.module)
		result(reload(), "the module is unloaded and loaded");
	/* one of mode 14 may have one refused probe left */
	for (i = 0; opt.evil && i < opt.ndev; i++) {
		revive(i);
		printf("# device %u misbehaved %u times\n", i, struck(i));
		result(struck(i), "the device misbehaved");
	}
	good = true;
	for (i = 0; i < opt.ndev; i++)
		good = device_works(i) && good;
	result(good, "the devices work");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", 1, NULL, 's' }, { "ops", 1, NULL, 'o' },	{ "seed", 1, NULL, 'r' },
		{ "procs", 1, NULL, 'p' },   { "fail", 1, NULL, 'f' },	{ "evil", 1, NULL, 'e' },
		{ "chaos", 0, NULL, 'c' },   { "module", 1, NULL, 'm' }, { "root", 0, NULL, 'u' },
		{},
	};
	int c;

	opt.seed = time(NULL);
	opt.module = getenv("WSE_MODULE"); /* of selftests/driver/guest */
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			opt.seconds = strtoul(optarg, NULL, 0);
			break;
		case 'o':
			opt.ops = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			opt.procs = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			opt.fail = strtoul(optarg, NULL, 0);
			break;
		case 'e':
			opt.evil = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			opt.chaos = true;
			break;
		case 'm':
			opt.module = optarg;
			break;
		case 'u':
			opt.as_root = true;
			break;
		default:
			fprintf(stderr, "usage: the head of selftests/driver/fuzz.c\n");
			exit(2);
		}
	}
	if (!opt.seconds && !opt.ops)
		opt.seconds = 30;
	if (!opt.procs || opt.procs > MAX_PROCS)
		opt.procs = 6;
}

int main(int argc, char **argv)
{
	double seconds;
	int fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (stats == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM, 0, mailbox)) {
		perror("fuzz");
		return 1;
	}
	for (; opt.ndev < MAX_DEVICES; opt.ndev++) {
		wse_address(opt.ndev, opt.address[opt.ndev]);
		fd = opt.address[opt.ndev][0] ? wse_open_at(opt.address[opt.ndev]) : -1;
		if (fd < 0)
			break;
		fuzz_info[opt.ndev] = wse_info(fd);
		close(fd);
	}
	if (opt.fail)
		set_up_injection();
	if (opt.evil) {
		/* a wait for a device that creeps would take minutes */
		wse_sysfs_write("/sys/module/wse/parameters/admin_timeout", "2");
		wse_sysfs_write("/sys/module/wse/parameters/stall_timeout", "2");
	}
	/* its mappings for several devices are a mistake to DMA_API_DEBUG, which is not ours */
	opt.udmabuf = access("/sys/kernel/debug/dma-api", F_OK);
	open_nodes();
	idle_share();
	printf("# seed %llu, %u devices, %u processes\n", (unsigned long long)opt.seed, opt.ndev,
	       opt.procs);
	seconds = run();
	idle_share();
	report(seconds);
	afterwards();
	printf("1..%u\n", tests);
	return failed ? 1 : 0;
}
