/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers: SentencePiece's kind (spm.h), and byte-level BPE, the kind of GPT-2 and LLaMA 3. It
 * turns text into numbers below the size of a vocabulary, and these back into the same bytes:
 *
 *   text -> special tokens, and the text between them -> words, the matches of a regular
 *   expression -> bytes, a token each -> merges: the pair of neighbours that has the lowest rank,
 *   of equal ones the leftmost, becomes one token, until no pair has a rank
 *
 * Text that the expression does not match is a word, too. A byte that is no part of UTF-8 is a word
 * by itself, so decode(encode(x)) = x for any bytes. The name of a special token in a text is that
 * token. No token is put before or behind a text.
 */
#ifndef WSE_INPUT_BPE_H
#define WSE_INPUT_BPE_H

#include <stddef.h>
#include <stdint.h>

struct wse_bpe;

/*
 * path: tokenizer.json, a file *.model of SentencePiece, or a folder with tokenizer.json,
 * tokenizer.model, or vocab.json and merges.txt (and perhaps added_tokens.json). A tokenizer does
 * not change after it was opened: any number of threads may use it.
 *
 * -EINVAL	a file is broken, or of another kind of tokenizer; the sentence says where
 * -ENOENT, ...	a file cannot be read
 */
int wse_bpe_open(const char *path, struct wse_bpe **out);
void wse_bpe_close(struct wse_bpe *b);

uint32_t wse_bpe_size(const struct wse_bpe *b);	/* ids are below it, and all of them are tokens */
/* a checksum of all that a token's number depends on, in whichever files it stands */
uint64_t wse_bpe_sum(const struct wse_bpe *b);
uint32_t wse_bpe_longest(const struct wse_bpe *b);	/* bytes of the longest token */
/* the bytes of a token, which may contain NUL; *n is 0 for an id that is no token */
const char *wse_bpe_token(const struct wse_bpe *b, uint32_t id, size_t *n);
/* 1: wse_bpe_encode() puts a space before a text (SentencePiece) */
int wse_bpe_prefix(const struct wse_bpe *b);
/* the token before a text's first one: <|endoftext|>, SentencePiece's bos, or else a newline */
uint32_t wse_bpe_begin_id(const struct wse_bpe *b);

/* a list of tokens, which grows: all 0 at first; free(id) at the end */
struct wse_tokens {
	uint32_t *id;
	size_t n, room;
};

/* appends the tokens of text [n]. -ENOMEM, -E2BIG: matching was given up; with a sentence */
int wse_bpe_encode(const struct wse_bpe *b, const void *text, size_t n, struct wse_tokens *out);

/*
 * The same for a text that comes in parts, which may be cut anywhere. It takes the memory of a
 * piece and of the longest word. piece: bytes that are matched at a time; 0: 1 MiB. No token
 * depends on it.
 */
struct wse_bpe_stream;
int wse_bpe_stream_open(const struct wse_bpe *b, size_t piece, struct wse_bpe_stream **out);
int wse_bpe_stream_add(struct wse_bpe_stream *s, const void *text, size_t n,
		       struct wse_tokens *out);
int wse_bpe_stream_end(struct wse_bpe_stream *s, struct wse_tokens *out);
void wse_bpe_stream_close(struct wse_bpe_stream *s);

/* bytes of the UTF-8 character at p [n]; 0: there is none; -1: it goes on behind the n bytes */
int wse_utf8_char(const unsigned char *p, size_t n);

#endif
