// SPDX-License-Identifier: MIT
/*
 * A rank vanishes while ranks say goodbye to each other, at each message of it that there is: no
 * other rank waits without end, and each says which one it was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "ranks.h"
#include "swarmx/hosts_inside.h"
#include "tap.h"

enum { CASES_MAX = RANKS_MAX * (2 * RANKS_MAX - 1), PATIENCE = 60 };

/* what becomes of a rank when it says goodbye */
enum how { VANISHES, FAILS, SLOW };

struct goodbye {
	uint32_t ranks, victim, others; /* others: so many after it vanish, too */
	enum how how;
	uint32_t kind, after; /* it vanishes after so many messages of this kind */
	struct rank r[RANKS_MAX];
	double took[RANKS_MAX];
	int early[RANKS_MAX]; /* it had failed before it closed */
};

/* the link of a victim */
struct victim {
	struct wse_link base;
	struct wse_link *of;
	const struct goodbye *g;
	uint32_t said; /* messages of the kind */
};

static char arrived; /* a request that was done before it was asked for */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int victim_start(struct wse_link *l)
{
	(void)l;
	return 0;
}

/* those that it says before it vanishes do arrive */
static int victim_send(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		       void **req)
{
	struct victim *v = (struct victim *)l;
	const struct wse_hosts_control *c = buf;
	double begin = now();
	int ret;

	if (tag != WSE_HOSTS_CONTROL || c->kind != v->g->kind || v->said == v->g->after)
		return v->of->ops->send(v->of, to, tag, buf, bytes, req);
	ret = v->of->ops->send(v->of, to, tag, buf, bytes, req);
	while (!ret && now() - begin < PATIENCE && !v->of->ops->test(v->of, req))
		usleep(100);
	if (!ret && !*req)
		*req = &arrived;
	if (++v->said == v->g->after)
		wse_link_pair_vanish(v->of);
	return ret;
}

static int victim_send_none(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf,
			    size_t bytes, void **req)
{
	struct victim *v = (struct victim *)l;
	const struct wse_hosts_control *c = buf;

	if (tag == WSE_HOSTS_CONTROL && c->kind == v->g->kind)
		wse_link_pair_vanish(v->of);
	return v->of->ops->send(v->of, to, tag, buf, bytes, req);
}

static int victim_recv(struct wse_link *l, uint32_t from, uint32_t tag, void *buf, size_t bytes,
		       void **req)
{
	struct victim *v = (struct victim *)l;

	return v->of->ops->recv(v->of, from, tag, buf, bytes, req);
}

static int victim_test(struct wse_link *l, void **req)
{
	struct victim *v = (struct victim *)l;

	if (*req != &arrived)
		return v->of->ops->test(v->of, req);
	*req = NULL;
	return 1;
}

static void victim_abort(struct wse_link *l)
{
	struct victim *v = (struct victim *)l;

	v->of->ops->abort(v->of);
}

static void victim_close(struct wse_link *l)
{
	struct victim *v = (struct victim *)l;

	v->of->ops->close(v->of);
	free(v);
}

static int is_victim(const struct goodbye *g, uint32_t rank)
{
	return (rank + g->ranks - g->victim) % g->ranks <= g->others;
}

static struct wse_link *link_of(const struct goodbye *g, struct wse_link *of)
{
	static const struct wse_link_ops some = {victim_start, NULL,	    victim_send,
						 victim_recv,  victim_test, victim_abort,
						 victim_close},
					 none = {victim_start, NULL,	    victim_send_none,
						 victim_recv,  victim_test, victim_abort,
						 victim_close};
	struct victim *v;

	if (g->how != VANISHES || !is_victim(g, of->rank))
		return of;
	v = calloc(1, sizeof(*v));
	if (!v)
		return of;
	v->base = *of;
	v->base.ops = g->after ? &some : &none;
	v->of = of;
	v->g = g;
	return &v->base;
}

/* all meet, each has its data, and says goodbye */
static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct goodbye *g = me->arg;
	int victim = is_victim(g, me->rank);
	uint32_t all[RANKS_MAX], one = 1;
	struct wse_hosts *h;
	double begin;

	me->ret = wse_hosts_open(link_of(g, me->link), &h);
	if (me->ret)
		return NULL;
	me->ret = wse_hosts_gather(h, &one, all, sizeof(one));
	me->ret = me->ret ? me->ret : wse_hosts_spread(h, &one, sizeof(one));
	g->early[me->rank] = me->ret;
	if (victim && g->how != VANISHES)
		usleep(g->how == SLOW ? 4500000 : 500000); /* the others have said goodbye */
	if (victim && g->how == FAILS && !me->ret)
		wse_hosts_fail(h, wse_fail(-EIO, "its disk is full"));
	begin = now();
	me->ret = wse_hosts_close(h);
	g->took[me->rank] = now() - begin;
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* all at once, since each of them waits */
static void run(struct goodbye *g, uint32_t n)
{
	struct timespec until;

	for (uint32_t i = 0; i < n; i++) {
		struct wse_link *link[RANKS_MAX];

		if (wse_link_pair(g[i].ranks, link)) {
			printf("Bail out! no pair\n");
			exit(1);
		}
		for (uint32_t k = 0; k < g[i].ranks; k++) {
			g[i].r[k] = (struct rank){
				.link = link[k], .rank = k, .ranks = g[i].ranks, .arg = &g[i]};
			pthread_create(&g[i].r[k].thread, NULL, one_rank, &g[i].r[k]);
		}
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < g[i].ranks; k++)
			if (pthread_timedjoin_np(g[i].r[k].thread, NULL, &until)) {
				printf("Bail out! rank %u of %u waits without end: rank %u said %u "
				       "messages of kind %u\n",
				       k, g[i].ranks, g[i].victim, g[i].after, g[i].kind);
				exit(1);
			}
}

