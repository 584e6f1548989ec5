// SPDX-License-Identifier: MIT
/*
 * The scalar core: arithmetic, traps, CSRs, self-modifying code, debugger, trace and replay. With
 * WSE_RISCV_TESTS=DIR also every rv32ui/um/mi program in that folder. `test_scalar bench` prints
 * millions of instructions a second.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "dev.h"
#include "elf.h"
#include "prog.h"

#define ENTRY	(WSE_SRAM_BASE + CODE_AT)
#define HANDLER (WSE_SRAM_BASE + 0x9f00)

static struct dev dev;

static void load(struct code *c)
{
	dev.ops->poke(dev.m, 0, WSE_SRAM_BASE, c->image, WSE_SRAM_BYTES);
	dev.ops->boot(dev.m, 0, ENTRY);
}

static struct wse_core_state run(struct code *c)
{
	struct wse_core_state st;

	park(c);
	load(c);
	dev.ops->advance(dev.m, 100000, NULL);
	dev.ops->get_state(dev.m, 0, &st);
	return st;
}

static uint8_t image[WSE_SRAM_BYTES];

static struct code fresh(void)
{
	memset(image, 0, sizeof(image));
	return (struct code){image, ENTRY};
}

static void test_alu(void)
{
	static const uint32_t v[] = {0,		 1,	     2,		 31,	     0x7fffffff,
				     0x80000000, 0x80000001, 0xffffffff, 0x12345678, 0xfffff800};
	struct wse_core_state st;
	uint32_t i, j, k, a, b, bad = 0, want[18];
	struct code c;

	for (i = 0; i < 10; i++) {
		for (j = 0; j < 10; j++) {
			a = v[i];
			b = v[j];
			c = fresh();
			li(&c, 1, a);
			li(&c, 2, b);
			for (k = 0; k < 8; k++)
				put(&c, r_type(0x33, k, 0, 8 + k, 1, 2));
			put(&c, r_type(0x33, 0, 0x20, 16, 1, 2));
			put(&c, r_type(0x33, 5, 0x20, 17, 1, 2));
			for (k = 0; k < 8; k++)
				put(&c, r_type(0x33, k, 1, 18 + k, 1, 2));
			st = run(&c);
			want[0] = a + b;
			want[1] = a << (b & 31);
			want[2] = (int32_t)a < (int32_t)b;
			want[3] = a < b;
			want[4] = a ^ b;
			want[5] = a >> (b & 31);
			want[6] = a | b;
			want[7] = a & b;
			want[8] = a - b;
			want[9] = (uint32_t)((int32_t)a >> (b & 31));
			want[10] = a * b;
			want[11] = (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32);
			want[12] = (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int64_t)b) >> 32);
			want[13] = (uint32_t)((uint64_t)a * b >> 32);
			want[14] = !b ? ~0u : (uint32_t)((int64_t)(int32_t)a / (int32_t)b);
			want[15] = !b ? ~0u : a / b;
			want[16] = !b ? a : (uint32_t)((int64_t)(int32_t)a % (int32_t)b);
			want[17] = !b ? a : a % b;
			for (k = 0; k < 18; k++)
				bad += st.x[8 + k] != want[k];
		}
	}
	is(bad, 0, "ALU, multiply and divide on corner values");
}

static void trap_case(const char *name, uint32_t insn, uint32_t x1, uint32_t cause, uint32_t tval)
{
	struct code c = fresh(), h = {image, HANDLER};
	struct wse_core_state st;
	uint32_t pc;

	park(&h);
	li(&c, 1, HANDLER);
	put(&c, CSRRW(0, 0x305, 1));
	li(&c, 1, x1);
	pc = c.pc;
	put(&c, insn);
	st = run(&c);
	if (!ok(st.run == WSE_CORE_RUNNING && st.mcause == cause && st.mtval == tval &&
			(cause == 1 || st.mepc == pc),
		"%s", name))
		printf("# run %u mcause %u mtval 0x%x mepc 0x%x, pc 0x%x\n", st.run, st.mcause,
		       st.mtval, st.mepc, pc);
	/* the same without a handler halts the core */
	c = fresh();
	li(&c, 1, x1);
	pc = c.pc;
	put(&c, insn);
	st = run(&c);
	ok(st.run == WSE_CORE_FAULTED && st.fault_cause == cause && st.fault_addr == tval &&
		   (cause == 1 || st.pc == pc),
	   "%s, no handler", name);
}

