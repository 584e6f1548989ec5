/* SPDX-License-Identifier: MIT */
/*
 * The Model Zoo's HDF5 files (GptHDF5DataProcessor, GptHDF5MapDataProcessor): dataset "data", whole
 * numbers [n][3][S]: input_ids, attention_mask, which is the loss mask, and labels; attribute
 * n_examples, if there is one, is n. libhdf5 is behind a plug-in, wse-hdf5.so, which is opened when
 * a run has such data.
 */
#ifndef WSE_INPUT_HDF5_H
#define WSE_INPUT_HDF5_H

#include <stddef.h>
#include <stdint.h>

/* what wse-hdf5.so exports; goes with the release */
#define WSE_HDF5_PLUGIN "wse_hdf5_plugin"

struct wse_hdf5_calls {
	/* *n samples of *s tokens; why [size]: what is wrong, without the file's name. -EINVAL */
	int (*open)(const char *path, void **file, uint64_t *n, uint64_t *s, char *why,
		    size_t size);
	/* samples first ... first + n - 1, [n][3][S] */
	int (*read)(void *file, uint64_t first, uint64_t n, int64_t *to, char *why, size_t size);
	void (*close)(void *file);
};

/* -EPROTONOSUPPORT: of another release */
typedef int (*wse_hdf5_plugin_fn)(const char *release, struct wse_hdf5_calls *calls);

/*
 * is it a file *.h5 or *.hdf5, a directory with nothing but some (and *.json), or a list, one a
 * line?
 */
int wse_hdf5_is(const char *path);

/* for sentences, "%.*s": the length of a path, of the first one of a list; at most 200 */
int wse_hdf5_first(const char *path);

/*
 * All samples, files of a directory in the order of their names: *tok, by wse_token(), [n][1 + S]:
 * the first input and the labels; *mask [n][1 + S]: does it count as a label; NULL: all but the
 * first of each do. s: tokens of a sample that the model takes. Both are freed by the caller.
 *
 * -EINVAL	what is wrong, with the file, and the sample and token
 */
int wse_hdf5_load(const char *path, uint32_t vocab, uint32_t s, uint16_t **tok, uint8_t **mask,
		  size_t *ntok);

#endif
