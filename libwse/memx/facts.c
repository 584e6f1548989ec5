// SPDX-License-Identifier: MIT
/* What a run says of itself. */
#include "facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "num/decimal.h"
#include "num/num.h"

static const char *const optim_names[] = {"AdamW", "Adam", "SGD", "Lion"};

void wse_fact(struct wse_facts *f, enum wse_fact_about about, const char *key, const char *fmt, ...)
{
	char *k = f->key[f->n], *v = f->value[f->n];
	va_list ap;

	snprintf(k, sizeof(f->key[0]), "wse.%s", key);
	va_start(ap, fmt);
	vsnprintf(v, sizeof(f->value[0]), fmt, ap);
	va_end(ap);
	f->m[f->n] = (struct wse_st_meta){k, v};
	f->about[f->n++] = about;
}

static void schedule_facts(struct wse_facts *f, const struct wse_sched_list *list)
{
	char key[32], from[32], to[32];

	wse_fact(f, WSE_FACT_RATES, "schedulers", "%u", list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct wse_sched *s = &list->s[i];

		snprintf(key, sizeof(key), "schedulers.%u", i);
		wse_f64_text(s->from, from);
		if (s->kind == WSE_SCHED_CONSTANT)
			wse_fact(f, WSE_FACT_RATES, key, "%s from step %" PRIu64, from, s->begin);
		else if (s->kind == WSE_SCHED_INVERSE_SQRT)
			wse_fact(f, WSE_FACT_RATES, key,
				 "inverse_sqrt %s after %" PRIu64 " from step %" PRIu64, from,
				 s->total_iters, s->begin);
		else
			wse_fact(f, WSE_FACT_RATES, key,
				 "%s %s to %s in %" PRIu64 " from step %" PRIu64,
				 s->kind == WSE_SCHED_LINEAR ? "linear" : "cosine", from,
				 wse_f64_text(s->to, to), s->total_iters, s->begin);
	}
}

/* of dense runs nothing is said */
static void sparse_facts(struct wse_facts *f, const struct wse_sparsity *s)
{
	static const char *const algorithms[] = {"static", "set", "rigl"};
	char key[32], level[32], drop[32], least[32];

	for (uint32_t i = 0; i < s->n; i++) {
		const struct wse_sparse_group *g = &s->g[i];

		snprintf(key, sizeof(key), i ? "sparsity.%u" : "sparsity", i);
		wse_fact(f, WSE_FACT_SHAPE, key, "%s %s, %s, filter %016" PRIx64,
			 s->file[0] ? "masks of a file" : wse_f64_text(g->level, level),
			 g->init == WSE_SPARSE_TOPK ? "topk" : "random", algorithms[g->algorithm],
			 wse_checksum64(g->filter, strlen(g->filter)));
		if (g->algorithm == WSE_SPARSE_STATIC)
			continue;
		snprintf(key, sizeof(key), i ? "sparsity_update.%u" : "sparsity_update", i);
		wse_fact(f, WSE_FACT_RATES, key,
			 "drop_fraction %s to %s in %" PRIu64 ", freq %" PRIu64 ", stop %" PRIu64,
			 wse_f64_text(g->drop, drop), wse_f64_text(g->drop_least, least),
			 g->half_period, g->freq, g->stop);
	}
}

