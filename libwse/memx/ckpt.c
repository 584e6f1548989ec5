// SPDX-License-Identifier: MIT
/* What goes into a checkpoint and what must match when it comes back. */
#include "ckpt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hf.h"
#include "num/num.h"
#include "safetensors.h"
#include "num/sha256.h"
#include "base/error.h"

#define MAX_META 48
/* of graphs with the plain order of sums nothing is said */
#define VARIANT "%u (order of sums)"

static const char *const optim_names[] = {"AdamW", "Adam", "SGD"};

/* tensors of the optimizer: prefix and array, NULL ends */
static const char *moment_prefix(const struct wse_optim_cfg *optim, int which)
{
	if (optim->kind == WSE_OPTIM_SGD)
		return which == 0 ? "optimizer.momentum_buffer." : NULL;
	return which == 0 ? "optimizer.exp_avg." : which == 1 ? "optimizer.exp_avg_sq." : NULL;
}

/* what a value is about, and so what a difference means */
enum about { SHAPE, DATA, RATES, STATE };

/* everything that a checkpoint says besides its tensors */
struct facts {
	uint32_t n;
	struct wse_st_meta m[MAX_META];
	char key[MAX_META][40], value[MAX_META][WSE_ST_NAME];
	enum about about[MAX_META];
};

__attribute__((format(printf, 4, 5))) static void fact(struct facts *f, enum about about,
						       const char *key, const char *fmt, ...)
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

static uint64_t bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

/* the shortest decimal that is this number; text [32] */
static const char *real(double d, char *text)
{
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, d);
		if (bits(strtod(text, NULL)) == bits(d))
			break;
	}
	return text;
}

static void schedule_facts(struct facts *f, const struct wse_sched_list *list)
{
	char key[32], from[32], to[32];

	fact(f, RATES, "schedulers", "%u", list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct wse_sched *s = &list->s[i];

		snprintf(key, sizeof(key), "schedulers.%u", i);
		real(s->from, from);
		if (s->kind == WSE_SCHED_CONSTANT)
			fact(f, RATES, key, "%s from step %" PRIu64, from, s->begin);
		else
			fact(f, RATES, key, "%s %s to %s in %" PRIu64 " from step %" PRIu64,
			     s->kind == WSE_SCHED_LINEAR ? "linear" : "cosine", from,
			     real(s->to, to), s->total_iters, s->begin);
	}
}

/* what the run itself says, in the keys of the parameter file where it has them */
static void run_facts(struct facts *f, const struct wse_memx_cfg *cfg,
		      const struct wse_train_state *ts)
{
	const struct wse_optim_cfg *o = &cfg->optim;
	char a[32], b[32], model[200];

	f->n = 0;
	fact(f, SHAPE, "version", "2");
	cfg->model.family->describe(&cfg->model, model, sizeof(model));
	fact(f, SHAPE, "model", "%s", model);
	fact(f, SHAPE, "optimizer", "%s", optim_names[o->kind]);
	fact(f, SHAPE, "tile", "%ux%ux%u", ts->rows, ts->cols, ts->lanes);
	fact(f, SHAPE, "batch_size", "%" PRIu64, ts->batch);
	fact(f, SHAPE, "micro_batch_size", "%" PRIu64, ts->micro_batch);
	if (ts->variant > 1)
		fact(f, SHAPE, "variant", VARIANT, ts->variant);
	fact(f, DATA, "text", "%" PRIu64 " tokens, checksum %016" PRIx64, ts->text_tokens,
	     ts->text_sum);
	if (ts->held_out)
		fact(f, DATA, "held_out_bytes", "%" PRIu64, ts->held_out);
	else
		fact(f, DATA, "held_out_bytes", "of another text");
	if (ts->shuffle)
		fact(f, DATA, "shuffle", "true, seed %" PRIu64, ts->shuffle_seed);
	else
		fact(f, DATA, "shuffle", "false");
	if (o->kind == WSE_OPTIM_SGD) {
		fact(f, RATES, "momentum", "%s", real(o->momentum, a));
	} else {
		fact(f, RATES, "betas", "%s, %s", real(o->beta1, a), real(o->beta2, b));
		fact(f, RATES, "eps", "%s", real(o->eps, a));
	}
	fact(f, RATES, "weight_decay", "%s", real(o->weight_decay, a));
	fact(f, RATES, "max_gradient_norm", "%s", real(cfg->max_norm, a));
	schedule_facts(f, &cfg->sched);
}

