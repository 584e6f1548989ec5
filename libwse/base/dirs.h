/* SPDX-License-Identifier: MIT */
#ifndef WSE_BASE_DIRS_H
#define WSE_BASE_DIRS_H

/* Makes a directory and those above it that are missing. 0, or -errno of the one that cannot be. */
int wse_make_dirs(const char *path);

#endif
