// SPDX-License-Identifier: MIT
// Host memory of a bench: 4 KiB pieces anywhere in a bus address space, buffers behind page lists
// or in one piece, and the bus master's end of a client's requests: answers in order after a random
// time.
#ifndef WSE_RTL_HOST_MEM_HPP
#define WSE_RTL_HOST_MEM_HPP
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "rtl/tests/block_tb.hpp"
#include "wse_cmd.h"

struct HostBuf {
	struct wse_buf b = {};		// as a command names it
	std::vector<uint64_t> pages;

	uint64_t bus(uint64_t off) const
	{
		if (b.direct)
			return b.addr + off;
		return pages[off >> b.pshift] + (off & ((1ull << b.pshift) - 1));
	}
};

struct HostMem {
	std::map<uint64_t, std::array<uint8_t, 4096>> piece;
	uint64_t refused_from = 1, refused_to = 0;	// addresses that answer with an error
	bool operator==(const HostMem &o) const { return piece == o.piece; }

	uint8_t *at(uint64_t addr)	// nullptr: the device was not given this address
	{
		auto p = piece.find(addr >> 12);

		return p == piece.end() ? nullptr : &p->second[addr & 4095];
	}
	void refuse(uint64_t addr, uint64_t bytes)
	{
		refused_from = addr;
		refused_to = addr + bytes - 1;
	}
	void refuse_nothing() { refuse(1, 0); }
	bool refuses(uint64_t addr) const { return addr + 7 >= refused_from && addr <= refused_to; }
	uint64_t map(Rng &rng, uint64_t size, uint64_t align, uint64_t skew)
	{
		for (;;) {
			uint64_t base = (rng.u64() >> 8) / align * align + skew;
			bool taken = false;

			for (uint64_t p = base >> 12; p <= (base + size - 1) >> 12; p++)
				taken |= piece.count(p);
			if (taken)
				continue;
			for (uint64_t p = base >> 12; p <= (base + size - 1) >> 12; p++)
				for (auto &byte : piece[p])
					byte = uint8_t(rng.u64() >> 32);
			return base;
		}
	}
	// pshift 0: one piece
	HostBuf alloc(Rng &rng, uint64_t size, unsigned pshift)
	{
		HostBuf buf;

		size = (size + 7) & ~7ull;
		buf.b.size = size;
		buf.b.pshift = pshift;
		buf.b.direct = !pshift;
		if (!pshift) {
			buf.b.addr = map(rng, size, 4096, 8 * rng.below(512));
			return buf;
		}
		for (uint64_t off = 0; off < size; off += 1ull << pshift)
			buf.pages.push_back(map(rng, std::min<uint64_t>(size - off, 1ull << pshift),
						1ull << pshift, 0));
		buf.b.addr = map(rng, 8 * buf.pages.size(), 4096, 8 * rng.below(512));
		for (size_t i = 0; i < buf.pages.size(); i++) {
			// low bits do not count
			uint64_t entry = buf.pages[i] | (rng.u64() & ((1ull << pshift) - 1));

			for (int j = 0; j < 8; j++)
				*at(buf.b.addr + 8 * i + j) = uint8_t(entry >> 8 * j);
		}
		return buf;
	}
	// a command that ended early has written what it should, or not yet
	bool between(HostMem &before, HostMem &after)
	{
		for (auto &p : piece)
			for (unsigned i = 0; i < 4096; i++)
				if (p.second[i] != before.piece[p.first][i] &&
				    p.second[i] != after.piece[p.first][i])
					return false;
		return true;
	}
	void get(const HostBuf &b, uint64_t off, void *to, size_t n)
	{
		for (size_t i = 0; i < n; i++)
			((uint8_t *)to)[i] = *at(b.bus(off + i));
	}
	void put(const HostBuf &b, uint64_t off, const void *from, size_t n)
	{
		for (size_t i = 0; i < n; i++)
			*at(b.bus(off + i)) = ((const uint8_t *)from)[i];
	}
};

// Page sizes that commands may name, small ones more often: only they have boundaries to cross.
static inline unsigned random_pshift(Rng &rng)
{
	return rng.pick({0u, 0u, 12u, 12u, 12u, 13u, 16u, 21u, 30u});
}

template <class T> auto set_beat(T &t, unsigned beat, int) -> decltype(t.rd_beat_i = 0, void())
{
	t.rd_beat_i = beat;
}
template <class T> void set_beat(T &, unsigned, long) {}
template <class T> auto read_beats(T &t, int) -> decltype(t.rreq_beats_o, 0u)
{
	return t.rreq_beats_o;
}
template <class T> unsigned read_beats(T &, long) { return 1; }
template <class T>
auto set_read(T &t, bool last, uint64_t addr, int) -> decltype(t.rd_last_i = 0, void())
{
	t.rd_last_i = last;
	t.rd_addr_i = addr;
}
template <class T> void set_read(T &, bool, uint64_t, long) {}
template <class T> auto write_strobe(T &t, int) -> decltype(t.wdat_strb_o, 0u)
{
	return t.wdat_strb_o;
}
template <class T> unsigned write_strobe(T &, long) { return 0xff; }

// As wse_dma: requests are granted at once or later, answers are in order, what comes back is taken
// at once.
struct HostBus {
	HostMem mem;
	Rng rng;
	unsigned latency = 20, jitter = 20;		// cycles from request to answer
	// percent of the cycles in which a request is taken, a beat moves
	unsigned grant = 70, flow = 80;
	unsigned outstanding = 0;			// bursts of reads and writes
	bool good = true;				// false: the client broke a promise
	uint64_t now = 0;
	// addresses of bursts that were answered with an error
	std::vector<uint64_t> refusals;

