// SPDX-License-Identifier: MIT
/* Images and gradients of masked weights without those that are not there. */
#include "graph/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int wse_linear_streams = 1;

static uint32_t ones(const unsigned char *bits, size_t bytes)
{
	uint32_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += (uint32_t)__builtin_popcount(bits[i]);
	return n;
}

/* the slice of a chunk, as rows and columns of the image that is sent */
static struct wse_slice slice_of(const struct wse_unit *u, uint32_t chunk, int back)
{
	struct wse_slice s = back ? wse_unit_slice_back(u, chunk) : wse_unit_slice(u, chunk);

	return back ? (struct wse_slice){s.in0, s.ins, s.out0, s.outs} : s;
}

/* the places of a column's elements of rows [row, end), block by block: how many */
static uint32_t column(const struct wse_mask_shape *m, const unsigned char *bits, uint32_t nfeat,
		       uint32_t row, uint32_t end, uint32_t from, uint32_t kcol, uint32_t *place)
{
	uint32_t n = 0;

	for (; row < end; row += nfeat)
		for (uint32_t k = 0; k < kcol; k++)
			for (uint32_t f = 0; f < nfeat; f++)
				if (wse_mask_get(m, bits, row + f, from + k))
					place[n++] = (row + f) * m->width + from + k;
	return n;
}

/* a command's runs: rows [row, end) of a slice */
static void area(struct wse_packed *p, const struct wse_mask_shape *m, const unsigned char *bits,
		 uint32_t nfeat, const struct wse_slice *s, uint32_t row, uint32_t end)
{
	struct wse_packed_run *r = &p->run[p->nruns];
	uint32_t *count = p->count + (size_t)p->nruns++ * p->cols, kcol = s->ins / p->cols;

	*r = (struct wse_packed_run){.at2 = p->bytes2, .at4 = p->bytes4, .most = 1};
	for (uint32_t c = 0; c < p->cols; c++) {
		count[c] =
			column(m, bits, nfeat, row, end, s->in0 + c * kcol, kcol, p->place + p->n);
		p->n += count[c];
		r->most = count[c] > r->most ? count[c] : r->most;
	}
	p->bytes2 += (size_t)p->cols * wse_packed_stride(r, 2);
	p->bytes4 += (size_t)p->cols * wse_packed_stride(r, 4);
}

int wse_packed_init(struct wse_packed *p, const struct wse_graph *g, const struct wse_unit *u,
		    int back, const unsigned char *bits, uint64_t most)
{
	struct wse_mask_shape m = wse_mask_shape(g, u, back);
	uint32_t chunks = u->chunks_out * u->chunks_in * (back ? u->chunks_back : 1);
	uint32_t rows = slice_of(u, 0, back).outs, at;

	*p = (struct wse_packed){.cols = g->tile.cols,
				 .blocks = wse_packed_blocks(most, m.width, g->nfeat)};
	p->pieces = (rows / g->nfeat + p->blocks - 1) / p->blocks;
	p->run = calloc((size_t)chunks * p->pieces, sizeof(*p->run));
	p->count = calloc((size_t)chunks * p->pieces * p->cols, sizeof(*p->count));
	p->place = malloc((ones(bits, wse_mask_bytes(&m)) + 1ul) * sizeof(*p->place));
	if (!p->run || !p->count || !p->place) {
		wse_packed_fini(p);
		return -ENOMEM;
	}
	for (uint32_t chunk = 0; chunk < chunks; chunk++) {
		struct wse_slice s = slice_of(u, chunk, back);

		for (uint32_t i = 0; i < p->pieces; i++) {
			uint64_t next = (uint64_t)(i + 1) * p->blocks * g->nfeat;

			at = i * p->blocks * g->nfeat;
			area(p, &m, bits, g->nfeat, &s, s.out0 + at,
			     s.out0 + (next < s.outs ? (uint32_t)next : s.outs));
		}
	}
	return 0;
}

void wse_packed_fini(struct wse_packed *p)
{
	free(p->run);
	free(p->count);
	free(p->place);
	*p = (struct wse_packed){.buf = p->buf};
}

void wse_packed_image(const struct wse_packed *p, const uint16_t *dense, uint16_t *packed)
{
	const uint32_t *place = p->place;

	for (uint32_t i = 0; i < p->nruns; i++)
		for (uint32_t c = 0; c < p->cols; c++) {
			size_t stride = wse_packed_stride(&p->run[i], 2);
			uint16_t *to = packed + (p->run[i].at2 + c * stride) / 2;
			uint32_t n = p->count[(size_t)i * p->cols + c];

			for (uint32_t k = 0; k < n; k++)
				to[k] = dense[*place++];
		}
}

int wse_packed_grads(const struct wse_packed *p, size_t floats, float *grads)
{
	const uint32_t *place = p->place;
	float *packed = malloc(p->bytes4);

	if (!packed)
		return wse_fail(-ENOMEM, "no memory for %zu gradients", p->n);
	memcpy(packed, grads, p->bytes4);
	memset(grads, 0, floats * sizeof(*grads));
	for (uint32_t i = 0; i < p->nruns; i++)
		for (uint32_t c = 0; c < p->cols; c++) {
			size_t stride = wse_packed_stride(&p->run[i], 4);
			const float *from = packed + (p->run[i].at4 + c * stride) / 4;
			uint32_t n = p->count[(size_t)i * p->cols + c];

			for (uint32_t k = 0; k < n; k++)
				grads[*place++] = from[k];
		}
	free(packed);
	return 0;
}
