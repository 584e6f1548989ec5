// SPDX-License-Identifier: MIT
/* Crash-safe safetensors writer and strict reader. */
#define _GNU_SOURCE /* sync_file_range, asprintf */
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
#include "num/sha256.h"
#include "base/error.h"
#include "st_header.h"

#define HEADER_MAX 100000000u /* as the format's own library */

/*
 * The seal: metadata entry with the SHA-256 of length and header, its own digits taken as zeros.
 * The header holds a checksum of each tensor, so no bit of the file can change unseen.
 */
#define SEAL	 WSE_ST_SEAL
#define SEAL_LEN WSE_ST_SEAL_LEN

/* header [len], at: where the 64 digits are in it; hex [65] */
static void seal_of(const char *header, uint64_t len, size_t at, char *hex)
{
	static const char zeros[SEAL_LEN] = {[0 ... SEAL_LEN - 1] = '0'};
	struct wse_sha256 sha;

	wse_sha256_init(&sha);
	wse_sha256_add(&sha, &len, sizeof(len));
	wse_sha256_add(&sha, header, at);
	wse_sha256_add(&sha, zeros, SEAL_LEN);
	wse_sha256_add(&sha, header + at + SEAL_LEN, (size_t)len - at - SEAL_LEN);
	wse_sha256_hex(&sha, hex);
}

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

#define PIECE  (1u << 20)
#define BEHIND (64u << 20) /* bytes that the disk may be behind */

/* where the writer is */
struct writer {
	int fd;
	uint64_t done, total; /* bytes of tensors */
	const struct wse_st_progress *progress;
};

/*
 * The disk begins with what was written while the next piece is copied, so that fsync finds little
 * to do. It is never far behind: so what is told of a slow one is true, and the memory of others is
 * not filled with what waits for it. Hints: where they are not taken, fsync waits.
 */
static void wrote(struct writer *w, size_t bytes)
{
	w->done += bytes;
	if (bytes == PIECE)
		sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	if (w->done > BEHIND && w->done % (BEHIND / 4) < bytes)
		sync_file_range(w->fd, 0, (off_t)(w->done - BEHIND), SYNC_FILE_RANGE_WAIT_BEFORE);
	if (w->progress && w->progress->wrote)
		w->progress->wrote(w->progress->ctx, w->done, w->total);
}

/* a tensor and its checksum, in pieces that stay in the cache from one to the other */
static int write_tensor(struct writer *w, const float *data, size_t count, uint64_t *sum)
{
	size_t n = count * sizeof(float), part;
	const char *p = (const char *)data;
	struct wse_sum64 s;
	int ret;

	wse_sum64_begin(&s);
	for (; n; n -= part, p += part) {
		part = n < PIECE ? n : PIECE;
		wse_sum64_add(&s, p, part);
		ret = write_all(w->fd, p, part);
		if (ret)
			return ret;
		wrote(w, part);
	}
	*sum = wse_sum64_end(&s);
	return 0;
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

/* a tensor's floats as the file has them; scratch has room for a transposed one */
static const float *as_written(const struct wse_st_tensor *t, float *scratch)
{
	const size_t rows = t->dim[0], cols = t->dim[1], tile = 16; /* a cache line */

	if (!t->transposed)
		return t->data;
	for (size_t r0 = 0; r0 < rows; r0 += tile)
		for (size_t c = 0; c < cols; c++)
			for (size_t r = r0; r < rows && r < r0 + tile; r++)
				scratch[r * cols + c] = t->data[c * rows + r];
	return scratch;
}

/* room for the largest transposed tensor; NULL without memory */
static float *scratch_for(const struct wse_st *st)
{
	size_t most = 1;

	for (uint32_t i = 0; i < st->ntensors; i++)
		if (st->tensors[i].transposed && st->tensors[i].count > most)
			most = st->tensors[i].count;
	return malloc(most * sizeof(float));
}

/* names and values that we write contain no character that JSON escapes; *seal is where its digits
 * are to be put. sums NULL: zeros instead, the text is as long */
static int header_text(const struct wse_st *st, const uint64_t *sums, FILE *f, size_t *seal)
{
	uint64_t off = 0;

	fputs("{\"__metadata__\":{\"" SEAL "\":\"", f);
	*seal = (size_t)ftell(f);
	fprintf(f, "%0*d\"%s", SEAL_LEN, 0, st->nmeta || st->ntensors ? "," : "");
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

		fprintf(f, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%u", t->name, t->dim[0]);
		if (t->ndim == 2)
			fprintf(f, ",%u", t->dim[1]);
		fprintf(f, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", off,
			off + t->count * sizeof(float));
		off += t->count * sizeof(float);
	}
	fputc('}', f);
	while (ftell(f) % 8)
		fputc(' ', f);
	return ferror(f) ? -ENOMEM : 0;
}

/* the header with its length before it; *out is to be freed */
static int make_header(const struct wse_st *st, const uint64_t *sums, char **out, size_t *len)
{
	char hex[SEAL_LEN + 1];
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
	seal_of(*out + sizeof(len64), len64, seal - sizeof(len64), hex);
	memcpy(*out + seal, hex, SEAL_LEN);
	return 0;
}

/* tensors first, as the header has their checksums: its place is left open */
static int write_file(int fd, const struct wse_st *st)
{
	uint64_t *sums = calloc(st->ntensors + 1, sizeof(*sums));
	struct writer w = {.fd = fd, .progress = st->progress};
	float *scratch = scratch_for(st);
	char *header = NULL;
	size_t len = 0;
	int ret = sums && scratch ? make_header(st, NULL, &header, &len) : -ENOMEM;

	if (!ret && lseek(fd, (off_t)len, SEEK_SET) < 0)
		ret = -errno;
	for (uint32_t i = 0; i < st->ntensors; i++)
		w.total += st->tensors[i].count * sizeof(float);
	for (uint32_t i = 0; i < st->ntensors && !ret; i++)
		ret = write_tensor(&w, as_written(&st->tensors[i], scratch), st->tensors[i].count,
				   &sums[i]);
	free(header);
	header = NULL;
	ret = ret ? ret : make_header(st, sums, &header, &len);
	if (!ret && lseek(fd, 0, SEEK_SET) < 0)
		ret = -errno;
	ret = ret ? ret : write_all(fd, header, len);
	if (!ret && fsync(fd))
		ret = -errno;
	free(header);
	free(scratch);
	free(sums);
	return ret;
}

int wse_st_write(const char *path, const struct wse_st *st)
{
	char tmp[4096];
	int fd, ret;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	ret = write_file(fd, st);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret)
		unlink(tmp);
	else
		ret = sync_dir_of(path);
	return ret;
}

