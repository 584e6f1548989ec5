// SPDX-License-Identifier: MIT
/*
 * The end of a step in MemoryX: norm, learning rate, the optimizer's powers, and which units are
 * updated at once and which when the next step is under way.
 */
#include "memx/memx_inside.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "memx/choose.h"
#include "num/decimal.h"
#include "num/num.h"

void wse_memx_own(struct wse_memx *mx, uint32_t own, double lr, double max_norm)
{
	mx->of_step.set = own;
	mx->of_step.lr = lr;
	mx->of_step.max_norm = max_norm;
}

void wse_memx_own_text(const struct wse_memx *mx, char *text, size_t size)
{
	char lr[32], norm[32];

	snprintf(text, size, "%s%s%s%s", mx->of_step.set & WSE_STEP_LR ? ", learning rate " : "",
		 mx->of_step.set & WSE_STEP_LR ? wse_f64_text(mx->of_step.lr, lr) : "",
		 mx->of_step.set & WSE_STEP_MAX_NORM ? ", clipped to " : "",
		 mx->of_step.set & WSE_STEP_MAX_NORM ? wse_f64_text(mx->of_step.max_norm, norm)
						     : "");
}

uint32_t wse_memx_own_done(struct wse_memx *mx)
{
	uint32_t own = mx->of_step.set;

	mx->of_step.set = 0;
	return own;
}

int wse_memx_commit(struct wse_memx *mx, double *norm, double *lr)
{
	double max_norm =
		mx->of_step.set & WSE_STEP_MAX_NORM ? mx->of_step.max_norm : mx->cfg.max_norm;
	double sum;
	int ret = wse_memx_finish(mx);

	ret = ret ? ret : wse_memx_squares(mx);
	ret = ret ? ret : wse_memx_sum_squares(mx, &sum);
	if (ret)
		return ret;
	*norm = wse_sqrt(sum);
	*lr = mx->of_step.set & WSE_STEP_LR ? mx->of_step.lr
					    : wse_sched_rate(&mx->cfg.sched, mx->step);
	if (!(sum - sum == 0.0)) /* NaN or infinite */
		return -ERANGE;
	mx->beta1_pow *= mx->cfg.optim.beta1;
	mx->beta2_pow *= mx->cfg.optim.beta2;
	mx->update = (struct wse_update){
		.lr = *lr,
		.beta1_pow = mx->beta1_pow,
		.beta2_pow = mx->beta2_pow,
		.grad_scale = 1.0f,
	};
	/* as torch's clip_grad_norm_, so that a published max_gradient_norm means the same */
	if (max_norm > 0.0 && *norm > max_norm)
		mx->update.grad_scale = (float)(max_norm / (*norm + 1e-6));
	mx->step++;
	mx->map.store->step = mx->step;
	if (mx->grads.file)
		wse_grad_file_step(mx->grads.file, mx->step + 1);
	wse_memx_keep_rows(mx);
	mx->pending = 1;
	mx->masks.moving = wse_masks_turn(&mx->masks);
	if (mx->masks.moving)
		wse_masks_show(&mx->masks, mx->images.unit);
	wse_choose_dense_grads(&mx->masks, mx->step + 1, mx->images.unit);
	for (uint32_t i = 0; i < mx->g->nunits; i++)
		wse_memx_set_ready(mx, i, 0);
	ret = wse_memx_pass(mx, 0, mx->map.pieces.first[0], 1);
	ret = ret ? ret : wse_memx_share_inputs(mx);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		if (mx->images.early[i])
			ret = wse_memx_pass_unit(mx, i, 1);
	return wse_memx_give_up(mx, ret);
}

int wse_memx_pending(const struct wse_memx *mx)
{
	return mx->pending;
}

int wse_memx_finish(struct wse_memx *mx)
{
	int ret = 0;

	if (mx->failed)
		return wse_fail(mx->failed, "the weights are in part those of a step that failed: "
					    "go on from the last checkpoint");
	if (mx->unset) {
		ret = wse_map_init(&mx->map, mx->cfg.seed, mx->map.pieces.n);
		return ret ? wse_memx_give_up(mx, ret) : wse_memx_refresh(mx);
	}
	if (!mx->pending)
		return 0;
	wse_map_ahead(&mx->map, mx->map.pieces.first[0], mx->map.pieces.n);
	for (uint32_t i = 0; i < mx->g->nunits && !ret; i++)
		if (!mx->images.early[i])
			ret = wse_memx_pass_unit(mx, i, 1);
	mx->pending = 0;
	mx->masks.moving = 0;
	wse_masks_forget(&mx->masks);
	return wse_memx_give_up(mx, ret);
}
