// SPDX-License-Identifier: MIT
// Service plane, scalar side, tasks, and the public rv32ui, rv32um and rv32mi programs.
#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <elf.h>
#include <string>

#include "test_core.hpp"

void test_service(CoreTb &t)
{
	uint64_t a[64], b[64];
	bool good = true;
	unsigned n;

	tap.ok(t.top.held_o && !t.top.done_o && !t.top.faulted_o, "held after reset");
	for (auto &v : a)
		v = uint64_t(t.rnd()) << 40 ^ t.rnd();
	t.write(0x1000, a, sizeof(a));
	t.read(0x1000, b, sizeof(b));
	tap.ok(!memcmp(a, b, sizeof(a)),
	       "service plane writes and reads, data 3 cycles after the operation");
	// a read every cycle
	for (unsigned i = 0; i < 66; i++) {
		if (i < 64)
			t.svc(2, 0x1000 + 8 * i);
		else
			t.tick();
		if (i >= 2)
			good = good && (t.top.svc_rdata_lo_o | uint64_t(t.top.svc_rdata_hi_o)
								       << 32) == a[i - 2];
	}
	tap.ok(good, "one read a cycle");
	t.svc(6);
	t.tick();
	t.tick();
	for (n = 0; t.top.svc_busy_o && n < 10000; n++)
		t.tick();
	t.read(0x1000, b, sizeof(b));
	good = n > 0 && n <= 6144;
	for (auto v : b)
		good = good && !v;
	t.read(0xbff8, b, 8);
	tap.ok(good && !b[0] && t.top.held_o, "scrub holds and zeroes, %u cycles", n);

	// queues are emptied at boot, the credits come back
	Asm p;
	p.recv(S0, 4);
	p.sw(S0, WSE_SRAM_BASE + 0x2000);
	p.done();
	p.spin();
	load(t, p);
	for (unsigned i = 0; i < 4; i++)
		t.feed(4, 100 + i);
	t.run(20);
	good = t.in_credit[4] == 0;
	t.boot();
	t.run(50);
	good = good && t.in_credit[4] == 4 && !t.top.done_o;
	t.feed(4, 777);
	good = good && t.finish() && word(t, 0x2000) == 777;
	t.run(4);
	tap.ok(good && t.in_credit[4] == 4,
	       "boot empties the receive queues and gives their credits back");
	// tile reset
	for (unsigned i = 0; i < 3; i++)
		t.feed(4, i);
	t.run(20);
	t.top.tile_rst_i = 1;
	t.tick();
	t.top.tile_rst_i = 0;
	t.tick();
	for (int c = 0; c < 24; c++)
		t.in_credit[c] = 4;
	t.owed.clear();
	t.tick();
	tap.ok(t.top.held_o && !t.top.done_o && word(t, 0x2000) == 777,
	       "tile reset holds the core, SRAM keeps");
	t.boot();
	t.run(50);
	t.feed(4, 778);
	tap.ok(t.finish() && word(t, 0x2000) == 778, "and its queues are empty after it");
	// start
	Asm q;
	q.tnext(S0);
	q.sw(S0, WSE_SRAM_BASE + 0x2008);
	q.op(0x7c0024f3);		// csrr s1, wdata
	q.sw(S1, WSE_SRAM_BASE + 0x200c);
	q.op(0x7c1024f3);		// csrr s1, winfo
	q.sw(S1, WSE_SRAM_BASE + 0x2010);
	q.done(5);
	q.op(0x6f - 0);			// spin
	load(t, q);
	t.boot();
	t.run(100);
	good = !t.top.done_o && t.top.wait_cause_o == WSE_CAUSE_WAIT_TASK &&
	       t.top.wait_color_o == ~0u;
	t.svc(4, 0x1234);
	good = good && t.finish() && t.top.done_value_o == 5;
	tap.ok(good && word(t, 0x2008) == 0x80001234 &&
		       word(t, 0x200c) == WSE_SRAM_BASE + WSE_ARGS_OFFSET &&
		       word(t, 0x2010) == 0x8000,
	       "start: TNEXT takes it, DONE with a value");
	t.svc(7);
	t.run(3);
	tap.ok(!t.top.done_o, "clear done");
	t.svc(3);
	t.svc(4, 0x2468);
	tap.ok(t.finish() && word(t, 0x2008) == 0x80002468, "a start right behind boot");
	t.svc(4, 0x1234);
	t.svc(3);
	t.run(100);
	tap.ok(!t.top.done_o && t.top.wait_cause_o == WSE_CAUSE_WAIT_TASK, "boot forgets a start");
}

