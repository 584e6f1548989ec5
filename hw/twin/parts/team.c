// SPDX-License-Identifier: MIT
/* Threads of a model: see team.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "twin/exact/fp.h"
#include "twin/parts/team.h"
#include "twin/twin.h"

/* a turn of a loop that looks for another thread's write */
static inline void twin_pause(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#define SPINS 4000u /* some tens of microseconds */

struct worker {
	struct twin_team *team;
	pthread_t thread;
	uint32_t index, seen;
};

struct twin_team {
	uint32_t step; /* number of the step << 8 | threads that take part */
	uint32_t asleep;
	uint32_t spins; /* looks for the next step before a thread sleeps */
	uint32_t cpus;
	uint32_t left __attribute__((aligned(64))); /* threads that are not through */
	bool waits;				    /* the caller sleeps until they are */
	twin_team_fn *fn __attribute__((aligned(64)));
	void *arg;
	bool stop;
	uint32_t nworkers;
	struct worker worker[TWIN_PARTS_MAX - 1];
};

static void futex(uint32_t *at, int op, uint32_t v)
{
	syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, v, NULL, NULL, 0);
}

/* waits until *at is not v; *sleeps counts who has to be woken */
static uint32_t step_after(struct twin_team *t, uint32_t seen)
{
	uint32_t spins = __atomic_load_n(&t->spins, __ATOMIC_RELAXED), now, i;

	for (i = 0; i < spins; i++) {
		now = __atomic_load_n(&t->step, __ATOMIC_ACQUIRE);
		if (now != seen)
			return now;
		twin_pause();
	}
	__atomic_fetch_add(&t->asleep, 1, __ATOMIC_SEQ_CST);
	while ((now = __atomic_load_n(&t->step, __ATOMIC_SEQ_CST)) == seen)
		futex(&t->step, FUTEX_WAIT, seen);
	__atomic_fetch_sub(&t->asleep, 1, __ATOMIC_SEQ_CST);
	return now;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct twin_team *t = w->team;

	twin_fp_enter();
	for (;;) {
		w->seen = step_after(t, w->seen);
		if (w->index >= (w->seen & 0xff))
			continue;
		if (t->stop)
			return NULL;
		t->fn(t->arg, w->index);
		if (__atomic_sub_fetch(&t->left, 1, __ATOMIC_SEQ_CST) == 0 &&
		    __atomic_load_n(&t->waits, __ATOMIC_SEQ_CST))
			futex(&t->left, FUTEX_WAKE, 1);
	}
}

static void begin(struct twin_team *t, uint32_t n)
{
	/* of more threads than processors, one that looks would keep one that works waiting */
	__atomic_store_n(&t->spins, n > t->cpus ? 0 : SPINS, __ATOMIC_RELAXED);
	__atomic_store_n(&t->left, n - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->step, ((t->step >> 8) + 1) << 8 | n, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST))
		futex(&t->step, FUTEX_WAKE, INT32_MAX);
}

static void end(struct twin_team *t)
{
	uint32_t left, i;

	for (i = 0; i < t->spins; i++) {
		if (!__atomic_load_n(&t->left, __ATOMIC_ACQUIRE))
			return;
		twin_pause();
	}
	__atomic_store_n(&t->waits, true, __ATOMIC_SEQ_CST);
	while ((left = __atomic_load_n(&t->left, __ATOMIC_SEQ_CST)))
		futex(&t->left, FUTEX_WAIT, left);
	__atomic_store_n(&t->waits, false, __ATOMIC_SEQ_CST);
}

void twin_team_run(struct twin_team *t, uint32_t n, twin_team_fn *fn, void *arg)
{
	if (n > 1) {
		t->fn = fn;
		t->arg = arg;
		begin(t, n);
	}
	fn(arg, 0);
	if (n > 1)
		end(t);
}

void twin_team_await(const uint64_t *v, uint64_t least)
{
	uint32_t i;

	for (i = 0; __atomic_load_n(v, __ATOMIC_ACQUIRE) < least; i++) {
		if (i < SPINS)
			twin_pause();
		else
			sched_yield();
	}
}

struct twin_team *twin_team_create(void)
{
	struct twin_team *t = aligned_alloc(64, (sizeof(*t) + 63) & ~63ul);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->cpus = twin_team_cpus();
	return t;
}

uint32_t twin_team_size(struct twin_team *t, uint32_t n)
{
	sigset_t all, old;

	if (n > TWIN_PARTS_MAX)
		n = TWIN_PARTS_MAX;
	if (t->nworkers + 1 < n) {
		/* signals are the program's affair */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		while (t->nworkers + 1 < n) {
			struct worker *w = &t->worker[t->nworkers];

			*w = (struct worker){.team = t, .index = t->nworkers + 1, .seen = t->step};
			if (pthread_create(&w->thread, NULL, work, w))
				break;
			t->nworkers++;
		}
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	return n < t->nworkers + 1 ? n : t->nworkers + 1;
}

void twin_team_destroy(struct twin_team *t)
{
	uint32_t i;

	if (!t)
		return;
	t->stop = true;
	if (t->nworkers)
		begin(t, t->nworkers + 1);
	for (i = 0; i < t->nworkers; i++)
		pthread_join(t->worker[i].thread, NULL);
	free(t);
}

/* ---- how many ---- */

static int models; /* of this process */

void twin_team_enter(int n)
{
	__atomic_fetch_add(&models, n, __ATOMIC_RELAXED);
}

uint32_t twin_team_share(uint32_t cpus)
{
	int n = __atomic_load_n(&models, __ATOMIC_RELAXED);

	return n > 1 && cpus / (uint32_t)n < 1 ? 1 : cpus / (uint32_t)(n > 1 ? n : 1);
}

uint32_t twin_team_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}
