// SPDX-License-Identifier: MIT
// The bus master between seven clients and an AXI4 slave, both random: the client, order and tag of
// each beat, strobes, errors, outstanding bursts, and how the master comes to rest when the device
// is reset.
#include <deque>
#include <sys/wait.h>
#include <unistd.h>

#include "Vwse_dma.h"
#include "rtl/tests/block_tb.hpp"

namespace {

constexpr unsigned Readers = 4, Writers = 3, MaxReads = 64, MaxWrites = 32;

struct Burst {
	unsigned client, beats, tag;
	uint64_t addr;
};
struct Beat {
	uint64_t data;
	unsigned strb;
	bool operator==(const Beat &o) const { return data == o.data && strb == o.strb; }
};

// The host's memory reads as a function of its address, some of it refuses.
uint64_t word_at(uint64_t addr) { return (addr ^ addr >> 29) * 0x9e3779b97f4a7c15ull; }

struct Bench : BlockTb<Vwse_dma> {
	// clients
	Burst want_r[Readers], want_w[Writers];
	// percent of cycles in which an idle client asks
	unsigned ask_r[Readers], ask_w[Writers];
	// of the writer whose burst was granted last
	std::deque<Beat> to_send;
	unsigned sending = Writers;
	std::deque<Burst> granted_r, granted_w;		// not answered yet
	unsigned got_beats = 0, grants_r[Readers] = {}, grants_w[Writers] = {};
	uint64_t read_bytes = 0, counted_rd = 0, written_bytes = 0, counted_wr = 0;
	// the slave
	struct Read { Burst b; uint64_t due; };
	std::deque<Burst> expect_ar, expect_aw;		// granted, not on the bus yet
	std::deque<Beat> expect_w;
	std::deque<Read> reads;
	std::deque<Burst> writes;			// addresses taken
	std::deque<unsigned> bursts_w;			// beats of data bursts taken completely
	unsigned w_beats = 0, r_beat = 0, answers = 0;
	unsigned ready_percent = 100, latency = 20, valid_percent = 100, error_percent = 0;
	bool answer = true, flushing = false;
	// what the clients must see after the next edge
	struct { bool valid, last, err; unsigned beat; uint64_t data; Burst b; } see_r = {};
	struct { bool valid, err; Burst b; } see_w = {};
	struct {
		bool ar, aw, w;
		uint64_t araddr, awaddr, wdata;
		unsigned arlen, awlen, strb, last;
	} held = {};
	const char *wrong = nullptr;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		for (unsigned i = 0; i < Readers; i++)
			ask_r[i] = 0;
		for (unsigned i = 0; i < Writers; i++)
			ask_w[i] = 0;
		begin();
	}
	void begin()
	{
		top.flush_i = 0;
		top.rreq_valid_i = top.wreq_valid_i = top.wdat_valid_i = 0;
		top.arready_i = top.rvalid_i = top.awready_i = top.wready_i = top.bvalid_i = 0;
		reset();
	}
	void check(bool good, const char *what)
	{
		if (!good && !wrong)
			wrong = what;
	}

