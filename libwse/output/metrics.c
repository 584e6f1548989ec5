// SPDX-License-Identifier: MIT
/* metrics.csv: written as the run goes, gone on with when it is resumed. */
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "num/decimal.h"

#define OLD    "step,split,loss,learning_rate,gradient_norm,seconds"
#define HEADER OLD ",chain\n"

static int keep(struct wse_metrics *ms, const struct wse_metric *m)
{
	if (ms->n == ms->room) {
		uint32_t room = ms->room * 2 + 256;
		struct wse_metric *p = realloc(ms->m, room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		ms->m = p;
		ms->room = room;
	}
	ms->m[ms->n] = *m;
	ms->m[ms->n++].chain = NULL;
	return 0;
}

static int put(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t w = write(fd, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		text += w;
		n -= (size_t)w;
	}
	return 0;
}

/* a whole row in one write: a run that is killed leaves none that is cut short */
static int write_row(int fd, const struct wse_metric *m)
{
	char row[300], loss[32], lr[32], norm[32];
	int n = snprintf(row, sizeof(row), "%" PRIu64 ",%s%s%.*s,%s,%s,%s,%.3f,%.64s\n", m->step,
			 m->held_out ? "held_out" : "train", m->set[0] ? "/" : "",
			 WSE_METRIC_SET - 1, m->set, wse_f64_text(m->loss, loss),
			 wse_f64_text(m->lr, lr), wse_f64_text(m->norm, norm), m->seconds,
			 m->chain ? m->chain : "");

	return n < (int)sizeof(row) ? put(fd, row, (size_t)n) : -EOVERFLOW;
}

static int slurp(int fd, char **text, size_t *size)
{
	struct stat sb;
	ssize_t n = 1;

	*size = 0;
	if (fstat(fd, &sb))
		return -errno;
	*text = malloc((size_t)sb.st_size + 1);
	if (!*text)
		return -ENOMEM;
	while (n > 0 && *size < (size_t)sb.st_size) {
		n = pread(fd, *text + *size, (size_t)sb.st_size - *size, (off_t)*size);
		if (n > 0)
			*size += (size_t)n;
	}
	(*text)[*size] = 0;
	return n < 0 ? -errno : 0;
}

/* chain [65] is what m->chain points to, if there is one */
static int read_row(const char *row, struct wse_metric *m, char *chain)
{
	char split[10 + WSE_METRIC_SET];
	int n = sscanf(row, "%" SCNu64 ",%50[A-Za-z0-9_./-],%lf,%lf,%lf,%lf,%64[^\n]", &m->step,
		       split, &m->loss, &m->lr, &m->norm, &m->seconds, chain);
	const char *set = n < 6 ? NULL : strchr(split, '/');

	if (n < 6 || (set && strlen(set) > WSE_METRIC_SET))
		return -EINVAL;
	m->held_out = split[0] == 'h';
	snprintf(m->set, sizeof(m->set), "%.40s", set ? set + 1 : "");
	m->chain = n == 7 ? chain : NULL;
	return 0;
}

/* the file of a release that knew no chains, with a column for them; *text [*size] is freed */
static int add_column(char **text, size_t *size)
{
	char *now = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&now, &n);
	int ret;

	if (!f)
		return -ENOMEM;
	fputs(HEADER, f);
	for (const char *p = *text + strlen(OLD) + 1; p < *text + *size; p++) {
		if (*p == '\n')
			fputc(',', f);
		fputc(*p, f);
	}
	ret = ferror(f) ? -ENOMEM : 0;
	if (fclose(f) || ret) {
		free(now);
		return -ENOMEM;
	}
	free(*text);
	*text = now;
	*size = n;
	return 0;
}

/*
 * The rows up to `step` into memory, and to the front of text, whose new size is *size. What else
 * there is, is of steps that are made again, or was cut short.
 */
static int read_back(struct wse_metrics *ms, uint64_t step, char *text, size_t *size)
{
	size_t kept = strlen(HEADER);
	char *end = text + *size, *next;

	for (char *row = text + kept; row < end; row = next) {
		struct wse_metric m;
		char chain[65];
		int bad;

		next = memchr(row, '\n', (size_t)(end - row));
		if (!next)
			break;
		*next = 0; /* sscanf() measures its text: not all that follows, for each row */
		bad = read_row(row, &m, chain);
		*next++ = '\n';
		if (bad || m.step > step)
			continue;
		if (keep(ms, &m))
			return -ENOMEM;
		ms->seconds = m.seconds;
		memmove(text + kept, row, (size_t)(next - row));
		kept += (size_t)(next - row);
	}
	*size = kept;
	return 0;
}

