// SPDX-License-Identifier: MIT
/*
 * The files of a byte-level BPE tokenizer: tokenizer.json, or vocab.json and merges.txt. Tokens are
 * written in an alphabet of 256 printable characters, one a byte.
 */
#include "bpe_tables.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "json_file.h"

#define TOKENS_MAX  (1u << 24)
#define SPECIAL_MAX 65536
#define TOKEN_MAX   65536 /* bytes */

/* GPT-2's, which vocab.json and the type ByteLevel do not name */
static const char gpt2_pattern[] =
	"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct entry {
	const char *text; /* as the file writes it; NULL: no token has this id */
	int raw;	  /* not in the alphabet */
};

struct reading {
	struct wse_bpe *b;
	const char *name; /* of the file that is read, for sentences */
	json_object *vocab;
	struct entry *tokens; /* [room] by id; up to the largest one when all are read */
	uint32_t n, room;
	size_t text_bytes;
	char *both; /* [2 * TOKEN_MAX + 1] what two tokens make */
	uint32_t merge_room, special_room;
};

/* ---- the alphabet ---- */

/* a byte that is printable stands for itself; the others are U+0100 on, in their order */
static void make_alphabet(int *byte_of)
{
	int next = 256;

	for (int i = 0; i < 512; i++)
		byte_of[i] = -1;
	for (int c = 0; c < 256; c++)
		if ((c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || c >= 0xae)
			byte_of[c] = c;
		else
			byte_of[next++] = c;
}

/*
 * the bytes of a token as a file writes it; to [strlen] and their number. One with a character
 * outside of the alphabet is meant as it stands, as HF's decoder has it
 */
static size_t from_alphabet(const int *byte_of, const char *text, char *to)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = 0;

	while (*p) {
		uint32_t c = *p;
		int len = 1;

		if (c >= 0xc0) { /* UTF-8: json-c looks at that */
			c = (c & 0x1f) << 6 | (p[1] & 0x3f);
			len = *p < 0xe0 ? 2 : 0;
		}
		if (!len || c >= 512 || byte_of[c] < 0) {
			n = strlen(text);
			memcpy(to, text, n);
			return n;
		}
		to[n++] = (char)byte_of[c];
		p += len;
	}
	return n;
}

/* ---- tokens ---- */

static int to_id(const struct reading *r, const char *token, json_object *v, uint32_t *id)
{
	int64_t n = json_object_get_int64(v);

	if (!json_object_is_type(v, json_type_int) || n < 0 || n >= TOKENS_MAX)
		return wse_fail(-EINVAL, "%s: the id of \"%.60s\" is %.40s: a number from 0 to %u",
				r->name, token, json_object_get_string(v), TOKENS_MAX - 1);
	*id = (uint32_t)n;
	return 0;
}

static int add_token(struct reading *r, const char *text, uint32_t id, int raw)
{
	if (!*text || strlen(text) > TOKEN_MAX)
		return wse_fail(-EINVAL, "%s: token %u has %zu bytes: 1 to %d are possible",
				r->name, id, strlen(text), TOKEN_MAX);
	if (id >= r->room) {
		uint32_t room = id < 65536 ? 131072 : 2 * id;
		struct entry *p = realloc(r->tokens, room * sizeof(*p));

		if (!p)
			return wse_fail(-ENOMEM, "%s: no memory", r->name);
		memset(p + r->room, 0, (room - r->room) * sizeof(*p));
		r->tokens = p;
		r->room = room;
	}
	if (r->tokens[id].text && strcmp(r->tokens[id].text, text))
		return wse_fail(
			-EINVAL,
			"%s: \"%.60s\" and \"%.60s\" both have id %u: each token has its own",
			r->name, r->tokens[id].text, text, id);
	r->text_bytes += strlen(text);
	r->tokens[id] = (struct entry){text, raw};
	r->n = id >= r->n ? id + 1 : r->n;
	return 0;
}

static int read_vocab(struct reading *r, json_object *vocab)
{
	uint32_t id;
	int ret = 0;

	r->vocab = vocab;
	json_object_object_foreach(vocab, text, v)
	{
		ret = to_id(r, text, v, &id);
		ret = ret ? ret : add_token(r, text, id, 0);
		if (ret)
			return ret;
	}
	return 0;
}

