// SPDX-License-Identifier: MIT
#include "dma_map.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/*
 * One mapping serves all ranges of a file: under a vIOMMU every 4 KiB page arrives as a map of its
 * own, with its own descriptor of the same memfd.
 */
struct dma_file {
	struct dma_file *next;
	dev_t dev;
	ino_t ino;
	char *mem;
	uint64_t size;
	bool writeable;
	size_t users;
};

struct dma_range {
	uint64_t first, last;  /* inclusive: a range may end at 2^64 - 1 */
	struct dma_file *file; /* NULL: no memory behind it */
	uint64_t offset;       /* of first in the file */
	bool readable, writeable;
};

struct wse_pci_dma {
	pthread_mutex_t lock;
	struct dma_range *ranges; /* sorted, disjoint */
	size_t count, room;
	size_t hint; /* where the last access was */
	struct dma_file *files;
};

/*
 * Only the copying thread can get the signal for its copy, so each thread has its own jump buffer.
 */
static __thread sigjmp_buf *dma_escape;

static void on_sigbus(int sig)
{
	if (dma_escape)
		siglongjmp(*dma_escape, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

int wse_pci_dma_catch_sigbus(void)
{
	/* SA_NODEFER: siglongjmp leaves the handler without restoring the signal mask */
	struct sigaction sa = {.sa_handler = on_sigbus, .sa_flags = SA_NODEFER};

	return sigaction(SIGBUS, &sa, NULL) ? -errno : 0;
}

int wse_pci_dma_create(struct wse_pci_dma **out)
{
	struct wse_pci_dma *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	*out = d;
	return 0;
}

void wse_pci_dma_destroy(struct wse_pci_dma *d)
{
	if (!d)
		return;
	dma_map_clear(d);
	pthread_mutex_destroy(&d->lock);
	free(d->ranges);
	free(d);
}

static void file_put(struct wse_pci_dma *d, struct dma_file *f)
{
	if (!f || --f->users)
		return;
	for (struct dma_file **p = &d->files; *p; p = &(*p)->next) {
		if (*p == f) {
			*p = f->next;
			break;
		}
	}
	munmap(f->mem, f->size);
	free(f);
}

static int file_get(struct wse_pci_dma *d, int fd, uint64_t need, bool writeable,
		    struct dma_file **out)
{
	struct dma_file *f;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	for (f = d->files; f; f = f->next) {
		if (f->dev == st.st_dev && f->ino == st.st_ino && need <= f->size &&
		    (f->writeable || !writeable)) {
			f->users++;
			*out = f;
			return 0;
		}
	}
	if (!S_ISREG(st.st_mode) || need > (uint64_t)st.st_size)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = (uint64_t)st.st_size;
	f->writeable = writeable;
	f->users = 1;
	f->mem = mmap(NULL, f->size, PROT_READ | (writeable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (f->mem == MAP_FAILED) {
		int err = errno;

		free(f);
		return -err;
	}
	f->next = d->files;
	d->files = f;
	*out = f;
	return 0;
}

/* Index of the first range that ends at or behind iova. */
static size_t find(const struct wse_pci_dma *d, uint64_t iova)
{
	size_t lo = 0, hi = d->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->ranges[mid].last < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int insert(struct wse_pci_dma *d, size_t at, const struct dma_range *r)
{
	if (d->count == d->room) {
		size_t room = d->room ? 2 * d->room : 64;
		struct dma_range *p = realloc(d->ranges, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		d->ranges = p;
		d->room = room;
	}
	memmove(&d->ranges[at + 1], &d->ranges[at], (d->count - at) * sizeof(*r));
	d->ranges[at] = *r;
	d->count++;
	return 0;
}

int dma_map_add(struct wse_pci_dma *d, int fd, uint64_t fd_offset, uint64_t iova, uint64_t size,
		bool readable, bool writeable)
{
	struct dma_range r = {
		.first = iova,
		.last = iova + (size - 1),
		.offset = fd_offset,
		.readable = readable,
		.writeable = writeable,
	};
	int err = 0;
	size_t at;

	if (!size || r.last < iova || fd_offset + size < size)
		return -EINVAL;
	pthread_mutex_lock(&d->lock);
	at = find(d, iova);
	if (at < d->count && d->ranges[at].first <= r.last)
		err = -EEXIST;
	else if (d->count >= DMA_MAP_MAX)
		err = -ENOSPC;
	else if (fd >= 0)
		err = file_get(d, fd, fd_offset + size, writeable, &r.file);
	if (!err) {
		err = insert(d, at, &r);
		if (err)
			file_put(d, r.file);
	}
	pthread_mutex_unlock(&d->lock);
	return err;
}

int dma_map_remove(struct wse_pci_dma *d, uint64_t iova, uint64_t size)
{
	uint64_t last = iova + (size - 1);
	size_t from, to;
	int err = 0;

	if (!size)
		return 0;
	if (last < iova)
		last = UINT64_MAX;
	pthread_mutex_lock(&d->lock);
	from = find(d, iova);
	if (from < d->count && d->ranges[from].first < iova) {
		struct dma_range *r = &d->ranges[from];
		struct dma_range right = *r;

		if (r->last >
		    last) { /* a hole in the middle: the right part becomes a separate range */
			right.offset += last + 1 - r->first;
			right.first = last + 1;
			/* as in dma_map_add(): a client must not fill the memory */
			err = d->count >= DMA_MAP_MAX ? -ENOSPC : insert(d, from + 1, &right);
			if (err)
				goto out;
			if (right.file)
				right.file->users++;
			d->ranges[from].last = iova - 1;
			goto out;
		}
		r->last = iova - 1;
		from++;
	}
	for (to = from; to < d->count && d->ranges[to].last <= last; to++)
		file_put(d, d->ranges[to].file);
	if (to < d->count && d->ranges[to].first <= last) {
		d->ranges[to].offset += last + 1 - d->ranges[to].first;
		d->ranges[to].first = last + 1;
	}
	if (to > from) /* else there may be no array yet */
		memmove(&d->ranges[from], &d->ranges[to], (d->count - to) * sizeof(*d->ranges));
	d->count -= to - from;
out:
	pthread_mutex_unlock(&d->lock);
	return err;
}

void dma_map_clear(struct wse_pci_dma *d)
{
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count; i++)
		file_put(d, d->ranges[i].file);
	d->count = 0;
	pthread_mutex_unlock(&d->lock);
}

bool wse_pci_dma_shared(struct wse_pci_dma *d)
{
	bool shared = false;

	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->count && !shared; i++)
		shared = d->ranges[i].file;
	pthread_mutex_unlock(&d->lock);
	return shared;
}

static bool covers(const struct wse_pci_dma *d, size_t i, uint64_t iova)
{
	return i < d->count && d->ranges[i].first <= iova && iova <= d->ranges[i].last;
}

/* Whether all of it is mapped. Gives the index of the first range. */
static bool reachable(struct wse_pci_dma *d, uint64_t iova, size_t len, bool write, size_t *first)
{
	size_t i = covers(d, d->hint, iova) ? d->hint : find(d, iova);

	*first = i;
	if (iova + (len - 1) < iova)
		return false;
	for (uint64_t at = iova, left = len; left; i++) {
		const struct dma_range *r;
		uint64_t n;

		if (!covers(d, i, at))
			return false;
		r = &d->ranges[i];
		if (!r->file || !(write ? r->writeable : r->readable))
			return false;
		n = r->last - at;
		if (n >= left - 1)
			break;
		left -= n + 1;
		at += n + 1;
	}
	d->hint = *first;
	return true;
}

/* Never inlined: its variables change while the jump buffer of the caller is live. */
static __attribute__((noinline)) void copy(struct wse_pci_dma *d, size_t i, uint64_t iova,
					   char *buf, size_t len, bool write)
{
	for (; len; i++) {
		const struct dma_range *r = &d->ranges[i];
		uint64_t n = r->last - iova;
		char *mem = r->file->mem + r->offset + (iova - r->first);

		n = n >= len - 1 ? len : n + 1;
		if (write)
			memcpy(mem, buf, n);
		else
			memcpy(buf, mem, n);
		buf += n;
		iova += n;
		len -= n;
	}
}

static int guarded_copy(struct wse_pci_dma *d, size_t i, uint64_t iova, char *buf, size_t len,
			bool write)
{
	sigjmp_buf escape;

	if (sigsetjmp(escape, 0)) {
		dma_escape = NULL;
		return -EFAULT;
	}
	dma_escape = &escape;
	copy(d, i, iova, buf, len, write);
	dma_escape = NULL;
	return 0;
}

static int access_guest(struct wse_pci_dma *d, uint64_t iova, char *buf, size_t len, bool write)
{
	int err = -EFAULT;
	size_t first;

	if (!len)
		return 0;
	pthread_mutex_lock(&d->lock);
	if (reachable(d, iova, len, write, &first))
		err = guarded_copy(d, first, iova, buf, len, write);
	pthread_mutex_unlock(&d->lock);
	return err;
}

int wse_pci_dma_read(struct wse_pci_dma *d, uint64_t iova, void *buf, size_t len)
{
	return access_guest(d, iova, buf, len, false);
}

int wse_pci_dma_write(struct wse_pci_dma *d, uint64_t iova, const void *buf, size_t len)
{
	return access_guest(d, iova, (char *)buf, len, true);
}
