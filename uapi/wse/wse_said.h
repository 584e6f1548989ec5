/* SPDX-License-Identifier: MIT */
/* The standard streams of a tool: what it does with them when it begins, and when it ends. */
#ifndef WSE_SAID_H
#define WSE_SAID_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * a closed one would become the number of the next file or socket that is opened, and what is
 * printed land there
 */
static inline void wse_std_open(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

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
