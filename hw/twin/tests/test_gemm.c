// SPDX-License-Identifier: MIT
/*
 * The firmware's streamed linear layer and its weight gradient on the twin, against ordered scalar
 * loops, bit for bit. `test_gemm bench` prints multiply-adds a second.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dev.h"
#include "elf.h"
#include "wse_kernel.h"
#include "twin/fp.h"
#include "twin/func.h"
#include "check.h"

#define FIRMWARE "build/firmware/"
#define SRAM_X	 0x2000u /* bf16 x[K][T] */
#define HOST_W	 (DEV_DATA + (8u << 20))
#define HOST_M	 (DEV_DATA + (32u << 20))
#define HOST_G	 (DEV_DATA + (40u << 20))

struct shape {
	uint32_t rows, cols, t, k, b, nblk; /* k per core, nblk blocks of b features */
	bool masked;
};

static uint8_t image[WSE_SRAM_BYTES];
static uint32_t end, f_forward, f_wgrad;
static uint32_t rnd_state = 1;

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 1664525 + 1013904223;
	return rnd_state >> 8;
}

static uint16_t rnd_bf16(void)
{
	return wse_bf16_round(wse_u((float)((int)(rnd() % 2001) - 1000) / 512));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct run {
	struct dev d;
	struct shape s;
	uint16_t *x, *w, *dy; /* x[rows][cols][k][t], w[n][cols * k], dy[rows][n][t] */
	uint8_t *mask;	      /* [n][cols][mrow] */
	uint32_t n, y, mrow;
};

static bool on(const struct run *r, uint32_t n, uint32_t c, uint32_t k)
{
	return !r->s.masked || r->mask[(n * r->s.cols + c) * r->mrow + k / 8] >> (k & 7) & 1;
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
				p = p +
				    wse_f((uint32_t)r->w[n * s->cols * s->k + c * s->k + k] << 16) *
					    wse_f((uint32_t)r->x[((row * s->cols + c) * s->k + k) *
									 s->t +
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
				wse_f((uint32_t)r->dy[(row * r->n + n) * s->t + t] << 16) *
					wse_f((uint32_t)
						      r->x[((row * s->cols + c) * s->k + k) * s->t +
							   t]
					      << 16);
		d = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
		sum = row ? sum + d : d;
	}
	return sum;
}

static int run_open(struct run *r, const struct shape *s, uint32_t flags)
{
	uint32_t i, c;

	memset(r, 0, sizeof(*r));
	r->s = *s;
	r->n = s->nblk * s->b;
	r->mrow = (s->k + 63) / 64 * 8;
	r->y = (SRAM_X + s->k * s->t * 2 + 15) & ~15u;
	r->x = malloc(s->rows * s->cols * s->k * s->t * 2);
	r->w = malloc(r->n * s->cols * s->k * 2);
	r->dy = malloc(s->rows * r->n * s->t * 2);
	r->mask = malloc(r->n * s->cols * r->mrow);
	for (i = 0; i < s->rows * s->cols * s->k * s->t; i++)
		r->x[i] = rnd_bf16();
	for (i = 0; i < r->n * s->cols * s->k; i++)
		r->w[i] = rnd_bf16();
	for (i = 0; i < s->rows * r->n * s->t; i++)
		r->dy[i] = rnd_bf16();
	for (i = 0; i < r->n * s->cols * r->mrow; i++)
		r->mask[i] = rnd();
	if (dev_open_flags(&r->d, "func", s->rows, s->cols, flags) || dev_create_queue(&r->d, 1) ||
	    dev_create_queue(&r->d, 2) || dev_create_queue(&r->d, 3))
		return -1;
	memcpy(r->d.mem + HOST_W, r->w, r->n * s->cols * s->k * 2);
	memcpy(r->d.mem + HOST_M, r->mask, r->n * s->cols * r->mrow);
	dev_load(&r->d, image, end);
	for (c = 0; c < s->rows * s->cols; c++)
		r->d.ops->poke(r->d.m, c, WSE_SRAM_BASE + SRAM_X, r->x + c * s->k * s->t,
			       s->k * s->t * 2);
	{
		struct wse_sqe b = dev_start(&r->d, WSE_SRAM_BASE, WSE_SQF_BOOT, 1 << 20);

		return dev_do(&r->d, 3, &b, NULL);
	}
}

static void run_close(struct run *r)
{
	dev_close(&r->d);
	free(r->x);
	free(r->w);
	free(r->dy);
	free(r->mask);
}

static struct wse_sqe stream(const struct run *r, uint8_t op)
{
	const struct shape *s = &r->s;
	struct wse_sqe e = {
		.opcode = op,
		.flags = WSE_SQF_BUF_DIRECT,
		.cols = s->cols,
		.budget = 1ull << 40,
		.nline = s->nblk,
		.nfeat = s->b,
		.kcol = s->k,
		.etype = WSE_ETYPE_BF16,
		.buf = HOST_W,
		.lstride = s->cols * s->k * 2,
		.cstride = s->k * 2,
	};

	if (s->masked) {
		e.flags |= WSE_SQF_MASKED | WSE_SQF_MASK_DIRECT;
		e.mask = HOST_M;
		e.rstride = s->cols * r->mrow;
		e.mcstride = r->mrow;
	}
	return e;
}

/* forward on the device; seconds it took, or < 0 */
static double forward(struct run *r, struct wse_cqe *e)
{
	const struct shape *s = &r->s;
	struct wse_sqe_start st = {
		.opcode = WSE_OP_START,
		.flags = WSE_SQF_CLOSED,
		.rows = s->rows,
		.cols = s->cols,
		.budget = 1ull << 40,
		.entry = f_forward,
	};
	struct wse_linear_args arg = {
		.x = WSE_SRAM_BASE + SRAM_X,
		.y = WSE_SRAM_BASE + r->y,
		.t = s->t,
		.k = s->k,
		.nblk = s->nblk,
		.b = s->b,
		.post = WSE_POST_BF16,
		.out = WSE_SRAM_BASE + r->y,
	};
	struct wse_sqe in = stream(r, WSE_OP_STREAM_IN), q;
	double t = seconds();

	memcpy(st.arg, &arg, sizeof(arg));
	memcpy(&q, &st, sizeof(q));
	dev_post(&r->d, 1, &in);
	dev_post(&r->d, 3, &q);
	dev_ring(&r->d, 1);
	dev_ring(&r->d, 3);
	if (!dev_wait(&r->d, 3, e) || e->status >> 1 || !dev_wait(&r->d, 1, e) || e->status >> 1)
		return -1;
	return seconds() - t;
}

static double wgrad(struct run *r, struct wse_cqe *e)
{
	const struct shape *s = &r->s;
	struct wse_sqe_start st = {
		.opcode = WSE_OP_START,
		.flags = WSE_SQF_CLOSED,
		.rows = s->rows,
		.cols = s->cols,
		.budget = 1ull << 40,
		.entry = f_wgrad,
		.arg = {WSE_SRAM_BASE + SRAM_X, WSE_SRAM_BASE + r->y, s->t, s->k, s->nblk, s->b},
	};
	struct wse_sqe in = stream(r, WSE_OP_STREAM_IN), out = stream(r, WSE_OP_STREAM_OUT), q;
	uint32_t row, c, own = r->n / s->cols;
	double t;

	for (row = 0; row < s->rows; row++)
		for (c = 0; c < s->cols; c++)
			r->d.ops->poke(r->d.m, row * s->cols + c, WSE_SRAM_BASE + r->y,
				       r->dy + (row * r->n + c * own) * s->t, own * s->t * 2);
	in.flags |= WSE_SQF_INDEX_ONLY;
	out.etype = WSE_ETYPE_FP32;
	out.buf = HOST_G;
	out.lstride = s->cols * s->k * 4;
	out.cstride = s->k * 4;
	out.color = 4 + ((s->rows - 1) & 1);
	memcpy(&q, &st, sizeof(q));
	t = seconds();
	dev_post(&r->d, 1, &in);
	dev_post(&r->d, 2, &out);
	dev_post(&r->d, 3, &q);
	dev_ring(&r->d, 1);
	dev_ring(&r->d, 2);
	dev_ring(&r->d, 3);
	if (!dev_wait(&r->d, 3, e) || e->status >> 1 || !dev_wait(&r->d, 1, e) || e->status >> 1 ||
	    !dev_wait(&r->d, 2, e) || e->status >> 1)
		return -1;
	return seconds() - t;
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
				bad += y != wse_bf16_round(wse_u(forward_ref(r, row, n, t)));
			}
		}
	}
	ok(!bad, "%ux%u T %u K %u B %u N %u%s: forward, %u of %u wrong", s->rows, s->cols, s->t,
	   s->k, s->b, r->n, s->masked ? " masked" : "", bad, s->rows * r->n * s->t);
}

