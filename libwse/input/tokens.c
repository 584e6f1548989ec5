// SPDX-License-Identifier: MIT
/* Tokenizers as handles, and files of text to files of tokens. */
#include <wse/tokens.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/handle.h"
#include "input/bpe.h"
#include "input/data.h"

#define PIECE (1u << 20) /* bytes that are read at a time */

/*
 * llm.c's header: 256 words of magic, version, tokens; it says of how many bytes they are. Of what
 * it leaves free, three say which tokenizer it was (WSE_DATA_MADE_BY)
 */
#define HEADER 1024
static const uint32_t header16[2] = {20240520, 1}, header32[2] = {20240801, 7};

struct wse_tokenizer {
	struct wse_bpe *bpe;
};

int wse_tokenizer_open(const char *path, struct wse_tokenizer **out)
{
	struct wse_tokenizer *t = calloc(1, sizeof(*t));
	int ret = path ? 0 : wse_fail(-EINVAL, "the path is NULL");

	if (!t)
		return wse_fail(-ENOMEM, "no memory");
	ret = ret ? ret : wse_bpe_open(path, &t->bpe);
	ret = ret ? ret : wse_handle_add(WSE_HANDLE_TOKENIZER, t);
	if (ret) {
		wse_bpe_close(t->bpe);
		free(t);
		return ret;
	}
	*out = t;
	return 0;
}

int wse_tokenizer_close(struct wse_tokenizer *t)
{
	int ret = t ? wse_handle_remove(WSE_HANDLE_TOKENIZER, t) : 0;

	if (t && !ret) {
		wse_bpe_close(t->bpe);
		free(t);
	}
	return ret;
}

int wse_tokenizer_info(const struct wse_tokenizer *t, struct wse_tokenizer_info *info)
{
	int ret = wse_handle_check(WSE_HANDLE_TOKENIZER, t);

	if (ret)
		return ret;
	*info = (struct wse_tokenizer_info){
		.tokens = wse_bpe_size(t->bpe),
		.longest = wse_bpe_longest(t->bpe),
		.begin = wse_bpe_begin_id(t->bpe),
		.sum = wse_bpe_sum(t->bpe),
	};
	return 0;
}

int wse_tokenizer_encode(const struct wse_tokenizer *t, const char *text, size_t n, uint32_t *ids,
			 size_t *count)
{
	struct wse_tokens made = {0};
	int ret = wse_handle_check(WSE_HANDLE_TOKENIZER, t);

	if (!ret && n && (!text || !ids))
		ret = wse_fail(-EINVAL, "the text or the ids are NULL");
	ret = ret ? ret : wse_bpe_encode(t->bpe, text, n, &made);
	if (!ret && made.n)
		memcpy(ids, made.id, made.n * sizeof(*ids));
	if (!ret)
		*count = made.n;
	free(made.id);
	return ret;
}

int wse_tokenizer_decode(const struct wse_tokenizer *t, const uint32_t *ids, size_t n, char *text,
			 size_t room, size_t *count)
{
	size_t at = 0, len;
	int ret = wse_handle_check(WSE_HANDLE_TOKENIZER, t);

	if (!ret && n && !ids)
		ret = wse_fail(-EINVAL, "the ids are NULL");
	for (size_t i = 0; i < n && !ret; i++) {
		const char *p = wse_bpe_token(t->bpe, ids[i], &len);

		if (!i && len && *p == ' ' && wse_bpe_prefix(t->bpe)) { /* not the text's */
			p++;
			if (!--len)
				continue;
		}
		if (!len)
			ret = wse_fail(-EINVAL, "ids[%zu] is %u: the vocabulary has %u tokens", i,
				       ids[i], wse_bpe_size(t->bpe));
		else if (text && len <= room && at <= room - len)
			memcpy(text + at, p, len);
		at += len;
	}
	if (!ret && text && at > room)
		ret = wse_fail(-ENOSPC, "%zu tokens are %zu bytes: the room is %zu", n, at, room);
	if (!ret)
		*count = at;
	return ret;
}

/* ---- files ---- */

