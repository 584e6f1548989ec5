// SPDX-License-Identifier: MIT
/* libyaml's document as a tree of our own. */
#include "yaml_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 32
#define MAX_NODES 20000

struct build {
	const char *name;
	yaml_document_t *doc;
	char *why;
	int nodes;
};

static void free_one(struct wse_yaml *y)
{
	free(y->text);
	free(y->key);
	free(y);
}

void wse_yaml_free(struct wse_yaml *y)
{
	while (y) {
		struct wse_yaml *next = y->next;

		wse_yaml_free(y->child);
		free_one(y);
		y = next;
	}
}

static struct wse_yaml *convert(struct build *b, yaml_node_t *n, int depth);

static int convert_map(struct build *b, yaml_node_t *n, struct wse_yaml *y, int depth)
{
	struct wse_yaml **tail = &y->child;

	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
	     p++) {
		yaml_node_t *k = yaml_document_get_node(b->doc, p->key);
		const char *key;

		if (!k || k->type != YAML_SCALAR_NODE)
			return wse_why(b->why, -EINVAL, "%s:%d: a key must be a word", b->name,
				       y->line);
		key = (const char *)k->data.scalar.value;
		if (!strcmp(key, "<<") && k->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			return wse_why(b->why, -EINVAL,
				       "%s:%d: merge keys (<<) are not supported: write the keys "
				       "out",
				       b->name, (int)k->start_mark.line + 1);
		if (wse_yaml_peek(y, key))
			return wse_why(b->why, -EINVAL, "%s:%d: key \"%.80s\" is given twice",
				       b->name, (int)k->start_mark.line + 1, key);
		*tail = convert(b, yaml_document_get_node(b->doc, p->value), depth + 1);
		if (!*tail)
			return -EINVAL;
		(*tail)->key = strdup(key);
		(*tail)->parent = y;
		(*tail)->line = (int)k->start_mark.line + 1;
		tail = &(*tail)->next;
	}
	return 0;
}

static struct wse_yaml *convert(struct build *b, yaml_node_t *n, int depth)
{
	struct wse_yaml *y, **tail;
	int ret = 0;

	if (!n || depth > MAX_DEPTH || ++b->nodes > MAX_NODES) {
		wse_why(b->why, -EINVAL, "%s: nested too deep, or too large", b->name);
		return NULL;
	}
	y = calloc(1, sizeof(*y));
	if (!y)
		return NULL;
	y->line = (int)n->start_mark.line + 1;
	tail = &y->child;
	if (n->type == YAML_SCALAR_NODE) {
		y->type = WSE_YAML_SCALAR;
		y->text = strdup((const char *)n->data.scalar.value);
	} else if (n->type == YAML_MAPPING_NODE) {
		y->type = WSE_YAML_MAP;
		ret = convert_map(b, n, y, depth);
	} else {
		y->type = WSE_YAML_LIST;
		for (yaml_node_item_t *i = n->data.sequence.items.start;
		     !ret && i < n->data.sequence.items.top; i++) {
			*tail = convert(b, yaml_document_get_node(b->doc, *i), depth + 1);
			if (!*tail) {
				ret = -EINVAL;
				break;
			}
			(*tail)->parent = y;
			tail = &(*tail)->next;
		}
	}
	if (ret) {
		wse_yaml_free(y);
		return NULL;
	}
	return y;
}

