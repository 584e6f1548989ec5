// SPDX-License-Identifier: MIT
/*
 * Linear layers and add of train.elf against the oracles of libwse/ops: the same bits, and nothing
 * else touched.
 */
#include <unistd.h>

#include "base/error.h"
#include "ops/add.h"
#include "ops/linear.h"
#include "rig.h"

static struct wse_buffer *buffer_of(struct rig *g, const void *data, size_t size)
{
	struct wse_buffer *buf;

	if (wse_buffer_create(g->dev, size, &buf)) {
		printf("Bail out! no buffer of %zu bytes\n", size);
		exit(1);
	}
	if (data)
		memcpy(wse_buffer_map(buf), data, size);
	else
		memset(wse_buffer_map(buf), 0x11, size);
	return buf;
}

/* ---- linear layers ---- */

struct shape {
	uint32_t t, kc, nc,
		b; /* tokens of a core, inputs and outputs of a column, features of a block */
	int wild;
};

/*
 * what a pass needs beside the sums: size of an element of aux, is there out, out2; no name: no
 * such pass
 */
static const struct {
	const char *name;
	uint8_t aux, out, out2;
} posts[] = {
	[WSE_POST_NONE] = {"none", 0, 0, 0},	 [WSE_POST_BF16] = {"bf16", 0, 1, 0},
	[WSE_POST_RELU] = {"relu", 0, 1, 0},	 [WSE_POST_GELU_NEW] = {"gelu_new", 0, 1, 1},
	[WSE_POST_GATE] = {"gate", 2, 1, 0},	 [WSE_POST_MUL] = {"mul", 2, 1, 0},
	[WSE_POST_ADD16] = {"add16", 2, 0, 1},	 [WSE_POST_ADD32] = {"add32", 4, 0, 1},
	[WSE_POST_RELU2] = {"relu2", 0, 1, 1},	 [WSE_POST_GELU] = {"gelu", 0, 1, 1},
	[WSE_POST_SWIGLU] = {"swiglu", 0, 1, 1}, [WSE_POST_MUL2] = {"mul2", 2, 1, 0},
	[WSE_POST_SCALE] = {"scale", 0, 0, 0},
};

static struct wse_stream stream_of(const struct rig *g, const struct wse_buffer *buf,
				   const struct shape *s, uint32_t size)
{
	uint32_t cols = g->tile.cols;

	return (struct wse_stream){.buf = buf,
				   .cols = (uint16_t)cols,
				   .nblock = s->nc * cols / s->b,
				   .nfeat = (uint8_t)s->b,
				   .kcol = (uint16_t)s->kc,
				   .lstride = buf ? s->kc * cols * size : 0,
				   .cstride = buf ? s->kc * size : 0};
}

static int run_forward(struct rig *g, const struct shape *s, const struct wse_linear_args *a,
		       const uint16_t *w)
{
	uint32_t n = s->nc * g->tile.cols, k = s->kc * g->tile.cols;
	struct wse_buffer *buf = buffer_of(g, w, (size_t)n * k * 2);
	struct wse_stream in = stream_of(g, buf, s, 2);
	struct drm_wse_cmd cmds[2];
	int ret;

	in.queue = 2;
	in.color = WSE_COLOR_STREAM;
	in.etype = WSE_ETYPE_BF16;
	cmds[0] = wse_cmd_stream_in(in);
	cmds[1] = rig_start(g, "linear_forward", a, sizeof(*a));
	ret = rig_run(g, cmds, 2);
	wse_buffer_destroy(buf);
	return ret;
}

/* where a pass puts its bf16 result: apart; at y (for sums, nowhere); at aux, where that is bf16 */
enum place { APART, AT_Y, AT_AUX };

