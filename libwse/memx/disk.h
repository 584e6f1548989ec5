/* SPDX-License-Identifier: MIT */
/*
 * A scratch file that is read ahead and written later: io_uring with O_DIRECT where system and file
 * system take both, else a thread with pread and pwrite: with O_DIRECT where io_uring alone is
 * refused, through the page cache where the first block cannot be written past it. Errors are the
 * same on all ways. It has no name: it is gone with the process.
 */
#ifndef WSE_MEMX_DISK_H
#define WSE_MEMX_DISK_H

#include <stddef.h>
#include <stdint.h>

#define WSE_DISK_BLOCK 4096u

/* one request; buf, off and len are multiples of WSE_DISK_BLOCK. The rest is the disk's */
struct wse_disk_io {
	void *buf;
	uint64_t off;
	size_t len;
	int write;
	size_t done;
	int err, finished;
	struct wse_disk_io *next;
};

struct wse_disk;

enum { WSE_DISK_IO_URING, WSE_DISK_THREAD };

/*
 * a file of so many bytes in dir for what ("weights"); -ENOSPC when there is no room, the sentence
 * says how much
 */
int wse_disk_open(const char *dir, const char *what, uint64_t bytes, struct wse_disk **disk);
/* "files in DIR ...": where they are on no disk of this host, or NULL */
const char *wse_disk_note(const char *dir);
void wse_disk_close(struct wse_disk *d); /* waits for what was begun */

/* which way it goes; direct: past the page cache, or NULL */
int wse_disk_way(const struct wse_disk *d, int *direct);

/* begin a request; the struct stays until it was waited for */
void wse_disk_begin(struct wse_disk *d, struct wse_disk_io *io);
/* 0, -errno; -ENODATA for a file that ends too early */
int wse_disk_wait(struct wse_disk *d, struct wse_disk_io *io);

#endif
