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
#include "ranks.h"
#include "session.h"
#include "train/generate_past.h"

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
	struct wse_tokens *prompts; /* [nprompts] */
	uint32_t nprompts;
	uint32_t pad;	/* what is before a text */
	uint32_t vocab; /* tokens below it may be drawn: a model may have more than its tokenizer */
};

/*
 * A text's history is padding (newlines, or the tokenizer's end of text) before a prompt that is
 * shorter than the window, the prompt, and what was made. The next token is predicted from a sample
 * whose first `n` inputs end with the last one of the history; a model with sequences does not look
 * at what comes after them (it is causal).
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

/* texts from number `first` on */
static int open_texts(struct wse_session *s, const struct request *r, struct text *texts,
		      uint32_t first, uint32_t n)
{
	const struct wse_model *m = &s->cfg.model;

	for (uint32_t k = 0; k < n; k++) {
		const struct wse_tokens *prompt = &r->prompts[(first + k) / r->how->streams];
		size_t pad = prompt->n < m->window ? m->window - prompt->n : 0;
		struct text *t = &texts[k];

		t->len = pad + prompt->n;
		t->history = calloc((t->len + r->how->n + m->span + 1) * wse_token_places(m->vocab),
				    sizeof(*t->history));
		if (!t->history)
			return -ENOMEM;
		for (size_t i = 0; i < t->len; i++)
			wse_token_put(t->history, i, m->vocab,
				      i < pad ? r->pad : prompt->id[i - pad]);
	}
	return 0;
}

/* of texts that are made at once */
struct pass {
	struct wse_session *s;
	const struct request *r;
	struct text *texts;
	uint32_t n, first;	   /* texts; the number of the first one: prompt by prompt */
	struct wse_gen_past *past; /* NULL: the whole window is computed for each token */
	const uint16_t **samples;  /* [n], and as many as a micro-batch has */
	uint32_t *inputs;	   /* [n] */
	double *scratch;
};

/* a text's next token, from logits [vocab] with a stride */
static int draw(struct pass *p, uint32_t k, const float *row, size_t stride, uint64_t pos)
{
	const uint32_t vocab = p->s->cfg.model.vocab;
	const struct request *r = p->r;
	struct text *t = &p->texts[k];
	uint32_t token;
	int ret;

	for (uint32_t v = 0; v < vocab; v++)
		if (wse_f32_isbad(row[(size_t)v * stride]))
			return wse_fail(-ERANGE,
					"sampling: the logits are not finite at token %llu",
					(unsigned long long)pos);
	ret = pick(
		r->how, row, stride, r->vocab,
		wse_rng_uniform(r->how->seed, STREAM_BASE + (p->first + k) % r->how->streams, pos),
		p->scratch, &token);
	if (!ret)
		wse_token_put(t->history, t->len, vocab, token);
	return ret;
}

static void find_samples(struct pass *p)
{
	const struct wse_model *m = &p->s->cfg.model;

	for (uint32_t k = 0; k < p->n; k++)
		p->samples[k] =
			p->texts[k].history + (p->texts[k].len - inputs_of(m, &p->texts[k]) + 1) *
						      wse_token_places(m->vocab);
}

