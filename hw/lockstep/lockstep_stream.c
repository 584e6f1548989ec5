// SPDX-License-Identifier: MIT
/*
 * Random programs for the host's streams: offsets, page lists with gaps that no model may read,
 * masks behind lists of their own, columns of up to 16384 elements, many blocks, every element
 * type. Cores on the way add up the data from the north edge, a mover passes it on, or it runs
 * straight through to the south edge, where a stream-out takes exactly as many elements as the
 * generator has counted: a lost or repeated element ends in a time-out or in other memory.
 */
#include <string.h>

#include "lockstep_ops.h"
#include "lockstep_stream.h"
#include "lockstep_tile.h"

/* --- commands --- */

static void add(struct streams *s, uint8_t queue, const struct wse_sqe *q)
{
	struct ls_cmd *cmd = &s->t.p->cmd[s->t.p->ncmds++];

	cmd->queue = queue;
	cmd->sqe = *q;
}

/* A stream-out of which column c takes count[c] elements. */
static bool drain(struct streams *s, const struct shape *in, const uint32_t *count, uint32_t col0,
		  uint32_t color)
{
	struct shape h = {.cols = in->cols};
	struct wse_sqe q;
	bool same = true;
	uint32_t most = 0;

	for (uint32_t c = 0; c < h.cols; c++) {
		same &= count[c] == count[0];
		most = count[c] > most ? count[c] : most;
	}
	h.etype = rng_below(s->t.r, 3);
	h.es = h.etype == WSE_ETYPE_BF16 ? 2 : 4;
	h.B = h.etype == WSE_ETYPE_RAW32 ? 1 : 1u << rng_below(s->t.r, 3);
	if (same && most && most == in->blocks * in->B * in->K && rng_chance(s->t.r, 50)) {
		h.B = h.etype == WSE_ETYPE_RAW32 ? 1 : in->B;
		h.blocks = in->blocks * in->B / h.B;
		h.K = in->K;
	} else if (same && most && most <= 16384 && rng_chance(s->t.r, 50)) {
		h.B = h.blocks = 1;
		h.K = most;
	} else { /* as many of a larger number */
		h.masked = true;
		h.K = rng_range(s->t.r, 1, rng_chance(s->t.r, 50) ? 16384 : 300);
		if (rng_chance(s->t.r, 5))
			h.K = 16384;
		else if (h.K > most + 100)
			h.K = most + 1 + rng_below(s->t.r, 100);
		h.blocks = (most + h.K * h.B - 1) / (h.K * h.B) + rng_below(s->t.r, 2);
		if (!h.blocks)
			h.blocks = 1;
	}
	if (!stream_data_area(s, &h) || (h.masked && !stream_mask_area(s, &h)))
		return false;
	for (uint32_t c = 0; h.masked && c < h.cols; c++)
		stream_fill_mask_count(s, &h, c, count[c]);
	stream_shorten(s, &h, count);
	q = stream_sqe(s, WSE_OP_STREAM_OUT, &h, col0, color);
	add(s, s->out, &q);
	return true;
}

/* --- the cores' work on a stream --- */

/* AXPY of B features and K rows; the rows of x are one row where K of them do not fit. */
static void axpy(struct code *c, struct rng *r, uint32_t color, uint32_t B, uint32_t K)
{
	uint32_t T = 8 * rng_range(r, 1, 2), row = K * T * 2 <= OPS_L_BYTES ? 2 * T : 0;
	uint32_t extra = OPS_L_BYTES - (row ? K * row : 2 * T);
	const uint32_t in[4] = {color, 0, 0, WSE_KIND_FABIN};
	const uint32_t acc[4] = {8 * rng_below(r, (64 - B * T) / 8 + 1), 0, 0, WSE_KIND_ACC};
	const uint32_t x[4] = {OPS_L + 16 * rng_below(r, extra / 16 + 1), T | 2 << 16,
			       K | row << 16, WSE_KIND_MEM | WSE_DT_BF16 << 4};

	op_dsr(c, 0, acc);
	op_dsr(c, 1, in);
	op_dsr(c, 2, x);
	op_issue(c,
		 WSE_TOP_AXPY | 1 << 12 | 2 << 16 | WSE_ENGINE_L << 20 |
			 (rng_chance(r, 50) ? WSE_TCW_CLEAR_MASK : 0),
		 B);
}

