// SPDX-License-Identifier: MIT
#include "base/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

struct entry {
	const void *object;
	enum wse_handle kind;
	int busy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static uint32_t used, room;

static const char *const names[] = {[WSE_HANDLE_MODEL] = "model",
				    [WSE_HANDLE_PARAMS] = "params",
				    [WSE_HANDLE_TRAINER] = "trainer"};

/* lock is held */
static struct entry *find(const void *object)
{
	for (uint32_t i = 0; i < used; i++)
		if (table[i].object == object)
			return &table[i];
	return NULL;
}

int wse_handle_add(enum wse_handle kind, const void *object)
{
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (used == room) {
		uint32_t more = room ? 2 * room : 16;
		struct entry *t = realloc(table, more * sizeof(*t));

		if (t) {
			table = t;
			room = more;
		} else {
			ret = -ENOMEM;
		}
	}
	if (!ret)
		table[used++] = (struct entry){object, kind, 0};
	pthread_mutex_unlock(&lock);
	return ret ? wse_sorry(ret, "no memory") : 0;
}

/* lock is held */
static int look(enum wse_handle kind, const void *object, struct entry **e)
{
	*e = object ? find(object) : NULL;
	if (!object)
		return wse_sorry(-EBADF, "the %s is NULL", names[kind]);
	if (!*e)
		return wse_sorry(-EBADF, "%p is no %s: it was destroyed, or never was one", object,
				 names[kind]);
	if ((*e)->kind != kind)
		return wse_sorry(-EBADF, "%p is no %s: it is a %s", object, names[kind],
				 names[(*e)->kind]);
	return 0;
}

static int enter(enum wse_handle kind, const void *object, int remove)
{
	struct entry *e;
	int ret;

	pthread_mutex_lock(&lock);
	ret = look(kind, object, &e);
	if (!ret && e->busy)
		ret = wse_sorry(-EBUSY,
				"the %s is in another call: one thread at a time uses it, and its "
				"callbacks do not",
				names[kind]);
	if (!ret && remove)
		*e = table[--used];
	else if (!ret)
		e->busy = 1;
	/* the last one gives the table back: a program that closed everything leaves nothing */
	if (!used) {
		free(table);
		table = NULL;
		room = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

int wse_handle_enter(enum wse_handle kind, const void *object)
{
	return enter(kind, object, 0);
}

int wse_handle_remove(enum wse_handle kind, const void *object)
{
	return enter(kind, object, 1);
}

void wse_handle_leave(const void *object)
{
	struct entry *e;

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