/* a file of ours: only the writer makes these keys */
static int is_ours(const struct wse_st *st)
{
	for (uint32_t i = 0; i < st->nmeta; i++)
		if (!strncmp(st->meta[i].key, "wse.", 4) || !strncmp(st->meta[i].key, "sum.", 4))
			return 1;
	return 0;
}

/* at: where its digits are in the header, -1: there are none */
static int check_seal(const struct wse_st *st, const char *header, uint64_t len, int64_t at)
{
	char hex[SEAL_LEN + 1];

	if (at < 0)
		return is_ours(st) ? wse_fail(-EBADMSG, "its header has no checksum (" SEAL
							"): corrupted, or "
							"of a release before there was one")
				   : 0;
	seal_of(header, len, (size_t)at, hex);
	if (memcmp(hex, header + at, SEAL_LEN))
		return wse_fail(-EBADMSG, "the checksum of the header does not match: corrupted");
	return 0;
}

static int parse(struct wse_st_file *f)
{
	const char *header = f->bytes + 8;
	uint64_t len;
	int64_t seal;
	int ret;

	if (f->size < 8)
		return wse_fail(-EBADMSG,
				"cut short: %zu bytes are too few for a safetensors "
				"file",
				f->size);
	memcpy(&len, f->bytes, 8);
	if (len > f->size - 8 || len > HEADER_MAX)
		return wse_fail(-EBADMSG,
				"the header of %" PRIu64 " bytes does not fit into "
				"the file: cut short, or no safetensors file",
				len);
	f->meta.text =
		malloc(len + 1); /* names are decoded in it, and the seal is of what was there */
	if (!f->meta.text)
		return wse_fail(-ENOMEM, "no memory for its header");
	memcpy(f->meta.text, header, len);
	ret = wse_st_header(f->meta.text, len, header + len, f->size - 8 - len, f, &seal);
	return ret ? ret : check_seal(&f->meta, header, len, seal);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct wse_st_meta *)a)->key, ((const struct wse_st_meta *)b)->key);
}

/* meta [n] is sorted */
static int check_sum(const struct wse_st_view *t, const struct wse_st_meta *meta, uint32_t n,
		     int ours)
{
	char *key, sum[20];
	const struct wse_st_meta *want;

	if (asprintf(&key, "sum.%s", t->name) < 0)
		return wse_fail(-ENOMEM, "no memory for its header");
	want = bsearch(&(struct wse_st_meta){.key = key}, meta, n, sizeof(*meta), by_key);
	free(key);
	if (!want && ours)
		return wse_fail(-EBADMSG, "%.64s has no checksum: corrupted", t->name);
	if (!want)
		return 0; /* another program's file */
	snprintf(sum, sizeof(sum), "%016" PRIx64, wse_checksum64(t->data, t->bytes));
	if (strcmp(sum, want->value))
		return wse_fail(-EBADMSG, "the checksum of %.64s does not match: corrupted",
				t->name);
	return 0;
}

