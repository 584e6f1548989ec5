// SPDX-License-Identifier: MIT
/* Ranks as threads: sums over ranks against the tree, failures that everyone hears of. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "heap.h"
#include "num/num.h"
#include "ranks.h"
#include "swarmx/exchange.h"
#include "swarmx/lifeline.h"
#include "tap.h"

/* floats of the units: of one piece, of several */
static const size_t sizes[] = {37, 1, 2100, (1u << 20) + 5, 64};
enum { UNITS = sizeof(sizes) / sizeof(sizes[0]) };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float leaf(uint32_t m, uint32_t unit, size_t i)
{
	return (float)(wse_rng_uniform(unit + 1, m, i & 1023) - 0.5) * (m % 5 == 0 ? 1e4f : 1.0f);
}

/* the definition in swarmx.h, word for word */
static float tree(uint32_t a, uint32_t b, uint32_t unit, size_t i)
{
	uint32_t h = 1;
	float left;

	if (b - a == 1)
		return leaf(a, unit, i);
	while (2 * h < b - a)
		h *= 2;
	left = tree(a, a + h, unit, i);
	return left + tree(a + h, b, unit, i);
}

/* a step of `leaves` micro-batches, those of this rank put into r */
static int put_mine(struct wse_reduce *r, uint32_t units, uint32_t leaves, uint32_t first,
		    uint32_t end)
{
	struct wse_shared_buf *buf;
	int ret = 0;

	for (uint32_t u = 0; u < units; u++) {
		wse_reduce_begin(&r[u], leaves);
		for (uint32_t m = first; m < end && !ret; m++) {
			ret = wse_reduce_get(&r[u], &buf);
			for (size_t i = 0; !ret && i < r[u].count; i++)
				((float *)buf->ptr)[i] = leaf(m, u, i);
			ret = ret ? ret : wse_reduce_put(&r[u], m, buf);
		}
	}
	return ret;
}

/* pieces of 2^20 floats at most, one behind the other */
static void cut_pieces(struct wse_memx_piece *p, uint32_t *first, struct wse_memx_pieces *list)
{
	*list = (struct wse_memx_pieces){.p = p, .first = first};
	for (uint32_t u = 0; u < UNITS; u++) {
		first[u] = list->n;
		for (size_t at = 0; at < sizes[u]; at += p[list->n++].count) {
			size_t left = sizes[u] - at, some = left < 1u << 20 ? left : 1u << 20;

			p[list->n] = (struct wse_memx_piece){.unit = u, .at = at, .count = some};
			list->longest = some > list->longest ? some : list->longest;
		}
	}
	first[UNITS] = list->n;
}

/* this rank's pieces of the sums, and on rank 0 then all */
static int wrong(struct wse_reduce *r, const struct wse_memx_pieces *list, struct rank *me,
		 struct wse_exchange *x, uint32_t units, uint32_t leaves)
{
	int bad = 0;

	for (uint32_t u = 0; u < units; u++) {
		float *sum = wse_reduce_take(&r[u]);

		if (!sum)
			return -EPROTO;
		for (uint32_t k = list->first[u]; k < list->first[u + 1]; k++) {
			const struct wse_memx_piece *p = &list->p[k];
			size_t step = p->count > 5000 ? 997 : 1;

			if (k % me->ranks != me->rank)
				continue;
			for (size_t i = p->at; i < p->at + p->count; i += step)
				bad |= sum[i] != tree(0, leaves, u, i);
			bad |= sum[p->at + p->count - 1] !=
			       tree(0, leaves, u, p->at + p->count - 1);
		}
		bad |= wse_exchange_collect(x, u, sum, NULL) != 0;
		for (size_t i = 0; i < r[u].count && !me->rank; i += 611)
			bad |= sum[i] != tree(0, leaves, u, i);
	}
	return bad;
}

struct sums {
	uint32_t units, from, to; /* leaves */
};

