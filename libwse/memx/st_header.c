// SPDX-License-Identifier: MIT
/* Reads the JSON header of a safetensors file: a map of flat maps. */
#include "memx/st_header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memx/st_json.h"
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
	struct st_json in;
	struct wse_st_file *f;
	uint64_t *begin; /* [nviews] first byte of each tensor's data */
	uint32_t room_views, room_meta;
	int64_t seal;
};

/* ---- what the header says ---- */

/* one more element of an array of *n, zeroed; NULL without memory */
static void *grow(struct json *j, void *array, uint32_t *n, uint32_t *room, size_t size)
{
	void **a = array;

	if (*n == *room) {
		uint32_t more = *room ? 2 * *room : 64;
		void *p = realloc(*a, more * size);

		if (!p) {
			ST_JSON_FAULT(&j->in, -ENOMEM, "no memory for its header");
			return NULL;
		}
		*a = p;
		*room = more;
	}
	return memset((char *)*a + (*n)++ * size, 0, size);
}

static void metadata(struct json *j)
{
	st_json_expect(&j->in, '{');
	if (st_json_next(&j->in, '}'))
		return;
	do {
		struct wse_st_meta m = {.key = st_json_string(&j->in)};
		struct wse_st_meta *at;

		st_json_expect(&j->in, ':');
		m.value = st_json_string(&j->in);
		if (j->in.ret)
			return;
		if (!strcmp(m.key, WSE_ST_SEAL)) {
			/* without escapes, or they are no digits of a seal */
			if (j->seal >= 0 || strlen(m.value) != WSE_ST_SEAL_LEN ||
			    j->in.p - 1 - m.value != WSE_ST_SEAL_LEN)
				st_json_damaged(&j->in);
			j->seal = m.value - j->in.text;
			continue; /* of the file, not of what it holds */
		}
		at = grow(j, &j->f->meta, &j->f->nmeta, &j->room_meta, sizeof(*at));
		if (at)
			*at = m;
	} while (st_json_next(&j->in, ','));
	st_json_expect(&j->in, '}');
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
	st_json_expect(&j->in, '[');
	if (st_json_next(&j->in, ']'))
		return; /* a scalar */
	do {
		uint64_t d = st_json_whole(&j->in);

		if (j->in.ret)
			return;
		if (t->ndim >= WSE_ST_DIMS || d > UINT32_MAX ||
		    (d && t->count > (UINT64_MAX >> 4) / d)) {
			ST_JSON_FAULT(
				&j->in, -EBADMSG,
				"the shape of %.64s is not read: more than %d dimensions, one of "
				"2^32, or 2^60 elements",
				t->name, WSE_ST_DIMS);
			return;
		}
		t->dim[t->ndim++] = (uint32_t)d;
		t->count *= d;
	} while (st_json_next(&j->in, ','));
	st_json_expect(&j->in, ']');
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
	st_json_expect(&j->in, '{');
	do {
		const char *name = st_json_string(&j->in);

		st_json_expect(&j->in, ':');
		key = !strcmp(name, "dtype")	      ? DTYPE
		      : !strcmp(name, "shape")	      ? SHAPE
		      : !strcmp(name, "data_offsets") ? OFFSETS
						      : 0;
		if (!key || have & key)
			st_json_damaged(&j->in);
		have |= key;
		if (key == DTYPE) {
			dtype = st_json_string(&j->in);
		} else if (key == SHAPE) {
			shape(j, t);
		} else {
			st_json_expect(&j->in, '[');
			*begin = st_json_whole(&j->in);
			st_json_expect(&j->in, ',');
			*end = st_json_whole(&j->in);
			st_json_expect(&j->in, ']');
		}
	} while (!j->in.ret && st_json_next(&j->in, ','));
	st_json_expect(&j->in, '}');
	size = dtype_bytes(dtype);
	if (have != ALL || *begin > *end || !*dtype || strlen(dtype) >= sizeof(t->dtype))
		st_json_damaged(&j->in);
	if (j->in.ret)
		return;
	memcpy(t->dtype, dtype, strlen(dtype) + 1);
	t->bytes = *end - *begin;
	if (size && t->bytes != t->count * size)
		ST_JSON_FAULT(&j->in, -EBADMSG,
			      "%.64s has data of %" PRIu64
			      " bytes, its shape and type need %" PRIu64,
			      t->name, t->bytes, t->count * size);
}

/* all entries; need: how many bytes of data they are about */
static void entries(struct json *j, uint64_t *need)
{
	uint32_t seen = 0, n, room = 0;

	st_json_expect(&j->in, '{');
	if (st_json_next(&j->in, '}'))
		return;
	do {
		const char *name = st_json_string(&j->in);
		struct wse_st_view *t;
		uint64_t *begin, end;

		st_json_expect(&j->in, ':');
		if (!j->in.ret && !strcmp(name, "__metadata__")) {
			if (seen++)
				ST_JSON_FAULT(&j->in, -EBADMSG,
					      "__metadata__ is in the header twice");
			metadata(j);
			continue;
		}
		if (j->in.ret)
			return;
		n = j->f->nviews;
		t = grow(j, &j->f->views, &j->f->nviews, &j->room_views, sizeof(*t));
		begin = t ? grow(j, &j->begin, &n, &room, sizeof(*begin)) : NULL;
		if (!begin)
			return;
		t->name = name;
		tensor(j, t, begin, &end);
		*need = end > *need ? end : *need;
	} while (!j->in.ret && st_json_next(&j->in, ','));
	st_json_expect(&j->in, '}');
	st_json_end(&j->in);
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
			ST_JSON_FAULT(&j->in, -EBADMSG, "%.64s is in the header twice", p[i].name);
}

/* the tensors fill the data, without overlap and hole */
static void check_places(struct json *j, struct part *p, uint64_t bytes)
{
	uint32_t n = j->f->nviews;
	uint64_t at = 0;

	qsort(p, n, sizeof(*p), by_place);
	for (uint32_t i = 0; i < n; i++) {
		if (p[i].begin < at)
			ST_JSON_FAULT(&j->in, -EBADMSG,
				      "%.64s and %.64s overlap at byte %" PRIu64 " of the data",
				      p[i - 1].name, p[i].name, p[i].begin);
		if (p[i].begin > at)
			ST_JSON_FAULT(&j->in, -EBADMSG,
				      "bytes %" PRIu64 " to %" PRIu64
				      " of the data belong to no tensor",
				      at, p[i].begin);
		at = p[i].end;
	}
	if (at != bytes)
		ST_JSON_FAULT(&j->in, -EBADMSG,
			      "the tensors need %" PRIu64 " bytes, the file has %" PRIu64, at,
			      bytes);
}

static void check(struct json *j, uint64_t data, uint64_t bytes)
{
	uint32_t n = j->f->nviews, m = j->f->nmeta;
	struct part *p = calloc((n > m ? n : m) + 1ul, sizeof(*p));

	if (!p) {
		ST_JSON_FAULT(&j->in, -ENOMEM, "no memory for its header");
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
	struct json j = {.in = {text, text, text + len, "header", 8, 0}, .f = f, .seal = -1};
	uint64_t need = 0;

	entries(&j, &need);
	if (need > bytes)
		ST_JSON_FAULT(&j.in, -EBADMSG, "cut short: needs %" PRIu64 " bytes, has %" PRIu64,
			      need + len + 8, bytes + len + 8);
	if (!j.in.ret)
		check(&j, data, bytes);
	free(j.begin);
	*seal = j.seal;
	return j.in.ret;
}