/*
 * A mover passes a color on to another: a count of elements, or of blocks. Of elements it may add
 * one value to each, or keep a copy, of which the last one of a row, or of all, remains.
 */
static void pass_on(struct code *c, struct rng *r, uint32_t in, uint32_t out, uint32_t count,
		    bool until_end)
{
	uint32_t rows = 1, len = count, op = WSE_TOP_MOVE;
	uint32_t engine = rng_chance(r, 50) ? WSE_ENGINE_M0 : WSE_ENGINE_M1;
	uint32_t flags = rng_chance(r, 50) ? WSE_TCW_SEND_END_MASK : 0;

	if (!count)
		return;
	while (!until_end && len % 2 == 0 && rng_chance(r, 60)) {
		len /= 2;
		rows *= 2;
	}
	if (until_end)
		flags |= WSE_TCW_UNTIL_END_MASK;
	op_dsr(c, 3, (const uint32_t[4]){out, len, rows, WSE_KIND_FABOUT});
	op_dsr(c, 4, (const uint32_t[4]){in, 0, 0, WSE_KIND_FABIN});
	if (!until_end && rng_chance(r, 50)) {
		uint32_t half = engine == WSE_ENGINE_M0 ? OPS_M0 : OPS_M1;
		bool acc = rng_chance(r, 50);
		const uint32_t one[4] = {acc ? 64 + rng_below(r, 32) : half + 4 * rng_below(r, 64),
					 len, rows | (rows <= 32 ? (acc ? 1 : 4) << 16 : 0),
					 acc ? WSE_KIND_ACC : WSE_KIND_MEM | WSE_DT_FP32 << 4};

		op = rng_chance(r, 50) ? WSE_TOP_MADD : WSE_TOP_MTEE;
		op_dsr(c, 5, one);
	}
	op_issue(c, op | 3 << 8 | 4 << 12 | 5 << 16 | engine << 20 | flags, 0);
}

/*
 * The lowest core of a column that the stream reaches, and the cores on the way that take a copy.
 */
static void column(struct streams *s, const struct shape *h, uint32_t col, uint32_t color,
		   uint32_t last, bool through, bool taps)
{
	struct tile *t = &s->t;

	for (uint32_t row = 0; row <= last; row++) {
		struct code *c = &t->c[row * t->p->cols + col];
		bool tap = taps && rng_chance(t->r, 60);
		uint32_t tx = row < last || through ? 1u << WSE_PORT_S : 0;

		if (!tx || tap)
			tx |= 1u << WSE_PORT_R;
		op_route(c, color, WSE_PORT_N, tx);
		if (!taps || !(tx >> WSE_PORT_R & 1))
			continue;
		for (uint32_t b = 0; b < h->blocks; b++)
			axpy(c, t->r, color, h->B, h->K);
	}
}

enum mode { SUM, THROUGH, PASS };

