// SPDX-License-Identifier: MIT
#include <string.h>

#include "lockstep_ops.h"
#include "lockstep_stream.h"

static bool take(struct streams *s, uint32_t bytes, uint32_t align, uint32_t *at)
{
	uint32_t here = (s->low + align - 1) & ~(align - 1);

	if (here > s->high || bytes > s->high - here)
		return false;
	s->low = here + bytes;
	*at = here;
	return true;
}

static bool direct(struct streams *s, uint32_t bytes, struct area *a)
{
	uint32_t skip = 8 * rng_below(s->t.r, 100);

	a->direct = true;
	if (!take(s, bytes + skip, 8, &a->at))
		return false;
	a->at += rng_chance(s->t.r, 50) ? 0 : skip;
	a->off = 8 * rng_below(s->t.r, 100);
	if (rng_chance(s->t.r, 20)) /* an offset of more than 32 bits */
		a->off += 0x300000000ull;
	a->buf = LS_IOVA + a->at - a->off;
	return true;
}

/* Pages in any order; entries before the first and behind the last are invalid. */
static bool listed(struct streams *s, uint32_t bytes, struct area *a)
{
	struct rng *r = s->t.r;
	uint32_t shift = 12 + rng_below(r, 3), size = 1u << shift, n, list, base;
	uint32_t inside = 8 * rng_below(r, size / 8), lead = rng_below(r, 20);

	n = (inside + bytes + size - 1) >> shift;
	if (n > STREAM_PAGES || !take(s, 8 * (lead + n + 2), 8, &list) ||
	    !take(s, n << shift, size, &base))
		return false;
	for (uint32_t i = 0; i < n; i++)
		a->page[i] = base + (i << shift);
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = rng_below(r, i), swap = a->page[i - 1];

		a->page[i - 1] = a->page[k];
		a->page[k] = swap;
	}
	for (uint32_t i = 0; i < lead + n + 2; i++) {
		uint64_t entry = STREAM_NOWHERE | rng_next(r) >> 20;

		if (i >= lead && i < lead + n) /* bits below the page size are ignored */
			entry = LS_IOVA + a->page[i - lead] + rng_below(r, size);
		memcpy(s->t.p->mem + list + 8 * i, &entry, 8);
	}
	a->direct = false;
	a->shift = shift;
	a->first = lead;
	a->list = list + 8 * lead;
	a->off = ((uint64_t)lead << shift) + inside;
	a->buf = LS_IOVA + list;
	return true;
}

static bool new_area(struct streams *s, uint32_t bytes, struct area *a)
{
	return rng_chance(s->t.r, 40) ? direct(s, bytes, a) : listed(s, bytes, a);
}

/* A byte of the operand, counted from its offset. */
static uint8_t *byte_of(struct streams *s, const struct area *a, uint32_t at)
{
	uint64_t off = a->off + at;

	if (a->direct)
		return s->t.p->mem + a->at + at;
	return s->t.p->mem + a->page[(off >> a->shift) - a->first] + (off & ((1u << a->shift) - 1));
}

/* --- a stream's shape and its elements --- */

static uint32_t round8(uint32_t n)
{
	return (n + 7) & ~7u;
}

/*
 * Consecutive rows of a column, and columns likewise, or rows of all columns interleaved.
 */
static void strides(struct rng *r, uint32_t row, uint32_t rows, uint32_t cols, uint32_t *line,
		    uint32_t *col)
{
	uint32_t gap = rng_chance(r, 50) ? 0 : 8 * rng_below(r, 5);

	if (rng_chance(r, 50)) {
		*line = row + gap;
		*col = *line * rows + (rng_chance(r, 50) ? 0 : 8 * rng_below(r, 9));
	} else {
		*col = row + gap;
		*line = *col * cols + (rng_chance(r, 50) ? 0 : 8 * rng_below(r, 9));
	}
}

static uint32_t extent(const struct shape *h, uint32_t line, uint32_t col, uint32_t row)
{
	return line * (h->blocks * h->B - 1) + col * (h->cols - 1) + round8(row);
}

uint32_t stream_data_extent(const struct shape *h)
{
	if (h->len)
		return h->cstride * (h->cols - 1) + h->len;
	return extent(h, h->lstride, h->cstride, round8(h->K * h->es));
}

uint32_t stream_mask_extent(const struct shape *h)
{
	return extent(h, h->rstride, h->mcstride, (h->K + 7) / 8);
}

bool stream_data_area(struct streams *s, struct shape *h)
{
	uint32_t row = round8(h->K * h->es);

	h->len = rng_chance(s->t.r, 35) ? round8(h->blocks * h->B * h->K * h->es) : 0;
	if (h->len) {
		h->lstride = 0;
		h->cstride = h->len + (rng_chance(s->t.r, 50) ? 0 : 8 * rng_below(s->t.r, 9));
	} else {
		strides(s->t.r, row, h->blocks * h->B, h->cols, &h->lstride, &h->cstride);
	}
	return new_area(s, stream_data_extent(h), &h->data);
}

bool stream_mask_area(struct streams *s, struct shape *h)
{
	uint32_t row = (h->K + 7) / 8;

	strides(s->t.r, round8(row), h->blocks * h->B, h->cols, &h->rstride, &h->mcstride);
	return new_area(s, stream_mask_extent(h), &h->mask);
}

uint8_t *stream_element(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			uint32_t k)
{
	uint32_t row = h->len ? n * h->K * h->es : n * h->lstride;

	return byte_of(s, &h->data, row + c * h->cstride + k * h->es);
}

uint8_t *stream_mask_byte(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			  uint32_t k)
{
	return byte_of(s, &h->mask, n * h->rstride + c * h->mcstride + k / 8);
}

