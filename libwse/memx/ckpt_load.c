// SPDX-License-Identifier: MIT
/* Checkpoints read: as a whole or in part, into MemoryX or to compare. ckpt.c writes them. */
#include "ckpt_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ckpt_order.h"
#include "hf.h"
#include "num/decimal.h"
#include "num/num.h"

/* what is wanted of a file */
struct job {
	struct wse_memx *mx;
	const struct wse_memx_cfg *cfg;
	enum wse_ckpt_load what;
	int look;	/* it is another run's: nothing goes on from it */
	wse_st_put put; /* NULL: nothing */
};

/* ---- which tensors of the file go where ---- */

static int check_tensor(const struct wse_st_file *file, const struct wse_entry *want,
			const char *name)
{
	const struct wse_st_view *v = wse_st_view(file, name);
	uint32_t dim[2];

	if (!v)
		return wse_fail(-EINVAL, "%s is not in it", name);
	if (wse_st_type(v) != WSE_ST_F32 || v->ndim < 1 || v->ndim > 2)
		return wse_fail(-EBADMSG, "%s is no matrix or vector of F32", name);
	wse_entry_file_dims(want, dim);
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

		wse_ckpt_name(a, array, i, name);
		ret = check_tensor(file, e, name);
		takes[i] = (struct wse_st_take){wse_st_view(file, name), e->dim[0], e->dim[1],
						e->transposed,		 array,	    i};
	}
	return ret;
}

/* parameters alone, of a file that transformers may have written; takes [a->n] */
static int match_hf(const struct wse_st_file *file, const struct wse_ckpt_arrays *a,
		    enum wse_ckpt_load what, struct wse_st_take *takes)
{
	struct wse_hf_tensor *table;
	int ret;

	if (wse_ckpt_takes_all(what))
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

/* does it fit? takes [4 * a->n], *n of them */
static int match_own(const struct wse_ckpt_match *m, const struct wse_ckpt_arrays *a,
		     struct wse_ckpt_place *at, struct wse_st_take *takes, uint32_t *n)
{
	int all = wse_ckpt_takes_all(m->what), ret = wse_ckpt_check_model(m);

	ret = ret ? ret : find_tensors(m->file, a, WSE_MEMX_P, takes);
	*n = a->n;
	if (!ret && all) {
		ret = wse_ckpt_check_run(m);
		for (uint32_t i = WSE_MEMX_M; i < 3 && a->prefix[i] && !ret; i++) {
			ret = find_tensors(m->file, a, i, takes + *n);
			*n += a->n;
		}
		ret = ret ? ret : wse_ckpt_read_state(m, at);
	}
	ret = ret ? ret : wse_ckpt_find_masks(m->file, a, m->what, takes, n);
	return ret ? ret : wse_ckpt_read_step(m, at);
}

/* ---- reading ---- */

static int put(void *ctx, const struct wse_st_take *t, size_t from, size_t count, const float *in)
{
	return wse_ckpt_write(ctx, t->array, t->tensor, from, count, in);
}

/* what the steps to come depend on besides the tensors */
static void set_state(const struct wse_ckpt_place *at, const struct wse_memx_cfg *cfg,
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
		      struct wse_ckpt_arrays *a, struct wse_train_state *ts,
		      struct wse_ckpt_place *at, char *text)
{
	struct wse_st_take *takes = calloc(4ul * a->n, sizeof(*takes));
	struct wse_facts *f = calloc(1, sizeof(*f));
	const struct wse_ckpt_match m = {
		file, path, f, ts, job->what, job->look, job->cfg->sparsity.n > 0, text};
	uint32_t n = a->n;
	int ret, own = !wse_ckpt_is_hf(a->tab) || wse_ckpt_get(file, "wse.version");

	if (!takes || !f) {
		ret = wse_fail(-ENOMEM, "no memory for the table of tensors");
		goto out;
	}
	wse_run_facts(f, job->cfg, ts);
	ret = own ? match_own(&m, a, at, takes, &n) : match_hf(file, a, job->what, takes);
	if (ret)
		goto out;
	at->masks = n && takes[n - 1].array == WSE_CKPT_MASKS;
	if (job->put && wse_memx_is_far(job->mx))
		ret = wse_ckpt_fetch_all(file, a, takes, n, job->put);
	else
		ret = wse_st_load(file, takes, n, job->put, a);
	if (ret == -ERANGE && own)
		wse_fail_more(": take an earlier checkpoint");
	if (!ret && wse_ckpt_takes_all(job->what))
		set_state(at, job->cfg, ts);
out:
	free(takes);
	free(f);
	return ret;
}

/* opens the file, does the job, and closes it; a is filled in but for what put() wants */
static int with_file(const char *path, const struct job *job, struct wse_ckpt_arrays *a,
		     struct wse_train_state *ts, struct wse_ckpt_place *at, char *text)
{
	struct wse_st_file file;
	int ret = wse_st_open(path, &file);

