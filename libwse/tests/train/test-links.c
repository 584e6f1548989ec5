// SPDX-License-Identifier: MIT
/* Symbolic links in a directory of text: what is read, in which order, and what is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/data.h"
#include "base/error.h"
#include "tap.h"

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0)
		perror(path);
	if (f)
		fclose(f);
}

static int look(const char *path, struct wse_data *d)
{
	struct wse_data_cfg c = {.path = path, .vocab = 256, .window = 1};
	int ret;

	alarm(60); /* a loop that is not seen has no end */
	ret = wse_data_open(&c, d);
	alarm(0);
	return ret;
}

static void reads(const char *path, const char *want, const char *what)
{
	char got[64] = "";
	struct wse_data d;
	int ret = look(path, &d);

	if (!ret) {
		for (size_t i = 0; i < d.t.ntok && i < sizeof(got) - 1; i++)
			got[i] = (char)d.t.tok[i];
		wse_data_close(&d);
	}
	ok(!strcmp(got, want), "%s: %s%s", what, got, ret ? wse_error() : "");
}

static void refuses(const char *path, int want, const char *first, const char *second)
{
	struct wse_data d;
	int ret = look(path, &d);

	ok(ret == want && strstr(wse_error(), first) && strstr(wse_error(), second), "%s",
	   wse_error());
	if (!ret)
		wse_data_close(&d);
}

static void links(void)
{
	mkdir("data", 0777);
	mkdir("data/m", 0777);
	mkdir("far", 0777);
	mkdir("far/in", 0777);
	put("data/b", "bbb ");
	put("data/m/m", "mmm ");
	put("far/y", "yyy ");
	put("far/in/w", "www ");
	put("far/.hidden", "hidden ");
	reads("data", "bbb mmm ", "no links");
	symlink("../far/y", "data/a");
	reads("data", "yyy bbb mmm ", "a link to a file, at the place of its name");
	symlink("../far", "data/c");
	reads("data", "yyy bbb www yyy mmm ", "a link to a directory, and what lies below it");
	symlink("a", "data/n");
	reads("data", "yyy bbb www yyy mmm yyy ", "a link to a link");
	symlink("../far/.hidden", "data/z");
	symlink("b", "data/.dot");
	reads("data", "yyy bbb www yyy mmm yyy hidden ",
	      "the link's name may begin with a dot or not");
	symlink("data", "all");
	reads("all", "yyy bbb www yyy mmm yyy hidden ", "the directory is a link itself");
	symlink("../m", "far/back");
	refuses("data", -ENOENT, "data/c/back: a symbolic link to ../m, which cannot be opened",
		"No such file or directory");
	unlink("far/back");
}

static void dangling(void)
{
	symlink("nowhere", "data/q");
	refuses("data", -ENOENT, "data/q: a symbolic link to nowhere, which cannot be opened",
		"mend the link or remove it");
	unlink("data/q");
	symlink("nowhere", "alone");
	refuses("alone", -ENOENT, "alone: a symbolic link to nowhere", "No such file");
	symlink("q", "data/q");
	refuses("data", -ELOOP, "data/q: a symbolic link to q", "Too many levels");
	unlink("data/q");
	symlink("/dev/zero", "data/q");
	refuses("data", -EINVAL, "data/q is neither a file nor a directory", "");
	unlink("data/q");
	mkfifo("data/q", 0600);
	reads("data", "yyy bbb www yyy mmm yyy hidden ", "what is no file, without a link");
	unlink("data/q");
}

static void loops(void)
{
	char path[32], to[32];

	symlink(".", "data/q");
	refuses("data", -ELOOP, "data/q leads back to data, in which it lies", "remove the link");
	unlink("data/q");
	symlink("../../data", "far/in/q");
	refuses("data", -ELOOP, "data/c/in/q leads back to data,", "remove the link");
	unlink("far/in/q");
	symlink("..", "far/in/q");
	refuses("data", -ELOOP, "data/c/in/q leads back to data/c,", "remove the link");

	/*
	 * No loop, and yet 88,572 links to follow from l0, of which no path has more than ten. The
	 * kernel refuses a path with more than 40, and when a file system is mounted meanwhile it
	 * walks again and counts on: a path of 21 may be refused.
	 */
	for (int i = 0; i <= 10; i++) {
		snprintf(path, sizeof(path), "l%d", i);
		mkdir(path, 0777);
		for (int j = 0; j < 3 && i < 10; j++) {
			snprintf(path, sizeof(path), "l%d/%d", i, j);
			snprintf(to, sizeof(to), "../l%d", i + 1);
			symlink(to, path);
		}
	}
	refuses("l0", -ELOOP, "more than 65536 links to directories were followed", "l0/2/0/");
	reads("data/m", "mmm ", "and a directory without them");
}

int main(void)
{
	char dir[] = "/tmp/wse-test-XXXXXX", cmd[64];

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	links();
	dangling();
	loops();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) ? 1 : tap_end();
}
