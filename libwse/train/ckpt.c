// SPDX-License-Identifier: MIT
/* What goes into a checkpoint and what must match when it comes back. */
#include "ckpt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"
#include "sha256.h"
#include "why.h"

#define MAX_META 32

static const char *const optim_names[] = { "AdamW", "Adam", "SGD" };

/* tensors of the optimizer: prefix and array, NULL ends */
static const char *moment_prefix(const struct wse_optim_cfg *optim, int which)
{
	if (optim->kind == WSE_OPTIM_SGD)
		return which == 0 ? "optimizer.momentum_buffer." : NULL;
	return which == 0 ? "optimizer.exp_avg." : which == 1 ? "optimizer.exp_avg_sq." : NULL;
}

__attribute__((format(printf, 3, 4)))
static void meta(struct wse_st *st, const char *key, const char *fmt, ...)
{
	struct wse_st_meta *m = &st->meta[st->nmeta++];
	va_list ap;

	snprintf(m->key, sizeof(m->key), "wse.%s", key);
	va_start(ap, fmt);
	vsnprintf(m->value, sizeof(m->value), fmt, ap);
	va_end(ap);
}

static uint64_t bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

static void model_text(const struct wse_mlp *m, char *text, size_t n)
{
	snprintf(text, n, "mlp window=%u embed=%u vocab=%u act=%s layers=%u", m->window, m->embed,
		 m->vocab, m->act == WSE_ACT_RELU ? "relu" : "gelu", m->nlinear);
}

static void add_tensors(struct wse_st *st, const struct wse_tensor_table *tab, const char *prefix,
			float *data)
{
	for (uint32_t i = 0; i < tab->n; i++) {
		struct wse_st_tensor *t = &st->tensors[st->ntensors++];

		snprintf(t->name, sizeof(t->name), "%s%s", prefix, tab->t[i].name);
		t->ndim = tab->t[i].ndim;
		t->dim[0] = tab->t[i].dim[0];
		t->dim[1] = tab->t[i].dim[1];
		t->count = tab->t[i].count;
		t->data = data + tab->t[i].off;
	}
}

int wse_ckpt_save(const char *path, struct wse_memx *mx, const struct wse_mlp *m,
		  const struct wse_optim_cfg *optim, const struct wse_train_state *ts)
{
	struct wse_memx_state s;
	struct wse_st st = { 0 };
	char text[WSE_ST_NAME];
	int ret = -ENOMEM;

	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	st.tensors = calloc(3 * s.table->n, sizeof(*st.tensors));
	st.meta = calloc(MAX_META, sizeof(*st.meta));
	if (!st.tensors || !st.meta)
		goto out;
	model_text(m, text, sizeof(text));
	meta(&st, "version", "1");
	meta(&st, "model", "%s", text);
	meta(&st, "optimizer", "%s", optim_names[optim->kind]);
	meta(&st, "step", "%" PRIu64, *s.step);
	meta(&st, "beta1_pow", "%016" PRIx64, bits(*s.beta1_pow));
	meta(&st, "beta2_pow", "%016" PRIx64, bits(*s.beta2_pow));
	meta(&st, "shuffle_seed", "%" PRIu64, ts->shuffle_seed);
	meta(&st, "epoch", "%" PRIu64, ts->epoch);
	meta(&st, "position", "%" PRIu64, ts->position);
	meta(&st, "batch", "%" PRIu64, ts->batch);
	meta(&st, "micro_batch", "%" PRIu64, ts->micro_batch);
	meta(&st, "tile", "%ux%ux%u", ts->rows, ts->cols, ts->lanes);
	add_tensors(&st, s.table, "", s.params);
	add_tensors(&st, s.table, moment_prefix(optim, 0), s.m);
	if (moment_prefix(optim, 1))
		add_tensors(&st, s.table, moment_prefix(optim, 1), s.v);
	ret = wse_st_write(path, &st);
out:
	free(st.tensors);
	free(st.meta);
	return ret;
}

/* every tensor of one kind is there and has its shape; copied only when `to` is given */
static int get_tensors(const struct wse_st *st, const struct wse_tensor_table *tab,
		       const char *prefix, float *to, char *why)
{
	for (uint32_t i = 0; i < tab->n; i++) {
		const struct wse_tensor *want = &tab->t[i];
		const struct wse_st_tensor *t;
		char name[WSE_ST_NAME];

		snprintf(name, sizeof(name), "%s%s", prefix, want->name);
		t = wse_st_find(st, name);
		if (!t)
			return wse_why(why, -EINVAL, "%s is not in it", name);
		if (t->ndim != want->ndim || t->dim[0] != want->dim[0] ||
		    t->dim[1] != want->dim[1])
			return wse_why(why, -EINVAL, "%s is %u x %u there, %u x %u in this model",
					name, t->dim[0], t->dim[1], want->dim[0], want->dim[1]);
		if (to)
			memcpy(to + want->off, t->data, t->count * sizeof(float));
	}
	return 0;
}

