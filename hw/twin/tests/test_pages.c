// SPDX-License-Identifier: MIT
/*
 * Where cores and their SRAMs lie: all within what was mapped, each SRAM at a cache line and an odd
 * number of lines behind the one before, zero when a device is new; on huge pages if they fill one.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dev.h"
#include "twin/twin.h"

/* what the kernel says of the mapping at p (VmFlags of smaps); "": nothing */
static void flags_of(const void *p, char *flags, int size)
{
	unsigned long from, to;
	FILE *f = fopen("/proc/self/smaps", "r");
	bool there = false;
	char line[512];

	*flags = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			there = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (there && !strncmp(line, "VmFlags:", 8))
			snprintf(flags, (size_t)size, "%s", line);
	}
	if (f)
		fclose(f);
}

static uint32_t misplaced(const struct wse_machine *m)
{
	const uint8_t *from = m->map, *to = from + m->mapped, *sram;
	uint32_t bad = (const uint8_t *)m->core < from || (uintptr_t)m->core % 64;

	for (uint32_t i = 0; i < m->ncores; i++) {
		sram = m->core[i].sram;
		bad += sram < (const uint8_t *)(m->core + m->ncores) ||
		       sram + WSE_SRAM_BYTES > to || (uintptr_t)sram % 64;
		bad += i && (sram - m->core[i - 1].sram < (ptrdiff_t)WSE_SRAM_BYTES ||
			     (sram - m->core[i - 1].sram) / 64 % 2 == 0);
		for (uint32_t k = 0; k < WSE_SRAM_BYTES; k++)
			bad += sram[k] != 0;
	}
	return bad;
}

static void tile(uint32_t rows, uint32_t cols, bool huge)
{
	char flags[512];
	uint32_t bad = 0;
	struct dev d;

	for (int twice = 0; twice < 2; twice++) {
		dev_open(&d, "func", rows, cols);
		bad += misplaced(d.m);
		flags_of(d.m->core, flags, sizeof(flags));
		for (uint32_t i = 0; i < d.m->ncores; i++)
			memset(d.m->core[i].sram, 1, WSE_SRAM_BYTES);
		dev_close(&d);
	}
	ok(!bad, "%ux%u cores: each SRAM where it should be, zero when the device is new", rows,
	   cols);
	if (!*flags || access("/sys/kernel/mm/transparent_hugepage", F_OK))
		ok(true, "huge pages # SKIP this kernel has none");
	else
		ok(!strstr(flags, " hg") == !huge, "they %s huge pages",
		   huge ? "ask for" : "do not fill, nor ask for,");
}

int main(void)
{
	const uint32_t core = sizeof(struct twin_core) + WSE_SRAM_BYTES + 64;
	const uint32_t fill = ((2u << 20) + core - 1) / core; /* a huge page */

	tile(4, 4, false);
	tile(1, fill - 1, false);
	tile(1, fill, true);
	tile(12, 4, true);
	tile(16, 12, true);
	return tap_end();
}
