// SPDX-License-Identifier: MIT
/*
 * Text from the model: every sample of a micro-batch is a text of its own. Bytes are tokens, or a
 * tokenizer makes them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/bpe.h"
#include "num/elementwise.h"
#include "session.h"

#define STREAM_BASE 0x73616d706c65ull /* of the random numbers: apart from the tensors' */

struct candidate {
	float logit;
	uint32_t token;
};

/* by logit, descending; equal ones by number */
static int better(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit > y->logit ? -1 : 1;
	return x->token < y->token ? -1 : 1;
}

/*
 * p [vocab] (not normalised) -> 0 outside the top_k largest, and outside the fewest that make up
 * top_p of the sum
 */
static int cut(const struct wse_sampling *how, const float *logits, size_t stride, uint32_t vocab,
	       double *p)
{
	struct candidate *c = malloc(vocab * sizeof(*c));
	double sum = 0.0, at = 0.0;
	uint32_t keep = how->top_k && how->top_k < vocab ? how->top_k : vocab;

	if (!c)
		return -ENOMEM;
	for (uint32_t v = 0; v < vocab; v++)
		c[v] = (struct candidate){logits[v * stride], v};
	qsort(c, vocab, sizeof(*c), better);
	for (uint32_t i = 0; i < keep; i++)
		sum += p[c[i].token];
	for (uint32_t i = 0; i < vocab; i++) {
		if (i >= keep || (i && at >= how->top_p * sum))
			p[c[i].token] = 0.0;
		else
			at += p[c[i].token];
	}
	free(c);
	return 0;
}

/* logits [vocab] with a stride -> a token; u in [0, 1), p [vocab] is scratch. -ENOMEM */
static int pick(const struct wse_sampling *how, const float *logits, size_t stride, uint32_t vocab,
		double u, double *p, uint32_t *token)
{
	uint32_t best = 0, saved;
	double sum = 0.0, at = 0.0;
	int ret = 0;

	for (uint32_t v = 1; v < vocab; v++)
		if (logits[v * stride] > logits[best * stride])
			best = v;
	*token = best;
	if (how->temperature <= 0.0)
		return 0;
	saved = wse_ftz_enter();
	for (uint32_t v = 0; v < vocab; v++) {
		float z = logits[v * stride] - logits[best * stride];

		p[v] = ew_exp((float)(z / how->temperature));
	}
	wse_ftz_leave(saved);
	if (how->top_k || how->top_p < 1.0)
		ret = cut(how, logits, stride, vocab, p);
	for (uint32_t v = 0; v < vocab; v++)
		sum += p[v];
	for (uint32_t v = 0; v < vocab && !ret; v++) {
		at += p[v];
		if (at > u * sum) {
			*token = v;
			break;
		}
	}
	return ret;
}

/* what is asked for, in tokens */
struct request {
	const struct wse_sampling *how;
	struct wse_tokens prompt;
	uint32_t pad;	/* what is before a text */
	uint32_t vocab; /* tokens below it may be drawn: a model may have more than its tokenizer */
};

/*
 * A text's history is padding (newlines, or the tokenizer's end of text) before a prompt that is shorter than the window, the prompt, and
 * what was made. The next token is predicted from a sample whose first `n` inputs end with the last
 * one of the history; a model with sequences does not look at what comes after them (it is causal).
 */
struct text {
	uint16_t *history; /* [room + span] by wse_token(): zeros behind len */
	size_t len;
};

static uint32_t inputs_of(const struct wse_model *m, const struct text *t)
{
	size_t n = t->len - m->window + 1;

	return (uint32_t)(n < m->span ? n : m->span);
}

static int open_texts(struct wse_session *s, const struct request *r, struct text *texts,
		      uint32_t n)
{
	const struct wse_model *m = &s->cfg.model;
	size_t pad = r->prompt.n < m->window ? m->window - r->prompt.n : 0;

	for (uint32_t k = 0; k < n; k++) {
		struct text *t = &texts[k];

		t->len = pad + r->prompt.n;
		t->history = calloc((t->len + r->how->n + m->span + 1) * wse_token_places(m->vocab),
				    sizeof(*t->history));
		if (!t->history)
			return -ENOMEM;
		for (size_t i = 0; i < t->len; i++)
			wse_token_put(t->history, i, m->vocab,
				      i < pad ? r->pad : r->prompt.id[i - pad]);
	}
	return 0;
}

