/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a tree that remembers lines and which keys were asked for, so that a key
 * which was not can be reported as unknown, with what would have been accepted in its place.
 */
#ifndef WSE_TRAIN_YAML_TREE_H
#define WSE_TRAIN_YAML_TREE_H

#include <stdint.h>

#include "faults.h"

enum wse_yaml_type { WSE_YAML_SCALAR, WSE_YAML_MAP, WSE_YAML_LIST };

struct wse_yaml {
	enum wse_yaml_type type;
	char *text;			/* scalar */
	char *raw;			/* of a --set that is a bare word: as it was given */
	char *key;			/* of this entry in its parent map, else NULL */
	int line;			/* 1...; 0: from --set */
	int used;
	const char **accepted;		/* map: keys that were asked for; they outlive the tree */
	uint32_t naccepted;
	struct wse_yaml *parent, *child, *next;
};

/*
 * name is for messages only. No YAML at all: -EINVAL, with one fault; keys that cannot be one
 * (given twice, merge keys) are faults, too, but the rest is read.
 */
int wse_yaml_parse(const char *name, const char *text, size_t size, struct wse_yaml **root,
		   struct wse_faults *faults);
void wse_yaml_free(struct wse_yaml *y);

/* replace or create the node at key.key.key (numbers index lists) by the YAML text `value` */
int wse_yaml_set(struct wse_yaml *root, const char *path, const char *value,
		 struct wse_faults *faults);

/* a map's entry, NULL if absent or y is NULL; remembers that it was asked for */
struct wse_yaml *wse_yaml_get(struct wse_yaml *y, const char *key);
/* the same without remembering */
struct wse_yaml *wse_yaml_peek(const struct wse_yaml *y, const char *key);
/* mark a node and all below it as used */
void wse_yaml_use_all(struct wse_yaml *y);

/* "trainer.init.model.name", for messages; buf [160] */
const char *wse_yaml_path(const struct wse_yaml *y, char *buf);
/* "line 12: trainer.init.model.name", for messages; buf [200] */
const char *wse_yaml_where(const struct wse_yaml *y, char *buf);

#endif
