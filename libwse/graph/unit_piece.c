// SPDX-License-Identifier: MIT
/* Where the tensors of a unit lie in its image, its gradient and its vectors: piece by piece. */
#include "graph/graph.h"

/*
 * Where a row of queries, keys and values lies: in a tensor, by its place in the image (or the
 * column's vectors, one behind the other), and the other way round.
 */
struct lie {
	/* features of a head, of them the tensor's, and a column's; columns that have it */
	size_t d, real, own, group;
	size_t q, kv, heads, all_kv; /* heads of a group of columns; of the tensor */
};

static struct lie lie_of(const struct wse_heads *h, size_t cols)
{
	size_t group = wse_heads_group(h, (uint32_t)cols);

	return (struct lie){.d = h->d,
			    .real = h->real ? h->real : h->d,
			    .own = h->d / group,
			    .group = group,
			    .q = h->heads * group / cols,
			    .kv = h->kv * group / cols,
			    .heads = h->heads,
			    .all_kv = h->kv};
}

/* features of a head as pairs: 2 i is feature i, 2 i + 1 that of the second half */
static size_t unpaired(size_t f, size_t halves)
{
	return f < halves ? f % 2 * (halves / 2) + f / 2 : f;
}

static size_t paired(size_t f, size_t halves)
{
	if (f >= halves)
		return f;
	return f < halves / 2 ? 2 * f : 2 * (f - halves / 2) + 1;
}

#define PADDING SIZE_MAX

static size_t row_in_tensor(const struct wse_heads *h, size_t cols, size_t at)
{
	struct lie l = lie_of(h, cols);
	size_t per = (l.q + 2 * l.kv) * l.own, c = at / per, head = at % per / l.own, part = 0;
	size_t f = c % l.group * l.own + at % l.own, g = c / l.group;

	if (f >= l.real)
		return PADDING;
	if (head >= l.q) {
		part = 1 + (head - l.q) / l.kv;
		head = l.heads + (part - 1) * l.all_kv + g * l.kv + (head - l.q) % l.kv;
	} else {
		head += g * l.q;
	}
	return head * l.real + (part < 2 ? unpaired(f, h->halves) : f);
}

static size_t row_in_image(const struct wse_heads *h, size_t cols, size_t from)
{
	struct lie l = lie_of(h, cols);
	size_t head = from / l.real, f = from % l.real, g, in;

	if (head < l.heads + l.all_kv)
		f = paired(f, h->halves);
	if (head < l.heads) {
		g = head / l.q;
		in = head % l.q;
	} else {
		size_t k = (head - l.heads) % l.all_kv;

		g = k / l.kv;
		in = l.q + (head - l.heads) / l.all_kv * l.kv + k % l.kv;
	}
	return (g * l.group + f / l.own) * (l.q + 2 * l.kv) * l.own + in * l.own + f % l.own;
}

/* inputs of the layer behind attention: block b of a column's features of a head; the first one */
static size_t block_in_tensor(const struct lie *l, size_t b, size_t *count)
{
	size_t c = b / l->q, f = c % l->group * l->own;

	*count = f >= l->real ? 0 : l->real - f < l->own ? l->real - f : l->own;
	return (c / l->group * l->q + b % l->q) * l->real + (f < l->real ? f : l->real);
}

/* of an input */
static size_t block_in_image(const struct lie *l, size_t from)
{
	size_t head = from / l->real, f = from % l->real;

	return (head / l->q * l->group + f / l->own) * l->q + head % l->q;
}

size_t wse_unit_row_pieces(const struct wse_graph *g, const struct wse_unit *u)
{
	if (u->chunks_in > 1)
		return (size_t)g->tile.cols * u->chunks_in;
	if (u->in_heads.heads)
		return u->ins / lie_of(&u->in_heads, g->tile.cols).own;
	return u->real_ins ? 1 : 0;
}

size_t wse_unit_matrix_floats(const struct wse_unit *u, const struct wse_tensor *t)
{
	int padded = u->real_outs || u->real_ins || u->heads.real || u->in_heads.real;

	return padded ? (size_t)u->outs * u->ins : t->count;
}

/*
 * Of a run of n features from `from` on of a matrix (vector) of parts `width` wide, as many as the
 * tensor has, `real` a part; *from becomes the tensor's number of the first
 */
static size_t really(size_t *from, size_t n, size_t width, size_t real)
{
	size_t part = *from / width, f = *from % width;

	*from = part * real + (f < real ? f : real);
	return f >= real ? 0 : real - f < n ? real - f : n;
}

/* rows lie in the order of the tensor's */
static int rows_lie(const struct wse_unit *u)
{
	return !u->heads.heads && u->parts == 1 && (u->chunks_out == 1 || u->in_order);
}

/* rows of a block of parts and chunks */
static size_t block_rows(const struct wse_unit *u, size_t cols)
{
	return u->outs / u->parts / u->chunks_out / cols;
}

/* from row `row` of the image on, up to n rows of a block: those that the tensor has, and where */
static size_t rows_of_block(const struct wse_unit *u, size_t cols, size_t row, size_t n,
			    size_t *from)
{
	size_t width = u->outs / u->parts, h = block_rows(u, cols), i = row / h;
	size_t part = i % u->parts, c = i / u->parts % cols;

	*from = ((part * cols + c) * u->chunks_out + i / u->parts / cols) * h + row % h;
	return really(from, n, width, u->real_outs ? u->real_outs : width);
}

/* the tensor's row that is row `row` of the image, or PADDING */
static size_t tensor_row(const struct wse_unit *u, size_t cols, size_t row)
{
	size_t from;

	if (u->heads.heads)
		return row_in_tensor(&u->heads, cols, row);
	if (rows_lie(u))
		return u->real_outs && row >= u->real_outs ? PADDING : row;
	return rows_of_block(u, cols, row, 1, &from) ? from : PADDING;
}