/* one that is found in texts before words are, under its own name */
static int add_special(struct reading *r, const char *text, uint32_t id)
{
	struct wse_bpe *b = r->b;
	json_object *v;
	int ret;

	if (json_object_object_get_ex(r->vocab, text, &v) && json_object_get_int64(v) != id)
		return wse_fail(-EINVAL,
				"%s: the added token \"%.60s\" has id %u, in the vocabulary it has "
				"%.20s",
				r->name, text, id, json_object_get_string(v));
	if (b->nspecial == SPECIAL_MAX)
		return wse_fail(-EINVAL, "%s: more than %d added tokens", r->name, SPECIAL_MAX);
	ret = add_token(r, text, id, 1);
	if (ret)
		return ret;
	if (b->nspecial == r->special_room) {
		uint32_t room = 2 * r->special_room + 256;
		uint32_t *p = realloc(b->special, room * sizeof(*p));

		if (!p)
			return wse_fail(-ENOMEM, "%s: no memory", r->name);
		b->special = p;
		r->special_room = room;
	}
	b->special[b->nspecial++] = id;
	return 0;
}

/* the tokens' bytes; every id has one */
static int finish_tokens(struct reading *r)
{
	struct wse_bpe *b = r->b;
	int byte_of[512];

	make_alphabet(byte_of);
	b->bytes = malloc(r->text_bytes + 1);
	b->at = malloc(((size_t)r->n + 1) * sizeof(*b->at));
	if (!b->bytes || !b->at)
		return wse_fail(-ENOMEM, "%s: no memory for %u tokens", r->name, r->n);
	b->at[0] = 0;
	for (uint32_t id = 0; id < r->n; id++) {
		const struct entry *e = &r->tokens[id];
		char *to = b->bytes + b->at[id];
		size_t n = e->text ? strlen(e->text) : 0;

		if (!e->text)
			return wse_fail(
				-EINVAL,
				"%s: no token has id %u, and \"%.60s\" has %u: ids go from 0 "
				"on without holes; is a file of added tokens missing?",
				r->name, id, r->tokens[r->n - 1].text, r->n - 1);
		if (e->raw)
			memcpy(to, e->text, n);
		else
			n = from_alphabet(byte_of, e->text, to);
		b->at[id + 1] = b->at[id] + n;
	}
	b->n = r->n;
	return 0;
}

/* ---- merges ---- */

static int find(const struct reading *r, const char *where, unsigned long line, const char *text,
		uint32_t *id)
{
	json_object *v;

	if (!json_object_object_get_ex(r->vocab, text, &v))
		return wse_fail(
			-EINVAL,
			"%s: %s %lu: \"%.60s\" is not in the vocabulary: take the files of one "
			"tokenizer",
			r->name, where, line, text);
	*id = (uint32_t)json_object_get_int64(v);
	return 0;
}

static int more_merges(struct reading *r)
{
	struct wse_bpe *b = r->b;
	uint32_t room = r->merge_room ? 2 * r->merge_room : 65536;
	uint32_t *left = realloc(b->left, room * sizeof(*left));
	uint32_t *right, *made;

	b->left = left ? left : b->left;
	right = left ? realloc(b->right, room * sizeof(*right)) : NULL;
	b->right = right ? right : b->right;
	made = right ? realloc(b->made, room * sizeof(*made)) : NULL;
	b->made = made ? made : b->made;
	if (!made)
		return wse_fail(-ENOMEM, "%s: no memory for %u merges", r->name, room);
	r->merge_room = room;
	return 0;
}

/* where and line: "line 17" or "merge 17" */
static int add_merge(struct reading *r, const char *where, unsigned long line, const char *left,
		     const char *right)
{
	struct wse_bpe *b = r->b;
	uint32_t i = b->nmerges;
	int ret = i < TOKENS_MAX ? 0 : wse_fail(-EINVAL, "%s: too many merges", r->name);

	if (strlen(left) > TOKEN_MAX || strlen(right) > TOKEN_MAX)
		return wse_fail(-EINVAL, "%s: %s %lu is too long", r->name, where, line);
	if (!ret && i == r->merge_room)
		ret = more_merges(r);
	if (ret)
		return ret;
	sprintf(r->both, "%s%s", left, right);
	ret = find(r, where, line, left, &b->left[i]);
	ret = ret ? ret : find(r, where, line, right, &b->right[i]);
	ret = ret ? ret : find(r, where, line, r->both, &b->made[i]);
	b->nmerges += !ret;
	return ret;
}

