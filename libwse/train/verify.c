// SPDX-License-Identifier: MIT
/* Replay of one step on one device, and the comparison. */
#include "verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>

#include "base/error.h"
#include "num/num.h"
#include "ranks.h"
#include "wave.h"
#include "wse_regs.h"

#define SOME (1u << 20) /* floats of a gradient that are compared at a time */
#define REST 100	/* cycles that waves show behind the last move */

struct replay {
	struct wse_session *s;
	struct wse_exec *e;
	struct wse_swarm *swarm;
	struct wse_slots io;
	uint32_t *views; /* [2 * nunits]: how often the device has taken an image that moves */
	/*
	 * of a run that failed: its record, in which cycles it went that way, and why there is no
	 * file of waves (err 0: there is)
	 */
	int faulted;
	struct drm_wse_fault fault;
	struct wse_watch seen;
	struct wse_failure waves;
};

/* element i of a and b has other bits: in words, as element `own` of `what` */
static int differ(struct wse_session *s, const char *what, size_t own, const char *uri,
		  const float *a, const float *b, size_t i)
{
	return wse_fail(-EILSEQ,
			"step %llu differs at %s[%zu]: %08x (%g) in the run, %08x "
			"(%g) on %.60s",
			(unsigned long long)wse_session_step(s) + 1, what, own, wse_f2u(a[i]), a[i],
			wse_f2u(b[i]), b[i], uri);
}

/* the first from i on that differs; n: none */
static size_t next_difference(const float *a, const float *b, size_t i, size_t n)
{
	while (i < n && wse_f2u(a[i]) == wse_f2u(b[i]))
		i++;
	return i;
}

/* the device sees what there is of a unit's image at all times, or no longer */
static int map_image(struct wse_exec *e, const struct wse_image *img, int move)
{
	int ret = e->ops->map(e, img->vec.buf);

	if (!ret && !move && img->packed && img->packed->buf)
		ret = e->ops->map(e, img->packed->buf);
	if (!ret && !move && img->packed_tr && img->packed_tr->buf)
		ret = e->ops->map(e, img->packed_tr->buf);
	return ret;
}

static void unmap_image(struct wse_exec *e, const struct wse_image *img, int move)
{
	e->ops->unmap(e, img->vec.buf);
	if (move)
		return;
	if (img->packed && img->packed->buf)
		e->ops->unmap(e, img->packed->buf);
	if (img->packed_tr && img->packed_tr->buf)
		e->ops->unmap(e, img->packed_tr->buf);
}

/* the buffer of an image that is taken; NULL: it is that of the vectors, which are always there */
static struct wse_shared_buf *moving(const struct replay *r, uint32_t unit,
				     enum wse_image_part part)
{
	const struct wse_image *img = &wse_memx_images(r->s->memx)[unit];
	const struct wse_packed *p = part == WSE_IMAGE_TR ? img->packed_tr : img->packed;
	struct wse_shared_buf *buf = part == WSE_IMAGE_TR    ? img->tr.buf
				     : part == WSE_IMAGE_FWD ? img->fwd.buf
							     : NULL;

	if (!buf && part != WSE_IMAGE_NONE && p)
		buf = p->buf;
	return buf == img->vec.buf ? NULL : buf;
}

/* where images come and go the device sees one while it has taken it */
static int unit_take(void *ctx, uint32_t unit, enum wse_image_part part, int wait)
{
	struct replay *r = ctx;
	uint32_t *views = &r->views[2 * unit + (part == WSE_IMAGE_TR)];
	int ret = wse_memx_unit_take(r->s->memx, unit, part, wait);
	struct wse_shared_buf *buf = ret ? NULL : moving(r, unit, part);

	if (!buf || (*views)++)
		return ret;
	ret = r->e->ops->map(r->e, buf);
	if (ret) {
		--*views;
		wse_memx_unit_done(r->s->memx, unit, part);
	}
	return ret;
}

static void unit_done(void *ctx, uint32_t unit, enum wse_image_part part)
{
	struct replay *r = ctx;
	struct wse_shared_buf *buf = moving(r, unit, part);

	if (buf && !--r->views[2 * unit + (part == WSE_IMAGE_TR)])
		r->e->ops->unmap(r->e, buf);
	wse_memx_unit_done(r->s->memx, unit, part);
}

/* what the device says of it, and the end of its waves; the sentence of err stays */
static void note_failure(struct replay *r, struct wse_exec *e, int err, int wave)
{
	struct wse_failure failure;

	wse_failure_keep(&failure, err);
	r->faulted = e->ops->fault && !e->ops->fault(e, &r->fault) && e->ops->watch &&
		     !e->ops->watch(e, &r->seen) && r->seen.failed;
	if (wave)
		wse_failure_keep(&r->waves, e->ops->wave(e, NULL));
	wse_failure_undo(&failure);
}

/*
 * The replay has buffers of its own and reads the images of the run, which its device has to see.
 * Inputs are gathered anew, from the weights that the step had.
 */