static int get_number(const struct wse_st *st, const char *key, int base, uint64_t *v, char *why)
{
	char name[WSE_ST_NAME], *end;
	const char *text;

	snprintf(name, sizeof(name), "wse.%s", key);
	text = wse_st_get(st, name);
	errno = 0;
	*v = text ? strtoull(text, &end, base) : 0;
	if (!text || !*text || *end || errno)
		return wse_why(why, -EBADMSG, "%s is missing or no number", name);
	return 0;
}

static int must_be(const struct wse_st *st, const char *key, const char *want, char *why)
{
	char name[WSE_ST_NAME];
	const char *have;

	snprintf(name, sizeof(name), "wse.%s", key);
	have = wse_st_get(st, name);
	if (!have || strcmp(have, want))
		return wse_why(why, -EINVAL, "%s: \"%.90s\" there, \"%.90s\" in this run", key,
				have ? have : "missing", want);
	return 0;
}

static int check_run(const struct wse_st *st, const struct wse_mlp *m,
		     const struct wse_optim_cfg *optim, const struct wse_train_state *ts, char *why)
{
	char text[WSE_ST_NAME];
	int ret;

	model_text(m, text, sizeof(text));
	ret = must_be(st, "version", "1", why);
	if (!ret)
		ret = must_be(st, "model", text, why);
	if (!ret)
		ret = must_be(st, "optimizer", optim_names[optim->kind], why);
	snprintf(text, sizeof(text), "%ux%ux%u", ts->rows, ts->cols, ts->lanes);
	if (!ret)
		ret = must_be(st, "tile", text, why);
	snprintf(text, sizeof(text), "%" PRIu64, ts->batch);
	if (!ret)
		ret = must_be(st, "batch", text, why);
	snprintf(text, sizeof(text), "%" PRIu64, ts->micro_batch);
	if (!ret)
		ret = must_be(st, "micro_batch", text, why);
	return ret;
}

int wse_ckpt_load(const char *path, struct wse_memx *mx, const struct wse_mlp *m,
		  const struct wse_optim_cfg *optim, int params_only, struct wse_train_state *ts,
		  char *why)
{
	uint64_t step = 0, b1 = 0, b2 = 0, seed = 0, epoch = 0, position = 0;
	const char *second = moment_prefix(optim, 1);
	struct wse_memx_state s;
	struct wse_st st;
	int ret = wse_st_read(path, &st, why);

	if (ret)
		return ret;
	wse_memx_finish(mx);
	wse_memx_state(mx, &s);
	ret = get_tensors(&st, s.table, "", NULL, why);
	if (!ret && !params_only) {
		ret = check_run(&st, m, optim, ts, why);
		ret = ret ? ret : get_tensors(&st, s.table, moment_prefix(optim, 0), NULL, why);
		if (!ret && second)
			ret = get_tensors(&st, s.table, second, NULL, why);
		ret = ret ? ret : get_number(&st, "step", 10, &step, why);
		ret = ret ? ret : get_number(&st, "beta1_pow", 16, &b1, why);
		ret = ret ? ret : get_number(&st, "beta2_pow", 16, &b2, why);
		ret = ret ? ret : get_number(&st, "shuffle_seed", 10, &seed, why);
		ret = ret ? ret : get_number(&st, "epoch", 10, &epoch, why);
		ret = ret ? ret : get_number(&st, "position", 10, &position, why);
	}
	if (ret)
		goto out;
	get_tensors(&st, s.table, "", s.params, why);
	if (!params_only) {
		get_tensors(&st, s.table, moment_prefix(optim, 0), s.m, why);
		if (second)
			get_tensors(&st, s.table, second, s.v, why);
		*s.step = step;
		memcpy(s.beta1_pow, &b1, sizeof(b1));
		memcpy(s.beta2_pow, &b2, sizeof(b2));
		ts->shuffle_seed = seed;
		ts->epoch = epoch;
		ts->position = position;
	}
	wse_memx_refresh(mx);
out:
	wse_st_free(&st);
	return ret;
}

int wse_ckpt_hash(const char *path, char *hex, char *why)
{
	struct wse_sha256 sha;
	struct wse_st st;
	int ret = wse_st_read(path, &st, why);

	if (ret)
		return ret;
	/* in the order of the file, which the writer fixes */
	wse_sha256_init(&sha);
	for (uint32_t i = 0; i < st.nmeta; i++) {
		if (strncmp(st.meta[i].key, "wse.", 4))
			continue;
		wse_sha256_add(&sha, st.meta[i].key, strlen(st.meta[i].key) + 1);
		wse_sha256_add(&sha, st.meta[i].value, strlen(st.meta[i].value) + 1);
	}
	for (uint32_t i = 0; i < st.ntensors; i++) {
		const struct wse_st_tensor *t = &st.tensors[i];

		wse_sha256_add(&sha, t->name, strlen(t->name) + 1);
		wse_sha256_add(&sha, t->dim, sizeof(t->dim));
		wse_sha256_add(&sha, t->data, t->count * sizeof(float));
	}
	wse_sha256_hex(&sha, hex);
	wse_st_free(&st);
	return 0;
}
