/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers: SentencePiece's kind (spm.h), and byte-level BPE, as GPT-2 and LLaMA 3 have it: text
 * becomes numbers below the size of a vocabulary, and they become the same bytes again.
 *
 *   text -> special tokens and what lies between them -> words (a regular expression) -> bytes, a
 *   token each -> merges: of all neighbours the pair of the lowest rank, the leftmost of equal
 *   ones,
 *   becomes one token, until none is left
 *
 * Text that no match of the expression covers is a word, too. A byte that is no part of UTF-8 is a
 * word by itself: decode(encode(x)) = x for any bytes. The name of a special token in a text is
 * that token. Nothing is put before or behind a text.
 */
#ifndef WSE_INPUT_BPE_H
#define WSE_INPUT_BPE_H

#include <stddef.h>
#include <stdint.h>

struct wse_bpe;

/*
 * path: tokenizer.json, or a folder that has it, or vocab.json and merges.txt (and perhaps
 * added_tokens.json), or a file *.model of SentencePiece, or a folder that has it as
 * tokenizer.model. What has been opened is not changed: any number of threads may use it.
 *
 * -EINVAL	a file is broken, or of another kind of tokenizer: which line or name, what to do
 * -ENOENT, ...	a file cannot be read
 */
int wse_bpe_open(const char *path, struct wse_bpe **out);
void wse_bpe_close(struct wse_bpe *b);

uint32_t wse_bpe_size(const struct wse_bpe *b);	/* ids are below it, and all of them are tokens */
/* of all that a token's number depends on: equal for equal tokenizers, from whichever files */
uint64_t wse_bpe_sum(const struct wse_bpe *b);
uint32_t wse_bpe_longest(const struct wse_bpe *b);	/* bytes of the longest token */
/* the bytes of a token, which may have NUL; *n is 0 for an id that is none */
const char *wse_bpe_token(const struct wse_bpe *b, uint32_t id, size_t *n);
/* 1: the tokens of a text begin with a space that is not its own (SentencePiece) */
int wse_bpe_prefix(const struct wse_bpe *b);
/* what a text begins after: <|endoftext|>, SentencePiece's bos, or else a newline */
uint32_t wse_bpe_begin_id(const struct wse_bpe *b);

/* tokens that grow; zeros to begin with, free(id) in the end */
struct wse_tokens {
	uint32_t *id;
	size_t n, room;
};

/* appends the tokens of text [n]. -ENOMEM, -E2BIG: matching was given up; with a sentence */
int wse_bpe_encode(const struct wse_bpe *b, const void *text, size_t n, struct wse_tokens *out);

/*
 * The same for a text in parts, however it is cut: memory is that of a piece and of the longest
 * word. piece: bytes that are looked at at a time, which no token depends on; 0: 1 MiB
 */
struct wse_bpe_stream;
int wse_bpe_stream_open(const struct wse_bpe *b, size_t piece, struct wse_bpe_stream **out);
int wse_bpe_stream_add(struct wse_bpe_stream *s, const void *text, size_t n,
		       struct wse_tokens *out);
int wse_bpe_stream_end(struct wse_bpe_stream *s, struct wse_tokens *out);
void wse_bpe_stream_close(struct wse_bpe_stream *s);

/* bytes of the UTF-8 character at p [n]; 0: none is there; -1: it goes on behind n */
int wse_utf8_char(const unsigned char *p, size_t n);

#endif
