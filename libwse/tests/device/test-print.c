// SPDX-License-Identifier: MIT
/*
 * wse_printf() in a kernel and wse_program_print(): what the cores say on the twin, and the same on
 * the RTL; too much of it, a fault, damage.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wse/wse.h>
#include "tap.h"

#define ELF   "build/libwse/tests/device/print_kernel.elf"
#define CORES 4u
#define CALLS 8u /* rounds of a transcript */

struct said {
	char core[CORES][4096];
	uint32_t calls;
	bool in_order;
	uint32_t latest;
};

struct dev {
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
};

static void note(void *arg, uint32_t row, uint32_t col, const char *text)
{
	struct said *s = arg;
	uint32_t core = row * 2 + col;

	s->in_order &= core >= s->latest;
	s->latest = core;
	s->calls++;
	strncat(s->core[core], text, sizeof(s->core[core]) - 1 - strlen(s->core[core]));
}

static int take(const struct dev *d, struct said *s)
{
	memset(s, 0, sizeof(*s));
	s->in_order = true;
	return wse_program_print(d->ctx, d->prog, note, s);
}

static int run(const struct dev *d, const char *name, uint32_t a, uint32_t b, uint64_t budget)
{
	struct wse_start start = {.rows = 2, .cols = 2, .arg = {a, b}, .budget = budget};
	int ret = wse_program_symbol(d->prog, name, &start.entry);
	struct drm_wse_cmd cmd = wse_cmd_start(start);

	return ret ? ret : wse_submit_wait(d->ctx, &cmd, 1, 60000000000);
}

static int begin(struct dev *d)
{
	int ret = wse_context_create(d->dev, 0, &d->ctx);

	return ret ? ret : wse_program_load(d->ctx, ELF, &d->prog);
}

static void end(struct dev *d)
{
	wse_program_destroy(d->prog);
	wse_context_destroy(d->ctx);
}

/* the sentence of a context that is lost */
static const char *loss(const struct dev *d)
{
	return run(d, "say", 0, 0, 0) == -EIO ? wse_error() : "it is not lost";
}

static bool alike(const struct said *s, const char *text)
{
	for (uint32_t i = 0; i < CORES; i++)
		if (strcmp(s->core[i], text))
			return false;
	return true;
}

static void test_words(struct dev *d, const char *model, struct said *all)
{
	static const char rest[] = "q| 2.50|abc   |-3|    42|0.5 -1e-30 1.5 0x8000bfc0\n";
	char want[300];
	struct said s;
	bool good = true;

	ok(!run(d, "say", 0, 0, 0) && !take(d, &s) && s.calls == 12 && s.in_order,
	   "%s: three messages of each core, cores by rows", model);
	for (uint32_t i = 0; i < CORES; i++) {
		snprintf(want, sizeof(want), "core %u,%u says\n100%% of %s, %s", i % 2, i / 2,
			 i % 2 ? "east" : "west", rest);
		if (strcmp(s.core[i], want))
			printf("# %s# %s", s.core[i], want);
		good &= !strcmp(s.core[i], want);
	}
	ok(good, "%s: numbers, strings, floats, widths", model);
	*all = s;
	ok(!take(d, &s) && !s.calls, "%s: they are told once", model);
}

