// SPDX-License-Identifier: MIT
// START and SCRUB against a model of the cores behind the service plane: argument words, entry,
// rectangles of every shape, ends in any order, faults and values, cores held, aborts (budget,
// deadlock, context reset) at any cycle.
#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "Vwse_start.h"
#include "exec_tb.hpp"

namespace {

constexpr unsigned Rows = 3, Cols = 5, N = Rows * Cols;		// as in build.mk
constexpr unsigned Never = ~0u;
// operations of the service plane, as in wse_core
enum { OpWrite = 1, OpBoot = 3, OpStart = 4, OpHold = 5, OpScrub = 6, OpClear = 7 };

struct Core {
	bool held = false, done = false, faulted = false, running = false;
	uint32_t value = 0, cause = 0, pc = 0, addr = 0, color = 0, fvalue = 0, wait_cause = 0,
		 wait_color = 0;
	uint32_t arg[16] = {}, entry = 0;
	unsigned starts = 0, boots = 0, holds = 0, scrubs = 0, touched = 0, scrubbing = 0;
	// what it will do with its next start, and when
	unsigned after = 0;
	bool will_fault = false;
	uint32_t will_say = 0;
	uint64_t ended = 0;			// cycle of DONE or fault
};

struct Fault {
	unsigned status, row, col, ncores;
	uint32_t cause, pc, addr, color, value;
	bool operator==(const Fault &o) const { return !memcmp(this, &o, sizeof(o)); }
};

struct Bench : ExecTb<Vwse_start> {
	Core core[N];
	struct Op { unsigned op, addr, rows, cols; uint64_t data; };
	std::deque<Op> plane;			// two cycles from the executor to the cores
	Core seen;				// core whose status comes next
	unsigned st_core = 0, named = 0;	// named: cores that were looked at
	bool st_en = false;
	struct Any { bool held, open, bad; };
	std::deque<Any> any;			// the wafer's registers

