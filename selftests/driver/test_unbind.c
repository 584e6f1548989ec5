// SPDX-License-Identifier: GPL-2.0
/*
 * Users in the middle of a call when the driver is unbound: the objects that they use stay until
 * they have left. Needs two processors, and preempt=full.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define MIB   1048576ul
#define SIZE  (64 * MIB) /* of a buffer, whose list in pieces then takes long to free */
#define CMDS  1000	 /* of a submit: that it looks there for long, too */
#define USERS 200
/* of a submit's commands, with a last page of their own */
#define BYTES ((CMDS * sizeof(struct drm_wse_cmd) + PAGE - 1) / PAGE * PAGE)

FIXTURE(unbind)
{
	char address[2][32];
};

FIXTURE_SETUP(unbind)
{
	int i;

	for (i = 0; i < 2; i++) {
		wse_address(i, self->address[i]);
		ASSERT_NE(0, self->address[i][0]);
	}
}

FIXTURE_TEARDOWN(unbind)
{
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* A submit that waits in the kernel for the last page of its commands. */
struct submit {
	pthread_t thread;
	int fd;
	uint32_t ctx;
	struct drm_wse_cmd *cmds;
	int ret;
};

static void *submit(void *arg)
{
	struct submit *s = arg;

	s->ret = wse_submit_syncs(s->fd, s->ctx, s->cmds, CMDS, NULL, 0, NULL, 0);
	return NULL;
}

static void *unbind(void *address)
{
	return (void *)(long)wse_unbind(address);
}

/* Users whose submits go on at even times over an unbind of that many seconds; how long it took. */
static double submits_in_unbind(struct __test_metadata *_metadata, const char *address,
				unsigned int users, double seconds)
{
	static struct drm_wse_cmd cmds[BYTES / sizeof(struct drm_wse_cmd) + 1];
	struct drm_wse_cmd far;
	struct submit user[USERS] = {};
	pthread_t remover;
	uint32_t bo, ctx, i;
	double begin, wait;
	void *ret;
	int fd, uffd;

	uffd = uffd_open();
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, wse_list_bytes(address, "4096"));
	fd = wse_open_at(address);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wse_ctx_create(fd, DRM_WSE_CTX_WAIT, &ctx));
	ASSERT_EQ(0, wse_bo_create(fd, SIZE, &bo));
	for (i = 0; i < CMDS; i++)
		cmds[i] = cmd_copy(WSE_OP_COPY_IN, bo, SIZE - PAGE, 0, 0, 0x1000, 64);
	/* it does have a list in pieces */
	far = cmds[0];
	far.off = 0;
	far.nline = 2;
	far.lstride = SIZE / 2;
	ASSERT_EQ(-EFBIG, wse_run(fd, ctx, &far, 1));
	for (i = 0; i < users; i++) {
		struct submit *s = &user[i];

		s->fd = fd;
		s->ctx = ctx;
		s->cmds = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		ASSERT_NE(MAP_FAILED, s->cmds);
		memcpy(s->cmds, cmds, BYTES - PAGE);
		ASSERT_EQ(0, uffd_hold(uffd, s->cmds, BYTES));
		ASSERT_EQ(0, pthread_create(&s->thread, NULL, submit, s));
		ASSERT_EQ(0, uffd_wait(uffd));
	}

	begin = now();
	ASSERT_EQ(0, pthread_create(&remover, NULL, unbind, (void *)address));
	for (i = 0; i < users; i++) {
		wait = begin + seconds * i / users - now();
		if (wait > 0)
			usleep(wait * 1e6);
		ASSERT_EQ(0, uffd_give(uffd, user[i].cmds, BYTES,
				       (char *)cmds + BYTES - PAGE));
	}
	pthread_join(remover, &ret);
	seconds = now() - begin;
	EXPECT_EQ(NULL, ret);
	for (i = 0; i < users; i++) {
		pthread_join(user[i].thread, NULL);
		EXPECT_TRUE(!user[i].ret || user[i].ret == -ENODEV)
			TH_LOG("user %u: %d", i, user[i].ret);
		munmap(user[i].cmds, BYTES);
	}
	close(uffd);
	close(fd);
	EXPECT_EQ(0, wse_bind(address));
	return seconds;
}

