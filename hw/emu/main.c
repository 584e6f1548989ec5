// SPDX-License-Identifier: MIT
/* wse-emu: a wafer as a PCI function behind a unix socket, for QEMU's vfio-user-pci. See wse-emu.1.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"
#include "number.h"
#include "pci/wse_pci.h"
#include "wse_regs.h"
#include "wse_release.h"
#include "wse_said.h"

static const char usage[] =
	"usage: wse-emu --socket PATH [options]\n"
	"Serves one wafer as a PCI function (vfio-user) on the unix socket PATH until SIGTERM.\n"
	"  --model func|rtl       the twin, or the RTL (default: func)\n"
	"  --rows R, --cols C     shape of the tile (default: 4 x 4)\n"
	"  --seed N               random back-pressure and DMA latency, for tests (default: 0, none)\n"
	"  --dma-latency CYCLES   from a bus request to its first data (default: 64)\n"
	"  --clock MHZ            the device never runs faster than this; 0: no limit (default: 1000)\n"
	"  --threads N            of the host (default: the model's choice)\n"
	"  --stall MS             after each submission doorbell the client is kept waiting, for tests\n"
	"  --fault SPEC           dma-read:N,dma-write:N,irq:N: let the Nth fail (default: none)\n"
	"  --gdb PORT|SOCKET      serve gdb there (default: not at all)\n"
	"  --program FILE         the kernels' ELF file, which gdb is told to load (default: none)\n"
	"  --ready-fd N           write a line to this descriptor when clients may connect\n"
	"  --spin N               log when a client only reads one register, N times (default: 0, not)\n"
	"  --log FILE, --quiet    log to FILE, or nowhere (default: standard error)\n"
	"  --version, --help\n";

struct options {
	const char *socket, *model, *log, *gdb, *program;
	bool quiet;
	uint64_t spin;
	int ready_fd; /* -1: none */
	struct emu_cfg emu;
};

static const struct wse_pci_id wafer = {
	.vendor = WSE_PCI_VENDOR,
	.device = WSE_PCI_DEVICE,
	.class_code = WSE_PCI_CLASS,
	.revision = WSE_ABI_MAJOR,
	.bar0_bytes = WSE_BAR0_SIZE,
	.vectors = WSE_MAX_QUEUES, /* one per queue pair */
};

static uint32_t wafer_read(void *dev, uint32_t offset)
{
	return emu_read32(dev, offset);
}

static void wafer_write(void *dev, uint32_t offset, uint32_t value)
{
	emu_write32(dev, offset, value);
}

static void wafer_reset(void *dev)
{
	emu_reset(dev);
}

static void wafer_master(void *dev, bool on)
{
	emu_bus_master(dev, on);
}

static const char *wafer_name(void *dev, uint32_t offset)
{
	(void)dev;
	return emu_reg_name(offset);
}

static const struct wse_pci_ops wafer_ops = {
	.name = wafer_name,
	.read32 = wafer_read,
	.write32 = wafer_write,
	.reset = wafer_reset,
	.bus_master = wafer_master,
};

