// SPDX-License-Identifier: MIT
/* Optimizers and schedules against double arithmetic, images, commit, clipping. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memx/memx.h"
#include "model/mlp.h"
#include "num/num.h"
#include "base/error.h"
#include "heap.h"
#include "state.h"
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

/* waits for a unit of the next step and looks at its image, as a device's thread does */
struct reader {
	struct wse_memx *mx;
	uint16_t saw;
};

static void *read_image(void *arg)
{
	struct reader *r = arg;

	if (!wse_memx_unit_ready(r->mx, 0))
		r->saw = *(uint16_t *)wse_span_ptr(wse_memx_images(r->mx)[0].fwd);
	return NULL;
}

static int image_is_right(const struct wse_image *img, const float *w, const float *bias,
			  uint32_t n_all, uint32_t k_all)
{
	const uint16_t *fwd = wse_span_ptr(img->fwd), *tr = wse_span_ptr(img->tr);
	int bad = 0;

	for (uint32_t n = 0; n < n_all; n++)
		for (uint32_t k = 0; k < k_all; k++)
			bad += fwd[n * k_all + k] != tr[k * n_all + n] ||
			       fwd[n * k_all + k] != wse_f32_to_bf16(w[n * k_all + k]);
	/* columns of biases, one after the other, are the biases */
	return !bad && !memcmp(wse_span_ptr(img->vec), bias, n_all * sizeof(float));
}

