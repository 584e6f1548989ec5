// SPDX-License-Identifier: MIT
// Commands for the bench of wse_queue, good and bad, and a bench whose queues are open.
#ifndef WSE_QUEUE_CMDS_HPP
#define WSE_QUEUE_CMDS_HPP
#include "queue_tb.hpp"

namespace {

Command bare(unsigned op)
{
	Command c;

	c.s.opcode = op;
	return c;
}
Command fence(unsigned queue, uint32_t seq)
{
	Command c = bare(WSE_OP_FENCE);

	c.s.queue = queue;
	c.s.seq = seq;
	c.fence = true;
	return c;
}
// a good command for executor x
Command run(unsigned x, unsigned work, uint64_t budget = 1u << 30, unsigned result = WSE_ST_OK)
{
	static const uint8_t op[] = {WSE_OP_COPY_IN, WSE_OP_STREAM_IN, WSE_OP_STREAM_OUT,
				     WSE_OP_START};
	Command c = bare(op[x]);

	c.s.budget = budget;
	c.s.cols = 1;
	if (x == 0 || x == 3)
		c.s.rows = 1;
	if (x == 0)
		c.s.len = 8;
	if (x == 3)
		c.s.sram = WSE_SRAM_BASE;
	else {
		c.s.flags = WSE_SQF_BUF_DIRECT;
		c.s.nline = 1;
	}
	if (x == 1 || x == 2)
		c.s.kcol = c.s.nfeat = 1;
	c.exec = x;
	c.work = work;
	c.result = result;
	return c;
}
Command hang(unsigned x, uint64_t budget)
{
	Command c = run(x, 0, budget);

	c.hang = true;
	return c;
}
Command refused(Command c, unsigned status, unsigned off)
{
	c.status = status;
	c.addr = off;
	c.exec = -1;
	c.fence = false;
	return c;
}
Command create(unsigned i, unsigned size, unsigned vec)
{
	Command c = bare(WSE_OP_CREATE_QUEUE);

	c.s.queue = i;
	c.s.buf = SqAt + i * RingPitch;
	c.s.mask = CqAt + i * RingPitch / 2;
	c.s.seq = vec << 16 | (size - 1);
	return c;
}
Command destroy(unsigned i)
{
	Command c = bare(WSE_OP_DELETE_QUEUE);

	c.s.queue = i;
	return c;
}

struct Bench : QueueTb {
	explicit Bench(uint64_t seed, unsigned size = 8, unsigned faults = 16,
		       unsigned open_up_to = Queues - 1)
	    : QueueTb(seed)
	{
		enable(16, faults);
		for (unsigned i = 1; i <= open_up_to; i++)
			post(0, create(i, size, i + 3));
		drain();
	}
};

} // namespace

#endif // WSE_QUEUE_CMDS_HPP
