// SPDX-License-Identifier: MIT
#include "base/dirs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

int wse_make_dirs(const char *dir)
{
	char path[PATH_MAX];

	if (!*dir || snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return *dir ? -ENAMETOOLONG : -ENOENT;
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			return -errno;
		*p = c;
		if (!c)
			return 0;
	}
}
