/* SPDX-License-Identifier: MIT */
/* What a tile takes of a GPT's sizes; private to the family. */
#ifndef WSE_MODEL_GPT_SIZES_H
#define WSE_MODEL_GPT_SIZES_H

#include "model/gpt.h"

/* the output layer: chunks of the vocabulary; classes of a column and chunk */
struct wse_gpt_head {
	uint32_t chunks, rows;
};

/* features of the FFN as they lie on the columns, 4 or more on each: the last ones are padding */
static inline uint32_t wse_gpt_filter(const struct wse_gpt *m, uint32_t cols)
{
	return (m->filter + 4 * cols - 1) / (4 * cols) * (4 * cols);
}

/*
 * Features of a head, and hidden_size, as they lie on the columns: those that do not divide into
 * whole fours of each are padded, the last ones being padding. A width goes with padding only where
 * no fewer columns take it with as few features each; heads of whole fours with an eighth at most.
 */
uint32_t wse_gpt_wide_head(const struct wse_gpt *m, uint32_t cols);
uint32_t wse_gpt_wide_hidden(const struct wse_gpt *m, uint32_t cols);

/* pairs of features that turn on a column, at most, and columns that a head spans */
struct wse_gpt_turns {
	uint32_t pairs, group;
};

struct wse_gpt_turns wse_gpt_turns_of(const struct wse_gpt *m, uint32_t cols);

/* in the fewest chunks; for any t: what is wrong with it is said later */
struct wse_gpt_head wse_gpt_head_of(uint32_t vocab, uint32_t cols, uint32_t t);
/* classes of a column, in all chunks */
uint32_t wse_gpt_head_width(uint32_t vocab, uint32_t cols, uint32_t t);
/* the largest vocabulary that goes on the columns with so many tokens of a core, or with more */
uint32_t wse_gpt_widest_vocab(const struct wse_tile *tile, uint32_t t);
/* a row of the tile has t tokens of one sequence */
int wse_gpt_sequence_lies(uint32_t seq, uint32_t rows, uint32_t t);

/*
 * of struct wse_model_family; units of the latter are those of hidden_size, the filter is narrower
 * by as much
 */
int wse_gpt_sizes(const struct wse_model *model, const struct wse_tile *tile, int say);
int wse_gpt_resize(const struct wse_model *model, const struct wse_tile *tile, uint32_t n,
		   struct wse_model *to, char *what, size_t size);

#endif
