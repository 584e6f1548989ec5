/* SPDX-License-Identifier: MIT */
/* What a tokenizer is; private to bpe*.c. */
#ifndef WSE_INPUT_BPE_TABLES_H
#define WSE_INPUT_BPE_TABLES_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "bpe.h"

#define WSE_BPE_NONE UINT32_MAX
#define WSE_BPE_END_OF_TEXT "<|endoftext|>"

/* two tokens that become one */
struct wse_bpe_pair {
	uint64_t key;	/* left << 32 | right */
	uint32_t rank;	/* WSE_BPE_NONE: an empty place */
};

struct wse_spm;

struct wse_bpe {
	struct wse_spm *spm; /* SentencePiece's kind (spm.h), without merges, special and pattern */
	uint32_t n;	/* tokens */
	char *bytes;	/* of all tokens, one behind the other */
	size_t *at;	/* [n + 1] where each begins in bytes */
	uint32_t longest;
	uint32_t byte_id[256];

	uint32_t nmerges;
	uint32_t *left, *right, *made;	/* [nmerges], by rank */
	struct wse_bpe_pair *pairs;	/* [npairs], a power of two: an open hash table */
	uint32_t npairs;

	/* ignore_merges: a word that is a token stays one */
	int whole_words;
	uint32_t *word;	/* [nwords] ids by their bytes, WSE_BPE_NONE: empty; an open hash table */
	uint32_t nwords;

	uint32_t *special;	/* [nspecial] ids: longer ones first */
	uint32_t nspecial, longest_special;
	unsigned char special_begins[256]; /* a special token begins with this byte */

	char *pattern;	/* as published */
	pcre2_code *code;
	uint32_t begin_id;
	uint64_t sum;
};

/* bpe_files.c fills in tokens, merges, special and pattern; the rest follows from those */
int wse_bpe_read(const char *path, struct wse_bpe *b);

/* where a pair is in the table, or the empty place for it */
struct wse_bpe_pair *wse_bpe_pair(const struct wse_bpe *b, uint32_t left, uint32_t right);
/* the place in word[] of a token with these bytes, or for it */
uint32_t wse_bpe_word(const struct wse_bpe *b, const char *p, size_t n);

#endif
