// SPDX-License-Identifier: MIT
/* Does what a checkpoint says of its run fit the run that takes it? */
#include "ckpt_load.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *wse_ckpt_get(const struct wse_st_file *st, const char *key)
{
	return wse_st_get(st->meta, st->nmeta, key);
}

/* word by word; the length of sequences is a run's, and no parameter depends on it */
static int same_model(const char *a, const char *b)
{
	for (;;) {
		size_t n = strcspn(a, " "), m = strcspn(b, " ");

		if ((n != m || strncmp(a, b, n)) &&
		    (strncmp(a, "seq=", 4) || strncmp(b, "seq=", 4)))
			return 0;
		if (!a[n] || !b[m])
			return a[n] == b[m];
		a += n + 1;
		b += m + 1;
	}
}

/* may the model be taken from this file into this run, and what is odd about it? */
int wse_ckpt_check_model(const struct wse_ckpt_match *m)
{
	const struct wse_st_file *st = m->file;
	const struct wse_facts *f = m->run;
	const char *same_text = NULL, *held = NULL, *model = wse_ckpt_get(st, "wse.model");

	for (uint32_t i = 0; i < f->n; i++) {
		if (!strcmp(f->m[i].key, "wse.model") && model && !same_model(model, f->m[i].value))
			return wse_fail(-EINVAL,
					"model: \"%.255s\" there, \"%.255s\" in this "
					"run",
					model, f->m[i].value);
		if (!strcmp(f->m[i].key, "wse.tokenizer") && m->what == WSE_CKPT_EVAL &&
		    wse_facts_differ(st, f, i))
			return wse_fail(-EINVAL,
					"tokenizer: \"%.127s\" there, \"%.127s\" in this run: take "
					"the one that it was trained with",
					wse_facts_differ(st, f, i), f->m[i].value);
		if (!strcmp(f->m[i].key, "wse.text"))
			same_text = wse_facts_differ(st, f, i) ? NULL : f->m[i].value;
		if (!strcmp(f->m[i].key, "wse.held_out_bytes"))
			held = wse_facts_differ(st, f, i);
	}
	if (m->what == WSE_CKPT_EVAL && m->ts->text_tokens && m->ts->held_out && same_text && held)
		snprintf(m->changed, WSE_CHANGED,
			 "the held-out text is in part what was trained on: "
			 "held_out_bytes %s in training, %" PRIu64 " now",
			 held, m->ts->held_out);
	return 0;
}

int wse_ckpt_check_run(const struct wse_ckpt_match *m)
{
	static const char not_it[] = "what is given here is not that run";
	const struct wse_st_file *st = m->file;
	const struct wse_facts *f = m->run;
	const char *variant = wse_ckpt_get(st, "wse.variant");
	int ret = 0;

	for (uint32_t i = WSE_FACT_SHAPE; i <= WSE_FACT_RATES && m->look && !ret; i++)
		ret = wse_facts_must_fit(st, f, (enum wse_fact_about)i, not_it);
	if (ret)
		return ret;
	ret = wse_facts_must_fit(st, f, WSE_FACT_SHAPE,
				 "a run goes on with what it began with; to take the "
				 "parameters alone: --set checkpoint.load_checkpoint_states=model");

	if (!ret && variant && m->ts->variant <= 1)
		ret = wse_fail(
			-EINVAL,
			"variant: \"%.40s\" there, \"" WSE_FACT_VARIANT
			"\" in this run: the wafer's "
			"memory or model.recompute was another; to take the parameters alone: "
			"--set checkpoint.load_checkpoint_states=model",
			variant, 1u);
	if (!ret && wse_ckpt_get(st, "wse.sparsity") && !m->sparse)
		ret = wse_fail(-EINVAL,
			       "sparsity: \"%.100s\" there, none in this run; to go on with all "
			       "weights: --set checkpoint.load_checkpoint_states=model",
			       wse_ckpt_get(st, "wse.sparsity"));
	if (!ret)
		ret = wse_facts_must_fit(st, f, WSE_FACT_DATA,
					 "its place in the text would mean another one; to "
					 "begin anew with its parameters: --set "
					 "checkpoint.load_checkpoint_states=model");
	if (!ret && m->what == WSE_CKPT_ALL)
		ret = wse_facts_must_fit(
			st, f, WSE_FACT_RATES,
			"to go on with the new one: --set "
			"checkpoint.load_checkpoint_states=model,optimizer,dataloader");
	else if (!ret)
		wse_facts_note(st, f, WSE_FACT_RATES, m->changed);
	return ret;
}

