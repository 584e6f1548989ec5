/* SPDX-License-Identifier: MIT */
/*
 * What a run says of itself in its checkpoints, besides the tensors: keys and values, in the words
 * of parameter files where these have them.
 */
#ifndef WSE_MEMX_FACTS_H
#define WSE_MEMX_FACTS_H

#include "memx/ckpt.h"
#include "memx/safetensors.h"

/* what a value is about, and so what a difference means */
enum wse_fact_about { WSE_FACT_SHAPE, WSE_FACT_DATA, WSE_FACT_RATES, WSE_FACT_STATE };

#define WSE_FACTS	64
#define WSE_FACT_VALUE 256 /* bytes; a model's is the longest */
/* of graphs with the plain order of sums nothing is said */
#define WSE_FACT_VARIANT "%u (order of sums)"

struct wse_facts {
	uint32_t n;
	struct wse_st_meta m[WSE_FACTS];
	char key[WSE_FACTS][40], value[WSE_FACTS][WSE_FACT_VALUE];
	enum wse_fact_about about[WSE_FACTS];
};

/* one more, as "wse.<key>" */
void wse_fact(struct wse_facts *f, enum wse_fact_about about, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* f is filled with those of the run, which all its steps share */
void wse_run_facts(struct wse_facts *f, const struct wse_memx_cfg *cfg,
		   const struct wse_train_state *ts);

/* NULL when the file says the same as fact i; else what it says */
const char *wse_facts_differ(const struct wse_st_file *st, const struct wse_facts *f, uint32_t i);
/* the first difference of one kind is -EINVAL, and the sentence ends with what to do about it */
int wse_facts_must_fit(const struct wse_st_file *st, const struct wse_facts *f,
		       enum wse_fact_about about, const char *remedy);
/* all differences of one kind: "betas: 0.9, 0.95 -> 0.9, 0.99; ..."; text [WSE_CHANGED] */
void wse_facts_note(const struct wse_st_file *st, const struct wse_facts *f,
		    enum wse_fact_about about, char *text);

#endif
