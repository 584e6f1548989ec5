// SPDX-License-Identifier: MIT
/* Crash-safe safetensors writer. */
#define _GNU_SOURCE /* sync_file_range */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num/num.h"
#include "st_header.h"
#include "st_place.h"

static int write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(fd, p, n < 1u << 30 ? n : 1u << 30);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

#define PIECE  WSE_ST_PIECE
#define BEHIND (64u << 20) /* bytes that the disk may be behind */

/* where the writer is */
struct writer {
	int fd;
	uint64_t done, total; /* bytes of tensors */
	uint64_t placed;      /* and those that are to be finished */
	uint32_t tensor;      /* that is written */
	const struct wse_st *st;
	const struct wse_st_progress *progress;
};

static void tell(const struct writer *w)
{
	if (w->progress && w->progress->wrote)
		w->progress->wrote(w->progress->ctx, w->done + w->placed / 2, w->total);
}

/*
 * The disk begins with what was written while the next piece is copied, so that fsync finds little
 * to do. It is never far behind: so what is told of a slow one is true, and the memory of others is
 * not filled with what waits for it. Hints: where they are not taken, fsync waits.
 */
static void wrote(struct writer *w, const void *data, size_t bytes)
{
	if (w->st->seen)
		w->st->seen(w->st->seen_ctx, w->tensor, data, bytes);
	w->done += bytes;
	if (bytes >= PIECE)
		sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	if (w->done > BEHIND && w->done % (BEHIND / 4) < bytes)
		sync_file_range(w->fd, 0, (off_t)(w->done - BEHIND), SYNC_FILE_RANGE_WAIT_BEFORE);
	tell(w);
}

/* the next bytes of a tensor, in pieces that stay in the cache from the checksum to the disk */
static int put_bytes(struct writer *w, struct wse_sum64 *sum, const void *data, size_t n)
{
	const char *p = data;
	size_t part;
	int ret;

	for (; n; n -= part, p += part) {
		part = n < PIECE ? n : PIECE;
		wse_sum64_add(sum, p, part);
		ret = write_all(w->fd, p, part);
		if (ret)
			return ret;
		wrote(w, p, part);
	}
	return 0;
}

static int is_bytes(const struct wse_st *st, uint32_t i)
{
	return i >= st->ntensors - st->nbytes;
}

static uint64_t bytes_of(const struct wse_st *st, uint32_t i)
{
	return st->tensors[i].count * (is_bytes(st, i) ? 1 : sizeof(float));
}

static int put(struct writer *w, struct wse_sum64 *sum, int bytes, const float *data, size_t count)
{
	unsigned char byte[4096];
	int ret = 0;

	if (!bytes)
		return put_bytes(w, sum, data, count * sizeof(*data));
	for (size_t n; count && !ret; count -= n, data += n) {
		n = count < sizeof(byte) ? count : sizeof(byte);
		for (size_t i = 0; i < n; i++)
			byte[i] = (unsigned char)data[i];
		ret = put_bytes(w, sum, byte, n);
	}
	return ret;
}

/* elements [from, from + count) of tensor i as they lie in memory */
static int get(const struct wse_st *st, uint32_t i, size_t from, size_t count, float *out)
{
	if (!st->tensors[i].data)
		return st->floats(st->floats_ctx, i, from, count, out);
	memcpy(out, st->tensors[i].data + from, count * sizeof(*out));
	return 0;
}

#define LINES 16 /* columns of the file that are turned at a time: a cache line of its rows */

/*
 * rows [r0, r0 + n) of the file, of which memory has the columns as lines of dim[0] elements;
 * stripe [n][dim[1]], lines [LINES][n]
 */
static int turn(const struct wse_st *st, uint32_t i, size_t r0, size_t n, float *stripe,
		float *lines)
{
	const size_t rows = st->tensors[i].dim[0], cols = st->tensors[i].dim[1];
	int ret = 0;

	for (size_t c0 = 0, m; c0 < cols && !ret; c0 += m) {
		m = cols - c0 < LINES ? cols - c0 : LINES;
		if (n == rows) {
			ret = get(st, i, c0 * rows, m * rows, lines);
		} else {
			for (size_t c = 0; c < m && !ret; c++)
				ret = get(st, i, (c0 + c) * rows + r0, n, lines + c * n);
		}
		for (size_t r = 0; r < n && !ret; r++)
			for (size_t c = 0; c < m; c++)
				stripe[r * cols + c0 + c] = lines[c * n + r];
	}
	return ret;
}

