/* SPDX-License-Identifier: MIT */
/*
 * A session on several ranks: processes that each have devices and the whole state of the run.
 * Rank 0 makes the run, writes its files and says what happens; each step it says to the others is
 * shared, everything else (evaluations, samples, replays) it does by itself. Each rank commits each
 * step, from the same sums: the same bits.
 *
 * Programs that make their steps themselves (wse_trainer_step()) do so on every rank.
 */
#ifndef WSE_TRAIN_RANKS_H
#define WSE_TRAIN_RANKS_H

#include "swarmx/hosts.h"
#include "train/session.h"

/*
 * A session that was opened (err: that was not, with its sentence) joins the others'. The hosts are
 * the session's from here on, also on error. -EINVAL names the rank and what it has that rank 0 has
 * not.
 */
int wse_ranks_join(struct wse_session *s, struct wse_hosts *hosts, int err);
/* waits until all ranks have come here, unless the run failed */
void wse_ranks_close(struct wse_session *s);

uint32_t wse_ranks_rank(const struct wse_ranks *r);
uint32_t wse_ranks_ranks(const struct wse_ranks *r);
uint32_t wse_ranks_devices(const struct wse_ranks *r);	/* of all, in the last step */
int wse_ranks_failed(const struct wse_ranks *r);
/* this rank cannot go on: see wse_hosts_fail() */
int wse_ranks_fail(struct wse_ranks *r, int err);

/* for session.c: a step begins, step gets this rank's part of it; it is committed */
int wse_ranks_deal(struct wse_session *s, struct wse_swarm_step *step);
int wse_ranks_commit(struct wse_session *s);

/* rank 0: what it has loaded, the others load and compare */
int wse_ranks_load(struct wse_session *s, const char *path, enum wse_ckpt_load what);
/* rank 0: the run ends, with err and its sentence. Returns err, or what the link failed with */
int wse_ranks_end(struct wse_session *s, int err, int stopped);
/* the others: do as rank 0 says until the run ends */
int wse_ranks_follow(struct wse_session *s, int *stopped);

#endif
