// SPDX-License-Identifier: MIT
/* Host numerics and element-wise sequences against libm, which tests may use. */
#include <math.h>
#include <stdlib.h>

#include "model/rotary.h"
#include "num/elementwise.h"
#include "tap.h"

static void bf16(void)
{
	int bad = 0;

	ok(wse_f32_to_bf16(1.0f) == 0x3f80, "bf16 of 1");
	ok(wse_f32_to_bf16(wse_u2f(0x3f808000)) == 0x3f80, "bf16 tie to even, down");
	ok(wse_f32_to_bf16(wse_u2f(0x3f818000)) == 0x3f82, "bf16 tie to even, up");
	ok(wse_f32_to_bf16(wse_u2f(0x7f7fffff)) == 0x7f80, "bf16 rounds to infinity");
	ok(wse_f32_to_bf16(wse_u2f(0xffc12345)) == 0x7fc0, "bf16 has one NaN");
	ok(wse_f32_to_bf16_ftz(wse_u2f(0x807fffff)) == 0x8000,
	   "the wafer's bf16 flushes subnormals, keeps the sign");
	for (uint32_t h = 0; h < 65536; h++) {
		float f = wse_bf16_to_f32((uint16_t)h);

		bad += wse_f32_to_bf16(f) != (isnan(f) ? 0x7fc0 : h);
	}
	ok(!bad, "bf16 -> fp32 -> bf16 of all 65536");
}

static void ftz(void)
{
	volatile float tiny = 0x1p-126f, half = 0.5f, inf = INFINITY, zero = 0.0f, r;
	volatile float a = 0x1p-126f * (1.0f + 0x1p-13f), b = 1.0f - 0x1p-13f;
	volatile float c = 1.0f - 0x1p-24f, subnormal = 0x1.fffp-127f;
	volatile float host = tiny * half;
	uint32_t saved = wse_ftz_enter();
	uint32_t round_up, exact, flushed, sub, nan;

	r = a * b; /* 2^-126 (1 - 2^-26) rounds to 2^-126, which is not tiny */
	round_up = wse_f2u(r);
	r = tiny * c; /* 2^-126 (1 - 2^-24) is exact, and tiny */
	exact = wse_f2u(r);
	r = -tiny * half;
	flushed = wse_f2u(r);
	r = subnormal + zero;
	sub = wse_f2u(r);
	r = ew_mul(inf, zero);
	nan = wse_f2u(r);
	wse_ftz_leave(saved);
	ok(round_up == 0x00800000 && !exact, "tininess is judged after rounding");
	ok(flushed == 0x80000000, "subnormal result is a zero of its sign");
	ok(sub == 0, "subnormal input is zero");
	ok(nan == 0x7fc00000, "one canonical NaN");
	r = tiny * half;
	ok(r == host && r != 0.0f, "the host keeps subnormals afterwards");
}

static double rel(double got, double want)
{
	return fabs(got - want) / fabs(want);
}

/* the largest errors of GELU so far, at x too: everywhere, of its value, in the tails; its slope */
static void by_erf(double x, double *all, double *part, double *tail, double *slope)
{
	double phi = erfc(-x / sqrt(2)) / 2;
	float d;
	double e = fabs(ew_gelu((float)x, &d) - x * phi), of = fabs(x * phi);

	*all = fmax(*all, e);
	if (fabs(x) > 3.75)
		*tail = fmax(*tail, e);
	else if (of > 0)
		*part = fmax(*part, e / of);
	*slope = fmax(*slope, fabs(d - (phi + x * exp(-x * x / 2) / sqrt(2 * M_PI))));
}

