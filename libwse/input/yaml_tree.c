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
	struct wse_faults *faults;
	int nodes;
	int err; /* -EINVAL: too large; -ENOMEM */
};

static void free_one(struct wse_yaml *y)
{
	free(y->text);
	free(y->raw);
	free(y->key);
	free(y->accepted);
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

/* "\0" is a character of YAML's, and would end a text here */
static int has_nul(const yaml_node_t *n)
{
	return strlen((const char *)n->data.scalar.value) != n->data.scalar.length;
}

/* why a key cannot be one, NULL if it can */
static const char *check_key(const struct wse_yaml *y, const yaml_node_t *k)
{
	if (!k || k->type != YAML_SCALAR_NODE)
		return "a key must be a word";
	if (has_nul(k))
		return "a key has a NUL character";
	if (!strcmp((const char *)k->data.scalar.value, "<<") &&
	    k->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return "merge keys (<<) are not supported: write the keys out";
	if (wse_yaml_peek(y, (const char *)k->data.scalar.value))
		return "is given twice";
	return NULL;
}

static void convert_map(struct build *b, yaml_node_t *n, struct wse_yaml *y, int depth)
{
	struct wse_yaml **tail = &y->child;

	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
	     !b->err && p < n->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(b->doc, p->key);
		int line = k ? (int)k->start_mark.line + 1 : y->line;
		const char *bad = check_key(y, k);

		if (bad) {
			wse_fault_add(b->faults, line, "%.80s: line %d: %.80s%s%s", b->name, line,
				      *bad == 'i' ? (const char *)k->data.scalar.value : "",
				      *bad == 'i' ? " " : "", bad);
			continue;
		}
		*tail = convert(b, yaml_document_get_node(b->doc, p->value), depth + 1);
		if (!*tail)
			return;
		(*tail)->key = strdup((const char *)k->data.scalar.value);
		if (!(*tail)->key) /* it would be as if the key was not in the file */
			b->err = -ENOMEM;
		(*tail)->parent = y;
		(*tail)->line = line;
		tail = &(*tail)->next;
	}
}

static void convert_list(struct build *b, yaml_node_t *n, struct wse_yaml *y, int depth)
{
	struct wse_yaml **tail = &y->child;

	for (yaml_node_item_t *i = n->data.sequence.items.start;
	     !b->err && i < n->data.sequence.items.top; i++) {
		*tail = convert(b, yaml_document_get_node(b->doc, *i), depth + 1);
		if (!*tail)
			return;
		(*tail)->parent = y;
		tail = &(*tail)->next;
	}
}

static struct wse_yaml *convert(struct build *b, yaml_node_t *n, int depth)
{
	struct wse_yaml *y = NULL;

	if (n && depth <= MAX_DEPTH && b->nodes < MAX_NODES)
		y = calloc(1, sizeof(*y));
	else
		b->err = -EINVAL;
	if (!y) {
		b->err = b->err ? b->err : -ENOMEM;
		return NULL;
	}
	b->nodes++;
	y->line = (int)n->start_mark.line + 1;
	if (n->type == YAML_SCALAR_NODE) {
		y->type = WSE_YAML_SCALAR;
		y->text = strdup((const char *)n->data.scalar.value);
		if (!y->text)
			b->err = -ENOMEM;
		if (has_nul(n))
			wse_fault_add(b->faults, y->line,
				      "%.80s: line %d: a text has a NUL character (\\0): remove it",
				      b->name, y->line);
	} else if (n->type == YAML_MAPPING_NODE) {
		y->type = WSE_YAML_MAP;
		convert_map(b, n, y, depth);
	} else {
		y->type = WSE_YAML_LIST;
		convert_list(b, n, y, depth);
	}
	return y;
}

/* of what comes behind the first document nothing would be read */
static void look_behind(struct build *b, yaml_parser_t *parser)
{
	yaml_document_t doc;
	yaml_node_t *root;
	int line;

	if (!yaml_parser_load(parser, &doc)) {
		if (parser->error == YAML_MEMORY_ERROR) {
			b->err = -ENOMEM;
			return;
		}
		line = (int)parser->problem_mark.line + 1;
		wse_fault_add(b->faults, line, "%.80s: line %d: no YAML: %s", b->name, line,
			      parser->problem ? parser->problem : "cannot be read");
		return;
	}
	root = yaml_document_get_root_node(&doc);
	line = root ? (int)root->start_mark.line + 1 : 0;
	if (root)
		wse_fault_add(b->faults, line,
			      "%.80s: line %d: a second document begins (---): one is read",
			      b->name, line);
	yaml_document_delete(&doc);
}

int wse_yaml_parse(const char *name, const char *text, size_t size, struct wse_yaml **root,
		   struct wse_faults *faults)
{
	struct build b = {.name = name, .faults = faults};
	yaml_document_t doc;
	yaml_parser_t parser;
	int line;

	*root = NULL;
	if (!yaml_parser_initialize(&parser)) {
		wse_fault_add(faults, 0, "%s: no memory", name);
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (!yaml_parser_load(&parser, &doc)) {
		if (parser.error == YAML_MEMORY_ERROR) {
			wse_fault_add(faults, 0, "%s: no memory", name);
			yaml_parser_delete(&parser);
			return -ENOMEM;
		}
		line = (int)parser.problem_mark.line + 1;
		wse_fault_add(faults, line, "%s: line %d: no YAML: %s", name, line,
			      parser.problem ? parser.problem : "cannot be read");
		yaml_parser_delete(&parser);
		return -EINVAL;
	}
	b.doc = &doc;
	if (yaml_document_get_root_node(&doc))
		*root = convert(&b, yaml_document_get_root_node(&doc), 0);
	else
		wse_fault_add(faults, 0, "%s: empty", name);
	if (*root && !b.err)
		look_behind(&b, &parser);
	if (b.err) {
		wse_fault_add(faults, 0,
			      b.err == -ENOMEM ? "%s: no memory"
					       : "%s: nested too deep, or too large",
			      name);
		wse_yaml_free(*root);
		*root = NULL;
	}
	yaml_document_delete(&doc);
	yaml_parser_delete(&parser);
	return *root ? 0 : b.err ? b.err : -EINVAL;
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
	const char **p;
	uint32_t i = 0;

	if (!y)
		return NULL;
	if (c)
		c->used = 1;
	while (i < y->naccepted && strcmp(y->accepted[i], key))
		i++;
	p = i < y->naccepted ? NULL : realloc(y->accepted, (i + 1) * sizeof(*p));
	if (p) {
		y->accepted = p;
		p[y->naccepted++] = key;
	}
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

const char *wse_yaml_path(const struct wse_yaml *y, char *buf)
{
	buf[0] = 0;
	path_of(y, buf, 160);
	if (!y->parent)
		strcpy(buf, "the file");
	return buf;
}

const char *wse_yaml_where(const struct wse_yaml *y, char *buf)
{
	char path[160];

	wse_yaml_path(y, path);
	if (y->line)
		snprintf(buf, 200, "line %d: %s", y->line, path);
	else
		snprintf(buf, 200, "--set: %s", path);
	return buf;
}

static void from_set(struct wse_yaml *y)
{
	y->line = 0;
	for (struct wse_yaml *c = y->child; c; c = c->next)
		from_set(c);
}

/* the entry named by [key, key + n), made if a map lacks it; NULL: *err */
static struct wse_yaml **entry(struct wse_yaml *y, const char *key, size_t n, int *err)
{
	struct wse_yaml **at = &y->child, *c;
	long index = -1;

	*err = -EINVAL;
	if (!n)
		return NULL;
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
	*err = -ENOMEM;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->type = WSE_YAML_MAP;
	c->key = strndup(key, n);
	if (!c->key) {
		free(c);
		return NULL;
	}
	c->parent = y;
	*at = c;
	return at;
}

/* the value of a --set: YAML, but a bare word keeps its blanks, and nothing is an empty text */
static int value_of(const char *path, const char *value, struct wse_yaml **out,
		    struct wse_faults *faults)
{
	struct wse_yaml *y;
	char name[128];
	int ret;

	snprintf(name, sizeof(name), "--set %.100s", path);
	/* '' is YAML's empty text */
	ret = wse_yaml_parse(name, *value ? value : "''", *value ? strlen(value) : 2, &y, faults);
	if (ret)
		return ret;
	from_set(y);
	if (y->type == WSE_YAML_SCALAR && *value && *value != '"' && *value != '\'') {
		y->raw = strdup(value);
		if (!y->raw) {
			wse_yaml_free(y);
			wse_fault_add(faults, 0, "%s: no memory", name);
			return -ENOMEM;
		}
	}
	*out = y;
	return 0;
}

int wse_yaml_set(struct wse_yaml *root, const char *path, const char *value,
		 struct wse_faults *faults)
{
	struct wse_yaml *y = root, *fresh, *old, **at;
	int ret = value_of(path, value, &fresh, faults);
	const char *p = path;

	if (ret)
		return ret;
	for (;;) {
		size_t n = strcspn(p, ".");

		at = entry(y, p, n, &ret);
		if (!at) {
			wse_yaml_free(fresh);
			wse_fault_add(faults, 0, "--set %.100s: %s", path,
				      ret == -ENOMEM ? "no memory" : "there is no such place");
			return ret;
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
