// SPDX-License-Identifier: MIT
/* Text from the model: every token of a micro-batch is a text of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num/elementwise.h"
#include "session.h"

#define STREAM_BASE 0x73616d706c65ull /* of the random numbers: apart from the tensors' */

/* logits [vocab][T], column t -> a byte */
static uint32_t pick(const float *logits, uint32_t vocab, uint32_t t_all, uint32_t t,
		     double temperature, double u)
{
	uint32_t best = 0, saved = wse_ftz_enter();
	double sum = 0.0, at = 0.0;

	for (uint32_t v = 1; v < vocab; v++)
		if (logits[(size_t)v * t_all + t] > logits[(size_t)best * t_all + t])
			best = v;
	for (int pass = 0; pass < 2 && temperature > 0.0; pass++) {
		for (uint32_t v = 0; v < vocab; v++) {
			float z = logits[(size_t)v * t_all + t] - logits[(size_t)best * t_all + t];
			double p = ew_exp((float)(z / temperature));

			if (!pass) {
				sum += p;
			} else if ((at += p) > u * sum) {
				best = v;
				break;
			}
		}
	}
	wse_ftz_leave(saved);
	return best;
}

int wse_session_generate(struct wse_session *s, const char *prompt, uint64_t n, double temperature,
			 uint32_t streams, char *text)
{
	uint32_t t_all = s->plan.tokens, win = s->cfg.mlp.window, e = s->cfg.mlp.embed;
	struct wse_job job = s->jobs[0];
	size_t plen = strlen(prompt);
	struct wse_memx_state st;
	uint16_t *ctx, *x = wse_span_ptr(job.x);
	int ret = 0;

	if (streams > t_all || s->cfg.mlp.vocab > 256)
		return wse_why(s->why, -EINVAL, "text can be made from bytes only, %u at a time",
			       t_all);
	ctx = malloc((size_t)t_all * win * sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	wse_memx_state(s->memx, &st);
	for (uint32_t t = 0; t < t_all; t++) /* newlines before a short prompt */
		for (uint32_t i = 0; i < win; i++) {
			size_t back = win - i;
			unsigned char c = back <= plen ? (unsigned char)prompt[plen - back] : '\n';

			ctx[t * win + i] = c < s->cfg.mlp.vocab ? c : 0;
		}
	job.backward = 0;
	job.logits = (struct wse_span){&s->logits, 0};
	memset(wse_span_ptr(job.target), 0, t_all * sizeof(uint16_t));
	for (uint64_t pos = 0; pos < n && !ret; pos++) {
		struct wse_swarm_step step = {.mlp = &s->cfg.mlp, .jobs = &job, .n = 1};

		for (uint32_t t = 0; t < t_all; t++)
			for (uint32_t i = 0; i < win; i++)
				for (uint32_t j = 0; j < e; j++)
					x[((size_t)i * e + j) * t_all + t] = wse_f32_to_bf16(
						st.params[(size_t)ctx[t * win + i] * e + j]);
		wse_memx_finish(s->memx);
		job.layers = wse_memx_images(s->memx);
		ret = wse_swarm_start(s->swarm, &step);
		ret = ret ? ret : wse_swarm_wait(s->swarm);
		for (size_t i = 0; i < (size_t)s->cfg.mlp.vocab * t_all && !ret; i++)
			if (wse_f32_isbad(((float *)s->logits.ptr)[i]))
				ret = wse_why(s->why, -ERANGE,
					      "sampling: the logits are not finite "
					      "at byte %llu",
					      (unsigned long long)pos);
		for (uint32_t t = 0; t < t_all && !ret; t++) {
			uint32_t c = pick(s->logits.ptr, s->cfg.mlp.vocab, t_all, t, temperature,
					  wse_rng_uniform(s->cfg.seed, STREAM_BASE + t, pos));

			memmove(ctx + t * win, ctx + t * win + 1, (win - 1) * sizeof(*ctx));
			ctx[t * win + win - 1] = (uint16_t)c;
			if (t < streams)
				text[t * (n + 1) + pos] = (char)c;
		}
	}
	for (uint32_t t = 0; t < streams; t++)
		text[t * (n + 1) + n] = 0;
	free(ctx);
	if (ret && ret != -ERANGE)
		wse_why(s->why, ret, "sampling: %s", strerror(-ret));
	return ret;
}
