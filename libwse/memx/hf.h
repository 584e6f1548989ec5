/* SPDX-License-Identifier: MIT */
/*
 * Files of GPT-2, GPT-J, GPT-NeoX, BLOOM and LLaMA as Hugging Face's transformers reads and writes
 * them: safetensors with the names "transformer.h.0.attn.c_attn.weight",
 * "model.layers.0.mlp.up_proj.weight", ..., the weights of the four Conv1D layers of GPT-2's blocks
 * lying as [in][out].
 */
#ifndef WSE_MEMX_HF_H
#define WSE_MEMX_HF_H

#include <stdint.h>

struct wse_st_file;
struct wse_st_take;

/* A tensor of the model; a model is a table of them. */
struct wse_hf_tensor {
	/* with the family's prefix; the output layer only if it is not tied to the embedding */
	const char *name;
	/* in memory: matrices [out][in], embeddings [row][width], vectors [n][1] */
	uint32_t ndim, dim[2];
	int transposed;		/* the file has it as [dim[1]][dim[0]] */
	float *data;		/* where it lies; not used by wse_hf_match() */
};

/*
 * Fills every tensor of the table from the file. Names may lack the prefix; F32, F16 and BF16
 * are read; the attention's buffers (masks, angles) and our checkpoints' optimizer tensors are
 * skipped; an lm_head.weight equal to wte is taken for tied. The family is that of the table.
 * Whatever else differs is -EINVAL (names, shapes, types) or -ERANGE (a number that is not finite),
 * and the sentence says what, with both values. Else errors as of wse_st_open() and wse_st_load().
 * Nothing is changed on error but -ESTALE.
 */
int wse_hf_read(const char *path, const struct wse_hf_tensor *table, uint32_t n);
/* what of an open file goes where: takes [n] for wse_st_load(), tensor being the table's number */
int wse_hf_match(const struct wse_st_file *f, const struct wse_hf_tensor *table, uint32_t n,
		 struct wse_st_take *takes);

/* F32, what transformers asks for in the metadata, crash-safe as wse_st_write(); -ERANGE for a
 * number that is not finite: path is untouched. */
int wse_hf_write(const char *path, const struct wse_hf_tensor *table, uint32_t n);

#endif