int wse_yaml_parse(const char *name, const char *text, size_t size, struct wse_yaml **root,
		   char *why)
{
	struct build b = {.name = name, .why = why};
	yaml_document_t doc;
	yaml_parser_t parser;

	*root = NULL;
	why[0] = 0;
	if (!yaml_parser_initialize(&parser))
		return wse_why(why, -ENOMEM, "%s: no memory", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (!yaml_parser_load(&parser, &doc)) {
		wse_why(why, -EINVAL, "%s:%d: no YAML: %s", name, (int)parser.problem_mark.line + 1,
			parser.problem ? parser.problem : "cannot be read");
		yaml_parser_delete(&parser);
		return -EINVAL;
	}
	b.doc = &doc;
	if (yaml_document_get_root_node(&doc))
		*root = convert(&b, yaml_document_get_root_node(&doc), 0);
	else
		wse_why(why, -EINVAL, "%s: empty", name);
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	return *root ? 0 : -EINVAL;
}

struct wse_yaml *wse_yaml_peek(const struct wse_yaml *y, const char *key)
{
	struct wse_yaml *c = y && y->type == WSE_YAML_MAP ? y->child : NULL;

	while (c && (!c->key || strcmp(c->key, key)))
		c = c->next;
	return c;
}

struct wse_yaml *wse_yaml_get(struct wse_yaml *y, const char *key)
{
	struct wse_yaml *c = wse_yaml_peek(y, key);
	size_t n;

	if (!y)
		return NULL;
	n = strlen(y->accepted);
	snprintf(y->accepted + n, sizeof(y->accepted) - n, "%s%s", n ? ", " : "", key);
	if (c)
		c->used = 1;
	return c;
}

void wse_yaml_use_all(struct wse_yaml *y)
{
	y->used = 1;
	for (struct wse_yaml *c = y->child; c; c = c->next)
		wse_yaml_use_all(c);
}

static void path_of(const struct wse_yaml *y, char *buf, size_t size)
{
	size_t n;

	if (!y->parent)
		return;
	path_of(y->parent, buf, size);
	n = strlen(buf);
	if (y->key) {
		snprintf(buf + n, size - n, "%s%s", n ? "." : "", y->key);
	} else {
		int i = 0;

		for (const struct wse_yaml *c = y->parent->child; c && c != y; c = c->next)
			i++;
		snprintf(buf + n, size - n, "%s%d", n ? "." : "", i);
	}
}

const char *wse_yaml_where(const struct wse_yaml *y, char *buf)
{
	char path[160] = "";

	path_of(y, path, sizeof(path));
	if (y->line)
		snprintf(buf, 200, "line %d: %s", y->line, path);
	else
		snprintf(buf, 200, "--set: %s", path);
	return buf;
}

const struct wse_yaml *wse_yaml_unused(const struct wse_yaml *y)
{
	for (const struct wse_yaml *c = y->child; c; c = c->next) {
		const struct wse_yaml *bad;

		if (c->key && !c->used)
			return c;
		bad = wse_yaml_unused(c);
		if (bad)
			return bad;
	}
	return NULL;
}

static void from_set(struct wse_yaml *y)
{
	y->line = 0;
	for (struct wse_yaml *c = y->child; c; c = c->next)
		from_set(c);
}

/* the entry named by [key, key + n), made if a map lacks it */
static struct wse_yaml **entry(struct wse_yaml *y, const char *key, size_t n)
{
	struct wse_yaml **at = &y->child, *c;
	long index = -1;

	if (y->type == WSE_YAML_LIST) {
		char *end;

		index = strtol(key, &end, 10);
		if (end != key + n || index < 0)
			return NULL;
		while (*at && index--)
			at = &(*at)->next;
		return *at ? at : NULL;
	}
	if (y->type != WSE_YAML_MAP)
		return NULL;
	while (*at && (strlen((*at)->key) != n || strncmp((*at)->key, key, n)))
		at = &(*at)->next;
	if (*at)
		return at;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->type = WSE_YAML_MAP;
	c->key = strndup(key, n);
	c->parent = y;
	*at = c;
	return at;
}

int wse_yaml_set(struct wse_yaml *root, const char *path, const char *value, char *why)
{
	struct wse_yaml *y = root, *fresh, *old, **at;
	const char *p = path;
	int ret;

	ret = wse_yaml_parse("--set", value, strlen(value), &fresh, why);
	if (ret)
		return ret;
	from_set(fresh);
	for (;;) {
		size_t n = strcspn(p, ".");

		at = n ? entry(y, p, n) : NULL;
		if (!at) {
			wse_yaml_free(fresh);
			return wse_why(why, -EINVAL, "--set %.100s: there is no such place", path);
		}
		p += n;
		if (!*p)
			break;
		p++;
		y = *at;
	}
	old = *at;
	fresh->key = old->key;
	old->key = NULL;
	fresh->parent = y;
	fresh->next = old->next;
	old->next = NULL;
	*at = fresh;
	wse_yaml_free(old);
	return 0;
}
