// SPDX-License-Identifier: MIT
/*
 * Tensors: where they lie in a unit's buffers and images, that the optimizer updates all of a
 * model's table, whatever the graph knows of it, and what they begin as.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memx/memx.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "num/num.h"
#include "base/error.h"
#include "ops/ops.h"
#include "heap.h"
#include "memx/map.h"
#include "state.h"
#include "tap.h"

static uint64_t draws;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)(wse_rng_u64(11, 0, draws++) % n);
}

/* ---- where tensors lie ---- */

/* every element of a tensor is in one piece, at a place of its own inside of the buffer */
static int pieces_are_right(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
			    const struct wse_tensor *t, unsigned char *taken)
{
	unsigned char *seen = calloc(1, t->count);
	struct wse_piece p;
	int bad = 0;

	for (size_t i = 0; wse_unit_piece(g, u, which, t, i, &p); i++) {
		if (p.from + p.count > t->count || p.at + p.count > wse_unit_grad_floats(g, u)) {
			bad = 1;
			break;
		}
		for (size_t j = 0; j < p.count; j++)
			bad += seen[p.from + j]++ || taken[p.at + j]++;
	}
	for (size_t i = 0; i < t->count; i++)
		bad += !seen[i];
	free(seen);
	return !bad;
}

static void pieces(void)
{
	int bad = 0;

	for (int k = 0; k < 200; k++) {
		const struct wse_tile tile = {
			.rows = 1, .cols = 1 + rnd(4), .lanes = 8, .sram = 1u << 20};
		struct wse_tensor_table tab = {0};
		struct wse_graph g;
		uint32_t parts = 1 + 2 * rnd(2), h = 4 * (1 + rnd(3)), ins = 4 * tile.cols;
		uint32_t outs = h * tile.cols * parts, unit, pad = parts == 1 ? rnd(3) : 0;
		const struct wse_unit *u;
		unsigned char *taken;

		wse_graph_init(&g, &tile, 8);
		wse_tensor_add(&tab, 0, 0, 0, outs - pad, ins, "matrix");
		wse_tensor_add(&tab, 0, 0, 0, outs - pad, 0, "bias");
		wse_tensor_add(&tab, 0, 0, 0, 3 * tile.cols, 0, "gain");
		unit = wse_graph_unit(&g, rnd(2) ? 0 : WSE_NO_TENSOR, outs, ins, parts);
		/* chunks in order may be padded like a matrix that has none */
		if (parts == 1 && rnd(2))
			wse_graph_chunks_in_order(&g, unit, h / 4);
		wse_graph_vec(&g, unit, 2, 3 * tile.cols, 1);
		bad += wse_graph_vec(&g, unit, 1, outs, 1) % 4 != 0;
		u = &g.units[unit];
		taken = calloc(1, wse_unit_grad_floats(&g, u));
		if (u->weight != WSE_NO_TENSOR)
			bad += !pieces_are_right(&g, u, 0, &tab.t[0], taken);
		bad += !pieces_are_right(&g, u, 1, &tab.t[2], taken);
		bad += !pieces_are_right(&g, u, 2, &tab.t[1], taken);
		free(taken);
		wse_graph_fini(&g);
		wse_tensor_table_fini(&tab);
	}
	ok(!bad, "every element of a tensor has one place in its unit's buffer");
}

/* ---- the state, in the order of the images ---- */

/*
 * parameters are wse_tensor_init()'s, and what is written anywhere is read there, and alone there
 */
