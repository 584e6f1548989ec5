/* SPDX-License-Identifier: MIT */
/* The one carrier of errors in words: a sentence a thread, read by wse_error(). */
#ifndef WSE_BASE_ERROR_H
#define WSE_BASE_ERROR_H

#include <stdarg.h>

#include <wse/error.h>

/* Sets this thread's sentence; returns err, so that a caller can say `return wse_sorry(...)`. */
int wse_sorry(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Grows with each of this thread's: whether a call has set one. */
unsigned int wse_sorries(void);

#endif