	explicit HostBus(uint64_t seed) : rng(seed) {}
	void pace()
	{
		latency = rng.pick({1u, 3u, 20u, 100u});
		jitter = rng.pick({1u, 10u, 50u});
		grant = rng.pick({100u, 70u, 20u});
		flow = rng.pick({100u, 80u, 40u});
	}
	void broken(const char *fmt, ...) __attribute__((format(printf, 2, 3)))
	{
		va_list ap;

		va_start(ap, fmt);
		if (good) {
			printf("# bus: ");
			vprintf(fmt, ap);
			printf("\n");
		}
		va_end(ap);
		good = false;
	}
	// the time in which what the client has asked for, and no more, comes to an end
	unsigned drain() const { return 200 + 64 * (latency + jitter) + 64 * 32 * 100 / flow; }
	// addr belongs to a burst that was answered with an error
	bool was_refused(uint64_t addr) const
	{
		for (uint64_t a : refusals)
			if (a == addr)
				return true;
		return false;
	}
	// before an edge: looks at what the client puts out and chooses its inputs
	template <class Top> void reads(Top &t)
	{
		now++;
		t.rreq_ready_i = rng.chance(grant) && bursts < 64;
		if (t.rreq_valid_o && t.rreq_ready_i)
			request(t.rreq_addr_o, read_beats(t, 0), t.rreq_tag_o);
		bool beat = !answers.empty() && answers.front().due <= now && rng.chance(flow);

		t.rd_valid_i = beat;
		t.rd_data_i = rng.u64();
		t.rd_err_i = rng.below(2);
		t.rd_tag_i = uint32_t(rng.u64()) & 0xffffff;
		set_read(t, rng.below(2), rng.u64(), 0);
		set_beat(t, rng.below(32), 0);
		if (!beat)
			return;
		const Answer &a = answers.front();

		t.rd_data_i = a.data;
		t.rd_err_i = a.err;
		t.rd_tag_i = a.tag;
		set_read(t, a.last, a.addr, 0);
		set_beat(t, a.beat, 0);
		if (a.err)
			refusals.push_back(a.addr);
		if (a.last) {
			bursts--;
			outstanding--;
		}
		answers.pop_front();
	}
	template <class Top> void writes(Top &t)
	{
		t.wreq_ready_i = !left && responses.size() < 16 && rng.chance(grant);
		t.wdat_ready_i = left && rng.chance(flow);
		if (t.wdat_ready_i && t.wdat_valid_o)
			store(t.wdat_data_o, write_strobe(t, 0));
		t.wrsp_valid_i =
			!responses.empty() && responses.front().due <= now && rng.chance(flow);
		t.wrsp_err_i = rng.below(2);
		t.wrsp_addr_i = rng.u64();
		if (t.wrsp_valid_i) {
			t.wrsp_err_i = responses.front().err;
			t.wrsp_addr_i = responses.front().addr;
			if (t.wrsp_err_i)
				refusals.push_back(t.wrsp_addr_i);
			responses.pop_front();
			outstanding--;
		}
		if (t.wreq_valid_o && t.wreq_ready_i) {
			check_burst("write", t.wreq_addr_o, t.wreq_beats_o);
			wr_addr = wr_first = t.wreq_addr_o;
			left = t.wreq_beats_o;
			wr_err = false;
			outstanding++;
		}
	}

private:
	struct Answer { uint64_t data, addr, due; uint32_t tag; unsigned beat; bool last, err; };
	struct Response { uint64_t addr, due; bool err; };
	std::deque<Answer> answers;
	std::deque<Response> responses;
	unsigned bursts = 0, left = 0;
	uint64_t wr_addr = 0, wr_first = 0, last_read = 0, last_write = 0;
	bool wr_err = false;

	void check_burst(const char *what, uint64_t addr, unsigned beats)
	{
		if (addr & 7 || !beats || beats > 32 || (addr & 4095) + 8 * beats > 4096)
			broken("%s of %u words at %llx", what, beats, (unsigned long long)addr);
	}
	void request(uint64_t addr, unsigned beats, uint32_t tag)
	{
		check_burst("read", addr, beats);
		bursts++;
		outstanding++;
		last_read = std::max(last_read, now + latency + rng.below(jitter));
		for (unsigned i = 0; i < beats; i++) {
			Answer a = {rng.u64(),
				    addr,
				    last_read,
				    tag,
				    i,
				    i + 1 == beats,
				    mem.refuses(addr + 8 * i)};
			const uint8_t *p = mem.at(addr + 8 * i);

			if (!p)
				broken("read of %llx, which the device was not given",
				       (unsigned long long)(addr + 8 * i));
			else if (!a.err)
				memcpy(&a.data, p, 8);
			answers.push_back(a);
		}
	}
	void store(uint64_t data, unsigned strobe)
	{
		uint8_t *p = mem.at(wr_addr);

		if (!p && strobe)
			broken("write to %llx, which the device was not given",
			       (unsigned long long)wr_addr);
		if (mem.refuses(wr_addr))
			wr_err = true;
		else if (p)
			for (int i = 0; i < 8; i++)
				if (strobe >> i & 1)
					p[i] = uint8_t(data >> 8 * i);
		wr_addr += 8;
		if (--left)
			return;
		last_write = std::max(last_write, now + latency + rng.below(jitter));
		responses.push_back({wr_first, last_write, wr_err});
	}
};
#endif
