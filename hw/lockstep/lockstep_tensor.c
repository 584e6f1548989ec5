// SPDX-License-Identifier: MIT
/*
 * Random programs for the tensor unit, the fabric and the tasks of a whole tile. They are correct
 * by construction: every core goes through the same phases in the same order; in a phase it issues
 * to engines first and waits with scalar code last, each transfer has its own color, and every
 * wavelet sent has a receiver. So each program ends, and its result does not depend on timing.
 *
 * SRAM of a core: code; a region for L (vector operands), one for each mover, one for scalar code.
 * The accumulators are divided likewise: engines that run side by side never share memory.
 */
#include "lockstep_ops.h"
#include "lockstep_tile.h"

/* --- phases --- */

/* Each core alone: vector operations, both movers beside them, or the same ones in a loop. */
static void phase_local(struct tile *t)
{
	for (uint32_t core = 0; core < tile_cores(t); core++) {
		struct code *c = &t->c[core];
		uint32_t n = rng_range(t->r, 1, 4);

		if (rng_chance(t->r, 30)) {
			op_loop(c, t->r);
			op_wait(c, 7);
			continue;
		}
		if (rng_chance(t->r, 60))
			op_local_move(c, t->r, WSE_ENGINE_M0);
		if (rng_chance(t->r, 60))
			op_local_move(c, t->r, WSE_ENGINE_M1);
		while (n--)
			op_vector(c, t->r);
		op_wait(c, 7);
	}
}

/*
 * A block by MIDX in up to three instructions, which together send any of its rows; the last sends
 * END. Returns the number of wavelets.
 */
static uint32_t send_index(struct tile *t, uint32_t src, uint32_t color, uint32_t B, uint32_t K)
{
	uint32_t parts = rng_range(t->r, 1, 3), n = 0;

	while (parts--) {
		uint32_t k0 = rng_below(t->r, K), F = rng_range(t->r, 1, B);
		uint32_t rows = rng_range(t->r, 1, K - k0 < 5 ? K - k0 : 5);

		n += op_send_index(&t->c[src], t->r, color, F, rows, k0, !parts);
	}
	return n;
}

enum how { BY_MOVE, BY_MADD, BY_RECV, BY_AXPY };

/* One core sends, others receive; each in its own way. */
static void phase_transfer(struct tile *t)
{
	uint32_t src = rng_below(t->r, tile_cores(t)), n, B = 1u << rng_below(t->r, 3),
		 K = rng_range(t->r, 1, 24);
	bool end = rng_chance(t->r, 60), indexed = end && rng_chance(t->r, 60), scalar, midx;
	enum how how[TILE_SHORT];
	struct op_shape x[TILE_SHORT];
	struct path w;

	if (!tile_path(t, src, TILE_SHORT, &w))
		return;
	scalar = !indexed && rng_chance(t->r, 25);
	midx = indexed && rng_chance(t->r, 50);
	n = scalar ? rng_range(t->r, 1, WSE_CHAN_DEPTH - 1) : rng_range(t->r, 1, 40);
	tile_routes(t, &w);
	if (midx)
		n = send_index(t, src, w.color, B, K);
	else if (!scalar)
		op_send(&t->c[src], t->r, w.color, n, end, indexed ? B : 0, K);
	for (uint32_t i = 0; i < w.n; i++) {
		if (!w.tap[i])
			continue;
		how[i] = indexed ? (rng_chance(t->r, 80) ? BY_AXPY : BY_RECV)
				 : (enum how)rng_below(t->r, 3);
		if (how[i] == BY_MOVE || how[i] == BY_MADD)
			op_receive(&t->c[w.core[i]], t->r, w.color, n, how[i] == BY_MADD);
		else if (how[i] == BY_AXPY)
			op_axpy(&t->c[w.core[i]], t->r, w.color, B, K, &x[i]);
	}
	/* behind an engine that waits; no more than fit into the queue of L */
	for (uint32_t i = 0; i < w.n; i++) {
		for (uint32_t k = rng_below(t->r, 3); w.tap[i] && k; k--)
			op_vector(&t->c[w.core[i]], t->r);
	}
	for (uint32_t i = 0; scalar && i < n + end; i++) {
		li(&t->c[src], 5, (uint32_t)rng_next(t->r) | (i == n));
		li(&t->c[src], 6, w.color | (i == n) << 8);
		put(&t->c[src], WSE(WSE_F3_SEND, 0, 0, 5, 6));
	}
	for (uint32_t i = 0; i < w.n; i++) {
		if (w.tap[i] && how[i] == BY_RECV)
			tile_recv(t, w.core[i], w.color, n + end);
	}
	for (uint32_t i = 0; i < w.n; i++)
		op_wait(&t->c[w.core[i]], 7);
	/* a mover took the elements and left the control wavelet */
	for (uint32_t i = 0; i < w.n; i++) {
		if (w.tap[i] && end && (how[i] == BY_MOVE || how[i] == BY_MADD))
			tile_recv(t, w.core[i], w.color, 1);
	}
}