static int run(struct wse_session *s, struct wse_exec *e, const char *wave, int look,
	       struct replay *r)
{
	const int move = wse_memx_images_move(s->memx);
	const struct wse_graph *g = &s->plan.graph;
	const struct wse_image *images = wse_memx_images(s->memx);
	struct wse_buf_pool pool = wse_swarm_pool(r->swarm);
	struct wse_swarm_step step;
	int ret = wse_slots_open(&r->io, s, &pool, 1, 0);

	for (uint32_t i = 0; i < g->nunits && !ret; i++)
		ret = map_image(e, &images[i], move);
	for (uint32_t i = 0; i < g->nunits && !ret; i++)
		if (images[i].mask.buf)
			ret = e->ops->map(e, images[i].mask.buf);
	if (ret)
		return ret;
	for (uint32_t k = 0; k < s->plan.micro_batches; k++) {
		r->io.jobs[k].images = images;
		r->io.jobs[k].scale = s->io.jobs[k].scale;
		r->io.jobs[k].drop = s->io.jobs[k].drop;
	}
	step = wse_slots_step(&r->io, s->plan.micro_batches);
	step.step = wse_session_step(s) + 1;
	if (move) {
		r->s = s;
		r->e = e;
		r->views = calloc(2ul * g->nunits + 1, sizeof(*r->views));
		if (!r->views)
			return -ENOMEM;
		step.unit_take = unit_take;
		step.unit_done = unit_done;
		step.ready_ctx = r;
	}
	ret = wave && !e->ops->wave ? -ENOTSUP : wave ? e->ops->wave(e, wave) : 0;
	if (ret)
		return ret;
	if (look && e->ops->watch) {
		e->ops->short_budgets(e);
		ret = e->ops->watch(e, NULL);
	}
	if (ret)
		return ret;
	ret = wse_swarm_start(r->swarm, &step);
	ret = ret ? ret : wse_swarm_wait(r->swarm);
	/* also of a step that failed: there it is most wanted */
	if (ret)
		note_failure(r, e, ret, wave != NULL);
	return ret || !wave ? ret : e->ops->wave(e, NULL);
}

/* the device's views of the run's images end before the device does */
static void unmap(struct wse_session *s, struct wse_exec *e)
{
	const struct wse_image *images = wse_memx_images(s->memx);

	for (uint32_t i = 0; i < s->plan.graph.nunits; i++) {
		unmap_image(e, &images[i], wse_memx_images_move(s->memx));
		if (images[i].mask.buf)
			e->ops->unmap(e, images[i].mask.buf);
	}
}

/*
 * the tensor, and its element *own, that has its gradient at place i of a unit's buffer; NULL:
 * padding
 */
static const char *tensor_at(const struct wse_session *s, const struct wse_unit *u, size_t i,
			     size_t *own)
{
	struct wse_piece p;

	for (uint32_t v = u->weight == WSE_NO_TENSOR; v <= u->nvec; v++) {
		const struct wse_tensor *t = &s->table->t[v ? u->vec[v - 1].tensor : u->weight];

		for (size_t k = 0; wse_unit_piece(&s->plan.graph, u, v, t, k, &p); k++) {
			if (i < p.at || i >= p.at + p.count)
				continue;
			*own = p.from + (i - p.at);
			return t->name;
		}
	}
	return NULL;
}

static int compare_unit(struct wse_session *s, const char *uri, const struct replay *r,
			uint32_t unit)
{
	const struct wse_unit *u = &s->plan.graph.units[unit];
	size_t n = wse_unit_grad_floats(&s->plan.graph, u), own, some;
	float *a = malloc(2 * SOME * sizeof(*a)), *b = a + SOME;
	int ret = a ? 0 : wse_fail(-ENOMEM, "no memory");

	for (size_t at = 0; at < n && !ret; at += some) {
		some = n - at < SOME ? n - at : SOME;
		ret = wse_memx_sum(s->memx, s->io.sums, unit, at, some, a);
		ret = ret ? ret : wse_memx_sum(s->memx, r->io.sums, unit, at, some, b);
		for (size_t i = ret ? some : next_difference(a, b, 0, some); i < some && !ret;
		     i = next_difference(a, b, i + 1, some)) {
			const char *what = tensor_at(s, u, at + i, &own);

			ret = what ? differ(s, what, own, uri, a, b, i) : 0;
		}
	}
	free(a);
	return ret;
}

static int compare_losses(struct wse_session *s, const char *uri, const struct replay *r)
{
	const float *a = s->io.losses, *b = r->io.losses;
	size_t n = (size_t)s->plan.micro_batches * s->plan.tokens;
	size_t i = next_difference(a, b, 0, n);
	const struct wse_graph *g = &s->plan.graph;

	return i == n ? 0 : differ(s, g->out[g->loss].name, i, uri, a, b, i);
}

/*
 * The same samples have the same rows, but of a model of one's own: there a row without a bit set
 * is none, and is compared as 0
 */
