// SPDX-License-Identifier: MIT
/* Reading text and token files, cutting out the held-out part, finding samples. */
#include "data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num/num.h"
#include "num/why.h"

#define LLMC_MAGIC 20240520 /* llm.c's dataloader: 256 int32, then uint16 tokens */

struct text {
	unsigned char *p;
	size_t n, room;
};

static int read_more(struct text *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (t->room - t->n < 65536) {
			size_t room = t->room * 2 + (1u << 20);
			unsigned char *p = realloc(t->p, room);

			if (!p) {
				ret = -ENOMEM;
				break;
			}
			t->p = p;
			t->room = room;
		}
		n = read(fd, t->p + t->n, t->room - t->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = -errno;
		if (n <= 0)
			break;
		t->n += (size_t)n;
	}
	close(fd);
	return ret;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not alphasort: no locale */
}

/* all text files below path; a file with a NUL byte is none and is left out */
static int read_tree(struct text *t, const char *path, int depth)
{
	struct dirent **list;
	int n, ret = 0;

	if (depth > 32)
		return -ELOOP;
	n = scandir(path, &list, NULL, by_name);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		char sub[4096];
		struct stat sb;
		size_t before = t->n;

		if (!ret && list[i]->d_name[0] != '.' &&
		    (size_t)snprintf(sub, sizeof(sub), "%s/%s", path, list[i]->d_name) <
			    sizeof(sub) &&
		    !lstat(sub, &sb)) {
			if (S_ISDIR(sb.st_mode))
				ret = read_tree(t, sub, depth + 1);
			else if (S_ISREG(sb.st_mode))
				ret = read_more(t, sub);
			if (S_ISREG(sb.st_mode) && t->n > before &&
			    memchr(t->p + before, 0, t->n - before))
				t->n = before;
		}
		free(list[i]);
	}
	free(list);
	return ret;
}

static int is_token_file(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".bin");
}

/* bytes or uint16 -> tokens, each below vocab */
static int to_tokens(const struct text *t, const char *path, uint32_t vocab, int words,
		     uint16_t **tok, size_t *ntok, char *why)
{
	size_t skip = 0, n;
	uint32_t magic = 0;

	if (words && t->n >= 1024) {
		memcpy(&magic, t->p, sizeof(magic));
		skip = magic == LLMC_MAGIC ? 1024 : 0;
	}
	if (words && (t->n - skip) % 2)
		return wse_why(why, -EINVAL, "%s: %zu bytes are no whole number of uint16 tokens",
			       path, t->n - skip);
	n = words ? (t->n - skip) / 2 : t->n;
	*tok = malloc((n + 1) * sizeof(**tok));
	if (!*tok)
		return wse_why(why, -ENOMEM, "%s: no memory for %zu tokens", path, n);
	*ntok = n;
	for (size_t i = 0; i < n; i++) {
		uint16_t v;

		if (words)
			memcpy(&v, t->p + skip + 2 * i, 2);
		else
			v = t->p[i];
		if (v >= vocab)
			return wse_why(why, -EINVAL,
				       "%s: token %u at position %zu is outside the "
				       "vocabulary of %u",
				       path, v, i, vocab);
		(*tok)[i] = v;
	}
	return 0;
}

static int load(const char *path, uint32_t vocab, uint16_t **tok, size_t *ntok, char *why)
{
	struct text t = {0};
	struct stat sb;
	int words, ret = 0;

	if (stat(path, &sb))
		ret = -errno;
	words = !ret && !S_ISDIR(sb.st_mode) && is_token_file(path);
	if (!ret)
		ret = S_ISDIR(sb.st_mode) ? read_tree(&t, path, 0) : read_more(&t, path);
	if (ret)
		wse_why(why, ret, "%.200s: %s", path, strerror(-ret));
	else if (!t.n)
		ret = wse_why(why, -ENODATA, "%.200s: no text in it", path);
	else
		ret = to_tokens(&t, path, vocab, words, tok, ntok, why);
	free(t.p);
	return ret;
}

