// SPDX-License-Identifier: MIT
/* The twin's vector kernels against integer arithmetic, one operation at a time. */
#include <string.h>

#include "check.h"
#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"
#include "pick.h"
#include "softfp.h"

/* the compiler must not do the arithmetic: it does not know MXCSR */
__attribute__((noinline, noclone)) static uint32_t mul_of(volatile uint32_t a, volatile uint32_t b)
{
	return twin_fmul(a, b);
}

static bool exact(uint16_t a, uint16_t b)
{
	return twin_products_exact(twin_range_of(&a, 2, 1, 1), twin_range_of(&b, 2, 1, 1));
}

/* what "a product needs no rounding" leaves out is what a fused operation would get wrong */
static void test_ranges(void)
{
	uint32_t i, bad = 0, yes = 0;
	uint16_t row[24] = {0};
	struct twin_range r;

	for (i = 0; i < 2000000; i++) {
		uint16_t a = (uint16_t)(pick() >> 16), b = (uint16_t)(pick() >> 16);
		double product =
			(double)twin_f((uint32_t)a << 16) * (double)twin_f((uint32_t)b << 16);
		float rounded = twin_f(mul_of((uint32_t)a << 16, (uint32_t)b << 16));

		if (!exact(a, b))
			continue;
		yes++;
		bad += (double)rounded != product && (a & 0x7f80) && (b & 0x7f80);
	}
	ok(!bad && yes > 100000, "%u products said to be exact, %u are not", yes, bad);
	ok(exact(0x2000, 0x1f80 + 0x80), "2^-63 * 2^-63 is the smallest normal");
	ok(!exact(0x2000, 0x1f80), "2^-63 * 2^-64 is flushed");
	ok(exact(0x5f7f, 0x5f7f), "just below 2^64, squared, is finite");
	ok(!exact(0x5f80, 0x5f80), "2^64 squared is not");
	ok(!exact(0x7f80, 0x3f80) && !exact(0x3f80, 0x7fc0), "nor are infinity and NaN");
	ok(exact(0, 0x0080) && exact(0x8001, 0x7f00), "0 and what counts as 0 times anything is 0");
	row[3] = 0x3f80;
	row[23] = 0x4080; /* in the last one of three rows of 8 */
	r = twin_range_of(row, 16, 8, 3);
	ok(r.first == 127 && r.last == 129, "rows: %d to %d", r.first, r.last);
	r = twin_range_of(row, 40, 4, 2);
	ok(r.first == 127 && r.last == 129, "of some elements: %d to %d", r.first, r.last);
}

struct problem {
	uint32_t acc[128], ref[128], other[128];
	uint16_t x[64 * 128];
	float copy[128 * (64 + TWIN_PANEL)];
	uint16_t cols[128 * (64 + TWIN_PANEL)];
	uint32_t w[512], out[512];
	float v[512];
};

/* runs whose products need no rounding, and those that do, as the kernels are told */
static uint32_t fused_runs, other_runs;

static bool fused(struct twin_range a, struct twin_range b)
{
	bool exact = twin_products_exact(a, b);

	fused_runs += exact;
	other_runs += !exact;
	return exact;
}

/* a dense run from row `first` on, by the copies that the twin keeps, or without */
static void dense_dot(const struct twin_kernels *k, struct problem *p, uint32_t tokens, uint32_t nb,
		      uint32_t rows, uint32_t first)
{
	struct twin_range x = twin_range_of(p->x, (int32_t)tokens * 2, tokens, rows);

	memset(p->cols, 0x7f, sizeof(p->cols));
	twin_to_cols(p->cols, (const uint8_t *)p->x, (int32_t)tokens * 2, tokens, rows);
	k->dot_cols(p->acc, p->cols, first, tokens, nb, rows - first, p->out,
		    fused(x, k->range_of_sums(p->acc, nb * tokens)));
}

static void dense_axpy(const struct twin_kernels *k, struct problem *p, uint32_t tokens,
		       uint32_t nb, uint32_t rows, uint32_t first)
{
	const uint8_t *x = (const uint8_t *)p->x;
	const float *from = p->copy + first * tokens;
	uint32_t *const acc[2] = {p->acc, p->other};
	const float *const both[2] = {from, from};
	uint32_t nk = rows - first;
	bool exact = fused(twin_range_of(x, (int32_t)tokens * 2, tokens, rows),
			   k->range_of_sums((const uint32_t *)(const void *)p->v, nb * nk));

	k->to_rows(p->copy, x, (int32_t)tokens * 2, tokens, rows);
	memcpy(p->other, p->acc, sizeof(p->other));
	switch (rnd() % 3) {
	case 0:
		k->axpy_dense(p->acc, x + first * tokens * 2, (int32_t)tokens * 2, tokens, nb, p->v,
			      nk, exact);
		break;
	case 1:
		k->axpy_rows(p->acc, from, tokens, nb, p->v, nk, exact);
		break;
	default: /* the same for two cores */
		k->axpy_two(acc, both, tokens, nb, p->v, nk, exact);
		p->acc[rnd() % 128] ^= memcmp(p->acc, p->other, sizeof(p->other)) != 0;
	}
}

/*
 * bf16 whose products with others of its kind lie about where binary32 ends; below that where the
 * exponent is 63
 */
static uint32_t pick_end(uint32_t exponent)
{
	uint32_t e = exponent + rnd() % 3;

	return rnd() % 9 ? (rnd() & 0x807f0000u) | e << 23 : rnd() & 0x80000000u;
}

