// SPDX-License-Identifier: MIT
// The check of submission entries: every member of every opcode wrong in turn, then random entries
// around all limits, compared with the rules of hw/doc/host.md (check_rules.hpp), with the twin's
// check and with the driver's: the device accepts every entry that wse_cmd.h accepts and encodes.
#include "check_rules.hpp"

namespace {

// ---- entries ----

const uint8_t Ops[] = {WSE_OP_NOP,	    WSE_OP_COPY_IN,   WSE_OP_COPY_OUT, WSE_OP_STREAM_IN,
		       WSE_OP_STREAM_OUT,   WSE_OP_START,     WSE_OP_FENCE,    WSE_OP_CREATE_QUEUE,
		       WSE_OP_DELETE_QUEUE, WSE_OP_CTX_RESET, WSE_OP_SCRUB};

Sqe good(unsigned op)
{
	Sqe s;

	memset(&s, 0, sizeof(s));
	s.opcode = op;
	s.cid = 0x1234;
	if (kind(op) & (RECT | STREAM)) {
		s.col0 = 1;
		s.cols = 4;
	}
	if (kind(op) & RECT) {
		s.row0 = 1;
		s.rows = 2;
	}
	if (op != WSE_OP_FENCE)
		s.budget = 1000;
	if (is_copy(op) || is_stream(op)) {
		s.pshift = 12;
		s.buf = 0x10008;
		s.off = 0x18;
		s.nline = 3;
		s.lstride = 0x108;
		s.cstride = 0x1008;
		s.rstride = 0x2008;
	}
	switch (kind(op)) {
	case COPY:
		s.sram = 0x1008;
		s.len = 0x100;
		s.sstride = 0x108;
		break;
	case STREAM:
		s.flags = WSE_SQF_MASKED;
		s.mshift = 30;
		s.mask = 0x20008;
		s.moff = 0x28;
		s.mcstride = 0x18;
		s.color = 23;
		s.etype = WSE_ETYPE_FP32;
		s.kcol = 16384;
		s.nfeat = 4;
		break;
	case START:
		s.flags = WSE_SQF_BOOT | WSE_SQF_CLOSED;
		s.sram = WSE_SRAM_BASE + WSE_SRAM_BYTES - 4;
		memset((char *)&s + offsetof(struct wse_sqe_start, arg), 0xa5, 64);
		break;
	case FENCE:
		s.queue = 3;
		s.seq = 0xfffffff0;
		break;
	case CREATE:
		s.queue = 4;
		s.buf = 0x30000;
		s.mask = 0x41000;
		s.seq = 31 << 16 | 1023;
		break;
	case DELETE:
		s.queue = 4;
		break;
	}
	return s;
}

bool show(bool same, const Sqe &s, bool admin, Verdict got, Verdict want, const char *whose)
{
	if (!same) {
		printf("# opcode 0x%02x flags 0x%02x%s: status %u member at %u; %s: status %u member at %u\n#",
		       s.opcode, s.flags, admin ? " admin" : "", got.status, got.off, whose,
		       want.status, want.off);
		for (unsigned i = 0; i < sizeof(s); i++)
			printf("%s%02x", i % 8 ? "" : " ", ((const uint8_t *)&s)[i]);
		printf("\n");
	}
	return same;
}

// ---- one member at a time ----

struct Wrong {
	unsigned kinds, off, size;
	uint64_t value;
	unsigned status, named;
};

#define W(kinds, m, value, status, named)                                                    \
	{                                                                                    \
		kinds, offsetof(Sqe, m), sizeof(Sqe::m), value, status, offsetof(Sqe, named) \
	}
#define F(kinds, m, value) W(kinds, m, value, WSE_ST_BAD_FIELD, m)
#define A(kinds, m, value) W(kinds, m, value, WSE_ST_BAD_ADDR, sram)
#define R(kinds, m, value) W(kinds, m, value, WSE_ST_BAD_RECT, row0)
const Wrong Wrongs[] = {
	F(COPY | STREAM, pshift, 11),
	F(COPY | STREAM, pshift, 31),
	F(COPY | STREAM, pshift, 0),
	F(COPY | STREAM, pshift, 255),
	F(STREAM, mshift, 11),
	F(STREAM, mshift, 31),
	F(STREAM, mshift, 44),
	R(RECT, row0, 2),
	R(RECT, row0, 0xffff),
	R(RECT, row0, 0xfffe),
	R(RECT | STREAM, col0, 2),
	R(RECT | STREAM, col0, 0xffff),
	R(RECT, rows, 0),
	R(RECT, rows, 3),
	R(RECT, rows, 0xffff),
	R(RECT | STREAM, cols, 0),
	R(RECT | STREAM, cols, 5),
	R(RECT | STREAM, cols, 0xffff),
	F(STREAM, row0, 1),
	F(STREAM, rows, 1),
	F(STREAM, color, 24),
	F(STREAM, color, 32),
	F(STREAM, color, 255),
	F(STREAM, etype, 3),
	F(STREAM, etype, 4),
	F(STREAM, etype, 128),
	F(COPY | STREAM | START, budget, 0),
	F(FENCE, budget, 1),
	F(FENCE, budget, 1ull << 63),
	F(COPY | STREAM, buf, 0x10004),
	F(COPY | STREAM, buf, 0x10001),
	F(COPY | STREAM, off, 4),
	F(COPY | STREAM, off, 2),
	F(STREAM, mask, 0x20004),
	F(STREAM, mask, 0x20001),
	F(STREAM, moff, 4),
	F(STREAM, moff, 1),
	F(COPY, sram, 0x1004),
	F(COPY, sram, 0x1001),
	A(COPY, sram, 0xbcf8),
	A(COPY, sram, 0xfffffff8),
	A(COPY, sram, 0x10000),
	A(COPY, len, 0xadf0),
	A(COPY, len, 0xfffffff8),
	F(COPY, len, 0),
	F(COPY, len, 0xfc),
	F(COPY, len, 0xff),
	F(COPY | STREAM, nline, 0),
	A(COPY, nline, 0xfffffff8),
	A(COPY, nline, 171),
	F(COPY, sstride, 0x104),
	F(COPY, sstride, 1),
	A(COPY, sstride, 0x80000000),
	A(COPY, sstride, 0xfffffff8),
	F(COPY | STREAM, lstride, 0x104),
	F(COPY | STREAM, lstride, 1),
	F(COPY | STREAM, cstride, 4),
	F(COPY | STREAM, cstride, 2),
	F(COPY | STREAM, rstride, 4),
	F(COPY | STREAM, rstride, 1),
	F(STREAM, kcol, 0),
	F(STREAM, kcol, 16385),
	F(STREAM, kcol, 0xffff),
	F(STREAM, nfeat, 0),
	F(STREAM, nfeat, 3),
	F(STREAM, nfeat, 5),
	F(STREAM, nfeat, 8),
	F(STREAM, nfeat, 0x84),
	F(STREAM, mcstride, 4),
	F(STREAM, mcstride, 1),
	A(START, sram, WSE_SRAM_BASE - 4),
	A(START, sram, WSE_SRAM_BASE + WSE_SRAM_BYTES),
	A(START, sram, 0),
	A(START, sram, 0xfffffffc),
	F(START, sram, WSE_SRAM_BASE + 2),
	F(START, sram, WSE_SRAM_BASE + 1),
	F(CREATE, buf, 0x30800),
	F(CREATE, buf, 0x30008),
	F(CREATE, mask, 0x40800),
	F(CREATE, mask, 0x40001),
	F(CREATE, seq, 0),
	F(CREATE, seq, 2),
	F(CREATE, seq, 1024),
	F(CREATE, seq, 2047),
	F(CREATE, seq, 0xffff),
	F(CREATE, seq, 32u << 16 | 63),
	F(CREATE, seq, 0x8000u << 16 | 63),
};
#undef F
#undef A
#undef R
#undef W

void test_members(Tap &tap, Bench &tb)
{
	unsigned n = 0, bad = 0;

	for (unsigned op = 0; op < 256; op++)
		for (bool admin : {false, true}) {
			bool known = op <= WSE_OP_FENCE ||
				     (admin && op >= WSE_OP_CREATE_QUEUE && op <= WSE_OP_SCRUB);
			Sqe s = good(op);
			Verdict want = {known ? 0u : unsigned(WSE_ST_BAD_OPCODE), 0};

			if (!known && tb.rng.chance(50))
				// the opcode comes first
				memset((char *)&s + 4, 0xff, sizeof(s) - 4);
			n++;
			bad += !show(tb.judge(s, admin) == want, s, admin, tb.last, want, "wanted");
			bad += !tb.members(s);
		}
	tap.ok(!bad,
	       "all opcodes, admin's on the admin ring only; members come out as they came in (%u entries)",
	       n);

	n = bad = 0;
	for (uint8_t op : Ops)
		for (unsigned bit = 0; bit < 8; bit++) {
			Sqe s = good(op);
			Verdict want = {WSE_ST_BAD_FIELD, offsetof(Sqe, flags)};

			if (flags_of(op) >> bit & 1)
				continue;
			s.flags |= 1 << bit;
			n++;
			bad += !show(tb.judge(s, true) == want, s, true, tb.last, want, "wanted");
		}
	tap.ok(!bad && n > 60, "every flag that an opcode does not have (%u entries)", n);

	n = bad = 0;
	for (uint8_t op : Ops)
		for (const Member &m : Members) {
			if (m.named & kind(op) ||
			    (op == WSE_OP_NOP && m.off == offsetof(Sqe, budget)))
				continue;
			for (unsigned bit = 0; bit < 8 * m.size; bit++) {
				Sqe s = good(op);
				Verdict want = {WSE_ST_BAD_FIELD, m.off};

				((uint8_t *)&s)[m.off + bit / 8] |= 1 << bit % 8;
				n++;
				bad += !show(tb.judge(s, true) == want, s, true, tb.last, want,
					     "wanted");
			}
		}
	tap.ok(!bad, "every bit of every member that an opcode does not name (%u entries)", n);

	n = bad = 0;
	for (uint8_t op : Ops)
		for (const Wrong &w : Wrongs) {
			Sqe s = good(op);
			Verdict want = {w.status, w.named};

			if (!(w.kinds & kind(op)))
				continue;
			memcpy((char *)&s + w.off, &w.value, w.size);
			n++;
			bad += !show(tb.judge(s, true) == want, s, true, tb.last, want, "wanted");
		}
	tap.ok(!bad, "every member with values just outside (%u entries)", n);
}

void test_flags(Tap &tap, Bench &tb)
{
	Verdict okay = {WSE_ST_OK, 0};
	bool fine = true;
	Sqe s = good(WSE_OP_COPY_IN);

	s.flags = WSE_SQF_BROADCAST;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, rstride)};
	s.rstride = 0;
	fine &= tb.judge(s, false) == okay;
	std::swap(s.cstride, s.rstride);
	fine &= tb.judge(s, false) == okay;
	s.rstride = 0;
	fine &= tb.judge(s, false) == okay;
	tap.ok(fine, "BROADCAST has one stride between cores, or none");

	s = good(WSE_OP_STREAM_IN);
	s.pshift = s.mshift = 0;
	s.flags |= WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT;
	fine = tb.judge(s, false) == okay;
	s.flags &= ~WSE_SQF_MASK_DIRECT;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, mshift)};
	s.flags &= ~WSE_SQF_MASKED;
	s.mask = 3;
	fine &= tb.judge(s, false) == okay;
	s.moff = 4;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, moff)};
	tap.ok(fine, "page sizes and MASK are looked at only where they are used, MOFF always");

	s = good(WSE_OP_STREAM_IN);
	s.flags |= WSE_SQF_INDEX_ONLY;
	s.pshift = 99;
	s.buf = 1;
	s.off = 2;
	s.lstride = 3;
	s.cstride = 4;
	fine = tb.judge(s, false) == okay;
	s.flags |= WSE_SQF_DROP_ZERO;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, flags)};
	tap.ok(fine, "INDEX_ONLY looks at nothing of the buffer and excludes DROP_ZERO");

	fine = true;
	for (unsigned op : {WSE_OP_STREAM_IN, WSE_OP_STREAM_OUT}) {
		s = good(op);
		s.len = 8;
		fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, len)};
		s.flags |= WSE_SQF_LINEAR;
		fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, lstride)};
		s.lstride = 0;
		fine &= tb.judge(s, false) == okay;
		s.len = 12;
		fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, len)};
		s.len = 0;
		fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, len)};
		s.len = 0xfffffff8;
		fine &= tb.judge(s, false) == okay;
	}
	s = good(WSE_OP_STREAM_IN);
	s.lstride = 0;
	s.len = 8;
	s.flags |= WSE_SQF_LINEAR | WSE_SQF_INDEX_ONLY;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, flags)};
	tap.ok(fine, "LINEAR has a LEN and no LSTRIDE, and excludes INDEX_ONLY");

	s = good(WSE_OP_STREAM_OUT);
	s.etype = WSE_ETYPE_RAW32;
	fine = tb.judge(s, false) == Verdict{WSE_ST_BAD_FIELD, offsetof(Sqe, nfeat)};
	s.nfeat = 1;
	fine &= tb.judge(s, false) == okay;
	tap.ok(fine, "RAW32 has one feature per block");

	// sums that only fit more than 32 bits
	s = good(WSE_OP_COPY_OUT);
	s.sram = 0xfffffff8;
	s.len = 0x10;
	fine = tb.judge(s, false) == Verdict{WSE_ST_BAD_ADDR, offsetof(Sqe, sram)};
	s = good(WSE_OP_COPY_OUT);
	s.nline = 0x10001;
	s.sstride = 0x10000;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_ADDR, offsetof(Sqe, sram)};
	s.sram = s.len = s.nline = s.sstride = 0xfffffff8;
	fine &= tb.judge(s, false) == Verdict{WSE_ST_BAD_ADDR, offsetof(Sqe, sram)};
	s.sram = 0;
	s.len = WSE_SRAM_BYTES;
	s.nline = 1;
	fine &= tb.judge(s, false) == okay;
	s.nline = 0xffffffff;
	s.sstride = 0;
	fine &= tb.judge(s, false) == okay;
	tap.ok(fine, "an SRAM range is added up without overflow; the whole SRAM fits");
}

