/* SPDX-License-Identifier: MIT */
/* Errors in words, and the version. */
#ifndef WSE_WSE_ERROR_H
#define WSE_WSE_ERROR_H

#pragma GCC visibility push(default) /* libwse.so exports what follows */
#ifdef __cplusplus
extern "C" {
#endif

/*
 * One sentence about the last call of this thread that failed: it names the thing, its value and
 * the fix. "" if none failed. It stays until the next failing call of the thread. It is meant for
 * people: programs look at the errno.
 */
const char *wse_error(void);

/* "0.1.0", of the library that is loaded. */
const char *wse_version(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* WSE_WSE_ERROR_H */
