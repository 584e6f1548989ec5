// SPDX-License-Identifier: MIT
/*
 * Attention on every in-process model against libwse/ops/scalar_attn.c: the same bits, whatever the
 * tile, the rows that hold a sequence, the back-pressure, and nothing else touched. Starts are
 * CLOSED, so that a deadlock is one at once.
 */
#include <math.h>
#include <unistd.h>

#include "num/num.h"
#include "ops/attn_cycles.h"
#include "ops/drop.h"
#include "ops/ops.h"
#include "ops/scalar_attn.h"
#include "rig.h"

/*
 * tokens of a core, tokens of a sequence, features of a head, heads of a column; or columns of a
 * head, features of each
 */
struct shape {
	uint32_t t, s, d, heads, group;
	uint32_t kv; /* 0: heads do not share keys, which full.elf alone can */
};

static uint32_t kv_of(const struct shape *s)
{
	return s->kv ? s->kv : s->heads;
}

/* what both sides compute on; tokens are those of all rows, width the features of all columns */
struct data {
	struct wse_attn_shape s;
	uint32_t width, heads; /* of all columns */
	uint32_t all;	       /* width of queries, keys and values */
	uint16_t *qkv, *dout;  /* [all][tokens] [width][tokens] */
	uint16_t *o, *dqkv;    /* the oracle's */
	float *max, *recip;    /* [heads][tokens] */
	float scale;
	float *slopes; /* [heads / group], or NULL */
	struct wse_drop drop;
};

/* what a shape has beside what is in train.elf */
enum { SLOPES = 1, DROPS = 2, HALVES = 4 };

/* normally distributed; wild: now and then large, an infinity or a NaN */
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

/* ALiBi's, and others: any number is a slope */
static float *some_slopes(uint32_t heads)
{
	float *slopes = malloc(heads * sizeof(*slopes));

	for (uint32_t i = 0; i < heads; i++)
		slopes[i] = i % 3 ? exp2f(-8.0f * (float)(i + 1) / (float)heads)
				  : 0.3f - 0.1f * (float)(rig_rnd() % 7);
	return slopes;
}

static void data_init(struct data *d, const struct wse_tile *tile, const struct shape *s, int wild,
		      int beside)
{
	size_t n;

	*d = (struct data){.s = {s->t * tile->rows, s->s, s->d, s->heads, s->group, s->kv,
				 .halves = !!(beside & HALVES)},
			   .all = s->d * (s->heads + 2 * kv_of(s)) * tile->cols,
			   .width = s->d * s->heads * tile->cols,
			   .heads = s->heads * tile->cols,
			   .scale = 1 / sqrtf((float)s->d)};
	n = (size_t)d->width * d->s.tokens;
	d->slopes = beside & SLOPES ? some_slopes(d->heads / s->group) : NULL;
	d->s.slopes = d->slopes;
	d->drop = (struct wse_drop){(uint32_t)rig_rnd(), 0x60000000u, 4.0f / 3, 0.75f};
	d->s.drop = beside & DROPS ? &d->drop : NULL;
	d->qkv = numbers((size_t)d->all * d->s.tokens, 1.5f / powf((float)s->d, 0.25f), wild);
	d->dout = numbers(n, 1, wild);
	d->o = malloc(n * 2);
	d->dqkv = malloc((size_t)d->all * d->s.tokens * 2);
	d->max = malloc(n * 4);
	d->recip = malloc(n * 4);
	if (wse_attn_oracle(tile, &d->s, d->qkv, d->o, d->max, d->recip) ||
	    wse_attn_back_oracle(tile, &d->s, d->qkv, d->o, d->dout, d->max, d->recip, d->scale,
				 d->dqkv)) {
		printf("Bail out! the oracle refuses a shape\n");
		exit(1);
	}
}

static void data_free(struct data *d)
{
	free(d->slopes);
	free(d->qkv);
	free(d->dout);
	free(d->o);
	free(d->dqkv);
	free(d->max);
	free(d->recip);
}