static void test_traps(void)
{
	const uint32_t base = WSE_SRAM_BASE, end = WSE_SRAM_BASE + WSE_SRAM_BYTES;

	trap_case("load misaligned", LW(2, 1, 1), base, WSE_CAUSE_LOAD_MISALIGNED, base + 1);
	trap_case("half load misaligned", i_type(0x03, 1, 2, 1, 1), base, WSE_CAUSE_LOAD_MISALIGNED,
		  base + 1);
	trap_case("load behind the SRAM", LW(2, 1, 0), end, WSE_CAUSE_LOAD_ACCESS, end);
	trap_case("load from null", LW(2, 0, 0), 0, WSE_CAUSE_LOAD_ACCESS, 0);
	trap_case("store misaligned", SW(2, 1, 2), base, WSE_CAUSE_STORE_MISALIGNED, base + 2);
	trap_case("store below the SRAM", SW(2, 1, -4), base, WSE_CAUSE_STORE_ACCESS, base - 4);
	trap_case("jump outside", JALR(0, 1, 0), end + 4, WSE_CAUSE_FETCH_ACCESS, end + 4);
	trap_case("jump misaligned", JALR(0, 1, 2), base, WSE_CAUSE_FETCH_MISALIGNED, base + 2);
	trap_case("ecall", 0x73, 0, WSE_CAUSE_ECALL, 0);
	trap_case("zero", 0, 0, WSE_CAUSE_ILLEGAL, 0);
	trap_case("compressed code", 0x4501, 0, WSE_CAUSE_ILLEGAL, 0x4501);
	trap_case("custom-1", 0x2b, 0, WSE_CAUSE_ILLEGAL, 0x2b);
	trap_case("custom-0 with an unknown funct7", WSE(WSE_F3_ISSUE, 1, 0, 0, 0), 0,
		  WSE_CAUSE_ILLEGAL, WSE(WSE_F3_ISSUE, 1, 0, 0, 0));
	trap_case("an unknown CSR", CSRRS(2, 0x7c5, 0), 0, WSE_CAUSE_ILLEGAL, CSRRS(2, 0x7c5, 0));
	trap_case("a write to a read-only CSR", CSRRW(0, 0xf14, 1), 0, WSE_CAUSE_ILLEGAL,
		  CSRRW(0, 0xf14, 1));
	trap_case("a color of 24", WSE(WSE_F3_RECV, 0, 2, 1, 0), 24, WSE_CAUSE_ILLEGAL,
		  WSE(WSE_F3_RECV, 0, 2, 1, 0));
	trap_case("a route with a switch position", WSE(WSE_F3_ROUTE, 0, 0, 1, 0), 0x100,
		  WSE_CAUSE_ILLEGAL, WSE(WSE_F3_ROUTE, 0, 0, 1, 0));
}

static void test_csrs(void)
{
	struct wse_core_state st;
	struct code c = fresh();

	li(&c, 1, 0xffffffff);
	put(&c, CSRRW(0, 0x300, 1));
	put(&c, CSRRS(2, 0x300, 0));
	put(&c, CSRRW(0, 0x305, 1));
	put(&c, CSRRS(3, 0x305, 0));
	put(&c, CSRRW(0, 0x305, 0));
	put(&c, CSRRW(0, 0x341, 1));
	put(&c, CSRRS(4, 0x341, 0));
	put(&c, CSRRS(5, 0x301, 0));
	put(&c, CSRRS(6, WSE_CSR_CFG, 0));
	put(&c, CSRRS(7, WSE_CSR_DIM, 0));
	li(&c, 1, 1000);
	put(&c, CSRRW(0, 0xb02, 1));
	put(&c, CSRRS(8, 0xb02, 0));
	put(&c, CSRRS(9, 0xc02, 0));
	put(&c, CSRRS(10, 0xb00, 0));
	put(&c, CSRRS(11, 0xb00, 0));
	st = run(&c);
	is(st.run, WSE_CORE_RUNNING, "CSRs");
	is(st.x[2], 0x1888, "mstatus has MIE, MPIE and MPP = 3");
	is(st.x[3], 0xfffffffc, "mtvec is direct");
	is(st.x[4], 0xfffffffc, "mepc");
	is(st.x[5], 0x40001100, "misa");
	is(st.x[6], 48u << 16 | 24 << 8 | 8, "wse_cfg");
	is(st.x[7], 1u << 16 | 2, "wse_dim");
	is(st.x[8], 1000, "a write to minstret takes the place of its own increment");
	is(st.x[9], 1001, "instret counts on");
	ok(st.x[11] > st.x[10], "mcycle moves");
}

