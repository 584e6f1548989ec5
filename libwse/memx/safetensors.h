/* SPDX-License-Identifier: MIT */
/*
 * safetensors files: u64 length of the header, a JSON header, then the tensors' bytes. The writer
 * is crash-safe; the reader is strict: every length, offset, shape and checksum is checked.
 */
#ifndef WSE_TRAIN_SAFETENSORS_H
#define WSE_TRAIN_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#define WSE_ST_NAME 128

struct wse_st_tensor {		/* dtype is F32 always */
	char name[WSE_ST_NAME];
	uint32_t ndim, dim[2];
	size_t count;		/* floats */
	float *data;		/* writer: the caller's; reader: allocated */
	int transposed;		/* writer: data is [dim[1]][dim[0]] */
};

/*
 * writer: no character that JSON escapes; reader: UTF-8 of any length, in which control characters
 * stay escapes
 */
struct wse_st_meta {
	const char *key, *value;
};

/*
 * while a file is written: bytes of the tensors that are on the disk, up to the last few, of so
 * many in all
 */
struct wse_st_progress {
	void (*wrote)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

struct wse_st {
	uint32_t ntensors, nmeta;
	struct wse_st_tensor *tensors;
	struct wse_st_meta *meta;
	char *text;		/* reader: what the metadata point into */
	const struct wse_st_progress *progress; /* writer: may be NULL */
};

/*
 * path.tmp is written, synced and renamed to path, then the directory is synced: path is always
 * the old file or the new one. A checksum per tensor goes to the metadata as "sum.<name>", one over
 * the header as "header.sha256": together they cover every bit of the file.
 * -errno of the file system (-ENOSPC: path is untouched, path.tmp is gone).
 */
int wse_st_write(const char *path, const struct wse_st *st);

/*
 * What is wrong is in the sentence: -EBADMSG for a file that is no safetensors
 * file, cut short, whose tensors overlap or leave bytes over, or whose checksums do not match; -errno of the file system; -ENOMEM. A file of
 * another program needs no checksums; one with keys of ours ("wse.", "sum.") needs them all.
 */
int wse_st_read(const char *path, struct wse_st *st);
void wse_st_free(struct wse_st *st);

/* One tensor where it lies in a file, of any type and shape: files of other programs. */
#define WSE_ST_DIMS 8

struct wse_st_view {
	const char *name;	/* as a metadata's key */
	char dtype[16];
	uint32_t ndim, dim[WSE_ST_DIMS];
	uint64_t count, bytes;	/* elements; a dtype that we do not know: bytes as the file says */
	const char *data;	/* unaligned */
};

struct wse_st_file {
	uint32_t nviews;
	struct wse_st_view *views;
	struct wse_st meta;	/* without tensors: for wse_st_get() */
	char *bytes;		/* of the whole file */
	size_t size;
};

/* errors as of wse_st_read() */
int wse_st_open(const char *path, struct wse_st_file *f);
void wse_st_close(struct wse_st_file *f);

const char *wse_st_get(const struct wse_st *st, const char *key);	/* NULL if absent */
const struct wse_st_tensor *wse_st_find(const struct wse_st *st, const char *name);
const struct wse_st_view *wse_st_view(const struct wse_st_file *f, const char *name);

#endif