static int run(struct rig *g, const char *kernel, const void *args, size_t size, uint32_t *cycles)
{
	struct drm_wse_cmd cmd = rig_start(g, kernel, args, size);
	int ret = rig_run(g, &cmd, 1);

	*cycles = g->cycles;
	return ret ? ret : rig_compare(g);
}

/* what the planner believes, against the RTL. Not so any more? Fit ops/attn_cycles.h again. */
static void test_cycles(const struct rig *g, const char *what, uint32_t cycles, uint64_t planned)
{
	if (strncmp(wse_device_uri(g->dev), "sim:rtl", 7))
		return;
	ok(fabs((double)planned / cycles - 1) <= 0.07, "%s: planned %u cycles, %+.1f %%", what,
	   (unsigned int)planned, 100 * ((double)planned / cycles - 1));
}

/* puts a table of slopes into all cores, as libwse does; its address */
static uint32_t put_slopes(struct rig *g, const struct data *d, const struct shape *s)
{
	struct wse_graph graph = {.tile = g->tile, .t = s->t};
	uint32_t heads = d->heads / s->group, rows = wse_attn_slope_rows(s->t, heads), to;
	uint32_t tokens = s->t * g->tile.rows;
	float *table = malloc(sizeof(*table) * rows * tokens);

	wse_attn_slopes(&graph, heads, table);
	for (uint32_t i = 0; i < heads; i++)
		wse_attn_slope(&graph, i, d->slopes[i], table);
	to = rig_alloc(g, rows * s->t * 4);
	for (uint32_t i = 0; i < rows; i++)
		rig_tokens(g, to + i * s->t * 4, table + (size_t)i * tokens, tokens, 4);
	free(table);
	return to;
}

/* the table of what is dropped, as the kernel `drop` makes it */
static uint32_t put_drop(struct rig *g, const struct data *d, const struct shape *s)
{
	const uint32_t behind[] = {~d->drop.seed, d->drop.keep, rig_bits(d->drop.scale),
				   rig_bits(d->drop.unscale)};
	uint32_t rows = g->tile.rows, to = rig_alloc(g, wse_drop_table(s->t));
	uint32_t *of = malloc(sizeof(*of) * (s->t + 4) * rows), *at = of;

	for (uint32_t i = 0; i < s->t * rows; i++) {
		*at++ = wse_drop_hash(d->drop.seed + i * WSE_DROP_STEP);
		for (uint32_t k = 0; k < 4 && (i + 1) % s->t == 0; k++)
			*at++ = behind[k];
	}
	rig_tokens(g, to, of, (s->t + 4) * rows, 4);
	free(of);
	return to;
}

