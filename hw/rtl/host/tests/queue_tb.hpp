// SPDX-License-Identifier: MIT
// wse_queue on the bench: host memory with rings, the bus master's end, four executors, and a model
// of the host contract that judges every completion, fault record and interrupt when it is written.
#ifndef WSE_RTL_QUEUE_TB_HPP
#define WSE_RTL_QUEUE_TB_HPP
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "Vwse_queue.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

constexpr unsigned Queues = 5, Rows = 3, Cols = 5;	// as in blocks.mk
constexpr uint64_t Base = 0x7654000000ull, Arena = 0x100000;
constexpr uint64_t SqAt = Base, CqAt = Base + 0x80000, FaultAt = Base + 0xc0040,
		   RingPitch = 0x10000;

struct Record {			// what a fault record must say
	unsigned status = 0;
	int addr = -1;		// offset of the bad member, -1: said by an executor
	uint64_t word[8] = {};	// an executor's: words 0 (upper quarter), 1 ... 4
};

struct Command {
	struct wse_sqe s = {};
	unsigned status = WSE_ST_OK;	// expected, where it is known beforehand
	int addr = -1;			// of the fault record
	bool fence = false, other_deleted = false;
	// executor
	int exec = -1;
	unsigned work = 0;		// cycles
	unsigned result = WSE_ST_OK;
	bool hang = false, started = false;
	uint64_t go = 0, over = 0;
};

struct Queue {
	bool exists = false, phase = true, open = true;
	unsigned size = 1, vec = 0;
	uint64_t sq = 0, cq = 0;
	unsigned sq_tail = 0, sq_free = 0;	// host: next entry, last SQHD seen
	unsigned cq_tail = 0;			// model: next completion
	unsigned cq_seen = 0, cq_head = 0;	// host: next to be looked at; doorbell rung
	uint32_t completed = 0, posted = 0;
	unsigned fetch = 0, db_tail = 0;	// next entry to be read; doorbell rung
	bool kept = false;			// kept_tail was rung with MORE
	unsigned kept_tail = 0;
	std::deque<Command> expected;
};

struct Exec {
	enum { Idle, Running, Done } state = Idle;
	uint64_t words[16] = {}, until = 0;
	unsigned status = 0, aborts = 0, abort_status = 0;
	uint64_t abort_at = 0;
	uint64_t held = 0;		// copies, streams: takes no command before this cycle
	int queue = -1;
};

struct Ended {
	unsigned exec, status;
	uint64_t ran;
};

struct QueueTb : BlockTb<Vwse_queue> {
	std::vector<uint64_t> mem;
	Queue q[8];
	Exec ex[4];
	std::deque<std::pair<unsigned, uint32_t>> bells;	// doorbells to be rung
	// out of range, whose records are due
	std::deque<std::pair<unsigned, uint32_t>> bad;
	// written, not named by a completion yet
	std::map<unsigned, Record> records;
	unsigned fault_tail = 0, fault_lost = 0, fault_size = 0;
	int unsignalled[32] = {};
	// addresses that answer with an error
	uint64_t refuse_read = 0, refuse_write = 0;
	bool halting = false;
	bool lossy = false;		// more doorbells out of range than the device remembers
	std::vector<Ended> ended;
	uint16_t next_cid = 1;
	uint64_t head_moved = 0, idle_at = 0, bell_at = 0;
	unsigned uncounted[8] = {};		// completions that the counters have not seen yet
	unsigned hold_percent = 20;
	unsigned moved_percent = 50, stall = 0, bus_latency = 8, completions = 0, clears = 0,
		 runs = 0;
	int move_once = -1;
	uint64_t now = 0;
	const char *wrong = nullptr;
	unsigned wrong_arg = 0;
	// bus
	struct { bool active = false; uint64_t addr, due; unsigned beat; } rd;
	struct { int state = 0; uint64_t addr, due, data[8]; unsigned beats, got; } wr;

