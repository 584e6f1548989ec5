// SPDX-License-Identifier: MIT
/* What the ranks of a run say to each other: the same facts, then rank 0's orders. */
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pages.h"
#include "num/token.h"
#include "swarmx/exchange.h"
#include "train/live.h"
#include "train/network.h"
#include "wse_release.h"

#define FACTS 8192

static const char *const kinds[] = {
	"nothing",
	"a step",
	"a commit",
	"a look at the gradients",
	"an evaluation",
	"a look at the next step",
	"the end of a step",
	"a replay",
	"a checkpoint",
	"a tensor",
	"the norm of the parameters",
	"a load",
	"the end",
};

/* from rank 0 to all */
struct order {
	uint32_t kind;	/* enum wse_together */
	uint32_t flags; /* of LOAD, enum wse_ckpt_load; of END, stopped; of EVAL, which set */
	uint64_t step;	/* committed so far */
	uint64_t what;	/* STEP: checksum of its samples; EVAL, TENSOR: how many, which */
	char path[WSE_PATH + 64];
};

/* what the rank that reads asks for; piece UINT32_MAX: it has read */
struct request {
	uint32_t piece, which;
};

/* what a rank has loaded */
struct loaded {
	uint64_t step;
	char hash[65];
};

struct wse_ranks {
	double loss; /* of the step that rank 0 has ordered last */
	struct wse_hosts *hosts;
	struct wse_exchange *x;
	uint32_t rank, ranks;
	struct order order;
	int have;		 /* an order was received and not yet done */
	int reading;		 /* the others serve this rank */
	uint32_t *alive;	 /* [ranks] devices */
	uint32_t *cut;		 /* [ranks + 1] micro-batches */
	struct wse_exec_cfg log; /* of the caller; what follows says less */
};

/* lines of text come from rank 0; a warning says whose it is */
static void quiet(void *ctx, enum wse_log_level level, const char *text)
{
	struct wse_ranks *r = ctx;
	char who[96];

	if (level != WSE_LOG_INFO)
		wse_logf(&r->log, level, "%s: %s",
			 wse_hosts_name(r->hosts, r->rank, who, sizeof(who)), text);
}

/* ---- the facts ---- */

static int make_facts(struct wse_session *s, char *text)
{
	struct wse_memx_cfg mc = wse_session_memx_cfg(&s->cfg);
	int ret, n = snprintf(text, FACTS, "release\n%s\nparameters\n%zu\nseed\n%" PRIu64 "\n",
			      WSE_RELEASE, s->table->params, s->cfg.seed);

	ret = wse_ckpt_facts(&mc, &s->state, text + n, FACTS - (size_t)n);
	n = (int)strlen(text);
	/* what is cut out of the text is said by then */
	for (uint32_t i = 0; i < s->cfg.nval && s->cfg.data[0] && n < FACTS; i++)
		if (s->cfg.val[i].data[0])
			n += snprintf(text + n, (size_t)(FACTS - n),
				      "held-out set %u\n%s%s%" PRIu64
				      " samples, checksum %016" PRIx64 "\n",
				      i, s->cfg.val[i].name, s->cfg.val[i].name[0] ? ", " : "",
				      s->data.val[i].samples, s->data.val[i].t.sum);
	if (n < FACTS)
		n += snprintf(text + n, (size_t)(FACTS - n), "max_steps\n%" PRIu64 "\n",
			      s->cfg.max_steps);
	/* what ranks send each other is as long as the masks and the way of gradients say */
	if (n < FACTS && s->cfg.sparsity.n)
		n += snprintf(text + n, (size_t)(FACTS - n),
			      "masks\nchecksum %016" PRIx64 "\ngradients\n%s\n",
			      wse_masks_sum(wse_memx_masks(s->memx)),
			      wse_masks_packs_any(wse_memx_masks(s->memx))
				      ? "packed"
				      : "of all weights: without LINEAR streams");
	return ret ? ret : n < FACTS ? 0 : -ENOSPC;
}

/* one line of a text; *at moves on. "" at its end */
static void next_line(const char **at, char *line, size_t size)
{
	size_t n = strcspn(*at, "\n");

	snprintf(line, size, "%.*s", (int)n, *at);
	*at += n + ((*at)[n] == '\n');
}

