// SPDX-License-Identifier: MIT
/* The pieces of a model's state against where tensors lie in their units. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memx/pieces.h"
#include "num/num.h"
#include "tap.h"

static uint64_t draws;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)(wse_rng_u64(12, 0, draws++) % n);
}

/* pieces [first, end) lie one behind the other, from row 0 of `rows` on, over `floats` */
static int follow(const struct wse_memx_piece *p, uint32_t first, uint32_t end, uint32_t rows,
		  uint32_t width, size_t floats)
{
	size_t at = 0;
	uint32_t row = 0;
	int bad = 0;

	for (uint32_t i = first; i < end; i++) {
		bad += p[i].at != at || p[i].row != row || p[i].row % 32 || p[i].at % 4096;
		bad += (p[i].vec && i + 1 < end) ||
		       p[i].count != (size_t)p[i].rows * width + p[i].vec;
		at += p[i].count;
		row += p[i].rows;
	}
	return bad + (at != floats) + (row != rows);
}

/* every element of a tensor lies in one piece alone; all of a vector in one and the same */
static int holds(const struct wse_memx_pieces *l, const struct wse_graph *g, uint32_t unit,
		 uint32_t which, const struct wse_tensor *t)
{
	const struct wse_unit *u = &g->units[unit];
	const struct wse_memx_piece *last = &l->p[l->first[unit + 1] - 1];
	struct wse_piece q;
	size_t got = 0;
	int bad = 0;

	for (size_t i = 0; wse_unit_piece(g, u, which, t, i, &q); i++) {
		for (uint32_t k = l->first[unit]; k < l->first[unit + 1]; k++) {
			size_t a = q.at > l->p[k].at ? q.at : l->p[k].at;
			size_t b = q.at + q.count, end = l->p[k].at + l->p[k].count;

			b = b < end ? b : end;
			got += a < b ? b - a : 0;
			bad += a < b && which && &l->p[k] != last;
		}
	}
	bad += which && last->at + last->count - last->vec > q.at + last->count;
	return !bad && got == t->count;
}

/* each piece, also of a tensor in no unit, is one rank's; 0: good */
static int dealt(const struct wse_memx_pieces *l)
{
	uint32_t *slot = calloc(l->n + 1, sizeof(*slot)), host = 0, n = 0;
	int bad = 0;

	for (uint32_t rank = 0; rank < 3; rank++) {
		struct wse_memx_pieces kept;

		bad += wse_memx_pieces_deal(l, 2, rank, 3, &kept, slot) != 0;
		for (uint32_t k = 0; k < kept.n; k++)
			bad += kept.p[k].no < 1 || kept.p[k].no > kept.p[k].of;
		host += kept.first[0];
		n += kept.n;
		bad += kept.first[0] > l->first[0] / 3 + 1;
		wse_memx_pieces_fini(&kept);
	}
	free(slot);
	return bad + (host != l->first[0] || n != l->n);
}

