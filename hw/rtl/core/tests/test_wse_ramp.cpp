// SPDX-License-Identifier: MIT
// The ramp between a router and the units of a core, both modelled here: CHAN_DEPTH wavelets per
// color, credits both ways, order within a color, nothing lost or doubled under any stalls. Two
// links come from the router, and a color may change from one to the other at any wavelet. A
// reader says one cycle later that it took the head; a mover takes an element only when told that
// there is room and counts it (infl) until it has left.
#include <deque>

#include "Vwse_ramp.h"
#include "rtl/tests/block_tb.hpp"
#include "wse_regs.h"

namespace {

constexpr unsigned Colors = WSE_NCOLORS, Depth = WSE_CHAN_DEPTH;

struct Wavelet {
	uint32_t data;
	bool ctrl;
};

struct Bench : BlockTb<Vwse_ramp> {
	// ---- receive ----
	std::deque<Wavelet> queue[Colors];	// in the core, not yet taken
	unsigned room[Colors];			// credits that the router has
	unsigned owes[Colors] = {}, waits[Colors] = {};
	unsigned popping[4], color[4];		// readers: lanes, movers, scalar side
	bool asks[4];				// look at their color's head in this cycle
	unsigned received = 0, full = 0, most_wait = 0, both = 0;
	unsigned links = 3;			// that bring something: 1 the row's, 2 north's
	// ---- send: 0, 1 movers, 2 scalar side ----
	struct Sender {
		unsigned color = 0, left = 0, infl = 0, rest = 0, sent = 0;
		bool valid = false, loud = false;
		Wavelet w = {};
	} snd[3];
	std::deque<Wavelet> flight[3];		// taken by a mover, not yet offered
	std::deque<Wavelet> expect[3][Colors];	// offered or sent, not yet seen by the router
	unsigned credits[Colors];		// of the core
	std::deque<unsigned> back;		// credits that the router will return
	unsigned sent = 0, held = 0;
	bool keep = false;			// the router returns none
	// percentages
	unsigned p_rx = 60, p_ask = 100, p_pop = 60, p_back = 60, p_take = 60, p_send = 60;

