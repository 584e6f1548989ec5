// SPDX-License-Identifier: MIT
/* Checkpoints by patterns of names: what an evaluation of several goes over. */
#define _GNU_SOURCE /* strverscmp() */
#include "model_dir.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct found {
	char **path;
	uint32_t n;
};

static int add(struct found *f, const char *path)
{
	char **more = realloc(f->path, (f->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->path = more;
	more[f->n] = strdup(path);
	if (!more[f->n])
		return -ENOMEM;
	f->n++;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int add_pattern(struct found *f, const char *pattern)
{
	glob_t g;
	int ret = glob(pattern, GLOB_NOSORT, NULL, &g), had = !ret;

	ret = ret == GLOB_NOSPACE ? -ENOMEM
	      : ret ? wse_fail(-ENOENT, "checkpoint %.300s: no file has such a name", pattern)
		    : 0;
	if (!ret)
		qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), by_number);
	for (size_t i = 0; !ret && i < g.gl_pathc; i++)
		ret = strlen(g.gl_pathv[i]) < WSE_MODEL_DIR_PATH
			      ? add(f, g.gl_pathv[i])
			      : wse_fail(-ENAMETOOLONG, "checkpoint %.100s...: %s", g.gl_pathv[i],
					 strerror(ENAMETOOLONG));
	if (had)
		globfree(&g);
	return ret;
}

/* all of a directory: wse_model_dir_last() gives them from the end */
static int add_dir(struct found *f, const char *dir)
{
	unsigned long long below = ULLONG_MAX;
	char path[WSE_MODEL_DIR_PATH], *swap;
	int ret = 0;

	while (!ret) {
		wse_model_dir_last(dir, below, path);
		if (!path[0])
			break;
		below = strtoull(strrchr(path, '_') + 1, NULL, 10);
		ret = add(f, path);
	}
	for (uint32_t i = 0; i < f->n / 2; i++) {
		swap = f->path[i];
		f->path[i] = f->path[f->n - 1 - i];
		f->path[f->n - 1 - i] = swap;
	}
	return ret || f->n ? ret
			   : wse_fail(-ENOENT,
				      "no checkpoint in %.200s: give --checkpoint_path, or "
				      "validate_all.ckpt_paths",
				      dir);
}

int wse_model_dir_find(const char *dir, const char *patterns, char ***paths, uint32_t *n)
{
	struct found f = {0};
	char one[WSE_PATH];
	int ret = *patterns ? 0 : add_dir(&f, dir);

	for (const char *p = patterns; *p && !ret; p += *p == '\n') {
		size_t len = strcspn(p, "\n");

		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		p += len;
		if (len >= sizeof(one))
			ret = wse_fail(-ENAMETOOLONG, "checkpoint %.100s...: %s", one,
				       strerror(ENAMETOOLONG));
		else if (len)
			ret = add_pattern(&f, one);
	}
	if (ret == -ENOMEM)
		wse_fail(ret, "no memory for names of checkpoints");
	if (ret) {
		wse_model_dir_free(f.path, f.n);
		return ret;
	}
	*paths = f.path;
	*n = f.n;
	return 0;
}

void wse_model_dir_free(char **paths, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(paths[i]);
	free(paths);
}
