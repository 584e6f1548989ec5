// SPDX-License-Identifier: MIT
/*
 * gdb=SOCKET of a device in process: a debugger holds a kernel that libwse runs, and its time with
 * it; results and cycles stay. One that vanishes, one too many, garbage, a device that is closed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <wse/wse.h>
#include "gdb/tests/gdb_client.h"
#include "tap.h"

#define ELF	"build/libwse/tests/device/print_kernel.elf"
#define LIMIT	300000000ll /* ns that a run may take; ASan's, of the RTL, too */
#define BEYOND	400000	    /* us, more than that */
#define TIMEOUT 60000000000ll

static char dir[] = "/tmp/test-gdb.XXXXXX", address[64];

/* a user of the device with a thread of its own */
struct user {
	struct wse_device *dev;
	struct wse_context *ctx;
	struct wse_program *prog;
	uint32_t say; /* the kernel */
	pthread_t thread;
	int64_t limit;
	int ret;
	char said[2048];
	uint32_t cycles;
};

static void note(void *arg, uint32_t row, uint32_t col, const char *text)
{
	struct user *u = arg;

	(void)row, (void)col;
	strncat(u->said, text, sizeof(u->said) - 1 - strlen(u->said));
}

static void *begin(void *arg)
{
	struct user *u = arg;

	u->ret = wse_context_create(u->dev, 0, &u->ctx);
	u->ret = u->ret ? u->ret : wse_program_load(u->ctx, ELF, &u->prog);
	u->ret = u->ret ? u->ret : wse_program_symbol(u->prog, "say", &u->say);
	return NULL;
}

/* the kernel once, on all cores */
static void *run(void *arg)
{
	struct user *u = arg;
	struct wse_start start = {.entry = u->say, .rows = 2, .cols = 2, .arg = {7}};
	struct drm_wse_cmd cmd = wse_cmd_start(start);
	struct wse_fence *fence;
	uint32_t from, to;

	u->said[0] = 0;
	u->ret = wse_submit(u->ctx, &cmd, 1, NULL, 0, &fence);
	if (u->ret)
		return NULL;
	u->ret = wse_fence_wait(fence, u->limit);
	u->ret = u->ret ? u->ret : wse_fence_cycles(fence, &from, &to);
	wse_fence_destroy(fence);
	u->cycles = u->ret ? 0 : to - from;
	u->ret = u->ret ? u->ret : wse_program_print(u->ctx, u->prog, note, u);
	return NULL;
}

static void aside(struct user *u, void *(*what)(void *), int64_t limit)
{
	u->limit = limit;
	if (pthread_create(&u->thread, NULL, what, u))
		abort();
}

static int await(struct user *u)
{
	pthread_join(u->thread, NULL);
	return u->ret;
}

static int open_device(const char *model, const char *gdb, struct user *u)
{
	char uri[160];

	memset(u, 0, sizeof(*u));
	snprintf(uri, sizeof(uri), "sim:%s,rows=2,cols=2%s%s", model, gdb ? ",gdb=" : "",
		 gdb ? gdb : "");
	return wse_device_open(uri, &u->dev);
}

static void close_device(struct user *u)
{
	wse_program_destroy(u->prog);
	wse_context_destroy(u->ctx);
	wse_device_close(u->dev);
}

static void test_addresses(void)
{
	static const char *const bad[] = {"", "0", "65536"};
	struct user u, other;

	for (unsigned int i = 0; i < 3; i++)
		ok(open_device("func", bad[i], &u) == -EINVAL &&
			   strstr(wse_error(), "no option, or out of range"),
		   "%s", wse_error());
	ok(open_device("func", "/no/such/folder/gdb", &u) == -ENOENT &&
		   strstr(wse_error(), "gdb=/no/such/folder/gdb"),
	   "%s", wse_error());
	if (!ok(!open_device("func", address, &u), "a device that a debugger never comes to"))
		return;
	ok(open_device("func", address, &other) == -EADDRINUSE &&
		   strstr(wse_error(), "give each its own"),
	   "%s", wse_error());
	wse_device_close(u.dev);
	ok(access(address, F_OK), "... can be closed, and its socket is gone");
}

