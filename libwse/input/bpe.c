// SPDX-License-Identifier: MIT
/* A tokenizer: its tables, and what follows from them. */
#define _GNU_SOURCE /* qsort_r */
#include "bpe_tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/sha256.h"
#include "spm.h"

struct wse_bpe_pair *wse_bpe_pair(const struct wse_bpe *b, uint32_t left, uint32_t right)
{
	uint64_t key = (uint64_t)left << 32 | right;
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (b->npairs - 1);

	while (b->pairs[i].rank != WSE_BPE_NONE && b->pairs[i].key != key)
		i = (i + 1) & (b->npairs - 1);
	return &b->pairs[i];
}

uint32_t wse_bpe_word(const struct wse_bpe *b, const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
	uint32_t i;

	for (size_t k = 0; k < n; k++)
		h = (h ^ (unsigned char)p[k]) * 0x100000001b3ull;
	for (i = (uint32_t)(h ^ h >> 32) & (b->nwords - 1); b->word[i] != WSE_BPE_NONE;
	     i = (i + 1) & (b->nwords - 1)) {
		size_t len;
		const char *t = wse_bpe_token(b, b->word[i], &len);

		if (len == n && !memcmp(t, p, n))
			break;
	}
	return i;
}

/* tokens by their bytes; of two that have the same the lower number is meant */
static int index_words(struct wse_bpe *b)
{
	for (b->nwords = 512; b->nwords < 2 * b->n; b->nwords *= 2)
		;
	b->word = malloc(b->nwords * sizeof(*b->word));
	if (!b->word)
		return wse_fail(-ENOMEM, "no memory for %u tokens", b->n);
	memset(b->word, 0xff, b->nwords * sizeof(*b->word));
	for (uint32_t id = 0; id < b->n; id++) {
		size_t len;
		const char *p = wse_bpe_token(b, id, &len);
		uint32_t *place = &b->word[wse_bpe_word(b, p, len)];

		b->longest = len > b->longest ? (uint32_t)len : b->longest;
		if (*place == WSE_BPE_NONE)
			*place = id;
	}
	for (int c = 0; c < 256; c++) {
		char byte = (char)c;

		b->byte_id[c] = b->word[wse_bpe_word(b, &byte, 1)];
		if (b->byte_id[c] == WSE_BPE_NONE)
			return wse_fail(
				-EINVAL,
				"byte %d (0x%02x) has no token: a byte-level vocabulary has "
				"one for each of the 256 bytes",
				c, (unsigned int)c);
	}
	return 0;
}

/* longer ones first: the longest of those that begin at a place is meant */
static int by_length(const void *x, const void *y, void *ctx)
{
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	size_t n, m;

	wse_bpe_token(ctx, i, &n);
	wse_bpe_token(ctx, j, &m);
	return n != m ? (n > m ? -1 : 1) : (i > j) - (i < j);
}

static void index_special(struct wse_bpe *b)
{
	if (b->nspecial)
		qsort_r(b->special, b->nspecial, sizeof(*b->special), by_length, b);
	b->begin_id = b->byte_id['\n'];
	for (uint32_t i = 0; i < b->nspecial; i++) {
		size_t len;
		const char *p = wse_bpe_token(b, b->special[i], &len);

		b->special_begins[(unsigned char)*p] = 1;
		b->longest_special = len > b->longest_special ? (uint32_t)len : b->longest_special;
		if (len == strlen(WSE_BPE_END_OF_TEXT) && !memcmp(p, WSE_BPE_END_OF_TEXT, len))
			b->begin_id = b->special[i];
	}
}

/*
 * \s and \S are Unicode's White_Space, as in the engines for which the expressions were published;
 * PCRE2's \s has U+180E, too. In and outside of classes; to [8 * strlen(from) + 1]
 */
static void mend_spaces(const char *from, char *to)
{
	for (; *from; from++) {
		if (from[0] != '\\' || !from[1]) {
			*to++ = *from;
			continue;
		}
		from++;
		if (*from == 's' || *from == 'S')
			to += sprintf(to, "\\%c{White_Space}", *from == 's' ? 'p' : 'P');
		else
			to += sprintf(to, "\\%c", *from);
	}
	*to = 0;
}