static void elementwise(void)
{
	double e_exp = 0, e_soft = 0, e_log = 0, e_rec = 0, e_gelu = 0, e_der = 0, e;
	double e_erf = 0, e_rel = 0, e_tail = 0, e_slope = 0;
	float nan = wse_u2f(WSE_F32_NAN), d;

	for (int i = -870000; i <= 880000; i += 7) {
		float x = (float)i * 1e-4f;

		e = rel(ew_exp(x), exp(x));
		e_exp = e > e_exp ? e : e_exp;
		e = rel(ew_soft_exp(x), (double)EW_SOFT_SCALE * exp(x));
		e_soft = e > e_soft && x <= 0 ? e : e_soft;
	}
	for (uint32_t u = 0x3f000000; u < 0x45000000; u += 997) {
		float s = wse_u2f(u);

		e = fabs(ew_log(s) - log(s)) / (1.0 + fabs(log(s)));
		e_log = e > e_log ? e : e_log;
	}
	for (uint32_t u = 0x04000000; u < 0x7a000000; u += 9973) {
		e = rel(ew_recip(wse_u2f(u)), 1.0 / wse_u2f(u));
		e_rec = e > e_rec ? e : e_rec;
	}
	for (int i = -200000; i <= 200000; i++) {
		double x = (float)(i * 1e-4), c = 0.79788456080286536, b = 0.044715;
		double th = tanh(c * (x + b * x * x * x));

		e = fabs(ew_gelu_new((float)x, &d) - 0.5 * x * (1 + th)) / (1 + fabs(x));
		e_gelu = e > e_gelu ? e : e_gelu;
		e = fabs(d - (0.5 * (1 + th) + 0.5 * x * (1 - th * th) * c * (1 + 3 * b * x * x)));
		e_der = e > e_der ? e : e_der;
		by_erf(x, &e_erf, &e_rel, &e_tail, &e_slope);
	}
	ok(e_exp < 3e-7, "exp, relative error %.1e", e_exp);
	ok(e_soft < 4.4e-4, "exp for softmax, relative error %.1e", e_soft);
	ok(e_log < 3e-7, "log, error %.1e", e_log);
	ok(e_rec < 3e-7, "reciprocal, relative error %.1e", e_rec);
	ok(e_gelu < 1e-6, "gelu_new, error %.1e", e_gelu);
	ok(e_der < 2e-6, "gelu_new's derivative, error %.1e", e_der);
	/* half a step of bf16 is up to 3.9e-3 of a value */
	ok(e_erf < 1.1e-4 && e_rel < 1.2e-3 && e_tail < 7e-5,
	   "gelu by erf: error %.1e, %.1e of it within 3.75, %.1e beyond", e_erf, e_rel, e_tail);
	ok(e_slope < 2.3e-4, "its derivative, error %.1e", e_slope);
	ok(ew_gelu(-1e6f, &d) > -2e-5f && fabsf(d) < 1e-8f &&
		   rel(ew_gelu(3e38f, &d), 3e38f) < 2e-7 && fabsf(d - 1.0f) < 2e-7f &&
		   ew_gelu(0.0f, &d) == 0.0f && rel(d, 0.5) < 2e-7,
	   "gelu of large values, and of none");
	ok(wse_f32_isnan(ew_exp(nan)) && wse_f32_isnan(ew_soft_exp(nan)) &&
		   wse_f32_isnan(ew_log(nan)) && wse_f32_isnan(ew_recip(nan)) &&
		   wse_f32_isnan(ew_gelu_new(nan, &d)) && wse_f32_isnan(d) &&
		   wse_f32_isnan(ew_gelu(nan, &d)) && wse_f32_isnan(d) &&
		   wse_f32_isnan(ew_relu(nan)),
	   "NaN goes through every sequence");
	ok(rel(ew_gelu_new(1e30f, &d), 1e30) < 2e-7 && fabsf(d - 1.0f) < 2e-7f,
	   "gelu_new of a large value");
	ok(ew_relu(-2.0f) == 0.0f && ew_relu(3.0f) == 3.0f && ew_relu_back(0.0f, 5.0f) == 0.0f &&
		   ew_relu_back(1.0f, 5.0f) == 5.0f,
	   "relu");
}

