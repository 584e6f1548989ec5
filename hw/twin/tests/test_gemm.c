// SPDX-License-Identifier: MIT
/*
 * The firmware's streamed linear layer and its weight gradient on the twin, against ordered scalar
 * loops, bit for bit.
 * `test_gemm bench [rounds [shape [threads]]]` prints multiply-adds a second.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "twin/exact/fp.h"
#include "twin/func.h"
#include "check.h"
#include "ways.h"

static uint32_t threads = 1;

static bool on(const struct run *r, uint32_t n, uint32_t c, uint32_t k)
{
	return r->s.weights != MASKED ||
	       r->mask[(n * r->s.cols + c) * r->mrow + k / 8] >> (k & 7) & 1;
}

/* y of one token as the contract orders it */
static float forward_ref(const struct run *r, uint32_t row, uint32_t n, uint32_t t)
{
	const struct shape *s = &r->s;
	uint32_t owner = n / (r->n / s->cols), i, c, k;
	float sum = 0, p;

	for (i = 1; i <= s->cols; i++) {
		c = (owner + i) % s->cols;
		p = 0;
		for (k = 0; k < s->k; k++)
			if (on(r, n, c, k))
				p = p + twin_f((uint32_t)r->w[n * s->cols * s->k + c * s->k + k]
					       << 16) *
						twin_f((uint32_t)r->x[((row * s->cols + c) * s->k +
								       k) * s->t +
								      t]
						       << 16);
		sum = i == 1 ? p : sum + p;
	}
	return sum;
}

static float wgrad_ref(const struct run *r, uint32_t n, uint32_t c, uint32_t k)
{
	const struct shape *s = &r->s;
	uint32_t row, t;
	float sum = 0, p[8], d;

	for (row = 0; row < s->rows; row++) {
		memset(p, 0, sizeof(p));
		for (t = 0; t < s->t; t++)
			p[t % 8] =
				p[t % 8] +
				twin_f((uint32_t)r->dy[(row * r->n + n) * s->t + t] << 16) *
					twin_f((uint32_t)r
						       ->x[((row * s->cols + c) * s->k + k) * s->t +
							   t]
					       << 16);
		d = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
		sum = row ? sum + d : d;
	}
	return sum;
}

static void explain(struct run *r, const struct wse_cqe *e)
{
	const struct wse_fault *f = dev_fault(&r->d, e);

	printf("# status %u", e->status >> 1);
	if (f)
		printf(" core %u,%u n %u cause 0x%x pc 0x%x addr 0x%x color %d value 0x%x", f->row,
		       f->col, f->ncores, f->cause, f->pc, f->addr, (int)f->color, f->value);
	printf("\n");
}

static void check_forward(struct run *r)
{
	const struct shape *s = &r->s;
	uint32_t own = r->n / s->cols, row, n, t, bad = 0;
	uint16_t y;

	for (row = 0; row < s->rows; row++) {
		for (n = 0; n < r->n; n++) {
			for (t = 0; t < s->t; t++) {
				r->d.ops->peek(r->d.m, row * s->cols + n / own,
					       WSE_SRAM_BASE + r->y + ((n % own) * s->t + t) * 2,
					       &y, 2);
				bad += y != twin_bf16_round(twin_u(forward_ref(r, row, n, t)));
			}
		}
	}
	ok(!bad, "%ux%u T %u K %u B %u N %u%s: forward, %u of %u wrong", s->rows, s->cols, s->t,
	   s->k, s->b, r->n, s->weights == MASKED ? " masked" : "", bad, s->rows * r->n * s->t);
}

static void check_wgrad(struct run *r)
{
	const struct shape *s = &r->s;
	uint32_t n, c, k, bad = 0, got, want;

	for (n = 0; n < r->n; n++) {
		for (c = 0; c < s->cols; c++) {
			for (k = 0; k < s->k; k++) {
				memcpy(&got,
				       r->d.mem + LAYER_G + ((n * s->cols + c) * s->k + k) * 4, 4);
				want = on(r, n, c, k) ? twin_u(wgrad_ref(r, n, c, k)) : 0;
				bad += got != want;
			}
		}
	}
	ok(!bad, "%ux%u T %u K %u B %u N %u%s: weight gradient, %u of %u wrong", s->rows, s->cols,
	   s->t, s->k, s->b, r->n, s->weights == MASKED ? " masked" : "", bad,
	   r->n * s->cols * s->k);
}

/* of the fast twins, of the exact ones, of fast ones whose streams are LINEAR */
static struct twin_ways ways, none, sent;

static void test(const struct shape *s, uint32_t flags, const char *how)
{
	const char *text;
	struct wse_cqe e;
	uint64_t races;
	struct run r;

	if (!ok(!run_open(&r, s, flags, threads), "%s, %ux%u opens and boots", how, s->rows,
		s->cols))
		return;
	if (!ok(forward(&r, &e) >= 0, "forward ends well"))
		explain(&r, &e);
	check_forward(&r);
	memset(r.d.mem + LAYER_G, 0, r.n * s->cols * s->k * 4);
	if (!ok(wgrad(&r, &e) >= 0, "weight gradient ends well"))
		explain(&r, &e);
	check_wgrad(&r);
	races = twin_race_count(r.d.m, &text);
	if (flags & WSE_MACHINE_CHECK_RACES)
		ok(!races, "no races %s", text);
	ways_add(flags & WSE_MACHINE_EXACT ? &none : s->weights == LINEAR ? &sent : &ways, r.d.m);
	run_close(&r);
}

