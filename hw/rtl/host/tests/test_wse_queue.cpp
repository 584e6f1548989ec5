// SPDX-License-Identifier: MIT
// Rings, dispatch, fences, budgets, deadlocks, faults and resets of wse_queue alone; then random
// traffic on all queues. queue_tb.hpp judges every write and every go.
#include "queue_cmds.hpp"

namespace {

void test_rings(Tap &tap, uint64_t seed)
{
	{
		Bench tb(seed, 4);

		for (int i = 0; i < 50; i++) {
			while (tb.room(1))
				tb.post(1, bare(WSE_OP_NOP), false);
			tb.bells.push_back({2, tb.q[1].sq_tail});	// one doorbell for all
			tb.drain();
		}
		tb.verdict(tap, tb.q[1].completed == 150,
			   "a ring of 4 filled 50 times: entries at the wrap, phases");
	}
	{
		Bench tb(seed, 2);

		for (int i = 0; i < 9; i++) {
			tb.post(1, bare(WSE_OP_NOP));
			tb.drain();
		}
		tb.verdict(tap, tb.q[1].completed == 9, "the smallest ring");
	}
	{
		Bench tb(seed, 8);

		for (int round = 0; round < 2; round++) {
			while (tb.room(2))
				tb.post(2, bare(WSE_OP_NOP));
			tb.steps(3000);				// no reads of completions
		}
		bool full = tb.q[2].completed == 7 && tb.top.idle_o && tb.q[2].expected.size() == 7;

		tb.verdict(tap, full && tb.drain() && tb.q[2].completed == 14,
			   "a full completion ring waits for the host");
	}
	{
		Bench tb(seed, 8);

		tb.post(3, bare(WSE_OP_NOP), false);
		tb.post(3, bare(WSE_OP_NOP), false);
		tb.steps(500);
		bool none = !tb.q[3].completed;

		tb.bells.push_back({6, 1});
		tb.steps(500);
		none &= tb.q[3].completed == 1;
		tb.bells.push_back({6, 2});
		tb.verdict(tap, tb.drain() && none && tb.q[3].completed == 2,
			   "entries count when their doorbell rings");
	}
	// a host that stops between any two doorbells of a batch, in any order of its queues
	for (unsigned first = 1; first < Queues; first++) {
		Bench tb(seed + first, 8);
		bool none = true;

		for (unsigned k = 0; k < Queues - 1; k++) {
			unsigned i = (first - 1 + k) % (Queues - 1) + 1;

			for (unsigned j = 1; j < Queues; j++)
				none &= !tb.q[j].completed;
			tb.post(i, bare(WSE_OP_NOP), false);
			tb.bells.push_back(
				{2 * i,
				 tb.q[i].sq_tail | (k == Queues - 2 ? 0 : WSE_DB_MORE_MASK)});
			// the admin queue goes its own way
			tb.post(0, fence(0, 0));
			tb.steps(3000);
		}
		tb.verdict(tap,
			   none && tb.drain() && tb.q[1].completed == 1 &&
				   tb.q[Queues - 1].completed == 1,
			   "MORE: no entry of a batch is fetched before the last doorbell");
	}
	{
		Bench tb(seed, 8);

		tb.post(1, bare(WSE_OP_NOP), false);
		tb.bells.push_back({2, tb.q[1].sq_tail | WSE_DB_MORE_MASK});
		tb.post(2, bare(WSE_OP_NOP), false);
		tb.bells.push_back({4, tb.q[2].sq_tail | WSE_DB_MORE_MASK});
		tb.steps(500);
		tb.post(0, bare(WSE_OP_CTX_RESET));
		tb.drain_queue(0);
		tb.post(0, destroy(3));
		tb.post(0, create(3, 8, 6));
		tb.drain_queue(0);
		tb.post(4, bare(WSE_OP_NOP));
		tb.verdict(tap,
			   tb.drain() && tb.q[4].completed == 1 && !tb.q[1].completed &&
				   !tb.q[2].completed,
			   "CTX_RESET forgets what came with MORE");
		tb.post(1, bare(WSE_OP_NOP), false);
		tb.bells.push_back({2, tb.q[1].sq_tail | WSE_DB_MORE_MASK});
		tb.steps(100);
		tb.post(0, destroy(1));
		tb.post(0, create(1, 8, 6));
		tb.drain_queue(0);
		tb.post(4, bare(WSE_OP_NOP));
		tb.verdict(tap, tb.drain() && tb.q[4].completed == 2 && !tb.q[1].completed,
			   "and so does a queue that is deleted");
	}
	{
		Bench tb(seed, 8);

		tb.ring_bad(0, 1 | WSE_DB_MORE_MASK);		// nowhere else is a bit 31
		tb.ring_bad(3, 1 | WSE_DB_MORE_MASK);
		tb.ring_bad(2, 8 | WSE_DB_MORE_MASK);
		tb.ring_bad(2, 1 | 1u << 30);
		bool good = tb.drain() && tb.fault_tail == 4;

		tb.post(1, bare(WSE_OP_NOP), false);
		tb.bells.push_back({2, tb.q[1].sq_tail | WSE_DB_MORE_MASK});
		tb.ring_bad(4, 8);				// no last doorbell of anything
		tb.steps(500);
		good &= !tb.q[1].completed;
		tb.bells.push_back({4, 0});
		tb.verdict(tap, good && tb.drain() && tb.q[1].completed == 1,
			   "MORE where it is not defined is out of range");
	}
	{
		QueueTb a(seed), b(seed), c(seed), d(seed);
		bool good = true;
		struct { QueueTb *tb; uint32_t size; uint64_t sq, cq;
		} bad[] = {{&a, 15u << 16 | 14, SqAt, CqAt},
			   {&b, 0, SqAt, CqAt},
			   {&c, 15u << 16 | 15, SqAt + 64, CqAt},
			   {&d, 1024u << 16 | 1023, SqAt, CqAt}};

		for (auto &x : bad) {
			x.tb->top.aq_size_i = x.size;
			x.tb->top.asq_i = x.sq;
			x.tb->top.acq_i = x.cq;
			x.tb->top.en_i = 1;
			for (int i = 0; i < 9; i++)
				x.tb->step();
			good &= x.tb->top.halted_o && !x.tb->top.rdy_o;
		}
		tap.ok(good, "admin rings that cannot be: HALTED without RDY");
	}
}

void test_refusals(Tap &tap, uint64_t seed)
{
	Bench tb(seed, 16);
	Command c;

	tb.post(1, refused(bare(0x55), WSE_ST_BAD_OPCODE, 0));
	tb.post(1, refused(create(4, 8, 0), WSE_ST_BAD_OPCODE, 0));
	c = bare(WSE_OP_NOP);
	c.s.flags = 1;
	tb.post(1, refused(c, WSE_ST_BAD_FIELD, 1));
	c = run(0, 1);
	c.s.rows = 9;
	tb.post(1, refused(c, WSE_ST_BAD_RECT, 6));
	c = run(3, 1);
	c.s.sram = 0;
	tb.post(1, refused(c, WSE_ST_BAD_ADDR, 56));
	// five are complete, itself is the sixth
	tb.post(1, refused(fence(1, 6), WSE_ST_BAD_FENCE, 87));
	tb.post(1, fence(1, 5));
	tb.post(1, refused(fence(Queues, 0), WSE_ST_BAD_FENCE, 87));
	tb.post(1, refused(fence(255, 0), WSE_ST_BAD_FENCE, 87));
	tb.drain();
	tb.post(0, refused(create(0, 8, 0), WSE_ST_BAD_QUEUE, 87));
	tb.post(0, refused(create(1, 8, 0), WSE_ST_BAD_QUEUE, 87));
	tb.post(0, refused(create(Queues, 8, 0), WSE_ST_BAD_QUEUE, 87));
	tb.post(0, destroy(4));
	tb.post(0, refused(destroy(4), WSE_ST_BAD_QUEUE, 87));
	tb.post(0, refused(destroy(0), WSE_ST_BAD_QUEUE, 87));
	tb.drain();
	tb.move_fault_head(tb.fault_tail);
	tb.post(1, refused(fence(4, 0), WSE_ST_BAD_FENCE, 87));
	tb.drain();
	tb.post(0, create(4, 16, 31));
	tb.drain();
	tb.post(4, fence(0, 1));
	tb.verdict(tap, tb.drain() && tb.fault_tail == 14 && !tb.runs,
		   "refused commands: status, record, the member's name; the queue goes on");
}

void test_faults(Tap &tap, uint64_t seed)
{
	{
		Bench tb(seed, 16, 4);

		for (unsigned x = 0; x < 4; x++)
			for (unsigned r : {WSE_ST_DMA_ERROR, WSE_ST_TIMEOUT, WSE_ST_CORE_FAULT})
				if (x || r == WSE_ST_DMA_ERROR) {
					tb.post(1 + x % 3, run(x, 5, 1000, r));
					tb.drain();
					tb.move_fault_head(tb.fault_tail);
				}
		tb.verdict(tap, tb.fault_tail == 10,
			   "records say what the executor says: bus address, port, core");
	}
	{
		Bench tb(seed, 16, 4);

		for (int i = 0; i < 7; i++)
			tb.post(1, refused(bare(0x7f), WSE_ST_BAD_OPCODE, 0));
		bool good = tb.drain() && tb.fault_tail == 4 && tb.fault_lost == 3;

		tb.records.clear();
		tb.move_fault_head(3);
		for (int i = 0; i < 5; i++)
			tb.post(1, refused(bare(0x7f), WSE_ST_BAD_OPCODE, 0));
		good &= tb.drain() && tb.fault_tail == 7 && tb.fault_lost == 5;
		tb.verdict(
			tap, good,
			"a full ring of fault records: dropped, counted, the completion names none");
	}
	{
		Bench tb(seed, 16, 0);

		tb.post(1, refused(bare(0x7f), WSE_ST_BAD_OPCODE, 0));
		tb.ring_bad(2, 16);
		tb.verdict(tap, tb.drain() && tb.fault_tail == 0 && tb.fault_lost == 2,
			   "no ring of fault records: counted as lost");
	}
	{
		Bench tb(seed, 8, 16, 3);

		for (unsigned i = 0; i < 4; i++)
			tb.ring_bad(2 * i, i ? 8 : 16);
		tb.ring_bad(3, 0xffffffff);
		tb.ring_bad(8, 0);			// a queue that was not created
		tb.ring_bad(2 * Queues, 1);		// a queue that the device does not have
		bool good = tb.drain() && tb.fault_tail == 6;

		tb.post(1, bare(WSE_OP_NOP));
		tb.verdict(
			tap, good && tb.drain(),
			"doorbells out of range: record, vector 0, the doorbell keeps its value");
	}
	{
		Bench tb(seed, 8, 64, 3);

		tb.lossy = true;
		tb.stall = 95;				// records are written slowly
		for (unsigned i = 0; i < 40; i++)
			tb.ring_bad(2, 100 + i);
		tb.steps(20000);
		tb.fault_lost += tb.bad.size();		// after the last record
		tb.bad.clear();
		tb.lossy = false;
		tb.stall = 0;
		tb.verdict(tap,
			   tb.drain() && tb.fault_lost && tb.fault_tail >= 8 &&
				   tb.fault_tail + tb.fault_lost == 40,
			   "40 of them at once: each is a record or counted as lost");
	}
}

void test_fences(Tap &tap, uint64_t seed)
{
	{
		Bench tb(seed, 8);

		tb.post(1, fence(2, 3));		// each waits for the next
		tb.post(2, bare(WSE_OP_NOP));
		tb.post(2, fence(3, 2));
		tb.post(2, bare(WSE_OP_NOP));
		tb.post(3, bare(WSE_OP_NOP));
		tb.steps(2000);
		bool waits = !tb.q[1].completed && tb.q[2].completed == 1 && tb.top.idle_o;

		tb.post(3, run(0, 300));
		tb.verdict(tap, tb.drain() && waits,
			   "fences that are met later, over three queues");
	}
	{
		Bench tb(seed, 8);

		tb.post(2, bare(WSE_OP_NOP));
		tb.drain();
		for (uint32_t s : {0u, 1u, 0xffffffffu, 0x80000002u})
			tb.post(1, fence(2, s));
		bool met = tb.drain();

		tb.post(1, fence(2, 0x80000000));	// ahead by 2^31 - 1
		tb.steps(3000);
		met &= tb.q[1].expected.size() == 1;
		tb.post(0, destroy(2));
		tb.q[1].expected.front().other_deleted = true;
		tb.verdict(
			tap, tb.drain() && met && tb.q[1].completed == 5,
			"counts modulo 2^32; a fence whose queue is deleted ends with BAD_FENCE");
	}
	{
		unsigned i;
		bool good = true;

		// DELETE and CREATE one after the other: the fence does not take the new queue for
		// the old one, whatever else the device is busy with between them
		for (i = 0; i < 3000 && good; i++) {
			Bench tb(seed + i, 8, 64, 2);

			tb.bus_latency = 0;
			tb.post(1, fence(2, 1));
			tb.steps(100);
			tb.post(0, destroy(2), false);
			tb.q[1].expected.front().other_deleted = true;
			tb.post(0, create(2, 8, 5), false);
			tb.bells.push_back({0, tb.q[0].sq_tail});
			for (unsigned n = 0; n < 2; n++) {
				tb.steps(tb.rng.below(50));
				for (unsigned k = 1 + tb.rng.below(3); k--; )
					tb.ring_bad(0, 99);
			}
			good = tb.drain(5000);
			if (!good)
				printf("# seed %llu: %s\n", (unsigned long long)(seed + i),
				       tb.wrong);
		}
		tap.ok(good, "a queue deleted and created at once under a waiting fence, %u times",
		       i);
	}
}

// how an executor that never ends was ended
Ended until_end(Bench &tb, unsigned max = 5000)
{
	size_t n = tb.ended.size();

	while (max-- && !tb.wrong && tb.ended.size() == n)
		tb.step();
	return tb.ended.size() > n ? tb.ended.back() : Ended{9, 0, 0};
}

void test_budgets(Tap &tap, uint64_t seed)
{
	bool good = true;
	Ended e;

	for (unsigned x = 0; x < 4; x++) {
		Bench tb(seed + x, 8);

		tb.moved_percent = 100;
		tb.post(1, hang(x, 700));
		e = until_end(tb);
		good &= e.exec == x && e.status == WSE_ST_TIMEOUT && e.ran >= 700 && e.ran < 730;
		good &= tb.drain();
		tb.moved_percent = 0;
		tb.post(2, hang(x, 700));
		e = until_end(tb);
		// nothing moves: watched for 256 cycles; a copy is never stuck
		good &= e.status == (x ? WSE_ST_DEADLOCK : WSE_ST_TIMEOUT) &&
			e.ran >= (x ? 956 : 700) && e.ran < (x ? 986 : 730);
		good &= tb.drain();
		if (tb.wrong)
			printf("# executor %u: %s (%u)\n", x, tb.wrong, tb.wrong_arg);
	}
	tap.ok(good,
	       "a budget used up: TIMEOUT while something moves, DEADLOCK when nothing does for 256 cycles");

	good = true;
	for (unsigned at : {2u, 100u, 250u}) {
		Bench tb(seed + at, 8);

		tb.moved_percent = 0;
		tb.post(1, hang(3, 500));
		while (tb.ex[3].state != Exec::Running)
			tb.step();
		tb.move_once = 500 + at;
		e = until_end(tb);
		good &= e.status == WSE_ST_TIMEOUT && e.ran >= 500 + at - 1 &&
			e.ran < 500 + at + 20 && !tb.wrong;
	}
	tap.ok(good, "one move in those 256 cycles makes it a TIMEOUT");
	{
		Bench tb(seed, 8);

		tb.moved_percent = 0;
		tb.post(1, run(1, 2000, 5000));
		tb.post(2, run(1, 400, 500));		// waits 2000 cycles for its executor
		tb.post(3, fence(2, 1));
		tb.post(3, run(2, 400, 500));
		good = tb.drain();
		tb.post(1, run(3, 3000, ~0ull));
		good &= tb.drain() && tb.ended.size() == 4;
		for (const Ended &d : tb.ended)
			good &= d.status == WSE_ST_OK;
		tb.verdict(
			tap, good,
			"a budget does not run while executor or fence is waited for; the largest does not overflow");
	}
	{
		Bench tb(seed, 8);

		tb.moved_percent = 0;
		tb.top.closed_i = 1;
		tb.post(1, hang(3, 100000));
		e = until_end(tb);
		good = e.status == WSE_ST_DEADLOCK && e.ran >= 1024 && e.ran < 1060 && tb.drain();

		tb.post(1, hang(3, 20000));		// a copy executes
		tb.steps(200);
		tb.post(2, run(0, 3000));
		tb.steps(3000);
		good &= tb.ex[3].state == Exec::Running;
		e = until_end(tb);
		good &= e.exec == 0;
		e = until_end(tb);
		good &= e.status == WSE_ST_DEADLOCK && e.ran > 3000 && e.ran < 5000 && tb.drain();

		tb.post(1, hang(3, 6000));		// entries in a ring
		tb.steps(200);
		tb.post(2, fence(1, 3));
		tb.post(2, bare(WSE_OP_NOP));
		e = until_end(tb, 9000);
		good &= e.status == WSE_ST_DEADLOCK && e.ran > 6000 && tb.drain();

		tb.top.closed_i = 0;
		tb.post(1, hang(3, 4000));
		e = until_end(tb);
		good &= e.status == WSE_ST_DEADLOCK && e.ran > 4000 && tb.drain();
		tb.verdict(
			tap, good,
			"CLOSED: a deadlock after 1024 still cycles, but not under a copy or with entries in a ring");
	}
	{
		Bench tb(seed, 8);

		tb.moved_percent = 100;
		for (unsigned x = 0; x < 4; x++)
			tb.post(1 + x, hang(x, 300));	// all at the same time, about
		good = tb.drain() && tb.ended.size() == 4;
		for (const Ended &d : tb.ended)
			good &= d.status == WSE_ST_TIMEOUT && d.ran < 400;
		tb.verdict(tap, good, "four executors time out together");
	}
}

void test_resets(Tap &tap, uint64_t seed)
{
	bool good = true;

	for (unsigned i = 0; i < 100 && good; i++) {
		Bench tb(seed + i, 8);
		Command c = bare(WSE_OP_CTX_RESET);

		for (unsigned k = 1; k < Queues; k++) {
			tb.post(k, tb.rng.chance(50) ? hang(k - 1, 1u << 20) : run(k - 1, 100));
			tb.post(k, fence(k % 4 + 1, 100));
			tb.post(k, bare(WSE_OP_NOP));
		}
		tb.steps(50 + tb.rng.below(400));
		while (!tb.bells.empty())
			tb.step();
		tb.clears = 0;
		tb.post(0, c);
		while (!tb.q[0].expected.empty() && !tb.wrong)
			tb.step();
		for (unsigned k = 1; k < Queues; k++) {
			good &= tb.q[k].completed == 0;
			tb.post(k, fence(k, 0));		// counts start again
			tb.post(k, run(k - 1, 20));
		}
		good &= tb.drain();
		if (tb.wrong)
			printf("# seed %llu: %s (%u)\n", (unsigned long long)(seed + i), tb.wrong,
			       tb.wrong_arg);
	}
	tap.ok(good,
	       "CTX_RESET in mid-flight: no completions, executors at rest, tile reset, rings as new");

	good = true;
	for (unsigned i = 0; i < 100 && good; i++) {
		Bench tb(seed + i, 8);

		tb.post(2, hang(i % 4, 1u << 20));
		tb.post(2, bare(WSE_OP_NOP));
		tb.post(3, run(i % 4, 50));			// waits for the same executor
		tb.steps(30 + tb.rng.below(300));
		while (!tb.bells.empty())
			tb.step();
		tb.post(0, destroy(2));
		tb.post(0, create(2, 4, 9));
		while (!tb.q[0].expected.empty() && !tb.wrong)
			tb.step();
		tb.post(2, run(i % 4, 50));
		good &= tb.drain() && tb.q[2].completed == 1 && tb.q[3].completed == 1 &&
			!tb.clears;
		if (tb.wrong)
			printf("# seed %llu: %s (%u)\n", (unsigned long long)(seed + i), tb.wrong,
			       tb.wrong_arg);
	}
	tap.ok(good,
	       "DELETE_QUEUE stops its command without a completion; others of the same executor go on");

	good = true;
	for (unsigned i = 0; i < 60 && good; i++) {
		Bench tb(seed + i, 8);

		for (unsigned k = 1; k < Queues; k++)
			tb.post(k, hang(k - 1, 1u << 20));
		tb.steps(tb.rng.below(300));
		tb.quiet();
		tb.top.en_i = 0;
		tb.reset(1);
		good &= !tb.top.rdy_o && !tb.top.busy_o && !tb.top.rreq_valid_o &&
			!tb.top.wreq_valid_o && !tb.top.wdat_valid_o && !tb.top.go_o &&
			!tb.top.abort_o && !tb.top.irq_o && !tb.top.fault_tail_o;
		for (unsigned k = 0; k < 300; k++) {
			tb.tick();
			good &= !tb.top.rreq_valid_o && !tb.top.wreq_valid_o && !tb.top.go_o &&
				!tb.top.irq_o && !tb.top.busy_o;
		}
	}
	tap.ok(good, "a reset in mid-flight: silence until EN");

	good = true;
	for (unsigned how = 0; how < 3; how++) {
		Bench tb(seed + how, 8);

		tb.post(1, hang(3, 1u << 20));
		tb.steps(300);
		if (how == 0)
			tb.refuse_read = tb.q[2].sq + 8 * 5;
		else
			tb.refuse_write = how == 1 ? tb.q[2].cq : FaultAt;
		tb.post(2, how == 2 ? refused(bare(0x7f), WSE_ST_BAD_OPCODE, 0) : bare(WSE_OP_NOP));
		tb.steps(600);
		good &= tb.top.halted_o && tb.halting && tb.ex[3].aborts && !tb.q[2].completed &&
			!tb.wrong;
		tb.post(3, bare(WSE_OP_NOP));
		tb.steps(600);
		good &= !tb.q[3].completed && !tb.wrong;
	}
	tap.ok(good, "a ring that cannot be read or written: HALTED, everything stops");
}

Command random_command(QueueTb &tb, unsigned i)
{
	static const unsigned results[] = {WSE_ST_OK, WSE_ST_OK, WSE_ST_OK, WSE_ST_DMA_ERROR,
					   WSE_ST_CORE_FAULT};
	unsigned n = tb.rng.below(10), j = tb.rng.below(Queues), x = tb.rng.below(4);

	if (n < 3)
		return bare(WSE_OP_NOP);
	if (n < 5 && j != i && tb.q[j].exists)		// what was posted before: no cycles
		return fence(j, tb.rng.chance(50) ? tb.q[j].posted : tb.q[j].completed);
	if (n == 5) {
		Command c = bare(WSE_OP_NOP);

		c.s.len = 8;
		return refused(c, WSE_ST_BAD_FIELD, 60);
	}
	if (n == 6)
		return hang(x, 1 + tb.rng.below(500));
	return run(x, tb.rng.below(300), 1u << 30, x ? tb.rng.pick(results) : WSE_ST_OK);
}

// All queues at once. Admin commands come when the rings they concern are not touched, as a driver
// does it.
void test_random(Tap &tap, uint64_t seed)
{
	Bench tb(seed, 8, 64);
	unsigned resets = 0, deletes = 0;

	for (unsigned round = 0; round < 150 && !tb.wrong; round++) {
		tb.stall = tb.rng.below(80);
		tb.bus_latency = tb.rng.below(40);
		tb.moved_percent = tb.rng.chance(50) ? 1 : tb.rng.below(100);
		for (unsigned n = 0; n < 2000 && !tb.wrong; n++) {
			unsigned i = tb.rng.below(Queues);

			if (tb.bells.size() < 4 && tb.q[i].exists) {
				if (tb.room(i) && tb.rng.chance(20)) {
					tb.post(i, random_command(tb, i), false);
					if (tb.rng.chance(80))
						tb.bells.push_back(
							{2 * i, tb.q[i].sq_tail |
									(i && tb.rng.chance(40)
										 ? WSE_DB_MORE_MASK
										 : 0)});
				}
				if (tb.rng.chance(5))
					tb.bells.push_back({2 * i, tb.q[i].sq_tail});
				if (tb.rng.chance(10))
					tb.consume(i);
				if (tb.rng.chance(1) && tb.bad.size() < 4)
					tb.ring_bad(2 * i + tb.rng.below(2),
						    tb.q[i].size + tb.rng.below(4));
			}
			if (tb.rng.chance(2))
				tb.move_fault_head(tb.fault_tail -
						   tb.rng.below(3) * (tb.fault_tail > 70));
			tb.step();
		}
		for (unsigned i = 0; i < Queues; i++)
			if (tb.q[i].exists)
				tb.bells.push_back({2 * i, tb.q[i].sq_tail});
		// in half of the rounds something is dropped in the middle of it all
		unsigned i = 1 + tb.rng.below(Queues - 1);

		if (round % 4 == 1) {
			while ((!tb.q[0].expected.empty() || !tb.bells.empty()) && !tb.wrong) {
				for (unsigned k = 0; k < Queues; k++)
					tb.consume(k);
				tb.move_fault_head(tb.fault_tail);
				tb.step();
			}
			tb.clears = 0;
			tb.post(0, bare(WSE_OP_CTX_RESET));
			resets++;
		} else if (round % 4 == 3) {
			while ((!tb.bells.empty() || !tb.room(0) || tb.room(0) < 4) && !tb.wrong) {
				for (unsigned k = 0; k < Queues; k++)
					tb.consume(k);
				tb.move_fault_head(tb.fault_tail);
				tb.step();
			}
			for (Queue &u : tb.q)
				for (Command &c : u.expected)
					c.other_deleted |= c.fence && c.s.queue == i;
			tb.post(0, destroy(i));
			// fences on it that were not fetched yet end now, too
			tb.drain();
			tb.post(0, create(i, 2 << tb.rng.below(4), tb.rng.below(32)));
			deletes++;
		}
		// only the admin queue's own completions are looked at until then
		while (!tb.q[0].expected.empty() && !tb.wrong) {
			tb.consume(0);
			tb.step();
		}
		tb.move_fault_head(tb.fault_tail);
		tb.drain();
		tb.records.clear();
	}
	printf("# %u completions, %u commands executed, %u fault records, %u lost, %u resets, %u deletions\n",
	       tb.completions, tb.runs, tb.fault_tail, tb.fault_lost, resets, deletes);
	tb.steps(20);
	for (unsigned left : tb.uncounted)
		tb.check(!left, "a completion that was not counted", left);
	tb.verdict(tap, tb.completions > 4000 && tb.runs > 2000 && tb.fault_tail > 500,
		   "random traffic on five queues with stalls");
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Tap tap;

	test_rings(tap, seed);
	test_refusals(tap, seed);
	test_faults(tap, seed);
	test_fences(tap, seed);
	test_budgets(tap, seed);
	test_resets(tap, seed);
	test_random(tap, seed);
	return tap.plan();
}
