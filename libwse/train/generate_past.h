/* SPDX-License-Identifier: MIT */
/*
 * Texts of one length, a token more at a time, with the keys and values of what came before on the
 * host: each text has one row of cores, which computes its newest tokens alone. Logits and texts
 * have the bits of the whole window (ops/past.h).
 */
#ifndef WSE_TRAIN_GENERATE_PAST_H
#define WSE_TRAIN_GENERATE_PAST_H

#include "train/session.h"

struct wse_gen_past;

/*
 * The devices are prepared for it; close prepares them for the session's own graph again. -ENOTSUP
 * and -E2BIG where a model's texts have no past, or one too large for the cores: the session is as
 * before then. texts: at most the rows of the tile
 */
int wse_gen_past_open(struct wse_session *s, uint32_t texts, struct wse_gen_past **p);
int wse_gen_past_close(struct wse_gen_past *p);

/*
 * The logits that follow the first n[k] inputs of each sample k [texts], at most the model's span
 * and never less than before: what was computed stays. Those of text k are row [v * stride + at of
 * k]. A text that is behind the others gets its rows while they wait.
 */
int wse_gen_past_logits(struct wse_gen_past *p, const uint16_t *const *samples, const uint32_t *n,
			const float **logits, size_t *stride);
/* where text k is in a row of them, after n inputs */
size_t wse_gen_past_at(const struct wse_gen_past *p, uint32_t k, uint32_t n);

#endif
