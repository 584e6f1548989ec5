// SPDX-License-Identifier: MIT
/* Subtrees to the owners of pieces. */
#include "exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"

#define OWN 2 /* pieces that a rank finishes at once */

struct wse_exchange {
	struct wse_hosts *hosts;
	uint32_t rank, ranks;
	const struct wse_memx_pieces *pieces;
	const struct wse_graph *g; /* of images, or NULL */
	const struct wse_image *images;
	struct wse_reduce fin[OWN];  /* trees that this rank finishes, of a piece each */
	struct wse_shared_buf **got; /* [OWN][parts]: where they come in */
	struct wse_host_msg *msgs;
	uint32_t nmsgs, room;
	/* pieces from and to the file that are on their way [npassing], of [passing_room] */
	float **passing;
	uint32_t npassing, passing_room;
	/* of the step */
	uint32_t leaves;
	struct wse_part *parts; /* [nparts]: of all ranks, ascending */
	uint32_t *first;	/* [ranks + 1]: of a rank's parts */
};

/* buffers of the longest piece, however long the one is that they are for */
static int piece_alloc(void *ctx, size_t size, struct wse_shared_buf **buf)
{
	const struct wse_memx_pieces *pieces = ctx;
	struct wse_shared_buf *b = calloc(1, sizeof(*b));

	(void)size;
	if (!b)
		return -ENOMEM;
	b->size = pieces->longest * sizeof(float);
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

int wse_exchange_open(struct wse_hosts *hosts, const struct wse_memx_pieces *pieces,
		      struct wse_exchange **x)
{
	struct wse_exchange *e = calloc(1, sizeof(*e));
	const struct wse_buf_pool pool = {piece_alloc, piece_free, (void *)pieces};
	int ret = e ? 0 : -ENOMEM;

	*x = NULL;
	if (ret)
		return wse_fail(ret, "no memory");
	e->hosts = hosts;
	e->pieces = pieces;
	e->rank = wse_hosts_rank(hosts);
	e->ranks = wse_hosts_ranks(hosts);
	e->parts = calloc((size_t)e->ranks * WSE_REDUCE_PARTS, sizeof(*e->parts));
	e->first = calloc(e->ranks + 1, sizeof(*e->first));
	e->got = calloc((size_t)OWN * e->ranks * WSE_REDUCE_PARTS, sizeof(struct wse_shared_buf *));
	if (!e->parts || !e->first || !e->got)
		ret = -ENOMEM;
	for (uint32_t i = 0; i < OWN && !ret; i++)
		ret = wse_reduce_init(&e->fin[i], &pool, pieces->longest);
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
		x->fin[i].count = x->fin[i].count ? x->pieces->longest : 0;
		wse_reduce_fini(&x->fin[i]);
	}
	free(x->parts);
	free(x->first);
	free(x->got);
	for (uint32_t i = 0; i < x->passing_room; i++)
		free(x->passing[i]);
	free(x->passing);
	free(x->msgs);
	free(x);
}

uint64_t wse_exchange_memory(const struct wse_memx_pieces *pieces, uint32_t parts)
{
	return (uint64_t)OWN * parts * pieces->longest * sizeof(float);
}

uint64_t wse_exchange_file_memory(const struct wse_memx_pieces *pieces, uint32_t ranks,
				  uint32_t parts)
{
	return (uint64_t)OWN * (ranks - 1) * parts * pieces->longest * sizeof(float);
}