static int compile(struct wse_bpe *b)
{
	char *mended = malloc(8 * strlen(b->pattern) + 1), why[120];
	uint32_t behind = 0;
	PCRE2_SIZE at;
	int err;

	if (!mended)
		return wse_fail(-ENOMEM, "no memory");
	mend_spaces(b->pattern, mended);
	b->code = pcre2_compile((PCRE2_SPTR)mended, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
				&err, &at, NULL);
	free(mended);
	if (!b->code) {
		pcre2_get_error_message(err, (PCRE2_UCHAR *)why, sizeof(why));
		return wse_fail(-EINVAL,
				"the regular expression that splits the text, %.200s, is none for "
				"PCRE2: %s",
				b->pattern, why);
	}
	pcre2_pattern_info(b->code, PCRE2_INFO_MAXLOOKBEHIND, &behind);
	if (behind)
		return wse_fail(
			-ENOTSUP,
			"the regular expression that splits the text, %.200s, looks behind: "
			"a text is read in pieces, and only what looks ahead is possible",
			b->pattern);
	/* without a compiler at run time (hardened systems) it is interpreted: slower, the same */
	pcre2_jit_compile(b->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
	return 0;
}

static void sum(struct wse_bpe *b)
{
	struct wse_sha256 s;
	char hex[65];

	wse_sha256_init(&s);
	for (uint32_t id = 0; id < b->n; id++) {
		size_t len;
		const char *p = wse_bpe_token(b, id, &len);
		uint32_t n = (uint32_t)len;

		wse_sha256_add(&s, &n, sizeof(n));
		wse_sha256_add(&s, p, len);
	}
	wse_sha256_add(&s, &b->nmerges, sizeof(b->nmerges));
	wse_sha256_add(&s, b->left, b->nmerges * sizeof(*b->left));
	wse_sha256_add(&s, b->right, b->nmerges * sizeof(*b->right));
	wse_sha256_add(&s, b->special, b->nspecial * sizeof(*b->special));
	wse_sha256_add(&s, &b->whole_words, sizeof(b->whole_words));
	wse_sha256_add(&s, b->pattern, strlen(b->pattern));
	wse_sha256_hex(&s, hex);
	hex[16] = 0;
	b->sum = strtoull(hex, NULL, 16);
}

int wse_bpe_open(const char *path, struct wse_bpe **out)
{
	struct wse_bpe *b = calloc(1, sizeof(*b));
	char file[PATH_MAX];
	int ret, spm;

	if (!b)
		return wse_fail(-ENOMEM, "no memory");
	spm = wse_spm_find(path, file, sizeof(file));
	ret = spm ? wse_spm_read(file, b) : wse_bpe_read(path, b);
	if (!ret && !spm)
		ret = index_words(b);
	if (!ret && !spm) {
		index_special(b);
		ret = compile(b);
	}
	if (ret) {
		wse_bpe_close(b);
		return wse_fail_in(ret, "tokenizer %.300s: ", path);
	}
	if (!spm)
		sum(b);
	*out = b;
	return 0;
}

void wse_bpe_close(struct wse_bpe *b)
{
	if (!b)
		return;
	free(b->bytes);
	free(b->at);
	free(b->left);
	free(b->right);
	free(b->made);
	free(b->pairs);
	free(b->word);
	free(b->special);
	free(b->pattern);
	wse_spm_free(b->spm);
	pcre2_code_free(b->code);
	free(b);
}

uint32_t wse_bpe_size(const struct wse_bpe *b)
{
	return b->n;
}

uint64_t wse_bpe_sum(const struct wse_bpe *b)
{
	return b->sum;
}

int wse_bpe_prefix(const struct wse_bpe *b)
{
	return b->spm && b->spm->prefix;
}

uint32_t wse_bpe_longest(const struct wse_bpe *b)
{
	return b->longest;
}

uint32_t wse_bpe_begin_id(const struct wse_bpe *b)
{
	return b->begin_id;
}

const char *wse_bpe_token(const struct wse_bpe *b, uint32_t id, size_t *n)
{
	*n = id < b->n ? b->at[id + 1] - b->at[id] : 0;
	return id < b->n ? b->bytes + b->at[id] : "";
}
