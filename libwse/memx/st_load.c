// SPDX-License-Identifier: MIT
/* Tensors out of a safetensors file into memory, by pieces. */
#include "st_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/num.h"

/* ---- numbers ---- */

enum wse_st_type wse_st_type(const struct wse_st_view *v)
{
	static const char *const names[] = {"F32", "F16", "BF16", "U8"};

	for (int i = 0; i < WSE_ST_OTHER; i++)
		if (!strcmp(v->dtype, names[i]))
			return (enum wse_st_type)i;
	return WSE_ST_OTHER;
}

static size_t element_bytes(enum wse_st_type type)
{
	return type == WSE_ST_F32 ? sizeof(float) : type == WSE_ST_U8 ? 1 : sizeof(uint16_t);
}

static float f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;

	if (e == 0)
		return wse_u2f(sign | wse_f2u((float)m * 0x1p-24f));
	return wse_u2f(sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13);
}

/* n numbers as floats: data itself, or converted into room [n] */
static const float *floats(enum wse_st_type type, const void *data, size_t n, float *room)
{
	const uint16_t *h = data;

	if (type == WSE_ST_F32)
		return data;
	for (size_t i = 0; i < n && type == WSE_ST_U8; i++)
		room[i] = (float)((const unsigned char *)data)[i];
	if (type == WSE_ST_U8)
		return room;
	for (size_t i = 0; i < n; i++)
		room[i] = type == WSE_ST_F16 ? f16(h[i]) : wse_bf16_to_f32(h[i]);
	return room;
}

/* ---- the first pass ---- */

/* a number may be not finite since a bit of it flipped: what checksums say comes first */
struct look {
	const struct wse_st_file *f;
	const unsigned char *taken; /* [f->nviews] */
	uint64_t *sum;		    /* [f->nviews] or NULL: add_bits() */
	float *room;
	const struct wse_st_view *bad; /* the first that has a number that is not finite */
	size_t at;
};

/*
 * What n elements from `at` on add to a sum that does not depend on their order, and in which each
 * of them has an odd factor of its own: one that is another is found for sure
 */
static uint64_t add_bits(enum wse_st_type type, const void *data, uint64_t at, size_t n)
{
	const uint32_t *w = data;
	const uint16_t *h = data;
	uint64_t sum = 0;

	for (size_t i = 0; i < n && type < WSE_ST_U8; i++)
		sum += (type == WSE_ST_F32 ? w[i] : h[i]) * (2 * (at + i) + 1);
	return sum;
}

static int look_at(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		   size_t bytes)
{
	struct look *l = ctx;
	const enum wse_st_type type = wse_st_type(v);
	const size_t n = type >= WSE_ST_U8 ? 0 : bytes / element_bytes(type);
	const float *p;

	if (l->bad || !l->taken[v - l->f->views])
		return 0;
	if (l->sum)
		l->sum[v - l->f->views] += add_bits(type, data, from / element_bytes(type), n);
	p = floats(type, data, n, l->room);
	for (size_t i = 0; i < n && !l->bad; i++)
		if (wse_f32_isbad(p[i])) {
			l->bad = v;
			l->at = (size_t)(from / element_bytes(type)) + i;
		}
	return 0;
}

/* sum: struct look's */
static int check(struct wse_st_file *f, const struct wse_st_take *takes, uint32_t n, uint64_t *sum)
{
	unsigned char *taken = calloc(f->nviews + 1ul, 1);
	float *room = malloc(WSE_ST_PIECE / sizeof(uint16_t) * sizeof(float));
	struct look l = {f, taken, sum, room, NULL, 0};
	int ret = -ENOMEM;

	if (taken && room) {
		for (uint32_t i = 0; i < n; i++)
			taken[takes[i].view - f->views] = 1;
		ret = wse_st_check(f, look_at, &l);
		if (!ret && l.bad)
			ret = wse_fail(-ERANGE, "%s[%zu] is not finite", l.bad->name, l.at);
	} else {
		wse_fail(ret, "no memory to read it");
	}
	free(taken);
	free(room);
	return ret;
}

/* ---- the second pass ---- */

#define LINES 16 /* columns of the file that are turned at a time: a cache line of its rows */

struct taking {
	const struct wse_st_take *t;
	wse_st_put put;
	void *ctx;
	enum wse_st_type type;
	float *room, *lines;
};

static int take_straight(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
			 size_t bytes)
{
	const struct taking *k = ctx;
	size_t size = element_bytes(k->type), n = bytes / size;

	(void)v;
	return k->put(k->ctx, k->t, (size_t)from / size, n, floats(k->type, data, n, k->room));
}

/* n rows of the file from r0 on, [n][t->rows]: columns r0 ... of memory's lines of t->cols */
static int turn(const struct taking *k, const float *stripe, size_t r0, size_t n)
{
	const size_t rows = k->t->cols, cols = k->t->rows;
	int ret = 0;

	for (size_t c0 = 0, m; c0 < cols && !ret; c0 += m) {
		m = cols - c0 < LINES ? cols - c0 : LINES;
		for (size_t r = 0; r < n; r++)
			for (size_t c = 0; c < m; c++)
				k->lines[c * n + r] = stripe[r * cols + c0 + c];
		if (n == rows) {
			ret = k->put(k->ctx, k->t, c0 * rows, m * rows, k->lines);
			continue;
		}
		for (size_t c = 0; c < m && !ret; c++)
			ret = k->put(k->ctx, k->t, (c0 + c) * rows + r0, n, k->lines + c * n);
	}
	return ret;
}

static int take_turned(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		       size_t bytes)
{
	const struct taking *k = ctx;
	const size_t line = k->t->rows * element_bytes(k->type), n = bytes / line;

	(void)v;
	return turn(k, floats(k->type, data, n * k->t->rows, k->room), (size_t)from / line, n);
}