/* what the layers of main() have to have gone */
static void test_ways(void)
{
	went(&ways, runs, 300);
	went(&ways, kept, 200);
	went(&ways, axpys, 30);
	went(&ways, values, 30);
	went(&ways, pairs, 50);
	went(&ways, copy_rows, 100);
	went(&ways, copy_cols, 100);
	went(&ways, in_place, 200);
	went(&ways, resumed, 50);
	went(&ways, known, 500);
	went(&ways, fused, 100);
	went(&ways, quick, 30);
	went(&sent, values, 16);
	went(&sent, in_place, 16);
	went(&sent, pairs, 16);
	went_none(&none);
}

static void bench(const struct shape *s, int rounds)
{
	double best_f = 1e9, best_g = 1e9, t, macs;
	struct wse_cqe e;
	struct run r;
	int i;

	if (run_open(&r, s, 0, threads))
		return;
	macs = (double)r.n * s->cols * s->k * s->rows * s->t;
	for (i = 0; i < rounds; i++) {
		t = forward(&r, &e);
		best_f = t > 0 && t < best_f ? t : best_f;
		t = getenv("FW") ? 1 : wgrad(&r, &e);
		best_g = t > 0 && t < best_g ? t : best_g;
	}
	printf("# %ux%u T %u K %u B %u: forward %.0f MMAC/s, weight gradient %.0f MMAC/s\n",
	       s->rows, s->cols, s->t, s->k, s->b, macs / best_f * 1e-6, macs / best_g * 1e-6);
	run_close(&r);
}

/* this program once more on a processor without some extensions: other kernels, the same sums */
static void without(const char *self, const char *hwcaps)
{
	char cmd[4300];

	snprintf(cmd, sizeof(cmd), "GLIBC_TUNABLES=glibc.cpu.hwcaps=%s '%s' again >/dev/null",
		 hwcaps, self);
	ok(!system(cmd), "the same with %s", hwcaps);
}

int main(int argc, char **argv)
{
	static const struct shape shape[] = {
		{1, 1, 8, 8, 1, 2, BY_ROWS},   {2, 2, 16, 12, 2, 4, BY_ROWS},
		{4, 4, 32, 16, 4, 8, BY_ROWS}, {3, 5, 8, 20, 4, 10, MASKED},
		{2, 3, 24, 16, 2, 6, MASKED},  {4, 4, 16, 64, 4, 8, BY_ROWS},
	};
	static const struct shape linear[] = {
		{1, 1, 8, 8, 1, 2, LINEAR},
		{2, 2, 16, 14, 2, 4, LINEAR},
		{4, 4, 32, 22, 4, 8, LINEAR},
		{3, 5, 8, 20, 4, 10, LINEAR},
	};
	static const struct shape big[] = {
		{4, 4, 32, 128, 4, 64, BY_ROWS},   {4, 4, 32, 64, 4, 64, BY_ROWS},
		{4, 4, 32, 64, 2, 128, BY_ROWS},   {4, 4, 32, 64, 2, 128, MASKED},
		{4, 4, 16, 128, 4, 64, BY_ROWS},   {16, 48, 32, 128, 4, 192, BY_ROWS},
		{16, 48, 16, 64, 4, 192, BY_ROWS}, {4, 4, 32, 128, 4, 64, LINEAR},
	};
	unsigned int csr = twin_fp_enter(), i;

	if (!ok(!layer_load(),
		"the firmware's linear program is there and fits, from the top folder"))
		return tap_end();
	if (argc > 1 && !strcmp(argv[1], "bench")) {
		if (argc > 4)
			threads = (uint32_t)atoi(argv[4]);
		for (i = 0; i < sizeof(big) / sizeof(*big); i++)
			if (argc < 4 || atoi(argv[3]) == (int)i)
				bench(&big[i], argc > 2 ? atoi(argv[2]) : 5);
	} else {
		for (i = 0; i < sizeof(shape) / sizeof(*shape); i++)
			test(&shape[i], 0, "runs");
		test(&shape[2], WSE_MACHINE_EXACT, "one by one");
		test(&shape[3], WSE_MACHINE_EXACT, "one by one");
		for (i = 0; i < sizeof(linear) / sizeof(*linear); i++)
			test(&linear[i], 0, "LINEAR");
		test(&linear[2], WSE_MACHINE_EXACT, "LINEAR, one by one");
		test_ways();
		test(&shape[3], WSE_MACHINE_CHECK_RACES, "looking for races");
		if (argc == 1 && twin_has_ways()) {
			without(argv[0], "-AVX512F");
			without(argv[0], "-AVX512F,-AVX2");
		}
		test(&shape[2], WSE_MACHINE_SHUFFLE, "in another order");
		test(&shape[3], WSE_MACHINE_SHUFFLE | WSE_MACHINE_CHECK_RACES, "in another order");
	}
	twin_fp_leave(csr);
	return tap_end();
}
