// SPDX-License-Identifier: GPL-2.0
/*
 * A leak of the core, and that it does not pin the module: a process that is interrupted in
 * SYNCOBJ_TRANSFER while another one puts a fence into the syncobj loses a reference to that fence
 * (driver/upstream has the patch). Two processors and preempt=full make it happen within seconds.
 */
#include <stdatomic.h>
#include <pthread.h>
#include <signal.h>

#include "wse_test.h"
#include "kselftest_harness.h"

#define WAITERS 4

static struct {
	int fd;
	uint32_t ctx, source;
	atomic_int stop;
	unsigned int interrupted, transferred;
} race;

static void on_signal(int sig)
{
	(void)sig;
}

static void *transfer(void *arg)
{
	struct drm_syncobj_transfer args = {
		.src_handle = race.source,
		.dst_handle = syncobj_create(race.fd),
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	int ret;

	(void)arg;
	while (!race.stop) {
		ret = wse_ioctl(race.fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &args);
		if (ret == -EINTR)
			__atomic_add_fetch(&race.interrupted, 1, __ATOMIC_RELAXED);
		else if (!ret)
			__atomic_add_fetch(&race.transferred, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *submit(void *arg)
{
	struct drm_syncobj_array array = { .handles = (uintptr_t)&race.source, .count_handles = 1 };
	struct drm_wse_sync out = { .handle = race.source };
	struct drm_wse_cmd nop = cmd_nop(1);

	(void)arg;
	while (!race.stop) {
		wse_submit_syncs(race.fd, race.ctx, &nop, 1, NULL, 0, &out, 1);
		wse_ioctl(race.fd, DRM_IOCTL_SYNCOBJ_RESET, &array);
	}
	/* for tasks that still wait */
	wse_submit_syncs(race.fd, race.ctx, &nop, 1, NULL, 0, &out, 1);
	return NULL;
}

static long references(void)
{
	FILE *f = fopen("/sys/module/wse/refcnt", "r");
	long n = -1;

	if (f) {
		if (fscanf(f, "%ld", &n) != 1)
			n = -1;
		fclose(f);
	}
	return n;
}

TEST(interrupted_transfers)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t waiter[WAITERS], submitter;
	struct timespec begin, now;
	int i;

	sigaction(SIGUSR1, &action, NULL);
	race.fd = wse_open_nth(0);
	ASSERT_LE(0, race.fd);
	ASSERT_EQ(0, wse_ctx_create(race.fd, 0, &race.ctx));
	race.source = syncobj_create(race.fd);
	for (i = 0; i < WAITERS; i++)
		ASSERT_EQ(0, pthread_create(&waiter[i], NULL, transfer, NULL));
	ASSERT_EQ(0, pthread_create(&submitter, NULL, submit, NULL));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (i = 0; i < WAITERS; i++)
			pthread_kill(waiter[i], SIGUSR1);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 6);
	race.stop = 1;
	pthread_join(submitter, NULL);
	for (i = 0; i < WAITERS; i++)
		pthread_join(waiter[i], NULL);
	TH_LOG("%u transfers, %u interrupted", race.transferred, race.interrupted);
	close(race.fd);
	usleep(500000);
	EXPECT_EQ(0, references());
}

TEST_HARNESS_MAIN
