// SPDX-License-Identifier: MIT
/*
 * hw/doc/model.md, call by call, for any model: test_model [func|rtl]. 2 x 2 cores.
 */
#include <errno.h>
#include <string.h>

#include "twin/tests/dev.h"
#include "tap.h"

#define ENTRY	  WSE_SRAM_BASE
#define ADDI_X2	  0x00110113u /* addi x2, x2, 1 */
#define JUMP_SELF 0x0000006fu
#define ILLEGAL	  0xffffffffu
#define TNEXT	  0x0000450bu /* wse.tnext x10 */

static struct dev d;

struct log {
	unsigned int n, core_mask, traps, stop_at;
	struct wse_retire last;
};

static void on_retire(void *arg, const struct wse_retire *r)
{
	struct log *l = arg;

	l->n++;
	l->core_mask |= 1u << r->core;
	l->traps += r->trap;
	l->last = *r;
	if (l->stop_at && l->n >= l->stop_at)
		d.ops->brk(d.m);
}

static void put(uint32_t core, const uint32_t *code, unsigned int n)
{
	d.ops->poke(d.m, core, ENTRY, code, n * 4);
}

/* The core counts in x2 for ever. */
static void count_for_ever(uint32_t core)
{
	static const uint32_t code[] = {ADDI_X2, 0xffdff06f /* j .-4 */};

	put(core, code, 2);
	d.ops->boot(d.m, core, ENTRY);
}

static int make(const struct wse_host_ops *host, uint32_t rows, uint32_t cols, uint32_t flags)
{
	struct wse_machine_cfg cfg = {.rows = rows, .cols = cols, .flags = flags};
	struct wse_machine *m = NULL;
	int err = d.ops->create(&cfg, host, NULL, &m);

	if (!err)
		d.ops->destroy(m);
	return err;
}

