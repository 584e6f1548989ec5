// SPDX-License-Identifier: MIT
/*
 * Attention with a past on every in-process model: a row of cores that has the last tokens of a
 * sequence, and the keys and values before them, has the bits of that row in the attention over all
 * rows, whatever the rows beside it have. Nothing else is touched, and of the past no more is read.
 */
#include <math.h>
#include <unistd.h>

#include "num/num.h"
#include "ops/attn_cycles.h"
#include "ops/ops.h"
#include "ops/scalar_attn.h"
#include "rig.h"

struct shape {
	uint32_t t, s, d, heads, group;
	uint32_t kv; /* heads of keys; 0: heads */
};

/* rows of q, k and v that a column has */
static uint32_t rows_of(const struct shape *s)
{
	return s->d * (s->heads + 2 * (s->kv ? s->kv : s->heads));
}

static uint16_t *numbers(size_t n, float scale, int wild)
{
	uint16_t *v = malloc(n * sizeof(*v));
	uint64_t seed = rig_rnd();

	for (size_t i = 0; i < n; i++) {
		v[i] = wse_f32_to_bf16(wse_rng_normal(seed, 0, i) * scale);
		if (wild && rig_rnd() % 29 == 0)
			v[i] = (uint16_t)(rig_number(1) >> 16);
	}
	return v;
}

/* arrays of all rows of cores, as a host has them */
struct data {
	uint16_t *qkv, *past, *count, *o;
	float *slopes; /* of all heads, or NULL */
};

/* row r of cores, after n rows of tokens: a sequence of n + 1 rows of its own */
static void fill_row(const struct rig *g, const struct shape *s, struct data *d, uint32_t r,
		     uint32_t n, int wild)
{
	uint32_t h = s->d * s->heads, width = h * g->tile.cols, tokens = (n + 1) * s->t;
	uint32_t all = s->t * g->tile.rows, chunks = s->s / s->t, per = rows_of(s);
	struct wse_tile tile = {.rows = n + 1, .cols = g->tile.cols, .lanes = g->tile.lanes};
	struct wse_attn_shape shape = {tokens,	 tokens, s->d, s->heads,
				       s->group, s->kv,	 s->s, .slopes = d->slopes};
	uint16_t *x =
		numbers((size_t)per * g->tile.cols * tokens, 1.5f / powf((float)s->d, 0.25f), wild);
	uint16_t *o = malloc((size_t)width * tokens * 2);
	float *stat = malloc((size_t)width * tokens * 8);

	if (wse_attn_oracle(&tile, &shape, x, o, stat, stat + (size_t)width * tokens)) {
		printf("Bail out! the oracle refuses a shape\n");
		exit(1);
	}
	for (uint32_t f = 0; f < per * g->tile.cols; f++) {
		uint32_t c = f / per, in = f % per;

		memcpy(d->qkv + (size_t)f * all + r * s->t, x + (size_t)f * tokens + n * s->t,
		       2 * s->t);
		for (uint32_t k = 0; k < n && in >= h; k++)
			memcpy(d->past + ((size_t)(c * (per - h) + in - h) * chunks + k) * all +
				       r * s->t,
			       x + (size_t)f * tokens + k * s->t, 2 * s->t);
	}
	for (uint32_t f = 0; f < width; f++)
		memcpy(d->o + (size_t)f * all + r * s->t, o + (size_t)f * tokens + n * s->t,
		       2 * s->t);
	for (uint32_t i = 0; i < s->t; i++)
		d->count[r * s->t + i] = (uint16_t)n;
	free(x);
	free(o);
	free(stat);
}

/* into all cores, as libwse does */
static uint32_t put_slopes(struct rig *g, const float *slopes, uint32_t heads, uint32_t t)
{
	struct wse_graph graph = {.tile = g->tile, .t = t};
	uint32_t rows = wse_attn_slope_rows(t, heads), tokens = t * g->tile.rows, to;
	float *table = malloc(sizeof(*table) * rows * tokens);

	wse_attn_slopes(&graph, heads, table);
	for (uint32_t i = 0; i < heads; i++)
		wse_attn_slope(&graph, i, slopes[i], table);
	to = rig_alloc(g, rows * t * 4);
	for (uint32_t i = 0; i < rows; i++)
		rig_tokens(g, to + i * t * 4, table + (size_t)i * tokens, tokens, 4);
	free(table);
	return to;
}

