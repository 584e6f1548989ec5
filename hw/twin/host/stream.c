// SPDX-License-Identifier: MIT
/*
 * Edge ports and the executors of STREAM_IN and STREAM_OUT. A port works block by block: a block's
 * wavelets are packed when the port gets to it, a block's results are written when the last of them
 * has arrived.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "twin/exact/fp.h"
#include "twin/twin.h"

/* blocks without an element that a port goes through in a round: its budget may end before NLINE */
#define EMPTY_BLOCKS 256u

/* bytes of a feature's row of masks in a block */
static uint32_t mask_bytes(const struct wse_sqe *s)
{
	return (s->kcol + 7u) / 8;
}

static bool selected(const uint8_t *mask, uint32_t k)
{
	return mask[k >> 3] >> (k & 7) & 1;
}

/* mask rows of a block, [b][(k + 7) / 8]; without MASKED all ones */
static int load_masks(struct wse_machine *m, struct twin_job *j, uint32_t col, uint32_t block,
		      uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t bytes = mask_bytes(s), f;
	uint64_t off;
	int err = 0;

	if (!(s->flags & WSE_SQF_MASKED)) {
		memset(mask, 0xff, (size_t)bytes * s->nfeat);
		return 0;
	}
	for (f = 0; f < s->nfeat && !err; f++) {
		off = s->moff + ((uint64_t)block * s->nfeat + f) * s->rstride +
		      (uint64_t)col * s->mcstride;
		err = twin_buf_io(m, j, &j->mask, false, off, mask + f * bytes, bytes);
	}
	return err;
}

static uint64_t row_off(const struct wse_sqe *s, uint32_t col, uint32_t block, uint32_t f)
{
	return s->off + ((uint64_t)block * s->nfeat + f) * s->lstride + (uint64_t)col * s->cstride;
}

/* also made for processors with AVX2, and chosen there */
#ifdef __x86_64__
__attribute__((target_clones("avx2", "default")))
#endif
static void
pack(uint32_t *restrict w, const float *restrict v, uint32_t n, unsigned int shift)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		w[i] = twin_wavelet(v[i], i, shift);
}

/* the wavelets of the port's block */
const uint32_t *twin_in_words(struct twin_port_in *p)
{
	if (p->dense && !p->words)
		pack(p->w, p->v, p->n, p->dense >> 1); /* log2 of 1, 2 and 4 */
	p->words = true;
	return p->w;
}

/* bf16 row[nfeat][kcol] of a block: where they are, or in h; scratch: room for a row of binary32 */
static int load_rows(struct wse_machine *m, struct twin_job *j, uint32_t col, uint32_t block,
		     const uint16_t **row, uint16_t *h, uint32_t *scratch)
{
	const struct wse_sqe *s = &j->sqe;
	bool bf16 = s->etype == WSE_ETYPE_BF16, indices = s->flags & WSE_SQF_INDEX_ONLY;
	uint32_t f, k;
	int err = 0;

	if (indices)
		memset(h, 0, (size_t)s->kcol * s->nfeat * 2);
	for (f = 0; f < s->nfeat && !err; f++, h += s->kcol) {
		uint64_t off = row_off(s, col, block, f);

		row[f] = bf16 && !indices ? twin_buf_at(m, &j->buf, off, s->kcol * 2u) : NULL;
		if (row[f])
			continue;
		row[f] = h;
		if (indices)
			continue;
		err = twin_buf_io(m, j, &j->buf, false, off, bf16 ? (void *)h : scratch,
				  s->kcol * twin_element_bytes(s));
		for (k = 0; !bf16 && k < s->kcol && !err; k++)
			h[k] = twin_bf16_round(scratch[k]);
	}
	return err;
}

/* leaves the words that are not zero; how many these are */
static uint32_t nonzero(uint32_t *w, uint32_t words)
{
	uint32_t n = 0, k, v;

	/* no branches on values: what is not sent is written, and written over */
	for (k = 0; k < words; k++) {
		v = w[k];
		w[n] = v;
		n += (v & 0x7fffffffu) != 0;
	}
	return n;
}

