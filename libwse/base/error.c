// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wse_release.h"

static _Thread_local char sentence[WSE_SENTENCE];
static _Thread_local unsigned int failures;

const char *wse_error(void)
{
	return sentence;
}

void wse_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void set(const char *fmt, va_list ap)
{
	char text[WSE_SENTENCE]; /* the arguments may be the old sentence */

	vsnprintf(text, sizeof(text), fmt, ap);
	wse_one_line(text);
	memcpy(sentence, text, strlen(text) + 1);
	failures++;
}

int wse_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(fmt, ap);
	va_end(ap);
	return err;
}

void wse_fail_more(const char *fmt, ...)
{
	size_t n = strlen(sentence);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence + n, sizeof(sentence) - n, fmt, ap);
	va_end(ap);
	wse_one_line(sentence + n);
}

int wse_fail_in(int err, const char *fmt, ...)
{
	char text[WSE_SENTENCE];
	va_list ap;

	memcpy(text, sentence, sizeof(text));
	va_start(ap, fmt);
	set(fmt, ap);
	va_end(ap);
	wse_fail_more("%s", text);
	return err;
}

unsigned int wse_failures(void)
{
	return failures;
}

int wse_fail_since(unsigned int before, int ret, const char *fmt, ...)
{
	va_list ap;

	if (!ret || failures != before)
		return ret;
	va_start(ap, fmt);
	set(fmt, ap);
	va_end(ap);
	return ret;
}

int wse_failure_keep(struct wse_failure *f, int err)
{
	f->err = err;
	f->count = failures;
	memcpy(f->text, sentence, strlen(sentence) + 1);
	return err;
}

int wse_failure_tell(const struct wse_failure *f)
{
	return wse_fail(f->err, "%s", f->text);
}

int wse_failure_undo(const struct wse_failure *f)
{
	memcpy(sentence, f->text, strlen(f->text) + 1);
	failures = f->count;
	return f->err;
}

const char *wse_version(void)
{
	return WSE_RELEASE;
}
