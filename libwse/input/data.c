// SPDX-License-Identifier: MIT
/* Token files, cutting out the held-out part, finding samples. */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "num/num.h"
#include "base/error.h"
#include "bpe.h"
#include "hdf5.h"
#include "text.h"

/* tokens whose entropies are taken: four bytes each while they are counted */
#define ENTROPY_MAX ((size_t)1 << 26)

/* llm.c's header: 256 int32 of magic, version, tokens, then the tokens */
enum { LLMC_MAGIC = 20240520, LLMC_MAGIC_32 = 20240801, LLMC_HEADER = 1024 };
enum { LLMC_VERSION = 1, LLMC_VERSION_32 = 7 };

/*
 * Bytes of a token of a token file, and bytes in front of them: llm.c's header, which must fit the
 * file, says both; a file without one has uint32 tokens where the vocabulary does not fit uint16.
 */
static int header_of(const struct wse_text *t, const char *path, uint32_t vocab, size_t *skip,
		     size_t *size)
{
	uint32_t h[3] = {0}, version;

	*skip = 0;
	*size = 2 * wse_token_places(vocab);
	if (t->n < sizeof(h))
		return 0;
	memcpy(h, t->p, sizeof(h));
	if (h[0] != LLMC_MAGIC && h[0] != LLMC_MAGIC_32)
		return 0;
	*size = h[0] == LLMC_MAGIC ? 2 : 4;
	version = h[0] == LLMC_MAGIC ? LLMC_VERSION : LLMC_VERSION_32;
	if (h[1] != version)
		return wse_fail(
			-EINVAL,
			"%.300s: llm.c's header of version %u; of uint%zu tokens %u is read", path,
			h[1], 8 * *size, version);
	if (t->n < LLMC_HEADER || (t->n - LLMC_HEADER) / *size != h[2])
		return wse_fail(-EINVAL, "%.300s: llm.c's header says %u tokens, the file has %zu",
				path, h[2], t->n < LLMC_HEADER ? 0 : (t->n - LLMC_HEADER) / *size);
	*skip = LLMC_HEADER;
	return 0;
}

static uint32_t number(const unsigned char *p, size_t size)
{
	uint16_t two;
	uint32_t four;

	if (size == 1)
		return *p;
	if (size == 2) {
		memcpy(&two, p, 2);
		return two;
	}
	memcpy(&four, p, 4);
	return four;
}

/* the largest of n tokens */
static uint32_t largest(const unsigned char *p, size_t n, size_t size)
{
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t v = number(p + size * i, size);

		most = v > most ? v : most;
	}
	return most;
}

/* -EINVAL: a token is not below vocab */
static int check_tokens(const unsigned char *p, size_t n, size_t size, uint32_t vocab,
			const char *path)
{
	uint32_t most = size == 1   ? largest(p, n, 1)
			: size == 2 ? largest(p, n, 2)
				    : largest(p, n, 4);
	size_t at = 0;

	if (most < vocab || !n)
		return 0;
	while (number(p + size * at, size) < vocab)
		at++;
	wse_fail(-EINVAL, "%.300s: token %u at position %zu is outside the vocabulary of %u", path,
		 number(p + size * at, size), at, vocab);
	if (most < WSE_VOCAB_MAX)
		wse_fail_more(": choose vocab_size %u", most + 1);
	return -EINVAL;
}

/*
 * bytes, uint16 or uint32 -> tokens, each below vocab. A file of tokens that are as wide as in
 * memory stays mapped: then it is *map, and *tok lies in it
 */
static int to_tokens(struct wse_text *t, const char *path, uint32_t vocab, int words,
		     uint16_t **tok, size_t *ntok, struct wse_data_map *map)
{
	size_t skip = 0, size = 1, n;
	int ret = words ? header_of(t, path, vocab, &skip, &size) : 0;

	if (ret)
		return ret;
	if ((t->n - skip) % size)
		return wse_fail(-EINVAL, "%.300s: %zu bytes are no whole number of uint%zu tokens",
				path, t->n - skip, 8 * size);
	n = (t->n - skip) / size;
	ret = check_tokens(t->p + skip, n, size, vocab, path);
	if (ret)
		return ret;
	if (t->mapped && size == 2ul * wse_token_places(vocab)) {
		*map = (struct wse_data_map){t->p, t->n};
		*tok = (uint16_t *)(void *)(t->p + skip);
		*ntok = n;
		t->n = 0; /* it is no longer ours */
		return 0;
	}
	if (n > WSE_TEXT_MAX)
		return wse_text_too_much(path);
	*tok = malloc((n + 1) * wse_token_places(vocab) * sizeof(**tok));
	if (!*tok)
		return wse_fail(-ENOMEM, "%.300s: no memory for %zu tokens", path, n);
	*ntok = n;
	for (size_t i = 0; i < n; i++)
		wse_token_put(*tok, i, vocab, number(t->p + skip + size * i, size));
	return 0;
}