static int map_is_right(const struct wse_graph *g, const struct wse_tensor_table *tab)
{
	float *init = malloc(tab->params * sizeof(*init)),
	      *got = malloc(tab->params * sizeof(*got));
	struct wse_map m;
	int bad = wse_map_make(&m, g, tab, 0, 1) || wse_store_ram(&m.kept, 2, &m.store);

	wse_tensor_init(tab, 5, init);
	bad += bad || wse_map_init(&m, 5, m.pieces.n);
	for (int round = 0; round < 6 && !bad; round++) {
		uint32_t t = rnd(tab->n);
		size_t from = rnd((uint32_t)tab->t[t].count);
		size_t n = rnd((uint32_t)(tab->t[t].count - from)) + 1;

		for (uint32_t i = 0; i < tab->n; i++)
			bad += wse_map_copy(&m, WSE_MEMX_P, i, 0, tab->t[i].count,
					    got + tab->t[i].off, NULL) != 0;
		bad += memcmp(got, init, tab->params * sizeof(*init)) != 0;
		for (size_t j = 0; j < n; j++)
			init[tab->t[t].off + from + j] = (float)(round + (int)j);
		bad += wse_map_copy(&m, WSE_MEMX_P, t, from, n, NULL,
				    init + tab->t[t].off + from) != 0;
	}
	for (uint32_t i = 0; i < tab->n && !bad; i++) {
		bad += wse_map_copy(&m, WSE_MEMX_M, i, 0, tab->t[i].count, got, NULL) != 0;
		for (size_t j = 0; j < tab->t[i].count; j++)
			bad += got[j] != 0;
	}
	m.store->ops->close(m.store);
	wse_map_fini(&m);
	free(init);
	free(got);
	return !bad;
}

static void maps(void)
{
	int bad = 0, kinds[4] = {0};

	for (int k = 0; k < 200; k++) {
		const struct wse_tile tile = {
			.rows = 1, .cols = 1 + rnd(4), .lanes = 8, .sram = 1u << 20};
		struct wse_tensor_table tab = {0};
		struct wse_graph g;
		uint32_t kind = rnd(4), parts = kind == 1 ? 3 : 1, cols = tile.cols;
		uint32_t ins = 8 * cols * (1 + rnd(40)), outs = 8 * (1 + rnd(10)) * cols * parts;
		uint32_t pad = kind ? 0 : rnd(3);

		wse_graph_init(&g, &tile, 8);
		wse_tensor_add(&tab, 0, 0, 1.0f, 1 + rnd(30), 1 + rnd(30), "in no unit");
		wse_tensor_add(&tab, 0, 0.5f, 1.0f, outs - pad, ins, "matrix");
		wse_tensor_add(&tab, 0, 0, 1.0f, outs - pad, 0, "bias");
		wse_tensor_add(&tab, 0, 1.0f, 0, 3 * cols, 0, "gain");
		wse_graph_unit(&g, 1, outs, ins, parts);
		if (kind == 2)
			wse_graph_chunks(&g, 0, 2, 1);
		else if (kind == 3)
			wse_graph_chunks(&g, 0, 1, 2);
		wse_graph_unit(&g, WSE_NO_TENSOR, 0, 0, 1);
		wse_graph_vec(&g, 0, 2, outs, parts);
		wse_graph_vec(&g, 1, 3, 3 * cols, 1);
		kinds[kind]++;
		bad += !map_is_right(&g, &tab);
		wse_graph_fini(&g);
		wse_tensor_table_fini(&tab);
	}
	ok(!bad && kinds[0] && kinds[1] && kinds[2] && kinds[3],
	   "200 graphs, parts, chunks and padding: initial values, and what is written is read");
}

/* ---- a table with more than the graph knows ---- */

static void model(struct wse_model *m, uint32_t hidden)
{
	wse_mlp_init(m, 4, 4, 32, &hidden, 1, WSE_RELU);
}

static const struct wse_tile small = {.rows = 2, .cols = 2, .lanes = 8, .sram = 1u << 20};

enum { SPARE = 5, NSPARE = 7 };

static int more_tensors(const struct wse_model *m, struct wse_tensor_table *tab)
{
	int ret = wse_family_mlp.tensors(m, tab);

	return ret ? ret
	       : wse_tensor_add(tab, WSE_TENSOR_DECAY, 1.0f, 0.5f, NSPARE, 0, "spare") == SPARE
		       ? 0
		       : -ENOMEM;
}

