// SPDX-License-Identifier: MIT
/* Strict safetensors reader. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "num/num.h"
#include "safetensors.h"
#include "st_header.h"
#include "st_index.h"

#define HEADER_MAX 100000000u /* as the format's own library */

/* ---- bytes ---- */

static int read_at(int fd, uint64_t at, size_t bytes, void *to)
{
	char *p = to;

	while (bytes) {
		ssize_t n = pread(fd, p, bytes < 1u << 30 ? bytes : 1u << 30, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wse_fail(-errno, "%s", strerror(errno));
		if (!n)
			return wse_fail(-EIO, "cut short while it was read, at byte %" PRIu64, at);
		p += n;
		at += (size_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

int wse_st_pread(const struct wse_st_view *v, uint64_t from, size_t bytes, void *to)
{
	if (from > v->bytes || bytes > v->bytes - from)
		return wse_fail(-EINVAL, "%.64s has no such bytes", v->name);
	return read_at(v->fd, v->at + from, bytes, to);
}

/* a whole tensor through buffer [piece]; an empty one is a piece, too */
static int go_through(const struct wse_st_view *v, char *buffer, size_t piece, wse_st_each each,
		      void *ctx, uint64_t *sum)
{
	struct wse_sum64 s;
	uint64_t at = 0;
	int ret = 0;

	wse_sum64_begin(&s);
	do {
		size_t n = v->bytes - at < piece ? (size_t)(v->bytes - at) : piece;

		ret = read_at(v->fd, v->at + at, n, buffer);
		if (!ret)
			wse_sum64_add(&s, buffer, n);
		if (!ret && each)
			ret = each(ctx, v, at, buffer, n);
		at += n;
	} while (at < v->bytes && !ret);
	*sum = wse_sum64_end(&s);
	return ret;
}

int wse_st_walk(const struct wse_st_view *v, size_t piece, wse_st_each each, void *ctx)
{
	char *buffer = malloc(piece < v->bytes ? piece : v->bytes + 1);
	uint64_t sum;
	int ret;

	if (!buffer)
		return wse_fail(-ENOMEM, "no memory for %zu bytes of it", piece);
	ret = go_through(v, buffer, piece, each, ctx, &sum);
	free(buffer);
	if (!ret && sum != v->sum)
		return wse_fail(-ESTALE, "%.64s changed while it was read", v->name);
	return ret;
}

/* ---- checksums ---- */

/* a file of ours: only the writer makes these keys */
static int is_ours(const struct wse_st_file *f)
{
	for (uint32_t i = 0; i < f->nmeta; i++)
		if (!strncmp(f->meta[i].key, "wse.", 4) || !strncmp(f->meta[i].key, "sum.", 4))
			return 1;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct wse_st_meta *)a)->key, ((const struct wse_st_meta *)b)->key);
}

/* what the file says of this tensor's sum, NULL: nothing; meta [n] is sorted */
static int sum_of(const struct wse_st_view *v, const struct wse_st_meta *meta, uint32_t n,
		  const char **sum)
{
	const struct wse_st_meta *m;
	char *key;

	if (asprintf(&key, "sum.%s", v->name) < 0)
		return wse_fail(-ENOMEM, "no memory for its header");
	m = bsearch(&(struct wse_st_meta){.key = key}, meta, n, sizeof(*meta), by_key);
	free(key);
	*sum = m ? m->value : NULL;
	return 0;
}

static int check_sum(struct wse_st_view *v, const char *want, char *buffer, wse_st_each each,
		     void *ctx)
{
	char sum[20];
	int ret = go_through(v, buffer, WSE_ST_PIECE, each, ctx, &v->sum);

	snprintf(sum, sizeof(sum), "%016" PRIx64, v->sum);
	if (!ret && want && strcmp(sum, want))
		return wse_fail(-EBADMSG, "the checksum of %.64s does not match: corrupted",
				v->name);
	return ret;
}

/* views [n] of one file, whose metadata are those of f */
static int check_views(const struct wse_st_file *f, struct wse_st_view *views, uint32_t n,
		       wse_st_each each, void *ctx)
{
	struct wse_st_meta *meta = malloc((f->nmeta + 1ul) * sizeof(*meta));
	uint64_t largest = 1;
	char *buffer;
	int ours = is_ours(f), ret = 0;

	for (uint32_t i = 0; i < n; i++)
		largest = views[i].bytes > largest ? views[i].bytes : largest;
	buffer = malloc(largest < WSE_ST_PIECE ? largest : WSE_ST_PIECE);
	if (!meta || !buffer)
		ret = wse_fail(-ENOMEM, "no memory to read it");
	else if (f->nmeta)
		memcpy(meta, f->meta, f->nmeta * sizeof(*meta));
	if (!ret)
		qsort(meta, f->nmeta, sizeof(*meta), by_key);
	for (uint32_t i = 0; i < n && !ret; i++) {
		const char *want = NULL;

		ret = sum_of(&views[i], meta, f->nmeta, &want);
		if (!ret && !want && ours)
			ret = wse_fail(-EBADMSG, "%.64s has no checksum: corrupted", views[i].name);
		ret = ret ? ret : check_sum(&views[i], want, buffer, each, ctx);
	}
	free(buffer);
	free(meta);
	return ret;
}

int wse_st_check(struct wse_st_file *f, wse_st_each each, void *ctx)
{
	uint32_t at = 0;
	int ret = 0;

	if (!f->nshards)
		return check_views(f, f->views, f->nviews, each, ctx);
	for (uint32_t i = 0; i < f->nshards && !ret; at += f->shards[i++].nviews)
		ret = check_views(&f->shards[i], f->views + at, f->shards[i].nviews, each, ctx);
	return ret;
}

/* at: where its digits are in the header, -1: there are none */
static int check_seal(const struct wse_st_file *f, const char *header, uint64_t len, int64_t at)
{
	char hex[WSE_ST_SEAL_LEN + 1];

	if (at < 0)
		return is_ours(f) ? wse_fail(-EBADMSG,
					     "its header has no checksum (" WSE_ST_SEAL
					     "): corrupted, or of a release before there was one")
				  : 0;
	wse_st_seal(header, len, (size_t)at, hex);
	if (memcmp(hex, header + at, WSE_ST_SEAL_LEN))
		return wse_fail(-EBADMSG, "the checksum of the header does not match: corrupted");
	return 0;
}

/* ---- opening ---- */

static int by_view(const void *a, const void *b)
{
	return strcmp((*(const struct wse_st_view *const *)a)->name,
		      (*(const struct wse_st_view *const *)b)->name);
}

int wse_st_index_views(struct wse_st_file *f)
{
	f->by_name = calloc(f->nviews + 1ul, sizeof(*f->by_name));
	if (!f->by_name)
		return wse_fail(-ENOMEM, "no memory for its header");
	for (uint32_t i = 0; i < f->nviews; i++)
		f->by_name[i] = &f->views[i];
	qsort(f->by_name, f->nviews, sizeof(*f->by_name), by_view);
	return 0;
}

/* names are decoded in f->text, and the seal is of what was there: header [len] */
static int parse(struct wse_st_file *f, const char *header, uint64_t len, uint64_t size)
{
	int64_t seal;
	int ret;

	memcpy(f->text, header, len);
	ret = wse_st_header(f->text, len, 8 + len, size - 8 - len, f, &seal);
	ret = ret ? ret : check_seal(f, header, len, seal);
	for (uint32_t i = 0; i < f->nviews; i++)
		f->views[i].fd = f->fd;
	return ret ? ret : wse_st_index_views(f);
}

static int read_header(struct wse_st_file *f, uint64_t size)
{
	char *header = NULL;
	uint64_t len;
	int ret;

	if (size < 8)
		return wse_fail(-EBADMSG,
				"cut short: %" PRIu64 " bytes are too few for a safetensors file",
				size);
	ret = read_at(f->fd, 0, sizeof(len), &len);
	if (ret)
		return ret;
	if (len > size - 8 || len > HEADER_MAX)
		return wse_fail(-EBADMSG,
				"the header of %" PRIu64 " bytes does not fit into "
				"the file: cut short, or no safetensors file",
				len);
	header = malloc(len + 1);
	f->text = malloc(len + 1);
	ret = header && f->text ? read_at(f->fd, 8, len, header)
				: wse_fail(-ENOMEM, "no memory for its header");
	ret = ret ? ret : parse(f, header, len, size);
	free(header);
	return ret;
}

int wse_st_open_one(const char *path, struct wse_st_file *f)
{
	struct stat sb;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO has no writer */
	if (f->fd < 0 || fstat(f->fd, &sb))
		ret = wse_fail(-errno, "%s", strerror(errno));
	else if (!S_ISREG(sb.st_mode))
		ret = wse_fail(-EINVAL, "no regular file");
	ret = ret ? ret : read_header(f, (uint64_t)sb.st_size);
	if (ret)
		wse_st_close(f);
	return ret;
}

/* the file in a directory that says what the model is; to [size] */
static int in_directory(const char *path, char *to, size_t size)
{
	static const char *const names[] = {WSE_ST_INDEX, "model.safetensors"};

	for (int i = 0; i < 2; i++)
		if ((size_t)snprintf(to, size, "%s/%s", path, names[i]) < size && !access(to, F_OK))
			return 0;
	return wse_fail(-EINVAL, "a directory without " WSE_ST_INDEX " and model.safetensors: "
				 "give a file");
}

int wse_st_open(const char *path, struct wse_st_file *f)
{
	char inside[4096];
	struct stat sb;
	size_t n;
	int ret = 0;

	memset(f, 0, sizeof(*f));
	f->fd = -1;
	if (!stat(path, &sb) && S_ISDIR(sb.st_mode)) {
		ret = in_directory(path, inside, sizeof(inside));
		path = inside;
	}
	n = strlen(path);
	if (!ret && n > 5 && !strcmp(path + n - 5, ".json"))
		ret = wse_st_open_index(path, f);
	else if (!ret)
		ret = wse_st_open_one(path, f);
	if (ret)
		wse_st_close(f);
	return ret;
}

void wse_st_close(struct wse_st_file *f)
{
	for (uint32_t i = 0; i < f->nshards; i++)
		wse_st_close(&f->shards[i]);
	free(f->shards);
	free(f->views);
	free(f->by_name);
	free(f->meta);
	free(f->text);
	if (f->fd >= 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

const struct wse_st_view *wse_st_view(const struct wse_st_file *f, const char *name)
{
	const struct wse_st_view key = {.name = name}, *k = &key, **at;

	at = bsearch(&k, f->by_name, f->nviews, sizeof(*f->by_name), by_view);
	return at ? *at : NULL;
}
