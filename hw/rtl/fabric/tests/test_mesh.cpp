// SPDX-License-Identifier: MIT
// Router and mesh: random multicast trees on all colors with random back-pressure against a
// scoreboard, exact channel capacity, rate and latency, unrouted colors, context reset, and an
// assertion that fires.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "Vmesh.h"
#include "Vmesh___024root.h"
#include "rtl/tests/counters.hpp"
#include "rtl/tests/tap.hpp"
#include "wse_regs.h"

namespace {

constexpr int R = 4, C = 4, N = R * C, K = WSE_NCOLORS;
enum { PN, PE, PS, PW, PR, NONE = 7 };

struct Wavelet {
	uint32_t data;
	uint8_t ctl;
	bool operator==(const Wavelet &o) const { return data == o.data && ctl == o.ctl; }
};

struct Bench {
	VerilatedContext ctx;
	std::unique_ptr<Vmesh> top{new Vmesh{&ctx, "mesh"}};
	uint64_t both = 0;			// a ramp took a wavelet from north and another
	uint64_t cycle = 0, popped = 0, macs = 0, linked = 0;	// what the wafer counted
	// sources 0 ... N-1: ramps; N + c: north port of column c. Sinks likewise: ramps, south
	// ports.
	std::deque<Wavelet> out[N + C][K];
	int credit[N + C][K];
	std::vector<Wavelet> got[N + C][K];
	std::vector<uint64_t> when[N + C][K];
	std::deque<int> owed[N + C];		// colors whose credit a sink still holds
	int return_percent = 100;		// chance that a sink returns a credit in a cycle
	int send_percent = 100;
	std::mt19937 rng{1};

	Bench() { reset(); }
	bool chance(int percent) { return int(rng() % 100) < percent; }

