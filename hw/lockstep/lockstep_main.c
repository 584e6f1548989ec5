// SPDX-License-Identifier: MIT
/*
 * wse-lockstep: random programs on rtl and func until a difference. Names the difference, and the
 * seed that shows it again.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lockstep.h"
#include "number.h"
#include "twin/func.h"
#include "wse_release.h"
#include "wse_said.h"

static const char usage[] =
	"usage: wse-lockstep [options]\n"
	"Runs random programs on the leading model and the following one, and compares.\n"
	"  --lead MODEL, --follow MODEL  func or rtl (default: rtl leads, func follows)\n"
	"  --rows R, --cols C  shape of the tile (default: 2 x 2)\n"
	"  --group G           columns that share a bus to the host; 0: all one bus (default: 0 below 16\n"
	"                      columns, else 4)\n"
	"  --seed S            of the first program (default: 1)\n"
	"  --programs N, --insns N, --seconds N  stop after so many programs, instructions or\n"
	"                      seconds, whichever comes first (default: 1000000 instructions)\n"
	"  --kind scalar|tensor|fault|host|stream|fabric|broken|mixed|cut\n"
	"                      of the programs (default: as the seed says)\n"
	"  --commands N        only the first N commands of a program, to find which one it is\n"
	"                      (default: all)\n"
	"  --calm              no random DMA latency and back-pressure in the leader\n"
	"  --shuffle           the follower runs in another order of events for each --seed\n"
	"  --exact             func takes none of its fast paths: a difference that is gone then is theirs\n"
	"  --ends              compare final states alone: the follower runs untraced, and so takes the fast\n"
	"                      paths from which a trace keeps the twin\n"
	"  --events            compare the models' events, too, but for their time\n"
	"                      (hw/doc/events.md); func is exact then\n"
	"  --reach WAY=N[,WAY=N]  func, the follower, must have taken these ways so often (hw/twin/README.md)\n"
	"  --parts             func cuts its tile into parts, as it does with tiles of 256 cores\n"
	"  --inject N          falsify the Nth instruction (with --events: event) of the\n"
	"                      follower; the judge must notice\n"
	"  --keep-going        do not end at the first difference\n"
	"  --wave FILE.fst[,from=A][,to=B][,core=X.Y]  waves of the RTL around the first difference, of its\n"
	"                      core, from a run of that program again (make tile TRACE=fst; default: none)\n"
	"  --coverage FILE     write what the programs reached as tables of a page, too\n"
	"  --tap, --verbose    how results are shown (default: a line in the end)\n"
	"  --version, --help\n";

struct options {
	uint64_t programs, insns, seed, inject;
	uint32_t rows, cols, group, seconds, commands;
	const char *lead, *follow, *kind, *coverage, *reach, *wave;
	struct wse_wave_window window;
	bool calm, shuffle, exact, ends, events, parts, keep_going, tap, verbose;
};

#define MAX_CYCLES 50000000u /* of one program: none takes a tenth of that */

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))

static void scalar(struct ls_program *p, struct rng *r)
{
	ls_gen_scalar(p, r, rng_range(r, 200, 4000));
}

static const struct kind {
	const char *name;
	uint32_t percent; /* share of the programs, unless the user chooses a kind */
	void (*generate)(struct ls_program *p, struct rng *r);
} kinds[] = {
	{"scalar", 29, scalar},	      {"tensor", 42, ls_gen_tensor}, {"fault", 9, ls_gen_fault},
	{"host", 8, ls_gen_host},     {"stream", 1, ls_gen_stream},  {"fabric", 6, ls_gen_fabric},
	{"broken", 2, ls_gen_broken}, {"mixed", 1, ls_gen_mixed},    {"cut", 2, ls_gen_cut},
};

static const struct kind *find_kind(const char *name)
{
	for (unsigned int i = 0; i < COUNT(kinds); i++) {
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	}
	return NULL;
}

/*
 * A floor of the list WAY=N,...: the way's place in struct twin_ways, and what comes behind it;
 * negative: bad.
 */
static int floor_of(const char **list, uint64_t *least)
{
	static const char *const names[] = {
#define NAME_OF(name, what) #name,
		TWIN_WAYS(NAME_OF)
#undef NAME_OF
	};
	size_t length = strcspn(*list, "=");
	char *end;

	if ((*list)[length] != '=' || (*list)[length + 1] < '0' || (*list)[length + 1] > '9')
		return -1;
	*least = strtoull(*list + length + 1, &end, 10);
	if (*end && *end != ',')
		return -1;
	for (unsigned int i = 0; i < COUNT(names); i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], *list, length)) {
			*list = *end ? end + 1 : end;
			return (int)i;
		}
	}
	return -1;
}

