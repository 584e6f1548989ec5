// SPDX-License-Identifier: MIT
/* Squares of the parameters, tensor by tensor: each rank sums those of its pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/memx_inside.h"

struct params {
	struct wse_memx *mx;
	float *piece;	/* [longest] */
	double *blocks; /* of a piece */
};

static int params_of(void *ctx, uint32_t piece, const float **to)
{
	struct params *p = ctx;

	*to = p->piece;
	return wse_memx_piece(p->mx, piece, WSE_MEMX_P, p->piece);
}

/* tensors in no unit: each rank has them */
static int own_squares(struct params *p, double *sum)
{
	const struct wse_memx_pieces *l = &p->mx->map.pieces;
	int ret = 0;

	for (uint32_t k = 0; k < l->first[0] && !ret; k++) {
		const struct wse_memx_piece *q = &l->p[k];
		size_t left = p->mx->tab.t[q->tensor].count - q->at, n;

		ret = wse_memx_piece(p->mx, k, WSE_MEMX_P, p->piece);
		if (ret)
			break;
		if (!q->at)
			sum[q->tensor] = 0.0;
		n = wse_square_blocks(p->piece, q->count < left ? q->count : left, p->blocks);
		for (size_t i = 0; i < n; i++)
			sum[q->tensor] += p->blocks[i];
	}
	return ret;
}

int wse_memx_param_squares(struct wse_memx *mx, double *sum)
{
	size_t longest = mx->map.pieces.longest + 1;
	struct params p = {mx, malloc(longest * sizeof(*p.piece)),
			   malloc((longest / 4096 + 1) * sizeof(*p.blocks))};
	struct wse_share s = {0}; /* one of its own: that of a step has the gradients' */
	int ret = wse_memx_finish(mx);

	if (!ret && (!p.piece || !p.blocks))
		ret = -ENOMEM;
	ret = ret ? ret : wse_share_make(&s, &mx->map, mx->images.unit);
	s.peers = mx->share.peers;
	ret = ret ? ret : own_squares(&p, sum);
	ret = ret ? ret : wse_share_squares(&s, params_of, &p, mx->grads.scratch, sum);
	if (s.map)
		wse_share_fini(&s);
	free(p.piece);
	free(p.blocks);
	return ret == -ENOMEM ? wse_fail(ret, "no memory for the norm of the parameters") : ret;
}
