// SPDX-License-Identifier: MIT
/* wse-top: a run's picture, off its socket. The peer may be any program, so nothing is believed. */
#define _GNU_SOURCE
#include "wse-top.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST	 (64u << 20) /* bytes of a picture */
#define PATIENCE 1000	     /* ms in which it must have come */

static int numbers(const char *p, uint64_t *v, uint32_t least, uint32_t most, uint32_t *n)
{
	char *end;

	for (*n = 0; *p; p = end) {
		if (*p++ != ' ' || *p < '0' || *p > '9' || *n == most)
			return -EINVAL;
		errno = 0;
		v[(*n)++] = strtoull(p, &end, 10);
		if (errno)
			return -EINVAL;
	}
	return *n < least ? -EINVAL : 0;
}

/* finite, from 0 on but for a loss */
static int real(const char *p, double *v, uint32_t n)
{
	char *end;

	for (uint32_t i = 0; i < n; i++, p = end) {
		v[i] = *p == ' ' && p[1] > ' ' ? strtod(p + 1, &end) : NAN;
		if (!isfinite(v[i]) || end == p + 1)
			return -EINVAL;
	}
	return *p ? -EINVAL : 0;
}

/* what another process says goes to a terminal: printable ASCII alone */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		to[n++] = *from >= ' ' && *from <= '~' ? *from : '?';
	to[n] = 0;
}

static int parse_tile(struct top_device *d, const char *p)
{
	uint64_t v[3];
	uint32_t n;

	if (d->rows || numbers(p, v, 3, 3, &n) || !v[0] || !v[1] || !v[2] || v[0] > TOP_CORES ||
	    v[1] > TOP_CORES || v[0] * v[1] > TOP_CORES || v[2] > 1024)
		return -EINVAL;
	d->rows = (uint32_t)v[0];
	d->cols = (uint32_t)v[1];
	d->lanes = (uint32_t)v[2];
	return 0;
}

static int parse_counts(struct top_device *d, const char *p)
{
	uint64_t v[5];
	uint32_t n;

	if (numbers(p, v, 5, 5, &n))
		return -EINVAL;
	d->cycles = v[0];
	d->mac = v[1];
	d->cmds = v[2];
	d->rd = v[3];
	d->wr = v[4];
	return 0;
}

static int parse_map(struct top_device *d, const char *p)
{
	static const char *const names[] = {"mac", "lwait", "instret", "link"};
	uint32_t cores = d->rows * d->cols, k = 0, want, n;

	while (k < TOP_MAPS &&
	       (strncmp(p, names[k], strlen(names[k])) || p[strlen(names[k])] != ' '))
		k++;
	if (k == TOP_MAPS || !cores || d->map[k])
		return -EINVAL;
	want = k == TOP_LINK ? 4 * cores : cores;
	/* a number takes two bytes: a few bytes must not ask for much memory */
	if (strlen(p) < 2 * (size_t)want)
		return -EINVAL;
	d->map[k] = malloc(want * sizeof(*d->map[k]));
	return d->map[k] ? numbers(p + strlen(names[k]), d->map[k], want, want, &n) : -ENOMEM;
}

static int parse_device_line(struct top_look *l, const char *key, const char *p)
{
	struct top_device *d = l->ndevices ? &l->device[l->ndevices - 1] : NULL;

	if (!strcmp(key, "device")) {
		if (l->ndevices == TOP_DEVICES || *p != ' ')
			return -EINVAL;
		d = &l->device[l->ndevices++];
		copy_text(d->name, sizeof(d->name), p + 1);
		snprintf(d->holder, sizeof(d->holder), "process %ld", l->process);
		return 0;
	}
	if (!d)
		return -EINVAL;
	if (!strcmp(key, "tile"))
		return parse_tile(d, p);
	if (!strcmp(key, "counts"))
		return parse_counts(d, p);
	if (!strcmp(key, "queues"))
		return numbers(p, d->queue, 0, TOP_QUEUES, &d->nqueues);
	if (!strcmp(key, "map"))
		return *p == ' ' ? parse_map(d, p + 1) : -EINVAL;
	if (strcmp(key, "wrong") || *p != ' ' || !p[1])
		return -EINVAL;
	copy_text(d->says, sizeof(d->says), p + 1);
	return 0;
}

