// SPDX-License-Identifier: MIT
/*
 * Edge ports and the executors of STREAM_IN and STREAM_OUT. A port works block by block: a block's wavelets are packed when
 * the port gets to it, a block's results are written when the last of them has arrived.
 */
#include <stdlib.h>
#include <string.h>

#include "fp.h"
#include "wse_func.h"

struct shape {
	uint32_t k, b, size;	/* elements of a column, features, bytes of an element */
};

static struct shape shape_of(const struct wse_sqe *s)
{
	return (struct shape){ s->kcol, s->nfeat, s->etype == WSE_ETYPE_BF16 ? 2 : 4 };
}

static bool selected(const uint8_t *mask, uint32_t k)
{
	return mask[k >> 3] >> (k & 7) & 1;
}

/* mask rows of a block, [b][(k + 7) / 8]; without MASKED all ones */
static int load_masks(struct wse_model *m, struct wse_job *j, uint32_t col, uint32_t block, uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t bytes = (s->kcol + 7) / 8, f;
	uint64_t off;
	int err;

	if (!(s->flags & WSE_SQF_MASKED)) {
		memset(mask, 0xff, (size_t)bytes * s->nfeat);
		return 0;
	}
	for (f = 0; f < s->nfeat; f++) {
		off = s->moff + ((uint64_t)block * s->nfeat + f) * s->rstride + (uint64_t)col * s->mcstride;
		err = wse_buf_read(m, &j->mask, off, mask + f * bytes, bytes, &j->bad);
		if (err)
			return err;
	}
	return 0;
}

static uint64_t row_off(const struct wse_sqe *s, uint32_t col, uint32_t block, uint32_t f)
{
	return s->off + ((uint64_t)block * s->nfeat + f) * s->lstride + (uint64_t)col * s->cstride;
}

/* values of a row as the upper halves of wavelets, or whole words for RAW32 */
static int load_row(struct wse_model *m, struct wse_job *j, uint32_t col, uint32_t block, uint32_t f, uint32_t *v)
{
	const struct wse_sqe *s = &j->sqe;
	const uint16_t *h = (const uint16_t *)(const void *)v;
	struct shape sh = shape_of(s);
	uint32_t k;
	int err;

	if (s->flags & WSE_SQF_INDEX_ONLY) {
		memset(v, 0, sh.k * sizeof(*v));
		return 0;
	}
	if (s->etype == WSE_ETYPE_BF16) {
		/* packed into the upper half of the buffer, then spread */
		h = (const uint16_t *)(const void *)(v + sh.k) - sh.k;
		err = wse_buf_read(m, &j->buf, row_off(s, col, block, f), (void *)h, sh.k * 2, &j->bad);
		for (k = 0; !err && k < sh.k; k++) {
			uint16_t x = h[k];

			v[k] = (uint32_t)x << 16;
		}
		return err;
	}
	err = wse_buf_read(m, &j->buf, row_off(s, col, block, f), v, sh.k * 4, &j->bad);
	if (!err && s->etype == WSE_ETYPE_FP32)
		for (k = 0; k < sh.k; k++)
			v[k] = (uint32_t)wse_bf16_round(v[k]) << 16;
	return err;
}

static int load_block(struct wse_model *m, struct wse_job *j, uint32_t col, struct wse_port_in *p)
{
	const struct wse_sqe *s = &j->sqe;
	bool raw = s->etype == WSE_ETYPE_RAW32, drop = s->flags & WSE_SQF_DROP_ZERO;
	struct shape sh = shape_of(s);
	uint32_t *v = p->w + sh.k * sh.b, bytes = (sh.k + 7) / 8, n = 0, k, f;
	uint8_t *mask = (uint8_t *)(v + sh.k * sh.b);
	int err;

	for (f = 0; f < sh.b; f++) {
		err = load_row(m, j, col, p->block, f, v + f * sh.k);
		if (err)
			return err;
	}
	p->dense = drop || s->flags & WSE_SQF_MASKED || raw ? 0 : sh.b;
	if (p->dense || (raw && !drop && !(s->flags & WSE_SQF_MASKED))) {
		uint32_t *w = p->w;

		if (raw)
			memcpy(w, v, sh.k * 4);
		else
			for (k = 0; k < sh.k; k++)
				for (f = 0; f < sh.b; f++)
					*w++ = v[f * sh.k + k] | f << 14 | k;
		n = sh.k * sh.b;
	} else {
		err = load_masks(m, j, col, p->block, mask);
		if (err)
			return err;
		for (k = 0; k < sh.k; k++) {
			for (f = 0; f < sh.b; f++) {
				uint32_t x = v[f * sh.k + k];

				if (!selected(mask + f * bytes, k) || (drop && !(x & 0x7fffffffu)))
					continue;
				p->w[n++] = raw ? x : x | f << 14 | k;
			}
		}
	}
	p->n = n;
	p->pos = 0;
	p->end_due = !raw;
	return 0;
}