	Burst random_burst(unsigned client)
	{
		unsigned beats = rng.chance(30) ? 32 : 1 + rng.below(32), room = 512 - beats;
		// often at the page's start or end
		uint64_t word = rng.chance(30) ? room : rng.chance(20) ? 0 : rng.below(room + 1);

		return {client, beats, client ? rng.below(1 << 24) : 0,
			(rng.u64() & ~0xfffull) + 8 * word};
	}
	void show_requests()
	{
		uint64_t *addr[] = {&top.rreq_addr0_i, &top.rreq_addr1_i, &top.rreq_addr2_i,
				    &top.rreq_addr3_i};
		CData *beats[] = {&top.rreq_beats0_i, &top.rreq_beats1_i, &top.rreq_beats2_i,
				  &top.rreq_beats3_i};
		IData *tag[] = {nullptr, &top.rreq_tag1_i, &top.rreq_tag2_i, &top.rreq_tag3_i};
		uint64_t *waddr[] = {&top.wreq_addr0_i, &top.wreq_addr1_i, &top.wreq_addr2_i};
		CData *wbeats[] = {&top.wreq_beats0_i, &top.wreq_beats1_i, &top.wreq_beats2_i};
		uint64_t *wdata[] = {&top.wdat_data0_i, &top.wdat_data1_i, &top.wdat_data2_i};

		for (unsigned i = 0; i < Readers; i++) {
			if (!(top.rreq_valid_i >> i & 1)) {
				want_r[i] = random_burst(i);	// noise while it is not valid
				if (rng.chance(ask_r[i]))
					top.rreq_valid_i |= 1 << i;
			}
			*addr[i] = want_r[i].addr;
			*beats[i] = want_r[i].beats;
			if (i)
				*tag[i] = want_r[i].tag;
		}
		for (unsigned i = 0; i < Writers; i++) {
			if (!(top.wreq_valid_i >> i & 1)) {
				want_w[i] = random_burst(i);
				// beats follow their request: one burst of a client at a time
				if (sending != i && rng.chance(ask_w[i]))
					top.wreq_valid_i |= 1 << i;
			}
			*waddr[i] = want_w[i].addr;
			*wbeats[i] = want_w[i].beats;
			*wdata[i] = rng.u64();
		}
		top.wdat_strb2_i = rng.u64();
		if (sending < Writers && rng.chance(valid_percent))
			top.wdat_valid_i = 1 << sending;
		if (top.wdat_valid_i) {
			*wdata[sending] = to_send.front().data;
			if (sending == 2)
				top.wdat_strb2_i = to_send.front().strb;
		}
	}
	void drive_bus()
	{
		top.arready_i = rng.chance(ready_percent);
		top.awready_i = rng.chance(ready_percent);
		top.wready_i = rng.chance(ready_percent);
		top.rvalid_i = answer && !reads.empty() && reads.front().due <= cycles &&
			       rng.chance(ready_percent);
		top.rdata_i = rng.u64();
		top.rresp_i = rng.below(4);
		top.rlast_i = rng.below(2);
		see_r.valid = false;
		if (top.rvalid_i) {
			const Burst &b = reads.front().b;
			bool err = rng.chance(error_percent);

			top.rdata_i = err ? rng.u64() : word_at(b.addr + 8 * r_beat);
			// SLVERR, DECERR; OKAY, EXOKAY
			top.rresp_i = err ? 2 + rng.below(2) : rng.below(2);
			top.rlast_i = r_beat + 1 == b.beats;
			see_r = {!flushing, bool(top.rlast_i), err, r_beat, top.rdata_i, b};
			read_bytes += err ? 0 : 8;
			r_beat++;
			if (top.rlast_i) {
				r_beat = 0;
				reads.pop_front();
			}
		}
		top.bvalid_i = answer && answers && rng.chance(ready_percent);
		top.bresp_i = rng.below(4);
		see_w.valid = false;
		if (top.bvalid_i) {
			see_w = {!flushing, bool(top.bresp_i & 2), granted_w.front()};
			granted_w.pop_front();
			answers--;
		}
	}
	void take_grants()
	{
		check(!(top.rreq_ready_o & ~top.rreq_valid_i) &&
			      !(top.wreq_ready_o & ~top.wreq_valid_i),
		      "grant without request");
		check(!(top.rreq_ready_o & (top.rreq_ready_o - 1)) &&
			      !(top.wreq_ready_o & (top.wreq_ready_o - 1)),
		      "two grants");
		check(!flushing || (!top.rreq_ready_o && !top.wreq_ready_o && !top.wdat_ready_o),
		      "grant while flushing");
		for (unsigned i = 0; i < Readers; i++)
			if (top.rreq_ready_o >> i & 1) {
				expect_ar.push_back(want_r[i]);
				granted_r.push_back(want_r[i]);
				grants_r[i]++;
			}
		if (top.wdat_ready_o & top.wdat_valid_i) {
			Beat b = to_send.front();

			expect_w.push_back(b);
			written_bytes += __builtin_popcount(b.strb);
			to_send.pop_front();
			if (to_send.empty())
				sending = Writers;
		}
		for (unsigned i = 0; i < Writers; i++)
			if (top.wreq_ready_o >> i & 1) {
				check(sending == Writers, "a write granted within another");
				expect_aw.push_back(want_w[i]);
				granted_w.push_back(want_w[i]);
				grants_w[i]++;
				sending = i;
				for (unsigned k = 0; k < want_w[i].beats; k++) {
					unsigned strb = 0xff;

					// only the last client writes parts of words: an odd start,
					// an odd end, anything
					if (i == 2 && !k)
						strb = 0xff << rng.below(8) & 0xff;
					else if (i == 2 && k + 1 == want_w[i].beats)
						strb = 0xff >> rng.below(8);
					else if (i == 2 && rng.chance(20))
						strb = rng.below(256);
					to_send.push_back({rng.u64(), strb});
				}
			}
	}
	// what was on the bus before the edge and was ready is taken
	void take_bus()
	{
		check(top.rready_o && top.bready_o, "answers are taken at once");
		if (held.ar)
			check(top.arvalid_o && top.araddr_o == held.araddr &&
				      top.arlen_o == held.arlen,
			      "AR changed while it waited");
		if (held.aw)
			check(top.awvalid_o && top.awaddr_o == held.awaddr &&
				      top.awlen_o == held.awlen,
			      "AW changed while it waited");
		if (held.w)
			check(top.wvalid_o && top.wdata_o == held.wdata &&
				      top.wstrb_o == held.strb && top.wlast_o == held.last,
			      "W changed while it waited");
		held = {top.arvalid_o && !top.arready_i,
			top.awvalid_o && !top.awready_i,
			top.wvalid_o && !top.wready_i,
			top.araddr_o,
			top.awaddr_o,
			top.wdata_o,
			top.arlen_o,
			top.awlen_o,
			top.wstrb_o,
			top.wlast_o};
		if (top.arvalid_o && top.arready_i) {
			check(!expect_ar.empty() && expect_ar.front().addr == top.araddr_o &&
				      expect_ar.front().beats == top.arlen_o + 1u,
			      "AR is not the burst that was asked for");
			check(reads.size() < MaxReads, "too many reads");
			if (!expect_ar.empty()) {
				reads.push_back({expect_ar.front(),
						 cycles + (latency ? rng.below(2 * latency) : 0)});
				expect_ar.pop_front();
			}
		}
		if (top.awvalid_o && top.awready_i) {
			check(!expect_aw.empty() && expect_aw.front().addr == top.awaddr_o &&
				      expect_aw.front().beats == top.awlen_o + 1u,
			      "AW is not the burst that was asked for");
			if (!expect_aw.empty()) {
				writes.push_back(expect_aw.front());
				expect_aw.pop_front();
			}
		}
		if (top.wvalid_o && top.wready_i) {
			if (expect_w.empty()) {
				check(flushing && top.wstrb_o == 0, "data that no client gave");
			} else {
				check(expect_w.front() == Beat{top.wdata_o, top.wstrb_o},
				      "W is not what the client gave");
				expect_w.pop_front();
			}
			w_beats++;
			if (top.wlast_o) {
				bursts_w.push_back(w_beats);
				w_beats = 0;
			}
		}
		while (!writes.empty() && !bursts_w.empty()) {
			check(writes.front().beats == bursts_w.front(),
			      "a write burst of another length than its address said");
			writes.pop_front();
			bursts_w.pop_front();
			answers++;
		}
	}
	void see_answers()
	{
		unsigned want = see_r.valid ? 1 << see_r.b.client : 0;

		check(top.rd_valid_o == want, "read data for the wrong client, or none");
		if (see_r.valid) {
			got_beats++;
			check(top.rd_data_o == see_r.data && top.rd_beat_o == see_r.beat &&
				      top.rd_last_o == see_r.last && top.rd_err_o == see_r.err &&
				      top.rd_addr_o == see_r.b.addr &&
				      (!see_r.b.client || top.rd_tag_o == see_r.b.tag),
			      "a beat's data, number, last, error, tag or address");
			if (see_r.last)
				granted_r.pop_front();
		}
		want = see_w.valid ? 1 << see_w.b.client : 0;
		check(top.wrsp_valid_o == want, "a write's answer for the wrong client, or none");
		if (see_w.valid)
			check(top.wrsp_err_o == see_w.err && top.wrsp_addr_o == see_w.b.addr,
			      "a write's error or address");
		counted_rd += top.rd_bytes_o;
		counted_wr += top.wr_bytes_o;
	}
	void step()
	{
		show_requests();
		drive_bus();
		settle();
		take_bus();
		// what is granted now is withdrawn after the edge
		unsigned r = top.rreq_valid_i & ~top.rreq_ready_o,
			 w = top.wreq_valid_i & ~top.wreq_ready_o;
		unsigned d = top.wdat_valid_i & ~top.wdat_ready_o;

		take_grants();
		edge();
		top.rreq_valid_i = r;
		top.wreq_valid_i = w;
		top.wdat_valid_i = d;
		see_answers();
	}
	void steps(unsigned n)
	{
		while (n-- && !wrong)
			step();
	}
	void ask(unsigned r, unsigned w)
	{
		for (unsigned &a : ask_r)
			a = r;
		for (unsigned &a : ask_w)
			a = w;
	}
	// no more requests; all in flight must end
	bool drain(unsigned max = 20000)
	{
		ask(0, 0);
		while (max-- && !wrong &&
		       (top.rreq_valid_i || top.wreq_valid_i || sending < Writers ||
			!granted_r.empty() || !granted_w.empty()))
			step();
		steps(2);
		return !wrong && granted_r.empty() && granted_w.empty() && sending == Writers &&
		       top.quiet_o;
	}
	bool verdict(Tap &tap, bool good, const char *what)
	{
		if (wrong)
			printf("# cycle %llu: %s\n", (unsigned long long)cycles, wrong);
		return tap.ok(good && !wrong, "%s", what);
	}
};

