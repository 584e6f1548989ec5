// SPDX-License-Identifier: MIT
/* A scratch file, read and written behind the caller's back. */
#define _GNU_SOURCE /* O_DIRECT, fallocate */
#include "memx/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"

#define ENTRIES 32u /* more than there are requests at a time */

struct wse_disk {
	int fd, direct, way;
	uint32_t begun; /* and not finished */
	struct io_uring ring;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct wse_disk_io *first, **last; /* of the thread */
	int stop;
};

/* ---- io_uring ---- */

static int ring_begin(struct wse_disk *d, struct wse_disk_io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&d->ring);
	char *buf = (char *)io->buf + io->done;
	unsigned int len = (unsigned int)(io->len - io->done);
	int ret;

	if (!sqe)
		return -EBUSY;
	if (io->write)
		io_uring_prep_write(sqe, d->fd, buf, len, io->off + io->done);
	else
		io_uring_prep_read(sqe, d->fd, buf, len, io->off + io->done);
	io_uring_sqe_set_data(sqe, io);
	do
		ret = io_uring_submit(&d->ring);
	while (ret == -EINTR || ret == -EAGAIN);
	return ret < 0 ? ret : 0;
}

/* what one completion says of its request, which goes on when it came back short */
static void ring_reap(struct wse_disk *d, struct io_uring_cqe *cqe)
{
	struct wse_disk_io *io = io_uring_cqe_get_data(cqe);
	int n = cqe->res;

	io_uring_cqe_seen(&d->ring, cqe);
	if (n > 0)
		io->done += (size_t)n;
	else if (!n)
		io->err = -ENODATA;
	else if (n != -EINTR && n != -EAGAIN)
		io->err = n;
	if (!io->err && io->done < io->len)
		io->err = ring_begin(d, io);
	else
		io->finished = 1;
	if (io->err)
		io->finished = 1;
	d->begun -= io->finished != 0;
}

static int ring_wait(struct wse_disk *d, const struct wse_disk_io *io)
{
	while (io ? !io->finished : d->begun) {
		struct io_uring_cqe *cqe;
		int ret = io_uring_wait_cqe(&d->ring, &cqe);

		if (ret == -EINTR || ret == -EAGAIN)
			continue;
		if (ret)
			return ret;
		ring_reap(d, cqe);
	}
	return 0;
}

/* ---- the thread ---- */

static void do_io(const struct wse_disk *d, struct wse_disk_io *io)
{
	while (io->done < io->len && !io->err) {
		char *buf = (char *)io->buf + io->done;
		off_t off = (off_t)(io->off + io->done);
		ssize_t n = io->write ? pwrite(d->fd, buf, io->len - io->done, off)
				      : pread(d->fd, buf, io->len - io->done, off);

		if (n > 0)
			io->done += (size_t)n;
		else if (!n)
			io->err = -ENODATA;
		else if (errno != EINTR)
			io->err = -errno;
	}
}

