// SPDX-License-Identifier: MIT
/*
 * Layer norm of train.elf, forward and backward, against its oracle: the same bits, and nothing
 * else touched; of full.elf and its phases without mean, too (RMS norm), without bias, and with
 * padding behind the width.
 */
#include <unistd.h>

#include "ops/norm.h"
#include "rig.h"

struct shape {
	uint32_t t, h; /* tokens of a core, features of a column */
	int wild;
	int rms, no_bias;
	uint32_t there; /* of all features; the others are padding */
};

static const char *form(const struct shape *s)
{
	return s->rms ? s->no_bias ? ", RMS" : ", RMS with bias" : s->no_bias ? ", no bias" : "";
}

static const char *padding(const struct rig *g, const struct shape *s, char text[32])
{
	text[0] = 0;
	if (s->there < s->h * g->tile.cols)
		snprintf(text, 32, ", %u there", s->there);
	return text;
}

/* what the kernel is told: 0 for all features */
static uint32_t told(const struct rig *g, const struct shape *s)
{
	return s->there < s->h * g->tile.cols ? s->there : 0;
}

/* of n elements of `size` bytes a feature, those of padding become 0 */
static void clear(const struct rig *g, const struct shape *s, void *at, size_t n, size_t size)
{
	size_t all = (size_t)s->h * g->tile.cols;

	memset((char *)at + s->there * n * size, 0, (all - s->there) * n * size);
}

/* activations as they are: a mean that is not 0, deviations of 1 or so; `wild`: anything */
static void fill(uint16_t *x, size_t n, int wild)
{
	for (size_t i = 0; i < n; i++)
		x[i] = wild ? (uint16_t)(rig_number(1) >> 16)
			    : (uint16_t)(rig_bits(3.0f + (float)(rig_rnd() % 4096) / 1024) >> 16);
}

static void test_forward(struct rig *g, const struct shape *s, int inplace)
{
	uint32_t tokens = s->t * g->tile.rows, width = s->h * g->tile.cols, size = s->h * s->t;
	uint16_t *x = malloc((size_t)width * tokens * 2), *out = malloc((size_t)width * tokens * 2);
	float *gain = rig_numbers(width, 4, 0), *bias = rig_numbers(width, 4, 0);
	float *mean = malloc(tokens * 4), *rstd = malloc(tokens * 4);
	struct wse_norm_args a = {.t = s->t, .h = s->h, .width = told(g, s)};
	char text[32];
	int ret;

	fill(x, (size_t)width * tokens, s->wild);
	clear(g, s, x, tokens, 2);
	clear(g, s, gain, 1, 4);
	clear(g, s, bias, 1, 4);
	rig_clear(g);
	a.x = rig_alloc(g, size * 2);
	a.out = inplace ? a.x : rig_alloc(g, size * 2);
	a.gain = rig_alloc(g, s->h * 4);
	a.bias = s->no_bias ? 0 : rig_alloc(g, s->h * 4);
	a.mean = s->rms ? 0 : rig_alloc(g, s->t * 4);
	a.rstd = rig_alloc(g, s->t * 4);
	a.work = rig_alloc(g, wse_norm_work(s->t));
	a.inv_width = rig_bits(1.0f / (float)s->there);
	a.eps = rig_bits(1e-5f);
	rig_rows(g, a.x, x, width, tokens, 2);
	rig_vector(g, a.gain, gain, width, 0);
	if (a.bias)
		rig_vector(g, a.bias, bias, width, 0);
	ret = rig_kernel(g, "norm", &a, sizeof(a));
	wse_norm_oracle(&g->tile, width, s->there, tokens, x, gain, a.bias ? bias : NULL,
			1.0f / (float)s->there, 1e-5f, out, a.mean ? mean : NULL, rstd);
	rig_rows(g, a.out, out, width, tokens, 2);
	if (a.mean)
		rig_tokens(g, a.mean, mean, tokens, 4);
	rig_tokens(g, a.rstd, rstd, tokens, 4);
	rig_any(g, a.work, wse_norm_work(s->t), g->tile.rows);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s norm, T %u, %u features%s%s%s%s: %u cycles%s%s", wse_device_uri(g->dev), s->t,
	   s->h, padding(g, s, text), form(s), inplace ? ", in place" : "", s->wild ? ", wild" : "",
	   g->cycles, ret ? ": " : "", ret ? wse_error() : "");
	free(x);
	free(out);
	free(gain);
	free(bias);
	free(mean);
	free(rstd);
}

