// SPDX-License-Identifier: MIT
/* wse-run: a bare-metal RV32IM program on one core of a model, or all. See wse-run.1. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cause.h"
#include "causes.h"
#include "elf32.h"
#include "gdb/gdb.h"
#include "gdb/server.h"
#include "lines.h"
#include "maps.h"
#include "machine.h"
#include "options.h"
#include "printed.h"
#include "profile.h"
#include "replay.h"
#include "waits.h"
#include "wave.h"
#include "wse_regs.h"
#include "wse_said.h"

/* Exit statuses besides the program's own, as timeout(1) and the shell use them. */
#define EXIT_BUDGET 124 /* did not end in --max-cycles */
#define EXIT_TRAP   125 /* a trap without a handler, or a wait that cannot end */
#define EXIT_KILLED 137 /* by the debugger */

#define CHUNK	    65536u /* cycles between two polls of the core */

struct run {
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint32_t core, tohost; /* the core whose program ends the run */
	uint32_t first, end;   /* the cores that run it */
	uint8_t host[8];       /* the symbol's bytes as stores leave them */
	uint64_t retired;
	bool ended;
	FILE *trace;
	struct replay *replay;
	struct profile *profile;
	struct causes *causes;
	struct wse_lines lines; /* of the program */
	struct printed printed; /* by the program; of a run before the run nothing */
	struct gdb_stub *gdb;	/* NULL: no debugger */
	struct gdb_server *server;
};

