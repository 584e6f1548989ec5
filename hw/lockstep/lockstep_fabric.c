// SPDX-License-Identifier: MIT
/*
 * Random programs for the fabric: many paths at once, as long as the tile allows, that cross, share
 * links and end in the same cores (one reader for each color); colors used again over another path;
 * and lines of cores that take turns to send over two colors, round after round (hw/doc/fabric.md,
 * "Two colors").
 *
 * Every core executes the transfers in the same order, and issues all of a transfer before it waits
 * for any part of it. So the first transfer that is not over always proceeds: each program ends,
 * and its result does not depend on timing.
 */
#include <string.h>

#include "lockstep_ops.h"
#include "lockstep_tile.h"

#define NO_ROUTE 0xffu
#define CODE_END (OPS_DATA - 0x1000) /* room for the longest transfer and the end */

struct net {
	struct tile t;
	/*
	 * the last route of each core, and whether all cores of a color's paths have seen all of
	 * them
	 */
	uint8_t route[WSE_NCOLORS][TILE_CORES];
	bool behind[WSE_NCOLORS][TILE_CORES][TILE_CORES]; /* cores after it on that path */
	uint8_t ports[WSE_NCOLORS][TILE_CORES]; /* ports that its routes have read, as bits */
	bool turned[WSE_NCOLORS][TILE_CORES];	/* not all of them were the same */
	bool seen[WSE_NCOLORS];
};

static uint8_t route_of(const struct path *w, uint32_t i)
{
	return (uint8_t)(w->in[i] | (1u << w->out[i] | (w->tap[i] ? 1u << WSE_PORT_R : 0))
					    << WSE_ROUTE_TX_SHIFT);
}

/*
 * Whether the path may follow others of this color. Each core changes its route after it has
 * received all earlier wavelets, but the neighbour that feeds it may be ahead: that neighbour's own
 * part of those paths says nothing about cores behind it, which may still have any of their routes.
 * Its wavelets take the old routes first if the route has never been another one, and wait if the
 * core has never read that port. Only a neighbour that came after the core on its last path has
 * seen that route in use: then its wavelets must wait there. Only the core itself feeds its ramp.
 */
static bool may_follow(const struct net *n, const struct path *w, uint32_t color)
{
	if (!n->seen[color])
		return false;
	for (uint32_t i = 1; i < w->n; i++) {
		uint32_t core = w->core[i];
		uint8_t was = n->route[color][core], is = route_of(w, i);

		if (was == NO_ROUTE || (was == is && !n->turned[color][core]) ||
		    !(n->ports[color][core] >> (is & 7) & 1))
			continue;
		if ((was & 7) == (is & 7) || !n->behind[color][core][w->core[i - 1]])
			return false;
	}
	return true;
}

/* records the routes of the cores of a path */
static void routed(struct net *n, const struct path *w)
{
	bool behind[TILE_CORES] = {false};

	for (uint32_t i = w->n; i-- > 0;) {
		uint32_t core = w->core[i];
		uint8_t *route = &n->route[w->color][core], is = route_of(w, i);

		n->turned[w->color][core] |= *route != NO_ROUTE && *route != is;
		*route = is;
		n->ports[w->color][core] |= 1u << (is & 7);
		memcpy(n->behind[w->color][core], behind, sizeof(behind));
		behind[core] = true;
	}
}

static bool full(const struct net *n)
{
	for (uint32_t core = 0; core < tile_cores(&n->t); core++) {
		if (n->t.c[core].pc > CODE_END)
			return true;
	}
	return false;
}

/* --- a path --- */

/* A block for L: up to three MIDX, the last with END, or indices that scalar code wrote. */
static uint32_t send_block(struct net *n, uint32_t src, uint32_t color, uint32_t B, uint32_t K)
{
	struct rng *r = n->t.r;
	struct code *c = &n->t.c[src];
	uint32_t parts = rng_range(r, 1, 3), sent = 0;

	if (rng_chance(r, 25)) {
		op_wait(c, 1u << WSE_ENGINE_M0); /* the stores go where M0 reads */
		sent = rng_range(r, 1, 40);
		op_send(c, r, color, sent, true, B, K);
		return sent;
	}
	while (parts--) {
		uint32_t k0 = rng_below(r, K), rows = rng_range(r, 1, K - k0 < 6 ? K - k0 : 6);

		sent += op_send_index(c, r, color, rng_range(r, 1, B), rows, k0, !parts);
	}
	return sent;
}