static void memx(void)
{
	const struct wse_tile tile = {.rows = 2, .cols = 2, .lanes = 8, .sram = 1u << 20};
	uint32_t hidden = 40;
	struct wse_memx_cfg c = {.max_norm = 1.0, .seed = 9};
	struct wse_memx *mx, *again;
	struct state s, s2;
	struct wse_graph graph;
	const struct wse_image *img;
	struct reader reader;
	pthread_t thread;
	float *g[2], *const *adds, *w, *bias, *out, before, table, ramp[40], row[16] = {0};
	const struct wse_rows rows = {2, 8, (uint32_t[]){0, 5}, row};
	uint16_t old;
	double norm, lr;
	int bad;

	wse_mlp_init(&c.model, 4, 8, 64, &hidden, 1, WSE_RELU);
	c.optim = (struct wse_optim_cfg){WSE_OPTIM_SGD, 0, 0, 0, 0, 0};
	c.sched = (struct wse_sched_list){1, {{WSE_SCHED_CONSTANT, 0.5, 0.5, 1, 0}}};
	ok(!c.model.family->graph(&c.model, &tile, 8, 0, &graph) && graph.nunits == 2,
	   "a graph of two units");
	wse_memx_open(&c, &graph, &heap, &mx);
	wse_memx_open(&c, &graph, &heap, &again);
	s = state_of(mx);
	s2 = state_of(again);
	ok(!memcmp(s.params, s2.params, s.table->params * 4), "initial weights by seed");
	ok(!strcmp(s.table->t[1].name, "transformer.h.0.mlp.c_fc.weight") &&
		   !strcmp(s.table->t[3].name, "lm_head.weight"),
	   "names as Hugging Face has them");
	for (int i = 0; i < 40; i++)
		ramp[i] = (float)i;
	bad = wse_memx_write(mx, WSE_MEMX_P, 2, 0, 7, ramp);
	bad += wse_memx_write(mx, WSE_MEMX_P, 2, 7, 33, ramp + 7);
	bad += wse_memx_refresh(mx);
	state_again(mx, &s);
	w = s.params + s.table->t[1].off;
	bias = s.params + s.table->t[2].off;
	ok(!bad && !memcmp(bias, ramp, sizeof(ramp)), "elements that were written are read");
	ok(wse_memx_read(mx, WSE_MEMX_P, 2, 39, 2, ramp) == -EINVAL &&
		   wse_memx_read(mx, WSE_MEMX_V, 2, 0, 1, ramp) == -EINVAL &&
		   wse_memx_write(mx, WSE_MEMX_P, 5, 0, 1, ramp) == -EINVAL,
	   "those that are not there are refused");
	img = wse_memx_images(mx);
	ok(image_is_right(&img[0], w, bias, 40, 32),
	   "images are bf16 of the masters, and transposed, and the biases");

	for (int u = 0; u < 2; u++)
		g[u] = calloc(wse_unit_grad_floats(&graph, &graph.units[u]), sizeof(float));
	out = malloc(s.table->params * sizeof(float));
	adds = wse_memx_grads(mx, g);
	ok(!adds[0] && !adds[1] && !adds[2] && !adds[3] && !adds[4],
	   "the host adds to no unit: it gathers from a table in none");
	row[0] = 3.0f;
	row[15] = 1e-20f; /* of row 5 */
	wse_memx_grad_rows(mx, 0, &rows);
	g[0][0] = 4.0f;
	g[1][64 * 40 + 5] = 1e-20f; /* a bias: too small for the norm */
	wse_memx_grad(mx, 0, out);
	bad = out[0] != 3.0f || out[5 * 8 + 7] != 1e-20f || out[8] != 0.0f;
	wse_memx_grad(mx, 1, out);
	bad += out[0] != 4.0f;
	wse_memx_grad(mx, 4, out);
	bad += out[5] != 1e-20f || out[4] != 0.0f;
	ok(!bad && wse_memx_bad_grad(mx) == WSE_NO_TENSOR, "gradients by tensor");
	before = w[0];
	table = s.params[0];
	old = *(uint16_t *)wse_span_ptr(img[0].fwd);
	ok(old == wse_f32_to_bf16(before), "the image of a unit stays until the commit");
	bad = wse_memx_commit(mx, &norm, &lr);
	state_again(mx, &s);
	w = s.params + s.table->t[1].off;
	ok(!bad && norm == 5.0 && lr == 0.5 && s.step == 1, "commit: norm %g, rate %g", norm, lr);
	ok(w[0] == before && fabsf(table - s.params[0] - 0.3f) < 1e-5f,
	   "units are updated after the embedding");
	reader = (struct reader){mx, old};
	pthread_create(&thread, NULL, read_image, &reader);
	wse_memx_finish(mx);
	pthread_join(thread, NULL);
	state_again(mx, &s);
	w = s.params + s.table->t[1].off;
	bias = s.params + s.table->t[2].off;
	ok(fabsf(before - w[0] - 0.4f) < 1e-5f, "clipped to norm 1: 0.5 * 4/5");
	ok(image_is_right(&img[0], w, bias, 40, 32) &&
		   *(uint16_t *)wse_span_ptr(img[0].fwd) != old && wse_memx_images(mx) == img,
	   "the image of a unit is rewritten when the step commits, not before");
	ok(reader.saw == wse_f32_to_bf16(w[0]),
	   "and a thread that waits for it does not see the old one");
	ok(wse_memx_unit_ready(mx, 1) == 0, "the units of the new step are ready");
	wse_memx_grads(mx, g);
	wse_memx_grad(mx, 0, out);
	ok(out[0] == 0.0f && out[5 * 8 + 7] == 0.0f, "gradients of rows begin at 0");
	row[13] = INFINITY;
	wse_memx_grad_rows(mx, 0, &rows);
	before = s.params[0];
	old = *(uint16_t *)wse_span_ptr(img[0].fwd);
	bad = wse_memx_commit(mx, &norm, &lr);
	state_again(mx, &s);
	ok(bad == -ERANGE && s.step == 1 && s.params[0] == before &&
		   *(uint16_t *)wse_span_ptr(img[0].fwd) == old && !wse_memx_unit_ready(mx, 0) &&
		   wse_memx_bad_grad(mx) == 0,
	   "an infinite gradient changes nothing");
	wse_memx_grads(mx, g);
	g[1][64 * 40 + 7] = NAN;
	ok(wse_memx_bad_grad(mx) == 4 && wse_memx_commit(mx, &norm, &lr) == -ERANGE,
	   "nor does a NaN in a bias");
	state_free(&s);
	state_free(&s2);
	wse_memx_close(mx);
	wse_memx_close(again);
	wse_graph_fini(&graph);
	free(out);
	free(g[0]);
	free(g[1]);
}

int main(void)
{
	optimizers();
	schedules();
	memx();
	return tap_end();
}
