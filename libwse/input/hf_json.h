/* SPDX-License-Identifier: MIT */
/* What Hugging Face's config.json says, for those who read it; private to hf_*.c. */
#ifndef WSE_INPUT_HF_JSON_H
#define WSE_INPUT_HF_JSON_H

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "json_file.h"
#include "model/gpt.h"

/* the model that a config.json describes: all of *g but seq. -EINVAL: what is not there */
int hf_model_read(json_object *j, struct wse_gpt *g);
/* -EINVAL: which types are read */
int hf_not_read(const char *type);

static inline json_object *hf_entry(json_object *root, const char *key)
{
	json_object *v = NULL;

	return json_object_object_get_ex(root, key, &v) ? v : NULL; /* null is NULL, too */
}

static inline double hf_number(json_object *root, const char *key, double fallback)
{
	json_object *v = hf_entry(root, key);

	return v ? json_object_get_double(v) : fallback;
}

static inline int hf_flag(json_object *root, const char *key, int fallback)
{
	json_object *v = hf_entry(root, key);

	return v ? json_object_get_boolean(v) : fallback;
}

static inline const char *hf_word(json_object *root, const char *key)
{
	json_object *v = hf_entry(root, key);

	return v && json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
}

/* one of two names, as the families have them */
static inline double hf_either(json_object *root, const char *one, const char *two, double fallback)
{
	return hf_number(root, one, hf_number(root, two, fallback));
}

/*
 * by their numbers in enum wse_activation, which are what they compute: 1 is GELU by tanh, 3 by erf
 */
static const struct {
	const char *name;
	int act;
} hf_acts[] = {{"gelu_new", 1}, {"gelu_fast", 1}, {"gelu_pytorch_tanh", 1}, {"gelu", 3},
	     {"relu", 0},
	    {"silu", 4},     {"swish", 4}};

/* by which rotary positions are scaled; original 0: all features alike */
struct hf_scaling {
	double factor, low, high, original;
};

/* newer files have the base and the scaling in one map */
static inline json_object *hf_rope_map(json_object *j)
{
	json_object *s = hf_entry(j, "rope_scaling");

	return s ? s : hf_entry(j, "rope_parameters");
}

/* -EINVAL: a scaling that is not there */
static inline int hf_scaling(json_object *j, struct hf_scaling *to)
{
	json_object *s = hf_rope_map(j);
	const char *type = s ? hf_word(s, "rope_type") : NULL;

	*to = (struct hf_scaling){.factor = 1.0};
	if (!s)
		return 0;
	type = type ? type : hf_word(s, "type");
	if (type && !strcmp(type, "default"))
		return 0;
	if (!type || (strcmp(type, "linear") && strcmp(type, "llama3")))
		return wse_fail(-EINVAL,
				"config.json: rope_scaling is \"%s\", a scaling of rotary "
				"positions that is not there: linear and llama3 are",
				type ? type : "without a type");
	to->factor = hf_number(s, "factor", 1.0);
	if (to->factor == 0.0) /* to the model that is none */
		return wse_fail(-EINVAL, "config.json: the factor of rope_scaling is 0");
	if (!strcmp(type, "linear"))
		return 0;
	to->low = hf_number(s, "low_freq_factor", 1.0);
	to->high = hf_number(s, "high_freq_factor", 4.0);
	to->original = hf_number(s, "original_max_position_embeddings", 8192.0);
	return to->original != 0.0
		       ? 0
		       : wse_fail(-EINVAL, "config.json: original_max_position_embeddings of "
					   "rope_scaling is 0");
}

static inline double hf_theta(json_object *j)
{
	json_object *s = hf_rope_map(j);
	double fallback = s ? hf_number(s, "rope_theta", 10000.0) : 10000.0;

	return hf_either(j, "rope_theta", "rotary_emb_base", fallback);
}

#endif
