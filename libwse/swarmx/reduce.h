/* SPDX-License-Identifier: MIT */
/* The left-balanced reduction tree of one unit's gradients, streaming; see swarmx.h. */
#ifndef WSE_TRAIN_REDUCE_H
#define WSE_TRAIN_REDUCE_H

#include <pthread.h>
#include <stdint.h>

#include "memx/grad_file.h"
#include "swarmx/bank.h"

/* a gradient buffer, or a partial sum in one, waiting for its partner */
struct wse_node {
	struct wse_shared_buf *buf; /* NULL: it is in the file, at place */
	uint32_t place;
	int busy; /* on its way there */
	struct wse_node *next;
	uint32_t level, pos;	/* the sum over leaves [pos 2^level, (pos + 1) 2^level) below n */
};

struct wse_reduce {
	struct wse_buf_pool pool;
	size_t count;		/* floats of a gradient */
	const struct wse_packed *rows; /* how it lies; NULL: with the places of all weights */
	size_t bytes;	 /* of a buffer: at least those of count */
	uint32_t leaves;	/* micro-batches of the step */
	pthread_mutex_t lock;
	struct wse_node *waiting, *spare, *lent;
	struct wse_node *root;	/* set when the sum is complete */
	struct wse_node *held;	/* the sum of the last step, which MemoryX still reads */
	uint32_t nodes;		/* buffers in all, for the memory test */
	/*
	 * NULL: all that waits is in memory. bank: where buffers come from, and go to, with a file
	 */
	struct wse_grad_file *file;
	struct wse_bank *bank;
	uint32_t unit;		/* of the file */
	int stays;		/* the sum of a step is in memory all the same */
	pthread_cond_t written;
};

int wse_reduce_init(struct wse_reduce *r, const struct wse_buf_pool *pool, size_t count);
void wse_reduce_fini(struct wse_reduce *r);
/*
 * Before the first step: what waits for a partner lies in the file, and, unless it stays, the sum
 * of a step. Both are closed and freed by the caller, the file before or after fini.
 */
void wse_reduce_in_file(struct wse_reduce *r, struct wse_grad_file *file, uint32_t unit, int stays,
			struct wse_bank *bank);
/* begin a step, or begin it again: whatever waits or is lent is dropped */
void wse_reduce_begin(struct wse_reduce *r, uint32_t leaves);
/*
 * of this step, before its first buffer: as large as gradients of a unit with this image are. The
 * sum of the last step stays as it is
 */
void wse_reduce_size(struct wse_reduce *r, const struct wse_graph *g, uint32_t unit,
		     const struct wse_image *img);
int wse_reduce_get(struct wse_reduce *r, struct wse_shared_buf **buf);
/* thread-safe; adds up as far as partners are there. -EINVAL for a buffer that was not lent */
int wse_reduce_put(struct wse_reduce *r, uint32_t leaf, struct wse_shared_buf *buf);

/*
 * A step whose leaves are dealt to several reducers, on this host or another. When all leaves of a
 * contiguous range are in, what waits are the largest subtrees of the step's tree below which no
 * leaf is missing; put into one reducer, in any order, they give the bits of one that had all.
 */
#define WSE_REDUCE_PARTS 64 /* of a range: at most 2 log2(leaves) */

struct wse_part {
	uint32_t level, pos;	/* as in wse_node */
};

/* the subtrees of the range [first, end), ascending; their number, 0 for an empty range */
uint32_t wse_reduce_parts(uint32_t leaves, uint32_t first, uint32_t end,
			  struct wse_part parts[WSE_REDUCE_PARTS]);
/*
 * so many of the leaves [first, end) wait for their partner at most, when as many devices at most
 * take equal ranges of them in order
 */
uint32_t wse_reduce_waiting(uint32_t leaves, uint32_t first, uint32_t end, uint32_t devices);
/*
 * those that wait, ascending by their first leaf; the complete sum is one, too. All are in memory
 * then; 0 when one cannot be read from the file
 */
uint32_t wse_reduce_left(struct wse_reduce *r, struct wse_node *nodes[WSE_REDUCE_PARTS]);
/* the same, but what is in the file stays there */
uint32_t wse_reduce_stock(struct wse_reduce *r, struct wse_node *nodes[WSE_REDUCE_PARTS]);
/* as wse_reduce_put(), for a subtree. -EINVAL also for one that the step does not have */
int wse_reduce_put_node(struct wse_reduce *r, uint32_t level, uint32_t pos,
			struct wse_shared_buf *buf);
/* what was lent is not put: nothing of it is needed. -EINVAL for a buffer that was not lent */
int wse_reduce_drop(struct wse_reduce *r, struct wse_shared_buf *buf);
/*
 * the sum of all leaves came into this buffer, which waits or is lent; what else waits is dropped
 */
int wse_reduce_settle(struct wse_reduce *r, struct wse_shared_buf *buf);
/* likewise into this place of the file, which one that waits has, or none; -ENOMEM */
int wse_reduce_settle_in_file(struct wse_reduce *r, uint32_t place);
/* is the sum of all leaves there? */
int wse_reduce_whole(struct wse_reduce *r);
/*
 * the sum of all leaves [count], NULL while some are missing, and where it is in the file
 * (wse_grad_file_held()); it stays until the next one is taken
 */
float *wse_reduce_take(struct wse_reduce *r);
/* it is not needed any longer; what is lent next may lie there */
void wse_reduce_give_back(struct wse_reduce *r);

#endif