static void *sums(void *arg)
{
	struct rank *me = arg;
	struct sums *what = me->arg;
	struct wse_reduce r[UNITS] = {0};
	struct wse_memx_piece pieces[2 * UNITS];
	uint32_t all[30], first[UNITS + 1];
	struct wse_memx_pieces list;
	struct wse_exchange *x = NULL;
	struct wse_hosts *h;

	me->ret = wse_hosts_open(me->link, &h);
	if (me->ret)
		return NULL;
	cut_pieces(pieces, first, &list);
	me->ret = wse_exchange_open(h, &list, &x);
	for (uint32_t u = 0; u < what->units; u++)
		wse_reduce_init(&r[u], &heap, sizes[u]);
	for (uint32_t n = what->from; n <= what->to && !me->ret; n++) {
		uint32_t cut[RANKS_MAX + 1];

		for (uint32_t i = 0; i <= me->ranks; i++)
			cut[i] = i * n / me->ranks;
		for (uint32_t i = 0; i < n; i++)
			all[i] = i >= cut[me->rank] && i < cut[me->rank + 1] ? 7 * i + n : 0;
		me->ret = wse_exchange_all(x, all, sizeof(all[0]), cut);
		for (uint32_t i = 0; i < n && !me->ret; i++)
			me->ret = all[i] == 7 * i + n ? 0 : -EILSEQ;
		me->ret = me->ret ? me->ret
				  : put_mine(r, what->units, n, cut[me->rank], cut[me->rank + 1]);
		if (!me->ret)
			wse_exchange_begin(x, n, cut);
		for (uint32_t u = 0; u < what->units && !me->ret; u++)
			me->ret = wse_exchange_unit(x, &r[u], u);
		if (!me->ret && wrong(r, &list, me, x, what->units, n))
			me->ret = -EILSEQ;
	}
	for (uint32_t u = 0; u < what->units; u++)
		wse_reduce_fini(&r[u]);
	wse_exchange_close(x);
	wse_hosts_close(h);
	return NULL;
}

static void exchange(void)
{
	struct sums small = {2, 1, 30}, large = {UNITS, 7, 7};
	struct rank r[RANKS_MAX];
	int bad = 0;

	for (uint32_t n = 1; n <= RANKS_MAX; n++) {
		on_ranks(n, sums, &small, r);
		for (uint32_t i = 0; i < n; i++)
			bad |= r[i].ret;
	}
	ok(!bad, "1 to 30 micro-batches on 1 to 4 ranks, some without any: the documented tree");
	for (uint32_t n = 1; n <= RANKS_MAX; n++) {
		on_ranks(n, sums, &large, r);
		for (uint32_t i = 0; i < n; i++)
			bad |= r[i].ret;
	}
	ok(!bad, "units of several pieces");
}

enum how { FAILS, VANISHES, LEAVES, OTHER_SIZE };

struct trouble {
	enum how how;
	double took[RANKS_MAX];
};

/* rank 1 makes trouble, the others wait for a message of it or of each other */
static void *trouble(void *arg)
{
	struct rank *me = arg;
	struct trouble *t = me->arg;
	uint32_t all[RANKS_MAX] = {0}, one = 1;
	double begin = now();
	struct wse_hosts *h;

	me->ret = wse_hosts_open(me->link, &h);
	if (me->ret) { /* it has heard already */
		snprintf(me->why, sizeof(me->why), "%s", wse_error());
		return NULL;
	}
	/* all have met */
	me->ret = wse_hosts_gather(h, &one, all, sizeof(one));
	me->ret = me->ret ? me->ret : wse_hosts_spread(h, &one, sizeof(one));
	if (!me->ret && me->rank == 1 && t->how == VANISHES)
		wse_link_pair_vanish(me->link);
	if (!me->ret && me->rank == 1 && t->how == FAILS) {
		me->ret = wse_hosts_fail(h, wse_fail(-EIO, "the disk of this rank is full"));
	} else if (!me->ret && me->rank == 1 && t->how == OTHER_SIZE) {
		uint16_t two = 2;

		me->ret = wse_hosts_gather(h, &two, all, sizeof(two));
		me->ret = me->ret ? me->ret : wse_hosts_spread(h, &one, sizeof(one));
	} else if (!me->ret && !(me->rank == 1 && t->how == LEAVES)) {
		me->ret = wse_hosts_gather(h, &one, all, sizeof(one));
		me->ret = me->ret ? me->ret : wse_hosts_spread(h, &one, sizeof(one));
	}
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	t->took[me->rank] = now() - begin;
	wse_hosts_close(h);
	return NULL;
}