/* each rank that is left ends, and names the one that vanished, if it missed something of it */
static int named(const struct goodbye *g, double *worst)
{
	int bad = 0;

	for (uint32_t k = 0; k < g->ranks; k++) {
		/* its last word goes to the ranks behind it, in turn */
		int heard_all = g->kind == WSE_HOSTS_DONE &&
				(k + g->ranks - g->victim) % g->ranks <= g->after;
		char who[40];

		if (is_victim(g, k))
			continue;
		snprintf(who, sizeof(who), "rank %u (thread %u) has been silent", g->victim,
			 g->victim);
		*worst = g->took[k] > *worst ? g->took[k] : *worst;
		if (!g->early[k] && (heard_all ? !g->r[k].ret
					       : g->r[k].ret == -EHOSTDOWN &&
							 (g->others || strstr(g->r[k].why, who))))
			continue;
		bad = printf("# rank %u, %.2f s, %d %d: %s\n", k, g->took[k], g->early[k],
			     g->r[k].ret, g->r[k].why);
	}
	return bad;
}

static void vanishing(uint32_t ranks)
{
	struct goodbye g[CASES_MAX];
	double worst = 0.0;
	uint32_t n = 0;
	int bad = 0;

	memset(g, 0, sizeof(g));
	for (uint32_t victim = 0; victim < ranks; victim++)
		for (uint32_t i = 0; i < 2 * ranks - 1; i++) {
			int done = i >= ranks - 1;

			g[n++] = (struct goodbye){.ranks = ranks,
						  .victim = victim,
						  .kind = done ? WSE_HOSTS_DONE : WSE_HOSTS_BYE,
						  .after = done ? i - ranks + 1 : i};
		}
	run(g, n);
	for (uint32_t i = 0; i < n; i++)
		if (named(&g[i], &worst))
			bad = printf("# above: rank %u of %u, after %u %s\n", g[i].victim, ranks,
				     g[i].after,
				     g[i].kind == WSE_HOSTS_BYE ? "goodbyes" : "last words");
	ok(!bad && worst < 20.0,
	   "each of %u ranks vanishes before each of its goodbyes and last words, and behind them: "
	   "named on the others in %.2f s",
	   ranks, worst);
}

/* two at once; one fails; one comes late, and is waited for */
static void others(void)
{
	struct goodbye g[] = {
		{.ranks = 4, .victim = 2, .others = 1, .kind = WSE_HOSTS_BYE},
		{.ranks = 4, .victim = 3, .others = 1, .kind = WSE_HOSTS_BYE},
		{.ranks = 3, .victim = 2, .how = FAILS},
		{.ranks = 4, .victim = 0, .how = FAILS},
		{.ranks = 3, .victim = 2, .how = SLOW},
		{.ranks = 3, .victim = 0, .how = SLOW},
	};
	double worst = 0.0;
	int bad = 0;

	run(g, sizeof(g) / sizeof(g[0]));
	bad = named(&g[0], &worst) | named(&g[1], &worst);
	ok(!bad && worst < 20.0, "two of four vanish: the others end in %.2f s", worst);
	for (uint32_t i = 2; i < 4; i++)
		for (uint32_t k = 0; k < g[i].ranks; k++)
			bad |= k != g[i].victim &&
			       (g[i].r[k].ret != -EIO ||
				!strstr(g[i].r[k].why, "ended the run: its disk is full")) &&
			       printf("# %d: %s\n", g[i].r[k].ret, g[i].r[k].why);
	ok(!bad, "a rank that fails when the others have said goodbye: %s", g[2].r[0].why);
	for (uint32_t i = 4; i < 6; i++)
		for (uint32_t k = 0; k < g[i].ranks; k++)
			bad |= g[i].r[k].ret && printf("# %d: %s\n", g[i].r[k].ret, g[i].r[k].why);
	ok(!bad && g[4].took[0] > 3.5 && g[4].took[1] > 3.5,
	   "a rank that comes after %.1f s is waited for", g[4].took[0]);
}

int main(void)
{
	for (uint32_t n = 2; n <= RANKS_MAX; n++)
		vanishing(n);
	others();
	return tap_end();
}
