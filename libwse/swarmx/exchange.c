// SPDX-License-Identifier: MIT
/* Subtrees to the owners of pieces, sums back. */
#include "exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"

#define PIECE (1u << 20) /* floats, at most */
#define OWN   4		 /* pieces that a rank finishes at once */

struct piece {
	uint32_t unit, owner;
	size_t at;
	uint32_t count;
};

struct wse_exchange {
	struct wse_hosts *hosts;
	uint32_t rank, ranks;
	struct wse_reduce fin[OWN];  /* trees that this rank finishes, of a piece each */
	struct wse_shared_buf **got; /* [OWN][parts]: where they come in */
	struct wse_host_msg *msgs;
	uint32_t nmsgs, room;
	struct wse_part *parts; /* [nparts]: of all ranks, ascending */
	uint32_t *first;	/* [ranks + 1]: of a rank's parts */
	/* [units][WSE_REDUCE_PARTS]: this rank's; where the unit's sum will be */
	struct wse_node **nodes;
	struct wse_shared_buf **sum;
	uint32_t units;
};

/* buffers of a whole piece, however long the one is that they are for */
static int piece_alloc(void *ctx, size_t size, struct wse_shared_buf **buf)
{
	struct wse_shared_buf *b = calloc(1, sizeof(*b));

	(void)ctx;
	(void)size;
	if (!b)
		return -ENOMEM;
	b->size = PIECE * sizeof(float);
	b->ptr = wse_pages_alloc(b->size);
	if (!b->ptr) {
		free(b);
		return -ENOMEM;
	}
	*buf = b;
	return 0;
}

static void piece_free(void *ctx, struct wse_shared_buf *buf)
{
	(void)ctx;
	free(buf->ptr);
	free(buf);
}

static const struct wse_buf_pool pieces = {piece_alloc, piece_free, NULL};

int wse_exchange_open(struct wse_hosts *hosts, struct wse_exchange **x)
{
	struct wse_exchange *e = calloc(1, sizeof(*e));
	int ret = e ? 0 : -ENOMEM;

	*x = NULL;
	if (ret)
		return wse_fail(ret, "no memory");
	e->hosts = hosts;
	e->rank = wse_hosts_rank(hosts);
	e->ranks = wse_hosts_ranks(hosts);
	e->parts = calloc((size_t)e->ranks * WSE_REDUCE_PARTS, sizeof(*e->parts));
	e->first = calloc(e->ranks + 1, sizeof(*e->first));
	e->got = calloc((size_t)OWN * e->ranks * WSE_REDUCE_PARTS, sizeof(struct wse_shared_buf *));
	if (!e->parts || !e->first || !e->got)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < OWN && !ret; i++)
		ret = wse_reduce_init(&e->fin[i], &pieces, PIECE);
	if (ret) {
		wse_exchange_close(e);
		return wse_fail(ret, "no memory");
	}
	*x = e;
	return 0;
}

void wse_exchange_close(struct wse_exchange *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; i < OWN; i++) {
		x->fin[i].count = x->fin[i].count ? PIECE : 0;
		wse_reduce_fini(&x->fin[i]);
	}
	free(x->parts);
	free(x->first);
	free(x->got);
	free(x->msgs);
	free(x->nodes);
	free(x->sum);
	free(x);
}