static void check_wgrad(struct run *r)
{
	const struct shape *s = &r->s;
	uint32_t n, c, k, bad = 0, got, want;

	for (n = 0; n < r->n; n++) {
		for (c = 0; c < s->cols; c++) {
			for (k = 0; k < s->k; k++) {
				memcpy(&got, r->d.mem + HOST_G + ((n * s->cols + c) * s->k + k) * 4,
				       4);
				want = on(r, n, c, k) ? wse_u(wgrad_ref(r, n, c, k)) : 0;
				bad += got != want;
			}
		}
	}
	ok(!bad, "%ux%u T %u K %u B %u N %u%s: weight gradient, %u of %u wrong", s->rows, s->cols,
	   s->t, s->k, s->b, r->n, s->masked ? " masked" : "", bad, r->n * s->cols * s->k);
}

static void test(const struct shape *s, uint32_t flags, const char *how)
{
	const char *text;
	struct wse_cqe e;
	uint64_t races;
	struct run r;

	if (!ok(!run_open(&r, s, flags), "%s, %ux%u opens and boots", how, s->rows, s->cols))
		return;
	if (!ok(forward(&r, &e) >= 0, "forward ends well"))
		explain(&r, &e);
	check_forward(&r);
	memset(r.d.mem + HOST_G, 0, r.n * s->cols * s->k * 4);
	if (!ok(wgrad(&r, &e) >= 0, "weight gradient ends well"))
		explain(&r, &e);
	check_wgrad(&r);
	races = wse_func_races(r.d.m, &text);
	if (flags & WSE_MODEL_CHECK_RACES)
		ok(!races, "no races %s", text);
	run_close(&r);
}