static void test_forward(struct rig *g, const struct shape *s, enum wse_post post, int bias,
			 enum place place)
{
	/*
	 * the way back through SwiGLU makes as many bytes as there are sums, and reads these twice
	 */
	int at_aux = place == AT_AUX && posts[post].aux == 2,
	    at_y = place == AT_Y && post != WSE_POST_MUL2;
	uint32_t tokens = s->t * g->tile.rows, k = s->kc * g->tile.cols, n = s->nc * g->tile.cols;
	uint32_t size = s->nc * s->t, scale = 0x3e800000 + (rig_rnd() << 8 & 0x7fff00);
	uint16_t *w = rig_numbers((size_t)n * k, 2, 0),
		 *x = rig_numbers((size_t)k * tokens, 2, s->wild);
	uint16_t *out = malloc((size_t)n * tokens * 4), *out2 = malloc((size_t)n * tokens * 2);
	float *b = rig_numbers(n, 4, 0), *y = malloc((size_t)n * tokens * 4);
	void *aux = posts[post].aux ? rig_numbers((size_t)n * tokens * 2, posts[post].aux, s->wild)
				    : NULL;
	/* rows of what it makes and reads beside the sums, of half of the latter's */
	uint32_t outs = n * wse_post_out(post) / 2, auxs = n * wse_post_aux(post) / 2;
	int has_out2 = posts[post].out2 && (posts[post].out || !at_y), ret;
	struct wse_linear_args a = {.t = s->t, .k = s->kc, .b = s->b, .post = post};
	struct wse_linear_post p = {.post = post, .bias = bias ? b : NULL, .aux = aux};

	rig_clear(g);
	a.nblk = n / s->b;
	a.x = rig_alloc(g, s->kc * s->t * 2);
	rig_rows(g, a.x, x, k, tokens, 2);
	a.y = rig_alloc(g, size * 4);
	if (bias) {
		a.bias = rig_alloc(g, s->nc * 4);
		rig_vector(g, a.bias, b, n, 0);
	}
	if (aux) {
		a.aux = rig_alloc(g, auxs / g->tile.cols * s->t * posts[post].aux);
		rig_rows(g, a.aux, aux, auxs, tokens, posts[post].aux);
	}
	if (posts[post].out) {
		a.out = at_y ? a.y : at_aux ? a.aux : rig_alloc(g, outs / g->tile.cols * s->t * 2);
		p.out = out;
	}
	if (has_out2) {
		a.out2 = at_aux ? a.aux : rig_alloc(g, size * 2);
		p.out2 = out2;
	}
	if (post == WSE_POST_BF16) {
		a.scale = scale;
		p.scale = rig_float(scale);
		a.nscale = p.nscale = rig_rnd() % 3 ? rig_rnd() % (s->nc + 1) : 0;
	}
	ret = rig_load(g);
	if (!ret)
		ret = run_forward(g, s, &a, w);
	wse_linear_oracle(&g->tile, k, n, tokens, w, x, y);
	wse_linear_post_oracle(&g->tile, n, tokens, &p, y);
	rig_rows(g, a.y, y, n, tokens, 4);
	if (p.out)
		rig_rows(g, a.out, out, outs, tokens, 2);
	if (p.out && at_y)
		rig_any(g, a.y + outs / g->tile.cols * s->t * 2,
			size * 4 - outs / g->tile.cols * s->t * 2, g->tile.rows);
	if (p.out2)
		rig_rows(g, a.out2, out2, n, tokens, 2);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s T %u K %u N %u B %u %s%s%s%s: Y = X W^T, %u cycles%s%s",
	   wse_device_uri(g->dev), s->t, s->kc, s->nc, s->b, posts[post].name, bias ? ", bias" : "",
	   at_aux	   ? ", at aux"
	   : at_y && p.out ? ", in place"
			   : "",
	   s->wild ? ", wild" : "", g->cycles, ret ? ": " : "", ret ? wse_error() : "");
	free(w);
	free(x);
	free(out);
	free(out2);
	free(b);
	free(y);
	free(aux);
}

static int run_wgrad(struct rig *g, const struct shape *s, const struct wse_wgrad_args *a,
		     const float *want)
{
	uint32_t n = s->nc * g->tile.cols, k = s->kc * g->tile.cols;
	struct wse_buffer *buf = buffer_of(g, NULL, (size_t)n * k * 4);
	struct wse_stream in = stream_of(g, NULL, s, 2), out = stream_of(g, buf, s, 4);
	struct drm_wse_cmd cmds[3];
	int ret;

	in.queue = 2;
	in.color = WSE_COLOR_STREAM;
	in.etype = WSE_ETYPE_BF16;
	in.index_only = 1;
	out.queue = 3;
	out.color = WSE_COLOR_COL + ((g->tile.rows - 1) & 1);
	out.etype = WSE_ETYPE_FP32;
	cmds[0] = wse_cmd_stream_in(in);
	cmds[1] = wse_cmd_stream_out(out);
	cmds[2] = rig_start(g, "linear_wgrad", a, sizeof(*a));
	ret = rig_run(g, cmds, 3);
	if (!ret && memcmp(wse_buffer_map(buf), want, (size_t)n * k * 4))
		ret = wse_fail(-EILSEQ, "other gradients");
	wse_buffer_destroy(buf);
	return ret;
}

