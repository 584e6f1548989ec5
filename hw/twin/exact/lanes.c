// SPDX-License-Identifier: MIT
/* Stream AXPY and stream DOT. */
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/exact/lanes.h"
#include "twin/twin.h"

static void add_scaled(uint32_t *restrict acc, const uint16_t *restrict x, uint32_t v, uint32_t n)
{
	uint32_t t;

	for (t = 0; t < n; t++)
		acc[t] = twin_fadd(acc[t], twin_fmul(v, twin_bf16_widen(x[t])));
}

/* the operand's row and the sums that a data wavelet names, which passed the checks */
static const uint16_t *row_of(const struct twin_core *c, const struct twin_engine *e, uint32_t w)
{
	const struct twin_opnd *x = &e->o[OPND_SRC2];

	return (const uint16_t *)(const void *)(c->sram + x->base +
						(int32_t)(w & 0x3fff) * x->stride1);
}

static uint32_t *sums_of(struct twin_core *c, const struct twin_engine *e, uint32_t w)
{
	return &c->acc[(uint32_t)e->o[OPND_DST].base + (w >> 14 & 3) * e->tokens];
}

static uint32_t dot(const uint32_t *acc, const uint16_t *x, uint32_t tokens)
{
	uint32_t p[WSE_LANES] = {0};
	uint32_t t, l, n;

	for (t = 0; t < tokens; t += WSE_LANES)
		for (l = 0; l < WSE_LANES; l++)
			p[l] = twin_fadd(p[l], twin_fmul(acc[t + l], twin_bf16_widen(x[t + l])));
	for (n = WSE_LANES; n > 1; n /= 2)
		for (l = 0; l < n / 2; l++)
			p[l] = twin_fadd(p[2 * l], p[2 * l + 1]);
	return p[0];
}

void twin_dotq_push(struct twin_core *c, uint32_t v, bool end)
{
	unsigned int i = (c->dotq.head + c->dotq.count++) % WSE_DOTQ_DEPTH;

	c->dotq.data[i] = v;
	c->dotq.end = (c->dotq.end & ~(1u << i)) | (uint32_t)end << i;
}

bool twin_run_stream(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	unsigned int color = e->o[OPND_SRC1].color;
	struct twin_chan *q = &c->recv[color];
	bool axpy = e->op == WSE_TOP_AXPY, any = false, ctrl;
	uint32_t w;

	while (q->count && c->ecyc[WSE_ENGINE_L] < m->equantum) {
		w = chan_head(q, &ctrl);
		if (ctrl && !(w & WSE_CTRLW_END_MASK)) {
			twin_tensor_fault(m, c, WSE_CAUSE_BAD_CTRL, color, w);
			return any;
		}
		if (!ctrl && ((w >> 14 & 3) >= e->nfeat || (w & 0x3fff) >= e->o[OPND_SRC2].len1)) {
			twin_tensor_fault(m, c, WSE_CAUSE_STREAM_INDEX, color, w);
			return any;
		}
		if (!axpy && !(ctrl && e->op == WSE_TOP_DOTX) && c->dotq.count == WSE_DOTQ_DEPTH)
			break;
		any = true;
		twin_recv_pop(m, c, color);
		if (ctrl) {
			if (e->op == WSE_TOP_DOT)
				twin_dotq_push(c, 0, true);
			twin_engine_complete(m, c, e);
			break;
		}
		if (!axpy)
			twin_dotq_push(c, dot(sums_of(c, e, w), row_of(c, e, w), e->tokens), false);
		else
			add_scaled(sums_of(c, e, w), row_of(c, e, w), w & 0xffff0000u, e->tokens);
		twin_lane_work(m, c, e, e->tokens / WSE_LANES);
		c->ecyc[WSE_ENGINE_L] += e->tokens / WSE_LANES;
		c->cnt[WSE_CNT_MAC] += e->tokens;
	}
	return any;
}
