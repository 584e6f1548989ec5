/* SPDX-License-Identifier: MIT */
/*
 * The initial weights of a model as a model in several files, as transformers writes one that is
 * large: for tests and measurements of sizes of which no file is at hand. Written by pieces.
 */
#ifndef GPT_SHARDS_H
#define GPT_SHARDS_H

#include <stdint.h>

struct wse_model;

/*
 * dir/model-00001-of-0000N.safetensors ... of about `bytes` each, a tensor never cut, and
 * dir/model.safetensors.index.json; dir is made. type: "F32", "F16" or "BF16". The values are
 * those of a run with this seed, rounded to the type. -EINVAL for another type, -ENOMEM, -errno of
 * the file system.
 */
int gpt_shards_write(const struct wse_model *m, uint64_t seed, const char *dir, const char *type,
		     uint64_t bytes);

#endif
