// SPDX-License-Identifier: MIT
/* The oracle's gradients against the plain fp32 reference, and its orders by hand. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/mlp_ref.h"
#include "exec/exec.h"
#include "model/plan.h"
#include "num/elementwise.h"
#include "gradient.h"
#include "tap.h"

struct sink {
	const struct wse_tensor_table *tab;
	struct wse_shared_buf bufs[WSE_MLP_MAX_LINEAR];
	float *grads; /* [params], added up over micro-batches */
};

static int grad_get(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf **buf)
{
	struct sink *s = ctx;

	(void)index;
	*buf = &s->bufs[unit];
	return 0;
}

static int grad_put(void *ctx, uint32_t index, uint32_t unit, struct wse_shared_buf *buf)
{
	struct sink *s = ctx;
	const struct wse_tensor *w = &s->tab->t[wse_mlp_weight(unit)];
	const float *g = buf->ptr;

	(void)index;
	/* weight and bias are neighbours in the flat array as in the buffer: every column's biases
	 * are all that it has of vectors */
	for (size_t i = 0; i < buf->size / 4; i++)
		s->grads[w->off + i] += g[i];
	return 0;
}

static const struct wse_micro_ops sink_ops = {.grad_get = grad_get, .grad_put = grad_put};

static struct wse_shared_buf buffer(size_t size)
{
	struct wse_shared_buf b = {.ptr = aligned_alloc(64, (size + 63) / 64 * 64), .size = size};

	memset(b.ptr, 0, size);
	return b;
}

static void images(const struct wse_mlp *m, const struct wse_tensor_table *tab, const float *params,
		   struct wse_image *img, struct wse_shared_buf *bufs)
{
	for (uint32_t l = 0; l < m->nlinear; l++) {
		uint32_t k_all = m->width[l], n_all = m->width[l + 1];
		const float *w = params + tab->t[wse_mlp_weight(l)].off;
		const float *b = params + tab->t[wse_mlp_bias(l)].off;
		uint16_t *fwd, *tr;

		bufs[3 * l] = buffer((size_t)n_all * k_all * 2);
		bufs[3 * l + 1] = buffer((size_t)n_all * k_all * 2);
		bufs[3 * l + 2] = buffer(n_all * sizeof(float));
		img[l] = (struct wse_image){.fwd = {&bufs[3 * l], 0},
					    .tr = {&bufs[3 * l + 1], 0},
					    .vec = {&bufs[3 * l + 2], 0}};
		fwd = bufs[3 * l].ptr;
		tr = bufs[3 * l + 1].ptr;
		for (uint32_t n = 0; n < n_all; n++)
			for (uint32_t k = 0; k < k_all; k++)
				tr[(size_t)k * n_all + n] = fwd[(size_t)n * k_all + k] =
					wse_f32_to_bf16(w[(size_t)n * k_all + k]);
		memcpy(bufs[3 * l + 2].ptr, b, n_all * sizeof(float));
	}
}

/* the number of an input or output by its name */
static uint32_t named(const struct wse_io *io, uint32_t n, const char *name)
{
	uint32_t i = 0;

	while (i < n && strcmp(io[i].name, name))
		i++;
	return i;
}

/*
 * an oracle, and the model's graph for micro-batches of so many tokens. No core is too small: the
 * graph's places are not the oracle's matter
 */
static int open_oracle(const char *uri, const struct wse_model *m, uint32_t tokens,
		       struct wse_graph *g, struct wse_exec **e)
{
	struct wse_exec_info info;
	int ret = wse_exec_open(uri, NULL, e);

	if (ret)
		return ret;
	(*e)->ops->info(*e, &info);
	info.tile.sram = 1u << 20;
	ret = m->family->graph(m, &info.tile, tokens / info.tile.rows, 0, g);
	ret = ret ? ret : (*e)->ops->prepare(*e, g);
	if (ret)
		printf("# %s: %s\n", uri, wse_error());
	return ret;
}

/*
 * One micro-batch of all B tokens on a rows x cols tile, gradients and losses against the reference
 * in plain fp32 and in bf16 storage. GELU is close to both. ReLU is close to the one that stores in
 * bf16 as it does; what remains to plain fp32 is what storing in bf16 costs the reference itself.
 */