/*
 * The selected elements of a block, k by k, feature by feature: words of RAW32, or bf16 with their
 * places.
 */
static void pack_selected(const struct wse_sqe *s, struct twin_port_in *p, const uint32_t *raw,
			  const uint16_t *const *row, const uint8_t *mask)
{
	uint32_t bytes = mask_bytes(s), n = 0, k, f, x;
	bool drop = s->flags & WSE_SQF_DROP_ZERO;

	for (k = 0; k < s->kcol; k++) {
		for (f = 0; f < s->nfeat; f++) {
			x = raw ? raw[k] : (uint32_t)row[f][k] << 16;
			p->w[n] = raw ? x : x | f << 14 | k;
			n += selected(mask + f * bytes, k) & !(drop && !(x & 0x7fffffffu));
		}
	}
	p->n = n;
}

/* RAW32: words of one feature */
static int load_raw(struct wse_machine *m, struct twin_job *j, uint32_t col, struct twin_port_in *p,
		    uint32_t *v, uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	bool masked = s->flags & WSE_SQF_MASKED;
	uint32_t *to = masked ? v : p->w;
	int err = 0;

	if (s->flags & WSE_SQF_INDEX_ONLY)
		memset(to, 0, s->kcol * 4u);
	else
		err = twin_buf_io(m, j, &j->buf, false, row_off(s, col, p->block, 0), to,
				  s->kcol * 4u);
	p->n = s->kcol;
	if (err)
		return err;
	if (masked) {
		err = load_masks(m, j, col, p->block, mask);
		if (!err)
			pack_selected(s, p, v, NULL, mask);
	} else if (s->flags & WSE_SQF_DROP_ZERO) {
		p->n = nonzero(p->w, p->n);
	}
	return err;
}

static struct twin_run open_run(const struct wse_sqe *s, uint32_t col)
{
	uint64_t at = s->off + (uint64_t)col * s->cstride;

	return (struct twin_run){.at = at, .end = at + s->len};
}

/* of n elements of the next block those that the run still has */
static uint32_t rest_of_run(struct twin_run *run, uint32_t n, uint32_t size)
{
	uint64_t left = (run->end - run->at) / size;

	run->over = n > left;
	return run->over ? (uint32_t)left : n;
}

/* LINEAR: the run has all elements of a block, which lie as the lanes have their values, [k][f] */
static bool linear_is_dense(const struct wse_machine *m, const struct wse_sqe *s,
			    const struct twin_port_in *p)
{
	uint64_t n = (uint64_t)s->kcol * s->nfeat;

	return m->fast && !(s->flags & (WSE_SQF_MASKED | WSE_SQF_DROP_ZERO)) &&
	       s->etype != WSE_ETYPE_RAW32 && (p->run.end - p->run.at) / twin_element_bytes(s) >= n;
}

static int load_dense_linear(struct wse_machine *m, struct twin_job *j, struct twin_port_in *p,
			     uint32_t *v, uint16_t *h)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t n = (uint32_t)s->kcol * s->nfeat, size = twin_element_bytes(s), k;
	const uint16_t *row = size == 2 ? twin_buf_at(m, &j->buf, p->run.at, n * size) : NULL;
	int err = 0;

	if (!row) {
		row = h;
		err = twin_buf_io(m, j, &j->buf, false, p->run.at, size == 2 ? (void *)h : v,
				  n * size);
		for (k = 0; size == 4 && k < n && !err; k++)
			h[k] = twin_bf16_round(v[k]);
	}
	if (err)
		return err;
	p->run.at += n * size;
	p->bus->in += twin_bus_run_cost(n * size);
	p->v = (float *)(void *)v;
	p->range = m->fast->values(m, p->v, &row, n, 1);
	p->n = n;
	p->dense = s->nfeat;
	return 0;
}

