// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "train/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "base/point.h"
#include "train/ranks.h"
#include "train/session.h"
#include "wse_regs.h"

#define SHARE	200  /* of the time a picture may take one part */
#define PATIENT 1000 /* ms that a peer may take to read */

struct live_address {
	struct sockaddr_un un;
	dev_t dev;
	ino_t ino;
};

struct wse_live {
	struct live_address at;
	int listener, wake;
	pthread_t thread;
	pthread_mutex_t lock;
	char *text; /* the newest picture */
	size_t size;
	/* of the trainer's thread, nanoseconds: when it was opened, the last step's end, no picture
	 * before due; what the pictures have taken since */
	uint64_t begin, last, due, spent;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the picture ---- */

static int counters(struct wse_device *dev, uint32_t scope, uint32_t object, uint64_t *v)
{
	uint32_t n;

	memset(v, 0, WSE_CNT_MAX * sizeof(*v));
	return wse_device_counters(dev, scope, object, v, WSE_CNT_MAX, &n);
}

/* the place of a counter among those of its scope */
static uint32_t place(uint32_t scope, const char *name)
{
	const struct wse_counter *c;
	uint32_t i;

	for (i = 0; (c = wse_counter(scope, i)) && strcmp(c->name, name); i++)
		;
	return i;
}

static void put_map(FILE *f, const char *name, const uint64_t *v, uint32_t n)
{
	fprintf(f, "map %s", name);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, " %" PRIu64, v[i]);
	fputc('\n', f);
}

/* what wse-run --heat shows of a tile; links of a core: n, e, s, w */
static int put_maps(FILE *f, struct wse_device *dev, uint32_t cores)
{
	static const char *const names[] = {"mac", "lwait", "instret"};
	uint64_t v[WSE_CNT_MAX], *map = calloc((size_t)cores, 4 * sizeof(*map));
	uint32_t at[3], link = place(DRM_WSE_SCOPE_LINK, "link");
	int ret = map ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < 3; k++)
		at[k] = place(DRM_WSE_SCOPE_CORE, names[k]);
	for (uint32_t i = 0; i < cores && !ret; i++) {
		ret = counters(dev, DRM_WSE_SCOPE_CORE, i, v);
		for (uint32_t k = 0; k < 3 && !ret; k++)
			map[k * cores + i] = v[at[k]];
	}
	for (uint32_t k = 0; k < 3 && !ret; k++)
		put_map(f, names[k], map + (size_t)k * cores, cores);
	for (uint32_t i = 0; i < 4 * cores && !ret; i++) {
		ret = counters(dev, DRM_WSE_SCOPE_LINK, i, v);
		map[i] = v[link];
	}
	if (!ret)
		put_map(f, "link", map, 4 * cores);
	free(map);
	return ret;
}

static int put_device(FILE *f, struct wse_device *dev)
{
	struct drm_wse_info info;
	uint64_t v[WSE_CNT_MAX];
	int ret = wse_device_info(dev, &info);

	ret = ret ? ret : counters(dev, DRM_WSE_SCOPE_TILE, 0, v);
	if (ret)
		return ret;
	fprintf(f, "tile %u %u %u\n", info.rows, info.cols, info.lanes);
	fprintf(f, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		v[WSE_CNT_CYCLES], v[WSE_CNT_MAC], v[WSE_CNT_CMDS], v[WSE_CNT_DMA_RD],
		v[WSE_CNT_DMA_WR]);
	fputs("queues", f);
	for (uint32_t q = 0; q <= info.queues && !ret; q++) { /* 0: the admin queue */
		ret = counters(dev, DRM_WSE_SCOPE_QUEUE, q, v);
		fprintf(f, " %" PRIu64, v[0]);
	}
	fputc('\n', f);
	return ret ? ret : put_maps(f, dev, info.rows * info.cols);
}

