/* SPDX-License-Identifier: MIT */
/*
 * What the files of MemoryX share, and nothing else includes: the struct, each part under the file
 * that owns it, and the calls from one file to another. memx.c opens and closes it; grads.c,
 * images.c, pass.c, mask_update.c and commit.c are one concern each.
 */
#ifndef WSE_MEMX_MEMX_INSIDE_H
#define WSE_MEMX_MEMX_INSIDE_H

#include <pthread.h>

#include "memx/memx.h"

struct wse_memx {
	struct wse_memx_cfg cfg;
	struct wse_buf_pool pool;
	const struct wse_graph *g;
	struct wse_tensor_table tab;
	struct wse_map map;	/* and the store */
	struct wse_share share; /* of several ranks */
	struct wse_masks masks;
	uint64_t step;
	struct wse_spans spans; /* updates of units */

	struct { /* grads.c */
		/* [tab.n]: of those that ranks share, or that are in the file; NaN: not finite */
		double *squares;
		int squared;
		float *const *unit;	    /* [nunits], NULL: in the file */
		/*
		 * [nunits]: how those of the last commit lie, until units are updated; NULL: with
		 * the places of all weights
		 */
		const struct wse_packed **rows_of;
		struct wse_grad_file *file; /* NULL: gradients are in memory */
		float *piece;		      /* the longest that has no place of its own */
		const struct wse_rows **rows; /* [tab.n]: of tensors in no unit; NULL: 0 */
		float **adds;		      /* [tab.n]: what wse_memx_grads() returns */
		float *scratch;	/* the longest vector */
		void (*give)(void *ctx, uint32_t unit);
		void *give_ctx;
	} grads;

	struct { /* images.c */
		struct wse_shared_buf **buf; /* [nunits]: fwd, tr, vec */
		struct wse_image *unit;	     /* [nunits] */
		struct wse_image_file *file; /* NULL: all images are in memory */
		/* the plain image of the unit that is updated, where it is kept packed alone */
		struct wse_shared_buf whole;
		/* the unit whose image other ranks' weights go to; WSE_NO_UNIT: none */
		uint32_t writing;
		/*
		 * of several ranks: weights were loaded, and what of them lies packed alone is to
		 * come from its owners
		 */
		int due;
		struct wse_input *inputs; /* [tab.n] */
		/*
		 * [tab.n], for gather: a tensor in its own order, of a unit, or in none of which
		 * other ranks have pieces: the latter as bf16 in `rows`, unless fp32 is wanted
		 */
		float **mirror;
		uint16_t **rows;
		pthread_mutex_t lock;
		pthread_cond_t cond;
		unsigned char *early; /* [nunits]: the host gathers from it */
		unsigned char *ready; /* [nunits]: the image of the current step is written */
	} images;

	/* mask_update.c */
	int chosen; /* the masks of after this step are */
	int cut;    /* of several ranks: masks are to be made of the weights that were loaded */

	/* commit.c */
	double beta1_pow, beta2_pow;
	struct {
		uint32_t set; /* WSE_STEP_* */
		double lr, max_norm;
	} of_step;		  /* the next commit's */
	struct wse_update update; /* the last commit's */
	int pending;		  /* a commit whose units are not updated yet */
	int failed; /* -errno of the store: units are of different steps */
	int initial; /* a pass makes the initial weights of units, too */
	int unset;  /* forward: nothing was loaded, and the initial values are not made either */
};

/*
 * Where nothing is trained the images are all there is of the weights, unless the model gathers its
 * inputs from binary32, as models of one's own do.
 */
static inline int wse_memx_images_alone(const struct wse_memx_cfg *cfg)
{
	return cfg->forward && cfg->model.family->leaf;
}

static inline int wse_memx_images_in_file(const struct wse_memx_cfg *cfg)
{
	return cfg->dir && cfg->image_room && !cfg->forward;
}

/* ---- grads.c ---- */

/* arrays and, if cfg says so, the file. -errno; what there is then, close frees */
int wse_memx_open_grads(struct wse_memx *mx);
void wse_memx_close_grads(struct wse_memx *mx);
/* the gradient of a piece, *grad [count]: where it lies, or read from the file. -errno of it */
int wse_memx_piece_grad(const struct wse_memx *mx, const struct wse_memx_piece *p,
			const float **grad);
/* the images are about to be those of the next step: the gradients stay as they lie */
void wse_memx_keep_rows(struct wse_memx *mx);
/* is all of a unit's gradient in memory, with the places of all weights? */
int wse_memx_grad_is_plain(const struct wse_memx *mx, uint32_t unit);
/* the squares of a gradient that is not, of what the masks leave of it */
int wse_memx_square_again(struct wse_memx *mx, uint32_t unit);
/* the squares of all gradients: the norm's. -ENOMEM */
int wse_memx_sum_squares(struct wse_memx *mx, double *sum);

/* ---- images.c ---- */

int wse_memx_open_images(struct wse_memx *mx);
void wse_memx_close_images(struct wse_memx *mx);
/* share.want, ctx mx: weights of another rank come for this unit's image. -errno of the file */
int wse_memx_want_image(void *ctx, uint32_t unit);
/* what the host gathers inputs from. -ENOMEM, -errno of the store */
int wse_memx_find_inputs(struct wse_memx *mx);
/* updating: first, what the commit has not updated; the unit's gradient is used up then */
int wse_memx_pass_unit(struct wse_memx *mx, uint32_t unit, int updating);
/* of all ranks together: images that are due, from their owners. -errno of the link */
int wse_memx_gather_images(struct wse_memx *mx);
void wse_memx_set_ready(struct wse_memx *mx, uint32_t unit, int ready);
/* of several ranks: a piece of a tensor in no unit into what inputs are gathered from */
void wse_memx_show_piece(void *ctx, const struct wse_memx_piece *p, size_t from, size_t n,
			 const float *in);
/* after an update: those of all ranks, from their owners. -errno of the link */
int wse_memx_share_inputs(struct wse_memx *mx);
/*
 * err, if it is not 0: what has been written is of no use any more, and a device that waits for an
 * image learns of it
 */
int wse_memx_give_up(struct wse_memx *mx, int err);

/* ---- pass.c ---- */

/* pieces [first, end) of a unit, or of tensors in none: updated, where that is due, and rounded */
int wse_memx_pass(struct wse_memx *mx, uint32_t first, uint32_t end, int updating);
/* the rest of a unit's images, of which other ranks have the pieces: */
enum wse_memx_others {
	WSE_OTHERS_KEPT, /* as bf16 they are where they belong */
	WSE_OTHERS_MADE, /* they are initial weights */
	WSE_OTHERS_SENT, /* their owners send them: every rank does this for the unit */
};
int wse_memx_pass_others(struct wse_memx *mx, uint32_t unit, enum wse_memx_others from);

/* ---- mask_update.c ---- */

/* where masks change after this step: to what, and gradients of the weights that stay */
int wse_memx_choose_masks(struct wse_memx *mx);

#endif