/* ---- numbers ---- */

static int get_number(const struct wse_st_file *st, const char *key, int base, uint64_t *v)
{
	char name[WSE_ST_NAME], *end;
	const char *text;

	snprintf(name, sizeof(name), "wse.%s", key);
	text = wse_ckpt_get(st, name);
	errno = 0;
	*v = text ? strtoull(text, &end, base) : 0;
	if (!text || !isxdigit((unsigned char)*text) || *end || errno)
		return wse_fail(-EBADMSG, "%s is %.40s, no number from 0 on", name,
				text ? text : "missing");
	return 0;
}

/*
 * a power of beta after some steps; betas may have changed on the way, so only its range is known
 */
static int get_power(const struct wse_st_file *st, const char *key, uint64_t *v)
{
	int ret = get_number(st, key, 16, v);
	double power;

	memcpy(&power, v, sizeof(power));
	if (!ret && !(power >= 0.0 && power <= 1.0))
		return wse_fail(-EBADMSG, "wse.%s is %g, not from 0 to 1", key, power);
	return ret;
}

/* the step; a file that is named after one is of that step */
static int get_step(const struct wse_st_file *st, const char *path, uint64_t *step)
{
	const char *base = strrchr(path, '/');
	unsigned long long named;
	int ret = get_number(st, "step", 10, step), end = 0;

	base = base ? base + 1 : path;
	if (ret || sscanf(base, "checkpoint_%llu.safetensors%n", &named, &end) != 1 || !end ||
	    base[end] || named == *step)
		return ret;
	return wse_fail(-EBADMSG, "it is of step %" PRIu64 ", not of the step in its name", *step);
}

/* checkpoints of earlier releases have no chain */
static int get_chain(const struct wse_st_file *st, struct wse_ckpt_place *at)
{
	at->chain = wse_ckpt_get(st, "chain");
	at->start = wse_ckpt_get(st, "chain.start");
	if (!at->chain && !at->start)
		return 0;
	if (!at->chain || !at->start || !wse_chain_is_hash(at->chain) ||
	    strlen(at->start) >= WSE_CHAIN_START)
		return wse_fail(-EBADMSG,
				"its chain is \"%.70s\" from \"%.40s\": no hash and where "
				"it began",
				at->chain ? at->chain : "", at->start ? at->start : "");
	return 0;
}

/* the batches of an epoch are taken one after the other, and all are whole */
static int check_place(const struct wse_ckpt_place *at, const struct wse_train_state *ts)
{
	uint64_t batches = ts->samples / ts->batch;

	if (!batches ||
	    (at->epoch == at->step / batches && at->position == at->step % batches * ts->batch))
		return 0;
	return wse_fail(-EBADMSG, "its place in the text is not that of step %" PRIu64, at->step);
}

int wse_ckpt_read_state(const struct wse_ckpt_match *m, struct wse_ckpt_place *at)
{
	int ret = get_power(m->file, "beta1_pow", &at->beta1_pow);

	ret = ret ? ret : get_power(m->file, "beta2_pow", &at->beta2_pow);
	ret = ret ? ret : get_number(m->file, "epoch", 10, &at->epoch);
	ret = ret ? ret : get_number(m->file, "position", 10, &at->position);
	if (!ret && wse_ckpt_get(m->file, "wse.own"))
		ret = get_number(m->file, "own", 10, &at->own);
	return ret;
}

int wse_ckpt_read_step(const struct wse_ckpt_match *m, struct wse_ckpt_place *at)
{
	const int all = wse_ckpt_takes_all(m->what);
	int ret = 0;

	if (all || (m->what == WSE_CKPT_EVAL && wse_ckpt_get(m->file, "wse.step")))
		ret = get_step(m->file, m->path, &at->step);
	if (!ret && all)
		ret = get_chain(m->file, at);
	return !ret && all ? check_place(at, m->ts) : ret;
}
