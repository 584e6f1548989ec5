// SPDX-License-Identifier: MIT
/*
 * Who has the lease of a device. The driver tells it of each open file, in /proc/PID/fdinfo
 * (uapi/README.md), which only the file's owner and root can read.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "device/device.h"

static bool holds(const char *pid, const char *fd, uint64_t *busy_ns)
{
	char path[64], line[128];
	bool held = false;
	FILE *f;

	*busy_ns = 0;
	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!held && fgets(line, sizeof(line), f)) {
		sscanf(line, "drm-engine-queue: %" SCNu64, busy_ns);
		held = !strcmp(line, "wse-lease:\theld\n");
	}
	fclose(f);
	return held;
}

/* one of its files is the node, and has the lease */
static bool process_holds(const char *pid, dev_t rdev, uint64_t *busy_ns)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	bool held = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!held && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%.16s/fd/%.16s", pid, e->d_name);
		held = isdigit((unsigned char)e->d_name[0]) && !stat(path, &st) &&
		       S_ISCHR(st.st_mode) && st.st_rdev == rdev && holds(pid, e->d_name, busy_ns);
	}
	closedir(dir);
	return held;
}

int wse_accel_use(const char *node, struct wse_accel_use *use)
{
	char path[64], comm[64] = "?";
	int ret = -ENOENT;
	struct dirent *e;
	struct stat st;
	DIR *proc;
	FILE *f;

	if (stat(node, &st))
		return -errno;
	proc = opendir("/proc");
	if (!proc)
		return -errno;
	while (ret && (e = readdir(proc))) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !process_holds(e->d_name, st.st_rdev, &use->busy_ns))
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/comm", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		if (f)
			fclose(f);
		snprintf(use->who, sizeof(use->who), "%.60s (process %.16s)", comm, e->d_name);
		ret = 0;
	}
	closedir(proc);
	return ret;
}

int wse_accel_holder(const char *node, char *who, size_t len)
{
	struct wse_accel_use use;
	int ret = wse_accel_use(node, &use);

	if (!ret)
		snprintf(who, len, "%s", use.who);
	return ret;
}