/* text -> the tokenizer's tokens, all of which the vocabulary has */
static int encode(const struct wse_data_cfg *cfg, struct wse_text *t, const char *path,
		  uint16_t **tok, size_t *ntok)
{
	struct wse_tokens made = {0};
	int ret = wse_bpe_encode(cfg->bpe, t->p, t->n, &made);

	*tok = ret ? NULL : malloc((made.n + 1) * wse_token_places(cfg->vocab) * sizeof(**tok));
	for (size_t i = 0; *tok && i < made.n; i++)
		wse_token_put(*tok, i, cfg->vocab, made.id[i]);
	*ntok = made.n;
	free(made.id);
	if (!ret && !*tok)
		ret = wse_fail(-ENOMEM, "no memory for %zu tokens", *ntok);
	return ret ? wse_fail_in(ret, "%.300s: ", path) : 0;
}

/* a token file whose header says of which tokenizer: it must be this run's */
static int check_maker(const struct wse_bpe *bpe, const struct wse_text *t, const char *path)
{
	uint32_t h[WSE_DATA_MADE_BY + 3];
	uint64_t sum;

	if (t->n < LLMC_HEADER)
		return 0;
	memcpy(h, t->p, sizeof(h));
	memcpy(&sum, h + WSE_DATA_MADE_BY + 1, sizeof(sum));
	if ((h[0] != LLMC_MAGIC && h[0] != LLMC_MAGIC_32) || !h[WSE_DATA_MADE_BY] ||
	    sum == wse_bpe_sum(bpe))
		return 0;
	return wse_fail(
		-EINVAL,
		"%.300s was made by a tokenizer of %u tokens, checksum %016llx; that of this "
		"run has %u, checksum %016llx: take the same, or make the file again",
		path, h[WSE_DATA_MADE_BY], (unsigned long long)sum, wse_bpe_size(bpe),
		(unsigned long long)wse_bpe_sum(bpe));
}

static int load(const struct wse_data_cfg *cfg, const char *path, struct wse_data_text *to)
{
	struct wse_text t = {0};
	struct wse_text_level l = {.path = path};
	int words, tree, ret;

	if (wse_hdf5_is(path))
		return wse_hdf5_load(path, cfg->vocab, cfg->span, &to->tok, &to->mask, &to->ntok);
	if (stat(path, &l.sb))
		return wse_text_is_link(path) ? wse_text_no_target(path, errno)
					      : wse_text_cannot(path, errno);
	tree = S_ISDIR(l.sb.st_mode);
	words = !tree && wse_text_is_tokens(path);
	ret = tree ? wse_text_read_tree(&t, &l) : wse_text_read_file(&t, path, words);
	if (!ret && !tree)
		ret = wse_text_check(&t, path, words);
	if (!ret && !t.n && t.left_out)
		ret = wse_fail(-ENODATA,
			       "%.300s: no text in it: %u files with NUL bytes were left out", path,
			       t.left_out);
	else if (!ret && !t.n)
		ret = wse_fail(-ENODATA, "%.300s: no text in it", path);
	if (!ret && cfg->bpe && words)
		ret = check_maker(cfg->bpe, &t, path);
	if (!ret && cfg->bpe && !words)
		ret = encode(cfg, &t, path, &to->tok, &to->ntok);
	else if (!ret)
		ret = to_tokens(&t, path, cfg->vocab, words, &to->tok, &to->ntok, &to->map);
	wse_text_free(&t);
	return ret;
}

/* -(count / n) log(count / of): what an event adds to an entropy */
static double surprise(uint32_t count, double n, double of)
{
	return -(count / n * wse_log(count / of));
}