static void compare(const char *what, const char *uri, enum wse_activation act, uint32_t nhidden)
{
	static const uint32_t hidden[] = {128, 64, 96};
	enum { B = 64, WINDOW = 8, EMBED = 16 };
	struct wse_model model;
	const struct wse_mlp *m = wse_mlp(&model);
	struct mlp_ref r;
	struct wse_exec *e;
	struct wse_graph g;
	struct wse_image img[WSE_MLP_MAX_LINEAR];
	struct wse_shared_buf bufs[3 * WSE_MLP_MAX_LINEAR], x, target, loss, dx;
	struct wse_micro_batch job = {.backward = 1, .scale = 1.0f / B, .images = img};
	struct sink s = {0};
	uint16_t context[B * WINDOW];
	struct distance plain, stored, storage;
	double mean, got = 0;
	float *g32;
	int ret;

	wse_mlp_init(&model, WINDOW, EMBED, 256, hidden, nhidden, act);
	mlp_ref_open(&r, &model, B, 42);
	for (size_t i = 0; i < r.tab.params; i++) /* biases that are not zero */
		r.params[i] += 0.02f * wse_rng_normal(1, 1, i);
	images(m, &r.tab, r.params, img, bufs);
	x = buffer((size_t)m->width[0] * B * 2);
	dx = buffer((size_t)m->width[0] * B * 4);
	target = buffer(B * 2);
	loss = buffer(B * 4);
	for (uint32_t b = 0; b < B; b++) {
		((uint16_t *)target.ptr)[b] = (uint16_t)(wse_rng_u64(2, 0, b) % 64 + 32);
		for (uint32_t i = 0; i < WINDOW; i++) {
			context[b * WINDOW + i] = (uint16_t)(wse_rng_u64(3, i, b) % 64 + 32);
			for (uint32_t j = 0; j < EMBED; j++)
				((uint16_t *)x.ptr)[(i * EMBED + j) * B + b] = wse_f32_to_bf16(
					r.params[context[b * WINDOW + i] * EMBED + j]);
		}
	}
	s.tab = &r.tab;
	s.grads = calloc(r.tab.params, sizeof(float));
	for (uint32_t l = 0; l < m->nlinear; l++)
		s.bufs[l] = buffer(((size_t)m->width[l] + 1) * m->width[l + 1] * 4);
	ret = open_oracle(uri, &model, B, &g, &e);
	job.in[g.target].buf = &target;
	job.in[named(g.in, g.nin, "inputs")].buf = &x;
	job.out[g.loss].buf = &loss;
	job.out[named(g.out, g.nout, "gradient of the inputs")].buf = &dx;
	ret = ret ? ret : e->ops->run(e, &job, 1, &sink_ops, &s);
	ok(ret == 0, "%s: runs on %s", what, uri);
	mean = mlp_ref_forward(&r, context, target.ptr);
	mlp_ref_backward(&r, context);
	for (uint32_t b = 0; b < B; b++) {
		got += ((float *)loss.ptr)[b] / B;
		for (uint32_t i = 0; i < WINDOW; i++)
			for (uint32_t j = 0; j < EMBED; j++)
				s.grads[context[b * WINDOW + i] * EMBED + j] +=
					((float *)dx.ptr)[(i * EMBED + j) * B + b];
	}
	ok(fabs(got - mean) < 2e-3 * mean, "%s: loss %.5f, fp32 %.5f", what, got, mean);
	plain = gradient_distance(&r.tab, s.grads, r.grads);
	g32 = malloc(r.tab.params * sizeof(float));
	memcpy(g32, r.grads, r.tab.params * sizeof(float));
	r.bf16_storage = 1;
	mlp_ref_forward(&r, context, target.ptr);
	mlp_ref_backward(&r, context);
	stored = gradient_distance(&r.tab, s.grads, r.grads);
	storage = gradient_distance(&r.tab, r.grads, g32);
	ok(gradient_close(stored),
	   "%s: gradients, worst relative L2 %.3f %%, cosine %.6f "
	   "to the reference in bf16 storage",
	   what, 100 * stored.l2, stored.cosine);
	ok(act == WSE_RELU ? plain.l2 <= storage.l2 + 0.005 : gradient_close(plain),
	   "%s: %.3f %%, %.6f to plain fp32, from which bf16 storage alone is %.3f %%, %.6f", what,
	   100 * plain.l2, plain.cosine, 100 * storage.l2, storage.cosine);
	free(g32);
	e->ops->close(e);
	for (uint32_t l = 0; l < m->nlinear; l++) {
		free(s.bufs[l].ptr);
		for (int i = 0; i < 3; i++)
			free(bufs[3 * l + i].ptr);
	}
	mlp_ref_close(&r);
	wse_graph_fini(&g);
	free(s.grads);
	free(x.ptr);
	free(dx.ptr);
	free(target.ptr);
	free(loss.ptr);
}