static int parse_line(struct top_look *l, char *text)
{
	char *p = text + strcspn(text, " "), key[16];
	double v[2];
	uint64_t n[2];
	uint32_t many;
	int ret;

	if (p == text || (size_t)(p - text) >= sizeof(key))
		return -EINVAL;
	memcpy(key, text, (size_t)(p - text));
	key[p - text] = 0;
	if (!strcmp(key, "process")) {
		ret = numbers(p, n, 1, 1, &many);
		l->process = ret || n[0] > INT32_MAX ? 0 : (long)n[0];
		return ret;
	}
	if (!strcmp(key, "step")) {
		ret = numbers(p, n, 2, 2, &many);
		l->step = ret ? 0 : n[0];
		l->max_steps = ret ? 0 : n[1];
		return ret;
	}
	if (!strcmp(key, "rate")) {
		ret = real(p, v, 2);
		l->rate = v[0];
		l->ms = v[1];
		return ret;
	}
	if (!strcmp(key, "time"))
		return real(p, &l->time, 1);
	if (!strcmp(key, "loss"))
		return real(p, &l->loss, 1);
	if (!strcmp(key, "lr"))
		return real(p, &l->lr, 1);
	if (!strcmp(key, "norm"))
		return real(p, &l->norm, 1);
	if (!strcmp(key, "spent"))
		return real(p, &l->spent, 1);
	return parse_device_line(l, key, p);
}

static int wrong(struct top_look *l, int err, const char *why)
{
	for (uint32_t i = 0; i < l->ndevices; i++)
		for (uint32_t k = 0; k < TOP_MAPS; k++)
			free(l->device[i].map[k]);
	memset(l, 0, sizeof(*l));
	snprintf(l->says, sizeof(l->says), "%s", why);
	return err;
}

int top_parse(char *text, size_t size, struct top_look *l)
{
	static const char first[] = "wse-live ";
	char *next, *end, *stop = text + size, why[100];
	uint32_t line = 1;

	if (!size)
		return wrong(l, -EPROTO, "what listens there hangs up: it is no run of wse-train");
	if (size < sizeof(first) || memcmp(text, first, sizeof(first) - 1))
		return wrong(l, -EPROTO, "what listens there is no run of wse-train");
	if (strtoul(text + sizeof(first) - 1, &end, 10) != 1 || *end != '\n')
		return wrong(l, -EPROTO,
			     "the run is of another release: take the wse-top that came with it");
	if (size < 5 || memcmp(text + size - 5, "\nend\n", 5))
		return wrong(l, -EPROTO,
			     "the picture ends in the middle: the run ended, or is none");
	l->run = 1;
	for (text = end + 1; (next = memchr(text, '\n', (size_t)(stop - text))); text = next + 1) {
		int ret;

		line++;
		*next = 0;
		if (!strcmp(text, "end"))
			return 0;
		ret = strlen(text) == (size_t)(next - text) ? parse_line(l, text) : -EINVAL;
		if (ret == -ENOMEM)
			return wrong(l, ret, "no memory for its picture");
		snprintf(why, sizeof(why), "line %u of its picture is no line of wse-live 1", line);
		if (ret)
			return wrong(l, -EPROTO, why);
	}
	return wrong(l, -EPROTO, "the picture has no end");
}

void top_look_free(struct top_look *l)
{
	for (uint32_t i = 0; l && i < l->ndevices; i++)
		for (uint32_t k = 0; k < TOP_MAPS; k++)
			free(l->device[i].map[k]);
	free(l);
}

static int64_t ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static int meet(const char *path, struct top_look *l)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(un.sun_path))
		return wrong(l, -ENAMETOOLONG, "a path of a socket has at most 107 bytes");
	memcpy(un.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return wrong(l, -errno, strerror(errno));
	if (!connect(fd, (struct sockaddr *)&un, sizeof(un)))
		return fd;
	err = errno;
	close(fd);
	return wrong(l, -err,
		     err == ENOENT ? "no run is there: start one with wse-train --live, or "
				     "it has ended"
		     : err == ECONNREFUSED
			     ? "no run listens there any more: it was killed, or this "
			       "is no socket"
		     : err == EAGAIN ? "it does not answer: too many wait there"
				     : strerror(err));
}

/* all that it says until it hangs up: *text [*size + 1] */
static int take(int fd, char **text, size_t *size, struct top_look *l)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t end = ms_now() + PATIENCE, left;
	size_t room = 0;
	ssize_t n;

	for (*size = 0;;) {
		if (*size + 1 >= room) {
			char *more = room >= MOST ? NULL : realloc(*text, room ? 2 * room : 65536);

			if (!more)
				return wrong(l, -E2BIG, "it says more than a run would");
			room = room ? 2 * room : 65536;
			*text = more;
		}
		n = recv(fd, *text + *size, room - 1 - *size, MSG_DONTWAIT);
		if (!n)
			break;
		if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNRESET)
			return wrong(l, -errno, strerror(errno));
		if (n < 0 && errno == ECONNRESET)
			break;
		*size += n > 0 ? (size_t)n : 0;
		left = end - ms_now();
		if (left <= 0)
			return wrong(l, -ETIMEDOUT,
				     "it does not answer within a second: is it stopped?");
		if (n < 0)
			poll(&p, 1, (int)left);
	}
	(*text)[*size] = 0;
	return 0;
}

void top_ask_run(const char *path, struct top_look *l)
{
	int fd = meet(path, l);
	char *text = NULL;
	size_t size;

	if (fd < 0)
		return;
	if (!take(fd, &text, &size, l))
		top_parse(text, size, l);
	free(text);
	close(fd);
}