static int check_floors(const char *list)
{
	uint64_t least;

	do {
		if (floor_of(&list, &least) < 0) {
			fprintf(stderr,
				"wse-lockstep: --reach needs WAY=N, a way of hw/twin/README.md and "
				"how often, not '%s'\n",
				list);
			return -EINVAL;
		}
	} while (*list);
	return 0;
}

static int check_wave(struct options *o)
{
	const struct wse_machine_cfg cfg = {.rows = o->rows, .cols = o->cols, .group = o->group};
	char why[400];

	if (!o->wave)
		return 0;
	if (!wse_wave_parse(o->wave, &o->window, why, sizeof(why))) {
		if (o->window.step)
			snprintf(why, sizeof(why), "step= is of training: programs have none");
		else if (!ls_wave_check(&cfg, &o->window, why, sizeof(why)))
			return 0;
	}
	fprintf(stderr, "wse-lockstep: --wave: %s\n", why);
	return -EINVAL;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"programs", 1, NULL, 'p'},
		{"insns", 1, NULL, 'n'},
		{"seed", 1, NULL, 's'},
		{"rows", 1, NULL, 'R'},
		{"cols", 1, NULL, 'C'},
		{"group", 1, NULL, 'G'},
		{"lead", 1, NULL, 'l'},
		{"follow", 1, NULL, 'f'},
		{"kind", 1, NULL, 'k'},
		{"inject", 1, NULL, 'i'},
		{"seconds", 1, NULL, 'S'},
		{"commands", 1, NULL, 'm'},
		{"coverage", 1, NULL, 'C' + 256},
		{"wave", 1, NULL, 'w'},
		{"calm", 0, NULL, 'c'},
		{"shuffle", 0, NULL, 'u'},
		{"exact", 0, NULL, 'e'},
		{"ends", 0, NULL, 'E'},
		{"events", 0, NULL, 'E' + 256},
		{"parts", 0, NULL, 'P'},
		{"reach", 1, NULL, 'r'},
		{"keep-going", 0, NULL, 'g'},
		{"tap", 0, NULL, 't'},
		{"verbose", 0, NULL, 'v'},
		{"version", 0, NULL, 'V'},
		{"help", 0, NULL, 'h'},
		{0},
	};
	int c, at;

	*o = (struct options){
		.programs = UINT64_MAX,
		.insns = UINT64_MAX,
		.seed = 1,
		.rows = 2,
		.cols = 2,
		.group = UINT32_MAX,
		.lead = "rtl",
		.follow = "func",
	};
	opterr = 0; /* one line, ours */
	while ((c = getopt_long(argc, argv, "", longs, &at)) != -1) {
		uint64_t n = 0;
		int err = 0;

		switch (c) {
		case 'p':
			err = wse_number("wse-lockstep: --programs", optarg, 1, UINT64_MAX,
					 &o->programs);
			break;
		case 'n':
			err = wse_number("wse-lockstep: --insns", optarg, 1, UINT64_MAX, &o->insns);
			break;
		case 's':
			err = wse_number("wse-lockstep: --seed", optarg, 0, UINT64_MAX, &o->seed);
			break;
		case 'i':
			err = wse_number("wse-lockstep: --inject", optarg, 1, UINT64_MAX,
					 &o->inject);
			break;
		case 'R':
			err = wse_number("wse-lockstep: --rows", optarg, 1, 64, &n);
			o->rows = (uint32_t)n;
			break;
		case 'C':
			err = wse_number("wse-lockstep: --cols", optarg, 1, 64, &n);
			o->cols = (uint32_t)n;
			break;
		case 'G':
			err = wse_number("wse-lockstep: --group", optarg, 0, 64, &n);
			o->group = (uint32_t)n;
			break;
		case 'S':
			err = wse_number("wse-lockstep: --seconds", optarg, 1, 1000000, &n);
			o->seconds = (uint32_t)n;
			break;
		case 'm':
			err = wse_number("wse-lockstep: --commands", optarg, 1, LS_MAX_CMDS, &n);
			o->commands = (uint32_t)n;
			break;
		case 'l':
			o->lead = optarg;
			break;
		case 'f':
			o->follow = optarg;
			break;
		case 'k':
			o->kind = optarg;
			break;
		case 'C' + 256:
			o->coverage = optarg;
			break;
		case 'w':
			o->wave = optarg;
			break;
		case 'c':
			o->calm = true;
			break;
		case 'u':
			o->shuffle = true;
			break;
		case 'e':
			o->exact = true;
			break;
		case 'E':
			o->ends = true;
			break;
		case 'E' + 256:
			o->events = o->exact = true;
			break;
		case 'P':
			o->parts = true;
			break;
		case 'r':
			o->reach = optarg;
			err = check_floors(optarg);
			break;
		case 'g':
			o->keep_going = true;
			break;
		case 't':
			o->tap = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'V':
			printf("wse-lockstep " WSE_RELEASE "\n");
			exit(wse_said("wse-lockstep", 1));
		case 'h':
			fputs(usage, stdout);
			exit(wse_said("wse-lockstep", 1));
		default:
			wse_bad_option("wse-lockstep", optind, argv);
			return -EINVAL;
		}
		if (err)
			return err;
	}
	if (optind < argc) {
		fprintf(stderr, "wse-lockstep: unexpected argument '%s'\n", argv[optind]);
		return -EINVAL;
	}
	if (o->rows * o->cols > LS_MAX_CORES) {
		fprintf(stderr,
			"wse-lockstep: --rows %u --cols %u are %u cores: programs are made for at "
			"most %u\n",
			o->rows, o->cols, o->rows * o->cols, LS_MAX_CORES);
		return -EINVAL;
	}
	if (o->group == UINT32_MAX)
		o->group = wse_machine_group(o->cols);
	if (o->group && o->cols % o->group) {
		fprintf(stderr, "wse-lockstep: --group %u does not divide the %u columns\n",
			o->group, o->cols);
		return -EINVAL;
	}
	if (check_wave(o))
		return -EINVAL;
	if (o->ends && o->inject) {
		fprintf(stderr,
			"wse-lockstep: --inject falsifies what a trace says, --ends has none\n");
		return -EINVAL;
	}
	if (o->reach && strcmp(o->follow, "func")) {
		fprintf(stderr, "wse-lockstep: --reach asks for ways of func, but %s follows\n",
			o->follow);
		return -EINVAL;
	}
	if (o->programs == UINT64_MAX && o->insns == UINT64_MAX && !o->seconds)
		o->insns = 1000000;
	if (o->kind && !find_kind(o->kind)) {
		fprintf(stderr, "wse-lockstep: --kind is one of");
		for (unsigned int i = 0; i < COUNT(kinds); i++)
			fprintf(stderr, " %s", kinds[i].name);
		fprintf(stderr, ", not '%s'\n", o->kind);
		return -EINVAL;
	}
	return 0;
}

