// SPDX-License-Identifier: MIT
/* The last n checkpoints of a run: KeepNCheckpoints. */
#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_step(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum { NAME = 64 };

static const char *name_of(unsigned long long step, char *name)
{
	snprintf(name, NAME, "checkpoint_%llu.safetensors", step);
	return name;
}

/* steps of the checkpoints there that have a run's names, *steps to be freed */
static int steps_in(DIR *d, uint64_t most, uint64_t **steps, size_t *n)
{
	size_t room = 0;

	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		unsigned long long step;
		char name[NAME];

		if (sscanf(e->d_name, "checkpoint_%llu", &step) != 1 || step > most ||
		    strcmp(e->d_name, name_of(step, name)))
			continue;
		if (*n == room) {
			uint64_t *p = realloc(*steps, (room = 2 * room + 16) * sizeof(*p));

			if (!p)
				return -ENOMEM;
			*steps = p;
		}
		(*steps)[(*n)++] = step;
	}
	return 0;
}

int wse_keep_checkpoints(const char *dir, uint64_t step, uint64_t n, uint32_t *removed)
{
	DIR *d = opendir(dir);
	uint64_t *steps = NULL;
	char name[NAME];
	size_t have = 0;
	int ret;

	*removed = 0;
	if (!d)
		return -errno;
	ret = steps_in(d, step, &steps, &have);
	if (have)
		qsort(steps, have, sizeof(*steps), by_step);
	/* one that cannot be removed keeps no other, or a disk would fill up */
	for (size_t i = 0; i + n < have; i++) {
		if (!unlinkat(dirfd(d), name_of(steps[i], name), 0))
			++*removed;
		else if (!ret)
			ret = -errno;
	}
	free(steps);
	closedir(d);
	return ret;
}
