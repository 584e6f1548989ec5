// SPDX-License-Identifier: MIT
// The RTL's arithmetic, compared with the host's FPU with subnormals flushed: random operands of
// wide exponents and the corners, two million cases an operation. Like SSE it detects tininess
// after rounding; a directed case shows it.
#include <cstdint>
#include <cstring>
#include <xmmintrin.h>

#include "Vfp.h"
#include "tap.hpp"

namespace {

uint64_t state = 88172645463325252ull;

uint32_t rnd()
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

float f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

uint32_t bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

uint32_t canon(float f)
{
	uint32_t u = bits(f);

	return (u & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : u;
}

uint32_t operand()
{
	static const uint32_t corner[] = {0,	      0x80000000, 0x7f800000, 0xff800000,
					  0x7fc00000, 0xffc00001, 1,	      0x807fffff,
					  0x00800000, 0x80800001, 0x7f7fffff, 0x3f800000,
					  0x00ffffff, 0x4b000000, 0xcf000000};
	uint32_t r = rnd();

	switch (rnd() % 8) {
	case 0: return r;
	case 1: return corner[r % (sizeof(corner) / 4)];
	case 2: return (r & 0x80ffffff) | 0x3f000000;
	// products near the smallest
	case 3: return (r & 0x807fffff) | (1 + rnd() % 40) << 23;
	case 4: return (r & 0x807fffff) | (60 + rnd() % 10) << 23;
	// ties
	case 5: return (r & 0x80000007) | (100 + rnd() % 60) << 23 | (rnd() & 1 ? 0x7ffff8 : 0);
	case 6: return r & 0xffff0000;
	default: return (r & 0x807fffff) | (110 + rnd() % 40) << 23;
	}
}

uint32_t want(int op, uint32_t a, uint32_t b)
{
	volatile float x = f32(a), y = f32(b);

	switch (op) {
	case 0: return canon(x + y);
	case 1:
	case 2: return canon(x * y);
	case 3: return x > y;
	case 4: {
		uint32_t v = (uint32_t)_mm_cvtss_si32(_mm_set_ss(x));

		return v == 0x80000000 && !(a >> 31) && (a & 0x7fffffff) <= 0x7f800000 ? 0x7fffffff
										       : v;
	}
	case 5: return bits((float)(int32_t)a);
	default:
		return (a & 0x7fffffff) > 0x7f800000 ? 0x7fc0
		       : (a & 0x7f800000) == 0	     ? (a >> 16) & 0x8000
						     : (a + 0x7fff + ((a >> 16) & 1)) >> 16;
	}
}

} // namespace

int main()
{
	static const char *const name[] = {"add",	 "multiply",	 "multiply bf16", "greater",
					   "to integer", "from integer", "to bf16"};
	Vfp top;
	Tap t;

	_mm_setcsr(_mm_getcsr() | 0x8040);
	for (int op = 0; op < 7; op++) {
		long bad = 0;

		for (int i = 0; i < 2000000; i++) {
			uint32_t mask = op == 2 ? 0xffff0000 : 0xffffffff, a = operand() & mask,
				 b = operand() & mask;

			top.op_i = op;
			top.a_i = a;
			top.b_i = b;
			top.eval();
			if (top.r_o != want(op, a, b) && !bad++)
				printf("# %s %08x %08x: %08x, not %08x\n", name[op], a, b, top.r_o,
				       want(op, a, b));
		}
		t.ok(!bad, "%s as the host's FPU, 2,000,000 cases", name[op]);
	}
	// (1 - 2^-23) 2^-100 times (1 + 2^-23) 2^-26 is 2^-126 (1 - 2^-46): tiny before rounding,
	// not after
	top.op_i = 1;
	top.a_i = 0x0d7ffffe;
	top.b_i = 0x32800001;
	top.eval();
	t.ok(top.r_o == 0x00800000, "a product that rounds up to 2^-126 is kept (%08x)", top.r_o);
	return t.plan();
}