/* the first fact that rank `rank` has otherwise; 0: none */
static int compare(struct wse_ranks *r, const char *mine, const char *other, uint32_t rank)
{
	char key[200], value[400], k[200], v[400], who[96], me[96];

	while (*mine || *other) {
		next_line(&mine, key, sizeof(key));
		next_line(&mine, value, sizeof(value));
		next_line(&other, k, sizeof(k));
		next_line(&other, v, sizeof(v));
		if (!strcmp(key, k) && !strcmp(value, v))
			continue;
		wse_hosts_name(r->hosts, rank, who, sizeof(who));
		wse_hosts_name(r->hosts, 0, me, sizeof(me));
		if (strcmp(key, k))
			return wse_fail(-EINVAL, "%s has %s %s where %s has %s %s", who, k, v, me,
					key, value);
		return wse_fail(-EINVAL,
				"%s has %s %s, %s has %s: give all ranks the same files and "
				"options",
				who, key, v, me, value);
	}
	return 0;
}

static int compare_facts(struct wse_session *s)
{
	struct wse_ranks *r = s->ranks;
	char *mine = calloc(1, FACTS), *all = NULL;
	uint32_t ok = 1;
	int ret = mine ? make_facts(s, mine) : -ENOMEM;

	if (!ret && !r->rank) {
		all = calloc(r->ranks, FACTS);
		ret = all ? 0 : -ENOMEM;
	}
	if (ret)
		wse_fail(ret, "facts of the run: %s", strerror(-ret));
	else
		ret = wse_hosts_gather(r->hosts, mine, all, FACTS);
	for (uint32_t i = 1; all && !ret && i < r->ranks; i++) {
		char *other = all + (size_t)i * FACTS;

		other[FACTS - 1] = 0;
		ret = compare(r, mine, other, i);
	}
	/* no rank goes on before all were compared */
	ret = ret ? ret : wse_hosts_spread(r->hosts, &ok, sizeof(ok));
	free(mine);
	free(all);
	return ret;
}

/*
 * Devices of all ranks, and which of n micro-batches each rank has: as the workers of one process
 * do
 */
static int deal(struct wse_session *s, uint32_t n)
{
	struct wse_ranks *r = s->ranks;
	uint32_t mine = wse_swarm_alive(s->swarm);
	uint64_t devices = 0, before = 0;
	int ret = wse_hosts_gather(r->hosts, &mine, r->alive, sizeof(mine));

	ret = ret ? ret : wse_hosts_spread(r->hosts, r->alive, r->ranks * sizeof(*r->alive));
	for (uint32_t i = 0; i < r->ranks && !ret; i++)
		devices += r->alive[i];
	for (uint32_t i = 0; i < r->ranks && !ret; i++) {
		r->cut[i] = (uint32_t)(before * n / devices);
		before += r->alive[i];
		r->cut[i + 1] = (uint32_t)(before * n / devices);
	}
	return ret;
}

/* what rank 0 says once */
static void say_ranks(struct wse_session *s)
{
	struct wse_ranks *r = s->ranks;
	uint32_t m = s->plan.micro_batches, n = wse_ranks_devices(r);
	struct wse_network net;

	if (r->rank || r->ranks == 1 || wse_network_of(&s->cfg, &s->plan, r->ranks, NULL, &net))
		return;
	wse_logf(
		&s->log, WSE_LOG_INFO,
		"| %u ranks, %u wafers; a rank sends up to %.1f MB of gradients and %.1f MB of images "
		"in a usual step",
		r->ranks, n, 1e-6 * (double)net.out.grads, 1e-6 * (double)net.out.images);
	if (n > m)
		wse_logf(&s->log, WSE_LOG_WARN,
			 "a step has %u micro-batch%s, so %u of the %u wafers of all ranks have no "
			 "work",
			 m, m == 1 ? "" : "es", n - m, n);
}

/* ---- weights of other ranks ---- */

static int spread(void *ctx, const struct wse_memx_part *part, uint32_t n)
{
	struct wse_ranks *r = ctx;

	return wse_exchange_spread(r->x, part, n);
}