/* The program of a seed: the seed determines all of it, and its kind unless the user chose one. */
static void generate(struct ls_program *p, const struct options *o, uint64_t seed)
{
	struct rng r = {seed};
	uint32_t k = rng_below(&r, 100);
	const struct kind *kind = kinds;

	while (k >= kind->percent)
		k -= kind++->percent;
	if (o->kind)
		kind = find_kind(o->kind);
	ls_blank(p);
	p->seed = seed;
	kind->generate(p, &r);
	if (o->commands && o->commands < p->ncmds)
		p->ncmds = o->commands;
}

static void list_commands(const struct ls_program *p)
{
	for (unsigned int i = 0; i < p->ncmds; i++) {
		const struct wse_sqe *s = &p->cmd[i].sqe;

		printf("# queue %u cid %u opcode 0x%02x flags 0x%02x %u,%u %ux%u buf 0x%" PRIx64
		       " shift %u off 0x%" PRIx64
		       " sram 0x%x len %u nline %u strides %u %u %u %u color %u kcol %u nfeat %u "
		       "etype %u budget %" PRIu64 "\n",
		       p->cmd[i].queue, s->cid, s->opcode, s->flags, s->row0, s->col0, s->rows,
		       s->cols, (uint64_t)s->buf, s->pshift, (uint64_t)s->off, s->sram, s->len,
		       s->nline, s->lstride, s->sstride, s->cstride, s->rstride, s->color, s->kcol,
		       s->nfeat, s->etype, (uint64_t)s->budget);
	}
}

/* The program that runs before, and how it ends. */
static void list_before(const struct ls_before *b)
{
	static const char *const reset[] = {"CTX_RESET", "CTRL.RST", "function-level reset"};

	if (!b->prog)
		return;
	printf("# before: %s, %u commands, %u cycles\n", b->prog->kind, b->prog->ncmds, b->delay);
	for (unsigned int i = 0; i < b->nends; i++)
		printf("# then: queue %u opcode 0x%02x %u,%u %ux%u queue %u, %u cycles\n",
		       b->end[i].queue, b->end[i].sqe.opcode, b->end[i].sqe.row0,
		       b->end[i].sqe.col0, b->end[i].sqe.rows, b->end[i].sqe.cols,
		       b->end[i].sqe.queue, b->gap[i]);
	printf("# then: %s\n", reset[b->reset]);
}