/* is it a model that Hugging Face has, too? Then a checkpoint is a file that both read */
static int is_hf(const struct wse_tensor_table *tab)
{
	for (uint32_t i = 0; i < tab->n; i++)
		if (tab->t[i].flags & WSE_TENSOR_TRANSPOSED)
			return 1;
	return 0;
}

/* a tensor's shape in the file */
static void file_dims(const struct wse_tensor *t, uint32_t *dim)
{
	const int swap = (t->flags & WSE_TENSOR_TRANSPOSED) != 0;

	dim[0] = t->dim[swap];
	dim[1] = t->dim[!swap];
}

static void add_tensors(struct wse_st *st, const struct wse_tensor_table *tab, const char *prefix,
			float *data)
{
	for (uint32_t i = 0; i < tab->n; i++) {
		struct wse_st_tensor *t = &st->tensors[st->ntensors++];

		snprintf(t->name, sizeof(t->name), "%s%s", prefix, tab->t[i].name);
		t->ndim = tab->t[i].ndim;
		file_dims(&tab->t[i], t->dim);
		t->count = tab->t[i].count;
		t->data = data + tab->t[i].off;
		t->transposed = (tab->t[i].flags & WSE_TENSOR_TRANSPOSED) != 0;
	}
}

/* the first number that is not finite, by name; data [tab->params] may be NULL */
static int check_finite(const struct wse_tensor_table *tab, const char *prefix, const float *data)
{
	for (uint32_t i = 0; data && i < tab->n; i++)
		for (size_t j = 0; j < tab->t[i].count; j++)
			if (wse_f32_isbad(data[tab->t[i].off + j]))
				return wse_fail(-ERANGE, "%s%s[%zu] is not finite", prefix,
						tab->t[i].name, j);
	return 0;
}

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *ts, const struct wse_st_progress *progress)
{
	const char *first = moment_prefix(&cfg->optim, 0), *second = moment_prefix(&cfg->optim, 1);
	struct facts *f = calloc(1, sizeof(*f));
	struct wse_memx_state s;
	struct wse_st st = {.progress = progress};
	int ret = -ENOMEM;

	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	st.tensors = calloc(3 * s.table->n, sizeof(*st.tensors));
	if (!st.tensors || !f) {
		wse_fail(ret, "%s", strerror(-ret));
		goto out;
	}
	ret = check_finite(s.table, "", s.params);
	ret = ret ? ret : check_finite(s.table, first, s.m);
	ret = ret ? ret : check_finite(s.table, second, s.v);
	if (ret)
		goto out;
	run_facts(f, cfg, ts);
	fact(f, STATE, "step", "%" PRIu64, *s.step);
	fact(f, STATE, "beta1_pow", "%016" PRIx64, bits(*s.beta1_pow));
	fact(f, STATE, "beta2_pow", "%016" PRIx64, bits(*s.beta2_pow));
	fact(f, STATE, "epoch", "%" PRIu64, ts->epoch);
	fact(f, STATE, "position", "%" PRIu64, ts->position);
	if (is_hf(s.table))
		f->m[f->n++] = (struct wse_st_meta){"format", "pt"};
	st.meta = f->m;
	st.nmeta = f->n;
	add_tensors(&st, s.table, "", s.params);
	add_tensors(&st, s.table, first, s.m);
	if (second)
		add_tensors(&st, s.table, second, s.v);
	ret = wse_st_write(path, &st);
	if (ret)
		wse_fail(ret, "%s", strerror(-ret));
out:
	free(st.tensors);
	free(f);
	return ret;
}

