// SPDX-License-Identifier: MIT
// The host's memory behind one of the tile's AXI4 ports: bursts become calls of dma_read and
// dma_write. Answers come in order after a latency; with a seed, latency and readiness are random,
// and of each port others. Memory that does not answer (-EAGAIN) is asked again after that time.
#ifndef WSE_AXI_SLAVE_HPP
#define WSE_AXI_SLAVE_HPP

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>

#include "verilated.h"

extern "C" {
#include "machine.h"
}

// Element i of w bits of a port that has one of each AXI port side by side: up to 64 bits are a
// number, more are words
template <class T> uint64_t axi_get(const T &v, unsigned w, unsigned i)
{
	return w == 64 ? uint64_t(v) : uint64_t(v) >> w * i & ((1ull << w % 64) - 1);
}

template <std::size_t N> uint64_t axi_get(const VlWide<N> &v, unsigned w, unsigned i)
{
	uint64_t x = v[w * i / 32] >> w * i % 32;	// widths divide 32, but 64 does not

	return w == 64 ? x | uint64_t(v[2 * i + 1]) << 32 : x & ((1ull << w) - 1);
}

template <class T> void axi_set(T &v, unsigned w, unsigned i, uint64_t x)
{
	uint64_t ones = w == 64 ? ~0ull : (1ull << w) - 1, sh = w == 64 ? 0 : w * i;

	v = T((uint64_t(v) & ~(ones << sh)) | x << sh);
}

template <std::size_t N> void axi_set(VlWide<N> &v, unsigned w, unsigned i, uint64_t x)
{
	uint32_t ones = w < 32 ? (1u << w) - 1 : ~0u, sh = w * i % 32;
	auto &word = v[w * i / 32];

	word = (word & ~(ones << sh)) | uint32_t(x) << sh;
	if (w == 64)
		v[2 * i + 1] = uint32_t(x >> 32);
}

class AxiSlave {
	struct Read { uint64_t addr, due; unsigned beats; };
	struct Write { uint64_t addr; unsigned beats; };
	struct Beat { uint64_t data; uint8_t strb; };

	const struct wse_host_ops *ops;
	void *host;
	unsigned p;			// the port
	uint64_t latency, rng;
	std::deque<Read> reads;
	std::deque<Write> writes;
	std::deque<Beat> beats;
	std::deque<uint64_t> answers;	// due << 1 | error
	uint64_t buf[32];
	unsigned at = 0;		// beats of the head read handed over
	bool error = false;
	uint64_t again = 0;		// when the head write is tried

	uint64_t random()
	{
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		return rng;
	}
	uint64_t delay() { return rng ? latency / 2 + random() % (latency * 2 + 1) : latency; }

	// one call per run of bytes that are written; 0, or an errno
	int store(const Write &w)
	{
		uint8_t bytes[256], strobe[256];
		unsigned n = w.beats * 8, i, j;
		int bad = 0, err;

		for (i = 0; i < w.beats; i++) {
			memcpy(bytes + 8 * i, &beats[i].data, 8);
			for (j = 0; j < 8; j++)
				strobe[8 * i + j] = beats[i].strb >> j & 1;
		}
		for (i = 0; i < n; i = j) {
			for (j = i; j < n && strobe[j] == strobe[i]; j++)
				;
			err = strobe[i] ? ops->dma_write(host, w.addr + i, bytes + i, j - i) : 0;
			if (err == -EAGAIN)
				return err;
			bad = bad ? bad : err;
		}
		return bad;
	}

public:
  AxiSlave(const struct wse_machine_cfg &cfg, const struct wse_host_ops *o, void *h, unsigned port)
      : ops(o), host(h), p(port), latency(cfg.dma_latency ? cfg.dma_latency : 64), rng(cfg.seed)
  {
	  if (rng)
		  for (unsigned i = 0; i < 16 * port; i++)
			  random();
	}

	bool quiet() const { return reads.empty() && writes.empty() && answers.empty(); }

	// before the clock edge of cycle now: drives the tile's inputs, takes what its outputs
	// offer
	template <class Top> void drive(Top &t, uint64_t now)
	{
		bool ready = !rng || random() & 3, rvalid = false, bvalid = false;
		bool arready = ready && reads.size() < 64, awready = ready && writes.size() < 16;
		bool wready = !rng || random() & 3;

		axi_set(t.m_arready_i, 1, p, arready);
		axi_set(t.m_awready_i, 1, p, awready);
		axi_set(t.m_wready_i, 1, p, wready);
		if (!reads.empty() && reads.front().due <= now && (!rng || random() & 7)) {
			Read &r = reads.front();
			int err = at ? 0 : ops->dma_read(host, r.addr, buf, r.beats * 8);

			if (!at)
				error = err != 0;
			rvalid = err != -EAGAIN;
			if (!rvalid)
				r.due = now + latency;
			axi_set(t.m_rdata_i, 64, p, error ? 0 : buf[at]);
			axi_set(t.m_rresp_i, 2, p, error ? 2 : 0);
			axi_set(t.m_rlast_i, 1, p, at + 1 == r.beats);
		}
		axi_set(t.m_rvalid_i, 1, p, rvalid);
		if (!answers.empty() && answers.front() >> 1 <= now) {
			bvalid = true;
			axi_set(t.m_bresp_i, 2, p, answers.front() & 1 ? 2 : 0);
		}
		axi_set(t.m_bvalid_i, 1, p, bvalid);
		if (arready && axi_get(t.m_arvalid_o, 1, p))
			reads.push_back({axi_get(t.m_araddr_o, 64, p), now + delay(),
					 unsigned(axi_get(t.m_arlen_o, 8, p)) + 1});
		if (awready && axi_get(t.m_awvalid_o, 1, p))
			writes.push_back({axi_get(t.m_awaddr_o, 64, p),
					  unsigned(axi_get(t.m_awlen_o, 8, p)) + 1});
		if (wready && axi_get(t.m_wvalid_o, 1, p))
			beats.push_back(
				{axi_get(t.m_wdata_o, 64, p), uint8_t(axi_get(t.m_wstrb_o, 8, p))});
		// the tile always takes answers
		if (rvalid && ++at == reads.front().beats) {
			reads.pop_front();
			at = 0;
		}
		if (bvalid)
			answers.pop_front();
		if (!writes.empty() && beats.size() >= writes.front().beats && again <= now) {
			int bad = store(writes.front());

			if (bad == -EAGAIN) {
				again = now + latency;
				return;
			}
			answers.push_back((now + delay()) << 1 | (bad != 0));
			beats.erase(beats.begin(), beats.begin() + writes.front().beats);
			writes.pop_front();
		}
	}

	// a cycle in which the bus does not move
	template <class Top> void freeze(Top &t)
	{
		axi_set(t.m_arready_i, 1, p, 0);
		axi_set(t.m_awready_i, 1, p, 0);
		axi_set(t.m_wready_i, 1, p, 0);
		axi_set(t.m_rvalid_i, 1, p, 0);
		axi_set(t.m_bvalid_i, 1, p, 0);
	}
};
#endif