/* the owner is in serve() */
static int fetch(void *ctx, uint32_t piece, enum wse_memx_array which, float *to, size_t count)
{
	struct wse_ranks *r = ctx;
	uint32_t owner = wse_memx_piece_owner(piece, r->ranks);
	struct request ask = {piece, which};
	const struct wse_host_msg m[] = {
		{owner, 1, &ask, sizeof(ask)},
		{owner, 0, to, count * sizeof(*to)},
	};

	if (!r->reading)
		return wse_fail(-ENOTSUP,
				"rank %u keeps this part of the weights: every rank "
				"makes the same calls",
				owner);
	return wse_hosts_swap(r->hosts, m, 2);
}

/* what rank `reader` asks for, until it has read */
static int serve(struct wse_session *s, uint32_t reader)
{
	struct wse_ranks *r = s->ranks;
	const struct wse_memx_pieces *l = wse_memx_pieces(s->memx);
	float *piece = malloc(l->longest * sizeof(*piece));
	struct request ask;
	int ret = piece ? 0 : wse_fail(-ENOMEM, "no memory for a piece of the weights");

	while (!ret) {
		struct wse_host_msg m = {reader, 0, &ask, sizeof(ask)};

		ret = wse_hosts_swap(r->hosts, &m, 1);
		if (ret || ask.piece == UINT32_MAX)
			break;
		ret = wse_memx_piece(s->memx, ask.piece, (enum wse_memx_array)ask.which, piece);
		if (ret)
			break;
		m = (struct wse_host_msg){reader, 1, piece, l->p[ask.piece].count * sizeof(*piece)};
		ret = wse_hosts_swap(r->hosts, &m, 1);
	}
	free(piece);
	return ret;
}

static int has_read(struct wse_ranks *r)
{
	struct wse_host_msg *m = calloc(r->ranks, sizeof(*m));
	struct request ask = {UINT32_MAX, 0};
	uint32_t n = 0;
	int ret;

	if (!m)
		return wse_fail(-ENOMEM, "no memory");
	for (uint32_t i = 0; i < r->ranks; i++)
		if (i != r->rank)
			m[n++] = (struct wse_host_msg){i, 1, &ask, sizeof(ask)};
	ret = wse_hosts_swap(r->hosts, m, n);
	free(m);
	return ret;
}

static int read_one(struct wse_session *s, uint32_t reader, int (*read)(void *ctx), void *ctx)
{
	struct wse_ranks *r = s->ranks;
	struct wse_failure why;
	int ret;

	if (r->rank != reader)
		return serve(s, reader);
	r->reading = 1;
	ret = read(ctx);
	r->reading = 0;
	wse_failure_keep(&why, ret);
	if (has_read(
		    /* what was read is good all the same; the next call says that the run failed */
		    r))
		wse_failure_undo(&why);
	return ret ? wse_failure_tell(&why) : 0;
}

int wse_ranks_read_first(struct wse_session *s, int (*read)(void *ctx), void *ctx)
{
	int ret = wse_ranks_meet(s, WSE_TOGETHER_SERVE, 0);

	if (!ret)
		ret = s->ranks ? read_one(s, 0, read, ctx) : read(ctx);
	return ret;
}

int wse_ranks_read_all(struct wse_session *s, int (*read)(void *ctx), void *ctx)
{
	struct wse_failure why;
	int ret = 0, one;

	for (uint32_t i = 0; s->ranks && i < s->ranks->ranks; i++) {
		wse_failure_keep(&why, ret);
		one = read_one(s, i, read, ctx);
		if (i == s->ranks->rank)
			ret = one;
		else if (one &&
			 !wse_hosts_failed(
				 s->ranks->hosts)) /* what this rank reads is good all the same */
			wse_hosts_fail(s->ranks->hosts, one);
		if (i != s->ranks->rank)
			wse_failure_undo(&why);
	}
	return s->ranks ? ret : read(ctx);
}