// ---- random entries ----

uint64_t limit(Rng &rng)
{
	static const uint64_t at[] = {0,
				      1,
				      2,
				      3,
				      4,
				      5,
				      8,
				      11,
				      12,
				      16,
				      23,
				      24,
				      30,
				      31,
				      32,
				      63,
				      64,
				      255,
				      1023,
				      1024,
				      4095,
				      4096,
				      16384,
				      0xbfc0,
				      WSE_SRAM_BYTES,
				      0xffff,
				      0x10000,
				      WSE_SRAM_BASE,
				      WSE_SRAM_BASE + WSE_SRAM_BYTES,
				      0xffffffff,
				      1ull << 32,
				      1ull << 63};
	uint64_t v = rng.pick(at);

	switch (rng.below(4)) {
	case 0: return v + rng.below(17) - 8;
	case 1: return rng.u64() >> rng.below(64);
	default: return v;
	}
}

Sqe random_entry(Rng &rng)
{
	Sqe s = good(rng.pick(Ops));
	unsigned change = rng.below(5);

	if (rng.chance(2))
		s.opcode = rng.u64();
	if (rng.chance(30))
		s.flags = rng.chance(80) ? rng.u64() & flags_of(s.opcode) : rng.u64();
	while (change--) {
		const Member &m = Members[rng.below(sizeof(Members) / sizeof(*Members))];
		uint64_t v = limit(rng);

		// mostly what the opcode names: the rest is refused early
		if (!(m.named & kind(s.opcode)) && !rng.chance(5))
			continue;
		if (m.off == offsetof(Sqe, resv))
			s.resv[rng.below(8)] = v;
		else
			memcpy((char *)&s + m.off, &v, m.size);
		// aligned values get further than others
		if (m.off >= offsetof(Sqe, buf) && m.size > 2 && rng.chance(70))
			((uint8_t *)&s)[m.off] &= 0xf8;
	}
	return s;
}

