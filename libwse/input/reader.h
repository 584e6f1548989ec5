/* SPDX-License-Identifier: MIT */
/*
 * Reads values out of a YAML tree and notes every fault on the way. A value that is missing or
 * wrong reads as the fallback or the smallest one: a caller that combines values looks first
 * whether there were faults (reader.faults->n) since.
 */
#ifndef WSE_INPUT_READER_H
#define WSE_INPUT_READER_H

#include <stddef.h>

#include "faults.h"
#include "yaml_tree.h"

struct reader_missing {
	const struct wse_yaml *map;
	const char *key;
};

struct reader {
	const char *name; /* of the file, for messages */
	struct wse_faults *faults;
	struct reader_missing missing[WSE_FAULTS];
	uint32_t nmissing;
};

/* a fault at y, which may be NULL: "file: line 12: path <text>" */
__attribute__((format(printf, 3, 4))) void reader_fail(struct reader *r, const struct wse_yaml *y,
						       const char *fmt, ...);

/* the entry `key` of a map, NULL if y is NULL or has none; all getters below are NULL-safe, too */
struct wse_yaml *reader_want(struct reader *r, struct wse_yaml *y, const char *key, int required);
struct wse_yaml *reader_map(struct reader *r, struct wse_yaml *y, const char *key, int required);
uint64_t reader_to_u64(struct reader *r, const struct wse_yaml *c, uint64_t min, uint64_t max);
uint64_t reader_u64(struct reader *r, struct wse_yaml *y, const char *key, int required,
		    uint64_t fallback, uint64_t min, uint64_t max);
double reader_to_real(struct reader *r, const struct wse_yaml *c, double min, double max);
double reader_real(struct reader *r, struct wse_yaml *y, const char *key, int required,
		   double fallback, double min, double max);
int reader_flag(struct reader *r, struct wse_yaml *y, const char *key, int fallback);
/* a text of less than `size` characters; `to` is left as it is when there is none */
void reader_word(struct reader *r, struct wse_yaml *y, const char *key, int required, char *to,
		 size_t size);
/*
 * the index of the value in a NULL-terminated list of accepted ones, -1 for a fault; 0 when absent
 */
int reader_choice(struct reader *r, struct wse_yaml *y, const char *key, int required,
		  const char *const *values);
/* a map of exactly one key, the name of a kind: its index, -1 for a fault, and the map below it */
int reader_kind(struct reader *r, struct wse_yaml *y, const char *const *names,
		struct wse_yaml **args);

/* at the end: keys that were not asked for, and keys that are missing; sorts the faults */
void reader_finish(struct reader *r, struct wse_yaml *root);

#endif