/* 126 words: 63 messages of two */
static void test_full(struct dev *d, const char *model)
{
	char want[4096] = "";
	struct said s;

	for (uint32_t i = 0; i < 63; i++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%u\n", i);
	ok(!run(d, "many", 63, 0, 0) && !take(d, &s) && alike(&s, want), "%s: 63 fit", model);
	strcat(want, "[37 messages more found no room in 512 bytes: #define WSE_PRINT_BYTES before "
		     "wse_print.h, or take them more often]\n");
	ok(!run(d, "many", 100, 0, 0) && !take(d, &s) && alike(&s, want),
	   "%s: of 100 that nothing takes meanwhile it keeps the first 63, and goes on", model);
	ok(!run(d, "many", 2, 0, 0) && !take(d, &s) && alike(&s, "0\n1\n"),
	   "%s: then there is room again", model);
}

static void test_damage(struct dev *d, const char *model)
{
	struct said s;
	int ret;

	ok(!run(d, "string", 0x7fffffff, 0, 0) && !take(d, &s) &&
		   alike(&s, "<(no string of the program: 0x7fffffff)>"),
	   "%s: %%s of an address that is no string", model);
	ok(!run(d, "smash", 0, 0, 0) && !take(d, &s) && alike(&s, "before"),
	   "%s: a word behind the messages does not count", model);
	ret = run(d, "smash", 1, 0x00ffffff, 0) ? 0 : take(d, &s);
	ok(ret == -EBADMSG && strstr(wse_error(), "core 1,0:") &&
		   strstr(wse_error(), "0x00ffffff") && !strcmp(s.core[0], "before") &&
		   !strcmp(s.core[3], "before"),
	   "%s: no format: %s", model, wse_error());
	ret = run(d, "smash", 0x80000000, 0, 0) ? 0 : take(d, &s);
	ok(ret == -EBADMSG && strstr(wse_error(), "2147483649 words of 126") && !s.core[1][0] &&
		   !strcmp(s.core[2], "before"),
	   "%s: a count beyond the area: %s", model, wse_error());
	ok(!run(d, "many", 1, 0, 0) && !take(d, &s) && alike(&s, "0\n"),
	   "%s: the next messages are whole", model);
}

static void test_loss(struct dev *d, const char *model)
{
	struct wse_program *other;
	struct said s;

	ok(run(d, "last", 0x90000000, 0, 0) == -EFAULT && !take(d, &s) &&
		   strstr(s.core[0], "at 0x90000000\n"),
	   "%s: what a core said before its fault", model);
	ok(strstr(loss(d), "core 0,0 stands in last at print_kernel.c:53"),
	   "%s: ... and where it stands: %s", model, loss(d));
	end(d);
	ok(!begin(d) && !take(d, &s) && !s.calls, "%s: the next context begins without it", model);
	ok(run(d, "last", 0x80008000, 0, 20000) == -ETIME && !take(d, &s) &&
		   alike(&s, "at 0x80008000\n"),
	   "%s: ... before its budget ran out", model);
	ok(strstr(loss(d), "core 0,0 stands in last at print_kernel.c:54"),
	   "%s: ... and where it stands: %s", model, loss(d));
	end(d);
	/* two programs, of which the one in the cores is the older: its words decide */
	if (!ok(!begin(d) && !wse_program_create(d->ctx, "build/firmware/linear.elf", &other),
		"%s: a context with another program in a buffer", model))
		return;
	ok(run(d, "hang", 9, 0, 20000) == -EDEADLK && !take(d, &s) &&
		   alike(&s, "waits for color 9\n"),
	   "%s: what cores said before a deadlock", model);
	ok(strstr(loss(d), "core 0,0 stands in hang at print_kernel.c:62") &&
		   strstr(loss(d), "(color 9)"),
	   "%s: a deadlock: %s", model, loss(d));
	wse_program_destroy(other);
}

static void test_misuse(struct dev *d)
{
	struct wse_program *silent;
	int ret;

	ok(wse_program_print(d->ctx, d->prog, NULL, NULL) == -EINVAL, "%s", wse_error());
	ok(wse_program_print(NULL, d->prog, note, NULL) == -EBADF &&
		   wse_program_print(d->ctx, (void *)d->ctx, note, NULL) == -EBADF,
	   "%s", wse_error());
	if (wse_program_load(d->ctx, "build/firmware/linear.elf", &silent))
		return;
	ret = wse_program_print(d->ctx, silent, note, NULL);
	ok(ret == -ENODATA && strstr(wse_error(), "linear.elf has no wse_printf()"), "%s",
	   wse_error());
	wse_program_destroy(silent);
}

/* behind a driver: the cores' memory is there after a loss, where they stand is not */
static void test_node(const char *uri)
{
	static struct said s;
	struct dev d;

	if (!ok(!wse_device_open(uri, &d.dev) && !begin(&d), "%s: the program is loaded", uri)) {
		printf("# %s\n", wse_error());
		return;
	}
	test_words(&d, uri, &s);
	ok(run(&d, "last", 0x90000000, 0, 0) == -EFAULT && !take(&d, &s) &&
		   strstr(s.core[0], "at 0x90000000\n"),
	   "%s: what a core said before its fault", uri);
	ok(!take(&d, &s) && strstr(s.core[0], "at 0x90000000\n") &&
		   strstr(loss(&d), "outside of its SRAM"),
	   "%s: it stays until the context is destroyed: %s", uri, loss(&d));
	end(&d);
	ok(!begin(&d) && !take(&d, &s) && !s.calls, "%s: the next one begins without it", uri);
	ok(run(&d, "hang", 9, 0, 20000) == -EDEADLK && !take(&d, &s) &&
		   alike(&s, "waits for color 9\n"),
	   "%s: what cores said before a deadlock", uri);
	end(&d);
	wse_device_close(d.dev);
}

static bool test_model(const char *model, struct said *all)
{
	char uri[60];
	struct dev d;

	snprintf(uri, sizeof(uri), "sim:%s,rows=2,cols=2", model);
	if (wse_device_open(uri, &d.dev)) {
		tap_skip(wse_error(), "%s", model);
		return false;
	}
	if (!ok(!begin(&d), "%s: the program is loaded", model)) {
		printf("# %s\n", wse_error());
		return false;
	}
	test_words(&d, model, all);
	test_full(&d, model);
	test_damage(&d, model);
	if (!strcmp(model, "func"))
		test_misuse(&d);
	end(&d);
	ok(!begin(&d), "%s: another context", model);
	test_loss(&d, model);
	end(&d);
	wse_device_close(d.dev);
	return true;
}

int main(void)
{
	static struct said func, rtl;
	const char *node = getenv("WSE_DEVICE");

	if (node) {
		test_node(node);
		return tap_end();
	}
	if (test_model("func", &func) && test_model("rtl", &rtl))
		ok(!memcmp(func.core, rtl.core, sizeof(func.core)) && func.calls,
		   "twin and RTL say the same, byte for byte");
	return tap_end();
}
