// SPDX-License-Identifier: MIT
/* Samples of the Model Zoo's HDF5 files: which files, and what of them is a token and counts. */
#include "hdf5.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "device/device.h"
#include "num/token.h"
#include "wse_release.h"

enum { WHY = 320, AT_ONCE = 64 /* samples */ };

static int is_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".h5") || !strcmp(dot, ".hdf5"));
}

static int wanted(const struct dirent *e)
{
	return e->d_name[0] != '.' && is_name(e->d_name);
}

/* what is no sample, and does not describe them (data_params.json) */
static int other(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return e->d_name[0] != '.' && !is_name(e->d_name) && !(dot && !strcmp(dot, ".json"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not alphasort: no locale */
}

/* entries of a directory for which which() is not 0 */
static int count(const char *path, int (*which)(const struct dirent *e))
{
	struct dirent **list;
	int n = scandir(path, &list, which, by_name);

	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
	return n;
}

static int is_dir(const char *path)
{
	struct stat sb;

	return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

int wse_hdf5_is(const char *path)
{
	if (strchr(path, '\n'))
		return 1;
	return is_dir(path) ? count(path, wanted) > 0 && !count(path, other) : is_name(path);
}

int wse_hdf5_first(const char *path)
{
	size_t n = strcspn(path, "\n");

	return n < 200 ? (int)n : 200;
}

static int open_plugin(struct wse_hdf5_calls *calls)
{
	char path[PATH_MAX];
	wse_hdf5_plugin_fn make;
	void *so;
	int ret;

	if (wse_find_file("WSE_HDF5", "wse-hdf5.so", sizeof(path), path) &&
	    wse_find_file("WSE_HDF5", "../wse-hdf5.so", sizeof(path), path))
		return wse_fail(-ENOENT, "the data are HDF5 files, and libwse was built without "
					 "HDF5: install libhdf5-dev and build again");
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return wse_fail(-ENOENT,
				"the data are HDF5 files, and libhdf5 is missing (%.300s): install "
				"libhdf5-103-1, or set WSE_HDF5 to a wse-hdf5.so",
				dlerror());
	*(void **)&make = dlsym(so, WSE_HDF5_PLUGIN);
	ret = make ? make(WSE_RELEASE, calls) : -EPROTONOSUPPORT;
	if (ret)
		wse_fail(ret, "%.300s is of another release than this library (%s)", path,
			 WSE_RELEASE);
	return ret; /* the plug-in stays: others may have what it gave */
}

struct load {
	struct wse_hdf5_calls calls;
	uint32_t vocab, s;
	uint16_t *tok;
	uint8_t *mask;
	size_t n, room; /* samples */
	int masked;	/* some token does not count */
	const char *path;
};

static int grow(struct load *l, size_t n)
{
	size_t tokens, most = SIZE_MAX / sizeof(uint32_t) / (l->s + 1ul);
	uint16_t *tok;
	uint8_t *mask;

	if (n > most - l->n)
		return wse_fail(-ENOMEM, "%.300s: no memory for %zu samples", l->path, n);
	tokens = (l->n + n) * (l->s + 1ul);
	tok = realloc(l->tok, tokens * wse_token_places(l->vocab) * sizeof(*tok));
	if (tok)
		l->tok = tok;
	mask = realloc(l->mask, tokens);
	if (mask)
		l->mask = mask;
	return tok && mask ? 0 : wse_fail(-ENOMEM, "no memory for %zu tokens", tokens);
}

static int bad_token(const struct load *l, uint64_t sample, uint32_t i, const char *what, int64_t v)
{
	wse_fail(-EINVAL, "%.300s: sample %llu: %s %u is token %lld, outside the vocabulary of %u",
		 l->path, (unsigned long long)sample, what, i, (long long)v, l->vocab);
	if (v >= 0 && v < WSE_VOCAB_MAX)
		wse_fail_more(": choose vocab_size %lld or more", (long long)v + 1);
	return -EINVAL;
}

/*
 * one [3][S]: input i + 1 is label i wherever that counts; what does not count is what the next
 * input says, for the model reads it
 */
static int take_sample(struct load *l, const int64_t *row, uint64_t sample)
{
	const int64_t *in = row, *count = row + l->s, *label = row + 2ul * l->s;
	size_t at = l->n * (l->s + 1ul);

	for (uint32_t i = 0; i < l->s; i++) {
		int64_t next = i + 1 < l->s ? in[i + 1] : label[i];

		if (in[i] < 0 || in[i] >= l->vocab)
			return bad_token(l, sample, i, "input", in[i]);
		if (count[i] != 0 && count[i] != 1)
			return wse_fail(-EINVAL, "%.300s: sample %llu: mask %u is %lld, not 0 or 1",
					l->path, (unsigned long long)sample, i,
					(long long)count[i]);
		if (count[i] && (label[i] < 0 || label[i] >= l->vocab))
			return bad_token(l, sample, i, "label", label[i]);
		if (count[i] && next != label[i])
			return wse_fail(-EINVAL,
					"%.300s: sample %llu: label %u is %lld, the next input is "
					"%lld: labels that count must be the next inputs",
					l->path, (unsigned long long)sample, i, (long long)label[i],
					(long long)next);
		if (next < 0 || next >= l->vocab) /* the last, which nothing reads */
			next = 0;
		if (!i)
			wse_token_put(l->tok, at, l->vocab, (uint32_t)in[0]);
		wse_token_put(l->tok, at + i + 1, l->vocab, (uint32_t)next);
		l->mask[at + i + 1] = (uint8_t)count[i];
		l->masked |= !count[i];
	}
	l->mask[at] = 0;
	l->n++;
	return 0;
}

static int load_file(struct load *l, const char *path)
{
	char why[WHY] = "";
	uint64_t n, s;
	int64_t *rows = NULL;
	void *file;
	int ret = l->calls.open(path, &file, &n, &s, why, sizeof(why));

	l->path = path;
	if (ret)
		return wse_fail(ret, "%.300s: %s", path, why[0] ? why : strerror(-ret));
	if (s != l->s)
		ret = wse_fail(-EINVAL,
			       "%.300s: its samples have %llu tokens, the model %u: choose "
			       "train_dataloader.max_sequence_length %llu",
			       path, (unsigned long long)s, l->s, (unsigned long long)s);
	if (!ret && n)
		ret = grow(l, n);
	rows = ret ? NULL : malloc(AT_ONCE * 3ul * l->s * sizeof(*rows));
	if (!ret && !rows)
		ret = wse_fail(-ENOMEM, "%.300s: no memory for %d samples", path, AT_ONCE);
	for (uint64_t at = 0; at < n && !ret; at += AT_ONCE) {
		uint64_t k = n - at < AT_ONCE ? n - at : AT_ONCE;

		ret = l->calls.read(file, at, k, rows, why, sizeof(why));
		if (ret)
			wse_fail(ret, "%.300s: %s", path, why);
		for (uint64_t i = 0; i < k && !ret; i++)
			ret = take_sample(l, rows + i * 3 * l->s, at + i);
	}
	free(rows);
	l->calls.close(file);
	return ret;
}

static int load_path(struct load *l, const char *path)
{
	char sub[PATH_MAX];
	struct dirent **list;
	struct stat sb;
	int n, ret = 0;

	if (stat(path, &sb))
		return wse_fail(-errno, "%.300s: %s", path, strerror(errno));
	if (!is_dir(path))
		return load_file(l, path);
	n = scandir(path, &list, wanted, by_name);
	if (n <= 0)
		return wse_fail(n < 0 ? -errno : -ENODATA, "%.300s: %s", path,
				n < 0 ? strerror(errno) : "no HDF5 files (*.h5) in it");
	for (int i = 0; i < n; i++) {
		if ((size_t)snprintf(sub, sizeof(sub), "%s/%s", path, list[i]->d_name) >=
		    sizeof(sub))
			ret = wse_fail(-ENAMETOOLONG, "%.300s: %s", path, strerror(ENAMETOOLONG));
		ret = ret ? ret : load_file(l, sub);
		free(list[i]);
	}
	free(list);
	return ret;
}

int wse_hdf5_load(const char *path, uint32_t vocab, uint32_t s, uint16_t **tok, uint8_t **mask,
		  size_t *ntok)
{
	struct load l = {.vocab = vocab, .s = s};
	int ret = open_plugin(&l.calls);

	for (const char *p = path; !ret && *p; p += *p == '\n') {
		char one[PATH_MAX];
		size_t n = strcspn(p, "\n");

		snprintf(one, sizeof(one), "%.*s", (int)n, p);
		ret = load_path(&l, one);
		p += n;
	}
	if (!ret && !l.n)
		ret = wse_fail(-ENODATA, "%.*s: no samples in it", wse_hdf5_first(path), path);
	if (ret || !l.masked) {
		free(l.mask);
		l.mask = NULL;
	}
	if (ret) {
		free(l.tok);
		return ret;
	}
	*tok = l.tok;
	*mask = l.mask;
	*ntok = l.n * (s + 1ul);
	return 0;
}
