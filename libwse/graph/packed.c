// SPDX-License-Identifier: MIT
/* Images and gradients of masked weights without those that are not there; dense images. */
#include "graph/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/image.h"

int wse_linear_streams = 1;

/* bits of 64 elements of a run, the first one in bit 0 */
static uint64_t word(const unsigned char *bits)
{
	uint64_t w;

	memcpy(&w, bits, sizeof(w));
	return w;
}

static uint32_t ones(const unsigned char *bits, size_t bytes)
{
	uint32_t n = 0;

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t))
		n += (uint32_t)__builtin_popcountll(word(bits + i));
	return n;
}

/* the slice of a chunk, as rows and columns of the image that is sent */
static struct wse_slice slice_of(const struct wse_unit *u, uint32_t chunk, int back)
{
	struct wse_slice s = back ? wse_unit_slice_back(u, chunk) : wse_unit_slice(u, chunk);

	return back ? (struct wse_slice){s.in0, s.ins, s.out0, s.outs} : s;
}

static uint32_t chunks_of(const struct wse_unit *u, int back)
{
	return u->chunks_out * u->chunks_in * (back ? u->chunks_back : 1);
}

/* commands of a chunk */
static uint32_t pieces_of(const struct wse_graph *g, const struct wse_unit *u, int back,
			  uint32_t blocks)
{
	return (slice_of(u, 0, back).outs / g->nfeat + blocks - 1) / blocks;
}

size_t wse_packed_most(const struct wse_graph *g, const struct wse_unit *u, int back, uint64_t most)
{
	uint32_t blocks = wse_packed_blocks(most, back ? u->outs : u->ins, g->nfeat);
	size_t runs = (size_t)chunks_of(u, back) * pieces_of(g, u, back, blocks) * g->tile.cols;

	/* all are there, and each run is rounded up to 8 bytes */
	return (size_t)u->outs * u->ins * sizeof(uint16_t) + runs * 8;
}

/* a command's runs: rows [row, end) of a slice */
static void area(struct wse_packed *p, const struct wse_slice *s, uint32_t row, uint32_t end)
{
	struct wse_packed_run *r = &p->run[p->nruns++];

	*r = (struct wse_packed_run){.at2 = p->bytes2,
				     .at4 = p->bytes4,
				     .most = 1,
				     .row = row,
				     .end = end,
				     .first = s->in0};
	for (uint32_t c = 0; c < p->cols; c++) {
		uint32_t n = 0;

		for (uint32_t i = row; i < end; i++)
			n += p->bits ? ones(p->bits + wse_mask_byte(&p->shape, i,
								    s->in0 + c * p->shape.run),
					    p->shape.mcstride)
				     : p->shape.run;
		r->most = n > r->most ? n : r->most;
	}
	p->bytes2 += (size_t)p->cols * wse_packed_stride(r, 2);
	p->bytes4 += (size_t)p->cols * wse_packed_stride(r, 4);
}

int wse_packed_init(struct wse_packed *p, const struct wse_graph *g, const struct wse_unit *u,
		    int back, const unsigned char *bits, uint64_t most)
{
	struct wse_mask_shape m = wse_mask_shape(g, u, back);
	uint32_t chunks = chunks_of(u, back), at;

	*p = (struct wse_packed){.buf = p->buf,
				 .cols = g->tile.cols,
				 .blocks = wse_packed_blocks(most, m.width, g->nfeat),
				 .bits = bits,
				 .shape = m,
				 .nfeat = g->nfeat};
	p->pieces = pieces_of(g, u, back, p->blocks);
	p->run = calloc((size_t)chunks * p->pieces, sizeof(*p->run));
	p->start = malloc((m.rows + 1ul) * sizeof(*p->start));
	if (!p->run || !p->start) {
		wse_packed_fini(p);
		return -ENOMEM;
	}
	p->start[0] = 0;
	for (uint32_t i = 0; i < m.rows; i++)
		p->start[i + 1] = p->start[i] +
				  (bits ? ones(bits + (size_t)i * m.rstride, m.rstride) : m.width);
	p->n = p->start[m.rows];
	for (uint32_t chunk = 0; chunk < chunks; chunk++) {
		struct wse_slice s = slice_of(u, chunk, back);

		for (uint32_t i = 0; i < p->pieces; i++) {
			uint64_t next = (uint64_t)(i + 1) * p->blocks * g->nfeat;

			at = i * p->blocks * g->nfeat;
			area(p, &s, s.out0 + at,
			     s.out0 + (next < s.outs ? (uint32_t)next : s.outs));
		}
	}
	return 0;
}

