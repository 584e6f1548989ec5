/* SPDX-License-Identifier: MIT */
/*
 * The micro-batches of a step: their inputs, outputs and losses. Inputs and outputs are in slots,
 * as many a device as it has micro-batches at once: inputs are gathered when a device takes a
 * micro-batch, outputs are used up when it is complete.
 */
#ifndef WSE_TRAIN_SLOTS_H
#define WSE_TRAIN_SLOTS_H

#include "swarmx/swarmx.h"

struct wse_session;

struct wse_slots {
	struct wse_session *s;
	uint32_t per; /* slots of a device */
	struct wse_shared_buf *in[WSE_GRAPH_IO], *out[WSE_GRAPH_IO];
	struct wse_micro_batch *jobs; /* [plan.micro_batches] */
	float *losses;		      /* [batch][span] of the last step, in token order */
	float **sums;		      /* [graph.nunits] gradients of the step */
	uint32_t nleaf, *leaf;	/* [nleaf] tensors with WSE_TENSOR_INPUT */
	uint32_t nrows, *rowed; /* [nrows] those of them whose gradients are rows */
	const struct wse_rows **rows; /* [nrows] their gradients; until the next step's */
	float **grad; /* [table.n] of a family with scatter: what it adds to, 0 in between */
	struct wse_swarm_host host;
};

/* from the pool of a swarm of so many devices, whose close gives the buffers back; logits: of one
 * micro-batch, too */
int wse_slots_open(struct wse_slots *b, struct wse_session *s, const struct wse_buf_pool *pool,
		   uint32_t devices, int logits);
void wse_slots_close(struct wse_slots *b);

/* the first n micro-batches read the images of this step */
void wse_slots_images(struct wse_slots *b, uint32_t n);
/* the inputs of one of them, into its slot: when no device uses it */
void wse_slots_gather(struct wse_slots *b, uint32_t index);
/*
 * the scale of the gradient for the batch in s->samples, in all jobs; *n: tokens of it that count.
 * -EINVAL: none does
 */
int wse_slots_scale(struct wse_slots *b, uint64_t *n);
/* does token i of the samples in s->samples count? */
int wse_slots_counts(const struct wse_slots *b, uint64_t i);
/* a step of the first n, without what is about the run */
struct wse_swarm_step wse_slots_step(struct wse_slots *b, uint32_t n);
/* the gradients of the step to MemoryX: sums of units, and what is rows */
void wse_slots_scatter(const struct wse_slots *b);

#endif
