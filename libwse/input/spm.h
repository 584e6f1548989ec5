/* SPDX-License-Identifier: MIT */
/*
 * SentencePiece's BPE, as LLaMA 2 and Mistral have it (tokenizer.model): a text is a space and its
 * characters, and of all neighbours that are a piece together those of the best score become one,
 * the leftmost of equal ones, until none is left. A character that is no piece is its bytes. Only
 * models that keep a text as it is are read, so that decode(encode(x)) = x.
 *
 * U+2581, which stands for a space in the file, is three bytes in a text: SentencePiece itself
 * would make a space of it.
 */
#ifndef WSE_INPUT_SPM_H
#define WSE_INPUT_SPM_H

#include "bpe_tables.h"

/* what a piece is, in SentencePiece's numbers */
enum wse_spm_kind {
	WSE_SPM_NORMAL = 1,
	WSE_SPM_UNKNOWN,
	WSE_SPM_CONTROL,
	WSE_SPM_USER, /* one whatever is beside it */
	WSE_SPM_UNUSED,
	WSE_SPM_BYTE,
};

struct wse_spm {
	uint32_t *rank;	     /* [n] of its score: the lower one merges first */
	unsigned char *kind; /* [n] */
	int prefix;	     /* a text begins with a space that is not its own */
	/* may a text be cut behind a newline, in front of a space? Then no piece goes across */
	int cut_line, cut_space;
	size_t longest; /* bytes of the longest piece of text */
	unsigned char user_begins[256];
	uint32_t longest_user;
};

/* is it such a file, or a folder with one? Then file [size] is it */
int wse_spm_find(const char *path, char *file, size_t size);
/* all of b; what was allocated stays for wse_bpe_close(). -EINVAL, -ENOTSUP, ... */
int wse_spm_read(const char *file, struct wse_bpe *b);
void wse_spm_free(struct wse_spm *s);

/* bytes of the piece for users at p [n], the longest; 0: there is none */
size_t wse_spm_user(const struct wse_bpe *b, const unsigned char *p, size_t n);
/* the last place of text [n] at which it may be cut, 0: nowhere */
size_t wse_spm_cut(const struct wse_spm *s, const unsigned char *p, size_t n);

#endif
