/* SPDX-License-Identifier: MIT */
/*
 * Operands of the host's streams, for all generators of streams: areas of host memory, contiguous
 * or behind page lists, their contents, and how many of their elements are sent.
 */
#ifndef WSE_LOCKSTEP_STREAM_H
#define WSE_LOCKSTEP_STREAM_H

#include "lockstep_tile.h"

#define STREAM_NOWHERE 0xdead000000000000ull /* bus addresses that do not exist start with it */
#define STREAM_NO_MASK 0xbeef000000000000ull /* ... of masks */
#define STREAM_PAGES   1024u

/* Host memory of one operand: contiguous, or pages that a list names. */
struct area {
	uint64_t buf, off;
	uint32_t shift;
	bool direct;
	uint32_t at;		     /* direct: offset of byte 0 in the program's memory */
	uint32_t page[STREAM_PAGES]; /* else: of each page behind off */
	uint64_t first;		     /* number of page[0] in the list */
	uint32_t list;		     /* where that entry is */
};

struct streams {
	struct tile t;
	uint32_t low, high; /* program memory below and from there on is taken */
	uint8_t in, out;    /* queues */
};

struct shape {
	uint32_t cols, blocks, B, K, etype, es;
	uint32_t lstride, cstride, rstride, mcstride;
	uint32_t len; /* LINEAR: bytes of a column's run, else 0 */
	bool masked;
	struct area data, mask;
};

/* Places for operands; false: the program's memory is full. */
bool stream_data_area(struct streams *s, struct shape *h);
bool stream_mask_area(struct streams *s, struct shape *h);
/* Bytes from an operand's first to behind its last. */
uint32_t stream_data_extent(const struct shape *h);
uint32_t stream_mask_extent(const struct shape *h);
/*
 * Element k of row n of column c, LINEAR: element n * K + k of its run, and the byte with the mask
 * bit of (n, k), in the program's memory.
 */
uint8_t *stream_element(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			uint32_t k);
uint8_t *stream_mask_byte(struct streams *s, const struct shape *h, uint32_t c, uint32_t n,
			  uint32_t k);
/* Mask bits at random. */
void stream_fill_mask(struct streams *s, const struct shape *h);
/* Exactly count bits of a column's mask, at random places. */
void stream_fill_mask_count(struct streams *s, const struct shape *h, uint32_t c, uint32_t count);
/* LINEAR: the run ends, mostly, behind the count of elements of the fullest column. */
void stream_shorten(struct streams *s, struct shape *h, const uint32_t *count);
/* Numbers that no rounding turns into zero, and zeros, so that the number sent is known. */
void stream_fill_data(struct streams *s, const struct shape *h, uint32_t zeros);
/* Number of data wavelets of a column, and of blocks behind the last of them. */
uint32_t stream_travel(struct streams *s, const struct shape *h, uint32_t c, bool drop,
		       uint32_t *empty);
void stream_shape(struct rng *r, struct shape *h);
struct wse_sqe stream_sqe(struct streams *s, uint8_t op, const struct shape *h, uint32_t col0,
			  uint32_t color);

/*
 * Appends a stream, and the work of cores and of another stream on it, to the commands. False: no
 * color or no memory is left.
 */
bool stream_phase(struct streams *s);

#endif /* WSE_LOCKSTEP_STREAM_H */
