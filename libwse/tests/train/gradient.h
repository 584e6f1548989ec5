/* SPDX-License-Identifier: MIT */
/* How far the gradients of two computations of one model are from each other. */
#ifndef WSE_TEST_GRADIENT_H
#define WSE_TEST_GRADIENT_H

#include <math.h>

#include "graph/tensor.h"

struct distance {
	/* largest |a - b| / |b| of a tensor whose norm is above 1e-4 of the whole */
	double l2;
	double cosine;	/* smallest of such a tensor */
	double small;	/* largest |a - b| of the other tensors, over the norm of the whole */
};

/* a, b: [tab->params]; b is the reference */
static inline struct distance gradient_distance(const struct wse_tensor_table *tab, const float *a,
						const float *b)
{
	struct distance d = { .cosine = 1 };
	double total = 0;

	for (size_t i = 0; i < tab->params; i++)
		total += (double)b[i] * b[i];
	for (uint32_t i = 0; i < tab->n; i++) {
		const struct wse_tensor *t = &tab->t[i];
		double dd = 0, aa = 0, bb = 0, ab = 0;

		for (size_t j = t->off; j < t->off + t->count; j++) {
			dd += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
			aa += (double)a[j] * a[j];
			bb += (double)b[j] * b[j];
			ab += (double)a[j] * b[j];
		}
		if (bb <= 1e-8 * total) {
			d.small = fmax(d.small, sqrt(dd / total));
			continue;
		}
		d.l2 = fmax(d.l2, sqrt(dd / bb));
		d.cosine = fmin(d.cosine, ab / sqrt(aa * bb));
	}
	return d;
}

/* the bounds that training is held to */
static inline int gradient_close(struct distance d)
{
	return d.l2 <= 0.015 && d.cosine >= 0.9998 && d.small <= 1e-6;
}

#endif
