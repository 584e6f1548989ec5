/* SPDX-License-Identifier: MIT */
/*
 * Images in a scratch file: each of a unit's two is in memory while something takes it, and as long
 * as there is room; of a unit whose images lie packed alone (mask.h), packed. Devices take them in
 * the order in which they need them, some before the ones that run are done: so what comes is read
 * while the cores work. Vectors are in memory at all times. Any thread.
 */
#ifndef WSE_MEMX_IMAGE_FILE_H
#define WSE_MEMX_IMAGE_FILE_H

#include "memx/memx.h"

struct wse_image_file;

/*
 * images [nunits], and masks' packed.buf of those that lie packed alone, are filled in as they come
 * into memory; units that stay [nunits] are there at all times, and not in the file. room: bytes of
 * the others, at least both images of one. Memory is the pool's. -ENOSPC, -ENOMEM
 */
int wse_image_file_open(const struct wse_graph *g, const unsigned char *stays,
			struct wse_masks *masks, uint64_t room, const char *dir,
			const struct wse_buf_pool *pool, struct wse_image *images,
			struct wse_image_file **file);
void wse_image_file_close(struct wse_image_file *f);

/*
 * bytes of memory when so many devices take images, *room of them for images, the least that is of
 * use, and of the file, which has room for all weights
 */
uint64_t wse_image_file_memory(const struct wse_graph *g, const unsigned char *stays,
			       uint32_t devices, uint64_t *room, uint64_t *file);

/* spans of a buffer that has a unit's image as one */
struct wse_image wse_image_spans(const struct wse_graph *g, const struct wse_unit *u,
				 struct wse_shared_buf *buf);

/*
 * An image is in memory and stays there until done. wait 0: -EAGAIN, and nothing was done, where
 * room is only made by others; who has taken one does not wait for another. -errno of the file
 */
int wse_image_file_take(struct wse_image_file *f, uint32_t unit, enum wse_image_part part,
			int wait);
void wse_image_file_done(struct wse_image_file *f, uint32_t unit, enum wse_image_part part);

/*
 * to write a unit's anew, alone: begin waits until they are taken by none, end writes them to the
 * file; keep: some of them stays as it is. Those that lie packed alone have memory from room on,
 * for which their layout is known
 */
int wse_image_file_begin(struct wse_image_file *f, uint32_t unit, int keep);
int wse_image_file_room(struct wse_image_file *f, uint32_t unit);
int wse_image_file_end(struct wse_image_file *f, uint32_t unit, uint64_t step, int keep);

/*
 * Images read so far, and their bytes as they lie in the file: how many of these a read finds in
 * memory, and how many are read twice, depends on other readers. And bytes that came from the file
 * and went there. A test asks for it
 */
uint64_t wse_image_file_reads(const struct wse_image_file *f);
uint64_t wse_image_file_read_bytes(const struct wse_image_file *f);
void wse_image_file_moved(const struct wse_image_file *f, uint64_t *in, uint64_t *out);

#endif
