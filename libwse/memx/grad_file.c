// SPDX-License-Identifier: MIT
/* Gradients in a scratch file: record (place, piece) is number place * pieces + piece. */
#include "memx/grad_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/records.h"

struct wse_grad_file {
	const struct wse_memx_pieces *pieces;
	uint32_t n; /* pieces of units */
	uint32_t nunits, places;
	struct wse_records *records;
	struct wse_record *list;	/* [places][n] */
	unsigned char *taken;		/* [nunits][places] */
	const struct wse_packed **rows; /* [nunits][places]: how what is there lies */
	uint32_t *held;			/* [nunits] */
	pthread_mutex_t lock;
	uint64_t step, written;
	wse_grad_look look;
	void *look_ctx;
};

#define HEAD sizeof(float) /* of a packed record without content some bytes are cleared */

/* packs, or density, says of which units gradients may lie packed. NULL: no memory */
static struct wse_record *make_list(const struct wse_memx_pieces *l, uint32_t places,
				    const unsigned char *packs, const double *density)
{
	uint32_t host = l->first[0], n = l->n - host;
	struct wse_record *list = calloc((size_t)n * places + 1, sizeof(*list));

	for (size_t i = 0; i < (size_t)n * places && list; i++) {
		uint32_t piece = host + (uint32_t)(i % n), unit = l->p[piece].unit;
		const struct wse_memx_piece *p = &l->p[piece];
		double d = density ? density[unit] : 0.0;

		list[i] = (struct wse_record){
			.bytes = p->count * sizeof(float),
			.unit = unit,
			.piece = piece - l->first[unit] + 1,
			.pieces = l->first[unit + 1] - l->first[unit],
		};
		if (!p->rows || (d <= 0.0 && !(packs && packs[unit])))
			continue;
		list[i].head = HEAD;
		list[i].usual =
			(size_t)(d * (double)(p->count - p->vec) + (double)p->vec) * sizeof(float) +
			HEAD;
	}
	return list;
}

uint64_t wse_grad_file_memory(const struct wse_memx_pieces *pieces, uint32_t places,
			      const double *density, uint64_t *file)
{
	struct wse_record *list = make_list(pieces, places, NULL, density);
	uint64_t bytes = 0;

	*file = 0;
	if (list)
		bytes = wse_records_memory(list, (pieces->n - pieces->first[0]) * places, file);
	free(list);
	return bytes;
}

int wse_grad_file_open(const struct wse_memx_pieces *pieces, uint32_t nunits, uint32_t places,
		       const unsigned char *packs, const char *dir, struct wse_grad_file **file)
{
	struct wse_grad_file *f = calloc(1, sizeof(*f));
	int ret;

	*file = NULL;
	if (!f)
		return wse_fail(-ENOMEM, "no memory");
	f->pieces = pieces;
	f->n = pieces->n - pieces->first[0];
	f->nunits = nunits;
	f->places = places;
	f->list = make_list(pieces, places, packs, NULL);
	f->rows = calloc((size_t)nunits * places + 1, sizeof(*f->rows));
	f->taken = calloc((size_t)nunits * places + 1, 1);
	f->held = malloc((nunits + 1ul) * sizeof(*f->held));
	pthread_mutex_init(&f->lock, NULL);
	ret = f->list && f->rows && f->taken && f->held ? 0 : wse_fail(-ENOMEM, "no memory");
	for (uint32_t i = 0; i < nunits && !ret; i++)
		f->held[i] = WSE_NO_PLACE;
	ret = ret ? ret : wse_records_open(dir, "gradients", f->list, f->n * places, &f->records);
	if (ret) {
		wse_grad_file_close(f);
		return ret;
	}
	*file = f;
	return 0;
}

void wse_grad_file_close(struct wse_grad_file *f)
{
	if (!f)
		return;
	wse_records_close(f->records);
	pthread_mutex_destroy(&f->lock);
	free(f->list);
	free(f->rows);
	free(f->taken);
	free(f->held);
	free(f);
}

void wse_grad_file_step(struct wse_grad_file *f, uint64_t step)
{
	pthread_mutex_lock(&f->lock);
	f->step = step;
	pthread_mutex_unlock(&f->lock);
}

void wse_grad_file_look(struct wse_grad_file *f, wse_grad_look look, void *ctx)
{
	f->look = look;
	f->look_ctx = ctx;
}

/* a unit's records in a place: the first of them, and where they end */
static uint32_t first_of(const struct wse_grad_file *f, uint32_t unit, uint32_t place)
{
	return place * f->n + f->pieces->first[unit] - f->pieces->first[0];
}

static const struct wse_memx_piece *piece_of(const struct wse_grad_file *f, uint32_t record)
{
	return &f->pieces->p[f->pieces->first[0] + record % f->n];
}

/* a piece of a gradient, as it lies */
struct span {
	size_t at, n;
};

static struct span span_of(const struct wse_grad_file *f, uint32_t record)
{
	const struct wse_memx_piece *p = piece_of(f, record);
	const struct wse_packed *rows = wse_grad_file_rows(f, p->unit, record / f->n);
	size_t at;

