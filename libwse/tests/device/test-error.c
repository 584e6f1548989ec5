// SPDX-License-Identifier: MIT
/* The carrier of errors: a sentence a thread, its context, and what is undone or carried over. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "tap.h"

static int is(const char *want)
{
	if (!strcmp(wse_error(), want))
		return 1;
	printf("# \"%s\", not \"%s\"\n", wse_error(), want);
	return 0;
}

static void *elsewhere(void *ctx)
{
	struct wse_failure *f = ctx;
	int empty = !wse_error()[0];

	wse_failure_keep(f, wse_fail(-EIO, "of the other thread"));
	f->err = empty ? f->err : 0;
	return NULL;
}

static void sentences(void)
{
	char longer[2 * WSE_SENTENCE];

	ok(!wse_error()[0] && !wse_failures(), "at first there is none");
	ok(wse_fail(-EINVAL, "rows %d", 3) == -EINVAL && is("rows 3") && wse_failures() == 1,
	   "a sentence, and the error");
	wse_fail_more(": choose %d", 4);
	ok(is("rows 3: choose 4") && wse_failures() == 1, "it goes on, and is still one");
	ok(wse_fail_in(-E2BIG, "unit %d: ", 7) == -E2BIG && is("unit 7: rows 3: choose 4"),
	   "where it happened stands before it");
	wse_fail(-EINVAL, "%s; %s", wse_error(), "so it is");
	ok(is("unit 7: rows 3: choose 4; so it is"), "the old one may be in the new one");
	wse_fail(-ENOENT, "%s: gone", "a\nname\x1b[31m");
	wse_fail_more(" %s", "for\tgood\x7f");
	ok(is("a?name?[31m: gone for?good?"), "it is one line, whatever names it has");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	wse_fail(-EINVAL, "%s", longer);
	wse_fail_more("%s", longer);
	wse_fail_in(-EINVAL, "begin ");
	ok(strlen(wse_error()) == WSE_SENTENCE - 1 && !strncmp(wse_error(), "begin xx", 8),
	   "a long one is cut off at its end");
}

static void own_words(void)
{
	unsigned int before;

	wse_fail(-EIO, "older");
	before = wse_failures();
	ok(!wse_fail_since(before, 0, "none") && is("older"), "no error, no words");
	ok(wse_fail_since(before, -ENOMEM, "no memory for %s", "it") == -ENOMEM &&
		   is("no memory for it"),
	   "an error without words is not told by those of an older one");
	before = wse_failures();
	wse_fail(-EBUSY, "its own");
	ok(wse_fail_since(before, -EBUSY, "none") == -EBUSY && is("its own"), "its own words stay");
}

static void kept(void)
{
	struct wse_failure before, other = {0};
	unsigned int count;
	pthread_t thread;

	wse_fail(-EIO, "first");
	count = wse_failures();
	wse_failure_keep(&before, -EIO);
	wse_fail(-EINVAL, "of a trial");
	wse_fail(-EINVAL, "of another one");
	ok(wse_failure_undo(&before) == -EIO && is("first") && wse_failures() == count,
	   "a trial that failed is forgotten");
	if (pthread_create(&thread, NULL, elsewhere, &other) || pthread_join(thread, NULL))
		printf("Bail out! no thread\n");
	ok(other.err == -EIO && is("first") && wse_failures() == count,
	   "a thread has its own sentence, and none at first");
	ok(wse_failure_tell(&other) == -EIO && is("of the other thread") &&
		   wse_failures() == count + 1,
	   "carried over it is this thread's");
}

int main(void)
{
	sentences();
	own_words();
	kept();
	return tap_end();
}
