// SPDX-License-Identifier: MIT
// An executor on the bench: the queue's end of a command (words of the entry, go, abort, done and
// ack). A bench derives from it and defines drive(): the action of the rest of the device before an
// edge.
#ifndef WSE_RTL_EXEC_TB_HPP
#define WSE_RTL_EXEC_TB_HPP
#include <cstring>

#include "rtl/tests/block_tb.hpp"
#include "wse_cmd.h"

template <class Top> struct ExecTb : BlockTb<Top> {
	using BlockTb<Top>::top;
	using BlockTb<Top>::rng;
	using BlockTb<Top>::cycles;

	explicit ExecTb(uint64_t seed) : BlockTb<Top>(seed)
	{
		top.ld_i = top.go_i = top.abort_i = top.ack_i = 0;
	}
	virtual ~ExecTb() = default;
	virtual void drive() = 0;

	void step()
	{
		if (!top.ld_i) {		// whatever is not valid must not matter
			top.ld_idx_i = rng.below(16);
			top.ld_word_i = rng.u64();
		}
		if (!top.abort_i)
			top.abort_status_i = rng.below(16);
		drive();
		this->tick();
	}
	void steps(unsigned n)
	{
		while (n--)
			step();
	}
	// leaves with go taken
	void begin(const struct wse_sqe &s)
	{
		for (unsigned i = 0; i < 16; i++) {
			top.ld_i = 1;
			top.ld_idx_i = i;
			memcpy(&top.ld_word_i, (const char *)&s + 8 * i, 8);
			step();
		}
		top.ld_i = 0;
		steps(1 + rng.below(3));
		top.go_i = 1;
		step();
		top.go_i = 0;
	}
	void abort(unsigned status)
	{
		top.abort_i = 1;
		top.abort_status_i = status;
		step();
		top.abort_i = 0;
	}
	// runs for some cycles, then the queue ends it; early: it was not done before. True: it
	// came to rest in time, with that status or done
	bool abort_at_random(unsigned status, unsigned max, bool *early)
	{
		unsigned n = rng.below(rng.pick({4u, 12u, 60u, 400u, 4000u}));

		while (n-- && !top.done_o)
			step();
		*early = !top.done_o;
		if (*early)
			abort(status);
		return wait_done(max) &&
		       (top.status_o == WSE_ST_OK || (*early && top.status_o == status));
	}
	bool wait_done(unsigned max)
	{
		while (!top.done_o && max--)
			step();
		return top.done_o;
	}
	// done stays until it is acknowledged, and goes then
	bool acknowledge()
	{
		bool good = true;
		unsigned status = top.status_o;

		for (unsigned n = rng.below(5); n--; ) {
			step();
			good &= top.done_o && top.status_o == status;
		}
		top.ack_i = 1;
		step();
		top.ack_i = 0;
		return good && !top.done_o;
	}
};
#endif