/*
 * An index stream to a core's DOT, whose sums M1 sends (added to partial sums that arrive, or not)
 * to a third core; or, without DOT, M1 only passes the stream on, until END or by count.
 */
static void phase_chain(struct tile *t)
{
	uint32_t src = rng_below(t->r, tile_cores(t)), B = 1u << rng_below(t->r, 3),
		 K = rng_range(t->r, 1, 24);
	uint32_t n = rng_range(t->r, 1, 40), x, y, left;
	bool dot = rng_chance(t->r, 80), add = dot && rng_chance(t->r, 50);
	bool count = dot && rng_chance(t->r, 60), pass = !dot && rng_chance(t->r, 50);
	struct path in, out, part;

	if (!tile_path(t, src, TILE_SHORT, &in))
		return;
	for (uint32_t i = 0; i + 1 < in.n; i++)
		in.tap[i] = false;
	x = in.core[in.n - 1];
	if (!tile_path(t, x, TILE_SHORT, &out))
		return;
	for (uint32_t i = 0; i + 1 < out.n; i++)
		out.tap[i] = false;
	y = out.core[out.n - 1];
	/* the partial sums come from the core itself: its M0 is free unless it is the source, too
	 */
	if (add && (x == src || !tile_color(t, &part.color)))
		add = false;
	tile_routes(t, &in);
	tile_routes(t, &out);
	if (rng_chance(t->r, 50))
		n = send_index(t, src, in.color, B, K);
	else
		op_send(&t->c[src], t->r, in.color, n, true, B, K);
	left = n;
	if (add) {
		op_route(&t->c[x], part.color, WSE_PORT_R, 1u << WSE_PORT_R);
		op_send(&t->c[x], t->r, part.color, n, false, 0, 0);
	}
	if (count) { /* the first of them stay here, or none */
		op_dotx(&t->c[x], t->r, in.color, B, K);
		if (n > 1 && rng_chance(t->r, 60)) {
			left = rng_range(t->r, 1, n - 1);
			op_take_dots(&t->c[x], t->r, n - left, add ? (int)part.color : -1, -1);
		}
		op_take_dots(&t->c[x], t->r, left, add ? (int)part.color : -1, (int)out.color);
	} else if (dot) {
		op_dot(&t->c[x], t->r, in.color, B, K);
		op_drain_dot(&t->c[x], t->r, add ? (int)part.color : -1, out.color);
	} else if (pass) {
		op_pass(&t->c[x], t->r, in.color, out.color, n);
	} else {
		op_forward(&t->c[x], t->r, in.color, out.color);
	}
	tile_recv(t, y, out.color, left + !count);
	if (pass) { /* the stream's own END is left */
		op_wait(&t->c[x], 1u << WSE_ENGINE_M1);
		tile_recv(t, x, in.color, 1);
	}
	for (uint32_t i = 0; i < in.n; i++)
		op_wait(&t->c[in.core[i]], 7);
	for (uint32_t i = 0; i < out.n; i++)
		op_wait(&t->c[out.core[i]], 7);
}

/* --- host streams --- */

static uint64_t host_place(struct tile *t, uint32_t *at, uint32_t bytes)
{
	uint32_t here = *at;

	*at = (here + bytes + 71) & ~63u;
	(void)t;
	return LS_IOVA + here;
}