static void one(int *bad, uint32_t *several)
{
	const struct wse_tile tile = {.rows = 1, .cols = 1 + rnd(3), .lanes = 8, .sram = 1u << 20};
	static const uint32_t widths[] = {4, 12, 100, 256, 1000, 2048, 3072, 10000};
	uint32_t parts = 1 + 2 * rnd(2), ins = widths[rnd(8)] * tile.cols;
	uint32_t h = 4 * (1 + rnd(ins < 1000 ? 700 : 300)), outs = h * tile.cols * parts;
	uint32_t pad = parts == 1 ? rnd(3) : 0, own = 1 + rnd(5000), width = 1 + rnd(600);
	uint32_t vec_parts = 1;
	struct wse_tensor_table tab = {0};
	struct wse_memx_pieces l;
	struct wse_graph g;
	int ret;

	wse_graph_init(&g, &tile, 8);
	wse_tensor_add(&tab, 0, 0, 0, own, width, "in no unit");
	wse_tensor_add(&tab, 0, 0, 0, outs - pad, ins, "matrix");
	wse_tensor_add(&tab, 0, 0, 0, outs - pad, 0, "bias");
	wse_tensor_add(&tab, 0, 0, 0, 3 * tile.cols, 0, "gain");
	wse_graph_unit(&g, 1, outs, ins, parts);
	if (parts == 1 && rnd(2)) {
		wse_graph_chunks_in_order(&g, 0, h / 4);
		vec_parts = h / 4;
	} else if (parts > 1 && rnd(2)) {
		wse_graph_chunks(&g, 0, h / 4, 1);
	}
	if (parts == 1 && vec_parts == 1 && !pad && ins % (8 * tile.cols) == 0)
		wse_graph_chunks(&g, 0, 1, 2);
	wse_graph_unit(&g, WSE_NO_TENSOR, 0, 0, 1);
	wse_graph_vec(&g, 0, 2, outs, vec_parts);
	wse_graph_vec(&g, 1, 3, 3 * tile.cols, 1);
	ret = wse_memx_pieces_make(&g, &tab, &l);
	*bad += ret != 0;
	if (!ret) {
		*bad += follow(l.p, 0, l.first[0], own, width, (size_t)own * width);
		for (uint32_t i = 0; i < 2; i++)
			*bad += follow(l.p, l.first[i], l.first[i + 1], i ? 0 : outs, ins,
				       wse_unit_grad_floats(&g, &g.units[i]));
		*bad += !holds(&l, &g, 0, 0, &tab.t[1]) || !holds(&l, &g, 0, 1, &tab.t[2]) ||
			!holds(&l, &g, 1, 1, &tab.t[3]);
		*bad += l.first[2] != l.n ||
			l.floats != (size_t)own * width + wse_unit_grad_floats(&g, &g.units[0]) +
					    wse_unit_grad_floats(&g, &g.units[1]);
		for (uint32_t i = 0; i < l.n; i++)
			*bad += l.p[i].count > l.longest;
		for (uint32_t i = 0; i < l.n; i++) {
			int next = i && l.p[i].unit == l.p[i - 1].unit;

			*bad += l.p[i].no != (next ? l.p[i - 1].no + 1 : 1) ||
				l.p[i].no > l.p[i].of;
			*bad += next ? l.p[i].of != l.p[i - 1].of
				     : i && l.p[i - 1].no != l.p[i - 1].of;
		}
		*bad += dealt(&l);
		*several += l.first[1] - l.first[0] > 1;
		wse_memx_pieces_fini(&l);
	}
	wse_graph_fini(&g);
	wse_tensor_table_fini(&tab);
}

/*
 * each element of a tensor has a place of its own among the buffer's n floats, and
 * wse_unit_piece_of() finds the piece that it lies in; pieces of the matrix fill its `floats`
 */
static int bijective(const struct wse_graph *g, uint32_t unit, uint32_t which,
		     const struct wse_tensor *t, size_t n, size_t floats)
{
	const struct wse_unit *u = &g->units[unit];
	unsigned char *taken = calloc(n, 1), *had = calloc(t->count, 1);
	struct wse_piece q, of;
	size_t got = 0, room = 0;
	int bad = !taken || !had;

	for (size_t i = 0; !bad && wse_unit_piece(g, u, which, t, i, &q); i++) {
		room += q.room;
		bad += q.count > q.room;
		for (size_t k = 0; k < q.count && !bad; k++) {
			bad += q.at + k >= n || q.from + k >= t->count || taken[q.at + k]++ ||
			       had[q.from + k]++;
			got++;
		}
		/* the first and the last element of it */
		for (size_t k = 0; k < q.count && !bad; k += q.count > 1 ? q.count - 1 : 1)
			bad += wse_unit_piece_of(g, u, which, q.from + k) != i ||
			       !wse_unit_piece(g, u, which, t, i, &of) || of.from != q.from;
	}
	free(taken);
	free(had);
	return !bad && got == t->count && (which || room == floats);
}