	explicit Bench(uint64_t seed) : ExecTb(seed)
	{
		plane.assign(2, Op{});
		any.assign(2, Any{});
		drive_status();
		top.svc_busy_i = 0;
		reset();
	}
	unsigned at(unsigned r, unsigned c) const { return r * Cols + c; }
	void drive_status()
	{
		top.st_held_i = seen.held;
		top.st_done_i = seen.done;
		top.st_done_value_i = seen.value;
		top.st_faulted_i = seen.faulted;
		top.st_fault_cause_i = seen.cause;
		top.st_fault_pc_i = seen.pc;
		top.st_fault_addr_i = seen.addr;
		top.st_fault_color_i = seen.color;
		top.st_fault_value_i = seen.fvalue;
		top.st_wait_cause_i = seen.wait_cause;
		top.st_wait_color_i = seen.wait_color;
	}
	void apply(Core &c, const Op &o)
	{
		if (o.op == OpWrite) {
			unsigned i = (o.addr - WSE_ARGS_OFFSET) / 4;

			c.touched++;
			if (o.addr >= WSE_ARGS_OFFSET && i < 15) {
				c.arg[i] = uint32_t(o.data);
				c.arg[i + 1] = uint32_t(o.data >> 32);
			}
		} else if (o.op == OpBoot || o.op == OpStart) {
			(o.op == OpBoot ? c.boots : c.starts)++;
			c.entry = WSE_SRAM_BASE + o.addr;
			c.held &= o.op != OpBoot;
			c.faulted &= o.op != OpBoot;
			c.done = false;
			c.running = !c.held && !c.faulted;
		} else if (o.op == OpHold || o.op == OpScrub) {
			(o.op == OpHold ? c.holds : c.scrubs)++;
			c.held = true;
			c.done = c.faulted = c.running = false;
			c.scrubbing = o.op == OpScrub ? 50 + rng.below(50) : 0;
		} else if (o.op == OpClear) {
			c.done = false;
		}
	}
	void drive() override
	{
		bool busy = false;

		drive_status();
		st_en = top.st_en_o;
		if (st_en && top.st_core_o < N)
			seen = core[top.st_core_o];
		named += st_en;
		top.any_held_i = any.front().held;
		top.any_open_i = any.front().open;
		top.any_bad_i = any.front().bad;
		any.pop_front();
		any.push_back({});
		for (unsigned i = 0; i < N; i++) {
			const Core &c = core[i];

			if (!(top.svc_rows_o >> (i / Cols) & 1 && top.svc_cols_o >> (i % Cols) & 1))
				continue;
			any.back().held |= c.held;
			any.back().open |= !c.done;
			any.back().bad |= c.faulted || (c.done && c.value);
		}
		for (Core &c : core) {
			busy |= c.scrubbing != 0;
			c.scrubbing -= c.scrubbing != 0;
			if (!c.running || c.after == Never)
				continue;
			if (c.after) {
				c.after--;
				continue;
			}
			c.running = false;
			c.ended = cycles;
			c.faulted = c.will_fault;
			c.done = !c.will_fault;
			c.value = c.will_fault ? c.value : c.will_say;
		}
		Op o = plane.front();

		for (unsigned r = 0; r < Rows; r++)
			for (unsigned c = 0; c < Cols; c++)
				if (o.op && o.rows >> r & 1 && o.cols >> c & 1)
					apply(core[at(r, c)], o);
		plane.pop_front();
		plane.push_back(Op{});
		if (top.svc_valid_o)
			plane.back() = {top.svc_op_o, top.svc_addr_o, top.svc_rows_o,
					top.svc_cols_o, top.svc_wdata_o};
		top.svc_busy_i = busy;
	}
	// cores as an earlier start may have left them: whatever they show must not count
	void new_cores()
	{
		for (Core &c : core) {
			c = Core();
			c.done = rng.below(2);
			c.value = c.done && rng.below(2) ? uint32_t(rng.u64()) : 0;
			c.cause = uint32_t(rng.u64());
			c.pc = uint32_t(rng.u64());
			c.addr = uint32_t(rng.u64());
			c.color = uint32_t(rng.u64());
			c.fvalue = uint32_t(rng.u64());
			c.wait_cause = WSE_CAUSE_WAIT_TASK + rng.below(7);
			c.wait_color = rng.below(24);
			for (auto &a : c.arg)
				a = uint32_t(rng.u64());
		}
	}
	Fault fault()
	{
		return {top.status_o, top.f_row_o,  top.f_col_o,   top.f_ncores_o, top.f_cause_o,
			top.f_pc_o,   top.f_addr_o, top.f_color_o, top.f_value_o};
	}
};

const wse_geom Geom = {Rows, Cols, WSE_SRAM_BYTES, WSE_NCOLORS, 4, true, true};

struct Rect { unsigned r0, c0, rows, cols; };

Rect random_rect(Rng &g)
{
	Rect r;

	r.r0 = g.below(Rows);
	r.c0 = g.below(Cols);
	r.rows = 1 + g.below(Rows - r.r0);
	r.cols = 1 + g.below(Cols - r.c0);
	return r;
}

std::vector<Rect> all_rects()
{
	std::vector<Rect> v;

	for (unsigned r0 = 0; r0 < Rows; r0++)
		for (unsigned c0 = 0; c0 < Cols; c0++)
			for (unsigned r = 1; r0 + r <= Rows; r++)
				for (unsigned c = 1; c0 + c <= Cols; c++)
					v.push_back({r0, c0, r, c});
	return v;
}

struct Case {
	Bench &b;
	Rect rc;
	bool boot;
	drm_wse_cmd cmd = {};
	wse_sqe sqe;
	std::vector<Core *> in;			// row-major