/*
 * The orders of ops/ once more, element by element, as the page says them: one layer, 2 rows,
 * 4 columns, 32 tokens. Every bit of logits, losses, dW, db and dx.
 */
enum { ROWS = 2, COLS = 4, T = 32, K = 32, N = 16 };

/* sum over `all` terms a[i] b[i * step], a column's share at a time, the owner's last */
static float row_sum(const uint16_t *a, const float *b, int all, int step, int owner)
{
	float p[COLS], s;

	for (int c = 0; c < COLS; c++) {
		p[c] = 0.0f;
		for (int i = c * all / COLS; i < (c + 1) * all / COLS; i++) {
			volatile float product = wse_bf16_to_f32(a[i]) * b[i * step];

			p[c] = p[c] + product;
		}
	}
	s = p[(owner + 1) % COLS];
	for (int i = 2; i <= COLS; i++)
		s = s + p[(owner + i) % COLS];
	return s;
}

static float token_sum(const float *dy, const float *x)
{
	float sum = 0.0f, l[8], d;

	for (int r = 0; r < ROWS; r++) {
		for (int i = 0; i < 8; i++) {
			l[i] = 0.0f;
			for (int j = 0; 8 * j + i < T / ROWS; j++) {
				volatile float product =
					dy[r * T / ROWS + 8 * j + i] * x[r * T / ROWS + 8 * j + i];

				l[i] = l[i] + product;
			}
		}
		d = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
		sum = r ? sum + d : d;
	}
	return sum;
}

static int same(float a, float b)
{
	return wse_f2u(a) == wse_f2u(b);
}