/* no debugger: what the kernel says, and its cycles */
static bool plain(const char *model, struct user *u)
{
	if (open_device(model, NULL, u))
		return false;
	begin(u);
	u->limit = TIMEOUT;
	if (!u->ret)
		run(u);
	ok(!u->ret && u->said[0], "%s without a debugger", model);
	close_device(u);
	return true;
}

static bool same(const struct user *a, const struct user *b, const char *model)
{
	/* the twin's device goes on while nothing waits, the RTL's does not */
	return !strcmp(a->said, b->said) && (strcmp(model, "rtl") || a->cycles == b->cycles);
}

/* a breakpoint in the kernel, which holds it for longer than it may take; the debugger goes on */
static void test_breakpoint(int fd, struct user *u, const struct user *want, const char *model)
{
	char packet[40];

	if (send(fd, "\3", 1, 0) != 1)
		ok(false, "send");
	ok(!strncmp(gdb_hear(fd), "T02", 3), "%s: Ctrl-C stops a wafer that has nothing to do",
	   model);
	snprintf(packet, sizeof(packet), "Z0,%x,4", u->say);
	ok(!strcmp(gdb_ask(fd, packet), "OK"), "%s: a breakpoint in the kernel", model);
	gdb_send_packet(fd, "vCont;c");
	aside(u, run, LIMIT);
	ok(strstr(gdb_hear(fd), "swbreak:;") != NULL, "%s: it is hit", model);
	usleep(BEYOND);
	snprintf(packet, sizeof(packet), "%02x%02x%02x80", u->say & 0xff, u->say >> 8 & 0xff,
		 u->say >> 16 & 0xff);
	ok(!strcmp(gdb_ask(fd, "p20"), packet), "%s: pc is the kernel's", model);
	gdb_send_packet(fd, "vCont;c");
	ok(!await(u) && same(u, want, model),
	   "%s: what was held does not count as time, and it says the same in %u cycles (%u)",
	   model, u->cycles, want->cycles);
	/* again, and the debugger vanishes */
	aside(u, run, TIMEOUT);
	ok(strstr(gdb_hear(fd), "swbreak:;") != NULL, "%s: and again", model);
	close(fd);
	ok(!await(u) && same(u, want, model), "%s: the debugger vanishes: the kernel goes on",
	   model);
}

static void test_others(struct user *u, const struct user *want, const char *model)
{
	static const char junk[] = "$$#zz$m80000000,ffffffffff#00\3\377$vCont;#";
	int one = gdb_dial(address), two;

	ok(!strncmp(gdb_ask(one, "?"), "T05", 3), "%s: another one comes", model);
	two = gdb_dial(address);
	ok(strstr(gdb_hear(two), "another debugger is connected") != NULL,
	   "%s: a third is told that there is one", model);
	close(two);
	aside(u, run, TIMEOUT);
	for (unsigned int i = 0; i < 100; i++)
		if (send(one, junk, sizeof(junk), MSG_NOSIGNAL) < 0)
			break;
	close(one);
	ok(!await(u) && same(u, want, model), "%s: garbage, and it is gone: the kernel runs",
	   model);
}

static void test_model(const char *model)
{
	struct user want, u;
	int fd;

	if (!plain(model, &want)) {
		tap_skip(wse_error(), "%s", model);
		return;
	}
	if (!ok(!open_device(model, address, &u), "%s: a device with gdb=", model))
		return;
	aside(&u, begin, 0);
	fd = gdb_dial(address);
	ok(strstr(gdb_ask(fd, "qSupported:swbreak+"), "swbreak+") && !u.ctx,
	   "%s: a debugger comes, and nothing has run yet", model);
	gdb_send_packet(fd, "vCont;c");
	if (!ok(!await(&u), "%s: it lets time pass: the context is there", model))
		printf("# %s\n", wse_error());
	test_breakpoint(fd, &u, &want, model);
	test_others(&u, &want, model);
	fd = gdb_dial(address);
	gdb_ask(fd, "?");
	gdb_send_packet(fd, "vCont;c");
	close_device(&u);
	ok(!strcmp(gdb_hear(fd), "W00") && !*gdb_hear(fd) && access(address, F_OK),
	   "%s: the device is closed, which the debugger hears before its connection ends", model);
	close(fd);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(address, sizeof(address), "%s/gdb", dir);
	test_addresses();
	test_model("func");
	test_model("rtl");
	rmdir(dir);
	return tap_end();
}