/* LINEAR: the selected elements of a block lie as they are sent; v: room for them */
static int load_linear(struct wse_machine *m, struct twin_job *j, uint32_t col,
		       struct twin_port_in *p, uint32_t *v, uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	const uint16_t *h = (const uint16_t *)(const void *)v;
	uint32_t bytes = mask_bytes(s), size = twin_element_bytes(s), n = 0, k, f, x;
	bool drop = s->flags & WSE_SQF_DROP_ZERO, raw = s->etype == WSE_ETYPE_RAW32;
	int err = load_masks(m, j, col, p->block, mask);

	for (k = 0; k < s->kcol && !err; k++)
		for (f = 0; f < s->nfeat; f++) {
			p->w[n] = f << 14 | k;
			n += selected(mask + f * bytes, k);
		}
	n = rest_of_run(&p->run, n, size);
	p->end_due = !raw && !p->run.over;
	p->n = 0;
	if (!err)
		err = twin_buf_io(m, j, &j->buf, false, p->run.at, v, n * size);
	p->run.at += n * size;
	p->bus->in += twin_bus_run_cost(n * size);
	for (k = 0; k < n && !err; k++) {
		x = size == 2 ? (uint32_t)h[k] << 16
		    : raw     ? v[k]
			      : (uint32_t)twin_bf16_round(v[k]) << 16;
		p->w[p->n] = raw ? x : x | p->w[k];
		p->n += !(drop && !(x & 0x7fffffffu));
	}
	return err;
}

static int load_block(struct wse_machine *m, struct twin_job *j, uint32_t col,
		      struct twin_port_in *p)
{
	const struct wse_sqe *s = &j->sqe;
	size_t n = (size_t)s->kcol * s->nfeat;
	uint32_t *v = p->w + n + 1; /* one more: pack_selected writes before it decides */
	uint16_t *h = (uint16_t *)(void *)(v + n);
	uint8_t *mask = (uint8_t *)(h + n);
	const uint16_t *row[4];
	int err;

	p->pos = 0;
	if (m->fast) /* else the wavelets of one late block would keep all later ones from runs */
		p->age = 0;
	p->bus->in += p->cost;
	p->end_due = s->etype != WSE_ETYPE_RAW32;
	if (p->dense && s->flags & WSE_SQF_INDEX_ONLY)
		return 0; /* the same in every block */
	p->dense = 0;
	p->words = false;
	if (s->flags & WSE_SQF_LINEAR && linear_is_dense(m, s, p))
		return load_dense_linear(m, j, p, v, h);
	if (s->flags & WSE_SQF_LINEAR)
		return load_linear(m, j, col, p, v, mask);
	if (!p->end_due)
		return load_raw(m, j, col, p, v, mask);
	err = load_rows(m, j, col, p->block, row, h, v);
	if (err)
		return err;
	if (!m->fast || s->flags & (WSE_SQF_MASKED | WSE_SQF_DROP_ZERO)) {
		err = load_masks(m, j, col, p->block, mask);
		if (!err)
			pack_selected(s, p, NULL, row, mask);
		return err;
	}
	p->v = (float *)(void *)v;
	p->range = m->fast->values(m, p->v, row, s->kcol, s->nfeat);
	p->n = n;
	p->dense = s->nfeat;
	return 0;
}

/* bytes of the array behind twin_port_in.w */
static size_t block_bytes(const struct wse_sqe *s)
{
	size_t n = (size_t)s->kcol * s->nfeat;

	return (2 * n + 1) * 4 + n * 2 + mask_bytes(s) * s->nfeat;
}

void twin_ports_reset(struct wse_machine *m, unsigned int exec)
{
	uint32_t c;

	for (c = 0; c < m->cols; c++) {
		if (exec == X_IN) {
			m->in[c] = (struct twin_port_in){.w = m->in[c].w, .room = m->in[c].room};
		} else {
			struct twin_port_out *p = &m->out[c];

			free(p->data);
			free(p->order);
			free(p->sel);
			p->data = p->sel = NULL;
			p->order = NULL;
			p->busy = false;
		}
	}
}