static void test_shape(struct rig *g, const char *program, const struct shape *s, int wild,
		       int beside)
{
	uint32_t h = s->d * s->heads, tokens = s->t * g->tile.rows, cycles = 0;
	struct wse_attn_args a = {.t = s->t,
				  .s = s->s,
				  .d = s->d,
				  .heads = s->heads,
				  .group = s->group,
				  .kv = kv_of(s)};
	struct wse_attn_back_args b = {.t = s->t,
				       .s = s->s,
				       .d = s->d,
				       .heads = s->heads,
				       .group = s->group,
				       .kv = kv_of(s)};
	uint32_t shared = kv_of(s) == s->heads ? 0 : wse_attn_sums(s->t, s->d);
	uint32_t work = wse_attn_work(s->t, s->s, s->d, s->heads);
	int halves = strstr(program, "halves") && wse_attn_halves(s->t, s->s, s->d);
	int back_halves = strstr(program, "both") && wse_attn_back_halves(s->t, s->s, s->d);
	uint32_t work_back = wse_attn_back_work(s->t, s->s, s->d, s->heads);
	uint64_t more[2];
	struct data d;
	char name[160];
	int ret;

	if (halves)
		work = wse_attn_halves_work(s->t, s->d);
	if (back_halves) {
		work_back = wse_attn_back_halves_work(s->t, s->d);
		b.halves = 1;
		beside |= HALVES;
	}
	snprintf(name, sizeof(name),
		 "%s: t %u, s %u, d %u, %u heads of %u, %u columns each%s%s%s%s",
		 wse_device_uri(g->dev), s->t, s->s, s->d, s->heads, kv_of(s), s->group,
		 back_halves ? ", halves" : "", beside & SLOPES ? ", slopes" : "",
		 beside & DROPS ? ", dropout" : "", wild ? ", wild" : "");
	data_init(&d, &g->tile, s, wild, beside);
	rig_clear(g);
	a.qkv = rig_alloc(g, d.all / g->tile.cols * s->t * 2);
	a.o = rig_alloc(g, h * s->t * 2);
	b.dout = rig_alloc(g, h * s->t * 2);
	a.max = rig_alloc(g, s->heads * s->t * 4);
	a.recip = rig_alloc(g, s->heads * s->t * 4);
	a.work = rig_alloc(g, work > work_back ? work : work_back);
	b.sums = shared ? rig_alloc(g, shared) : 0;
	if (beside & SLOPES)
		a.slopes = b.slopes = put_slopes(g, &d, s);
	if (beside & DROPS)
		a.drop = b.drop = put_drop(g, &d, s);
	for (int i = 0; i < 2; i++) {
		more[i] = beside & SLOPES ? wse_attn_slope_cycles(s->t, s->s, s->heads, i) : 0;
		more[i] += beside & DROPS ? wse_attn_drop_cycles(s->t, s->s, s->heads, i) : 0;
	}
	rig_rows(g, a.qkv, d.qkv, d.all, tokens, 2);
	rig_rows(g, b.dout, d.dout, d.width, tokens, 2);
	ret = rig_load(g);
	rig_rows(g, a.o, d.o, d.width, tokens, 2);
	rig_rows(g, a.max, d.max, d.heads, tokens, 4);
	rig_rows(g, a.recip, d.recip, d.heads, tokens, 4);
	rig_any(g, a.work, work, g->tile.rows);
	if (!ret)
		ret = run(g, "attn", &a, sizeof(a), &cycles);
	ok(!ret, "%s: forward, %u cycles%s%s", name, cycles, ret ? ": " : "",
	   ret ? wse_error() : "");

	test_cycles(g, "forward", cycles,
		    halves ? wse_attn_halves_cycles(s->t, s->s, s->d, s->heads, s->group)
			   : wse_attn_cycles(s->t, s->s, s->d, s->heads, s->group) + more[0]);
	b.qkv = a.qkv;
	b.o = a.o;
	b.max = a.max;
	b.recip = a.recip;
	b.work = a.work;
	b.scale = rig_bits(d.scale);
	rig_rows(g, a.qkv, d.dqkv, d.all, tokens, 2);
	if (shared)
		rig_any(g, b.sums, shared, g->tile.rows);
	rig_any(g, b.dout, h * s->t * 2, g->tile.rows);
	rig_any(g, a.work, work_back, g->tile.rows);
	if (!ret)
		ret = run(g, "attn_back", &b, sizeof(b), &cycles);
	ok(!ret, "%s: backward, %u cycles%s%s", name, cycles, ret ? ": " : "",
	   ret ? wse_error() : "");
	test_cycles(g, "backward", cycles,
		    (back_halves ? wse_attn_back_halves_cycles(s->t, s->s, s->d, s->heads, s->group)
				 : wse_attn_back_cycles(s->t, s->s, s->d, s->heads, s->group)) +
			    (shared ? wse_attn_share_cycles(s->t, s->d, s->heads) : 0) + more[1]);
	data_free(&d);
}

static void test_shapes(const char *uri, const char *program, const struct shape *shapes, size_t n,
			int beside)
{
	struct rig g;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = 1;
	for (size_t i = 0; i < n; i++)
		test_shape(&g, program, &shapes[i], i % 3 == 2, beside);
	rig_close(&g);
}

static void test_program(const char *uri, const char *program, const struct shape *shapes, size_t n)
{
	test_shapes(uri, program, shapes, n, 0);
}