static void orders(void)
{
	struct wse_model m;
	struct wse_graph g;
	struct wse_tensor_table tab = {0};
	struct wse_image img[1];
	struct wse_shared_buf bufs[3], x = buffer(K * T * 2), target = buffer(T * 2),
				       loss = buffer(T * 4);
	struct wse_shared_buf dx = buffer(K * T * 4), logits = buffer(N * T * 4);
	struct wse_micro_batch job = {.backward = 1, .scale = 1.0f / T, .images = img};
	struct sink s = {.tab = &tab};
	static float params[N * K + N + N * 4], grads[N * K + N + N * 4], xf[K * T], dy[N * T];
	static float ones[T];
	uint16_t *w, *wt;
	int bad_y = 0, bad_loss = 0, bad_dw = 0, bad_dx = 0;
	uint32_t saved;
	struct wse_exec *e;
	int ret;

	wse_mlp_init(&m, 8, 4, N, NULL, 0, WSE_RELU);
	m.family->tensors(&m, &tab);
	for (size_t i = 0; i < tab.params; i++) /* large and small: the order must matter */
		params[i] = wse_rng_normal(5, 0, i) * (i % 7 == 0 ? 100.0f : 1.0f);
	images(wse_mlp(&m), &tab, params, img, bufs);
	w = bufs[0].ptr;
	wt = bufs[1].ptr;
	for (int i = 0; i < K * T; i++) {
		((uint16_t *)x.ptr)[i] = wse_f32_to_bf16(wse_rng_normal(6, 0, (uint64_t)i));
		xf[i] = wse_bf16_to_f32(((uint16_t *)x.ptr)[i]);
	}
	for (int i = 0; i < T; i++) {
		((uint16_t *)target.ptr)[i] = (uint16_t)(i % N);
		ones[i] = 1.0f;
	}
	s.grads = grads;
	s.bufs[0] = buffer((K + 1) * N * 4);
	ret = open_oracle("oracle:rows=2,cols=4", &m, T, &g, &e);
	job.in[g.target].buf = &target;
	job.in[named(g.in, g.nin, "inputs")].buf = &x;
	job.out[g.loss].buf = &loss;
	job.out[named(g.out, g.nout, "gradient of the inputs")].buf = &dx;
	job.out[g.logits].buf = &logits;
	ret = ret ? ret : e->ops->run(e, &job, 1, &sink_ops, &s);
	ok(!ret, "one layer runs");
	e->ops->close(e);

	saved = wse_ftz_enter();
	for (int i = 0; i < T; i++) {
		float y[N], max = -INFINITY, p[COLS] = {0}, sum, zt = 0.0f;

		for (int n = 0; n < N; n++) {
			y[n] = row_sum(w + n * K, xf + i, K, T, n / (N / COLS)) +
			       ((float *)bufs[2].ptr)[n];
			bad_y += !same(y[n], ((float *)logits.ptr)[n * T + i]);
			max = y[n] > max ? y[n] : max;
		}
		for (int n = 0; n < N; n++) {
			if (n == i % N)
				zt = y[n] - max;
			y[n] = ew_exp(y[n] - max);
			p[n / (N / COLS)] = p[n / (N / COLS)] + y[n];
		}
		sum = ((p[1] + p[2]) + p[3]) + p[0];
		bad_loss += !same(ew_log(sum) - zt, ((float *)loss.ptr)[i]);
		for (int n = 0; n < N; n++)
			dy[n * T + i] = wse_bf16_to_f32(wse_f32_to_bf16_ftz(
				(y[n] * ew_recip(sum) - (n == i % N ? 1.0f : 0.0f)) * (1.0f / T)));
	}
	for (int n = 0; n < N; n++) {
		for (int k = 0; k < K; k++)
			bad_dw += !same(token_sum(dy + n * T, xf + k * T),
					((float *)s.bufs[0].ptr)[n * K + k]);
		bad_dw += !same(token_sum(dy + n * T, ones), ((float *)s.bufs[0].ptr)[N * K + n]);
	}
	for (int k = 0; k < K; k++)
		for (int i = 0; i < T; i++)
			bad_dx += !same(row_sum(wt + k * N, dy + i, N, T, k / (K / COLS)),
					((float *)dx.ptr)[k * T + i]);
	wse_ftz_leave(saved);
	ok(!bad_y, "order of the forward sums");
	ok(!bad_loss, "order of the softmax");
	ok(!bad_dw, "order of the weight gradients");
	ok(!bad_dx, "order of the data gradients");
	wse_graph_fini(&g);
	wse_tensor_table_fini(&tab);
	for (int i = 0; i < 3; i++)
		free(bufs[i].ptr);
	free(s.bufs[0].ptr);
	free(x.ptr);
	free(target.ptr);
	free(loss.ptr);
	free(dx.ptr);
	free(logits.ptr);
}

/* a finite difference of the reference itself: is the reference right? */
static void reference(enum wse_activation act)
{
	static const uint32_t hidden[] = {24, 16};
	struct wse_model m;
	struct mlp_ref r;
	uint16_t context[16 * 4], target[16];
	double worst = 0;

	wse_mlp_init(&m, 4, 6, 32, hidden, 2, act);
	mlp_ref_open(&r, &m, 16, 3);
	for (int i = 0; i < 64; i++)
		context[i] = (uint16_t)(wse_rng_u64(1, 0, (uint64_t)i) % 32);
	for (int i = 0; i < 16; i++)
		target[i] = (uint16_t)(wse_rng_u64(1, 1, (uint64_t)i) % 32);
	mlp_ref_forward(&r, context, target);
	mlp_ref_backward(&r, context);
	for (uint32_t i = 0; i < r.tab.n; i++) {
		/* along the gradient itself: dloss = |g|^2 * h */
		const struct wse_tensor *ts = &r.tab.t[i];
		double g2 = 0, up, down, h;

		for (size_t j = ts->off; j < ts->off + ts->count; j++)
			g2 += (double)r.grads[j] * r.grads[j];
		h = 0.004 / sqrt(g2);
		for (size_t j = ts->off; j < ts->off + ts->count; j++)
			r.params[j] += (float)h * r.grads[j];
		up = mlp_ref_forward(&r, context, target);
		for (size_t j = ts->off; j < ts->off + ts->count; j++)
			r.params[j] -= 2 * (float)h * r.grads[j];
		down = mlp_ref_forward(&r, context, target);
		for (size_t j = ts->off; j < ts->off + ts->count; j++)
			r.params[j] += (float)h * r.grads[j];
		worst = fmax(worst, fabs((up - down) / (2 * h) / g2 - 1));
	}
	ok(worst < 0.02, "reference against finite differences, %s: worst %.4f",
	   act == WSE_RELU   ? "relu"
	   : act == WSE_GELU ? "gelu"
			     : "gelu_new",
	   worst);
	mlp_ref_close(&r);
}

