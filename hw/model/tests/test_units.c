// SPDX-License-Identifier: MIT
/*
 * What a debugger needs of a model: get_units, next_pc of records, and brk, behind which a traced
 * core stands. test_units [func|rtl], 2 x 2 cores.
 */
#include <errno.h>
#include <string.h>

#include "tap.h"
#include "twin/tests/prog.h"

#define A_COLOR 5u
#define B_COLOR 6u
#define DATA	(WSE_SRAM_BASE + 0x2000)

static struct dev d;

static uint8_t image[WSE_SRAM_BYTES];

static struct code begin(void)
{
	return (struct code){image, WSE_SRAM_BASE + CODE_AT};
}

static void boot(uint32_t core, const struct code *c)
{
	d.ops->poke(d.m, core, WSE_SRAM_BASE + CODE_AT, image + CODE_AT,
		    c->pc - WSE_SRAM_BASE - CODE_AT);
	d.ops->boot(d.m, core, WSE_SRAM_BASE + CODE_AT);
}

struct log {
	uint32_t stop_pc; /* brk in front of the instruction there */
	unsigned int n, jumps, breaks;
	uint32_t expect, wrong;
};

static void on_retire(void *arg, const struct wse_retire *r)
{
	struct log *l = arg;

	l->wrong += l->n && r->pc != l->expect;
	l->jumps += r->next_pc != r->pc + 4;
	l->expect = r->next_pc;
	l->n++;
	if (r->next_pc == l->stop_pc) {
		l->breaks++;
		d.ops->brk(d.m);
	}
}

static void records(void)
{
	struct log l = {0}, other = {0};
	struct wse_core_state st;
	struct code c = begin();
	unsigned int good = 0;
	uint32_t before = 0;

	put(&c, ADDI(7, 7, 1));
	put(&c, ADDI(8, 8, 1));
	put(&c, SW(8, 0, 0)); /* a trap: address 0 */
	boot(1, &c);
	d.ops->trace_retire(d.m, 1, on_retire, &l);
	d.ops->advance(d.m, 1000, NULL);
	ok(l.n == 3 && l.expect == WSE_SRAM_BASE + CODE_AT + 8 && !l.wrong,
	   "next_pc of a trap without a handler: the instruction itself");
	d.ops->trace_retire(d.m, 1, NULL, NULL);

	c = begin();
	memset(&l, 0, sizeof(l));
	put(&c, ADDI(7, 7, 1));
	put(&c, ADDI(8, 8, 1));
	put(&c, 0xff9ff06f); /* j .-8 */
	boot(0, &c);
	boot(2, &c);
	boot(3, &c);
	l.stop_pc = WSE_SRAM_BASE + CODE_AT + 4;
	d.ops->trace_retire(d.m, 0, on_retire, &l);
	d.ops->trace_retire(d.m, 3, on_retire, &other);
	for (unsigned int i = 1; i <= 5; i++) {
		enum wse_stop why = d.ops->advance(d.m, 100000, NULL);

		d.ops->get_state(d.m, 0, &st);
		good += why == WSE_STOP_BREAK && st.pc == l.stop_pc && st.x[7] == st.x[8] + 1 &&
			(i == 1 || st.x[7] == before + 1) && l.breaks == i;
		before = st.x[7];
	}
	ok(good == 5 && !l.wrong, "brk: the core stands before the instruction, five times");
	d.ops->get_state(d.m, 3, &st);
	ok(other.n && st.pc == other.expect && !other.wrong,
	   "another core that is traced had its turns, and stands where its last record says");
	ok(!d.ops->step(d.m, 0, 1000) && !d.ops->step(d.m, 0, 1000) && !d.ops->step(d.m, 0, 1000),
	   "brk of a callback does not end a step");
	d.ops->trace_retire(d.m, ~0u, NULL, NULL);
	d.ops->reset(d.m);
}