// a hundred SENDs of what a hundred RECVs got: each once
void test_sends(CoreTb &t)
{
	Asm p;
	bool good;

	for (unsigned i = 0; i < 100; i++) {
		p.recv(S0, 9);
		p.li(A1, 11);
		p.r(WSE_F3_SEND, 0, 0, S0, A1);
	}
	p.sw(S0, WSE_SRAM_BASE + 0x2000);
	p.done(1);
	p.spin();
	load(t, p);
	t.out[11].clear();
	t.boot();
	for (unsigned i = 0; i < 100; i++)
		t.feed(9, 1000 + i);
	good = t.finish() && t.top.done_value_o == 1;
	t.run(200);
	good = good && t.out[11].size() == 100 && word(t, 0x2000) == 1099;
	for (unsigned i = 0; good && i < 100; i++)
		good = t.out[11][i].data == 1000 + i;
	tap.ok(good, "a hundred wavelets, received and sent: %zu", t.out[11].size());
}

void test_scalar(CoreTb &t)
{
	// sum of squares with a loop, and every trap reported through mtvec = 0
	Asm p;
	p.li(S0, 0);
	p.li(S1, 10);
	uint32_t loop = p.pc();
	p.op(1 << 25 | S1 << 20 | S1 << 15 | 0 << 12 | A0 << 7 | 0x33);		// mul a0, s1, s1
	p.op(A0 << 20 | S0 << 15 | S0 << 7 | 0x33);				// add s0, s0, a0
	p.op(0xfffu << 20 | S1 << 15 | S1 << 7 | 0x13);				// addi s1, s1, -1
	int32_t off = int32_t(loop - p.pc());
	p.op((off >> 12 & 1u) << 31 | (off >> 5 & 0x3fu) << 25 | X0 << 20 | S1 << 15 | 1 << 12 |
	     (off >> 1 & 0xfu) << 8 | (off >> 11 & 1u) << 7 | 0x63);		// bnez
	p.sw(S0, WSE_SRAM_BASE + 0x2000);
	p.done();
	p.spin();
	t.svc(5);
	load(t, p);
	t.boot();
	tap.ok(t.finish() && word(t, 0x2000) == 385, "a loop");

	struct { uint32_t insn, cause, addr; const char *what; } const bad[] = {
		{ 0x00000000, WSE_CAUSE_ILLEGAL, 0, "zero word" },
		{ 0xffffffff, WSE_CAUSE_ILLEGAL, 0xffffffff, "all ones" },
		{ 0x0000402b, WSE_CAUSE_ILLEGAL, 0x0000402b, "custom-1" },
		{ 0x00000073, WSE_CAUSE_ECALL, 0, "ecall" },
		{ 0x00100073, WSE_CAUSE_BREAKPOINT, WSE_SRAM_BASE, "ebreak" },
		{ 0x00002003, WSE_CAUSE_LOAD_ACCESS, 0, "load from null" },
		{ 0x00102003, WSE_CAUSE_LOAD_MISALIGNED, 1, "misaligned load" },
		{ 0x00002023, WSE_CAUSE_STORE_ACCESS, 0, "store to null" },
		{ 0x000010a3, WSE_CAUSE_STORE_MISALIGNED, 1, "misaligned store" },
		{ 0x00000067, WSE_CAUSE_FETCH_ACCESS, 0, "jump to null" },
		{ 0x0020006f, WSE_CAUSE_FETCH_MISALIGNED, WSE_SRAM_BASE + 2, "misaligned jump" },
		{ 0x34102073 + 0x10000000, WSE_CAUSE_ILLEGAL, 0x44102073, "unknown CSR" },
		{ 0xf1401073, WSE_CAUSE_ILLEGAL, 0xf1401073, "write to mhartid" },
		{ 0x0600000b, WSE_CAUSE_ILLEGAL, 0x0600000b, "custom-0 DSR, funct7 3" },
		{ 0x0000108b, WSE_CAUSE_ILLEGAL, 0x0000108b, "ISSUE with rd" },
		{ 0x0000840b | 4 << 12, WSE_CAUSE_ILLEGAL, 0x0000840b | 4 << 12, "TNEXT with rs1" },
		{ 0x0c00300b, WSE_CAUSE_ILLEGAL, 0x0c00300b, "custom-0 TASK, funct7 6" },
	};
	for (auto &b : bad) {
		t.svc(5);
		t.write(0, &b.insn, 4);
		t.boot();
		t.finish(300);
		bool good = t.top.faulted_o && t.top.fault_cause_o == b.cause &&
			    t.top.fault_addr_o == b.addr;
		if (!good)
			printf("# faulted %d cause %x addr %x pc %x\n", t.top.faulted_o,
			       t.top.fault_cause_o, t.top.fault_addr_o, t.top.fault_pc_o);
		tap.ok(good, "fault: %s", b.what);
	}
}