static void send_scalar(struct net *n, uint32_t src, uint32_t color, uint32_t count, bool end)
{
	struct code *c = &n->t.c[src];

	for (uint32_t i = 0; i < count + end; i++) {
		li(c, 5, (uint32_t)rng_next(n->t.r) | (i == count));
		li(c, 6, color | (i == count) << 8);
		put(c, WSE(WSE_F3_SEND, 0, 0, 5, 6));
	}
}

enum how { BY_LANES, BY_MOVER, BY_RECV };

/* Engines of the readers first, then scalar code. */
static void read_path(struct net *n, const struct path *w, uint32_t B, uint32_t K, uint32_t count,
		      bool end, const enum how *how)
{
	struct tile *t = &n->t;
	struct op_shape x;

	for (uint32_t i = 0; i < w->n; i++) {
		struct code *c = &t->c[w->core[i]];

		if (!w->tap[i])
			continue;
		if (how[i] == BY_LANES)
			op_axpy(c, t->r, w->color, B, K, &x);
		else if (how[i] == BY_MOVER)
			op_receive(c, t->r, w->color, count, rng_chance(t->r, 50));
	}
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t core = w->core[i];

		if (!w->tap[i] || how[i] == BY_LANES)
			continue;
		if (how[i] == BY_MOVER && end)
			op_wait(&t->c[core], 1u << WSE_ENGINE_M1);
		tile_recv(t, core, w->color, how[i] == BY_MOVER ? end : count + end);
	}
}

static void phase_path(struct net *n)
{
	struct tile *t = &n->t;
	struct rng *r = t->r;
	uint32_t src = rng_below(r, tile_cores(t)), B = 1u << rng_below(r, 3), count;
	uint32_t K = rng_range(r, 1, 24), colors = t->colors, old = rng_below(r, WSE_NCOLORS);
	bool block = rng_chance(r, 50), end = block || rng_chance(r, 50), scalar;
	bool all = rng_chance(r, 60);
	enum how how[TILE_CORES];
	struct path w;

	if (!tile_path(t, src, rng_chance(r, 50) ? 4 * tile_cores(t) : TILE_SHORT, &w))
		return;
	for (uint32_t i = 0; i < w.n; i++) {
		w.tap[i] |= all;
		how[i] = block && rng_chance(r, 70) ? BY_LANES
			 : rng_chance(r, 50)	    ? BY_MOVER
						    : BY_RECV;
	}
	if (all && may_follow(n, &w, old)) {
		t->colors = colors;
		w.color = old;
	} else {
		n->seen[w.color] = all;
	}
	for (uint32_t i = 0; i < w.n; i++) {
		if (n->route[w.color][w.core[i]] != NO_ROUTE)
			op_wait(&t->c[w.core[i]], 7);
	}
	routed(n, &w);
	tile_routes(t, &w);
	scalar = !block && rng_chance(r, 25);
	count = scalar ? rng_range(r, 1, WSE_CHAN_DEPTH - 1) : rng_range(r, 1, 60);
	if (block)
		count = send_block(n, src, w.color, B, K);
	else if (scalar)
		send_scalar(n, src, w.color, count, end);
	else
		op_send(&t->c[src], r, w.color, count, end, 0, 0);
	read_path(n, &w, B, K, count, end, how);
}

/* --- turns over two colors --- */

struct line {
	struct path w; /* all cores of it, in their order */
	uint32_t color[2], rounds, B, K;
	enum how how[TILE_CORES];
};