void wse_packed_fini(struct wse_packed *p)
{
	free(p->run);
	free(p->start);
	*p = (struct wse_packed){.buf = p->buf};
}

/* an element: its place in the areas, in the dense image, and among those that are there */
struct element {
	size_t at, place, own;
};

typedef void (*each_fn)(void *to, const void *from, struct element e);

#define NFEAT 4u /* rows of a block, at most */

/* a block of rows, where an area has its columns' next elements: at [cols], from cur [nfeat] on */
#define INLINE static inline __attribute__((always_inline))

INLINE void block(const struct wse_packed *p, const struct wse_packed_run *r, uint32_t row,
		  size_t *at, size_t *cur, each_fn each, void *to, const void *from)
{
	const struct wse_mask_shape *m = &p->shape;

	for (uint32_t c = 0; c < p->cols; c++) {
		size_t j = r->first + (size_t)c * m->run, b = wse_mask_byte(m, row, j);

		for (uint32_t i = 0; i < m->mcstride; i += 8, j += 64) {
			uint64_t w[NFEAT], any = 0;

			for (uint32_t f = 0; f < p->nfeat; f++) {
				w[f] = word(p->bits + b + (size_t)f * m->rstride + i);
				any |= w[f];
			}
			for (; any; any &= any - 1) {
				uint32_t k = (uint32_t)__builtin_ctzll(any);

				for (uint32_t f = 0; f < p->nfeat; f++)
					if (w[f] >> k & 1)
						each(to, from,
						     (struct element){at[c]++,
								      ((size_t)row + f) * m->width +
									      j + k,
								      cur[f]++});
			}
		}
	}
}

/* of an area's strips: the rows from `row` on, if all of the image lay as they do */
static const uint16_t *next_strip(const struct wse_packed *p, const struct wse_packed_run *r,
				  uint32_t row, wse_packed_fill fill, const void *ctx,
				  uint16_t *strip)
{
	uint32_t end = r->end - row < WSE_PACKED_STRIP ? r->end : row + WSE_PACKED_STRIP;

	fill(ctx, row, end, r->first, r->first + p->cols * p->shape.run, strip);
	return strip - (ptrdiff_t)((size_t)row * p->shape.width);
}

/*
 * A dense image: a block of a column has its place in the area by numbers alone. back: from the
 * areas to the image; fill: as of walk_by()
 */
static void walk_dense(const struct wse_packed *p, const uint16_t *from, uint16_t *to, int back,
		       wse_packed_fill fill, const void *ctx, uint16_t *strip)
{
	const struct wse_mask_shape *m = &p->shape;
	const uint16_t *rows = from;

	for (uint32_t i = 0; i < p->nruns; i++) {
		const struct wse_packed_run *r = &p->run[i];
		size_t stride = wse_packed_stride(r, 2) / 2;

		for (uint32_t row = r->row; row < r->end; row += p->nfeat) {
			if (fill && (row - r->row) % WSE_PACKED_STRIP == 0)
				rows = next_strip(p, r, row, fill, ctx, strip);
			for (uint32_t c = 0; c < p->cols; c++) {
				size_t at = r->at2 / 2 + c * stride + (row - r->row) * m->run;
				size_t place = (size_t)row * m->width + r->first + c * m->run;

				if (back)
					wse_bf16_unweave(from + at, m->width, p->nfeat, m->run,
							 to + place);
				else
					wse_bf16_weave(rows + place, m->width, p->nfeat, m->run,
						       to + at);
			}
		}
	}
}

/*
 * all elements in the order of the areas, of `size` bytes each; fill: from is its ctx, and strip
 * [STRIP][width] where its rows go. -ENOMEM
 */