/* full: all rows have the longest past */
static void test_shape(struct rig *g, const struct shape *s, int wild, int full, int sloped)
{
	uint32_t heads = s->heads * g->tile.cols / s->group;
	uint32_t h = s->d * s->heads, width = h * g->tile.cols, all = s->t * g->tile.rows;
	uint32_t per = rows_of(s), qkvs = per * g->tile.cols, keys = (per - h) * g->tile.cols;
	uint32_t chunks = s->s / s->t, work = wse_attn_past_work(s->t, s->s, s->d), planned,
		 most = 0; /* rows of the longest past */
	struct wse_attn_past_args a = {
		.t = s->t, .s = s->s, .d = s->d, .heads = s->heads, .group = s->group};
	struct data d = {.qkv = malloc((size_t)qkvs * all * 2),
			 .past = malloc((size_t)keys * chunks * all * 2),
			 .count = malloc(all * 2),
			 .o = malloc((size_t)width * all * 2)};
	int ret;

	if (sloped)
		d.slopes = malloc(heads * sizeof(*d.slopes));
	for (uint32_t i = 0; i < heads && sloped; i++)
		d.slopes[i] = exp2f(-8.0f * (float)(i + 1) / (float)heads);
	/* what is not of the past is none of the kernel's business: NaN */
	memset(d.past, 0xff, (size_t)keys * chunks * all * 2);
	a.kv = s->kv ? s->kv : s->heads;
	for (uint32_t r = 0; r < g->tile.rows; r++) {
		uint32_t n = full ? chunks - 1 : rig_rnd() % chunks;

		fill_row(g, s, &d, r, n, wild);
		most = n > most ? n : most;
	}
	rig_clear(g);
	a.qkv = rig_alloc(g, per * s->t * 2);
	a.past = rig_alloc(g, (per - h) * s->s * 2);
	a.count = rig_alloc(g, s->t * 2);
	a.o = rig_alloc(g, h * s->t * 2);
	a.work = rig_alloc(g, work);
	if (sloped)
		a.slopes = put_slopes(g, d.slopes, heads, s->t);
	rig_rows(g, a.qkv, d.qkv, qkvs, all, 2);
	rig_rows(g, a.past, d.past, keys * chunks, all, 2);
	rig_tokens(g, a.count, d.count, all, 2);
	ret = rig_kernel(g, "attn_past", &a, sizeof(a));
	rig_rows(g, a.o, d.o, width, all, 2);
	rig_any(g, a.work, work, g->tile.rows);
	ret = ret ? ret : rig_compare(g);
	ok(!ret,
	   "%s: t %u, s %u, d %u, %u heads of queries, %u of keys, over %u columns%s%s%s, %u "
	   "cycles%s%s",
	   wse_device_uri(g->dev), s->t, s->s, s->d, s->heads, a.kv, s->group, wild ? ", wild" : "",
	   sloped ? ", slopes" : "", full ? ", full" : "", g->cycles, ret ? ": " : "",
	   ret ? wse_error() : "");
	planned = (uint32_t)wse_attn_past_cycles(s->t, s->s, most, s->d, s->heads, s->group);
	if (sloped)
		planned += (uint32_t)wse_attn_slope_cycles(s->t, (most + 1) * s->t, s->heads, 0);
	if (!strncmp(wse_device_uri(g->dev), "sim:rtl", 7))
		ok(fabs((double)planned / g->cycles - 1) <= 0.1,
		   "planned of %u rows of a past %u cycles, %+.1f %%", most, planned,
		   100 * ((double)planned / g->cycles - 1));
	free(d.qkv);
	free(d.past);
	free(d.count);
	free(d.o);
	free(d.slopes);
}

static void test_shapes(const char *uri, const char *program, const struct shape *shapes, size_t n,
			int sloped)
{
	struct rig g;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = 1;
	for (size_t i = 0; i < n; i++) {
		test_shape(&g, &shapes[i], i % 3 == 2, 0, sloped);
		test_shape(&g, &shapes[i], 0, 1, sloped);
	}
	rig_close(&g);
}

static void test_device(const char *uri, const char *program, const struct shape *shapes, size_t n)
{
	test_shapes(uri, program, shapes, n, 0);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int main(void)
{
	static const struct shape alone[] = {
		{8, 32, 16, 1, 1, 0},  {16, 64, 16, 2, 1, 0}, {8, 64, 8, 3, 1, 0},
		{32, 64, 8, 1, 1, 0},  {8, 128, 16, 1, 1, 0}, {64, 128, 4, 1, 1, 0},
		{24, 72, 12, 1, 1, 0}, {16, 16, 64, 1, 1, 0}, {16, 256, 8, 1, 1, 0},
	};
	static const struct shape group2[] = {{8, 32, 16, 1, 2, 0},
					      {16, 48, 8, 1, 2, 0},
					      {32, 64, 4, 1, 2, 0},
					      {32, 128, 4, 1, 2, 0}};
	static const struct shape group4[] = {
		{8, 64, 8, 1, 4, 0}, {16, 64, 16, 1, 4, 0}, {8, 24, 16, 1, 2, 0}};

	/* heads of queries that share keys, on a column and over several */
	static const struct shape shared[] = {{8, 32, 8, 4, 1, 2},  {16, 64, 8, 3, 1, 1},
					      {8, 64, 16, 2, 1, 2}, {8, 32, 8, 2, 2, 1},
					      {16, 48, 4, 4, 2, 2}, {16, 256, 8, 2, 1, 1}};

	alarm(600);
	test_device("sim:func,rows=1,cols=1", "cached.elf", alone, COUNT(alone));
	test_device("sim:func,rows=4,cols=4,races=1", "cached.elf", alone, COUNT(alone));
	test_device("sim:func,rows=3,cols=2,shuffle=1,seed=7", "cached.elf", group2, COUNT(group2));
	test_device("sim:func,rows=2,cols=4,races=1", "cached.elf", group4, COUNT(group4));
	test_device("sim:func,rows=3,cols=2,shuffle=1,seed=7", "full_cached.elf", shared,
		    COUNT(shared));
	test_device("sim:rtl,rows=2,cols=2", "full_cached.elf", shared, COUNT(shared));
	test_device("sim:rtl,rows=2,cols=2", "cached.elf", alone, COUNT(alone));
	test_device("sim:rtl,rows=2,cols=2", "cached.elf", group2, COUNT(group2));
	test_device("sim:rtl,rows=4,cols=4", "cached.elf", group4, COUNT(group4));
	test_shapes("sim:func,rows=3,cols=2,races=1", "slopes_cached.elf", alone, COUNT(alone), 1);
	test_shapes("sim:rtl,rows=2,cols=2", "slopes_cached.elf", alone, 5, 1);
	test_shapes("sim:rtl,rows=2,cols=2", "slopes_cached.elf", group2, COUNT(group2), 1);
	return tap_end();
}
