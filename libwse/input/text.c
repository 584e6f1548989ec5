// SPDX-License-Identifier: MIT
/* Reading text files, and directories in sorted order. */
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

void wse_text_free(struct wse_text *t)
{
	if (t->mapped && t->n)
		munmap(t->p, t->n);
	else if (!t->mapped)
		free(t->p);
}

int wse_text_cannot(const char *path, int err)
{
	return wse_fail(-err, "%.400s: %s", path, strerror(err));
}

static int grow(struct wse_text *t)
{
	size_t room = t->room * 2 + (1u << 20);
	unsigned char *p = realloc(t->p, room);

	if (!p)
		return -ENOMEM;
	t->p = p;
	t->room = room;
	return 0;
}

int wse_text_too_much(const char *path)
{
	return wse_fail(-EFBIG, "%.400s: more than %llu MiB of text: give a part of it", path,
			WSE_TEXT_MAX >> 20);
}

static int read_all(struct wse_text *t, int fd, const char *path)
{
	for (;;) {
		ssize_t n;

		if (t->room - t->n < 65536 && grow(t))
			return wse_text_cannot(path, ENOMEM);
		n = read(fd, t->p + t->n, t->room - t->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wse_text_cannot(path, errno);
		if (!n)
			return 0;
		t->n += (size_t)n;
		if (t->n > WSE_TEXT_MAX)
			return wse_text_too_much(path);
	}
}

static int map_all(struct wse_text *t, int fd, size_t n, const char *path)
{
	void *p = n ? mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0) : NULL;

	if (p == MAP_FAILED)
		return wse_text_cannot(path, errno);
	*t = (struct wse_text){.p = p, .n = n, .mapped = 1};
	return 0;
}

/* map: t has nothing yet, and the file is only looked at */
int wse_text_read_file(struct wse_text *t, const char *path, int map)
{
	/* O_NONBLOCK: a FIFO is opened, and refused by name */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret;
	struct stat sb;

	if (fd < 0)
		return wse_text_cannot(path, errno);
	if (fstat(fd, &sb))
		ret = wse_text_cannot(path, errno);
	else if (!S_ISREG(sb.st_mode))
		ret = wse_fail(-EINVAL,
			       "%.400s is neither a file nor a directory: give a text file, a "
			       "directory of them, or tokens (*.bin)",
			       path);
	else if (map)
		ret = map_all(t, fd, (size_t)sb.st_size, path);
	else if ((uint64_t)sb.st_size > WSE_TEXT_MAX - t->n)
		ret = wse_text_too_much(path);
	else
		ret = read_all(t, fd, path);
	close(fd);
	return ret;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not alphasort: no locale */
}

/* links may lead to a directory by many ways: 2^32 of them fit in 32 directories */
enum { DEPTH_MAX = 32, LINKS_MAX = 65536 };

int wse_text_is_link(const char *path)
{
	struct stat sb;

	return !lstat(path, &sb) && S_ISLNK(sb.st_mode);
}

int wse_text_no_target(const char *path, int err)
{
	char to[128];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = 0;
	return wse_fail(-err,
			"%.300s: a symbolic link to %s, which cannot be opened (%s): "
			"mend the link or remove it",
			path, to, strerror(err));
}

/* a directory in a directory, by a link or without one */
static int read_below(struct wse_text *t, struct wse_text_level *l, int link)
{
	int depth = 0;

	for (const struct wse_text_level *u = l->up; u; u = u->up, depth++)
		if (u->sb.st_dev == l->sb.st_dev && u->sb.st_ino == l->sb.st_ino)
			return wse_fail(-ELOOP,
					"%.220s leads back to %.200s, in which it lies: remove the "
					"link",
					l->path, u->path);
	if (depth > DEPTH_MAX)
		return wse_text_cannot(l->path, ELOOP);
	if (link && ++t->links > LINKS_MAX)
		return wse_fail(-ELOOP, "%.400s: more than %d links to directories were followed",
				l->path, LINKS_MAX);
	return wse_text_read_tree(t, l);
}

/*
 * One entry of a directory. A link is read as what it leads to, at the place of its own name. A
 * file with a NUL byte is no text and is left out; so is what is neither a file nor a directory,
 * unless a link leads to it.
 */
static int read_entry(struct wse_text *t, const struct wse_text_level *up, const char *name)
{
	size_t before = t->n;
	char sub[4096];
	struct wse_text_level l = {up, sub, {0}};
	int link, ret;

	if (name[0] == '.')
		return 0;
	if ((size_t)snprintf(sub, sizeof(sub), "%s/%s", up->path, name) >= sizeof(sub))
		return wse_text_cannot(up->path, ENAMETOOLONG);
	link = wse_text_is_link(sub);
	if (stat(sub, &l.sb))
		return link ? wse_text_no_target(sub, errno) : wse_text_cannot(sub, errno);
	if (S_ISDIR(l.sb.st_mode))
		return read_below(t, &l, link);
	if (!S_ISREG(l.sb.st_mode) && !link)
		return 0;
	ret = wse_text_read_file(t, sub, 0);
	if (!ret && t->n > before && memchr(t->p + before, 0, t->n - before)) {
		t->n = before;
		t->left_out++;
	}
	return ret;
}

int wse_text_read_tree(struct wse_text *t, const struct wse_text_level *l)
{
	struct dirent **list;
	int n, ret = 0;

	n = scandir(l->path, &list, NULL, by_name);
	if (n < 0)
		return wse_text_cannot(l->path, errno);
	for (int i = 0; i < n; i++) {
		if (!ret)
			ret = read_entry(t, l, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return ret;
}

int wse_text_is_tokens(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".bin");
}

/* what a file that is no text says it is, NULL if it does not say */
static const char *kind_of(const struct wse_text *t)
{
	static const struct {
		const char *name;
		size_t n;
		const char *magic;
	} kinds[] = {
		{"an HDF5 file", 8, "\x89HDF\r\n\x1a\n"},
		{"gzip data", 3, "\x1f\x8b\x08"}, /* two alone may be a token */
		{"zstd data", 4, "\x28\xb5\x2f\xfd"},
		{"xz data", 6,
		 "\xfd"
		 "7zXZ\0"},
		{"bzip2 data", 3, "BZh"},
		{"a zip archive", 4, "PK\3\4"},
		{"a Parquet file", 4, "PAR1"},
		{"an Arrow file", 6, "ARROW1"},
		{"a NumPy array", 6, "\x93NUMPY"},
		{"an ELF file", 4,
		 "\x7f"
		 "ELF"},
		{"a PNG picture", 4, "\x89PNG"},
		{"a PDF document", 5, "%PDF-"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (t->n >= kinds[i].n && !memcmp(t->p, kinds[i].magic, kinds[i].n))
			return kinds[i].name;
	return NULL;
}

/* text has no NUL bytes; one in 500 and more is binary data of whatever kind */
int wse_text_check(const struct wse_text *t, const char *path, int words)
{
	const char *kind = kind_of(t);
	size_t nuls = 0;

	for (size_t i = 0; i < t->n && !words; i++)
		nuls += !t->p[i];
	if (!kind && nuls && nuls >= t->n / 500)
		kind = "binary data (it has NUL bytes)";
	if (kind)
		return wse_fail(-EINVAL,
				"%.300s is %s, no text: give a text file, a directory of them, or "
				"tokens (*.bin)",
				path, kind);
	return 0;
}
