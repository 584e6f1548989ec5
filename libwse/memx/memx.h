/* SPDX-License-Identifier: MIT */
/*
 * MemoryX: where the weights live. fp32 masters and optimizer state, in the order of the images
 * (map.h) in a store; the bf16 streaming images that all devices read from the same memory. Nothing
 * of a step is written before its commit, so a step that lost a device is simply run again; after
 * it every device is done, so one set of images is enough.
 *
 * One thread (the loop's) calls it; only wse_memx_unit_ready() is for the devices' threads.
 */
#ifndef WSE_MEMX_MEMX_H
#define WSE_MEMX_MEMX_H

#include "base/spans.h"
#include "graph/rows.h"
#include "memx/grad_file.h"
#include "memx/map.h"
#include "memx/mask.h"
#include "memx/optim.h"
#include "memx/share.h"
#include "memx/store.h"
#include "model/family.h"

/* memory that devices read and write: made once, shared by all (see swarmx/swarmx.h) */
struct wse_buf_pool {
	int (*alloc)(void *ctx, size_t size, struct wse_shared_buf **buf);
	void (*free)(void *ctx, struct wse_shared_buf *buf);
	void *ctx;
};

struct wse_memx;

struct wse_memx_cfg {
	struct wse_model model;
	struct wse_optim_cfg optim;
	struct wse_sched_list sched;
	double max_norm;	/* global gradient norm; 0: no clipping */
	uint64_t seed;		/* of the initial weights */
	/*
	 * nothing is trained: no moments, no gradients, no commit. Of a family with leaf there are
	 * the images alone, whose matrices are bf16: wse_memx_read() gives what was written rounded
	 */
	int forward;
	const char *dir;	/* parameters and moments in a file there; NULL: in memory */
	uint32_t rank, ranks;	/* of a run; ranks 0: alone */
	/* of gradients, in a file there, too (grad_file.h); 0: in memory */
	uint32_t grad_places;
	/* bytes of images that are in memory, the others in a file; 0: all are */
	uint64_t image_room;
	struct wse_sparsity sparsity; /* n 0: all weights are there */
	int by_rows; /* a device has no LINEAR streams: it reads and writes whole rows */
};

/* the graph says how units lie in their images and gradients; it stays until close */
int wse_memx_open(const struct wse_memx_cfg *cfg, const struct wse_graph *graph,
		  const struct wse_buf_pool *pool, struct wse_memx **memx);
void wse_memx_close(struct wse_memx *mx);

/*
 * Of several ranks: from here on commit, finish and squares are made by all ranks together, and
 * what is read of another rank's piece is fetched.
 */
void wse_memx_join(struct wse_memx *mx, const struct wse_memx_peers *peers);
/* the pieces of all ranks; until close */
const struct wse_memx_pieces *wse_memx_pieces(const struct wse_memx *mx);
/*
 * an array of a piece that this rank keeps, out [count]: for one that fetches it. -EINVAL, -errno
 */
int wse_memx_piece(struct wse_memx *mx, uint32_t piece, enum wse_memx_array which, float *out);

/* The state that a checkpoint keeps, besides its arrays. */
struct wse_memx_state {
	const struct wse_tensor_table *table;
	uint64_t *step;		/* committed steps */
	double *beta1_pow, *beta2_pow;
};
void wse_memx_state(struct wse_memx *mx, struct wse_memx_state *state);

/* which weights are there; what is written into it holds from wse_memx_refresh() on */
struct wse_masks *wse_memx_masks(struct wse_memx *mx);
/*
 * Weights were loaded that have no masks: those of the largest magnitudes get one, where that is
 * how masks begin. Before wse_memx_refresh(); of several ranks wse_memx_loaded() does it
 */
int wse_memx_masks_again(struct wse_memx *mx);
/*
 * Of several ranks that have joined, all together, once all have loaded or changed the state:
 * masks, and images that lie packed, which come from the owners of their pieces. -errno of the
 * link
 */
int wse_memx_loaded(struct wse_memx *mx);

/*
 * Elements [from, from + count) of a tensor in its own order, out of one of the arrays (store.h) or
 * into it; wse_memx_finish() comes before, wse_memx_refresh() after the last write. -EINVAL where
 * there are no such elements, -errno of where they are kept.
 */
int wse_memx_read(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		  size_t count, float *out);
int wse_memx_write(struct wse_memx *mx, enum wse_memx_array which, uint32_t tensor, size_t from,
		   size_t count, const float *in);
/*
 * Is it dear to read state in another order than it is kept in: does it lie in a file, with other
 * ranks, or packed? Then wse_memx_runs() tells of whole rows of the first `arrays` arrays,
 * everything once: the order in which reading, or writing, takes every piece once, whatever the
 * tensors' shapes.
 */
int wse_memx_is_far(const struct wse_memx *mx);
int wse_memx_runs(struct wse_memx *mx, uint32_t arrays, wse_map_run fn, void *ctx);
/* floats of the longest run */
size_t wse_memx_longest(const struct wse_memx *mx);
/* bytes that came from a file and went there so far, 0 where there is none: a test asks for it */
enum wse_memx_file { WSE_MEMX_STATE_FILE, WSE_MEMX_GRAD_FILE, WSE_MEMX_IMAGE_FILE };
void wse_memx_moved(const struct wse_memx *mx, enum wse_memx_file file, uint64_t *in,
		    uint64_t *out);
