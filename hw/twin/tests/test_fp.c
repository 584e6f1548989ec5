// SPDX-License-Identifier: MIT
/* The exact machine's arithmetic against integer arithmetic. */
#include "check.h"
#include "pick.h"
#include "softfp.h"
#include "twin/exact/fp.h"

/* the compiler must not do the arithmetic: it does not know MXCSR */
__attribute__((noinline, noclone)) static uint32_t mul_of(volatile uint32_t a, volatile uint32_t b)
{
	return twin_fmul(a, b);
}

static void test_primitives(void)
{
	uint32_t i, a, b, mul = 0, add = 0, sub = 0, round = 0, gt = 0;

	for (i = 0; i < 2000000; i++) {
		a = pick();
		b = pick();
		mul += twin_fmul(a, b) != soft_mul(a, b);
		add += twin_fadd(a, b) != soft_add(a, b);
		sub += twin_fsub(a, b) != soft_add(a, soft_nan(b) ? b : b ^ 0x80000000u);
		round += twin_bf16_round(a) != soft_bf16(a);
		if (!soft_nan(a) && !soft_nan(b)) {
			/* a > b by the sign of the difference; equal infinities have none */
			uint32_t d = soft_add(a, b ^ 0x80000000u);
			bool want = a != b && !soft_nan(d) && d << 1 && !(d >> 31);

			/* a tiny difference is flushed, comparison is not */
			if (d << 1)
				gt += twin_fgt(a, b) != want;
		} else {
			gt += twin_fgt(a, b);
		}
	}
	ok(!mul, "multiply: 2000000 cases, %u differ", mul);
	ok(!add, "add: 2000000 cases, %u differ", add);
	ok(!sub, "subtract: 2000000 cases, %u differ", sub);
	ok(!round, "round to bf16: 2000000 cases, %u differ", round);
	ok(!gt, "greater than: %u differ", gt);
	/* 2^-126 (1 - 2^-26) rounds to 2^-126, which is not tiny; 2^-126 (1 - 2^-24) is a number
	 * and is tiny */
	is(mul_of(0x20000400, 0x1ffff800), 0x00800000, "tininess is judged after rounding");
	is(mul_of(0x3f7fffff, 0x00800000), 0, "just below the smallest normal is zero");
	is(mul_of(0xbf7fffff, 0x00800000), 0x80000000u, "of the same sign");
	/* multiply, round, add, round is not a fused operation */
	a = mul_of(0x3f800001, 0x3f800001);
	is(twin_fadd(a, 0xbf800002), 0, "a MAC rounds its product");
}

static void test_conversions(void)
{
	is(twin_f2i(0x7fc00000), 0x80000000u, "f2i of NaN");
	is(twin_f2i(0x4f000000), 0x7fffffffu, "f2i of 2^31");
	is(twin_f2i(0xcf000000), 0x80000000u, "f2i of -2^31");
	is(twin_f2i(0xff800000), 0x80000000u, "f2i of -inf");
	is(twin_f2i(0x3f000000), 0, "f2i of 0.5: to even");
	is(twin_f2i(0x3fc00000), 2, "f2i of 1.5: to even");
	is(twin_f2i(0xc0200000), (uint32_t)-2, "f2i of -2.5: to even");
	is(twin_f2i(0x00000001), 0, "f2i of a subnormal");
	is(twin_i2f(0x01000001), 0x4b800000, "i2f of 2^24 + 1: to even");
	is(twin_i2f(0x01000003), 0x4b800002, "i2f of 2^24 + 3: to even");
	is(twin_i2f(0x80000000), 0xcf000000, "i2f of -2^31");
	is(twin_i2f(0x7fffffff), 0x4f000000, "i2f of 2^31 - 1");
	is(twin_bf16_round(0x7f7fffff), 0x7f80, "bf16 overflows to infinity");
	is(twin_bf16_round(0x80000001), 0x8000, "bf16 of a subnormal keeps the sign");
	is(twin_flush(0x807fffff), 0x80000000u, "flush keeps the sign");
}

int main(void)
{
	unsigned int csr = twin_fp_enter();

	test_primitives();
	test_conversions();
	twin_fp_leave(csr);
	return tap_end();
}
