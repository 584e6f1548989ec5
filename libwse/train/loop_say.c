// SPDX-License-Identifier: MIT
/* What a run says: lines of the log, metrics, TensorBoard's events, the loss curve. */
#include "loop_inside.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "norms.h"
#include "plan_sparse.h"

/* no reason to stop a run for */
void wse_loop_record(struct loop *l, const struct wse_metric *m)
{
	int ret = wse_metrics_add(&l->metrics, m);

	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "metrics.csv ends here: %s", strerror(-ret));
}

/* likewise */
void wse_loop_board(struct loop *l, uint64_t step, const struct wse_scalar *s, uint32_t n)
{
	int ret = l->board < 0 ? 0 : wse_tensorboard_add(l->board, step, s, n);

	if (!ret)
		return;
	wse_logf(&l->log, WSE_LOG_WARN, "TensorBoard's events end here: %s", strerror(-ret));
	close(l->board);
	l->board = -1;
}

/* "" unless there are several ranks and steps behind each other */
static const char *exposed(const struct loop *l, double step, char *text, size_t size)
{
	double gap = l->line_gaps ? l->line_exposed / (double)l->line_gaps : 0.0;

	text[0] = 0;
	if (l->line_gaps)
		snprintf(text, size, ", Exposed=%.2f ms/step (%.1f %%)", 1e3 * gap,
			 100.0 * gap / step);
	return text;
}

int wse_loop_has_line(const struct loop *l, uint64_t step)
{
	return step % l->run->cfg.log_steps == 0 || step == l->run->cfg.max_steps;
}

static void board_one(void *ctx, const struct wse_scalar *s)
{
	struct loop *l = ctx;

	wse_loop_board(l, wse_session_step(l->s), s, 1);
}

void wse_loop_say_sparsity(struct loop *l)
{
	uint64_t all = 0, there = 0;

	for (uint32_t i = 0; i < wse_memx_masks(l->s->memx)->nparts; i++) {
		all += wse_memx_masks(l->s->memx)->part[i].count;
		there += wse_memx_masks(l->s->memx)->part[i].keep;
	}
	wse_logf(&l->log, WSE_LOG_INFO,
		 "| Sparse: %" PRIu64 " of %" PRIu64 " weights in %u matrices", there, all,
		 wse_memx_masks(l->s->memx)->nparts);
}

/* of n steps, recomputation not counted; utilization: of the lanes, as the plan predicts it */
static void say_flops(struct loop *l, double n)
{
	const struct wse_plan *p = &l->s->plan;
	double macs = 3.0 * ((double)l->s->cfg.model.family->macs(&l->s->cfg.model) -
			     wse_plan_left_out(p));
	double tokens = (double)l->run->cfg.batch * l->s->cfg.model.span;

	wse_logf(&l->log, WSE_LOG_INFO,
		 "| FLOPs a step=%.4g, Rate=%.4g FLOP/s, planned utilization=%.3f",
		 2.0 * macs * tokens, 2.0 * macs * tokens * n / (l->line_seconds + 1e-9),
		 p->useful);
}

/* no reason to stop a run for */
static void say_norms(struct loop *l)
{
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	if (wse_norms_say(l->s, l->params, l->last.norm, board_one, l))
		wse_logf(&l->log, WSE_LOG_WARN, "%s", wse_error());
	wse_failure_undo(&before);
}

void wse_loop_report(struct loop *l)
{
	uint64_t step = wse_session_step(l->s), max = l->run->cfg.max_steps;
	double batch = (double)l->run->cfg.batch;
	double rate = batch * (double)(step - l->first) / (wse_loop_now() - l->begin + 1e-9);
	double n = (double)(step - l->line_step);
	char text[64];
	struct wse_progress p = {step, max, l->res->loss, rate,
				 (double)(max - step) * batch / (rate + 1e-9)};

	if (wse_loop_has_line(l, step)) {
		wse_logf(&l->log, WSE_LOG_INFO,
			 "| Train Device=WSE x%u, Step=%" PRIu64
			 ", Loss=%.5f, Rate=%.2f samples/sec, GlobalRate=%.2f samples/sec"
			 ", LR=%.4g, GradNorm=%.4g, Time=%.2f ms/step%s",
			 wse_session_devices(l->s), step, l->res->loss,
			 batch * n / (l->line_seconds + 1e-9), rate, l->last.lr, l->last.norm,
			 1e3 * l->line_seconds / n,
			 exposed(l, l->line_seconds / n, text, sizeof(text)));
		wse_loop_board(l, step,
			       (struct wse_scalar[]){{"loss", l->res->loss},
						     {"learning_rate", l->last.lr},
						     {"gradient_norm", l->last.norm},
						     {"samples_per_second",
						      batch * n / (l->line_seconds + 1e-9)}},
			       4);
		if (l->run->cfg.log_flops)
			say_flops(l, n);
		if (l->run->cfg.log_norms)
			say_norms(l);
		l->line_step = step;
		l->line_seconds = l->line_exposed = 0.0;
		l->line_gaps = 0;
	}
	if (l->ops->progress)
		l->ops->progress(l->ops->ctx, &p);
}

static void curve_line(void *ctx, const char *text)
{
	struct loop *l = ctx;

	wse_logf(&l->log, WSE_LOG_INFO, "%s", text);
}

void wse_loop_show_curve(struct loop *l)
{
	const struct wse_data *d = &l->s->data;
	int ret;

	if (l->run->chart)
		wse_curve_text(&l->metrics, 64, 12, d->unigram, d->bigram, curve_line, l);
	ret = wse_curve_svg(&l->metrics, wse_loop_in_dir(l, "loss.svg"), d->unigram, d->bigram);
	if (ret)
		wse_logf(&l->log, WSE_LOG_WARN, "no loss curve in %s: %s", l->path, strerror(-ret));
	else
		wse_logf(&l->log, WSE_LOG_INFO, "| Loss curve in %s", l->path);
}

void wse_loop_say_rest(struct loop *l)
{
	uint64_t batch = l->run->cfg.batch, n = l->s->data.ntrain;

	if (n % batch && l->run->cfg.max_steps > n / batch)
		wse_logf(&l->log, WSE_LOG_INFO,
			 "| Epoch: %" PRIu64 " batches of %" PRIu64 " samples; %" PRIu64
			 " at its end are no whole batch and left out",
			 n / batch, batch, n % batch);
}

int wse_loop_open_board(struct loop *l)
{
	const char *to = l->run->cfg.tensorboard;
	char path[2 * WSE_PATH];
	int ret;

	if (!to[0])
		return 0;
	snprintf(path, sizeof(path), "%s%s%s", *to == '/' ? "" : l->run->cfg.model_dir,
		 *to == '/' ? "" : "/", to);
	ret = wse_tensorboard_open(path, &l->board);
	return ret ? wse_fail(ret, "TensorBoardLogger: %.300s: %s", path, strerror(-ret)) : 0;
}
