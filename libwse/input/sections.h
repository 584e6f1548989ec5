/* SPDX-License-Identifier: MIT */
/* What the sections of a parameter file share while it is read; private to config*.c. */
#ifndef WSE_INPUT_SECTIONS_H
#define WSE_INPUT_SECTIONS_H

#include "bpe.h"
#include "config.h"
#include "model/gpt.h"
#include "reader.h"

struct sections {
	struct reader r;
	const struct wse_config_source *src;
	struct wse_config *cfg;
	uint32_t vocab;
	struct wse_bpe *bpe; /* NULL: tokens are bytes */
};

/* one more name in a list with ", " between, each once */
void wse_config_note(char *list, size_t size, const char *name);
/* a key that is known and does not matter here: named once, as ignored */
void wse_config_ignore(struct sections *s, struct wse_yaml *y, const char *key);
/* the same under the name that the note about it has */
void wse_config_ignore_as(struct sections *s, struct wse_yaml *y, const char *key,
			  const char *name);
/*
 * something that training would need and libwse does not have: y is "the what name"; a plan does
 * without
 */
void wse_config_refuse(struct sections *s, struct wse_yaml *y, const char *what, const char *name,
		       const char *remedy);
/* the sections that have files of their own */
void wse_config_model(struct sections *s, struct wse_yaml *trainer, struct wse_yaml *init);
void wse_config_listeners(struct sections *s, struct wse_yaml *init);
void wse_config_rates(struct sections *s, struct wse_yaml *init);
/* the text, and what is held out */
void wse_config_fit(struct sections *s, struct wse_yaml *trainer);
/* after the model */
void wse_config_sparsity(struct sections *s, struct wse_yaml *init);


enum wse_decoder { WSE_DECODER_GPT2, WSE_DECODER_GPTJ, WSE_DECODER_NEOX, WSE_DECODER_LLAMA };

/* the form of a decoder whose hidden_size and num_heads are read; how many positions it may have */
uint32_t wse_config_form(struct sections *s, struct wse_yaml *m, enum wse_decoder of,
			 struct wse_gpt *g);
/* muP, once sizes and initializers are read; range: initializer_range */
void wse_config_mup(struct sections *s, struct wse_yaml *init, struct wse_yaml *m, double range,
		    struct wse_gpt *g);
/* windows of attention, once the length of sequences is known */
void wse_config_window(struct sections *s, struct wse_yaml *m, const struct wse_gpt *g);

#endif