	explicit Bench(uint64_t seed) : BlockTb(seed)
	{
		restart();
	}
	void restart()
	{
		top.rst_i = 1;
		top.flush_i = 0;
		top.rx_valid_i = top.rn_valid_i = top.tx_cr_valid_i = top.st_valid_i =
			top.m0t_valid_i = top.m1t_valid_i = 0;
		top.m0t_infl_i = top.m1t_infl_i = 0;
		top.m0t_ask_i = top.m1t_ask_i = 1;
		top.m0t_color_i = top.m1t_color_i = 0;
		for (unsigned r = 0; r < 4; r++) {
			color[r] = 4 * r;
			popping[r] = 0;
		}
		apply_readers();
		tick();
		top.rst_i = 0;
		for (unsigned c = 0; c < Colors; c++) {
			queue[c].clear();
			room[c] = credits[c] = Depth;
			owes[c] = waits[c] = 0;
			for (auto &e : expect)
				e[c].clear();
		}
		for (auto &s : snd)
			s = {};
		for (auto &f : flight)
			f.clear();
		back.clear();
	}
	// One cycle. The router sends on a color of the mask rx; readers look at color[] and take
	// if the mask take says so.
	bool step(uint32_t rx, unsigned take, bool flush = false)
	{
		bool good = true;
		Wavelet in[2];
		bool comes[2];
		unsigned c_in[2], cr_in = 0;

		top.flush_i = flush;
		for (unsigned l = 0; l < 2; l++) {
			uint32_t can = 0;

			in[l] = {uint32_t(rng.u64()), rng.chance(20)};
			comes[l] = false;
			c_in[l] = rng.below(Colors);
			for (unsigned c = 0; c < Colors; c++)
				can |= uint32_t(room[c] && (rx >> c & 1)) << c;
			if (l && comes[0])
				can &= ~(1u << c_in[0]);
			if (can && rng.chance(p_rx) && (links >> l & 1)) {
				while (!(can >> c_in[l] & 1))
					c_in[l] = rng.below(Colors);
				comes[l] = true;
			}
		}
		both += comes[0] && comes[1];
		top.rx_valid_i = comes[0];
		top.rx_data_i = in[0].data;
		top.rx_ctrl_i = in[0].ctrl;
		top.rx_color_i = c_in[0];
		top.rn_valid_i = comes[1];
		top.rn_data_i = in[1].data;
		top.rn_ctrl_i = in[1].ctrl;
		top.rn_color_i = c_in[1];
		top.tx_cr_valid_i = !keep && !back.empty() && rng.chance(p_back);
		top.tx_cr_color_i = top.tx_cr_valid_i ? cr_in = back.front() : rng.below(Colors);
		apply_readers();
		top.m0t_ask_i = rng.chance(p_ask);
		top.m1t_ask_i = rng.chance(p_ask);
		apply_senders();
		settle();
		good &= look(take, flush);
		good &= offers();
		uint32_t some = top.some_o, ctrl = top.ctrl_o;
		for (unsigned c = 0; c < Colors; c++) {
			bool busy = false;

			for (unsigned r = 0; r < 4; r++)
				busy |= popped[r] && color[r] == c;
			if (busy || flush)
				continue;
			good &= (some >> c & 1) == !before[c].empty();
			if (some >> c & 1)
				good &= (ctrl >> c & 1) == before[c].front().ctrl;
		}
		edge();
		if (top.tx_cr_valid_i) {
			back.pop_front();
			credits[cr_in]++;
		}
		if (flush)
			for (unsigned c = 0; c < Colors; c++) {
				// those that a reader has just taken are counted already
				owes[c] += queue[c].size();
				queue[c].clear();
			}
		for (unsigned l = 0; l < 2; l++) {
			if (!comes[l])
				continue;
			room[c_in[l]]--;
			if (flush)
				owes[c_in[l]]++;
			else
				queue[c_in[l]].push_back(in[l]);
			received++;
			full += queue[c_in[l]].size() == Depth;
		}
		// credits to the router: owed, not twice, and each color's turn comes
		good &= !(top.rx_cr_valid_o && top.rn_cr_valid_o &&
			  top.rx_cr_color_o == top.rn_cr_color_o);
		for (unsigned l = 0; l < 2; l++) {
			unsigned c = l ? top.rn_cr_color_o : top.rx_cr_color_o;

			if (!(l ? top.rn_cr_valid_o : top.rx_cr_valid_o))
				continue;
			good &= c < Colors && owes[c];
			owes[c]--;
			room[c]++;
			waits[c] = 0;
		}
		for (unsigned c = 0; c < Colors; c++) {
			waits[c] = owes[c] ? waits[c] + 1 : 0;
			most_wait = waits[c] > most_wait ? waits[c] : most_wait;
		}
		// the wavelet to the router: next of its color from one of the senders
		if (top.tx_valid_o) {
			unsigned c = top.tx_color_o;

			good &= c < Colors && goes >= 0;
			if (!good)
				return false;
			good &= credits[c] > 0 && !expect[goes][c].empty();
			if (!good)
				return false;
			credits[c]--;
			back.push_back(c);
			good &= expect[goes][c].front().data == top.tx_data_o &&
				expect[goes][c].front().ctrl == top.tx_ctrl_o;
			expect[goes][c].pop_front();
			snd[goes].sent++;
			sent++;
		} else {
			good &= goes < 0;
		}
		return good;
	}
	// a reader changes to a color that no unit reads or has just read
	void move(unsigned r)
	{
		unsigned c = rng.below(Colors);

		if (popping[r])
			return;
		for (unsigned o = 0; o < 4; o++)
			if (color[o] == c)
				return;
		color[r] = c;
	}
	// nothing new: everything that is there comes to its end, and all credits are back
	bool settle_down()
	{
		bool good = true;

		p_ask = p_back = p_pop = p_take = p_send = 100;
		for (unsigned i = 0; i < 40; i++) {
			for (unsigned r = 0; r < 4; r++)
				good &= step(0, 0);
			for (unsigned n = 0; n < Colors; n += 4) {
				for (unsigned r = 0; r < 4; r++)
					color[r] = n + r;
				good &= step(0, 15) && step(0, 15) && step(0, 15) && step(0, 0) &&
					step(0, 0);
			}
		}
		for (unsigned c = 0; c < Colors; c++)
			good &= queue[c].empty() && room[c] == Depth && credits[c] == Depth;
		for (auto &s : snd)
			good &= !s.left && !s.infl && !s.valid;
		return good;
	}

private:
	std::deque<Wavelet> before[Colors];
	unsigned popped[4];
	int goes = -1;

