// SPDX-License-Identifier: MIT
// Block test of the core: scalar side, tasks, engines, compared with independent computations on
// the host's FPU.
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "test_core.hpp"

Tap tap;

uint32_t any(CoreTb &t)
{
	static const uint32_t special[] = {
		0,	    0x80000000, 1,	    0x007fffff, 0x00800000, 0x80800000, 0x3f800000,
		0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
		0x4b000000, 0x4effffff, 0xcf000000, 0x3f000000, 0x3fffffff, 0x33800000};
	uint32_t r = t.rnd(), v = t.rnd() << 16 ^ t.rnd();

	switch (r % 8) {
	case 0: return special[t.rnd() % (sizeof(special) / 4)];
	case 1: return (v & 0x807fffff) | (126 + t.rnd() % 6) << 23;		// near 1
	// products near 2^-126
	case 2: return (v & 0x807fffff) | (60 + t.rnd() % 8) << 23;
	case 3: return (v & 0x80ffffff) | 0x3f000000 | (t.rnd() % 2 ? 0x7fff00 : 0);
	default: return v;
	}
}

uint32_t word(CoreTb &t, uint32_t addr)
{
	uint32_t v[2];

	t.read(addr & ~7u, v, 8);
	return v[addr >> 2 & 1];
}

// a fifth wavelet without a credit must end the simulation: the assertions are alive
static void test_assertions()
{
	pid_t child;
	int status = 0;

	fflush(stdout);
	child = fork();
	if (!child) {
		CoreTb t;

		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(0);
		t.in_credit[3] = 5;
		for (int i = 0; i < 5; i++)
			t.feed(3, i);
		t.run(20);
		_exit(0);
	}
	waitpid(child, &status, 0);
	tap.ok(child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
	       "an overfull receive queue fires its assertion");
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? atoi(argv[1]) : 120;
	auto tb = std::make_unique<CoreTb>();
	CoreTb &t = *tb;
	unsigned old = twin_fp_enter();

	test_assertions();
	test_service(t);
	test_scalar(t);
	test_arithmetic(t, rounds);
	test_vector_kinds(t);
	test_dot_products(t, rounds);
	for (unsigned k = 0; k < 3; k++) {
		t.busy_in = k * 5;
		t.busy_out = k * 4;
		printf("# ramp: %u of 16 cycles without a wavelet, %u without a credit\n",
		       t.busy_in, t.busy_out);
		test_axpy(t);
		test_dot(t);
		test_movers(t);
	}
	t.busy_in = t.busy_out = 0;
	printf("# a debugger holds the core half of the time\n");
	t.holds = true;
	test_axpy(t);
	test_dot(t);
	test_movers(t);
	test_sends(t);
	t.holds = false;
	t.run(1);
	test_tasks(t);
	test_faults(t);
	test_rates(t);
	test_public(t);
	twin_fp_leave(old);
	return tap.plan();
}
