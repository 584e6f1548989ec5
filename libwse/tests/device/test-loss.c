// SPDX-License-Identifier: MIT
/*
 * The losses of train.elf and loss.elf against their oracles: the same bits, and nothing else
 * touched.
 */
#include <unistd.h>

#include "num/token.h"
#include "ops/loss.h"
#include "rig.h"

/* logits: anything, or -1 ... 1 steps apart so that many classes count */
static void fill(float *y, size_t n, int wild)
{
	for (size_t i = 0; i < n; i++)
		y[i] = wild ? rig_float(rig_number(1)) : (float)(rig_rnd() % 8192) / 1024 - 4.0f;
}

/* a scale a token, some of them 0, in every other test: else NULL */
static const float *scales(float *each, uint32_t tokens)
{
	static unsigned int tests;

	for (uint32_t i = 0; i < tokens; i++)
		each[i] = i % 3 ? 1.0f / (float)(1 + i % 7) : 0.0f;
	return tests++ % 2 ? each : NULL;
}

static void test_loss(struct rig *g, uint32_t t, uint32_t v, uint32_t padding, int backward,
		      int wild)
{
	uint32_t tokens = t * g->tile.rows, width = v * g->tile.cols, classes = width - padding;
	struct wse_loss_scale scale = {.all = 1.0f / (float)tokens};
	size_t n = (size_t)width * tokens;
	float *y = malloc(n * 4), *loss = malloc(tokens * 4), *each = malloc(tokens * 4);
	uint16_t *dy = malloc(n * 2), *target = malloc(tokens * 2);
	struct wse_loss_args a = {.t = t,
				  .v = v,
				  .scale = rig_bits(scale.all),
				  .backward = (uint32_t)backward,
				  .classes = classes};
	int ret;

	fill(y, n, wild);
	for (uint32_t i = 0; i < tokens; i++)
		target[i] = (uint16_t)(rig_rnd() % classes);
	scale.each = scales(each, tokens);
	rig_clear(g);
	a.y = rig_alloc(g, v * t * 4);
	a.dy = rig_alloc(g, v * t * 2);
	a.target = rig_alloc(g, t * 2);
	a.loss = rig_alloc(g, t * 4);
	a.work = rig_alloc(g, 3 * t * 4);
	rig_rows(g, a.y, y, width, tokens, 4);
	rig_tokens(g, a.target, target, tokens, 2);
	if (scale.each) {
		a.scales = rig_alloc(g, t * 4);
		rig_tokens(g, a.scales, each, tokens, 4);
	}
	ret = rig_kernel(g, "loss", &a, sizeof(a));
	wse_loss_oracle(&g->tile, width, classes, tokens, y, target, &scale, loss,
			backward ? dy : NULL);
	if (backward)
		rig_rows(g, a.dy, dy, width, tokens, 2);
	rig_tokens(g, a.loss, loss, tokens, 4);
	for (uint32_t i = 0; i < tokens; i++)
		for (uint32_t c = 0; c < g->tile.cols; c++)
			if (c != target[i] / v)
				memset(rig_at(g, g->any, i / t, c, a.loss + i % t * 4), 1, 4);
	rig_any(g, a.y, v * t * 4, g->tile.rows);
	rig_any(g, a.work, 3 * t * 4, g->tile.rows);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s loss, T %u, %u classes, %u more%s%s%s: %u cycles%s%s", wse_device_uri(g->dev),
	   t, classes, padding, backward ? ", backward" : "", scale.each ? ", masked" : "",
	   wild ? ", wild" : "", g->cycles, ret ? ": " : "", ret ? wse_error() : "");
	free(y);
	free(loss);
	free(dy);
	free(each);
	free(target);
}

/* ---- a vocabulary in chunks ---- */

struct chunks {
	struct rig *g;
	struct wse_loss_chunk k;
	struct wse_loss_chunk_args a;
	uint32_t t, chunks, apart, cycles[3]; /* apart: chunks from one to the next */
	float *y, *loss, *each;
	const float *scales; /* each, or NULL: a.scale */
	uint16_t *dy;
};

static float *state_row(struct chunks *c, uint32_t which, uint32_t col)
{
	return c->k.state + ((size_t)col * 4 + which) * c->k.tokens;
}

static const float *chunk_logits(const struct chunks *c, uint32_t chunk)
{
	return c->y + (size_t)chunk * c->k.v * c->g->tile.cols * c->k.tokens;
}

