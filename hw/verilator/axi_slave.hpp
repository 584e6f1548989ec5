// SPDX-License-Identifier: MIT
// The host's memory behind the tile's AXI4 port: bursts become calls of dma_read and dma_write. Answers come in
// order after a latency; with a seed, latency and readiness are random.
#ifndef WSE_AXI_SLAVE_HPP
#define WSE_AXI_SLAVE_HPP

#include <cstdint>
#include <cstring>
#include <deque>

extern "C" {
#include "model.h"
}

class AxiSlave {
	struct Read { uint64_t addr, due; unsigned beats; };
	struct Write { uint64_t addr; unsigned beats; };
	struct Beat { uint64_t data; uint8_t strb; };

	const struct wse_host_ops *ops;
	void *host;
	uint64_t latency, rng;
	std::deque<Read> reads;
	std::deque<Write> writes;
	std::deque<Beat> beats;
	std::deque<uint64_t> answers;	// due << 1 | error
	uint64_t buf[32];
	unsigned at = 0;		// beats of the head read handed over
	bool error = false;

	uint64_t random()
	{
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		return rng;
	}
	uint64_t delay() { return rng ? latency / 2 + random() % (latency * 2 + 1) : latency; }

	// one call per run of bytes that are written
	bool store(const Write &w)
	{
		uint8_t bytes[256], strobe[256];
		unsigned n = w.beats * 8, i, j;
		bool bad = false;

		for (i = 0; i < w.beats; i++) {
			memcpy(bytes + 8 * i, &beats[i].data, 8);
			for (j = 0; j < 8; j++)
				strobe[8 * i + j] = beats[i].strb >> j & 1;
		}
		for (i = 0; i < n; i = j) {
			for (j = i; j < n && strobe[j] == strobe[i]; j++)
				;
			if (strobe[i])
				bad |= ops->dma_write(host, w.addr + i, bytes + i, j - i) != 0;
		}
		return bad;
	}

public:
	AxiSlave(const struct wse_model_cfg &cfg, const struct wse_host_ops *o, void *h)
		: ops(o), host(h), latency(cfg.dma_latency ? cfg.dma_latency : 64), rng(cfg.seed) {}

	bool quiet() const { return reads.empty() && writes.empty() && answers.empty(); }

	// before the clock edge of cycle now: drives the tile's inputs, takes what its outputs offer
	template <class Top> void drive(Top &t, uint64_t now)
	{
		bool ready = !rng || random() & 3;

		t.m_arready_i = ready && reads.size() < 64;
		t.m_awready_i = ready && writes.size() < 16;
		t.m_wready_i = !rng || random() & 3;
		t.m_rvalid_i = 0;
		if (!reads.empty() && reads.front().due <= now && (!rng || random() & 7)) {
			const Read &r = reads.front();

			if (!at)
				error = ops->dma_read(host, r.addr, buf, r.beats * 8) != 0;
			t.m_rvalid_i = 1;
			t.m_rdata_i = error ? 0 : buf[at];
			t.m_rresp_i = error ? 2 : 0;
			t.m_rlast_i = at + 1 == r.beats;
		}
		t.m_bvalid_i = 0;
		if (!answers.empty() && answers.front() >> 1 <= now) {
			t.m_bvalid_i = 1;
			t.m_bresp_i = answers.front() & 1 ? 2 : 0;
		}
		if (t.m_arvalid_o && t.m_arready_i)
			reads.push_back({t.m_araddr_o, now + delay(), t.m_arlen_o + 1u});
		if (t.m_awvalid_o && t.m_awready_i)
			writes.push_back({t.m_awaddr_o, t.m_awlen_o + 1u});
		if (t.m_wvalid_o && t.m_wready_i)
			beats.push_back({t.m_wdata_o, t.m_wstrb_o});
		// the tile always takes answers
		if (t.m_rvalid_i && ++at == reads.front().beats) {
			reads.pop_front();
			at = 0;
		}
		if (t.m_bvalid_i)
			answers.pop_front();
		if (!writes.empty() && beats.size() >= writes.front().beats) {
			bool bad = store(writes.front());

			answers.push_back((now + delay()) << 1 | bad);
			beats.erase(beats.begin(), beats.begin() + writes.front().beats);
			writes.pop_front();
		}
	}

	// a cycle in which the bus does not move
	template <class Top> void freeze(Top &t)
	{
		t.m_arready_i = t.m_awready_i = t.m_wready_i = t.m_rvalid_i = t.m_bvalid_i = 0;
	}
};
#endif