void test_each(Tap &tap, uint64_t seed)
{
	bool good = true;

	for (unsigned i = 0; i < Readers + Writers; i++) {
		Bench tb(seed + i);
		unsigned *n = i < Readers ? &tb.grants_r[i] : &tb.grants_w[i - Readers];

		(i < Readers ? tb.ask_r[i] : tb.ask_w[i - Readers]) = 100;
		tb.steps(3000);
		good &= tb.drain() && *n > 30;
		if (tb.wrong)
			printf("# client %u: %s\n", i, tb.wrong);
	}
	tap.ok(good,
	       "each client alone: bursts of 1 to 32 beats, up to the end of a page, odd starts and ends of bytes");
}

void test_limits(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	unsigned n = 0;

	tb.answer = false;
	tb.ask(100, 0);
	tb.steps(500);
	for (unsigned g : tb.grants_r)
		n += g;
	tb.verdict(tap, n == MaxReads && tb.reads.size() == MaxReads && !tb.top.quiet_o,
		   "64 reads outstanding, no more");
	tb.answer = true;
	tb.verdict(tap, tb.drain() && tb.got_beats > MaxReads, "and all are answered");
	tb.answer = false;
	tb.ask(0, 100);
	tb.steps(2000);
	n = 0;
	for (unsigned g : tb.grants_w)
		n += g;
	tb.verdict(tap, n == MaxWrites && !tb.top.quiet_o, "32 writes outstanding, no more");
	tb.answer = true;
	tb.verdict(tap, tb.drain(), "and all are answered");
}