static void failures(void)
{
	struct rank r[RANKS_MAX];
	struct trouble t = {.how = FAILS};

	on_ranks(3, trouble, &t, r);
	ok(r[0].ret == -EIO && r[1].ret == -EIO && r[2].ret == -EIO &&
		   !strcmp(r[0].why,
			   "rank 1 (thread 1) ended the run: the disk of this rank is full") &&
		   !strcmp(r[0].why, r[2].why) && t.took[0] < 20.0 && t.took[2] < 20.0,
	   "a rank fails: the others end with its sentence in %.2f and %.2f s", t.took[0],
	   t.took[2]);
	t.how = VANISHES;
	on_ranks(3, trouble, &t, r);
	ok(r[0].ret == -EHOSTDOWN && r[2].ret == -EHOSTDOWN &&
		   strstr(r[2].why, "rank 1 (thread 1) has been silent for 3 s") &&
		   strstr(r[0].why,
			  "rank 2 (thread 2) ended the run: rank 1 (thread 1) has been") &&
		   t.took[0] < 20.0 && t.took[2] < 20.0,
	   "a rank vanishes: named on the others in %.2f and %.2f s", t.took[0], t.took[2]);
	ok(r[1].ret == -EHOSTDOWN && strstr(r[1].why, "rank 0"), "and it sees itself alone: %s",
	   r[1].why);
	t.how = LEAVES;
	on_ranks(3, trouble, &t, r);
	ok(r[0].ret && strstr(r[0].why, "rank 1 (thread 1) has left the run"),
	   "a rank that leaves while others wait for it: %s", r[0].why);
	t.how = OTHER_SIZE;
	on_ranks(3, trouble, &t, r);
	ok(strstr(r[0].why, "same release") && strstr(r[1].why, "same release") && r[2].ret,
	   "messages of another length: %s", r[0].why);
}

/* a link on a host that has no processor for its ranks */
static const struct wse_link_ops *_Atomic pair_ops; /* all ranks have the same */
static atomic_int starving;			    /* ranks that know: they have met */

static int starved_test(struct wse_link *l, void **req)
{
	static atomic_int silent;
	static double woke; /* rank 2's */
	int done = pair_ops->test(l, req);

	if (starving < 3)
		return done;
	if (l->rank == 1 && !silent) { /* for longer than a rank is waited for */
		silent = 1;
		usleep(3500000);
	} else if (l->rank == 2 && silent && now() - woke > 0.05) { /* listens now and then */
		usleep(600000);
		woke = now();
	}
	return done;
}

static void *starved(void *arg)
{
	struct rank *me = arg;
	uint32_t all[RANKS_MAX] = {0}, one = 1;
	struct wse_link_ops ops = *me->link->ops;
	struct wse_hosts *h;

	pair_ops = me->link->ops;
	ops.test = starved_test;
	me->link->ops = &ops;
	me->ret = wse_hosts_open(me->link, &h);
	for (int i = 0; i < 2 && !me->ret; i++) {
		me->ret = wse_hosts_gather(h, &one, all, sizeof(one));
		me->ret = me->ret ? me->ret : wse_hosts_spread(h, &one, sizeof(one));
		starving += !i;
		usleep(i ? 0 : 4500000);
	}
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	wse_hosts_close(h);
	return NULL;
}

/* 1: lost within so many seconds */
static int lost_in(struct wse_lifeline *l, double seconds)
{
	double begin = now();

	while (!wse_lifeline_lost(l) && now() - begin < seconds)
		usleep(1000);
	return wse_lifeline_lost(l);
}

/* a process is killed: the kernel says so, whatever it was doing */
static void lifeline(void)
{
	static const char *const wrong[] = {"", "x", "0 127.0.0.1", "70000 127.0.0.1",
					    "1 127.0.0.1 300.1.1.1 \n"};
	char text[WSE_SENTENCE] = "";
	struct wse_lifeline l, mine;
	int fd[2], before, bad = 0;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		return;
	pid = fork();
	if (!pid) {
		wse_lifeline_open(&l, text, sizeof(text));
		if (write(fd[1], text, sizeof(text)) == sizeof(text))
			pause();
		_exit(1);
	}
	bad = read(fd[0], text, sizeof(text)) != sizeof(text);
	wse_lifeline_open(&mine, (char[16]){""}, 16);
	wse_lifeline_to(&mine, text, 1);
	before = lost_in(&mine, 0.3);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!bad && mine.made && !before && lost_in(&mine, 10.0),
	   "a process that is killed is noticed by its connection (port and addresses %s)", text);
	wse_lifeline_close(&mine);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		wse_lifeline_open(&mine, text, sizeof(text));
		wse_lifeline_to(&mine, wrong[i], 1);
		bad |= lost_in(&mine, 0.05) || mine.made;
		wse_lifeline_close(&mine);
	}
	ok(!bad, "where there is nothing to connect to nothing is lost");
	close(fd[0]);
	close(fd[1]);
}