/* what streams of both directions begin with */
static void begin(struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;

	twin_buf_open(&j->buf, s->buf, s->flags & WSE_SQF_BUF_DIRECT, s->pshift);
	twin_buf_open(&j->mask, s->mask, s->flags & WSE_SQF_MASK_DIRECT, s->mshift);
}

bool twin_in_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	size_t bytes = block_bytes(s);
	uint32_t c;

	begin(j);
	for (c = 0; c < s->cols; c++) {
		struct twin_port_in *p = &m->in[s->col0 + c];

		if (p->room < bytes) {
			free(p->w);
			p->w = malloc(bytes);
			p->room = p->w ? bytes : 0;
		}
		*p = (struct twin_port_in){
			.bus = twin_bus_of(m, s->col0 + c),
			.run = open_run(s, c),
			.cost = twin_bus_in_cost(s),
			.color = s->color,
			.busy = true,
			.fresh = true,
			.w = p->w,
			.room = p->room,
		};
		j->failed |= !p->w;
	}
	(void)r;
	return false;
}

static bool block_through(const struct twin_port_in *p)
{
	return p->busy && p->pos == p->n && !p->end_due && !p->run.over;
}

/* the port's block is through: the next one that has wavelets, or the end */
static void next_block(struct wse_machine *m, struct twin_job *j, uint32_t c)
{
	struct twin_port_in *p = &m->in[j->sqe.col0 + c];
	uint32_t blocks = EMPTY_BLOCKS;
	int err = 0;

	while (block_through(p) && !j->failed && blocks--) {
		struct twin_run run = p->run;

		if (!p->fresh)
			p->block++;
		p->fresh = p->silent = false;
		if (p->block == j->sqe.nline)
			p->busy = false;
		else
			err = load_block(m, j, c, p);
		if (err == -EAGAIN) {
			p->run = run;
			p->n = p->pos = 0;
			p->end_due = false;
			p->fresh = true;
			twin_silent_ask_again(m, X_IN, j->sqe.col0 + c, j->bad);
			return;
		}
		j->failed |= err != 0;
	}
}

/* as many wavelets of a column as its north port takes, one by one */
bool twin_in_inject(struct wse_machine *m, unsigned int col)
{
	struct twin_port_in *p = &m->in[col];
	struct twin_core *c = &m->core[col];
	struct twin_chan *q = &c->in[WSE_PORT_N][p->color];
	const uint32_t *w = p->busy && p->pos < p->n ? twin_in_words(p) : NULL;
	uint32_t n = 0;

	while (p->busy && (p->pos < p->n || p->end_due)) {
		if (chan_full(q)) {
			twin_fabric_settle(m);
			if (chan_full(q))
				break;
		}
		if (p->pos < p->n) {
			chan_push(q, w[p->pos++], false);
		} else {
			chan_push(q, WSE_CTRLW_END_MASK, true);
			p->end_due = false;
		}
		c->mesh->inside++;
		twin_kick(c->mesh, c, p->color);
		if (++n == TWIN_QUANTUM)
			break;
	}
	if (n > m->round)
		m->round = n;
	m->moved |= n != 0;
	return n;
}

enum twin_progress twin_in_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	bool busy = false, any = false;
	uint32_t c;

	for (c = 0; c < j->sqe.cols; c++) {
		struct twin_port_in *p = &m->in[j->sqe.col0 + c];

		if (block_through(p)) {
			next_block(m, j, c);
			any = true;
		}
		busy |= p->busy;
	}
	if (j->failed)
		return twin_dma_error(j, r);
	return !busy ? RUN_ENDED : any ? RUN_MOVED : RUN_IDLE;
}

/* ---- stream-out ---- */

/* which elements of the block arrive, and in which order */
static int open_block(struct wse_machine *m, struct twin_job *j, uint32_t c,
		      struct twin_port_out *p)
{
	const struct wse_sqe *s = &j->sqe;
	bool linear = s->flags & WSE_SQF_LINEAR;
	uint32_t bytes = mask_bytes(s), k, f;
	int err;