/* a device that says nothing has a line that says so: what is on the way is cut off there */
static void put_devices(FILE *f, const struct wse_session *s)
{
	struct wse_failure before;

	wse_failure_keep(&before, 0);
	for (uint32_t i = 0; i < wse_swarm_size(s->swarm); i++) {
		struct wse_device *dev = wse_swarm_device(s->swarm, i);
		struct wse_exec_info info;

		if (wse_swarm_name(s->swarm, i, &info))
			fprintf(f, "device %u\nwrong the device has failed\n", i);
		else if (!dev)
			fprintf(f, "device %s\nwrong no counters: this is no wafer\n", info.name);
		else if (fprintf(f, "device %s\n", wse_device_uri(dev)), put_device(f, dev))
			fprintf(f, "wrong %s\n", wse_error());
	}
	wse_failure_undo(&before);
}

static void picture(struct wse_live *l, const struct wse_session *s, const struct wse_event *e,
		    uint64_t max_steps)
{
	uint64_t t = now();
	char *text = NULL, *old;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return; /* the older one stays */
	fprintf(f,
		"wse-live 1\nprocess %ld\ntime %.3f\nstep %" PRIu64 " %" PRIu64 "\nloss %.17g\n"
		"lr %.9g\nnorm %.9g\nrate %.9g %.9g\nspent %.6f\n",
		(long)getpid(), 1e-9 * (double)(t - l->begin), e->step, max_steps, e->loss, e->lr,
		e->norm, e->rate, e->ms, 1e-9 * (double)l->spent);
	put_devices(f, s);
	fputs("end\n", f);
	if (fclose(f)) {
		free(text);
		return;
	}
	pthread_mutex_lock(&l->lock);
	old = l->text;
	l->text = text;
	l->size = size;
	pthread_mutex_unlock(&l->lock);
	free(old);
	l->due = now() + SHARE * (now() - t);
}

void wse_live_step(struct wse_live *l, struct wse_session *s, const struct wse_event *e,
		   uint64_t max_steps)
{
	struct wse_event step = *e;
	uint64_t t = l ? now() : 0;

	if (!l)
		return;
	if (step.ms <= 0.0) {
		step.ms = 1e-6 * (double)(t - l->last);
		step.rate = (double)s->cfg.batch / (1e-3 * step.ms + 1e-9);
	}
	if (t >= l->due) {
		picture(l, s, &step, max_steps);
		l->spent += now() - t;
	}
	l->last = now();
}

void wse_live_result(struct wse_session *s, const struct wse_step_result *r)
{
	const struct wse_event e = {
		.step = wse_session_step(s), .loss = r->loss, .lr = r->lr, .norm = r->norm};

	wse_live_step(s->live, s, &e, 0);
}

/* ---- the socket ---- */

/* to a peer that may not read, or has gone */
static void give(int fd, const char *text, size_t size)
{
	const uint64_t end = now() + PATIENT * 1000000ull;
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	ssize_t n;

	while (size) {
		n = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		} else if (now() >= end || poll(&p, 1, 50) < 0) {
			return;
		}
	}
}

static void serve(struct wse_live *l)
{
	int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
	char *text;
	size_t size;

	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			poll(NULL, 0, 50); /* no descriptor is free: the peer waits, too */
		return;
	}
	pthread_mutex_lock(&l->lock);
	size = l->size;
	text = malloc(size);
	if (text)
		memcpy(text, l->text, size);
	pthread_mutex_unlock(&l->lock);
	if (text)
		give(fd, text, size);
	free(text);
	close(fd);
}

static void *server(void *arg)
{
	struct wse_live *l = arg;
	struct pollfd p[2] = {{.fd = l->wake, .events = POLLIN},
			      {.fd = l->listener, .events = POLLIN}};

	wse_point_begin(l);
	while (!p[0].revents) {
		if (poll(p, 2, -1) < 0)
			p[0].revents = p[1].revents = 0;
		else if (!p[0].revents && p[1].revents)
			serve(l);
	}
	wse_point_end(l);
	return NULL;
}