/* room for a piece until the messages of a round are through */
static int pass_through(struct wse_exchange *x, float **piece)
{
	float **more;

	if (x->npassing == x->passing_room) {
		more = realloc(x->passing, (x->passing_room + 1ul) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		x->passing = more;
		more[x->passing_room] = wse_pages_alloc(x->pieces->longest * sizeof(float));
		if (!more[x->passing_room])
			return -ENOMEM;
		x->passing_room++;
	}
	*piece = x->passing[x->npassing++];
	return 0;
}

static int message(struct wse_exchange *x, uint32_t rank, int send, void *buf, size_t bytes)
{
	if (x->nmsgs == x->room) {
		uint32_t room = 2 * x->room + 64;
		struct wse_host_msg *more = realloc(x->msgs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		x->msgs = more;
		x->room = room;
	}
	x->msgs[x->nmsgs++] = (struct wse_host_msg){rank, send, buf, bytes};
	return 0;
}

void wse_exchange_begin(struct wse_exchange *x, uint32_t leaves, const uint32_t *cut)
{
	x->leaves = leaves;
	for (uint32_t r = 0; r < x->ranks; r++)
		x->first[r + 1] = x->first[r] + wse_reduce_parts(leaves, cut[r], cut[r + 1],
								 x->parts + x->first[r]);
}

void wse_exchange_images(struct wse_exchange *x, const struct wse_graph *g,
			 const struct wse_image *images)
{
	x->g = g;
	x->images = images;
}

/* how the gradient of a unit lies; NULL: with the places of all weights */
static const struct wse_packed *rows_of(const struct wse_exchange *x, uint32_t unit)
{
	const struct wse_unit *u = x->g ? &x->g->units[unit] : NULL;

	return u ? wse_image_grad_rows(&x->images[unit], (size_t)u->outs * u->ins) : NULL;
}

/* a piece as it lies in the gradient of its unit */
static struct wse_memx_piece lies(const struct wse_exchange *x, uint32_t piece)
{
	struct wse_memx_piece p = x->pieces->p[piece];
	const struct wse_packed *rows = rows_of(x, p.unit);

	if (rows) {
		p.at = rows->start[p.row];
		p.count = rows->start[p.row + p.rows] - p.at + p.vec;
	}
	return p;
}

static uint32_t owner_of(const struct wse_exchange *x, uint32_t piece)
{
	return wse_memx_piece_owner(piece, x->ranks);
}

/* a unit whose tree is finished */
struct finishing {
	struct wse_reduce *reduce;
	uint32_t unit;
	struct wse_node *own[WSE_REDUCE_PARTS]; /* what this rank's range leaves */
	struct wse_shared_buf *sum;		/* where the sum will be, or */
	struct wse_grad_file *file;		/* at this place of the file */
	uint32_t place;
};

/* this rank has what its range leaves */
static int check_stock(const struct wse_exchange *x, struct wse_node *const *node, uint32_t n)
{
	const struct wse_part *part = x->parts + x->first[x->rank];

	if (n != x->first[x->rank + 1] - x->first[x->rank])
		return -EPROTO;
	for (uint32_t i = 0; i < n; i++)
		if (node[i]->level != part[i].level || node[i]->pos != part[i].pos)
			return -EPROTO;
	return 0;
}

/*
 * The sum will be where the first subtree is; where gradients are in a file, at the place of one
 * that is there, or at a free one. Without any of these all of it comes into memory
 */
static int take_stock(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t unit,
		      struct finishing *f)
{
	uint32_t n = wse_reduce_stock(reduce, f->own), i = 0;
	int ret = check_stock(x, f->own, n);

	f->reduce = reduce;
	f->unit = unit;
	f->file = reduce->stays ? NULL : reduce->file;
	f->sum = NULL;
	if (ret)
		return ret;
	while (f->file && i < n && f->own[i]->buf)
		i++;
	if (f->file && i < n) {
		f->place = f->own[i]->place;
		return 0;
	}
	if (f->file && !wse_grad_file_begin(f->file, unit, rows_of(x, unit), &f->place))
		return 0;
	f->file = NULL;
	if (wse_reduce_left(reduce, f->own) != n)
		return -EPROTO;
	if (!n && x->g)
		wse_reduce_size(reduce, x->g, unit, &x->images[unit]);
	if (!n)
		return wse_reduce_get(reduce, &f->sum);
	f->sum = f->own[0]->buf;
	return 0;
}

/* a piece of one of this rank's subtrees, to copy from or to send */
static int own_part(struct wse_exchange *x, const struct finishing *f, uint32_t i,
		    const struct wse_memx_piece *p, float **part)
{
	int ret;

	if (f->own[i]->buf) {
		*part = (float *)f->own[i]->buf->ptr + p->at;
		return 0;
	}
	ret = pass_through(x, part);
	return ret ? ret
		   : wse_grad_file_read(f->reduce->file, f->unit, f->own[i]->place, p->at, p->count,
					*part);
}

/* this rank finishes the tree of a piece: its own parts are copied, those of others come */
static int gather_parts(struct wse_exchange *x, uint32_t k, const struct wse_memx_piece *p,
			const struct finishing *f)
{
	struct wse_shared_buf **got = x->got + (size_t)k * x->ranks * WSE_REDUCE_PARTS;
	size_t bytes = p->count * sizeof(float);
	int ret = 0;

	for (uint32_t r = 0; r < x->ranks; r++) {
		for (uint32_t i = x->first[r]; i < x->first[r + 1] && !ret; i++) {
			const struct wse_node *n = r == x->rank ? f->own[i - x->first[r]] : NULL;

			ret = wse_reduce_get(&x->fin[k], &got[i]);
			if (ret)
				break;
			if (!n)
				ret = message(x, r, 0, got[i]->ptr, bytes);
			else if (n->buf)
				memcpy(got[i]->ptr, (float *)n->buf->ptr + p->at, bytes);
			else
				ret = wse_grad_file_read(f->reduce->file, f->unit, n->place, p->at,
							 p->count, got[i]->ptr);
		}
	}
	return ret;
}

static int send_parts(struct wse_exchange *x, uint32_t owner, const struct wse_memx_piece *p,
		      const struct finishing *f)
{
	uint32_t mine = x->first[x->rank + 1] - x->first[x->rank];
	int ret = 0;

	for (uint32_t i = 0; i < mine && !ret; i++) {
		float *part;

		ret = own_part(x, f, i, p, &part);
		ret = ret ? ret : message(x, owner, 1, part, p->count * sizeof(float));
	}
	return ret;
}

static int finish_tree(struct wse_exchange *x, uint32_t k, uint32_t piece,
		       const struct finishing *f)
{
	struct wse_shared_buf **got = x->got + (size_t)k * x->ranks * WSE_REDUCE_PARTS;
	const struct wse_memx_piece p = lies(x, piece);
	const float *sum;
	int ret = 0;

	for (uint32_t i = 0; i < x->first[x->ranks] && !ret; i++)
		ret = wse_reduce_put_node(&x->fin[k], x->parts[i].level, x->parts[i].pos, got[i]);
	if (ret)
		return ret;
	sum = wse_reduce_take(&x->fin[k]);
	if (!sum)
		return -EPROTO;
	if (f->file)
		ret = wse_grad_file_put_piece(f->file, f->place, piece, sum);
	else
		memcpy((float *)f->sum->ptr + p.at, sum, p.count * sizeof(float));
	wse_reduce_give_back(&x->fin[k]);
	return ret;
}

/*
 * Some pieces, as many a rank as it finishes at once. Every rank makes the same messages in the
 * same order, so no message says what it is.
 */
static int pieces_of(struct wse_exchange *x, uint32_t first, uint32_t end,
		     const struct finishing *f)
{
	uint32_t k = 0;
	int ret = 0;

	x->nmsgs = x->npassing = 0;
	for (uint32_t i = first; i < end && !ret; i++) {
		const struct wse_memx_piece p = lies(x, i);
		uint32_t owner = owner_of(x, i);

		if (owner != x->rank) {
			ret = send_parts(x, owner, &p, f);
			continue;
		}
		x->fin[k].count = p.count;
		wse_reduce_begin(&x->fin[k], x->leaves);
		ret = gather_parts(x, k++, &p, f);
	}
	ret = ret ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
	k = 0;
	for (uint32_t i = first; i < end && !ret; i++)
		if (owner_of(x, i) == x->rank)
			ret = finish_tree(x, k++, i, f);
	return ret;
}

int wse_exchange_unit(struct wse_exchange *x, struct wse_reduce *reduce, uint32_t unit)
{
	uint32_t first = x->pieces->first[unit], end = x->pieces->first[unit + 1];
	struct finishing f;
	int ret = take_stock(x, reduce, unit, &f);

	for (uint32_t i = first, next; i < end && !ret; i = next) {
		next = end - i < OWN * x->ranks ? end : i + OWN * x->ranks;
		ret = pieces_of(x, i, next, &f);
	}
	if (ret)
		return ret;
	return f.file ? wse_reduce_settle_in_file(reduce, f.place)
		      : wse_reduce_settle(reduce, f.sum);
}

/* a piece of a sum that is in the file, from its owner to rank 0's file */
static int collect_piece(struct wse_exchange *x, uint32_t unit, uint32_t piece,
			 struct wse_grad_file *file)
{
	const struct wse_memx_piece p = lies(x, piece);
	uint32_t owner = owner_of(x, piece), place = wse_grad_file_held(file, unit);
	float *through;
	int ret;

	x->nmsgs = x->npassing = 0;
	if (place == WSE_NO_PLACE)
		return -EPROTO;
	ret = pass_through(x, &through);
	if (!ret && x->rank)
		ret = wse_grad_file_read(file, unit, place, p.at, p.count, through);
	ret = ret ? ret
		  : message(x, x->rank ? 0 : owner, x->rank != 0, through, p.count * sizeof(float));
	ret = ret ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
	return ret || x->rank ? ret : wse_grad_file_put_piece(file, place, piece, through);
}

int wse_exchange_collect(struct wse_exchange *x, uint32_t unit, float *sum,
			 struct wse_grad_file *file)
{
	int ret = 0;

	x->nmsgs = 0;
	for (uint32_t i = x->pieces->first[unit]; i < x->pieces->first[unit + 1] && !ret; i++) {
		const struct wse_memx_piece p = lies(x, i);
		uint32_t owner = owner_of(x, i);

		if (!owner || (x->rank && owner != x->rank))
			continue;
		ret = sum ? message(x, x->rank ? 0 : owner, x->rank != 0, sum + p.at,
				    p.count * sizeof(float))
			  : collect_piece(x, unit, i, file);
	}
	return ret || !sum ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
}

int wse_exchange_spread(struct wse_exchange *x, const struct wse_memx_part *part, uint32_t n)
{
	int ret = 0;

	x->nmsgs = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (part[i].rank != x->rank)
			ret = ret ? ret : message(x, part[i].rank, 0, part[i].at, part[i].bytes);
		for (uint32_t r = 0; part[i].rank == x->rank && r < x->ranks && !ret; r++)
			if (r != x->rank)
				ret = message(x, r, 1, part[i].at, part[i].bytes);
	}
	return ret ? ret : wse_hosts_swap(x->hosts, x->msgs, x->nmsgs);
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
					ret = message(x, r, send, &rows[i].n,
						      2 * sizeof(rows[i].n));
					continue;
				}
				ret = message(x, r, send, rows[i].row, n * sizeof(*rows[i].row));
				ret = ret ? ret
					  : message(x, r, send, rows[i].data,
						    n * rows[i].width * sizeof(float));
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

int wse_exchange_rows(struct wse_exchange *x, struct wse_row_sum *sums, uint32_t n)
{
	struct wse_rows *rows;
	int ret = 0;

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