	explicit QueueTb(uint64_t seed) : BlockTb(seed), mem(Arena / 8)
	{
		quiet();
		top.en_i = 0;
		top.aq_size_i = 0;
		top.asq_i = top.acq_i = top.fault_base_i = 0;
		top.fault_size_i = top.fault_head_i = 0;
		top.cycle_i = 0;
		reset();
	}
	void quiet()
	{
		top.db_valid_i = top.rreq_ready_i = top.rd_valid_i = top.wreq_ready_i =
			top.wdat_ready_i = 0;
		top.wrsp_valid_i = top.done_i = top.moved_i = top.closed_i = 0;
		top.held_i = 0;
	}
	void check(bool good, const char *what, unsigned arg = 0)
	{
		if (!good && !wrong) {
			wrong = what;
			wrong_arg = arg;
		}
	}
	bool verdict(Tap &tap, bool good, const char *what)
	{
		if (wrong)
			printf("# cycle %llu: %s (%u)\n", (unsigned long long)now, wrong,
			       wrong_arg);
		return tap.ok(good && !wrong, "%s", what);
	}
	uint64_t *at(uint64_t addr)
	{
		check(addr >= Base && addr < Base + Arena && addr % 8 == 0,
		      "an address that the host has not given");
		return &mem[wrong ? 0 : (addr - Base) / 8];
	}

	// ---- host ----
	void open(unsigned i, unsigned size, unsigned vec)
	{
		q[i] = Queue();
		q[i].exists = true;
		q[i].size = size;
		q[i].vec = vec;
		q[i].sq = SqAt + i * RingPitch;
		q[i].cq = CqAt + i * RingPitch / 2;
	}
	void enable(unsigned sq_size, unsigned faults)
	{
		fault_size = faults;
		top.fault_base_i = faults ? FaultAt : 0;
		top.fault_size_i = faults;
		top.asq_i = SqAt;
		top.acq_i = CqAt;
		top.aq_size_i = (sq_size - 1) << 16 | (sq_size - 1);
		open(0, sq_size, 0);
		top.en_i = 1;
		step();
		step();
		check(top.rdy_o && !top.halted_o, "not ready");
	}
	unsigned room(unsigned i) const
	{
		return (q[i].sq_free - q[i].sq_tail - 1 + q[i].size) % q[i].size;
	}
	Command &post(unsigned i, Command c, bool ring = true)
	{
		Queue &u = q[i];

		c.s.cid = next_cid++;
		memcpy(at(u.sq + 128 * u.sq_tail), &c.s, 128);
		u.sq_tail = (u.sq_tail + 1) % u.size;
		u.posted++;
		u.expected.push_back(c);
		if (ring)
			bells.push_back({2 * i, u.sq_tail});
		return u.expected.back();
	}
	void ring_bad(unsigned index, uint32_t value)
	{
		bells.push_back({index, value});
	}
	// looks at completions; the head's doorbell comes when it likes
	void consume(unsigned i)
	{
		Queue &u = q[i];

		if (!u.exists || u.cq_seen == u.cq_tail)
			return;
		u.cq_seen = u.cq_tail;
		bells.push_back({2 * i + 1, u.cq_seen});
	}

	bool idle() const
	{
		for (const Queue &u : q)
			if (u.exists && !u.expected.empty())
				return false;
		for (const Exec &e : ex)
			if (now < e.held)
				return false;
		return bells.empty() && bad.empty();
	}
	// until all that was rung is complete
	bool drain(unsigned max = 200000)
	{
		while (max-- && !wrong && !idle()) {
			for (unsigned i = 0; i < Queues; i++)
				consume(i);
			step();
		}
		steps(40);
		for (int n : unsignalled)
			check(n == 0, "an interrupt that never came");
		check(top.fault_lost_o == fault_lost, "FAULT_LOST", top.fault_lost_o);
		check(idle() && top.idle_o && !top.busy_o, "never idle");
		return !wrong;
	}

	// until all that was rung and all of queue i is complete
	void drain_queue(unsigned i, unsigned max = 20000)
	{
		while (max-- && !wrong && (!bells.empty() || !q[i].expected.empty())) {
			consume(i);
			step();
		}
		check(bells.empty() && q[i].expected.empty(),
		      "a queue that does not come to its end", i);
	}