int wse_ranks_join(struct wse_session *s, struct wse_hosts *hosts, int err)
{
	struct wse_ranks *r = err ? NULL : calloc(1, sizeof(*r));
	int ret = err;

	if (!r) {
		ret = err ? err : wse_fail(-ENOMEM, "no memory");
		wse_hosts_fail(hosts, ret);
		wse_hosts_close(hosts);
		return ret;
	}
	s->ranks = r;
	r->hosts = hosts;
	r->rank = wse_hosts_rank(hosts);
	r->ranks = wse_hosts_ranks(hosts);
	r->log = s->log;
	if (r->rank)
		s->log = (struct wse_exec_cfg){quiet, r};
	r->alive = calloc(r->ranks, sizeof(*r->alive));
	r->cut = calloc(r->ranks + 1, sizeof(*r->cut));
	if (!r->alive || !r->cut)
		ret = wse_fail(-ENOMEM, "no memory");
	ret = ret ? ret : wse_exchange_open(hosts, wse_memx_pieces(s->memx), &r->x);
	if (!ret)
		wse_exchange_images(r->x, &s->plan.graph, wse_memx_images(s->memx));
	ret = ret ? ret : compare_facts(s);
	ret = ret ? ret : deal(s, s->plan.micro_batches);
	if (ret) {
		wse_hosts_fail(hosts, ret);
		return ret;
	}
	wse_memx_join(s->memx, &(struct wse_memx_peers){spread, fetch, r});
	say_ranks(s);
	return ret;
}

void wse_ranks_close(struct wse_session *s)
{
	struct wse_ranks *r = s->ranks;
	struct wse_failure before;

	if (!r)
		return;
	wse_exchange_close(r->x);
	wse_failure_keep(&before, 0);
	if (wse_hosts_close(r->hosts))
		wse_logf(&r->log, WSE_LOG_WARN, "%s; rank %u had all of the run by then",
			 wse_error(), r->rank);
	wse_failure_undo(&before);
	free(r->alive);
	free(r->cut);
	free(r);
	s->ranks = NULL;
}

struct wse_hosts *wse_ranks_hosts(const struct wse_ranks *r)
{
	return r->hosts;
}

uint32_t wse_ranks_rank(const struct wse_ranks *r)
{
	return r->rank;
}

uint32_t wse_ranks_ranks(const struct wse_ranks *r)
{
	return r->ranks;
}

uint32_t wse_ranks_devices(const struct wse_ranks *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->ranks; i++)
		n += r->alive[i];
	return n;
}

int wse_ranks_failed(const struct wse_ranks *r)
{
	return wse_hosts_failed(r->hosts);
}

void wse_ranks_carried(const struct wse_ranks *r, uint64_t *out, uint64_t *in)
{
	wse_hosts_carried(r->hosts, out, in);
}

int wse_ranks_fail(struct wse_ranks *r, int err)
{
	return wse_hosts_fail(r->hosts, err);
}

/* ---- orders ---- */

static int receive(struct wse_ranks *r)
{
	int ret = wse_hosts_spread(r->hosts, &r->order, sizeof(r->order));

	r->have = !ret;
	return ret;
}

uint64_t wse_ranks_samples(const struct wse_session *s)
{
	const struct wse_model *m = &s->cfg.model;
	uint64_t sum = 0xcbf29ce484222325ull; /* FNV-1a */

	for (uint64_t b = 0; b < s->cfg.batch; b++)
		for (uint32_t i = 0; i < m->window + m->span; i++)
			sum = (sum ^ wse_token(s->samples[b], (ptrdiff_t)i - m->window, m->vocab)) *
			      0x100000001b3ull;
	for (uint64_t i = 0; s->own_mask && i < s->cfg.batch * m->span; i++)
		sum = (sum ^ !s->own_mask[i]) * 0x100000001b3ull;
	return sum;
}

