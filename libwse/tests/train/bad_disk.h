/* SPDX-License-Identifier: MIT */
/*
 * Disks that are full, failing or short on demand, and a door to the scratch file: for programs
 * that are linked with --wrap=io_uring_queue_init, fallocate, fcntl and pwrite.
 */
#ifndef WSE_TESTS_TRAIN_BAD_DISK_H
#define WSE_TESTS_TRAIN_BAD_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memx/disk.h"

static int no_ring, full, full_now, failing;
static int no_fallocate; /* NFS before 4.2 */
/* O_DIRECT: a file system says no at once, or takes the flag and refuses what is written so */
static int not_direct, not_direct_late;
static int full_fd = -1;  /* this one alone is */
static int flips_fd = -1; /* of what is written here a bit is another one on the disk */
static int lost_fd = -1;  /* what is written here is lost without an error */
/* scratch files in the order in which a thread made them, by the number that it gave itself */
static __thread uint32_t maker, nmade;
static int made[4][4];

int __real_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __real_fallocate(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate(int fd, int mode, off_t off, off_t len);
int __real_fcntl(int fd, int cmd, long arg);
int __wrap_fcntl(int fd, int cmd, long arg);
ssize_t __real_pwrite(int fd, const void *buf, size_t n, off_t off);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t off);

int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	return no_ring ? -EPERM : __real_io_uring_queue_init(entries, ring, flags);
}

int __wrap_fallocate(int fd, int mode, off_t off, off_t len)
{
	made[maker % 4][nmade++ % 4] = fd;
	if (!full && !no_fallocate)
		return __real_fallocate(fd, mode, off, len);
	errno = full ? ENOSPC : EOPNOTSUPP;
	return -1;
}

int __wrap_fcntl(int fd, int cmd, long arg)
{
	if (cmd != F_SETFL || !(arg & O_DIRECT) || !not_direct)
		return __real_fcntl(fd, cmd, arg);
	errno = EINVAL;
	return -1;
}

/* through a door of its own, which has no O_DIRECT */
static inline void flip_bit(int fd, off_t at)
{
	char path[64], a;
	int door;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	door = open(path, O_RDWR | O_CLOEXEC);
	if (door < 0 || pread(door, &a, 1, at) != 1)
		abort();
	a ^= 4;
	if (__real_pwrite(door, &a, 1, at) != 1)
		abort();
	close(door);
}

/* short now and then; full, when it is to be */
ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t off)
{
	static int calls;
	ssize_t done;

	if ((full_now || failing) && (full_fd < 0 || fd == full_fd)) {
		errno = full_now ? ENOSPC : EIO;
		return -1;
	}
	if (not_direct_late && __real_fcntl(fd, F_GETFL, 0) & O_DIRECT) {
		errno = EINVAL;
		return -1;
	}
	if (fd == lost_fd)
		return (ssize_t)n;
	if (n > WSE_DISK_BLOCK && ++calls % 3 == 0)
		n = WSE_DISK_BLOCK;
	done = __real_pwrite(fd, buf, n, off);
	if (fd == flips_fd && done > WSE_DISK_BLOCK) /* more than a header */
		flip_bit(fd, off + done - 1);
	return done;
}

/* the first scratch file; -1: there is none */
static inline int scratch_fd(void)
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
			fd = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return fd;
}

/* the same, through a door of our own */
static inline int scratch(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", scratch_fd());
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * Behind the descriptor there is another file from now on, so the kernel itself fails what comes,
 * for io_uring as for the thread: /dev/full has no room, /dev/null ends too early, /dev/zero has
 * what was never written. 0: done
 */
static inline int becomes(int fd, const char *path, int flags)
{
	int other = open(path, flags | O_CLOEXEC), ret;

	if (fd < 0 || other < 0)
		return -1;
	ret = dup2(other, fd) == fd ? 0 : -1;
	close(other);
	return ret;
}

#endif
