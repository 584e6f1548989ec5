/* SPDX-License-Identifier: MIT */
/*
 * The masks of a run, in the order of the images (graph/mask.h): which weights are there. The
 * others are 0, as are their moments and gradients; every rank has the masks of all pieces. What
 * changes them, and by which order of weights, is choose.h's. And how images lie that are kept as
 * they are sent, dense ones, too.
 */
#ifndef WSE_MEMX_MASK_H
#define WSE_MEMX_MASK_H

#include "graph/mask.h"
#include "graph/packed.h"
#include "memx/map.h"
#include "memx/sparsity.h"
#include "ops/micro_batch.h"

struct wse_buf_pool;

/* of a unit with a mask, and of a dense one whose images lie as they are sent */
struct wse_unit_mask {
	struct wse_shared_buf *buf; /* the image's bits, those of the transposed one; NULL: dense */
	struct wse_mask_shape fwd, back;
	struct wse_packed packed, packed_tr; /* of these bits, unless they are stale */
	int stale;
	int packs; /* gradients lie packed, too */
	int alone; /* images lie packed alone */
	int moves; /* and in a file: what of packed.buf is in memory the caller says */
	int values; /* images are packed, alone or not */
	/*
	 * chosen for after this step: as those of the image; or NULL. Once they are the masks, it
	 * has those of both, and behind them those that were: gradients still lie by these
	 */
	unsigned char *next;
	int turned;
};

struct wse_masks {
	const struct wse_sparsity *cfg;
	const struct wse_graph *g;
	const struct wse_tensor_table *tab;
	const struct wse_map *map;
	struct wse_sparse_part *part; /* those that have a mask, by tensor and row */
	uint32_t nparts;
	struct wse_unit_mask *unit; /* [nunits] */
	const struct wse_buf_pool *pool;
	int there;  /* they were made or read: streams go by them */
	int moving; /* they have changed, and masters have to follow */
};

/*
 * cfg NULL or empty: there are none, but what the graph has of dense units whose images lie as they
 * are sent. All stay until close. -EINVAL, -ENOMEM
 */
int wse_masks_open(struct wse_masks *m, const struct wse_sparsity *cfg, const struct wse_map *map,
		   const struct wse_buf_pool *pool);
void wse_masks_close(struct wse_masks *m);

static inline unsigned char *wse_masks_bits(const struct wse_masks *m, uint32_t unit)
{
	return m->unit && m->unit[unit].buf ? m->unit[unit].buf->ptr : NULL;
}

/*
 * Of masked units but those that inputs are gathered from, onto whose sums the host adds, gradients
 * lie packed, and (images) images do alone, as those of the dense units that the graph names; file:
 * those are in a file, and others there by rows. Before wse_masks_show()
 */
void wse_masks_packs(struct wse_masks *m, int grads, int images, int file);
/* do gradients of any? do images of any alone? */
int wse_masks_packs_any(const struct wse_masks *m);
int wse_masks_alone_any(const struct wse_masks *m);
static inline int wse_masks_alone(const struct wse_masks *m, uint32_t unit)
{
	return m->unit && m->unit[unit].alone;
}
/* their place into the images, once they are there; and the transposed bits, by the others */
void wse_masks_show(struct wse_masks *m, struct wse_image *images);
/*
 * How a unit's weights lie where they are packed, by the masks of now. NULL: it has no mask, or
 * inputs are gathered from it; what was laid out before is no more. *ret: 0, -ENOMEM
 */
const struct wse_packed *wse_masks_rows(struct wse_masks *m, uint32_t unit, int *ret);
/* a checksum of all masks, the same on every rank; 0: there are none */
uint64_t wse_masks_sum(const struct wse_masks *m);
/*
 * A unit's images have been written: the weights that are there, packed, where streams are LINEAR.
 * First their layout, which gradients come back in; then, where there is memory for them, the
 * values. Of images that lie packed alone the transposed one is made of the other. -ENOMEM
 */
int wse_masks_lay_out(struct wse_masks *m, uint32_t unit, struct wse_image *img);
int wse_masks_pack(struct wse_masks *m, uint32_t unit, const struct wse_image *img);
/* about so many elements has a packed stream of a unit, by its density */
uint64_t wse_masks_packed(const struct wse_graph *g, const struct wse_unit *u);
/* the bits of a part's element are set or cleared: of the next mask, if there is one */
void wse_masks_put(struct wse_masks *m, const struct wse_sparse_part *p, size_t from, size_t count,
		   const unsigned char *bytes);
/* 1 or 0 each; a tensor's elements outside its parts are 1 */
void wse_masks_read(const struct wse_masks *m, uint32_t tensor, size_t from, size_t count,
		    float *out);
void wse_masks_write(struct wse_masks *m, uint32_t tensor, size_t from, size_t count,
		     const float *in);
/* what was written is all there is: how many weights each part has */
void wse_masks_count(struct wse_masks *m);
/* has it one? */
int wse_masks_has(const struct wse_masks *m, uint32_t tensor);

/* floats [at, at + n) of a unit's matrix, x [n]: those in no mask, or in but one of both, are 0 */
void wse_masks_clear(const struct wse_masks *m, uint32_t unit, size_t at, size_t n, float *x);
/* of a piece's gradient what no weight uses: grad [count] */
void wse_masks_clear_grad(const struct wse_masks *m, const struct wse_memx_piece *p, float *grad);
/*
 * elements [at, at + count) of a unit's matrix, out of a gradient that lies as this layout of the
 * unit's says, until its weights are updated
 */
void wse_masks_spread(const struct wse_masks *m, uint32_t unit, const struct wse_packed *rows,
		      const float *grad, size_t at, size_t count, float *out);
/*
 * The next masks are the masks from here on, and next has what is in the old ones, too, until it is
 * forgotten. Were there any?
 */
int wse_masks_turn(struct wse_masks *m);
void wse_masks_forget(struct wse_masks *m);

#endif
