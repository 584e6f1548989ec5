// SPDX-License-Identifier: MIT
/* The table by which the exact machine knows the ways that save time. */
#include <stdlib.h>

#include "cpu.h"
#include "twin/fast/opnd_copy.h"
#include "twin/fast/quick.h"
#include "twin/fast/runs/runs.h"
#include "twin/fast/vector/vector.h"
#include "twin/jit/translate.h"

static int create_part(struct twin_mesh *p)
{
	p->quick = !p->shuffle && !p->races;
	if (twin_prepared_create(p) || twin_quick_create(p))
		return -1;
	twin_translator_create(p);
	return 0;
}

static int create(struct wse_machine *m)
{
	uint32_t most = twin_opnd_copy_most(m->ncores), i;

	m->k = twin_kernels_get(0);
	for (i = 0; i < m->ncores; i++)
		m->core[i].opnd_copy_most = most;
	for (i = 0; i < m->nmesh; i++)
		if (create_part(&m->mesh[i]))
			return -1;
	return 0;
}

static void destroy(struct wse_machine *m)
{
	uint32_t i;

	twin_runs_free(m);
	for (i = 0; m->mesh && i < m->nmesh; i++) {
		twin_translator_destroy(&m->mesh[i]);
		free(m->mesh[i].quicks);
		free(m->mesh[i].checked_cache);
	}
	for (i = 0; m->core && i < m->ncores; i++)
		twin_opnd_copy_free(&m->core[i]);
}

static void memory_written(struct twin_core *c, uint32_t off, uint32_t len, uint32_t made)
{
	if (made & TWIN_PAGE_COPIED)
		twin_opnd_copy_changed(c, off, len);
	if (made & TWIN_PAGE_TEXT)
		twin_translate_written(c, off >> 2, ((off & 3) + len + 3) >> 2);
}

static struct twin_range values(struct wse_machine *m, float *v, const uint16_t *const *row,
				uint32_t nk, unsigned int nb)
{
	return m->k->values(v, row, nk, nb);
}

const struct twin_fast *twin_fast_find(void)
{
	static const struct twin_fast fast = {
		.create = create,
		.destroy = destroy,
		.issue = twin_prepared_issue,
		.check = twin_prepared_check,
		.run_vector = twin_run_vector_at_once,
		.enter_block = twin_enter_block,
		.memory_written = memory_written,
		.run_sources = twin_runs,
		.settle = twin_runs_settle,
		.values = values,
	};

	return wse_cpu_avx2() ? &fast : NULL;
}