/* a submit looks into page lists, which go with the device */
TEST_F_TIMEOUT(unbind, submit, 120)
{
	int uffd = uffd_open(), i;
	double alone;

	if (uffd < 0)
		SKIP(return, "the kernel has no userfaultfd");
	close(uffd);
	alone = submits_in_unbind(_metadata, self->address[0], 0, 0);
	TH_LOG("an unbind takes %.1f ms", alone * 1000);
	for (i = 0; i < 6; i++)
		submits_in_unbind(_metadata, self->address[0], USERS, alone);
}

/* Maps an import repeatedly until its device refuses; 0, or what was wrong. */
static int map_import(int fd, uint32_t handle)
{
	struct drm_wse_bo_map map = { .handle = handle };
	int ret = wse_ioctl(fd, DRM_IOCTL_WSE_BO_MAP, &map);
	char *p;

	while (!ret) {
		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.offset);
		if (p == MAP_FAILED)
			ret = -errno;
		else
			munmap(p, PAGE);
	}
	return ret == -ENODEV ? 0 : -ret;
}

/* Exports it over and over. */
static int export_import(int fd, uint32_t handle)
{
	struct drm_prime_handle out = { .handle = handle, .flags = O_CLOEXEC | O_RDWR };
	int ret;

	while (!(ret = wse_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out)))
		close(out.fd);
	return ret == -ENODEV ? 0 : -ret;
}

static void on_processor(int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(n, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* One that only runs where the processor is idle otherwise, wherever in the kernel it is. */
static void yield_to_all(void)
{
	struct sched_param param = {};

	on_processor(0);
	sched_setscheduler(0, SCHED_IDLE, &param);
}

/* Takes the processor away from them once there is something in the pipe. */
static pid_t hog(int pipe)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	on_processor(0);
	if (read(pipe, &c, 1) == 1)
		for (;;)
			;
	_exit(1);
}

/*
 * The core looks at the attachment of an import without a lock. Some of the mappers are stopped
 * between the core's look whether the device is there and that, and go on when it has gone.
 */
TEST_F_TIMEOUT(unbind, mmap_of_an_import, 120)
{
	enum { MAPPERS = 24, EXPORTERS = 2 };
	struct drm_prime_handle dmabuf = { .flags = O_CLOEXEC | O_RDWR };
	int exporter, fd, round, i, status, go[2];
	pid_t pid[MAPPERS], busy;

	exporter = wse_open_at(self->address[1]);
	ASSERT_LE(0, exporter);
	ASSERT_EQ(0, wse_bo_create(exporter, PAGE, &dmabuf.handle));
	ASSERT_EQ(0, wse_ioctl(exporter, DRM_IOCTL_PRIME_HANDLE_TO_FD, &dmabuf));
	ASSERT_EQ(0, pipe(go));
	on_processor(1);
	for (round = 0; round < 8; round++) {
		fd = wse_open_at(self->address[0]);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, wse_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &dmabuf));
		/* processes: threads would wait for each other in mmap() */
		for (i = 0; i < MAPPERS; i++) {
			pid[i] = fork();
			ASSERT_LE(0, pid[i]);
			if (!pid[i]) {
				yield_to_all();
				_exit(i < EXPORTERS ? export_import(fd, dmabuf.handle) :
						      map_import(fd, dmabuf.handle));
			}
		}
		busy = hog(go[0]);
		usleep(100000);
		ASSERT_EQ(1, write(go[1], "", 1));
		EXPECT_EQ(0, wse_unbind(self->address[0]));
		kill(busy, SIGKILL);
		ASSERT_EQ(busy, waitpid(busy, &status, 0));
		for (i = 0; i < MAPPERS; i++) {
			ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
			EXPECT_EQ(0, status);
		}
		close(fd);
		ASSERT_EQ(0, wse_bind(self->address[0]));
	}
	close(dmabuf.fd);
	close(exporter);
}

TEST_HARNESS_MAIN
