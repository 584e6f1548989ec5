// SPDX-License-Identifier: MIT
/* What goes into a checkpoint. ckpt_load.c reads it, ckpt_hash.c hashes it. */
#include "ckpt_image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ckpt_hash.h"
#include "ckpt_order.h"
#include "num/decimal.h"
#include "num/sha256.h"

/* ---- what a run says ---- */

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

/* ---- writing ---- */

/* for the writer: entries of all arrays, one after the other, then masks */
static int floats(void *ctx, uint32_t i, size_t from, size_t count, float *out)
{
	const struct wse_ckpt_arrays *a = ctx;
	uint32_t arrays = wse_ckpt_count_arrays(a), mask = i - arrays * a->n;
	uint32_t array = i < arrays * a->n ? i / a->n : WSE_CKPT_MASKS;
	uint32_t entry = array == WSE_CKPT_MASKS ? a->masked[mask] : i % a->n;
	int ret = wse_ckpt_read(a, array, entry, from, count, out);

	return ret ? ret : wse_ckpt_check_finite(a, array, entry, from, count, out);
}

static void add_tensor(struct wse_st *st, const struct wse_ckpt_arrays *a, uint32_t array,
		       uint32_t entry)
{
	struct wse_st_tensor *t = &st->tensors[st->ntensors++];
	const struct wse_entry *e = &a->e[entry];

	wse_ckpt_name(a, array, entry, t->name);
	t->ndim = e->ndim;
	wse_entry_file_dims(e, t->dim);
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

static void add_facts(struct wse_facts *f, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		      const struct wse_train_state *ts)
{
	struct wse_memx_state s;

	wse_memx_state(mx, &s);
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
	if (wse_ckpt_is_hf(s.table))
		f->m[f->n++] = (struct wse_st_meta){"format", "pt"};
}

int wse_ckpt_describe(struct wse_ckpt_image *im, struct wse_memx *mx,
		      const struct wse_memx_cfg *cfg, const struct wse_train_state *ts)
{
	*im = (struct wse_ckpt_image){.facts = calloc(1, sizeof(*im->facts))};
	wse_memx_finish(mx);
	if (!wse_ckpt_open_arrays(&im->a, mx, &cfg->optim))
		im->st.tensors = calloc(4ul * im->a.n, sizeof(*im->st.tensors));
	if (!im->st.tensors || !im->facts)
		return -ENOMEM;
	add_facts(im->facts, mx, cfg, ts);
	im->st.meta = im->facts->m;
	im->st.nmeta = im->facts->n;
	im->st.floats = floats;
	im->st.floats_ctx = &im->a;
	add_tensors(&im->st, &im->a);
	return 0;
}

void wse_ckpt_describe_end(struct wse_ckpt_image *im)
{
	free(im->st.tensors);
	wse_ckpt_close_arrays(&im->a);
	free(im->facts);
}

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_memx_cfg *cfg,
		  const struct wse_train_state *ts, const struct wse_st_progress *progress)
{
	unsigned int before = wse_failures();
	char *hex = progress ? progress->hash : NULL;
	struct wse_ckpt_hash *hash = NULL;
	uint64_t bytes = 0;
	struct wse_ckpt_image im;
	int ret = wse_ckpt_describe(&im, mx, cfg, ts);

	im.st.progress = progress;
	im.st.all = wse_memx_is_far(mx) ? wse_ckpt_place_all : NULL;
	if (hex && !ret)
		hash = wse_ckpt_hash_begin(&im.st);
	im.st.seen = hash ? wse_ckpt_hash_seen : NULL;
	im.st.seen_ctx = hash;
	ret = ret ? ret : wse_st_write(path, &im.st);
	wse_ckpt_hash_end(hash, hex);
	for (uint32_t i = 0; i < im.st.ntensors; i++)
		bytes += im.st.tensors[i].count * (i < im.st.ntensors - im.st.nbytes ? 4 : 1);
	wse_ckpt_describe_end(&im);
	if (ret == -ENOSPC || ret == -EDQUOT)
		return wse_fail_since(before, ret, "no room is left for its %.1f MB: make some",
				      1e-6 * (double)bytes);
	return wse_fail_since(before, ret, "%s", strerror(-ret));
}