static void test_wgrad(struct rig *g, const struct shape *s, int bias)
{
	uint32_t tokens = s->t * g->tile.rows, k = s->kc * g->tile.cols, n = s->nc * g->tile.cols;
	uint16_t *x = rig_numbers((size_t)k * tokens, 2, s->wild),
		 *dy = rig_numbers((size_t)n * tokens, 2, s->wild);
	float *dw = malloc((size_t)n * k * 4), *db = malloc(n * 4);
	struct wse_wgrad_args a = {.t = s->t, .k = s->kc, .b = s->b};
	int ret;

	rig_clear(g);
	a.nblk = n / s->b;
	a.x = rig_alloc(g, s->kc * s->t * 2);
	rig_rows(g, a.x, x, k, tokens, 2);
	a.dy = rig_alloc(g, s->nc * s->t * 2);
	rig_rows(g, a.dy, dy, n, tokens, 2);
	if (bias)
		a.db = rig_alloc(g, s->nc * 4);
	wse_linear_wgrad_oracle(&g->tile, k, n, tokens, x, dy, dw);
	wse_linear_bgrad_oracle(&g->tile, n, tokens, dy, db);
	ret = rig_load(g);
	if (!ret)
		ret = run_wgrad(g, s, &a, dw);
	if (bias) {
		rig_vector(g, a.db, db, n, g->tile.rows - 1);
		rig_any(g, a.db, s->nc * 4, g->tile.rows - 1);
	}
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s T %u K %u N %u B %u%s%s: dW = dY^T X, %u cycles%s%s", wse_device_uri(g->dev),
	   s->t, s->kc, s->nc, s->b, bias ? ", bias" : "", s->wild ? ", wild" : "", g->cycles,
	   ret ? ": " : "", ret ? wse_error() : "");
	free(x);
	free(dy);
	free(dw);
	free(db);
}

/* ---- add ---- */

/* where: out at a place of its own, at a, at b */
static void test_add(struct rig *g, uint32_t t, uint32_t per, int where)
{
	uint32_t tokens = t * g->tile.rows, width = per * g->tile.cols;
	uint16_t *a = rig_numbers((size_t)width * tokens, 2, 1),
		 *b = rig_numbers((size_t)width * tokens, 2, 1);
	struct wse_add_args args = {.n = per * t};
	int ret;

	rig_clear(g);
	args.a = rig_alloc(g, args.n * 2);
	args.b = rig_alloc(g, args.n * 2);
	args.out = where == 0 ? rig_alloc(g, args.n * 2) : where == 1 ? args.a : args.b;
	rig_rows(g, args.a, a, width, tokens, 2);
	rig_rows(g, args.b, b, width, tokens, 2);
	ret = rig_kernel(g, "add", &args, sizeof(args));
	wse_add_oracle((size_t)width * tokens, a, b, a);
	rig_rows(g, args.out, a, width, tokens, 2);
	if (!ret)
		ret = rig_compare(g);
	ok(!ret, "%s add, T %u, %u features, %s: %u cycles%s%s", wse_device_uri(g->dev), t, per,
	   where ? "in place" : "elsewhere", g->cycles, ret ? ": " : "", ret ? wse_error() : "");
	free(a);
	free(b);
}

/* ---- a device ---- */

static void random_shape(struct shape *s, uint32_t t)
{
	s->t = t;
	s->kc = 4 + 4 * (rig_rnd() % 4);
	s->nc = 4 + 4 * (rig_rnd() % 3);
	do
		s->b = 1u << rig_rnd() % 3;
	while (s->b * t > WSE_NACC);
	s->wild = rig_rnd() % 4 == 0;
}

static int has_pass(const char *program, uint32_t post)
{
	return posts[post].name && (post < WSE_POST_SWIGLU || !strncmp(program, "full", 4));
}

