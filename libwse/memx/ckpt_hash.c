// SPDX-License-Identifier: MIT
/* The hash of a checkpoint, of a file that is read and of one that is written. */
#include "ckpt_hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ckpt.h"
#include "num/sha256.h"

/* what a run says: keys of ours, but for the sums of the tensors */
static void add_meta(struct wse_sha256 *sha, const struct wse_st_meta *meta, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (strncmp(meta[i].key, "wse.", 4))
			continue;
		wse_sha256_add(sha, meta[i].key, strlen(meta[i].key) + 1);
		wse_sha256_add(sha, meta[i].value, strlen(meta[i].value) + 1);
	}
}

/* what comes before a tensor's bytes: its name, and sizes, of a vector [n][1] */
struct title {
	char text[WSE_ST_NAME + WSE_ST_DIMS * sizeof(uint32_t)];
	size_t bytes;
};

static void make_title(struct title *t, const char *name, uint32_t ndim, const uint32_t *dims)
{
	uint32_t dim[WSE_ST_DIMS] = {1, 1};
	size_t n = strlen(name) + 1, size = (ndim < 2 ? 2 : ndim) * sizeof(*dim);

	memcpy(dim, dims, ndim * sizeof(*dim));
	memcpy(t->text, name, n);
	memcpy(t->text + n, dim, size);
	t->bytes = n + size;
}

/* ---- of a file ---- */

static int hash_piece(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
		      size_t bytes)
{
	struct wse_sha256 *sha = ctx;
	struct title t;

	if (!from) {
		make_title(&t, v->name, v->ndim, v->dim);
		wse_sha256_add(sha, t.text, t.bytes);
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
	add_meta(&sha, file.meta, file.nmeta);
	ret = wse_st_check(&file, hash_piece, &sha);
	if (!ret)
		wse_sha256_hex(&sha, hex);
	wse_st_close(&file);
	return ret;
}

/* ---- of one that is written ---- */

struct wse_ckpt_hash {
	const struct wse_st *st;
	uint32_t next; /* tensor that has not begun */
	struct wse_sha256 sha;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* bytes that came and that were added up; byte i is at i % WSE_CKPT_BEHIND */
	uint64_t in, out;
	int ended;
	char ring[WSE_CKPT_BEHIND];
};

/* bytes from `at` on that lie one behind the other, of n */
static size_t straight(uint64_t at, size_t n)
{
	size_t left = WSE_CKPT_BEHIND - (size_t)(at % WSE_CKPT_BEHIND);

	return n < left ? n : left;
}

static void *add_up(void *arg)
{
	struct wse_ckpt_hash *h = arg;
	size_t n;

	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (h->in == h->out && !h->ended)
			pthread_cond_wait(&h->changed, &h->lock);
		n = straight(h->out, (size_t)(h->in - h->out));
		if (!n)
			break;
		if (n > WSE_CKPT_BEHIND / 4) /* the writer has room again before all is done */
			n = WSE_CKPT_BEHIND / 4;
		pthread_mutex_unlock(&h->lock);
		wse_sha256_add(&h->sha, h->ring + h->out % WSE_CKPT_BEHIND, n);
		pthread_mutex_lock(&h->lock);
		h->out += n;
		pthread_cond_signal(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

static void give(struct wse_ckpt_hash *h, const void *data, size_t bytes)
{
	const char *p = data;

	pthread_mutex_lock(&h->lock);
	for (size_t n; bytes; bytes -= n, p += n) {
		while (h->in - h->out == WSE_CKPT_BEHIND)
			pthread_cond_wait(&h->changed, &h->lock);
		n = WSE_CKPT_BEHIND - (size_t)(h->in - h->out);
		n = straight(h->in, n < bytes ? n : bytes);
		pthread_mutex_unlock(&h->lock);
		memcpy(h->ring + h->in % WSE_CKPT_BEHIND, p, n);
		pthread_mutex_lock(&h->lock);
		h->in += n;
		pthread_cond_signal(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
}

struct wse_ckpt_hash *wse_ckpt_hash_begin(const struct wse_st *st)
{
	struct wse_ckpt_hash *h = malloc(sizeof(*h));

	if (!h)
		return NULL;
	h->st = st;
	h->next = 0;
	h->in = h->out = 0;
	h->ended = 0;
	wse_sha256_init(&h->sha);
	add_meta(&h->sha, st->meta, st->nmeta);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	if (!pthread_create(&h->thread, NULL, add_up, h))
		return h;
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->changed);
	free(h);
	return NULL;
}

void wse_ckpt_hash_seen(void *ctx, uint32_t i, const void *data, size_t bytes)
{
	struct wse_ckpt_hash *h = ctx;
	struct title t;

	for (; h->next <= i; h->next++) {
		const struct wse_st_tensor *of = &h->st->tensors[h->next];

		make_title(&t, of->name, of->ndim, of->dim);
		give(h, t.text, t.bytes);
	}
	give(h, data, bytes);
}

void wse_ckpt_hash_end(struct wse_ckpt_hash *h, char *hex)
{
	if (hex)
		hex[0] = 0;
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->ended = 1;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	if (hex)
		wse_sha256_hex(&h->sha, hex);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->changed);
	free(h);
}
