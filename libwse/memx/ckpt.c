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
#include "st_load.h"
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

/* where the tensors of a file come from or go to; an array's are all there, in the table's order */
struct arrays {
	struct wse_memx *mx;
	const struct wse_tensor_table *tab;
	const char *prefix[3]; /* of names, by enum wse_memx_array; NULL: no more */
};

static struct arrays arrays_of(struct wse_memx *mx, const struct wse_memx_state *s,
			       const struct wse_optim_cfg *optim)
{
	return (struct arrays){
		mx, s->table, {"", moment_prefix(optim, 0), moment_prefix(optim, 1)}};
}

/* "" if that is too long: no file has it */
static void file_name(const struct arrays *a, uint32_t array, uint32_t tensor, char *name)
{
	if ((size_t)snprintf(name, WSE_ST_NAME, "%s%s", a->prefix[array], a->tab->t[tensor].name) >=
	    WSE_ST_NAME)
		name[0] = 0;
}

/* for the writer: tensors of all arrays, one after the other; a number that is not finite ends it */
static int floats(void *ctx, uint32_t i, size_t from, size_t count, float *out)
{
	const struct arrays *a = ctx;
	uint32_t array = i / a->tab->n, tensor = i % a->tab->n;
	int ret = wse_memx_read(a->mx, (enum wse_memx_array)array, tensor, from, count, out);

	for (size_t j = 0; j < count && !ret; j++)
		if (wse_f32_isbad(out[j]))
			ret = wse_fail(-ERANGE, "%s%s[%zu] is not finite", a->prefix[array],
				       a->tab->t[tensor].name, from + j);
	return ret;
}

static void add_tensors(struct wse_st *st, const struct arrays *a)
{
	for (uint32_t array = 0; array < 3 && a->prefix[array]; array++)
		for (uint32_t i = 0; i < a->tab->n; i++) {
			struct wse_st_tensor *t = &st->tensors[st->ntensors++];

			file_name(a, array, i, t->name);
			t->ndim = a->tab->t[i].ndim;
			file_dims(&a->tab->t[i], t->dim);
			t->count = a->tab->t[i].count;
			t->transposed = (a->tab->t[i].flags & WSE_TENSOR_TRANSPOSED) != 0;
		}
}

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *ts, const struct wse_st_progress *progress)
{
	struct facts *f = calloc(1, sizeof(*f));
	unsigned int before = wse_failures();
	struct wse_memx_state s;
	struct arrays a;
	struct wse_st st = {.floats = floats, .floats_ctx = &a, .progress = progress};
	int ret = -ENOMEM;

	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	a = arrays_of(mx, &s, &cfg->optim);
	st.tensors = calloc(3 * s.table->n, sizeof(*st.tensors));
	if (st.tensors && f) {
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
		add_tensors(&st, &a);
		ret = wse_st_write(path, &st);
	}
	free(st.tensors);
	free(f);
	return wse_fail_since(before, ret, "%s", strerror(-ret));
}

static int check_tensor(const struct wse_st_file *file, const struct wse_tensor *want,
			const char *name)
{
	const struct wse_st_view *v = wse_st_view(file, name);
	uint32_t dim[2];

	if (!v)
		return wse_fail(-EINVAL, "%s is not in it", name);
	if (wse_st_type(v) != WSE_ST_F32 || v->ndim < 1 || v->ndim > 2)
		return wse_fail(-EBADMSG, "%s is no matrix or vector of F32", name);
	file_dims(want, dim);
	if (v->ndim != want->ndim || v->dim[0] != dim[0] || (v->ndim == 2 && v->dim[1] != dim[1]))
		return wse_fail(-EINVAL, "%s is %u x %u there, %u x %u in this model", name,
				v->dim[0], v->ndim == 2 ? v->dim[1] : 1, dim[0], dim[1]);
	return 0;
}

/* every tensor of an array is there and has its shape: takes [tab->n] */
static int find_tensors(const struct wse_st_file *file, const struct arrays *a, uint32_t array,
			struct wse_st_take *takes)
{
	int ret = 0;