void test_fair(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	unsigned r_min = ~0u, r_max = 0, w_min = ~0u, w_max = 0;

	tb.ask(100, 100);
	tb.latency = 4;
	tb.steps(20000);
	for (unsigned g : tb.grants_r) {
		r_min = g < r_min ? g : r_min;
		r_max = g > r_max ? g : r_max;
	}
	for (unsigned g : tb.grants_w) {
		w_min = g < w_min ? g : w_min;
		w_max = g > w_max ? g : w_max;
	}
	tb.verdict(tap, r_min > 100 && r_max - r_min <= 1 && w_min > 100 && w_max - w_min <= 1,
		   "all ask all the time: all get the same share");
	tb.verdict(tap, tb.drain(), "and the rest ends");
}

void test_random(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	unsigned bursts = 0;
	bool good = true;

	for (int round = 0; round < 60 && !tb.wrong; round++) {
		static const unsigned levels[] = {0, 2, 10, 50, 100};

		for (unsigned &a : tb.ask_r)
			a = tb.rng.pick(levels);
		for (unsigned &a : tb.ask_w)
			a = tb.rng.pick(levels);
		tb.ready_percent = 10 + tb.rng.below(91);
		tb.valid_percent = 10 + tb.rng.below(91);
		tb.latency = tb.rng.below(200);
		tb.error_percent = tb.rng.chance(50) ? 0 : tb.rng.below(60);
		tb.steps(2000);
		if (tb.rng.chance(30))
			good &= tb.drain();
	}
	good &= tb.drain();
	for (unsigned g : tb.grants_r)
		bursts += g;
	for (unsigned g : tb.grants_w)
		bursts += g;
	printf("# %u bursts, %u beats read\n", bursts, tb.got_beats);
	tb.verdict(tap, good && bursts > 3000, "random clients, stalls, latencies and errors");
	tb.verdict(tap,
		   tb.counted_rd == tb.read_bytes && tb.counted_wr == tb.written_bytes &&
			   tb.counted_wr,
		   "the byte counters: what arrived without error, what the strobes named");
}

