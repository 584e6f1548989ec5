// SPDX-License-Identifier: GPL-2.0
/*
 * Places of arguments in memory, and injected failures of calls. An arena is six pages: two good
 * ones, a hole, a read-only one, a hole, a good one.
 */
#include <sys/mman.h>
#include <sys/types.h>

#include "fuzz.h"

#define GOOD	0
#define HOLE	(2 * PAGE)
#define RDONLY	(3 * PAGE)
#define AGAIN	(5 * PAGE)
#define ARENA	(6 * PAGE)

/* NULL if there is no memory */
char *arena_map(void)
{
	char *a = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (a == MAP_FAILED)
		return NULL;
	if (munmap(a + HOLE, PAGE) || munmap(a + 4 * PAGE, PAGE) ||
	    mprotect(a + RDONLY, PAGE, PROT_READ))
		return NULL;
	return a;
}

/* Values of a member that are bad at its border. */
uint64_t odd_value(struct fuzz_rng *r)
{
	static const uint64_t odd[] = {
		0,
		1,
		2,
		7,
		8,
		63,
		64,
		255,
		256,
		1023,
		1024,
		4095,
		4096,
		4097,
		0x7fff,
		0x8000,
		0xffff,
		0x10000,
		0x7fffffff,
		0x80000000,
		0xfffffff8,
		0xffffffff,
		0x100000000,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xfffffffffffff000,
		0xfffffffffffffff8,
		0xffffffffffffffff,
		WSE_SRAM_BASE,
		0x10000000000,
		0x10000000001,
	};

	switch (below(r, 4)) {
	case 0:
		return rnd(r);
	case 1:
		return 1ull << below(r, 64);
	case 2:
		return below(r, 70000);
	default:
		return odd[below(r, sizeof(odd) / sizeof(*odd))];
	}
}

/* A pointer that is to be followed: mostly good. */
uint64_t odd_pointer(struct fuzz_worker *w, uint64_t good)
{
	struct fuzz_file *f = &w->files[0];

	switch (below(&w->rng, 100)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000ull + below(&w->rng, 1 << 30);
	case 2:
		return 0x800000000000ull - below(&w->rng, 64);
	case 3:
		return (uintptr_t)w->arena + HOLE - below(&w->rng, 40);
	case 4:
		return good + 1;
	case 5:
		return (uintptr_t)w->arena + RDONLY;
	case 6: /* memory of a buffer: its pages may vanish with the device */
		if (f->nbo && f->bo[0].map && f->bo[0].size >= PAGE)
			return (uintptr_t)f->bo[0].map;
		return good;
	default:
		return good;
	}
}

/* A copy of data at a place where the kernel may find it, all, in part, or not. */
void *place(struct fuzz_worker *w, const void *data, size_t size, bool *writable)
{
	char *a = w->arena;

	*writable = true;
	if (size > 1024)
		size = 1024;
	switch (below(&w->rng, 100)) {
	case 0: /* the end is in the hole */
		a += HOLE - (size ? 1 + below(&w->rng, size) : 0);
		memcpy(a, data, w->arena + HOLE - a);
		*writable = false;
		return a;
	case 1: /* the last byte is the page's */
		a += HOLE - size;
		break;
	case 2: /* in two pages */
		a += PAGE - size / 2;
		break;
	case 3: /* the answer cannot be written */
		*writable = false;
		if (mprotect(a + RDONLY, PAGE, PROT_READ | PROT_WRITE))
			return a;
		memcpy(a + RDONLY, data, size);
		mprotect(a + RDONLY, PAGE, PROT_READ);
		return a + RDONLY;
	case 4:
		*writable = false;
		return (void *)(uintptr_t)odd_value(&w->rng);
	case 5: /* a page that is not there yet */
		a += AGAIN;
		madvise(a, PAGE, MADV_DONTNEED);
		break;
	default:
		a += below(&w->rng, 128) * 8;
	}
	memcpy(a, data, size);
	return a;
}

/* This thread's file of that name in /proc, or -1. */
static int own_file(const char *name, int *fd, pid_t *tid)
{
	char path[64];

	if (*tid == gettid())
		return *fd;
	/* a child has its parent's, which is about the parent */
	if (*tid)
		close(*fd);
	*tid = gettid();
	snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
	*fd = open(path, O_RDWR | O_CLOEXEC);
	return *fd;
}

static __thread struct {
	int nth, often;
	pid_t nth_tid, often_tid;
} inject;

enum { INJECT_NONE, INJECT_NTH, INJECT_OFTEN };

/* Makes the n-th step of the next system call fail; or each step with a probability. */
static int inject_begin(struct fuzz_worker *w)
{
	int fd, n;
	char text[16];

	if (!opt.fail || !percent(&w->rng, opt.fail))
		return INJECT_NONE;
	/* only root may */
	if (w->root && percent(&w->rng, 30)) {
		fd = own_file("make-it-fail", &inject.often, &inject.often_tid);
		return pwrite(fd, "1", 1, 0) == 1 ? INJECT_OFTEN : INJECT_NONE;
	}
	fd = own_file("fail-nth", &inject.nth, &inject.nth_tid);
	n = snprintf(text, sizeof(text), "%u",
		     1 + (unsigned int)below(&w->rng, percent(&w->rng, 60) ? 6 : 40));
	return pwrite(fd, text, n, 0) == n ? INJECT_NTH : INJECT_NONE;
}

static void inject_end(int how)
{
	int error = errno;
	char text[16] = "";

	if (how == INJECT_OFTEN)
		while (pwrite(inject.often, "0", 1, 0) != 1 && errno == EFAULT)
			;
	/* this read may fail too: then nothing had before */
	if (how == INJECT_NTH && pread(inject.nth, text, sizeof(text), 0) > 0) {
		if (text[0] == '0')
			count(&stats->injected);
		else
			pwrite(inject.nth, "0", 1, 0);
	}
	errno = error;
}

/* The ioctl, with its argument somewhere. arg gets the answer if it could be written there. */
int call(struct fuzz_worker *w, int fd, unsigned long request, void *arg, size_t size)
{
	bool writable;
	void *at = place(w, arg, size, &writable);
	int how = inject_begin(w);
	int ret = ioctl(fd, request, at) < 0 ? -errno : 0;

	inject_end(how);
	count(&stats->ioctls);
	if (ret == -EINTR)
		count(&stats->eintr);
	else if (ret == -EFAULT)
		count(&stats->efault);
	if (writable && size <= 1024)
		memcpy(arg, at, size);
	return ret;
}