void test_tasks(CoreTb &t)
{
	// tasks 3 (color 6), 1 (color 8 control), 5 (flag), 2 (completion of a move): log entries
	// and winfo
	Asm p;
	p.task(WSE_TASKOP_ENTRY, 1, 0x111);
	p.task(WSE_TASKOP_ENTRY, 2, 0x222);
	p.task(WSE_TASKOP_ENTRY, 3, 0x333);
	p.task(WSE_TASKOP_ENTRY, 5, 0x555);
	p.task(WSE_TASKOP_BIND, 6, 3);
	p.task(WSE_TASKOP_CBIND, 8, 1);
	p.task(WSE_TASKOP_BLOCK, 3);
	p.task(WSE_TASKOP_BLOCK, 2);
	p.task(WSE_TASKOP_ACTIVATE, 5);
	p.dsr(0, 0, shape(4, 1), 0, WSE_KIND_ACC);
	p.dsr(1, 6, shape(1, 1), 0, WSE_KIND_FABIN);
	p.issue(tcw(1, WSE_TOP_MOVE, 0, 1, 0,
		    WSE_TCW_ACTIVATE_MASK | WSE_TCW_UNBLOCK_MASK | 2u << WSE_TCW_TASK_SHIFT));
	p.li(S1, WSE_SRAM_BASE + 0x2000);
	uint32_t loop = p.pc();
	p.tnext(S0);
	p.op(S0 << 20 | S1 << 15 | 2 << 12 | 0 << 7 | 0x23);
	p.op(0x7c002073 | A0 << 7);
	p.op(A0 << 20 | S1 << 15 | 2 << 12 | 4 << 7 | 0x23);
	p.op(0x7c102073 | A0 << 7);
	p.op(A0 << 20 | S1 << 15 | 2 << 12 | 8 << 7 | 0x23);
	p.op(12u << 20 | S1 << 15 | S1 << 7 | 0x13);
	p.task(WSE_TASKOP_UNBLOCK, 3);
	int32_t off = int32_t(loop - p.pc());
	p.op((off >> 20 & 1u) << 31 | (off >> 1 & 0x3ffu) << 21 | (off >> 11 & 1u) << 20 |
	     (off & 0xff000) | 0x6f);
	t.svc(5);
	load(t, p);
	t.boot();
	t.run(600);
	bool good = word(t, 0x2000) == 0x555 && word(t, 0x2004) == 0 && word(t, 0x2008) == 0x4000;
	tap.ok(good, "an activated task runs");
	// the mover claims color 6: four wavelets go to it, then task 2, then the fifth makes task
	// 3 ready
	for (unsigned i = 0; i < 5; i++)
		t.feed(6, 0x60 + i);
	t.run(300);
	good = word(t, 0x200c) == 0x222 && word(t, 0x2014) == 0x4000 && word(t, 0x2018) == 0x333 &&
	       word(t, 0x201c) == 0x64 && word(t, 0x2020) == 6;
	tap.ok(good, "an engine claims its color, its completion unblocks and activates");
	t.feed(8, 0x81, true);
	t.feed(6, 0x66);
	t.run(200);
	tap.ok(word(t, 0x2024) == 0x111 && word(t, 0x202c) == 0x108 && word(t, 0x2030) == 0x333,
	       "control wavelets have tasks of their own");
	tap.ok(t.top.wait_cause_o == WSE_CAUSE_WAIT_TASK && t.in_credit[6] == 4 &&
		       t.in_credit[8] == 4,
	       "then it waits, all credits given back");

	// SEND waits for room, exactly CHAN_DEPTH fit
	Asm q;
	for (unsigned i = 0; i < 6; i++)
		q.send(10, i, i == 5);
	q.done();
	q.spin();
	t.svc(5);
	load(t, q);
	t.out[10].clear();
	t.stall_out[10] = true;
	t.boot();
	t.run(300);
	tap.ok(t.out[10].size() == 4 && !t.top.done_o &&
		       t.top.wait_cause_o == WSE_CAUSE_WAIT_SEND && t.top.wait_color_o == 10,
	       "SEND waits for room: 4 wavelets fit");
	t.release(10);
	tap.ok(t.finish() && (t.run(3), t.out[10].size() == 6) && t.out[10][5].ctrl &&
		       t.out[10][4].data == 4,
	       "and goes on");
	// ISSUE waits when three are under way; RECV
	Asm r;
	r.dsr(0, 0, shape(4, 1), 0, WSE_KIND_ACC);
	r.dsr(1, 6, shape(1, 1), 0, WSE_KIND_FABIN);
	for (unsigned i = 0; i < 4; i++) {
		r.issue(tcw(1, WSE_TOP_MOVE, 0, 1, 0));
		r.li(S0, i + 1);
		r.sw(S0, WSE_SRAM_BASE + 0x2000);
	}
	r.recv(S0, 7);
	r.done();
	r.spin();
	t.svc(5);
	load(t, r);
	t.boot();
	t.run(300);
	good = word(t, 0x2000) == 3 && t.top.wait_cause_o == WSE_CAUSE_WAIT_ENGINE;
	for (unsigned i = 0; i < 4; i++)
		t.feed(6, i);
	t.run(100);
	good = good && word(t, 0x2000) == 4 && t.top.wait_cause_o == WSE_CAUSE_WAIT_RECV &&
	       t.top.wait_color_o == 7;
	tap.ok(good, "ISSUE waits behind two waiting instructions; RECV waits");
	t.feed(7, 1);
	tap.ok(t.finish(), "and gets its wavelet");
	// MOVE fabric to fabric without room: nothing is taken that could not be sent
	Asm s;
	s.dsr(0, 12, shape(9, 1), 0, WSE_KIND_FABOUT);
	s.dsr(1, 13, shape(1, 1), 0, WSE_KIND_FABIN);
	s.issue(tcw(1, WSE_TOP_MOVE, 0, 1, 0));
	s.wait(2);
	s.done();
	s.spin();
	t.svc(5);
	load(t, s);
	t.out[12].clear();
	t.stall_out[12] = true;
	t.boot();
	for (unsigned i = 0; i < 9; i++)
		t.feed(13, i);
	t.run(300);
	tap.ok(t.out[12].size() == 4 && t.in[13].size() == 1,
	       "a move takes no wavelet that it cannot send: %zu sent, %zu left", t.out[12].size(),
	       t.in[13].size());
	t.release(12);
	t.finish();
	t.run(5);
	tap.ok(t.out[12].size() == 9, "and goes on");
	// DOT queue: DOTQ_DEPTH results, the next wavelet stays in the queue
	std::vector<uint16_t> x(32, 0x3f80);
	Asm d;
	d.dsr(0, 0, shape(8, 1), 0, WSE_KIND_ACC);
	d.dsr(1, 14, shape(1, 1), 0, WSE_KIND_FABIN);
	d.dsr(2, WSE_SRAM_BASE + DATA, shape(8, 2), shape(4, 16), mem(WSE_DT_BF16));
	d.issue(tcw(0, WSE_TOP_DOT, 0, 1, 2), 1);
	d.wait(1);
	d.done();
	t.svc(5);
	load(t, d);
	t.boot();
	for (unsigned i = 0; i < WSE_DOTQ_DEPTH + WSE_CHAN_DEPTH + 3; i++)
		t.feed(14, i % 4);
	t.run(400);
	tap.ok(t.in[14].size() == 3 && t.in_credit[14] == 0 &&
		       t.top.wait_cause_o == WSE_CAUSE_WAIT_ENGINE,
	       "DOT waits for room: %u results queued, %u wavelets received", WSE_DOTQ_DEPTH,
	       WSE_CHAN_DEPTH);
	t.in[14].clear();
	t.boot();
}