/* the file as text [size], the old one or the new one at any time */
static int replace(struct wse_metrics *ms, const char *path, const char *text, size_t size)
{
	char tmp[4096];
	int fd, ret;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;
	unlink(tmp); /* of a run that was killed; a FIFO would never open */
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	ret = put(fd, text, size);
	if (!ret && (fsync(fd) || rename(tmp, path)))
		ret = -errno;
	if (ret) {
		close(fd);
		unlink(tmp);
		return ret;
	}
	close(ms->fd);
	ms->fd = fd;
	return 0;
}

/*
 * the history of an earlier run that left no checkpoint: beside the new one, as path.1, path.2, ...
 */
static int move_away(const char *path)
{
	char old[4096];

	for (int i = 1; i < 10000; i++) {
		if ((size_t)snprintf(old, sizeof(old), "%s.%d", path, i) >= sizeof(old))
			return -ENAMETOOLONG;
		if (access(old, F_OK))
			return rename(path, old) ? -errno : 0;
	}
	return -EEXIST;
}

static int open_file(struct wse_metrics *ms, const char *path)
{
	/* O_NONBLOCK: a FIFO without a reader is opened, and refused by name */
	ms->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
	return ms->fd < 0 ? -errno : 0;
}

/* *text [size] is the file's, and may become another */
static int go_on(struct wse_metrics *ms, const char *path, uint64_t step, char **text, size_t size)
{
	const size_t all = size;
	int ret = 0;

	if (!strncmp(*text, OLD "\n", strlen(OLD) + 1))
		ret = add_column(text, &size);
	else if (size && strncmp(*text, HEADER, strlen(HEADER)) && strncmp(HEADER, *text, size))
		ret = wse_fail(-EINVAL, "%.200s is there, but no history of a run: move it away",
			       path);
	if (ret)
		return ret;
	if (size < strlen(HEADER)) /* new, or killed while it was */
		return replace(ms, path, HEADER, strlen(HEADER));
	if (!step && size > strlen(HEADER)) {
		ret = move_away(path);
		close(ms->fd);
		ret = ret ? ret : open_file(ms, path);
		return ret ? ret : put(ms->fd, HEADER, strlen(HEADER));
	}
	ret = read_back(ms, step, *text, &size);
	return ret || size == all ? ret : replace(ms, path, *text, size);
}

int wse_metrics_open(struct wse_metrics *ms, const char *path, uint64_t step)
{
	char *text = NULL;
	struct stat sb;
	size_t size;
	unsigned int before = wse_failures();
	int ret;

	memset(ms, 0, sizeof(*ms));
	ms->fd = -1;
	if (!path)
		return 0;
	ret = open_file(ms, path);
	if (!ret && (fstat(ms->fd, &sb) || !S_ISREG(sb.st_mode)))
		ret = wse_fail(-EINVAL, "%.200s is no regular file: move it away", path);
	ret = ret ? ret : slurp(ms->fd, &text, &size);
	ret = ret ? ret : go_on(ms, path, step, &text, size);
	free(text);
	wse_fail_since(before, ret, "%.200s: %s", path, strerror(-ret));
	if (ret)
		wse_metrics_close(ms);
	return ret;
}

int wse_metrics_read(const char *path, int (*each)(void *ctx, const struct wse_metric *m),
		     void *ctx)
{
	FILE *f = fopen(path, "re");
	char row[400], chain[65];
	struct wse_metric m;
	int ret = 0;

	if (!f)
		return -errno;
	while (!ret && fgets(row, sizeof(row), f))
		if (strchr(row, '\n') && !read_row(row, &m, chain))
			ret = each(ctx, &m);
	if (!ret && ferror(f))
		ret = -EIO;
	fclose(f);
	return ret;
}

int wse_metrics_add(struct wse_metrics *ms, const struct wse_metric *m)
{
	int ret = keep(ms, m);

	if (!ret && ms->fd >= 0)
		ret = write_row(ms->fd, m);
	if (ret && ms->fd >= 0) {
		close(ms->fd);
		ms->fd = -1;
	}
	return ret;
}

int wse_metrics_close(struct wse_metrics *ms)
{
	int ret = ms->fd >= 0 && close(ms->fd) ? -errno : 0;

	free(ms->m);
	memset(ms, 0, sizeof(*ms));
	ms->fd = -1;
	return ret;
}