/* one more token for the texts from k0 on that a micro-batch has room for, from the whole window */
static int advance_whole(struct pass *p, uint32_t k0, uint64_t pos)
{
	struct wse_session *s = p->s;
	const struct wse_graph *g = &s->plan.graph;
	const struct wse_model *m = &s->cfg.model;
	uint32_t t_all = s->plan.tokens, per = t_all / m->span;
	struct wse_micro_batch job = s->io.jobs[0];
	struct wse_swarm_step step = {.graph = g, .jobs = &job, .n = 1};
	const float *logits = s->io.out[g->logits]->ptr;
	int ret = wse_memx_finish(s->memx);

	if (ret)
		return ret;
	for (uint32_t k = p->n; k < k0 + per; k++) /* the last one fills up */
		p->samples[k] = p->samples[p->n - 1];
	job.backward = 0;
	job.out[g->logits] = (struct wse_span){s->io.out[g->logits], 0};
	job.images = wse_memx_images(s->memx);
	memset(wse_span_ptr(job.in[g->target]), 0, g->in[g->target].bytes);
	m->family->gather(m, g, wse_memx_inputs(s->memx), p->samples + k0, &job);
	wse_session_images(s, &step);
	ret = wse_swarm_start(s->swarm, &step);
	ret = ret ? ret : wse_swarm_wait(s->swarm);
	for (uint32_t k = 0; k < per && k0 + k < p->n && !ret; k++)
		ret = draw(p, k0 + k, logits + k * m->span + inputs_of(m, &p->texts[k0 + k]) - 1,
			   t_all, pos);
	return ret;
}

static int advance_past(struct pass *p, uint64_t pos)
{
	const float *logits;
	size_t stride;
	int ret;

	for (uint32_t k = 0; k < p->n; k++)
		p->inputs[k] = inputs_of(&p->s->cfg.model, &p->texts[k]);
	ret = wse_gen_past_logits(p->past, p->samples, p->inputs, &logits, &stride);
	for (uint32_t k = 0; k < p->n && !ret; k++)
		ret = draw(p, k, logits + wse_gen_past_at(p->past, k, p->inputs[k]), stride, pos);
	return ret;
}

/* is all of every text within the window? */
static int in_window(const struct pass *p)
{
	const struct wse_model *m = &p->s->cfg.model;

	for (uint32_t k = 0; k < p->n; k++)
		if (p->texts[k].len - m->window + 1 > m->span)
			return 0;
	return 1;
}

/*
 * one more token for every text. A window that is full moves on with each token, and with it all
 * positions: nothing that was computed is of use then
 */
static int advance(struct pass *p, uint64_t pos)
{
	const struct wse_model *m = &p->s->cfg.model;
	int ret = 0;

	if (p->past && !in_window(p)) {
		ret = wse_gen_past_close(p->past);
		p->past = NULL;
	}
	find_samples(p);
	if (p->past)
		ret = advance_past(p, pos);
	for (uint32_t k = 0; k < p->n && !p->past && !ret; k += p->s->plan.tokens / m->span)
		ret = advance_whole(p, k, pos);
	for (uint32_t k = 0; k < p->n && !ret; k++)
		p->texts[k].len++;
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

/* are the first tokens within the window? Then there is a past */
static int open_past(struct pass *p)
{
	unsigned int before = wse_failures();
	struct wse_failure none;
	int ret;

	if (p->s->whole_window || !in_window(p))
		return 0;
	wse_failure_keep(&none, 0);
	ret = wse_gen_past_open(p->s, p->n, &p->past);
	if (ret == -ENOTSUP || ret == -E2BIG)
		return wse_failure_undo(&none);
	return wse_fail_since(before, ret, "%s", strerror(-ret));
}

/* n texts from number `first` on */
static int one_pass(struct wse_session *s, const struct request *r, uint32_t first, uint32_t n,
		    char *text)
{
	const struct wse_sampling *how = r->how;
	const uint32_t places = wse_token_places(s->cfg.model.vocab);
	struct pass p = {.s = s, .r = r, .n = n, .first = first};
	struct wse_failure failure;
	int ret, closed;

	p.samples = calloc((size_t)n + s->plan.tokens, sizeof(*p.samples));
	p.texts = calloc(n, sizeof(*p.texts));
	p.inputs = calloc(n, sizeof(*p.inputs));
	p.scratch = calloc(s->cfg.model.vocab, sizeof(*p.scratch));
	ret = p.samples && p.texts && p.inputs && p.scratch ? open_texts(s, r, p.texts, first, n)
							    : -ENOMEM;
	ret = ret ? ret : open_past(&p);
	for (uint64_t pos = 0; pos < how->n && !ret; pos++)
		ret = advance(&p, pos);
	for (uint32_t k = 0; k < n && !ret; k++) {
		const uint16_t *made = p.texts[k].history + (p.texts[k].len - how->n) * places;

		to_text(s, made, how->n, text + (first + k) * wse_session_text_room(s, how->n));
	}
	wse_failure_keep(&failure, ret);
	closed = wse_gen_past_close(p.past);
	if (ret)
		wse_failure_undo(&failure);
	for (uint32_t k = 0; p.texts && k < n; k++)
		free(p.texts[k].history);
	free(p.samples);
	free(p.texts);
	free(p.inputs);
	free(p.scratch);
	return ret ? ret : closed;
}

/* a prompt's tokens, each a byte */
static int read_bytes(const char *text, size_t n, uint32_t vocab, struct wse_tokens *to)
{
	to->id = calloc(n + 1, sizeof(*to->id));
	if (!to->id)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		to->id[to->n++] = (unsigned char)text[i];
		if (to->id[i] >= vocab)
			return wse_fail(
				-EINVAL,
				"byte %zu of the prompt is %u: the vocabulary has %u tokens", i,
				to->id[i], vocab);
	}
	return 0;
}