static void test_code(void)
{
	struct wse_core_state st;
	struct code c = fresh();
	uint32_t patch, loop;

	/* runs ADDI x3,x3,1, writes ADDI x3,x3,16 over it, runs it again */
	li(&c, 4, ADDI(3, 3, 16));
	li(&c, 7, 2);
	patch = li2(&c, 5);
	loop = c.pc;
	li2_at(image, patch, 5, loop);
	put(&c, ADDI(3, 3, 1));
	put(&c, SW(4, 5, 0));
	put(&c, 0x0000100f);
	put(&c, ADDI(7, 7, -1));
	put(&c, b_type(1, 7, 0, (int32_t)(loop - c.pc)));
	st = run(&c);
	is(st.x[3], 17, "code that changes itself");
}

struct log {
	struct wse_retire r[64];
	unsigned int n;
};

static void log_retire(void *arg, const struct wse_retire *r)
{
	struct log *l = arg;

	if (l->n < 64)
		l->r[l->n++] = *r;
}

static void test_debug(void)
{
	struct wse_core_state st;
	struct log l = {.n = 0};
	struct code c = fresh();
	uint32_t v = 5, i;

	li(&c, 1, WSE_SRAM_BASE);
	put(&c, ADDI(2, 0, 0x55));
	put(&c, SW(2, 1, 0x10));
	put(&c, LW(3, 1, 0x10));
	for (i = 1; i <= 2; i++) {
		li(&c, 5, i);
		li(&c, 6, WSE_SRAM_BASE + 0x9e00);
		put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_ENTRY, 0, 5, 6));
		put(&c, WSE(WSE_F3_TASK, WSE_TASKOP_ACTIVATE, 0, 5, 0));
	}
	put(&c, WSE(WSE_F3_TNEXT, 0, 7, 0, 0));
	put(&c, WSE(WSE_F3_TNEXT, 0, 8, 0, 0));
	park(&c);
	is(dev.ops->trace_retire(dev.m, 0, log_retire, &l), 0, "trace");
	load(&c);
	is(dev.ops->replay_pick(dev.m, 0, 2, 1 << 14), 0, "replay: task 2 before task 1");
	dev.ops->replay_pick(dev.m, 0, 1, 1 << 14);
	dev.ops->advance(dev.m, 10000, NULL);
	ok(l.n > 12 && l.r[0].pc == ENTRY && l.r[0].rd == 1 && l.r[0].rd_value == WSE_SRAM_BASE,
	   "the first record");
	ok(l.r[2].mem_size == 4 && l.r[2].mem_addr == WSE_SRAM_BASE + 0x10 &&
		   l.r[2].mem_data == 0x55,
	   "a store");
	ok(l.r[3].rd == 3 && l.r[3].rd_value == 0x55, "a load");
	for (i = 0; i < l.n && !l.r[i].pick; i++)
		;
	ok(i + 1 < l.n && l.r[i].pick_task == 2 && l.r[i].winfo == 1 << 14 && l.r[i + 1].pick &&
		   l.r[i + 1].pick_task == 1,
	   "the picks that were asked for");
	dev.ops->trace_retire(dev.m, ~0u, NULL, NULL);
	/* single steps */
	c = fresh();
	for (i = 0; i < 5; i++)
		put(&c, ADDI(2, 2, 1));
	park(&c);
	load(&c);
	for (i = 0; i < 3; i++)
		dev.ops->step(dev.m, 0, 1000);
	dev.ops->get_state(dev.m, 0, &st);
	ok(st.minstret == 3 && st.x[2] == 3 && st.pc == ENTRY + 12, "three steps");
	st.x[2] = 100;
	dev.ops->set_state(dev.m, 0, &st);
	dev.ops->advance(dev.m, 10000, NULL);
	dev.ops->get_state(dev.m, 0, &st);
	is(st.x[2], 102, "state that a debugger set");
	is(dev.ops->step(dev.m, 0, 1000), -ETIME, "a core that waits does not step");
	is(dev.ops->peek(dev.m, 2, WSE_SRAM_BASE, &v, 4), -EINVAL, "no such core");
	is(dev.ops->peek(dev.m, 0, WSE_SRAM_BASE + WSE_SRAM_BYTES - 2, &v, 4), -EINVAL,
	   "no such memory");
	is(dev.ops->boot(dev.m, 0, 0x1000), -EINVAL, "no such entry");
}

