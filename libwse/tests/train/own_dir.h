/* SPDX-License-Identifier: MIT */
/* A folder of a test's own; OWN_DIR: its template. mkdtemp(dir) makes it. */
#ifndef TEST_OWN_DIR_H
#define TEST_OWN_DIR_H

#include <stdio.h>
#include <stdlib.h>

#ifndef OWN_DIR
#define OWN_DIR "/tmp/wse-test-XXXXXX"
#endif
static char dir[] = OWN_DIR;

/* a name in it, one of four in turn */
static inline const char *in_dir(const char *name)
{
	static char path[4][512];
	static unsigned int k;
	char *p = path[k++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* with all that is in it; 0, or it stays */
static inline int dir_remove(void)
{
	char command[sizeof(dir) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

#endif