/* From the north edge down some columns into AXPY, a block after the other. */
/* a stream of the next command, over columns that it begins at */
static struct wse_sqe stream(const struct tile *t, uint8_t opcode, uint32_t col0, uint32_t cols,
			     uint32_t etype)
{
	return (struct wse_sqe){
		.opcode = opcode,
		.flags = WSE_SQF_BUF_DIRECT,
		.cid = (uint16_t)(100 + t->p->ncmds),
		.col0 = (uint16_t)col0,
		.cols = (uint16_t)cols,
		.etype = (uint8_t)etype,
		.budget = 10000000,
	};
}

static void phase_stream_in(struct tile *t, uint32_t *mem)
{
	uint32_t col0 = rng_below(t->r, t->p->cols), cols = rng_range(t->r, 1, t->p->cols - col0),
		 color;
	uint32_t B = 1u << rng_below(t->r, 3), K = rng_range(t->r, 1, 24),
		 blocks = rng_range(t->r, 1, 3);
	uint32_t etype = rng_below(t->r, 2), es = etype ? 4 : 2, row = (K * es + 7) & ~7u;
	uint32_t mrow = ((K + 7) / 8 + 7) & ~7u, rows = blocks * B;
	struct ls_cmd *cmd = &t->p->cmd[t->p->ncmds];
	struct wse_sqe s = stream(t, WSE_OP_STREAM_IN, col0, cols, etype);

	s.nline = blocks;
	s.kcol = (uint16_t)K;
	s.nfeat = (uint8_t)B;
	s.lstride = row + 8 * rng_below(t->r, 2);
	if (!tile_color(t, &color))
		return;
	s.color = (uint8_t)color;
	s.cstride = s.lstride * rows;
	s.buf = host_place(t, mem, s.cstride * cols);
	op_random_floats(t->r, t->p->mem + (s.buf - LS_IOVA), s.cstride * cols);
	if (rng_chance(t->r, 30))
		s.flags |= WSE_SQF_DROP_ZERO;
	else if (rng_chance(t->r, 20))
		s.flags |= WSE_SQF_INDEX_ONLY;
	if (rng_chance(t->r, 40)) {
		s.flags |= WSE_SQF_MASKED | WSE_SQF_MASK_DIRECT;
		s.rstride = mrow;
		s.mcstride = mrow * rows;
		s.mask = host_place(t, mem, s.mcstride * cols);
		for (uint32_t i = 0; i < s.mcstride * cols; i++)
			t->p->mem[s.mask - LS_IOVA + i] = (uint8_t)rng_next(t->r);
	}
	cmd->queue = 2;
	cmd->sqe = s;
	t->p->ncmds++;
	for (uint32_t r = 0; r < t->p->rows; r++) {
		uint32_t tx = 1u << WSE_PORT_R | (r + 1 < t->p->rows ? 1u << WSE_PORT_S : 0);

		for (uint32_t c = col0; c < col0 + cols; c++) {
			struct code *k = &t->c[r * t->p->cols + c];
			struct op_shape x;

			op_route(k, color, WSE_PORT_N, tx);
			for (uint32_t b = 0; b < blocks; b++)
				op_axpy(k, t->r, color, B, K, &x);
			op_wait(k, 7);
		}
	}
}