/* rank 0 gives the order; the others find the one that they expect */
static int meet(struct wse_session *s, struct order o)
{
	struct wse_ranks *r = s->ranks;
	int ret = 0;

	if (!r->rank) {
		r->order = o;
		return wse_hosts_spread(r->hosts, &r->order, sizeof(r->order));
	}
	if (!r->have)
		ret = receive(r);
	if (ret)
		return ret;
	r->have = 0;
	if (r->order.kind != o.kind || r->order.step != o.step || r->order.what != o.what ||
	    (o.kind == WSE_TOGETHER_EVAL && r->order.flags != o.flags))
		ret = wse_fail(-EPROTO,
			       "rank 0 does %s after step %" PRIu64
			       ", rank %u %s after step %" PRIu64
			       "%s: every rank makes the same calls",
			       kinds[r->order.kind <= WSE_TOGETHER_END ? r->order.kind : 0],
			       r->order.step, r->rank, kinds[o.kind], o.step,
			       r->order.what == o.what	     ? ""
			       : o.kind == WSE_TOGETHER_STEP ? ", on other samples"
							     : ", of something else");
	return ret ? wse_hosts_fail(r->hosts, ret) : 0;
}

static int meet_at(struct wse_session *s, enum wse_together kind, uint64_t what, uint32_t flags)
{
	int ret;

	if (!s->ranks)
		return 0;
	ret = meet(s, (struct order){.kind = kind,
				     .step = wse_session_step(s),
				     .what = what,
				     .flags = flags});
	if (!ret && kind != WSE_TOGETHER_STEP)
		ret = wse_memx_finish(s->memx);
	return ret;
}

int wse_ranks_meet(struct wse_session *s, enum wse_together kind, uint64_t what)
{
	return meet_at(s, kind, what, 0);
}

int wse_ranks_eval(struct wse_session *s, uint32_t set, uint64_t max_batches)
{
	return meet_at(s, WSE_TOGETHER_EVAL, max_batches, set);
}

static int share_unit(void *ctx, struct wse_reduce *reduce, uint32_t unit)
{
	struct wse_session *s = ctx;

	return wse_exchange_unit(s->ranks->x, reduce, unit);
}

/* losses of the other ranks' micro-batches, and rows */
static int share(void *ctx, struct wse_row_sum *rows, uint32_t nrows)
{
	struct wse_session *s = ctx;
	struct wse_ranks *r = s->ranks;
	int ret = wse_exchange_all(r->x, s->io.losses, s->plan.tokens * sizeof(float), r->cut);

	return ret || !s->io.jobs[0].backward ? ret : wse_exchange_rows(r->x, rows, nrows);
}

int wse_ranks_deal(struct wse_session *s, struct wse_swarm_step *step)
{
	struct wse_ranks *r = s->ranks;
	int ret = deal(s, step->n);

	if (!ret)
		wse_exchange_begin(r->x, step->n, r->cut);
	step->share_unit = share_unit;
	step->share = share;
	step->share_ctx = s;
	step->first = r->cut[r->rank];
	step->end = r->cut[r->rank + 1];
	return ret;
}

int wse_ranks_collect(struct wse_session *s)
{
	int ret = wse_ranks_meet(s, WSE_TOGETHER_COLLECT, 0);

	for (uint32_t i = 0; s->ranks && i < s->plan.graph.nunits && !ret; i++)
		ret = wse_exchange_collect(s->ranks->x, i, s->io.sums[i],
					   wse_memx_grad_file(s->memx));
	return ret;
}

static int what_is_loaded(struct wse_session *s, const char *path, struct loaded *l)
{
	memset(l, 0, sizeof(*l));
	l->step = wse_session_step(s);
	return wse_ckpt_hash(path, l->hash);
}

/* the same file on every rank: a folder that is not shared may have another one of this name */
static int compare_loaded(struct wse_session *s, const char *path)
{
	struct wse_ranks *r = s->ranks;
	struct loaded mine, *all = r->rank ? NULL : calloc(r->ranks, sizeof(*all));
	int ret = r->rank || all ? what_is_loaded(s, path, &mine) : wse_fail(-ENOMEM, "no memory");
	char who[96];

	ret = ret ? ret : wse_hosts_gather(r->hosts, &mine, all, sizeof(mine));
	for (uint32_t i = 1; all && !ret && i < r->ranks; i++)
		if (all[i].step != mine.step || memcmp(all[i].hash, mine.hash, sizeof(mine.hash)))
			ret = wse_fail(
				-EINVAL,
				"checkpoint %.300s is another file on %s: all ranks need the "
				"same folder, on storage that they share",
				path, wse_hosts_name(r->hosts, i, who, sizeof(who)));
	free(all);
	return ret ? ret : wse_memx_loaded(s->memx);
}

