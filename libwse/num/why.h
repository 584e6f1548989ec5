/* SPDX-License-Identifier: MIT */
/* Errors in words: the library never prints, it fills the caller's why [WSE_WHY]. */
#ifndef WSE_TRAIN_WHY_H
#define WSE_TRAIN_WHY_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WSE_WHY 512

/* writes the text, returns err: `return wse_why(why, -EINVAL, ...);` */
__attribute__((format(printf, 3, 4)))
static inline int wse_why(char *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, WSE_WHY, fmt, ap);
	va_end(ap);
	return err;
}

/* the sentence goes on */
__attribute__((format(printf, 2, 3)))
static inline void wse_why_add(char *why, const char *fmt, ...)
{
	size_t n = strlen(why);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why + n, WSE_WHY - n, fmt, ap);
	va_end(ap);
}

#endif
