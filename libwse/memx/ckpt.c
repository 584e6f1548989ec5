// SPDX-License-Identifier: MIT
/* What goes into a checkpoint and what must match when it comes back. */
#include "ckpt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "ckpt_order.h"
#include "facts.h"
#include "hf.h"
#include "num/decimal.h"
#include "num/num.h"
#include "st_load.h"
#include "num/sha256.h"
#include "base/error.h"

/* tensors of the optimizer: prefix and array, NULL ends */
static const char *moment_prefix(const struct wse_optim_cfg *optim, int which)
{
	if (optim->kind == WSE_OPTIM_SGD)
		return which == 0 ? "optimizer.momentum_buffer." : NULL;
	if (which == 0)
		return "optimizer.exp_avg.";
	return which == 1 && optim->kind != WSE_OPTIM_LION ? "optimizer.exp_avg_sq." : NULL;
}

/* is it a model that Hugging Face has, too? Then a checkpoint is a file that both read */
static int is_hf(const struct wse_tensor_table *tab)
{
	if (tab->prefix)
		return 1;
	for (uint32_t i = 0; i < tab->n; i++)
		if (tab->t[i].flags & WSE_TENSOR_TRANSPOSED)
			return 1;
	return 0;
}

/* an entry's shape in the file */
static void file_dims(const struct wse_entry *e, uint32_t *dim)
{
	dim[0] = e->dim[e->transposed];
	dim[1] = e->dim[!e->transposed];
}

static int arrays_init(struct wse_ckpt_arrays *a, struct wse_memx *mx,
		       const struct wse_memx_state *s, const struct wse_optim_cfg *optim)
{
	*a = (struct wse_ckpt_arrays){
		.mx = mx,
		.tab = s->table,
		.masks = wse_memx_masks(mx),
		.prefix = {"", moment_prefix(optim, 0), moment_prefix(optim, 1), "mask."}};
	a->e = wse_entries(s->table, &a->n);
	a->masked = calloc(a->n + 1ul, sizeof(*a->masked));
	if (!a->e || !a->masked)
		return wse_fail(-ENOMEM, "no memory for the list of tensors");
	for (uint32_t i = 0; i < a->n; i++)
		if (wse_masks_has(a->masks, a->e[i].tensor))
			a->masked[a->nmasked++] = i;
	return 0;
}

static void arrays_fini(struct wse_ckpt_arrays *a)
{
	free(a->e);
	free(a->masked);
}

/* "" if that is too long: no file has it */
static void file_name(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, char *name)
{
	if ((size_t)snprintf(name, WSE_ST_NAME, "%s%s", a->prefix[array], a->e[entry].name) >=
	    WSE_ST_NAME)
		name[0] = 0;
}

/* a run of an entry's elements */
struct move {
	const struct wse_ckpt_arrays *a;
	enum wse_memx_array array;
	uint32_t tensor;
};

static int read_run(void *ctx, size_t at, size_t count, float *data)
{
	const struct move *m = ctx;

	if (m->array == (enum wse_memx_array)WSE_CKPT_MASKS) {
		wse_masks_read(m->a->masks, m->tensor, at, count, data);
		return 0;
	}
	return wse_memx_read(m->a->mx, m->array, m->tensor, at, count, data);
}

static int write_run(void *ctx, size_t at, size_t count, float *data)
{
	const struct move *m = ctx;

	if (m->array == (enum wse_memx_array)WSE_CKPT_MASKS) {
		wse_masks_write(m->a->masks, m->tensor, at, count, data);
		return 0;
	}
	return wse_memx_write(m->a->mx, m->array, m->tensor, at, count, data);
}

static int move(const struct wse_ckpt_arrays *a, uint32_t array, uint32_t entry, wse_entry_run fn,
		size_t from, size_t count, float *data)
{
	struct move m = {a, (enum wse_memx_array)array, a->e[entry].tensor};

	return wse_entry_each(&a->e[entry], from, count, data, fn, &m);
}

/*
 * for the writer: entries of all arrays, one after the other, then masks; a number that is not
 * finite ends it
 */
