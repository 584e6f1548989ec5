// SPDX-License-Identifier: MIT
/* What is allocated, by kind; tests/train/test-memory.c holds the sum against a run's peak. */
#include "train/memory.h"

#include <stdio.h>
#include <string.h>

#include "exec/exec.h"

/* of a core: SRAM, state, decoded and translated code of a kernel that runs */
#define TWIN_CORE (121u << 10)
/* libraries, tables, stacks of threads */
#define PROCESS (10u << 20)

/* buffers of a unit's gradient: what waits in the tree on each device, one that is made */
static uint64_t buffers(uint32_t micro_batches, uint32_t devices)
{
	uint64_t n = 1;

	devices = devices < micro_batches ? devices : micro_batches;
	for (uint64_t all = devices; all < micro_batches; all *= 2)
		n++;
	/* and the sum of the last step, which stays until the next one is taken */
	return devices * n + 1;
}

/* as in slots.c: in slots, or of a whole step; logits of one micro-batch */
static uint64_t io_bytes(const struct wse_model *model, const struct wse_plan *p, uint32_t devices)
{
	const struct wse_graph *g = &p->graph;
	uint64_t job = 0, jobs = model->family->leaf ? devices * WSE_EXEC_AHEAD : p->micro_batches;

	for (uint32_t i = 0; i < g->nin; i++)
		job += g->in[i].bytes;
	for (uint32_t i = 0; i < g->nout; i++)
		job += i == g->logits ? 0 : g->out[i].bytes;
	return job * jobs + g->out[g->logits].bytes + p->spilled * devices;
}

int wse_memory_plan(const struct wse_config *cfg, const struct wse_plan *p, const char *uri,
		    uint32_t devices, struct wse_memory *m)
{
	const struct wse_graph *g = &p->graph;
	struct wse_tensor_table tab = {0};
	int ret = cfg->model.family->tensors(&cfg->model, &tab);

	memset(m, 0, sizeof(*m));
	m->state = tab.params * (cfg->optim.kind == WSE_OPTIM_SGD ? 8 : 12);
	wse_tensor_table_fini(&tab);
	for (uint32_t i = 0; i < g->nunits; i++) {
		m->images += wse_unit_image_bytes(g, &g->units[i]);
		m->gradients += 4 * wse_unit_grad_floats(g, &g->units[i]);
	}
	m->gradients *= buffers(p->micro_batches, devices);
	m->io = io_bytes(&cfg->model, p, devices);
	if (!strncmp(uri, "sim:func", 8))
		m->twin = (uint64_t)g->tile.rows * p->columns * TWIN_CORE * devices;
	m->total = m->state + m->images + m->gradients + m->io + m->twin + PROCESS;
	return ret;
}

void wse_memory_print(const struct wse_memory *m, uint32_t devices, const struct wse_exec_cfg *log)
{
	char twin[40] = "";

	if (m->twin)
		snprintf(twin, sizeof(twin), ", %.0f cores", (double)m->twin / 1e6);
	wse_logf(log, WSE_LOG_INFO,
		 "memory           %.0f MB of this host at the peak with %u device%s: %.0f weights and "
		 "moments, %.0f images, %.0f gradients, %.0f inputs and outputs%s",
		 (double)m->total / 1e6, devices, devices == 1 ? "" : "s", (double)m->state / 1e6,
		 (double)m->images / 1e6, (double)m->gradients / 1e6, (double)m->io / 1e6, twin);
}