	// ---- one cycle ----
	void step()
	{
		drive_bus();
		drive_execs();
		drive_bell();
		top.moved_i = move_once >= 0 ? !move_once-- : rng.chance(moved_percent);
		top.cycle_i = now;
		bool rreq = top.rreq_valid_o && top.rreq_ready_i,
		     wreq = top.wreq_valid_o && top.wreq_ready_i;
		bool wdat = top.wdat_valid_o && top.wdat_ready_i;
		uint64_t raddr = top.rreq_addr_o, waddr = top.wreq_addr_o, data = top.wdat_data_o;
		unsigned beats = top.wreq_beats_o;

		tick();
		now++;
		if (top.idle_o)
			idle_at = now;
		check(idle_at <= bell_at || !(top.rreq_valid_o || top.wreq_valid_o || top.ld_o),
		      "idle, and then it works without a doorbell");
		if (rreq) {
			check(!rd.active && !halting, "a read too many");
			judge_fetch(raddr);
			rd = {true, raddr, now + rng.below(2 * bus_latency + 1), 0};
		}
		if (wreq) {
			check(wr.state == 0 && !halting && (beats == 2 || beats == 8),
			      "a write too many, or of another length");
			wr.state = 1;
			wr.addr = waddr;
			wr.beats = beats;
			wr.got = 0;
		}
		if (wdat) {
			check(wr.state == 1, "data without a request");
			wr.data[wr.got++ & 7] = data;
			if (wr.got == wr.beats) {
				wr.state = 2;
				wr.due = now + rng.below(2 * bus_latency + 1);
			}
		}
		see_execs();
		see_irq();
		check(top.fault_tail_o == fault_tail &&
			      top.fault_lost_o <= fault_lost + bad.size() + Queues &&
			      (lossy || top.fault_lost_o >= fault_lost),
		      "FAULT_TAIL or FAULT_LOST", top.fault_lost_o);
	}
	void steps(unsigned n)
	{
		while (n-- && !wrong)
			step();
	}
	void drive_bus()
	{
		top.rreq_ready_i = !rng.chance(stall) && !rd.active;
		top.wreq_ready_i = !rng.chance(stall) && wr.state == 0;
		top.wdat_ready_i = !rng.chance(stall) && wr.state == 1;
		top.rd_valid_i = 0;
		top.rd_data_i = rng.u64();
		top.rd_beat_i = rng.below(16);
		top.rd_last_i = rng.below(2);
		top.rd_err_i = rng.below(2);
		if (rd.active && rd.due <= now && !rng.chance(stall)) {
			top.rd_valid_i = 1;
			top.rd_data_i = *at(rd.addr + 8 * rd.beat);
			top.rd_beat_i = rd.beat;
			top.rd_err_i = refuse_read && rd.addr + 8 * rd.beat == refuse_read;
			halting |= top.rd_err_i;
			top.rd_last_i = rd.beat == 15;
			rd.active = !top.rd_last_i;
			rd.beat++;
		}
		top.wrsp_valid_i = 0;
		top.wrsp_err_i = rng.below(2);
		if (wr.state == 2 && wr.due <= now) {
			top.wrsp_valid_i = 1;
			top.wrsp_err_i = wr.addr == refuse_write;
			wr.state = 0;
			if (top.wrsp_err_i)
				halting = true;
			else
				judge_write();
		}
	}
	void drive_bell()
	{
		top.db_valid_i = 0;
		top.db_index_i = rng.below(2 * Queues);
		top.db_value_i = rng.u64();
		if (bells.empty() || rng.chance(30))
			return;
		bell_at = now + 1;
		unsigned i = bells.front().first / 2;
		uint32_t v = bells.front().second;

		top.db_valid_i = 1;
		top.db_index_i = bells.front().first;
		top.db_value_i = v;
		bells.pop_front();
		if (i >= Queues)
			return;
		bool batch = i && !(top.db_index_i & 1);
		uint32_t at = batch ? v & ~WSE_DB_MORE_MASK : v;
		if (!q[i].exists || at >= q[i].size)
			bad.push_back({i, v});
		else if (top.db_index_i & 1)
			q[i].cq_head = at;
		else if (!batch)
			q[i].db_tail = at;
		else {
			q[i].kept = true;
			q[i].kept_tail = at;
			for (Queue &u : q) {
				if (u.kept && !(v & WSE_DB_MORE_MASK)) {
					u.db_tail = u.kept_tail;
					u.kept = false;
				}
			}
		}
	}

