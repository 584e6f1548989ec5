// SPDX-License-Identifier: MIT
/* The tensors of a file that is written in another order than the file's. */
#define _GNU_SOURCE /* sync_file_range */
#include "st_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"

#define ROOM	WSE_ST_PIECE
#define BEHIND	(64u << 20) /* bytes that the disk may be behind */
#define STRIPES 32	    /* of a large tensor */

/*
 * Rows of the file in a stripe of tensor t: two of them are in memory when one is turned. Of a
 * piece's lines a stripe has a part, which is a write of its own: the more stripes there are, the
 * more and the shorter writes
 */
static size_t stripe_rows(const struct wse_st_tensor *t)
{
	size_t row = t->dim[1] * sizeof(float) + 1, most = t->count * sizeof(float) / STRIPES;
	size_t n = (most > WSE_ST_STRIPE / 2 ? most : WSE_ST_STRIPE / 2) / row / 16 * 16;

	n = n ? n : 16;
	return n < t->dim[0] ? n : t->dim[0];
}

static size_t longest_stripe(const struct wse_st *st)
{
	size_t most = 0;

	for (uint32_t i = 0; i < st->ntensors; i++) {
		const struct wse_st_tensor *t = &st->tensors[i];
		size_t n = t->transposed ? stripe_rows(t) * t->dim[1] * sizeof(float) : 0;

		most = n > most ? n : most;
	}
	return most;
}

/* room: a stripe as it was placed, or any bytes of a tensor that is not transposed */
static size_t room(size_t stripe)
{
	return stripe > ROOM ? stripe : ROOM;
}

size_t wse_st_places_memory(const struct wse_st *st)
{
	size_t stripe = longest_stripe(st);

	return room(stripe) + stripe;
}

int wse_st_places_open(struct wse_st_places *p, int fd, const struct wse_st *st, uint64_t begin)
{
	size_t stripe = longest_stripe(st);

	*p = (struct wse_st_places){.fd = fd, .st = st};
	p->at = malloc((st->ntensors + 1ul) * sizeof(*p->at));
	p->left = malloc((st->ntensors + 1ul) * sizeof(*p->left));
	p->room = wse_pages_alloc(room(stripe));
	p->stripe = wse_pages_alloc(stripe + 1);
	if (!p->at || !p->left || !p->room || !p->stripe) {
		wse_st_places_close(p);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < st->ntensors; i++) {
		p->at[i] = begin;
		p->left[i] = st->tensors[i].count;
		begin += st->tensors[i].count * sizeof(float);
	}
	return 0;
}

void wse_st_places_close(struct wse_st_places *p)
{
	free(p->at);
	free(p->left);
	free(p->room);
	free(p->stripe);
	p->at = NULL;
	p->left = NULL;
	p->room = p->stripe = NULL;
}

static int write_at(int fd, uint64_t at, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = pwrite(fd, p, n < 1u << 30 ? n : 1u << 30, (off_t)at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		at += (size_t)w;
		n -= (size_t)w;
	}
	return 0;
}

static int read_at(int fd, uint64_t at, void *data, size_t n)
{
	char *p = data;

	while (n) {
		ssize_t r = pread(fd, p, n < 1u << 30 ? n : 1u << 30, (off_t)at);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			return -EIO;
		p += r;
		at += (size_t)r;
		n -= (size_t)r;
	}
	return 0;
}

/* lines [c0, c0 + lines) of a transposed tensor into the stripe that begins at row r0 and has n */
static int place_lines(struct wse_st_places *p, uint32_t i, size_t r0, size_t n, size_t c0,
		       size_t lines, const float *data)
{
	const struct wse_st_tensor *t = &p->st->tensors[i];
	const size_t line = t->dim[0], most = ROOM / (n * sizeof(float));
	uint64_t at = p->at[i] + (r0 * t->dim[1] + c0 * n) * sizeof(float);
	int ret = 0;

	for (size_t c = 0, m; c < lines && !ret; c += m) {
		const float *from = data + c * line + r0;

		m = lines - c < most ? lines - c : most;
		if (m < 2 || n == line) { /* they lie as they are to lie */
			m = n == line ? lines - c : 1;
		} else {
			for (size_t k = 0; k < m; k++)
				memcpy(p->room + k * n, from + k * line, n * sizeof(float));
			from = p->room;
		}
		ret = write_at(p->fd, at + c * n * sizeof(float), from, m * n * sizeof(float));
	}
	return ret;
}