size_t wse_st_write_memory(const struct wse_st_tensor *t)
{
	size_t most = PIECE / sizeof(float), n = t->count < most ? t->count : most;

	if (t->transposed) {
		most = wse_st_stripe_rows(t->dim[1]);
		n = (most < t->dim[0] ? most : t->dim[0]) * (t->dim[1] + LINES);
	}
	return n * sizeof(float);
}

static int write_turned(struct writer *w, const struct wse_st *st, uint32_t i,
			struct wse_sum64 *sum)
{
	const size_t rows = st->tensors[i].dim[0], cols = st->tensors[i].dim[1];
	size_t most = wse_st_stripe_rows(cols), n;
	float *stripe, *lines;
	int ret;

	most = most < rows ? most : rows;
	stripe = malloc(most * cols * sizeof(*stripe));
	lines = malloc(LINES * most * sizeof(*lines));
	ret = stripe && lines ? 0 : -ENOMEM;
	for (size_t r = 0; r < rows && !ret; r += n) {
		n = rows - r < most ? rows - r : most;
		ret = turn(st, i, r, n, stripe, lines);
		ret = ret ? ret : put(w, sum, is_bytes(st, i), stripe, n * cols);
	}
	free(stripe);
	free(lines);
	return ret;
}

static int write_straight(struct writer *w, const struct wse_st *st, uint32_t i,
			  struct wse_sum64 *sum)
{
	const size_t count = st->tensors[i].count, most = PIECE / sizeof(float);
	float *piece = malloc(((count < most ? count : most) + 1) * sizeof(*piece));
	int ret = piece ? 0 : -ENOMEM;

	for (size_t at = 0, n; at < count && !ret; at += n) {
		n = count - at < most ? count - at : most;
		ret = get(st, i, at, n, piece);
		ret = ret ? ret : put(w, sum, is_bytes(st, i), piece, n);
	}
	free(piece);
	return ret;
}

static int write_tensor(struct writer *w, const struct wse_st *st, uint32_t i, uint64_t *sum)
{
	struct wse_sum64 s;
	int ret;

	wse_sum64_begin(&s);
	w->tensor = i;
	ret = st->tensors[i].transposed ? write_turned(w, st, i, &s) : write_straight(w, st, i, &s);
	*sum = wse_sum64_end(&s);
	return ret;
}

static int sync_dir_of(const char *path)
{
	char dir[4096];
	char *slash;
	int fd, ret = 0;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = 0;
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		ret = -errno;
	close(fd);
	return ret;
}

/* names and values that we write contain no character that JSON escapes; *seal is where its digits
 * are to be put. sums NULL: zeros instead, the text is as long */
static int header_text(const struct wse_st *st, const uint64_t *sums, FILE *f, size_t *seal)
{
	uint64_t off = 0;

	fputs("{\"__metadata__\":{\"" WSE_ST_SEAL "\":\"", f);
	*seal = (size_t)ftell(f);
	fprintf(f, "%0*d\"%s", WSE_ST_SEAL_LEN, 0, st->nmeta || st->ntensors ? "," : "");
	for (uint32_t i = 0; i < st->nmeta; i++)
		fprintf(f, "\"%s\":\"%s\"%s", st->meta[i].key, st->meta[i].value,
			i + 1 < st->nmeta || st->ntensors ? "," : "");
	for (uint32_t i = 0; i < st->ntensors; i++) {
		const struct wse_st_tensor *t = &st->tensors[i];

		fprintf(f, "%s\"sum.%s\":\"%016" PRIx64 "\"", i ? "," : "", t->name,
			sums ? sums[i] : 0);
	}
	fputc('}', f);
	for (uint32_t i = 0; i < st->ntensors; i++) {
		const struct wse_st_tensor *t = &st->tensors[i];

		fprintf(f, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%u", t->name,
			is_bytes(st, i) ? "U8" : "F32", t->dim[0]);
		if (t->ndim == 2)
			fprintf(f, ",%u", t->dim[1]);
		fprintf(f, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", off,
			off + bytes_of(st, i));
		off += bytes_of(st, i);
	}
	fputc('}', f);
	while (ftell(f) % 8)
		fputc(' ', f);
	return ferror(f) ? -ENOMEM : 0;
}