/* the prompts' tokens, and what may be drawn */
static int open_request(struct wse_session *s, const struct wse_sampling *how, struct request *r)
{
	uint32_t vocab = s->cfg.model.vocab;
	const struct wse_prompt one = {how->prompt, how->prompt_len};
	const struct wse_prompt *list = how->nprompts ? how->prompts : &one;
	int ret = 0;

	*r = (struct request){.how = how, .pad = '\n', .vocab = vocab};
	if (s->bpe) {
		r->pad = wse_bpe_begin_id(s->bpe);
		r->vocab = wse_bpe_size(s->bpe);
	} else if (vocab > 256) {
		return wse_fail(-EINVAL,
				"text needs a vocabulary of bytes, or a tokenizer: this one has %u "
				"tokens; give train_dataloader.tokenizer, or --tokenizer",
				vocab);
	}
	r->nprompts = how->nprompts ? how->nprompts : 1;
	r->prompts = calloc(r->nprompts, sizeof(*r->prompts));
	if (!r->prompts)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->nprompts && !ret; i++) {
		size_t n = list[i].len || !how->nprompts ? list[i].len : strlen(list[i].text);

		ret = s->bpe ? wse_bpe_encode(s->bpe, list[i].text, n, &r->prompts[i])
			     : read_bytes(list[i].text, n, vocab, &r->prompts[i]);
		if (ret == -EINVAL && r->nprompts > 1)
			wse_fail_in(ret, "prompt %u: ", i + 1);
	}
	return ret;
}

int wse_session_generate(struct wse_session *s, const struct wse_sampling *how, char *text)
{
	uint32_t most = s->plan.tokens / s->cfg.model.span, rows = s->plan.graph.tile.rows, n;
	unsigned int before = wse_failures();
	struct request r;
	int ret = open_request(s, how, &r), asked = ret == -EINVAL;
	uint32_t all = r.nprompts * how->streams;

	most = most > rows ? most : rows;
	if (!ret && wse_memx_pending(s->memx)) /* rank 0's own, but for this */
		ret = wse_ranks_meet(s, WSE_TOGETHER_FINISH, 0);
	for (uint32_t first = 0; first < all && !ret; first += n) {
		n = all - first < most ? all - first : most;
		ret = one_pass(s, &r, first, n, text);
	}
	for (uint32_t i = 0; r.prompts && i < r.nprompts; i++)
		free(r.prompts[i].id);
	free(r.prompts);
	if (ret && ret != -ERANGE && !asked)
		wse_fail_in(wse_fail_since(before, ret, "%s", strerror(-ret)), "sampling: ");
	return ret;
}
