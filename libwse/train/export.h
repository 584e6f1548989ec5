/* SPDX-License-Identifier: MIT */
/* The weights as a folder of Hugging Face's: files of a size, their index, config.json. */
#ifndef WSE_TRAIN_EXPORT_H
#define WSE_TRAIN_EXPORT_H

#include "train/session.h"

/*
 * dir gets config.json and model.safetensors, or, where that is more than `most` bytes of tensors,
 * model-00001-of-0000N.safetensors ... and model.safetensors.index.json; a tensor is not cut. F32,
 * by pieces. All is written beside it, into dir.tmp, and then takes its place: dir is the old
 * export or the new one, whole. Of several ranks rank 0 writes. *files: how many. whole: with the
 * optimizer's state, masks and what a checkpoint says, so that dir is one.
 *
 * -EINVAL	transformers has no such model, or there are more files than an index may name
 * -EEXIST	dir has files that are not an export's
 * -ERANGE	a weight is not finite; -errno of the file system (-ENOSPC, ...): dir is as it was
 */
int wse_session_export(struct wse_session *s, const char *dir, uint64_t most, int whole,
		       uint32_t *files);

#endif