// an ELF file that ends by writing tohost
static bool run_elf(CoreTb &t, const std::string &path, uint32_t *result)
{
	std::vector<uint8_t> f;
	uint32_t tohost = 0;
	FILE *in = fopen(path.c_str(), "rb");

	if (!in)
		return false;
	for (int c; (c = fgetc(in)) != EOF;)
		f.push_back(uint8_t(c));
	fclose(in);
	if (f.size() < sizeof(Elf32_Ehdr) || memcmp(f.data(), ELFMAG, 4))
		return false;
	const Elf32_Ehdr *e = (const Elf32_Ehdr *)f.data();
	const Elf32_Phdr *ph = (const Elf32_Phdr *)(f.data() + e->e_phoff);
	const Elf32_Shdr *sh = (const Elf32_Shdr *)(f.data() + e->e_shoff);
	std::vector<uint8_t> image(WSE_SRAM_BYTES);

	for (int i = 0; i < e->e_phnum; i++) {
		uint32_t at = ph[i].p_paddr - WSE_SRAM_BASE;

		if (ph[i].p_type != PT_LOAD || !ph[i].p_filesz)
			continue;
		if (at + ph[i].p_memsz > image.size())
			return false;
		memcpy(image.data() + at, f.data() + ph[i].p_offset, ph[i].p_filesz);
	}
	for (int i = 0; i < e->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf32_Sym *s = (const Elf32_Sym *)(f.data() + sh[i].sh_offset);
		const char *names = (const char *)f.data() + sh[sh[i].sh_link].sh_offset;

		for (unsigned k = 0; k < sh[i].sh_size / sizeof(*s); k++)
			if (!strcmp(names + s[k].st_name, "tohost"))
				tohost = s[k].st_value - WSE_SRAM_BASE;
	}
	if (!tohost)
		return false;
	t.svc(5);
	t.write(0, image.data(), image.size());
	t.boot(e->e_entry & 0xffff);
	for (int i = 0; i < 2000; i++) {
		t.run(50);
		*result = word(t, tohost);
		if (*result || t.top.faulted_o)
			break;
	}
	return *result == 1;
}