/* two steps, the second with a gradient of 0: every bit as the optimizer's function has it */
static void spare_tensor(void)
{
	struct wse_model_family family = wse_family_mlp;
	struct wse_memx_cfg c = {.seed = 3};
	struct wse_memx *mx;
	struct state s;
	struct wse_graph g;
	float *grads[2], p[NSPARE], m[NSPARE] = {0}, v[NSPARE] = {0};
	double norm, lr, pow1 = 1, pow2 = 1;
	int ret, same = 1, spread = 0;

	model(&c.model, 16);
	family.name = "mlp and more";
	family.tensors = more_tensors;
	c.model.family = &family;
	c.optim = (struct wse_optim_cfg){WSE_OPTIM_ADAMW, 0.9, 0.95, 1e-8, 0, 0.1};
	c.sched = (struct wse_sched_list){1, {{WSE_SCHED_CONSTANT, 0.01, 0.01, 1, 0}}};
	ret = c.model.family->graph(&c.model, &small, 8, 0, &g);
	ret = ret ? ret : wse_memx_open(&c, &g, &heap, &mx);
	if (!ok(!ret, "a table with a tensor that is in no unit"))
		return;
	s = state_of(mx);
	memcpy(p, s.params + s.table->t[SPARE].off, sizeof(p));
	for (int i = 0; i < NSPARE; i++)
		spread += p[i] != 1.0f && p[i] > -2.0f && p[i] < 4.0f;
	ok(s.table->n == SPARE + 1 && spread == NSPARE, "it has its initial values, around 1");
	for (int u = 0; u < 2; u++)
		grads[u] = calloc(wse_unit_grad_floats(&g, &g.units[u]), sizeof(float));
	for (int step = 0; step < 2; step++) {
		struct wse_update u = {.lr = 0.01, .grad_scale = 1.0f, .decay = 1};
		float d[NSPARE] = {0};
		uint32_t row[NSPARE];
		const struct wse_rows rows = {NSPARE, 1, row, d};

		wse_memx_grads(mx, grads);
		for (int i = 0; i < NSPARE && !step; i++) {
			row[i] = (uint32_t)i;
			d[i] = (float)(i - 3);
		}
		if (!step)
			wse_memx_grad_rows(mx, SPARE, &rows);
		u.beta1_pow = pow1 *= c.optim.beta1;
		u.beta2_pow = pow2 *= c.optim.beta2;
		wse_optim_update(&c.optim, &u, NSPARE, p, m, v, d);
		same &= !wse_memx_commit(mx, &norm, &lr) &&
			(step ? norm == 0 : norm > 5.29 && norm < 5.30); /* sqrt(28) */
		wse_memx_finish(mx);
		state_again(mx, &s);
		same &= !memcmp(p, s.params + s.table->t[SPARE].off, sizeof(p)) &&
			!memcmp(m, s.m + s.table->t[SPARE].off, sizeof(m)) &&
			!memcmp(v, s.v + s.table->t[SPARE].off, sizeof(v));
	}
	ok(same, "the optimizer updates it, and its gradient counts for the norm");
	state_free(&s);
	wse_memx_close(mx);
	wse_graph_fini(&g);
	free(grads[0]);
	free(grads[1]);
}

/* ---- images of units with parts, with padding, and in chunks of inputs ---- */

enum { OUTS = 24, INS = 8, PARTS = 3, COLS = 2, H = OUTS / PARTS / COLS, PADDED = 16, ROWS = 13 };
enum { CHUNKS = 2, SHARE = INS / CHUNKS / COLS };

static int matrices(const struct wse_model *m, struct wse_tensor_table *tab)
{
	(void)m;
	wse_tensor_add(tab, 0, 0.0f, 1.0f, OUTS, INS, "parts");
	wse_tensor_add(tab, 0, 0.0f, 1.0f, ROWS, INS, "padded");
	return wse_tensor_add(tab, 0, 0.0f, 1.0f, OUTS, INS, "chunks") == 2 ? 0 : -ENOMEM;
}

static int row_is(const struct wse_image *img, uint32_t outs, uint32_t row, const float *w)
{
	const uint16_t *fwd = wse_span_ptr(img->fwd), *tr = wse_span_ptr(img->tr);
	int bad = 0;

	for (uint32_t k = 0; k < INS; k++) {
		uint16_t want = w ? wse_f32_to_bf16(w[k]) : 0;

		bad += fwd[row * INS + k] != want || tr[k * outs + row] != want;
	}
	return !bad;
}

