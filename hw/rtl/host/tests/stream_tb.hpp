// SPDX-License-Identifier: MIT
// Shared by the benches of stream-in and stream-out: random stream commands with their buffers, the
// elements that they select, and the places of these (hw/doc/fabric.md, "Edges").
#ifndef WSE_RTL_STREAM_TB_HPP
#define WSE_RTL_STREAM_TB_HPP
#include <vector>

#include "exec_tb.hpp"
#include "twin/exact/fp.h"
#include "host_mem.hpp"

constexpr unsigned Cols = 3;		// as in blocks.mk
static const wse_geom StreamGeom = {2, Cols, WSE_SRAM_BYTES, WSE_NCOLORS, 4, true, true};

struct Wavelet {
	uint32_t data;
	bool ctl;
	bool operator==(const Wavelet &o) const { return data == o.data && ctl == o.ctl; }
};

struct StreamJob {
	drm_wse_cmd cmd = {};
	wse_sqe sqe = {};
	HostBuf buf, mask;
	unsigned density = 50;		// percent of the mask's bits
	unsigned picked[Cols] = {};	// LINEAR: selected elements of a column

	bool flag(unsigned f) const { return cmd.flags & f; }
	bool in() const { return cmd.op == WSE_OP_STREAM_IN; }
	bool reads_values() const { return in() && !flag(DRM_WSE_CMD_INDEX_ONLY); }
	unsigned rows() const { return cmd.nline * cmd.nfeat; }
	unsigned bytes() const { return wse_etype_bytes(cmd.etype); }
	unsigned row_bytes() const { return (bytes() * cmd.kcol + 7) & ~7u; }
	uint64_t off(unsigned n, unsigned c, unsigned k) const
	{
		return cmd.off + uint64_t(n) * cmd.lstride + uint64_t(c) * cmd.cstride +
		       uint64_t(k) * bytes();
	}
	bool linear() const { return flag(DRM_WSE_CMD_LINEAR); }
	// where element (n, k) lies that is selected and, LINEAR, the i-th of its column
	uint64_t place(unsigned n, unsigned c, unsigned k, unsigned i) const
	{
		return linear() ? cmd.off + uint64_t(c) * cmd.cstride + uint64_t(i) * bytes()
				: off(n, c, k);
	}
	uint64_t end() const
	{
		return linear() ? cmd.off + uint64_t(cmd.cols - 1) * cmd.cstride + cmd.len
				: off(rows() - 1, cmd.cols - 1, 0) + row_bytes();
	}
	bool selected(HostMem &mem, unsigned n, unsigned c, unsigned k) const
	{
		uint8_t byte;

		if (!flag(DRM_WSE_CMD_MASKED))
			return true;
		mem.get(mask,
			cmd.moff + uint64_t(n) * cmd.rstride + uint64_t(c) * cmd.mcstride + k / 8,
			&byte, 1);
		return byte >> (k & 7) & 1;
	}

