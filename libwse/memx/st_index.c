// SPDX-License-Identifier: MIT
/* Reads the index of a model in several files, and holds the files to it. */
#include "memx/st_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "memx/st_json.h"

#define INDEX_MAX 100000000 /* bytes, as of a header */
#define FILES_MAX 10000
#define NAME	  256

struct entry {
	const char *tensor, *file;
};

struct index {
	char *text;
	struct entry *e; /* [n], in the order of the tensors' names */
	uint32_t n, room;
	const char **file; /* [nfiles] each name once, in order */
	uint32_t nfiles;
	int totals;	/* how often it says total_size, the bytes of all its tensors */
	uint64_t total; /* what it says */
};

/* ---- the text ---- */

static void weight_map(struct st_json *j, struct index *ix)
{
	st_json_expect(j, '{');
	if (st_json_next(j, '}'))
		return;
	do {
		struct entry e = {.tensor = st_json_string(j)};

		st_json_expect(j, ':');
		e.file = st_json_string(j);
		if (!j->ret && ix->n == ix->room) {
			uint32_t room = 2 * ix->room + 64;
			struct entry *p = realloc(ix->e, room * sizeof(*p));

			if (!p) {
				ST_JSON_FAULT(j, -ENOMEM, "no memory for the index");
				return;
			}
			ix->e = p;
			ix->room = room;
		}
		if (!j->ret)
			ix->e[ix->n++] = e;
	} while (!j->ret && st_json_next(j, ','));
	st_json_expect(j, '}');
}

/* of an object that says more the total_size alone; what is no object says nothing */
static void metadata(struct st_json *j, struct index *ix)
{
	if (!st_json_next(j, '{')) {
		st_json_skip(j);
		return;
	}
	if (st_json_next(j, '}'))
		return;
	do {
		const char *key = st_json_string(j);

		st_json_expect(j, ':');
		if (j->ret || strcmp(key, "total_size"))
			st_json_skip(j);
		else if (ix->totals++)
			ST_JSON_FAULT(j, -EBADMSG, "total_size is in the index twice");
		else
			ix->total = st_json_whole(j);
	} while (!j->ret && st_json_next(j, ','));
	st_json_expect(j, '}');
}

/* text [len], and a 0 behind it */
static int parse(char *text, size_t len, struct index *ix)
{
	struct st_json j = {text, text, text + len, "index", 0, 0};
	int maps = 0;

	st_json_expect(&j, '{');
	do {
		const char *key = st_json_string(&j);

		st_json_expect(&j, ':');
		if (!j.ret && !strcmp(key, "metadata"))
			metadata(&j, ix);
		else if (j.ret || strcmp(key, "weight_map"))
			st_json_skip(&j);
		else if (maps++)
			ST_JSON_FAULT(&j, -EBADMSG, "weight_map is in the index twice");
		else
			weight_map(&j, ix);
	} while (!j.ret && st_json_next(&j, ','));
	st_json_expect(&j, '}');
	st_json_end(&j);
	if (!j.ret && !ix->n)
		ST_JSON_FAULT(&j, -EBADMSG,
			      "the index has no weight_map, or an empty one: no index of "
			      "safetensors files");
	return j.ret;
}

