// SPDX-License-Identifier: MIT
// The task unit, compared with a model of hw/doc/core.md, "Tasks", that predicts each pick; the
// ramp's queues are modelled, too. The unit examines a request once a cycle: it answers a start or
// a flag at that edge, a wavelet one edge later.
#include <deque>
#include <optional>

#include "Vwse_tasks.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

constexpr unsigned Colors = WSE_NCOLORS, Tasks = WSE_NTASKS, Unbind = 0xff;

struct Wavelet {
	uint32_t data;
	bool ctrl;
};

struct Pick {
	enum { Start, Flag, Fabric } kind;
	unsigned task, color;

	bool operator==(const Pick &o) const
	{
		return kind == o.kind && task == o.task && color == o.color;
	}
};

// what the contract says of the order
struct Model {
	uint32_t entry[Tasks] = {}, ready = 0, blocked = 0, claim = 0, start_pc = 0;
	unsigned data_task[Colors], ctrl_task[Colors];
	bool start = false;
	std::deque<Wavelet> queue[Colors];

	Model()
	{
		for (unsigned c = 0; c < Colors; c++)
			data_task[c] = ctrl_task[c] = Unbind;
	}
	std::optional<Pick> tnext() const
	{
		if (start)
			return Pick{Pick::Start, 255, 0};
		for (unsigned t = 0; t < Tasks; t++) {
			if (blocked >> t & 1)
				continue;
			if (ready >> t & 1)
				return Pick{Pick::Flag, t, 0};
			for (unsigned c = 0; c < Colors; c++)
				if (!(claim >> c & 1) && !queue[c].empty() &&
				    (queue[c].front().ctrl ? ctrl_task : data_task)[c] == t)
					return Pick{Pick::Fabric, t, c};
		}
		return {};
	}
};