void test_random(Tap &tap, Bench &tb, unsigned n)
{
	struct wse_machine_cfg cfg;
	struct wse_host_ops ops;
	struct wse_machine *twin = nullptr;
	unsigned seen[16] = {}, bad = 0, bad_twin = 0, i;

	memset(&cfg, 0, sizeof(cfg));
	ops.dma_read = [](void *, uint64_t, void *, size_t) { return -1; };
	ops.dma_write = [](void *, uint64_t, const void *, size_t) { return -1; };
	ops.irq = [](void *, unsigned) {};
	cfg.rows = Rows;
	cfg.cols = Cols;
	if (wse_machine_func.create(&cfg, &ops, nullptr, &twin)) {
		tap.ok(false, "a twin to compare with");
		return;
	}
	for (i = 0; i < n && bad + bad_twin < 5; i++) {
		Sqe s = random_entry(tb.rng);
		bool admin = tb.rng.chance(60);
		Verdict got = tb.judge(s, admin), want = contract(s, admin);
		uint32_t off;
		uint16_t status = twin_check_sqe(twin, &s, admin, &off);

		bad += !show(got == want, s, admin, got, want, "contract");
		bad_twin +=
			!show(got == Verdict{status, off}, s, admin, got, {status, off}, "twin");
		seen[got.status & 15]++;
	}
	wse_machine_func.destroy(twin);
	tap.ok(!bad,
	       "%u random entries as the contract says (%u good, %u opcode, %u field, %u rectangle, %u address)",
	       i, seen[WSE_ST_OK], seen[WSE_ST_BAD_OPCODE], seen[WSE_ST_BAD_FIELD],
	       seen[WSE_ST_BAD_RECT], seen[WSE_ST_BAD_ADDR]);
	tap.ok(!bad_twin, "the same status and the same member as the twin");
	tap.ok(seen[WSE_ST_OK] > n / 10 && seen[WSE_ST_BAD_OPCODE] > n / 100 &&
		       seen[WSE_ST_BAD_FIELD] > n / 10 && seen[WSE_ST_BAD_RECT] > n / 100 &&
		       seen[WSE_ST_BAD_ADDR] > n / 100,
	       "no verdict is rare");
}