	void shape(Rng &g, unsigned op)
	{
		cmd = {};
		cmd.op = op;
		cmd.queue = 1;
		cmd.budget = 1;
		cmd.bo = 1;
		cmd.color = g.below(WSE_NCOLORS);
		cmd.col0 = g.below(Cols);
		cmd.cols = 1 + g.below(Cols - cmd.col0);
		cmd.etype = g.below(3);
		cmd.nfeat = cmd.etype == WSE_ETYPE_RAW32 ? 1 : g.pick({1u, 2u, 4u});
		cmd.nline = 1 + g.below(g.pick({1u, 3u, 12u}));
		cmd.kcol = 1 + g.below(g.pick({1u, 5u, 40u, 40u, 70u, 300u}));
		if (g.below(2))
			cmd.flags |= DRM_WSE_CMD_MASKED;
		if (op == WSE_OP_STREAM_IN && g.below(3) == 0)
			cmd.flags |= g.below(2) ? DRM_WSE_CMD_DROP_ZERO : DRM_WSE_CMD_INDEX_ONLY;
		if (!flag(DRM_WSE_CMD_INDEX_ONLY) && g.below(3) == 0)
			cmd.flags |= DRM_WSE_CMD_LINEAR;
		density = g.pick({0u, 3u, 50u, 97u, 100u});
		strides(g);
	}
	void strides(Rng &g)
	{
		cmd.off = 8 * g.below(g.pick({1u, 40u, 3000u}));
		if (g.below(2)) {		// a row holds all columns
			cmd.cstride = row_bytes() + 8 * g.below(g.pick({1u, 5u}));
			cmd.lstride = cmd.cols * cmd.cstride + 8 * g.below(g.pick({1u, 5u, 700u}));
		} else {			// a column holds all rows
			cmd.lstride = row_bytes() + 8 * g.below(g.pick({1u, 5u}));
			cmd.cstride = rows() * cmd.lstride + 8 * g.below(g.pick({1u, 5u, 700u}));
		}
		if (reads_values() && g.below(4) == 0)	// only what is written has to lie apart
			cmd.lstride = 8 * g.below(30);
		if (reads_values() && g.below(4) == 0)
			cmd.cstride = 8 * g.below(30);
		cmd.len = 0;
		if (linear()) {
			cmd.len = (rows() * cmd.kcol * bytes() + 7) & ~7u;
			cmd.lstride = 0;
			cmd.cstride = reads_values() && g.below(4) == 0
					      ? 8 * g.below(30)
					      : cmd.len + 8 * g.below(g.pick({1u, 5u, 700u}));
		}
		if (flag(DRM_WSE_CMD_MASKED)) {
			cmd.mask_bo = 2;
			cmd.moff = 8 * g.below(g.pick({1u, 40u, 3000u}));
			cmd.rstride = 8 * g.below(g.pick({1u, 5u, 100u}));
			cmd.mcstride = 8 * g.below(g.pick({1u, 5u, 100u}));
		}
		if (flag(DRM_WSE_CMD_INDEX_ONLY)) {
			cmd.bo = 0;
			cmd.off = cmd.lstride = cmd.cstride = 0;
		}
	}
	// buffers in a new memory, pshift < 0: of any kind; false: the driver would not let this
	// command pass
	bool lay(Rng &g, HostMem &mem, int pshift = -1)
	{
		mem = HostMem();
		if (wse_cmd_check(&StreamGeom, &cmd, ~0ull >> 1, ~0ull >> 1))
			return false;
		if (wse_cmd_has_bo(&cmd))
			buf = mem.alloc(g, end(), pshift < 0 ? random_pshift(g) : pshift);
		if (flag(DRM_WSE_CMD_MASKED)) {
			uint64_t size = cmd.moff + uint64_t(rows() - 1) * cmd.rstride +
					(cmd.cols - 1) * cmd.mcstride + (cmd.kcol + 63) / 64 * 8;

			mask = mem.alloc(g, size, pshift < 0 ? random_pshift(g) : pshift);
			for (uint64_t o = 0; o < size; o++) {
				uint8_t byte = 0;

				for (int i = 0; i < 8; i++)
					byte |= g.chance(density) << i;
				mem.put(mask, o, &byte, 1);
			}
		}
		if (linear())
			shorten(g, mem);
		wse_cmd_encode(&cmd, uint16_t(g.u64()), &buf.b, &mask.b, &sqe);
		// members that no flag calls for are not looked at
		if (!flag(DRM_WSE_CMD_MASKED)) {
			sqe.mask = g.u64();
			sqe.moff = g.u64();
			sqe.mcstride = uint32_t(g.u64());
		}
		if (!wse_cmd_has_bo(&cmd)) {
			sqe.buf = g.u64();
			sqe.off = g.u64();
			sqe.lstride = uint32_t(g.u64());
			sqe.cstride = uint32_t(g.u64());
		}
		return true;
	}
	// a run as long as what the mask selects, or somewhat longer
	void shorten(Rng &g, HostMem &mem)
	{
		unsigned most = 0;

		for (unsigned c = 0; c < cmd.cols; c++) {
			picked[c] = 0;
			for (unsigned n = 0; n < rows(); n++)
				for (unsigned k = 0; k < cmd.kcol; k++)
					picked[c] += selected(mem, n, c, k);
			most = std::max(most, picked[c]);
		}
		most = std::max((most * bytes() + 7) & ~7u, 8u) + 8 * g.below(g.pick({1u, 40u}));
		cmd.len = std::min(cmd.len, most);
	}
	// every row of every column on pages of its own: more of values and mask than are
	// remembered
	void spread(Rng &g)
	{
		cmd.flags = DRM_WSE_CMD_MASKED;
		cmd.bo = 1;
		cmd.nline = 4;
		cmd.kcol = 1 + g.below(150);
		strides(g);
		cmd.lstride = 4096 + 8 * g.below(4);
		cmd.cstride = rows() * cmd.lstride;
		cmd.rstride = 4096 + 8 * g.below(4);
		cmd.mcstride = 4096 * g.below(3);
	}
	// the bus address of something that the command cannot do without
	uint64_t vital(Rng &g, bool of_mask) const
	{
		unsigned n = g.below(rows()), c = g.below(cmd.cols), k = g.below(cmd.kcol);
		const HostBuf &b = of_mask ? mask : buf;
		uint64_t o = of_mask ? cmd.moff + uint64_t(n) * cmd.rstride +
					       uint64_t(c) * cmd.mcstride + k / 8
				     : place(n, c, k, g.below(rows() * cmd.kcol));

		if (!b.b.direct && g.below(2))
			return b.b.addr + 8 * (o >> b.b.pshift);
		return b.bus(o & ~7ull);
	}
};

