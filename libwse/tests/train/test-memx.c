// SPDX-License-Identifier: MIT
/* Optimizers and schedules against double arithmetic, images, commit, clipping. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memx/memx.h"
#include "num/num.h"
#include "heap.h"
#include "tap.h"

/* ten steps of one number against the textbook in double */
static void optimizers(void)
{
	static const char *const names[] = {"AdamW", "Adam", "SGD"};

	for (int kind = 0; kind < 3; kind++) {
		struct wse_optim_cfg c = {(enum wse_optim_kind)kind, 0.9, 0.95, 1e-8, 0.9, 0.1};
		struct wse_update u = {
			.lr = 0.01, .beta1_pow = 1, .beta2_pow = 1, .grad_scale = 0.5f, .decay = 1};
		float p = 1.5f, m = 0, v = 0;
		double dp = 1.5, dm = 0, dv = 0, worst = 0;

		for (int i = 0; i < 10; i++) {
			float g = (float)(i % 3) - 0.7f;
			double dg = 0.5 * g;

			u.beta1_pow *= c.beta1;
			u.beta2_pow *= c.beta2;
			wse_optim_update(&c, &u, 1, &p, &m, &v, &g);
			if (c.kind != WSE_OPTIM_ADAMW)
				dg += 0.1 * dp;
			if (c.kind == WSE_OPTIM_SGD) {
				dm = 0.9 * dm + dg;
				dp -= 0.01 * dm;
			} else {
				dm = 0.9 * dm + 0.1 * dg;
				dv = 0.95 * dv + 0.05 * dg * dg;
				if (c.kind == WSE_OPTIM_ADAMW)
					dp -= 0.01 * 0.1 * dp;
				dp -= 0.01 * (dm / (1 - pow(0.9, i + 1))) /
				      (sqrt(dv / (1 - pow(0.95, i + 1))) + 1e-8);
			}
			worst = fmax(worst, fabs(p - dp));
		}
		ok(worst < 2e-6, "%s, ten steps, worst %.1e", names[kind], worst);
	}
}

static void schedules(void)
{
	struct wse_sched_list l = {3,
				   {{WSE_SCHED_LINEAR, 0, 1, 10, 0},
				    {WSE_SCHED_COSINE, 1, 0.1, 100, 10},
				    {WSE_SCHED_CONSTANT, 0.05, 0.05, 1, 200}}};
	double worst = 0;

	ok(wse_sched_rate(&l, 0) == 0 && wse_sched_rate(&l, 5) == 0.5, "linear warm-up");
	for (uint64_t s = 10; s < 110; s++)
		worst = fmax(worst,
			     fabs(wse_sched_rate(&l, s) -
				  (0.1 + 0.9 * 0.5 * (1 + cos(M_PI * (double)(s - 10) / 100)))));
	ok(worst < 1e-14, "cosine decay, worst %.1e", worst);
	ok(wse_sched_rate(&l, 110) == 0.1 && wse_sched_rate(&l, 199) == 0.1,
	   "the end rate stays until the next scheduler");
	ok(wse_sched_rate(&l, 200) == 0.05, "the third scheduler takes over");
}

static void memx(void)
{
	uint32_t hidden = 40;
	struct wse_memx_cfg c = {.max_norm = 1.0, .seed = 9};
	struct wse_memx *mx, *again;
	struct wse_memx_state s, s2;
	const struct wse_image *img, *old;
	const uint16_t *fwd, *tr;
	float *g, before;
	double norm, lr;
	int bad = 0;

	wse_mlp_init(&c.mlp, 4, 8, 64, &hidden, 1, WSE_ACT_RELU);
	c.optim = (struct wse_optim_cfg){WSE_OPTIM_SGD, 0, 0, 0, 0, 0};
	c.sched = (struct wse_sched_list){1, {{WSE_SCHED_CONSTANT, 0.5, 0.5, 1, 0}}};
	wse_memx_open(&c, &heap, &mx);
	wse_memx_open(&c, &heap, &again);
	wse_memx_state(mx, &s);
	wse_memx_state(again, &s2);
	ok(!memcmp(s.params, s2.params, s.table->params * 4), "initial weights by seed");
	ok(!strcmp(s.table->t[1].name, "transformer.h.0.mlp.c_fc.weight") &&
		   !strcmp(s.table->t[3].name, "lm_head.weight"),
	   "names as Hugging Face has them");
	img = wse_memx_images(mx);
	fwd = wse_span_ptr(img[0].fwd);
	tr = wse_span_ptr(img[0].tr);
	for (uint32_t n = 0; n < 40; n++)
		for (uint32_t k = 0; k < 32; k++)
			bad += fwd[n * 32 + k] != tr[k * 40 + n] ||
			       fwd[n * 32 + k] !=
				       wse_f32_to_bf16(s.params[s.table->t[1].off + n * 32 + k]);
	ok(!bad, "images are bf16 of the masters, and transposed");

	g = calloc(s.table->params, sizeof(float));
	g[0] = 3.0f;
	g[s.table->t[1].off] = 4.0f;
	before = s.params[s.table->t[1].off];
	old = img;
	bad = wse_memx_commit(mx, g, &norm, &lr);
	ok(!bad && norm == 5.0 && lr == 0.5 && *s.step == 1, "commit: norm %g, rate %g", norm, lr);
	ok(s.params[s.table->t[1].off] == before, "layers are updated after the embedding");
	wse_memx_finish(mx);
	ok(fabsf(before - s.params[s.table->t[1].off] - 0.4f) < 1e-5f,
	   "clipped to norm 1: 0.5 * 4/5");
	img = wse_memx_images(mx);
	ok(img != old &&
		   ((uint16_t *)wse_span_ptr(img[0].fwd))[0] ==
			   wse_f32_to_bf16(s.params[s.table->t[1].off]) &&
		   ((uint16_t *)wse_span_ptr(old[0].fwd))[0] == wse_f32_to_bf16(before),
	   "images are double-buffered by step");
	ok(wse_memx_layer_ready(mx, 1) == 0, "the layers of the new step are ready");
	g[5] = INFINITY;
	before = s.params[0];
	ok(wse_memx_commit(mx, g, &norm, &lr) == -ERANGE && *s.step == 1 && s.params[0] == before,
	   "an infinite gradient changes nothing");
	wse_memx_close(mx);
	wse_memx_close(again);
	free(g);
}

int main(void)
{

	optimizers();
	schedules();
	memx();
	return tap_end();
}