static int read_text(const char *path, struct index *ix, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret = 0;
	struct stat sb;
	ssize_t n = 1;

	*len = 0;
	if (fd < 0 || fstat(fd, &sb)) {
		ret = wse_fail(-errno, "%s", strerror(errno));
	} else if (!S_ISREG(sb.st_mode) || sb.st_size > INDEX_MAX) {
		ret = wse_fail(-EINVAL, "no regular file, or one above %d MB", INDEX_MAX / 1000000);
	} else {
		ix->text = malloc((size_t)sb.st_size + 1);
		if (!ix->text)
			ret = wse_fail(-ENOMEM, "no memory for the index");
	}
	while (!ret && n > 0 && *len < (size_t)sb.st_size) {
		n = read(fd, ix->text + *len, (size_t)sb.st_size - *len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			ret = wse_fail(-errno, "%s", strerror(errno));
		else
			*len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (!ret)
		ix->text[*len] = 0;
	return ret;
}

/* ---- what holds for its names ---- */

static int by_tensor(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->tensor, ((const struct entry *)b)->tensor);
}

static int by_file(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* a file beside the index, and no other one: the index may be of anyone */
static int check_name(const char *name)
{
	if (*name && *name != '.' && !strchr(name, '/') && strlen(name) < NAME)
		return 0;
	return wse_fail(-EBADMSG,
			"the index names the file \"%.80s\": a name of a file beside it, without "
			"\"/\" and not beginning with a dot, is wanted",
			name);
}

static int list_files(struct index *ix)
{
	int ret = 0;

	qsort(ix->e, ix->n, sizeof(*ix->e), by_tensor);
	ix->file = calloc(ix->n, sizeof(*ix->file));
	if (!ix->file)
		return wse_fail(-ENOMEM, "no memory for the index");
	for (uint32_t i = 0; i < ix->n && !ret; i++) {
		if (i && !strcmp(ix->e[i].tensor, ix->e[i - 1].tensor))
			ret = wse_fail(-EBADMSG, "%.64s is in the index twice", ix->e[i].tensor);
		ret = ret ? ret : check_name(ix->e[i].file);
		ix->file[i] = ix->e[i].file;
	}
	if (ret)
		return ret;
	qsort(ix->file, ix->n, sizeof(*ix->file), by_file);
	for (uint32_t i = 0; i < ix->n; i++)
		if (!ix->nfiles || strcmp(ix->file[i], ix->file[ix->nfiles - 1]))
			ix->file[ix->nfiles++] = ix->file[i];
	if (ix->nfiles > FILES_MAX)
		return wse_fail(-EBADMSG, "the index names %u files: at most %d are read",
				ix->nfiles, FILES_MAX);
	return 0;
}

/* ---- the files ---- */

static int check_shard(const struct index *ix, const struct wse_st_file *shard, const char *name)
{
	for (uint32_t i = 0; i < ix->n; i++)
		if (!strcmp(ix->e[i].file, name) && !wse_st_view(shard, ix->e[i].tensor))
			return wse_fail(-EBADMSG,
					"it does not hold %.64s, as the index says: one of them is "
					"of another model",
					ix->e[i].tensor);
	for (uint32_t i = 0; i < shard->nviews; i++) {
		const struct entry key = {.tensor = shard->views[i].name}, *e;

		e = bsearch(&key, ix->e, ix->n, sizeof(*ix->e), by_tensor);
		if (!e || strcmp(e->file, name))
			return wse_fail(-EBADMSG,
					"it holds %.64s, which the index %s%.80s: one of them is "
					"of another model",
					key.tensor, e ? "has in " : "does not know",
					e ? e->file : "");
	}
	return 0;
}

static int open_shards(const char *path, const struct index *ix, struct wse_st_file *f)
{
	const char *slash = strrchr(path, '/');
	char name[4096];
	int ret = 0;

	f->shards = calloc(ix->nfiles, sizeof(*f->shards));
	if (!f->shards)
		return wse_fail(-ENOMEM, "no memory for the index");
	for (uint32_t i = 0; i < ix->nfiles; i++) {
		if ((size_t)snprintf(name, sizeof(name), "%.*s%s",
				     slash ? (int)(slash - path) + 1 : 0, path,
				     ix->file[i]) >= sizeof(name))
			return wse_fail(-ENAMETOOLONG, "the path of its files is too long");
		ret = wse_st_open_one(name, &f->shards[i]);
		if (ret == -ENOENT)
			wse_fail(ret, "it is missing: a model's files belong into one folder");
		if (ret)
			return wse_fail_in(ret, "shard %.100s: ", ix->file[i]);
		f->nviews += f->shards[f->nshards++].nviews;
	}
	for (uint32_t i = 0; i < ix->nfiles && !ret; i++) {
		ret = check_shard(ix, &f->shards[i], ix->file[i]);
		if (ret)
			wse_fail_in(ret, "shard %.100s: ", ix->file[i]);
	}
	return ret;
}

static int check_total(const struct index *ix, const struct wse_st_file *f)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < f->nshards; i++)
		for (uint32_t k = 0; k < f->shards[i].nviews; k++)
			bytes += f->shards[i].views[k].bytes;
	if (!ix->totals || ix->total == bytes)
		return 0;
	return wse_fail(-EBADMSG,
			"the index says total_size %llu, but the tensors of its files have %llu "
			"bytes: take index and files of one model",
			(unsigned long long)ix->total, (unsigned long long)bytes);
}

static int is_of_file(const char *key)
{
	return !strncmp(key, "sum.", 4) || !strcmp(key, "header.sha256");
}

/* what a says, but of its own bytes, b says, too */
static int says_all(const struct wse_st_file *a, const struct wse_st_file *b)
{
	for (uint32_t i = 0; i < a->nmeta; i++) {
		const char *there = wse_st_get(b->meta, b->nmeta, a->meta[i].key);

		if (!is_of_file(a->meta[i].key) && (!there || strcmp(there, a->meta[i].value)))
			return 0;
	}
	return 1;
}

/* files of a checkpoint say which it is, each the same: of two runs, or steps, they are none */
static int take_meta(const struct index *ix, struct wse_st_file *f)
{
	int own = 0;

	for (uint32_t i = 0; i < f->nshards; i++)
		own |= wse_st_get(f->shards[i].meta, f->shards[i].nmeta, "wse.version") != NULL;
	for (uint32_t i = 1; i < f->nshards && own; i++)
		if (!says_all(&f->shards[0], &f->shards[i]) ||
		    !says_all(&f->shards[i], &f->shards[0]))
			return wse_fail(-EBADMSG,
					"%.100s and %.100s are of two checkpoints: their metadata "
					"differs",
					ix->file[0], ix->file[i]);
	if (!own)
		return 0;
	f->meta = calloc(f->shards[0].nmeta + 1ul, sizeof(*f->meta));
	if (!f->meta)
		return wse_fail(-ENOMEM, "no memory for the index");
	f->nmeta = f->shards[0].nmeta;
	memcpy(f->meta, f->shards[0].meta, f->nmeta * sizeof(*f->meta));
	return 0;
}

static int merge(struct wse_st_file *f)
{
	uint32_t n = 0;

	f->views = calloc(f->nviews + 1ul, sizeof(*f->views));
	if (!f->views)
		return wse_fail(-ENOMEM, "no memory for the index");
	for (uint32_t i = 0; i < f->nshards; i++) {
		memcpy(f->views + n, f->shards[i].views, f->shards[i].nviews * sizeof(*f->views));
		n += f->shards[i].nviews;
	}
	return wse_st_index_views(f);
}

int wse_st_open_index(const char *path, struct wse_st_file *f)
{
	struct index ix = {0};
	size_t len;
	int ret = read_text(path, &ix, &len);

	f->fd = -1;
	ret = ret ? ret : parse(ix.text, len, &ix);
	ret = ret ? ret : list_files(&ix);
	ret = ret ? ret : open_shards(path, &ix, f);
	ret = ret ? ret : check_total(&ix, f);
	ret = ret ? ret : take_meta(&ix, f);
	ret = ret ? ret : merge(f);
	free(ix.text);
	free(ix.e);
	free(ix.file);
	return ret;
}