	void quiet()
	{
		auto *t = top->rootp;

		for (int i = 0; i < N; i++)
			t->tb_mesh__DOT__tx_head[i] = t->tb_mesh__DOT__rx_cr[i] =
				t->tb_mesh__DOT__rn_cr[i] = t->tb_mesh__DOT__rt[i] = 0;
		for (int c = 0; c < C; c++)
			t->tb_mesh__DOT__n_head[c] = t->tb_mesh__DOT__s_cr[c] = 0;
	}
	void tick()
	{
		top->clk_i = 1;
		top->eval();
		top->clk_i = 0;
		top->eval();
		cycle++;
		popped += counter_get(top->rootp->tb_mesh__DOT__sum, counter_lane(WSE_CNT_WAVELET));
		macs += counter_get(top->rootp->tb_mesh__DOT__sum, counter_lane(WSE_CNT_MAC));
		linked += top->rootp->tb_mesh__DOT__sum_link;
	}
	void reset()
	{
		quiet();
		top->rst_ni = 0;
		top->clear_i = 0;
		for (int i = 0; i < 3; i++)
			tick();
		top->rst_ni = 1;
		forget();
	}
	void forget()
	{
		for (int i = 0; i < N + C; i++) {
			owed[i].clear();
			for (int k = 0; k < K; k++) {
				credit[i][k] = WSE_CHAN_DEPTH;
				out[i][k].clear();
				got[i][k].clear();
				when[i][k].clear();
			}
		}
	}
	void clear()
	{
		quiet();
		top->clear_i = 1;
		tick();
		tick();
		top->clear_i = 0;
		tick();
		tick();
		forget();
	}
	void route(int core, int color, int rx, int tx)
	{
		top->rootp->tb_mesh__DOT__rt[core] = 1 << 13 | color << 8 | tx << 3 | rx;
		tick();
		top->rootp->tb_mesh__DOT__rt[core] = 0;
		tick();
		tick();
	}
	void sink(int i, uint8_t head, uint32_t data)
	{
		if (!(head & 0x40))
			return;
		got[i][head & 31].push_back({data, uint8_t(head >> 5 & 1)});
		when[i][head & 31].push_back(cycle);
		owed[i].push_back(head & 31);
	}
	// not: a color that goes back beside it
	uint8_t give_back(int i, uint8_t beside = 0)
	{
		if (owed[i].empty() || !chance(return_percent) ||
		    (beside && owed[i].front() == (beside & 31)))
			return 0;
		int k = owed[i].front();

		owed[i].pop_front();
		return 0x20 | k;
	}
	uint8_t source(int i, uint32_t *data)
	{
		int k0 = rng() % K;

		if (!chance(send_percent))
			return 0;
		for (int j = 0; j < K; j++) {
			int k = (k0 + j) % K;

			if (out[i][k].empty() || !credit[i][k])
				continue;
			Wavelet w = out[i][k].front();

			out[i][k].pop_front();
			credit[i][k]--;
			*data = w.data;
			return 0x40 | w.ctl << 5 | k;
		}
		return 0;
	}
	void step()
	{
		auto *t = top->rootp;

		for (int i = 0; i < N; i++) {
			uint32_t d = 0;

			both += t->tb_mesh__DOT__rx_head[i] >> 6 & t->tb_mesh__DOT__rn_head[i] >> 6;
			sink(i, t->tb_mesh__DOT__rx_head[i], t->tb_mesh__DOT__rx_data[i]);
			sink(i, t->tb_mesh__DOT__rn_head[i], t->tb_mesh__DOT__rn_data[i]);
			if (t->tb_mesh__DOT__tx_cr[i] & 0x20)
				credit[i][t->tb_mesh__DOT__tx_cr[i] & 31]++;
			t->tb_mesh__DOT__tx_head[i] = source(i, &d);
			t->tb_mesh__DOT__tx_data[i] = d;
			t->tb_mesh__DOT__rx_cr[i] = give_back(i);
			t->tb_mesh__DOT__rn_cr[i] = give_back(i, t->tb_mesh__DOT__rx_cr[i]);
		}
		for (int c = 0; c < C; c++) {
			uint32_t d = 0;

			sink(N + c, t->tb_mesh__DOT__s_head[c], t->tb_mesh__DOT__s_data[c]);
			if (t->tb_mesh__DOT__n_cr[c] & 0x20)
				credit[N + c][t->tb_mesh__DOT__n_cr[c] & 31]++;
			t->tb_mesh__DOT__n_head[c] = source(N + c, &d);
			t->tb_mesh__DOT__n_data[c] = d;
			t->tb_mesh__DOT__s_cr[c] = give_back(N + c);
		}
		tick();
	}
	void run(int n) { while (n--) step(); }
};

int neighbour(int core, int port)	// core behind an output port; -1: none; N + c: south edge
{
	int r = core / C, c = core % C;

	switch (port) {
	case PN: return r > 0 ? core - C : -1;
	case PE: return c < C - 1 ? core + 1 : -1;
	case PS: return r < R - 1 ? core + C : N + c;
	default: return c > 0 ? core - 1 : -1;
	}
}

// One random tree per color: no router is entered twice, so nothing can loop.
void random_tree(Bench &b, int color, int *src, std::vector<int> *sinks)
{
	struct Leg { int core, rx; };
	std::vector<Leg> todo;
	bool used[N] = {};

	*src = b.rng() % (N + C);
	if (*src < N)
		todo.push_back({*src, PR});
	else
		todo.push_back({*src - N, PN});
	used[todo[0].core] = true;
	while (!todo.empty()) {
		Leg l = todo.back();
		int tx = 0;

		todo.pop_back();
		for (int p = PN; p <= PW; p++) {
			int n = neighbour(l.core, p);

			if (n < 0 || (n < N && used[n]) || b.rng() % 100 > 45)
				continue;
			tx |= 1 << p;
			if (n >= N) {
				sinks->push_back(n);
				continue;
			}
			used[n] = true;
			todo.push_back({n, (p + 2) % 4});
		}
		if (!tx || b.rng() % 2) {
			tx |= 1 << PR;
			sinks->push_back(l.core);
		}
		b.route(l.core, color, l.rx, tx);
	}
}

bool random_traffic(int seed, int send, int ret, int count, uint64_t *cycles)
{
	Bench b;
	std::vector<int> sinks[K];
	std::vector<Wavelet> sent[K];
	int src[K];
	size_t want = 0, have = 0;

	b.rng.seed(seed);
	for (int k = 0; k < K; k++) {
		random_tree(b, k, &src[k], &sinks[k]);
		for (int i = 0; i < count; i++) {
			Wavelet w = {uint32_t(b.rng()), uint8_t(b.rng() % 8 == 0)};

			sent[k].push_back(w);
			b.out[src[k]][k].push_back(w);
		}
		want += sinks[k].size() * count;
	}
	b.send_percent = send;
	b.return_percent = ret;
	for (int i = 0; i < 400 * count && have < want; i++) {
		b.run(16);
		have = 0;
		for (int k = 0; k < K; k++)
			for (int s : sinks[k])
				have += b.got[s][k].size();
	}
	b.run(200);				// anything too much would arrive now
	*cycles = b.cycle;
	for (int k = 0; k < K; k++)
		for (int s = 0; s < N + C; s++) {
			bool is_sink = false;

			for (int x : sinks[k])
				is_sink |= x == s;
			if (is_sink ? b.got[s][k] != sent[k] : !b.got[s][k].empty())
				return false;
		}
	return true;
}

// Row 0 from west to east, the last core takes nothing: exactly four wavelets per channel fit.
bool capacity(int color)
{
	Bench b;

	b.return_percent = 0;
	b.route(0, color, PR, 1 << PE);
	b.route(1, color, PW, 1 << PE);
	b.route(2, color, PW, 1 << PR);
	for (uint32_t i = 0; i < 100; i++)
		b.out[0][color].push_back({i, 0});
	b.run(300);
	if (100 - b.out[0][color].size() != 4 * WSE_CHAN_DEPTH ||
	    b.got[2][color].size() != WSE_CHAN_DEPTH)
		return false;
	// another color is not held up by the blocked one
	int other = (color + 1) % K;

	b.route(0, other, PR, 1 << PE);
	b.route(1, other, PW, 1 << PE | 1 << PR);
	b.route(2, other, PW, 1 << PR);
	for (uint32_t i = 0; i < 4; i++)
		b.out[0][other].push_back({i, 1});
	b.run(50);
	if (b.got[2][other].size() != 4 || b.got[1][other].size() != 4)
		return false;
	b.return_percent = 100;
	b.run(400);
	return b.got[2][color].size() == 100 && b.got[2][color][99].data == 99;
}

bool rate(double *per_cycle, uint64_t *hops)
{
	Bench b;
	const int n = 1000;

	// color 0: the north port of column 0 down to every ramp
	for (int r = 0; r < R; r++)
		b.route(r * C, 0, PN, 1 << PR | (r < R - 1 ? 1 << PS : 0));
	for (int i = 0; i < n; i++)
		b.out[N][0].push_back({uint32_t(i), 0});
	b.run(n + 50);
	for (int r = 0; r < R; r++)
		if (b.got[r * C][0].size() != size_t(n))
			return false;
	auto &w = b.when[(R - 1) * C][0];

	*per_cycle = double(n - 1) / double(w[n - 1] - w[0]);
	*hops = b.when[(R - 1) * C][0][0] - b.when[0][0][0];
	return *per_cycle > 0.999 && *hops == R - 1;
}

// A stream down the column and a ring along the row reach the same core at full rate each.
bool two_links(double *per_cycle)
{
	Bench b;
	const int n = 1000;

	b.route(1, 0, PN, 1 << PR);
	b.route(0, 1, PR, 1 << PE);
	b.route(1, 1, PW, 1 << PR);
	for (int i = 0; i < n; i++) {
		b.out[N + 1][0].push_back({uint32_t(i), 0});
		b.out[0][1].push_back({uint32_t(i), uint8_t(i & 1)});
	}
	b.run(n + 20);
	*per_cycle = double(b.got[1][0].size() + b.got[1][1].size()) / double(n + 20);
	return b.got[1][0].size() == size_t(n) && b.got[1][1].size() == size_t(n) &&
	       b.both > uint64_t(n - 20);
}

// A column's sums: each core sends a wavelet for every one that passes it. The link to the south
// carries both and is never idle; neither side is kept waiting.
bool half_and_half(double *per_cycle)
{
	Bench b;
	const int n = 1000;

	b.route(0, 0, PN, 1 << PR | 1 << PS);
	b.route(0, 4, PR, 1 << PS);
	b.route(C, 0, PN, 1 << PR);
	b.route(C, 4, PN, 1 << PR);
	for (int i = 0; i < n; i++) {
		b.out[N][0].push_back({uint32_t(i), 0});
		b.out[0][4].push_back({uint32_t(i), 0});
	}
	b.run(n);
	size_t stream = b.got[C][0].size(), sums = b.got[C][4].size();

	*per_cycle = double(stream + sums) / n;
	return *per_cycle > 0.98 && stream > size_t(2 * n / 5) && sums > size_t(2 * n / 5);
}

// All inputs of a router want one output, and what is there never ends: the core has half of it,
// and each of the others a fifth of the rest at least.
bool fair(size_t *least)
{
	static const int from[4] = {PN, PE, PW, PR}, source[4] = {1, C + 2, C, C + 1};
	Bench b;
	const int n = 2000;

	*least = n;
	for (int k = 0; k < 4; k++) {
		if (from[k] != PR)
			b.route(source[k], k, PR, 1 << (from[k] == PN ? PS : (from[k] + 2) % 4));
		b.route(C + 1, k, from[k], 1 << PS);
		b.route(2 * C + 1, k, PN, 1 << PR);
		for (int i = 0; i < n; i++)
			b.out[source[k]][k].push_back({uint32_t(i), 0});
	}
	b.run(n);
	size_t all = 0;

	for (int k = 0; k < 4; k++) {
		size_t got = b.got[2 * C + 1][k].size();

		all += got;
		*least = got < *least ? got : *least;
	}
	return all > size_t(n - 40) && *least >= size_t(n / 10 - 10);
}

bool unrouted()
{
	Bench b;

	for (uint32_t i = 0; i < 10; i++)
		b.out[5][7].push_back({i, 0});
	b.run(50);
	if (b.out[5][7].size() != 10 - WSE_CHAN_DEPTH)
		return false;
	b.route(5, 7, PR, 1 << PR);		// it was waiting for a route, now it moves
	b.run(50);
	return b.got[5][7].size() == 10;
}

// Counters of cores and links: they are where they should be, and their sums are the totals.
bool counters(uint64_t *all_links)
{
	Bench b;
	uint64_t links[4] = {}, wavelets = 0, sum_links = 0;
	bool good = true;

	b.popped = b.macs = b.linked = 0;
	// core 0 to the east along row 0, down column 1, out of the tile
	b.route(0, 5, PR, 1 << PE);
	b.route(1, 5, PW, 1 << PS | 1 << PR);
	for (int r = 1; r < R; r++)
		b.route(r * C + 1, 5, PN, 1 << PS);
	b.route(C + 2, 6, PR, 1 << PW | 1 << PN);
	b.route(C + 1, 6, PE, 1 << PR);
	b.route(2, 6, PS, 1 << PR);
	for (uint32_t i = 0; i < 300; i++)
		b.out[0][5].push_back({i, 0});
	for (uint32_t i = 0; i < 77; i++)
		b.out[C + 2][6].push_back({i, uint8_t(i & 1)});
	b.run(2000);
	auto value = [&](uint32_t id, uint32_t object) {
		b.top->rootp->tb_mesh__DOT__cnt_sel = id << WSE_CNT_SEL_ID_SHIFT | object;
		b.tick();
		b.tick();
		return uint64_t(b.top->rootp->tb_mesh__DOT__cnt_val);
	};
	for (int n = 0; n < N; n++) {
		int row = n / C, col = n % C;
		uint64_t want[4] = {n == C + 2 ? 77u : 0u, n == 0 ? 300u : 0u, col == 1 ? 300u : 0u,
				    n == C + 2 ? 77u : 0u};
		uint64_t through = (n == 0 || col == 1 ? 300u : 0u) +
				   (n == 2 || n == C + 1 || n == C + 2 ? 77u : 0u);

		for (int p = 0; p < 4; p++) {
			links[p] = value(WSE_CNT_LINK, 4 * n + p);
			good &= links[p] == want[p];
			sum_links += links[p];
		}
		good &= value(WSE_CNT_WAVELET, n) == through && !value(WSE_CNT_INSTRET, n) &&
			row < R;
		wavelets += through;
	}
	// a stub makes n + 1 multiply-adds a cycle; these are still counting
	uint64_t first = value(WSE_CNT_MAC, 0), at = b.cycle, second = value(WSE_CNT_MAC, 6);

	good &= first > 2000 && second == 7 * (first + (b.cycle - at));
	good &= !value(WSE_CNT_WAVELET, N) && !value(WSE_CNT_LINK, 4 * N) &&
		!value(WSE_CNT_CMDS, 0) && !value(200, 0);
	*all_links = sum_links;
	return good && wavelets == b.popped && sum_links == b.linked;
}

// Into the edge of the tile nothing ever leaves, except south.
bool edges_closed()
{
	Bench b;

	b.route(0, 1, PR, 1 << PN);
	b.route(0, 2, PR, 1 << PW);
	b.route(C - 1, 3, PR, 1 << PE);
	b.route(N - 1, 4, PR, 1 << PS);
	for (uint32_t i = 0; i < 10; i++) {
		b.out[0][1].push_back({i, 0});
		b.out[0][2].push_back({i, 0});
		b.out[C - 1][3].push_back({i, 0});
		b.out[N - 1][4].push_back({i, 0});
	}
	b.run(100);
	return b.out[0][1].size() == 6 && b.out[0][2].size() == 6 && b.out[C - 1][3].size() == 6 &&
	       b.got[N + C - 1][4].size() == 10;
}

bool context_reset()
{
	Bench b;

	b.return_percent = 0;
	b.route(0, 9, PR, 1 << PE);
	b.route(1, 9, PW, 1 << PR);
	for (uint32_t i = 0; i < 40; i++)
		b.out[0][9].push_back({i, 0});
	b.run(100);
	b.clear();
	b.run(20);
	if (!b.got[1][9].empty())
		return false;
	for (uint32_t i = 0; i < 40; i++)	// routes are gone, credits are whole again
		b.out[0][9].push_back({i, 0});
	b.run(50);
	return b.out[0][9].size() == 36 && b.got[1][9].empty();
}

// A bench that sends without a credit: the router's assertion must end the process.
bool assertion_fires()
{
	pid_t pid = fork();

	if (!pid) {
		fclose(stdout);
		fclose(stderr);
		Bench b;

		b.credit[0][3] = 5;
		for (uint32_t i = 0; i < 5; i++)
			b.out[0][3].push_back({i, 0});
		b.run(50);
		_exit(0);
	}
	int st = 0;

	waitpid(pid, &st, 0);
	return !(WIFEXITED(st) && WEXITSTATUS(st) == 0);
}

// what the cores of a rectangle show together, for every rectangle: held, not done, ended badly; a
// register for each row and one for all, behind that of the core
bool together()
{
	constexpr int Late = 3;
	Bench b;
	auto *t = b.top->rootp;
	std::deque<uint8_t> due;

	for (int n = 0; n < 20000; n++) {
		int r0 = b.rng() % R, c0 = b.rng() % C, rows = 1 + b.rng() % (R - r0),
		    cols = 1 + b.rng() % (C - c0), rare = n / 100 % 4;
		uint8_t want = 0;

		// mostly all cores agree: that is when one alone counts
		for (int i = 0; i < N; i++)
			t->tb_mesh__DOT__st[i] = b.chance(rare ? 4 * rare : 50) ? b.rng() % 16 : 4;
		if (n % 10 == 0) {
			t->tb_mesh__DOT__st_rows = ((1 << rows) - 1) << r0;
			t->tb_mesh__DOT__st_cols = ((1 << cols) - 1) << c0;
			due.clear();
			b.tick();	// the rectangle is no register of the core's
		}
		for (int i = 0; i < N; i++) {
			int st = t->tb_mesh__DOT__st[i], done = st >> 2 & 1;

			if (t->tb_mesh__DOT__st_rows >> (i / C) & 1 &&
			    t->tb_mesh__DOT__st_cols >> (i % C) & 1)
				want |= (st >> 3) << 2 | !done << 1 |
					((st & 1) || (done && (st >> 1 & 1)));
		}
		due.push_back(want);
		b.tick();
		if (due.size() < Late)
			continue;
		if (t->tb_mesh__DOT__st_any != due.front())
			return false;
		due.pop_front();
	}
	return true;
}

} // namespace

