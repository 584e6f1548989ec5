// SPDX-License-Identifier: MIT
#include "lockstep_ops.h"
#include "lockstep_tile.h"

uint32_t tile_cores(const struct tile *t)
{
	return t->p->rows * t->p->cols;
}

bool tile_color(struct tile *t, uint32_t *color)
{
	uint32_t from = rng_below(t->r, WSE_NCOLORS);

	for (uint32_t i = 0; i < WSE_NCOLORS; i++) {
		*color = (from + i) % WSE_NCOLORS;
		if (!(t->colors >> *color & 1)) {
			t->colors |= 1u << *color;
			return true;
		}
	}
	return false;
}

bool tile_neighbour(const struct tile *t, uint32_t core, uint32_t port, uint32_t *to)
{
	uint32_t row = core / t->p->cols, col = core % t->p->cols;

	if ((port == WSE_PORT_N && !row) || (port == WSE_PORT_W && !col) ||
	    (port == WSE_PORT_S && row + 1 == t->p->rows) ||
	    (port == WSE_PORT_E && col + 1 == t->p->cols))
		return false;
	*to = port == WSE_PORT_N   ? core - t->p->cols
	      : port == WSE_PORT_S ? core + t->p->cols
	      : port == WSE_PORT_W ? core - 1
				   : core + 1;
	return true;
}

bool tile_path(struct tile *t, uint32_t from, uint32_t max, struct path *w)
{
	uint32_t hops = rng_below(t->r, max);

	memset(w, 0, sizeof(*w));
	if (!tile_color(t, &w->color))
		return false;
	w->core[0] = from;
	w->in[0] = WSE_PORT_R;
	w->n = 1;
	while (hops--) {
		uint32_t port = rng_below(t->r, 4), to, i;

		if (!tile_neighbour(t, w->core[w->n - 1], port, &to))
			continue;
		for (i = 0; i < w->n && w->core[i] != to; i++)
			;
		if (i < w->n)
			continue;
		w->out[w->n - 1] = (uint8_t)port;
		w->core[w->n] = to;
		w->in[w->n++] = (uint8_t)((port + 2) & 3);
	}
	w->out[w->n - 1] = WSE_PORT_R;
	w->tap[w->n - 1] = true;
	for (uint32_t i = 0; i + 1 < w->n; i++)
		w->tap[i] = rng_chance(t->r, 30);
	return true;
}

void tile_routes(struct tile *t, const struct path *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t tx = 1u << w->out[i] | (w->tap[i] ? 1u << WSE_PORT_R : 0);

		op_route(&t->c[w->core[i]], w->color, w->in[i], tx);
	}
}

static uint32_t scalar_word(struct tile *t, uint32_t core)
{
	uint32_t at = t->out[core];

	t->out[core] = at + 4 < OPS_SCALAR + OPS_SCALAR_BYTES ? at + 4 : OPS_SCALAR;
	return at;
}

void tile_recv(struct tile *t, uint32_t core, uint32_t color, uint32_t count)
{
	struct code *c = &t->c[core];

	li(c, 5, color);
	while (count--) {
		put(c, WSE(WSE_F3_RECV, 0, 6, 5, 0));
		put(c, CSRRS(7, WSE_CSR_WINFO, 0));
		put(c, CSRRS(12, WSE_CSR_WDATA, 0));
		li(c, 13, scalar_word(t, core));
		put(c, SW(6, 13, 0));
	}
}

void tile_start_code(uint8_t *image)
{
	struct code c = {image, TILE_START};

	li(&c, 14, 0);
	for (int i = 0; i < (int)WSE_NARGS; i++) {
		put(&c, LW(15, 11, 4 * i));
		put(&c, ADD(14, 14, 15));
	}
	li(&c, 13, OPS_TASKS + 4 + 4 * WSE_NTASKS);
	put(&c, SW(14, 13, 0));
	put(&c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
	put(&c, JALR(0, 1, 0));
}

void tile_start(struct ls_program *p, struct rng *r, uint8_t flags, uint32_t entry, uint16_t cid)
{
	struct wse_sqe_start s = {
		.opcode = WSE_OP_START,
		.flags = flags,
		.cid = cid,
		.rows = (uint16_t)p->rows,
		.cols = (uint16_t)p->cols,
		.budget = 10000000,
		.entry = entry,
	};

	for (unsigned int i = 0; i < WSE_NARGS; i++)
		s.arg[i] = (uint32_t)rng_next(r);
	p->cmd[p->ncmds].queue = 1;
	memcpy(&p->cmd[p->ncmds++].sqe, &s, sizeof(s));
}

void tile_begin(struct tile *t)
{
	struct ls_program *p = t->p;

	for (uint32_t core = 0; core < tile_cores(t); core++) {
		t->c[core] = (struct code){p->image[core], WSE_SRAM_BASE};
		t->out[core] = OPS_SCALAR;
		op_random_floats(t->r, p->image[core] + OPS_DATA - WSE_SRAM_BASE, OPS_DATA_BYTES);
		op_fill_acc(&t->c[core], t->r);
	}
	tile_start(p, t->r, WSE_SQF_BOOT, WSE_SRAM_BASE, 1);
}