/* one more token for every text */
static int advance(struct wse_session *s, const struct request *r, struct text *texts, uint32_t n,
		   uint32_t first, uint64_t pos, const uint16_t **samples, double *scratch)
{
	const struct wse_graph *g = &s->plan.graph;
	const struct wse_model *m = &s->cfg.model;
	uint32_t t_all = s->plan.tokens;
	struct wse_micro_batch job = s->io.jobs[0];
	struct wse_swarm_step step = {.graph = g, .jobs = &job, .n = 1};
	const float *logits = s->io.out[g->logits]->ptr;
	const struct wse_input *in = wse_memx_inputs(s->memx);
	uint32_t token;
	int ret;

	for (uint32_t k = 0; k < n; k++)
		samples[k] = texts[k].history + (texts[k].len - inputs_of(m, &texts[k]) + 1) *
							wse_token_places(m->vocab);
	ret = wse_memx_finish(s->memx);
	if (ret)
		return ret;
	job.backward = 0;
	job.out[g->logits] = (struct wse_span){s->io.out[g->logits], 0};
	job.images = wse_memx_images(s->memx);
	memset(wse_span_ptr(job.in[g->target]), 0, g->in[g->target].bytes);
	m->family->gather(m, g, in, samples, &job);
	ret = wse_swarm_start(s->swarm, &step);
	ret = ret ? ret : wse_swarm_wait(s->swarm);
	for (uint32_t k = 0; k < n && !ret; k++) {
		struct text *t = &texts[k];
		const float *row = logits + k * m->span + inputs_of(m, t) - 1;

		for (uint32_t v = 0; v < m->vocab; v++)
			if (wse_f32_isbad(row[(size_t)v * t_all]))
				return wse_fail(-ERANGE,
						"sampling: the logits are not finite at token %llu",
						(unsigned long long)pos);
		ret = pick(r->how, row, t_all, r->vocab,
			   wse_rng_uniform(r->how->seed, STREAM_BASE + first + k, pos), scratch,
			   &token);
		if (!ret)
			wse_token_put(t->history, t->len, m->vocab, token);
	}
	for (uint32_t k = 0; k < n && !ret; k++)
		texts[k].len++;
	return ret;
}

/* tokens [n] as bytes and a NUL, in text [wse_session_text_room()] */
static void to_text(const struct wse_session *s, const uint16_t *made, uint64_t n, char *text)
{
	for (uint64_t i = 0; i < n; i++) {
		uint32_t token = wse_token(made, (ptrdiff_t)i, s->cfg.model.vocab);
		char byte = (char)token;
		size_t len = 1;
		const char *p = s->bpe ? wse_bpe_token(s->bpe, token, &len) : &byte;

		memcpy(text, p, len);
		text += len;
	}
	*text = 0;
}

size_t wse_session_text_room(const struct wse_session *s, uint64_t n)
{
	return n * (s->bpe ? wse_bpe_longest(s->bpe) : 1) + 1;
}

/* the texts first ... of a pass: as many as a micro-batch has samples */
static int one_pass(struct wse_session *s, const struct request *r, uint32_t first, uint32_t n,
		    char *text)
{
	const struct wse_sampling *how = r->how;
	const uint32_t places = wse_token_places(s->cfg.model.vocab);
	const uint16_t **samples = calloc(n, sizeof(*samples));
	struct text *texts = calloc(n, sizeof(*texts));
	double *scratch = calloc(s->cfg.model.vocab, sizeof(*scratch));
	int ret = samples && texts && scratch ? open_texts(s, r, texts, n) : -ENOMEM;

	for (uint64_t pos = 0; pos < how->n && !ret; pos++)
		ret = advance(s, r, texts, n, first, pos, samples, scratch);
	for (uint32_t k = 0; k < n && first + k < how->streams && !ret; k++) {
		const uint16_t *made = texts[k].history + (texts[k].len - how->n) * places;

		to_text(s, made, how->n, text + (first + k) * wse_session_text_room(s, how->n));
	}
	for (uint32_t k = 0; texts && k < n; k++)
		free(texts[k].history);
	free(samples);
	free(texts);
	free(scratch);
	return ret;
}

/* the prompt's tokens, and what may be drawn */
static int open_request(struct wse_session *s, const struct wse_sampling *how, struct request *r)
{
	uint32_t vocab = s->cfg.model.vocab;

	*r = (struct request){.how = how, .pad = '\n', .vocab = vocab};
	if (s->bpe) {
		r->pad = wse_bpe_begin_id(s->bpe);
		r->vocab = wse_bpe_size(s->bpe);
		return wse_bpe_encode(s->bpe, how->prompt, how->prompt_len, &r->prompt);
	}
	if (vocab > 256)
		return wse_fail(-EINVAL,
				"text needs a vocabulary of bytes, or a tokenizer: this one has %u "
				"tokens; give train_dataloader.tokenizer, or --tokenizer",
				vocab);
	r->prompt.id = calloc(how->prompt_len + 1, sizeof(*r->prompt.id));
	if (!r->prompt.id)
		return -ENOMEM;
	for (size_t i = 0; i < how->prompt_len; i++) {
		r->prompt.id[r->prompt.n++] = (unsigned char)how->prompt[i];
		if (r->prompt.id[i] >= vocab)
			return wse_fail(
				-EINVAL,
				"byte %zu of the prompt is %u: the vocabulary has %u tokens", i,
				r->prompt.id[i], vocab);
	}
	return 0;
}

int wse_session_generate(struct wse_session *s, const struct wse_sampling *how, char *text)
{
	uint32_t n = s->plan.tokens / s->cfg.model.span;
	unsigned int before = wse_failures();
	struct request r;
	int ret = open_request(s, how, &r), asked = ret == -EINVAL;

	for (uint32_t first = 0; first < how->streams && !ret; first += n)
		ret = one_pass(s, &r, first, n, text);
	free(r.prompt.id);
	if (ret && ret != -ERANGE && !asked)
		wse_fail_in(wse_fail_since(before, ret, "%s", strerror(-ret)), "sampling: ");
	return ret;
}
