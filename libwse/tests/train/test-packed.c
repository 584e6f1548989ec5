// SPDX-License-Identifier: MIT
/*
 * Packed images and gradients against the order that the port sends in, element by element: what
 * streams read, what comes back, what lies row by row. And images without a mask.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/packed.h"
#include "memx/mask.h"
#include "num/num.h"
#include "tap.h"

enum { DENSE = 200 }; /* percent of an image without a mask */

static uint64_t draws;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)(wse_rng_u64(21, 0, draws++) % n);
}

/* an image with a mask, and its elements in the order of the areas */
struct image {
	struct wse_graph g;
	struct wse_unit u;
	int back;
	struct wse_mask_shape m;
	unsigned char *bits;
	struct wse_packed p;
	size_t floats;
	/* bytes before an element's place in the areas, of bf16 and of binary32; its place */
	size_t *at2, *at4, *place, n;
};

/* hw/doc/fabric.md, edges: block by block, then element by element, then row by row of a block */
static void list(struct image *x)
{
	const struct wse_packed *p = &x->p;

	for (uint32_t i = 0; i < p->nruns; i++) {
		const struct wse_packed_run *r = &p->run[i];

		for (uint32_t c = 0; c < p->cols; c++) {
			size_t in = 0;

			for (uint32_t row = r->row; row < r->end; row += x->g.nfeat)
				for (uint32_t k = 0; k < x->m.run; k++)
					for (uint32_t f = 0; f < x->g.nfeat; f++) {
						size_t j = r->first + (size_t)c * x->m.run + k;

						if (!wse_mask_get(&x->m, x->bits, row + f, j))
							continue;
						x->at2[x->n] = r->at2 +
							       c * wse_packed_stride(r, 2) + 2 * in;
						x->at4[x->n] = r->at4 +
							       c * wse_packed_stride(r, 4) +
							       4 * in++;
						x->place[x->n++] = (row + f) * x->m.width + j;
					}
		}
	}
}

static int make(struct image *x, uint32_t cols, uint32_t nfeat, uint32_t outs, uint32_t ins,
		uint32_t chunks[3], int back, uint32_t percent, uint64_t most)
{
	*x = (struct image){.back = back};
	x->g.tile.cols = cols;
	x->g.nfeat = nfeat;
	x->u = (struct wse_unit){.outs = outs,
				 .ins = ins,
				 .parts = 1,
				 .chunks_out = chunks[0],
				 .chunks_in = chunks[1],
				 .chunks_back = chunks[2]};
	x->m = wse_mask_shape(&x->g, &x->u, back);
	x->floats = (size_t)outs * ins;
	x->bits = calloc(wse_mask_bytes(&x->m), 1);
	x->at2 = calloc(x->floats + 1, sizeof(*x->at2));
	x->at4 = calloc(x->floats + 1, sizeof(*x->at4));
	x->place = calloc(x->floats + 1, sizeof(*x->place));
	for (size_t i = 0; i < x->floats; i++)
		wse_mask_set(&x->m, x->bits, i / x->m.width, i % x->m.width, rnd(100) < percent);
	if (wse_packed_init(&x->p, &x->g, &x->u, back, percent > 100 ? NULL : x->bits, most))
		return -1;
	list(x);
	return 0;
}

static void drop(struct image *x)
{
	wse_packed_fini(&x->p);
	free(x->bits);
	free(x->at2);
	free(x->at4);
	free(x->place);
}

/* into the areas and back */
static size_t images(const struct image *x)
{
	uint16_t *dense = malloc(x->floats * 2), *again = malloc(x->floats * 2);
	uint16_t *areas = calloc(x->p.bytes2 + 2, 1);
	size_t bad = x->n != x->p.n;

	for (size_t i = 0; i < x->floats; i++)
		dense[i] = (uint16_t)(1 + rnd(65535));
	bad += wse_packed_image(&x->p, dense, areas) != 0;
	for (size_t i = 0; i < x->n; i++)
		bad += areas[x->at2[i] / 2] != dense[x->place[i]];
	bad += wse_packed_dense(&x->p, areas, again) != 0;
	for (size_t i = 0; i < x->floats; i++)
		bad += again[i] != (wse_mask_get(&x->m, x->bits, i / x->m.width, i % x->m.width)
					    ? dense[i]
					    : 0);
	free(dense);
	free(again);
	free(areas);
	return bad;
}