void wse_run_facts(struct wse_facts *f, const struct wse_memx_cfg *cfg,
		   const struct wse_train_state *ts)
{
	const struct wse_optim_cfg *o = &cfg->optim;
	char a[32], b[32], model[WSE_FACT_VALUE];

	f->n = 0;
	wse_fact(f, WSE_FACT_SHAPE, "version", "2");
	cfg->model.family->describe(&cfg->model, model, sizeof(model));
	wse_fact(f, WSE_FACT_SHAPE, "model", "%s", model);
	wse_fact(f, WSE_FACT_SHAPE, "optimizer", "%s", optim_names[o->kind]);
	wse_fact(f, WSE_FACT_SHAPE, "tile", "%ux%ux%u", ts->rows, ts->cols, ts->lanes);
	wse_fact(f, WSE_FACT_SHAPE, "batch_size", "%" PRIu64, ts->batch);
	wse_fact(f, WSE_FACT_SHAPE, "micro_batch_size", "%" PRIu64, ts->micro_batch);
	if (ts->variant > 1)
		wse_fact(f, WSE_FACT_SHAPE, "variant", WSE_FACT_VARIANT, ts->variant);
	sparse_facts(f, &cfg->sparsity);
	if (ts->tokenizer)
		wse_fact(f, WSE_FACT_DATA, "tokenizer", "%u tokens, checksum %016" PRIx64,
			 ts->tokenizer, ts->tokenizer_sum);
	wse_fact(f, WSE_FACT_DATA, "text", "%" PRIu64 " tokens, checksum %016" PRIx64,
		 ts->text_tokens, ts->text_sum);
	if (ts->held_out)
		wse_fact(f, WSE_FACT_DATA, "held_out_bytes", "%" PRIu64, ts->held_out);
	else
		wse_fact(f, WSE_FACT_DATA, "held_out_bytes", "of another text");
	if (ts->shuffle)
		wse_fact(f, WSE_FACT_DATA, "shuffle", "true, seed %" PRIu64, ts->shuffle_seed);
	else
		wse_fact(f, WSE_FACT_DATA, "shuffle", "false");
	if (o->kind == WSE_OPTIM_SGD) {
		wse_fact(f, WSE_FACT_RATES, "momentum", "%s", wse_f64_text(o->momentum, a));
	} else {
		wse_fact(f, WSE_FACT_RATES, "betas", "%s, %s", wse_f64_text(o->beta1, a),
			 wse_f64_text(o->beta2, b));
		if (o->kind != WSE_OPTIM_LION)
			wse_fact(f, WSE_FACT_RATES, "eps", "%s", wse_f64_text(o->eps, a));
	}
	if (ts->loss_weight != 0.0)
		wse_fact(f, WSE_FACT_RATES, "loss_weight", "%s a sample",
			 wse_f64_text(ts->loss_weight, a));
	wse_fact(f, WSE_FACT_RATES, "weight_decay", "%s", wse_f64_text(o->weight_decay, a));
	wse_fact(f, WSE_FACT_RATES, "max_gradient_norm", "%s", wse_f64_text(cfg->max_norm, a));
	schedule_facts(f, &cfg->sched);
	model[0] = 0;
	if (cfg->model.family->rates)
		cfg->model.family->rates(&cfg->model, model, sizeof(model));
	if (model[0])
		wse_fact(f, WSE_FACT_RATES, "adjust_learning_rate", "%s", model);
	model[0] = 0;
	if (cfg->model.family->dropout)
		cfg->model.family->dropout(&cfg->model, model, sizeof(model));
	if (model[0])
		wse_fact(f, WSE_FACT_RATES, "dropout", "%s", model);
}

/* ---- what a file says, and what this run says ---- */

const char *wse_facts_differ(const struct wse_st_file *st, const struct wse_facts *f, uint32_t i)
{
	const char *have = wse_st_get(st->meta, st->nmeta, f->m[i].key);

	if (have && !strcmp(have, f->m[i].value))
		return NULL;
	/* text may be read as tokens of a file first, and be made with their tokenizer later */
	if (!have && !strcmp(f->m[i].key, "wse.tokenizer"))
		return NULL;
	return have ? have : "nothing";
}

int wse_facts_must_fit(const struct wse_st_file *st, const struct wse_facts *f,
		       enum wse_fact_about about, const char *remedy)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const char *have = f->about[i] == about ? wse_facts_differ(st, f, i) : NULL;

		if (have)
			return wse_fail(-EINVAL, "%s: \"%.255s\" there, \"%.255s\" in this run; %s",
					f->m[i].key + 4, have, f->m[i].value, remedy);
	}
	return 0;
}

void wse_facts_note(const struct wse_st_file *st, const struct wse_facts *f,
		    enum wse_fact_about about, char *text)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->n && n < WSE_CHANGED; i++) {
		const char *have = f->about[i] == about ? wse_facts_differ(st, f, i) : NULL;

		if (have)
			n += (size_t)snprintf(text + n, WSE_CHANGED - n, "%s%s: %s -> %s",
					      n ? "; " : "", f->m[i].key + 4, have, f->m[i].value);
	}
}
