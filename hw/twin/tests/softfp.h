/* SPDX-License-Identifier: MIT */
/*
 * binary32 multiply and add of hw/doc/core.md in integer arithmetic, exact and slow: the
 * independent judge of the twin's use of the host's floating point.
 */
#ifndef WSE_TEST_SOFTFP_H
#define WSE_TEST_SOFTFP_H

#include <stdint.h>

typedef unsigned __int128 u128;

static inline int soft_nan(uint32_t u)
{
	return (u & 0x7fffffffu) > 0x7f800000u;
}

static inline uint32_t soft_flush(uint32_t u)
{
	return u & 0x7f800000u ? u : u & 0x80000000u;
}

/*
 * Rounds sign * mant * 2^exp (mant not 0) to nearest even; subnormal results become zero, tininess
 * judged after rounding with unbounded exponent.
 */
static inline uint32_t soft_round(uint32_t sign, u128 mant, int exp)
{
	int top = 127, shift;
	u128 rest, half;
	uint32_t m;

	while (!(mant >> top & 1))
		top--;
	shift = top - 23;
	if (shift > 0) {
		rest = mant & (((u128)1 << shift) - 1);
		half = (u128)1 << (shift - 1);
		m = (uint32_t)(mant >> shift);
		if (rest > half || (rest == half && m & 1))
			m++;
	} else {
		m = (uint32_t)(mant << -shift);
	}
	exp += shift;
	if (m >> 24) {
		m >>= 1;
		exp++;
	}
	exp += 23 + 127; /* biased, of 1.m */
	if (exp >= 255)
		return sign | 0x7f800000u;
	if (exp <= 0)
		return sign;
	return sign | (uint32_t)exp << 23 | (m & 0x7fffff);
}

static inline void soft_split(uint32_t u, uint32_t *mant, int *exp)
{
	*mant = (u & 0x7fffff) | 0x800000;
	*exp = (int)(u >> 23 & 0xff) - 127 - 23;
}

static inline uint32_t soft_mul(uint32_t a, uint32_t b)
{
	uint32_t sign = (a ^ b) & 0x80000000u, ma, mb;
	int ea, eb;

	if (soft_nan(a) || soft_nan(b))
		return 0x7fc00000u;
	a = soft_flush(a);
	b = soft_flush(b);
	if ((a & 0x7fffffff) == 0x7f800000u || (b & 0x7fffffff) == 0x7f800000u)
		return !(a << 1) || !(b << 1) ? 0x7fc00000u : sign | 0x7f800000u;
	if (!(a << 1) || !(b << 1))
		return sign;
	soft_split(a, &ma, &ea);
	soft_split(b, &mb, &eb);
	return soft_round(sign, (u128)ma * mb, ea + eb);
}

static inline uint32_t soft_add(uint32_t a, uint32_t b)
{
	uint32_t ma, mb, t;
	int ea, eb, d;
	u128 x, y;

	if (soft_nan(a) || soft_nan(b))
		return 0x7fc00000u;
	a = soft_flush(a);
	b = soft_flush(b);
	if ((a & 0x7fffffff) == 0x7f800000u)
		return (b & 0x7fffffff) == 0x7f800000u && a != b ? 0x7fc00000u : a;
	if ((b & 0x7fffffff) == 0x7f800000u)
		return b;
	if (!(a << 1))
		return b << 1 ? b : a & b;
	if (!(b << 1))
		return a;
	if ((a & 0x7fffffff) < (b & 0x7fffffff)) {
		t = a;
		a = b;
		b = t;
	}
	soft_split(a, &ma, &ea);
	soft_split(b, &mb, &eb);
	d = ea - eb;
	x = (u128)ma << 64; /* 64 more bits below, and a sticky bit */
	y = (u128)mb << 64;
	if (d > 80)
		y = 1;
	else
		y = y >> d | ((y & (((u128)1 << d) - 1)) != 0);
	x = (a ^ b) >> 31 ? x - y : x + y;
	if (!x)
		return 0;
	return soft_round(a & 0x80000000u, x, ea - 64);
}

/* binary32 to bf16 from the definition: the nearer of two neighbours */
static inline uint16_t soft_bf16(uint32_t u)
{
	uint32_t lo = u & 0xffff0000u, rest = u & 0xffff;

	if (soft_nan(u))
		return 0x7fc0;
	u = soft_flush(u);
	if (!(u << 1))
		return u >> 16;
	if (rest > 0x8000 || (rest == 0x8000 && lo & 0x10000))
		lo += 0x10000;
	return lo >> 16;
}

#endif /* WSE_TEST_SOFTFP_H */
