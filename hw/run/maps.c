// SPDX-License-Identifier: MIT
#include "maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"
#include "wse_regs.h"

static const uint32_t counter[WSE_HEAT_MAPS] = {
	[WSE_HEAT_MAC] = WSE_CNT_MAC,
	[WSE_HEAT_LWAIT] = WSE_CNT_LWAIT,
	[WSE_HEAT_INSTRET] = WSE_CNT_INSTRET,
	[WSE_HEAT_LINK] = WSE_CNT_LINK,
};

static uint64_t count(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t id,
		      uint32_t object)
{
	uint64_t lo;

	ops->mmio_write(m, WSE_REG_CNT_SEL, id << WSE_CNT_SEL_ID_SHIFT | object);
	lo = ops->mmio_read(m, WSE_REG_CNT_VAL_LO);
	return lo | (uint64_t)ops->mmio_read(m, WSE_REG_CNT_VAL_HI) << 32;
}

/* the cores stand from now on: reading takes cycles */
static void hold(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t cores)
{
	struct wse_core_state st;

	for (uint32_t i = 0; i < cores; i++) {
		if (ops->get_state(m, i, &st) || st.run != WSE_CORE_RUNNING)
			continue;
		st.run = WSE_CORE_HELD;
		ops->set_state(m, i, &st);
	}
}

void maps_read(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t id,
	       uint32_t cores, uint32_t n, uint64_t *value)
{
	hold(ops, m, cores);
	for (uint32_t i = 0; i < n; i++)
		value[i] = count(ops, m, id, i);
}

int maps_write(const char *path, const struct wse_machine_ops *ops, struct wse_machine *m,
	       uint32_t rows, uint32_t cols)
{
	const size_t cores = (size_t)rows * cols;
	uint64_t *value = malloc(4 * WSE_HEAT_MAPS * cores * sizeof(*value));
	uint64_t *map[WSE_HEAT_MAPS];
	char title[40];
	int err;

	if (!value)
		return -ENOMEM;
	for (uint32_t k = 0; k < WSE_HEAT_MAPS; k++) {
		map[k] = value + 4 * cores * k;
		maps_read(ops, m, counter[k], (uint32_t)cores,
			  (uint32_t)cores * (k == WSE_HEAT_LINK ? 4 : 1), map[k]);
	}
	snprintf(title, sizeof(title), "model %s", ops->name);
	err = wse_heat_write(path, title, rows, cols, map);
	free(value);
	return err;
}