static void test_slopes(const char *uri, const struct shape *shapes, size_t n)
{
	test_shapes(uri, "slopes.elf", shapes, n, SLOPES);
}

static void test_drop(const char *uri, const struct shape *shapes, size_t n, int beside)
{
	test_shapes(uri, "drop.elf", shapes, n, DROPS | beside);
}

static void test_device(const char *uri, const struct shape *shapes, size_t n)
{
	test_program(uri, "train.elf", shapes, n);
}

/*
 * a start that leaves out a row of the sequence: keys find no room there, and the deadlock is found
 * before the budget ends
 */
static void test_deadlock(const char *uri)
{
	struct wse_attn_args a = {.t = 16, .s = 32, .d = 16, .heads = 1, .group = 1};
	struct drm_wse_cmd cmd;
	struct rig g;
	int ret;

	if (rig_open(&g, uri))
		return;
	rig_clear(&g);
	a.qkv = rig_alloc(&g, 3 * 16 * 16 * 2);
	a.o = rig_alloc(&g, 16 * 16 * 2);
	a.max = rig_alloc(&g, 16 * 4);
	a.recip = rig_alloc(&g, 16 * 4);
	a.work = rig_alloc(&g, wse_attn_work(a.t, a.s, a.d, a.heads));
	cmd = rig_start(&g, "attn", &a, sizeof(a));
	cmd.rows = 1;
	ret = rig_load(&g);
	if (!ret)
		ret = rig_run(&g, &cmd, 1);
	ok(ret == -EDEADLK, "%s: half a sequence is a deadlock: %s", uri, wse_error());
	rig_close(&g);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int main(void)
{
	/*
	 * for 1, 2, 4 rows; one context runs them all, so that sequences change what routes there
	 * were
	 */
	static const struct shape one[] = {
		{8, 8, 8, 1, 1, 0},   {16, 16, 16, 2, 1, 0}, {32, 32, 8, 1, 1, 0},
		{64, 64, 8, 1, 1, 0}, {24, 24, 12, 1, 1, 0}, {40, 40, 8, 1, 1, 0},
	};
	static const struct shape two[] = {
		{16, 32, 16, 1, 1, 0}, {8, 16, 32, 2, 1, 0}, {32, 64, 8, 1, 1, 0},
		{16, 16, 64, 1, 1, 0}, {64, 64, 8, 1, 1, 0}, {32, 64, 16, 2, 1, 0},
	};
	static const struct shape four[] = {
		{16, 64, 16, 1, 1, 0}, {8, 32, 8, 3, 1, 0},   {8, 8, 64, 1, 1, 0},
		{16, 32, 8, 2, 1, 0},  {32, 64, 16, 1, 1, 0}, {16, 64, 32, 1, 1, 0},
		{16, 64, 64, 1, 1, 0}, {64, 256, 8, 1, 1, 0}, {32, 128, 16, 1, 1, 0},
	};
	static const struct shape group2[] = {
		{16, 32, 8, 1, 2, 0},  {8, 8, 16, 1, 2, 0},   {32, 64, 4, 1, 2, 0},
		{64, 128, 8, 1, 2, 0}, {16, 64, 16, 1, 1, 0},
	};
	static const struct shape group4[] = {
		{16, 64, 16, 1, 4, 0},
		{8, 16, 8, 1, 4, 0},
		{16, 32, 16, 1, 2, 0},
		{32, 128, 4, 1, 4, 0},
	};
	static const struct shape group3[] = {
		{8, 32, 8, 1, 3, 0}, {24, 24, 4, 1, 3, 0}, {16, 16, 8, 1, 6, 0}};
	static const struct shape tall[] = {{8, 128, 16, 1, 4, 0}, {8, 64, 8, 2, 1, 0}};
	/* two, three or all heads of queries share keys, on a column or over some */
	static const struct shape shared[] = {
		{16, 32, 8, 2, 1, 1}, {8, 16, 8, 6, 1, 2},   {32, 64, 8, 4, 1, 4},
		{64, 64, 4, 2, 1, 1}, {16, 16, 16, 4, 1, 2}, {8, 16, 8, 2, 2, 1},
		{16, 32, 4, 4, 2, 2}, {32, 64, 4, 3, 2, 1},  {64, 128, 4, 2, 2, 1},
		{24, 48, 4, 2, 1, 1},
	};
	static const struct shape shared4[] = {
		{16, 64, 8, 2, 1, 1},
		{32, 128, 8, 2, 1, 1},
		{8, 32, 8, 2, 4, 1},
		{16, 64, 4, 3, 4, 1},
	};
	/* several heads on several columns, each with keys of its own: in every program */
	static const struct shape several[] = {{16, 32, 4, 2, 2, 0}, {8, 16, 8, 3, 2, 0}};
	/* rows that share their work, between others; then heads that share keys, too */
	static const struct shape halved[] = {
		{32, 128, 16, 1, 1, 0}, {16, 64, 16, 1, 1, 0}, {32, 128, 4, 1, 4, 0},
		{32, 128, 8, 2, 1, 0},	{32, 64, 8, 1, 1, 0},  {64, 256, 4, 1, 1, 0},
		{32, 128, 8, 1, 2, 0},	{48, 192, 4, 1, 2, 0},
	};
	static const struct shape halved8[] = {{32, 256, 8, 2, 1, 0},  {48, 192, 8, 1, 1, 0},
					       {32, 256, 16, 1, 2, 0}, {16, 128, 16, 2, 1, 0},
					       {24, 192, 8, 1, 2, 0},  {16, 128, 8, 1, 2, 0}};
	/* chunks that columns have by turns: more or fewer than columns, or no multiple */
	static const struct shape halved_cols[] = {{32, 128, 4, 1, 3, 0}, {24, 96, 8, 1, 6, 0},
						   {40, 160, 4, 1, 3, 0}, {32, 128, 8, 1, 6, 0},
						   {24, 96, 4, 2, 3, 0},  {32, 128, 4, 1, 2, 0}};
	static const struct shape halved16[] = {{16, 256, 8, 1, 1, 0}, {24, 192, 8, 1, 1, 0}};
	static const struct shape halved_shared[] = {
		{32, 128, 8, 2, 1, 1}, {32, 128, 8, 2, 2, 1}, {32, 128, 8, 4, 1, 2}};
	/* of the larger program; scores kept, and in one pass */
	static const struct shape dropped[] = {
		{16, 64, 16, 1, 1, 0}, {8, 32, 8, 3, 1, 0},    {24, 96, 8, 1, 1, 0},
		{32, 32, 8, 2, 1, 1},  {8, 8, 64, 1, 1, 0},    {16, 32, 8, 2, 1, 0},
		{64, 64, 8, 1, 1, 0},  {32, 128, 16, 1, 1, 0},
	};
	char uri[64];

	alarm(600);
	test_device("sim:func,rows=1,cols=1", one, COUNT(one));
	test_device("sim:func,rows=4,cols=2", one, COUNT(one));
	test_device("sim:func,rows=4,cols=4,races=1", two, COUNT(two));
	test_device("sim:func,rows=4,cols=4", four, COUNT(four));
	test_device("sim:func,rows=8,cols=3", four, COUNT(four));
	for (int seed = 1; seed <= 6; seed++) {
		snprintf(uri, sizeof(uri), "sim:func,rows=8,cols=2,shuffle=1,seed=%d", seed);
		test_device(uri, four, 5);
		test_device(uri, group2, COUNT(group2));
	}
	test_device("sim:func,rows=4,cols=4,races=1", group4, COUNT(group4));
	test_device("sim:func,rows=4,cols=6", group3, COUNT(group3));
	test_device("sim:func,rows=16,cols=8", tall, COUNT(tall));
	test_device("sim:rtl,rows=2,cols=2", two, 4);
	test_device("sim:rtl,rows=2,cols=2", group2, 4);
	test_device("sim:rtl,rows=4,cols=4", four, COUNT(four));
	test_device("sim:rtl,rows=4,cols=4", group4, COUNT(group4));
	test_device("sim:func,rows=4,cols=4,races=1", several, COUNT(several));
	test_program("sim:func,rows=2,cols=2", "full.elf", shared, COUNT(shared));
	test_program("sim:func,rows=4,cols=4,races=1", "full.elf", shared4, COUNT(shared4));
	test_program("sim:func,rows=4,cols=4", "full.elf", group4, COUNT(group4));
	for (int seed = 1; seed <= 4; seed++) {
		snprintf(uri, sizeof(uri), "sim:func,rows=8,cols=4,shuffle=1,seed=%d", seed);
		test_program(uri, "full.elf", shared, COUNT(shared));
		test_program(uri, "full.elf", shared4, COUNT(shared4));
	}
	test_program("sim:func,rows=4,cols=4,races=1", "halves_both.elf", halved, COUNT(halved));
	test_program("sim:func,rows=8,cols=2,races=1", "halves_both.elf", halved8, COUNT(halved8));
	test_program("sim:func,rows=4,cols=6,races=1", "halves_both.elf", halved_cols,
		     COUNT(halved_cols));
	for (int seed = 1; seed <= 2; seed++) {
		snprintf(uri, sizeof(uri), "sim:func,rows=4,cols=12,shuffle=1,seed=%d", seed);
		test_program(uri, "halves_both.elf", halved_cols, COUNT(halved_cols));
		snprintf(uri, sizeof(uri), "sim:func,rows=8,cols=4,shuffle=1,seed=%d", seed);
		test_program(uri, "halves_both.elf", halved, COUNT(halved));
		test_program(uri, "halves_both.elf", halved8, COUNT(halved8));
		test_program(uri, "full_halves_both.elf", halved_shared, COUNT(halved_shared));
		snprintf(uri, sizeof(uri), "sim:func,rows=16,cols=2,shuffle=1,seed=%d", seed);
		test_program(uri, "halves_both.elf", halved16, COUNT(halved16));
	}
	test_program("sim:func,rows=4,cols=4", "halves.elf", halved, 3);
	test_program("sim:func,rows=4,cols=4", "full_halves.elf", halved_shared, 1);
	test_program("sim:rtl,rows=4,cols=4", "halves_both.elf", halved, COUNT(halved));
	test_program("sim:rtl,rows=4,cols=4", "full_halves_both.elf", halved_shared, 2);
	test_device("sim:rtl,rows=2,cols=2", several, COUNT(several));
	test_program("sim:rtl,rows=2,cols=2,seed=5", "full.elf", shared, COUNT(shared));
	test_program("sim:rtl,rows=4,cols=4", "full.elf", shared4, COUNT(shared4));
	test_slopes("sim:func,rows=4,cols=4,races=1", four, COUNT(four));
	test_slopes("sim:func,rows=4,cols=6", group3, COUNT(group3));
	test_slopes("sim:func,rows=8,cols=4,shuffle=1,seed=3", shared, COUNT(shared));
	test_slopes("sim:rtl,rows=4,cols=4", four, COUNT(four));
	test_slopes("sim:rtl,rows=4,cols=4", group4, COUNT(group4));
	test_slopes("sim:rtl,rows=2,cols=2", shared, COUNT(shared));
	test_drop("sim:func,rows=4,cols=4,races=1", dropped, COUNT(dropped), 0);
	test_drop("sim:func,rows=4,cols=6", group3, COUNT(group3), SLOPES);
	test_drop("sim:func,rows=8,cols=4,shuffle=1,seed=3", shared, 3, 0);
	test_drop("sim:rtl,rows=4,cols=4", dropped, 4, 0);
	test_drop("sim:rtl,rows=4,cols=4", group4, 3, SLOPES);
	test_deadlock("sim:func,rows=2,cols=1");
	test_deadlock("sim:rtl,rows=2,cols=2");
	return tap_end();
}
