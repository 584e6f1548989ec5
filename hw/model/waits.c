// SPDX-License-Identifier: MIT
#include "waits.h"

#include <stdbool.h>
#include <stdio.h>

#include "wse_regs.h"

enum { NORTH, EAST, SOUTH, WEST, RAMP, NO_PORT = 7 };

static uint32_t row_of(const struct wse_wafer *w, uint32_t core)
{
	return core / w->cols;
}

static uint32_t col_of(const struct wse_wafer *w, uint32_t core)
{
	return core % w->cols;
}

static const int d_row[4] = {-1, 0, 1, 0}, d_col[4] = {0, 1, 0, -1};
static const char *const side[4] = {"north", "east", "south", "west"};

/* the core on a side; ~0: the edge */
static uint32_t neighbour(const struct wse_wafer *w, uint32_t core, unsigned int port)
{
	uint32_t row = row_of(w, core) + (uint32_t)d_row[port];
	uint32_t col = col_of(w, core) + (uint32_t)d_col[port];

	return row < w->rows && col < w->cols ? row * w->cols + col : ~0u;
}

static bool units(const struct wse_wafer *w, uint32_t core, struct wse_core_units *u)
{
	return !w->ops->get_units(w->machine, core, u);
}

/*
 * which output of a core's router takes no more of a color; *in: the input that it leads to, of
 * *next
 */
static void full_output(const struct wse_wafer *w, uint32_t core, unsigned int color, char *whom,
			size_t n)
{
	struct wse_core_units u, v;

	for (uint32_t hops = 0; hops <= w->rows * w->cols && units(w, core, &u); hops++) {
		uint32_t next = ~0u;

		if (u.tx[color] >> RAMP & 1 && u.recv[color] == WSE_CHAN_DEPTH) {
			snprintf(whom, n, "core %u,%u: takes no wavelet of color %u",
				 col_of(w, core), row_of(w, core), color);
			return;
		}
		for (unsigned int p = 0; p < 4 && next == ~0u; p++) {
			if (!(u.tx[color] >> p & 1))
				continue;
			next = neighbour(w, core, p);
			if (next == ~0u) {
				snprintf(whom, n,
					 p == SOUTH
						 ? "host: a STREAM_OUT of color %u from column %u"
						 : "no one: color %u leaves the tile, column %u",
					 color, col_of(w, core));
				if (p != SOUTH)
					return;
				continue;
			}
			if (!units(w, next, &v))
				return;
			if (v.queue[p ^ 2][color] < WSE_CHAN_DEPTH) {
				next = ~0u;
				continue;
			}
			if (v.rx[color] != (p ^ 2)) {
				snprintf(whom, n,
					 "core %u,%u: its route of color %u does not take from %s",
					 col_of(w, next), row_of(w, next), color, side[p ^ 2]);
				return;
			}
		}
		if (next == ~0u)
			return;
		core = next;
	}
}

/* who sends what a core wants to read */
static void source(const struct wse_wafer *w, uint32_t core, unsigned int color, char *whom,
		   size_t n)
{
	struct wse_core_units u;

	for (uint32_t hops = 0; hops <= w->rows * w->cols && units(w, core, &u); hops++) {
		unsigned int port = u.rx[color];
		uint32_t col = col_of(w, core), row = row_of(w, core), next;

		if (port == NO_PORT) {
			snprintf(whom, n, "core %u,%u: has no route for color %u", col, row, color);
			return;
		}
		if (u.queue[port][color]) {
			snprintf(whom, n, "core %u,%u: wavelets of color %u wait in its router",
				 col, row, color);
			full_output(w, core, color, whom, n);
			return;
		}
		if (port == RAMP) {
			snprintf(whom, n, "core %u,%u: sends on color %u", col, row, color);
			return;
		}
		next = neighbour(w, core, port);
		if (next == ~0u) {
			snprintf(whom, n,
				 port == NORTH ? "host: a STREAM_IN of color %u to column %u"
					       : "no one: color %u comes from outside, column %u",
				 color, col);
			return;
		}
		if (!units(w, next, &u))
			return;
		if (!(u.tx[color] >> (port ^ 2) & 1)) {
			snprintf(whom, n, "core %u,%u: its route of color %u does not lead %s",
				 col_of(w, next), row_of(w, next), color, side[port ^ 2]);
			return;
		}
		core = next;
	}
	snprintf(whom, n, "no one: the route of color %u is a circle", color);
}