struct Bench : BlockTb<Vwse_tasks> {
	Model m;
	bool tnext = false, recv = false, settled = true;
	unsigned recv_color = 0, answers = 0, kinds[4] = {};
	unsigned overdue = 0;
	std::optional<Pick> now, before;	// picks due at this edge and at the one before

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		boot();
	}
	void boot()
	{
		top.clr_i = 1;
		top.start_i = top.cmd_valid_i = top.act_i = top.unb_i = top.tnext_i = top.recv_i =
			0;
		top.init_i = 1;
		for (unsigned i = 0; i < 32; i++) {
			top.init_idx_i = i;
			top.claim_i = rng.u64() & 0xffffff;
			tick();
		}
		top.clr_i = top.init_i = 0;
		m = {};
		tnext = recv = false;
		overdue = 0;
		before.reset();
		now.reset();
	}
	// One cycle with what has been set; then nothing of it remains but a request. Completions:
	// engine e makes or unblocks its task. False: an answer that is none of the contract's, or
	// none where one was due.
	bool step()
	{
		bool good = true;

		for (unsigned e = 0; e < 3; e++) {
			unsigned t = e == 0 ? top.task0_i : e == 1 ? top.task1_i : top.task2_i;

			m.ready |= uint32_t(top.act_i >> e & 1) << t;
			m.blocked &= ~(uint32_t(top.unb_i >> e & 1) << t);
		}
		top.tnext_i = tnext;
		top.recv_i = recv;
		top.recv_color_i = recv_color;
		top.settled_i = settled;
		top.claim_i = m.claim;
		uint32_t some = 0, ctrl = 0;
		for (unsigned c = 0; c < Colors; c++) {
			some |= uint32_t(!m.queue[c].empty()) << c;
			ctrl |= uint32_t(m.queue[c].empty() ? rng.chance(50)
							    : m.queue[c].front().ctrl)
				<< c;
		}
		top.some_i = some;
		top.ctrl_i = ctrl;
		settle();
		// the ramp: the head of the color that is named, in the same cycle
		unsigned sc = top.s_color_o < Colors ? top.s_color_o : 0;
		top.s_valid_i = top.s_ask_o && !m.queue[sc].empty();
		top.s_ctrl_i = m.queue[sc].empty() ? rng.chance(50) : m.queue[sc].front().ctrl;
		top.s_data_i = m.queue[sc].empty() ? uint32_t(rng.u64()) : m.queue[sc].front().data;
		before = now;
		now.reset();
		if (recv && some >> recv_color & 1)
			now = Pick{Pick::Fabric, Unbind, recv_color};
		else if (tnext && settled)
			now = m.tnext();
		edge();
		if (top.ans_o)
			good &= (tnext || recv) && check(before, now);
		else
			good &= !top.s_pop_o;
		overdue = now && !top.ans_o ? overdue + 1 : 0;
		good &= overdue < 3;
		if (top.start_i) {
			m.start = true;
			m.start_pc = top.start_pc_i;
		}
		if (top.cmd_valid_i)
			command();
		if (top.ans_o) {		// the request goes down in the next cycle
			tnext = recv = false;
			overdue = 0;
			now.reset();
			top.start_i = top.cmd_valid_i = top.act_i = top.unb_i = 0;
			// of the answer's own cycle: no second answer to it
			top.tnext_i = top.recv_i = 1;
			top.tnext_i = was_tnext;
			top.recv_i = !was_tnext;
			uint32_t left = 0;
			for (unsigned c = 0; c < Colors; c++)
				left |= uint32_t(!m.queue[c].empty()) << c;
			top.some_i = left;
			settle();
			edge();
			good &= !top.ans_o && !top.s_pop_o;
		}
		top.start_i = top.cmd_valid_i = top.act_i = top.unb_i = 0;
		top.cmd_op_i = rng.below(8);
		top.cmd_a_i = rng.u64();
		top.cmd_b_i = rng.u64();
		top.start_pc_i = rng.u64();
		return good;
	}
	void cmd(unsigned op, unsigned a, uint32_t b = 0)
	{
		top.cmd_valid_i = 1;
		top.cmd_op_i = op;
		top.cmd_a_i = a | (rng.u64() & 0xffff00) << 8;	// rs[4:0] counts
		top.cmd_b_i = b;
	}
	bool does(unsigned op, unsigned a, uint32_t b = 0)
	{
		cmd(op, a, b);
		return step();
	}
	void start(uint32_t pc)
	{
		top.start_i = 1;
		top.start_pc_i = pc;
	}
	void complete(unsigned engine, unsigned task, bool act, bool unb)
	{
		(engine == 0 ? top.task0_i : engine == 1 ? top.task1_i : top.task2_i) = task;
		top.act_i |= unsigned(act) << engine;
		top.unb_i |= unsigned(unb) << engine;
	}
	void wavelet(unsigned color, bool ctrl = false)
	{
		if (m.queue[color].size() < WSE_CHAN_DEPTH)
			m.queue[color].push_back({uint32_t(rng.u64()), ctrl});
	}
	// TNEXT answered by this, at once
	bool next(decltype(Pick::kind) kind, unsigned task, unsigned color = 0)
	{
		unsigned n = answers;
		bool good = true;

		tnext = true;
		for (unsigned i = 0; i < 4 && n == answers; i++)
			good &= step();
		return good && answers == n + 1 && last == Pick{kind, task, color};
	}
	// TNEXT waits
	bool waits(unsigned cycles = 20)
	{
		unsigned n = answers;
		bool good = true;

		tnext = true;
		while (cycles--)
			good &= step();
		return good && answers == n;
	}
	Pick last = {};

