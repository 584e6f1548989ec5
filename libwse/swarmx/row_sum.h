/* SPDX-License-Identifier: MIT */
/*
 * The same tree as reduce.h's, over gradients that have few rows of a tensor: a row that a leaf
 * does not have is left out of the sum, not added as 0.
 */
#ifndef WSE_SWARMX_ROW_SUM_H
#define WSE_SWARMX_ROW_SUM_H

#include <pthread.h>

#include "graph/rows.h"
#include "swarmx/reduce.h"

struct wse_row_node {
	struct wse_rows rows;
	struct wse_row_node *next;
	uint32_t level, pos; /* as struct wse_node's */
};

struct wse_row_sum {
	uint32_t leaves;
	pthread_mutex_t lock;
	struct wse_row_node *waiting;
	struct wse_row_node *root; /* set when the sum is complete */
	struct wse_row_node *held; /* the sum of the last step */
};

int wse_row_sum_init(struct wse_row_sum *s);
void wse_row_sum_fini(struct wse_row_sum *s);
/* begin a step, or begin it again: whatever waits is dropped */
void wse_row_sum_begin(struct wse_row_sum *s, uint32_t leaves);
/* thread-safe; the rows are the sum's from here on, also on error (-EINVAL, -ENOMEM) */
int wse_row_sum_put(struct wse_row_sum *s, uint32_t leaf, struct wse_rows *rows);
/* as wse_row_sum_put(), for a subtree of another rank: see wse_reduce_put_node() */
int wse_row_sum_put_node(struct wse_row_sum *s, uint32_t level, uint32_t pos,
			 struct wse_rows *rows);
/* the subtrees that wait, ascending, taken out: the caller's to put again. See wse_reduce_left() */
uint32_t wse_row_sum_left(struct wse_row_sum *s, struct wse_part at[WSE_REDUCE_PARTS],
			  struct wse_rows rows[WSE_REDUCE_PARTS]);
/* the sum of all leaves, NULL while some are missing; it stays until the next one is taken */
const struct wse_rows *wse_row_sum_take(struct wse_row_sum *s);

#endif
