// SPDX-License-Identifier: MIT
/* wse-top: what wafers and runs are doing, on a terminal or as text. See wse-top.1. */
#include "wse-top.h"

#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <wse/wse.h>

#include "wse_said.h"

static const char usage[] =
	"usage: wse-top [SOCKET...] [options]\n"
	"Shows wafers behind /dev/accel, and runs by the sockets of `wse-train --live SOCKET`: who has\n"
	"them, commands and bytes a second, busy lanes, a heat map of the cores.\n"
	"Keys: up and down choose a device, left and right what the map shows, q ends it.\n"
	"  -d, --delay SECONDS  from picture to picture (default: 1)\n"
	"  -b, --batch          print pictures as text (default: on the terminal)\n"
	"  -n, --number N       end after N pictures (default: until q, or SIGINT)\n"
	"      --once           the same as -b -n 1\n"
	"  -w, --width COLUMNS  of a picture with -b, 60 to 250 (default: 80)\n"
	"      --map NAME       mac (default), lwait, instret, link\n"
	"                       (multiply-adds of the lanes, cycles in which they wait, instructions,\n"
	"                       wavelets that leave by links)\n"
	"  --version, --help\n";

static const char *const map_names[TOP_MAPS] = {"mac", "lwait", "instret", "link"};

struct options {
	double delay;
	unsigned long number, width;
	int batch;
	enum top_map map;
};

/* a picture that a run has not renewed says nothing about rates: the older one stays beside it */
static int refresh_source(struct top_source *s)
{
	struct top_look *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	if (s->node)
		top_ask_node(s, l);
	else
		top_ask_run(s->name, l);
	if (s->now && !l->says[0] && !s->now->says[0] && l->process == s->now->process &&
	    l->time <= s->now->time) {
		top_look_free(s->now);
	} else {
		top_look_free(s->before);
		s->before = s->now;
		if (s->before && s->before->says[0]) {
			top_look_free(s->before);
			s->before = NULL;
		}
	}
	s->now = l;
	return 0;
}

static void free_source(struct top_source *s)
{
	wse_device_close(s->dev);
	top_look_free(s->now);
	top_look_free(s->before);
}

int top_refresh(struct top *t)
{
	int ret = 0;

	top_find_nodes(t);
	for (uint32_t i = 0; i < t->nsources && !ret; i++)
		ret = refresh_source(&t->source[i]);
	if (t->chosen && t->chosen >= top_ndevices(t))
		t->chosen = top_ndevices(t) ? top_ndevices(t) - 1 : 0;
	return ret;
}

void top_free(struct top *t)
{
	for (uint32_t i = 0; i < t->nsources; i++)
		free_source(&t->source[i]);
}

uint32_t top_ndevices(const struct top *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nsources; i++)
		n += t->source[i].now ? t->source[i].now->ndevices : 0;
	return n;
}

const struct top_device *top_device(const struct top *t, uint32_t i)
{
	for (uint32_t k = 0; k < t->nsources; k++) {
		const struct top_look *l = t->source[k].now;

		if (l && i < l->ndevices)
			return &l->device[i];
		i -= l ? l->ndevices : 0;
	}
	return NULL;
}

/* ---- the terminal ---- */

#define HEAT_AT 5 /* column of a map's first cell */

struct screen {
	int row, colors;
};

/* a cell's color: from dark to bright by its digit */
static attr_t heat_attr(const struct screen *sc, char c)
{
	if (c < '1' || c > '9')
		return A_DIM;
	return sc->colors ? (attr_t)COLOR_PAIR(1 + (c - '1') / 3) : c > '6' ? A_BOLD : A_NORMAL;
}

static void screen_line(void *ctx, const char *text, int chosen, int heat)
{
	struct screen *sc = ctx;

	mvaddstr(sc->row, 0, text);
	if (sc->row == 1)
		mvchgat(sc->row, 0, -1, A_UNDERLINE, 0, NULL);
	if (chosen)
		mvchgat(sc->row, 0, -1, A_REVERSE, 0, NULL);
	for (size_t i = HEAT_AT; heat && i < strlen(text); i += 2)
		mvaddch(sc->row, (int)i, (chtype)(unsigned char)text[i] | heat_attr(sc, text[i]));
	sc->row++;
}