/* operands of a kernel: state as the oracle left it */
static void chunk_operands(struct chunks *c, uint32_t chunk)
{
	struct rig *g = c->g;
	uint32_t width = c->k.v * g->tile.cols, tokens = c->k.tokens;

	rig_clear(g);
	c->k.first = c->a.first = chunk * c->apart * width;
	c->a.y = rig_alloc(g, c->k.v * c->t * 4);
	c->a.dy = rig_alloc(g, c->k.v * c->t * 2);
	c->a.target = rig_alloc(g, c->t * 2 * wse_token_places(c->k.classes));
	c->a.state = rig_alloc(g, 4 * c->t * 4);
	c->a.loss = rig_alloc(g, c->t * 4);
	c->a.scales = c->scales ? rig_alloc(g, c->t * 4) : 0;
	if (c->scales)
		rig_tokens(g, c->a.scales, c->each, tokens, 4);
	rig_rows(g, c->a.y, chunk_logits(c, chunk), width, tokens, 4);
	rig_tokens(g, c->a.target, c->k.target, tokens, 2 * wse_token_places(c->k.classes));
	rig_rows(g, c->a.state, c->k.state, 4 * g->tile.cols, tokens, 4);
}

/* its last row is scratch; where `rows` is less, others are too */
static void expect_state(struct chunks *c, uint32_t rows)
{
	struct rig *g = c->g;

	rig_rows(g, c->a.state, c->k.state, 4 * g->tile.cols, c->k.tokens, 4);
	rig_any(g, c->a.state + rows * c->t * 4, (4 - rows) * c->t * 4, g->tile.rows);
}

static int chunk_part(struct chunks *c, uint32_t chunk)
{
	int ret;

	chunk_operands(c, chunk);
	ret = rig_kernel(c->g, "loss_part", &c->a, sizeof(c->a));
	c->cycles[0] = c->g->cycles;
	wse_loss_part_oracle(&c->k, chunk_logits(c, chunk));
	expect_state(c, 3);
	rig_any(c->g, c->a.y, c->k.v * c->t * 4, c->g->tile.rows);
	return ret ? ret : rig_compare(c->g);
}

static int chunk_join(struct chunks *c)
{
	struct rig *g = c->g;
	uint32_t cols = g->tile.cols;
	int ret;

	chunk_operands(c, 0);
	ret = rig_kernel(g, "loss_join", &c->a, sizeof(c->a));
	c->cycles[1] = g->cycles;
	wse_loss_join_oracle(&c->k, c->loss);
	expect_state(c, 2);
	rig_tokens(g, c->a.loss, c->loss, c->k.tokens, 4);
	for (uint32_t i = 0; i < c->k.tokens; i++)
		for (uint32_t n = 0; n < cols; n++)
			if (n != wse_token(c->k.target, i, c->k.classes) % (c->k.v * cols) / c->k.v)
				memset(rig_at(g, g->any, i / c->t, n, c->a.loss + i % c->t * 4), 1,
				       4);
	return ret ? ret : rig_compare(g);
}

static int chunk_grad(struct chunks *c, uint32_t chunk)
{
	struct rig *g = c->g;
	uint32_t width = c->k.v * g->tile.cols;
	int ret;

	chunk_operands(c, chunk);
	ret = rig_kernel(g, "loss_grad", &c->a, sizeof(c->a));
	c->cycles[2] = g->cycles;
	wse_loss_grad_oracle(&c->k, chunk_logits(c, chunk),
			     &(struct wse_loss_scale){rig_float(c->a.scale), c->scales}, c->dy);
	rig_rows(g, c->a.dy, c->dy, width, c->k.tokens, 2);
	rig_any(g, c->a.y, c->k.v * c->t * 4, g->tile.rows);
	return ret ? ret : rig_compare(g);
}