static void bench(const struct shape *s, int rounds)
{
	double best_f = 1e9, best_g = 1e9, t, macs;
	struct wse_cqe e;
	struct run r;
	int i;

	if (run_open(&r, s, 0))
		return;
	macs = (double)r.n * s->cols * s->k * s->rows * s->t;
	for (i = 0; i < rounds; i++) {
		t = forward(&r, &e);
		best_f = t > 0 && t < best_f ? t : best_f;
		t = wgrad(&r, &e);
		best_g = t > 0 && t < best_g ? t : best_g;
	}
	printf("# %ux%u T %u K %u B %u: forward %.0f MMAC/s, weight gradient %.0f MMAC/s\n",
	       s->rows, s->cols, s->t, s->k, s->b, macs / best_f * 1e-6, macs / best_g * 1e-6);
	run_close(&r);
}

/* the resident firmware, which lies behind its header */
static int load_firmware(const char *name)
{
	FILE *f = fopen(name, "rb");
	size_t n;

	if (!f || fseek(f, sizeof(struct wse_fw), SEEK_SET))
		return -1;
	n = fread(image, 1, WSE_FW_END, f);
	fclose(f);
	return n ? 0 : -1;
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
		{1, 1, 8, 8, 1, 2, false},   {2, 2, 16, 12, 2, 4, false},
		{4, 4, 32, 16, 4, 8, false}, {3, 5, 8, 20, 4, 10, true},
		{2, 3, 24, 16, 2, 6, true},  {4, 4, 16, 64, 4, 8, false},
	};
	static const struct shape big[] = {
		{4, 4, 32, 128, 4, 64, false}, {4, 4, 32, 64, 4, 64, false},
		{4, 4, 32, 64, 2, 128, false}, {4, 4, 32, 64, 2, 128, true},
		{4, 4, 16, 128, 4, 64, false},
	};
	unsigned int csr = wse_fp_enter(), i;
	struct elf lin;

	if (load_firmware(FIRMWARE "wse-fw.bin") || elf_open(&lin, FIRMWARE "linear.elf")) {
		ok(false, "run it in the top folder, with the firmware built");
		return tap_end();
	}
	end = elf_load(&lin, image);
	f_forward = elf_symbol(&lin, "linear_forward");
	f_wgrad = elf_symbol(&lin, "linear_wgrad");
	ok(end && end <= SRAM_X && f_forward && f_wgrad,
	   "the firmware's linear program is there and fits");
	if (argc > 1 && !strcmp(argv[1], "bench")) {
		for (i = 0; i < sizeof(big) / sizeof(*big); i++)
			bench(&big[i], argc > 2 ? atoi(argv[2]) : 5);
	} else {
		for (i = 0; i < sizeof(shape) / sizeof(*shape); i++)
			test(&shape[i], 0, "runs");
		test(&shape[2], WSE_MODEL_FUNC_EXACT, "one by one");
		test(&shape[3], WSE_MODEL_FUNC_EXACT, "one by one");
		test(&shape[3], WSE_MODEL_CHECK_RACES, "looking for races");
		if (argc == 1) {
			without(argv[0], "-AVX512F");
			without(argv[0], "-AVX512F,-AVX2");
		}
		test(&shape[2], WSE_MODEL_SHUFFLE, "in another order");
		test(&shape[3], WSE_MODEL_SHUFFLE | WSE_MODEL_CHECK_RACES, "in another order");
	}
	free(lin.file);
	wse_fp_leave(csr);
	return tap_end();
}
