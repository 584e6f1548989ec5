// SPDX-License-Identifier: MIT
/*
 * Reads the JSON header of a safetensors file: a map of flat maps, so nothing here recurses. JSON
 * libraries that are about neither refuse a name that comes twice nor tell where the seal's digits
 * are.
 */
#include "memx/st_header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "num/sha256.h"

void wse_st_seal(const char *header, uint64_t len, size_t at, char *hex)
{
	static const char zeros[] = {[0 ... WSE_ST_SEAL_LEN - 1] = '0'};
	struct wse_sha256 sha;

	wse_sha256_init(&sha);
	wse_sha256_add(&sha, &len, sizeof(len));
	wse_sha256_add(&sha, header, at);
	wse_sha256_add(&sha, zeros, sizeof(zeros));
	wse_sha256_add(&sha, header + at + sizeof(zeros), (size_t)len - at - sizeof(zeros));
	wse_sha256_hex(&sha, hex);
}

struct json {
	char *text, *p, *end;
	int ret; /* the first fault; after it nothing is read */
	struct wse_st_file *f;
	uint64_t *begin; /* [nviews] first byte of each tensor's data */
	uint32_t room_views, room_meta;
	int64_t seal;
};

/* the header begins behind the eight bytes of its length */
static size_t place(const struct json *j)
{
	return (size_t)(j->p - j->text) + 8;
}

#define FAULT(j, ...)                                     \
	do {                                              \
		if (!(j)->ret)                            \
			(j)->ret = wse_fail(__VA_ARGS__); \
	} while (0)

static void damaged(struct json *j)
{
	FAULT(j, -EBADMSG, "the header is damaged near byte %zu", place(j));
}

static void skip_space(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

static int next_is(struct json *j, char c)
{
	skip_space(j);
	if (j->ret || j->p >= j->end || *j->p != c)
		return 0;
	j->p++;
	return 1;
}

static void expect(struct json *j, char c)
{
	if (!next_is(j, c))
		damaged(j);
}

/* ---- strings ---- */

/* the four digits of a \u escape */
static uint32_t unit16(struct json *j)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++, j->p++) {
		uint32_t c = j->p < j->end ? (unsigned char)*j->p : 0;

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (c | 32) - 'a' + 10;
		else
			damaged(j);
	}
	return v;
}

/* what follows "\u": a character, or both halves of one beyond the first 65,536 */
static uint32_t unicode(struct json *j)
{
	uint32_t c = unit16(j), low;

	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c < 0xdc00 && j->end - j->p > 2 && j->p[0] == '\\' && j->p[1] == 'u') {
		j->p += 2;
		low = unit16(j);
		if (low >= 0xdc00 && low <= 0xdfff)
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	FAULT(j, -EBADMSG, "half a character (a lone surrogate) near byte %zu of the header",
	      place(j));
	return 0;
}

/* UTF-8; never longer than its escape */
static char *put(char *to, uint32_t c)
{
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(lead[n - 1 ? n : 0] | c);
	return to + n;
}

/*
 * the character of an escape, at the backslash; control characters stay the escapes that they are,
 * as names are printed
 */
static char *escape(struct json *j, char *to)
{
	static const char from[] = "\"\\/bfnrt";
	const char *begin = j->p++, *known;
	uint32_t c;

	c = j->p < j->end ? (unsigned char)*j->p++ : 0;
	known = c ? strchr(from, (int)c) : NULL;
	if (c == 'u')
		c = unicode(j);
	else if (!known)
		damaged(j);
	else if (known - from > 2)
		c = 0;
	if (j->ret)
		return to;
	if (c >= 0x20 && c != 0x7f)
		return put(to, c);
	memmove(to, begin, (size_t)(j->p - begin));
	return to + (j->p - begin);
}

/* decoded where it lies; "" after a fault */
static char *string(struct json *j)
{
	char *text, *to;

	expect(j, '"');
	text = to = j->p;
	while (!j->ret) {
		unsigned char c = j->p < j->end ? (unsigned char)*j->p : 0;

		if (c == '"') {
			j->p++;
			*to = 0;
			return text;
		}
		if (c < 0x20)
			damaged(j);
		else if (c == '\\')
			to = escape(j, to);
		else
			*to++ = *j->p++;
	}
	return "";
}

/* ---- numbers ---- */