static int floats(void *ctx, uint32_t i, size_t from, size_t count, float *out)
{
	const struct wse_ckpt_arrays *a = ctx;
	uint32_t arrays = a->prefix[2] ? 3 : a->prefix[1] ? 2 : 1, mask = i - arrays * a->n;
	uint32_t array = i < arrays * a->n ? i / a->n : WSE_CKPT_MASKS;
	uint32_t entry = array == WSE_CKPT_MASKS ? a->masked[mask] : i % a->n;
	int ret = move(a, array, entry, read_run, from, count, out);

	for (size_t j = 0; j < count && !ret; j++)
		if (wse_f32_isbad(out[j]))
			ret = wse_fail(-ERANGE, "%s%s[%zu] is not finite", a->prefix[array],
				       a->e[entry].name, from + j);
	return ret;
}

static void add_tensor(struct wse_st *st, const struct wse_ckpt_arrays *a, uint32_t array,
		       uint32_t entry)
{
	struct wse_st_tensor *t = &st->tensors[st->ntensors++];
	const struct wse_entry *e = &a->e[entry];

	file_name(a, array, entry, t->name);
	t->ndim = e->ndim;
	file_dims(e, t->dim);
	t->count = (size_t)e->dim[0] * e->dim[1];
	t->transposed = e->transposed;
}

static void add_tensors(struct wse_st *st, const struct wse_ckpt_arrays *a)
{
	for (uint32_t array = 0; array < WSE_MEMX_ARRAYS && a->prefix[array]; array++)
		for (uint32_t i = 0; i < a->n; i++)
			add_tensor(st, a, array, i);
	for (uint32_t i = 0; i < a->nmasked; i++)
		add_tensor(st, a, WSE_CKPT_MASKS, a->masked[i]);
	st->nbytes = a->nmasked;
}

void wse_ckpt_start(const struct wse_memx_cfg *cfg, struct wse_train_state *ts, const char *start)
{
	struct wse_facts *f = calloc(1, sizeof(*f));
	struct wse_sha256 sha;

	ts->chain[0] = 0;
	snprintf(ts->start, sizeof(ts->start), "%s", start);
	if (!f)
		return;
	wse_run_facts(f, cfg, ts);
	wse_sha256_init(&sha);
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->about[i] != WSE_FACT_SHAPE)
			continue;
		wse_sha256_add(&sha, f->m[i].key, strlen(f->m[i].key));
		wse_sha256_add(&sha, "=", 1);
		wse_sha256_add(&sha, f->m[i].value, strlen(f->m[i].value));
		wse_sha256_add(&sha, "\n", 1);
	}
	wse_sha256_add(&sha, ts->start, strlen(ts->start));
	wse_sha256_add(&sha, "\n", 1);
	wse_sha256_hex(&sha, ts->chain);
	free(f);
}

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *ts, const struct wse_st_progress *progress)
{
	struct wse_facts *f = calloc(1, sizeof(*f));
	unsigned int before = wse_failures();
	struct wse_memx_state s;
	struct wse_ckpt_arrays a;
	struct wse_st st = {.floats = floats, .floats_ctx = &a, .progress = progress};
	int ret = -ENOMEM;

	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	if (!arrays_init(&a, mx, &s, &cfg->optim))
		st.tensors = calloc(4ul * a.n, sizeof(*st.tensors));
	if (st.tensors && f) {
		wse_run_facts(f, cfg, ts);
		wse_fact(f, WSE_FACT_STATE, "step", "%" PRIu64, *s.step);
		wse_fact(f, WSE_FACT_STATE, "beta1_pow", "%016" PRIx64, wse_f64_bits(*s.beta1_pow));
		wse_fact(f, WSE_FACT_STATE, "beta2_pow", "%016" PRIx64, wse_f64_bits(*s.beta2_pow));
		wse_fact(f, WSE_FACT_STATE, "epoch", "%" PRIu64, ts->epoch);
		wse_fact(f, WSE_FACT_STATE, "position", "%" PRIu64, ts->position);
		if (ts->own)
			wse_fact(f, WSE_FACT_STATE, "own", "%u", ts->own);
		if (ts->chain[0]) {
			f->m[f->n++] = (struct wse_st_meta){"chain", ts->chain};
			f->m[f->n++] = (struct wse_st_meta){"chain.start", ts->start};
		}
		if (is_hf(s.table))
			f->m[f->n++] = (struct wse_st_meta){"format", "pt"};
		st.meta = f->m;
		st.nmeta = f->n;
		add_tensors(&st, &a);
		st.all = wse_memx_is_far(mx) ? wse_ckpt_place_all : NULL;
		ret = wse_st_write(path, &st);
	}
	free(st.tensors);
	arrays_fini(&a);
	free(f);
	return wse_fail_since(before, ret, "%s", strerror(-ret));
}

