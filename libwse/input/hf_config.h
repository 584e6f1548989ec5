/* SPDX-License-Identifier: MIT */
/* Hugging Face's config.json beside weights: what the tensors do not tell of a model. */
#ifndef WSE_INPUT_HF_CONFIG_H
#define WSE_INPUT_HF_CONFIG_H

#include "model/family.h"
#include "model/gpt.h"

/*
 * path: a checkpoint. A directory of Hugging Face's with a config.json must be of this model: its
 * family, heads, rotary positions, norms, activation. Anything else is none of this function's
 * business: 0. -EINVAL: all that differs, "config.json: num_heads is 32 there, 16 in this model";
 * a file that is no JSON, or a model that there is none of here
 */
int wse_hf_config_check(const char *path, const struct wse_model *model);

/*
 * The model that a config.json describes, or that of a folder: all of *g but seq, as transformers
 * reads it. window: 0, or that of its attention; dropout: does it have any? -EINVAL: what is not
 * there, or no size; -errno of the file
 */
int wse_hf_config_read(const char *path, struct wse_gpt *g, uint32_t *window, int *dropout);

/* has transformers such a model? */
int wse_hf_config_has(const struct wse_model *model);

/*
 * dir/config.json, by which transformers opens weights that lie beside it as model.safetensors; one
 * that is there stays. Nothing for a model that Hugging Face has no family for. -errno of the file
 * system
 */
int wse_hf_config_write(const char *dir, const struct wse_model *model);

#endif
