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

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int wse_rows_make(struct wse_rows *r, const uint32_t *of, const float *dx, uint32_t tokens,
		  uint32_t reads, uint32_t width)
{
	size_t n = (size_t)tokens * reads;
	uint64_t *key = malloc((n + 1) * sizeof(*key)); /* row, read of a token */
	uint32_t rows = 0;
	int ret = key ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !ret; i++)
		key[i] = (uint64_t)of[i] << 32 | i;
	if (!ret)
		qsort(key, n, sizeof(*key), by_number);
	for (size_t i = 0; i < n && !ret; i++)
		rows += !i || key[i] >> 32 != key[i - 1] >> 32;
	ret = ret ? ret : alloc(r, rows, width);
	for (size_t i = 0; i < n && !ret; i++) {
		uint32_t row = (uint32_t)(key[i] >> 32), k = (uint32_t)key[i];
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
	free(key);
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