// A driver's command. Its own members (handles, sizes) are right, so that device and driver decide
// on the same grounds.
void random_command(Rng &rng, struct drm_wse_cmd *c)
{
	static const uint8_t ops[] = {WSE_OP_COPY_IN, WSE_OP_COPY_OUT, WSE_OP_STREAM_IN,
				      WSE_OP_STREAM_OUT, WSE_OP_START};
	static const uint32_t values[] = {0, 1, 3, 4, 8, 12, 16, 64, 0x100, 0x1000, 0x4000};
	auto small = [&] { return rng.chance(80) ? rng.below(64) * 8 : rng.pick(values); };
	bool copy, stream;

	memset(c, 0, sizeof(*c));
	c->op = rng.pick(ops);
	copy = c->op == WSE_OP_COPY_IN || c->op == WSE_OP_COPY_OUT;
	stream = wse_cmd_is_stream(c);
	c->queue = 1;
	for (unsigned bit = 0; bit < 6; bit++)
		if (rng.chance(c->op == WSE_OP_START ? 20 : 8))
			c->flags |= 1u << bit;
	if (stream && rng.chance(30))
		c->flags |= DRM_WSE_CMD_MASKED;
	// up to the driver's ceiling, which is its own: the device counts as far as it is told
	c->budget = rng.chance(95) ? 1 + rng.u64() % WSE_MAX_BUDGET : 0;
	if (!stream) {
		c->row0 = rng.below(Rows + 1);
		c->rows = rng.below(Rows + 1 - c->row0 % Rows) + rng.chance(80);
	}
	c->col0 = rng.below(Cols + 1);
	c->cols = rng.below(Cols + 1 - c->col0 % Cols) + rng.chance(80);
	c->bo = copy || stream;
	c->mask_bo = wse_cmd_has_mask(c);
	if (c->op == WSE_OP_START) {
		c->sram = WSE_SRAM_BASE + (rng.chance(90) ? rng.below(WSE_SRAM_BYTES + 16) & ~3u
							  : rng.below(0x20000) - 64);
		for (uint32_t &a : c->arg)
			a = rng.u64();
		return;
	}
	c->off = small();
	c->lstride = small();
	if (!(c->flags & DRM_WSE_CMD_BROADCAST) || rng.chance(50))
		c->cstride = small();
	c->nline = rng.chance(95) ? 1 + rng.below(40) : 0;
	if (copy) {
		c->rstride = c->flags & DRM_WSE_CMD_BROADCAST && rng.chance(60) ? 0 : small();
		c->sram = rng.chance(80) ? rng.below(0x1800) * 8 : rng.u64();
		c->len = rng.chance(90) ? 8 + rng.below(0x200) * 8 : rng.pick(values);
		c->sstride = small();
	} else {
		if (wse_cmd_has_mask(c)) {
			c->moff = small();
			c->rstride = small();
			c->mcstride = small();
		}
		c->color = rng.below(26);
		c->kcol = rng.chance(90) ? 1 + rng.below(16384) : rng.u64();
		c->nfeat = rng.chance(95) ? 1 << rng.below(3) : rng.below(9);
		c->etype = rng.below(rng.chance(95) ? 3 : 6);
		if (rng.chance(20)) { // room for all: how many there are the driver alone looks at
			// BOOT, which the driver alone refuses here, is the same bit of an entry
			c->flags = (c->flags & ~DRM_WSE_CMD_BOOT) | DRM_WSE_CMD_LINEAR;
			c->len = rng.chance(90) ? 0xfffffff8 : rng.pick({0u, 0xfffffffcu});
			c->lstride = rng.chance(90) ? 0 : small();
		}
	}
}