/* the header with its length before it; *out is to be freed */
static int make_header(const struct wse_st *st, const uint64_t *sums, char **out, size_t *len)
{
	char hex[WSE_ST_SEAL_LEN + 1];
	size_t seal = 0;
	uint64_t len64;
	FILE *f = open_memstream(out, len);
	int ret;

	if (!f)
		return -ENOMEM;
	fwrite(&(uint64_t){0}, sizeof(len64), 1, f);
	ret = header_text(st, sums, f, &seal);
	if (fclose(f) && !ret)
		ret = -ENOMEM;
	if (ret)
		return ret;
	len64 = *len - sizeof(len64);
	memcpy(*out, &len64, sizeof(len64));
	wse_st_seal(*out + sizeof(len64), len64, seal - sizeof(len64), hex);
	memcpy(*out + seal, hex, WSE_ST_SEAL_LEN);
	return 0;
}

/* ---- in another order ---- */

/* where the writer is, and the tensor that comes out of its places */
struct finishing {
	struct writer *w;
	struct wse_sum64 sum;
};

static int finished(void *ctx, const void *data, size_t bytes)
{
	struct finishing *f = ctx;

	wse_sum64_add(&f->sum, data, bytes);
	f->w->placed -= bytes;
	wrote(f->w, data, bytes);
	return 0;
}

struct placing {
	struct writer *w;
	struct wse_st_places *places;
};

static int place(void *ctx, uint32_t i, size_t from, size_t count, const float *data)
{
	const struct placing *p = ctx;
	int ret = wse_st_place(p->places, i, from, count, data);

	p->w->placed = p->places->placed;
	tell(p->w);
	return ret;
}

/* the file is at its first tensor; then it is behind the floats */
static int write_all_places(struct writer *w, const struct wse_st *st, uint64_t *sums)
{
	const uint32_t n = st->ntensors - st->nbytes;
	uint64_t total = 0;
	off_t begin = lseek(w->fd, 0, SEEK_CUR);
	struct finishing f = {.w = w};
	struct wse_st_places p;
	struct placing placing = {w, &p};
	int ret;

	if (begin < 0)
		return -errno;
	ret = wse_st_places_open(&p, w->fd, st, (uint64_t)begin);
	if (ret)
		return ret;
	ret = st->all(st->floats_ctx, place, &placing);
	for (uint32_t i = 0; i < n; i++)
		total += bytes_of(st, i);
	if (!ret && p.placed != total)
		ret = -EINVAL;
	for (uint32_t i = 0; i < n && !ret; i++) {
		wse_sum64_begin(&f.sum);
		w->tensor = i;
		ret = wse_st_places_finish(&p, i, finished, &f);
		sums[i] = wse_sum64_end(&f.sum);
	}
	wse_st_places_close(&p);
	if (!ret && lseek(w->fd, begin + (off_t)total, SEEK_SET) < 0)
		ret = -errno;
	return ret;
}

/* tensors first, as the header has their checksums: its place is left open */
static int write_file(int fd, const struct wse_st *st)
{
	uint64_t *sums = calloc(st->ntensors + 1, sizeof(*sums));
	struct writer w = {.fd = fd, .st = st, .progress = st->progress};
	char *header = NULL;
	uint32_t i = 0;
	size_t len = 0;
	int ret = sums ? make_header(st, NULL, &header, &len) : -ENOMEM;

	if (!ret && lseek(fd, (off_t)len, SEEK_SET) < 0)
		ret = -errno;
	for (uint32_t k = 0; k < st->ntensors; k++)
		w.total += bytes_of(st, k);
	if (!ret && st->all) {
		i = st->ntensors - st->nbytes;
		ret = write_all_places(&w, st, sums);
	}
	for (; i < st->ntensors && !ret; i++)
		ret = write_tensor(&w, st, i, &sums[i]);
	free(header);
	header = NULL;
	ret = ret ? ret : make_header(st, sums, &header, &len);
	if (!ret && lseek(fd, 0, SEEK_SET) < 0)
		ret = -errno;
	ret = ret ? ret : write_all(fd, header, len);
	if (!ret && fsync(fd))
		ret = -errno;
	free(header);
	free(sums);
	return ret;
}

int wse_st_write(const char *path, const struct wse_st *st)
{
	char tmp[4096];
	int fd, ret;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;
	fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	ret = write_file(fd, st);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && st->progress && st->progress->whole)
		ret = st->progress->whole(st->progress->ctx);
	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret)
		unlink(tmp);
	else
		ret = sync_dir_of(path);
	return ret;
}

const char *wse_st_get(const struct wse_st_meta *meta, uint32_t n, const char *key)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(meta[i].key, key))
			return meta[i].value;
	return NULL;
}