struct writing {
	const struct wse_tokenizer *t;
	const char *from, *to;
	char tmp[4096];
	int in, out;
	uint64_t total; /* bytes of the text, 0: not known */
	struct wse_tokens made;
	uint16_t *narrow; /* [narrow_room] the same in two bytes each */
	size_t narrow_room;
	struct wse_tokenize_result done;
};

static int cannot(const char *path, int err)
{
	return wse_fail(-err, "%.400s: %s", path, strerror(err));
}

static int open_text(struct writing *w)
{
	struct stat sb, old;

	if (!strcmp(w->from, "-"))
		w->in = dup(STDIN_FILENO);
	else
		w->in = open(w->from, O_RDONLY | O_CLOEXEC);
	if (w->in < 0 || fstat(w->in, &sb))
		return cannot(w->from, errno);
	if (S_ISDIR(sb.st_mode))
		return wse_fail(
			-EISDIR,
			"%.300s is a directory: pipe its files in, as by find %.100s -type f "
			"| sort | xargs cat | wse-train --tokenize -",
			w->from, w->from);
	if (S_ISREG(sb.st_mode))
		w->total = (uint64_t)sb.st_size;
	if (!stat(w->to, &old) && old.st_dev == sb.st_dev && old.st_ino == sb.st_ino)
		return wse_fail(-EINVAL,
				"%.300s is the text itself: give another file for the tokens",
				w->to);
	return 0;
}

