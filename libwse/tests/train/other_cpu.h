/* SPDX-License-Identifier: MIT */
/* The same program once more, with another idea of the CPU. */
#ifndef WSE_TESTS_TRAIN_OTHER_CPU_H
#define WSE_TESTS_TRAIN_OTHER_CPU_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

/* called as `PROGRAM dir` it prints the hash of its plain run */
static inline void other_cpu(const char *dir, const char *hash)
{
	char exe[300] = "", cmd[500], got[80] = "";
	FILE *p = NULL;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0) {
		snprintf(cmd, sizeof(cmd), "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 '%s' %s",
			 exe, dir);
		p = popen(cmd, "r");
	}
	if (p && !fgets(got, sizeof(got), p))
		got[0] = 0;
	if (p)
		pclose(p);
	ok(!strncmp(got, hash, 64), "without FMA and AVX2 in glibc: the same hash");
}

#endif
