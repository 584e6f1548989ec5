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

struct shape {
	uint32_t k, b, size; /* elements of a column, features, bytes of an element */
};

static struct shape shape_of(const struct wse_sqe *s)
{
	return (struct shape){s->kcol, s->nfeat, s->etype == WSE_ETYPE_BF16 ? 2 : 4};
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
	uint32_t bytes = (s->kcol + 7) / 8, f;
	uint64_t off;
	int err;

	if (!(s->flags & WSE_SQF_MASKED)) {
		memset(mask, 0xff, (size_t)bytes * s->nfeat);
		return 0;
	}
	for (f = 0; f < s->nfeat; f++) {
		off = s->moff + ((uint64_t)block * s->nfeat + f) * s->rstride +
		      (uint64_t)col * s->mcstride;
		err = twin_buf_read(m, &j->mask, off, mask + f * bytes, bytes, &j->bad);
		if (err)
			return err;
	}
	return 0;
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
		err = twin_buf_read(m, &j->buf, off, bf16 ? (void *)h : scratch,
				    s->kcol * (bf16 ? 2u : 4u), &j->bad);
		for (k = 0; !bf16 && k < s->kcol && !err; k++)
			h[k] = twin_bf16_round(scratch[k]);
	}
	return err;
}

/*
 * the words that are not zero, most often all or none of four neighbours; w: room for all of them
 */
static uint32_t nonzero(uint32_t *w, const uint32_t *v, uint32_t words)
{
	const uint64_t size = 0x7fffffff7fffffffull;
	uint32_t n = 0, k, i;
	uint64_t a, b;

	for (k = 0; k < words; k += 4) {
		uint32_t left = words - k < 4 ? words - k : 4;

		if (left == 4) {
			memcpy(&a, v + k, 8);
			memcpy(&b, v + k + 2, 8);
			a &= size;
			b &= size;
			if (!(a | b))
				continue;
			if ((uint32_t)a && a >> 32 && (uint32_t)b && b >> 32) {
				memcpy(w + n, v + k, 16);
				n += 4;
				continue;
			}
		}
		/* each word is written; one that is not sent is overwritten by the next */
		for (i = 0; i < left; i++) {
			w[n] = v[k + i];
			n += (v[k + i] & 0x7fffffffu) != 0;
		}
	}
	return n;
}

#define PIECE 1024u /* words: what stays in the caches between a read and a look */

/* RAW32 without a mask: the words at off that are not zero */
static int load_nonzero(struct wse_machine *m, struct twin_job *j, uint64_t off,
			struct twin_port_in *p, uint32_t *v)
{
	uint32_t left = j->sqe.kcol, n;
	int err = 0;

	for (p->n = 0; left && !err; left -= n, off += n * 4u) {
		n = left < PIECE ? left : PIECE;
		err = twin_buf_read(m, &j->buf, off, v, n * 4u, &j->bad);
		if (!err)
			p->n += nonzero(p->w + p->n, v, n);
	}
	return err;
}

/* RAW32: words of one feature */
static int load_raw(struct wse_machine *m, struct twin_job *j, uint32_t col, struct twin_port_in *p,
		    uint32_t *v, uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	bool drop = s->flags & WSE_SQF_DROP_ZERO, masked = s->flags & WSE_SQF_MASKED;
	bool indices = s->flags & WSE_SQF_INDEX_ONLY;
	uint64_t off = row_off(s, col, p->block, 0);
	uint32_t *to = masked ? v : p->w, n = 0, k;
	int err = 0;

	if (drop && !masked && !indices)
		return load_nonzero(m, j, off, p, v);
	if (indices)
		memset(to, 0, s->kcol * 4u);
	else
		err = twin_buf_read(m, &j->buf, off, to, s->kcol * 4u, &j->bad);
	p->n = drop ? 0 : s->kcol;
	if (err || !masked)
		return err;
	err = load_masks(m, j, col, p->block, mask);
	/* no branches on values: what is not sent is written, and written over */
	for (k = 0; k < s->kcol && !err; k++) {
		p->w[n] = v[k];
		n += selected(mask, k) & !(drop && !(v[k] & 0x7fffffffu));
	}
	p->n = n;
	return err;
}