/* floats of a file begin at any byte */
static float element(const struct wse_st_view *v, size_t i)
{
	float f;

	memcpy(&f, v->data + i * sizeof(f), sizeof(f));
	return f;
}

static int check_tensor(const struct wse_st_file *st, const struct wse_tensor *want,
			const char *name)
{
	const struct wse_st_view *v = wse_st_view(st, name);
	uint32_t dim[2];

	if (!v)
		return wse_fail(-EINVAL, "%s is not in it", name);
	if (strcmp(v->dtype, "F32") || v->ndim < 1 || v->ndim > 2)
		return wse_fail(-EBADMSG, "%s is no matrix or vector of F32", name);
	file_dims(want, dim);
	if (v->ndim != want->ndim || v->dim[0] != dim[0] || (v->ndim == 2 && v->dim[1] != dim[1]))
		return wse_fail(-EINVAL, "%s is %u x %u there, %u x %u in this model", name,
				v->dim[0], v->ndim == 2 ? v->dim[1] : 1, dim[0], dim[1]);
	for (size_t j = 0; j < v->count; j++)
		if (wse_f32_isbad(element(v, j)))
			return wse_fail(-ERANGE,
					"%s[%zu] is not finite: take an "
					"earlier checkpoint",
					name, j);
	return 0;
}

static void copy_tensor(const struct wse_st_view *v, const struct wse_tensor *t, float *to)
{
	const size_t rows = t->dim[0], cols = t->dim[1];

	if (!(t->flags & WSE_TENSOR_TRANSPOSED)) {
		memcpy(to, v->data, v->bytes);
		return;
	}
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < cols; c++)
			to[r * cols + c] = element(v, c * rows + r);
}

/* every tensor of one kind is there, has its shape and is finite; copied only when `to` is given */
static int get_tensors(const struct wse_st_file *st, const struct wse_tensor_table *tab,
		       const char *prefix, float *to)
{
	int ret = 0;

	for (uint32_t i = 0; i < tab->n && !ret; i++) {
		char name[WSE_ST_NAME];

		snprintf(name, sizeof(name), "%s%s", prefix, tab->t[i].name);
		if (to)
			copy_tensor(wse_st_view(st, name), &tab->t[i], to + tab->t[i].off);
		else
			ret = check_tensor(st, &tab->t[i], name);
	}
	return ret;
}

static int get_number(const struct wse_st *st, const char *key, int base, uint64_t *v)
{
	char name[WSE_ST_NAME], *end;
	const char *text;

	snprintf(name, sizeof(name), "wse.%s", key);
	text = wse_st_get(st, name);
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
static int get_power(const struct wse_st *st, const char *key, uint64_t *v)
{
	int ret = get_number(st, key, 16, v);
	double power;

	memcpy(&power, v, sizeof(power));
	if (!ret && !(power >= 0.0 && power <= 1.0))
		return wse_fail(-EBADMSG, "wse.%s is %g, not from 0 to 1", key, power);
	return ret;
}

/* the step; a file that is named after one is of that step */
static int get_step(const struct wse_st *st, const char *path, uint64_t *step)
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

/* NULL when the file says the same as fact i; else what it says */
static const char *differs(const struct wse_st *st, const struct facts *f, uint32_t i)
{
	const char *have = wse_st_get(st, f->m[i].key);

	if (have && !strcmp(have, f->m[i].value))
		return NULL;
	return have ? have : "nothing";
}

/* the first difference of one kind is an error, with what to do about it */
static int must_fit(const struct wse_st *st, const struct facts *f, enum about about,
		    const char *remedy)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const char *have = f->about[i] == about ? differs(st, f, i) : NULL;

		if (have)
			return wse_fail(-EINVAL, "%s: \"%.127s\" there, \"%.127s\" in this run; %s",
					f->m[i].key + 4, have, f->m[i].value, remedy);
	}
	return 0;
}

