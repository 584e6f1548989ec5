/* SPDX-License-Identifier: MIT */
/*
 * safetensors files: u64 length of the header, a JSON header, then the tensors' bytes. The writer
 * is crash-safe; the reader is strict: every length, offset, shape and checksum is checked. Both go
 * through a file by pieces: neither the file nor a tensor is ever in memory as a whole.
 */
#ifndef WSE_TRAIN_SAFETENSORS_H
#define WSE_TRAIN_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#define WSE_ST_NAME 128

/* what both hold of a tensor at a time; of a transposed one, whose order they change, a stripe */
#define WSE_ST_PIECE  (1u << 20)
#define WSE_ST_STRIPE (16u << 20)

/*
 * rows of `cols` elements that make a stripe: as many as fit, in 32s, as the checksum wants them
 */
static inline size_t wse_st_stripe_rows(size_t cols)
{
	size_t n = WSE_ST_STRIPE / (cols * sizeof(float) + 1) / 32 * 32;

	return n ? n : 32;
}

/*
 * Names that hold no character that JSON escapes; values: UTF-8 of any length, in which control
 * characters stay escapes
 */
struct wse_st_meta {
	const char *key, *value;
};

const char *wse_st_get(const struct wse_st_meta *meta, uint32_t n, const char *key); /* or NULL */

/* ---- writer ---- */

struct wse_st_tensor {		/* dtype is F32, but of a file's last ones */
	char name[WSE_ST_NAME];
	uint32_t ndim, dim[2];
	size_t count;		/* floats */
	float *data;		/* NULL: floats() gives them */
	int transposed;		/* they lie as [dim[1]][dim[0]] */
};

/* of a file that is written: each may be NULL */
struct wse_st_progress {
	/*
	 * bytes of the tensors that are on the disk, up to the last few, of so many in all; what
	 * came in another order (all()) counts half until its tensor is whole
	 */
	void (*wrote)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
	/* all of it is on the disk, under another name; not 0: it is to go, -errno */
	int (*whole)(void *ctx);
	char *hash; /* [65] of a checkpoint: its wse_ckpt_hash(), "" if there is none; or NULL */
};

/* takes elements [from, from + count) of tensor number i as they lie; -errno of the file */
typedef int (*wse_st_place_fn)(void *places, uint32_t i, size_t from, size_t count,
			       const float *data);

struct wse_st {
	uint32_t ntensors, nmeta;
	struct wse_st_tensor *tensors;
	struct wse_st_meta *meta;
	/*
	 * elements [from, from + count) of tensor number i as they lie; an error ends the writing
	 */
	int (*floats)(void *ctx, uint32_t i, size_t from, size_t count, float *out);
	/*
	 * NULL, or: gives all elements of all tensors of F32 to place(), each once, in an order of
	 * its own, of transposed tensors whole lines; then floats() gives those of U8 alone. An
	 * error ends the writing
	 */
	int (*all)(void *ctx, wse_st_place_fn place, void *places);
	void *floats_ctx;			/* of both */
	/* all bytes of all tensors, in the order of the file, as they are written; may be NULL */
	void (*seen)(void *ctx, uint32_t i, const void *data, size_t bytes);
	void *seen_ctx;
	const struct wse_st_progress *progress; /* may be NULL */
	uint32_t nbytes; /* the last ones are U8, of floats from 0 to 255 */
};

/*
 * path.tmp is written, synced and renamed to path, then the directory is synced: path is always
 * the old file or the new one. A checksum per tensor goes to the metadata as "sum.<name>", one over
 * the header as "header.sha256": together they cover every bit of the file.
 * -errno of the file system (-ENOSPC: path is untouched, path.tmp is gone), or what floats() or
 * whole() said.
 */
int wse_st_write(const char *path, const struct wse_st *st);
/* bytes of memory that it takes for a tensor that it writes in the file's order */
size_t wse_st_write_memory(const struct wse_st_tensor *t);

/* ---- reader ---- */

#define WSE_ST_DIMS 8

/* One tensor where it lies in a file, of any type and shape: files of other programs, too. */
struct wse_st_view {
	const char *name;	/* as a metadata's key */
	char dtype[16];
	uint32_t ndim, dim[WSE_ST_DIMS];
	uint64_t count, bytes;	/* elements; a dtype that we do not know: bytes as the file says */
	int fd;			/* of its file */
	uint64_t at;		/* its first byte there */
	uint64_t sum;		/* of its bytes, as wse_st_check() has found them */
};

struct wse_st_file {
	uint32_t nviews, nmeta;
	struct wse_st_view *views;	/* in the order of the header */
	struct wse_st_meta *meta;
	const struct wse_st_view **by_name; /* [nviews] */
	char *text;			/* what names and metadata point into */
	int fd;
	/*
	 * of an index: its files, in the order of their names; views are theirs, and meta, if they
	 * are a checkpoint of ours
	 */
	struct wse_st_file *shards;
	uint32_t nshards;
};

/*
 * A file; an index of several (*.json, see st_index.h); or a directory with
 * model.safetensors.index.json or model.safetensors. The headers are read; what is wrong is in the
 * sentence: -EBADMSG for a file that is no safetensors file, cut short, whose tensors overlap or
 * leave bytes over, or whose header's checksum does not match;
 * -errno of the file system; -ENOMEM. A file of another program needs no checksums; one with keys
 * of ours ("wse.", "sum.") needs them all.
 */
int wse_st_open(const char *path, struct wse_st_file *f);
int wse_st_open_one(const char *path, struct wse_st_file *f); /* a file, no index */
/* fills by_name from views */
int wse_st_index_views(struct wse_st_file *f);
void wse_st_close(struct wse_st_file *f);
const struct wse_st_view *wse_st_view(const struct wse_st_file *f, const char *name);

/* bytes [from, from + bytes) of a tensor; an error ends what calls this */
typedef int (*wse_st_each)(void *ctx, const struct wse_st_view *v, uint64_t from, const void *data,
			   size_t bytes);

/*
 * Reads every tensor once, in the order of the views, and compares the checksums; each() gets the
 * pieces before their tensor's sum is known to be right (of an empty tensor one of 0 bytes), NULL:
 * nothing gets them. -EBADMSG, or what each() said.
 */
int wse_st_check(struct wse_st_file *f, wse_st_each each, void *ctx);

/*
 * After that: one tensor once more, by pieces of `piece` bytes, a multiple of 32. -ESTALE when it
 * is not what was checked: another program wrote there in between.
 */
int wse_st_walk(const struct wse_st_view *v, size_t piece, wse_st_each each, void *ctx);
/* any of its bytes */
int wse_st_pread(const struct wse_st_view *v, uint64_t from, size_t bytes, void *to);

#endif
