// SPDX-License-Identifier: MIT
/* wse-top: the picture, as lines of text. */
#include "wse-top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wse_release.h"

#define WIDEST	   250u /* columns that a picture takes at most */
#define MAP_LEFT   5u	/* the number of a row */
#define NARROW	   24u	/* a device's name, where a line has less than 78 columns */
#define WIDE	   23u
#define LEAST_ROWS 2u /* lines of a map that make one */

struct page {
	uint32_t width, left; /* lines */
	top_line_fn line;
	void *ctx;
};

static void put(struct page *p, int chosen, int heat, const char *text)
{
	char cut[WIDEST + 1];

	if (!p->left)
		return;
	p->left--;
	snprintf(cut, p->width + 1, "%s", text);
	for (size_t n = strlen(cut); n && cut[n - 1] == ' ';)
		cut[--n] = 0;
	p->line(p->ctx, cut, chosen, heat);
}

static void __attribute__((format(printf, 3, 4)))
say(struct page *p, int chosen, const char *fmt, ...)
{
	char text[WIDEST + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(p, chosen, 0, text);
}

/* words that do not fit go on in the next line */
static void say_all(struct page *p, const char *who, const char *what)
{
	char text[TOP_SAYS + 140], line[WIDEST + 1];
	const char *at = text;
	size_t room, n;

	snprintf(text, sizeof(text), "%s: %s", who, what);
	for (int first = 1; *at; first = 0) {
		room = p->width - (first ? 0 : 2);
		n = strlen(at);
		if (n > room) {
			for (n = room; n && at[n] != ' '; n--)
				;
			n = n ? n : room;
		}
		snprintf(line, sizeof(line), "%s%.*s", first ? "" : "  ", (int)n, at);
		put(p, 0, 0, line);
		at += n;
		at += strspn(at, " ");
	}
}

/* "12.3M": at most 6 bytes */
static void brief(char *text, size_t size, double v)
{
	static const char units[] = " kMGTPE";
	unsigned int u = 0;

	while (v >= 999.5 && units[u + 1]) {
		v /= 1000.0;
		u++;
	}
	if (!u)
		snprintf(text, size, v < 9.95 && v != (double)(int)v ? "%.1f" : "%.0f", v);
	else
		snprintf(text, size, v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
}

/* of what it was before; a reset begins anew */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static const struct top_device *earlier(const struct top_source *s, uint32_t i)
{
	const struct top_device *d;

	if (!s->before || i >= s->before->ndevices || s->before->process != s->now->process)
		return NULL;
	d = &s->before->device[i];
	return d->says[0] || strcmp(d->name, s->now->device[i].name) ? NULL : d;
}

/* percent of lanes that were busy with multiply-adds; since the picture before, if any */
static void busy_lanes(char *text, size_t size, const struct top_device *d,
		       const struct top_device *b)
{
	double cycles = (double)(b ? since(d->cycles, b->cycles) : d->cycles);
	double mac = (double)(b ? since(d->mac, b->mac) : d->mac);
	double lanes = (double)d->rows * d->cols * d->lanes;

	if (cycles > 0.0)
		snprintf(text, size, "%.1f", 100.0 * mac / (cycles * lanes));
	else
		snprintf(text, size, "-");
}

static void rate(char *text, size_t size, uint64_t now, uint64_t before, double seconds)
{
	if (seconds > 0.0)
		brief(text, size, (double)since(now, before) / seconds);
	else
		snprintf(text, size, "-");
}

static void queues(char *text, size_t size, const struct top_device *d)
{
	size_t at = 0;

	text[0] = 0;
	for (uint32_t q = 0; q < d->nqueues && at < size; q++) {
		char n[16];

		brief(n, sizeof(n), (double)d->queue[q]);
		at += (size_t)snprintf(text + at, size - at, "%s%s", q ? " " : "", n);
	}
}

/* the end of a name says more than its beginning where it must be cut */
static const char *tail(const char *name, size_t room)
{
	size_t n = strlen(name);

	return n > room ? name + n - room : name;
}

/* of a device's name; a narrow picture has its queues in the next line */
static size_t name_width(const struct page *p)
{
	return p->width >= 78 ? WIDE : NARROW;
}

static void draw_device(struct page *p, const struct top_source *s, uint32_t i, int chosen)
{
	const struct top_device *d = &s->now->device[i], *b = earlier(s, i);
	double seconds = b ? s->now->time - s->before->time : 0.0;
	const size_t wide = name_width(p);
	char lanes[16], cmds[16], rd[16], wr[16], all[100], hold[12] = "";

	if (d->says[0]) {
		say_all(p, d->name, d->says);
		return;
	}
	busy_lanes(lanes, sizeof(lanes), d, b);
	rate(cmds, sizeof(cmds), d->cmds, b ? b->cmds : 0, seconds);
	rate(rd, sizeof(rd), d->rd, b ? b->rd : 0, seconds);
	rate(wr, sizeof(wr), d->wr, b ? b->wr : 0, seconds);
	queues(all, sizeof(all), d);
	if (d->holder[0] && s->node && b && seconds > 0.0 && d->nqueues > 1)
		snprintf(hold, sizeof(hold), " %.0f%%",
			 1e-7 * (double)since(d->busy_ns, b->busy_ns) / seconds / (d->nqueues - 1));
	say(p, chosen, "%c%2u %-*.*s %5s %6s %6s %6s  %s", chosen ? '>' : ' ', i, (int)wide,
	    (int)wide, d->name, lanes, cmds, rd, wr, wide == NARROW ? "" : all);
	if (wide == NARROW)
		say(p, 0, "     commands by queue %s", all);
	if (s->node)
		say(p, 0, "   held by %s%s%s",
		    d->holder[0] ? d->holder : "no process that may be seen",
		    hold[0] ? ", queues busy" : "", hold);
}

static void draw_source(struct page *p, const struct top *t, const struct top_source *s,
			uint32_t first)
{
	const struct top_look *l = s->now;
	char loss[32] = "none yet", most[32] = "";

	if (l->says[0]) {
		say_all(p, tail(s->name, p->width / 2), l->says);
		return;
	}
	if (l->run) {
		if (l->ms > 0.0)
			snprintf(loss, sizeof(loss), "%.5f", l->loss);
		if (l->max_steps)
			snprintf(most, sizeof(most), " of %" PRIu64, l->max_steps);
		say(p, 0, "%s: process %ld", tail(s->name, p->width - 20), l->process);
		say(p, 0, " step %" PRIu64 "%s  loss %s  lr %.4g  norm %.4g", l->step, most, loss,
		    l->lr, l->norm);
		say(p, 0, " %.2f samples/s  %.2f ms/step  counters cost %.2f %%", l->rate, l->ms,
		    l->time > 0.0 ? 100.0 * l->spent / l->time : 0.0);
	}
	for (uint32_t i = 0; i < l->ndevices; i++)
		draw_device(p, s, i, first + i == t->chosen);
}

/* ---- the map ---- */

struct heat {
	const struct top_device *d;
	enum top_map map;
	uint32_t down, right; /* cores that share a cell */
	uint64_t most;
};

static uint64_t core(const struct heat *h, uint32_t row, uint32_t col)
{
	uint32_t i = row * h->d->cols + col;
	const uint64_t *v = h->d->map[h->map];

	return h->map == TOP_LINK ? v[4 * i] + v[4 * i + 1] + v[4 * i + 2] + v[4 * i + 3] : v[i];
}

/* of the cores that share a cell the busiest one */
static uint64_t cell(const struct heat *h, uint32_t row, uint32_t col)
{
	uint64_t most = 0;

	for (uint32_t r = row; r < row + h->down && r < h->d->rows; r++)
		for (uint32_t c = col; c < col + h->right && c < h->d->cols; c++)
			most = core(h, r, c) > most ? core(h, r, c) : most;
	return most;
}

/* '.': 0, else how many ninths of the most it comes up to */
static char shade(uint64_t v, uint64_t most)
{
	uint32_t k = v ? 1 + (uint32_t)(9.0 * ((double)v - 1.0) / (double)most) : 0;

	return v ? (char)('0' + (k > 9 ? 9 : k)) : '.';
}

static void draw_map(struct page *p, const struct top_device *d, enum top_map map)
{
	static const char *const titles[TOP_MAPS] = {
		"multiply-adds of the lanes", "cycles in which lanes wait", "scalar instructions",
		"wavelets that leave by links"};
	const uint32_t fit = (p->width - MAP_LEFT) / 2, lines = p->left > 3 ? p->left - 3 : 0;
	struct heat h = {d, map, 1, 1, 0};
	char text[WIDEST + 1];

	if (!d->map[map] || lines < LEAST_ROWS)
		return;
	h.right = (d->cols + fit - 1) / fit;
	h.down = (d->rows + lines - 1) / lines;
	for (uint32_t r = 0; r < d->rows; r += h.down)
		for (uint32_t c = 0; c < d->cols; c += h.right)
			h.most = cell(&h, r, c) > h.most ? cell(&h, r, c) : h.most;
	put(p, 0, 0, "");
	say(p, 0, "%s: 0 to %" PRIu64 " a core", titles[map], h.most);
	if (h.right > 1 || h.down > 1)
		say(p, 0, "%u x %u cores a place: the busiest of them", h.down, h.right);
	for (uint32_t r = 0; r < d->rows; r += h.down) {
		uint32_t at = (uint32_t)snprintf(text, sizeof(text), "%4u ", r);

		for (uint32_t c = 0; c < d->cols; c += h.right) {
			text[at++] = shade(cell(&h, r, c), h.most);
			text[at++] = ' ';
		}
		text[at] = 0;
		put(p, 0, 1, text);
	}
}

void top_draw(const struct top *t, uint32_t width, uint32_t height, top_line_fn line, void *ctx)
{
	struct page p = {.width = width < WIDEST ? width : WIDEST,
			 .left = height ? height : UINT32_MAX,
			 .line = line,
			 .ctx = ctx};
	const struct top_device *d = top_device(t, t->chosen);
	const int wide = (int)name_width(&p);
	uint32_t first = 0;

	say(&p, 0, "wse-top " WSE_RELEASE "  devices %u", top_ndevices(t));
	say(&p, 0, "    %-*s %5s %6s %6s %6s  %s", wide, "DEVICE", "LANE%", "CMD/s", "RD B/s",
	    "WR B/s", wide == NARROW ? "" : "COMMANDS BY QUEUE");
	for (uint32_t i = 0; i < t->nsources; i++) {
		draw_source(&p, t, &t->source[i], first);
		first += t->source[i].now->ndevices;
	}
	if (d && !d->says[0])
		draw_map(&p, d, t->map);
}
