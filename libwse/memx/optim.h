/* SPDX-License-Identifier: MIT */
/* Optimizers and learning-rate schedules: IEEE fp32 and double arithmetic, no libm. */
#ifndef WSE_TRAIN_OPTIM_H
#define WSE_TRAIN_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#include <wse/train.h>

struct wse_optim_cfg {
	enum wse_optim_kind kind;
	double beta1, beta2, eps;	/* AdamW, Adam; Lion has no eps */
	double momentum;		/* SGD */
	double weight_decay;		/* AdamW, Lion: decoupled; else added to the gradient */
};

/* arrays of a parameter: itself and the moments that the optimizer keeps of it; 2 or 3 */
uint32_t wse_optim_arrays(const struct wse_optim_cfg *cfg);

struct wse_sched_list {
	uint32_t n;
	struct wse_sched s[WSE_SCHED_MAX];
};

/* the learning rate of step 0, 1, ... */
double wse_sched_rate(const struct wse_sched_list *list, uint64_t step);

/* What one update of one tensor needs; the powers beta^t are running products (checkpointed). */
struct wse_update {
	double lr;
	double beta1_pow, beta2_pow;	/* after this step: beta^1 in the first */
	float grad_scale;		/* clipping: gradients are multiplied by it */
	int decay;			/* 0 for biases */
};

/*
 * p, m, v [n] in place, g [n] read-only; v is unused by SGD and Lion. Element by element: no order.
 */
void wse_optim_update(const struct wse_optim_cfg *cfg, const struct wse_update *u, size_t n,
		      float *p, float *m, float *v, const float *g);

/*
 * Sum of squares of g [n] in double: blocks of 4096 elements, each in ascending order from 0, then
 * the block sums in ascending order. The bits do not depend on which thread computes a block.
 */
double wse_sum_squares(const float *g, size_t n);
/* the blocks of g onto *sum: part by part, of whole blocks but for the last, it is the same sum */
void wse_add_squares(const float *g, size_t n, double *sum);
/* the block sums alone, b [n / 4096, rounded up]; their number */
size_t wse_square_blocks(const float *g, size_t n, double *b);

#endif
