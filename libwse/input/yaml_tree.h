/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a tree that remembers lines and which keys were asked for, so that what nobody
 * asked for can be reported as unknown, with what would have been accepted in its place.
 */
#ifndef WSE_TRAIN_YAML_TREE_H
#define WSE_TRAIN_YAML_TREE_H

#include <stdint.h>

#include "num/why.h"

enum wse_yaml_type { WSE_YAML_SCALAR, WSE_YAML_MAP, WSE_YAML_LIST };

struct wse_yaml {
	enum wse_yaml_type type;
	char *text;			/* scalar */
	char *key;			/* of this entry in its parent map, else NULL */
	int line;			/* 1...; 0: from --set */
	int used;
	char accepted[384];		/* map: keys that were asked for, ", " between */
	struct wse_yaml *parent, *child, *next;
};

/* name is for messages only; -EINVAL with "file:line: ..." in why [WSE_WHY] */
int wse_yaml_parse(const char *name, const char *text, size_t size, struct wse_yaml **root,
		   char *why);
void wse_yaml_free(struct wse_yaml *y);

/* replace or create the node at key.key.key (numbers index lists) by the YAML text `value` */
int wse_yaml_set(struct wse_yaml *root, const char *path, const char *value, char *why);

/* a map's entry, NULL if absent or y is NULL; remembers that it was asked for */
struct wse_yaml *wse_yaml_get(struct wse_yaml *y, const char *key);
/* the same without remembering */
struct wse_yaml *wse_yaml_peek(const struct wse_yaml *y, const char *key);
/* mark a node and all below it as used */
void wse_yaml_use_all(struct wse_yaml *y);

/* "line 12: trainer.init.model.name", for messages; buf [200] */
const char *wse_yaml_where(const struct wse_yaml *y, char *buf);

/* the first node that nobody asked for, NULL if none */
const struct wse_yaml *wse_yaml_unused(const struct wse_yaml *y);

#endif