static void swiglu(void)
{
	double off = 0;
	float dg, du, out;
	uint32_t saved = wse_ftz_enter();

	for (int i = -30000; i <= 30000; i++) {
		double g = i * 1e-3, u = 1 + 1e-4 * i, s = 1 / (1 + exp(-g));

		out = ew_swiglu((float)g, (float)u, &dg, &du);
		off = fmax(off, fabs(out - g * s * u) / (1 + fabs(g * s * u)));
		off = fmax(off, fabs(du - g * s) / (1 + fabs(g * s)));
		off = fmax(off, fabs(dg - s * (1 + g * (1 - s)) * u) / (1 + fabs(u)));
	}
	out = ew_swiglu(-1e30f, 1.0f, &dg, &du);
	wse_ftz_leave(saved);
	ok(off < 1e-6, "SwiGLU and its derivatives, error %.1e", off);
	ok(fabs(out) < 1e-4 && isnan(ew_swiglu(NAN, 1.0f, &dg, &du)) && isnan(dg) && isnan(du),
	   "a gate that is far off closes (%.1e), a NaN gets through", out);
}

/* 4 pairs of 8 elements, sequences of 5000 tokens, of which the table has one and a half */
static void angles(void)
{
	enum { PAIRS = 4, SEQ = 5000, ALL = 7500 };
	static float table[2 * PAIRS * ALL];
	static const struct wse_rotary linear = {PAIRS, 500000.0f, 4.0f, 0, 0, 0},
				       one = {.pairs = 1};
	/* in 8192 tokens the pairs turn 1304, 49, 1.84 and 0.07 times */
	static const struct wse_rotary llama3 = {PAIRS, 500000.0f, 8.0f, 1.0f, 4.0f, 8192.0f};
	const double mix = (8192 / (2 * M_PI) * pow(500000.0, -0.5) - 1) / 3;
	const double by[PAIRS] = {1, 1, mix + (1 - mix) / 8, 0.125};
	double off = 0;

	wse_rotary_table(&linear, PAIRS, 1, SEQ, ALL, table);
	for (int i = 0; i < PAIRS; i++)
		for (int t = 0; t < ALL; t++) {
			double a = t % SEQ / 4.0 * pow(500000.0, -2.0 * i / (2 * PAIRS));

			off = fmax(off, fabs(table[i * ALL + t] - cos(a)));
			off = fmax(off, fabs(table[(PAIRS + i) * ALL + t] - sin(a)));
		}
	ok(off < 1e-7, "angles of rotary positions, error %.1e", off);
	wse_rotary_table(&one, 1, 1, SEQ, SEQ, table);
	ok(fabs(table[1] - cos(1.0)) < 1e-7 && fabs(table[SEQ + 1] - sin(1.0)) < 1e-7,
	   "the first pair turns by a radian a token");
	wse_rotary_table(&llama3, PAIRS, 1, SEQ, SEQ, table);
	off = 0;
	for (int i = 0; i < PAIRS; i++)
		for (int t = 0; t < SEQ; t++) {
			double a = t * by[i] * pow(500000.0, -0.25 * i);

			off = fmax(off, fabs(table[i * SEQ + t] - cos(a)));
			off = fmax(off, fabs(table[(PAIRS + i) * SEQ + t] - sin(a)));
		}
	ok(off < 1e-7 && mix > 0.2 && mix < 0.4,
	   "LLaMA 3's: two fast pairs, one between, a slow one; error %.1e", off);
}

/* as three columns have them, of which the second has one pair and the third none */
static void angles_of_columns(void)
{
	enum { PAIRS = 4, PER = 3, COLS = 3, SEQ = 50, ALL = 150 };
	static const struct wse_rotary r = {.pairs = PAIRS};
	static float whole[2 * PAIRS * ALL], table[COLS][2][PER][ALL];
	int same = 1, zero = 1;

	wse_rotary_table(&r, PAIRS, 1, SEQ, ALL, whole);
	memset(table, 0xff, sizeof(table));
	wse_rotary_table(&r, PER, COLS, SEQ, ALL, table[0][0][0]);
	for (int i = 0; i < COLS * PER; i++)
		for (int k = 0; k < 2; k++)
			for (int t = 0; t < ALL; t++) {
				float x = table[i / PER][k][i % PER][t];

				same &= i >= PAIRS || x == whole[(k * PAIRS + i) * ALL + t];
				zero &= i < PAIRS || x == 0.0f;
			}
	ok(same && zero, "angles as columns have them, zeros behind the last pair");
}