/* lines "LEFT RIGHT", the first of rank 0; "#version: ..." says nothing */
static int read_merges_file(struct reading *r, const char *path)
{
	unsigned long line = 1;
	char *text, *next;
	size_t n;
	int ret = wse_file_read(path, r->name, &text, &n);

	if (ret)
		return ret;
	if (strlen(text) != n)
		ret = wse_fail(-EINVAL, "%s has NUL bytes: it is no text", r->name);
	for (char *p = text; *p && !ret; p = next, line++) {
		char *gap;

		next = p + strcspn(p, "\n");
		next += *next ? 1 : 0;
		p[strcspn(p, "\r\n")] = 0;
		if (!*p || !strncmp(p, "#version", 8))
			continue;
		gap = strchr(p, ' ');
		if (!gap || gap == p || !gap[1] || strchr(gap + 1, ' ')) {
			ret = wse_fail(-EINVAL,
				       "%s: line %lu: \"%.60s\" are not two tokens with a blank "
				       "between",
				       r->name, line, p);
			break;
		}
		*gap = 0;
		ret = add_merge(r, "line", line, p, gap + 1);
	}
	free(text);
	return ret;
}

/* "LEFT RIGHT" or ["LEFT", "RIGHT"] */
static int read_merge(struct reading *r, json_object *v, size_t i)
{
	json_object *l, *t;
	const char *text = json_object_get_string(v), *gap;
	char *left;
	int ret;

	if (json_object_is_type(v, json_type_array) && json_object_array_length(v) == 2) {
		l = json_object_array_get_idx(v, 0);
		t = json_object_array_get_idx(v, 1);
		if (json_object_is_type(l, json_type_string) &&
		    json_object_is_type(t, json_type_string))
			return add_merge(r, "merge", i, json_object_get_string(l),
					 json_object_get_string(t));
	}
	gap = json_object_is_type(v, json_type_string) ? strchr(text, ' ') : NULL;
	if (!gap || gap == text || !gap[1] || strchr(gap + 1, ' '))
		return wse_fail(-EINVAL, "%s: merge %zu: %.60s are not two tokens", r->name, i,
				text ? text : "null");
	left = strndup(text, (size_t)(gap - text));
	if (!left)
		return wse_fail(-ENOMEM, "%s: no memory", r->name);
	ret = add_merge(r, "merge", i, left, gap + 1);
	free(left);
	return ret;
}

/* a table of pairs; each has one rank */
static int finish_merges(struct reading *r)
{
	struct wse_bpe *b = r->b;

	for (b->npairs = 16; b->npairs < 2 * b->nmerges; b->npairs *= 2)
		;
	b->pairs = malloc(b->npairs * sizeof(*b->pairs));
	if (!b->pairs)
		return wse_fail(-ENOMEM, "%s: no memory", r->name);
	for (uint32_t i = 0; i < b->npairs; i++)
		b->pairs[i] = (struct wse_bpe_pair){0, WSE_BPE_NONE};
	for (uint32_t i = 0; i < b->nmerges; i++) {
		struct wse_bpe_pair *p = wse_bpe_pair(b, b->left[i], b->right[i]);

		if (p->rank != WSE_BPE_NONE)
			return wse_fail(
				-EINVAL,
				"%s: \"%.60s\" and \"%.60s\" merge twice, as merge %u and %u: "
				"remove the second",
				r->name, r->tokens[b->left[i]].text, r->tokens[b->right[i]].text,
				p->rank + 1, i + 1);
		*p = (struct wse_bpe_pair){(uint64_t)b->left[i] << 32 | b->right[i], i};
	}
	return 0;
}

/* ---- vocab.json and merges.txt ---- */