	if (ret)
		return ret;
	*at = (struct wse_ckpt_place){0};
	text[0] = 0;
	if (job->put != put || !job->cfg->forward) /* else all that there is will be written */
		wse_memx_finish(job->mx);
	ret = wse_ckpt_open_arrays(a, job->mx, &job->cfg->optim);
	ret = ret ? ret : go_through(&file, path, job, a, ts, at, text);
	wse_ckpt_close_arrays(a);
	wse_st_close(&file);
	return ret;
}

int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  enum wse_ckpt_load what, struct wse_train_state *ts, char *changed)
{
	const struct job job = {mx, cfg, what, 0, put};
	struct wse_memx_state s;
	struct wse_ckpt_place at;
	struct wse_ckpt_arrays a;
	int ret = with_file(path, &job, &a, ts, &at, changed);

	if (ret)
		return ret;
	wse_memx_state(mx, &s);
	*s.step = at.step;
	if (wse_ckpt_takes_all(what)) {
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
	struct wse_st_file file;
	struct wse_ckpt_arrays a;
	uint32_t n = 0;
	int ret = wse_st_open(path, &file);

	if (ret)
		return wse_fail_in(ret, "sparsity.mask_file %.200s: ", path);
	wse_memx_finish(mx);
	ret = wse_ckpt_open_arrays(&a, mx, &cfg->optim);
	if (!ret)
		takes = calloc(a.n + 1ul, sizeof(*takes));
	if (!ret && !takes)
		ret = wse_fail(-ENOMEM, "no memory for the table of tensors");
	ret = ret ? ret : wse_ckpt_find_masks(&file, &a, WSE_CKPT_ALL, takes, &n);
	ret = ret ? ret : wse_st_load(&file, takes, n, put, &a);
	free(takes);
	wse_ckpt_close_arrays(&a);
	wse_st_close(&file);
	if (ret)
		return wse_fail_in(ret, "sparsity.mask_file %.200s: ", path);
	wse_masks_count(wse_memx_masks(mx));
	return wse_memx_refresh(mx);
}

/* ---- looking ---- */

static int fits(const char *path, const struct wse_st_file *file, const struct wse_memx_cfg *cfg,
		const struct wse_tensor_table *tab, const struct wse_train_state *run,
		enum wse_ckpt_load what)
{
	struct wse_facts *f = calloc(1, sizeof(*f));
	struct wse_ckpt_arrays a = {.tab = tab, .prefix = {""}};
	const struct wse_ckpt_match m = {.file = file,
					 .path = path,
					 .run = f,
					 .ts = run,
					 /* of the text nothing is known yet */
					 .what = what == WSE_CKPT_MODEL ? WSE_CKPT_MODEL
									: WSE_CKPT_EVAL};
	struct wse_st_take *takes = NULL;
	int ret = -ENOMEM;

	a.e = wse_entries(tab, &a.n);
	if (a.e)
		takes = calloc(a.n + 1ul, sizeof(*takes));
	if (!f || !takes) {
		wse_fail(ret, "no memory for the table of tensors");
	} else if (wse_ckpt_is_hf(tab) && !wse_ckpt_get(file, "wse.version")) {
		ret = match_hf(file, &a, WSE_CKPT_MODEL, takes);
	} else {
		wse_run_facts(f, cfg, run);
		ret = wse_ckpt_check_model(&m);
		ret = ret ? ret : find_tensors(file, &a, WSE_MEMX_P, takes);
	}
	free(takes);
	free(a.e);
	free(f);
	return ret;
}

int wse_ckpt_fits(const char *path, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *run, enum wse_ckpt_load what)
{
	struct wse_tensor_table tab = {0};
	struct wse_st_file file;
	int ret = wse_st_open(path, &file);

	if (ret)
		return ret;
	ret = cfg->model.family->tensors(&cfg->model, &tab);
	ret = ret ? wse_fail(ret, "no memory for the table of tensors")
		  : fits(path, &file, cfg, &tab, run, what);
	wse_tensor_table_fini(&tab);
	wse_st_close(&file);
	return ret;
}

int wse_ckpt_look(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  struct wse_train_state *ts, uint64_t *step)
{
	const struct job job = {mx, cfg, WSE_CKPT_ALL, 1, NULL};
	char changed[WSE_CHANGED];
	struct wse_ckpt_place at;
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
		ret = wse_ckpt_read(a, t->array, t->tensor, from + at, n, mine);
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
	struct wse_ckpt_place at;
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
