// SPDX-License-Identifier: MIT
/* Host arithmetic with the same bits on every CPU, see num.h. */
#include "num.h"

#if defined(__x86_64__)
#include <emmintrin.h>

#define MXCSR_DAZ      0x0040u
#define MXCSR_FTZ      0x8000u
#define MXCSR_ROUNDING 0x6000u
#define MXCSR_FLAGS    0x003fu

uint32_t wse_ftz_enter(void)
{
	uint32_t saved = _mm_getcsr();

	_mm_setcsr((saved | MXCSR_DAZ | MXCSR_FTZ) & ~(MXCSR_ROUNDING | MXCSR_FLAGS));
	return saved;
}

void wse_ftz_leave(uint32_t saved)
{
	_mm_setcsr(saved);
}

double wse_sqrt(double x)
{
	__m128d v = _mm_set_sd(x);

	return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
}

float wse_sqrtf(float x)
{
	return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
}
#else
#error "the oracle needs SSE's flush modes (tininess after rounding): x86-64 only for now"
#endif

static uint64_t d2u(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

static double u2d(uint64_t u)
{
	double d;

	memcpy(&d, &u, sizeof(d));
	return d;
}

/* log x = e ln 2 + 2 atanh((m - 1) / (m + 1)), m in [sqrt 1/2, sqrt 2): the series to s^21 */
double wse_log(double x)
{
	const double ln2 = 0.69314718055994530942;
	uint64_t u = d2u(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
	int e = (int)(u >> 52) - 1023;
	double m = u2d((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
	double s = (m - 1.0) / (m + 1.0);
	double z = s * s, p = 0.0;

	for (int i = 21; i >= 1; i -= 2)
		p = p * z + 1.0 / i;
	return e * ln2 + 2.0 * s * p;
}

/* exp x = 2^n exp f, f at most half of ln 2: the Taylor series to f^16 */
double wse_exp(double x)
{
	const double ln2 = 0.69314718055994530942;
	double n = x / ln2 + (x < 0 ? -0.5 : 0.5), p = 1.0;

	n = (double)(int)n;
	x -= n * ln2;
	for (int i = 16; i >= 1; i--)
		p = p * x / i + 1.0;
	return p * u2d((uint64_t)(1023 + (int)n) << 52);
}

/* quadrants by symmetry, then the Taylor series of sine or cosine on [0, pi/4] */
double wse_cos_turns(double turns)
{
	const double two_pi = 6.28318530717958647693;
	double t = turns > 0.5 ? 1.0 - turns : turns; /* cos is even */
	double sign = 1.0, a, z, p = 1.0;

	if (t > 0.25) {
		t = 0.5 - t;
		sign = -1.0;
	}
	if (t <= 0.125) {
		a = t * two_pi;
		z = a * a;
		for (int i = 16; i >= 2; i -= 2)
			p = 1.0 - p * z / (i * (i - 1));
		return sign * p;
	}
	a = (0.25 - t) * two_pi;
	z = a * a;
	for (int i = 17; i >= 3; i -= 2)
		p = 1.0 - p * z / (i * (i - 1));
	return sign * a * p;
}

/* the finaliser of splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t wse_rng_key(uint64_t seed, uint64_t stream)
{
	return mix(mix(seed + 0x9e3779b97f4a7c15ull) + stream * 0xd1342543de82ef95ull);
}

uint64_t wse_rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	return mix(wse_rng_key(seed, stream) + (index + 1) * 0x9e3779b97f4a7c15ull);
}

double wse_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
	return (double)(wse_rng_u64(seed, stream, index) >> 11) * 0x1p-53;
}

/* Box and Muller; the two uniforms are neighbours of one counter */
float wse_rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
	double u = 1.0 - wse_rng_uniform(seed, stream, 2 * index); /* (0, 1] */
	double v = wse_rng_uniform(seed, stream, 2 * index + 1);

	return (float)(wse_sqrt(-2.0 * wse_log(u)) * wse_cos_turns(v));
}

/* a four-round Feistel network on the next even number of bits, walked until it lands below n */
uint64_t wse_rng_permute(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t i)
{
	unsigned int half = 1;
	uint64_t mask;

	while (half < 32 && (1ull << (2 * half)) < n)
		half++;
	mask = (1ull << half) - 1;
	do {
		uint64_t l = i >> half, r = i & mask;

		for (unsigned int round = 0; round < 4; round++) {
			uint64_t f = wse_rng_u64(seed, epoch * 4 + round, r) & mask;
			uint64_t t = l ^ f;

			l = r;
			r = t;
		}
		i = l << half | r;
	} while (i >= n);
	return i;
}

void wse_sum64_begin(struct wse_sum64 *s)
{
	*s = (struct wse_sum64){.lane = {1, 2, 3, 4}};
}

static inline uint64_t lane_add(uint64_t lane, const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	lane = (lane ^ word) * 0x9e3779b97f4a7c15ull;
	return lane ^ lane >> 29;
}

/*
 * Four lanes in registers: as an array they would go through memory, and as vectors of SSE2, which
 * has no 64-bit multiply, it would be several times as slow.
 */
void wse_sum64_add(struct wse_sum64 *s, const void *data, size_t bytes)
{
	uint64_t a = s->lane[0], b = s->lane[1], c = s->lane[2], d = s->lane[3];
	const unsigned char *p = data;

	s->bytes += bytes;
	for (; bytes >= 32; bytes -= 32, p += 32) {
		a = lane_add(a, p);
		b = lane_add(b, p + 8);
		c = lane_add(c, p + 16);
		d = lane_add(d, p + 24);
	}
	s->lane[0] = a;
	s->lane[1] = b;
	s->lane[2] = c;
	s->lane[3] = d;
	memcpy(s->rest, p, bytes);
	s->nrest = (uint32_t)bytes;
}

uint64_t wse_sum64_end(const struct wse_sum64 *s)
{
	uint64_t h = s->bytes;

	for (uint32_t i = 0; i < s->nrest; i++)
		h = mix(h ^ s->rest[i]);
	for (int i = 0; i < 4; i++)
		h = mix(h ^ s->lane[i]);
	return h;
}

uint64_t wse_checksum64(const void *data, size_t bytes)
{
	struct wse_sum64 s;

	wse_sum64_begin(&s);
	wse_sum64_add(&s, data, bytes);
	return wse_sum64_end(&s);
}