/* apart above 1: a vocabulary of which only some chunks are there, the first and the last ones */
static void test_chunks(struct rig *g, uint32_t t, uint32_t v, uint32_t chunks, uint32_t apart,
			uint32_t padding, int wild)
{
	uint32_t tokens = t * g->tile.rows, width = v * g->tile.cols, cols = g->tile.cols;
	uint32_t classes = width * ((chunks - 1) * apart + 1) - padding;
	size_t n = (size_t)width * chunks * tokens;
	uint16_t *target = malloc(tokens * 4);
	struct chunks c = {.g = g, .t = t, .chunks = chunks, .apart = apart};
	int ret = 0;

	c.k = (struct wse_loss_chunk){.tile = g->tile,
				      .v = v,
				      .classes = classes,
				      .tokens = tokens,
				      .target = target,
				      .state = rig_numbers((size_t)4 * cols * tokens, 4, 1)};
	c.a = (struct wse_loss_chunk_args){
		.t = t, .v = v, .classes = classes, .scale = rig_bits(1.0f / (float)tokens)};
	c.y = malloc(n * 4);
	c.dy = malloc((size_t)width * tokens * 2);
	c.loss = malloc(tokens * 4);
	c.each = malloc(tokens * 4);
	c.scales = scales(c.each, tokens);
	fill(c.y, n, wild);
	for (uint32_t i = 0; i < tokens; i++) {
		uint32_t class = rig_rnd() % (width * chunks - padding);

		class += class / width * (apart - 1) * width;
		wse_token_put(target, i, classes, class);
	}
	for (uint32_t j = 0; j < chunks && !ret; j++)
		ret = chunk_part(&c, j);
	/* a NaN or an infinity in `wild` ones, but no column that never began */
	for (uint32_t i = 0; i < tokens && !wild && !ret; i++)
		for (uint32_t k = 0; k < cols && !ret; k++)
			ret = state_row(&c, 1, k)[i] >= 0.0f ? 0 : -ERANGE;
	ret = ret ? ret : chunk_join(&c);
	for (uint32_t j = 0; j < chunks && !ret; j++)
		ret = chunk_grad(&c, j);
	ok(!ret, "%s loss, T %u, %u of %u classes, %u chunks of %u%s: %u, %u, %u cycles%s%s",
	   wse_device_uri(g->dev), t, width * chunks - padding, classes, chunks, v,
	   wild ? ", wild" : "", c.cycles[0], c.cycles[1], c.cycles[2], ret ? ": " : "",
	   ret ? wse_error() : "");
	free(c.k.state);
	free(target);
	free(c.y);
	free(c.dy);
	free(c.loss);
	free(c.each);
}

static void test_chunks_on(const char *uri, uint64_t seed, uint32_t many)
{
	static const uint32_t tokens[] = {8, 32, 16, 24, 64};
	struct rig g;

	if (rig_open_program(&g, uri, "loss.elf"))
		return;
	rig_seed = seed;
	for (uint32_t i = 0; i < many; i++) {
		uint32_t v = 4 + 4 * (rig_rnd() % 4), chunks = 2 + rig_rnd() % 3;
		uint32_t padding = i % 3 ? rig_rnd() % (v * g.tile.cols) : 0;

		test_chunks(&g, tokens[i % 5], v, chunks, 1, padding, rig_rnd() % 3 == 0);
	}
	/* targets of u32: the last chunks are on both sides of 65536, and at 2^18 */
	test_chunks(&g, 16, 4, 3, (65536 - 2 * g.tile.cols) / (4 * g.tile.cols), 3, 0);
	test_chunks(&g, 8, 4, 2, (1 << 18) / (4 * g.tile.cols) - 1, 0, 0);
	/* the last chunk has one class, so that most columns have none of it */
	test_chunks(&g, 16, 4, 2, 1, 4 * g.tile.cols - 1, 0);
	/* columns that have no class in any chunk */
	test_chunks(&g, 8, 4, 1, 1, 4 * g.tile.cols - 3, 0);
	rig_close(&g);
}

static void test_device(const char *uri, const char *program, uint64_t seed, uint32_t many)
{
	static const uint32_t tokens[] = {8, 16, 24, 32, 64};
	struct rig g;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = seed;
	for (uint32_t i = 0; i < many; i++) {
		uint32_t v = 1 + rig_rnd() % 12,
			 padding = i % 3 ? rig_rnd() % (v * g.tile.cols) : 0;

		test_loss(&g, tokens[i % 5], v, padding, i % 4 != 0, rig_rnd() % 3 == 0);
	}
	/* the last columns have no class at all */
	test_loss(&g, 16, 4, 4 * (g.tile.cols - 1), 1, 0);
	rig_close(&g);
}

int main(void)
{
	alarm(600);
	test_device("sim:func,rows=1,cols=1", "train.elf", 1, 15);
	test_device("sim:func,rows=2,cols=2,races=1", "train.elf", 2, 15);
	test_device("sim:func,rows=2,cols=3,shuffle=1,seed=3", "train.elf", 3, 15);
	test_device("sim:func,rows=4,cols=4", "train.elf", 4, 15);
	test_device("sim:rtl,rows=2,cols=2", "train.elf", 5, 6);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "train.elf", 6, 6);
	test_device("sim:rtl,rows=4,cols=4", "train.elf", 9, 3);
	test_device("sim:func,rows=2,cols=2", "loss.elf", 7, 5);
	test_chunks_on("sim:func,rows=1,cols=1", 11, 10);
	test_chunks_on("sim:func,rows=2,cols=2,races=1", 12, 10);
	test_chunks_on("sim:func,rows=2,cols=3,shuffle=1,seed=3", 13, 10);
	test_chunks_on("sim:func,rows=4,cols=4", 14, 10);
	test_chunks_on("sim:rtl,rows=2,cols=2", 15, 4);
	test_chunks_on("sim:rtl,rows=2,cols=2,seed=7", 16, 4);
	return tap_end();
}
