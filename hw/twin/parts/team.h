/* SPDX-License-Identifier: MIT */
/*
 * Threads that do a model's work; all of it is done before the model returns to its caller. Work
 * comes in steps of a fraction of a millisecond: threads look for the next one for a while before
 * they sleep.
 */
#ifndef TWIN_PARTS_TEAM_H
#define TWIN_PARTS_TEAM_H

#include <stdint.h>

struct twin_team;

typedef void twin_team_fn(void *arg, uint32_t thread);

/* NULL: no memory. It begins without threads */
struct twin_team *twin_team_create(void);
void twin_team_destroy(struct twin_team *t);
/* at most n threads, the caller's included: how many there are now. They stay */
uint32_t twin_team_size(struct twin_team *t, uint32_t n);
/*
 * fn(arg, 0) here and fn(arg, 1 ... n - 1) on the others, n as twin_team_size() said; all have
 * returned when this does
 */
void twin_team_run(struct twin_team *t, uint32_t n, twin_team_fn *fn, void *arg);
/* waits inside such a call until *v, which another thread counts up, is `least` or more */
void twin_team_await(const uint64_t *v, uint64_t least);

/*
 * a model of this process comes or goes; how many threads each should take of that many processors
 */
void twin_team_enter(int models);
uint32_t twin_team_share(uint32_t cpus);
uint32_t twin_team_cpus(void); /* processors that this process may use */

#endif /* TWIN_PARTS_TEAM_H */