static void host(void)
{
	double e_log = 0, e_exp = 0, e_cos = 0, sum = 0, sq = 0;
	int n = 200000, twice = 0;
	static unsigned char seen[1000];

	for (int i = 1; i < n; i++) {
		double x = i * 1.37e-3, e = fabs(wse_log(x) - log(x));

		e_log = e > e_log ? e : e_log;
		e = fabs(wse_cos_turns((double)i / n) - cos(2 * M_PI * i / n));
		x = (i - n / 2) * 6.9e-3;
		e_exp = fmax(e_exp, fabs(wse_exp(x) / exp(x) - 1));
		e_cos = e > e_cos ? e : e_cos;
	}
	for (int i = 0; i < n; i++) {
		double v = wse_rng_normal(7, 3, (uint64_t)i);

		sum += v;
		sq += v * v;
	}
	ok(e_log < 2e-14, "log in double, error %.1e", e_log);
	ok(e_exp < 2e-13, "exp in double, error %.1e of the value", e_exp);
	ok(e_cos < 2e-14, "cos in double, error %.1e", e_cos);
	ok(wse_sqrt(2.0) == sqrt(2.0) && wse_sqrtf(2.0f) == sqrtf(2.0f), "sqrt is IEEE's");
	ok(fabs(sum / n) < 0.01 && fabs(sq / n - 1) < 0.01, "normal: mean %.4f var %.4f", sum / n,
	   sq / n);
	ok(wse_rng_u64(1, 2, 3) == 0xe44fab56efa387caull, "counter-based: %016llx",
	   (unsigned long long)wse_rng_u64(1, 2, 3));
	for (int i = 0; i < 1000; i++) {
		uint64_t p = wse_rng_permute(5, 1, 1000, (uint64_t)i);

		twice += p >= 1000 || seen[p]++;
	}
	ok(!twice, "a shuffled epoch visits every sample once");
	ok(wse_rng_permute(5, 1, 1, 0) == 0, "an epoch of one sample");
	ok(wse_checksum64("abc", 3) != wse_checksum64("abd", 3) &&
		   wse_checksum64("abc", 3) != wse_checksum64("abc\0", 4),
	   "checksum differs");
}

/* sums of files are what they were: word i goes to lane i % 4, as it is written here */
static uint64_t plain_sum(const unsigned char *p, size_t bytes)
{
	uint64_t lane[4] = {1, 2, 3, 4}, h = bytes;

	for (size_t i = 0; i < bytes / 32 * 4; i++) {
		uint64_t w = 0;

		for (int k = 7; k >= 0; k--)
			w = w << 8 | p[8 * i + (size_t)k];
		lane[i % 4] = (lane[i % 4] ^ w) * 0x9e3779b97f4a7c15ull;
		lane[i % 4] ^= lane[i % 4] >> 29;
	}
	for (size_t i = bytes / 32 * 32; i < bytes + 4; i++) {
		h ^= i < bytes ? p[i] : lane[i - bytes];
		h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
		h = (h ^ h >> 27) * 0x94d049bb133111ebull;
		h ^= h >> 31;
	}
	return h;
}

static void sums(void)
{
	unsigned char data[1000];
	struct wse_sum64 s;
	uint32_t bad = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * i * 7 + i / 3);
	for (size_t n = 0; n <= sizeof(data) - 7; n++) {
		const unsigned char *p = data + n % 7; /* at any address */
		size_t part = n / 2 / 32 * 32;

		bad += wse_checksum64(p, n) != plain_sum(p, n);
		wse_sum64_begin(&s);
		wse_sum64_add(&s, p, part);
		wse_sum64_add(&s, p + part, n - part);
		bad += wse_sum64_end(&s) != plain_sum(p, n);
	}
	ok(!bad, "checksums of 0 to 993 bytes, whole and in two parts, are as they are defined");
}

int main(void)
{

	bf16();
	ftz();
	elementwise();
	host();
	sums();
	angles();
	angles_of_columns();
	swiglu();
	return tap_end();
}
