// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* renameat2() */
#include "export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "input/hf_config.h"
#include "memx/ckpt_image.h"
#include "memx/st_index.h"
#include "ranks.h"

enum { FILES = 9999, PATH = WSE_PATH + 128 };

struct export
{
	struct wse_session *s;
	const char *dir;
	uint64_t most;
	int whole;
	uint32_t *files;
	char tmp[PATH], real[PATH_MAX];
	struct wse_ckpt_image im;
	uint32_t *first;  /* [files + 1] tensors of each file */
	uint32_t n, file; /* files, and the one that is written */
};

/* ---- folders ---- */

static int ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && !strcmp(name + n - m, with);
}

static int is_ours(const char *name)
{
	return !strcmp(name, "config.json") || !strcmp(name, WSE_ST_INDEX) ||
	       (!strncmp(name, "model", 5) &&
		(ends(name, ".safetensors") || ends(name, ".safetensors.tmp")));
}

/* each name in it but "." and "..", until each() says not 0; -ENOENT: no folder */
static int walk(const char *dir, int (*each)(const char *dir, const char *name))
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int ret = 0;

	if (!d)
		return -errno;
	while (!ret && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			ret = each(dir, e->d_name);
	closedir(d);
	return ret;
}

static int check_one(const char *dir, const char *name)
{
	return is_ours(name)
		       ? 0
		       : wse_fail(-EEXIST, "%.300s has %.100s, which is no export's: move it away",
				  dir, name);
}

static int unlink_one(const char *dir, const char *name)
{
	char path[PATH + 300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return unlink(path) ? -errno : 0;
}

static int is_link(const char *path)
{
	struct stat sb;

	return !lstat(path, &sb) && S_ISLNK(sb.st_mode);
}

/* an export, or what is left of one; nothing else is touched, and nothing behind a link */
static int remove_export(const char *dir)
{
	int ret = is_link(dir) ? wse_fail(-ENOTDIR, "%.300s is a symbolic link: remove it", dir)
			       : walk(dir, check_one);

	ret = ret ? ret : walk(dir, unlink_one);
	ret = ret ? ret : rmdir(dir) ? -errno : 0;
	return ret == -ENOENT ? 0 : ret;
}

static int sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = fsync(fd) ? -errno : 0;
	close(fd);
	return ret;
}

/* a link leads to where the folder is wanted: that one is replaced, not the link */
static int name_folders(struct export *x)
{
	if (is_link(x->dir)) {
		if (!realpath(x->dir, x->real))
			return wse_fail(-errno,
					"a symbolic link that leads to no folder (%s): make the "
					"folder, or remove the link",
					strerror(errno));
		x->dir = x->real;
	}
	return (size_t)snprintf(x->tmp, sizeof(x->tmp), "%s.tmp", x->dir) < WSE_PATH + 64
		       ? 0
		       : -ENAMETOOLONG;
}

/* what is in tmp takes the place of dir at once */
static int take_place(struct export *x)
{
	char above[PATH];
	const char *slash = strrchr(x->dir, '/');
	int ret = 0;

	if (renameat2(AT_FDCWD, x->tmp, AT_FDCWD, x->dir, RENAME_EXCHANGE)) {
		if (errno != ENOENT && errno != EINVAL)
			return -errno;
		/* there is none, or a file system that cannot: NFS */
		if (errno == EINVAL)
			ret = remove_export(x->dir);
		if (!ret && rename(x->tmp, x->dir))
			ret = -errno;
	} else {
		ret = remove_export(x->tmp);
	}
	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - x->dir) : 1,
		 slash ? x->dir : ".");
	return ret ? ret : sync_dir(*above ? above : "/");
}

/* ---- files ---- */

static uint64_t bytes_of(const struct export *x, uint32_t i)
{
	const struct wse_st *st = &x->im.st;

	return (i < st->ntensors - st->nbytes ? sizeof(float) : 1) * st->tensors[i].count;
}

/* which tensors go into which file: in their order, each file as full as may be */
static int cut(struct export *x)
{
	uint64_t have = 0;

	x->first = calloc(x->im.st.ntensors + 1ul, sizeof(*x->first));
	if (!x->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->im.st.ntensors; i++) {
		uint64_t n = bytes_of(x, i);

		if (!x->n || have + n > x->most) {
			x->first[x->n++] = i;
			have = 0;
		}
		have += n;
	}
	x->first[x->n] = x->im.st.ntensors;
	return x->n <= FILES ? 0
			     : wse_fail(-EINVAL,
					"checkpoint.max_shard_size %" PRIu64
					" makes %u files: choose more",
					x->most, x->n);
}

