// SPDX-License-Identifier: MIT
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* numbers of fields, by message */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
};
enum { TRACK_UUID = 1, TRACK_PROCESS = 3, TRACK_THREAD = 4 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum { INTERNED_EVENT_NAMES = 2, NAME_ID = 1, NAME_TEXT = 2 };
/* of PACKET_FLAGS: names begin anew here; names of before are used */
enum { FLAG_CLEARED = 1, FLAG_USED = 2 };

#define MESSAGE 512 /* bytes of the longest one: names are cut */

struct wse_timeline {
	FILE *f;
	pthread_mutex_t lock;
	uint32_t names;
	int begun, ret;
};

struct message {
	uint32_t n;
	uint8_t bytes[MESSAGE];
};

static void varint(struct message *m, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		m->bytes[m->n++] = (uint8_t)(v | 0x80);
	m->bytes[m->n++] = (uint8_t)v;
}

static void number(struct message *m, uint32_t field, uint64_t v)
{
	varint(m, field << 3);
	varint(m, v);
}

static void bytes(struct message *m, uint32_t field, const void *p, size_t n)
{
	varint(m, field << 3 | 2);
	varint(m, n);
	memcpy(m->bytes + m->n, p, n);
	m->n += (uint32_t)n;
}

static void text(struct message *m, uint32_t field, const char *s)
{
	bytes(m, field, s, strnlen(s, MESSAGE / 2));
}

static void part(struct message *m, uint32_t field, const struct message *p)
{
	bytes(m, field, p->bytes, p->n);
}

/* with the lock */
static void packet(struct wse_timeline *t, struct message *m)
{
	struct message head = {0};

	number(m, PACKET_SEQUENCE, 1);
	number(m, PACKET_FLAGS, t->begun ? FLAG_USED : FLAG_CLEARED | FLAG_USED);
	t->begun = 1;
	varint(&head, TRACE_PACKET << 3 | 2);
	varint(&head, m->n);
	if (t->ret)
		return;
	if (fwrite(head.bytes, 1, head.n, t->f) != head.n ||
	    fwrite(m->bytes, 1, m->n, t->f) != m->n)
		t->ret = errno ? -errno : -EIO;
}

static void put(struct wse_timeline *t, struct message *m)
{
	pthread_mutex_lock(&t->lock);
	packet(t, m);
	pthread_mutex_unlock(&t->lock);
}

int wse_timeline_create(const char *path, struct wse_timeline **out)
{
	struct wse_timeline *t = calloc(1, sizeof(*t));
	int fd = t ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1, ret;

	if (!t)
		return -ENOMEM;
	t->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!t->f) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		free(t);
		return ret;
	}
	pthread_mutex_init(&t->lock, NULL);
	*out = t;
	return 0;
}

/* as uuid; those of tracks have a thread's number in their low half */
static uint64_t uuid_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

void wse_timeline_process(struct wse_timeline *t, uint32_t pid, const char *name)
{
	struct message process = {0}, track = {0}, m = {0};

	number(&process, PROCESS_PID, pid);
	text(&process, PROCESS_NAME, name);
	number(&track, TRACK_UUID, uuid_of(pid, 0));
	part(&track, TRACK_PROCESS, &process);
	part(&m, PACKET_TRACK, &track);
	put(t, &m);
}

uint64_t wse_timeline_track(struct wse_timeline *t, uint32_t pid, uint32_t tid, const char *name)
{
	struct message thread = {0}, track = {0}, m = {0};

	number(&thread, THREAD_PID, pid);
	number(&thread, THREAD_TID, tid);
	text(&thread, THREAD_NAME, name);
	number(&track, TRACK_UUID, uuid_of(pid, tid));
	part(&track, TRACK_THREAD, &thread);
	part(&m, PACKET_TRACK, &track);
	put(t, &m);
	return uuid_of(pid, tid);
}

uint32_t wse_timeline_name(struct wse_timeline *t, const char *name)
{
	struct message entry = {0}, interned = {0}, m = {0};
	uint32_t id;

	pthread_mutex_lock(&t->lock);
	id = ++t->names;
	number(&entry, NAME_ID, id);
	text(&entry, NAME_TEXT, name);
	part(&interned, INTERNED_EVENT_NAMES, &entry);
	part(&m, PACKET_INTERNED, &interned);
	packet(t, &m);
	pthread_mutex_unlock(&t->lock);
	return id;
}

void wse_timeline_slice(struct wse_timeline *t, uint64_t track, uint32_t name, uint64_t begin,
			uint64_t end)
{
	struct message event[2] = {{0}}, m[2] = {{0}};

	number(&event[0], EVENT_TYPE, SLICE_BEGIN);
	number(&event[0], EVENT_NAME, name);
	number(&event[1], EVENT_TYPE, SLICE_END);
	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < 2; i++) {
		number(&event[i], EVENT_TRACK, track);
		number(&m[i], PACKET_TIMESTAMP, i ? end : begin);
		part(&m[i], PACKET_EVENT, &event[i]);
		packet(t, &m[i]);
	}
	pthread_mutex_unlock(&t->lock);
}

void wse_timeline_instant(struct wse_timeline *t, uint64_t track, uint32_t name, uint64_t at)
{
	struct message event = {0}, m = {0};

	number(&event, EVENT_TYPE, INSTANT);
	number(&event, EVENT_NAME, name);
	number(&event, EVENT_TRACK, track);
	number(&m, PACKET_TIMESTAMP, at);
	part(&m, PACKET_EVENT, &event);
	put(t, &m);
}

int wse_timeline_close(struct wse_timeline *t)
{
	int ret;

	if (!t)
		return 0;
	errno = 0;
	if (fclose(t->f) && !t->ret)
		t->ret = errno ? -errno : -EIO;
	ret = t->ret;
	pthread_mutex_destroy(&t->lock);
	free(t);
	return ret;
}