void wse_ports_reset(struct wse_model *m, unsigned int exec)
{
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		if (exec == X_IN) {
			free(m->in[c].w);
			memset(&m->in[c], 0, sizeof(m->in[c]));
		} else {
			struct wse_port_out *p = &m->out[c];

			free(p->data);
			free(p->order);
			free(p->sel);
			p->data = p->sel = NULL;
			p->order = NULL;
			p->busy = false;
		}
	}
}

static void open_bufs(struct wse_job *j)
{
	const struct wse_sqe *s = &j->sqe;

	wse_buf_open(&j->buf, s->buf, s->flags & WSE_SQF_BUF_DIRECT, s->pshift);
	wse_buf_open(&j->mask, s->mask, s->flags & WSE_SQF_MASK_DIRECT, s->mshift);
	j->failed = false;
}

void wse_in_begin(struct wse_model *m, struct wse_job *j)
{
	const struct wse_sqe *s = &j->sqe;
	size_t n = (size_t)s->kcol * s->nfeat;
	uint32_t c;

	open_bufs(j);
	for (c = 0; c < s->cols; c++) {
		struct wse_port_in *p = &m->in[s->col0 + c];

		memset(p, 0, sizeof(*p));
		p->w = malloc(n * 8 + ((size_t)s->kcol + 7) / 8 * s->nfeat);
		p->color = s->color;
		p->busy = true;
		p->fresh = true;
		j->failed |= !p->w;
	}
}

/* the port's block is through: the next one, or the end */
static void next_block(struct wse_model *m, struct wse_job *j, uint32_t c)
{
	struct wse_port_in *p = &m->in[j->sqe.col0 + c];

	while (p->busy && !j->failed && p->pos == p->n && !p->end_due) {
		if (!p->fresh)
			p->block++;
		p->fresh = false;
		if (p->block == j->sqe.nline)
			p->busy = false;
		else if (load_block(m, j, c, p))
			j->failed = true;
	}
}

/* as many wavelets of a column as its north port takes, one by one */
bool wse_in_inject(struct wse_model *m, unsigned int col)
{
	struct wse_port_in *p = &m->in[col];
	struct wse_core *c = &m->core[col];
	struct wse_chan *q = &c->in[WSE_PORT_N][p->color];
	uint32_t n = 0;

	while (p->busy && (p->pos < p->n || p->end_due)) {
		if (chan_full(q)) {
			wse_fabric_drain(m);
			if (chan_full(q))
				break;
		}
		if (p->pos < p->n) {
			chan_push(q, p->w[p->pos++], false);
		} else {
			chan_push(q, WSE_CTRLW_END_MASK, true);
			p->end_due = false;
		}
		wse_kick(m, c, p->color);
		if (++n == WSE_QUANTUM)
			break;
	}
	if (n > m->round)
		m->round = n;
	m->moved |= n != 0;
	return n;
}

static bool failed(struct wse_job *j, struct wse_result *r, bool *done)
{
	if (!j->failed)
		return false;
	wse_dma_result(r, j->bad);
	*done = true;
	return true;
}

bool wse_in_run(struct wse_model *m, struct wse_job *j, struct wse_result *r, bool *done)
{
	bool busy = false, any = false;
	uint32_t c;

	for (c = 0; c < j->sqe.cols; c++) {
		struct wse_port_in *p = &m->in[j->sqe.col0 + c];

		if (p->busy && p->pos == p->n && !p->end_due) {
			next_block(m, j, c);
			any = true;
		}
		busy |= p->busy;
	}
	if (failed(j, r, done))
		return true;
	*done = !busy;
	return any;
}

/* ---- stream-out ---- */

/* which elements of the block arrive, and in which order */
static int open_block(struct wse_model *m, struct wse_job *j, uint32_t c, struct wse_port_out *p)
{
	struct shape sh = shape_of(&j->sqe);
	uint32_t bytes = (sh.k + 7) / 8, k, f;
	uint8_t *mask = p->sel;
	int err = load_masks(m, j, c, p->block, mask);

	if (err)
		return err;
	p->n = p->pos = 0;
	for (k = 0; k < sh.k; k++)
		for (f = 0; f < sh.b; f++)
			if (selected(mask + f * bytes, k))
				p->order[p->n++] = f * sh.k + k;
	return 0;
}