/* what does not divide, by the model, the planner and the device */
static void refused(void)
{
	const struct wse_tile tile = {.rows = 2, .cols = 8, .lanes = 8, .sram = 1u << 20};
	uint32_t hidden = 36;
	struct wse_plan plan;
	struct wse_model m;
	struct wse_graph g;
	struct wse_exec *e;

	ok(wse_exec_open("tpu:0", NULL, &e) == -EINVAL, "an unknown device is refused");
	ok(wse_exec_open("oracle:rows=x", NULL, &e) == -EINVAL, "rows=x is refused");
	ok(wse_exec_open("oracle:rows=2,colums=2", NULL, &e) == -EINVAL &&
		   strstr(wse_error(), "\"colums=2\" is no option"),
	   "so is what it does not know: %s", wse_error());
	wse_mlp_init(&m, 8, 16, 256, &hidden, 1, WSE_RELU);
	ok(m.family->graph(&m, &tile, 32, 0, &g) == -EINVAL &&
		   strstr(wse_error(), "hidden_size 36"),
	   "a width the columns do not divide: %s", wse_error());
	wse_graph_fini(&g);
	ok(!wse_plan_make(&m, &tile, 64, 64, &plan) && plan.graph.tile.cols == 1 &&
		   plan.columns == 8 && strstr(plan.idle, "hidden_size 36"),
	   "its plan has one column: %s", plan.idle);
	wse_plan_fini(&plan);
	hidden = 34;
	wse_mlp_init(&m, 8, 16, 256, &hidden, 1, WSE_RELU);
	ok(wse_plan_make(&m, &tile, 64, 64, &plan) == -EINVAL && !plan.tokens &&
		   strstr(wse_error(), "hidden_size 34"),
	   "what no number of columns divides has none: %s", wse_error());
	wse_plan_fini(&plan);
	hidden = 32;
	wse_mlp_init(&m, 8, 16, 256, &hidden, 1, WSE_RELU);
	ok(m.family->graph(&m, &tile, 12, 0, &g) == -EINVAL && strstr(wse_error(), "8 lanes"),
	   "tokens the lanes do not divide: %s", wse_error());
	wse_graph_fini(&g);
	ok(wse_plan_make(&m, &tile, 48, 24, &plan) == -EINVAL && strstr(wse_error(), "micro_batch"),
	   "tokens the rows do not divide: %s", wse_error());
	wse_plan_fini(&plan);
	wse_exec_open("oracle:rows=2,cols=4", NULL, &e);
	ok(!m.family->graph(&m, &tile, 32, 0, &g) && e->ops->prepare(e, &g) == -EINVAL,
	   "a device refuses a graph for another tile");
	e->ops->close(e);
	wse_graph_fini(&g);
}

int main(void)
{
	reference(WSE_RELU);
	reference(WSE_GELU_NEW);
	reference(WSE_GELU);
	orders();
	compare("relu, 1 hidden layer", "oracle:rows=4,cols=4", WSE_RELU, 1);
	compare("relu, 3 hidden layers", "oracle:rows=2,cols=4", WSE_RELU, 3);
	compare("gelu, 2 hidden layers", "oracle:rows=2,cols=2", WSE_GELU, 2);
	compare("gelu_new, 3 hidden layers", "oracle:rows=1,cols=1", WSE_GELU_NEW, 3);
	compare("gelu_new, 2 hidden layers", "oracle:rows=2,cols=2", WSE_GELU_NEW, 2);
	refused();
	return tap_end();
}