static void list_completions(const struct ls_rig *rig)
{
	for (unsigned int q = 0; q < LS_QUEUES; q++) {
		for (unsigned int i = 0; i < rig->q[q].ndone; i++) {
			const struct ls_done *d = &rig->q[q].done[i];

			printf("# %s: queue %u cid %u status %u", rig->ops->name, q, d->cid,
			       d->status);
			if (d->has_fault)
				printf(", cause 0x%x core %u,%u pc 0x%x addr 0x%x color %u value "
				       "0x%x (%u cores)",
				       d->fault.cause, d->fault.col, d->fault.row, d->fault.pc,
				       d->fault.addr, d->fault.color, d->fault.value,
				       d->fault.ncores);
			printf("\n");
		}
	}
}

static void list_cores(const struct ls_rig *rig)
{
	for (uint32_t core = 0; core < rig->rows * rig->cols; core++) {
		struct wse_core_state s = {0};
		uint32_t insn = 0;

		rig->ops->get_state(rig->machine, core, &s);
		rig->ops->peek(rig->machine, core, s.pc & ~3u, &insn, sizeof(insn));
		printf("# %s: core %u,%u state %u pc 0x%08x [%08x] after %" PRIu64
		       " instructions, x5 0x%x x6 0x%x\n",
		       rig->ops->name, core % rig->cols, core / rig->cols, s.run, s.pc, insn,
		       s.minstret, s.x[5], s.x[6]);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int write_coverage(const struct options *o, const struct ls_judge *j)
{
	FILE *f = fopen(o->coverage, "w");

	if (!f) {
		fprintf(stderr, "wse-lockstep: cannot write %s: %s\n", o->coverage,
			strerror(errno));
		return -errno;
	}
	ls_cover_print(&j->cover, &j->lead, f, true);
	return fclose(f) ? -errno : 0;
}

/*
 * How often the twin, if it is the follower, took each of its fast paths, in all or since a
 * difference.
 */
static void list_ways(const struct ls_rig *rig)
{
	struct twin_ways w;

	if (strcmp(rig->ops->name, "func"))
		return;
	twin_ways(rig->machine, &w);
	printf("# ways of the twin:");
#define LIST_WAY(name, what) printf(" " #name ":%" PRIu64, w.name);
	TWIN_WAYS(LIST_WAY)
#undef LIST_WAY
	printf("\n");
}

static void list_events(const struct ls_judge *j)
{
	printf("# events compared: tasks %" PRIu64 " and %" PRIu64 " ends, instructions of engines "
	       "%" PRIu64 " and %" PRIu64 " ends, wavelets in %" PRIu64 " out %" PRIu64
	       " hops %" PRIu64 ", faults %" PRIu64 ", commands %" PRIu64 " and %" PRIu64 " ends\n",
	       j->told[WSE_EV_TASK], j->told[WSE_EV_TASK_END], j->told[WSE_EV_ENGINE],
	       j->told[WSE_EV_ENGINE_END], j->told[WSE_EV_IN], j->told[WSE_EV_OUT],
	       j->told[WSE_EV_HOP], j->told[WSE_EV_FAULT], j->told[WSE_EV_COMMAND],
	       j->told[WSE_EV_COMMAND_END]);
}

/* Says which of the floors the twin is below; true: there is one. */
static bool not_reached(const struct ls_rig *rig, const char *list)
{
	uint64_t n[sizeof(struct twin_ways) / sizeof(uint64_t)], least;
	struct twin_ways w;
	bool missed = false;

	twin_ways(rig->machine, &w);
	memcpy(n, &w, sizeof(n));
	while (*list) {
		const char *name = list;
		int way = floor_of(&list, &least);

		if (n[way] >= least)
			continue;
		printf("# the twin took the way '%.*s' %" PRIu64 " times, not %" PRIu64 "\n",
		       (int)strcspn(name, "="), name, n[way], least);
		missed = true;
	}
	return missed;
}

/* 0: alike, 1: they differ, 2: alike, but by other ways than asked for; negative: cannot run. */
static int campaign(const struct options *o, struct ls_program *p, struct ls_judge *j)
{
	struct wse_machine_cfg cfg = {
		.rows = o->rows,
		.cols = o->cols,
		.group = o->group,
		.seed = o->calm ? 0 : o->seed | 1,
		.flags = (o->shuffle ? WSE_MACHINE_SHUFFLE : 0) |
			 (o->exact ? WSE_MACHINE_EXACT : 0) | (o->parts ? TWIN_MODEL_PARTS : 0),
	};
	double end = o->seconds ? now() + o->seconds : 0;
	int err = ls_judge_create(j, o->lead, o->follow, &cfg), result = 0;
	uint64_t i;

	j->inject = o->events ? 0 : o->inject;
	j->seen[1].inject = o->events ? o->inject : 0;
	j->ends = o->ends;
	j->events = o->events;
	for (i = 0; !err && i < o->programs && j->retired < o->insns && (!end || now() < end);
	     i++) {
		generate(p, o, o->seed + i);
		if (o->verbose)
			printf("# seed %" PRIu64 " %s\n", p->seed, p->kind);
		if (o->verbose) {
			list_before(&p->before);
			list_commands(p);
		}
		if (!ls_judge_run(j, p, MAX_CYCLES))
			continue;
		result = 1;
		printf("# difference: %s\n# again: wse-lockstep --lead %s --follow %s --rows %u "
		       "--cols %u --group %u --programs 1 "
		       "--seed %" PRIu64 "%s%s%s%s%s%s%s%s   (%s)\n",
		       j->what, o->lead, o->follow, o->rows, o->cols, o->group, p->seed,
		       o->kind ? " --kind " : "", o->kind ? o->kind : "", o->calm ? " --calm" : "",
		       o->shuffle ? " --shuffle" : "", o->exact ? " --exact" : "",
		       o->ends ? " --ends" : "", o->events ? " --events" : "",
		       o->parts ? " --parts" : "", p->kind);
		if (o->wave) {
			char said[1400];

			/* what the option falsifies is not there again, but the place is */
			ls_wave_difference(j, &cfg, &o->window, MAX_CYCLES, said, sizeof(said));
			printf("# %s\n", said);
		}
		if (o->verbose) {
			list_completions(&j->lead);
			list_cores(&j->lead);
			list_completions(&j->follow);
			list_cores(&j->follow);
		}
		if (!o->keep_going)
			break;
		/* new models: the remains of the difference must not count again */
		err = ls_judge_renew(j, o->lead, o->follow, &cfg);
	}
	if (err)
		return err;
	printf("# %" PRIu64 " programs, %" PRIu64 " instructions, %" PRIu64 " traps, %" PRIu64
	       " task picks compared\n",
	       i, j->retired, j->traps, j->picks);
	if (o->events)
		list_events(j);
	list_ways(&j->follow);
	if (o->reach && !result && not_reached(&j->follow, o->reach))
		result = 2;
	ls_cover_print(&j->cover, &j->lead, stdout, false);
	return o->coverage && !result ? write_coverage(o, j) : result;
}

static int room(struct ls_program *p, const struct options *o)
{
	p->rows = o->rows;
	p->group = o->group;
	p->cols = o->cols;
	p->image = malloc((size_t)o->rows * o->cols * sizeof(*p->image));
	p->mem = malloc(LS_MEM);
	return p->image && p->mem ? 0 : -ENOMEM;
}

int main(int argc, char **argv)
{
	static struct ls_program p, spare;
	static struct ls_judge j;
	struct options o;
	int result;

	wse_std_open();
	if (parse(argc, argv, &o))
		return 2;
	if (!wse_machine_find(o.lead) || !wse_machine_find(o.follow)) {
		const char *missing = wse_machine_find(o.lead) ? o.follow : o.lead;

		if (o.tap)
			printf("1..0 # SKIP the model %s was not built\n", missing);
		else
			fprintf(stderr,
				"wse-lockstep: the model '%s' was not built into this program\n",
				missing);
		return o.tap ? 0 : 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	p.spare = &spare;
	result = room(&p, &o);
	if (!result)
		result = room(&spare, &o);
	if (!result)
		result = campaign(&o, &p, &j);
	ls_judge_destroy(&j);
	if (result < 0)
		fprintf(stderr, "wse-lockstep: cannot run %s and %s at %ux%u: %s\n", o.lead,
			o.follow, o.rows, o.cols, strerror(-result));
	if (!o.tap && result >= 0)
		printf("%s and %s %s on %ux%u%s\n", o.lead, o.follow,
		       result == 1 ? "DIFFER" : "agree", o.rows, o.cols,
		       result == 2 ? ", BUT NOT BY THE WAYS ASKED FOR" : "");
	if (o.tap)
		printf("%sok 1 - %s and %s agree on %ux%u%s%s\n1..1\n", result ? "not " : "",
		       o.lead, o.follow, o.rows, o.cols, o.reach ? ", by " : "",
		       o.reach ? o.reach : "");
	free(p.image);
	free(p.mem);
	free(spare.image);
	free(spare.mem);
	return result ? 1 : 0;
}
