/* SPDX-License-Identifier: MIT */
/*
 * Threads that a model lends its work to, and takes back before anybody outside can see. Work comes
 * in steps of a fraction of a millisecond: threads look for the next one for a while before they
 * sleep.
 */
#ifndef WSE_FUNC_TEAM_H
#define WSE_FUNC_TEAM_H

#include <stdint.h>

struct wse_team;

typedef void wse_team_fn(void *arg, uint32_t thread);

/* NULL: no memory. It begins without threads */
struct wse_team *wse_team_create(void);
void wse_team_destroy(struct wse_team *t);
/* at most n threads, the caller's included: how many there are now. They stay */
uint32_t wse_team_size(struct wse_team *t, uint32_t n);
/* fn(arg, 0) here and fn(arg, 1 ... n - 1) on the others, n as wse_team_size() said; all have returned
 * when this does */
void wse_team_run(struct wse_team *t, uint32_t n, wse_team_fn *fn, void *arg);
/* waits inside such a call until *v, which another thread counts up, is `least` or more */
void wse_team_await(const uint32_t *v, uint32_t least);

/* models of this process come and go; how many threads each of them should take of that many processors */
void wse_team_enter(int models);
uint32_t wse_team_share(uint32_t cpus);
uint32_t wse_team_cpus(void); /* processors that this process may use */

#endif /* WSE_FUNC_TEAM_H */
