// SPDX-License-Identifier: MIT
/* Values out of a YAML tree, and what is wrong with them. */
#include "reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void reader_fail(struct reader *r, const struct wse_yaml *y, const char *fmt, ...)
{
	char text[WSE_FAULT - 100], where[200] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wse_fault_add(r->faults, y ? y->line : 0, "%.80s: %s %s", r->name,
		      y ? wse_yaml_where(y, where) : "", text);
}

/* single edits (insert, delete, replace, exchange of neighbours) from a to b; more than 9: 10 */
static unsigned int distance(const char *a, const char *b)
{
	enum { MAX = 40 };
	unsigned char d[MAX + 1][MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > MAX || m > MAX)
		return 10;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned char)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned char)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			int same = tolower(a[i - 1]) == tolower(b[j - 1]);
			unsigned char best = (unsigned char)(d[i - 1][j - 1] + !same);

			if (d[i - 1][j] + 1 < best)
				best = (unsigned char)(d[i - 1][j] + 1);
			if (d[i][j - 1] + 1 < best)
				best = (unsigned char)(d[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = (unsigned char)(d[i - 2][j - 2] + 1);
			d[i][j] = best;
		}
	return d[n][m] < 10 ? d[n][m] : 10;
}

/* the name that was most likely meant, NULL if none is near: a third of it may be wrong */
static const char *nearest(const char *word, const char *const *names, size_t n)
{
	unsigned int best = 10;
	const char *name = NULL;

	for (size_t i = 0; i < n; i++) {
		unsigned int d = distance(word, names[i]);

		if (d < best && 3 * d <= strlen(names[i]) + 2) {
			best = d;
			name = names[i];
		}
	}
	return name;
}

static const char *did_you_mean(const char *name, char *text)
{
	text[0] = 0;
	if (name)
		snprintf(text, 80, " (did you mean %.60s?)", name);
	return text;
}

/* "a, b, c": all of a NULL-terminated list; also their number */
static size_t list_of(const char *const *names, const char *between, char *list, size_t size)
{
	size_t n = 0;

	list[0] = 0;
	for (; names[n]; n++) {
		size_t at = strlen(list);

		snprintf(list + at, size - at, "%s%s", n ? between : "", names[n]);
	}
	return n;
}

struct wse_yaml *reader_want(struct reader *r, struct wse_yaml *y, const char *key, int required)
{
	struct wse_yaml *c = wse_yaml_get(y, key);

	if (!c && required && y && r->nmissing < WSE_FAULTS)
		r->missing[r->nmissing++] = (struct reader_missing){y, key};
	return c;
}

/* what a node is, as a message quotes it: "adamw", or its keys: "AdamW", "SGD" */
static const char *shown_keys(const struct wse_yaml *y, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "%s", y->type == WSE_YAML_LIST ? "a list" : "nothing");
	if (y->type == WSE_YAML_SCALAR)
		snprintf(text, size, "\"%.40s\"", y->text);
	for (const struct wse_yaml *c = y->child; c && c->key && n < size; c = c->next)
		n += (size_t)snprintf(text + n, size - n, "%s\"%.40s\"", n ? ", " : "", c->key);
	return text;
}

struct wse_yaml *reader_map(struct reader *r, struct wse_yaml *y, const char *key, int required)
{
	struct wse_yaml *c = reader_want(r, y, key, required);
	char text[160];

	if (c && c->type != WSE_YAML_MAP) {
		reader_fail(r, c, "must hold keys of its own, not %s",
			    shown_keys(c, text, sizeof(text)));
		wse_yaml_use_all(c);
		return NULL;
	}
	return c;
}

static const char *shown(const struct wse_yaml *c)
{
	return c->type == WSE_YAML_SCALAR ? c->text : "a list or map";
}

uint64_t reader_to_u64(struct reader *r, const struct wse_yaml *c, uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = c->type == WSE_YAML_SCALAR ? strtoull(c->text, &end, 10) : 0;
	if (c->type == WSE_YAML_SCALAR && *c->text >= '0' && *c->text <= '9' && !*end && !errno &&
	    v >= min && v <= max)
		return v;
	reader_fail(r, c, "must be a whole number from %llu to %llu, not \"%.40s\"",
		    (unsigned long long)min, (unsigned long long)max, shown(c));
	return min;
}

uint64_t reader_u64(struct reader *r, struct wse_yaml *y, const char *key, int required,
		    uint64_t fallback, uint64_t min, uint64_t max)
{
	struct wse_yaml *c = reader_want(r, y, key, required);

	return c ? reader_to_u64(r, c, min, max) : fallback;
}

double reader_to_real(struct reader *r, const struct wse_yaml *c, double min, double max)
{
	char *end;
	double v = c->type == WSE_YAML_SCALAR ? strtod(c->text, &end) : 0.0;

	if (c->type == WSE_YAML_SCALAR && end != c->text && !*end && v >= min && v <= max)
		return v;
	reader_fail(r, c, "must be a number from %.9g to %.9g, not \"%.40s\"", min, max, shown(c));
	return min;
}

double reader_real(struct reader *r, struct wse_yaml *y, const char *key, int required,
		   double fallback, double min, double max)
{
	struct wse_yaml *c = reader_want(r, y, key, required);

	return c ? reader_to_real(r, c, min, max) : fallback;
}