	p->pos = 0;
	p->bus->in += p->mask_cost;
	if (!(s->flags & WSE_SQF_MASKED) && p->n && !linear)
		return 0; /* the same in every block */
	err = load_masks(m, j, c, p->block, p->sel);
	if (err)
		return err;
	p->n = 0;
	for (k = 0; k < s->kcol; k++)
		for (f = 0; f < s->nfeat; f++)
			if (selected(p->sel + f * bytes, k)) {
				p->order[p->n] = linear ? p->n : f * s->kcol + k;
				p->n++;
			}
	if (linear)
		p->n = rest_of_run(&p->run, p->n, twin_element_bytes(s));
	return 0;
}

/* the first element from k on that is (sel) or is not selected; kcol: there is none */
static uint32_t next_of(const struct wse_sqe *s, const uint8_t *mask, uint32_t k, bool sel)
{
	if (!(s->flags & WSE_SQF_MASKED))
		return sel ? k : s->kcol;
	while (k < s->kcol && selected(mask, k) != sel)
		k++;
	return k;
}

/* writes the block's elements, run by run of selected ones */
static int close_block(struct wse_machine *m, struct twin_job *j, uint32_t c,
		       struct twin_port_out *p)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t bytes = mask_bytes(s), size = twin_element_bytes(s), k, f, from;
	int err = 0;

	if (s->flags & WSE_SQF_LINEAR) {
		uint64_t at = p->run.at;

		p->run.at += p->n * size;
		p->bus->out += twin_bus_run_cost(p->n * size);
		return twin_buf_io(m, j, &j->buf, true, at, p->data, p->n * size);
	}
	p->bus->out += p->cost;
	for (f = 0; f < s->nfeat; f++) {
		const uint8_t *mask = p->sel + f * bytes;

		for (k = 0; (from = next_of(s, mask, k, true)) < s->kcol && !err;) {
			k = next_of(s, mask, from, false);
			err = twin_buf_io(m, j, &j->buf, true,
					  row_off(s, c, p->block, f) + (uint64_t)from * size,
					  p->data + (size_t)(f * s->kcol + from) * size,
					  (k - from) * size);
		}
	}
	return err;
}

static bool wants_turn(const struct twin_port_out *p)
{
	return p->busy && p->pos == p->n && !p->run.over;
}

/* closes full blocks and opens the next until one wants wavelets; true: more are to be turned */
static bool turn_blocks(struct wse_machine *m, struct twin_job *j, uint32_t c)
{
	struct twin_port_out *p = &m->out[j->sqe.col0 + c];
	uint32_t blocks = EMPTY_BLOCKS;
	int err = 0;

	while (wants_turn(p) && !j->failed) {
		struct twin_run run = p->run;

		if (!blocks--)
			return true;
		if (!p->fresh)
			err = close_block(m, j, c, p);
		if (!err) {
			p->block += !p->fresh;
			p->fresh = true; /* until the next one is open */
			p->busy = p->block != j->sqe.nline;
			run = p->run;
			err = p->busy ? open_block(m, j, c, p) : 0;
			p->fresh = err != 0;
		}
		p->silent = false;
		if (err == -EAGAIN) {
			p->run = run;
			if (p->fresh)
				p->n = p->pos = 0;
			twin_silent_ask_again(m, X_OUT, j->sqe.col0 + c, j->bad);
			return false;
		}
		j->failed |= err != 0;
	}
	return false;
}

