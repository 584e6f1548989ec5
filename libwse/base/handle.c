// SPDX-License-Identifier: MIT
#include "base/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/point.h"

struct entry {
	const void *object; /* NULL: free */
	enum wse_handle kind;
	int busy;
	int foreign; /* of the process that this one is a fork of */
};

/* An open hash table: room is a power of two and at least twice what is used and reserved. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static uint32_t used, room, reserved;
static int forks; /* are seen */

static const char *const names[] = {
	[WSE_HANDLE_MODEL] = "model",	      [WSE_HANDLE_PARAMS] = "params",
	[WSE_HANDLE_TRAINER] = "trainer",     [WSE_HANDLE_DEVICE] = "device",
	[WSE_HANDLE_BUFFER] = "buffer",	      [WSE_HANDLE_CONTEXT] = "context",
	[WSE_HANDLE_FENCE] = "fence",	      [WSE_HANDLE_PROGRAM] = "program",
	[WSE_HANDLE_TOKENIZER] = "tokenizer",
};

/* where an object should be; lock is held, room is not 0 */
static uint32_t home(const void *object)
{
	return (uint32_t)((uintptr_t)object * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);
}

/* lock is held */
static struct entry *find(const void *object)
{
	uint32_t i;

	if (!room)
		return NULL;
	for (i = home(object); table[i].object; i = (i + 1) & (room - 1))
		if (table[i].object == object)
			return &table[i];
	return NULL;
}

/* lock is held, there is room */
static void put(struct entry e)
{
	uint32_t i = home(e.object);

	while (table[i].object)
		i = (i + 1) & (room - 1);
	table[i] = e;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void behind_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * The threads behind devices and trainers do not follow into a fork, and the driver takes both
 * processes for one: what the fork destroyed would be gone for the other one.
 */
static void in_fork(void)
{
	for (uint32_t i = 0; i < room; i++)
		table[i].foreign |= table[i].kind != WSE_HANDLE_MODEL &&
				    table[i].kind != WSE_HANDLE_PARAMS &&
				    table[i].kind != WSE_HANDLE_TOKENIZER;
	pthread_mutex_unlock(&lock);
}

/* lock is held */
static int grow(void)
{
	struct entry *old = table;
	uint32_t n = room, i;

	if (!forks && pthread_atfork(before_fork, behind_fork, in_fork))
		return -ENOMEM;
	forks = 1;
	table = calloc(n ? 2 * n : 64, sizeof(*table));
	if (!table) {
		table = old;
		return -ENOMEM;
	}
	room = n ? 2 * n : 64;
	for (i = 0; i < n; i++)
		if (old[i].object)
			put(old[i]);
	free(old);
	return 0;
}

/* lock is held; those behind it move up, so that every search still ends at a free place */
static void take_out(struct entry *e)
{
	uint32_t i = (uint32_t)(e - table);
	struct entry moved;

	table[i].object = NULL;
	used--;
	for (i = (i + 1) & (room - 1); table[i].object; i = (i + 1) & (room - 1)) {
		moved = table[i];
		table[i].object = NULL;
		put(moved);
	}
}

int wse_handle_add(enum wse_handle kind, const void *object)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (2 * (used + reserved + 1) > room)
		ret = grow();
	if (!ret) {
		put((struct entry){.object = object, .kind = kind});
		used++;
	}
	pthread_mutex_unlock(&lock);
	return ret ? wse_fail(ret, "no memory") : 0;
}

int wse_handle_reserve(void)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (2 * (used + reserved + 1) > room)
		ret = grow();
	reserved += !ret;
	pthread_mutex_unlock(&lock);
	return ret ? wse_fail(ret, "no memory") : 0;
}

void wse_handle_add_reserved(enum wse_handle kind, const void *object)
{
	pthread_mutex_lock(&lock);
	reserved--;
	if (object) {
		put((struct entry){.object = object, .kind = kind});
		used++;
	}
	pthread_mutex_unlock(&lock);
}

/* lock is held */
static int look(enum wse_handle kind, const void *object, struct entry **e)
{
	*e = object ? find(object) : NULL;
	if (!object)
		return wse_fail(-EBADF, "the %s is NULL", names[kind]);
	if (!*e)
		return wse_fail(-EBADF, "%p is no %s: it was destroyed, or never was one", object,
				names[kind]);
	if ((*e)->kind != kind)
		return wse_fail(-EBADF, "%p is no %s: it is a %s", object, names[kind],
				names[(*e)->kind]);
	if ((*e)->foreign)
		return wse_fail(-EBADF,
				"the %s belongs to the process of which this one is a fork: make "
				"one here",
				names[kind]);
	return 0;
}

static int enter(enum wse_handle kind, const void *object, int remove)
{
	struct entry *e;
	int ret;

	pthread_mutex_lock(&lock);
	ret = look(kind, object, &e);
	if (!ret && e->busy)
		ret = wse_fail(-EBUSY,
			       "the %s is in another call: one thread at a time uses it, and its "
			       "callbacks do not",
			       names[kind]);
	if (!ret && remove)
		take_out(e);
	else if (!ret)
		e->busy = 1;
	/* the last one gives the table back: a program that closed everything leaves nothing */
	if (!used && !reserved) {
		free(table);
		table = NULL;
		room = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

int wse_handle_enter(enum wse_handle kind, const void *object)
{
	int ret = enter(kind, object, 0);

	/* calls of these read and write numbers as text */
	if (!ret && (kind == WSE_HANDLE_PARAMS || kind == WSE_HANDLE_TRAINER))
		wse_point_begin(object);
	return ret;
}

int wse_handle_remove(enum wse_handle kind, const void *object)
{
	return enter(kind, object, 1);
}

void wse_handle_leave(const void *object)
{
	struct entry *e;

	wse_point_end(object);
	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		e->busy = 0;
	pthread_mutex_unlock(&lock);
}

int wse_handle_check(enum wse_handle kind, const void *object)
{
	struct entry *e;
	int ret;

	pthread_mutex_lock(&lock);
	ret = look(kind, object, &e);
	pthread_mutex_unlock(&lock);
	return ret;
}
