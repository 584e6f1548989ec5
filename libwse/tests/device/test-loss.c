// SPDX-License-Identifier: MIT
/* The loss of train.elf against its oracle: the same bits, and nothing else touched. */
#include <unistd.h>

#include "ops/loss.h"
#include "rig.h"

/* logits: anything, or -1 ... 1 steps apart so that many classes count */
static void fill(float *y, size_t n, int wild)
{
	for (size_t i = 0; i < n; i++)
		y[i] = wild ? rig_float(rig_number(1)) : (float)(rig_rnd() % 8192) / 1024 - 4.0f;
}

static void test_loss(struct rig *g, uint32_t t, uint32_t v, uint32_t padding, int backward,
		      int wild)
{
	uint32_t tokens = t * g->tile.rows, width = v * g->tile.cols, classes = width - padding;
	uint32_t scale = rig_bits(1.0f / (float)tokens);
	size_t n = (size_t)width * tokens;
	float *y = malloc(n * 4), *loss = malloc(tokens * 4);
	uint16_t *dy = malloc(n * 2), *target = malloc(tokens * 2);
	struct wse_loss_args a = {
		.t = t, .v = v, .scale = scale, .backward = (uint32_t)backward, .classes = classes};
	int ret;

	fill(y, n, wild);
	for (uint32_t i = 0; i < tokens; i++)
		target[i] = (uint16_t)(rig_rnd() % classes);
	rig_clear(g);
	a.y = rig_alloc(g, v * t * 4);
	a.dy = rig_alloc(g, v * t * 2);
	a.target = rig_alloc(g, t * 2);
	a.loss = rig_alloc(g, t * 4);
	a.work = rig_alloc(g, 3 * t * 4);
	rig_rows(g, a.y, y, width, tokens, 4);
	rig_tokens(g, a.target, target, tokens, 2);
	ret = rig_kernel(g, "loss", &a, sizeof(a));
	wse_loss_oracle(&g->tile, width, classes, tokens, y, target, rig_float(scale), loss,
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
	ok(!ret, "%s loss, T %u, %u classes, %u more%s%s: %u cycles%s%s", wse_device_uri(g->dev), t,
	   classes, padding, backward ? ", backward" : "", wild ? ", wild" : "", g->cycles,
	   ret ? ": " : "", ret ? g->why : "");
	free(y);
	free(loss);
	free(dy);
	free(target);
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
	return tap_end();
}
