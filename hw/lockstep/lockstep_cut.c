// SPDX-License-Identifier: MIT
/*
 * A program that is cut off while its streams run, and another one on the same tile: admin commands
 * delete and create queues, scrub and boot cores under a stream, and in the end a context reset, or
 * a reset of the device or the function, clears everything. The second program must find nothing of
 * the first, neither in the fabric nor as late writes to host memory.
 */
#include "lockstep.h"
#include "lockstep_asm.h"

static void end_command(struct ls_program *p, struct rng *r, uint8_t op)
{
	struct ls_before *b = &p->before;
	struct ls_cmd *c = &b->end[b->nends];
	struct wse_sqe s = {.opcode = op};

	if (op == WSE_OP_SCRUB || op == WSE_OP_START) {
		s.row0 = (uint16_t)rng_below(r, p->rows);
		s.col0 = (uint16_t)rng_below(r, p->cols);
		s.rows = (uint16_t)rng_range(r, 1, p->rows - s.row0);
		s.cols = (uint16_t)rng_range(r, 1, p->cols - s.col0);
		s.budget = 100000;
	}
	if (op == WSE_OP_START) {
		s.flags = WSE_SQF_BOOT;
		s.sram = WSE_SRAM_BASE;
		c->queue = 1;
	}
	if (op == WSE_OP_DELETE_QUEUE || op == WSE_OP_CREATE_QUEUE)
		s.queue = op == WSE_OP_CREATE_QUEUE ? c[-1].sqe.queue
						    : (uint8_t)rng_range(r, 1, LS_QUEUES - 1);
	c->sqe = s;
	b->gap[b->nends++] = rng_chance(r, 50) ? 0 : rng_below(r, 2000);
}

void ls_gen_cut(struct ls_program *p, struct rng *r)
{
	static void (*const first[])(struct ls_program * p, struct rng * r) = {
		ls_gen_stream, ls_gen_stream, ls_gen_stream, ls_gen_broken, ls_gen_tensor};
	static void (*const second[])(struct ls_program * p, struct rng * r) = {
		ls_gen_stream, ls_gen_tensor, ls_gen_fabric, ls_gen_broken};
	uint32_t n = rng_below(r, 3), k = rng_below(r, 5);

	ls_blank(p->spare);
	first[rng_below(r, 5)](p->spare, r);
	for (unsigned int i = 0; i < p->spare->ncmds; i++) { /* SCRUB has to wait for its end */
		if (p->spare->cmd[i].sqe.opcode == WSE_OP_START)
			p->spare->cmd[i].sqe.budget = rng_range(r, 500, 20000);
	}
	if (k < 4)
		second[k](p, r);
	else
		ls_gen_scalar(p, r, rng_range(r, 200, 1000));
	p->kind = "cut";
	p->before.prog = p->spare;
	p->before.delay = rng_range(r, 1, rng_chance(r, 50) ? 1500 : 15000);
	p->before.reset = rng_chance(r, 60) ? LS_CTX_RESET : rng_chance(r, 50) ? LS_RST : LS_FLR;
	while (n--) {
		uint32_t what = rng_below(r, 3);

		if (what == 0) {
			end_command(p, r, WSE_OP_SCRUB);
		} else if (what == 1) {
			end_command(p, r, WSE_OP_DELETE_QUEUE);
			end_command(p, r, WSE_OP_CREATE_QUEUE);
		} else {
			end_command(p, r, WSE_OP_START);
		}
	}
}
