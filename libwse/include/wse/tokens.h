/* SPDX-License-Identifier: MIT */
/*
 * Tokens: text to numbers below the size of a vocabulary, and back. Byte-level BPE, as GPT-2 and
 * LLaMA 3 have it, and SentencePiece's BPE, as LLaMA 2 has it: any bytes can be encoded, and come
 * back.
 */
#ifndef WSE_WSE_TOKENS_H
#define WSE_WSE_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* libwse.so exports what follows */
#ifdef __cplusplus
extern "C" {
#endif

struct wse_tokenizer;

/*
 * path: tokenizer.json, or a folder that has it, or vocab.json and merges.txt (and perhaps
 * added_tokens.json), or SentencePiece's *.model, or a folder that has it as tokenizer.model. Any
 * number of threads may use what was opened.
 *
 * -EINVAL	a file is broken: its line or name, and what is wrong
 * -ENOTSUP	it is of another kind of tokenizer
 * -ENOENT, ...	a file cannot be read
 */
int wse_tokenizer_open(const char *path, struct wse_tokenizer **t);
int wse_tokenizer_close(struct wse_tokenizer *t);

struct wse_tokenizer_info {
	uint32_t tokens;  /* all numbers from 0 on below it are tokens */
	uint32_t longest; /* bytes of the longest one */
	uint32_t begin;	  /* what a text begins after: <|endoftext|>, <s>, or else a newline */
	uint32_t pad;
	uint64_t sum; /* of all that a token's number depends on: equal for equal tokenizers */
	uint64_t resv[5];
};

int wse_tokenizer_info(const struct wse_tokenizer *t, struct wse_tokenizer_info *info);

/*
 * The tokens of text [n], which may be any bytes; the name of a special token in it is that token,
 * but for SentencePiece, which puts a space before a text. ids [n + 1]: there are as many as bytes
 * at most, and that space. count: how many there are.
 */
int wse_tokenizer_encode(const struct wse_tokenizer *t, const char *text, size_t n, uint32_t *ids,
			 size_t *count);
/*
 * The bytes of ids [n], the tokens of a text from its beginning, without a 0 behind them; text
 * [room], NULL with room 0 to ask for their number, which *count is.
 *
 * -EINVAL	a number is not below the vocabulary's size
 * -ENOSPC	room is too small
 */
int wse_tokenizer_decode(const struct wse_tokenizer *t, const uint32_t *ids, size_t n, char *text,
			 size_t room, size_t *count);

struct wse_tokenize {
	/* after each MiB; total is 0 where it is not known. Not 0: give up. May be NULL */
	int (*progress)(void *ctx, uint64_t done, uint64_t total, uint64_t tokens);
	void *ctx;
	uint64_t resv[4];
};

struct wse_tokenize_result {
	uint64_t bytes, tokens;
	uint32_t width; /* bytes of a token in the file */
	uint32_t pad;
	uint64_t resv[4];
};

/*
 * A text file ("-": standard input) to a file of tokens, with llm.c's header: uint16, or uint32
 * where the vocabulary has more than 65,536. The text may be larger than memory. `to` is the old
 * file or the whole new one, never half of it. how may be NULL.
 *
 * -EINVAL	`from` is no text, `to` does not end in .bin
 * -EINTR	progress gave up
 * -ENOSPC, ...	of the file system
 */
int wse_tokenize_file(const struct wse_tokenizer *t, const char *from, const char *to,
		      const struct wse_tokenize *how, struct wse_tokenize_result *result);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* WSE_WSE_TOKENS_H */