int main()
{
	Tap t;
	bool good = true;
	double per_cycle = 0;
	uint64_t hops = 0, cycles = 0;

	for (int k = 0; k < K; k++)
		good &= capacity(k);
	t.ok(good, "a blocked path holds exactly CHAN_DEPTH per channel, on every color");
	good = rate(&per_cycle, &hops);
	t.ok(good, "one wavelet a cycle down four rows with multicast (%.3f), one cycle a hop",
	     per_cycle);
	good = two_links(&per_cycle);
	t.ok(good, "from north and along the row at once: %.3f wavelets a cycle into one core",
	     per_cycle);
	good = half_and_half(&per_cycle);
	t.ok(good, "what passes a core and what it sends share a link: %.3f wavelets a cycle",
	     per_cycle);
	size_t least = 0;

	good = fair(&least);
	t.ok(good, "four inputs want one output for 2000 cycles: each sends %zu at least", least);
	t.ok(unrouted(), "wavelets of an unrouted color wait and move once routed");
	t.ok(edges_closed(), "west, east and north edges take nothing, the south edge does");
	good = counters(&hops);
	t.ok(good,
	     "each core's and each link's counters (%llu wavelets by links), their sums are the totals",
	     (unsigned long long)hops);
	t.ok(together(), "any rectangle: whether a core of it is held, not done, has ended badly");
	t.ok(context_reset(), "context reset empties queues and forgets routes");
	for (int s = 1; s <= 6; s++) {
		int send = s & 1 ? 100 : 40, ret = s % 3 == 0 ? 100 : s % 3 == 1 ? 30 : 8;

		good = random_traffic(s, send, ret, 200, &cycles);
		t.ok(good,
		     "24 random multicast trees, seed %d, send %d %%, return %d %%: nothing lost, order kept "
		     "(%llu cycles)",
		     s, send, ret, (unsigned long long)cycles);
	}
	t.ok(assertion_fires(), "a sender without credit trips the router's assertion");
	return t.plan();
}