private:
	bool was_tnext = false;

	bool check(const std::optional<Pick> &then, const std::optional<Pick> &at)
	{
		uint32_t winfo = top.ans_winfo_o, wdata = top.ans_wdata_o;
		std::optional<Pick> p = top.s_pop_o ? then : at;

		was_tnext = tnext;
		if (!p || (p->kind == Pick::Fabric) != bool(top.s_pop_o))
			return false;
		answers++;
		last = *p;
		kinds[recv ? 3 : p->kind]++;
		switch (p->kind) {
		case Pick::Start:
			m.start = false;
			return top.ans_task_o == 255 && top.ans_entry_o == m.start_pc &&
			       winfo == 1u << 15 && wdata == WSE_SRAM_BASE + WSE_ARGS_OFFSET;
		case Pick::Flag:
			m.ready &= ~(1u << p->task);
			return top.ans_task_o == p->task && top.ans_entry_o == m.entry[p->task] &&
			       winfo == 1u << 14 && !wdata;
		default: {
			Wavelet w = m.queue[p->color].front();

			m.queue[p->color].pop_front();
			return (recv || (top.ans_task_o == p->task &&
					 top.ans_entry_o == m.entry[p->task])) &&
			       top.s_color_o == p->color && wdata == w.data &&
			       winfo == (p->color | uint32_t(w.ctrl) << 8);
		}
		}
	}
	void command()
	{
		unsigned a = top.cmd_a_i & 31,
			 t = (top.cmd_b_i & 0xff) == Unbind ? Unbind : top.cmd_b_i & 31;

		switch (top.cmd_op_i) {
		case WSE_TASKOP_BIND: m.data_task[a] = t; break;
		case WSE_TASKOP_CBIND: m.ctrl_task[a] = t; break;
		case WSE_TASKOP_ENTRY: m.entry[a] = top.cmd_b_i; break;
		case WSE_TASKOP_ACTIVATE: m.ready |= 1u << a; break;
		case WSE_TASKOP_BLOCK: m.blocked |= 1u << a; break;
		case WSE_TASKOP_UNBLOCK: m.blocked &= ~(1u << a); break;
		}
	}
};

void test_flags(Tap &tap, Bench &tb)
{
	bool good = true;

	for (unsigned t = 0; t < Tasks; t++)
		good &= tb.does(WSE_TASKOP_ENTRY, t, tb.rng.u64());
	good &= tb.waits();
	tb.cmd(WSE_TASKOP_ACTIVATE, 9);
	tap.ok(good && tb.next(Pick::Flag, 9) && tb.waits(),
	       "TNEXT waits until a task is ready; the pick clears the flag");
	tb.boot();
	for (unsigned t = 0; t < Tasks; t++)
		good &= tb.does(WSE_TASKOP_ENTRY, t, tb.rng.u64());
	for (unsigned t = Tasks; t--;)
		good &= tb.does(WSE_TASKOP_ACTIVATE, t);
	for (unsigned t = 0; t < Tasks; t++)
		good &= tb.next(Pick::Flag, t);
	tap.ok(good && tb.waits(), "%u tasks, each with its entry: lowest number first", Tasks);

	tb.boot();
	good = tb.does(WSE_TASKOP_ACTIVATE, 0) && tb.does(WSE_TASKOP_ACTIVATE, 4) &&
	       tb.does(WSE_TASKOP_ACTIVATE, 4);
	tb.start(0x80000120);
	good &= tb.step() && tb.next(Pick::Start, 255) && tb.next(Pick::Flag, 0) &&
		tb.next(Pick::Flag, 4);
	tap.ok(good && tb.waits(),
	       "a start comes before all, once, with the address of its arguments; a flag is a flag, not a count");

	tb.boot();
	good = tb.does(WSE_TASKOP_BLOCK, 3) && tb.does(WSE_TASKOP_ACTIVATE, 3) &&
	       tb.does(WSE_TASKOP_ACTIVATE, 7) && tb.next(Pick::Flag, 7) && tb.waits();
	tb.tnext = false;
	good &= tb.does(WSE_TASKOP_UNBLOCK, 3) && tb.next(Pick::Flag, 3);
	tap.ok(good && tb.waits(),
	       "a blocked task becomes ready, but is not picked before it is unblocked");

	tb.boot();
	good = true;
	for (unsigned e = 0; e < 3; e++) {
		good &= tb.waits(5);
		tb.complete(e, 10 + e, true, false);
		good &= tb.next(Pick::Flag, 10 + e) && tb.waits(5);
		tb.tnext = false;
		good &= tb.step() && tb.does(WSE_TASKOP_BLOCK, 20) &&
			tb.does(WSE_TASKOP_ACTIVATE, 20) && tb.waits(5);
		tb.complete(e, 20, false, true);
		good &= tb.next(Pick::Flag, 20);
	}
	tb.complete(0, 31, true, false);
	tb.complete(1, 30, true, true);
	tb.complete(2, 0, true, false);
	good &= tb.next(Pick::Flag, 0) && tb.next(Pick::Flag, 30) && tb.next(Pick::Flag, 31);
	tap.ok(good && tb.waits(),
	       "an engine's completion makes its task ready, unblocks it, or both; three at once");
}

