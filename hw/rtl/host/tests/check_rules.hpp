// SPDX-License-Identifier: MIT
// The rules of hw/doc/host.md for submission entries, as a list, and wse_check on the bench.
#ifndef WSE_CHECK_RULES_HPP
#define WSE_CHECK_RULES_HPP
#include <cstddef>
#include <cstring>
#include <vector>

#include "Vwse_check.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_cmd.h"

extern "C" {
#include "machine.h"
uint16_t twin_check_sqe(const struct wse_machine *m, const struct wse_sqe *s, bool admin,
			uint32_t *off);
}

namespace {

constexpr unsigned Rows = 3, Cols = 5;		// as in hw/rtl/build.mk

typedef struct wse_sqe Sqe;

struct Verdict {
	unsigned status, off;
	bool operator==(const Verdict &o) const { return status == o.status && off == o.off; }
};

struct Bench : BlockTb<Vwse_check> {
	Verdict last{0, 0};

	explicit Bench(uint64_t seed) : BlockTb(seed) { top.ld_i = top.eval_i = 0; }
	Verdict judge(const Sqe &s, bool admin)
	{
		uint64_t w[16];

		memcpy(w, &s, sizeof(w));
		top.ld_i = 1;
		for (unsigned i = 0; i < 16; i++) {
			top.ld_idx_i = i;
			top.ld_word_i = w[i];
			tick();
		}
		top.ld_i = 0;
		top.ld_word_i = rng.u64();
		top.ld_idx_i = rng.below(16);
		top.admin_i = admin;
		top.eval_i = 1;
		tick();
		top.eval_i = 0;
		top.admin_i = rng.chance(50);
		return last = {top.status_o, top.off_o};
	}
	// the members that the sequencer uses itself
	bool members(const Sqe &s) const
	{
		return top.opcode_o == s.opcode && top.cid_o == s.cid && top.budget_o == s.budget &&
		       top.buf_o == s.buf && top.mask_o == s.mask && top.queue_o == s.queue &&
		       top.seq_o == s.seq;
	}
};

// ---- the contract ----

bool is_copy(unsigned op) { return op == WSE_OP_COPY_IN || op == WSE_OP_COPY_OUT; }
bool is_stream(unsigned op) { return op == WSE_OP_STREAM_IN || op == WSE_OP_STREAM_OUT; }

enum : unsigned { // who names a member
	COPY = 1,
	STREAM = 2,
	START = 4,
	FENCE = 8,
	CREATE = 16,
	DELETE = 32,
	SCRUB = 64,
	BARE = 128,
	RECT = COPY | START | SCRUB,
	ADMIN = CREATE | DELETE | SCRUB | BARE,
};

unsigned kind(unsigned op)
{
	switch (op) {
	case WSE_OP_COPY_IN: case WSE_OP_COPY_OUT: return COPY;
	case WSE_OP_STREAM_IN: case WSE_OP_STREAM_OUT: return STREAM;
	case WSE_OP_START: return START;
	case WSE_OP_FENCE: return FENCE;
	case WSE_OP_CREATE_QUEUE: return CREATE;
	case WSE_OP_DELETE_QUEUE: return DELETE;
	case WSE_OP_SCRUB: return SCRUB;
	default: return BARE;		// NOP, CTX_RESET
	}
}

const struct Member {
	const char *name;
	unsigned off, size, named;
} Members[] = {
#define M(m, named) {#m, offsetof(Sqe, m), sizeof(Sqe::m), named}
	M(pshift, COPY | STREAM),
	M(mshift, STREAM),
	M(row0, RECT),
	M(col0, RECT | STREAM),
	M(rows, RECT),
	M(cols, RECT | STREAM),
	M(color, STREAM),
	M(etype, STREAM),
	M(budget, COPY | STREAM | START | ADMIN),
	M(buf, COPY | STREAM | CREATE),
	M(off, COPY | STREAM),
	M(mask, STREAM | CREATE),
	M(moff, STREAM),
	M(sram, COPY | START),
	M(len, COPY),
	// from here on START's argument words
	M(nline, COPY | STREAM | START),
	M(lstride, COPY | STREAM | START),
	M(sstride, COPY | START),
	M(cstride, COPY | STREAM | START),
	M(rstride, COPY | STREAM | START),
	M(kcol, STREAM | START),
	M(nfeat, STREAM | START),
	M(queue, FENCE | CREATE | DELETE | START),
	M(seq, FENCE | CREATE | START),
	M(mcstride, STREAM | START),
	M(resv, START),
#undef M
};

unsigned flags_of(unsigned op)
{
	switch (op) {
	case WSE_OP_COPY_IN: return WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST;
	case WSE_OP_COPY_OUT: return WSE_SQF_BUF_DIRECT;
	case WSE_OP_STREAM_IN:
		return WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED |
		       WSE_SQF_DROP_ZERO | WSE_SQF_INDEX_ONLY | WSE_SQF_LINEAR;
	case WSE_OP_STREAM_OUT:
		return WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED | WSE_SQF_LINEAR;
	case WSE_OP_START: return WSE_SQF_BOOT | WSE_SQF_CLOSED;
	default: return 0;
	}
}

bool pages(unsigned shift) { return shift >= WSE_PAGE_SHIFT_MIN && shift <= WSE_PAGE_SHIFT_MAX; }

Verdict contract(const Sqe &s, bool admin)
{
	unsigned op = s.opcode, k = kind(op), worst = ~0u;
	bool copy = is_copy(op), stream = is_stream(op), only = s.flags & WSE_SQF_INDEX_ONLY;
	bool masked = s.flags & WSE_SQF_MASKED, bcast = s.flags & WSE_SQF_BROADCAST;
	bool linear = stream && s.flags & WSE_SQF_LINEAR;
	auto bad = [&](bool is, size_t off) { if (is && off < worst) worst = off; };

	if (op > WSE_OP_FENCE && !(admin && op >= WSE_OP_CREATE_QUEUE && op <= WSE_OP_SCRUB))
		return {WSE_ST_BAD_OPCODE, 0};
	bad(s.flags & ~flags_of(op), offsetof(Sqe, flags));
	for (const Member &m : Members)
		for (unsigned i = 0; i < m.size; i++)
			bad(!(m.named & k || (linear && m.off == offsetof(Sqe, len)) ||
			      (op == WSE_OP_NOP && m.off == offsetof(Sqe, budget))) &&
				    ((const uint8_t *)&s)[m.off + i],
			    m.off);
	if (worst != ~0u)
		return {WSE_ST_BAD_FIELD, worst};
	if (k & RECT &&
	    (!s.rows || !s.cols || s.row0 + s.rows > (int)Rows || s.col0 + s.cols > (int)Cols))
		return {WSE_ST_BAD_RECT, offsetof(Sqe, row0)};
	if (stream && (!s.cols || s.col0 + s.cols > (int)Cols))
		return {WSE_ST_BAD_RECT, offsetof(Sqe, row0)};
	if (copy) {
		unsigned __int128 end = s.sram;		// of the line that ends last

		end += s.len;
		if (s.nline)
			end += (unsigned __int128)(s.nline - 1) * s.sstride;
		if (end > WSE_SRAM_BYTES)
			return {WSE_ST_BAD_ADDR, offsetof(Sqe, sram)};
	}
	if (op == WSE_OP_START &&
	    (s.sram < WSE_SRAM_BASE || s.sram >= WSE_SRAM_BASE + WSE_SRAM_BYTES))
		return {WSE_ST_BAD_ADDR, offsetof(Sqe, sram)};

	if (copy || stream || op == WSE_OP_START)
		bad(!s.budget, offsetof(Sqe, budget));
	if (copy || stream) {
		bad(!only && !(s.flags & WSE_SQF_BUF_DIRECT) && !pages(s.pshift),
		    offsetof(Sqe, pshift));
		bad(!only && s.buf % 8, offsetof(Sqe, buf));
		bad(!only && s.off % 8, offsetof(Sqe, off));
		bad(!s.nline, offsetof(Sqe, nline));
		bad(!only && s.lstride % 8, offsetof(Sqe, lstride));
		bad(!only && s.cstride % 8, offsetof(Sqe, cstride));
		bad(s.rstride % 8 || (bcast && s.cstride && s.rstride), offsetof(Sqe, rstride));
	}
	if (copy) {
		bad(s.sram % 8, offsetof(Sqe, sram));
		bad(!s.len || s.len % 8, offsetof(Sqe, len));
		bad(s.sstride % 8, offsetof(Sqe, sstride));
	}
	if (stream) {
		bad(only && (linear || s.flags & WSE_SQF_DROP_ZERO), offsetof(Sqe, flags));
		bad(linear && (!s.len || s.len % 8), offsetof(Sqe, len));
		bad(linear && s.lstride, offsetof(Sqe, lstride));
		bad(masked && !(s.flags & WSE_SQF_MASK_DIRECT) && !pages(s.mshift),
		    offsetof(Sqe, mshift));
		bad(masked && s.mask % 8, offsetof(Sqe, mask));
		bad(s.moff % 8, offsetof(Sqe, moff));
		bad(s.mcstride % 8, offsetof(Sqe, mcstride));
		bad(s.color >= WSE_NCOLORS, offsetof(Sqe, color));
		bad(s.etype > WSE_ETYPE_RAW32, offsetof(Sqe, etype));
		bad(!s.kcol || s.kcol > 1 << 14, offsetof(Sqe, kcol));
		bad(s.nfeat != 1 && (s.etype == WSE_ETYPE_RAW32 || (s.nfeat != 2 && s.nfeat != 4)),
		    offsetof(Sqe, nfeat));
	}
	bad(op == WSE_OP_START && s.sram % 4, offsetof(Sqe, sram));
	if (op == WSE_OP_CREATE_QUEUE) {
		unsigned n = (s.seq & 0xffff) + 1;

		bad(s.buf % 4096, offsetof(Sqe, buf));
		bad(s.mask % 4096, offsetof(Sqe, mask));
		bad(n < 2 || n > WSE_MAX_DEPTH || n & (n - 1) || s.seq >> 16 > 31,
		    offsetof(Sqe, seq));
	}
	if (worst != ~0u)
		return {WSE_ST_BAD_FIELD, worst};
	return {WSE_ST_OK, 0};
}

} // namespace

#endif // WSE_CHECK_RULES_HPP