	// ---- executors ----
	void drive_execs()
	{
		CData *status[] = {&top.status0_i, &top.status1_i, &top.status2_i, &top.status3_i};
		uint64_t *iova[] = {&top.iova0_i, &top.iova1_i, &top.iova2_i};

		for (unsigned x = 0; x < 4; x++) {
			Exec &e = ex[x];

			if (e.state == Exec::Running &&
			    (now >= e.until || (e.aborts && now >= e.abort_at))) {
				e.state = Exec::Done;
				if (now < e.until)
					e.status = e.abort_status;
				Command &c = q[e.queue].expected.front();

				c.status = e.status;
				c.over = now;
				ended.push_back({x, e.status, now - c.go});
				if (x < 3)
					*iova[x] = rng.u64();
				if (x == 0) {
					top.bus0_i = rng.chance(30);
					top.port0_i = rng.u64();
					top.nports0_i = rng.u64();
				} else if (x == 1) {
					top.bus1_i = rng.chance(30);
					top.port1_i = rng.u64();
					top.nports1_i = rng.u64();
					top.color1_i = rng.below(24);
				} else if (x == 2) {
					top.bus2_i = rng.chance(30);
					top.port2_i = rng.u64();
					top.nports2_i = rng.u64();
					top.color2_i = rng.below(24);
				} else {
					top.f_row_i = rng.u64();
					top.f_col_i = rng.u64();
					top.f_ncores_i = rng.u64();
					top.f_cause_i = rng.u64();
					top.f_pc_i = rng.u64();
					top.f_addr_i = rng.u64();
					top.f_color_i = rng.u64();
					top.f_value_i = rng.u64();
				}
			}
			top.done_i = e.state == Exec::Done ? top.done_i | 1 << x
							   : top.done_i & ~(1 << x);
			*status[x] = e.state == Exec::Done ? e.status : rng.below(16);
			if (x < 3)
				top.held_i = (top.held_i & ~(1 << x)) | (now < e.held) << x;
		}
	}
	static int exec_of(unsigned op)
	{
		switch (op) {
		case WSE_OP_COPY_IN: case WSE_OP_COPY_OUT: return 0;
		case WSE_OP_STREAM_IN: return 1;
		case WSE_OP_STREAM_OUT: return 2;
		case WSE_OP_START: case WSE_OP_SCRUB: return 3;
		}
		return -1;
	}
	void see_execs()
	{
		check(!(top.go_o & (top.go_o - 1)) && !(top.ld_o & (top.ld_o - 1)),
		      "two executors at once");
		for (unsigned x = 0; x < 4; x++) {
			Exec &e = ex[x];

			if (top.ack_o >> x & 1) {
				check(e.state == Exec::Done, "ack of an executor that is not done",
				      x);
				e = Exec();
				if (x < 3 && rng.chance(hold_percent))
					e.held = now + 1 + rng.below(60);
			}
			if (top.ld_o >> x & 1) {
				check(e.state == Exec::Idle && now >= e.held,
				      "an entry for an executor that works or is held", x);
				e.words[top.ld_idx_o & 15] = top.ld_word_o;
			}
			if (top.abort_o >> x & 1 && e.state == Exec::Running) {
				e.aborts++;
				e.abort_status = top.abort_status_o;
				e.abort_at = now + rng.below(10);
			}
			if (top.go_o >> x & 1)
				started(x);
			check(!top.tile_clear_o ||
				      ((e.state != Exec::Running || (e.queue == 0 && x == 3)) &&
				       now >= e.held),
			      "reset under a command", x);
		}
		clears += top.tile_clear_o;
	}
	void started(unsigned x)
	{
		Exec &e = ex[x];
		unsigned i;

		check(e.state == Exec::Idle, "go to an executor that works", x);
		for (i = 0; i < Queues; i++) {
			Queue &u = q[i];

			if (!u.exists || u.expected.empty() || u.expected.front().started)
				continue;
			Command &c = u.expected.front();

			if (c.exec == int(x) && !memcmp(&c.s, e.words, 128)) {
				c.started = true;
				c.go = now;
				e.state = Exec::Running;
				e.queue = i;
				e.status = c.result;
				e.until = c.hang ? ~0ull : now + c.work;
				e.aborts = 0;
				runs++;
				return;
			}
		}
		check(false, "a command that is not the oldest of its queue, or changed on its way",
		      x);
	}
	bool fault_room() const { return fault_size && fault_tail - top.fault_head_i < fault_size; }
	void move_fault_head(unsigned to)
	{
		top.fault_head_i = to;
		head_moved = now;
	}
	void see_irq()
	{
		if (top.cnt_o) {
			check(uncounted[top.cnt_which_o] > 0,
			      "a command is counted that has not completed", top.cnt_which_o);
			uncounted[top.cnt_which_o]--;
		}
		if (!top.irq_o)
			return;
		// its record was dropped
		if (!top.irq_vec_o && !unsignalled[0] && !bad.empty() && !fault_room()) {
			bad.pop_front();
			fault_lost++;
			return;
		}
		check(unsignalled[top.irq_vec_o] > 0, "an interrupt without reason", top.irq_vec_o);
		unsignalled[top.irq_vec_o]--;
	}

