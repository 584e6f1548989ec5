// SPDX-License-Identifier: MIT
#include "touched.h"

#include <string.h>

void touched_unknown(struct touched *t, uint32_t offset, bool write)
{
	unsigned int i;

	for (i = 0; i < t->count && t->reg[i].offset != offset; i++)
		;
	if (i == TOUCHED_MAX) {
		t->more++;
		return;
	}
	if (i == t->count)
		t->reg[t->count++].offset = offset;
	if (write)
		t->reg[i].writes++;
	else
		t->reg[i].reads++;
}

bool touched_spins(struct touched *t, uint32_t offset, uint64_t limit)
{
	if (!t->spin || t->spin_at != offset)
		t->spin = 0;
	t->spin_at = offset;
	return ++t->spin == limit;
}

void touched_report(struct touched *t, struct wse_pci_log *log)
{
	for (unsigned int i = 0; i < t->count; i++)
		wse_pci_logf(log, "no register at 0x%x: %llu reads, %llu writes", t->reg[i].offset,
			     (unsigned long long)t->reg[i].reads,
			     (unsigned long long)t->reg[i].writes);
	if (t->more)
		wse_pci_logf(log, "%llu accesses of more registers that are not there",
			     (unsigned long long)t->more);
	memset(t, 0, sizeof(*t));
}
