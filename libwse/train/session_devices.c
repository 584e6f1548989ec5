// SPDX-License-Identifier: MIT
/* The devices of a session: opened, of one shape, ready for the model that is planned on them. */
#include "session.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "train/plan_sparse.h"

static int open_device(struct wse_session *s, const char *uri, struct wse_exec **exec)
{
	unsigned int before = wse_failures();
	int ret = wse_exec_open(uri, &s->log, exec);

	return wse_fail_since(before, ret, "device %.100s cannot be opened: %s", uri,
			      strerror(-ret));
}

static int prepare_device(struct wse_session *s, const char *uri, struct wse_exec *e)
{
	unsigned int before = wse_failures();
	int ret = e->ops->prepare(e, &s->plan.graph);

	if (!ret)
		return 0;
	wse_fail_since(before, ret, "%s", strerror(-ret));
	return wse_fail_in(ret, "device %.100s cannot take the model: ", uri);
}

static int check_shape(struct wse_session *s, const char *uri, struct wse_exec *e)
{
	uint32_t used = s->plan.graph.tile.cols; /* 0: there is no plan yet */
	struct wse_exec_info info;

	e->ops->info(e, &info);
	if (info.tile.rows != s->tile.rows || info.tile.lanes != s->tile.lanes ||
	    (info.tile.cols != s->tile.cols && (!used || info.tile.cols < used)))
		return wse_fail(-EINVAL,
				"device %.100s has %u x %u cores, the first has "
				"%u x %u: tile shapes are not mixed",
				uri, info.tile.rows, info.tile.cols, s->tile.rows, s->tile.cols);
	return 0;
}

/* what lies packed is of use to devices with LINEAR streams alone */
static int check_streams(const struct wse_session *s, const char *uri, struct wse_exec *e)
{
	struct wse_exec_info info;

	e->ops->info(e, &info);
	if (!info.tile.no_linear || s->by_rows ||
	    !(wse_memx_masks(s->memx)->nparts || wse_masks_alone_any(wse_memx_masks(s->memx))))
		return 0;
	return wse_fail(-ENOTSUP,
			"device %.100s has no LINEAR streams, for which the weights of this run "
			"lie in their order: give it a device of ABI 1.4 or newer",
			uri);
}

int wse_session_device(struct wse_session *s, const char *uri, struct wse_exec **exec)
{
	int ret = open_device(s, uri, exec);

	if (ret)
		return ret;
	ret = check_shape(s, uri, *exec);
	ret = ret ? ret : check_streams(s, uri, *exec);
	ret = ret ? ret : prepare_device(s, uri, *exec);
	if (ret) {
		(*exec)->ops->close(*exec);
		*exec = NULL;
	}
	return ret;
}

/*
 * packed streams are made where one device takes them: the others have theirs by rows, and then
 * gradients lie with the places of all weights
 */
static void add_streams(struct wse_session *s, struct wse_exec *e)
{
	struct wse_exec_info info;

	e->ops->info(e, &info);
	s->tile.no_linear &= info.tile.no_linear;
	s->by_rows |= info.tile.no_linear;
}

/* a wafer takes whole micro-batches */
static void say_idle(struct wse_session *s, uint32_t n)
{
	uint32_t m = s->plan.micro_batches, samples = s->plan.tokens / s->cfg.model.span;

	if (n > m)
		wse_logf(
			&s->log, WSE_LOG_WARN,
			"a step has %u micro-batch%s, so %u of %u wafers have no work: take %u, or "
			"batch_size %u with micro_batch_size %u",
			m, m == 1 ? "" : "es", n - m, n, m, n * samples, samples);
}

/* samples that fill the last micro-batch up take the time of others: a warning from a tenth on */
static void say_fill(struct wse_session *s)
{
	const struct wse_plan *p = &s->plan;
	uint32_t samples = p->tokens / s->cfg.model.span;

	if (p->fill)
		wse_logf(
			&s->log, 10ull * p->fill > s->cfg.batch ? WSE_LOG_WARN : WSE_LOG_INFO,
			"%sthe last of %u micro-batch%s has %u of %u samples, and takes as long as "
			"a whole one",
			10ull * p->fill > s->cfg.batch ? "" : "| Batch: ", p->micro_batches,
			p->micro_batches == 1 ? "" : "es", samples - p->fill, samples);
}

/* the rest of the tile has no work: worth a word, more so where it is most of it */
static void say_columns(struct wse_session *s)
{
	const struct wse_plan *p = &s->plan;
	uint32_t used = p->graph.tile.cols;

	if (used < p->columns)
		wse_logf(&s->log, 2 * used < p->columns ? WSE_LOG_WARN : WSE_LOG_INFO,
			 "%sthe model takes %u of %u columns; for all of them: %s",
			 2 * used < p->columns ? "" : "| Tile: ", used, p->columns, p->idle);
}

int wse_session_open_devices(struct wse_session *s, const char *const *uris, uint32_t n)
{
	struct wse_exec *execs[WSE_SWARM_MAX] = {NULL};
	int ret = n && n <= WSE_SWARM_MAX ? 0 : -EINVAL;

	if (ret)
		return wse_fail(ret, "%u devices: 1 to %d are possible", n, WSE_SWARM_MAX);
	for (uint32_t i = 0; i < n && !ret; i++) {
		ret = open_device(s, uris[i], &execs[i]);
		if (!ret && i == 0) {
			struct wse_exec_info info;

			execs[i]->ops->info(execs[i], &info);
			s->tile = info.tile;
		}
		ret = ret ? ret : check_shape(s, uris[i], execs[i]);
		if (!ret)
			add_streams(s, execs[i]);
	}
	if (!ret)
		ret = wse_plan_make(&s->cfg.model, &s->tile, s->cfg.batch, s->cfg.micro_batch,
				    &s->plan);
	if (!ret && s->by_rows && s->cfg.linear) {
		s->cfg.linear = 0;
		wse_logf(
			&s->log, WSE_LOG_INFO,
			"| Images: by rows, as a device has no LINEAR streams (image_order linear)");
	}
	ret = ret ? ret : wse_plan_images(&s->cfg, &s->plan);
	if (!ret) {
		say_columns(s);
		say_fill(s);
		say_idle(s, n);
	}
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = prepare_device(s, uris[i], execs[i]);
	if (!ret)
		ret = wse_swarm_open(execs, n, &s->log, &s->swarm);
	for (uint32_t i = 0; i < n && ret; i++)
		if (execs[i])
			execs[i]->ops->close(execs[i]);
	return ret;
}