/* a link that takes its time to start */
struct slow {
	struct wse_link base;
	atomic_int aborted, closed, asked;
};

static int slow_start(struct wse_link *l)
{
	usleep(300000);
	l->ranks = 1;
	return 0;
}

static int slow_ended(struct wse_link *l, char *who, size_t size)
{
	((struct slow *)l)->asked = 1;
	snprintf(who, size, "rank 7 (a host)");
	return 1;
}

static void slow_abort(struct wse_link *l)
{
	((struct slow *)l)->aborted = 1;
}

static void slow_close(struct wse_link *l)
{
	((struct slow *)l)->closed = 1;
}

/* not before it was asked whether a rank has ended */
static int far_start(struct wse_link *l)
{
	for (int i = 0; i < 3000 && !((struct slow *)l)->asked; i++)
		usleep(10000);
	return slow_start(l);
}

static void await_closed(struct slow *s)
{
	for (int i = 0; i < 1000 && !s->closed; i++)
		usleep(10000);
}

/* a rank ends before the ranks have met, and MPI waits for it */
static void start(void)
{
	static const struct wse_link_ops ops = {
		.start = slow_start, .abort = slow_abort, .close = slow_close};
	static const struct wse_link_ops hears = {
		.start = far_start, .ended = slow_ended, .abort = slow_abort, .close = slow_close};
	static struct slow late, early, told;
	struct wse_hosts *h = NULL;
	int ret;

	late.base = (struct wse_link){.ops = &ops, .patience = 0.05};
	early.base = (struct wse_link){.ops = &ops, .patience = 30.0};
	ret = wse_hosts_open(&late.base, &h);
	ok(ret == -ETIMEDOUT && !h && strstr(wse_error(), "have not all come within 0 s") &&
		   !late.closed,
	   "a start that takes too long: %s", wse_error());
	await_closed(&late);
	ok(late.aborted && late.closed, "when it is over after all, its link is closed");
	ret = wse_hosts_open(&early.base, &h);
	ok(!ret && h && wse_hosts_ranks(h) == 1, "a start in time");
	wse_hosts_close(h);
	told.base = (struct wse_link){.ops = &hears, .patience = 30.0};
	ret = wse_hosts_open(&told.base, &h);
	ok(ret == -EHOSTDOWN && !h && told.asked && !told.closed &&
		   strstr(wse_error(), "rank 7 (a host) has ended before the ranks had met"),
	   "a start that waits for a rank that has ended: %s", wse_error());
	await_closed(&told);
	ok(told.aborted && told.closed, "its link is closed, too, when it comes back");
}

static int bad_start(struct wse_link *l)
{
	(void)l;
	return -ECONNREFUSED;
}

static int wait_for_close; /* the next thread has closed its link when its maker goes on */
static atomic_int closed;

static void bad_close(struct wse_link *l)
{
	free(l);
	closed = 1;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	int ret = __real_pthread_create(thread, attr, run, arg);

	for (int i = 0; wait_for_close && !closed && i < 1000; i++)
		usleep(1000);
	return ret;
}

/* a link that is gone before the one that opened it looks */
static void gone(void)
{
	static const struct wse_link_ops ops = {.start = bad_start, .close = bad_close};
	struct wse_link *l = calloc(1, sizeof(*l));
	struct wse_hosts *h = NULL;
	int ret;

	*l = (struct wse_link){.ops = &ops, .patience = 30.0};
	wait_for_close = 1;
	ret = wse_hosts_open(l, &h);
	wait_for_close = 0;
	ok(ret == -ECONNREFUSED && !h && closed,
	   "a link that is closed before its opener looks: %s", wse_error());
}

int main(void)
{
	lifeline();
	start();
	gone();
	exchange();
	failures();
	if (!TAP_SANITIZED) { /* it takes time */
		struct rank r[RANKS_MAX];

		ok(!all_ranks(3, starved, NULL, r),
		   "a rank has no processor for 3.5 s, the one that watches it little: no failure");
	}
	return tap_end();
}
