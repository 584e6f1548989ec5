/* SPDX-License-Identifier: MIT */
/*
 * Gradients in a scratch file: partial sums that wait for their partner, and the sum of a step
 * until its unit is updated. A unit's gradient lies there by the pieces of the state (pieces.h), in
 * one of several places; as it is handed over: with the places of all weights, or packed
 * (graph/packed.h), which the place remembers. Any thread.
 */
#ifndef WSE_MEMX_GRAD_FILE_H
#define WSE_MEMX_GRAD_FILE_H

#include "graph/packed.h"
#include "memx/pieces.h"

struct wse_grad_file;

/*
 * units [nunits] of the list, which stays until close; places: of each unit; packs [nunits]: may
 * gradients lie packed? NULL: none does. As wse_records_open()
 */
int wse_grad_file_open(const struct wse_memx_pieces *pieces, uint32_t nunits, uint32_t places,
		       const unsigned char *packs, const char *dir, struct wse_grad_file **file);
void wse_grad_file_close(struct wse_grad_file *f);

/*
 * bytes of memory that it takes, and of the file, which has room for all weights; density [nunits]:
 * so many of a unit's gradients are there, 0: all
 */
uint64_t wse_grad_file_memory(const struct wse_memx_pieces *pieces, uint32_t places,
			      const double *density, uint64_t *file);

/* of the step that comes, for the records */
void wse_grad_file_step(struct wse_grad_file *f, uint64_t step);
/*
 * who sees a step's sum before it leaves the memory, in the thread that completes it; rows: how it
 * lies, NULL: with the places of all weights
 */
typedef void (*wse_grad_look)(void *ctx, uint32_t unit, const struct wse_packed *rows,
			      const float *grad);
void wse_grad_file_look(struct wse_grad_file *f, wse_grad_look look, void *ctx);

/*
 * A whole gradient goes to the file, which lies so; rows stay until the place is free again.
 * -EAGAIN: no place is free, and nothing was done
 */
int wse_grad_file_put(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
		      const float *grad, uint32_t *place);
/* likewise the sum of a step, which is looked at before */
int wse_grad_file_root(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
		       const float *grad, uint32_t *place);
/*
 * grad becomes the sum of both, and the place is free then. Which one is the left operand changes
 * no bit of a number
 */
int wse_grad_file_add(struct wse_grad_file *f, uint32_t unit, uint32_t place, float *grad);
/* floats [at, at + n) of it, as it lies; and how it lies */
int wse_grad_file_read(struct wse_grad_file *f, uint32_t unit, uint32_t place, size_t at, size_t n,
		       float *out);
const struct wse_packed *wse_grad_file_rows(const struct wse_grad_file *f, uint32_t unit,
					    uint32_t place);
void wse_grad_file_drop(struct wse_grad_file *f, uint32_t unit, uint32_t place);

/*
 * A sum that comes piece by piece: takes a place, -EAGAIN: none is free; then pieces (of the list
 * of all), each of which has its whole floats
 */
int wse_grad_file_begin(struct wse_grad_file *f, uint32_t unit, const struct wse_packed *rows,
			uint32_t *place);
int wse_grad_file_put_piece(struct wse_grad_file *f, uint32_t place, uint32_t piece,
			    const float *grad);

/* where MemoryX finds a unit's sum; WSE_NO_PLACE: it is in memory */
#define WSE_NO_PLACE UINT32_MAX
void wse_grad_file_hold(struct wse_grad_file *f, uint32_t unit, uint32_t place);
uint32_t wse_grad_file_held(const struct wse_grad_file *f, uint32_t unit);

/* gradients written so far, whole ones; bytes of the file read and written: a test asks for it */
uint64_t wse_grad_file_written(const struct wse_grad_file *f);
void wse_grad_file_moved(const struct wse_grad_file *f, uint64_t *in, uint64_t *out);

#endif
