// SPDX-License-Identifier: MIT
#include "wave.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* decimal digits up to end, nothing else */
static bool number(const char *p, const char *end, uint64_t max, uint64_t *value)
{
	if (p == end)
		return false;
	for (*value = 0; p < end; p++) {
		unsigned int digit = (unsigned int)(*p - '0');

		if (digit > 9 || *value > (max - digit) / 10)
			return false;
		*value = 10 * *value + digit;
	}
	return true;
}

static bool core(const char *p, const char *end, struct wse_wave_window *w)
{
	const char *dot = memchr(p, '.', (size_t)(end - p));
	uint64_t x, y;

	if (!dot || !number(p, dot, 65535, &x) || !number(dot + 1, end, 65535, &y))
		return false;
	w->one = true;
	w->x = (uint32_t)x;
	w->y = (uint32_t)y;
	return true;
}

static bool option(const char *p, const char *end, struct wse_wave_window *w, bool *to)
{
	const char *value = memchr(p, '=', (size_t)(end - p));
	size_t n = value ? (size_t)(value++ - p) : 0;

	if (n == 4 && !memcmp(p, "core", n))
		return core(value, end, w);
	if (n == 4 && !memcmp(p, "step", n) && end - value == 5 && !memcmp(value, "fault", 5)) {
		w->step = WSE_WAVE_FAULT;
		return true;
	}
	if (n == 4 && !memcmp(p, "step", n))
		return number(value, end, WSE_WAVE_FAULT - 1, &w->step) && w->step;
	if (n == 4 && !memcmp(p, "from", n))
		return number(value, end, UINT64_MAX / 2, &w->from);
	*to |= n == 2;
	return n == 2 && !memcmp(p, "to", n) && number(value, end, UINT64_MAX / 2, &w->to);
}

int wse_wave_parse(const char *text, struct wse_wave_window *w, char *why, size_t size)
{
	const char *end = text + strcspn(text, ",");
	bool to = false;

	*w = (struct wse_wave_window){0};
	if (end == text || (size_t)(end - text) >= sizeof(w->path) ||
	    memchr(text, '=', (size_t)(end - text)))
		return bad(why, size,
			   "a window of waves begins with its file: FILE.fst,from=0,to=10000, not "
			   "'%.80s'",
			   text);
	memcpy(w->path, text, (size_t)(end - text));
	while (*end) {
		const char *p = end + 1;

		end = p + strcspn(p, ",");
		w->named |= *p == 'f' || *p == 't';
		if (!option(p, end, w, &to))
			return bad(
				why, size,
				"'%.*s' is no part of a window of waves: from=CYCLE, to=CYCLE, "
				"core=COLUMN.ROW, and step=N or step=fault where steps are trained",
				(int)(end - p < 80 ? end - p : 80), p);
	}
	if (!to)
		w->to = w->from + WSE_WAVE_CYCLES;
	if (w->from >= w->to)
		return bad(why, size,
			   "a window of waves from cycle %" PRIu64 " to %" PRIu64
			   " is empty: to= is the cycle behind its last one, above from=",
			   w->from, w->to);
	return 0;
}

int wse_wave_on(const struct wse_wave_window *w, uint32_t rows, uint32_t cols,
		struct wse_wave *wave, char *why, size_t size)
{
	if (w->one && (w->x >= cols || w->y >= rows))
		return bad(why, size,
			   "waves of core %u.%u: it is outside the tile of %u columns and %u rows "
			   "(core=COLUMN.ROW, from 0.0 to %u.%u)",
			   w->x, w->y, cols, rows, cols - 1, rows - 1);
	*wave = (struct wse_wave){.path = w->path,
				  .from = w->from,
				  .to = w->to,
				  .core = w->one ? w->y * cols + w->x : UINT32_MAX};
	return 0;
}

void wse_wave_explain(const struct wse_wave_window *w, int err, uint64_t ran, char *why,
		      size_t size)
{
	if (err == -ENODATA)
		snprintf(why, size,
			 "the window of waves never came: the run ended at cycle %" PRIu64
			 ", before its cycle %" PRIu64 "; no %s was written",
			 ran, w->from, w->path);
	else if (err == -ENOSPC)
		snprintf(
			why, size,
			"%s could not be written whole, and is removed: the disk is full, or files "
			"may not become as large; take a shorter window, one core, or another disk",
			w->path);
	else if (err == -ENOTSUP)
		snprintf(why, size,
			 "this model has no waves: only the RTL has, where its tile was "
			 "built with TRACE=fst");
	else
		snprintf(why, size, "cannot write %s: %s", w->path, strerror(-err));
}

int wse_wave_open(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t rows,
		  uint32_t cols, const struct wse_wave_window *w, char *why, size_t size)
{
	struct wse_wave wave;
	int err = wse_wave_on(w, rows, cols, &wave, why, size);

	if (err)
		return err;
	err = ops->wave_begin(m, &wave);
	if (err)
		wse_wave_explain(w, err, 0, why, size);
	return err;
}

int wse_wave_close(const struct wse_machine_ops *ops, struct wse_machine *m,
		   const struct wse_wave_window *w, char *said, size_t size)
{
	uint64_t ran = 0;
	int err = ops->wave_end(m, &ran);

	if (err)
		wse_wave_explain(w, err, ran, said, size);
	else
		snprintf(said, size, "waves of the cycles %" PRIu64 " to %" PRIu64 " are in %s",
			 w->from, (ran < w->to ? ran : w->to) - 1, w->path);
	return err;
}