/* the selected elements of a block, k by k, feature by feature */
static void pack_selected(const struct wse_sqe *s, struct twin_port_in *p,
			  const uint16_t *const *row, const uint8_t *mask)
{
	uint32_t bytes = (s->kcol + 7u) / 8, n = 0, k, f, x;
	bool drop = s->flags & WSE_SQF_DROP_ZERO;

	for (k = 0; k < s->kcol; k++) {
		for (f = 0; f < s->nfeat; f++) {
			x = row[f][k];
			p->w[n] = x << 16 | f << 14 | k;
			n += selected(mask + f * bytes, k) & !(drop && !(x & 0x7fff));
		}
	}
	p->n = n;
}

static void open_run(struct twin_run *run, const struct wse_sqe *s, uint32_t col)
{
	uint64_t at = s->off + (uint64_t)col * s->cstride;

	*run = (struct twin_run){.at = at, .end = at + s->len};
}

/* of n elements of the next block those that the run still has */
static uint32_t rest_of_run(struct twin_run *run, uint32_t n, uint32_t size)
{
	uint64_t left = (run->end - run->at) / size;

	run->over = n > left;
	return run->over ? (uint32_t)left : n;
}

/* LINEAR: the selected elements of a block lie as they are sent; v: room for them */
static int load_linear(struct wse_machine *m, struct twin_job *j, uint32_t col,
		       struct twin_port_in *p, uint32_t *v, uint8_t *mask)
{
	const struct wse_sqe *s = &j->sqe;
	struct shape sh = shape_of(s);
	const uint16_t *h = (const uint16_t *)(const void *)v;
	uint32_t bytes = (sh.k + 7) / 8, n = 0, x;
	bool drop = s->flags & WSE_SQF_DROP_ZERO, raw = s->etype == WSE_ETYPE_RAW32;
	int err = load_masks(m, j, col, p->block, mask);