static int floats(void *ctx, uint32_t i, size_t from, size_t count, float *out)
{
	const struct export *x = ctx;

	return x->im.st.floats(x->im.st.floats_ctx, x->first[x->file] + i, from, count, out);
}

static void name_file(const struct export *x, uint32_t file, char name[60])
{
	if (x->n == 1)
		snprintf(name, 60, "model.safetensors");
	else
		snprintf(name, 60, "model-%05u-of-%05u.safetensors", file + 1, x->n);
}

/* each file says whose state it has, so that files of two do not pass for one */
static int write_file(struct export *x)
{
	const uint32_t first = x->first[x->file], end = x->first[x->file + 1];
	const uint32_t all = x->im.st.ntensors - x->im.st.nbytes, masks = first > all ? first : all;
	const struct wse_st st = {.floats = floats,
				  .floats_ctx = x,
				  .meta = x->im.st.meta,
				  .nmeta = x->im.st.nmeta,
				  .tensors = x->im.st.tensors + first,
				  .ntensors = end - first,
				  .nbytes = end > masks ? end - masks : 0};
	char name[60], path[PATH + 64];

	name_file(x, x->file, name);
	snprintf(path, sizeof(path), "%s/%s", x->tmp, name);
	return wse_st_write(path, &st);
}

static int write_index(const struct export *x)
{
	const uint32_t n = x->im.st.ntensors;
	char file[60], path[PATH + 64];
	uint64_t total = 0;
	FILE *f;
	int ret;

	if (x->n == 1)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", x->tmp, WSE_ST_INDEX);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	for (uint32_t i = 0; i < n; i++)
		total += bytes_of(x, i);
	fprintf(f, "{\n  \"metadata\": {\"total_size\": %" PRIu64 "},\n  \"weight_map\": {\n",
		total);
	for (uint32_t k = 0; k < x->n; k++)
		for (uint32_t i = x->first[k]; i < x->first[k + 1]; i++) {
			name_file(x, k, file);
			fprintf(f, "    \"%s\": \"%s\"%s\n", x->im.st.tensors[i].name, file,
				i + 1 < n ? "," : "");
		}
	fputs("  }\n}\n", f);
	ret = fflush(f) || fsync(fileno(f)) ? -errno : ferror(f) ? -EIO : 0;
	if (fclose(f) && !ret)
		ret = -errno;
	return ret;
}

/* the weights alone, as transformers writes them */
static void only_weights(struct export *x, struct wse_st_meta *format)
{
	*format = (struct wse_st_meta){"format", "pt"};
	x->im.st.meta = format;
	x->im.st.nmeta = 1;
	x->im.st.ntensors = x->im.a.n;
	x->im.st.nbytes = 0;
}

static int write_all(void *ctx)
{
	struct export *x = ctx;
	struct wse_memx_cfg mc = wse_session_memx_cfg(&x->s->cfg);
	struct wse_st_meta format;
	int ret = name_folders(x), named = !ret;

	ret = ret ? ret : wse_memx_finish(x->s->memx);
	ret = ret ? ret : walk(x->dir, check_one);
	ret = named && ret == -ENOENT ? 0 : ret;
	ret = ret ? ret : remove_export(x->tmp); /* of one that was killed */
	if (!ret && mkdir(x->tmp, 0777))
		ret = -errno;
	if (!ret) {
		ret = wse_ckpt_describe(&x->im, x->s->memx, &mc, &x->s->state);
		if (!ret && !x->whole)
			only_weights(x, &format);
		ret = ret ? ret : cut(x);
		for (x->file = 0; x->file < x->n && !ret; x->file++)
			ret = write_file(x);
		ret = ret ? ret : write_index(x);
		wse_ckpt_describe_end(&x->im);
	}
	ret = ret ? ret : wse_hf_config_write(x->tmp, &x->s->cfg.model);
	ret = ret ? ret : sync_dir(x->tmp);
	ret = ret ? ret : take_place(x);
	if (ret && named)
		remove_export(x->tmp);
	*x->files = x->n;
	free(x->first);
	return ret;
}

int wse_session_export(struct wse_session *s, const char *dir, uint64_t most, int whole,
		       uint32_t *files)
{
	struct export x = {.s = s, .dir = dir, .most = most, .whole = whole, .files = files};
	unsigned int before = wse_failures();
	int ret = whole ? wse_session_check_trains(s) : 0;

	if (ret)
		return ret;
	if (!wse_hf_config_has(&s->cfg.model))
		return wse_fail(-EINVAL,
				"export %.200s: Hugging Face's transformers has no such "
				"model",
				dir);
	ret = wse_ranks_read_first(s, write_all, &x);
	wse_fail_since(before, ret, "%s", strerror(-ret));
	return ret ? wse_fail_in(ret, "export %.200s: ", dir) : 0;
}