static void room(const struct wse_wafer *w, uint32_t core, unsigned int color, char *whom, size_t n)
{
	struct wse_core_units u;

	if (!units(w, core, &u))
		return;
	if (u.rx[color] != RAMP)
		snprintf(whom, n, "core %u,%u: its route of color %u does not take from the ramp",
			 col_of(w, core), row_of(w, core), color);
	else
		full_output(w, core, color, whom, n);
}

static unsigned int kind(const uint32_t dsr[4])
{
	return dsr[3] & WSE_DSR3_KIND_MASK;
}

static bool reads(const struct wse_core_units *u, const uint32_t dsr[4], unsigned int *color)
{
	if (kind(dsr) != WSE_KIND_FABIN || dsr[0] >= WSE_NCOLORS || u->recv[dsr[0]])
		return false;
	*color = dsr[0];
	return true;
}

static void engine(const struct wse_wafer *w, uint32_t core, const struct wse_core_units *u,
		   unsigned int e, char *what, size_t nwhat, char *whom, size_t nwhom)
{
	static const char *const name[3] = {"L", "M0", "M1"};
	const struct wse_tensor_ins *t = &u->running[e];
	unsigned int color;

	snprintf(what, nwhat, "engine %s", name[e]);
	if (!(u->busy >> e & 1)) {
		return;
	} else if (reads(u, t->src1, &color) || reads(u, t->src2, &color)) {
		snprintf(what, nwhat, "engine %s reads color %u", name[e], color);
		source(w, core, color, whom, nwhom);
	} else if (kind(t->dst) == WSE_KIND_FABOUT && t->dst[0] < WSE_NCOLORS &&
		   u->queue[RAMP][t->dst[0]]) {
		snprintf(what, nwhat, "engine %s sends on color %u", name[e], t->dst[0]);
		room(w, core, t->dst[0], whom, nwhom);
	} else if ((kind(t->src1) == WSE_KIND_DOTQ || kind(t->src2) == WSE_KIND_DOTQ) && !u->dotq) {
		snprintf(what, nwhat, "engine %s reads the DOT queue", name[e]);
		snprintf(whom, nwhom, "core %u,%u: its engine L", col_of(w, core), row_of(w, core));
	} else if (u->dotq == WSE_DOTQ_DEPTH) {
		snprintf(what, nwhat, "engine %s: the DOT queue is full", name[e]);
		snprintf(whom, nwhom, "core %u,%u: its movers", col_of(w, core), row_of(w, core));
	}
}

static void task(const struct wse_wafer *w, uint32_t core, const struct wse_core_units *u,
		 char *what, size_t nwhat, char *whom, size_t nwhom)
{
	unsigned int color;

	for (color = 0; color < WSE_NCOLORS; color++)
		if (u->bind[0][color] != 0xff || u->bind[1][color] != 0xff)
			break;
	if (color == WSE_NCOLORS) {
		snprintf(what, nwhat, "a start (TNEXT)");
		snprintf(whom, nwhom, "host: a START");
		return;
	}
	snprintf(what, nwhat, "a start, or color %u (TNEXT)", color);
	source(w, core, color, whom, nwhom);
}

void wse_find_waits(const struct wse_wafer *w, uint32_t core, struct wse_waits *out)
{
	char *what = out->what, *whom = out->whom;
	const size_t nwhat = sizeof(out->what), nwhom = sizeof(out->whom);
	struct wse_core_units u;
	unsigned int e;

	*what = *whom = 0;
	if (!units(w, core, &u))
		return;
	switch (u.wait_cause) {
	case WSE_CAUSE_WAIT_TASK:
		task(w, core, &u, what, nwhat, whom, nwhom);
		return;
	case WSE_CAUSE_WAIT_RECV:
		snprintf(what, nwhat, "a wavelet of color %u (RECV)", u.wait_color);
		if (u.wait_color < WSE_NCOLORS)
			source(w, core, u.wait_color, whom, nwhom);
		return;
	case WSE_CAUSE_WAIT_SEND:
		snprintf(what, nwhat, "room on color %u (SEND)", u.wait_color);
		if (u.wait_color < WSE_NCOLORS)
			room(w, core, u.wait_color, whom, nwhom);
		return;
	case WSE_CAUSE_WAIT_L:
	case WSE_CAUSE_WAIT_M0:
	case WSE_CAUSE_WAIT_M1:
		e = u.wait_cause - WSE_CAUSE_WAIT_L;
		engine(w, core, &u, e, what, nwhat, whom, nwhom);
		return;
	case WSE_CAUSE_WAIT_ENGINE:
		snprintf(what, nwhat, "its engines");
		for (e = 0; e < 3 && !*whom; e++)
			if (u.busy >> e & 1)
				engine(w, core, &u, e, what, nwhat, whom, nwhom);
		return;
	}
}