static int from_two(struct reading *r, const char *dir)
{
	json_object *vocab = NULL, *added = NULL, *v;
	char path[PATH_MAX];
	int ret;

	r->name = "vocab.json";
	snprintf(path, sizeof(path), "%s/vocab.json", dir);
	ret = wse_json_read(path, r->name, &vocab);
	ret = ret ? ret : read_vocab(r, vocab);
	if (!ret && json_object_object_get_ex(vocab, WSE_BPE_END_OF_TEXT, &v))
		ret = add_special(r, WSE_BPE_END_OF_TEXT, (uint32_t)json_object_get_int64(v));
	snprintf(path, sizeof(path), "%s/added_tokens.json", dir);
	if (!ret && !access(path, F_OK)) {
		r->name = "added_tokens.json";
		ret = wse_json_read(path, r->name, &added);
		if (!ret) {
			json_object_object_foreach(added, text, id)
			{
				uint32_t n = 0;

				ret = ret ? ret : to_id(r, text, id, &n);
				if (!ret && strcmp(text, WSE_BPE_END_OF_TEXT))
					ret = add_special(r, text, n);
			}
		}
	}
	r->name = "vocab.json";
	ret = ret ? ret : finish_tokens(r);
	r->name = "merges.txt";
	snprintf(path, sizeof(path), "%s/merges.txt", dir);
	ret = ret ? ret : read_merges_file(r, path);
	ret = ret ? ret : finish_merges(r);
	json_object_put(vocab);
	json_object_put(added);
	if (ret)
		return ret;
	r->b->pattern = strdup(gpt2_pattern);
	return r->b->pattern ? 0 : wse_fail(-ENOMEM, "no memory");
}

/* ---- tokenizer.json ---- */

static json_object *get(json_object *o, const char *key)
{
	json_object *v;

	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v)
		       ? v
		       : NULL;
}

static const char *get_type(json_object *o)
{
	json_object *v = get(o, "type");

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "none";
}

static int is_type(json_object *o, const char *type)
{
	return !strcmp(get_type(o), type);
}

static int is_true(json_object *o, const char *key, int fallback)
{
	json_object *v = get(o, key);

	return json_object_is_type(v, json_type_boolean) ? json_object_get_boolean(v) : fallback;
}

/* a setting that has one value here: absent, null, false or "" */
static int only_unset(const struct reading *r, json_object *o, const char *where, const char *key)
{
	json_object *v = get(o, key);

	if (!v || (json_object_is_type(v, json_type_boolean) && !json_object_get_boolean(v)) ||
	    (json_object_is_type(v, json_type_string) && !*json_object_get_string(v)))
		return 0;
	return wse_fail(
		-ENOTSUP,
		"%s: %s.%s is %.60s, which is not available: read is byte-level BPE as GPT-2 "
		"and LLaMA 3 have it",
		r->name, where, key, json_object_get_string(v));
}

static int other_type(const struct reading *r, const char *where, json_object *o, const char *known)
{
	return wse_fail(-ENOTSUP,
			"%s: %s has the type %.60s; read is %s, as GPT-2 and LLaMA 3 have it",
			r->name, where, get_type(o), known);
}

/* ByteLevel, which has an expression of its own; or Split by one, then ByteLevel without */
static int read_splitting(struct reading *r, json_object *pre)
{
	json_object *list = get(pre, "pretokenizers"), *split = NULL, *bytes = pre, *v;
	const char *pattern = gpt2_pattern;
	int ret;

	if (is_type(pre, "Sequence") && json_object_is_type(list, json_type_array) &&
	    json_object_array_length(list) == 2) {
		split = json_object_array_get_idx(list, 0);
		bytes = json_object_array_get_idx(list, 1);
	}
	if (!is_type(bytes, "ByteLevel"))
		return other_type(r, "pre_tokenizer", bytes,
				  "ByteLevel, or a Sequence of Split and ByteLevel");
	/* where it is not said, Hugging Face puts a blank before the text */
	if (is_true(bytes, "add_prefix_space", 1))
		return wse_fail(
			-ENOTSUP,
			"%s: pre_tokenizer.add_prefix_space is true: a text is read as it is; "
			"set it to false",
			r->name);
	if (!split && !is_true(bytes, "use_regex", 1))
		return wse_fail(-ENOTSUP,
				"%s: pre_tokenizer has no regular expression to split a text by",
				r->name);
	if (split) {
		if (!is_type(split, "Split"))
			return other_type(r, "pre_tokenizer", split, "Split before ByteLevel");
		v = get(get(split, "pattern"), "Regex");
		if (!json_object_is_type(v, json_type_string))
			return wse_fail(-ENOTSUP, "%s: Split has no pattern.Regex", r->name);
		pattern = json_object_get_string(v);
		if (strlen(pattern) != (size_t)json_object_get_string_len(v) ||
		    strlen(pattern) > 65536)
			return wse_fail(-EINVAL, "%s: Split's pattern is too long, or has a NUL",
					r->name);
		v = get(split, "behavior");
		if (!json_object_is_type(v, json_type_string) ||
		    strcmp(json_object_get_string(v), "Isolated"))
			return wse_fail(-ENOTSUP,
					"%s: Split's behavior is %.40s; read is Isolated, which "
					"keeps all of a text",
					r->name, v ? json_object_get_string(v) : "missing");
		ret = only_unset(r, split, "Split", "invert");
		if (ret)
			return ret;
		if (is_true(bytes, "use_regex", 1))
			return wse_fail(
				-ENOTSUP,
				"%s: both Split and ByteLevel split by an expression: read is "
				"one, with ByteLevel's use_regex false",
				r->name);
	}
	r->b->pattern = strdup(pattern);
	return r->b->pattern ? 0 : wse_fail(-ENOMEM, "no memory");
}

