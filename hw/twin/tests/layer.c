// SPDX-License-Identifier: MIT
/* A linear layer on a device under test: see layer.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elf.h"
#include "layer.h"
#include "twin/exact/fp.h"
#include "wse_kernel.h"

#define FIRMWARE "build/firmware/"
#define SRAM_X	 0x2000u /* bf16 x[K][T] */
#define HOST_W	 (DEV_DATA + (8u << 20))
#define HOST_M	 (DEV_DATA + (32u << 20))

static uint8_t image[WSE_SRAM_BYTES];
static uint32_t end, f_forward, f_wgrad;
static uint32_t rnd_state = 1, dma_latency;

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 1664525 + 1013904223;
	return rnd_state >> 8;
}

void layer_seed(uint32_t seed)
{
	rnd_state = seed;
}

void layer_dma_latency(uint32_t cycles)
{
	dma_latency = cycles;
}

static uint16_t rnd_bf16(void)
{
	return twin_bf16_round(twin_u((float)((int)(rnd() % 2001) - 1000) / 512));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* a column's weights: block by block, input by input, feature by feature */
static void lay_in_order(const struct run *r, uint16_t *to)
{
	const struct shape *s = &r->s;
	uint32_t c, n, k, f;

	for (c = 0; c < s->cols; c++)
		for (n = 0; n < r->n; n += s->b)
			for (k = 0; k < s->k; k++)
				for (f = 0; f < s->b; f++)
					*to++ = r->w[(n + f) * s->cols * s->k + c * s->k + k];
}

int run_open(struct run *r, const struct shape *s, uint32_t flags, uint32_t threads)
{
	struct wse_machine_cfg cfg = {
		.rows = s->rows,
		.cols = s->cols,
		.flags = flags,
		.threads = threads,
		.dma_latency = dma_latency,
	};
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
	if (dev_open_cfg(&r->d, "func", &cfg) || dev_create_queue(&r->d, 1) ||
	    dev_create_queue(&r->d, 2) || dev_create_queue(&r->d, 3))
		return -1;
	if (s->weights == LINEAR)
		lay_in_order(r, (uint16_t *)(void *)(r->d.mem + HOST_W));
	else
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

void run_close(struct run *r)
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

	if (s->weights == MASKED) {
		e.flags |= WSE_SQF_MASKED | WSE_SQF_MASK_DIRECT;
		e.mask = HOST_M;
		e.rstride = s->cols * r->mrow;
		e.mcstride = r->mrow;
	}
	return e;
}

static const struct bells at_once = {.order = {1, 2, 3}, .more = true};

static void ring(struct run *r)
{
	const struct bells *b = r->bells ? r->bells : &at_once;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (b->more && i < 2)
			dev_ring_more(&r->d, b->order[i]);
		else
			dev_ring(&r->d, b->order[i]);
		if (i < 2 && b->stop[i])
			r->d.ops->advance(r->d.m, b->stop[i], NULL);
	}
}

double forward(struct run *r, struct wse_cqe *e)
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

	if (s->weights == LINEAR) {
		in.flags |= WSE_SQF_LINEAR;
		in.lstride = 0;
		in.len = in.cstride = r->n * s->k * 2;
	}
	memcpy(st.arg, &arg, sizeof(arg));
	memcpy(&q, &st, sizeof(q));
	dev_post(&r->d, 1, &in);
	dev_post(&r->d, 3, &q);
	ring(r);
	if (!dev_wait(&r->d, 3, e) || e->status >> 1 || !dev_wait(&r->d, 1, e) || e->status >> 1)
		return -1;
	return seconds() - t;
}

double wgrad(struct run *r, struct wse_cqe *e)
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
	out.buf = LAYER_G;
	out.lstride = s->cols * s->k * 4;
	out.cstride = s->k * 4;
	out.color = 4 + ((s->rows - 1) & 1);
	memcpy(&q, &st, sizeof(q));
	t = seconds();
	dev_post(&r->d, 1, &in);
	dev_post(&r->d, 2, &out);
	dev_post(&r->d, 3, &q);
	ring(r);
	if (!dev_wait(&r->d, 3, e) || e->status >> 1 || !dev_wait(&r->d, 1, e) || e->status >> 1 ||
	    !dev_wait(&r->d, 2, e) || e->status >> 1)
		return -1;
	return seconds() - t;
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

int layer_load(void)
{
	struct elf lin;

	if (load_firmware(FIRMWARE "wse-fw.bin") || elf_open(&lin, FIRMWARE "linear.elf"))
		return -1;
	end = elf_load(&lin, image);
	f_forward = elf_symbol(&lin, "linear_forward");
	f_wgrad = elf_symbol(&lin, "linear_wgrad");
	free(lin.file);
	return end && end <= SRAM_X && f_forward && f_wgrad ? 0 : -1;
}