static void unit_images(void)
{
	const struct wse_model_family family = {.name = "three", .tensors = matrices};
	const struct wse_tile tile = {.rows = 1, .cols = COLS, .lanes = 8, .sram = 1u << 20};
	struct wse_memx_cfg c = {.seed = 3, .model.family = &family};
	const struct wse_image *img;
	struct wse_memx *mx;
	struct wse_graph g;
	struct state s;
	int bad = 0;

	wse_graph_init(&g, &tile, 8);
	wse_graph_unit(&g, 0, OUTS, INS, PARTS);
	wse_graph_unit(&g, 1, PADDED, INS, 1);
	wse_graph_chunks(&g, wse_graph_unit(&g, 2, OUTS, INS, 1), 1, CHUNKS);
	if (!ok(!wse_memx_open(&c, &g, &heap, &mx), "units of parts, of padding, of chunks"))
		return;
	s = state_of(mx);
	img = wse_memx_images(mx);
	for (uint32_t p = 0; p < PARTS; p++)
		for (uint32_t col = 0; col < COLS; col++)
			for (uint32_t i = 0; i < H; i++)
				bad += !row_is(&img[0], OUTS, col * PARTS * H + p * H + i,
					       s.params + (p * H * COLS + col * H + i) * INS);
	ok(!bad, "a column has its features of each part");
	bad = 0;
	for (uint32_t n = 0; n < PADDED; n++)
		bad += !row_is(&img[1], PADDED, n,
			       n < ROWS ? s.params + s.table->t[1].off + n * INS : NULL);
	ok(!bad, "rows beyond the tensor are 0");
	bad = 0;
	for (uint32_t n = 0; n < OUTS; n++) {
		float w[INS];

		for (uint32_t k = 0; k < INS; k++)
			w[k / SHARE % CHUNKS * SHARE * COLS + k / SHARE / CHUNKS * SHARE +
			  k % SHARE] = s.params[s.table->t[2].off + n * INS + k];
		bad += !row_is(&img[2], OUTS, n, w);
	}
	ok(!bad, "chunk by chunk, each column's share of the inputs");
	state_free(&s);
	wse_memx_close(mx);
	wse_graph_fini(&g);
}

/* ---- initial values ---- */

/* normal numbers that are cut off: the mean and deviation of n of them */
static void moments(const float *p, size_t n, double *mean, double *dev)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i];
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (p[i] - *mean) * (p[i] - *mean);
	*dev = sqrt(squares / (double)n);
}

static void bounded(void)
{
	enum { N = 50000 };
	static float p[2 * N], again[2 * N];
	struct wse_tensor_table tab = {0};
	uint32_t redrawn = 0, outside = 0, changed = 0;
	double mean, dev;

	wse_tensor_add(&tab, 0, 0.5f, 0.02f, N, 0, "free");
	wse_tensor_add(&tab, 0, 0.5f, 0.02f, N, 0, "bounded");
	wse_tensor_init(&tab, 7, again);
	wse_tensor_between(&tab, 1, 0.46f, 0.54f);
	wse_tensor_init(&tab, 7, p);
	for (uint32_t i = N; i < 2 * N; i++) {
		int in = again[i] >= 0.46f && again[i] <= 0.54f;

		outside += p[i] < 0.46f || p[i] > 0.54f;
		changed += in && p[i] != again[i];
		redrawn += !in;
	}
	ok(!memcmp(p, again, N * sizeof(*p)) && !changed && !outside && redrawn > N / 25,
	   "%u of %d values are drawn again, the others stay what they are", redrawn, N);
	moments(p + N, N, &mean, &dev);
	/* two deviations to each side: the deviation of what is left is 0.8796 */
	ok(fabs(mean - 0.5) < 0.0003 && fabs(dev / 0.02 - 0.8796) < 0.01,
	   "their mean is %.4f, their deviation %.4f of the normal one's", mean, dev / 0.02);
	wse_tensor_between(&tab, 1, 0.5f, 0.502f);
	wse_tensor_init(&tab, 7, p);
	outside = 0;
	for (uint32_t i = N; i < 2 * N; i++)
		outside += p[i] < 0.5f || p[i] > 0.502f;
	ok(!outside, "all lie between narrow bounds");
	wse_tensor_table_fini(&tab);
}