static int take(const struct wse_st_take *t, wse_st_put put, void *ctx)
{
	struct taking k = {.t = t, .put = put, .ctx = ctx, .type = wse_st_type(t->view)};
	const size_t size = element_bytes(k.type);
	size_t rows = 0, piece = WSE_ST_PIECE;
	int ret;

	if (t->transposed) {
		rows = wse_st_stripe_rows(t->rows);
		rows = rows < t->cols ? rows : t->cols;
		/* of a whole tensor the stripe is what it is, of a part a multiple of 16 rows */
		piece = rows < t->cols ? rows * t->rows * size : (size_t)t->view->bytes;
		k.lines = malloc(LINES * rows * sizeof(*k.lines));
	}
	if (k.type != WSE_ST_F32)
		k.room = malloc(piece / size * sizeof(*k.room));
	if ((!k.lines && t->transposed) || (!k.room && k.type != WSE_ST_F32))
		ret = wse_fail(-ENOMEM, "no memory to read it");
	else
		ret = wse_st_walk(t->view, piece, t->transposed ? take_turned : take_straight, &k);
	free(k.lines);
	free(k.room);
	return ret;
}

/* what the second pass came to */
static int loaded(int ret)
{
	if (!ret)
		return 0;
	wse_fail_more(": loaded in part; load a checkpoint that stays as it is");
	return -ESTALE;
}

int wse_st_load(struct wse_st_file *f, const struct wse_st_take *takes, uint32_t n, wse_st_put put,
		void *ctx)
{
	int ret = check(f, takes, n, NULL);

	if (ret || !put)
		return ret;
	for (uint32_t i = 0; i < n && !ret; i++)
		if (takes[i].view->count)
			ret = take(&takes[i], put, ctx);
	return loaded(ret);
}

/* ---- the second pass in another order ---- */

struct fetching {
	const struct wse_st_take *takes;
	uint64_t *sum; /* [n] */
	char *raw;     /* [size] */
	size_t size;
};

static int make_room(struct fetching *k, size_t bytes)
{
	char *more = bytes > k->size ? realloc(k->raw, bytes) : k->raw;

	if (!more)
		return wse_fail(-ENOMEM, "no memory to read it");
	k->raw = more;
	k->size = bytes > k->size ? bytes : k->size;
	return 0;
}

static void widen(enum wse_st_type type, const void *data, size_t n, float *out)
{
	const float *p = floats(type, data, n, out);

	if (p != out)
		memcpy(out, p, n * sizeof(*out));
}

/* n rows of the file from r0 on, of each the elements that are in lines [c0, c0 + m): [n][m] */
static int fetch_rows(struct fetching *k, uint32_t take, size_t r0, size_t n, size_t c0, size_t m)
{
	const struct wse_st_take *t = &k->takes[take];
	const enum wse_st_type type = wse_st_type(t->view);
	const size_t size = element_bytes(type);
	int ret = 0;

	for (size_t r = 0, some; r < n && !ret; r += some) {
		uint64_t at = (uint64_t)(r0 + r) * t->rows + c0;
		char *to = k->raw + r * m * size;

		some = m == t->rows ? n : 1; /* whole rows lie one behind the other */
		ret = wse_st_pread(t->view, at * size, some * m * size, to);
		if (!ret)
			k->sum[take] += add_bits(type, to, at, some * m);
	}
	return ret;
}

static int fetch(void *file, uint32_t take, size_t from, size_t count, float *out)
{
	struct fetching *k = file;
	const struct wse_st_take *t = &k->takes[take];
	const enum wse_st_type type = wse_st_type(t->view);
	const size_t size = element_bytes(type), line = t->cols, m = count / line;
	int ret;

	if (!t->transposed) {
		ret = make_room(k, count * size);
		ret = ret ? ret : wse_st_pread(t->view, from * size, count * size, k->raw);
		if (ret)
			return ret;
		k->sum[take] += add_bits(type, k->raw, from, count);
		widen(type, k->raw, count, out);
		return 0;
	}
	if (from % line || count % line)
		return wse_fail(-EINVAL, "%s is read by lines", t->view->name);
	ret = make_room(k, LINES * m * (size + sizeof(float)));
	for (size_t r0 = 0, n; r0 < line && !ret; r0 += n) {
		float *rows = (float *)(void *)(k->raw + LINES * m * size);

		n = line - r0 < LINES ? line - r0 : LINES;
		ret = fetch_rows(k, take, r0, n, from / line, m);
		if (ret)
			break;
		widen(type, k->raw, n * m, rows);
		for (size_t c = 0; c < m; c++)
			for (size_t r = 0; r < n; r++)
				out[c * line + r0 + r] = rows[r * m + c];
	}
	return ret;
}

int wse_st_load_all(struct wse_st_file *f, const struct wse_st_take *takes, uint32_t n,
		    int (*all)(void *ctx, wse_st_fetch_fn fetch, void *file), void *ctx)
{
	uint64_t *before = calloc(f->nviews + 1ul, sizeof(*before));
	struct fetching k = {.takes = takes, .sum = calloc(n + 1ul, sizeof(*k.sum))};
	int ret = before && k.sum ? check(f, takes, n, before)
				  : wse_fail(-ENOMEM, "no memory to read it");

	if (!ret) {
		ret = all(ctx, fetch, &k);
		for (uint32_t i = 0; i < n && !ret; i++)
			if (k.sum[i] != before[takes[i].view - f->views])
				ret = wse_fail(-ESTALE, "%.64s changed while it was read",
					       takes[i].view->name);
		ret = loaded(ret);
	}
	free(before);
	free(k.sum);
	free(k.raw);
	return ret;
}