/* all differences of one kind, as a note: "betas: 0.9, 0.95 -> 0.9, 0.99; ..." */
static void note(const struct wse_st *st, const struct facts *f, enum about about, char *text)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->n && n < WSE_CHANGED; i++) {
		const char *have = f->about[i] == about ? differs(st, f, i) : NULL;

		if (have)
			n += (size_t)snprintf(text + n, WSE_CHANGED - n, "%s%s: %s -> %s",
					      n ? "; " : "", f->m[i].key + 4, have, f->m[i].value);
	}
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
static int check_model(const struct wse_st *st, const struct facts *f,
		       const struct wse_train_state *ts, enum wse_ckpt_load what, char *text)
{
	const char *same_text = NULL, *held = NULL, *model = wse_st_get(st, "wse.model");

	for (uint32_t i = 0; i < f->n; i++) {
		if (!strcmp(f->m[i].key, "wse.model") && model && !same_model(model, f->m[i].value))
			return wse_fail(-EINVAL,
					"model: \"%.127s\" there, \"%.127s\" in this "
					"run",
					model, f->m[i].value);
		if (!strcmp(f->m[i].key, "wse.text"))
			same_text = differs(st, f, i) ? NULL : f->m[i].value;
		if (!strcmp(f->m[i].key, "wse.held_out_bytes"))
			held = differs(st, f, i);
	}
	if (what == WSE_CKPT_EVAL && ts->text_tokens && ts->held_out && same_text && held)
		snprintf(text, WSE_CHANGED,
			 "the held-out text is in part what was trained on: "
			 "held_out_bytes %s in training, %" PRIu64 " now",
			 held, ts->held_out);
	return 0;
}

static int check_run(const struct wse_st *st, const struct facts *f,
		     const struct wse_train_state *ts, enum wse_ckpt_load what, char *text)
{
	const char *variant = wse_st_get(st, "wse.variant");
	int ret = must_fit(st, f, SHAPE,
			   "a run goes on with what it began with; to take the "
			   "parameters alone: --set checkpoint.load_checkpoint_states=model");

	if (!ret && variant && ts->variant <= 1)
		ret = wse_fail(
			-EINVAL,
			"variant: \"%.40s\" there, \"" VARIANT "\" in this run: the wafer's "
			"memory or model.recompute was another; to take the parameters alone: "
			"--set checkpoint.load_checkpoint_states=model",
			variant, 1u);
	if (!ret)
		ret = must_fit(st, f, DATA,
			       "its place in the text would mean another one; to "
			       "begin anew with its parameters: --set "
			       "checkpoint.load_checkpoint_states=model");
	if (!ret && what == WSE_CKPT_ALL)
		ret = must_fit(st, f, RATES,
			       "to go on with the new one: --set "
			       "checkpoint.load_checkpoint_states=model,optimizer,dataloader");
	else if (!ret)
		note(st, f, RATES, text);
	return ret;
}

/* parameters alone, of a file that transformers may have written */
static int load_hf(const struct wse_st_file *file, const struct wse_memx_state *s,
		   enum wse_ckpt_load what)
{
	struct wse_hf_tensor *table = calloc(s->table->n, sizeof(*table));
	int ret;

	if (what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW) {
		free(table);
		return wse_fail(-EINVAL,
				"it is no checkpoint of a run: it has no step and no optimizer "
				"state; to begin anew with its parameters: --set "
				"checkpoint.load_checkpoint_states=model");
	}
	if (!table)
		return wse_fail(-ENOMEM, "no memory for the table of tensors");
	for (uint32_t i = 0; i < s->table->n; i++) {
		const struct wse_tensor *t = &s->table->t[i];

		table[i] = (struct wse_hf_tensor){t->name,
						  t->ndim,
						  {t->dim[0], t->dim[1]},
						  (t->flags & WSE_TENSOR_TRANSPOSED) != 0,
						  s->params + t->off};
	}
	ret = wse_hf_take(file, table, s->table->n);
	free(table);
	if (!ret)
		*s->step = 0;
	return ret;
}

