/* SPDX-License-Identifier: MIT */
/*
 * The text: bytes of a file, or of all text files below a directory in sorted order, or
 * token files (*.bin): uint16 as nanoGPT writes them, uint32 where the vocabulary is above 65536;
 * llm.c's header says which. Token files whose tokens are as wide as those in memory are mapped:
 * they may be larger than it. Bytes of text are tokens, or a tokenizer makes them. A sample is
 * `span` targets,
 * at a multiple of span from where its part of the text begins, and the `window` tokens before the
 * first of them.
 *
 * Or the Model Zoo's HDF5 files (hdf5.h), whose samples are one sequence each and have a loss mask.
 *
 * A symbolic link in a directory is read as what it leads to, sorted by the link's own name; a text
 * that has two names is read twice. One that leads nowhere, or back to a directory in which it
 * lies, is an error. Names that begin with a dot are passed over.
 *
 * Held-out tokens are cut out in 8 evenly spaced chunks; no training sample touches one, neither as
 * target nor as context. Of an epoch's samples the last that make no whole batch are left out
 * (session.c). A sample is found by its number alone, so that the loader's whole state is (shuffle
 * seed, epoch, position).
 */
#ifndef WSE_TRAIN_DATA_H
#define WSE_TRAIN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "num/token.h"

#define WSE_DATA_CHUNKS 8

/*
 * words of a token file's header: tokens of the tokenizer that made it, 0: not said; its sum, two
 */
#define WSE_DATA_MADE_BY 3

struct wse_bpe;

struct wse_data_cfg {
	const char *path;
	const char *val_path;	/* NULL: cut the held-out tokens out of path */
	const struct wse_bpe *bpe;	/* makes tokens of text; NULL: bytes are tokens */
	uint32_t vocab, window, span;
	uint64_t held_out;	/* tokens */
	int shuffle;
	uint64_t shuffle_seed;
};

struct wse_data {
	struct wse_data_cfg cfg;
	uint16_t *tok, *val;	/* by wse_token() (num/token.h); val may be tok */
	/* files of tokens that are as memory has them are mapped: tok and val lie in them */
	struct wse_data_map {
		void *p;
		size_t n; /* bytes */
	} map, val_map;
	/* of each token: does it count as a target? NULL: all do */
	uint8_t *mask, *val_mask;
	int apart;		/* a sample has its tokens for itself: HDF5 files */
	size_t stride;		/* tokens from a sample to the next: span, unless they are apart */
	size_t ntok, nval;
	size_t train_begin[WSE_DATA_CHUNKS + 1], train_n[WSE_DATA_CHUNKS + 1];
	size_t held_begin[WSE_DATA_CHUNKS], held_n[WSE_DATA_CHUNKS];
	uint64_t ntrain, nheld;	/* samples */
	uint64_t sum, val_sum;	/* checksums of tok and val: which text it was */
	/* of the first 2^26 tokens: */
	double unigram, bigram;	/* entropies of the text in nats; bigram: of a token given the one
				 * before it */
};

/*
 * Reading the text, and then finding where training samples may lie, and the held-out ones: by then
 * the length of a sample is one that goes. What is wrong is in the sentence
 */
int wse_data_read(const struct wse_data_cfg *cfg, struct wse_data *d);
int wse_data_cut(struct wse_data *d);
/* both */
int wse_data_open(const struct wse_data_cfg *cfg, struct wse_data *d);
/* tokens of a text that has so many training samples */
uint64_t wse_data_tokens(const struct wse_data *d, uint64_t samples);
void wse_data_close(struct wse_data *d);

/* [span] of a sample that one of these gave: its targets that count are not 0; NULL: all count */
const uint8_t *wse_data_mask(const struct wse_data *d, const uint16_t *sample);

/* the first target of a sample: target[-window] ... target[-1] are before it */
const uint16_t *wse_data_train(const struct wse_data *d, uint64_t epoch, uint64_t i);
const uint16_t *wse_data_held(const struct wse_data *d, uint64_t i);

#endif
