/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: parameters, optimizer state and everything else that decides the bits of the steps
 * to come, in one safetensors file. It holds no device names, counts or times, so equal training
 * gives equal files. A GPT's is a Hugging Face GPT-2 file at the same time, and a file that
 * transformers wrote gives its parameters.
 */
#ifndef WSE_MEMX_CKPT_H
#define WSE_MEMX_CKPT_H

#include <wse/train.h>

#include "chain.h"
#include "memx.h"

/* what decides a step's bits besides the tensors, the optimizer and the schedule */
struct wse_train_state {
	uint64_t epoch, position; /* data loader; the rest is the same from step to step */
	int shuffle;
	uint64_t shuffle_seed;
	uint64_t text_tokens, text_sum; /* which text */
	uint32_t tokenizer;		/* tokens that it has; 0: none */
	uint64_t tokenizer_sum;		/* which one */
	uint64_t held_out;		/* tokens cut out of it; 0: they are from another one */
	uint64_t samples;		/* of an epoch; 0: the batches are the caller's */
	uint64_t batch, micro_batch;	/* samples */
	double loss_weight;		/* of a sample (batch_size); 0: num_tokens */
	uint32_t own;			/* WSE_STEP_*: what steps had that the rates do not say */
	uint32_t rows, cols, lanes;	/* tile shape: decides the order of sums */
	uint32_t variant;		/* of the graph, likewise; 0 or 1: the plain one */
	char chain[WSE_CHAIN];		/* the hash of the last step; "": there is no chain */
	char start[WSE_CHAIN_START];	/* where the chain began: "seed 1", ... */
};

/* a chain begins: start says with which weights, and the rest of ts is filled in */
void wse_ckpt_start(const struct wse_memx_cfg *cfg, struct wse_train_state *ts, const char *start);

/*
 * -ERANGE when a parameter or moment is not finite; -errno of the file system. progress may be NULL
 */
struct wse_st_progress;
int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *ts, const struct wse_st_progress *progress);

#define WSE_CHANGED 512

/*
 * What is taken must fit this run, else -EINVAL, and the sentence names the thing, its value in
 * both, and what to do. -EBADMSG for a damaged file. Nothing is changed on error, with one
 * exception: -ESTALE when the file was good and then could not be read a second time, as another
 * program wrote to it; the weights are in part its own then. changed [WSE_CHANGED] is what differs
 * all the same, "" if nothing does.
 */
int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  enum wse_ckpt_load what, struct wse_train_state *ts, char *changed);

/*
 * Are the parameters of a file those of this model: names, shapes, shards, what it says of its
 * model and, unless it begins a run anew (WSE_CKPT_MODEL), of its tokenizer? run: the run's
 * tokenizer alone counts. The file's header alone is read, and no device is needed. -EINVAL,
 * -EBADMSG, -errno of the file
 */
int wse_ckpt_fits(const char *path, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *run, enum wse_ckpt_load what);

/* what decides the bits of a run, "key\nvalue\n" after each other; -ENOSPC. For ranks to compare */
int wse_ckpt_facts(const struct wse_memx_cfg *cfg, const struct wse_train_state *ts, char *text,
		   size_t size);

/* the masks of a file alone: where the sparsity section names one. Errors as of wse_ckpt_load() */
int wse_ckpt_masks(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg);

/*
 * Would it be loaded as a whole (WSE_CKPT_ALL)? Then *ts and *step are those of the file, and
 * nothing else is changed. Errors as of wse_ckpt_load().
 */
int wse_ckpt_look(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  struct wse_train_state *ts, uint64_t *step);

/*
 * Are its parameters and moments MemoryX's, bit for bit? -EILSEQ, and the sentence names the first
 * that differs, or as wse_ckpt_look().
 */
int wse_ckpt_compare(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		     const struct wse_train_state *ts);

/* SHA-256 over tensors and training state, hex [65]; what the chain says is not in it */
int wse_ckpt_hash(const char *path, char *hex);

#endif