/* the areas of a transposed image, made of the plain one */
static size_t turned(struct image *x)
{
	uint32_t n = x->u.chunks_back, h = x->u.ins / n / x->p.cols;
	uint16_t *fwd = malloc(x->floats * 2), *back = malloc(x->floats * 2);
	uint16_t *want = calloc(x->p.bytes2 + 2, 1), *got = calloc(x->p.bytes2 + 2, 1);
	struct wse_shared_buf plain = {.ptr = fwd}, areas = {.ptr = got};
	const struct wse_image img = {.fwd = {&plain, 0}, .packed_tr = &x->p};
	struct wse_masks m = {.g = &x->g};
	size_t bad;

	for (size_t i = 0; i < x->floats; i++)
		fwd[i] = (uint16_t)(1 + rnd(65535));
	for (size_t row = 0; row < x->u.ins; row++) {
		size_t j = row / h / x->p.cols, c = row / h % x->p.cols;
		size_t in = (c * n + j) * h + row % h;

		for (size_t o = 0; o < x->u.outs; o++)
			back[row * x->u.outs + o] = fwd[o * x->u.ins + in];
	}
	x->g.units = &x->u;
	x->p.buf = &areas;
	bad = wse_packed_image(&x->p, back, want) || wse_masks_pack(&m, 0, &img) ||
	      memcmp(want, got, x->p.bytes2);
	x->p.buf = NULL;
	free(fwd);
	free(back);
	free(want);
	free(got);
	return bad;
}

enum { VEC = 5 };

/* what comes back, in each of the orders; `want` are all of its places */
static size_t grads(const struct image *x)
{
	size_t room = x->p.bytes4 / 4 > x->floats ? x->p.bytes4 / 4 : x->floats, bad = 0, at, n;
	float *want = calloc(x->floats + VEC, 4), *came = calloc(room + VEC, 4);
	float *rows = calloc(room + VEC, 4), *out = calloc(x->floats + 1, 4);

	for (size_t i = 0; i < x->n; i++)
		want[x->place[i]] = came[x->at4[i] / 4] = (float)(1 + i);
	for (size_t i = 0; i < VEC; i++)
		came[x->p.bytes4 / 4 + i] = -1.0f - (float)i;
	memcpy(rows, came, (room + VEC) * 4);
	bad += wse_packed_rows(&x->p, VEC, rows) != 0;
	for (size_t i = 0; i < VEC; i++)
		bad += rows[x->n + i] != -1.0f - (float)i;
	for (size_t i = 0, k = 0; i < x->floats; i++)
		if (want[i] != 0.0f)
			bad += rows[k++] != want[i];
	wse_packed_pick(&x->p, want, out);
	bad += memcmp(out, rows, x->n * 4) != 0;
	bad += wse_packed_places(&x->p, came) || memcmp(came, want, x->floats * 4);
	for (int i = 0; i < 50; i++) {
		at = i ? rnd((uint32_t)x->floats + 1) : 0;
		n = i ? rnd((uint32_t)(x->floats - at) + 1) : x->floats;
		out[n] = 42.0f;
		wse_packed_spread(&x->p, x->bits, rows, at, n, out);
		bad += memcmp(out, want + at, n * 4) || out[n] != 42.0f;
	}
	free(want);
	free(came);
	free(rows);
	free(out);
	return bad;
}

int main(void)
{
	static const uint32_t percents[] = {0, 3, 25, 60, 100, DENSE};
	uint32_t chunks[3];

	for (uint32_t i = 0; i < 96; i++) {
		uint32_t cols = 1 + rnd(5), nfeat = 1u << rnd(3), percent = percents[i % 6];
		uint32_t kind = rnd(4), parts = kind ? 1 + rnd(3) : 1, k = 1 + rnd(80);
		uint32_t outs, ins;
		uint64_t most = rnd(3) ? 1u << 30 : 4096;
		int back = (int)rnd(2), ret;
		struct image x;
		size_t bad;

		for (uint32_t j = 0; j < 3; j++)
			chunks[j] = kind == j + 1 ? parts : 1;
		outs = cols * 4 * (1 + rnd(8)) * chunks[0];
		ins = cols * (back ? 4 * (1 + k / 4) : k) * chunks[1] * chunks[2];
		back |= chunks[2] > 1;
		if (back)
			ins = (ins + 4 * cols - 1) / (4 * cols) * 4 * cols * chunks[1] * chunks[2];
		ret = make(&x, cols, nfeat, outs, ins, chunks, back, percent, most);
		bad = ret ? 1 : images(&x);
		if (!ret && back)
			bad += turned(&x);
		else if (!ret && percent != DENSE) /* gradients of a dense image lie by rows */
			bad += grads(&x);
		bad += !ret && x.p.bytes2 > wse_packed_most(&x.g, &x.u, back, most);
		ok(!bad,
		   "%u x %u on %u columns, blocks of %u, chunks %u, %u, %u%s%s, %u commands: %zu "
		   "of %zu are there, %zu are wrong",
		   outs, ins, cols, nfeat, chunks[0], chunks[1], chunks[2], back ? ", back" : "",
		   percent == DENSE ? ", no mask" : "", x.p.nruns, x.n, x.floats, bad);
		drop(&x);
	}
	return tap_end();
}