/* Pairs are counted token by token: those that come after each, side by side. */
static int entropies(struct wse_data *d)
{
	uint32_t v = d->cfg.vocab, *count = calloc(v, sizeof(*count));
	size_t *end = calloc((size_t)v + 1, sizeof(*end)), i, at = 0;
	size_t ntok = d->t.ntok < ENTROPY_MAX ? d->t.ntok : ENTROPY_MAX;
	uint32_t *after = malloc(ntok * sizeof(*after));
	double n = (double)ntok;

	if (!count || !end || !after) {
		free(count);
		free(end);
		free(after);
		return -ENOMEM;
	}
	for (i = 0; i < ntok; i++)
		count[wse_token(d->t.tok, (ptrdiff_t)i, v)]++;
	for (uint32_t a = 0; a < v; a++) {
		if (count[a])
			d->unigram += surprise(count[a], n, n);
		end[a + 1] = end[a] + count[a];
		count[a] = 0;
	}
	for (i = 1; i < ntok; i++)
		after[end[wse_token(d->t.tok, (ptrdiff_t)i - 1, v)]++] =
			wse_token(d->t.tok, (ptrdiff_t)i, v);
	for (uint32_t a = 0; a < v; a++) {
		size_t begin = at;

		for (; at < end[a]; at++)
			count[after[at]]++;
		for (i = begin; i < at; i++) {
			if (count[after[i]])
				d->bigram += surprise(count[after[i]], n - 1, (double)(at - begin));
			count[after[i]] = 0;
		}
		/* the last token of the text has no successor: its place stays empty */
		at += a == wse_token(d->t.tok, (ptrdiff_t)ntok - 1, v);
	}
	free(count);
	free(end);
	free(after);
	return 0;
}

/*
 * Held-out tokens of a text that is trained on, too: a few in one piece, else in WSE_DATA_CHUNKS.
 * Every part of the text between them has a sample and its window.
 */
static size_t pieces(size_t held)
{
	return !held ? 0 : held < WSE_DATA_CHUNKS ? 1 : WSE_DATA_CHUNKS;
}

static size_t tokens_for(size_t held, size_t w, size_t span)
{
	size_t n = pieces(held);

	return (n ? held / n * n : 0) + (n + 1) * (w + span + 1);
}

/* the fewest held-out tokens, from `held` on, of which each piece has a sample */
static size_t least_held(size_t held, size_t span)
{
	size_t one = held < span ? span : held;

	if (one < WSE_DATA_CHUNKS)
		return one;
	return held < WSE_DATA_CHUNKS * span ? WSE_DATA_CHUNKS * span : held;
}

/* the most for which the text is long enough; 0: none */
static size_t most_held(size_t ntok, size_t w, size_t span)
{
	size_t rest = tokens_for(WSE_DATA_CHUNKS, w, span) - WSE_DATA_CHUNKS;
	size_t held = ntok < rest ? 0 : (ntok - rest) / WSE_DATA_CHUNKS * WSE_DATA_CHUNKS;

	if (held >= WSE_DATA_CHUNKS * span)
		return held;
	for (held = WSE_DATA_CHUNKS - 1; held; held--)
		if (held >= span && tokens_for(held, w, span) <= ntok)
			break;
	return held;
}

static int too_short(const struct wse_data *d, size_t held, size_t w, size_t span)
{
	size_t less = most_held(d->t.ntok, w, span);

	wse_fail(-EINVAL,
		 "%.128s: %zu tokens are too few for %zu held-out ones and samples of %zu: give a "
		 "text of %zu or more",
		 d->cfg.path, d->t.ntok, held, w + span, tokens_for(held, w, span));
	if (less)
		wse_fail_more(", or choose val_dataloader.held_out_bytes %zu", less);
	return -EINVAL;
}

const struct wse_data_val *wse_data_cut_out(const struct wse_data *d)
{
	for (uint32_t i = 0; i < d->cfg.nval; i++)
		if (!d->cfg.val[i].path)
			return &d->cfg.val[i];
	return NULL;
}

/* tokens of it */
static size_t cut_out(const struct wse_data *d)
{
	const struct wse_data_val *v = wse_data_cut_out(d);

	return v ? (size_t)v->held_out : 0;
}

uint64_t wse_data_tokens(const struct wse_data *d, uint64_t samples)
{
	size_t held = cut_out(d), n = pieces(held) + 1;

	if (d->apart)
		return samples * d->stride + (held + d->cfg.span - 1) / d->cfg.span * d->stride;

	return held + n * (d->cfg.window + (samples + n - 1) / n * (d->cfg.span ? d->cfg.span : 1));
}