#define BLOCK 16 /* rows and columns that are turned at a time: a cache line each */

/* room [cols][n] to stripe [n][cols] */
static void turn(const float *from, size_t n, size_t cols, float *to)
{
	for (size_t c0 = 0; c0 < cols; c0 += BLOCK)
		for (size_t r0 = 0; r0 < n; r0 += BLOCK)
			for (size_t r = r0; r < n && r < r0 + BLOCK; r++)
				for (size_t c = c0; c < cols && c < c0 + BLOCK; c++)
					to[r * cols + c] = from[c * n + r];
}

/* bytes are as they stay: as the writer does it, the disk is never far behind */
static void written(struct wse_st_places *p, size_t bytes)
{
	if (p->stay / BEHIND != (p->stay + bytes) / BEHIND)
		sync_file_range(p->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
	p->stay += bytes;
}

/* all lines of a transposed tensor are in the file */
static int turn_tensor(struct wse_st_places *p, uint32_t i)
{
	const struct wse_st_tensor *t = &p->st->tensors[i];
	const size_t cols = t->dim[1], stripe = stripe_rows(t);
	int ret = 0;

	for (size_t r = 0, n; r < t->dim[0] && !ret; r += n) {
		const uint64_t off = p->at[i] + r * cols * sizeof(float);

		n = t->dim[0] - r < stripe ? t->dim[0] - r : stripe;
		ret = read_at(p->fd, off, p->room, n * cols * sizeof(float));
		if (ret)
			break;
		turn(p->room, n, cols, p->stripe);
		ret = write_at(p->fd, off, p->stripe, n * cols * sizeof(float));
		written(p, n * cols * sizeof(float));
	}
	return ret;
}

int wse_st_place(void *places, uint32_t i, size_t from, size_t count, const float *data)
{
	struct wse_st_places *p = places;
	const struct wse_st_tensor *t = &p->st->tensors[i];
	const size_t rows = t->dim[0], stripe = stripe_rows(t), bytes = count * sizeof(float);
	int ret = 0;

	if (from > t->count || count > t->count - from || count > p->left[i])
		return -EINVAL;
	if (!t->transposed)
		ret = write_at(p->fd, p->at[i] + from * sizeof(float), data, bytes);
	else if (from % rows || count % rows)
		return -EINVAL;
	for (size_t r = 0, n; t->transposed && r < rows && !ret; r += n) {
		n = rows - r < stripe ? rows - r : stripe;
		ret = place_lines(p, i, r, n, from / rows, count / rows, data);
	}
	p->left[i] -= count;
	p->placed += bytes;
	if (!t->transposed)
		written(p, bytes);
	else if (!p->left[i] && !ret)
		ret = turn_tensor(p, i);
	return ret;
}

int wse_st_places_finish(struct wse_st_places *p, uint32_t i,
			 int (*each)(void *ctx, const void *data, size_t bytes), void *ctx)
{
	const struct wse_st_tensor *t = &p->st->tensors[i];
	const size_t most = ROOM / sizeof(float);
	int ret = p->left[i] ? -EINVAL : 0;

	for (size_t at = 0, n; at < t->count && !ret; at += n) {
		n = t->count - at < most ? t->count - at : most;
		ret = read_at(p->fd, p->at[i] + at * sizeof(float), p->room, n * sizeof(float));
		ret = ret ? ret : each(ctx, p->room, n * sizeof(float));
	}
	return ret;
}