bool stream_phase(struct streams *s)
{
	struct tile *t = &s->t;
	struct rng *r = t->r;
	uint32_t col0 = rng_below(r, t->p->cols), color, color2, count[TILE_CORES],
		 picked[TILE_CORES];
	struct shape h = {.cols = rng_range(r, 1, t->p->cols - col0), .etype = rng_below(r, 3)};
	enum mode mode = (enum mode)rng_below(r, 3);
	bool drop = rng_chance(r, 25), index_only = !drop && rng_chance(r, 15), until_end, taps;
	struct wse_sqe q;

	if (mode == SUM && h.etype == WSE_ETYPE_RAW32)
		mode = THROUGH; /* AXPY needs an END */
	stream_shape(r, &h);
	h.masked = rng_chance(r, 60);
	if (!tile_color(t, &color) || !tile_color(t, &color2) || !stream_data_area(s, &h) ||
	    (h.masked && !stream_mask_area(s, &h)))
		return false;
	stream_fill_data(s, &h, rng_chance(r, 60) ? 40 : 0);
	if (h.masked)
		stream_fill_mask(s, &h);
	for (uint32_t c = 0; c < h.cols; c++) {
		uint32_t empty;

		picked[c] = stream_travel(s, &h, c, false, &empty);
		count[c] = stream_travel(s, &h, c, drop, &empty);
		/* the stream-out ends with the last element: the port holds only so many ENDs */
		if (mode == THROUGH && h.etype != WSE_ETYPE_RAW32 && empty >= WSE_CHAN_DEPTH)
			mode = PASS;
	}
	taps = mode == SUM || (mode == THROUGH && h.etype != WSE_ETYPE_RAW32 && rng_chance(r, 30));
	/* a mover that counts elements cannot pass an END: it takes one block */
	until_end = h.etype != WSE_ETYPE_RAW32 && (h.blocks > 1 || rng_chance(r, 60));
	if (mode != SUM && !drain(s, &h, count, col0, mode == PASS ? color2 : color))
		return false;
	stream_shorten(s, &h, picked);
	q = stream_sqe(s, WSE_OP_STREAM_IN, &h, col0, color);
	if (drop)
		q.flags |= WSE_SQF_DROP_ZERO;
	if (index_only) {
		q.flags &= (uint8_t)~WSE_SQF_LINEAR;
		q.len = 0;
		q.flags |= WSE_SQF_INDEX_ONLY;
		q.buf = STREAM_NOWHERE;
	}
	add(s, s->in, &q);
	for (uint32_t c = 0; c < h.cols; c++) {
		uint32_t col = col0 + c, last = t->p->rows - 1, at = rng_below(r, t->p->rows);

		if (mode != PASS) {
			column(s, &h, col, color, last, mode == THROUGH, taps);
			continue;
		}
		column(s, &h, col, color, at, false, false);
		op_route(&t->c[at * t->p->cols + col], color2, WSE_PORT_R, 1u << WSE_PORT_S);
		for (uint32_t row = at + 1; row <= last; row++)
			op_route(&t->c[row * t->p->cols + col], color2, WSE_PORT_N,
				 1u << WSE_PORT_S);
		pass_on(&t->c[at * t->p->cols + col], r, color, color2,
			until_end ? h.blocks : count[c], until_end);
		if (!until_end && h.etype != WSE_ETYPE_RAW32) { /* the END that it left */
			op_wait(&t->c[at * t->p->cols + col], 7);
			tile_recv(t, at * t->p->cols + col, color, 1);
		}
	}
	return true;
}

void ls_gen_stream(struct ls_program *p, struct rng *r)
{
	static struct streams s;
	uint32_t phases = rng_range(r, 1, 5);

	memset(&s, 0, sizeof(s));
	s.t.p = p;
	s.t.r = r;
	s.low = LS_MEM_DATA;
	s.high = LS_MEM;
	s.in = 2;
	s.out = 3;
	p->kind = "stream";
	for (uint32_t i = 0; i < LS_MEM - LS_MEM_DATA; i += 8) {
		uint64_t v = rng_next(r);

		memcpy(p->mem + LS_MEM_DATA + i, &v, 8);
	}
	tile_begin(&s.t);
	while (phases-- && stream_phase(&s))
		;
	for (uint32_t core = 0; core < tile_cores(&s.t); core++) {
		struct code *c = &s.t.c[core];

		op_wait(c, 7);
		put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
		put(c, WSE(WSE_F3_TNEXT, 0, 10, 0, 0));
	}
}