static void one_case(const struct twin_kernels *k, struct problem *p, uint32_t *axpy, uint32_t *dot)
{
	static const uint8_t feats[3] = {1, 2, 4};
	uint32_t nb = feats[rnd() % 3], tokens = 8 * (1 + rnd() % (16 / nb)), rows = 1 + rnd() % 60,
		 n = 0, first = 0, i, f, t;
	unsigned int ends = rnd() % 3; /* values at the ends of the range */
	uint32_t end = rnd() & 1 ? 62 + rnd() % 4 : 187 + rnd() % 4;
	bool dense = rnd() & 1;

	for (i = 0; i < 128; i++)
		p->acc[i] = p->ref[i] = ends ? pick_end(end) : pick();
	for (i = 0; i < rows * tokens; i++)
		p->x[i] = (ends ? pick_end(end) : pick()) >> 16;
	if (dense) {
		for (i = first = rnd() % rows; i < rows; i++)
			for (f = 0; f < nb; f++, n++) {
				p->w[n] = ((ends ? pick_end(end) : pick()) & 0xffff0000u) |
					  f << 14 | i;
				p->v[n] = twin_f(p->w[n] & 0xffff0000u);
			}
	} else {
		for (n = 0; n < 1 + rnd() % 200; n++)
			p->w[n] = (pick() & 0xffff0000u) | (rnd() % nb) << 14 | rnd() % rows;
	}
	if (dense)
		dense_dot(k, p, tokens, nb, rows, first);
	else
		twin_dot(p->acc, (const uint8_t *)p->x, (int32_t)tokens * 2, tokens, p->w, n,
			 p->out);
	for (i = 0; i < n; i++) {
		uint32_t lane[8] = {0};

		for (t = 0; t < tokens; t++)
			lane[t % 8] = soft_add(
				lane[t % 8],
				soft_mul(p->acc[(p->w[i] >> 14 & 3) * tokens + t],
					 (uint32_t)p->x[(p->w[i] & 0x3fff) * tokens + t] << 16));
		*dot += p->out[i] !=
			soft_add(soft_add(soft_add(lane[0], lane[1]), soft_add(lane[2], lane[3])),
				 soft_add(soft_add(lane[4], lane[5]), soft_add(lane[6], lane[7])));
	}
	if (dense)
		dense_axpy(k, p, tokens, nb, rows, first);
	else
		k->axpy(p->acc, (const uint8_t *)p->x, (int32_t)tokens * 2, tokens, p->w, n);
	for (i = 0; i < n; i++)
		for (t = 0; t < tokens; t++) {
			uint32_t *a = &p->ref[(p->w[i] >> 14 & 3) * tokens + t];

			*a = soft_add(*a, soft_mul(p->w[i] & 0xffff0000u,
						   (uint32_t)p->x[(p->w[i] & 0x3fff) * tokens + t]
							   << 16));
		}
	/* sums that got no wavelet keep their bits, but for NaN, which becomes canonical */
	for (i = 0; i < 128; i++)
		*axpy += p->acc[i] != p->ref[i] && !(soft_nan(p->acc[i]) && soft_nan(p->ref[i]));
}

/*
 * rows to values and their range, and the range of sums, beside what is told of each number alone
 */
static void one_block(const struct twin_kernels *k, uint32_t *bad)
{
	static uint16_t h[4][520];
	static float v[4 * 520];
	const uint32_t *u = (const uint32_t *)(const void *)v;
	uint32_t nb = 1u << rnd() % 3, nk = 1 + rnd() % 512, i, f;
	struct twin_range r, all = {255, 0}, sums;
	const uint16_t *row[4];

	for (f = 0; f < nb; f++) {
		row[f] = h[f] + rnd() % 8;
		for (i = 0; i < 520; i++)
			h[f][i] = (uint16_t)(rnd() % 4 ? pick() >> 16 : rnd() & 0x807f);
	}
	r = k->values(v, row, nk, nb);
	for (i = 0; i < nk; i++)
		for (f = 0; f < nb; f++) {
			*bad += u[i * nb + f] != (uint32_t)row[f][i] << 16;
			all = twin_range_join(all, twin_range_of(&row[f][i], 2, 1, 1));
		}
	sums = k->range_of_sums(u, nk * nb);
	*bad += r.first != all.first || r.last != all.last;
	*bad += sums.first != all.first || sums.last != all.last;
	v[rnd() % (nk * nb)] = twin_f(0x3f800001); /* no bf16 */
	*bad += k->range_of_sums(u, nk * nb).last != 255;
}

static void test_kernels(void)
{
	static struct problem p;
	const struct twin_kernels *k;
	unsigned int which, i;
	uint32_t axpy, dot, blocks;

	for (which = 1; which <= 2; which++) {
		k = twin_kernels_get(which);
		if (!k) {
			ok(true, "kernels %u # SKIP this processor cannot run them", which);
			continue;
		}
		axpy = dot = blocks = fused_runs = other_runs = 0;
		for (i = 0; i < 2000; i++) {
			one_case(k, &p, &axpy, &dot);
			one_block(k, &blocks);
		}
		ok(!axpy, "stream AXPY, variant %u: %u sums differ", which, axpy);
		ok(!dot, "stream DOT, variant %u: %u sums differ", which, dot);
		ok(!blocks, "values and ranges, variant %u: %u differ", which, blocks);
		ok(fused_runs > 100 && other_runs > 100,
		   "of the runs %u had exact products, %u not", fused_runs, other_runs);
	}
}

int main(void)
{
	unsigned int csr = twin_fp_enter();

	test_ranges();
	test_kernels();
	twin_fp_leave(csr);
	return tap_end();
}
