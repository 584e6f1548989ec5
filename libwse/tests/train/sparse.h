/* SPDX-License-Identifier: MIT */
/* Sessions with a sparsity section, for tests. */
#ifndef WSE_TESTS_TRAIN_SPARSE_H
#define WSE_TESTS_TRAIN_SPARSE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "input/config.h"
#include "memx/mask.h"
#include "num/num.h"
#include "state.h"
#include "train/memory.h"
#include "train/session.h"

struct sparse_case {
	const char *what, *model, *data; /* of the dataloader: batch_size, micro_batch_size, ... */
	const char *sparsity;
};

static char sparse_text[] = "/tmp/wse-sparse-XXXXXX";

/* a text to train on, until sparse_done() */
static inline int sparse_begin(void)
{
	int fd = mkstemp(sparse_text);

	for (uint32_t i = 0; fd >= 0 && i < 20000; i++) {
		char c = (char)(97 + wse_rng_u64(5, 0, i / 3) % 26);

		if (write(fd, &c, 1) != 1)
			return -1;
	}
	return fd < 0 ? -1 : close(fd);
}

static inline void sparse_done(void)
{
	unlink(sparse_text);
}

static inline int sparse_config(const struct sparse_case *c, const char *sparsity,
				struct wse_config *cfg)
{
	char yaml[4000];
	struct wse_config_source src = {.name = "test", .text = yaml, .data = sparse_text};
	struct wse_faults *faults = malloc(sizeof(*faults));
	int ret;

	src.size = (size_t)snprintf(
		yaml, sizeof(yaml),
		"trainer:\n  init:\n    model: {%s}\n"
		"    optimizer: {AdamW: {betas: [0.9, 0.95], weight_decay: 0.1}}\n"
		"    schedulers: [{ConstantLR: {learning_rate: 1.0e-2}}]\n"
		"    precision: {max_gradient_norm: 0.5}\n"
		"    sparsity: %s\n"
		"    loop: {max_steps: 100}\n    sampling: {tokens: 0}\n"
		"  fit:\n    train_dataloader: {data_dir: TEXT, %s}\n"
		"    val_dataloader: {held_out_bytes: 1024}\n",
		c->model, sparsity, c->data);
	ret = wse_config_read(&src, cfg, faults);
	free(faults);
	return ret;
}

/* parameters and both moments as one number */
static inline uint64_t sparse_sum(struct wse_session *s)
{
	struct state st;
	uint64_t sum = 0;

	if (wse_memx_finish(s->memx))
		return 0;
	st = state_of(s->memx);
	if (st.params && st.m && st.v)
		sum = wse_checksum64(st.params, st.table->params * 4) ^
		      3 * wse_checksum64(st.m, st.table->params * 4) ^
		      5 * wse_checksum64(st.v, st.table->params * 4);
	state_free(&st);
	return sum;
}

/* the bits of a part, as MemoryX has them: bytes [p->count] */
static inline void sparse_bits(struct wse_session *s, const struct wse_sparse_part *p,
			       unsigned char *bytes)
{
	float bit[256];

	for (size_t at = 0, n; at < p->count; at += n) {
		n = p->count - at < 256 ? p->count - at : 256;
		wse_masks_read(wse_memx_masks(s->memx), p->tensor, p->from + at, n, bit);
		for (size_t i = 0; i < n; i++)
			bytes[at + i] = bit[i] != 0.0f;
	}
}

#endif
