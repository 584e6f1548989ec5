// SPDX-License-Identifier: MIT
/* Squares of the parameters, tensor by tensor: each rank sums those of its pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/memx_inside.h"

struct params {
	struct wse_memx *mx;
	float *piece; /* [longest] */
};

static int params_of(void *ctx, uint32_t piece, const float **to)
{
	struct params *p = ctx;

	*to = p->piece;
	return wse_memx_piece(p->mx, piece, WSE_MEMX_P, p->piece);
}

int wse_memx_param_squares(struct wse_memx *mx, double *sum)
{
	size_t longest = mx->map.pieces.longest + 1;
	struct params p = {mx, malloc(longest * sizeof(*p.piece))};
	struct wse_share s = {0}; /* one of its own: that of a step has the gradients' */
	int ret = wse_memx_finish(mx);

	if (!ret && !p.piece)
		ret = -ENOMEM;
	ret = ret ? ret : wse_share_make(&s, &mx->map, mx->images.unit);
	s.peers = mx->share.peers;
	ret = ret ? ret : wse_share_squares(&s, params_of, &p, mx->grads.scratch, sum);
	if (s.map)
		wse_share_fini(&s);
	free(p.piece);
	return ret == -ENOMEM ? wse_fail(ret, "no memory for the norm of the parameters") : ret;
}