static int digit(const struct json *j)
{
	return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* *v = *v * 10 + d; beyond any file is as good as infinite */
static void shift(uint64_t *v, uint32_t d)
{
	*v = *v > (uint64_t)INT64_MAX / 10 - 1 ? INT64_MAX : *v * 10 + d;
}

/* digits, at least one: added to v 10^*zeros; their number */
static int64_t digits(struct json *j, uint64_t *v, int64_t *zeros)
{
	const char *begin = j->p;

	if (!digit(j))
		damaged(j);
	for (; digit(j); j->p++) {
		if (*j->p == '0') {
			*zeros += *v != 0;
			continue;
		}
		for (; *zeros; --*zeros)
			shift(v, 0);
		shift(v, (uint32_t)(*j->p - '0'));
	}
	return j->p - begin;
}

static int64_t exponent(struct json *j)
{
	int64_t e = 0;
	int minus;

	if (j->p >= j->end || (*j->p | 32) != 'e')
		return 0;
	j->p++;
	minus = j->p < j->end && *j->p == '-';
	j->p += minus || (j->p < j->end && *j->p == '+');
	if (!digit(j))
		damaged(j);
	for (; digit(j); j->p++)
		e = e < INT32_MAX ? e * 10 + *j->p - '0' : e;
	return minus ? -e : e;
}

/* any way of JSON to write a whole number: 12, 0e0, 1.20e1 */
static uint64_t whole_number(struct json *j)
{
	uint64_t v = 0;
	int64_t zeros = 0;  /* that follow the last digit that is none */
	int64_t behind = 0; /* digits behind the point */
	const char *begin;
	int minus;

	skip_space(j);
	minus = j->p < j->end && *j->p == '-';
	j->p += minus;
	begin = j->p;
	if (digits(j, &v, &zeros) > 1 && *begin == '0')
		damaged(j);
	if (j->p < j->end && *j->p == '.') {
		j->p++;
		behind = digits(j, &v, &zeros);
	}
	zeros += exponent(j) - behind;
	if (j->ret || !v)
		return 0;
	for (; zeros > 0 && v < INT64_MAX; zeros--)
		shift(&v, 0);
	if (minus || zeros < 0 || v == INT64_MAX)
		FAULT(j, -EBADMSG,
		      "the number before byte %zu of the header is no whole number from 0 to 2^63",
		      place(j));
	return v;
}

/* ---- what the header says ---- */

/* one more element of an array of *n, zeroed; NULL without memory */
static void *grow(struct json *j, void *array, uint32_t *n, uint32_t *room, size_t size)
{
	void **a = array;

	if (*n == *room) {
		uint32_t more = *room ? 2 * *room : 64;
		void *p = realloc(*a, more * size);

		if (!p) {
			FAULT(j, -ENOMEM, "no memory for its header");
			return NULL;
		}
		*a = p;
		*room = more;
	}
	return memset((char *)*a + (*n)++ * size, 0, size);
}

static void metadata(struct json *j)
{
	expect(j, '{');
	if (next_is(j, '}'))
		return;
	do {
		struct wse_st_meta m = {.key = string(j)};
		struct wse_st_meta *at;

		expect(j, ':');
		m.value = string(j);
		if (j->ret)
			return;
		if (!strcmp(m.key, WSE_ST_SEAL)) {
			/* without escapes, or they are no digits of a seal */
			if (j->seal >= 0 || strlen(m.value) != WSE_ST_SEAL_LEN ||
			    j->p - 1 - m.value != WSE_ST_SEAL_LEN)
				damaged(j);
			j->seal = m.value - j->text;
			continue; /* of the file, not of what it holds */
		}
		at = grow(j, &j->f->meta, &j->f->nmeta, &j->room_meta, sizeof(*at));
		if (at)
			*at = m;
	} while (next_is(j, ','));
	expect(j, '}');
}

/* bytes of an element, 0 for a type that we do not know */
static uint32_t dtype_bytes(const char *dtype)
{
	static const struct {
		char name[8];
		uint32_t bytes;
	} known[] = {{"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4},
		     {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2}, {"U16", 2},
		     {"I8", 1},	 {"U8", 1},  {"BOOL", 1}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(dtype, known[i].name))
			return known[i].bytes;
	return 0;
}

static void shape(struct json *j, struct wse_st_view *t)
{
	expect(j, '[');
	if (next_is(j, ']'))
		return; /* a scalar */
	do {
		uint64_t d = whole_number(j);

		if (j->ret)
			return;
		if (t->ndim >= WSE_ST_DIMS || d > UINT32_MAX ||
		    (d && t->count > (UINT64_MAX >> 4) / d)) {
			FAULT(j, -EBADMSG,
			      "the shape of %.64s is not read: more than %d dimensions, one of "
			      "2^32, or 2^60 elements",
			      t->name, WSE_ST_DIMS);
			return;
		}
		t->dim[t->ndim++] = (uint32_t)d;
		t->count *= d;
	} while (next_is(j, ','));
	expect(j, ']');
}

/* the tensor's first byte and the one after its last, which may lie behind the end of the file */
static void tensor(struct json *j, struct wse_st_view *t, uint64_t *begin, uint64_t *end)
{
	enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
	int have = 0, key;
	const char *dtype = "";
	uint32_t size;

	t->count = 1;
	*begin = *end = 0;
	expect(j, '{');
	do {
		const char *name = string(j);

		expect(j, ':');
		key = !strcmp(name, "dtype")	      ? DTYPE
		      : !strcmp(name, "shape")	      ? SHAPE
		      : !strcmp(name, "data_offsets") ? OFFSETS
						      : 0;
		if (!key || have & key)
			damaged(j);
		have |= key;
		if (key == DTYPE) {
			dtype = string(j);
		} else if (key == SHAPE) {
			shape(j, t);
		} else {
			expect(j, '[');
			*begin = whole_number(j);
			expect(j, ',');
			*end = whole_number(j);
			expect(j, ']');
		}
	} while (!j->ret && next_is(j, ','));
	expect(j, '}');
	size = dtype_bytes(dtype);
	if (have != ALL || *begin > *end || !*dtype || strlen(dtype) >= sizeof(t->dtype))
		damaged(j);
	if (j->ret)
		return;
	memcpy(t->dtype, dtype, strlen(dtype) + 1);
	t->bytes = *end - *begin;
	if (size && t->bytes != t->count * size)
		FAULT(j, -EBADMSG,
		      "%.64s has data of %" PRIu64 " bytes, its shape and type need %" PRIu64,
		      t->name, t->bytes, t->count * size);
}

/* all entries; need: how many bytes of data they are about */
static void entries(struct json *j, uint64_t *need)
{
	uint32_t seen = 0, n, room = 0;

	expect(j, '{');
	if (next_is(j, '}'))
		return;
	do {
		const char *name = string(j);
		struct wse_st_view *t;
		uint64_t *begin, end;

		expect(j, ':');
		if (!j->ret && !strcmp(name, "__metadata__")) {
			if (seen++)
				FAULT(j, -EBADMSG, "__metadata__ is in the header twice");
			metadata(j);
			continue;
		}
		if (j->ret)
			return;
		n = j->f->nviews;
		t = grow(j, &j->f->views, &j->f->nviews, &j->room_views, sizeof(*t));
		begin = t ? grow(j, &j->begin, &n, &room, sizeof(*begin)) : NULL;
		if (!begin)
			return;
		t->name = name;
		tensor(j, t, begin, &end);
		*need = end > *need ? end : *need;
	} while (!j->ret && next_is(j, ','));
	expect(j, '}');
	skip_space(j);
	if (j->p != j->end)
		damaged(j);
}

/* ---- what holds for all entries together ---- */

struct part {
	uint64_t begin, end;
	const char *name;
};

static int by_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->name, ((const struct part *)b)->name);
}