	for (uint32_t i = 0; i < a->tab->n && !ret; i++) {
		const struct wse_tensor *t = &a->tab->t[i];
		char name[WSE_ST_NAME];

		file_name(a, array, i, name);
		ret = check_tensor(file, t, name);
		takes[i] = (struct wse_st_take){wse_st_view(file, name),
						t->dim[0],
						t->dim[1],
						(t->flags & WSE_TENSOR_TRANSPOSED) != 0,
						array,
						i};
	}
	return ret;
}

static int put(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	const struct arrays *a = ctx;

	return wse_memx_write(a->mx, (enum wse_memx_array)t->array, t->tensor, from, count, in);
}

static const char *get(const struct wse_st_file *st, const char *key)
{
	return wse_st_get(st->meta, st->nmeta, key);
}

static int get_number(const struct wse_st_file *st, const char *key, int base, uint64_t *v)
{
	char name[WSE_ST_NAME], *end;
	const char *text;

	snprintf(name, sizeof(name), "wse.%s", key);
	text = get(st, name);
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

/* NULL when the file says the same as fact i; else what it says */
static const char *differs(const struct wse_st_file *st, const struct facts *f, uint32_t i)
{
	const char *have = get(st, f->m[i].key);

	if (have && !strcmp(have, f->m[i].value))
		return NULL;
	return have ? have : "nothing";
}

/* the first difference of one kind is an error, with what to do about it */
static int must_fit(const struct wse_st_file *st, const struct facts *f, enum about about,
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
static void note(const struct wse_st_file *st, const struct facts *f, enum about about, char *text)
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
static int check_model(const struct wse_st_file *st, const struct facts *f,
		       const struct wse_train_state *ts, enum wse_ckpt_load what, char *text)
{
	const char *same_text = NULL, *held = NULL, *model = get(st, "wse.model");

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

static int check_run(const struct wse_st_file *st, const struct facts *f,
		     const struct wse_train_state *ts, enum wse_ckpt_load what, char *text)
{
	const char *variant = get(st, "wse.variant");
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

/* parameters alone, of a file that transformers may have written; takes [a->tab->n] */
static int match_hf(const struct wse_st_file *file, const struct arrays *a, enum wse_ckpt_load what,
		    struct wse_st_take *takes)
{
	struct wse_hf_tensor *table;
	int ret;

	if (what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW)
		return wse_fail(-EINVAL,
				"it is no checkpoint of a run: it has no step and no optimizer "
				"state; to begin anew with its parameters: --set "
				"checkpoint.load_checkpoint_states=model");
	table = calloc(a->tab->n, sizeof(*table));
	if (!table)
		return wse_fail(-ENOMEM, "no memory for the table of tensors");
	for (uint32_t i = 0; i < a->tab->n; i++) {
		const struct wse_tensor *t = &a->tab->t[i];

		table[i] = (struct wse_hf_tensor){t->name,
						  t->ndim,
						  {t->dim[0], t->dim[1]},
						  (t->flags & WSE_TENSOR_TRANSPOSED) != 0,
						  NULL};
	}
	ret = wse_hf_match(file, table, a->tab->n, takes);
	free(table);
	return ret;
}

/* what a checkpoint says besides its tensors and the run's facts */
struct place {
	uint64_t step, beta1_pow, beta2_pow, epoch, position;
};

/* the batches of an epoch are taken one after the other, and all are whole */
static int check_place(const struct place *at, const struct wse_train_state *ts)
{
	uint64_t batches = ts->samples / ts->batch;

	if (!batches ||
	    (at->epoch == at->step / batches && at->position == at->step % batches * ts->batch))
		return 0;
	return wse_fail(-EBADMSG, "its place in the text is not that of step %" PRIu64, at->step);
}

/* does it fit? takes [3 * a->tab->n], *n of them */
static int match_own(const struct wse_st_file *file, const char *path, const struct facts *f,
		     const struct arrays *a, enum wse_ckpt_load what,
		     const struct wse_train_state *ts, struct place *at, struct wse_st_take *takes,
		     uint32_t *n, char *text)
{
	int all = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW, ret;

	ret = check_model(file, f, ts, what, text);
	ret = ret ? ret : find_tensors(file, a, WSE_MEMX_P, takes);
	*n = a->tab->n;
	if (!ret && all) {
		ret = check_run(file, f, ts, what, text);
		for (uint32_t i = WSE_MEMX_M; i < 3 && a->prefix[i] && !ret; i++) {
			ret = find_tensors(file, a, i, takes + *n);
			*n += a->tab->n;
		}
		ret = ret ? ret : get_power(file, "beta1_pow", &at->beta1_pow);
		ret = ret ? ret : get_power(file, "beta2_pow", &at->beta2_pow);
		ret = ret ? ret : get_number(file, "epoch", 10, &at->epoch);
		ret = ret ? ret : get_number(file, "position", 10, &at->position);
	}
	if (!ret && (all || (what == WSE_CKPT_EVAL && get(file, "wse.step"))))
		ret = get_step(file, path, &at->step);
	return !ret && all ? check_place(at, ts) : ret;
}

static int load(struct wse_st_file *file, const char *path, struct arrays *a,
		const struct wse_memx_state *s, const struct facts *f, enum wse_ckpt_load what,
		struct wse_train_state *ts, char *text)
{
	struct wse_st_take *takes = calloc(3ul * a->tab->n, sizeof(*takes));
	uint32_t n = a->tab->n;
	struct place at = {0};
	int ret, own = !is_hf(a->tab) || get(file, "wse.version");

	if (!takes)
		return wse_fail(-ENOMEM, "no memory for the table of tensors");
	ret = own ? match_own(file, path, f, a, what, ts, &at, takes, &n, text)
		  : match_hf(file, a, what, takes);
	if (!ret) {
		ret = wse_st_load(file, takes, n, put, a);
		if (ret == -ERANGE && own)
			wse_fail_more(": take an earlier checkpoint");
	}
	free(takes);
	if (ret)
		return ret;
	*s->step = at.step;
	if (what != WSE_CKPT_ALL && what != WSE_CKPT_RATES_NEW)
		return 0;
	memcpy(s->beta1_pow, &at.beta1_pow, sizeof(at.beta1_pow));
	memcpy(s->beta2_pow, &at.beta2_pow, sizeof(at.beta2_pow));
	ts->epoch = at.epoch;
	ts->position = at.position;
	return 0;
}

int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  enum wse_ckpt_load what, struct wse_train_state *ts, char *changed)
{
	struct facts *f = calloc(1, sizeof(*f));
	struct wse_memx_state s;
	struct wse_st_file file;
	struct arrays a;
	int ret = f ? wse_st_open(path, &file) : wse_fail(-ENOMEM, "no memory");

	if (ret) {
		free(f);
		return ret;
	}
	changed[0] = 0;
	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	a = arrays_of(mx, &s, &cfg->optim);
	run_facts(f, cfg, ts);
	ret = load(&file, path, &a, &s, f, what, ts, changed);
	if (!ret)
		wse_memx_refresh(mx);
	wse_st_close(&file);
	free(f);
	return ret;
}

/* a tensor's bytes, after what comes before them */
static int hash_piece(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		      size_t bytes)
{
	uint32_t dim[WSE_ST_DIMS] = {1, 1};
	struct wse_sha256 *sha = ctx;

	if (!from) {
		memcpy(dim, v->dim, v->ndim * sizeof(*dim));
		wse_sha256_add(sha, v->name, strlen(v->name) + 1);
		wse_sha256_add(sha, dim, (v->ndim < 2 ? 2 : v->ndim) * sizeof(*dim));
	}
	wse_sha256_add(sha, data, bytes);
	return 0;
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
	for (uint32_t i = 0; i < file.nmeta; i++) {
		const struct wse_st_meta *m = &file.meta[i];

		if (strncmp(m->key, "wse.", 4))
			continue;
		wse_sha256_add(&sha, m->key, strlen(m->key) + 1);
		wse_sha256_add(&sha, m->value, strlen(m->value) + 1);
	}
	ret = wse_st_check(&file, hash_piece, &sha);
	if (!ret)
		wse_sha256_hex(&sha, hex);
	wse_st_close(&file);
	return ret;
}
