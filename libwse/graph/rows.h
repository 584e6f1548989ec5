/* SPDX-License-Identifier: MIT */
/* Some rows of a tensor: the gradient of a table of which a micro-batch reads few rows. */
#ifndef WSE_GRAPH_ROWS_H
#define WSE_GRAPH_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct wse_rows {
	uint32_t n, width;
	uint32_t *row; /* [n] numbers, ascending */
	float *data;   /* [n][width] */
};

/*
 * Token t, which has column t of dx [width][tokens], read row `of`[t]: the sum of its tokens for
 * each row, from 0 in token order. -ENOMEM
 */
int wse_rows_make(struct wse_rows *r, const uint32_t *of, const float *dx, uint32_t tokens,
		  uint32_t width);
/* a + b of the rows that both have, the others as they are; either may be empty. -ENOMEM */
int wse_rows_add(struct wse_rows *sum, const struct wse_rows *a, const struct wse_rows *b);
void wse_rows_fini(struct wse_rows *r);

#endif
