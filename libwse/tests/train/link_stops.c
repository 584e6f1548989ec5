// SPDX-License-Identifier: MIT
/*
 * The link of WSE_STOPS_LINK, a wse-mpi.so, on which rank WSE_STOPS_RANK stops by itself while
 * ranks say goodbye: it gets signal WSE_STOPS_SIGNAL before message WSE_STOPS_AFTER (from 0 on) of
 * kind WSE_STOPS_KIND, or where the link is closed if that kind is 0. For test-goodbye-mpi.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "swarmx/hosts_inside.h"
#include "swarmx/link.h"

static struct wse_link_ops real, ours;

static unsigned int number(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

/* the file says when */
static void stop(void)
{
	const char *path = getenv("WSE_STOPS_FILE");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		close(fd);
	raise((int)number("WSE_STOPS_SIGNAL"));
}

static int stops_send(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		      void **req)
{
	static unsigned int said;
	const struct wse_hosts_control *c = buf;

	if (tag == WSE_HOSTS_CONTROL && l->rank == number("WSE_STOPS_RANK") &&
	    c->kind == number("WSE_STOPS_KIND") && said++ == number("WSE_STOPS_AFTER"))
		stop();
	return real.send(l, to, tag, buf, bytes, req);
}

static void stops_close(struct wse_link *l)
{
	if (l->rank == number("WSE_STOPS_RANK") && !number("WSE_STOPS_KIND"))
		stop();
	real.close(l);
}

__attribute__((visibility("default"))) int wse_link_mpi(const char *release, struct wse_link **link)
{
	const char *path = getenv("WSE_STOPS_LINK");
	void *so = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	wse_link_plugin_fn make;
	int ret;

	if (!so)
		return -ENOENT;
	*(void **)&make = dlsym(so, WSE_LINK_PLUGIN);
	ret = make ? make(release, link) : -ENOENT;
	if (ret)
		return ret;
	real = *(*link)->ops;
	ours = real;
	ours.send = stops_send;
	ours.close = stops_close;
	(*link)->ops = &ours;
	return 0;
}