int reader_flag(struct reader *r, struct wse_yaml *y, const char *key, int fallback)
{
	struct wse_yaml *c = reader_want(r, y, key, 0);

	if (!c)
		return fallback;
	if (c->type == WSE_YAML_SCALAR) {
		if (!strcasecmp(c->text, "true"))
			return 1;
		if (!strcasecmp(c->text, "false"))
			return 0;
	}
	reader_fail(r, c, "must be true or false, not \"%.40s\"", shown(c));
	return fallback;
}

void reader_word(struct reader *r, struct wse_yaml *y, const char *key, int required, char *to,
		 size_t size)
{
	struct wse_yaml *c = reader_want(r, y, key, required);
	const char *text = c && c->raw ? c->raw : c ? c->text : NULL;

	if (!c)
		return;
	if (c->type != WSE_YAML_SCALAR || strlen(text) >= size)
		reader_fail(r, c, "must be a text of less than %zu characters", size);
	else
		snprintf(to, size, "%s", text);
}

int reader_choice(struct reader *r, struct wse_yaml *y, const char *key, int required,
		  const char *const *values)
{
	struct wse_yaml *c = reader_want(r, y, key, required);
	char list[160], mean[80];
	size_t n;

	if (!c)
		return 0;
	for (int i = 0; values[i]; i++)
		if (c->type == WSE_YAML_SCALAR && !strcmp(c->text, values[i]))
			return i;
	n = list_of(values, " or ", list, sizeof(list));
	reader_fail(r, c, "is \"%.40s\"%s; accepted: %s", shown(c),
		    did_you_mean(nearest(shown(c), values, n), mean), list);
	return -1;
}

int reader_kind(struct reader *r, struct wse_yaml *y, const char *const *names,
		struct wse_yaml **args)
{
	struct wse_yaml *c = y && y->type == WSE_YAML_MAP ? y->child : NULL;
	const char *name = NULL;
	char list[160], mean[80], text[160];
	size_t n;

	*args = NULL;
	if (!y)
		return -1;
	for (int i = 0; names[i]; i++)
		/* as the Model Zoo reads them: adamw is AdamW */
		if (c && !c->next && !strcasecmp(c->key, names[i])) {
			*args = reader_map(r, y, c->key, 1);
			return i;
		}
	n = list_of(names, ", ", list, sizeof(list));
	if (c ? !c->next : y->type == WSE_YAML_SCALAR)
		name = c ? c->key : y->text;
	reader_fail(r, y, "must have exactly one key out of: %s; it has %s%s", list,
		    shown_keys(y, text, sizeof(text)),
		    did_you_mean(name ? nearest(name, names, n) : NULL, mean));
	wse_yaml_use_all(y);
	return -1;
}

/* a map that takes this key, other than `not` */
static const struct wse_yaml *owner(const struct wse_yaml *y, const char *key,
				    const struct wse_yaml * not )
{
	const struct wse_yaml *found = NULL;

	for (uint32_t i = 0; i < y->naccepted && y != not ; i++)
		if (!strcmp(y->accepted[i], key))
			return y;
	for (const struct wse_yaml *c = y->child; c && !found; c = c->next)
		found = owner(c, key, not );
	return found;
}

static void unknown(struct reader *r, const struct wse_yaml *root, const struct wse_yaml *y)
{
	const struct wse_yaml *map = y->parent, *other = owner(root, y->key, map);
	const char *name = nearest(y->key, map->accepted, map->naccepted);
	char mean[260], list[400] = "", path[200];

	did_you_mean(name, mean);
	if (!name && other)
		snprintf(mean, sizeof(mean), " (it belongs to %s)", wse_yaml_path(other, path));
	for (uint32_t i = 0; i < map->naccepted; i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", map->accepted[i]);
	}
	reader_fail(r, y, "is unknown%s; accepted there: %s", mean, list);
}

static void all_unknown(struct reader *r, const struct wse_yaml *root, const struct wse_yaml *y)
{
	for (const struct wse_yaml *c = y->child; c; c = c->next) {
		if (c->key && !c->used)
			unknown(r, root, c);
		else
			all_unknown(r, root, c);
	}
}

/* is there a key in the map that is this one, but misspelt? */
static int is_misspelt(const struct reader_missing *m)
{
	for (const struct wse_yaml *c = m->map->child; c; c = c->next) {
		const char *name =
			c->used ? NULL : nearest(c->key, m->map->accepted, m->map->naccepted);

		if (name && !strcmp(name, m->key))
			return 1;
	}
	return 0;
}

static int by_line(const void *a, const void *b)
{
	const struct wse_config_fault *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

void reader_finish(struct reader *r, struct wse_yaml *root)
{
	all_unknown(r, root, root);
	for (uint32_t i = 0; i < r->nmissing; i++)
		if (!is_misspelt(&r->missing[i]))
			reader_fail(r, r->missing[i].map, "lacks the key \"%s\"",
				    r->missing[i].key);
	/* glibc's qsort is a merge sort: equal lines keep their order */
	qsort(r->faults->f, r->faults->n, sizeof(r->faults->f[0]), by_line);
}
