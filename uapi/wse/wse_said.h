/* SPDX-License-Identifier: MIT */
/* How a tool ends that has printed what it was asked for: all of it is out, or it has failed. */
#ifndef WSE_SAID_H
#define WSE_SAID_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* the exit status: 0, or failed after a line on standard error if standard output is not whole */
static inline int wse_said(const char *tool, int failed)
{
	int err = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;

	if (!err)
		return 0;
	fprintf(stderr, "%s: standard output is not whole: %s\n", tool, strerror(err));
	return failed;
}

#endif /* WSE_SAID_H */
