/* SPDX-License-Identifier: MIT */
/* What the fuzzers of selftests/fuzzers share: each file is one, for libFuzzer (make fuzz). */
#ifndef WSE_FUZZ_H
#define WSE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

/* reads bytes [size], which may be anything, and returns 0; libFuzzer calls it */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* the fuzzer's finding: a line, and the end */
#define fuzz_found(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

/* 0, or -errno with a sentence */
static inline int fuzz_result(int ret)
{
	if (ret > 0 || ret < -4095)
		fuzz_found("neither 0 nor an error: %d", ret);
	if (ret && !wse_error()[0])
		fuzz_found("error %d has no sentence", ret);
	return ret;
}

/* path [64]: a name of this process in $TMPDIR (run has one in memory), else in /dev/shm */
static inline void fuzz_path(char path[64], const char *end)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, 64, "%s/wse-fuzz-%d%s", tmp ? tmp : "/dev/shm", getpid(), end);
}

/* a file in memory with these bytes, until the next call */
static inline const char *fuzz_file(const void *bytes, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		fuzz_found("no file in memory");
	return path;
}

#endif
