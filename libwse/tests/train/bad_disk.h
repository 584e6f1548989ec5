/* SPDX-License-Identifier: MIT */
/*
 * Disks that are full, failing or short on demand, and a door to the scratch file: for programs
 * that are linked with --wrap=io_uring_queue_init, fallocate and pwrite.
 */
#ifndef WSE_TESTS_TRAIN_BAD_DISK_H
#define WSE_TESTS_TRAIN_BAD_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memx/disk.h"

static int no_ring, full, full_now, failing;
static int full_fd = -1; /* this one alone is */

int __real_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __real_fallocate(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate(int fd, int mode, off_t off, off_t len);
ssize_t __real_pwrite(int fd, const void *buf, size_t n, off_t off);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t off);

int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	return no_ring ? -EPERM : __real_io_uring_queue_init(entries, ring, flags);
}

int __wrap_fallocate(int fd, int mode, off_t off, off_t len)
{
	if (!full)
		return __real_fallocate(fd, mode, off, len);
	errno = ENOSPC;
	return -1;
}

/* short now and then; full, when it is to be */
ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t off)
{
	static int calls;

	if ((full_now || failing) && (full_fd < 0 || fd == full_fd)) {
		errno = full_now ? ENOSPC : EIO;
		return -1;
	}
	if (n > WSE_DISK_BLOCK && ++calls % 3 == 0)
		n = WSE_DISK_BLOCK;
	return __real_pwrite(fd, buf, n, off);
}

/* the first scratch file, through a door of our own; -1: there is none */
static inline int scratch(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd = -1;

	while (d && fd < 0 && (e = readdir(d))) {
		char path[300], to[300];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = 0;
		if (strstr(to, "wse-memx"))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (d)
		closedir(d);
	return fd;
}

#endif
