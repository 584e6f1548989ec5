// SPDX-License-Identifier: MIT
/*
 * gpt-beside: a GPT trains on two twins, and the plain fp32 reference beside it: from the same
 * weights, on the same samples, at the same rates. Whether a wafer's bf16 storage costs anything in
 * the loss is seen here.
 */
#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/gpt.h"
#include "ref/gpt_ref.h"
#include "train/session.h"
#include "wse_release.h"
#include "wse_said.h"

#define REPORT 100 /* steps */
#define CLOSE  0.01

struct ref {
	struct gpt_ref_cfg cfg;
	struct gpt_ref_adamw adamw;
	struct gpt_ref *model;
	float *params, *m, *v, *grads; /* [parameters] */
	uint16_t *tokens;	       /* [batch][seq + 1] */
	uint32_t batch, seq;
};

static int open_ref(struct ref *r, struct wse_session *s)
{
	static const enum gpt_ref_act acts[] = {[WSE_RELU] = GPT_REF_RELU,
						[WSE_GELU_NEW] = GPT_REF_GELU_NEW,
						[WSE_GELU] = GPT_REF_GELU,
						[WSE_SQUARED_RELU] = GPT_REF_RELU2};
	const struct wse_gpt *g = wse_gpt(&s->cfg.model);
	const struct wse_tensor_table *tab = s->table;
	size_t n;
	int ret;

	if (s->cfg.model.family != &wse_family_gpt)
		return wse_fail(-EINVAL, "the model is no GPT: take name: gpt2 or gpt3");
	if (s->cfg.optim.kind != WSE_OPTIM_ADAMW)
		return wse_fail(-EINVAL, "the optimizer is not AdamW");
	r->cfg = (struct gpt_ref_cfg){
		.vocab = g->vocab,
		.positions = g->positions,
		.hidden = g->hidden,
		.layers = g->layers,
		.heads = g->heads,
		.filter = g->filter,
		.act = acts[g->act],
		.eps = g->eps,
		.tied = (int)g->tied,
	};
	r->adamw = (struct gpt_ref_adamw){
		.beta1 = (float)s->cfg.optim.beta1,
		.beta2 = (float)s->cfg.optim.beta2,
		.eps = (float)s->cfg.optim.eps,
		.decay = (float)s->cfg.optim.weight_decay,
		.clip = (float)s->cfg.max_norm,
	};
	r->batch = (uint32_t)s->cfg.batch;
	r->seq = s->cfg.model.span;
	ret = wse_memx_finish(s->memx);
	n = gpt_ref_nparams(&r->cfg);
	if (n != tab->params)
		return wse_fail(-EINVAL, "the reference has %zu parameters, the model %zu", n,
				(size_t)tab->params);
	r->params = malloc(n * sizeof(float));
	r->m = calloc(n, sizeof(float));
	r->v = calloc(n, sizeof(float));
	r->grads = calloc(n, sizeof(float));
	r->tokens = calloc(r->batch * (r->seq + 1ul), sizeof(*r->tokens));
	if (!r->params || !r->m || !r->v || !r->grads || !r->tokens)
		return wse_fail(-ENOMEM, "%s", strerror(ENOMEM));
	for (uint32_t i = 0; i < tab->n && !ret; i++)
		ret = wse_memx_read(s->memx, WSE_MEMX_P, i, 0, tab->t[i].count,
				    r->params + tab->t[i].off);
	if (ret)
		return ret;
	return gpt_ref_open(&r->model, &r->cfg, r->batch, r->seq, 2);
}

static void close_ref(struct ref *r)
{
	gpt_ref_close(r->model);
	free(r->params);
	free(r->m);
	free(r->v);
	free(r->grads);
	free(r->tokens);
}

static void put(struct ref *r, uint32_t b, const uint16_t *first_target)
{
	memcpy(r->tokens + b * (r->seq + 1ul), first_target - 1,
	       (r->seq + 1ul) * sizeof(*r->tokens));
}

