/* SPDX-License-Identifier: MIT */
/* Streaming images: matrices of binary32 as bf16, as they are and transposed. */
#ifndef WSE_TRAIN_IMAGE_H
#define WSE_TRAIN_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* rows and columns that are written together, in whole cache lines */
#define WSE_IMAGE_TILE 32u

/* the end of the tile that row or column i lies in, or of the matrix */
static inline size_t wse_image_tile_end(size_t i, size_t end)
{
	size_t next = (i / WSE_IMAGE_TILE + 1) * WSE_IMAGE_TILE;

	return next < end ? next : end;
}

/*
 * w [n][k] to bf16 (wse_f32_to_bf16 of each element): plain [n][k] and, of the same values, turned
 * [k][n]. Either may be NULL; w is NULL where plain is there already, and is read.
 */
void wse_bf16_image(const float *w, size_t n, size_t k, uint16_t *plain, uint16_t *turned);
/* of it rows n0 <= i < n1, columns k0 <= j < k1; best at multiples of WSE_IMAGE_TILE */
void wse_bf16_image_part(const float *w, size_t n, size_t k, size_t n0, size_t n1, size_t k0,
			 size_t k1, uint16_t *plain, uint16_t *turned);

/* what is in plain [n][k], turned: likewise a part of it, which stays in the caches */
void wse_bf16_turn_part(const uint16_t *plain, size_t n, size_t k, size_t n0, size_t n1, size_t k0,
			size_t k1, uint16_t *turned);

/*
 * n elements of `rows` rows (1 to 4) that lie `stride` elements apart: of each element those of all
 * rows follow each other, as a LINEAR stream sends a block; and back
 */
void wse_bf16_weave(const uint16_t *from, size_t stride, size_t rows, size_t n, uint16_t *to);
void wse_bf16_unweave(const uint16_t *from, size_t stride, size_t rows, size_t n, uint16_t *to);

/* variant 1: SSE2; 2: AVX2, -1 where there is none; for tests */
int wse_bf16_image_by(int variant, const float *w, size_t n, size_t k, uint16_t *plain,
		      uint16_t *turned);

#endif
