// SPDX-License-Identifier: MIT
/* The firmware that in-process contexts boot, and where files of the library are looked for. */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "device.h"
#include "wse_crc.h"
#include "wse_regs.h"

#define WSE_INSTALLED "/lib/firmware/wse"
#ifndef WSE_BUILD_FIRMWARE
#define WSE_BUILD_FIRMWARE "" /* what is not installed says where its build puts firmware */
#endif

/*
 * PREFIX/lib/wse of an installed copy, wherever that was moved: wse/ beside libwse.so, or lib/wse
 * beside the bin/ of a program that has the library in itself. "" if there is none
 */
static void beside_library(char *dir, size_t len)
{
	static const char *const below[] = {"wse", "../lib/wse"};
	Dl_info info;
	const char *end;
	struct stat st;

	dir[0] = 0;
	if (!dladdr((void *)beside_library, &info) || !info.dli_fname)
		return;
	end = strrchr(info.dli_fname, '/');
	for (int i = 0; end && i < 2; i++) {
		int n = snprintf(dir, len, "%.*s/%s", (int)(end - info.dli_fname), info.dli_fname,
				 below[i]);

		if (n < (int)len && !stat(dir, &st))
			return;
		dir[0] = 0;
	}
}

int wse_find_file(const char *env, const char *name, size_t len, char *path)
{
	char beside[PATH_MAX];
	const char *dirs[] = {getenv(env), WSE_BUILD_FIRMWARE, beside, WSE_INSTALLED};
	struct stat st;
	size_t i;
	int n;

	beside_library(beside, sizeof(beside));
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i] || !dirs[i][0])
			continue;
		/* what the environment names is meant: there is no falling back behind the user's
		 * back */
		if (i == 0 && (stat(dirs[i], &st) || !S_ISDIR(st.st_mode)))
			n = snprintf(path, len, "%s", dirs[i]);
		else
			n = snprintf(path, len, "%s/%s", dirs[i], name);
		if (n < 0 || (size_t)n >= len)
			return -ENAMETOOLONG;
		if (i == 0 || !stat(path, &st))
			return 0;
	}
	return -ENOENT;
}

int wse_find_config(const char *name, size_t len, char *path)
{
	char beside[PATH_MAX], file[2 * PATH_MAX], *there;
	int n;

	beside_library(beside, sizeof(beside));
	if (!*beside || !*name || strchr(name, '/') || strlen(name) > NAME_MAX)
		return -ENOENT;
	snprintf(file, sizeof(file), "%s/../../share/wse/configs/%s", beside, name);
	there = realpath(file, NULL);
	if (!there)
		return -ENOENT;
	n = snprintf(path, len, "%s", there);
	free(there);
	return (size_t)n < len ? 0 : -ENAMETOOLONG;
}

int wse_read_file(const char *path, size_t max, void **bytes, size_t *size)
{
	FILE *f = fopen(path, "rbe");
	size_t room = max + 1, n;
	struct stat sb;
	char *p;
	int ret = 0;

	if (!f)
		return -errno;
	/* one byte more than it should have, so that too large a file is seen */
	if (!fstat(fileno(f), &sb) && S_ISREG(sb.st_mode) && (uint64_t)sb.st_size < max)
		room = (size_t)sb.st_size + 1;
	p = malloc(room);
	if (!p) {
		fclose(f);
		return -ENOMEM;
	}
	errno = 0;
	n = fread(p, 1, room, f);
	if (ferror(f))
		ret = errno ? -errno : -EIO;
	else if (n > max)
		ret = -EFBIG;
	fclose(f);
	if (ret) {
		free(p);
		return ret;
	}
	*bytes = p;
	*size = n;
	return 0;
}

static int check(const char *path, const unsigned char *file, size_t size, uint32_t abi_minor)
{
	const struct wse_fw *h = (const struct wse_fw *)file;
	uint32_t entry;

	if (size < sizeof(*h) || h->magic != WSE_FW_MAGIC) {
		return wse_fail(-ENOEXEC,
				"%s is no firmware of a wafer: set WSE_FIRMWARE to a wse-fw.bin",
				path);
	}
	if (h->abi_major != WSE_ABI_MAJOR || h->abi_minor > abi_minor) {
		return wse_fail(
			-EOPNOTSUPP,
			"%s needs ABI %u.%u, the device has %u.%u: use firmware and device of one "
			"release",
			path, h->abi_major, h->abi_minor, WSE_ABI_MAJOR, abi_minor);
	}
	entry = h->entry - WSE_SRAM_BASE;
	if (h->bytes != size - sizeof(*h) || !h->bytes || h->bytes % 8 ||
	    h->bytes > WSE_ARGS_OFFSET || entry >= h->bytes || entry % 4 || h->resv[0] ||
	    h->resv[1] || wse_crc32(file + sizeof(*h), h->bytes) != h->crc) {
		return wse_fail(-ENOEXEC, "%s is damaged: build or install it again", path);
	}
	return 0;
}

int wse_firmware_read(uint32_t abi_minor, struct wse_firmware_image *image)
{
	const struct wse_fw *h;
	char path[4096];
	void *file;
	size_t size;
	int ret;

	ret = wse_find_file("WSE_FIRMWARE", "wse-fw.bin", sizeof(path), path);
	if (ret) {
		return wse_fail(
			-ENOENT,
			"there is no firmware wse-fw.bin: set WSE_FIRMWARE to it or put it into %s",
			WSE_INSTALLED);
	}
	ret = wse_read_file(path, sizeof(struct wse_fw) + WSE_SRAM_BYTES, &file, &size);
	if (ret) {
		return wse_fail(
			ret == -EFBIG ? -ENOEXEC : ret,
			"the firmware %s cannot be read: %s; set WSE_FIRMWARE to a wse-fw.bin",
			path, strerror(-ret));
	}
	ret = check(path, file, size, abi_minor);
	if (ret) {
		free(file);
		return ret;
	}
	h = file;
	image->size = h->bytes;
	image->entry = h->entry;
	image->version = h->version;
	memmove(file, (char *)file + sizeof(*h), image->size);
	image->bytes = file;
	return 0;
}