static void test_device(const char *uri, const char *program, uint64_t seed, int many)
{
	static const uint32_t tokens[] = {8, 16, 32, 64};
	struct rig g;
	struct shape s;

	if (rig_open_program(&g, uri, program))
		return;
	rig_seed = seed;
	for (uint32_t post = 0; post < sizeof(posts) / sizeof(posts[0]); post++) {
		if (!has_pass(program, post))
			continue;
		for (uint32_t i = 0; i < (many ? 8u : 2u); i++) {
			random_shape(&s, tokens[many ? i % 4 : rig_rnd() % 4]);
			test_forward(&g, &s, post, many ? i / 4 : i, rig_rnd() % 3);
		}
	}
	for (uint32_t i = 0; i < (many ? 16u : 4u); i++) {
		random_shape(&s, tokens[i % 4]);
		test_wgrad(&g, &s, i & 1);
	}
	for (int i = 0; i < 3; i++)
		test_add(&g, 8 << i, 5 - i, i);
	rig_close(&g);
}

/* a phase's program has some of the kernels, and some of the passes: bits of `has` */
static void test_phase(const char *program, uint32_t has, int wgrad)
{
	static const struct shape s = {16, 8, 8, 4, 0};
	struct rig g;

	for (uint32_t post = 0; post < sizeof(posts) / sizeof(posts[0]); post++) {
		struct wse_linear_args a = {.t = 16, .k = 8, .nblk = 4, .b = 4, .post = post};
		uint16_t *w = rig_numbers(16 * 16, 2, 0);

		if (!posts[post].name) {
			free(w);
			continue;
		}
		if (rig_open_program(&g, "sim:func,rows=2,cols=2", program)) {
			free(w);
			return;
		}
		if (has >> post & 1) {
			test_forward(&g, &s, post, 1, APART);
		} else {
			a.x = a.y = a.out = a.out2 = a.aux = WSE_SRAM_BASE + g.base;
			ok(run_forward(&g, &s, &a, w) == -EFAULT, "%s has no pass %s: %s", program,
			   posts[post].name, wse_error());
		}
		if (!post && wgrad)
			test_wgrad(&g, &s, 1);
		rig_close(&g);
		free(w);
	}
}

int main(void)
{
	alarm(600);
	test_device("sim:func,rows=1,cols=1", "train.elf", 1, 1);
	test_device("sim:func,rows=2,cols=2,races=1", "train.elf", 2, 1);
	test_device("sim:func,rows=2,cols=2,shuffle=1,seed=7", "train.elf", 2, 1);
	test_device("sim:func,rows=2,cols=3,shuffle=1,seed=3", "train.elf", 3, 1);
	test_device("sim:func,rows=4,cols=4", "train.elf", 4, 1);
	test_device("sim:rtl,rows=2,cols=2", "train.elf", 5, 0);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "train.elf", 6, 0);
	test_device("sim:rtl,rows=4,cols=4,seed=9", "train.elf", 7, 0);
	test_device("sim:func,rows=2,cols=3,races=1", "full.elf", 8, 1);
	test_device("sim:rtl,rows=2,cols=2,seed=7", "full.elf", 9, 0);
	test_device("sim:rtl,rows=4,cols=4", "full.elf", 10, 0);
	test_phase("forward.elf",
		   1 << WSE_POST_BF16 | 1 << WSE_POST_RELU | 1 << WSE_POST_GELU_NEW |
			   1 << WSE_POST_GELU | 1 << WSE_POST_RELU2 | 1 << WSE_POST_ADD16 |
			   1 << WSE_POST_ADD32,
		   0);
	test_phase("backward.elf",
		   1 << WSE_POST_NONE | 1 << WSE_POST_BF16 | 1 << WSE_POST_GATE |
			   1 << WSE_POST_MUL | 1 << WSE_POST_ADD32,
		   1);
	test_phase("full_forward.elf",
		   1 << WSE_POST_BF16 | 1 << WSE_POST_RELU | 1 << WSE_POST_GELU |
			   1 << WSE_POST_GELU_NEW | 1 << WSE_POST_RELU2 | 1 << WSE_POST_ADD16 |
			   1 << WSE_POST_ADD32 | 1 << WSE_POST_SWIGLU,
		   0);
	test_phase("full_backward.elf",
		   1 << WSE_POST_NONE | 1 << WSE_POST_BF16 | 1 << WSE_POST_GATE |
			   1 << WSE_POST_MUL | 1 << WSE_POST_ADD32 | 1 << WSE_POST_MUL2,
		   1);
	test_phase("loss.elf",
		   1 << WSE_POST_NONE | 1 << WSE_POST_BF16 | 1 << WSE_POST_ADD32 |
			   1 << WSE_POST_SCALE,
		   1);
	return tap_end();
}