/* NAME:N[,NAME:N...] */
static int parse_faults(const char *spec, struct emu_faults *f)
{
	struct {
		const char *name;
		uint64_t *n;
	} known[] = {
		{"dma-read:", &f->dma_read},
		{"dma-write:", &f->dma_write},
		{"irq:", &f->irq},
	};

	for (const char *p = spec; p;) {
		size_t len = strcspn(p, ","), i;
		char num[32] = "";

		for (i = 0; i < 3 && strncmp(p, known[i].name, strlen(known[i].name)); i++)
			;
		if (i == 3 || len - strlen(known[i].name) >= sizeof(num)) {
			fprintf(stderr,
				"wse-emu: --fault knows dma-read:N, dma-write:N and irq:N, "
				"not '%.*s'\n",
				(int)len, p);
			return -EINVAL;
		}
		memcpy(num, p + strlen(known[i].name), len - strlen(known[i].name));
		if (wse_number("wse-emu: --fault", num, 1, UINT64_MAX, known[i].n))
			return -EINVAL;
		p = p[len] ? p + len + 1 : NULL;
	}
	return 0;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"socket", 1, NULL, 's'},
		{"model", 1, NULL, 'm'},
		{"rows", 1, NULL, 'r'},
		{"cols", 1, NULL, 'c'},
		{"seed", 1, NULL, 'S'},
		{"dma-latency", 1, NULL, 'd'},
		{"clock", 1, NULL, 'k'},
		{"threads", 1, NULL, 't'},
		{"fault", 1, NULL, 'f'},
		{"quiet", 0, NULL, 'q'},
		{"log", 1, NULL, 'l'},
		{"version", 0, NULL, 'V'},
		{"help", 0, NULL, 'h'},
		{"stall", 1, NULL, 'w'},
		{"gdb", 1, NULL, 'g'},
		{"program", 1, NULL, 'p'},
		{"spin", 1, NULL, 'n'},
		{"ready-fd", 1, NULL, 'R'},
		{0},
	};
	struct wse_machine_cfg *m = &o->emu.machine;
	uint64_t n;
	int c;

	*o = (struct options){.model = "func",
			      .ready_fd = -1,
			      .emu = {
				      .machine = {.rows = 4, .cols = 4},
				      .clock_mhz = 1000,
			      }};
	opterr = 0; /* one line, ours */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->socket = optarg;
			break;
		case 'm':
			o->model = optarg;
			break;
		case 'l':
			o->log = optarg;
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'g':
			o->gdb = optarg;
			break;
		case 'p':
			o->program = optarg;
			break;
		case 'r':
			if (wse_number("wse-emu: --rows", optarg, 1, 65535, &n))
				return -EINVAL;
			m->rows = (uint32_t)n;
			break;
		case 'c':
			if (wse_number("wse-emu: --cols", optarg, 1, 65535, &n))
				return -EINVAL;
			m->cols = (uint32_t)n;
			break;
		case 'S':
			if (wse_number("wse-emu: --seed", optarg, 0, UINT64_MAX, &m->seed))
				return -EINVAL;
			break;
		case 'd':
			if (wse_number("wse-emu: --dma-latency", optarg, 0, 1000000, &n))
				return -EINVAL;
			m->dma_latency = (uint32_t)n;
			break;
		case 'k':
			if (wse_number("wse-emu: --clock", optarg, 0, 100000, &n))
				return -EINVAL;
			o->emu.clock_mhz = (uint32_t)n;
			break;
		case 't':
			if (wse_number("wse-emu: --threads", optarg, 1, 256, &n))
				return -EINVAL;
			m->threads = (uint32_t)n;
			break;
		case 'w':
			if (wse_number("wse-emu: --stall", optarg, 0, 10000, &n))
				return -EINVAL;
			o->emu.stall_ms = (uint32_t)n;
			break;
		case 'n':
			if (wse_number("wse-emu: --spin", optarg, 0, UINT64_MAX, &o->spin))
				return -EINVAL;
			break;
		case 'R':
			if (wse_number("wse-emu: --ready-fd", optarg, 3, 65535, &n))
				return -EINVAL;
			o->ready_fd = (int)n;
			break;
		case 'f':
			if (parse_faults(optarg, &o->emu.faults))
				return -EINVAL;
			break;
		case 'V':
			printf("wse-emu " WSE_RELEASE "\n");
			exit(wse_said("wse-emu", 1));
		case 'h':
			fputs(usage, stdout);
			exit(wse_said("wse-emu", 1));
		default:
			wse_bad_option("wse-emu", optind, argv);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "wse-emu: unexpected argument '%s'\n", argv[optind]);
		return -EINVAL;
	}
	if (!o->socket) {
		fprintf(stderr, "wse-emu: --socket PATH is missing\n");
		return -EINVAL;
	}
	if (o->program && !o->gdb) {
		fprintf(stderr, "wse-emu: --program is what gdb loads: give --gdb, too\n");
		return -EINVAL;
	}
	o->emu.ops = wse_machine_find(o->model);
	if (!o->emu.ops) {
		bool known = !strcmp(o->model, "func") || !strcmp(o->model, "rtl");

		fprintf(stderr,
			known ? "wse-emu: the model '%s' was not built into this program\n"
			      : "wse-emu: no model is called '%s': func or rtl\n",
			o->model);
		return -EINVAL;
	}
	return 0;
}

static void say_socket_error(const char *path, int err)
{
	if (err == -EADDRINUSE)
		fprintf(stderr, "wse-emu: socket %s is in use by another server\n", path);
	else if (err == -EEXIST)
		fprintf(stderr, "wse-emu: %s exists and is no socket\n", path);
	else
		fprintf(stderr, "wse-emu: cannot listen on %s: %s\n", path, strerror(-err));
}

/* SIGUSR1: what the client has touched that is not there. All threads block it. */
static void *reporter(void *server)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!sigwait(&set, &sig))
		wse_pci_report(server);
	return NULL;
}