static void riscv_tests(const char *dir)
{
	struct dirent *e;
	struct code c;
	struct elf elf;
	char name[4096];
	uint32_t tohost, v, i;
	DIR *d = opendir(dir);

	if (!d) {
		ok(false, "cannot read %s", dir);
		return;
	}
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "rv32u", 5) && strncmp(e->d_name, "rv32mi", 6))
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		c = fresh();
		if (elf_open(&elf, name) || !elf_load(&elf, image)) {
			ok(true, "%s # SKIP not a program that fits", e->d_name);
			continue;
		}
		/* need misaligned accesses, physical memory protection, or debug triggers */
		if (strstr(e->d_name, "ma_data") || strstr(e->d_name, "pmpaddr") ||
		    strstr(e->d_name, "-breakpoint")) {
			ok(true, "%s # SKIP the core does not have that", e->d_name);
			free(elf.file);
			continue;
		}
		tohost = elf_symbol(&elf, "tohost");
		dev.ops->poke(dev.m, 0, WSE_SRAM_BASE, image, WSE_SRAM_BYTES);
		dev.ops->boot(dev.m, 0, WSE_SRAM_BASE);
		for (v = i = 0; !v && i < 100; i++) {
			dev.ops->advance(dev.m, 10000, NULL);
			dev.ops->peek(dev.m, 0, tohost, &v, 4);
		}
		ok(v == 1, "%s", e->d_name);
		free(elf.file);
	}
	closedir(d);
	(void)c;
}

static void bench(void)
{
	/* a loop of loads, stores, arithmetic and branches */
	struct code c = fresh();
	struct wse_core_state st;
	struct timespec a, b;
	uint32_t loop;
	double s;

	li(&c, 1, WSE_SRAM_BASE);
	loop = c.pc;
	put(&c, LW(2, 1, 0));
	put(&c, ADDI(2, 2, 1));
	put(&c, SW(2, 1, 0));
	put(&c, r_type(0x33, 4, 0, 3, 3, 2));
	put(&c, i_type(0x13, 1, 4, 3, 3));
	put(&c, ADD(5, 4, 3));
	put(&c, b_type(4, 5, 0, 8));
	put(&c, ADDI(6, 6, 1));
	put(&c, j_type(0, (int32_t)(loop - c.pc)));
	load(&c);
	clock_gettime(CLOCK_MONOTONIC, &a);
	dev.ops->advance(dev.m, 100000000, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	dev.ops->get_state(dev.m, 0, &st);
	s = b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) * 1e-9;
	printf("# %.0f million instructions a second\n", st.minstret / s * 1e-6);
}

int main(int argc, char **argv)
{
	const char *dir = getenv("WSE_RISCV_TESTS");

	if (!ok(!dev_open(&dev, "func", 1, 2), "a device of 1 x 2 cores"))
		return tap_end();
	if (argc > 1 && !strcmp(argv[1], "bench")) {
		bench();
	} else {
		test_alu();
		test_traps();
		test_csrs();
		test_code();
		if (dir)
			riscv_tests(dir);
		else
			ok(true,
			   "riscv-tests # SKIP WSE_RISCV_TESTS is not set: make riscv-tests DIR=...");
		test_debug();
	}
	dev_close(&dev);
	return tap_end();
}