int wse_ranks_load_each(struct wse_session *s, const char *path, enum wse_ckpt_load what, int err)
{
	struct order o = {.kind = WSE_TOGETHER_LOAD, .flags = what};
	char thing[WSE_PATH + 32];
	struct wse_failure why;
	struct loaded mine;
	int ret, done = 0;

	/* its step is what was loaded, or not: compared below */
	snprintf(thing, sizeof(thing), "file as checkpoint %.300s", path);
	err = err ? err : what_is_loaded(s, path, &mine);
	wse_failure_keep(&why, err);
	ret = meet(s, o);
	if (ret)
		return ret;
	if (err)
		wse_failure_tell(&why);
	ret = wse_ranks_agree(s->ranks, err, err ? 0 : wse_ranks_sum(&mine, sizeof(mine)) + what,
			      thing, &done);
	s->torn |= ret && done;
	return ret ? ret : wse_memx_loaded(s->memx);
}

int wse_ranks_load(struct wse_session *s, const char *path, enum wse_ckpt_load what)
{
	struct order o = {.kind = WSE_TOGETHER_LOAD, .step = wse_session_step(s), .flags = what};
	int ret;

	snprintf(o.path, sizeof(o.path), "%s", path);
	ret = meet(s, o);
	return ret ? ret : compare_loaded(s, path);
}

int wse_ranks_end(struct wse_session *s, int err, int stopped)
{
	if (s->ranks->rank)
		return err;
	if (err)
		return wse_hosts_fail(s->ranks->hosts, err);
	return meet(s, (struct order){.kind = WSE_TOGETHER_END,
				      .step = wse_session_step(s),
				      .flags = stopped != 0});
}

static int nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

static int obey(struct wse_session *s)
{
	struct order *o = &s->ranks->order;
	struct wse_step_result r = {0};
	uint64_t samples;
	double loss;
	int ret;

	switch (o->kind) {
	case WSE_TOGETHER_STEP:
		ret = wse_session_compute(s, &r);
		s->ranks->loss = r.loss;
		return ret;
	case WSE_TOGETHER_COMMIT:
		ret = wse_session_commit(s, &r);
		r.loss = s->ranks->loss;
		if (!ret)
			wse_live_result(s, &r);
		return ret;
	case WSE_TOGETHER_CHECK:
		return wse_session_check_grads(s);
	case WSE_TOGETHER_EVAL:
		return o->flags < s->cfg.nval
			       ? wse_session_eval(s, o->flags, o->what, &loss, &samples)
			       : wse_fail(-EPROTO, "rank 0 evaluates set %u of %u", o->flags,
					  s->cfg.nval);
	case WSE_TOGETHER_PROBE:
		return wse_session_probe(s);
	case WSE_TOGETHER_FINISH:
		return wse_ranks_meet(s, WSE_TOGETHER_FINISH, 0);
	case WSE_TOGETHER_COLLECT:
		return wse_ranks_collect(s);
	case WSE_TOGETHER_NORMS:
		return wse_session_param_norm(s, &loss);
	case WSE_TOGETHER_SERVE:
		return wse_ranks_read_first(s, nothing, NULL);
	case WSE_TOGETHER_LOAD:
		s->ranks->have = 0;
		o->path[sizeof(o->path) - 1] = 0;
		ret = wse_session_load(s, o->path, (enum wse_ckpt_load)o->flags);
		return ret ? ret : compare_loaded(s, o->path);
	default:
		return wse_fail(-EPROTO, "rank 0 says %u, which is no order", o->kind);
	}
}

int wse_ranks_follow(struct wse_session *s, int *stopped)
{
	struct wse_ranks *r = s->ranks;
	int ret;

	do {
		ret = receive(r);
		if (!ret && r->order.kind == WSE_TOGETHER_END) {
			*stopped = r->order.flags != 0;
			r->have = 0;
			return 0;
		}
		ret = ret ? ret : obey(s);
	} while (!ret);
	return wse_hosts_fail(r->hosts, ret);
}
