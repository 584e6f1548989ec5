/* SPDX-License-Identifier: MIT */
/*
 * Weights in several safetensors files, as Hugging Face has large models: an index,
 * model.safetensors.index.json, says which tensor is in which file beside it.
 */
#ifndef WSE_MEMX_ST_INDEX_H
#define WSE_MEMX_ST_INDEX_H

#include "memx/safetensors.h"

#define WSE_ST_INDEX "model.safetensors.index.json"

/* f (empty so far) has the tensors of all files that the index at path names. As wse_st_open() */
int wse_st_open_index(const char *path, struct wse_st_file *f);

#endif