bool twin_out_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	size_t n = (size_t)s->kcol * s->nfeat;
	uint32_t c;

	begin(j);
	for (c = 0; c < s->cols; c++) {
		struct twin_port_out *p = &m->out[s->col0 + c];

		p->data = calloc(n, twin_element_bytes(s));
		p->order = calloc(n, sizeof(*p->order));
		p->sel = calloc(s->nfeat, mask_bytes(s));
		p->bus = twin_bus_of(m, s->col0 + c);
		p->cost = twin_bus_out_cost(m, s);
		p->mask_cost = twin_bus_mask_cost(s);
		p->color = s->color;
		p->etype = s->etype;
		p->dense = s->flags & (WSE_SQF_MASKED | WSE_SQF_LINEAR) ? 0 : s->nfeat;
		p->run = open_run(s, c);
		p->block = p->n = p->pos = 0;
		p->silent = false;
		p->busy = p->fresh = true;
		j->failed |= !p->data || !p->order || !p->sel;
	}
	for (c = 0; c < s->cols; c++)
		turn_blocks(m, j, c);
	(void)r;
	return false;
}

/* four features, all selected, of 32 bits each: [k][f] to [f][k]; how many were taken */
static uint32_t take4(struct twin_port_out *p, const uint32_t *restrict w, uint32_t n)
{
	uint32_t kcol = p->n / 4, i;
	uint32_t *restrict to = (uint32_t *)(void *)p->data + p->pos / 4;

	for (i = 0; i + 4 <= n; i += 4, to++) {
		to[0] = w[i];
		to[kcol] = w[i + 1];
		to[2 * kcol] = w[i + 2];
		to[3 * kcol] = w[i + 3];
	}
	p->pos += i;
	return i;
}

void twin_out_take(struct wse_machine *m, unsigned int col, const uint32_t *w, uint32_t n)
{
	struct twin_port_out *p = &m->out[col];
	uint32_t i = 0;
	uint16_t h;

	if (p->dense == 4 && p->etype != WSE_ETYPE_BF16 && !(p->pos % 4))
		i = take4(p, w, n);
	for (; i < n; i++) {
		uint32_t at = p->order[p->pos++];

		if (p->etype == WSE_ETYPE_BF16) {
			h = twin_bf16_round(w[i]);
			memcpy(p->data + at * 2, &h, 2);
		} else {
			memcpy(p->data + at * 4, &w[i], 4);
		}
	}
}

enum twin_progress twin_out_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	bool busy = false, any = false, ctrl;
	uint32_t c, n, w;

	for (c = 0; c < j->sqe.cols && !j->failed; c++) {
		unsigned int col = j->sqe.col0 + c;
		struct twin_port_out *p = &m->out[col];
		struct twin_core *last = &m->core[(m->rows - 1) * m->cols + col];
		struct twin_chan *q = &p->q[p->color];

		if (wants_turn(p))
			any |= turn_blocks(m, j, c);
		for (n = 0; p->busy && q->count && n < TWIN_QUANTUM && !j->failed; n++) {
			w = chan_head(q, &ctrl);
			if (!ctrl && p->pos == p->n)
				break; /* a run that is too short */
			chan_pop(q);
			twin_kick(last->mesh, last, p->color);
			if (!ctrl)
				twin_out_take(m, col, &w, 1);
			if (p->pos == p->n)
				turn_blocks(m, j, c);
			if (!q->count)
				twin_fabric_settle(m);
		}
		if (n > m->round)
			m->round = n;
		m->moved |= n != 0;
		any |= n != 0;
		busy |= p->busy;
	}
	if (j->failed)
		return twin_dma_error(j, r);
	return !busy ? RUN_ENDED : any ? RUN_MOVED : RUN_IDLE;
}

/* TIMEOUT or DEADLOCK: the lowest column whose port waits */
void twin_stream_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	const struct wse_sqe *s = &j->sqe;
	bool in = s->opcode == WSE_OP_STREAM_IN;
	uint32_t c;

	r->f.row = in ? 0 : m->rows - 1;
	r->f.cause = WSE_CAUSE_WAIT_PORT;
	if (twin_silent_groups(m, in ? X_IN : X_OUT, r))
		return; /* for no color */
	for (c = s->col0; c < (uint32_t)s->col0 + s->cols; c++) {
		if (!(in ? m->in[c].busy : m->out[c].busy) || r->f.ncores++)
			continue;
		r->f.col = c;
		r->f.color = s->color;
	}
}