static int entropies(struct wse_data *d)
{
	uint32_t v = d->cfg.vocab;
	uint32_t *uni = calloc(v, sizeof(*uni)), *bi = NULL;
	double n = (double)d->ntok;

	if (v <= 4096)
		bi = calloc((size_t)v * v, sizeof(*bi));
	if (!uni || (v <= 4096 && !bi)) {
		free(uni);
		free(bi);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->ntok; i++)
		uni[d->tok[i]]++;
	for (size_t i = 1; bi && i < d->ntok; i++)
		bi[(size_t)d->tok[i - 1] * v + d->tok[i]]++;
	for (uint32_t a = 0; a < v; a++) {
		double out = 0.0;

		if (uni[a])
			d->unigram -= uni[a] / n * wse_log(uni[a] / n);
		for (uint32_t b = 0; bi && b < v; b++)
			out += bi[(size_t)a * v + b];
		for (uint32_t b = 0; bi && b < v; b++) {
			double c = bi[(size_t)a * v + b];

			if (c > 0.0)
				d->bigram -= c / (n - 1) * wse_log(c / out);
		}
	}
	free(uni);
	free(bi);
	return 0;
}

/* where training samples may lie, and the held-out ones */
static int cut(struct wse_data *d, char *why)
{
	size_t held = d->val == d->tok ? (size_t)d->cfg.held_out : 0, w = d->cfg.window;
	size_t chunks = held ? WSE_DATA_CHUNKS : 0, chunk, part, at = 0;

	if (held && held < WSE_DATA_CHUNKS)
		chunks = 1;
	chunk = chunks ? held / chunks : 0;
	held = chunk * chunks;
	if (d->ntok < held + (chunks + 1) * (w + 2))
		return wse_why(why, -EINVAL,
			       "%.128s: %zu tokens are too few for %zu held-out ones "
			       "and windows of %zu: %zu are needed; give a longer text, or a "
			       "smaller val_dataloader.held_out_bytes",
			       d->cfg.path, d->ntok, held, w, held + (chunks + 1) * (w + 2));
	part = (d->ntok - held) / (chunks + 1);
	for (size_t i = 0; i <= chunks; i++) {
		size_t len = i == chunks ? d->ntok - at : part;

		d->train_begin[i] = at + w;
		d->train_n[i] = len - w;
		d->ntrain += len - w;
		at += len;
		if (i < chunks) {
			d->held_begin[i] = at;
			d->held_n[i] = chunk;
			d->nheld += chunk;
			at += chunk;
		}
	}
	if (d->val != d->tok) {
		if (d->nval <= w)
			return wse_why(why, -EINVAL,
				       "%.128s: %zu tokens are too few for windows "
				       "of %zu: give a longer held-out text, or a smaller "
				       "model.window",
				       d->cfg.val_path, d->nval, w);
		d->held_begin[0] = w;
		d->nheld = d->nval - w;
		if (d->cfg.held_out && d->nheld > d->cfg.held_out)
			d->nheld = d->cfg.held_out;
		d->held_n[0] = d->nheld;
	}
	return 0;
}

int wse_data_open(const struct wse_data_cfg *cfg, struct wse_data *d, char *why)
{
	int ret;

	memset(d, 0, sizeof(*d));
	why[0] = 0;
	d->cfg = *cfg;
	ret = load(cfg->path, cfg->vocab, &d->tok, &d->ntok, why);
	if (!ret && cfg->val_path) {
		ret = load(cfg->val_path, cfg->vocab, &d->val, &d->nval, why);
	} else {
		d->val = d->tok;
		d->nval = d->ntok;
	}
	if (!ret)
		ret = cut(d, why);
	if (!ret)
		ret = entropies(d);
	if (ret) {
		wse_data_close(d);
		return ret;
	}
	d->sum = wse_checksum64(d->tok, d->ntok * sizeof(*d->tok));
	d->val_sum = d->val == d->tok ? d->sum : wse_checksum64(d->val, d->nval * sizeof(*d->val));
	return 0;
}

void wse_data_close(struct wse_data *d)
{
	if (d->val != d->tok)
		free(d->val);
	free(d->tok);
	memset(d, 0, sizeof(*d));
}

const uint16_t *wse_data_train(const struct wse_data *d, uint64_t epoch, uint64_t i)
{
	uint32_t part = 0;

	if (d->cfg.shuffle)
		i = wse_rng_permute(d->cfg.shuffle_seed, epoch, d->ntrain, i);
	while (i >= d->train_n[part])
		i -= d->train_n[part++];
	return d->tok + d->train_begin[part] + i;
}

const uint16_t *wse_data_held(const struct wse_data *d, uint64_t i)
{
	uint32_t part = 0;

	while (i >= d->held_n[part])
		i -= d->held_n[part++];
	return d->val + d->held_begin[part] + i;
}