/* From a core of each column to the south edge. */
static void phase_stream_out(struct tile *t, uint32_t *mem)
{
	uint32_t col0 = rng_below(t->r, t->p->cols), cols = rng_range(t->r, 1, t->p->cols - col0),
		 color;
	uint32_t n = rng_range(t->r, 1, 40), etype = rng_below(t->r, 3),
		 es = etype == WSE_ETYPE_BF16 ? 2 : 4;
	uint32_t row = (n * es + 7) & ~7u;
	struct ls_cmd *cmd = &t->p->cmd[t->p->ncmds];
	struct wse_sqe s = stream(t, WSE_OP_STREAM_OUT, col0, cols, etype);

	s.nline = 1;
	s.kcol = (uint16_t)n;
	s.nfeat = 1;
	s.lstride = row;
	s.cstride = row;
	if (!tile_color(t, &color))
		return;
	s.color = (uint8_t)color;
	s.buf = host_place(t, mem, row * cols);
	op_random_floats(t->r, t->p->mem + (s.buf - LS_IOVA), row * cols);
	cmd->queue = 3;
	cmd->sqe = s;
	t->p->ncmds++;
	for (uint32_t c = col0; c < col0 + cols; c++) {
		uint32_t from = rng_below(t->r, t->p->rows);

		for (uint32_t r = from; r < t->p->rows; r++)
			op_route(&t->c[r * t->p->cols + c], color,
				 r == from ? WSE_PORT_R : WSE_PORT_N, 1u << WSE_PORT_S);
		op_send(&t->c[from * t->p->cols + c], t->r, color, n, rng_chance(t->r, 30), 0, 0);
		op_wait(&t->c[from * t->p->cols + c], 7);
	}
}

/* --- tasks --- */

#define LEFT (OPS_TASKS) /* runs of tasks still to come, then a digest per task */

/* x10: pointer to the task's digest; may leave by DONE. */
static void task_body(struct tile *t, uint32_t core, uint32_t task, int wakes)
{
	struct code *c = &t->c[core];

	li(c, 13, LEFT + 4 + 4 * task);
	put(c, LW(14, 13, 0));
	li(c, 15, 31);
	put(c, r_type(0x33, 0, 1, 14, 14, 15)); /* digest * 31 + wdata ^ winfo */
	put(c, ADD(14, 14, 11));
	put(c, r_type(0x33, 4, 0, 14, 14, 12));
	put(c, SW(14, 13, 0));
	if (wakes >= 0) {
		li(c, 5, (uint32_t)wakes);
		put(c, WSE(WSE_F3_TASK, WSE_TASKOP_UNBLOCK, 0, 5, 0));
		put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, 0, 5, 0));
	}
	li(c, 13, LEFT);
	put(c, LW(14, 13, 0));
	put(c, ADDI(14, 14, -1));
	put(c, SW(14, 13, 0));
	put(c, b_type(1, 14, 0, 8));
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
	put(c, JALR(0, 1, 0));
}

static void task_op(struct code *c, uint32_t op, uint32_t a, uint32_t b)
{
	li(c, 5, a);
	li(c, 6, b);
	put(c, WSE(WSE_F3_TASK, op, 0, 5, 6));
}

struct tasks {
	uint32_t busy;		       /* tasks taken on this core */
	uint32_t runs;		       /* number of runs of all tasks */
	uint32_t entry_at[WSE_NTASKS]; /* where a task's address is to be put (li2), 0: no such task
					*/
	int wakes[WSE_NTASKS];	       /* another task that it unblocks and activates, -1: none */
};

static uint32_t new_task(struct tile *t, struct tasks *k)
{
	uint32_t n;

	do
		n = rng_below(t->r, WSE_NTASKS);
	while (k->busy >> n & 1);
	k->busy |= 1u << n;
	k->wakes[n] = -1;
	return n;
}

