// SPDX-License-Identifier: MIT
#include "number.h"
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wse_release.h"
#include "wse_said.h"

static const char usage[] =
	"usage: wse-run PROGRAM.elf [options]\n"
	"Runs a bare-metal RV32IM program, linked to 0x80000000 (`make program SRC=file.c`), on one "
	"core or all.\n"
	"It ends when the symbol `tohost` becomes non-zero; the exit status is its low word shifted\n"
	"right by one.\n"
	"  --model func|rtl    the twin, or the RTL (default: func)\n"
	"  --core X,Y          column and row of the core (default: 0,0)\n"
	"  --all               every core runs the program; that of --core ends the run\n"
	"  --rows R, --cols C  shape of the tile (default: 2 x 2)\n"
	"  --max-cycles N      give up after so many device cycles (default: 1000000000)\n"
	"  --trace FILE        a line for each instruction (default: none)\n"
	"  --wave FILE.fst[,from=A][,to=B][,core=X.Y]  with --model rtl: the signals of the cycles A to\n"
	"                      B - 1 since the program began, of one core (column.row) or all, for gtkwave\n"
	"                      (default: none; of a window: the last 10000 cycles, to the end, fault or\n"
	"                      deadlock, for which the program runs twice; all cores)\n"
	"  --replay FILE[,core=X.Y]  what tasks, engines and wavelets do, a line each, of one\n"
	"                      core (column.row) or all; the twin takes none of its fast ways then (default: none)\n"
	"  --profile DIR       when tasks, engines and waits began and ended: a timeline for Perfetto, and a\n"
	"                      table; the twin takes none of its fast ways then (default: none)\n"
	"  --heat FILE.svg     what each core and link has counted, as a picture (default: none)\n"
	"  --waits FILE.svg    how long each core waited for what, as a picture; the twin takes none\n"
	"                      of its fast ways then (default: none)\n"
	"  --gdb PORT|SOCKET   wait for gdb at a TCP port of this host or a unix socket\n"
	"  --version, --help\n";

static int parse_core(const char *text, struct options *o)
{
	int err = wse_number_pair(text, ',', &o->x, &o->y);

	if (err)
		fprintf(stderr, "wse-run: --core needs X,Y (column, row, up to 65535), not '%s'\n",
			text);
	return err;
}

int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"model", 1, NULL, 'm'},      {"core", 1, NULL, 'c'},
		{"max-cycles", 1, NULL, 'n'}, {"rows", 1, NULL, 'R'},
		{"cols", 1, NULL, 'C'},	      {"trace", 1, NULL, 't'},
		{"version", 0, NULL, 'V'},    {"help", 0, NULL, 'h'},
		{"gdb", 1, NULL, 'g'},	      {"wave", 1, NULL, 'w'},
		{"replay", 1, NULL, 'r'},     {"heat", 1, NULL, 'H'},
		{"profile", 1, NULL, 'p'},    {"all", 0, NULL, 'a'},
		{"waits", 1, NULL, 'W'},      {0},
	};
	char why[400];
	uint64_t n;
	int c;

	*o = (struct options){.model = "func", .rows = 2, .cols = 2, .max_cycles = 1000000000};
	opterr = 0; /* one line, ours */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'm':
			o->model = optarg;
			break;
		case 'a':
			o->all = true;
			break;
		case 't':
			o->trace = optarg;
			break;
		case 'H':
			o->heat = optarg;
			break;
		case 'W':
			o->waits = optarg;
			break;
		case 'p':
			o->profile = optarg;
			break;
		case 'r':
			o->replay = optarg;
			break;
		case 'g':
			o->gdb = optarg;
			break;
		case 'w':
			o->waves = true;
			if (!wse_wave_parse(optarg, &o->wave, why, sizeof(why)) && !o->wave.step)
				break;
			fprintf(stderr, "wse-run: %s\n",
				o->wave.step
					? "a window of waves has step= where steps are trained, "
					  "in wse-train"
					: why);
			return -EINVAL;
		case 'c':
			if (parse_core(optarg, o))
				return -EINVAL;
			break;
		case 'n':
			if (wse_number("wse-run: --max-cycles", optarg, 1, UINT64_MAX,
				       &o->max_cycles))
				return -EINVAL;
			break;
		case 'R':
			if (wse_number("wse-run: --rows", optarg, 1, 65535, &n))
				return -EINVAL;
			o->rows = (uint32_t)n;
			break;
		case 'C':
			if (wse_number("wse-run: --cols", optarg, 1, 65535, &n))
				return -EINVAL;
			o->cols = (uint32_t)n;
			break;
		case 'V':
			printf("wse-run " WSE_RELEASE "\n");
			exit(wse_said("wse-run", EXIT_USAGE));
		case 'h':
			fputs(usage, stdout);
			exit(wse_said("wse-run", EXIT_USAGE));
		default:
			wse_bad_option("wse-run", optind, argv);
			return -EINVAL;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "wse-run: one program is needed, see --help\n");
		return -EINVAL;
	}
	o->program = argv[optind];
	if (o->x >= o->cols || o->y >= o->rows) {
		fprintf(stderr,
			"wse-run: core %u,%u is outside the tile of %u columns and %u rows\n", o->x,
			o->y, o->cols, o->rows);
		return -EINVAL;
	}
	return 0;
}