static int read_added(struct reading *r, json_object *list)
{
	static const char *const unset[] = {"lstrip", "rstrip", "single_word"};
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		json_object *e = json_object_array_get_idx(list, i), *text = get(e, "content");
		uint32_t id = 0;

		if (!json_object_is_type(text, json_type_string))
			return wse_fail(-EINVAL, "%s: added token %zu has no content", r->name, i);
		ret = to_id(r, json_object_get_string(text), get(e, "id"), &id);
		for (int k = 0; k < 3 && !ret; k++)
			ret = only_unset(r, e, json_object_get_string(text), unset[k]);
		ret = ret ? ret : add_special(r, json_object_get_string(text), id);
	}
	return ret;
}

static int read_model(struct reading *r, json_object *root)
{
	static const char *const unset[] = {
		"dropout",  "unk_token",     "continuing_subword_prefix",
		"fuse_unk", "byte_fallback", "end_of_word_suffix"};
	json_object *model = get(root, "model"), *vocab = get(model, "vocab");
	json_object *merges = get(model, "merges");
	int ret = 0;

	/* old files have no type */
	if (!model || (get(model, "type") && !is_type(model, "BPE")))
		return other_type(r, "model", model, "BPE");
	for (int i = 0; i < 6 && !ret; i++)
		ret = only_unset(r, model, "model", unset[i]);
	if (ret)
		return ret;
	if (!json_object_is_type(vocab, json_type_object) ||
	    !json_object_is_type(merges, json_type_array))
		return wse_fail(-EINVAL, "%s: model has no vocab or no merges", r->name);
	r->b->whole_words = is_true(model, "ignore_merges", 0);
	ret = read_vocab(r, vocab);
	ret = ret ? ret : read_added(r, get(root, "added_tokens"));
	ret = ret ? ret : finish_tokens(r);
	for (size_t i = 0; i < json_object_array_length(merges) && !ret; i++)
		ret = read_merge(r, json_object_array_get_idx(merges, i), i);
	return ret ? ret : finish_merges(r);
}

static int from_one(struct reading *r, const char *path)
{
	json_object *root = NULL, *o;
	int ret;

	r->name = "tokenizer.json";
	ret = wse_json_read(path, r->name, &root);
	o = ret ? NULL : get(root, "normalizer");
	if (o)
		ret = other_type(r, "normalizer", o, "a text as it is (null)");
	o = ret ? NULL : get(root, "decoder");
	if (o && !is_type(o, "ByteLevel"))
		ret = other_type(r, "decoder", o, "ByteLevel");
	ret = ret ? ret : read_model(r, root);
	ret = ret ? ret : read_splitting(r, get(root, "pre_tokenizer"));
	json_object_put(root);
	return ret;
}

int wse_bpe_read(const char *path, struct wse_bpe *b)
{
	struct reading r = {.b = b, .both = malloc(2 * TOKEN_MAX + 1)};
	char file[PATH_MAX];
	struct stat sb;
	int ret;

	if (!r.both)
		return wse_fail(-ENOMEM, "no memory");
	if (strlen(path) > PATH_MAX - 32)
		ret = wse_fail(-ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	else if (stat(path, &sb))
		ret = wse_fail(-errno, "%s", strerror(errno));
	else if (!S_ISDIR(sb.st_mode))
		ret = from_one(&r, path);
	else if (snprintf(file, sizeof(file), "%s/tokenizer.json", path), !access(file, F_OK))
		ret = from_one(&r, file);
	else if (snprintf(file, sizeof(file), "%s/vocab.json", path), !access(file, F_OK))
		ret = from_two(&r, path);
	else
		ret = wse_fail(-ENOENT,
			       "neither tokenizer.json, vocab.json (with merges.txt) nor a "
			       "tokenizer.model of SentencePiece is there");
	free(r.tokens);
	free(r.both);
	return ret;
}
