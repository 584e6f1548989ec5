// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <stdio.h>

#include "wse_release.h"

#define WSE_SENTENCE 1024

static _Thread_local char sentence[WSE_SENTENCE];
static _Thread_local unsigned int sentences;

const char *wse_error(void)
{
	return sentence;
}

int wse_sorry(int err, const char *fmt, ...)
{
	char text[WSE_SENTENCE]; /* the arguments may be the old sentence */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(sentence, sizeof(sentence), "%s", text);
	sentences++;
	return err;
}

unsigned int wse_sorries(void)
{
	return sentences;
}

const char *wse_version(void)
{
	return WSE_RELEASE;
}
