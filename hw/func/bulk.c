// SPDX-License-Identifier: MIT
#include "wse_func.h"

bool wse_bulk(struct wse_model *m)
{
	bool any = false;
	uint32_t c;

	for (c = 0; c < m->cols; c++)
		if (m->in[c].busy)
			any |= wse_in_inject(m, c);
	wse_fabric_drain(m);
	return any;
}

void wse_bulk_free(struct wse_model *m)
{
	(void)m;
}