INLINE int walk_by(const struct wse_packed *p, uint32_t size, each_fn each, void *to,
		   const void *from, wse_packed_fill fill, uint16_t *strip)
{
	const void *rows = from;
	size_t *at = malloc(p->cols * sizeof(*at)), cur[NFEAT];

	if (!at)
		return wse_fail(-ENOMEM, "no memory for %zu weights", p->n);
	for (uint32_t i = 0; i < p->nruns; i++) {
		const struct wse_packed_run *r = &p->run[i];
		size_t before = r->first / p->shape.run * p->shape.mcstride;

		for (uint32_t c = 0; c < p->cols; c++)
			at[c] = ((size == 2 ? r->at2 : r->at4) +
				 (size_t)c * wse_packed_stride(r, size)) /
				size;
		for (uint32_t row = r->row; row < r->end; row += p->nfeat) {
			if (fill && (row - r->row) % WSE_PACKED_STRIP == 0)
				rows = next_strip(p, r, row, fill, from, strip);
			for (uint32_t f = 0; f < p->nfeat; f++)
				cur[f] = p->start[row + f] +
					 ones(p->bits + (size_t)(row + f) * p->shape.rstride,
					      before);
			block(p, r, row, at, cur, each, to, rows);
		}
	}
	free(at);
	return 0;
}

INLINE int walk(const struct wse_packed *p, uint32_t size, each_fn each, void *to, const void *from)
{
	return walk_by(p, size, each, to, from, NULL, NULL);
}

static void to_area(void *to, const void *from, struct element e)
{
	((uint16_t *)to)[e.at] = ((const uint16_t *)from)[e.place];
}

static void to_image(void *to, const void *from, struct element e)
{
	((uint16_t *)to)[e.place] = ((const uint16_t *)from)[e.at];
}

static void to_row(void *to, const void *from, struct element e)
{
	((float *)to)[e.own] = ((const float *)from)[e.at];
}

static void to_place(void *to, const void *from, struct element e)
{
	((float *)to)[e.place] = ((const float *)from)[e.at];
}

int wse_packed_image(const struct wse_packed *p, const uint16_t *dense, uint16_t *packed)
{
	if (!p->bits) {
		walk_dense(p, dense, packed, 0, NULL, NULL, NULL);
		return 0;
	}
	return walk(p, 2, to_area, packed, dense);
}

int wse_packed_strips(const struct wse_packed *p, wse_packed_fill fill, const void *ctx,
		      uint16_t *packed)
{
	uint16_t *strip = malloc((size_t)WSE_PACKED_STRIP * p->shape.width * sizeof(*strip));
	int ret = strip ? 0 : wse_fail(-ENOMEM, "no memory for %zu weights", p->n);

	if (strip && !p->bits)
		walk_dense(p, NULL, packed, 0, fill, ctx, strip);
	else if (strip)
		ret = walk_by(p, 2, to_area, packed, ctx, fill, strip);
	free(strip);
	return ret;
}

int wse_packed_dense(const struct wse_packed *p, const uint16_t *packed, uint16_t *dense)
{
	if (!p->bits) {
		walk_dense(p, packed, dense, 1, NULL, NULL, NULL);
		return 0;
	}
	memset(dense, 0, (size_t)p->shape.rows * p->shape.width * sizeof(*dense));
	return walk(p, 2, to_image, dense, packed);
}

/* what has come back, apart from where it goes; NULL: no memory */
static float *apart(const struct wse_packed *p, const float *grads)
{
	float *came = malloc(p->bytes4);

	if (came)
		memcpy(came, grads, p->bytes4);
	else
		wse_fail(-ENOMEM, "no memory for %zu gradients", p->n);
	return came;
}

int wse_packed_rows(const struct wse_packed *p, size_t vec, float *grads)
{
	float *came = apart(p, grads);
	int ret = came ? walk(p, 4, to_row, grads, came) : -ENOMEM;

	memmove(grads + p->n, grads + p->bytes4 / sizeof(*grads), vec * sizeof(*grads));
	free(came);
	return ret;
}

int wse_packed_places(const struct wse_packed *p, float *grads)
{
	float *came = apart(p, grads);

	if (!came)
		return -ENOMEM;
	memset(grads, 0, (size_t)p->shape.rows * p->shape.width * sizeof(*grads));
	if (walk(p, 4, to_place, grads, came)) {
		free(came);
		return -ENOMEM;
	}
	free(came);
	return 0;
}

