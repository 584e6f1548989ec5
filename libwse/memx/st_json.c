// SPDX-License-Identifier: MIT
/* JSON where it lies. */
#include "memx/st_json.h"

#include <errno.h>
#include <string.h>

static size_t place(const struct st_json *j)
{
	return (size_t)(j->p - j->text) + j->before;
}

void st_json_damaged(struct st_json *j)
{
	ST_JSON_FAULT(j, -EBADMSG, "the %s is damaged near byte %zu", j->what, place(j));
}

static void skip_space(struct st_json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

int st_json_next(struct st_json *j, char c)
{
	skip_space(j);
	if (j->ret || j->p >= j->end || *j->p != c)
		return 0;
	j->p++;
	return 1;
}

void st_json_expect(struct st_json *j, char c)
{
	if (!st_json_next(j, c))
		st_json_damaged(j);
}

/* ---- strings ---- */

/* the four digits of a \u escape */
static uint32_t unit16(struct st_json *j)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++, j->p++) {
		uint32_t c = j->p < j->end ? (unsigned char)*j->p : 0;

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (c | 32) - 'a' + 10;
		else
			st_json_damaged(j);
	}
	return v;
}

/* what follows "\u": a character, or both halves of one beyond the first 65,536 */
static uint32_t unicode(struct st_json *j)
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
	ST_JSON_FAULT(j, -EBADMSG, "half a character (a lone surrogate) near byte %zu of the %s",
		      place(j), j->what);
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
static char *escape(struct st_json *j, char *to)
{
	static const char from[] = "\"\\/bfnrt";
	const char *begin = j->p++, *known;
	uint32_t c;

	c = j->p < j->end ? (unsigned char)*j->p++ : 0;
	known = c ? strchr(from, (int)c) : NULL;
	if (c == 'u')
		c = unicode(j);
	else if (!known)
		st_json_damaged(j);
	else if (known - from > 2)
		c = 0;
	if (j->ret)
		return to;
	if (c >= 0x20 && c != 0x7f)
		return put(to, c);
	memmove(to, begin, (size_t)(j->p - begin));
	return to + (j->p - begin);
}

char *st_json_string(struct st_json *j)
{
	char *text, *to;

	st_json_expect(j, '"');
	text = to = j->p;
	while (!j->ret) {
		unsigned char c = j->p < j->end ? (unsigned char)*j->p : 0;

		if (c == '"') {
			j->p++;
			*to = 0;
			return text;
		}
		if (c < 0x20)
			st_json_damaged(j);
		else if (c == '\\')
			to = escape(j, to);
		else
			*to++ = *j->p++;
	}
	return "";
}

/* ---- numbers ---- */

static int digit(const struct st_json *j)
{
	return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* *v = *v * 10 + d; beyond any file is as good as infinite */
static void shift(uint64_t *v, uint32_t d)
{
	*v = *v > (uint64_t)INT64_MAX / 10 - 1 ? INT64_MAX : *v * 10 + d;
}

/* digits, at least one: added to v 10^*zeros; their number */
static int64_t digits(struct st_json *j, uint64_t *v, int64_t *zeros)
{
	const char *begin = j->p;

	if (!digit(j))
		st_json_damaged(j);
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

static int64_t exponent(struct st_json *j)
{
	int64_t e = 0;
	int minus;

	if (j->p >= j->end || (*j->p | 32) != 'e')
		return 0;
	j->p++;
	minus = j->p < j->end && *j->p == '-';
	j->p += minus || (j->p < j->end && *j->p == '+');
	if (!digit(j))
		st_json_damaged(j);
	for (; digit(j); j->p++)
		e = e < INT32_MAX ? e * 10 + *j->p - '0' : e;
	return minus ? -e : e;
}

uint64_t st_json_whole(struct st_json *j)
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
		st_json_damaged(j);
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
		ST_JSON_FAULT(
			j, -EBADMSG,
			"the number before byte %zu of the %s is no whole number from 0 to 2^63",
			place(j), j->what);
	return v;
}

/* ---- values that are of no interest ---- */

void st_json_skip(struct st_json *j)
{
	uint32_t depth = 0;

	do {
		skip_space(j);
		if (j->p < j->end && *j->p == '"') {
			st_json_string(j);
		} else if (st_json_next(j, '{') || st_json_next(j, '[')) {
			depth++;
		} else if (depth && (st_json_next(j, '}') || st_json_next(j, ']'))) {
			depth--;
		} else if (depth && (st_json_next(j, ',') || st_json_next(j, ':'))) {
			;
		} else { /* a number, true, false, null */
			size_t n = strspn(j->p, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

			if (!n)
				st_json_damaged(j);
			j->p += n;
		}
	} while (depth && !j->ret);
}

void st_json_end(struct st_json *j)
{
	skip_space(j);
	if (j->p != j->end)
		st_json_damaged(j);
}
