/* SPDX-License-Identifier: MIT */
/*
 * A session on several ranks: processes that each have devices, all images, and their part of the
 * parameters and moments (memx/share.h). Rank 0 makes the run, writes its files and says what
 * happens; steps and evaluations are shared, samples and replays it makes by itself. The others do
 * as its orders say.
 *
 * Programs that make their steps themselves (wse_trainer_step()) do so on every rank, in the same
 * order: then each order is one that this rank expects.
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

struct wse_hosts *wse_ranks_hosts(const struct wse_ranks *r);
uint32_t wse_ranks_rank(const struct wse_ranks *r);
uint32_t wse_ranks_ranks(const struct wse_ranks *r);
uint32_t wse_ranks_devices(const struct wse_ranks *r);	/* of all, in the last step */
int wse_ranks_failed(const struct wse_ranks *r);
/* see wse_hosts_carried() */
void wse_ranks_carried(const struct wse_ranks *r, uint64_t *out, uint64_t *in);
/* this rank cannot go on: see wse_hosts_fail() */
int wse_ranks_fail(struct wse_ranks *r, int err);

/* what ranks do together */
enum wse_together {
	WSE_TOGETHER_STEP = 1,
	WSE_TOGETHER_COMMIT,
	WSE_TOGETHER_CHECK,   /* the squares of the gradients */
	WSE_TOGETHER_EVAL,    /* how many batches; of which held-out set */
	WSE_TOGETHER_PROBE,   /* a forward of the next step */
	WSE_TOGETHER_FINISH,  /* the rest of the last update */
	WSE_TOGETHER_COLLECT, /* all sums of the step, to rank 0 */
	WSE_TOGETHER_SERVE,   /* rank 0 reads the weights of all */
	WSE_TOGETHER_TENSOR,  /* each rank reads one, which */
	WSE_TOGETHER_NORMS,   /* the squares of the parameters */
	WSE_TOGETHER_LOAD,
	WSE_TOGETHER_END,
};

/*
 * Rank 0: it begins; the others, in a call of their own: is it this? `what` is compared. The rest
 * of the last update comes first, except before a step, which has it beside it. Alone: nothing.
 */
int wse_ranks_meet(struct wse_session *s, enum wse_together kind, uint64_t what);
/* the same for an evaluation of held-out set `set` */
int wse_ranks_eval(struct wse_session *s, uint32_t set, uint64_t max_batches);
/* for session.c, after that: step.n micro-batches begin, step gets this rank's part of them */
int wse_ranks_deal(struct wse_session *s, struct wse_swarm_step *step);
/* a checksum of the samples of a step */
uint64_t wse_ranks_samples(const struct wse_session *s);
/* rank 0 gets all sums of the step into s->io.sums */
int wse_ranks_collect(struct wse_session *s);

/*
 * read() may read what other ranks keep: on rank 0 alone, or on one rank
 * after the other. The others serve it meanwhile. Alone: read() and nothing else
 */
int wse_ranks_read_first(struct wse_session *s, int (*read)(void *ctx), void *ctx);
int wse_ranks_read_all(struct wse_session *s, int (*read)(void *ctx), void *ctx);

/* rank 0: what it has loaded, the others load and compare */
int wse_ranks_load(struct wse_session *s, const char *path, enum wse_ckpt_load what);
/*
 * All ranks: each has loaded it (err 0), or has not, with its sentence. An error is that of all,
 * and the run can go on; what was loaded on some ranks alone leaves the session torn
 */
int wse_ranks_load_each(struct wse_session *s, const char *path, enum wse_ckpt_load what, int err);
/*
 * All ranks, after they have met: did something with a checksum (err 0), or could not, with its
 * sentence. Returns the error of the first that could not, or -EINVAL: a rank has another `thing`.
 * *done: some rank could
 */
int wse_ranks_agree(struct wse_ranks *r, int err, uint64_t sum, const char *thing, int *done);
uint64_t wse_ranks_sum(const void *bytes, size_t n);
/* rank 0: the run ends, with err and its sentence. Returns err, or what the link failed with */
int wse_ranks_end(struct wse_session *s, int err, int stopped);
/* the others: do as rank 0 says until the run ends */
int wse_ranks_follow(struct wse_session *s, int *stopped);

#endif
