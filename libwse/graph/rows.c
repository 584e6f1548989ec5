// SPDX-License-Identifier: MIT
/* Some rows of a tensor: made of tokens, and added. */
#include "graph/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int alloc(struct wse_rows *r, uint32_t n, uint32_t width)
{
	*r = (struct wse_rows){.width = width};
	r->row = malloc((n + 1ul) * sizeof(*r->row));
	r->data = malloc(((size_t)n * width + 1) * sizeof(*r->data));
	if (r->row && r->data)
		return 0;
	wse_rows_fini(r);
	return -ENOMEM;
}

void wse_rows_fini(struct wse_rows *r)
{
	free(r->row);
	free(r->data);
	memset(r, 0, sizeof(*r));
}

/* reads by their rows, those of one row in order: read[0 .. n - 1], of as many again */
static uint32_t *by_row(uint32_t *read, const uint32_t *of, size_t n)
{
	uint32_t *to = read + n, any = 0;

	for (size_t i = 0; i < n; i++) {
		read[i] = (uint32_t)i;
		any |= of[i];
	}
	for (uint32_t shift = 0; shift < 32 && any >> shift; shift += 8) {
		uint32_t at[257] = {0}, *from = read;

		for (size_t i = 0; i < n; i++)
			at[(of[i] >> shift & 255) + 1]++;
		for (uint32_t d = 1; d < 256; d++)
			at[d] += at[d - 1];
		for (size_t i = 0; i < n; i++)
			to[at[of[from[i]] >> shift & 255]++] = from[i];
		read = to;
		to = from;
	}
	return read;
}

int wse_rows_make(struct wse_rows *r, const uint32_t *of, const float *dx, uint32_t tokens,
		  uint32_t reads, uint32_t width)
{
	size_t n = (size_t)tokens * reads;
	uint32_t *room = malloc((2 * n + 1) * sizeof(*room));
	const uint32_t *read = room ? by_row(room, of, n) : NULL;
	uint32_t rows = 0;
	int ret = room ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !ret; i++)
		rows += !i || of[read[i]] != of[read[i - 1]];
	ret = ret ? ret : alloc(r, rows, width);
	for (size_t i = 0; i < n && !ret; i++) {
		uint32_t k = read[i], row = of[k];
		const float *from = dx + (size_t)(k % reads) * width * tokens + k / reads;
		float *to;

		if (!r->n || r->row[r->n - 1] != row) {
			memset(r->data + (size_t)r->n * width, 0, width * sizeof(float));
			r->row[r->n++] = row;
		}
		to = r->data + (size_t)(r->n - 1) * width;
		for (uint32_t j = 0; j < width; j++)
			to[j] += from[(size_t)j * tokens];
	}
	free(room);
	return ret;
}

static int has_bits(const float *row, uint32_t width)
{
	static const float none;

	for (uint32_t j = 0; j < width; j++)
		if (memcmp(&row[j], &none, sizeof(none)))
			return 1;
	return 0;
}

int wse_rows_collect(struct wse_rows *r, float *dense, uint32_t n, uint32_t width)
{
	uint32_t rows = 0;
	int ret;

	for (uint32_t i = 0; i < n; i++)
		rows += (uint32_t)has_bits(dense + (size_t)i * width, width);
	ret = alloc(r, rows, width);
	for (uint32_t i = 0; i < n && !ret; i++) {
		float *row = dense + (size_t)i * width;

		if (!has_bits(row, width))
			continue;
		memcpy(r->data + (size_t)r->n * width, row, width * sizeof(*row));
		memset(row, 0, width * sizeof(*row));
		r->row[r->n++] = i;
	}
	return ret;
}

int wse_rows_add(struct wse_rows *sum, const struct wse_rows *a, const struct wse_rows *b)
{
	uint32_t width = a->width ? a->width : b->width, i = 0, j = 0;
	int ret = alloc(sum, a->n + b->n, width);

	while (!ret && (i < a->n || j < b->n)) {
		float *to = sum->data + (size_t)sum->n * width;
		int left = i < a->n && (j == b->n || a->row[i] <= b->row[j]);
		int right = j < b->n && (i == a->n || b->row[j] <= a->row[i]);
		const float *x = left ? a->data + (size_t)i * width : NULL;
		const float *y = right ? b->data + (size_t)j * width : NULL;

		sum->row[sum->n++] = left ? a->row[i] : b->row[j];
		if (left && right)
			for (uint32_t k = 0; k < width; k++)
				to[k] = x[k] + y[k];
		else
			memcpy(to, left ? x : y, width * sizeof(float));
		i += left != 0;
		j += right != 0;
	}
	return ret;
}