static int none_read(void *host, uint64_t iova, void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static int none_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static void none_irq(void *host, unsigned int vector)
{
	(void)host, (void)vector;
}

static void creation(bool rtl)
{
	const struct wse_host_ops good = {none_read, none_write, none_irq, NULL};
	struct wse_host_ops host;
	struct wse_machine_cfg cfg = {.rows = 2, .cols = 2};
	struct wse_machine *m = NULL;

	ok(d.ops->api == WSE_MACHINE_API && !strcmp(d.ops->name, rtl ? "rtl" : "func"),
	   "API and name");
	ok(!wse_machine_find("paper"), "an unknown model is not found");
	ok(make(&good, 0, 2, 0) == -EINVAL && make(&good, 2, 0, 0) == -EINVAL,
	   "no rows, no columns: -EINVAL");
	host = good;
	host.dma_read = NULL;
	ok(make(&host, 2, 2, 0) == -EINVAL, "no dma_read: -EINVAL");
	host = good;
	host.dma_write = NULL;
	ok(make(&host, 2, 2, 0) == -EINVAL, "no dma_write: -EINVAL");
	host = good;
	host.irq = NULL;
	ok(make(&host, 2, 2, 0) == -EINVAL, "no irq: -EINVAL");
	ok(make(NULL, 2, 2, 0) == -EINVAL && d.ops->create(&cfg, &good, NULL, NULL) == -EINVAL,
	   "null pointers: -EINVAL");
	cfg.group = 4;
	ok(d.ops->create(&cfg, &good, NULL, &m) == -EINVAL && !m,
	   "port groups that do not divide the columns: -EINVAL");
	ok(make(&good, 61, 3, 0) == (rtl ? -ENOTSUP : 0),
	   "61 x 3 cores: func has any shape, rtl what was built");
	ok(make(&good, 0xffff, 0xffff, 0) == -ENOTSUP, "more cores than any model has: -ENOTSUP");
	ok(make(&good, 2, 2, WSE_MACHINE_HOSTFP) == (rtl ? -ENOTSUP : 0),
	   "host floating point: no tile has it");
	d.ops->destroy(NULL);
	ok(!make(&good, 2, 2, 0), "2 x 2");
}

static void memory(void)
{
	uint8_t in[37], out[37];
	uint32_t core, i, good = 0;

	for (core = 0; core < 4; core++) {
		for (i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)(core * 91 + i * 7 + 1);
		memset(out, 0, sizeof(out));
		good += !d.ops->poke(d.m, core, WSE_SRAM_BASE + 0x1003 + core, in, sizeof(in)) &&
			!d.ops->peek(d.m, core, WSE_SRAM_BASE + 0x1003 + core, out, sizeof(out)) &&
			!memcmp(in, out, sizeof(in));
	}
	ok(good == 4, "poke, then peek, at odd addresses of every core");
	ok(!d.ops->peek(d.m, 3, WSE_SRAM_BASE + WSE_SRAM_BYTES - 4, out, 4) &&
		   d.ops->peek(d.m, 3, WSE_SRAM_BASE + WSE_SRAM_BYTES - 4, out, 5) == -EINVAL &&
		   d.ops->poke(d.m, 3, WSE_SRAM_BASE - 1, in, 1) == -EINVAL &&
		   d.ops->peek(d.m, 4, WSE_SRAM_BASE, out, 1) == -EINVAL,
	   "outside the SRAM, no such core: -EINVAL");
}

static void state(bool rtl)
{
	const uint32_t code[] = {ADDI_X2, ADDI_X2, ADDI_X2, ADDI_X2, JUMP_SELF};
	struct wse_core_state st;
	uint32_t acc[128];

	put(3, code, 5);
	ok(d.ops->boot(d.m, 4, ENTRY) == -EINVAL && d.ops->boot(d.m, 3, ENTRY + 2) == -EINVAL &&
		   d.ops->boot(d.m, 3, 0) == -EINVAL &&
		   d.ops->boot(d.m, 3, WSE_SRAM_BASE + WSE_SRAM_BYTES) == -EINVAL,
	   "boot: no such core or entry: -EINVAL");
	ok(d.ops->step(d.m, 3, 1000) == -ETIME, "a core that is held does not step: -ETIME");
	ok(!d.ops->boot(d.m, 3, ENTRY) && !d.ops->step(d.m, 3, 1000) &&
		   !d.ops->step(d.m, 3, 1000) && !d.ops->step(d.m, 3, 1000) &&
		   !d.ops->get_state(d.m, 3, &st),
	   "boot and three steps");
	ok(st.minstret == 3 && st.x[2] == 3 && st.pc == ENTRY + 12 && st.run == WSE_CORE_RUNNING,
	   "three instructions have retired, not four: minstret %llu, x2 %u",
	   (unsigned long long)st.minstret, st.x[2]);
	st.x[0] = 5;
	st.x[2] = 100;
	st.mstatus = ~0u;
	st.mtvec = WSE_SRAM_BASE + 0x203;
	st.mepc = WSE_SRAM_BASE + 0x107;
	st.mscratch = 0x12345678;
	ok(!d.ops->set_state(d.m, 3, &st) && !d.ops->get_state(d.m, 3, &st), "a state is set");
	ok(!st.x[0] && st.x[2] == 100 && st.mstatus == 0x1888 &&
		   st.mtvec == WSE_SRAM_BASE + 0x200 && st.mepc == WSE_SRAM_BASE + 0x104 &&
		   st.mscratch == 0x12345678,
	   "and read back with the bits that exist: mstatus 0x%x, mtvec 0x%x, mepc 0x%x",
	   st.mstatus, st.mtvec, st.mepc);
	st.run = WSE_CORE_HELD;
	ok(!d.ops->set_state(d.m, 3, &st) && d.ops->step(d.m, 3, 1000) == -ETIME &&
		   !d.ops->get_state(d.m, 3, &st) && st.run == WSE_CORE_HELD && st.x[2] == 100,
	   "held, it stands");
	st.run = WSE_CORE_RUNNING;
	ok(!d.ops->set_state(d.m, 3, &st) && !d.ops->step(d.m, 3, 1000) &&
		   !d.ops->get_state(d.m, 3, &st) && st.x[2] == 101 && st.pc == ENTRY + 16,
	   "let go, it goes on where it was");
	st.run = WSE_CORE_FAULTED;
	st.fault_cause = WSE_CAUSE_BREAKPOINT;
	st.fault_addr = 0x1234;
	ok(!d.ops->set_state(d.m, 3, &st) && d.ops->step(d.m, 3, 1000) == -ETIME &&
		   !d.ops->get_state(d.m, 3, &st) && st.run == WSE_CORE_FAULTED &&
		   st.fault_cause == WSE_CAUSE_BREAKPOINT && st.fault_addr == 0x1234 &&
		   d.ops->mmio_read(d.m, WSE_REG_STATUS) & WSE_STATUS_FAULT_MASK,
	   "faulted, it stands and STATUS says so");
	st.run = WSE_CORE_FAULTED + 1;
	ok(d.ops->set_state(d.m, 3, &st) == -EINVAL && d.ops->set_state(d.m, 4, &st) == -EINVAL &&
		   d.ops->get_state(d.m, 4, &st) == -EINVAL &&
		   d.ops->get_acc(d.m, 4, acc) == -EINVAL && d.ops->step(d.m, 4, 1) == -EINVAL,
	   "no such state or core: -EINVAL");
	ok(!d.ops->get_acc(d.m, 3, acc) && !acc[0] && !acc[127],
	   "accumulators are zero after boot");
	ok(d.ops->replay_pick(d.m, 0, 0, 0) == (rtl ? -ENOTSUP : 0),
	   "replay: func follows, rtl leads");
	ok(rtl || (d.ops->replay_pick(d.m, 4, 0, 0) == -EINVAL &&
		   d.ops->replay_pick(d.m, 0, 32, 0) == -EINVAL),
	   "replay: no such core or task");
}

struct told {
	uint32_t kind[WSE_EV_KINDS], core;
};

static void on_event(void *arg, const struct wse_ev *e)
{
	struct told *t = arg;

	t->kind[e->kind]++;
	t->core |= 1u << e->core;
}

/* a core that comes to TNEXT without a start; events.md's equality is lockstep's to test */
static void events(bool rtl)
{
	const struct wse_host_ops host = {none_read, none_write, none_irq, NULL};
	const uint32_t code[] = {ADDI_X2, TNEXT};
	const struct wse_machine_cfg cfg = {.rows = 2, .cols = 2, .flags = WSE_MACHINE_EXACT};
	struct wse_machine *fast = d.m;
	struct told all = {0}, one = {0}, none = {0};
	uint64_t ran;
	uint32_t i;

	ok(d.ops->events(d.m, ~0u, 1, on_event, &all) == (rtl ? 0 : -ENOTSUP),
	   "events: the twin with its fast ways has none");
	ok(!d.ops->create(&cfg, &host, NULL, &d.m), "the exact one");
	ok(d.ops->events(d.m, 4, 1, on_event, &all) == -EINVAL &&
		   d.ops->events(d.m, 0, 1u << WSE_EV_KINDS, on_event, &all) == -EINVAL,
	   "events: no such core or kind");
	for (i = 0; i < 3; i++) {
		struct told *t = i == 0 ? &all : i == 1 ? &one : &none;

		put(1, code, 2);
		put(3, code, 2);
		ok(!d.ops->events(d.m, i == 1 ? 3 : ~0u, 1u << WSE_EV_TASK_END | 1u << WSE_EV_STALL,
				  i == 2 ? NULL : on_event, t) &&
			   !d.ops->boot(d.m, 1, ENTRY) && !d.ops->boot(d.m, 3, ENTRY),
		   "events: asked for");
		d.ops->advance(d.m, 3000, &ran);
	}
	ok(all.kind[WSE_EV_TASK_END] == 2 && all.kind[WSE_EV_STALL] >= 2 && all.core == 10,
	   "events of all cores: %u ends, %u stalls, cores 0x%x", all.kind[WSE_EV_TASK_END],
	   all.kind[WSE_EV_STALL], all.core);
	ok(one.kind[WSE_EV_TASK_END] == 1 && one.kind[WSE_EV_STALL] >= 1 && one.core == 8,
	   "of one core: %u ends, %u stalls, cores 0x%x", one.kind[WSE_EV_TASK_END],
	   one.kind[WSE_EV_STALL], one.core);
	ok(!none.core, "and none");
	d.ops->destroy(d.m);
	d.m = fast;
}

static void traces(void)
{
	const uint32_t bad[] = {ADDI_X2, ILLEGAL};
	struct log a = {0}, b = {0}, all = {0};
	struct wse_core_state st;
	uint32_t n;

	ok(!d.ops->trace_retire(d.m, 1, on_retire, &a) &&
		   !d.ops->trace_retire(d.m, 2, on_retire, &b) &&
		   d.ops->trace_retire(d.m, 4, on_retire, &b) == -EINVAL,
	   "two cores are traced, a core that is none is not");
	count_for_ever(0);
	count_for_ever(1);
	put(2, bad, 2);
	d.ops->boot(d.m, 2, ENTRY);
	d.ops->advance(d.m, 5000, NULL);
	d.ops->get_state(d.m, 1, &st);
	ok(a.n == st.minstret && a.n > 10 && a.core_mask == 1u << 1,
	   "one gets each of its %u instructions and no others", a.n);
	ok(b.n == 2 && b.core_mask == 1u << 2 && b.traps == 1 && b.last.trap &&
		   b.last.rd_value == WSE_CAUSE_ILLEGAL && b.last.insn == ILLEGAL &&
		   b.last.pc == ENTRY + 4,
	   "the other one instruction and one trap");
	d.ops->trace_retire(d.m, 2, NULL, NULL);
	n = a.n;
	d.ops->advance(d.m, 5000, NULL);
	ok(a.n > n, "switching one off leaves the other");
	d.ops->trace_retire(d.m, ~0u, on_retire, &all);
	n = a.n;
	d.ops->advance(d.m, 5000, NULL);
	ok(a.n == n && all.core_mask == 3, "all cores");
	d.ops->trace_retire(d.m, ~0u, NULL, NULL);
	n = all.n;
	d.ops->advance(d.m, 5000, NULL);
	ok(all.n == n, "none");
}

static void stops(void)
{
	struct log l = {.stop_at = 1};
	struct wse_sqe nop = {.opcode = WSE_OP_NOP};
	struct wse_cqe e;
	uint64_t ran = 0;
	enum wse_stop why;

	why = d.ops->advance(d.m, 12345, &ran);
	ok(why == WSE_STOP_CYCLES && ran == 12345, "cores run: so many cycles, no more: %llu",
	   (unsigned long long)ran);
	d.ops->brk(d.m);
	why = d.ops->advance(d.m, 100, &ran);
	ok(why == WSE_STOP_CYCLES && ran == 100, "brk before an advance has no effect");
	d.ops->trace_retire(d.m, 0, on_retire, &l);
	why = d.ops->advance(d.m, 1000000, &ran);
	ok(why == WSE_STOP_BREAK && ran < 10000, "brk in a callback ends it after %llu cycles",
	   (unsigned long long)ran);
	d.ops->trace_retire(d.m, ~0u, NULL, NULL);

	d.ops->mmio_write(d.m, WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	dev_close(&d);
	dev_open(&d, d.ops->name, 2, 2);
	why = d.ops->advance(d.m, 100000, &ran);
	ok(why == WSE_STOP_IDLE && ran < 1000, "nothing to do: idle after %llu cycles",
	   (unsigned long long)ran);
	ok(dev_do(&d, 0, &nop, &e) == WSE_ST_OK && d.irqs[0] == 1,
	   "a doorbell, a completion, an interrupt");
	d.fail_from = d.q[0].sq;
	d.fail_to = d.q[0].sq + 4096;
	dev_post(&d, 0, &nop);
	dev_ring(&d, 0);
	why = d.ops->advance(d.m, 100000, &ran);
	ok(why == WSE_STOP_HALTED && d.ops->mmio_read(d.m, WSE_REG_STATUS) & WSE_STATUS_HALTED_MASK,
	   "a ring that cannot be read any more: halted");
	ok(d.ops->advance(d.m, 100000, NULL) == WSE_STOP_HALTED, "and so it stays");
}

static void resets(void)
{
	struct wse_core_state st;
	uint32_t word = 0;

	count_for_ever(0);
	d.ops->advance(d.m, 100, NULL);
	d.ops->reset(d.m);
	d.ops->get_state(d.m, 0, &st);
	d.ops->peek(d.m, 0, ENTRY, &word, 4);
	ok(!(d.ops->mmio_read(d.m, WSE_REG_STATUS) & 7) && !d.ops->mmio_read(d.m, WSE_REG_CTRL) &&
		   !d.ops->mmio_read(d.m, WSE_REG_AQ_SIZE),
	   "reset: not halted, not enabled, registers 0");
	ok(st.run == WSE_CORE_HELD && word == ADDI_X2, "cores are held, SRAM is kept");
	ok(d.ops->advance(d.m, 100000, NULL) == WSE_STOP_IDLE, "idle");
}

int main(int argc, char **argv)
{
	const char *model = argc > 1 ? argv[1] : "func";
	bool rtl = !strcmp(model, "rtl");

	if (!wse_machine_find(model)) {
		printf("1..0 # SKIP the model %s was not built\n", model);
		return 0;
	}
	if (dev_open(&d, model, 2, 2)) {
		printf("Bail out! no model %s of 2x2\n", model);
		return 1;
	}
	creation(rtl);
	memory();
	state(rtl);
	events(rtl);
	traces();
	stops();
	resets();
	dev_close(&d);
	return tap_end();
}
