/* SPDX-License-Identifier: MIT */
/*
 * The sums of a step over ranks. The gradient of each unit is cut into pieces; the subtrees that a
 * rank is left with go, piece by piece, to the piece's owner, who finishes the tree and sends the
 * sum to all. So each value crosses the network twice, and every rank adds up as much as another.
 */
#ifndef WSE_SWARMX_EXCHANGE_H
#define WSE_SWARMX_EXCHANGE_H

#include "swarmx/hosts.h"
#include "swarmx/reduce.h"
#include "swarmx/row_sum.h"

struct wse_exchange;

int wse_exchange_open(struct wse_hosts *hosts, struct wse_exchange **x);
void wse_exchange_close(struct wse_exchange *x);

/*
 * reduce [n]: rank r has put the micro-batches [cut[r], cut[r + 1]) of `leaves` into each of its
 * own; on return each has the sum of all. Every rank calls it, those without a micro-batch, too.
 * -EPROTO: a micro-batch of this rank is missing.
 */
int wse_exchange_sums(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t n,
		      uint32_t leaves, const uint32_t *cut);

/* the same for gradients of few rows, sums [n]: every rank gets all parts and finishes the trees */
int wse_exchange_rows(struct wse_exchange *x, struct wse_row_sum *sums, uint32_t n,
		      uint32_t leaves, const uint32_t *cut);

/* rank r has elements [cut[r], cut[r + 1]) of `size` bytes; on return every rank has all of them */
int wse_exchange_all(struct wse_exchange *x, void *elements, size_t size, const uint32_t *cut);

#endif