static void *worker(void *arg)
{
	struct wse_disk *d = arg;

	pthread_mutex_lock(&d->lock);
	while (!d->stop || d->first) {
		struct wse_disk_io *io = d->first;

		if (!io) {
			pthread_cond_wait(&d->cond, &d->lock);
			continue;
		}
		d->first = io->next;
		if (!d->first)
			d->last = &d->first;
		pthread_mutex_unlock(&d->lock);
		do_io(d, io);
		pthread_mutex_lock(&d->lock);
		io->finished = 1;
		pthread_cond_broadcast(&d->cond);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- both ---- */

void wse_disk_begin(struct wse_disk *d, struct wse_disk_io *io)
{
	io->done = 0;
	io->err = io->finished = 0;
	io->next = NULL;
	if (d->way == WSE_DISK_IO_URING) {
		d->begun++;
		io->err = ring_begin(d, io);
		if (io->err) {
			io->finished = 1;
			d->begun--;
		}
		return;
	}
	pthread_mutex_lock(&d->lock);
	*d->last = io;
	d->last = &io->next;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

int wse_disk_wait(struct wse_disk *d, struct wse_disk_io *io)
{
	int ret = 0;

	if (d->way == WSE_DISK_IO_URING) {
		ret = ring_wait(d, io);
	} else {
		pthread_mutex_lock(&d->lock);
		while (!io->finished)
			pthread_cond_wait(&d->cond, &d->lock);
		pthread_mutex_unlock(&d->lock);
	}
	return ret ? ret : io->err;
}

int wse_disk_way(const struct wse_disk *d, int *direct)
{
	if (direct)
		*direct = d->direct;
	return d->way;
}

/* past the page cache, if the file system takes a block that way */
static int go_direct(int fd)
{
	void *block;
	int ok = 0;

	if (posix_memalign(&block, WSE_DISK_BLOCK, WSE_DISK_BLOCK))
		return 0;
	memset(block, 0, WSE_DISK_BLOCK);
	if (!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT)) {
		ok = pwrite(fd, block, WSE_DISK_BLOCK, 0) == WSE_DISK_BLOCK;
		if (!ok)
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
	}
	free(block);
	return ok;
}

static int make_file(const char *dir, const char *what, uint64_t bytes, int *fd)
{
	struct statvfs v = {0};
	char path[4200];

	if (snprintf(path, sizeof(path), "%s/.wse-memx-XXXXXX", dir) >= (int)sizeof(path))
		return wse_fail(-ENAMETOOLONG, "%.200s: the path is too long", dir);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return wse_fail(-errno, "no file can be made in %.200s: %s", dir, strerror(errno));
	unlink(path);
	/* room now rather than an error in the middle of a step; not every file system can say */
	if (!fallocate(*fd, 0, 0, (off_t)bytes))
		return 0;
	fstatvfs(*fd, &v);
	if (errno == ENOSPC || (uint64_t)v.f_bavail * v.f_frsize < bytes)
		return wse_fail(-ENOSPC,
				"%.200s has %.1f MB left, the %s take %.1f MB there: make room, "
				"or raise memory_limit",
				dir, (double)v.f_bavail * (double)v.f_frsize * 1e-6, what,
				(double)bytes * 1e-6);
	if (ftruncate(*fd, (off_t)bytes))
		return wse_fail(-errno, "a file of %.1f MB in %.200s: %s", (double)bytes * 1e-6,
				dir, strerror(errno));
	return 0;
}

const char *wse_disk_note(const char *dir)
{
	struct statfs f;

	if (statfs(dir, &f))
		return NULL;
	switch ((unsigned long)f.f_type & 0xffffffff) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return "are in memory, beside what memory_limit counts: choose a model_dir on a "
		       "disk";
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
		return "go over the network in each step: a model_dir on a disk of this host is "
		       "faster";
	default:
		return NULL;
	}
}

int wse_disk_open(const char *dir, const char *what, uint64_t bytes, struct wse_disk **disk)
{
	struct wse_disk *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return wse_fail(-ENOMEM, "no memory");
	d->fd = -1;
	d->last = &d->first;
	ret = make_file(dir, what, bytes, &d->fd);
	if (ret)
		goto fail;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->direct = go_direct(d->fd);
	/* EPERM in containers, ENOSYS in old kernels; without O_DIRECT io_uring has no advantage */
	d->way = d->direct && !io_uring_queue_init(ENTRIES, &d->ring, 0) ? WSE_DISK_IO_URING
									 : WSE_DISK_THREAD;
	if (d->way == WSE_DISK_THREAD) {
		ret = -pthread_create(&d->thread, NULL, worker, d);
		if (ret) {
			pthread_mutex_destroy(&d->lock);
			pthread_cond_destroy(&d->cond);
			wse_fail(ret, "a thread: %s", strerror(-ret));
			goto fail;
		}
	}
	*disk = d;
	return 0;
fail:
	if (d->fd >= 0)
		close(d->fd);
	free(d);
	return ret;
}

void wse_disk_close(struct wse_disk *d)
{
	if (d->way == WSE_DISK_IO_URING) {
		ring_wait(d, NULL);
		io_uring_queue_exit(&d->ring);
	} else {
		pthread_mutex_lock(&d->lock);
		d->stop = 1;
		pthread_cond_broadcast(&d->cond);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->cond);
	close(d->fd);
	free(d);
}