static int step(struct wse_session *s, struct ref *r, uint64_t number, double *loss,
		double *ref_loss)
{
	struct wse_step_result res;
	int ret = wse_session_compute(s, &res);

	if (ret)
		return ret;
	for (uint32_t b = 0; b < r->batch; b++)
		put(r, b, s->samples[b]);
	*loss = res.loss;
	*ref_loss = gpt_ref_loss(r->model, r->params, r->tokens, r->batch, r->grads, NULL);
	ret = wse_session_commit(s, &res);
	if (!ret)
		gpt_ref_step(&r->cfg, &r->adamw, number, (float)res.lr, r->params, r->m, r->v,
			     r->grads);
	return ret;
}

static double held_out(struct wse_session *s, struct ref *r)
{
	uint64_t n = s->data.val[0].samples;
	double sum = 0.0;

	for (uint64_t i = 0; i < n;) {
		uint32_t b = 0;

		for (; b < r->batch && i < n; b++, i++)
			put(r, b, wse_data_held(&s->data, 0, i));
		sum += b * gpt_ref_loss(r->model, r->params, r->tokens, b, NULL, NULL);
	}
	return sum / (double)n;
}

static int train(struct wse_session *s, struct ref *r, uint64_t steps, int *close)
{
	double sum[2] = {0}, loss[2], held[2];
	uint64_t n = 0, samples;
	int ret = 0;

	printf("%8s %10s %10s %8s\n", "step", "wafers", "fp32", "apart");
	for (uint64_t i = 1; i <= steps; i++) {
		ret = step(s, r, i, &loss[0], &loss[1]);
		if (ret)
			return ret;
		sum[0] += loss[0];
		sum[1] += loss[1];
		n++;
		if (i % REPORT && i != steps && i != 1)
			continue;
		printf("%8llu %10.4f %10.4f %7.2f%%\n", (unsigned long long)i, sum[0] / (double)n,
		       sum[1] / (double)n, 100 * (sum[0] / sum[1] - 1));
		fflush(stdout);
		sum[0] = sum[1] = 0;
		n = 0;
	}
	ret = wse_session_eval(s, 0, 0, &held[0], &samples);
	if (ret)
		return ret;
	held[1] = held_out(s, r);
	*close = fabs(held[0] / held[1] - 1) <= CLOSE;
	printf("held out %10.4f %10.4f %7.2f%% (%llu sequences): %s 1 %%\n", held[0], held[1],
	       100 * (held[0] / held[1] - 1), (unsigned long long)samples,
	       *close ? "within" : "not within");
	return 0;
}

static int run(const char *params, long steps)
{
	static const char *const uris[2] = {"sim:func,rows=4,cols=4", "sim:func,rows=4,cols=4"};
	struct wse_session s = {0};
	struct wse_config cfg;
	unsigned int before = wse_failures();
	struct ref r = {0};
	int close = 0, ret = wse_config_load(params, NULL, 0, &cfg);

	if (!ret) {
		ret = wse_session_open(&s, &cfg, uris, 2, NULL);
		ret = ret ? ret : open_ref(&r, &s);
		ret = ret ? ret : train(&s, &r, steps ? (uint64_t)steps : cfg.max_steps, &close);
		wse_fail_since(before, ret, "%s", strerror(-ret));
		close_ref(&r);
		wse_session_close(&s);
	}
	if (ret)
		fprintf(stderr, "gpt-beside: %s\n", wse_error());
	return ret || !close;
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long steps = argc > 2 ? strtol(argv[2], &end, 10) : 0;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("gpt-beside " WSE_RELEASE "\n");
		return wse_said("gpt-beside", 1);
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		printf("usage: gpt-beside PARAMS [STEPS]   [--version | --help]\n"
		       "The GPT of a parameter file trains on two twins of 4x4 cores, and beside "
		       "them in plain fp32: from the same weights, on the same samples, at the "
		       "same rates.\n"
		       "STEPS (default: the file's max_steps). Exits 0 if the held-out losses are "
		       "within 1 %% of each other in the end.\n");
		return wse_said("gpt-beside", 1);
	}
	if (argc < 2 || argc > 3 || argv[1][0] == '-' || (end && (*end || steps < 1))) {
		fprintf(stderr, "usage: gpt-beside PARAMS [STEPS]\n");
		return 2;
	}
	openblas_set_num_threads(2);
	return run(argv[1], steps);
}