/* inplace: the gain's gradient takes the gain's place */
static void test_backward(struct rig *g, const struct shape *s, int add, int inplace)
{
	uint32_t tokens = s->t * g->tile.rows, width = s->h * g->tile.cols, size = s->h * s->t;
	uint32_t last = g->tile.rows - 1;
	size_t n = (size_t)width * tokens;
	uint16_t *x = malloc(n * 2), *dres16 = malloc(n * 2);
	float *dy = rig_numbers(n, 4, s->wild), *dres = rig_numbers(n, 4, s->wild);
	float *gain = rig_numbers(width, 4, 0), *mean = rig_numbers(tokens, 4, 0),
	      *rstd = rig_numbers(tokens, 4, 0);
	float *dgain = malloc(width * 4), *dbias = malloc(width * 4);
	struct wse_norm_back_args a = {
		.t = s->t, .h = s->h, .add = (uint32_t)add, .width = told(g, s)};
	struct wse_norm_back b = {.dy = dy,
				  .x = x,
				  .gain = gain,
				  .mean = s->rms ? NULL : mean,
				  .rstd = rstd,
				  .inv_width = 1.0f / (float)s->there,
				  .add = add,
				  .dres = dres,
				  .dres16 = dres16,
				  .dgain = dgain,
				  .dbias = s->no_bias ? NULL : dbias};
	char text[32];
	int ret;

	fill(x, n, s->wild);
	clear(g, s, x, tokens, 2);
	clear(g, s, dy, tokens, 4);
	clear(g, s, gain, 1, 4);
	rig_clear(g);
	a.dy = rig_alloc(g, size * 4);
	a.x = rig_alloc(g, size * 2);
	a.gain = rig_alloc(g, s->h * 4);
	a.mean = s->rms ? 0 : rig_alloc(g, s->t * 4);
	a.rstd = rig_alloc(g, s->t * 4);
	a.dres = rig_alloc(g, size * 4);
	a.dres16 = rig_alloc(g, size * 2);
	a.dgain = inplace ? a.gain : rig_alloc(g, s->h * 4);
	a.dbias = s->no_bias ? 0 : rig_alloc(g, s->h * 4);
	a.work = rig_alloc(g, wse_norm_work(s->t));
	a.inv_width = rig_bits(b.inv_width);
	rig_rows(g, a.dy, dy, width, tokens, 4);
	rig_rows(g, a.x, x, width, tokens, 2);
	rig_vector(g, a.gain, gain, width, 0);
	if (a.mean)
		rig_tokens(g, a.mean, mean, tokens, 4);
	rig_tokens(g, a.rstd, rstd, tokens, 4);
	rig_rows(g, a.dres, dres, width, tokens, 4);
	ret = rig_kernel(g, "norm_back", &a, sizeof(a));
	wse_norm_back_oracle(&g->tile, width, s->there, tokens, &b);
	rig_rows(g, a.dres, dres, width, tokens, 4);
	rig_rows(g, a.dres16, dres16, width, tokens, 2);
	rig_vector(g, a.dgain, dgain, width, last);
	if (a.dbias)
		rig_vector(g, a.dbias, dbias, width, last);
	rig_any(g, a.dy, size * 4, g->tile.rows);
	rig_any(g, a.work, wse_norm_work(s->t), g->tile.rows);
	rig_any(g, a.dgain, s->h * 4, last);
	if (a.dbias)
		rig_any(g, a.dbias, s->h * 4, last);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s norm_back, T %u, %u features%s%s%s%s%s: %u cycles%s%s", wse_device_uri(g->dev),
	   s->t, s->h, padding(g, s, text), form(s), add ? ", added" : "",
	   inplace ? ", in place" : "", s->wild ? ", wild" : "", g->cycles, ret ? ": " : "",
	   ret ? wse_error() : "");
	free(x);
	free(dres16);
	free(dy);
	free(dres);
	free(gain);
	free(mean);
	free(rstd);
	free(dgain);
	free(dbias);
}

/* the program has norm, norm_back, or both */
static void test_device(const char *uri, const char *program, uint64_t seed, uint32_t many)
{
	static const uint32_t tokens[] = {8, 16, 24, 32, 40, 64};
	struct rig g;
	int full = !strncmp(program, "full", 4);
	struct shape s;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = seed;
	for (uint32_t i = 0; i < many; i++) {
		s.t = tokens[i % 6];
		s.h = 1 + rig_rnd() % 20;
		s.wild = rig_rnd() % 4 == 0;
		s.rms = full && i % 4 < 2;
		s.no_bias = full && i % 2 == 0;
		s.there = s.h * g.tile.cols;
		if (full && (i >> 2 ^ i) & 1) /* each form, with padding and without */
			s.there = 1 + rig_rnd() % s.there;
		if (!strstr(program, "backward.elf"))
			test_forward(&g, &s, i & 1);
		if (!strstr(program, "forward.elf"))
			test_backward(&g, &s, rig_rnd() & 1, rig_rnd() & 1);
	}
	rig_close(&g);
}

int main(void)
{
	alarm(600);
	test_device("sim:func,rows=1,cols=1", "train.elf", 1, 12);
	test_device("sim:func,rows=2,cols=2,races=1", "train.elf", 2, 12);
	test_device("sim:func,rows=2,cols=3,shuffle=1,seed=3", "train.elf", 3, 12);
	test_device("sim:func,rows=4,cols=4", "train.elf", 4, 12);
	test_device("sim:rtl,rows=2,cols=2", "train.elf", 5, 6);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "train.elf", 6, 6);
	test_device("sim:rtl,rows=4,cols=4", "train.elf", 9, 3);
	test_device("sim:func,rows=2,cols=2", "forward.elf", 7, 6);
	test_device("sim:func,rows=2,cols=2", "backward.elf", 8, 6);
	test_device("sim:func,rows=1,cols=1", "full.elf", 10, 12);
	test_device("sim:func,rows=2,cols=3,shuffle=1,seed=3", "full.elf", 11, 12);
	test_device("sim:func,rows=4,cols=4,races=1", "full.elf", 12, 12);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "full.elf", 13, 6);
	test_device("sim:rtl,rows=4,cols=4", "full.elf", 14, 6);
	test_device("sim:func,rows=2,cols=2", "full_forward.elf", 15, 6);
	test_device("sim:func,rows=2,cols=2", "full_backward.elf", 16, 6);
	return tap_end();
}