/* a GPT's initial weights by Model Zoo's keys: which tensors each of them is about */
static void gpt_initials(void)
{
	struct wse_gpt shape = {.vocab = 64,
				.positions = 32,
				.seq = 32,
				.hidden = 64,
				.layers = 2,
				.heads = 4,
				.act = WSE_GELU_NEW,
				.filter = 256,
				.dev = 0.02f,
				.learned = 1};
	static const struct {
		const char *name;
		float low, high;
	} want[] = {{"transformer.wte.weight", 0.3f, 0.5f},
		    {"transformer.wpe.weight", 0.3f, 0.5f},
		    {"transformer.h.1.attn.c_attn.weight", -0.02f, 0.02f},
		    {"transformer.h.1.attn.c_proj.weight", -0.5f, -0.3f},
		    {"transformer.h.0.mlp.c_fc.weight", -0.02f, 0.02f},
		    {"transformer.h.0.mlp.c_proj.weight", -0.5f, -0.3f}};
	struct wse_tensor_table tab = {0};
	struct wse_model m;
	uint32_t bad = 0;
	float *p;

	shape.initial = (struct wse_initial){0, 0.02f, -0.02f, 0.02f};
	shape.embed = (struct wse_initial){0.4f, 0.1f, 0.3f, 0.5f};
	shape.residual = (struct wse_initial){-0.4f, 0.1f, -0.5f, -0.3f};
	wse_gpt_init(&m, &shape);
	bad += m.family->tensors(&m, &tab) != 0;
	p = malloc(tab.params * sizeof(*p));
	wse_tensor_init(&tab, 3, p);
	for (uint32_t k = 0; k < sizeof(want) / sizeof(*want); k++)
		for (uint32_t i = 0; i < tab.n; i++)
			for (size_t j = 0;
			     j < tab.t[i].count && !strcmp(tab.t[i].name, want[k].name); j++)
				bad += p[tab.t[i].off + j] < want[k].low ||
				       p[tab.t[i].off + j] > want[k].high;
	ok(!bad, "embeddings, layers and what adds to the residual each lie between their bounds");
	free(p);
	wse_tensor_table_fini(&tab);
	shape.residual = shape.embed = (struct wse_initial){0};
	wse_gpt_init(&m, &shape);
	m.family->tensors(&m, &tab);
	ok(tab.t[0].dev == 0.02f && tab.t[0].high == 0.02f && tab.t[6].dev == 0.01f &&
		   tab.t[6].low == -0.01f,
	   "what is not given: embeddings as the layers, the residual's smaller by the layers: %s %g",
	   tab.t[6].name, (double)tab.t[6].high);
	wse_tensor_table_fini(&tab);
}

/* the place of a tensor's element in its unit, by the pieces in turn and by the piece of it */
static size_t place_of(const struct wse_graph *g, uint32_t which, const struct wse_tensor *t,
		       size_t from, int *bad)
{
	const struct wse_unit *u = &g->units[0];
	size_t i = wse_unit_piece_of(g, u, which, from);
	struct wse_piece p;

	*bad += !wse_unit_piece(g, u, which, t, i, &p) || from < p.from || from - p.from >= p.count;
	return p.at + (from - p.from);
}

/*
 * queries, keys and values of every number of heads, columns and columns a head, with padding in
 * each head and in the inputs or without: where each feature must be, by words of its own
 */
