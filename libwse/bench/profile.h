/* SPDX-License-Identifier: MIT */
/* wse-bench --profile DIR: where the cycles of a benchmark go. Without it these do nothing. */
#ifndef WSE_BENCH_PROFILE_H
#define WSE_BENCH_PROFILE_H

#include <stdint.h>

struct drm_wse_cmd;
struct wse_device;
struct wse_fence;
struct wse_session;

/* of all benchmarks to come: a folder of it for each */
void bench_profile_to(const char *dir);
/* whether there is one */
int bench_profiled(void);
/* A benchmark begins; its folder is made. -EEXIST: it has a profile; a sentence in any case. */
int bench_profile_begin(const char *name);
/* It is over: completes its files. 0, or a sentence */
int bench_profile_end(void);

/*
 * A session was opened: it is recorded, as wse-train --profile does, into session-N of the folder,
 * until it is closed. After an error it is closed.
 */
int bench_profile_opened(struct wse_session *s);
/*
 * The commands of a submit to dev, of which all are done: commands.pftrace. One submit comes
 * behind the other there, whatever the device did in between.
 */
int bench_profile_submit(struct wse_device *dev, struct wse_fence *fence,
			 const struct drm_wse_cmd *cmds, uint32_t n);

#endif
