// SPDX-License-Identifier: MIT
#include "touched.h"

#include <string.h>

void touched_unknown(struct touched *t, uint32_t offset, bool write)
{
	unsigned int i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < t->count && t->reg[i].offset != offset; i++)
		;
	if (i == t->count && i < TOUCHED_MAX)
		t->reg[t->count++].offset = offset;
	if (i == TOUCHED_MAX)
		t->more++;
	else if (write)
		t->reg[i].writes++;
	else
		t->reg[i].reads++;
	pthread_mutex_unlock(&t->lock);
}

bool touched_spins(struct touched *t, uint32_t offset, uint64_t limit)
{
	if (!t->spin || t->spin_at != offset)
		t->spin = 0;
	t->spin_at = offset;
	return ++t->spin == limit;
}

unsigned int touched_report(struct touched *t, struct wse_pci_log *log)
{
	unsigned int count;

	pthread_mutex_lock(&t->lock);
	count = t->count;
	for (unsigned int i = 0; i < t->count; i++)
		wse_pci_logf(log, "no register at 0x%x: %llu reads, %llu writes", t->reg[i].offset,
			     (unsigned long long)t->reg[i].reads,
			     (unsigned long long)t->reg[i].writes);
	if (t->more)
		wse_pci_logf(log, "%llu accesses of more registers that are not there",
			     (unsigned long long)t->more);
	pthread_mutex_unlock(&t->lock);
	return count;
}

void touched_clear(struct touched *t)
{
	pthread_mutex_lock(&t->lock);
	memset(t->reg, 0, sizeof(t->reg));
	t->count = 0;
	t->more = 0;
	t->spin = 0;
	pthread_mutex_unlock(&t->lock);
}