static void heads(void)
{
	uint32_t shared = 0, spread = 0, padded = 0;
	int bad = 0;

	for (int k = 0; k < 300; k++) {
		const struct wse_tile tile = {
			.rows = 1, .cols = 1 + rnd(4), .lanes = 8, .sram = 1u << 20};
		uint32_t kv = rnd(2) ? tile.cols * (1 + rnd(2)) : 1, queries = 1 + rnd(3);
		uint32_t group = kv < tile.cols ? tile.cols : 1, own = 4 * (1 + rnd(2));
		struct wse_heads h = {kv * queries, kv, own * group, 0, 0};
		uint32_t width = h.heads * h.d, outs = width + 2 * kv * h.d;
		uint32_t real = h.d - (rnd(2) ? 1 + rnd(3) : 0), all_ins = 8 * tile.cols;
		uint32_t ins = rnd(2) ? all_ins - rnd(8) : all_ins;
		uint32_t per = outs / tile.cols, qc = h.heads * group / tile.cols;
		struct wse_tensor_table tab = {0};
		unsigned char *taken;
		struct wse_graph g;

		h.real = real < h.d ? real : 0;
		padded += h.real && ins < all_ins;
		if (rnd(2) && real > 1)
			h.halves = 2 * (1 + rnd(real / 2));
		shared += queries > 1;
		spread += queries > 1 && group > 1;
		wse_graph_init(&g, &tile, 8);
		wse_tensor_add(&tab, 0, 0, 0, outs / h.d * real, ins, "qkv");
		wse_tensor_add(&tab, 0, 0, 0, outs / h.d * real, 0, "bias");
		wse_tensor_add(&tab, 0, 0, 0, 4 * tile.cols, h.heads * real, "proj");
		wse_graph_unit(&g, 0, outs, all_ins, 1);
		wse_graph_heads(&g, 0, &h, 0);
		wse_graph_pad(&g, 0, outs, ins);
		bad += wse_graph_vec_heads(&g, 0, 1, &h) != 0;
		taken = calloc(1, wse_unit_grad_floats(&g, &g.units[0]));
		for (uint32_t which = 0; which < 2; which++)
			bad += !pieces_are_right(&g, &g.units[0], which, &tab.t[which], taken);
		free(taken);
		for (uint32_t n = 0; n < outs / h.d * real; n++) {
			uint32_t head = n / real, f = n % real, c, in, j;

			/* a pair is i, i + halves / 2 */
			if (head < h.heads + kv && f < h.halves)
				f = f % (h.halves / 2) * 2 + f / (h.halves / 2);
			if (head < h.heads) {
				c = head / qc * group;
				in = head % qc;
			} else {
				uint32_t kc = kv * group / tile.cols;

				j = (head - h.heads) % kv;
				c = j / kc * group;
				in = qc + (head - h.heads) / kv * kc + j % kc;
			}
			c += f / own;
			j = c * per + in * own + f % own;
			bad += place_of(&g, 0, &tab.t[0], n * 1ul * ins + ins - 1, &bad) !=
			       j * 1ul * all_ins + ins - 1;
			bad += place_of(&g, 1, &tab.t[1], n, &bad) !=
			       outs * 8ul * tile.cols + c * g.units[0].vec_rows + in * own +
				       f % own;
		}
		wse_graph_fini(&g);
		/* inputs of the next layer stand where the queries of the same features do */
		wse_graph_init(&g, &tile, 8);
		wse_graph_unit(&g, 2, 4 * tile.cols, width, 1);
		wse_graph_heads(&g, 0, &h, 1);
		taken = calloc(1, wse_unit_grad_floats(&g, &g.units[0]));
		bad += !pieces_are_right(&g, &g.units[0], 0, &tab.t[2], taken);
		free(taken);
		for (uint32_t n = 0; n < h.heads * real; n++) {
			uint32_t head = n / real, f = n % real, c = head / qc * group + f / own;

			bad += place_of(&g, 0, &tab.t[2], 2ul * h.heads * real + n, &bad) !=
			       2ul * width + (c * qc + head % qc) * own + f % own;
		}
		wse_graph_fini(&g);
		wse_tensor_table_fini(&tab);
	}
	ok(!bad && shared > 50 && spread > 20 && padded > 20,
	   "300 shapes of heads: each feature where it should be, %u with shared keys, %u of these "
	   "over columns, %u with padding in heads and inputs",
	   shared, spread, padded);
}

int main(void)
{
	pieces();
	heads();
	maps();
	spare_tensor();
	unit_images();
	bounded();
	gpt_initials();
	return tap_end();
}
