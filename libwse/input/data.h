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
#define WSE_VAL_SETS	16	/* held-out sets of a run */

/*
 * words of a token file's header: tokens of the tokenizer that made it, 0: not said; its sum, two
 */
#define WSE_DATA_MADE_BY 3

struct wse_bpe;

struct wse_data_cfg {
	const char *path;
	/* [nval] what is held out; of at most one path is NULL: it is cut out of the text */
	struct wse_data_val {
		const char *path;
		uint64_t held_out;	/* tokens: cut out, or at most so many of path; 0: all */
	} val[WSE_VAL_SETS];
	uint32_t nval;
	const struct wse_bpe *bpe;	/* makes tokens of text; NULL: bytes are tokens */
	uint32_t vocab, window, span;
	int shuffle;
	uint64_t shuffle_seed;
};

struct wse_data_text {
	uint16_t *tok;		/* by wse_token() (num/token.h) */
	size_t ntok;
	/* a file of tokens that is as memory has them is mapped: tok lies in it */
	struct wse_data_map {
		void *p;
		size_t n; /* bytes */
	} map;
	uint8_t *mask;		/* of each token: does it count as a target? NULL: all do */
	uint64_t sum;		/* checksum: which text it was */
};

struct wse_data {
	struct wse_data_cfg cfg;
	struct wse_data_text t;
	int apart;		/* a sample has its tokens for itself: HDF5 files */
	size_t stride;		/* tokens from a sample to the next: span, unless they are apart */
	size_t train_begin[WSE_DATA_CHUNKS + 1], train_n[WSE_DATA_CHUNKS + 1];
	uint64_t ntrain;	/* samples */
	/* [cfg.nval] held-out samples, in pieces; t is d->t where they are cut out of it */
	struct wse_data_held {
		struct wse_data_text t;
		size_t begin[WSE_DATA_CHUNKS], n[WSE_DATA_CHUNKS];
		uint64_t samples;
	} val[WSE_VAL_SETS];
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
/* of held-out set number `set` */
const uint16_t *wse_data_held(const struct wse_data *d, uint32_t set, uint64_t i);

/* the set that is cut out of the text that is trained on, NULL: none is */
const struct wse_data_val *wse_data_cut_out(const struct wse_data *d);
/* does a sample of the text, or of a held-out one, have a token that does not count? */
int wse_data_masked(const struct wse_data *d);

#endif
