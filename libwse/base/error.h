/* SPDX-License-Identifier: MIT */
/*
 * The one carrier of errors in words: a sentence a thread, set where the error happens, read by
 * wse_error(). What it happened to ("checkpoint X: ...") is put before it on the way up.
 */
#ifndef WSE_BASE_ERROR_H
#define WSE_BASE_ERROR_H

#include <wse/error.h>

#define WSE_SENTENCE 1024 /* bytes, terminated */

/*
 * Sets this thread's sentence; returns err, so that a caller can say `return wse_fail(...)`. The
 * arguments may be the old sentence. It is one line: wse_one_line().
 */
int wse_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The sentence goes on. */
void wse_fail_more(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Puts words before the sentence; returns err. */
int wse_fail_in(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Control characters become '?': a name may have a newline, or colour a terminal, and who prints a
 * sentence prints one line.
 */
void wse_one_line(char *text);

/* Grows with each sentence of this thread. */
unsigned int wse_failures(void);

/*
 * ret of what was called since wse_failures() was `before`: an error that left no sentence gets
 * this one, so that none is told by the words of an older one. Returns ret.
 */
int wse_fail_since(unsigned int before, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A sentence that is kept: past calls that may fail, or for another thread. */
struct wse_failure {
	int err;
	unsigned int count;
	char text[WSE_SENTENCE];
};

/* Keeps err and this thread's sentence. Returns err. */
int wse_failure_keep(struct wse_failure *f, int err);

/* What was kept is this thread's last failure. Returns its err. */
int wse_failure_tell(const struct wse_failure *f);

/*
 * Of the same thread: what failed since it was kept was a trial, or of a cleanup, and is forgotten.
 * Returns its err.
 */
int wse_failure_undo(const struct wse_failure *f);

#endif