	Case(Bench &bench, Rect r, bool bt, bool closed = false) : b(bench), rc(r), boot(bt)
	{
		b.new_cores();
		cmd.op = WSE_OP_START;
		cmd.queue = 1;
		cmd.budget = 1 + b.rng.below(1000);
		cmd.flags = (boot ? DRM_WSE_CMD_BOOT : 0) | (closed ? DRM_WSE_CMD_CLOSED : 0);
		cmd.row0 = rc.r0;
		cmd.col0 = rc.c0;
		cmd.rows = rc.rows;
		cmd.cols = rc.cols;
		cmd.sram = WSE_SRAM_BASE + 4 * b.rng.below(WSE_SRAM_BYTES / 4);
		for (auto &a : cmd.arg)
			a = uint32_t(b.rng.u64());
		wse_cmd_encode(&cmd, uint16_t(b.rng.u64()), nullptr, nullptr, &sqe);
		for (unsigned r = 0; r < rc.rows; r++)
			for (unsigned c = 0; c < rc.cols; c++)
				in.push_back(&b.core[b.at(rc.r0 + r, rc.c0 + c)]);
		for (Core *c : in) {
			c->held = boot && b.rng.below(2);
			c->faulted = boot && !c->held && b.rng.below(2);
			c->after = b.rng.below(2) ? b.rng.below(300) : 0;
		}
	}
	bool legal() { return !wse_cmd_check(&Geom, &cmd, 0, 0); }
	unsigned row(size_t i) const { return rc.r0 + unsigned(i) / rc.cols; }
	unsigned col(size_t i) const { return rc.c0 + unsigned(i) % rc.cols; }
	// every core of the rectangle got the arguments, then one start; no other core did
	bool delivered()
	{
		std::set<Core *> inside(in.begin(), in.end());

		for (Core &c : b.core) {
			bool is = inside.count(&c);

			if (c.starts != (is && !boot) || c.boots != (is && boot) || c.holds ||
			    c.scrubs || (!is && c.touched))
				return false;
			if (is && (memcmp(c.arg, cmd.arg, sizeof(c.arg)) || c.entry != cmd.sram))
				return false;
		}
		return true;
	}
	bool untouched()
	{
		for (Core &c : b.core)
			if (c.starts || c.boots || c.holds || c.scrubs || c.touched)
				return false;
		return true;
	}
	uint64_t last_end()
	{
		uint64_t t = 0;

		for (Core *c : in)
			t = std::max(t, c->ended);
		return t;
	}
	bool run(unsigned max = 2000) { b.begin(sqe); return b.wait_done(max); }
};

// one scan of all cores and what lies around it; without a scan, whatever the rectangle
constexpr unsigned Soon = 2 * (N + 8), Prompt = 4, Lead = 40;

bool ends(Bench &b, Rect r, bool boot)
{
	Case c(b, r, boot);
	uint64_t began;

	if (!c.legal())
		return false;
	b.begin(c.sqe);
	began = b.cycles;
	b.named = 0;
	if (!b.wait_done(2000) || !c.delivered() || b.named)
		return false;
	for (Core *k : c.in)
		if (!k->done || k->held)
			return false;			// complete before a core was
	return b.top.status_o == WSE_ST_OK && 
	       b.cycles <= std::max(c.last_end() + Prompt, began + Lead) && b.acknowledge();
}

bool held(Bench &b)
{
	Case c(b, random_rect(b.rng), false);
	size_t first = b.rng.below(unsigned(c.in.size())), n = 1;

	for (Core &k : b.core)
		k.held = true;				// those outside do not count
	for (Core *k : c.in)
		k->held = false;
	c.in[first]->held = true;
	for (size_t i = first + 1; i < c.in.size(); i++) {
		c.in[i]->held = b.rng.below(2);
		n += c.in[i]->held;
	}
	Fault want = {WSE_ST_NOT_BOOTED, c.row(first), c.col(first), unsigned(n), 0, 0, 0, ~0u, 0};

	return c.run(200) && b.fault() == want && c.untouched() && b.acknowledge();
}

// All ends are in before the executor looks, so the record is exact.
bool verdict(Bench &b, unsigned faults, unsigned values)
{
	Case c(b, random_rect(b.rng), b.rng.below(2));
	int first_fault = -1, first_value = -1;
	unsigned nf = 0, nv = 0;

	for (size_t i = 0; i < c.in.size(); i++) {
		Core *k = c.in[i];
		unsigned dice = b.rng.below(100);

		k->after = 0;
		k->will_fault = dice < faults;
		k->will_say = !k->will_fault && dice < faults + values ? 1 + b.rng.below(1000) : 0;
		if (!k->will_fault && !k->will_say && b.rng.below(3) == 0)
			// does not matter, unless no other core ends badly
			k->after = Never;
		if (k->will_fault && !nf++)
			first_fault = int(i);
		if (k->will_say && !nv++)
			first_value = int(i);
	}
	if (!nf && !nv)
		return true;
	Fault want;

	if (nf) {
		const Core *k = c.in[first_fault];

		want = {WSE_ST_CORE_FAULT,
			c.row(first_fault),
			c.col(first_fault),
			nf,
			k->cause,
			k->pc,
			k->addr,
			k->color,
			k->fvalue};
	} else {
		want = {WSE_ST_KERNEL_ERROR,
			c.row(first_value),
			c.col(first_value),
			nv,
			0,
			0,
			0,
			~0u,
			c.in[first_value]->will_say};
	}
	return c.run(500) && b.fault() == want && c.delivered() && b.acknowledge();
}

// Faults at any time: the named core has faulted, and none below it had when the last scan began.
bool late_fault(Bench &b)
{
	Case c(b, random_rect(b.rng), b.rng.below(2));
	size_t named = c.in.size();

	for (Core *k : c.in) {
		k->will_fault = b.rng.below(3) == 0;
		k->after = k->will_fault ? b.rng.below(400) : Never;
	}
	c.in[b.rng.below(unsigned(c.in.size()))]->will_fault = true;
	for (Core *k : c.in)
		if (k->will_fault && k->after == Never)
			k->after = 400;
	if (!c.run() || b.top.status_o != WSE_ST_CORE_FAULT)
		return false;
	for (size_t i = 0; i < c.in.size(); i++)
		if (c.row(i) == b.top.f_row_o && c.col(i) == b.top.f_col_o)
			named = i;
	if (named == c.in.size() || !c.in[named]->faulted || b.top.f_pc_o != c.in[named]->pc)
		return false;
	for (size_t i = 0; i < named; i++)
		if (c.in[i]->faulted && c.in[i]->ended + Soon < b.cycles)
			return false;
	return b.acknowledge();
}

// Some cores never end; the queue says how the budget ran out, at any moment from the first cycle
// on.
bool blamed(Bench &b, bool early)
{
	Case c(b, random_rect(b.rng), b.rng.below(2));
	unsigned status = b.rng.below(2) ? WSE_ST_TIMEOUT : WSE_ST_DEADLOCK, n = 0;
	int first = -1;

	for (size_t i = 0; i < c.in.size(); i++) {
		Core *k = c.in[i];

		k->held = k->faulted = false;
		// in this cycle: too late to be the verdict
		k->will_fault = !early && b.rng.below(4) == 0;
		k->after = k->will_fault || b.rng.below(2) ? Never : 0;
		if (b.rng.below(4) == 0) {
			k->wait_cause = 0;
			k->wait_color = ~0u;
		}
	}
	c.in[b.rng.below(unsigned(c.in.size()))]->after = Never;
	b.begin(c.sqe);
	b.steps(early ? b.rng.below(8) : 150 + b.rng.below(3 * N));
	if (b.top.done_o)
		return false;
	if (!early)
		for (Core *k : c.in)
			if (k->will_fault)
				k->after = 0;
	b.abort(status);
	if (!b.wait_done(Soon))
		return false;
	for (size_t i = 0; i < c.in.size(); i++)
		if ((early || !c.in[i]->done) && !n++)	// no core had begun if early
			first = int(i);
	Fault want = {status,
		      c.row(first),
		      c.col(first),
		      n,
		      c.in[first]->wait_cause,
		      0,
		      0,
		      c.in[first]->wait_color,
		      0};

	return b.fault() == want && b.acknowledge();
}

// The budget runs out just as the last core executes DONE: complete, or late, but never late
// without a core to name.
bool photo_finish(Bench &b)
{
	Case c(b, random_rect(b.rng), b.rng.below(2));
	bool good;

	for (Core *k : c.in)
		k->after = 0;
	Core *late = c.in[b.rng.below(unsigned(c.in.size()))];

	late->after = Never;
	b.begin(c.sqe);
	b.steps(100);
	late->after = b.rng.below(Soon);
	b.steps(late->after > N ? late->after - b.rng.below(N) : 0);
	if (!b.top.done_o)
		b.abort(WSE_ST_TIMEOUT);
	if (!b.wait_done(2 * Soon))
		return false;
	if (b.top.status_o == WSE_ST_OK)
		good = late->done;
	else
		good = b.top.status_o == WSE_ST_TIMEOUT && b.top.f_ncores_o == 1 &&
		       &b.core[b.at(b.top.f_row_o, b.top.f_col_o)] == late;
	return good && b.acknowledge();
}

// A context reset: at rest at once, whatever it was doing, and nothing more goes out.
bool reset_any_time(Bench &b)
{
	Case c(b, random_rect(b.rng), b.rng.below(2));

	for (Core *k : c.in)
		k->after = Never;
	b.begin(c.sqe);
	b.steps(b.rng.below(80));
	if (!b.top.done_o) {
		b.abort(WSE_ST_OK);
		if (!b.wait_done(4))
			return false;
	}
	if (!b.acknowledge())
		return false;
	b.steps(3);
	for (Core &k : b.core)
		k.starts = k.boots = k.touched = 0;
	b.steps(40);
	return c.untouched() && ends(b, random_rect(b.rng), b.rng.below(2));
}

bool scrub(Bench &b, Rect rc)
{
	Case c(b, rc, true);
	std::set<Core *> inside(c.in.begin(), c.in.end());
	wse_sqe s = {};

	s.opcode = WSE_OP_SCRUB;
	s.row0 = rc.r0;
	s.col0 = rc.c0;
	s.rows = rc.rows;
	s.cols = rc.cols;
	b.begin(s);
	if (!b.wait_done(400) || b.top.status_o != WSE_ST_OK)
		return false;
	for (Core &k : b.core) {
		bool is = inside.count(&k);

		if (k.scrubs != is || k.boots || k.starts || k.touched || k.scrubbing ||
		    (is && !k.held))
			return false;
	}
	return b.acknowledge();
}

bool closed(Bench &b)
{
	bool want = b.rng.below(2);
	Case c(b, random_rect(b.rng), b.rng.below(2), want);

	return c.run() && b.top.closed_o == want && b.acknowledge();
}

} // namespace