/* piece i where a row has n of them */
static int row_piece(const struct wse_graph *g, const struct wse_unit *u,
		     const struct wse_tensor *t, size_t n, size_t i, struct wse_piece *p)
{
	size_t cols = g->tile.cols, k = u->ins / n, at = i % n, ins = wse_unit_tensor_ins(u), from;
	size_t row = tensor_row(u, cols, i / n);

	*p = (struct wse_piece){.at = i / n * u->ins + at * k, .room = k};
	if (u->in_heads.heads) {
		struct lie l = lie_of(&u->in_heads, cols);

		from = block_in_tensor(&l, at, &p->count);
	} else {
		from = (at % cols * u->chunks_in + at / cols) * k;
		p->count = really(&from, k, u->ins, ins);
	}
	if (row == PADDING || row * ins >= t->count) {
		p->count = 0;
		p->from = t->count;
	} else {
		p->from = row * ins + from;
	}
	return i < n * u->outs;
}

static int matrix_piece(const struct wse_graph *g, const struct wse_unit *u,
			const struct wse_tensor *t, size_t i, struct wse_piece *p)
{
	size_t cols = g->tile.cols, n = wse_unit_row_pieces(g, u), h, from;

	if (u->weight == WSE_NO_TENSOR)
		return 0;
	if (n)
		return row_piece(g, u, t, n, i, p);
	if (u->heads.heads) {
		from = row_in_tensor(&u->heads, cols, i);
		*p = (struct wse_piece){.from = from == PADDING ? t->count : from * u->ins,
					.at = i * u->ins,
					.count = from == PADDING ? 0 : u->ins,
					.room = u->ins};
		return i < u->outs;
	}
	if (rows_lie(u)) {
		*p = (struct wse_piece){0, 0, t->count, (size_t)u->outs * u->ins};
		return !i;
	}
	h = block_rows(u, cols);
	*p = (struct wse_piece){.at = i * h * u->ins, .room = h * u->ins};
	p->count = rows_of_block(u, cols, i * h, h, &from) * u->ins;
	p->from = from * u->ins;
	return i < u->parts * u->chunks_out * cols;
}

int wse_unit_piece(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
		   const struct wse_tensor *t, size_t i, struct wse_piece *p)
{
	size_t matrix = u->weight == WSE_NO_TENSOR ? 0 : (size_t)u->outs * u->ins;
	size_t cols = g->tile.cols, h, c, place;
	const struct wse_unit_vec *v;

	if (!which)
		return matrix_piece(g, u, t, i, p);
	if (which > u->nvec)
		return 0;
	v = &u->vec[which - 1];
	if (v->heads.heads) {
		*p = (struct wse_piece){.from = row_in_tensor(&v->heads, cols, i),
					.at = matrix + i / v->rows * u->vec_rows + v->at +
					      i % v->rows,
					.count = 1,
					.room = 1};
		if (p->from == PADDING) {
			p->from = t->count;
			p->count = 0;
		}
		return i < v->rows * cols;
	}
	/* piece i: block i of the tensor, of v->chunks for each column of each part */
	h = v->rows / v->parts / v->chunks;
	c = i / v->chunks % cols;
	place = i % v->chunks * v->parts + i / v->chunks / cols;
	*p = (struct wse_piece){.from = i * h,
				.at = matrix + c * u->vec_rows + v->at + place * h,
				.count = h,
				.room = h};
	if (v->real)
		p->count = really(&p->from, h, v->rows / v->parts * cols, v->real);
	/* padded beyond the tensor's end */
	if (i >= v->parts * v->chunks * cols || (p->from >= t->count && !v->real))
		return 0;
	if (p->count > t->count - p->from)
		p->count = t->count - p->from;
	return 1;
}

/* the inverse of the order above: block b of a tensor, of n blocks a column, is the i-th there */
static size_t turned(size_t b, size_t n, size_t cols)
{
	return b % n * cols + b / n;
}

/* the image's row that is row `row` of the tensor */
static size_t image_row(const struct wse_unit *u, size_t cols, size_t row)
{
	size_t h, b, per = cols * u->chunks_out;

	if (u->heads.heads)
		return row_in_image(&u->heads, cols, row);
	if (rows_lie(u))
		return row;
	h = block_rows(u, cols);
	if (u->real_outs) /* as if the tensor were as wide */
		row += row / u->real_outs * (u->outs / u->parts - u->real_outs);
	b = row / h; /* part * per + column * chunks + chunk */
	return (turned(b % per, u->chunks_out, cols) * u->parts + b / per) * h + row % h;
}

size_t wse_unit_piece_of(const struct wse_graph *g, const struct wse_unit *u, uint32_t which,
			 size_t from)
{
	size_t cols = g->tile.cols, n = wse_unit_row_pieces(g, u), ins = wse_unit_tensor_ins(u);

	if (which) {
		const struct wse_unit_vec *v = &u->vec[which - 1];

		if (v->heads.heads)
			return row_in_image(&v->heads, cols, from);
		if (v->real)
			from += from / v->real * (v->rows / v->parts * cols - v->real);
		return from / (v->rows / v->parts / v->chunks);
	}
	if (n) {
		size_t row = image_row(u, cols, from / ins), f = from % ins;

		if (u->in_heads.heads) {
			struct lie l = lie_of(&u->in_heads, cols);

			return row * n + block_in_image(&l, f);
		}
		return row * n + turned(f / (u->ins / n), u->chunks_in, cols);
	}
	if (u->heads.heads)
		return row_in_image(&u->heads, cols, from / u->ins);
	if (rows_lie(u))
		return 0;
	return image_row(u, cols, from / u->ins) / block_rows(u, cols);
}