static void check_names(struct json *j, struct part *p, uint32_t n)
{
	qsort(p, n, sizeof(*p), by_name);
	for (uint32_t i = 1; i < n; i++)
		if (!strcmp(p[i - 1].name, p[i].name))
			FAULT(j, -EBADMSG, "%.64s is in the header twice", p[i].name);
}

/* the tensors fill the data, without overlap and hole */
static void check_places(struct json *j, struct part *p, uint64_t bytes)
{
	uint32_t n = j->f->nviews;
	uint64_t at = 0;

	qsort(p, n, sizeof(*p), by_place);
	for (uint32_t i = 0; i < n; i++) {
		if (p[i].begin < at)
			FAULT(j, -EBADMSG,
			      "%.64s and %.64s overlap at byte %" PRIu64 " of the data",
			      p[i - 1].name, p[i].name, p[i].begin);
		if (p[i].begin > at)
			FAULT(j, -EBADMSG,
			      "bytes %" PRIu64 " to %" PRIu64 " of the data belong to no tensor",
			      at, p[i].begin);
		at = p[i].end;
	}
	if (at != bytes)
		FAULT(j, -EBADMSG, "the tensors need %" PRIu64 " bytes, the file has %" PRIu64, at,
		      bytes);
}

static void check(struct json *j, uint64_t data, uint64_t bytes)
{
	uint32_t n = j->f->nviews, m = j->f->nmeta;
	struct part *p = calloc((n > m ? n : m) + 1ul, sizeof(*p));

	if (!p) {
		FAULT(j, -ENOMEM, "no memory for its header");
		return;
	}
	for (uint32_t i = 0; i < m; i++)
		p[i].name = j->f->meta[i].key;
	check_names(j, p, m);
	for (uint32_t i = 0; i < n; i++) {
		struct wse_st_view *t = &j->f->views[i];

		t->at = data + j->begin[i];
		p[i] = (struct part){j->begin[i], j->begin[i] + t->bytes, t->name};
	}
	check_names(j, p, n);
	check_places(j, p, bytes);
	free(p);
}

int wse_st_header(char *text, uint64_t len, uint64_t data, uint64_t bytes, struct wse_st_file *f,
		  int64_t *seal)
{
	struct json j = {.text = text, .p = text, .end = text + len, .f = f, .seal = -1};
	uint64_t need = 0;

	entries(&j, &need);
	if (need > bytes)
		FAULT(&j, -EBADMSG, "cut short: needs %" PRIu64 " bytes, has %" PRIu64,
		      need + len + 8, bytes + len + 8);
	if (!j.ret)
		check(&j, data, bytes);
	free(j.begin);
	*seal = j.seal;
	return j.ret;
}