/* whole samples: those at the end are held out, unless they have files of their own */
static int cut_samples(struct wse_data *d)
{
	uint64_t n = d->t.ntok / d->stride;
	const struct wse_data_val *cut = wse_data_cut_out(d);

	if (cut) {
		uint64_t held = (cut->held_out + d->cfg.span - 1) / d->cfg.span;

		if (held >= n)
			return wse_fail(-EINVAL,
					"%.*s: all of its %llu samples would be held out: choose "
					"val_dataloader.held_out_bytes %u, or give a "
					"val_dataloader.data_dir",
					wse_hdf5_first(d->cfg.path), d->cfg.path,
					(unsigned long long)n, d->cfg.span);
		n -= held;
		d->val[cut - d->cfg.val].begin[0] = n * d->stride + 1;
		d->val[cut - d->cfg.val].samples = held;
	}
	for (uint32_t i = 0; i < d->cfg.nval; i++) {
		struct wse_data_held *v = &d->val[i];

		if (d->cfg.val[i].path) {
			v->begin[0] = 1;
			v->samples = v->t.ntok / d->stride;
		}
		v->n[0] = v->samples;
	}
	d->train_begin[0] = 1;
	d->train_n[0] = d->ntrain = n;
	return 0;
}

/* a held-out text of its own: its samples one behind the other, at most held_out tokens */
static int cut_text(const struct wse_data *d, const struct wse_data_val *cfg,
		    struct wse_data_held *v)
{
	size_t w = d->cfg.window, span = d->stride;

	if (v->t.ntok < w + span)
		return wse_fail(-EINVAL,
				"%.128s: %zu tokens hold no sample of %zu: give a held-out "
				"text of %zu or more",
				cfg->path, v->t.ntok, w + span, w + span);
	v->begin[0] = w;
	v->samples = (v->t.ntok - w) / span;
	if (cfg->held_out && v->samples * span > cfg->held_out)
		v->samples = cfg->held_out / span;
	v->n[0] = v->samples;
	return 0;
}

/* chunks of a text that is trained on, too: [i] lies behind part i of it */
static void cut_parts(struct wse_data *d, size_t chunks, size_t chunk, struct wse_data_held *v)
{
	size_t w = d->cfg.window, span = d->stride, at = 0;
	size_t part = (d->t.ntok - chunk * chunks) / (chunks + 1);

	for (size_t i = 0; i <= chunks; i++) {
		size_t len = i == chunks ? d->t.ntok - at : part;

		d->train_begin[i] = at + w;
		d->train_n[i] = (len - w) / span;
		d->ntrain += d->train_n[i];
		at += len;
		if (i < chunks) {
			v->begin[i] = at;
			v->n[i] = chunk / span;
			v->samples += v->n[i];
			at += chunk;
		}
	}
}

int wse_data_cut(struct wse_data *d)
{
	const struct wse_data_val *cut = wse_data_cut_out(d);
	size_t held = cut_out(d), w = d->cfg.window, span = d->stride;
	size_t chunks = pieces(held), chunk;
	int ret = 0;

	if (d->apart)
		return cut_samples(d);
	chunk = chunks ? held / chunks : 0;
	if (chunks && chunk < span)
		return wse_fail(
			-EINVAL,
			"val_dataloader.held_out_bytes %zu: in %zu pieces they hold no sample "
			"of %zu tokens: choose %zu",
			held, chunks, span, least_held(held, span));
	held = chunk * chunks;
	if (d->t.ntok < tokens_for(held, w, span))
		return too_short(d, held, w, span);
	cut_parts(d, chunks, chunk, cut ? &d->val[cut - d->cfg.val] : NULL);
	for (uint32_t i = 0; i < d->cfg.nval && !ret; i++)
		if (d->cfg.val[i].path)
			ret = cut_text(d, &d->cfg.val[i], &d->val[i]);
	return ret;
}

static uint64_t sum_of(const struct wse_data *d, const struct wse_data_text *t)
{
	uint64_t sum =
		wse_checksum64(t->tok, t->ntok * wse_token_places(d->cfg.vocab) * sizeof(*t->tok));

	return t->mask ? sum + 3 * wse_checksum64(t->mask, t->ntok) : sum;
}

/*
 * samples of HDF5 files are a sequence each: for models that take one token before the first target
 */
