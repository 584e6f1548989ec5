/* SPDX-License-Identifier: MIT */
/*
 * Where parameters and moments lie, piece by piece (pieces.h). One thread uses a store, and holds
 * one piece at a time: get, read and write its arrays, put.
 */
#ifndef WSE_MEMX_STORE_H
#define WSE_MEMX_STORE_H

#include "memx/pieces.h"
#include "ops/micro_batch.h"

/* parameters, and the optimizer's first and second moments: SGD and Lion have no V */
enum wse_memx_array { WSE_MEMX_P, WSE_MEMX_M, WSE_MEMX_V };

#define WSE_MEMX_ARRAYS 3

struct wse_store;

struct wse_store_ops {
	/* array [WSE_MEMX_ARRAYS], each of the piece's floats, NULL for one that there is not */
	int (*get)(struct wse_store *s, uint32_t piece, float **array);
	/* dirty: the arrays were written */
	int (*put)(struct wse_store *s, uint32_t piece, int dirty);
	/*
	 * parameters [from, from + count) of a piece to `out`, or from `in`, the other is NULL;
	 * may be NULL: get and put do it
	 */
	int (*copy)(struct wse_store *s, uint32_t piece, size_t from, size_t count, float *out,
		    const float *in);
	/* the pieces first ... end - 1 will be got next, in this order; may be NULL */
	void (*ahead)(struct wse_store *s, uint32_t first, uint32_t end);
	void (*close)(struct wse_store *s);
};

struct wse_store {
	const struct wse_store_ops *ops;
	uint64_t step; /* of what is put, for the records of a file */
};

/*
 * In memory: all arrays are there at all times, and cleared at first; pieces of a unit lie one
 * behind the other. The list stays until close. arrays: 2 or 3. -ENOMEM
 */
int wse_store_ram(const struct wse_memx_pieces *pieces, uint32_t arrays, struct wse_store **store);

/*
 * In memory, of a sparse run: of the pieces of units whose masked [nunits] is set, only what is not
 * +0, and a bit for each element. A put may be -ENOMEM, with the unit in the sentence; what the
 * piece had is 0 then. pieces stay until close.
 */
int wse_store_packed(const struct wse_memx_pieces *pieces, uint32_t arrays,
		     const unsigned char *masked, struct wse_store **store);
/* bytes that it takes where so many of the units' weights are there, density [nunits]; 0: all */
uint64_t wse_store_packed_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
				 const double *density);
/*
 * floats of all arrays of packed pieces that it keeps now, in memory or in the file; 0: another
 * store. A test asks for it
 */
size_t wse_store_packed_floats(const struct wse_store *s);
size_t wse_store_file_packed_floats(const struct wse_store *s);
/* does the piece have rows of a masked matrix? */
int wse_store_packs(const struct wse_memx_piece *p, const unsigned char *masked);

/*
 * In a scratch file without a name in dir, but for tensors in no unit. Of the pieces of units whose
 * masked [nunits] is set (NULL: there are none) what is not +0 goes there, and a bit for each
 * element; the file has room for all of them. A record that is not what was written last is
 * -EBADMSG, a full disk -ENOSPC, each with unit and piece in the sentence. pieces stay until close.
 */
int wse_store_file(const struct wse_memx_pieces *pieces, uint32_t arrays,
		   const unsigned char *masked, const char *dir, struct wse_store **store);
/* bytes of memory that it takes, and of the file; density as wse_store_packed_memory() has it */
uint64_t wse_store_file_memory(const struct wse_memx_pieces *pieces, uint32_t arrays,
			       const double *density, uint64_t *file);
/*
 * The images themselves, of a session that trains nothing: parameters alone, rounded to bf16 but
 * for the vectors of units. Clears them. All stay until close. -ENOMEM
 */
int wse_store_image(const struct wse_memx_pieces *pieces, const struct wse_graph *g,
		    const struct wse_image *images, struct wse_store **store);
/* a piece of a tensor in no unit, and its others behind it; NULL: another store, or piece */
const uint16_t *wse_store_image_rows(const struct wse_store *store, uint32_t piece);
/* bytes of memory that it takes besides the images, once weights are loaded */
uint64_t wse_store_image_memory(const struct wse_memx_pieces *pieces);

/* bytes that were read from the file and written to it so far; 0: the store is no file */
void wse_store_file_moved(const struct wse_store *s, uint64_t *in, uint64_t *out);
/* disk.h's; -1: the store is no file */
int wse_store_file_way(const struct wse_store *s, int *direct);

#endif