static int load_own(const struct wse_st_file *file, const char *path, const struct facts *f,
		    const struct wse_memx_state *s, const struct wse_memx_cfg *cfg,
		    enum wse_ckpt_load what, struct wse_train_state *ts, char *text)
{
	const char *first = moment_prefix(&cfg->optim, 0), *second = moment_prefix(&cfg->optim, 1);
	uint64_t step = 0, b1 = 0, b2 = 0, epoch = 0, position = 0;
	int all = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW, ret;
	const struct wse_st *st = &file->meta;

	ret = check_model(st, f, ts, what, text);
	ret = ret ? ret : get_tensors(file, s->table, "", NULL);
	if (!ret && all) {
		ret = check_run(st, f, ts, what, text);
		ret = ret ? ret : get_tensors(file, s->table, first, NULL);
		if (!ret && second)
			ret = get_tensors(file, s->table, second, NULL);
		ret = ret ? ret : get_power(st, "beta1_pow", &b1);
		ret = ret ? ret : get_power(st, "beta2_pow", &b2);
		ret = ret ? ret : get_number(st, "epoch", 10, &epoch);
		ret = ret ? ret : get_number(st, "position", 10, &position);
	}
	if (!ret && (all || (what == WSE_CKPT_EVAL && wse_st_get(st, "wse.step"))))
		ret = get_step(st, path, &step);
	if (ret)
		return ret;
	get_tensors(file, s->table, "", s->params);
	*s->step = step;
	if (!all)
		return 0;
	get_tensors(file, s->table, first, s->m);
	if (second)
		get_tensors(file, s->table, second, s->v);
	memcpy(s->beta1_pow, &b1, sizeof(b1));
	memcpy(s->beta2_pow, &b2, sizeof(b2));
	ts->epoch = epoch;
	ts->position = position;
	return 0;
}

int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  enum wse_ckpt_load what, struct wse_train_state *ts, char *changed)
{
	struct facts *f = calloc(1, sizeof(*f));
	struct wse_memx_state s;
	struct wse_st_file file;
	int ret = f ? wse_st_open(path, &file) : wse_fail(-ENOMEM, "no memory");

	if (ret) {
		free(f);
		return ret;
	}
	changed[0] = 0;
	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	run_facts(f, cfg, ts);
	if (is_hf(s.table) && !wse_st_get(&file.meta, "wse.version"))
		ret = load_hf(&file, &s, what);
	else
		ret = load_own(&file, path, f, &s, cfg, what, ts, changed);
	if (!ret)
		wse_memx_refresh(mx);
	wse_st_close(&file);
	free(f);
	return ret;
}

int wse_ckpt_hash(const char *path, char *hex)
{
	struct wse_st_file file;
	struct wse_sha256 sha;
	int ret = wse_st_open(path, &file);

	if (ret)
		return ret;
	/* in the order of the file, which the writer fixes */
	wse_sha256_init(&sha);
	for (uint32_t i = 0; i < file.meta.nmeta; i++) {
		const struct wse_st_meta *m = &file.meta.meta[i];

		if (strncmp(m->key, "wse.", 4))
			continue;
		wse_sha256_add(&sha, m->key, strlen(m->key) + 1);
		wse_sha256_add(&sha, m->value, strlen(m->value) + 1);
	}
	for (uint32_t i = 0; i < file.nviews; i++) {
		const struct wse_st_view *t = &file.views[i];
		uint32_t dim[WSE_ST_DIMS] = {1, 1};

		memcpy(dim, t->dim, t->ndim * sizeof(*dim));
		wse_sha256_add(&sha, t->name, strlen(t->name) + 1);
		wse_sha256_add(&sha, dim, (t->ndim < 2 ? 2 : t->ndim) * sizeof(*dim));
		wse_sha256_add(&sha, t->data, t->bytes);
	}
	wse_sha256_hex(&sha, hex);
	wse_st_close(&file);
	return 0;
}
