// SPDX-License-Identifier: MIT
/*
 * Rotary positions of full.elf and its phases against their oracle: the same bits, and nothing else
 * touched.
 */
#include <unistd.h>

#include "ops/rope.h"
#include "rig.h"

static void test(struct rig *g, const struct wse_rope_args *shape, int wild)
{
	uint32_t tokens = shape->t * g->tile.rows, per = shape->d * shape->heads;
	uint32_t width = per * g->tile.cols, pairs = wse_rope_pairs(shape->pairs, shape->d);
	uint32_t rows = 2 * pairs;
	uint16_t *x = rig_numbers((size_t)width * tokens, 2, wild);
	float *table = rig_numbers((size_t)rows * g->tile.cols * tokens, 4, wild);
	struct wse_rope_args a = *shape;
	struct wse_rope r = {tokens, a.d, a.heads, a.pairs, 0, (int)a.back};
	int ret;

	rig_clear(g);
	a.x = rig_alloc(g, per * a.t * 2);
	a.table = rig_alloc(g, rows * a.t * 4);
	rig_rows(g, a.x, x, width, tokens, 2);
	rig_rows(g, a.table, table, rows * g->tile.cols, tokens, 4);
	ret = rig_kernel(g, "rope", &a, sizeof(a));
	for (uint32_t c = 0; c < g->tile.cols; c++) {
		r.first = c % a.group * (a.d / 2);
		wse_rope_oracle(&r, table + (size_t)c * rows * tokens,
				x + (size_t)c * per * tokens);
	}
	rig_rows(g, a.x, x, width, tokens, 2);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s %s, T %u, %u heads of %u, %u pairs, %u columns a head%s: %u cycles%s%s",
	   wse_device_uri(g->dev), a.back ? "back" : "forward", a.t, a.heads, a.d, a.pairs, a.group,
	   wild ? ", wild" : "", g->cycles, ret ? ": " : "", ret ? wse_error() : "");
	free(x);
	free(table);
}

static void test_device(const char *uri, const char *program, uint64_t seed, uint32_t many)
{
	static const uint32_t tokens[] = {8, 16, 24, 32, 40, 64};
	struct rig g;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = seed;
	for (uint32_t i = 0; i < many; i++) {
		struct wse_rope_args a = {.t = tokens[i % 6], .group = 1, .back = i / 2 & 1};

		a.heads = 1 + rig_rnd() % 3;
		a.d = 4 + 4 * (rig_rnd() % 4);
		while (g.tile.cols % a.group || (i % 3 == 2 && a.group == 1 && g.tile.cols > 1))
			a.group++;
		a.pairs = 1 + rig_rnd() % (a.d / 2 * a.group);
		test(&g, &a, rig_rnd() % 4 == 0);
	}
	rig_close(&g);
}

int main(void)
{
	alarm(600);
	test_device("sim:func,rows=1,cols=1", "full.elf", 1, 12);
	test_device("sim:func,rows=2,cols=3,shuffle=1,seed=3", "full.elf", 2, 24);
	test_device("sim:func,rows=4,cols=4,races=1", "full.elf", 3, 24);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "full.elf", 4, 12);
	test_device("sim:rtl,rows=4,cols=4", "full.elf", 5, 12);
	test_device("sim:func,rows=2,cols=2", "full_forward.elf", 6, 6);
	test_device("sim:func,rows=2,cols=2", "full_backward.elf", 7, 6);
	return tap_end();
}
