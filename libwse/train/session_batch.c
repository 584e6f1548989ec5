// SPDX-License-Identifier: MIT
/*
 * What a step's batch was, as a line of text: for its hash and for who replays it; the norm of the
 * parameters that it met.
 */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "num/num.h"
#include "num/sha256.h"
#include "ops/ops.h"
#include "ranks.h"

static void hash_mask(const struct wse_session *s, char *hex)
{
	uint64_t n = s->cfg.batch * s->cfg.model.span;
	struct wse_sha256 sha;

	wse_sha256_init(&sha);
	for (uint64_t i = 0; i < n; i++)
		wse_sha256_add(&sha, s->own_mask[i] ? "1" : "0", 1);
	wse_sha256_hex(&sha, hex);
}

/* SHA-256 of the samples of a step, whatever the width of a token is in memory */
static void hash_samples(const struct wse_session *s, char *hex)
{
	const struct wse_model *m = &s->cfg.model;
	struct wse_sha256 sha;

	wse_sha256_init(&sha);
	for (uint64_t b = 0; b < s->cfg.batch; b++)
		for (uint32_t i = 0; i < m->window + m->span; i++) {
			uint32_t token =
				wse_token(s->samples[b], (ptrdiff_t)i - m->window, m->vocab);

			wse_sha256_add(&sha, &token, sizeof(token));
		}
	wse_sha256_hex(&sha, hex);
}

void wse_session_batch(const struct wse_session *s, uint64_t step, char *text)
{
	const struct wse_train_state *st = &s->state;
	uint64_t batches = st->samples / st->batch;
	char order[40] = "in order", hex[65];
	int n;

	if (!batches) {
		hash_samples(s, hex);
		n = snprintf(text, WSE_CHAIN_BATCH, "%llu samples of hash %s",
			     (unsigned long long)st->batch, hex);
		if (s->own_mask) {
			hash_mask(s, hex);
			n += snprintf(text + n, WSE_CHAIN_BATCH - (size_t)n, ", mask of hash %s",
				      hex);
		}
		wse_memx_own_text(s->memx, text + n, WSE_CHAIN_BATCH - (size_t)n);
		return;
	}
	if (st->shuffle)
		snprintf(order, sizeof(order), "shuffled by %llu",
			 (unsigned long long)st->shuffle_seed);
	snprintf(text, WSE_CHAIN_BATCH,
		 "%llu samples from %llu of epoch %llu, %s, of a text of %llu tokens, checksum "
		 "%016llx, %llu held out",
		 (unsigned long long)st->batch,
		 (unsigned long long)((step - 1) % batches * st->batch),
		 (unsigned long long)((step - 1) / batches), order,
		 (unsigned long long)st->text_tokens, (unsigned long long)st->text_sum,
		 (unsigned long long)st->held_out);
}

int wse_session_param_norm(struct wse_session *s, double *norm)
{
	double *squares = calloc(s->table->n + 1ul, sizeof(*squares)), sum = 0.0;
	int ret = squares ? wse_ranks_meet(s, WSE_TOGETHER_NORMS, 0)
			  : wse_fail(-ENOMEM, "no memory for the norm of the parameters");

	ret = ret ? ret : wse_memx_param_squares(s->memx, squares);
	for (uint32_t i = 0; i < s->table->n && !ret; i++)
		sum += squares[i];
	if (!ret)
		*norm = wse_sqrt(sum);
	free(squares);
	return ret;
}
