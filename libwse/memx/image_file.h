/* SPDX-License-Identifier: MIT */
/*
 * Images in a scratch file: a unit's images are in memory while something takes them, and as long
 * as there is room. Devices take units in the order in which they need them, some before the ones
 * that run are done: so what comes is read while the cores work. Any thread.
 */
#ifndef WSE_MEMX_IMAGE_FILE_H
#define WSE_MEMX_IMAGE_FILE_H

#include "memx/memx.h"

struct wse_image_file;

/*
 * images [nunits] are filled in as units come into memory; those that stay [nunits] are there at
 * all times, and not in the file. room: bytes of the others. Memory is the pool's. -ENOSPC, -ENOMEM
 */
int wse_image_file_open(const struct wse_graph *g, const unsigned char *stays, uint64_t room,
			const char *dir, const struct wse_buf_pool *pool, struct wse_image *images,
			struct wse_image_file **file);
void wse_image_file_close(struct wse_image_file *f);

/*
 * bytes of memory when so many devices take units, *room of them for units, the least that is of
 * use, and of the file
 */
uint64_t wse_image_file_memory(const struct wse_graph *g, const unsigned char *stays,
			       uint32_t devices, uint64_t *room, uint64_t *file);

/* spans of a buffer that has a unit's image as one */
struct wse_image wse_image_spans(const struct wse_graph *g, const struct wse_unit *u,
				 struct wse_shared_buf *buf);

/*
 * A unit's image is in memory and stays there until done. wait 0: -EAGAIN, and nothing was done,
 * where room is only made by others; who has taken one does not wait for another. -errno of the
 * file
 */
int wse_image_file_take(struct wse_image_file *f, uint32_t unit, int wait);
void wse_image_file_done(struct wse_image_file *f, uint32_t unit);

/*
 * to write it anew, alone: begin waits until it is taken by none, end writes it to the file; keep:
 * a part stays as it is
 */
int wse_image_file_begin(struct wse_image_file *f, uint32_t unit, int keep);
int wse_image_file_end(struct wse_image_file *f, uint32_t unit, uint64_t step, int keep);

/* units read so far: a test asks for it */
uint64_t wse_image_file_reads(const struct wse_image_file *f);

#endif