static int check_kinds(const struct wse_data *d)
{
	const struct wse_data_cfg *c = &d->cfg;

	for (uint32_t i = 0; i < c->nval; i++)
		if (c->val[i].path && wse_hdf5_is(c->val[i].path) != d->apart)
			return wse_fail(
				-EINVAL,
				"%.*s and %.*s: text to train on and held-out text are both of "
				"HDF5 files, or neither is",
				wse_hdf5_first(c->path), c->path, wse_hdf5_first(c->val[i].path),
				c->val[i].path);
	if (d->apart && c->window != 1)
		return wse_fail(-EINVAL,
				"%.*s: samples of HDF5 files are for GPTs; the model is none",
				wse_hdf5_first(c->path), c->path);
	return 0;
}

/* the place of token n */
static const uint16_t *token_at(const struct wse_data *d, const uint16_t *tok, size_t n)
{
	return tok + n * wse_token_places(d->cfg.vocab);
}

int wse_data_read(const struct wse_data_cfg *cfg, struct wse_data *d)
{
	int ret;

	memset(d, 0, sizeof(*d));
	d->cfg = *cfg;
	d->stride = cfg->span ? cfg->span : 1;
	d->apart = wse_hdf5_is(cfg->path);
	ret = check_kinds(d);
	ret = ret ? ret : load(cfg, cfg->path, &d->t);
	for (uint32_t i = 0; i < cfg->nval && !ret; i++)
		if (cfg->val[i].path)
			ret = load(cfg, cfg->val[i].path, &d->val[i].t);
	if (d->apart)
		d->stride = cfg->span + 1ul;
	if (!ret)
		ret = entropies(d);
	if (ret) {
		wse_data_close(d);
		return ret;
	}
	d->t.sum = sum_of(d, &d->t);
	for (uint32_t i = 0; i < cfg->nval; i++) {
		if (cfg->val[i].path)
			d->val[i].t.sum = sum_of(d, &d->val[i].t);
		else
			d->val[i].t = d->t;
	}
	return 0;
}

int wse_data_open(const struct wse_data_cfg *cfg, struct wse_data *d)
{
	int ret = wse_data_read(cfg, d);

	if (ret)
		return ret;
	ret = wse_data_cut(d);
	if (ret)
		wse_data_close(d);
	return ret;
}

static void text_free(const struct wse_data_text *t)
{
	if (t->map.p)
		munmap(t->map.p, t->map.n);
	else
		free(t->tok);
	free(t->mask);
}

void wse_data_close(struct wse_data *d)
{
	for (uint32_t i = 0; i < d->cfg.nval; i++)
		if (d->cfg.val[i].path)
			text_free(&d->val[i].t);
	text_free(&d->t);
	memset(d, 0, sizeof(*d));
}

const uint16_t *wse_data_train(const struct wse_data *d, uint64_t epoch, uint64_t i)
{
	uint32_t part = 0;

	if (d->cfg.shuffle)
		i = wse_rng_permute(d->cfg.shuffle_seed, epoch, d->ntrain, i);
	while (i >= d->train_n[part])
		i -= d->train_n[part++];
	return token_at(d, d->t.tok, d->train_begin[part] + i * d->stride);
}

const uint16_t *wse_data_held(const struct wse_data *d, uint32_t set, uint64_t i)
{
	const struct wse_data_held *v = &d->val[set];
	uint32_t part = 0;

	while (i >= v->n[part])
		i -= v->n[part++];
	return token_at(d, v->t.tok, v->begin[part] + i * d->stride);
}

static const uint8_t *mask_at(const struct wse_data_text *t, uint32_t places,
			      const uint16_t *sample)
{
	return t->mask && sample >= t->tok && sample < t->tok + t->ntok * places
		       ? t->mask + (sample - t->tok) / places
		       : NULL;
}

const uint8_t *wse_data_mask(const struct wse_data *d, const uint16_t *sample)
{
	uint32_t places = wse_token_places(d->cfg.vocab);
	const uint8_t *mask = mask_at(&d->t, places, sample);

	for (uint32_t i = 0; i < d->cfg.nval && !mask; i++)
		mask = mask_at(&d->val[i].t, places, sample);
	return mask;
}

int wse_data_masked(const struct wse_data *d)
{
	int masked = d->t.mask != NULL;

	for (uint32_t i = 0; i < d->cfg.nval; i++)
		masked |= d->val[i].t.mask != NULL;
	return masked;
}