static int message(struct wse_exchange *x, uint32_t rank, int send, void *buf, size_t count)
{
	if (x->nmsgs == x->room) {
		uint32_t room = 2 * x->room + 64;
		struct wse_host_msg *more = realloc(x->msgs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		x->msgs = more;
		x->room = room;
	}
	x->msgs[x->nmsgs++] = (struct wse_host_msg){rank, send, buf, count * sizeof(float)};
	return 0;
}

/* which subtrees each rank has */
static void find_parts(struct wse_exchange *x, uint32_t leaves, const uint32_t *cut)
{
	for (uint32_t r = 0; r < x->ranks; r++)
		x->first[r + 1] = x->first[r] + wse_reduce_parts(leaves, cut[r], cut[r + 1],
								 x->parts + x->first[r]);
}

/* what this rank has of each unit is what its range leaves; where the sums will be */
static int take_stock(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t n,
		      uint32_t leaves, const uint32_t *cut)
{
	uint32_t mine;

	if (x->units < n) {
		free(x->nodes);
		free(x->sum);
		x->nodes = calloc((size_t)n * WSE_REDUCE_PARTS, sizeof(struct wse_node *));
		x->sum = calloc(n, sizeof(struct wse_shared_buf *));
		if (!x->nodes || !x->sum)
			return -ENOMEM;
		x->units = n;
	}
	find_parts(x, leaves, cut);
	mine = x->first[x->rank + 1] - x->first[x->rank];
	for (uint32_t u = 0; u < n; u++) {
		struct wse_node **node = x->nodes + (size_t)u * WSE_REDUCE_PARTS;
		const struct wse_part *part = x->parts + x->first[x->rank];
		int ret = 0;

		if (wse_reduce_left(&reduce[u], node) != mine)
			return -EPROTO;
		for (uint32_t i = 0; i < mine; i++)
			if (node[i]->level != part[i].level || node[i]->pos != part[i].pos)
				return -EPROTO;
		if (mine)
			x->sum[u] = node[0]->buf;
		else
			ret = wse_reduce_get(&reduce[u], &x->sum[u]);
		if (ret)
			return ret;
	}
	return 0;
}

/* this rank finishes the tree of a piece: its own parts are copied, those of others come */
static int gather_parts(struct wse_exchange *x, uint32_t k, const struct piece *p)
{
	struct wse_shared_buf **got = x->got + (size_t)k * x->ranks * WSE_REDUCE_PARTS;
	struct wse_node **own = x->nodes + (size_t)p->unit * WSE_REDUCE_PARTS;
	int ret = 0;

	for (uint32_t r = 0; r < x->ranks; r++) {
		for (uint32_t i = x->first[r]; i < x->first[r + 1] && !ret; i++) {
			ret = wse_reduce_get(&x->fin[k], &got[i]);
			if (ret)
				break;
			if (r != x->rank)
				ret = message(x, r, 0, got[i]->ptr, p->count);
			else
				memcpy(got[i]->ptr, (float *)own[i - x->first[r]]->buf->ptr + p->at,
				       p->count * sizeof(float));
		}
	}
	return ret;
}

static int send_parts(struct wse_exchange *x, const struct piece *p)
{
	struct wse_node **own = x->nodes + (size_t)p->unit * WSE_REDUCE_PARTS;
	uint32_t mine = x->first[x->rank + 1] - x->first[x->rank];
	int ret = 0;

	for (uint32_t i = 0; i < mine && !ret; i++)
		ret = message(x, p->owner, 1, (float *)own[i]->buf->ptr + p->at, p->count);
	return ret;
}

/* the sum of a piece, from its owner to all */
static int spread_sum(struct wse_exchange *x, const struct piece *p)
{
	float *sum = (float *)x->sum[p->unit]->ptr + p->at;
	int ret = 0;

	if (p->owner != x->rank)
		return message(x, p->owner, 0, sum, p->count);
	for (uint32_t r = 0; r < x->ranks && !ret; r++)
		if (r != x->rank)
			ret = message(x, r, 1, sum, p->count);
	return ret;
}

static int finish_tree(struct wse_exchange *x, uint32_t k, const struct piece *p)
{
	struct wse_shared_buf **got = x->got + (size_t)k * x->ranks * WSE_REDUCE_PARTS;
	const float *sum;

	for (uint32_t i = 0; i < x->first[x->ranks]; i++) {
		int ret =
			wse_reduce_put_node(&x->fin[k], x->parts[i].level, x->parts[i].pos, got[i]);

		if (ret)
			return ret;
	}
	sum = wse_reduce_take(&x->fin[k]);
	if (!sum)
		return -EPROTO;
	memcpy((float *)x->sum[p->unit]->ptr + p->at, sum, p->count * sizeof(float));
	return 0;
}

/* the next piece after p; 0: there is none. A unit of no floats has none */
static int next_piece(const struct wse_exchange *x, const struct wse_reduce *reduce, uint32_t n,
		      struct piece *p)
{
	size_t left;

	p->at += p->count;
	while (p->unit < n && p->at >= reduce[p->unit].count) {
		p->unit++;
		p->at = 0;
	}
	if (p->unit >= n)
		return 0;
	left = reduce[p->unit].count - p->at;
	p->count = (uint32_t)(left < PIECE ? left : PIECE);
	p->owner = (p->owner + 1) % x->ranks;
	return 1;
}

/*
 * Rounds: the parts of some pieces go to their owners while the sums of the round before come back.
 * Every rank makes the same messages in the same order, so no message says what it is.
 */
static int rounds(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t n, uint32_t leaves)
{
	struct piece at = {.owner = x->ranks - 1}, *now, *before, *t;
	uint32_t nnow, nbefore = 0, most = x->ranks * OWN, k;
	int ret = 0;

	now = calloc(most, sizeof(*now));
	before = calloc(most, sizeof(*before));
	if (!now || !before)
		ret = -ENOMEM;
	while (!ret) {
		for (nnow = 0; nnow < most && next_piece(x, reduce, n, &at); nnow++)
			now[nnow] = at;
		if (!nnow && !nbefore)
			break;
		x->nmsgs = k = 0;
		for (uint32_t i = 0; i < nnow && !ret; i++) {
			if (now[i].owner != x->rank) {
				ret = send_parts(x, &now[i]);
				continue;
			}
			x->fin[k].count = now[i].count;
			wse_reduce_begin(&x->fin[k], leaves);
			ret = gather_parts(x, k++, &now[i]);
		}
		for (uint32_t i = 0; i < nbefore && !ret; i++)
			ret = spread_sum(x, &before[i]);
		ret = ret ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
		k = 0;
		for (uint32_t i = 0; i < nnow && !ret; i++)
			if (now[i].owner == x->rank)
				ret = finish_tree(x, k++, &now[i]);
		t = before;
		before = now;
		now = t;
		nbefore = nnow;
	}
	free(now);
	free(before);
	return ret;
}

int wse_exchange_sums(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t n,
		      uint32_t leaves, const uint32_t *cut)
{
	int ret = take_stock(x, reduce, n, leaves, cut);

	ret = ret ? ret : rounds(x, reduce, n, leaves);
	for (uint32_t u = 0; u < n && !ret; u++)
		ret = wse_reduce_settle(&reduce[u], x->sum[u]);
	return ret;
}

/* this rank's parts to all, theirs here: their sizes, then what is in them */
static int swap_rows(struct wse_exchange *x, struct wse_rows *rows, int sizes)
{
	int ret = 0;

	x->nmsgs = 0;
	for (uint32_t r = 0; r < x->ranks; r++) {
		for (uint32_t owner = 0; owner < x->ranks; owner++) {
			if (r == x->rank || (owner != r && owner != x->rank))
				continue; /* a part goes between its owner and another rank */
			for (uint32_t i = x->first[owner]; i < x->first[owner + 1] && !ret; i++) {
				int send = owner == x->rank;
				size_t n = rows[i].n;

				if (sizes) {
					ret = message(x, r, send, &rows[i].n, 2);
					continue;
				}
				ret = message(x, r, send, rows[i].row, n);
				ret = ret ? ret
					  : message(x, r, send, rows[i].data, n * rows[i].width);
			}
		}
	}
	return ret ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
}

static int sum_rows(struct wse_exchange *x, struct wse_row_sum *sum, struct wse_rows *rows)
{
	uint32_t all = x->first[x->ranks], mine = x->first[x->rank], ends = x->first[x->rank + 1];
	struct wse_part at[WSE_REDUCE_PARTS];
	int ret = wse_row_sum_left(sum, at, rows + mine) == ends - mine ? 0 : -EPROTO;

	ret = ret ? ret : swap_rows(x, rows, 1);
	for (uint32_t i = 0; i < all && !ret; i++) {
		if (i >= mine && i < ends)
			continue;
		rows[i].row = calloc(rows[i].n + 1, sizeof(*rows[i].row));
		rows[i].data = calloc((size_t)rows[i].n * rows[i].width + 1, sizeof(float));
		if (!rows[i].row || !rows[i].data)
			ret = -ENOMEM;
	}
	ret = ret ? ret : swap_rows(x, rows, 0);
	for (uint32_t i = 0; i < all; i++) {
		if (ret)
			wse_rows_fini(&rows[i]);
		else
			ret = wse_row_sum_put_node(sum, x->parts[i].level, x->parts[i].pos,
						   &rows[i]);
	}
	return ret;
}

int wse_exchange_rows(struct wse_exchange *x, struct wse_row_sum *sums, uint32_t n, uint32_t leaves,
		      const uint32_t *cut)
{
	struct wse_rows *rows;
	int ret = 0;

	find_parts(x, leaves, cut);
	rows = calloc((size_t)x->ranks * WSE_REDUCE_PARTS, sizeof(*rows));
	if (!rows)
		return wse_fail(-ENOMEM, "no memory");
	for (uint32_t i = 0; i < n && !ret; i++) {
		memset(rows, 0, (size_t)x->ranks * WSE_REDUCE_PARTS * sizeof(*rows));
		ret = sum_rows(x, &sums[i], rows);
	}
	free(rows);
	return ret;
}

int wse_exchange_all(struct wse_exchange *x, void *elements, size_t size, const uint32_t *cut)
{
	struct wse_host_msg *m = calloc(2 * (size_t)x->ranks, sizeof(*m));
	char *at = elements;
	uint32_t n = 0;
	int ret;

	if (!m)
		return wse_fail(-ENOMEM, "no memory");
	for (uint32_t r = 0; r < x->ranks; r++) {
		if (r == x->rank)
			continue;
		m[n++] = (struct wse_host_msg){r, 1, at + cut[x->rank] * size,
					       (cut[x->rank + 1] - cut[x->rank]) * size};
		m[n++] = (struct wse_host_msg){r, 0, at + cut[r] * size,
					       (cut[r + 1] - cut[r]) * size};
	}
	ret = wse_hosts_swap(x->hosts, m, n);
	free(m);
	return ret;
}