/* no other process writes there, or has just given it the name of a file that is whole */
static int own_tokens(struct writing *w)
{
	struct stat mine, there;

	if ((!flock(w->out, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) && !fstat(w->out, &mine) &&
	    !stat(w->tmp, &there) && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
		return 0;
	return wse_fail(-EBUSY,
			"%.300s: another process is writing it: wait for its end, or give another "
			"file for the tokens",
			w->to);
}

static int open_tokens(struct writing *w)
{
	size_t n = strlen(w->to);
	int ret;

	if (n < 5 || strcmp(w->to + n - 4, ".bin"))
		return wse_fail(-EINVAL,
				"%.300s: a file of tokens has a name that ends in .bin: others are "
				"read as text",
				w->to);
	w->done.width = wse_bpe_size(w->t->bpe) > 65536 ? 4 : 2;
	if ((size_t)snprintf(w->tmp, sizeof(w->tmp), "%s.tmp", w->to) >= sizeof(w->tmp))
		return cannot(w->to, ENAMETOOLONG);
	w->out = open(w->tmp, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	ret = w->out < 0 ? cannot(w->tmp, errno) : own_tokens(w);
	if (ret)
		w->tmp[0] = 0; /* if it is there, it is another's */
	else if (ftruncate(w->out, 0) || lseek(w->out, HEADER, SEEK_SET) < 0)
		ret = cannot(w->tmp, errno);
	return ret;
}

static int narrow(struct writing *w)
{
	size_t n = w->made.n;

	if (n > w->narrow_room) {
		free(w->narrow);
		w->narrow_room = 0;
		w->narrow = malloc(2 * n * sizeof(*w->narrow));
		if (!w->narrow)
			return wse_fail(-ENOMEM, "no memory for %zu tokens", n);
		w->narrow_room = 2 * n;
	}
	for (size_t i = 0; i < n; i++)
		w->narrow[i] = (uint16_t)w->made.id[i];
	return 0;
}

/* what was made so far */
static int write_tokens(struct writing *w)
{
	size_t n = w->made.n * w->done.width;
	const char *p = (const char *)w->made.id;
	int ret = w->done.width == 2 ? narrow(w) : 0;

	if (ret)
		return ret;
	if (w->done.width == 2)
		p = (const char *)w->narrow;
	while (n) {
		ssize_t put = write(w->out, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return cannot(w->tmp, errno);
		p += put;
		n -= (size_t)put;
	}
	w->done.tokens += w->made.n;
	w->made.n = 0;
	return w->done.tokens <= UINT32_MAX
		       ? 0
		       : wse_fail(-EFBIG, "%.300s: more than %u tokens: cut the text", w->to,
				  UINT32_MAX);
}

/* text has no NUL bytes; one in 500 and more is binary data, as for --data */
static int check_text(const struct writing *w, const unsigned char *p, size_t n)
{
	size_t nuls = 0;

	for (size_t i = 0; i < n; i++)
		nuls += !p[i];
	return nuls && nuls >= n / 500
		       ? wse_fail(-EINVAL, "%.300s is binary data (it has NUL bytes), no text",
				  w->from)
		       : 0;
}

static int copy(struct writing *w, struct wse_bpe_stream *s, unsigned char *buf,
		const struct wse_tokenize *how)
{
	int ret = 0;

	for (;;) {
		size_t n = 0;
		ssize_t got = 1;

		while (n < PIECE && got) { /* pipes give less */
			got = read(w->in, buf + n, PIECE - n);
			if (got < 0 && errno == EINTR)
				got = 1;
			else if (got < 0)
				return cannot(w->from, errno);
			else
				n += (size_t)got;
			if (how->progress &&
			    how->progress(how->ctx, w->done.bytes + n, w->total, w->done.tokens))
				return wse_fail(-EINTR,
						"%.300s is as it was: stopped after %llu bytes",
						w->to, (unsigned long long)w->done.bytes);
		}
		if (!n)
			break;
		if (!w->done.bytes)
			ret = check_text(w, buf, n);
		w->done.bytes += n;
		ret = ret ? ret : wse_bpe_stream_add(s, buf, n, &w->made);
		ret = ret ? ret : write_tokens(w);
		if (ret)
			return ret;
	}
	if (!w->done.bytes)
		return wse_fail(-ENODATA, "%.300s: no text in it", w->from);
	ret = wse_bpe_stream_end(s, &w->made);
	return ret ? ret : write_tokens(w);
}

static int finish(struct writing *w)
{
	const uint32_t *kind = w->done.width == 2 ? header16 : header32;
	uint32_t header[HEADER / 4] = {kind[0], kind[1], (uint32_t)w->done.tokens};
	uint64_t sum = wse_bpe_sum(w->t->bpe);
	int ret = 0;

	header[WSE_DATA_MADE_BY] = wse_bpe_size(w->t->bpe);
	memcpy(&header[WSE_DATA_MADE_BY + 1], &sum, sizeof(sum));
	if (pwrite(w->out, header, HEADER, 0) != HEADER || fsync(w->out))
		ret = cannot(w->tmp, errno);
	/* before the lock goes */
	if (!ret && rename(w->tmp, w->to))
		ret = cannot(w->to, errno);
	if (!ret)
		w->tmp[0] = 0;
	return ret;
}

static int write_file(struct writing *w, const struct wse_tokenize *how)
{
	struct wse_bpe_stream *s = NULL;
	unsigned char *buf = malloc(PIECE);
	int ret = buf ? open_text(w) : wse_fail(-ENOMEM, "no memory");

	ret = ret ? ret : open_tokens(w);
	ret = ret ? ret : wse_bpe_stream_open(w->t->bpe, 0, &s);
	ret = ret ? ret : copy(w, s, buf, how);
	ret = ret ? ret : finish(w);
	wse_bpe_stream_close(s);
	free(buf);
	free(w->made.id);
	free(w->narrow);
	if (w->in >= 0)
		close(w->in);
	if (ret && w->tmp[0])
		unlink(w->tmp);
	if (w->out >= 0)
		close(w->out);
	return ret;
}

int wse_tokenize_file(const struct wse_tokenizer *t, const char *from, const char *to,
		      const struct wse_tokenize *how, struct wse_tokenize_result *result)
{
	static const struct wse_tokenize none;
	struct writing *w = calloc(1, sizeof(*w));
	int ret = wse_handle_check(WSE_HANDLE_TOKENIZER, t);

	if (!w)
		return wse_fail(-ENOMEM, "no memory");
	if (!ret && (!from || !to))
		ret = wse_fail(-EINVAL, "a path is NULL");
	w->t = t;
	w->from = from;
	w->to = to;
	w->in = w->out = -1;
	ret = ret ? ret : write_file(w, how ? how : &none);
	if (!ret && result)
		*result = w->done;
	free(w);
	return ret;
}