static int compare_rows(struct wse_session *s, const char *uri, const struct replay *r, uint32_t k)
{
	const struct wse_rows *a = s->io.rows[k], *b = r->io.rows[k];
	uint32_t i = 0, j = 0, width = s->table->t[s->io.rowed[k]].dim[1];
	float *none = calloc(width, sizeof(*none));
	int ret = none ? 0 : wse_fail(-ENOMEM, "no memory");

	while (!ret && (i < a->n || j < b->n)) {
		int left = i < a->n && (j == b->n || a->row[i] <= b->row[j]);
		int right = j < b->n && (i == a->n || b->row[j] <= a->row[i]);
		const float *x = left ? a->data + (size_t)i * width : none;
		const float *y = right ? b->data + (size_t)j * width : none;
		size_t row = left ? a->row[i] : b->row[j], at = next_difference(x, y, 0, width);

		if (at < width)
			ret = differ(s, s->table->t[s->io.rowed[k]].name, row * width + at, uri, x,
				     y, at);
		i += left != 0;
		j += right != 0;
	}
	free(none);
	return ret;
}

/* every loss, every sum of gradients: what else came out is in these by now */
static int compare(struct wse_session *s, const char *uri, const struct replay *r)
{
	int ret = compare_losses(s, uri, r);

	for (uint32_t i = 0; i < s->io.nrows && !ret; i++)
		ret = compare_rows(s, uri, r, i);
	for (uint32_t i = 0; i < s->plan.graph.nunits && !ret; i++)
		ret = compare_unit(s, uri, r, i);
	return ret;
}

/* once; judge: and compared with the run; else it is to fail, and r has the cycles */
static int replay(struct wse_session *s, const char *uri, const char *wave, int judge,
		  struct replay *r)
{
	unsigned int before = wse_failures();
	struct wse_exec *e = NULL;
	int ret = wse_session_device(s, uri, &e);

	memset(r, 0, sizeof(*r));
	if (ret)
		return ret;
	ret = wse_swarm_open(&e, 1, &s->log, &r->swarm);
	if (ret) {
		e->ops->close(e);
		return wse_fail(ret, "replay on %.100s: %s", uri, strerror(-ret));
	}
	e->id = WSE_SWARM_MAX; /* beside the run's own devices */
	ret = run(s, e, wave, !judge, r);
	if (ret)
		wse_fail_in(wse_fail_since(before, ret, "%s", strerror(-ret)),
			    "replay on %.100s: ", uri);
	else if (judge)
		ret = compare(s, uri, r);
	unmap(s, e);
	wse_swarm_close(r->swarm);
	wse_slots_close(&r->io);
	free(r->views);
	return ret;
}

int wse_verify_wave(struct wse_session *s, const char *uri, const char *wave)
{
	struct replay r;
	int ret = wse_ranks_collect(s);

	return ret ? ret : replay(s, uri, wave, 1, &r);
}

int wse_verify_step(struct wse_session *s, const char *uri)
{
	return wse_verify_wave(s, uri, NULL);
}

static int is_late(uint32_t status)
{
	return status == WSE_ST_DEADLOCK || status == WSE_ST_TIMEOUT;
}

/*
 * The cycle behind the window of a run that failed. A deadlock, and a loop without end, are told
 * long after they are there, when a budget ends: then the end is where the last engine, task or
 * wavelet moved.
 */
static uint64_t end_of(const struct replay *r)
{
	const uint64_t rest = r->seen.moved + REST, failed = r->seen.failed + 1;

	return is_late(r->fault.status) && rest < failed ? rest : failed;
}

/* "deadlock in core 1,0" */
static void what_came(const struct drm_wse_fault *f, char *text, size_t size)
{
	const char *what = f->status == WSE_ST_DEADLOCK	 ? "deadlock"
			   : f->status == WSE_ST_TIMEOUT ? "last event before the time-out"
							 : "fault";

	if (f->cause == WSE_CAUSE_WAIT_PORT)
		snprintf(text, size, "%s at the edge port of column %u", what, f->col);
	else
		snprintf(text, size, "%s in core %u,%u", what, f->col, f->row);
}

int wse_verify_fault(struct wse_session *s, const char *uri, const char *wave, char *said,
		     size_t size)
{
	unsigned long long step = wse_session_step(s) + 1, from, to;
	char window[WSE_PATH + 128], what[80];
	struct replay r;
	int ret = replay(s, uri, NULL, 0, &r);

	if (!ret)
		return wse_fail(-ENODATA,
				"step %llu comes to its end on %.100s, so the fault is not of the "
				"program, and there are no waves of it",
				step, uri);
	if (!r.faulted)
		return ret;
	to = end_of(&r);
	from = to > WSE_WAVE_CYCLES ? to - WSE_WAVE_CYCLES : 0;
	snprintf(window, sizeof(window), "%.1080s,from=%llu,to=%llu", wave, from, to);
	ret = replay(s, uri, window, 0, &r);
	if (ret && r.waves.err)
		return wse_failure_tell(&r.waves);
	if (!ret || !r.faulted || end_of(&r) != to)
		return wse_fail(ret ? ret : -ENODATA,
				"step %llu does not fail in the same cycle twice on %.100s", step,
				uri);
	what_came(&r.fault, what, sizeof(what));
	snprintf(said, size, "cycles %llu to %llu of step %llu, to the %s: %.1000s", from, to - 1,
		 step, what, wave);
	return 0;
}