static void units(void)
{
	struct wse_core_units u, v;
	struct code c = begin();
	uint32_t word = 0;

	ok(d.ops->get_units(d.m, 4, &u) == -EINVAL, "get_units: no such core: -EINVAL");
	/*
	 * core 0: two wavelets to core 1, which reads one of three; then its mover waits for
	 * B_COLOR
	 */
	route(&c, A_COLOR, WSE_PORT_R, 1u << WSE_PORT_E);
	send(&c, 11, A_COLOR, false);
	send(&c, 12, A_COLOR, true);
	dsr(&c, 2, DATA, d1(3, 4), d1(2, -8), kind(WSE_KIND_MEM, WSE_DT_FP32) | 0x100);
	dsr(&c, 3, B_COLOR, 0, 0, WSE_KIND_FABIN);
	issue(&c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 2, 3, 0), 77);
	issue(&c, tcw(WSE_ENGINE_M0, WSE_TOP_MOVE, 2, 3, 0), 78);
	li(&c, 5, 9);
	li(&c, 6, WSE_SRAM_BASE + 0x40);
	put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
	put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_BLOCK, 0, 5, 0));
	put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, 0, 5, 0));
	li(&c, 5, B_COLOR);
	li(&c, 6, 9);
	put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_CBIND, 0, 5, 6));
	put(&c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
	boot(0, &c);
	c = begin();
	route(&c, A_COLOR, WSE_PORT_W, 1u << WSE_PORT_R);
	recv(&c, A_COLOR, DATA);
	recv(&c, B_COLOR, DATA);
	boot(1, &c);
	d.ops->advance(d.m, 20000, NULL);

	d.ops->get_units(d.m, 0, &u);
	ok(u.dsr[2][0] == DATA && u.dsr[2][1] == d1(3, 4) && u.dsr[2][2] == d1(2, -8) &&
		   u.dsr[2][3] == kind(WSE_KIND_MEM, WSE_DT_FP32) && u.dsr[3][0] == B_COLOR,
	   "DSRs, of the last word the bits that it has");
	ok(u.busy == 2 && u.waiting[1] == 1 && u.running[1].scalar == 77 &&
		   u.running[1].dst[0] == DATA && u.running[1].src1[0] == B_COLOR &&
		   (u.running[1].tcw & WSE_TCW_OP_MASK) == WSE_TOP_MOVE,
	   "engine M0 runs one instruction, one waits");
	ok(u.entry[9] == WSE_SRAM_BASE + 0x40 && u.ready == 1u << 9 && u.blocked == 1u << 9 &&
		   u.bind[1][B_COLOR] == 9 && u.bind[0][B_COLOR] == 0xff,
	   "tasks: entry, flags, bindings");
	ok(u.rx[A_COLOR] == WSE_PORT_R && u.tx[A_COLOR] == 1u << WSE_PORT_E && u.rx[B_COLOR] == 7 &&
		   !u.tx[B_COLOR],
	   "routes, and the color that has none");
	ok(u.wait_cause == WSE_CAUSE_WAIT_M0 && u.wait_color == B_COLOR,
	   "it waits for M0, which waits for the color");
	d.ops->get_units(d.m, 1, &v);
	d.ops->peek(d.m, 1, DATA, &word, 4);
	ok(v.recv[A_COLOR] == 1 && !v.queue[3][A_COLOR] && word == 11,
	   "the core has a wavelet that it did not take");
	ok(v.wait_cause == WSE_CAUSE_WAIT_RECV && v.wait_color == B_COLOR, "it waits in RECV");
	d.ops->reset(d.m);
}

/* a DSR, a route, a task and a store are seen as soon as their instruction has retired */
static void at_once(void)
{
	struct log l = {0};
	struct wse_core_units u;
	struct code c = begin();
	uint32_t at[4], word = 0;
	bool good[4];

	li(&c, 5, 0x1234);
	li(&c, 6, 3);
	li(&c, 7, DATA);
	at[0] = c.pc + 4;
	put(&c, WSE(WSE_F3_DSR, 0, 4, 5, 6));
	at[1] = c.pc + 4;
	put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 6, 5));
	li(&c, 6, WSE_PORT_R | 1u << WSE_ROUTE_TX_SHIFT);
	li(&c, 5, A_COLOR);
	at[2] = c.pc + 4;
	put(&c, WSE(WSE_F3_ROUTE, 0, 0, 5, 6));
	at[3] = c.pc + 4;
	put(&c, SW(5, 7, 0));
	put(&c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
	boot(2, &c);
	d.ops->trace_retire(d.m, 2, on_retire, &l);
	for (unsigned int i = 0; i < 4; i++) {
		l.stop_pc = at[i];
		d.ops->advance(d.m, 10000, NULL);
		d.ops->get_units(d.m, 2, &u);
		d.ops->peek(d.m, 2, DATA, &word, 4);
		good[i] = l.breaks == i + 1 &&
			  (i == 0   ? u.dsr[4][0] == 0x1234 && u.dsr[4][1] == 3
			   : i == 1 ? u.entry[3] == 0x1234
			   : i == 2 ? u.rx[A_COLOR] == WSE_PORT_R && u.tx[A_COLOR] == 1
				    : word == A_COLOR);
	}
	ok(good[0] && good[1] && good[2] && good[3],
	   "DSR, task, route and store: seen when the instruction has retired");
	d.ops->trace_retire(d.m, 2, NULL, NULL);
}

int main(int argc, char **argv)
{
	const char *model = argc > 1 ? argv[1] : "func";

	if (!wse_machine_find(model)) {
		printf("1..0 # SKIP the model %s was not built\n", model);
		return 0;
	}
	if (dev_open(&d, model, 2, 2)) {
		printf("Bail out! no model %s of 2x2\n", model);
		return 1;
	}
	records();
	units();
	at_once();
	dev_close(&d);
	return tap_end();
}