/* A program alone on the wafer has no host: this refuses every bus access. */
static int no_read(void *host, uint64_t iova, void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static int no_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static void no_irq(void *host, unsigned int vector)
{
	(void)host, (void)vector;
}

static void trace_line(FILE *out, const struct wse_retire *r)
{
	fprintf(out, "%08x %08x", r->pc, r->insn);
	if (r->trap)
		fprintf(out, " trap %u", r->rd_value);
	else if (r->rd)
		fprintf(out, " x%u=%08x", r->rd, r->rd_value);
	if (r->mem_size)
		fprintf(out, " [%08x]=%0*x", r->mem_addr, 2 * r->mem_size, r->mem_data);
	if (r->pick)
		fprintf(out, " task %u", r->pick_task);
	fputc('\n', out);
}

static void stop_soon(struct run *run)
{
	if (run->gdb)
		gdb_brk(run->gdb);
	else
		run->ops->brk(run->machine);
}

/*
 * Detects the end at the store itself, so that the count of instructions does not depend on how far
 * the model runs.
 */
static void on_retire(void *arg, const struct wse_retire *r)
{
	struct run *run = arg;

	if (run->ended)
		return;
	if (run->trace)
		trace_line(run->trace, r);
	if (r->trap)
		return;
	run->retired++;
	for (unsigned int i = 0; i < r->mem_size; i++) {
		uint32_t at = r->mem_addr + i - run->tohost;

		if (at < sizeof(run->host))
			run->host[at] = (uint8_t)(r->mem_data >> (8 * i));
	}
	for (unsigned int i = 0; i < sizeof(run->host) && r->mem_size; i++)
		run->ended |= run->host[i];
	if (printed_retire(&run->printed, r) || run->ended)
		stop_soon(run);
}

static int load(struct run *run, const struct elf32 *elf)
{
	uint8_t image[WSE_SRAM_BYTES] = {0};
	uint32_t at = elf->tohost - WSE_SRAM_BASE;
	int err = 0;

	for (unsigned int i = 0; i < elf->nsegments; i++)
		memcpy(image + (elf->segment[i].addr - WSE_SRAM_BASE), elf->segment[i].data,
		       elf->segment[i].filesz);
	run->tohost = elf->tohost;
	memcpy(run->host, image + at, sizeof(run->host));
	for (uint32_t i = run->first; i < run->end && !err; i++)
		err = run->ops->poke(run->machine, i, WSE_SRAM_BASE, image, sizeof(image));
	return err;
}

/* Why a core that did not end stands still; true if it can never proceed. */
static bool stuck(const struct run *run, const struct wse_core_state *st, enum wse_stop why)
{
	if (run->gdb && !gdb_runs(run->gdb))
		return false; /* the debugger looks at it */
	return !run->ended && (st->run != WSE_CORE_RUNNING || why != WSE_STOP_CYCLES);
}

/*
 * Progress of a long run, twice a second, on a terminal: the RTL needs minutes for the default
 * budget. *next is 0 at the start, *next < 0: no terminal.
 */
static void progress(const struct options *o, uint64_t cycles, double *next)
{
	struct timespec t;
	double now;

	if (*next < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
	if (!*next && !isatty(STDERR_FILENO)) {
		*next = -1;
		return;
	}
	if (*next && now >= *next)
		fprintf(stderr, "\r\033[Kwse-run: %.1f of at most %.1f million cycles",
			1e-6 * (double)cycles, 1e-6 * (double)o->max_cycles);
	if (!*next || now >= *next)
		*next = now + 0.5;
}

static enum wse_stop advance(struct run *run, uint64_t cycles, uint64_t *ran)
{
	if (!run->gdb)
		return run->ops->advance(run->machine, cycles, ran);
	gdb_serve(run->server, gdb_runs(run->gdb) ? 0 : -1);
	return gdb_advance(run->gdb, cycles, ran);
}

/* Waits for the debugger, which finds the program before its first instruction. */
static int meet_debugger(struct run *run, const struct options *o)
{
	struct gdb_cfg cfg = {
		.ops = run->ops,
		.machine = run->machine,
		.rows = o->rows,
		.cols = o->cols,
		.retire = on_retire,
		.retire_arg = run,
		.traced = run->core,
		.closed = true,
	};
	char *path = realpath(o->program, NULL);
	int err;

	cfg.program = path;
	err = gdb_create(&cfg, &run->gdb);
	free(path);
	if (!err)
		err = gdb_listen(o->gdb, run->gdb, &run->server);
	if (err) {
		fprintf(stderr, "wse-run: cannot wait for gdb at %s: %s\n", o->gdb, strerror(-err));
		return err;
	}
	fprintf(stderr, "wse-run: waits for: gdb-multiarch %s -ex 'target extended-remote %s'\n",
		o->program, gdb_address(run->server));
	while (!gdb_met_debugger(run->server))
		gdb_serve(run->server, -1);
	return 0;
}

/*
 * The program has ended. A stop before that comes first; and gdb still asks a question or two then.
 */
static void tell_debugger(struct run *run, unsigned int status)
{
	while (gdb_has_debugger(run->server) && !gdb_runs(run->gdb))
		gdb_serve(run->server, -1);
	gdb_exited(run->gdb, run->core, status);
	for (unsigned int i = 0; i < 10 && gdb_has_debugger(run->server); i++)
		gdb_serve(run->server, 100);
}

/*
 * Until the program has ended, or cannot, or its cycles are up: why its model stopped last, its
 * core then, and the cycles; -errno.
 */
static int proceed(struct run *run, const struct options *o, struct wse_core_state *st,
		   uint64_t *cycles)
{
	char said[400];
	double next = 0;
	enum wse_stop why;
	uint64_t ran;

	*cycles = 0;
	do {
		uint64_t left = o->max_cycles - *cycles, n = run->printed.due ? 1 : CHUNK;
		int err;

		why = advance(run, left < n ? left : n, &ran);
		*cycles += ran;
		if (run->printed.due && why == WSE_STOP_BREAK)
			why = WSE_STOP_CYCLES;
		err = printed_show(&run->printed, run->ops, run->machine, run->core, said,
				   sizeof(said));
		if (err) {
			fprintf(stderr, "wse-run: %s\n", said);
			return err;
		}
		err = run->ops->get_state(run->machine, run->core, st);
		if (err)
			return err;
		if (!run->gdb)
			progress(o, *cycles, &next);
	} while (!run->ended && !stuck(run, st, why) && *cycles < o->max_cycles &&
		 !(run->gdb && gdb_killed(run->gdb, run->core)));
	if (next > 0)
		fputs("\r\033[K", stderr);
	return (int)why;
}

/*
 * " (main at product.c:9)"; "" where the program has no symbols. A fault's pc is its instruction's.
 */
static const char *place(const struct run *run, uint32_t pc, char *text, size_t size)
{
	char at[WSE_LINES_TEXT];

	wse_lines_place(&run->lines, pc, at);
	snprintf(text, size, *at ? " (%s)" : "", at);
	return text;
}

/* what the core waits for, and who would have to move; "" of one that goes on */
static const char *waits(const struct run *run, const struct options *o, char *text, size_t size)
{
	const struct wse_wafer wafer = {run->ops, run->machine, o->rows, o->cols};
	struct wse_waits w;

	wse_find_waits(&wafer, run->core, &w);
	snprintf(text, size, "%s%s%s%s", *w.what ? ": for " : "", w.what, *w.whom ? "; " : "",
		 w.whom);
	return text;
}

static int execute(struct run *run, const struct options *o, const struct elf32 *elf)
{
	char at[WSE_LINES_TEXT + 8], wait[200];
	struct wse_core_state st;
	uint64_t cycles, status;
	int stop = proceed(run, o, &st, &cycles);
	enum wse_stop why = (enum wse_stop)stop;

	if (stop < 0)
		return EXIT_USAGE;

	if (run->ended) {
		status = (run->host[0] | run->host[1] << 8 | run->host[2] << 16 |
			  (uint32_t)run->host[3] << 24) >>
			 1;
		if (run->gdb)
			tell_debugger(run, (unsigned int)status);
		printf("instructions %" PRIu64 " cycles %" PRIu64 " (%s) status %" PRIu64 "\n",
		       run->retired, cycles,
		       strcmp(o->model, "rtl") ? "of the twin, no timing: --model rtl has one"
					       : "of the RTL",
		       status);
		return status < 255 ? (int)status : 255;
	}
	if (run->gdb && gdb_killed(run->gdb, run->core)) {
		fprintf(stderr, "wse-run: killed by the debugger, pc 0x%08x, core %u,%u\n", st.pc,
			o->x, o->y);
		return EXIT_KILLED;
	}
	if (st.run == WSE_CORE_FAULTED) {
		fprintf(stderr,
			"wse-run: %s, pc 0x%08x%s, %s 0x%08x, core %u,%u, after %" PRIu64
			" instructions%s\n",
			wse_cause_name(st.fault_cause), st.pc, place(run, st.pc, at, sizeof(at)),
			st.fault_cause == WSE_CAUSE_ILLEGAL ? "instruction" : "address",
			st.fault_addr, o->x, o->y, run->retired,
			elf->rvc ? " (it has compressed instructions: build with "
				   "-march=rv32im_zicsr)"
				 : "");
		return EXIT_TRAP;
	}
	place(run, st.pc, at, sizeof(at));
	waits(run, o, wait, sizeof(wait));
	if (stuck(run, &st, why)) {
		fprintf(stderr,
			"wse-run: the core waits without end, pc 0x%08x%s, core %u,%u, after %" PRIu64
			" instructions%s\n",
			st.pc, at, o->x, o->y, run->retired, wait);
		return EXIT_TRAP;
	}
	fprintf(stderr,
		"wse-run: not ended after %" PRIu64
		" cycles (--max-cycles), pc 0x%08x%s, core %u,%u%s%s\n",
		o->max_cycles, st.pc, at, o->x, o->y, *wait ? ", which waits" : "", wait);
	return EXIT_BUDGET;
}

static void on_event(void *arg, const struct wse_ev *e)
{
	const struct run *run = arg;

	if (run->replay)
		replay_event(run->replay, e);
	if (run->profile)
		profile_event(run->profile, e);
	if (run->causes)
		causes_event(run->causes, e);
}

/* those that something is written of */
static int events(struct run *run, const struct options *o)
{
	uint32_t kinds = 0, core = ~0u;
	int err = 0;

	if (run->replay)
		kinds |= replay_kinds(run->replay, &core);
	if (run->profile) {
		kinds |= PROFILE_KINDS;
		core = ~0u;
		err = profile_begin(run->profile, run->ops, run->machine, run->core);
	}
	if (o->waits && !err) {
		kinds |= CAUSES_KINDS;
		core = ~0u;
		err = causes_begin(run->ops, run->machine, o->rows, o->cols, run->first, run->end,
				   &run->causes);
	}
	return err ? err : kinds ? run->ops->events(run->machine, core, kinds, on_event, run) : 0;
}

static int start(struct run *run, const struct options *o, const struct elf32 *elf)
{
	int err = load(run, elf);

	err = err ? err : run->ops->trace_retire(run->machine, run->core, on_retire, run);
	err = err ? err : events(run, o);
	for (uint32_t i = run->first; i < run->end && !err; i++)
		err = run->ops->boot(run->machine, i, elf->entry);
	if (err)
		fprintf(stderr, "wse-run: the %s model refuses to load the program\n",
			run->ops->name);
	return err;
}

/* Begins or ends the window, which is counted from the program's first cycle. */
static int wave(struct run *run, const struct options *o, bool begin)
{
	char said[1400];
	int err;

	if (!o->waves)
		return 0;
	err = begin ? wse_wave_open(run->ops, run->machine, o->rows, o->cols, &o->wave, said,
				    sizeof(said))
		    : wse_wave_close(run->ops, run->machine, &o->wave, said, sizeof(said));
	if (err || !begin)
		fprintf(stderr, "wse-run: %s\n", said);
	return err;
}

static int heat(const struct run *run, const struct options *o)
{
	int err = o->heat ? maps_write(o->heat, run->ops, run->machine, o->rows, o->cols) : 0;

	if (err)
		fprintf(stderr, "wse-run: --heat: cannot write %s: %s; there is no picture\n",
			o->heat, strerror(-err));
	return err;
}

static int causes(const struct run *run, const struct options *o)
{
	int err = run->causes ? causes_write(run->causes, o->waits) : 0;

	if (err)
		fprintf(stderr, "wse-run: --waits: cannot write %s: %s; there is no picture\n",
			o->waits, strerror(-err));
	return err;
}

static int open_model(struct run *run, const struct options *o)
{
	static const struct wse_host_ops alone = {no_read, no_write, no_irq, NULL};
	struct wse_machine_cfg cfg = {
		.rows = o->rows, .cols = o->cols, .group = wse_machine_group(o->cols)};
	int err;

	if (o->waves)
		cfg.flags |= WSE_MACHINE_WAVES;
	if (o->replay || o->profile || o->waits)
		cfg.flags |= WSE_MACHINE_EXACT;
	if (o->waves && strcmp(o->model, "rtl")) {
		fprintf(stderr, "wse-run: waves are the RTL's: --model rtl\n");
		return -ENOTSUP;
	}
	run->ops = wse_machine_find(o->model);
	if (!run->ops) {
		bool known = !strcmp(o->model, "func") || !strcmp(o->model, "rtl");

		fprintf(stderr,
			known ? "wse-run: the model '%s' was not built into this program\n"
			      : "wse-run: no model is called '%s': func or rtl\n",
			o->model);
		return -ENOENT;
	}
	err = run->ops->create(&cfg, &alone, NULL, &run->machine);
	if (err == -ENOTSUP)
		fprintf(stderr,
			"wse-run: no %ux%u tile of the %s model%s was built: "
			"make tile%s ROWS=%u COLS=%u GROUP=%u\n",
			o->rows, o->cols, o->model, o->waves ? " with waves" : "",
			o->waves ? " TRACE=fst" : "", o->rows, o->cols, cfg.group);
	else if (err)
		fprintf(stderr, "wse-run: cannot make a %ux%u %s model: %s\n", o->rows, o->cols,
			o->model, strerror(-err));
	return err;
}

/*
 * A window that was not named is the end of the run, which a run before it finds: the RTL takes the
 * same cycles again.
 */
static int find_window(const struct run *run, struct options *o, const struct elf32 *elf)
{
	struct run before = {.core = run->core, .first = run->first, .end = run->end};
	struct wse_core_state st;
	uint64_t cycles = 0;
	int err;

	if (!o->waves || o->wave.named)
		return 0;
	if (o->gdb) {
		fprintf(stderr,
			"wse-run: a debugger decides when the run ends: name the window, "
			"--wave %s,from=0,to=10000\n",
			o->wave.path);
		return -EINVAL;
	}
	err = open_model(&before, o);
	if (err)
		return err;
	err = start(&before, o, elf);
	if (!err)
		err = proceed(&before, o, &st, &cycles) < 0 ? -EIO : 0;
	before.ops->destroy(before.machine);
	causes_free(before.causes);
	o->wave.from = cycles > WSE_WAVE_CYCLES ? cycles - WSE_WAVE_CYCLES : 0;
	o->wave.to = cycles ? cycles : 1;
	return err;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* a disk that is full shows here at the latest */
static int close_trace(const struct run *run, const struct options *o)
{
	int failed;

	if (!run->trace)
		return 0;
	failed = ferror(run->trace);
	if (fclose(run->trace) || failed) {
		fprintf(stderr, "wse-run: --trace: cannot write %s whole: %s\n", o->trace,
			strerror(errno ? errno : EIO));
		return -EIO;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct run run = {0};
	struct options o;
	struct elf32 elf;
	char why[1400];
	void *file;
	size_t size;
	int status = EXIT_USAGE;

	wse_std_open();
	if (parse_options(argc, argv, &o))
		return EXIT_USAGE;
	file = elf32_read(o.program, &size);
	if (!file) {
		fprintf(stderr, "wse-run: cannot read %s: %s\n", o.program, strerror(errno));
		return EXIT_USAGE;
	}
	if (elf32_parse(file, size, WSE_SRAM_BASE, WSE_SRAM_BYTES, &elf, why, sizeof(why))) {
		fprintf(stderr, "wse-run: %s: %s\n", o.program, why);
		goto out;
	}
	if (!elf.tohost || elf.tohost - WSE_SRAM_BASE > WSE_SRAM_BYTES - sizeof(run.host)) {
		fprintf(stderr,
			elf.tohost ? "wse-run: %s: its symbol 'tohost' lies outside the SRAM\n"
				   : "wse-run: %s: it has no symbol 'tohost', so nothing would "
				     "tell its end\n",
			o.program);
		goto out;
	}
	if (o.trace && is_same_file(o.trace, o.program)) {
		fprintf(stderr, "wse-run: --trace %s is the program: give another file\n", o.trace);
		goto out;
	}
	if (o.trace && !(run.trace = fopen(o.trace, "w"))) {
		fprintf(stderr, "wse-run: cannot write %s: %s\n", o.trace, strerror(errno));
		goto out;
	}
	wse_lines_find(&run.lines, file, size);
	wse_print_find(&run.printed.print, file, size);
	if (o.profile &&
	    profile_open(o.profile, o.rows, o.cols, &run.lines, &run.profile, why, sizeof(why))) {
		fprintf(stderr, "wse-run: --profile: %s\n", why);
		goto out;
	}
	if (o.replay && replay_open(o.replay, o.rows, o.cols, &run.replay, why, sizeof(why))) {
		fprintf(stderr, "wse-run: --replay: %s\n", why);
		goto out;
	}
	run.core = o.y * o.cols + o.x;
	run.first = o.all ? 0 : run.core;
	run.end = o.all ? o.rows * o.cols : run.core + 1;
	if (find_window(&run, &o, &elf) || open_model(&run, &o))
		goto out;
	if (!start(&run, &o, &elf) && !wave(&run, &o, true) && (!o.gdb || !meet_debugger(&run, &o)))
		status = execute(&run, &o, &elf);
	if (status != EXIT_USAGE && wave(&run, &o, false))
		status = EXIT_USAGE;
	profile_end(run.profile); /* before counters are read, which takes cycles */
	if (status != EXIT_USAGE && causes(&run, &o))
		status = EXIT_USAGE;
	if (status != EXIT_USAGE && heat(&run, &o))
		status = EXIT_USAGE;
	causes_free(run.causes);
	gdb_close(run.server);
	gdb_destroy(run.gdb);
	run.ops->destroy(run.machine);
out:
	if (replay_close(run.replay, why, sizeof(why)) && status != EXIT_USAGE) {
		fprintf(stderr, "wse-run: --replay: %s\n", why);
		status = EXIT_USAGE;
	}
	if (profile_close(run.profile, why, sizeof(why)) && status != EXIT_USAGE) {
		fprintf(stderr, "wse-run: --profile: %s\n", why);
		status = EXIT_USAGE;
	}
	if (close_trace(&run, &o) && status != EXIT_USAGE)
		status = EXIT_USAGE;
	if (status != EXIT_USAGE && wse_said("wse-run", 1))
		status = EXIT_USAGE;
	free(file);
	return status;
}