// An executor with edge ports on the bench.
template <class Top> struct StreamTb : ExecTb<Top> {
	HostBus bus;
	bool running = false;
	unsigned c0 = 0;			// the tile's column that is the first of these

	explicit StreamTb(uint64_t seed) : ExecTb<Top>(seed), bus(seed + 1)
	{
		this->top.clear_i = 0;
		this->top.c0_i = 0;
		this->top.rd_valid_i = 0;
	}
	// These columns may be some of a larger tile's, and the command may have columns on both
	// sides of them.
	void start(const StreamJob &j)
	{
		wse_sqe s = j.sqe;
		unsigned left, right;

		c0 = this->rng.pick({0u, 0u, 3u, 65000u});
		left = j.cmd.col0 ? 0 : this->rng.below(c0 < 4 ? c0 + 1 : 4);
		right = j.cmd.col0 + j.cmd.cols == Cols ? this->rng.below(4) : 0;
		s.col0 = uint16_t(s.col0 + c0 - left);
		s.cols = uint16_t(s.cols + left + right);
		s.off -= uint64_t(left) * s.cstride;
		s.moff -= uint64_t(left) * s.mcstride;
		this->top.c0_i = c0;
		running = true;
		this->begin(s);
	}
	// done means that nothing is on its way any more
	bool rest()
	{
		bool good = !bus.outstanding && !this->top.rreq_valid_o;

		this->step();			// the wavelet that left together with done
		running = false;
		return this->acknowledge() && good && bus.good;
	}
	// until nothing has moved for as long as the queue looks; false: it ended before
	bool comes_to_rest(unsigned max)
	{
		for (unsigned still = 0; still < 256 && max-- && !this->top.done_o; ) {
			this->step();
			still = this->top.moved_o || bus.outstanding ? 0 : still + 1;
		}
		return !this->top.done_o;
	}
	// DEADLOCK of a stream that is at rest: what the fault record takes from the port
	bool deadlock(unsigned lowest, unsigned n, unsigned color)
	{
		this->abort(WSE_ST_DEADLOCK);
		return this->wait_done(100) && this->top.status_o == WSE_ST_DEADLOCK &&
		       this->top.port_o == lowest + c0 && this->top.nports_o == n &&
		       this->top.color_o == color && rest();
	}
	bool refused()
	{
		return this->top.status_o == WSE_ST_DMA_ERROR &&
		       bus.was_refused(this->top.iova_o) && rest();
	}
};
#endif