static int check_sums(const struct wse_st_file *f)
{
	uint32_t n = f->meta.nmeta;
	struct wse_st_meta *meta = malloc((n + 1ul) * sizeof(*meta));
	int ret = 0;

	if (!meta)
		return wse_fail(-ENOMEM, "no memory for its header");
	if (n)
		memcpy(meta, f->meta.meta, n * sizeof(*meta));
	qsort(meta, n, sizeof(*meta), by_key);
	for (uint32_t i = 0; i < f->nviews && !ret; i++)
		ret = check_sum(&f->views[i], meta, n, is_ours(&f->meta));
	free(meta);
	return ret;
}

static int read_file(const char *path, char **data, size_t *size)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO has no writer */
	struct stat sb;
	size_t at = 0;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb))
		ret = -errno;
	else if (!S_ISREG(sb.st_mode))
		ret = -EINVAL;
	*data = ret ? NULL : malloc((size_t)sb.st_size + 1);
	if (!ret && !*data)
		ret = -ENOMEM;
	while (!ret && at < (size_t)sb.st_size) {
		ssize_t n = read(fd, *data + at, (size_t)sb.st_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			ret = n ? -errno : -EIO;
		else
			at += (size_t)n;
	}
	*size = at;
	close(fd);
	return ret;
}

int wse_st_open(const char *path, struct wse_st_file *f)
{
	int ret;

	memset(f, 0, sizeof(*f));
	ret = read_file(path, &f->bytes, &f->size);
	if (ret)
		wse_fail(ret, "%s", ret == -EINVAL ? "no regular file" : strerror(-ret));
	ret = ret ? ret : parse(f);
	ret = ret ? ret : check_sums(f);
	if (ret)
		wse_st_close(f);
	return ret;
}

void wse_st_close(struct wse_st_file *f)
{
	free(f->bytes);
	free(f->views);
	wse_st_free(&f->meta);
	memset(f, 0, sizeof(*f));
}

/* a matrix or vector of F32, as our own files have them */
static int load(const struct wse_st_view *v, struct wse_st_tensor *t)
{
	if (strcmp(v->dtype, "F32") || v->ndim < 1 || v->ndim > 2 || !v->count)
		return wse_fail(-EBADMSG, "%.64s is no matrix or vector of F32", v->name);
	if (strlen(v->name) >= sizeof(t->name))
		return wse_fail(-EBADMSG, "%.64s... is longer than a name of ours", v->name);
	t->data = malloc(v->bytes);
	if (!t->data)
		return wse_fail(-ENOMEM, "no memory for %s", v->name);
	memcpy(t->data, v->data, v->bytes);
	strcpy(t->name, v->name);
	t->ndim = v->ndim;
	t->dim[0] = v->dim[0];
	t->dim[1] = v->ndim == 2 ? v->dim[1] : 1;
	t->count = v->count;
	return 0;
}

int wse_st_read(const char *path, struct wse_st *st)
{
	struct wse_st_file f;
	int ret = wse_st_open(path, &f);

	memset(st, 0, sizeof(*st));
	if (ret)
		return ret;
	*st = f.meta;
	f.meta = (struct wse_st){0};
	st->tensors = calloc(f.nviews + 1, sizeof(*st->tensors));
	if (!st->tensors)
		ret = wse_fail(-ENOMEM, "no memory for its header");
	for (uint32_t i = 0; i < f.nviews && !ret; i++, st->ntensors++)
		ret = load(&f.views[i], &st->tensors[i]);
	if (ret)
		wse_st_free(st);
	wse_st_close(&f);
	return ret;
}

void wse_st_free(struct wse_st *st)
{
	for (uint32_t i = 0; st->tensors && i < st->ntensors; i++)
		free(st->tensors[i].data);
	free(st->tensors);
	free(st->meta);
	free(st->text);
	memset(st, 0, sizeof(*st));
}

const char *wse_st_get(const struct wse_st *st, const char *key)
{
	for (uint32_t i = 0; i < st->nmeta; i++)
		if (!strcmp(st->meta[i].key, key))
			return st->meta[i].value;
	return NULL;
}

const struct wse_st_tensor *wse_st_find(const struct wse_st *st, const char *name)
{
	for (uint32_t i = 0; i < st->ntensors; i++)
		if (!strcmp(st->tensors[i].name, name))
			return &st->tensors[i];
	return NULL;
}

const struct wse_st_view *wse_st_view(const struct wse_st_file *f, const char *name)
{
	for (uint32_t i = 0; i < f->nviews; i++)
		if (!strcmp(f->views[i].name, name))
			return &f->views[i];
	return NULL;
}