// what a program is about, if that is outside hw/doc/core.md
static const char *foreign(const std::string &name)
{
	return name == "rv32mi-p-breakpoint" ? "debug triggers"
	       : name == "rv32mi-p-pmpaddr"  ? "memory protection"
	       : name == "rv32ui-p-ma_data"  ? "misaligned loads and stores"
					     : nullptr;
}

void test_public(CoreTb &t)
{
	const char *dir = getenv("WSE_RISCV_TESTS");
	std::vector<std::string> names;

	if (!dir) {
		tap.ok(true,
		       "public rv32ui, rv32um, rv32mi programs # SKIP WSE_RISCV_TESTS does not name a directory of them");
		return;
	}
	if (DIR *d = opendir(dir)) {
		while (struct dirent *e = readdir(d)) {
			std::string n = e->d_name;

			if (n.find("-p-") != n.npos && n.find('.') == n.npos)
				names.push_back(n);
		}
		closedir(d);
	}
	std::sort(names.begin(), names.end());
	t.top.row_i = t.top.col_i = 0;		// they want hart 0
	tap.ok(!names.empty(), "%zu public programs", names.size());
	for (auto &n : names) {
		uint32_t r = 0;
		bool good;

		if (const char *why = foreign(n)) {
			tap.ok(true, "%s # SKIP the core has no %s", n.c_str(), why);
			continue;
		}
		good = run_elf(t, std::string(dir) + "/" + n, &r);
		if (!good)
			printf("# tohost %#x fault %d cause %#x pc %#x\n", r, t.top.faulted_o,
			       t.top.fault_cause_o, t.top.fault_pc_o);
		tap.ok(good, "%s", n.c_str());
	}
}
