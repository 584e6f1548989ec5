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
 * Token t, which has column t of dx [reads][width][tokens], read rows of [t][reads]: the sum for
 * each row, from 0 in token order, of a token in the order of its reads. -ENOMEM
 */
int wse_rows_make(struct wse_rows *r, const uint32_t *of, const float *dx, uint32_t tokens,
		  uint32_t reads, uint32_t width);
/* those of dense [n][width] that have a bit set, which it clears; on -ENOMEM it clears none */
int wse_rows_collect(struct wse_rows *r, float *dense, uint32_t n, uint32_t width);
/* a + b of the rows that both have, the others as they are; either may be empty. -ENOMEM */
int wse_rows_add(struct wse_rows *sum, const struct wse_rows *a, const struct wse_rows *b);
void wse_rows_fini(struct wse_rows *r);

#endif