static void draw_screen(const struct top *t, int colors)
{
	struct screen sc = {.colors = colors};

	erase();
	top_draw(t, (uint32_t)COLS, (uint32_t)LINES, screen_line, &sc);
	refresh();
}

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

/* 1: the end */
static int key(struct top *t, int c)
{
	switch (c) {
	case 'q':
		return 1;
	case KEY_UP:
		t->chosen -= t->chosen ? 1 : 0;
		break;
	case KEY_DOWN:
		t->chosen += t->chosen + 1 < top_ndevices(t) ? 1 : 0;
		break;
	case KEY_LEFT:
		t->map = (t->map + TOP_MAPS - 1) % TOP_MAPS;
		break;
	case KEY_RIGHT:
		t->map = (t->map + 1) % TOP_MAPS;
		break;
	default: /* KEY_RESIZE: a new picture is all that it needs */
		break;
	}
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int start_colors(void)
{
	if (!has_colors() || start_color() == ERR)
		return 0;
	use_default_colors();
	init_pair(1, COLOR_BLACK, COLOR_CYAN);
	init_pair(2, COLOR_BLACK, COLOR_YELLOW);
	init_pair(3, COLOR_WHITE, COLOR_RED);
	return 1;
}

static int show(struct top *t, const struct options *o)
{
	unsigned long n = 0;
	int ret = 0, done = 0, colors, c;

	keypad(stdscr, TRUE);
	noecho();
	cbreak();
	curs_set(0);
	colors = start_colors();
	while (!ret && !done && !ended) {
		double next = now() + o->delay;

		ret = top_refresh(t);
		if (!ret)
			draw_screen(t, colors);
		done = o->number && ++n == o->number;
		while (!ret && !done && !ended && now() < next) {
			timeout((int)(1e3 * (next - now())) + 1);
			c = getch();
			/* a terminal that is gone has no keys and does not wait */
			if (c == ERR && !isatty(STDIN_FILENO))
				done = 1;
			done |= key(t, c);
			if (c != ERR && !done)
				draw_screen(t, colors);
		}
	}
	return ret;
}

static int on_terminal(struct top *t, const struct options *o)
{
	const char *term = getenv("TERM");
	SCREEN *s = NULL;
	int ret;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		fprintf(stderr, "wse-top: this is no terminal: take --once or --batch\n");
		return 2;
	}
	if (term && *term && strcmp(term, "dumb"))
		s = newterm(NULL, stdout, stdin);
	if (!s) {
		fprintf(stderr,
			"wse-top: the terminal \"%.40s\" (TERM) cannot be used: set TERM, or take --once or "
			"--batch\n",
			term ? term : "");
		return 2;
	}
	ret = show(t, o);
	endwin();
	delscreen(s);
	if (ret)
		fprintf(stderr, "wse-top: no memory\n");
	return ret ? 1 : 0;
}

/* ---- text ---- */

static void text_line(void *ctx, const char *text, int chosen, int heat)
{
	(void)ctx, (void)chosen, (void)heat;
	puts(text);
}

static int as_text(struct top *t, const struct options *o)
{
	const struct timespec rest = {(time_t)o->delay,
				      (long)(1e9 * (o->delay - (double)(time_t)o->delay))};
	int missing = 0;

	for (unsigned long n = 0; !ended && (!o->number || n < o->number); n++) {
		if (n) {
			nanosleep(&rest, NULL);
			puts("");
		}
		if (ended)
			break;
		if (top_refresh(t)) {
			fprintf(stderr, "wse-top: no memory\n");
			return 1;
		}
		top_draw(t, (uint32_t)o->width, 0, text_line, NULL);
		if (wse_said("wse-top", 1))
			return 1;
		missing = 0;
		for (uint32_t i = 0; i < t->nsources; i++)
			missing |= t->source[i].now->says[0] != 0;
		for (uint32_t i = 0; i < top_ndevices(t); i++)
			missing |= top_device(t, i)->says[0] != 0;
	}
	return missing;
}