void test_flush(Tap &tap, uint64_t seed)
{
	Bench tb(seed);
	bool good = true;
	unsigned outstanding = 0, cut = 0;
	int round;

	for (round = 0; round < 300 && good; round++) {
		unsigned wait = 0;

		tb.ask(30, 50);
		tb.ready_percent = 20 + tb.rng.below(81);
		tb.valid_percent = 30 + tb.rng.below(71);
		tb.latency = tb.rng.below(60);
		tb.steps(1 + tb.rng.below(200));
		outstanding += !tb.reads.empty();
		cut += tb.sending < Writers;
		// The device's reset: the clients are gone, whatever they show. The bus gets what
		// it was promised.
		tb.flushing = true;
		tb.top.flush_i = 1;
		if (tb.rng.chance(50)) {
			tb.ask(0, 0);
			tb.valid_percent = 0;
			tb.top.rreq_valid_i = tb.top.wreq_valid_i = tb.top.wdat_valid_i = 0;
		}
		while (wait++ < 30000 && !tb.wrong) {
			tb.step();
			if (tb.top.quiet_o)
				break;
		}
		good &= tb.top.quiet_o && tb.reads.empty() && tb.writes.empty() && !tb.answers &&
			!tb.w_beats && tb.expect_ar.empty() && tb.expect_aw.empty();
		tb.steps(20);
		good &= tb.top.quiet_o && !tb.wrong;
		tb.granted_r.clear();
		tb.to_send.clear();
		tb.sending = Writers;
		tb.top.rreq_valid_i = tb.top.wreq_valid_i = tb.top.wdat_valid_i = 0;
		tb.flushing = false;
		tb.top.flush_i = 0;
	}
	printf("# %d rounds, reads under way in %u, a write cut in %u\n", round, outstanding, cut);
	tb.verdict(tap, good && outstanding > 50 && cut > 50,
		   "reset in mid-flight: bursts end with empty strobes, answers vanish, then the bus is quiet");
	tb.ask(50, 50);
	tb.valid_percent = 70;
	tb.steps(2000);
	tb.verdict(tap, tb.drain() && tb.got_beats > 1000, "and then it works as before");
}

// A client that breaks its promise: the assertion stops the simulation.
bool fires(uint64_t seed, bool write, uint64_t addr, unsigned beats)
{
	pid_t pid;
	int status = 0;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(0);
		Bench tb(seed);

		(write ? tb.top.wreq_addr1_i : tb.top.rreq_addr1_i) = addr;
		(write ? tb.top.wreq_beats1_i : tb.top.rreq_beats1_i) = beats;
		(write ? tb.top.wreq_valid_i : tb.top.rreq_valid_i) = 2;
		tb.run(4);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = bench_seed(argc, argv);
	Tap tap;

	test_each(tap, seed);
	test_limits(tap, seed);
	test_fair(tap, seed);
	test_random(tap, seed);
	test_flush(tap, seed);
	tap.ok(!fires(seed, false, 0x1f00, 32) && !fires(seed, true, 0x1ff8, 1) &&
		       fires(seed, false, 0x1f08, 32) && fires(seed, false, 0x1004, 1) &&
		       fires(seed, true, 0x1ff8, 2) && fires(seed, true, 0x1001, 1) &&
		       fires(seed, true, 0x1000, 33),
	       "assertions fire for a burst over a page, unaligned, too long; and not before");
	return tap.plan();
}
