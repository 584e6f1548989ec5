/* SPDX-License-Identifier: MIT */
/* Ranks as threads: each runs the same function on its end of a pair of links. */
#ifndef WSE_TESTS_TRAIN_RANKS_H
#define WSE_TESTS_TRAIN_RANKS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "swarmx/link.h"

enum { RANKS_MAX = 4 };

struct rank {
	struct wse_link *link;
	uint32_t rank, ranks;
	int ret;
	char why[1024]; /* wse_error() of its thread */
	void *arg;
	pthread_t thread;
};

/* run(struct rank *) on as many threads; r [ranks] has what came of it */
static inline void on_ranks(uint32_t ranks, void *(*run)(void *), void *arg, struct rank *r)
{
	struct wse_link *link[RANKS_MAX];

	if (wse_link_pair(ranks, link)) {
		printf("Bail out! no pair\n");
		exit(1);
	}
	for (uint32_t i = 0; i < ranks; i++) {
		r[i] = (struct rank){.link = link[i], .rank = i, .ranks = ranks, .arg = arg};
		pthread_create(&r[i].thread, NULL, run, &r[i]);
	}
	for (uint32_t i = 0; i < ranks; i++)
		pthread_join(r[i].thread, NULL);
}

/* the same, and a line for each that failed, r [ranks]; 0: none has */
static inline int all_ranks(uint32_t ranks, void *(*run)(void *), void *arg, struct rank *r)
{
	int bad = 0;

	on_ranks(ranks, run, arg, r);
	for (uint32_t i = 0; i < ranks; i++)
		bad |= r[i].ret && printf("# rank %u of %u: %s\n", i, ranks, r[i].why);
	return bad;
}

#endif