/* Runs before any thread starts: all inherit the mask. */
static int stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1); /* reporter() */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return wse_pci_stop_signals();
}

static int serve_gdb(struct emu *emu, const struct options *o)
{
	char *program = o->program ? realpath(o->program, NULL) : NULL;
	int err;

	if (o->program && !program) {
		fprintf(stderr, "wse-emu: cannot read %s: %s\n", o->program, strerror(errno));
		return -errno;
	}
	err = emu_debug(emu, o->gdb, program);
	free(program);
	if (err)
		fprintf(stderr, "wse-emu: cannot serve gdb at %s: %s\n", o->gdb, strerror(-err));
	return err;
}

/* It keeps what is in it: that may be the log of a server that has the socket already. */
static FILE *open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

int main(int argc, char **argv)
{
	struct wse_pci_server *server = NULL;
	struct wse_pci_dma *dma = NULL;
	struct emu *emu = NULL;
	struct wse_pci_log log;
	struct options o;
	bool reports = false;
	pthread_t report;
	int err, stop_fd;
	FILE *out = stderr;

	wse_std_open();
	if (parse(argc, argv, &o))
		return 2;
	if (o.quiet)
		out = NULL;
	else if (o.log && !(out = open_log(o.log))) {
		fprintf(stderr, "wse-emu: cannot write %s: %s\n", o.log, strerror(errno));
		return 2;
	}
	wse_pci_log_init(&log, out, "wse-emu");
	stop_fd = stop_signals();
	if (stop_fd < 0 || wse_pci_dma_catch_sigbus() || wse_pci_dma_create(&dma)) {
		fprintf(stderr, "wse-emu: cannot start: %s\n", strerror(errno));
		return 1;
	}
	err = wse_pci_create(o.socket, &wafer, dma, &log, &server);
	if (err) {
		say_socket_error(o.socket, err);
		goto out;
	}
	if (out && out != stderr && ftruncate(fileno(out), 0) && errno != EINVAL) {
		err = -errno; /* a pipe or a terminal has nothing to cut off: EINVAL */
		fprintf(stderr, "wse-emu: cannot write %s: %s\n", o.log, strerror(-err));
		goto out;
	}
	o.emu.machine.group = wse_machine_group(o.emu.machine.cols);
	o.emu.dma = dma;
	o.emu.log = &log;
	o.emu.irq = wse_pci_irq;
	o.emu.irq_arg = server;
	err = emu_create(&o.emu, &emu);
	if (err) {
		if (err == -ENOTSUP)
			fprintf(stderr,
				"wse-emu: no %ux%u tile of the %s model was built: "
				"make tile ROWS=%u COLS=%u GROUP=%u\n",
				o.emu.machine.rows, o.emu.machine.cols, o.model, o.emu.machine.rows,
				o.emu.machine.cols, o.emu.machine.group);
		else
			fprintf(stderr, "wse-emu: cannot make a %ux%u %s model: %s\n",
				o.emu.machine.rows, o.emu.machine.cols, o.model, strerror(-err));
		goto out;
	}
	err = o.gdb ? serve_gdb(emu, &o) : 0;
	if (err)
		goto out;
	wse_pci_logf(&log, "%s %ux%u on %s", o.model, o.emu.machine.rows, o.emu.machine.cols,
		     o.socket);
	wse_pci_watch_spin(server, o.spin);
	err = -pthread_create(&report, NULL, reporter, server);
	if (err) {
		fprintf(stderr, "wse-emu: cannot start: %s\n", strerror(-err));
		goto out;
	}
	reports = true;
	err = o.ready_fd >= 0 ? wse_pci_ready(server, o.ready_fd) : 0;
	if (err) {
		fprintf(stderr, "wse-emu: cannot write to --ready-fd %d: %s\n", o.ready_fd,
			strerror(-err));
		goto out;
	}
	err = wse_pci_serve(server, &wafer_ops, emu, stop_fd);
	if (err)
		fprintf(stderr, "wse-emu: %s\n", strerror(-err));
out:
	if (reports) {
		pthread_cancel(report);
		pthread_join(report, NULL);
	}
	emu_destroy(emu);
	wse_pci_destroy(server);
	wse_pci_dma_destroy(dma);
	close(stop_fd);
	if (out && out != stderr) {
		int lost = wse_pci_log_error(&log);

		if (lost)
			fprintf(stderr, "wse-emu: cannot write %s: %s\n", o.log, strerror(-lost));
		err = err ? err : lost;
		fclose(out);
	}
	return err ? 1 : 0;
}