void stream_fill_mask(struct streams *s, const struct shape *h)
{
	static const uint8_t percent[] = {0, 3, 50, 50, 95, 100};
	uint32_t dense = percent[rng_below(s->t.r, 6)];

	for (uint32_t c = 0; c < h->cols; c++) {
		for (uint32_t n = 0; n < h->blocks * h->B; n++) {
			for (uint32_t k = 0; k < h->K; k++) {
				uint8_t *m = stream_mask_byte(s, h, c, n, k),
					bit = (uint8_t)(1u << (k & 7));

				*m = (uint8_t)(rng_chance(s->t.r, dense) ? *m | bit : *m & ~bit);
			}
		}
	}
}

void stream_fill_mask_count(struct streams *s, const struct shape *h, uint32_t c, uint32_t count)
{
	uint32_t left = h->blocks * h->B * h->K;

	for (uint32_t n = 0; n < h->blocks * h->B; n++) {
		for (uint32_t k = 0; k < h->K; k++, left--) {
			uint8_t *m = stream_mask_byte(s, h, c, n, k),
				bit = (uint8_t)(1u << (k & 7));
			bool set = rng_below(s->t.r, left) < count;

			count -= set;
			*m = (uint8_t)(set ? *m | bit : *m & ~bit);
		}
	}
}

void stream_fill_data(struct streams *s, const struct shape *h, uint32_t zeros)
{
	for (uint32_t c = 0; c < h->cols; c++) {
		for (uint32_t n = 0; n < h->blocks * h->B; n++) {
			for (uint32_t k = 0; k < h->K; k++) {
				uint32_t v;

				op_random_floats(s->t.r, (uint8_t *)&v, 4);
				if (!(v & 0x7f800000))
					v |= 0x3f000000;
				if (zeros && rng_chance(s->t.r, zeros))
					v &= 0x80000000;
				v = h->es == 2 ? v >> 16 : v;
				memcpy(stream_element(s, h, c, n, k), &v, h->es);
			}
		}
	}
}

uint32_t stream_travel(struct streams *s, const struct shape *h, uint32_t c, bool drop,
		       uint32_t *empty)
{
	uint32_t count = 0, before = 0, at = 0, block = h->K * h->B;

	*empty = 0;
	for (uint32_t i = 0; i < h->blocks * block; i++) {
		uint32_t n = i / block * h->B + i % h->B, k = i % block / h->B, v = 0;

		if (i % block == 0) {
			*empty = count > before ? 1 : *empty + 1;
			before = count;
		}
		if (h->masked && !(*stream_mask_byte(s, h, c, n, k) >> (k & 7) & 1))
			continue;
		if (drop)
			memcpy(&v,
			       h->len ? stream_element(s, h, c, 0, at)
				      : stream_element(s, h, c, n, k),
			       h->es);
		at++;
		count += !drop || (v << (h->es == 2 ? 17 : 1)) != 0;
	}
	*empty = count > before ? 0 : *empty;
	return count;
}

void stream_shorten(struct streams *s, struct shape *h, const uint32_t *count)
{
	uint32_t most = 1;

	for (uint32_t c = 0; c < h->cols; c++)
		most = count[c] > most ? count[c] : most;
	if (h->len && rng_chance(s->t.r, 80))
		h->len = round8(most * h->es);
}

void stream_shape(struct rng *r, struct shape *h)
{
	uint32_t most = 1500, k = rng_below(r, 10); /* elements of a column, as a rule */

	h->B = h->etype == WSE_ETYPE_RAW32 ? 1 : 1u << rng_below(r, 3);
	if (!k) {
		h->K = rng_chance(r, 25) ? 16384 - rng_below(r, 3) : rng_range(r, 1, 16384);
		most = 20000;
	} else {
		h->K = rng_range(r, 1, k < 4 ? 600 : 40);
	}
	while (h->B > 1 && h->B * h->K > 2 * most)
		h->B /= 2;
	h->blocks = most / (h->B * h->K);
	h->blocks = rng_range(r, 1, h->blocks > 40 ? 40 : h->blocks ? h->blocks : 1);
	h->es = h->etype == WSE_ETYPE_BF16 ? 2 : 4;
}

static void put_area(struct wse_sqe *s, const struct area *a)
{
	s->buf = a->buf;
	s->off = a->off;
	if (a->direct)
		s->flags |= WSE_SQF_BUF_DIRECT;
	else
		s->pshift = (uint8_t)a->shift;
}

struct wse_sqe stream_sqe(struct streams *s, uint8_t op, const struct shape *h, uint32_t col0,
			  uint32_t color)
{
	struct wse_sqe q = {
		.opcode = op,
		.cid = (uint16_t)(100 + s->t.p->ncmds),
		.col0 = (uint16_t)col0,
		.cols = (uint16_t)h->cols,
		.color = (uint8_t)color,
		.etype = (uint8_t)h->etype,
		.budget = 10000000,
		.nline = h->blocks,
		.kcol = (uint16_t)h->K,
		.nfeat = (uint8_t)h->B,
		.lstride = h->lstride,
		.cstride = h->cstride,
	};

	put_area(&q, &h->data);
	q.len = h->len;
	q.flags |= h->len ? WSE_SQF_LINEAR : 0;
	if (h->masked) {
		q.flags |= WSE_SQF_MASKED;
		q.mask = h->mask.buf;
		q.moff = h->mask.off;
		q.rstride = h->rstride;
		q.mcstride = h->mcstride;
		if (h->mask.direct)
			q.flags |= WSE_SQF_MASK_DIRECT;
		else
			q.mshift = (uint8_t)h->mask.shift;
	}
	return q;
}
