// SPDX-License-Identifier: GPL-2.0
/* Operations of a process on its files, except submits and syncobjs. */
#include <linux/udmabuf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "fuzz.h"

/* A call that waits is interrupted some time, at the latest after so many milliseconds. */
void set_alarm(struct fuzz_worker *w, unsigned int ms)
{
	unsigned int us = below(&w->rng, percent(&w->rng, 20) ? 500 : ms * 1000);
	struct itimerval timer = {.it_value = {.tv_usec = 1 + us},
				  .it_interval = {.tv_usec = 20000}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* --- files that stand for buffers and fences -------------------------------------------------- */

void keep_fd(struct fuzz_worker *w, int fd)
{
	int *slot = &w->fds[below(&w->rng, MAX_FDS)];

	if (fd < 0)
		return;
	if (*slot >= 0)
		close(*slot);
	*slot = fd;
}

/* One of them, or a file that is something else altogether. */
int any_fd(struct fuzz_worker *w)
{
	int fd = w->fds[below(&w->rng, MAX_FDS)];

	return fd < 0 || percent(&w->rng, 2) ? (int)below(&w->rng, 40) - 1 : fd;
}

static bool op_udmabuf(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct udmabuf_create create = { .size = PAGE * (1 + below(&w->rng, 16)) };
	int mem = opt.udmabuf ? memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC) : -1;
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;

	(void)f;
	create.memfd = mem;
	if (mem >= 0 && !ftruncate(mem, create.size) && !fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	keep_fd(w, fd);
	close(mem);
	close(dev);
	return fd >= 0;
}

/* Another process gets a file, or one of another process comes here. */
static bool op_mail(struct fuzz_worker *w, struct fuzz_file *f)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd = percent(&w->rng, 10) ? f->fd : w->fds[below(&w->rng, MAX_FDS)];

	if (fd >= 0 && percent(&w->rng, 40)) {
		*c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		return sendmsg(w->mailbox[0], &msg, MSG_DONTWAIT) == 1;
	}
	if (recvmsg(w->mailbox[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return false;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	keep_fd(w, fd);
	return true;
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void drop_bo(struct fuzz_worker *w, struct fuzz_file *f, unsigned int i)
{
	struct drm_gem_close close = { .handle = f->bo[i].handle };
	unsigned int n;

	if (f->bo[i].map)
		munmap(f->bo[i].map, f->bo[i].size);
	call(w, f->fd, DRM_IOCTL_GEM_CLOSE, &close, sizeof(close));
	/* other threads of op_threads() do this too, on the same list */
	n = f->nbo;
	if (!n)
		return;
	f->bo[i] = f->bo[n - 1];
	f->nbo = n - 1;
}

static void add_bo(struct fuzz_worker *w, struct fuzz_file *f, uint32_t handle, uint64_t size)
{
	unsigned int i;

	/* the same buffer, imported again, has the same handle */
	for (i = 0; i < f->nbo; i++)
		if (f->bo[i].handle == handle)
			return;
	if (f->nbo == MAX_BOS)
		drop_bo(w, f, below(&w->rng, f->nbo));
	f->bo[f->nbo++] = (struct fuzz_bo){ .handle = handle, .size = size };
}

static bool op_bo_create(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_wse_bo_create c = { .size = PAGE * (1 + below(&w->rng, 12)) };

	if (percent(&w->rng, 3))
		c.size = PAGE * below(&w->rng, 2048);
	if (percent(&w->rng, 5))
		c.size = odd_value(&w->rng);
	if (percent(&w->rng, 2))
		c.flags = odd_value(&w->rng);
	/* what there is not is refused; what there is makes the guest swap */
	if (c.size > 64 << 20 && c.size < 1ull << 34)
		c.size = 0;
	if (call(w, f->fd, DRM_IOCTL_WSE_BO_CREATE, &c, sizeof(c)))
		return false;
	add_bo(w, f, c.handle, (c.size + PAGE - 1) & ~(uint64_t)(PAGE - 1));
	return true;
}

static bool op_bo_map(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct fuzz_bo *bo = &f->bo[below(&w->rng, f->nbo)];
	struct drm_wse_bo_map map = { .handle = f->nbo ? bo->handle : 0 };
	volatile char *p;

	if (percent(&w->rng, 3))
		map.handle = odd_value(&w->rng);
	if (call(w, f->fd, DRM_IOCTL_WSE_BO_MAP, &map, sizeof(map)) || !f->nbo || bo->map)
		return false;
	if (percent(&w->rng, 5))
		map.offset = odd_value(&w->rng) & ~4095ull;
	p = mmap(NULL, bo->size, PROT_READ | PROT_WRITE,
		 percent(&w->rng, 90) ? MAP_SHARED : MAP_PRIVATE, f->fd, map.offset);
	if (p == MAP_FAILED)
		return false;
	bo->map = (void *)p;
	p[below(&w->rng, bo->size)] = 1;
	return true;
}

static bool op_bo_close(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_gem_close close = { .handle = odd_value(&w->rng) };

	if (percent(&w->rng, 5))
		return !call(w, f->fd, DRM_IOCTL_GEM_CLOSE, &close, sizeof(close));
	if (f->nbo < 3)
		return false;
	drop_bo(w, f, below(&w->rng, f->nbo));
	return true;
}

static bool op_export(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_prime_handle h = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };

	h.handle = f->nbo && percent(&w->rng, 95) ? f->bo[below(&w->rng, f->nbo)].handle :
						    odd_value(&w->rng);
	if (percent(&w->rng, 3))
		h.flags = odd_value(&w->rng);
	if (call(w, f->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &h, sizeof(h)))
		return false;
	keep_fd(w, h.fd);
	return true;
}

static bool op_import(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_prime_handle h = { .fd = any_fd(w) };
	off_t size = lseek(h.fd, 0, SEEK_END);

	if (call(w, f->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &h, sizeof(h)))
		return false;
	if (size > 0)
		add_bo(w, f, h.handle, size);
	return true;
}

/* --- contexts and the rest --- */

static bool has_lease(const struct fuzz_worker *w)
{
	unsigned int i;

	for (i = 0; i < MAX_FILES; i++)
		if (w->files[i].ctx)
			return true;
	return false;
}

static bool op_ctx(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_wse_ctx_create c = { .flags = percent(&w->rng, 15) ? DRM_WSE_CTX_WAIT : 0 };
	struct drm_wse_ctx_destroy d = { .ctx = f->ctx };
	int ret;

	if (f->ctx && (w->lost || percent(&w->rng, 5))) {
		set_alarm(w, 300);
		ret = call(w, f->fd, DRM_IOCTL_WSE_CTX_DESTROY, &d, sizeof(d));
		if (!ret) {
			f->ctx = 0;
			w->lost = false;
		} else if (w->lost) {
			file_close(f);
		}
		return !ret;
	}
	if (f->ctx)
		return false;
	if (percent(&w->rng, 2))
		c.flags = odd_value(&w->rng);
	/*
	 * a process with another device does not wait long for this one, which it may have itself
	 */
	set_alarm(w, has_lease(w) ? 2 : 600);
	ret = call(w, f->fd, DRM_IOCTL_WSE_CTX_CREATE, &c, sizeof(c));
	/* it may have the lease and not know its name */
	if (ret == -EFAULT || ret == -ENODEV || ret == -EIO)
		file_close(f);
	if (ret)
		return false;
	count(&stats->leases);
	w->lost = false;
	f->ctx = c.ctx;
	return true;
}

static bool op_query(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct drm_wse_info info;
	struct drm_wse_query q = { .ptr = odd_pointer(w, (uintptr_t)&info), .size = sizeof(info) };
	struct drm_wse_fault fault = { .ctx = percent(&w->rng, 90) ? f->ctx : odd_value(&w->rng) };
	char name[64], text[64];
	struct drm_version v = { .name = (void *)(uintptr_t)odd_pointer(w, (uintptr_t)name),
				 .name_len = sizeof(name), .desc = text, .desc_len = sizeof(text) };
	struct drm_get_cap cap = { .capability = below(&w->rng, 24) };
	uint64_t values[64];
	struct drm_wse_counters counters = {
		.scope = percent(&w->rng, 90) ? below(&w->rng, 4) : odd_value(&w->rng),
		.object = percent(&w->rng, 80) ? below(&w->rng, 4) : odd_value(&w->rng),
		.ptr = odd_pointer(w, (uintptr_t)values),
		.count = below(&w->rng, 65),
	};

	switch (below(&w->rng, 5)) {
	case 3:
		return !call(w, f->fd, DRM_IOCTL_WSE_COUNTERS, &counters, sizeof(counters));
	case 0:
		return !call(w, f->fd, DRM_IOCTL_VERSION, &v, sizeof(v));
	case 1:
		return !call(w, f->fd, DRM_IOCTL_GET_CAP, &cap, sizeof(cap));
	case 2:
		if (call(w, f->fd, DRM_IOCTL_WSE_FAULT, &fault, sizeof(fault)))
			return false;
		count(&stats->faults);
		return true;
	default:
		if (percent(&w->rng, 10))
			q.size = below(&w->rng, 2 * sizeof(info)) < sizeof(info)
					 ? below(&w->rng, 80)
					 : 0;
		return !call(w, f->fd, DRM_IOCTL_WSE_QUERY, &q, sizeof(q));
	}
}

/* Any number, size and direction, with anything in the argument. */
static bool op_raw(struct fuzz_worker *w, struct fuzz_file *f)
{
	uint64_t data[64], i;
	unsigned int nr =
		percent(&w->rng, 50) ? DRM_COMMAND_BASE + below(&w->rng, 9) : below(&w->rng, 256);
	unsigned int size =
		percent(&w->rng, 60) ? 8 * (1 + below(&w->rng, 12)) : below(&w->rng, 512);

	for (i = 0; i < 64; i++)
		data[i] = percent(&w->rng, 50) ? 0 : odd_value(&w->rng);
	set_alarm(w, 5);
	return !call(w, f->fd, _IOC(below(&w->rng, 4), percent(&w->rng, 95) ? 'd' : 'x', nr, size),
		     data, sizeof(data));
}

static bool op_file(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	uint64_t before = rnd(&w->rng);
	char path[64], text[1024];
	void *m;

	switch (below(&w->rng, 6)) {
	case 0:
		return poll(&p, 1, 0) >= 0;
	case 1:
		fcntl(f->fd, F_SETFL, O_NONBLOCK);
		return read(f->fd, text, sizeof(text)) >= 0;
	case 2:
		m = mmap(NULL, PAGE * (1 + below(&w->rng, 4)), PROT_READ | PROT_WRITE, MAP_SHARED,
			 f->fd, 0x100000000ull + PAGE * below(&w->rng, 256));
		if (m == MAP_FAILED)
			return false;
		munmap(m, PAGE);
		munmap(m, 4 * PAGE);
		return true;
	case 3:
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", f->fd);
		wse_slurp(path, text, sizeof(text));
		return text[0];
	case 4:
		keep_fd(w, dup(f->fd));
		return true;
	default:
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%.31s/%s",
			 opt.address[f->dev],
			 before % 4 == 0   ? "rings"
			 : before % 4 == 1 ? "jobs"
			 : before % 4 == 2 ? "lease"
					   : "fault");
		wse_slurp(path, text, sizeof(text));
		return text[0];
	}
}

void file_open(struct fuzz_worker *w, struct fuzz_file *f)
{
	*f = (struct fuzz_file){ .dev = below(&w->rng, opt.ndev) };
	f->fd = wse_open_at(opt.address[f->dev]);
	if (f->fd < 0) {
		f->fd = -1;
		/* it is about to be bound again */
		usleep(2000);
		return;
	}
	w->lost = false;
	op_bo_create(w, f);
	op_bo_create(w, f);
	op_ctx(w, f);
}

void file_close(struct fuzz_file *f)
{
	unsigned int i;

	for (i = 0; i < f->nbo; i++)
		if (f->bo[i].map)
			munmap(f->bo[i].map, f->bo[i].size);
	f->nbo = 0;
	f->nsync = 0;
	f->ctx = 0;
	close(f->fd);
	f->fd = -1;
}

/* --- many at once --- */

static void *thread(void *arg)
{
	struct fuzz_worker *w = arg;

	run_ops(w, 3 + below(&w->rng, 10));
	return NULL;
}

/*
 * Two threads with the same files: closes, destroys and unmaps meet calls that are in the middle.
 */
static bool op_threads(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct fuzz_worker t[2] = { *w, *w };
	pthread_t id[2];
	sigset_t alarm;
	int i, n = 0;

	(void)f;
	if (w->depth > 1)
		return false;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	for (i = 0; i < 2; i++) {
		t[i].rng.state = rnd(&w->rng);
		t[i].depth++;
		t[i].arena = arena_map();
		if (t[i].arena && !pthread_create(&id[n], NULL, thread, &t[i]))
			n++;
	}
	/* it is for threads that wait in a call */
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	set_alarm(w, 20);
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	for (i = 0; i < 2; i++)
		if (t[i].arena)
			munmap(t[i].arena, 6 * PAGE);
	return n == 2;
}

/* A child with the same files, which is killed some time, unless it ends before. */
static bool op_fork(struct fuzz_worker *w, struct fuzz_file *f)
{
	pid_t pid, parent = getpid();

	(void)f;
	if (w->depth)
		return false;
	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		w->depth = 2;
		w->rng.state ^= 0x5555;
		run_ops(w, 5 + below(&w->rng, 30));
		_exit(0);
	}
	rnd(&w->rng);
	usleep(below(&w->rng, 8000));
	if (percent(&w->rng, 70))
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		if (__atomic_load_n(&stats->stop, __ATOMIC_RELAXED))
			kill(pid, SIGKILL);
	return true;
}

/* This process is killed in a moment, wherever it is then. */
static bool op_doom(struct fuzz_worker *w, struct fuzz_file *f)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec in = { .it_value = { .tv_nsec = 1 + below(&w->rng, 20000000) } };
	timer_t timer;

	(void)f;
	return !w->depth && percent(&w->rng, 5) && !timer_create(CLOCK_MONOTONIC, &event, &timer) &&
	       !timer_settime(timer, 0, &in, NULL);
}

static bool op_close(struct fuzz_worker *w, struct fuzz_file *f)
{
	if (!percent(&w->rng, 20))
		return false;
	file_close(f);
	return true;
}

static const struct {
	const char *name;
	bool (*run)(struct fuzz_worker *w, struct fuzz_file *f);
	unsigned int weight;
} ops[] = {
	{"submit", op_submit, 400}, {"sync", op_sync, 200},	   {"bo create", op_bo_create, 40},
	{"bo map", op_bo_map, 30},  {"bo close", op_bo_close, 40}, {"export", op_export, 30},
	{"import", op_import, 40},  {"udmabuf", op_udmabuf, 8},	   {"mail", op_mail, 30},
	{"context", op_ctx, 30},    {"query", op_query, 30},	   {"raw", op_raw, 40},
	{"file", op_file, 25},	    {"threads", op_threads, 4},	   {"fork", op_fork, 2},
	{"doom", op_doom, 6},	    {"close", op_close, 8},	   {"dmabuf", op_dmabuf, 40},
};

#define N_OPS (sizeof(ops) / sizeof(*ops))

const char *op_name(unsigned int i)
{
	return i < N_OPS ? ops[i].name : NULL;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void run_ops(struct fuzz_worker *w, unsigned int n)
{
	unsigned int i, total = 0, pick;
	uint64_t began;

	for (i = 0; i < N_OPS; i++)
		total += ops[i].weight;
	while (n-- && !__atomic_load_n(&stats->stop, __ATOMIC_RELAXED)) {
		struct fuzz_file *f =
			&w->files[percent(&w->rng, 80) ? 0 : below(&w->rng, MAX_FILES)];

		count(&stats->ops);
		if (f->fd < 0) {
			file_open(w, f);
			continue;
		}
		pick = below(&w->rng, total);
		for (i = 0; pick >= ops[i].weight; i++)
			pick -= ops[i].weight;
		/*
		 * without a lease there is nothing to submit to, and a lost one must be given back
		 */
		if (ops[i].run == op_submit &&
		    (f->ctx ? w->lost : percent(&w->rng, has_lease(w) ? 3 : 50)))
			op_ctx(w, f);
		if (f->fd < 0)
			continue;
		if (ops[i].run == op_submit && !f->ctx && !percent(&w->rng, 1))
			continue;
		count(&stats->op_calls[i]);
		began = thread_ns();
		if (ops[i].run(w, f))
			count(&stats->op_good[i]);
		__atomic_add_fetch(&stats->op_ns[i], thread_ns() - began, __ATOMIC_RELAXED);
	}
}