	void apply_readers()
	{
		for (bool &a : asks)
			a = rng.chance(p_ask);
		top.l_ask_i = asks[0];
		top.m0_ask_i = asks[1];
		top.m1_ask_i = asks[2];
		top.s_ask_i = asks[3];
		top.l_color_i = color[0];
		top.m0_color_i = color[1];
		top.m1_color_i = color[2];
		top.s_color_i = color[3];
		top.l_pop_i = popping[0];
		top.m0_pop_i = popping[1];
		top.m1_pop_i = popping[2];
		top.s_pop_i = popping[3];
	}
	bool look(unsigned take, bool flush)
	{
		bool valid[4] = {bool(top.l_valid_o), bool(top.m0_valid_o), bool(top.m1_valid_o),
				 bool(top.s_valid_o)};
		bool ctrl[4] = {bool(top.l_ctrl_o), bool(top.m0_ctrl_o), bool(top.m1_ctrl_o),
				bool(top.s_ctrl_o)};
		uint32_t data[4] = {top.l_data_o, top.m0_data_o, top.m1_data_o, top.s_data_o};
		bool good = true;

		for (unsigned c = 0; c < Colors; c++)
			before[c] = queue[c];
		for (unsigned r = 0; r < 4; r++) {
			auto &q = queue[color[r]];

			popped[r] = popping[r];
			popping[r] = 0;
			if (popped[r] && !flush)
				owes[color[r]]++;
			if (flush) {
				owes[color[r]] += popped[r];
				continue;		// the units are held: none reads
			}
			if (!asks[r]) {
				good &= !valid[r] && !ctrl[r] && !data[r];
				continue;
			}
			good &= valid[r] == !q.empty();
			if (q.empty())
				continue;
			good &= ctrl[r] == q.front().ctrl && data[r] == q.front().data;
			if ((take >> r & 1) && rng.chance(p_pop)) {
				q.pop_front();
				popping[r] = 1;
			}
		}
		return good;
	}
	void apply_senders()
	{
		for (unsigned i = 0; i < 2; i++) {
			auto &s = snd[i];

			if (!s.valid && !flight[i].empty() && rng.chance(p_send)) {
				s.w = flight[i].front();
				flight[i].pop_front();
				s.valid = true;
			}
		}
		auto &s = snd[2];
		if (!s.valid && s.left && rng.chance(p_send)) {
			s.w = {uint32_t(rng.u64()), rng.chance(20)};
			s.valid = true;
			s.left--;
			expect[2][s.color].push_back(s.w);
		}
		top.m0t_valid_i = snd[0].valid;
		top.m0t_ctrl_i = snd[0].valid ? snd[0].w.ctrl : rng.chance(50);
		top.m0t_color_i = snd[0].color;
		top.m0t_data_i = snd[0].w.data;
		top.m0t_infl_i = snd[0].infl;
		top.m1t_valid_i = snd[1].valid;
		top.m1t_ctrl_i = snd[1].valid ? snd[1].w.ctrl : rng.chance(50);
		top.m1t_color_i = snd[1].color;
		top.m1t_data_i = snd[1].w.data;
		top.m1t_infl_i = snd[1].infl;
		top.st_valid_i = snd[2].valid;
		top.st_ctrl_i = snd[2].w.ctrl;
		top.st_color_i = snd[2].color;
		top.st_data_i = snd[2].w.data;
	}
	// who sends in this cycle, and which mover takes an element
	bool offers()
	{
		bool ready[3] = {bool(top.m0t_ready_o), bool(top.m1t_ready_o),
				 bool(top.st_ready_o)};
		bool room_o[2] = {bool(top.m0t_room_o), bool(top.m1t_room_o)}, good = true;

		goes = -1;
		for (int i = 0; i < 3; i++)
			if (ready[i]) {
				good &= goes < 0 && snd[i].valid;
				goes = i;
			}
		for (int i = 0; i < 2; i++) {
			auto &s = snd[i];

			if (ready[i]) {
				s.valid = false;
				s.infl--;
			}
			if (s.left && room_o[i] && s.infl < 3 && rng.chance(p_take)) {
				Wavelet w = {uint32_t(rng.u64()), s.left == 1};

				flight[i].push_back(w);
				expect[i][s.color].push_back(w);
				s.infl++;
				s.left--;
			}
		}
		if (ready[2])
			snd[2].valid = false;
		return good;
	}
};

void test_receive(Tap &tap, Bench &tb)
{
	bool good = true;

	tb.p_rx = 100;
	tb.p_pop = 100;
	for (unsigned c = 0; c < Colors; c++)
		for (unsigned i = 0; i < Depth + 2; i++)
			good &= tb.step(1u << c, 0);
	for (auto &q : tb.queue)
		good &= q.size() == Depth;
	tap.ok(good && tb.received == Depth * Colors,
	       "CHAN_DEPTH = %u wavelets of each of %u colors lie in the core", Depth, Colors);
	tap.ok(tb.settle_down(), "they are read in order, and each gives one credit back");

	good = true;
	for (tb.links = 1; tb.links < 3; tb.links++) {
		tb.received = 0;
		tb.color[0] = 7;
		for (unsigned i = 0; i < 1000; i++)
			good &= tb.step(1u << 7, 1);
		tap.ok(good && tb.received > 990 && tb.settle_down(),
		       "one color passes a wavelet every cycle, link %u (%u in 1000)", tb.links,
		       tb.received);
	}
	good = true;
	tb.received = tb.both = 0;
	for (unsigned i = 0; i < 1000; i++) {
		tb.color[0] = 7;
		tb.color[1] = 8;
		good &= tb.step(3u << 7, 3);
	}
	tap.ok(good && tb.received > 1980 && tb.both > 980 && tb.settle_down(),
	       "two colors pass one each (%u in 1000)", tb.received);

	// all colors owe credits, four new ones a cycle
	good = true;
	tb.links = 1;
	for (unsigned i = 0; i < 200; i++)
		good &= tb.step(~0u, 0);
	tb.most_wait = 0;
	for (unsigned n = 0; n < 20 * Colors; n++) {
		for (unsigned r = 0; r < 4; r++)
			if (!tb.popping[r])
				tb.color[r] = (n + 6 * r) % Colors;
		good &= tb.step(~0u, 15);
	}
	good &= tb.settle_down();
	tap.ok(good && tb.most_wait > Colors / 2 && tb.most_wait <= Colors + 1,
	       "credits go back one a cycle and link, every color in its turn (%u cycles at most)",
	       tb.most_wait);
	tb.links = 3;

	good = true;
	for (unsigned i = 0; i < 2000 && good; i++) {
		for (unsigned n = tb.rng.below(60); n; n--) {
			for (unsigned r = 0; r < 4; r++)
				if (tb.rng.chance(30))
					tb.move(r);
			tb.p_pop = tb.rng.below(101);
			good &= tb.step(~0u, 15);
		}
		good &= tb.step(~0u, 0, true);
		for (auto &q : tb.queue)
			good &= q.empty();
		good &= tb.step(0, 0) && !tb.top.some_o;
		if (i % 16 == 0)
			good &= tb.settle_down();
		tb.p_rx = 100;
	}
	tap.ok(good && tb.settle_down(),
	       "BOOT drops what is there and what arrives; every credit goes back");
}

void start(Bench &tb, unsigned who, unsigned color, unsigned n)
{
	tb.snd[who].color = color;
	tb.snd[who].left = n;
}

bool idle(const Bench &tb, unsigned who)
{
	return !tb.snd[who].left && !tb.snd[who].infl && !tb.snd[who].valid;
}

void test_send(Tap &tap, Bench &tb)
{
	bool good = true;
	unsigned n;

	tb.p_rx = 0;
	tb.p_take = tb.p_send = tb.p_back = 100;
	for (unsigned who = 0; who < 3; who++)
		for (unsigned c = 0; c < Colors; c++) {
			tb.keep = true;
			tb.sent = 0;
			start(tb, who, c, Depth + 3);
			for (unsigned i = 0; i < 40; i++)
				good &= tb.step(0, 0);
			good &= tb.sent == Depth;
			tb.keep = false;
			for (unsigned i = 0; i < 40; i++)
				good &= tb.step(0, 0);
			good &= tb.sent == Depth + 3 && idle(tb, who);
		}
	tap.ok(good && tb.settle_down(),
	       "CHAN_DEPTH wavelets of each color leave without a credit's return, from each sender");

	// the last place of a channel goes to any sender, also while another's color is the same
	good = true;
	for (unsigned who = 0; who < 3; who++)
		for (unsigned other = 0; other < 3; other++) {
			tb.snd[other].color = 9;
			tb.keep = true;
			start(tb, who, 9, Depth);
			for (n = 0; n < 60 && !idle(tb, who); n++)
				good &= tb.step(0, 0);
			good &= idle(tb, who);
			tb.keep = false;
			good &= tb.settle_down();
		}
	tap.ok(good,
	       "the whole of a channel can be filled by one, whatever color the others had last");

	start(tb, 0, 3, 2000);
	start(tb, 1, 4, 2000);
	tb.sent = tb.snd[0].sent = tb.snd[1].sent = 0;
	for (n = 0; n < 1000; n++)
		good &= tb.step(0, 0);
	tap.ok(good && tb.sent > 990 && tb.snd[0].sent > 450 && tb.snd[1].sent > 450,
	       "two movers share the ramp: a wavelet every cycle, %u and %u of 1000", tb.snd[0].sent, tb.snd[1].sent);
	tb.snd[2].sent = 0;
	start(tb, 2, 5, 100);
	for (n = 0; n < 1000 && !idle(tb, 2); n++)
		good &= tb.step(0, 0);
	tap.ok(good && n < 450, "SEND gets its turn between them (100 in %u cycles)", n);
	tb.snd[0].left = tb.snd[1].left = 0;
	good = tb.settle_down();

	// several senders of one color
	static const unsigned together[][3] = {{1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
	for (auto &who : together) {
		bool ok = good;

		for (unsigned i = 0; i < 3000 && ok; i++) {
			for (unsigned s = 0; s < 3; s++)
				if (who[s] && idle(tb, s))
					start(tb, s, 11, 1 + tb.rng.below(20));
			if (i % 50 == 0) {
				tb.p_take = 30 + tb.rng.below(71);
				tb.p_send = 30 + tb.rng.below(71);
				tb.p_back = i % 100 ? 100 : tb.rng.below(101);
			}
			ok &= tb.step(0, 0);
		}
		if (!tap.ok(ok && tb.settle_down(),
			    "%s%s%son one color: never more than its credits",
			    who[0] ? "mover 0 " : "", who[1] ? "mover 1 " : "",
			    who[2] ? "SEND " : ""))
			tb.restart();
	}
}

void test_random(Tap &tap, Bench &tb)
{
	bool good = true;
	unsigned i;

	tb.received = tb.sent = tb.full = 0;
	for (i = 0; i < 300000 && good; i++) {
		if (i % 200 == 0)
			for (unsigned *p :
			     {&tb.p_rx, &tb.p_ask, &tb.p_pop, &tb.p_back, &tb.p_take, &tb.p_send})
				*p = tb.rng.chance(30) ? 100 : 5 + tb.rng.below(96);
		if (i % 20000 == 19999)
			good &= tb.settle_down();
		for (unsigned r = 0; r < 4; r++)
			if (tb.rng.chance(20))
				tb.move(r);
		for (unsigned s = 0; s < 3; s++)
			if (tb.rng.chance(20) && idle(tb, s))
				start(tb, s, i / 1000 % 2 ? tb.rng.below(3) : tb.rng.below(Colors),
				      tb.rng.below(12));
		good &= tb.step(i / 3000 % 2 ? 0xffffff : 0xf, tb.rng.below(16),
				tb.rng.below(2000) == 0);
	}
	good = good && tb.settle_down();
	tap.ok(good && tb.received > 50000 && tb.sent > 50000 && tb.full > 5000,
	       "random stalls of all units (%u received, %u sent, %u times full, stopped at %u)", tb.received, tb.sent, tb.full, i);

	for (i = 0; i < 50; i++) {
		start(tb, 0, 1, 5);
		start(tb, 1, 2, 5);
		tb.step(~0u, 15);
	}
	tb.restart();
	good = !tb.top.some_o && !tb.top.tx_valid_o && !tb.top.rx_cr_valid_o &&
	       !tb.top.rn_cr_valid_o;
	tb.p_rx = tb.p_ask = tb.p_pop = 100;
	for (i = 0; i < 200; i++)
		good &= tb.step(~0u, 15);
	tap.ok(good && tb.settle_down(), "a reset: queues empty, all credits there");
}

} // namespace

int main(int argc, char **argv)
{
	Bench tb(bench_seed(argc, argv));
	Tap tap;

	test_receive(tap, tb);
	test_send(tap, tb);
	test_random(tap, tb);
	return tap.plan();
}