/* floats of masked matrices and their moments that are kept, of a sparse run: a test asks for it */
size_t wse_memx_packed(const struct wse_memx *mx);
/*
 * after the state was loaded or changed by hand: rebuild the images. -errno of the store. Of
 * several ranks wse_memx_loaded() comes next
 */
int wse_memx_refresh(struct wse_memx *mx);

/* what inputs are gathered from [table.n], of the committed step: see wse_input in family.h */
const struct wse_input *wse_memx_inputs(struct wse_memx *mx);

/* images of the current step [graph.nunits] */
const struct wse_image *wse_memx_images(struct wse_memx *mx);
/* blocks until the unit's image of the current step is written; -errno when it cannot be */
int wse_memx_unit_ready(struct wse_memx *mx, uint32_t unit);
/* do images come and go? Then they are taken, and wse_memx_images() is about those that are */
int wse_memx_images_move(const struct wse_memx *mx);
uint64_t wse_memx_image_reads(const struct wse_memx *mx); /* that came from the file so far */
uint64_t wse_memx_image_read_bytes(const struct wse_memx *mx); /* of these, as they lie there */
/*
 * unit_ready, and that image is in memory until done. wait 0: -EAGAIN, and nothing was done, where
 * it would wait for others; who has taken one does not wait
 */
int wse_memx_unit_take(struct wse_memx *mx, uint32_t unit, enum wse_image_part part, int wait);
void wse_memx_unit_done(struct wse_memx *mx, uint32_t unit, enum wse_image_part part);

/* the file of gradients, for those who make them; NULL: there is none. Open until close */
struct wse_grad_file *wse_memx_grad_file(struct wse_memx *mx);
/* [graph.nunits]: units onto whose sums the host adds after a step; their sums stay in memory */
const unsigned char *wse_memx_host_units(const struct wse_memx *mx);

/*
 * The gradient of a step. unit [graph.nunits] are the sums over all micro-batches, [outs][ins] and
 * then [COLS][vec_rows], as the reduction tree left them: they are not copied, and stay until
 * they are given back, or wse_memx_finish(). Returns an array [table.n] of where the host adds
 * gradients of what it gathered, each in the tensor's own order: the unit's sum where the tensor is
 * its matrix, too, NULL for all others. unit[i] NULL: it is in the file, and stays there. Gradients
 * of tensors in no unit are 0.
 */
float *const *wse_memx_grads(struct wse_memx *mx, float *const *unit);
/* after that: rows of a tensor in no unit, the others are 0; they stay until the commit */
void wse_memx_grad_rows(struct wse_memx *mx, uint32_t tensor, const struct wse_rows *rows);
/* who gets the sums back, one by one, when they are used up; NULL (as at first): they stay */
void wse_memx_give_back(struct wse_memx *mx, void (*give)(void *ctx, uint32_t unit), void *ctx);
/*
 * the first tensor whose gradient is not finite, WSE_NO_TENSOR: none; of several ranks after
 * squares
 */
uint32_t wse_memx_bad_grad(const struct wse_memx *mx);
/*
 * Of several ranks, each of which has the sums of its own pieces: their squares, to all, once a
 * step; a commit would do it, too. Alone: nothing
 */
int wse_memx_squares(struct wse_memx *mx);
/* [table's n] of each tensor, after a commit: of the gradients before clipping */
const double *wse_memx_grad_squares(const struct wse_memx *mx);
/*
 * sum [table's n]: squares of each tensor's parameters, in the order of wse_sum_squares(). Of
 * several ranks made by all together, and the same on all
 */
int wse_memx_param_squares(struct wse_memx *mx, double *sum);
/* the gradient of a tensor in its own order into out [count]; -errno of the file */
int wse_memx_grad(const struct wse_memx *mx, uint32_t tensor, float *out);
/* floats [at, at + n) of a unit's sum */
int wse_memx_sum(const struct wse_memx *mx, float *const *sums, uint32_t unit, size_t at, size_t n,
		 float *out);

/*
 * What the next commit has in place of the schedule and of the parameters' norm: own of WSE_STEP_*.
 * What it was goes into text [size] (", learning rate 0.1, clipped to 2"), and own_done() says it
 * once the commit has been made
 */
void wse_memx_own(struct wse_memx *mx, uint32_t own, double lr, double max_norm);
void wse_memx_own_text(const struct wse_memx *mx, char *text, size_t size);
uint32_t wse_memx_own_done(struct wse_memx *mx);

/*
 * The end of a step. *norm is the global norm of the gradients (tensors in table order, a matrix in
 * the order of its stream; see wse_sum_squares). -ERANGE, and nothing changed, when it is not
 * finite. Units and tensors that the host gathers the next inputs from are updated at once, the
 * others by wse_memx_finish(): the next step's forward may be submitted between the two, its first
 * unit runs while later ones are updated. -errno of the store, after which the state is no step's.
 */
int wse_memx_commit(struct wse_memx *mx, double *norm, double *lr);
/*
 * forward: weights are loaded, or else the first wse_memx_finish() makes the initial ones, which
 * takes its time of a large model; so it comes before the first use of images and inputs
 */
int wse_memx_finish(struct wse_memx *mx);
/* between calls: when a unit (what) was updated and its images were made; who is 0 */
void wse_memx_spans(struct wse_memx *mx, const struct wse_spans *spans);
/* is there anything to finish? */
int wse_memx_pending(const struct wse_memx *mx);

#endif
