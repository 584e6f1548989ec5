// SPDX-License-Identifier: MIT
/* The counters of func.h: each part of the mesh counts by itself, a reader gets the sums. */
#include <string.h>

#include "twin/func.h"
#include "twin/twin.h"

void twin_ways(const struct wse_machine *m, struct twin_ways *w)
{
	uint32_t i;

	memset(w, 0, sizeof(*w));
	for (i = 0; i < m->nmesh; i++) {
		const struct twin_mesh *p = &m->mesh[i];

#define WAY_SUM(name, what) w->name += p->ways.name;
		TWIN_WAYS(WAY_SUM)
#undef WAY_SUM
	}
}

bool twin_has_ways(void)
{
	return twin_fast_find() != NULL;
}