int main(int argc, char **argv)
{
	Tap t;
	Bench b(bench_seed(argc, argv));
	std::vector<Rect> rects = all_rects();
	size_t i = 0;

	for (int boot = 0; boot < 2; boot++) {
		i = 0;
		t.ok(many(b, unsigned(rects.size()),
			  [&](Bench &) { return ends(b, rects[i++], boot); }),
		     "%s: arguments, entry and prompt end of every rectangle of a %ux%u tile, whatever the cores showed before",
		     boot ? "BOOT" : "START", Rows, Cols);
	}
	t.ok(many(b, 300, held), "a held core: NOT_BOOTED names the lowest, nothing is sent");
	t.ok(many(b, 300, [&](Bench &) { return verdict(b, 30, 0); }),
	     "CORE_FAULT: the lowest core's record, how many");
	t.ok(many(b, 300, [&](Bench &) { return verdict(b, 0, 30); }),
	     "KERNEL_ERROR: the lowest core's value, how many");
	t.ok(many(b, 300, [&](Bench &) { return verdict(b, 20, 40); }),
	     "a fault outweighs a value");
	t.ok(many(b, 300, late_fault), "faults at any time");
	t.ok(many(b, 300, [&](Bench &) { return blamed(b, false); }),
	     "budget or deadlock: the lowest core that waits, what for, pc 0");
	t.ok(many(b, 300, [&](Bench &) { return blamed(b, true); }),
	     "in the first cycles, too: an earlier start's DONE does not count");
	t.ok(many(b, 1000, photo_finish), "DONE as the budget runs out: complete or named");
	t.ok(many(b, 300, reset_any_time), "context reset at any cycle, then a start");
	i = 0;
	t.ok(many(b, unsigned(rects.size()), [&](Bench &) { return scrub(b, rects[i++]); }),
	     "SCRUB of every rectangle, complete when no core is busy");
	t.ok(many(b, 50, closed), "CLOSED is told to the queue");
	return t.plan();
}