static int check_tensor(const struct wse_st_file *file, const struct wse_entry *want,
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

/* every entry of an array is there and has its shape: takes [a->n] */
static int find_tensors(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
			uint32_t array, struct wse_st_take *takes)
{
	int ret = 0;

	for (uint32_t i = 0; i < a->n && !ret; i++) {
		const struct wse_entry *e = &a->e[i];
		char name[WSE_ST_NAME];

		file_name(a, array, i, name);
		ret = check_tensor(file, e, name);
		takes[i] = (struct wse_st_take){wse_st_view(file, name), e->dim[0], e->dim[1],
						e->transposed,		 array,	    i};
	}
	return ret;
}

/* ---- masks ---- */

static int mask_bytes(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		      size_t bytes)
{
	const unsigned char *p = data;
	uint64_t *ones = ctx;

	for (size_t i = 0; i < bytes; i++) {
		if (p[i] > 1)
			return wse_fail(-EBADMSG, "%s[%" PRIu64 "] is %u: a mask has 0 and 1",
					v->name, from + i, p[i]);
		*ones += p[i];
	}
	return 0;
}

/* how many weights of an entry are there, as the section says */
static uint64_t wanted(const struct wse_ckpt_arrays *a, const struct wse_entry *e)
{
	uint64_t n = (uint64_t)e->dim[0] * e->dim[1];

	for (uint32_t i = 0; i < a->masks->nparts; i++) {
		const struct wse_sparse_part *p = &a->masks->part[i];

		if (p->tensor == e->tensor && p->row >= e->row && p->row < e->row + e->dim[0])
			n -= p->count - p->keep;
	}
	return n;
}

/* a mask as it is in the file: its shape, its bytes, how many ones */
static int check_mask(const struct wse_ckpt_arrays *a, const struct wse_entry *e,
		      const struct wse_st_view *v, enum wse_ckpt_load what)
{
	char piece[4096];
	uint64_t ones = 0, left;
	uint32_t dim[2];
	int ret = 0;

	file_dims(e, dim);
	if (wse_st_type(v) != WSE_ST_U8 || v->ndim != 2)
		return wse_fail(-EBADMSG, "%s is no matrix of U8", v->name);
	if (v->dim[0] != dim[0] || v->dim[1] != dim[1])
		return wse_fail(-EINVAL, "%s is %u x %u there, %u x %u in this model", v->name,
				v->dim[0], v->dim[1], dim[0], dim[1]);
	for (uint64_t at = 0; at < v->bytes && !ret; at += sizeof(piece)) {
		left = v->bytes - at < sizeof(piece) ? v->bytes - at : sizeof(piece);
		ret = wse_st_pread(v, at, left, piece);
		ret = ret ? ret : mask_bytes(&ones, v, at, piece, left);
	}
	if (!ret && !ones)
		return wse_fail(-EINVAL, "%s leaves no weight", v->name);
	if (!ret && what != WSE_CKPT_EVAL && !a->masks->cfg->file[0] && ones != wanted(a, e))
		return wse_fail(-EINVAL,
				"%s has %" PRIu64 " weights, the sparsity of this run leaves "
				"%" PRIu64 ": give it the level of the file, or the file as "
				"sparsity.mask_file",
				v->name, ones, wanted(a, e));
	return ret;
}

/* -EINVAL when a mask is of a tensor that has none here */
static int check_others(const struct wse_st_file *file, const struct wse_ckpt_arrays *a)
{
	const size_t n = strlen(a->prefix[WSE_CKPT_MASKS]);

	for (uint32_t i = 0; i < file->nviews; i++) {
		const char *name = file->views[i].name;
		uint32_t k = 0;

		if (strncmp(name, a->prefix[WSE_CKPT_MASKS], n))
			continue;
		while (k < a->nmasked && strcmp(a->e[a->masked[k]].name, name + n))
			k++;
		if (k < a->nmasked)
			continue;
		for (k = 0; k < a->n && strcmp(a->e[k].name, name + n); k++)
			;
		return k < a->n ? wse_fail(-EINVAL,
					   "%s is there, and in this run %s has no mask: give a "
					   "sparsity.param_filter that it matches",
					   name, name + n)
				: wse_fail(-EINVAL, "%s is there, and this model has no %s", name,
					   name + n);
	}
	return 0;
}

/* takes [*n ...]: those of the masks, if there are any; to a dense run none matters */
static int find_masks(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
		      enum wse_ckpt_load what, struct wse_st_take *takes, uint32_t *n)
{
	int any = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW;
	int ret = a->nmasked ? check_others(file, a) : 0;
	char name[WSE_ST_NAME];

	/* weights alone may come without: without all of them */
	for (uint32_t i = 0; i < a->nmasked && !any; i++) {
		file_name(a, WSE_CKPT_MASKS, a->masked[i], name);
		any = wse_st_view(file, name) != NULL;
	}
	for (uint32_t i = 0; i < a->nmasked && any && !ret; i++) {
		const struct wse_entry *e = &a->e[a->masked[i]];
		const struct wse_st_view *v;

		file_name(a, WSE_CKPT_MASKS, a->masked[i], name);
		v = wse_st_view(file, name);
		if (!v)
			return wse_fail(-EINVAL, "%s is not in it", name);
		ret = check_mask(a, e, v, what);
		takes[(*n)++] = (struct wse_st_take){
			v, e->dim[0], e->dim[1], e->transposed, WSE_CKPT_MASKS, a->masked[i]};
	}
	return ret;
}

static int put(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	/* what write_run() gets is read alone */
	return move(ctx, t->array, t->tensor, write_run, from, count, (float *)(uintptr_t)in);
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
static int check_model(const struct wse_st_file *st, const struct wse_facts *f,
		       const struct wse_train_state *ts, enum wse_ckpt_load what, char *text)
{
	const char *same_text = NULL, *held = NULL, *model = get(st, "wse.model");

	for (uint32_t i = 0; i < f->n; i++) {
		if (!strcmp(f->m[i].key, "wse.model") && model && !same_model(model, f->m[i].value))
			return wse_fail(-EINVAL,
					"model: \"%.255s\" there, \"%.255s\" in this "
					"run",
					model, f->m[i].value);
		if (!strcmp(f->m[i].key, "wse.tokenizer") && what == WSE_CKPT_EVAL &&
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
	if (what == WSE_CKPT_EVAL && ts->text_tokens && ts->held_out && same_text && held)
		snprintf(text, WSE_CHANGED,
			 "the held-out text is in part what was trained on: "
			 "held_out_bytes %s in training, %" PRIu64 " now",
			 held, ts->held_out);
	return 0;
}

/* what is wanted of a file */
struct job {
	struct wse_memx *mx;
	const struct wse_memx_cfg *cfg;
	enum wse_ckpt_load what;
	int look;	/* it is another run's: nothing goes on from it */
	wse_st_put put; /* NULL: nothing */
};

static int check_run(const struct wse_st_file *st, const struct wse_facts *f,
		     const struct wse_train_state *ts, const struct job *job, char *text)
{
	static const char not_it[] = "what is given here is not that run";
	const char *variant = get(st, "wse.variant");
	int ret = 0;

	for (uint32_t i = WSE_FACT_SHAPE; i <= WSE_FACT_RATES && job->look && !ret; i++)
		ret = wse_facts_must_fit(st, f, (enum wse_fact_about)i, not_it);
	if (ret)
		return ret;
	ret = wse_facts_must_fit(st, f, WSE_FACT_SHAPE,
				 "a run goes on with what it began with; to take the "
				 "parameters alone: --set checkpoint.load_checkpoint_states=model");

	if (!ret && variant && ts->variant <= 1)
		ret = wse_fail(
			-EINVAL,
			"variant: \"%.40s\" there, \"" WSE_FACT_VARIANT
			"\" in this run: the wafer's "
			"memory or model.recompute was another; to take the parameters alone: "
			"--set checkpoint.load_checkpoint_states=model",
			variant, 1u);
	if (!ret && get(st, "wse.sparsity") && !job->cfg->sparsity.n)
		ret = wse_fail(-EINVAL,
			       "sparsity: \"%.100s\" there, none in this run; to go on with all "
			       "weights: --set checkpoint.load_checkpoint_states=model",
			       get(st, "wse.sparsity"));
	if (!ret)
		ret = wse_facts_must_fit(st, f, WSE_FACT_DATA,
					 "its place in the text would mean another one; to "
					 "begin anew with its parameters: --set "
					 "checkpoint.load_checkpoint_states=model");
	if (!ret && job->what == WSE_CKPT_ALL)
		ret = wse_facts_must_fit(
			st, f, WSE_FACT_RATES,
			"to go on with the new one: --set "
			"checkpoint.load_checkpoint_states=model,optimizer,dataloader");
	else if (!ret)
		wse_facts_note(st, f, WSE_FACT_RATES, text);
	return ret;
}

/* parameters alone, of a file that transformers may have written; takes [a->n] */
static int match_hf(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
		    enum wse_ckpt_load what, struct wse_st_take *takes)
{
	struct wse_hf_tensor *table;
	int ret;

	if (what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW)
		return wse_fail(-EINVAL,
				"it is no checkpoint of a run: it has no step and no optimizer "
				"state; to begin anew with its parameters: --set "
				"checkpoint.load_checkpoint_states=model");
	table = calloc(a->n, sizeof(*table));
	if (!table)
		return wse_fail(-ENOMEM, "no memory for the table of tensors");
	for (uint32_t i = 0; i < a->n; i++) {
		const struct wse_entry *e = &a->e[i];

		table[i] = (struct wse_hf_tensor){
			e->name, e->ndim, {e->dim[0], e->dim[1]}, e->transposed, NULL};
	}
	ret = wse_hf_match(file, table, a->n, takes);
	free(table);
	return ret;
}

/* what a checkpoint says besides its tensors and the run's facts */
struct place {
	uint64_t step, beta1_pow, beta2_pow, epoch, position, own;
	const char *chain, *start; /* NULL: it has none */
	int masks;		   /* it has some */
};

/* checkpoints of earlier releases have no chain */
static int get_chain(const struct wse_st_file *st, struct place *at)
{
	at->chain = get(st, "chain");
	at->start = get(st, "chain.start");
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
static int check_place(const struct place *at, const struct wse_train_state *ts)
{
	uint64_t batches = ts->samples / ts->batch;

	if (!batches ||
	    (at->epoch == at->step / batches && at->position == at->step % batches * ts->batch))
		return 0;
	return wse_fail(-EBADMSG, "its place in the text is not that of step %" PRIu64, at->step);
}

/* does it fit? takes [4 * a->n], *n of them */
static int match_own(const struct wse_st_file *file, const char *path, const struct wse_facts *f,
		     const struct wse_ckpt_arrays *a, const struct job *job,
		     const struct wse_train_state *ts, struct place *at, struct wse_st_take *takes,
		     uint32_t *n, char *text)
{
	const enum wse_ckpt_load what = job->what;
	int all = what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW, ret;

	ret = check_model(file, f, ts, what, text);
	ret = ret ? ret : find_tensors(file, a, WSE_MEMX_P, takes);
	*n = a->n;
	if (!ret && all) {
		ret = check_run(file, f, ts, job, text);
		for (uint32_t i = WSE_MEMX_M; i < 3 && a->prefix[i] && !ret; i++) {
			ret = find_tensors(file, a, i, takes + *n);
			*n += a->n;
		}
		ret = ret ? ret : get_power(file, "beta1_pow", &at->beta1_pow);
		ret = ret ? ret : get_power(file, "beta2_pow", &at->beta2_pow);
		ret = ret ? ret : get_number(file, "epoch", 10, &at->epoch);
		ret = ret ? ret : get_number(file, "position", 10, &at->position);
		if (!ret && get(file, "wse.own"))
			ret = get_number(file, "own", 10, &at->own);
	}
	ret = ret ? ret : find_masks(file, a, what, takes, n);
	if (!ret && (all || (what == WSE_CKPT_EVAL && get(file, "wse.step"))))
		ret = get_step(file, path, &at->step);
	if (!ret && all)
		ret = get_chain(file, at);
	return !ret && all ? check_place(at, ts) : ret;
}

/* what the steps to come depend on besides the tensors */
static void set_state(const struct place *at, const struct wse_memx_cfg *cfg,
		      struct wse_train_state *ts)
{
	char start[WSE_CHAIN_START];

	ts->epoch = at->epoch;
	ts->position = at->position;
	ts->own = (uint32_t)at->own;
	if (at->chain) {
		memcpy(ts->chain, at->chain, sizeof(ts->chain));
		snprintf(ts->start, sizeof(ts->start), "%s", at->start);
		return;
	}
	snprintf(start, sizeof(start), "step %" PRIu64 " of a run without a chain", at->step);
	wse_ckpt_start(cfg, ts, start);
}

/* ts is changed when all is well, at is filled in */
static int go_through(struct wse_st_file *file, const char *path, const struct job *job,
		      struct wse_ckpt_arrays *a, struct wse_train_state *ts, struct place *at,
		      char *text)
{
	struct wse_st_take *takes = calloc(4ul * a->n, sizeof(*takes));
	struct wse_facts *f = calloc(1, sizeof(*f));
	uint32_t n = a->n;
	int ret, own = !is_hf(a->tab) || get(file, "wse.version");

	if (!takes || !f) {
		ret = wse_fail(-ENOMEM, "no memory for the table of tensors");
		goto out;
	}
	wse_run_facts(f, job->cfg, ts);
	ret = own ? match_own(file, path, f, a, job, ts, at, takes, &n, text)
		  : match_hf(file, a, job->what, takes);
	if (ret)
		goto out;
	at->masks = n && takes[n - 1].array == WSE_CKPT_MASKS;
	if (job->put && wse_memx_is_far(job->mx))
		ret = wse_ckpt_fetch_all(file, a, takes, n, job->put);
	else
		ret = wse_st_load(file, takes, n, job->put, a);
	if (ret == -ERANGE && own)
		wse_fail_more(": take an earlier checkpoint");
	if (!ret && (job->what == WSE_CKPT_ALL || job->what == WSE_CKPT_RATES_NEW))
		set_state(at, job->cfg, ts);
out:
	free(takes);
	free(f);
	return ret;
}

/* opens the file, does the job, and closes it; a is filled in but for what put() wants */
static int with_file(const char *path, const struct job *job, struct wse_ckpt_arrays *a,
		     struct wse_train_state *ts, struct place *at, char *text)
{
	struct wse_st_file file;
	struct wse_memx_state s;
	int ret = wse_st_open(path, &file);

	if (ret)
		return ret;
	*at = (struct place){0};
	text[0] = 0;
	if (job->put != put || !job->cfg->forward) /* else all that there is will be written */
		wse_memx_finish(job->mx);
	wse_memx_state(job->mx, &s);
	ret = arrays_init(a, job->mx, &s, &job->cfg->optim);
	ret = ret ? ret : go_through(&file, path, job, a, ts, at, text);
	arrays_fini(a);
	wse_st_close(&file);
	return ret;
}

int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  enum wse_ckpt_load what, struct wse_train_state *ts, char *changed)
{
	const struct job job = {mx, cfg, what, 0, put};
	struct wse_memx_state s;
	struct place at;
	struct wse_ckpt_arrays a;
	int ret = with_file(path, &job, &a, ts, &at, changed);

	if (ret)
		return ret;
	wse_memx_state(mx, &s);
	*s.step = at.step;
	if (what == WSE_CKPT_ALL || what == WSE_CKPT_RATES_NEW) {
		memcpy(s.beta1_pow, &at.beta1_pow, sizeof(at.beta1_pow));
		memcpy(s.beta2_pow, &at.beta2_pow, sizeof(at.beta2_pow));
	}
	if (at.masks)
		wse_masks_count(wse_memx_masks(mx));
	else if (what == WSE_CKPT_MODEL)
		ret = wse_memx_masks_again(mx);
	return ret ? ret : wse_memx_refresh(mx);
}

int wse_ckpt_masks(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg)
{
	struct wse_st_take *takes = NULL;
	struct wse_memx_state s;
	struct wse_st_file file;
	struct wse_ckpt_arrays a;
	uint32_t n = 0;
	int ret = wse_st_open(path, &file);

	if (ret)
		return wse_fail_in(ret, "sparsity.mask_file %.200s: ", path);
	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	ret = arrays_init(&a, mx, &s, &cfg->optim);
	if (!ret)
		takes = calloc(a.n + 1ul, sizeof(*takes));
	if (!ret && !takes)
		ret = wse_fail(-ENOMEM, "no memory for the table of tensors");
	ret = ret ? ret : find_masks(&file, &a, WSE_CKPT_ALL, takes, &n);
	ret = ret ? ret : wse_st_load(&file, takes, n, put, &a);
	free(takes);
	arrays_fini(&a);
	wse_st_close(&file);
	if (ret)
		return wse_fail_in(ret, "sparsity.mask_file %.200s: ", path);
	wse_masks_count(wse_memx_masks(mx));
	return wse_memx_refresh(mx);
}

int wse_ckpt_look(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  struct wse_train_state *ts, uint64_t *step)
{
	const struct job job = {mx, cfg, WSE_CKPT_ALL, 1, NULL};
	char changed[WSE_CHANGED];
	struct place at;
	struct wse_ckpt_arrays a;
	int ret = with_file(path, &job, &a, ts, &at, changed);

	*step = at.step;
	return ret;
}

/* the first element that MemoryX has otherwise */
static int compare(void *ctx, const struct wse_st_take *t, size_t from, size_t count,
		   const float *in)
{
	struct wse_ckpt_arrays *a = ctx;
	float mine[4096];
	int ret = 0;

	for (size_t at = 0, n; at < count && !a->differs && !ret; at += n) {
		n = count - at < 4096 ? count - at : 4096;
		ret = move(a, t->array, t->tensor, read_run, from + at, n, mine);
		for (size_t i = 0; i < n && !ret && !a->differs; i++)
			if (wse_f2u(mine[i]) != wse_f2u(in[at + i])) {
				a->differs = 1;
				wse_fail(0, "%s%s[%zu] is %08x (%g) there, %08x (%g) here",
					 a->prefix[t->array], a->e[t->tensor].name, from + at + i,
					 wse_f2u(in[at + i]), in[at + i], wse_f2u(mine[i]),
					 mine[i]);
			}
	}
	return ret;
}

int wse_ckpt_compare(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		     const struct wse_train_state *ts)
{
	const struct job job = {mx, cfg, WSE_CKPT_ALL, 1, compare};
	struct wse_train_state there = *ts;
	char changed[WSE_CHANGED];
	struct wse_memx_state s;
	struct place at;
	struct wse_ckpt_arrays a;
	int ret = with_file(path, &job, &a, &there, &at, changed);

	if (ret)
		return ret;
	if (a.differs)
		return -EILSEQ;
	wse_memx_state(mx, &s);
	if (at.step != *s.step || at.beta1_pow != wse_f64_bits(*s.beta1_pow) ||
	    at.beta2_pow != wse_f64_bits(*s.beta2_pow))
		return wse_fail(-EILSEQ,
				"step, beta1_pow and beta2_pow are %" PRIu64 ", %016" PRIx64
				" and %016" PRIx64 " there, %" PRIu64 ", %016" PRIx64
				" and %016" PRIx64 " here",
				at.step, at.beta1_pow, at.beta2_pow, *s.step,
				wse_f64_bits(*s.beta1_pow), wse_f64_bits(*s.beta2_pow));
	return 0;
}

int wse_ckpt_facts(const struct wse_memx_cfg *cfg, const struct wse_train_state *ts, char *text,
		   size_t size)
{
	struct wse_facts *f = calloc(1, sizeof(*f));
	size_t at = 0;

	if (!f)
		return -ENOMEM;
	wse_run_facts(f, cfg, ts);
	for (uint32_t i = 0; i < f->n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s\n%s\n",
				       f->m[i].key + strlen("wse."), f->m[i].value);
	free(f);
	return at < size ? 0 : -ENOSPC;
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