	if (!rows)
		return (struct span){p->at, p->count};
	at = rows->start[p->row];
	return (struct span){at, rows->start[p->row + p->rows] - at + p->vec};
}

static int find_place(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
		      uint32_t *place)
{
	int ret = -EAGAIN;

	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; i < f->places && ret; i++) {
		if (f->taken[(size_t)unit * f->places + i])
			continue;
		f->taken[(size_t)unit * f->places + i] = 1;
		f->rows[(size_t)unit * f->places + i] = rows;
		*place = i;
		ret = 0;
	}
	f->written += !ret;
	pthread_mutex_unlock(&f->lock);
	return ret;
}

void wse_grad_file_drop(struct wse_grad_file *f, uint32_t unit, uint32_t place)
{
	uint32_t end = first_of(f, unit + 1, place);

	pthread_mutex_lock(&f->lock);
	for (uint32_t k = first_of(f, unit, place); k < end; k++)
		wse_records_drop(f->records, k);
	f->taken[(size_t)unit * f->places + place] = 0;
	pthread_mutex_unlock(&f->lock);
}

int wse_grad_file_begin(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
			uint32_t *place)
{
	return find_place(f, unit, rows, place);
}

const struct wse_packed *wse_grad_file_rows(const struct wse_grad_file *f, uint32_t unit,
					    uint32_t place)
{
	return f->rows[(size_t)unit * f->places + place];
}

/* with its whole record */
static int put_record(struct wse_grad_file *f, uint32_t record, const float *grad)
{
	const size_t bytes = span_of(f, record).n * sizeof(float);
	void *mem;
	int ret;

	pthread_mutex_lock(&f->lock);
	ret = wse_records_new(f->records, record, &mem);
	if (!ret) {
		memcpy(mem, grad, bytes);
		ret = f->list[record].head
			      ? wse_records_put_some(f->records, record, bytes, f->step)
			      : wse_records_put(f->records, record, 1, f->step);
	}
	pthread_mutex_unlock(&f->lock);
	return ret;
}

int wse_grad_file_put_piece(struct wse_grad_file *f, uint32_t place, uint32_t piece,
			    const float *grad)
{
	return put_record(f, place * f->n + piece - f->pieces->first[0], grad);
}

int wse_grad_file_put(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
		      const float *grad, uint32_t *place)
{
	int ret = find_place(f, unit, rows, place);
	uint32_t end;

	if (ret)
		return ret;
	end = first_of(f, unit + 1, *place);
	for (uint32_t k = first_of(f, unit, *place); k < end && !ret; k++)
		ret = put_record(f, k, grad + span_of(f, k).at);
	if (ret)
		wse_grad_file_drop(f, unit, *place);
	return ret;
}

int wse_grad_file_root(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
		       const float *grad, uint32_t *place)
{
	if (f->look)
		f->look(f->look_ctx, unit, rows, grad);
	return wse_grad_file_put(f, unit, rows, grad, place);
}

static void add(float *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = to[i] + from[i];
}

static void copy(float *restrict to, const float *restrict from, size_t n)
{
	memcpy(to, from, n * sizeof(*to));
}

/* floats [at, end) of a unit, as they lie, piece by piece */
static int walk(struct wse_grad_file *f, uint32_t unit, uint32_t place, size_t at, size_t end,
		void (*take)(float *restrict, const float *restrict, size_t), float *out)
{
	uint32_t last = first_of(f, unit + 1, place);
	int ret = 0;

	for (uint32_t k = first_of(f, unit, place); k < last && !ret; k++) {
		const struct span p = span_of(f, k);
		size_t from = p.at > at ? p.at : at, to = p.at + p.n;
		void *mem;

		to = to < end ? to : end;
		if (from >= to)
			continue;
		pthread_mutex_lock(&f->lock);
		ret = wse_records_get(f->records, k, last, &mem);
		if (!ret) {
			take(out + (from - at), (const float *)mem + (from - p.at), to - from);
			ret = wse_records_put(f->records, k, 0, 0);
		}
		pthread_mutex_unlock(&f->lock);
	}
	return ret;
}

int wse_grad_file_add(struct wse_grad_file *f, uint32_t unit, uint32_t place, float *grad)
{
	int ret = walk(f, unit, place, 0, SIZE_MAX, add, grad);

	wse_grad_file_drop(f, unit, place);
	return ret;
}

int wse_grad_file_read(struct wse_grad_file *f, uint32_t unit, uint32_t place, size_t at, size_t n,
		       float *out)
{
	return walk(f, unit, place, at, at + n, copy, out);
}

void wse_grad_file_hold(struct wse_grad_file *f, uint32_t unit, uint32_t place)
{
	f->held[unit] = place;
}

uint32_t wse_grad_file_held(const struct wse_grad_file *f, uint32_t unit)
{
	return f->held[unit];
}

uint64_t wse_grad_file_written(const struct wse_grad_file *f)
{
	return f->written;
}

void wse_grad_file_moved(const struct wse_grad_file *f, uint64_t *in, uint64_t *out)
{
	wse_records_moved(f->records, in, out);
}