void test_wavelets(Tap &tap, Bench &tb)
{
	bool good = true;

	tb.boot();
	for (unsigned c = 0; c < Colors; c++)
		tb.wavelet(c, c % 2);
	good = tb.waits();
	tb.tnext = false;
	tb.boot();
	for (unsigned c = 0; c < Colors; c++)
		good &= tb.does(WSE_TASKOP_ENTRY, c, tb.rng.u64()) &&
			tb.does(WSE_TASKOP_BIND, c, Colors - 1 - c);
	for (unsigned c = 0; c < Colors; c++)
		tb.wavelet(c);
	for (unsigned t = 0; t < Colors; t++)
		good &= tb.next(Pick::Fabric, t, Colors - 1 - t);
	tap.ok(good && tb.waits(),
	       "a wavelet of a bound color starts its task, with its data and color; the pick pops it");

	tb.boot();
	good = tb.does(WSE_TASKOP_BIND, 5, 8) && tb.does(WSE_TASKOP_CBIND, 5, 2);
	tb.wavelet(5);
	tb.wavelet(5, true);
	tb.wavelet(5);
	good &= tb.next(Pick::Fabric, 8, 5) && tb.next(Pick::Fabric, 2, 5) &&
		tb.next(Pick::Fabric, 8, 5) && tb.waits();
	tb.tnext = false;
	good &= tb.does(WSE_TASKOP_CBIND, 5, Unbind);
	tb.wavelet(5, true);
	tb.wavelet(5);
	good &= tb.waits();
	tb.tnext = false;
	good &= tb.does(WSE_TASKOP_CBIND, 5, 1) && tb.does(WSE_TASKOP_BIND, 5, Unbind) &&
		tb.next(Pick::Fabric, 1, 5) && tb.waits();
	tap.ok(good,
	       "data and control wavelets have bindings of their own; only the head counts; 0xff unbinds");

	tb.boot();
	good = tb.does(WSE_TASKOP_BIND, 20, 6) && tb.does(WSE_TASKOP_BIND, 3, 6) &&
	       tb.does(WSE_TASKOP_BIND, 11, 6) && tb.does(WSE_TASKOP_BIND, 0, 9) &&
	       tb.does(WSE_TASKOP_ACTIVATE, 6) && tb.does(WSE_TASKOP_ACTIVATE, 9);
	tb.wavelet(0);
	tb.wavelet(20);
	tb.wavelet(11);
	tb.wavelet(3);
	good &= tb.next(Pick::Flag, 6) && tb.next(Pick::Fabric, 6, 3) &&
		tb.next(Pick::Fabric, 6, 11) && tb.next(Pick::Fabric, 6, 20) &&
		tb.next(Pick::Flag, 9) && tb.next(Pick::Fabric, 9, 0);
	tap.ok(good && tb.waits(),
	       "of one task the flag first, then the lowest color; the task's number goes before both");

	tb.boot();
	good = tb.does(WSE_TASKOP_BIND, 4, 1) && tb.does(WSE_TASKOP_BIND, 6, 2) &&
	       tb.does(WSE_TASKOP_BLOCK, 2);
	tb.wavelet(4);
	tb.wavelet(6);
	tb.m.claim = 1u << 4;
	good &= tb.waits();
	tb.m.claim = 0;
	good &= tb.next(Pick::Fabric, 1, 4) && tb.waits();
	tb.complete(1, 2, false, true);
	tap.ok(good && tb.next(Pick::Fabric, 2, 6), "a claimed color and a blocked task wait");

	tb.boot();
	good = tb.does(WSE_TASKOP_ACTIVATE, 1);
	tb.settled = false;
	good &= tb.waits();
	tb.settled = true;
	tap.ok(good && tb.next(Pick::Flag, 1),
	       "nothing is picked while an instruction may still claim its color");

	tb.boot();
	good = tb.does(WSE_TASKOP_BIND, 13, 0) && tb.does(WSE_TASKOP_ACTIVATE, 0);
	tb.start(0x80000200);
	good &= tb.step();
	tb.recv_color = 13;
	tb.recv = true;
	for (unsigned i = 0; i < 10; i++)
		good &= tb.step();
	tb.wavelet(12);
	for (unsigned i = 0; i < 10; i++)
		good &= tb.step();
	tb.answers = 0;
	tb.wavelet(13, true);
	tb.wavelet(13);
	good &= tb.step() && tb.step() && tb.step();
	tap.ok(good && tb.answers == 1 && tb.next(Pick::Start, 255) && tb.next(Pick::Flag, 0) &&
		       tb.next(Pick::Fabric, 0, 13),
	       "RECV waits for its color only, takes one wavelet of either kind, whatever task waits");

	for (unsigned i = 0; i < 32; i++)
		good &= tb.does(WSE_TASKOP_ACTIVATE, i) &&
			tb.does(WSE_TASKOP_BIND, i % Colors, i) &&
			tb.does(WSE_TASKOP_BLOCK, i + 16);
	tb.start(1);
	good &= tb.step();
	tb.boot();
	for (unsigned c = 0; c < Colors; c++)
		tb.wavelet(c, c % 3 == 0);
	good &= tb.waits();
	tb.tnext = false;
	for (unsigned t = 0; t < Tasks; t++)
		good &= tb.does(WSE_TASKOP_ACTIVATE, t) && tb.next(Pick::Flag, t) &&
			tb.top.ans_entry_o == 0;
	tap.ok(good, "BOOT: no binding, no flag, nothing blocked, no start, every entry zero");
}