/* writes the block's elements, run by run of selected ones */
static int close_block(struct wse_model *m, struct wse_job *j, uint32_t c, struct wse_port_out *p)
{
	struct shape sh = shape_of(&j->sqe);
	uint32_t bytes = (sh.k + 7) / 8, k, f, from;
	int err;

	for (f = 0; f < sh.b; f++) {
		const uint8_t *mask = p->sel + f * bytes;

		for (k = 0; k < sh.k; k++) {
			if (!selected(mask, k))
				continue;
			for (from = k; k < sh.k && selected(mask, k); k++)
				;
			err = wse_buf_write(m, &j->buf, row_off(&j->sqe, c, p->block, f) + (uint64_t)from * sh.size,
					    p->data + (size_t)(f * sh.k + from) * sh.size, (k - from) * sh.size, &j->bad);
			if (err)
				return err;
		}
	}
	return 0;
}

/* closes full blocks and opens the next until one wants wavelets */
static void turn_blocks(struct wse_model *m, struct wse_job *j, uint32_t c)
{
	struct wse_port_out *p = &m->out[j->sqe.col0 + c];

	while (p->busy && !j->failed && p->pos == p->n) {
		if (!p->fresh) {
			if (close_block(m, j, c, p))
				j->failed = true;
			p->block++;
		}
		p->fresh = false;
		if (p->block == j->sqe.nline)
			p->busy = false;
		else if (!j->failed && open_block(m, j, c, p))
			j->failed = true;
	}
}

void wse_out_begin(struct wse_model *m, struct wse_job *j)
{
	const struct wse_sqe *s = &j->sqe;
	struct shape sh = shape_of(s);
	uint32_t c;

	open_bufs(j);
	for (c = 0; c < s->cols; c++) {
		struct wse_port_out *p = &m->out[s->col0 + c];

		p->data = calloc((size_t)sh.k * sh.b, sh.size);
		p->order = calloc((size_t)sh.k * sh.b, sizeof(*p->order));
		p->sel = calloc(sh.b, (sh.k + 7) / 8);
		p->color = s->color;
		p->etype = s->etype;
		p->block = p->n = p->pos = 0;
		p->busy = p->fresh = true;
		j->failed |= !p->data || !p->order || !p->sel;
	}
	for (c = 0; c < s->cols; c++)
		turn_blocks(m, j, c);
}

void wse_out_take(struct wse_model *m, unsigned int col, const uint32_t *w, uint32_t n)
{
	struct wse_port_out *p = &m->out[col];
	uint32_t i;
	uint16_t h;

	for (i = 0; i < n; i++) {
		uint32_t at = p->order[p->pos++];

		if (p->etype == WSE_ETYPE_BF16) {
			h = wse_bf16_round(w[i]);
			memcpy(p->data + at * 2, &h, 2);
		} else {
			memcpy(p->data + at * 4, &w[i], 4);
		}
	}
}

bool wse_out_run(struct wse_model *m, struct wse_job *j, struct wse_result *r, bool *done)
{
	bool busy = false, any = false, ctrl;
	uint32_t c, n, w;

	for (c = 0; c < j->sqe.cols && !j->failed; c++) {
		unsigned int col = j->sqe.col0 + c;
		struct wse_port_out *p = &m->out[col];
		struct wse_chan *q = &p->q[p->color];

		if (p->busy && p->pos == p->n)
			turn_blocks(m, j, c);
		for (n = 0; p->busy && q->count && n < WSE_QUANTUM && !j->failed; n++) {
			w = chan_head(q, &ctrl);
			chan_pop(q);
			wse_kick(m, &m->core[(m->rows - 1) * m->cols + col], p->color);
			if (!ctrl)
				wse_out_take(m, col, &w, 1);
			if (p->pos == p->n)
				turn_blocks(m, j, c);
			if (!q->count)
				wse_fabric_drain(m);
		}
		if (n > m->round)
			m->round = n;
		m->moved |= n != 0;
		any |= n != 0;
		busy |= p->busy;
	}
	if (failed(j, r, done))
		return true;
	*done = !busy;
	return any || !busy;
}

/* TIMEOUT or DEADLOCK: the lowest column whose port waits */
void wse_stream_blame(struct wse_model *m, unsigned int exec, struct wse_result *r)
{
	const struct wse_sqe *s = &m->job[exec].sqe;
	uint32_t c;

	for (c = s->col0; c < (uint32_t)s->col0 + s->cols; c++) {
		if (!(exec == X_IN ? m->in[c].busy : m->out[c].busy) || r->f.ncores++)
			continue;
		r->f.row = exec == X_IN ? 0 : m->rows - 1;
		r->f.col = c;
		r->f.cause = WSE_CAUSE_WAIT_PORT;
		r->f.color = s->color;
	}
}