	// ---- what the device reads and writes ----
	void judge_fetch(uint64_t addr)
	{
		for (Queue &u : q)
			if (u.exists && addr == u.sq + 128 * u.fetch && u.fetch != u.db_tail) {
				u.fetch = (u.fetch + 1) % u.size;
				return;
			}
		check(false, "a read of no entry that is due");
	}
	void judge_write()
	{
		for (unsigned i = 0; i < wr.beats; i++)
			*at(wr.addr + 8 * i) = wr.data[i];
		if (wr.beats == 8)
			return judge_fault();
		for (unsigned i = 0; i < Queues; i++)
			if (q[i].exists && wr.addr >= q[i].cq && wr.addr < q[i].cq + 16 * q[i].size)
				return judge_completion(i);
		check(false, "a completion where no ring is");
	}
	void judge_fault()
	{
		const struct wse_fault *f = (const struct wse_fault *)wr.data;
		unsigned slot = (wr.addr - FaultAt) / 64;
		Record r;

		check(fault_size && wr.addr == FaultAt + 64ull * (fault_tail & (fault_size - 1)) &&
		      fault_tail - top.fault_head_i < fault_size, "place of a fault record", slot);
		check(f->seq == fault_tail && f->cycle <= now && !f->resv[0] && !f->resv[1] &&
			      !f->resv[2],
		      "a record's number");
		fault_tail++;
		if (f->status == WSE_ST_BAD_DOORBELL) {
			while (lossy && !bad.empty() && f->value != bad.front().second) {
				bad.pop_front();
				fault_lost++;
			}
			check(!bad.empty() && f->queue == bad.front().first &&
				      f->value == bad.front().second && !f->cid &&
				      f->color == ~0u && !f->addr,
			      "record of a doorbell", f->value);
			if (!bad.empty())
				bad.pop_front();
			unsignalled[0]++;
			return;
		}
		check(f->queue < Queues && q[f->queue].exists && !q[f->queue].expected.empty() &&
			      q[f->queue].expected.front().s.cid == f->cid,
		      "a record of no command", f->cid);
		if (wrong)
			return;
		const Command &c = q[f->queue].expected.front();

		r.status = f->status;
		check_record(c, *f);
		records[slot] = r;
	}
	void check_record(const Command &c, const struct wse_fault &f)
	{
		bool dma = f.status == WSE_ST_DMA_ERROR;
		unsigned x = c.exec < 0 || c.exec > 2 ? 0 : c.exec;
		const uint16_t port[] = {top.port0_i, top.port1_i, top.port2_i};
		const uint16_t nports[] = {top.nports0_i, top.nports1_i, top.nports2_i};
		const uint32_t color[] = {~0u, top.color1_i, top.color2_i};
		const uint64_t iova[] = {top.iova0_i, top.iova1_i, top.iova2_i};

		if (!c.started) {
			check(f.color == ~0u && !f.cause && !f.pc && !f.value && !f.iova &&
				      !f.ncores && !f.row && !f.col &&
				      (c.addr < 0 || f.addr == unsigned(c.addr)),
			      "record of a refused command", f.addr);
		} else if (c.exec == 3) {
			check(f.row == top.f_row_i && f.col == top.f_col_i &&
				      f.ncores == top.f_ncores_i && f.cause == top.f_cause_i &&
				      f.pc == top.f_pc_i && f.addr == top.f_addr_i &&
				      f.color == top.f_color_i && f.value == top.f_value_i,
			      "record of a start");
		} else {
			bool bus = x == 0 ? top.bus0_i : x == 1 ? top.bus1_i : top.bus2_i;

			check(!dma || f.iova == iova[x], "iova");
			if ((x || bus) && !dma)
				check(f.cause == WSE_CAUSE_WAIT_PORT &&
					      f.row == (x == 2 ? Rows - 1 : 0) &&
					      f.col == port[x] && f.ncores == nports[x] &&
					      f.color == (bus ? ~0u : color[x]),
				      "record of a port");
			else
				check(f.color == ~0u && !f.cause && !f.ncores,
				      "record of a DMA error, or of a copy");
		}
	}
	void judge_completion(unsigned i)
	{
		const struct wse_cqe *e = (const struct wse_cqe *)wr.data;
		Queue &u = q[i];
		unsigned slot = (wr.addr - u.cq) / 16, status = e->status >> 1,
			 next = (u.cq_tail + 1) % u.size;

		check(wr.addr == u.cq + 16 * u.cq_tail, "place of a completion", slot);
		check(next != u.cq_head, "a completion without room", i);
		check((e->status & 1) == u.phase, "phase", i);
		check(!u.expected.empty(), "a completion of no command", i);
		if (wrong)
			return;
		Command &c = u.expected.front();
		int32_t ahead = c.fence ? int32_t(q[c.s.queue & 7].completed - c.s.seq) : 0;
		unsigned head = (u.sq_tail - (u.expected.size() - 1) + 4 * u.size) % u.size;

		check(e->cid == c.s.cid, "completions in order, one each", e->cid);
		check((e->sqhd - head + u.size) % u.size < u.expected.size(), "SQHD", e->sqhd);
		check(e->end - e->start <= now && uint32_t(now) - e->end <= now,
		      "times of a command");
		if (c.fence && c.status == WSE_ST_OK)
			check(status == WSE_ST_OK ? ahead >= 0
						  : status == WSE_ST_BAD_FENCE && c.other_deleted,
			      "a fence that was not met", c.s.queue);
		else
			check(status == c.status, "status", status);
		if (c.exec >= 0) {
			check(c.started && c.over && int32_t(e->end - uint32_t(c.over)) >= -1,
			      "complete before it was executed", i);
			check(e->start == uint32_t(c.go - 1) || e->start == uint32_t(c.go),
			      "start of a command");
		}
		if (status == WSE_ST_OK) {
			check(e->fault == 0xffff, "a fault record for nothing");
		} else if (e->fault == 0xffff) {
			check(!fault_room() || now - head_moved < 1000,
			      "no fault record although there is room");
			fault_lost++;
		} else {
			check(records.count(e->fault) && records[e->fault].status == status,
			      "link to the fault record", e->fault);
			records.erase(e->fault);
		}
		u.expected.pop_front();
		u.sq_free = e->sqhd;
		u.cq_tail = next;
		u.phase ^= next == 0;
		u.completed++;
		unsignalled[u.vec]++;
		completions++;
		uncounted[i]++;
		if (i == 0)
			admin_done(c_of(*e), status);
	}
	void at_rest(unsigned i)
	{
		for (unsigned x = 0; x < 4; x++)
			check(ex[x].state == Exec::Idle || ex[x].queue != int(i),
			      "an executor still works for a queue that is gone", x);
	}
	struct wse_sqe c_of(const struct wse_cqe &e)	// the entry that was just completed
	{
		struct wse_sqe s;

		memcpy(&s, at(q[0].sq + 128 * ((e.sqhd + q[0].size - 1) % q[0].size)), 128);
		return s;
	}
	void admin_done(const struct wse_sqe &s, unsigned status)
	{
		if (status)
			return;
		if (s.opcode == WSE_OP_CREATE_QUEUE) {
			open(s.queue, (s.seq & 0xffff) + 1, s.seq >> 16);
		} else if (s.opcode == WSE_OP_DELETE_QUEUE) {
			at_rest(s.queue);
			q[s.queue].exists = false;
			q[s.queue].expected.clear();
		} else if (s.opcode == WSE_OP_CTX_RESET) {
			check(clears > 0, "CTX_RESET resets the tile");
			for (unsigned i = 1; i < Queues; i++) {
				at_rest(i);
				if (q[i].exists)
					open(i, q[i].size, q[i].vec);
			}
		}
	}
};
#endif