void test_random(Tap &tap, Bench &tb)
{
	bool good = true;
	unsigned i;

	tb.boot();
	for (auto &k : tb.kinds)
		k = 0;
	for (i = 0; i < 400000 && good; i++) {
		unsigned few = i / 5000 % 2 ? 4 : 32;		// few tasks meet often

		if (tb.rng.below(5000) == 0) {
			tb.boot();
			tb.settled = true;
		}
		// the scalar side: a command, or a request; not both
		if (!tb.tnext && !tb.recv) {
			if (tb.rng.chance(50))
				tb.cmd(tb.rng.below(6), 0);
			if (tb.top.cmd_valid_i) {
				bool color = tb.top.cmd_op_i <= WSE_TASKOP_CBIND;

				tb.top.cmd_a_i = tb.rng.below(color ? Colors : few) |
						 (tb.rng.u64() & 0xffffe0);
				tb.top.cmd_b_i = tb.top.cmd_op_i == WSE_TASKOP_ENTRY ? tb.rng.u64()
						 : tb.rng.chance(20)		     ? Unbind
								     : tb.rng.below(few);
			} else if (tb.rng.chance(30)) {
				tb.recv = true;
				tb.recv_color = tb.rng.below(Colors);
			} else {
				tb.tnext = true;
			}
		}
		if (tb.rng.chance(30))
			tb.wavelet(tb.rng.below(Colors), tb.rng.chance(30));
		if (tb.recv && tb.rng.chance(20))
			tb.wavelet(tb.recv_color, tb.rng.chance(30));
		for (unsigned e = 0; e < 3; e++)
			if (tb.rng.chance(10))
				tb.complete(e, tb.rng.below(few), tb.rng.chance(60),
					    tb.rng.chance(60));
		if (tb.rng.chance(3))
			tb.start(tb.rng.u64());
		// Claims come and go, but not between look and pop: what was free has no engine on
		// its way to it.
		if (!tb.now && tb.rng.chance(20))
			tb.m.claim ^= 1u << tb.rng.below(Colors);
		if (tb.m.claim && tb.rng.chance(20))
			tb.m.claim &= tb.rng.u64();
		tb.settled = tb.rng.chance(80);
		good &= tb.step();
	}
	tap.ok(good && tb.kinds[0] > 1000 && tb.kinds[1] > 10000 && tb.kinds[2] > 3000 &&
		       tb.kinds[3] > 10000,
	       "random commands, completions, arrivals, claims (%u starts, %u flags, %u wavelets, %u RECVs, stopped at %u)",
	       tb.kinds[0], tb.kinds[1], tb.kinds[2], tb.kinds[3], i);
}

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	Tap tap;

	test_flags(tap, tb);
	test_wavelets(tap, tb);
	test_random(tap, tb);
	return tap.plan();
}