/* ---- in the image's order ---- */

/* of a row: the first element behind those in the same 64 bits as j */
static size_t next_word(const struct wse_mask_shape *m, size_t j)
{
	size_t k = j % m->run, left = m->run - k;

	return j + (left < 64 - k % 64 ? left : 64 - k % 64);
}

typedef void (*own_fn)(void *to, const void *from, size_t place, size_t own);

/* each element of rows [row, end) that is there: its place in the dense image, its number */
INLINE void walk_rows(const struct wse_packed *p, size_t row, size_t end, own_fn each, void *to,
		      const void *from)
{
	const struct wse_mask_shape *m = &p->shape;
	size_t own = p->start[row];

	for (; row < end; row++)
		for (size_t j = 0; j < m->width; j = next_word(m, j))
			for (uint64_t w = word(p->bits + wse_mask_byte(m, row, j)); w; w &= w - 1)
				each(to, from, row * m->width + j + (size_t)__builtin_ctzll(w),
				     own++);
}

static void pick_grad(void *to, const void *from, size_t place, size_t own)
{
	((float *)to)[own] = ((const float *)from)[place];
}

static void pick_weight(void *to, const void *from, size_t place, size_t own)
{
	((uint16_t *)to)[own] = ((const uint16_t *)from)[place];
}

static void spread_weight(void *to, const void *from, size_t place, size_t own)
{
	((uint16_t *)to)[place] = ((const uint16_t *)from)[own];
}

void wse_packed_pick(const struct wse_packed *p, const float *from, float *to)
{
	walk_rows(p, 0, p->shape.rows, pick_grad, to, from);
}

void wse_packed_pick_rows(const struct wse_packed *p, uint32_t row, uint32_t end,
			  const uint16_t *dense, uint16_t *own)
{
	walk_rows(p, row, end, pick_weight, own, dense);
}

void wse_packed_spread_rows(const struct wse_packed *p, uint32_t row, uint32_t end,
			    const uint16_t *own, uint16_t *dense)
{
	size_t width = p->shape.width;

	memset(dense + row * width, 0, (end - row) * width * sizeof(*dense));
	walk_rows(p, row, end, spread_weight, dense, own);
}

/* so many are there of a row before its element j */
static size_t before(const struct wse_mask_shape *m, const unsigned char *row, size_t j)
{
	size_t runs = j / m->run, k = j % m->run;
	const unsigned char *run = row + runs * m->mcstride;
	size_t n = ones(row, runs * m->mcstride) + ones(run, k / 64 * 8);

	return k % 64 ? n + (size_t)__builtin_popcountll(word(run + k / 64 * 8) &
							 ((1ull << k % 64) - 1))
		      : n;
}

/* elements [j, end) of a row: those that are there follow each other in x */
static const float *spread_row(const struct wse_mask_shape *m, const unsigned char *row, size_t j,
			       size_t end, const float *x, float *out)
{
	for (size_t from = j, next; j < end; j = next) {
		size_t k = j % m->run;
		uint64_t w = word(row + j / m->run * m->mcstride + k / 64 * 8) >> k % 64;

		next = next_word(m, j);
		next = next < end ? next : end;
		if (next - j < 64)
			w &= (1ull << (next - j)) - 1;
		for (; w; w &= w - 1)
			out[j - from + (size_t)__builtin_ctzll(w)] = *x++;
	}
	return x;
}

void wse_packed_spread(const struct wse_packed *p, const unsigned char *bits, const float *grads,
		       size_t at, size_t count, float *out)
{
	const struct wse_mask_shape *m = &p->shape;
	size_t row = at / m->width, j = at % m->width;
	const float *x = grads;

	if (count)
		x += p->start[row] + before(m, bits + row * m->rstride, j);
	memset(out, 0, count * sizeof(*out));
	for (size_t n; count; count -= n, out += n, row++, j = 0) {
		n = m->width - j < count ? m->width - j : count;
		x = spread_row(m, bits + row * m->rstride, j, j + n, x, out);
	}
}