	for (uint32_t k = 0; k < sh.k && !err; k++)
		for (uint32_t f = 0; f < sh.b; f++) {
			p->w[n] = f << 14 | k;
			n += selected(mask + f * bytes, k);
		}
	n = rest_of_run(&p->run, n, sh.size);
	p->end_due = !raw && !p->run.over;
	p->n = 0;
	if (!err && n)
		err = twin_buf_read(m, &j->buf, p->run.at, v, n * sh.size, &j->bad);
	p->run.at += n * sh.size;
	p->bus->in += twin_bus_run_cost(n * sh.size);
	for (uint32_t i = 0; i < n && !err; i++) {
		x = sh.size == 2 ? (uint32_t)h[i] << 16
		    : raw	 ? v[i]
				 : (uint32_t)twin_bf16_round(v[i]) << 16;
		p->w[p->n] = raw ? x : x | p->w[i];
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
			pack_selected(s, p, row, mask);
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

	return (2 * n + 1) * 4 + n * 2 + (s->kcol + 7u) / 8 * s->nfeat;
}

void twin_ports_reset(struct wse_machine *m, unsigned int exec)
{
	uint32_t c;

	twin_silent_end(m, exec);
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

static void open_bufs(struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;

	twin_buf_open(&j->buf, s->buf, s->flags & WSE_SQF_BUF_DIRECT, s->pshift);
	twin_buf_open(&j->mask, s->mask, s->flags & WSE_SQF_MASK_DIRECT, s->mshift);
	j->failed = false;
}

void twin_in_begin(struct wse_machine *m, struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;
	size_t bytes = block_bytes(s);
	uint32_t c;

	open_bufs(j);
	for (c = 0; c < s->cols; c++) {
		struct twin_port_in *p = &m->in[s->col0 + c];

		if (p->room < bytes) {
			free(p->w);
			p->w = malloc(bytes);
			p->room = p->w ? bytes : 0;
		}
		*p = (struct twin_port_in){.w = p->w, .room = p->room};
		p->bus = twin_bus_of(m, s->col0 + c);
		p->cost = twin_bus_in_cost(s);
		open_run(&p->run, s, c);
		p->color = s->color;
		p->busy = true;
		p->fresh = true;
		j->failed |= !p->w;
	}
}

/* the port's block is through: the next one, or the end */
static void next_block(struct wse_machine *m, struct twin_job *j, uint32_t c)
{
	struct twin_port_in *p = &m->in[j->sqe.col0 + c];
	int err = 0;

	while (p->busy && !j->failed && p->pos == p->n && !p->end_due && !p->run.over) {
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

static bool failed(struct twin_job *j, struct twin_result *r, bool *done)
{
	if (!j->failed)
		return false;
	twin_dma_result(r, j->bad);
	*done = true;
	return true;
}

bool twin_in_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r, bool *done)
{
	bool busy = false, any = false;
	uint32_t c;

	for (c = 0; c < j->sqe.cols; c++) {
		struct twin_port_in *p = &m->in[j->sqe.col0 + c];

		if (p->busy && p->pos == p->n && !p->end_due && !p->run.over) {
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
static int open_block(struct wse_machine *m, struct twin_job *j, uint32_t c,
		      struct twin_port_out *p)
{
	bool linear = j->sqe.flags & WSE_SQF_LINEAR;
	struct shape sh = shape_of(&j->sqe);
	uint32_t bytes = (sh.k + 7) / 8, k, f;
	uint8_t *mask = p->sel;
	int err;

	p->pos = 0;
	p->bus->in += p->mask_cost;
	if (!(j->sqe.flags & WSE_SQF_MASKED) && p->n && !linear)
		return 0; /* the same in every block */
	err = load_masks(m, j, c, p->block, mask);
	if (err)
		return err;
	p->n = 0;
	for (k = 0; k < sh.k; k++)
		for (f = 0; f < sh.b; f++)
			if (selected(mask + f * bytes, k)) {
				p->order[p->n] = linear ? p->n : f * sh.k + k;
				p->n++;
			}
	if (linear)
		p->n = rest_of_run(&p->run, p->n, sh.size);
	return 0;
}

/* the first element from k on that is (sel) or is not selected; n: there is none */
static uint32_t next_of(const struct twin_port_out *p, const uint8_t *mask, uint32_t k, uint32_t n,
			bool sel)
{
	if (p->dense)
		return sel ? k : n;
	while (k < n && selected(mask, k) != sel)
		k++;
	return k;
}

/* writes the block's elements, run by run of selected ones */
static int close_block(struct wse_machine *m, struct twin_job *j, uint32_t c,
		       struct twin_port_out *p)
{
	struct shape sh = shape_of(&j->sqe);
	uint32_t bytes = (sh.k + 7) / 8, k, f, from;
	int err;

	if (j->sqe.flags & WSE_SQF_LINEAR) {
		uint64_t at = p->run.at;

		p->run.at += p->n * sh.size;
		p->bus->out += twin_bus_run_cost(p->n * sh.size);
		return p->n ? twin_buf_write(m, &j->buf, at, p->data, p->n * sh.size, &j->bad) : 0;
	}
	p->bus->out += p->cost;
	for (f = 0; f < sh.b; f++) {
		const uint8_t *mask = p->sel + f * bytes;

		for (k = 0; (from = next_of(p, mask, k, sh.k, true)) < sh.k;) {
			k = next_of(p, mask, from, sh.k, false);
			err = twin_buf_write(m, &j->buf,
					     row_off(&j->sqe, c, p->block, f) +
						     (uint64_t)from * sh.size,
					     p->data + (size_t)(f * sh.k + from) * sh.size,
					     (k - from) * sh.size, &j->bad);
			if (err)
				return err;
		}
	}
	return 0;
}

/* closes full blocks and opens the next until one wants wavelets */
static void turn_blocks(struct wse_machine *m, struct twin_job *j, uint32_t c)
{
	struct twin_port_out *p = &m->out[j->sqe.col0 + c];
	int err = 0;

	while (p->busy && !j->failed && p->pos == p->n && !p->run.over) {
		struct twin_run run = p->run;

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
			return;
		}
		j->failed |= err != 0;
	}
}

void twin_out_begin(struct wse_machine *m, struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;
	struct shape sh = shape_of(s);
	uint32_t c;

	open_bufs(j);
	for (c = 0; c < s->cols; c++) {
		struct twin_port_out *p = &m->out[s->col0 + c];

		p->data = calloc((size_t)sh.k * sh.b, sh.size);
		p->order = calloc((size_t)sh.k * sh.b, sizeof(*p->order));
		p->sel = calloc(sh.b, (sh.k + 7) / 8);
		p->bus = twin_bus_of(m, s->col0 + c);
		p->cost = twin_bus_out_cost(m, s);
		p->mask_cost = twin_bus_mask_cost(s);
		p->color = s->color;
		p->etype = s->etype;
		p->dense = s->flags & (WSE_SQF_MASKED | WSE_SQF_LINEAR) ? 0 : s->nfeat;
		open_run(&p->run, s, c);
		p->block = p->n = p->pos = 0;
		p->silent = false;
		p->busy = p->fresh = true;
		j->failed |= !p->data || !p->order || !p->sel;
	}
	for (c = 0; c < s->cols; c++)
		turn_blocks(m, j, c);
}

typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));

static four load4(const uint32_t *w)
{
	return *(const four *)(const void *)w;
}

/*
 * Four features, all selected, of 32 bits each: [k][f] to [f][k]. How many were taken: whole fours
 * of k.
 */
static uint32_t take4(struct twin_port_out *p, const uint32_t *w, uint32_t n)
{
	uint32_t kcol = p->n / 4, k = p->pos / 4, *to = (uint32_t *)(void *)p->data + k, i;

	for (i = 0; i + 16 <= n; i += 16, w += 16, to += 4) {
		four a = load4(w), b = load4(w + 4), c = load4(w + 8), d = load4(w + 12);
		four ab = __builtin_shuffle(a, b, (four){0, 4, 1, 5});
		four cd = __builtin_shuffle(c, d, (four){0, 4, 1, 5});

		*(four *)(void *)to = __builtin_shuffle(ab, cd, (four){0, 1, 4, 5});
		*(four *)(void *)(to + kcol) = __builtin_shuffle(ab, cd, (four){2, 3, 6, 7});
		ab = __builtin_shuffle(a, b, (four){2, 6, 3, 7});
		cd = __builtin_shuffle(c, d, (four){2, 6, 3, 7});
		*(four *)(void *)(to + 2 * kcol) = __builtin_shuffle(ab, cd, (four){0, 1, 4, 5});
		*(four *)(void *)(to + 3 * kcol) = __builtin_shuffle(ab, cd, (four){2, 3, 6, 7});
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

bool twin_out_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r, bool *done)
{
	bool busy = false, any = false, ctrl;
	uint32_t c, n, w;

	for (c = 0; c < j->sqe.cols && !j->failed; c++) {
		unsigned int col = j->sqe.col0 + c;
		struct twin_port_out *p = &m->out[col];
		struct twin_core *last = &m->core[(m->rows - 1) * m->cols + col];
		struct twin_chan *q = &p->q[p->color];

		if (p->busy && p->pos == p->n)
			turn_blocks(m, j, c);
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
	if (failed(j, r, done))
		return true;
	*done = !busy;
	return any || !busy;
}

/* TIMEOUT or DEADLOCK: the lowest column whose port waits */
void twin_stream_find_waiter(struct wse_machine *m, unsigned int exec, struct twin_result *r)
{
	const struct wse_sqe *s = &m->job[exec].sqe;
	uint32_t c;

	if (twin_silent_groups(m, exec, r)) {
		r->f.row = exec == X_IN ? 0 : m->rows - 1;
		r->f.cause = WSE_CAUSE_WAIT_PORT; /* for no color */
		return;
	}

	for (c = s->col0; c < (uint32_t)s->col0 + s->cols; c++) {
		if (!(exec == X_IN ? m->in[c].busy : m->out[c].busy) || r->f.ncores++)
			continue;
		r->f.row = exec == X_IN ? 0 : m->rows - 1;
		r->f.col = c;
		r->f.cause = WSE_CAUSE_WAIT_PORT;
		r->f.color = s->color;
	}
}