static void read_turn(struct net *n, const struct line *l, uint32_t i, uint32_t color,
		      uint32_t count)
{
	struct tile *t = &n->t;
	struct code *c = &t->c[l->w.core[i]];
	struct op_shape x;

	if (l->how[i] == BY_LANES) {
		op_axpy(c, t->r, color, l->B, l->K, &x);
		return;
	}
	if (l->how[i] == BY_MOVER) {
		op_receive(c, t->r, color, count, rng_chance(t->r, 50));
		op_wait(c, 1u << WSE_ENGINE_M1);
	}
	tile_recv(t, l->w.core[i], color, l->how[i] == BY_MOVER ? 1 : count + 1);
}

static void line_route(struct net *n, const struct line *l, uint32_t i, uint32_t color, uint32_t rx)
{
	uint32_t tx = 1u << WSE_PORT_R;

	if (i + 1 < l->w.n)
		tx |= 1u << l->w.out[i];
	op_route(&n->t.c[l->w.core[i]], color, rx, tx);
}

/* One core's part of a round: it receives from its predecessors, then takes its own turn. */
static void turn(struct net *n, const struct line *l, uint32_t i, uint32_t round,
		 const uint32_t *count)
{
	uint32_t color = l->color[round & 1], other = l->color[~round & 1], F, k0;
	struct code *c = &n->t.c[l->w.core[i]];

	for (uint32_t j = 0; j < i; j++)
		read_turn(n, l, i, color, count[j]);
	op_wait(c, 7);
	if (i) {
		line_route(n, l, i, color, WSE_PORT_R);
		line_route(n, l, i, other, l->w.in[i]);
	}
	F = count[i] % 4 == 0 && l->B == 4 ? 4 : count[i] % 2 == 0 && l->B >= 2 ? 2 : 1;
	k0 = rng_below(n->t.r, l->K - count[i] / F + 1);
	op_send_index(c, n->t.r, color, F, count[i] / F, k0, true);
	read_turn(n, l, i, color, count[i]);
}

static void phase_turns(struct net *n)
{
	struct tile *t = &n->t;
	struct line l = {.rounds = rng_range(t->r, 2, 4), .B = 1u << rng_below(t->r, 3)};

	/* a block is longer than two channels: at least 2 CHAN_DEPTH and END */
	l.K = rng_range(t->r, 2 * WSE_CHAN_DEPTH + 8, 28);
	if (!tile_path(t, rng_below(t->r, tile_cores(t)), 4 * tile_cores(t), &l.w) ||
	    !tile_color(t, &l.color[1]))
		return;
	if (l.w.n > 8) /* the code of so many turns has no room */
		l.w.n = 8;
	l.color[0] = l.w.color;
	for (uint32_t i = 0; i < l.w.n; i++) {
		l.how[i] = rng_chance(t->r, 60)	  ? BY_LANES
			   : rng_chance(t->r, 70) ? BY_MOVER
						  : BY_RECV;
		line_route(n, &l, i, l.color[0], l.w.in[i]);
		line_route(n, &l, i, l.color[1], l.w.in[i]);
	}
	for (uint32_t round = 0; round < l.rounds; round++) {
		uint32_t count[TILE_CORES];

		for (uint32_t i = 0; i < l.w.n; i++)
			count[i] = 2 * WSE_CHAN_DEPTH + rng_below(t->r, 9);
		for (uint32_t i = 0; i < l.w.n; i++)
			turn(n, &l, i, round, count);
	}
}

void ls_gen_fabric(struct ls_program *p, struct rng *r)
{
	static struct net n;
	uint32_t phases = rng_range(r, 4, 30);

	memset(&n, 0, sizeof(n));
	memset(n.route, NO_ROUTE, sizeof(n.route));
	n.t.p = p;
	n.t.r = r;
	p->kind = "fabric";
	tile_begin(&n.t);
	while (phases-- && !full(&n)) {
		if (rng_chance(r, 12))
			phase_turns(&n);
		else
			phase_path(&n);
	}
	for (uint32_t core = 0; core < tile_cores(&n.t); core++) {
		struct code *c = &n.t.c[core];

		op_wait(c, 7);
		put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	}
}