static void task_entry(struct tile *t, uint32_t core, struct tasks *k, uint32_t task)
{
	struct code *c = &t->c[core];

	k->entry_at[task] = li2(c, 6);
	li(c, 5, task);
	put(c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
}

/* Flags, chains with a blocked task, completions that activate or unblock. */
static void local_tasks(struct tile *t, uint32_t core, struct tasks *k)
{
	struct code *c = &t->c[core];
	uint32_t n = rng_below(t->r, 4), a, b;

	while (n--) {
		a = new_task(t, k);
		task_entry(t, core, k, a);
		k->runs++;
		if (rng_chance(t->r, 40)) {
			b = new_task(t, k);
			task_entry(t, core, k, b);
			task_op(c, WSE_TASKOP_BLOCK, b, 0);
			k->wakes[a] = (int)b;
			k->runs++;
		}
		if (rng_chance(t->r, 40)) {
			op_then(c, t->r, rng_below(t->r, 3), WSE_TCW_ACTIVATE_MASK, a);
			continue;
		}
		b = rng_chance(t->r, 40);
		if (b)
			task_op(c, WSE_TASKOP_BLOCK, a, 0);
		task_op(c, WSE_TASKOP_ACTIVATE, a, 0);
		if (b)
			op_then(c, t->r, rng_below(t->r, 3), WSE_TCW_UNBLOCK_MASK, a);
	}
}

/* The last phase: all remaining work happens in tasks. */
static void phase_tasks(struct tile *t, uint32_t *loop)
{
	static struct tasks k[TILE_CORES];
	uint32_t ntransfers = rng_below(t->r, 4);

	memset(k, 0, sizeof(k));
	for (uint32_t core = 0; core < tile_cores(t); core++)
		local_tasks(t, core, &k[core]);
	while (ntransfers--) {
		uint32_t src = rng_below(t->r, tile_cores(t)), n = rng_range(t->r, 1, 12);
		bool end = rng_chance(t->r, 50);
		struct path w;

		if (!tile_path(t, src, TILE_SHORT, &w))
			break;
		tile_routes(t, &w);
		for (uint32_t i = 0; i < w.n; i++) {
			uint32_t core = w.core[i], task;

			if (!w.tap[i])
				continue;
			task = new_task(t, &k[core]);
			task_entry(t, core, &k[core], task);
			task_op(&t->c[core], WSE_TASKOP_BIND, w.color, task);
			k[core].runs += n + end;
			if (end && rng_chance(t->r, 50)) {
				task = new_task(t, &k[core]);
				task_entry(t, core, &k[core], task);
			}
			if (end)
				task_op(&t->c[core], WSE_TASKOP_CBIND, w.color, task);
		}
		op_send(&t->c[src], t->r, w.color, n, end, 0, 0);
	}
	for (uint32_t core = 0; core < tile_cores(t); core++) {
		struct code *c = &t->c[core];

		li(c, 13, LEFT);
		li(c, 14, k[core].runs);
		put(c, SW(14, 13, 0));
		if (!k[core].runs)
			put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		loop[core] = c->pc;
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
		put(c, CSRRS(11, WSE_CSR_WDATA, 0));
		put(c, CSRRS(12, WSE_CSR_WINFO, 0));
		put(c, JALR(1, 10, 0));
		put(c, j_type(0, -16));
		for (uint32_t task = 0; task < WSE_NTASKS; task++) {
			if (!k[core].entry_at[task])
				continue;
			li2_at(c->image, k[core].entry_at[task], 6, c->pc);
			task_body(t, core, task, k[core].wakes[task]);
		}
	}
}

void ls_gen_tensor(struct ls_program *p, struct rng *r)
{
	struct tile t = {.p = p, .r = r};
	uint32_t mem = LS_MEM_DATA, phases = rng_range(r, 2, 12), loop[TILE_CORES];

	p->kind = "tensor";
	for (uint32_t core = 0; core < tile_cores(&t); core++) {
		t.c[core] = (struct code){p->image[core], WSE_SRAM_BASE};
		t.out[core] = OPS_SCALAR;
		op_random_floats(r, p->image[core] + OPS_DATA - WSE_SRAM_BASE, OPS_DATA_BYTES);
		tile_start_code(p->image[core]);
		op_fill_acc(&t.c[core], r);
	}
	tile_start(p, r, WSE_SQF_BOOT, WSE_SRAM_BASE, 1);
	if (rng_chance(r, 50))
		phase_stream_in(&t, &mem);
	while (phases--) {
		uint32_t k = rng_below(r, 100);

		for (uint32_t core = 0; core < tile_cores(&t); core++) {
			if (t.c[core].pc > TILE_START - 0x1800)
				phases = 0; /* the code is full */
		}
		if (k < 45)
			phase_local(&t);
		else if (k < 75)
			phase_transfer(&t);
		else if (k < 95)
			phase_chain(&t);
		else
			phase_stream_out(&t, &mem);
		if (!phases)
			break;
	}
	phase_tasks(&t, loop);
	if (rng_chance(r, 50))
		tile_start(p, r, 0, TILE_START, 2);
}
