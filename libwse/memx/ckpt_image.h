/* SPDX-License-Identifier: MIT */
/* What a checkpoint holds, for those who write it: into one file, or into several. */
#ifndef WSE_MEMX_CKPT_IMAGE_H
#define WSE_MEMX_CKPT_IMAGE_H

#include "ckpt.h"
#include "ckpt_arrays.h"
#include "facts.h"
#include "safetensors.h"

/* st's tensors: the entries of all arrays, parameters first, then masks; st.all is not set */
struct wse_ckpt_image {
	struct wse_st st;
	struct wse_facts *facts;
	struct wse_ckpt_arrays a;
};

/* mx is finished first; ts stays until the end. -ENOMEM: end it then, too */
int wse_ckpt_describe(struct wse_ckpt_image *im, struct wse_memx *mx,
		      const struct wse_memx_cfg *cfg, const struct wse_train_state *ts);
void wse_ckpt_describe_end(struct wse_ckpt_image *im);

#endif
