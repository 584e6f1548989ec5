// SPDX-License-Identifier: MIT
/* The stub's socket: a debugger, a second one, one that vanishes; addresses that do not work. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gdb/gdb.h"
#include "gdb/server.h"
#include "tap.h"

static int no_read(void *host, uint64_t iova, void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static int no_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	(void)host, (void)iova, (void)buf, (void)len;
	return -EFAULT;
}

static void no_irq(void *host, unsigned int vector)
{
	(void)host, (void)vector;
}

static void serve(struct gdb_server *v)
{
	for (unsigned int i = 0; i < 4; i++)
		gdb_serve(v, 20);
}

static int dial(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(a.sun_path, path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* a server that is stopped: its queue is full, and a connect() would wait */
static void stopped(struct gdb_stub *g)
{
	struct gdb_server *v = NULL, *w = NULL;
	char path[64];
	int fd[16], n = 0;

	snprintf(path, sizeof(path), "/tmp/test_gdb.%d", (int)getpid());
	ok(!gdb_listen(path, g, &v), "a socket");
	while (n < 16 && (fd[n] = dial(path)) >= 0)
		n++;
	alarm(10);
	ok(n > 0 && n < 16 && gdb_listen(path, g, &w) == -EADDRINUSE && !access(path, F_OK),
	   "with %d debuggers in its queue it is in use, too", n);
	alarm(0);
	while (n)
		close(fd[--n]);
	gdb_close(v);
}

static void sockets(struct gdb_stub *g)
{
	struct gdb_server *v = NULL, *w = NULL;
	char path[64], buf[128] = "";
	int one, two;

	snprintf(path, sizeof(path), "/tmp/test_gdb.%d", (int)getpid());
	ok(!gdb_listen(path, g, &v) && !strcmp(gdb_address(v), path), "a socket");
	ok(gdb_listen(path, g, &w) == -EADDRINUSE && gdb_listen("/dev/null", g, &w) == -EEXIST &&
		   gdb_listen("65536", g, &w) == -EINVAL && gdb_listen("", g, &w) == -EINVAL &&
		   gdb_listen("/no/such/folder", g, &w) == -ENOENT,
	   "not one that is in use, a file, a port that does not exist");
	ok(!gdb_listen("0", g, &w) && gdb_address(w)[0] == ':', "any port that is free");
	gdb_close(w);
	one = dial(path);
	serve(v);
	ok(gdb_has_debugger(v) && !gdb_runs(g), "a debugger stops the wafer");
	two = dial(path);
	serve(v);
	ok(read(two, buf, sizeof(buf)) > 0 && strstr(buf, "another debugger") &&
		   !read(two, buf, sizeof(buf)),
	   "a second one is told why not");
	close(two);
	if (write(one, "$qC#b4", 6) != 6)
		ok(0, "write");
	serve(v);
	memset(buf, 0, sizeof(buf));
	ok(read(one, buf, sizeof(buf)) > 0 && !strcmp(buf, "+$QC1#c5"), "the first is served: %s",
	   buf);
	close(one);
	serve(v);
	ok(!gdb_has_debugger(v) && gdb_runs(g), "it vanishes: the wafer runs");
	gdb_close(v);
	ok(access(path, F_OK), "the socket is removed");
}

int main(void)
{
	const struct wse_host_ops host = {no_read, no_write, no_irq, NULL};
	const struct wse_machine_cfg model = {.rows = 2, .cols = 2};
	struct gdb_cfg cfg = {.ops = wse_machine_find("func"), .rows = 2, .cols = 2};
	struct gdb_stub *g = NULL;

	ok(!cfg.ops->create(&model, &host, NULL, &cfg.machine) && !gdb_create(&cfg, &g), "a wafer");
	sockets(g);
	stopped(g);
	gdb_destroy(g);
	cfg.ops->destroy(cfg.machine);
	return tap_end();
}