/* ---- options ---- */

static int bad_usage(const char *what, const char *value)
{
	fprintf(stderr, "wse-top: %s, not \"%.60s\"; see wse-top --help\n", what, value);
	return 2;
}

static int number(const char *text, double least, double most, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return end == text || *end || !(*v >= least && *v <= most);
}

/* 0 to go on, else the exit status + 1 */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{"delay", 1, NULL, 'd'},   {"batch", 0, NULL, 'b'}, {"number", 1, NULL, 'n'},
		{"once", 0, NULL, 'o'},	   {"width", 1, NULL, 'w'}, {"map", 1, NULL, 'm'},
		{"version", 0, NULL, 'V'}, {"help", 0, NULL, 'h'},  {0}};
	double v = 0.0;
	int c;

	opterr = 0; /* one line, ours */
	while ((c = getopt_long(argc, argv, "d:bn:w:h", opts, NULL)) != -1) {
		if (c == 'd' && number(optarg, 0.1, 3600.0, &o->delay))
			return 1 + bad_usage("--delay takes 0.1 to 3600 seconds", optarg);
		if (c == 'n' && number(optarg, 1.0, 1e9, &v))
			return 1 + bad_usage("--number takes a number from 1 on", optarg);
		if (c == 'n')
			o->number = (unsigned long)v;
		if (c == 'w' && number(optarg, 60.0, 250.0, &v))
			return 1 + bad_usage("--width takes 60 to 250 columns", optarg);
		if (c == 'w')
			o->width = (unsigned long)v;
		if (c == 'b' || c == 'o')
			o->batch = 1;
		if (c == 'o')
			o->number = 1;
		if (c == 'm') {
			for (o->map = 0; o->map < TOP_MAPS && strcmp(map_names[o->map], optarg);)
				o->map++;
			if (o->map == TOP_MAPS)
				return 1 +
				       bad_usage("--map takes mac, lwait, instret or link", optarg);
		}
		if (c == 'V') {
			printf("wse-top %s\n", wse_version());
			return 1 + wse_said("wse-top", 1);
		}
		if (c == 'h') {
			fputs(usage, stdout);
			return 1 + wse_said("wse-top", 1);
		}
		if (c == '?') {
			const char *bad = argv[optind - 1];

			/* of "-xy" getopt() has not gone on to the next word */
			bad = *bad != '-' && argv[optind] ? argv[optind] : bad;
			return 1 +
			       bad_usage("an option that is there, with its value, is wanted", bad);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct top t;
	struct options o = {.delay = 1.0, .width = 80};
	struct sigaction end = {.sa_handler = on_signal};
	int ret;

	wse_std_open();
	ret = parse(argc, argv, &o);
	if (ret)
		return ret - 1;
	for (; optind < argc; optind++) {
		struct top_source *s = &t.source[t.nsources];

		if (t.nsources == TOP_DEVICES)
			return bad_usage("at most 64 sockets", argv[optind]);
		if ((size_t)snprintf(s->name, sizeof(s->name), "%s", argv[optind]) >=
		    sizeof(s->name))
			return bad_usage("a path of a socket has at most 107 bytes", argv[optind]);
		t.nsources++;
	}
	setlocale(LC_CTYPE, "");
	t.map = o.map;
	top_find_nodes(&t);
	if (!t.nsources) {
		fprintf(stderr,
			"wse-top: there is no wafer in /dev/accel: give it the SOCKET of a run of "
			"`wse-train --live SOCKET`\n");
		return 1;
	}
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	ret = o.batch ? as_text(&t, &o) : on_terminal(&t, &o);
	top_free(&t);
	return ret;
}