void test_driver(Tap &tap, Bench &tb, unsigned n)
{
	const struct wse_geom g = {Rows, Cols, WSE_SRAM_BYTES, WSE_NCOLORS, 4, true, true};
	unsigned accepted = 0, refused = 0, i;
	bool same = true;

	for (i = 0; i < n && same; i++) {
		struct drm_wse_cmd c;
		Sqe s;
		struct wse_buf buf = {tb.rng.u64() & ~7ull, 12 + tb.rng.below(19),
				      tb.rng.chance(30), ~0ull};
		struct wse_buf mask = {tb.rng.u64() & ~7ull, 12 + tb.rng.below(19),
				       tb.rng.chance(30), ~0ull};
		int ret;

		if (buf.direct)
			buf.pshift = 0;
		if (mask.direct)
			mask.pshift = 0;
		random_command(tb.rng, &c);
		// INDEX_ONLY: the driver looks at the members of a buffer that is named, the device
		// never does
		if (c.flags & DRM_WSE_CMD_INDEX_ONLY && c.op == WSE_OP_STREAM_IN)
			c.bo = c.off = c.lstride = c.cstride = 0;
		ret = wse_cmd_check(&g, &c, ~0ull, ~0ull);
		wse_cmd_encode(&c, i, &buf, &mask, &s);
		same = show((tb.judge(s, false).status == WSE_ST_OK) == !ret, s, false, tb.last,
			    {unsigned(-ret), 0}, "driver");
		(ret ? refused : accepted)++;
	}
	tap.ok(same && accepted > n / 10 && refused > n / 10,
	       "%u commands of the driver: accepted by both (%u) or by neither (%u)", i, accepted, refused);
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Bench tb(seed);
	Tap tap;

	test_members(tap, tb);
	test_flags(tap, tb);
	test_random(tap, tb, 300000);
	test_driver(tap, tb, 100000);
	return tap.plan();
}