/* a socket on which no process listens is of a run that was killed */
static int make_room(const struct live_address *at)
{
	struct stat st;
	int fd, err;

	if (lstat(at->un.sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return wse_fail(-EEXIST, "live socket %s: a file is there: give another path",
				at->un.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return wse_fail(-errno, "live socket: %s", strerror(errno));
	err = connect(fd, (const struct sockaddr *)&at->un, sizeof(at->un)) ? errno : 0;
	close(fd);
	if (err == ECONNREFUSED && !unlink(at->un.sun_path))
		return 0;
	return wse_fail(-EADDRINUSE,
			"live socket %s: another process listens there: give another path",
			at->un.sun_path);
}

static int listen_at(struct wse_live *l)
{
	const char *path = l->at.un.sun_path;
	struct stat st;
	int ret = make_room(&l->at);

	if (ret)
		return ret;
	l->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->listener < 0 ||
	    bind(l->listener, (const struct sockaddr *)&l->at.un, sizeof(l->at.un)))
		return wse_fail(-errno, "live socket %s: %s", path, strerror(errno));
	/* the run is its user's; nothing connects before it listens */
	if (chmod(path, 0600) || stat(path, &st) || listen(l->listener, 8)) {
		ret = -errno;
		unlink(path);
		return wse_fail(ret, "live socket %s: %s", path, strerror(-ret));
	}
	l->at.dev = st.st_dev;
	l->at.ino = st.st_ino;
	return 0;
}

static int start(struct wse_live *l)
{
	sigset_t all, before;
	int ret;

	l->wake = eventfd(0, EFD_CLOEXEC);
	if (l->wake < 0)
		return wse_fail(-errno, "live socket: %s", strerror(errno));
	/* signals are for the program's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = -pthread_create(&l->thread, NULL, server, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret ? wse_fail(ret, "live socket: no thread: %s", strerror(-ret)) : 0;
}

static int name_socket(struct wse_live *l, const struct wse_session *s, const char *path)
{
	struct sockaddr_un *un = &l->at.un;
	uint32_t rank = s->ranks ? wse_ranks_rank(s->ranks) : 0;
	int n;

	un->sun_family = AF_UNIX;
	n = rank ? snprintf(un->sun_path, sizeof(un->sun_path), "%s.%u", path, rank)
		 : snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	if (n > 0 && (size_t)n < sizeof(un->sun_path))
		return 0;
	return wse_fail(n ? -ENAMETOOLONG : -EINVAL,
			n ? "live socket %.120s: a path of a socket has at most %zu bytes"
			  : "live socket \"%.120s\": it needs a path of 1 to %zu bytes",
			path, sizeof(un->sun_path) - 1);
}

static void unlink_own(const struct live_address *at)
{
	struct stat st;

	if (!lstat(at->un.sun_path, &st) && st.st_dev == at->dev && st.st_ino == at->ino)
		unlink(at->un.sun_path);
}

static void fini(struct wse_live *l)
{
	if (l->at.ino)
		unlink_own(&l->at);
	if (l->listener >= 0)
		close(l->listener);
	if (l->wake >= 0)
		close(l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l->text);
	free(l);
}

int wse_live_open(struct wse_session *s, const char *path, struct wse_live **live)
{
	const struct wse_event none = {.step = wse_session_step(s)};
	struct wse_live *l = calloc(1, sizeof(*l));
	int ret;

	if (!l)
		return wse_fail(-ENOMEM, "live socket: no memory");
	l->listener = l->wake = -1;
	pthread_mutex_init(&l->lock, NULL);
	ret = name_socket(l, s, path);
	if (!ret) {
		l->begin = l->last = now();
		picture(l, s, &none, 0);
		l->due = 0; /* the first step has one, whatever this one took */
		ret = l->text ? listen_at(l) : wse_fail(-ENOMEM, "live socket: no memory");
	}
	ret = ret ? ret : start(l);
	if (ret)
		fini(l);
	else
		*live = l;
	return ret;
}

void wse_live_close(struct wse_live *l)
{
	const uint64_t one = 1;

	if (!l)
		return;
	/* an eventfd takes a 1; the thread ends by it */
	while (write(l->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(l->thread, NULL);
	fini(l);
}
