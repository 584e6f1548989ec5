// SPDX-License-Identifier: MIT
/* The map of a core's SRAM. */
#include "layout.h"

#include <errno.h>
#include <string.h>

/* n bytes of one kind; every size is a multiple of 16, as the lanes want it */
static uint32_t place(uint32_t *at, uint32_t *kind, uint64_t n)
{
	uint32_t here = *at;

	*at += (uint32_t)n;
	*kind += (uint32_t)n;
	return here;
}

static int check(const struct wse_mlp *m, uint32_t cols, uint32_t lanes, uint32_t tokens, char *why)
{
	for (uint32_t l = 0; l <= m->nlinear; l++) {
		uint32_t w = m->width[l], unit = 4 * cols;

		if (w % unit)
			return wse_why(why, -EINVAL,
				       "the %s of width %u is not a multiple of 4 x %u columns; "
				       "choose %u or %u",
				       l == 0		 ? "input (window x embedding_size)"
				       : l == m->nlinear ? "vocabulary"
							 : "hidden layer",
				       w, cols, w / unit * unit, (w / unit + 1) * unit);
		if (w / cols > 16384) /* the index of a wavelet has 14 bits */
			return wse_why(why, -EINVAL, "width %u is more than 16384 x %u columns", w,
				       cols);
	}
	if (!tokens || tokens % lanes || tokens > 64)
		return wse_why(why, -EINVAL,
			       "%u tokens per core are not 1 to 64 in multiples of the %u lanes",
			       tokens, lanes);
	return 0;
}

int wse_layout_make(const struct wse_mlp *m, uint32_t cols, uint32_t lanes, uint32_t tokens,
		    uint32_t sram, struct wse_layout *lay, char *why)
{
	uint64_t t = tokens, bias = 0, need, sums = 0;
	uint32_t at = WSE_LAYOUT_BASE, dx;
	int ret = check(m, cols, lanes, tokens, why), gelu = m->act == WSE_ACT_GELU;

	memset(lay, 0, sizeof(*lay));
	if (ret)
		return ret;
	lay->nfeat = t <= 16 ? 4 : t <= 32 ? 2 : 1;
	lay->b_fixed = WSE_LAYOUT_BASE + WSE_LAYOUT_TOP;
	for (uint32_t l = 0; l < m->nlinear; l++)
		if (m->width[l + 1] / cols * 4 > bias)
			bias = m->width[l + 1] / cols * 4;
	lay->bias = place(&at, &lay->b_bias, bias);
	lay->target = place(&at, &lay->b_softmax, 2 * t);
	lay->loss = place(&at, &lay->b_softmax, 4 * t);
	lay->scratch = place(&at, &lay->b_softmax, 12 * t);
	for (uint32_t l = 0; l < m->nlinear; l++) {
		uint64_t n = m->width[l] / cols * t;

		if (l && gelu)
			lay->deriv[l] = place(&at, &lay->b_deriv, n * 2);
		lay->act[l] = place(&at, &lay->b_act, n * 2);
		if (l && gelu && lay->act[l] + n * 4 > sums)
			sums = lay->act[l] + n * 4;
	}
	lay->logits = place(&at, &lay->b_logits, m->vocab / cols * t * 4);
	lay->dy = place(&at, &lay->b_dy, m->vocab / cols * t * 2);
	/* dX of layer 0 is made from what lies over act[1], or from dy itself */
	dx = m->nlinear > 2 ? (gelu ? lay->deriv[2] : lay->act[2]) : lay->logits;
	if (m->nlinear == 1 && m->width[0] > m->vocab)
		dx = at;
	lay->dx = dx;
	need = dx + m->width[0] / cols * t * 4;
	if (need < sums)
		need = sums;
	if (need > at) {
		lay->b_over = (uint32_t)need - at;
		at = (uint32_t)need;
	}
	lay->total = at + WSE_LAYOUT_TOP;
	if (lay->total > sram)
		return wse_why(
			why, -E2BIG,
			"the model does not fit: %u bytes per core (%u fixed, %u activations, "
			"%u derivatives, %u logits, %u their gradient, %u bias, %u softmax, %u "
			"overhang) of "
			"%u with %u tokens per core; use narrower layers, more columns, or a "
			"smaller micro_batch_size",
			lay->total, lay->b_fixed, lay->b_act, lay->b_deriv, lay->b_logits,
			lay->b_dy, lay->b_bias, lay->b_softmax, lay->b_over, sram, tokens);
	return 0;
}