/* an FFN whose features do not divide by the columns: both of its matrices, and the biases */
static void padded(void)
{
	uint32_t bad = 0, pads = 0, chunked = 0;

	for (int n = 0; n < 400; n++) {
		const struct wse_tile tile = {
			.rows = 1, .cols = 1 + rnd(5), .lanes = 8, .sram = 1u << 20};
		uint32_t real = 8 + rnd(200), unit = 4 * tile.cols, parts = 1 + rnd(2), h = unit;
		uint32_t f = (real + unit - 1) / unit * unit, chunks = 1 + rnd(4);
		struct wse_tensor_table tab = {0};
		struct wse_graph g;

		while (f / unit % chunks)
			chunks--;
		wse_graph_init(&g, &tile, 8);
		wse_tensor_add(&tab, 0, 0, 0, parts * real, h, "first");
		wse_tensor_add(&tab, 0, 0, 0, parts * real, 0, "bias");
		wse_tensor_add(&tab, 0, 0, 0, h, real, "second");
		wse_graph_unit(&g, 0, parts * f, h, parts);
		wse_graph_chunks(&g, 0, chunks, 1);
		wse_graph_pad(&g, 0, real, h);
		wse_graph_vec(&g, 0, 1, parts * f, parts);
		wse_graph_vec_chunks(&g, 0, chunks, real);
		wse_graph_unit(&g, 2, h, f, 1);
		wse_graph_chunks(&g, 1, 1, chunks);
		wse_graph_pad(&g, 1, h, real);
		for (uint32_t i = 0; i < 3; i++)
			bad += !bijective(&g, i / 2, i % 2, &tab.t[i],
					  wse_unit_grad_floats(&g, &g.units[i / 2]),
					  (size_t)g.units[i / 2].outs * g.units[i / 2].ins);
		pads += real != f;
		chunked += real != f && chunks > 1;
		wse_graph_fini(&g);
		wse_tensor_table_fini(&tab);
	}
	ok(!bad && pads > 200 && chunked > 100,
	   "%u of 400 FFNs are padded, %u of them in chunks: each element has one place, %u bad",
	   pads, chunked, bad);
}

static void rows(void)
{
	int bad = 0;

	for (uint32_t width = 1; width < 200000; width += 1 + rnd(97)) {
		uint32_t n = wse_memx_piece_rows(width);
		uint64_t floats = (uint64_t)n * width;

		bad += !n || n % 32 || floats % 4096;
		/* the least that is possible, or not too long, and no more of them would fit */
		if (floats > WSE_PIECE_FLOATS)
			for (uint32_t k = 32; k < n; k += 32)
				bad += (uint64_t)k * width % 4096 == 0;
	}
	ok(!bad, "rows of a piece: whole tiles and blocks, and no longer than need be");
	ok(wse_memx_piece_rows(768) * 768 <= WSE_PIECE_FLOATS && wse_memx_piece_rows(12288) == 64 &&
		   wse_memx_piece_rows(1) == WSE_PIECE_FLOATS,
	   "%u rows of 768, %u of 12288", wse_memx_piece_rows(768), wse_memx_piece_rows(12288));
}

static void foreign(void)
{
	const struct wse_tile tile = {.rows = 1, .cols = 2, .lanes = 8, .sram = 1u << 20};
	struct wse_tensor_table tab = {0};
	struct wse_memx_pieces l;
	struct wse_graph g;

	wse_graph_init(&g, &tile, 8);
	wse_tensor_add(&tab, 0, 0, 0, 8, 8, "matrix");
	wse_graph_unit(&g, 0, 8, 8, 1);
	wse_graph_unit(&g, 0, 8, 8, 1);
	ok(wse_memx_pieces_make(&g, &tab, &l) == -EINVAL && !l.p && !l.first,
	   "a tensor in two units is refused");
	g.units[1].weight = 1;
	ok(wse_memx_pieces_make(&g, &tab, &l) == -EINVAL, "and one that is in no table");
	wse_graph_fini(&g);
	wse_tensor_table_fini(&tab);
}

int main(void)
{
	uint32_t several = 0;
	int bad = 0;

	for (int i = 0; i < 300; i++)
		one(&bad, &several);
	ok(!bad && several > 20,
	   "300 graphs: every element of every tensor lies in one piece, %u of more than one",
	   several);
	padded();
	rows();
	foreign();
	return tap_end();
}
