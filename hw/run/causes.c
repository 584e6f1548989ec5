// SPDX-License-Identifier: MIT
#include "causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"
#include "maps.h"
#include "wse_regs.h"

/* maps; a cycle of a core is in one of the first five */
enum { GOES_ON, TASK, WAVELET, ROOM, ENGINE, LWAIT, MAPS };

static const struct wse_heat_panel panels[MAPS] = {
	[GOES_ON] = {"goes on: scalar side or engines", "cycles", false},
	[TASK] = {"waits for a task or a start", "cycles", false},
	[WAVELET] = {"waits for a wavelet", "cycles", false},
	[ROOM] = {"waits for room to send", "cycles", false},
	[ENGINE] = {"scalar side waits for an engine", "cycles", false},
	[LWAIT] = {"lanes wait for wavelets or room", "cycles", false},
};

struct core {
	uint32_t cause; /* since the cycle begin; of a core without a program ~0 */
	uint8_t color;
	uint64_t begin;
	/* of movers by color: by its route at the end that is a wavelet, or room */
	uint64_t mover[WSE_NCOLORS];
};

struct causes {
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint32_t rows, cols;
	uint64_t began;
	uint64_t *map[MAPS];
	struct core core[];
};

int causes_begin(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t rows,
		 uint32_t cols, uint32_t first, uint32_t end, struct causes **out)
{
	const size_t n = (size_t)rows * cols;
	struct causes *c = calloc(1, sizeof(*c) + n * sizeof(c->core[0]));
	uint64_t *values = calloc(n * MAPS, sizeof(*values));

	if (!c || !values) {
		free(c);
		free(values);
		return -ENOMEM;
	}
	c->ops = ops;
	c->machine = m;
	c->rows = rows;
	c->cols = cols;
	c->began = ops->cycles(m);
	for (uint32_t k = 0; k < MAPS; k++)
		c->map[k] = values + n * k;
	for (uint32_t i = 0; i < n; i++)
		c->core[i] =
			(struct core){.cause = i < first || i >= end ? ~0u : 0, .begin = c->began};
	*out = c;
	return 0;
}

/* the time until now belongs to what the core has waited for */
static void count(struct causes *c, uint32_t core, uint64_t now)
{
	struct core *k = &c->core[core];
	const uint64_t n = now - k->begin;

	k->begin = now;
	switch (k->cause) {
	case ~0u:
		break;
	case WSE_CAUSE_WAIT_TASK:
		c->map[TASK][core] += n;
		break;
	case WSE_CAUSE_WAIT_RECV:
		c->map[WAVELET][core] += n;
		break;
	case WSE_CAUSE_WAIT_SEND:
		c->map[ROOM][core] += n;
		break;
	case WSE_CAUSE_WAIT_ENGINE:
		c->map[ENGINE][core] += n;
		break;
	case WSE_CAUSE_WAIT_M0:
	case WSE_CAUSE_WAIT_M1:
		if (k->color < WSE_NCOLORS) {
			k->mover[k->color] += n;
			break;
		}
		/* fallthrough */
	default: /* an engine that has an instruction need not wait: of the lanes LWAIT says so */
		c->map[GOES_ON][core] += n;
	}
}

void causes_event(struct causes *c, const struct wse_ev *e)
{
	struct core *k = &c->core[e->core];

	if (e->kind != WSE_EV_STALL || k->cause == ~0u)
		return;
	count(c, e->core, e->cycle);
	k->cause = e->data;
	k->color = e->color;
}

int causes_write(struct causes *c, const char *path)
{
	const uint64_t now = c->ops->cycles(c->machine);
	struct wse_core_units u = {0};
	char title[80];

	c->ops->events(c->machine, ~0u, 0, NULL, NULL);
	for (uint32_t i = 0; i < c->rows * c->cols; i++) {
		count(c, i, now);
		if (c->ops->get_units(c->machine, i, &u))
			continue;
		for (uint32_t color = 0; color < WSE_NCOLORS; color++)
			c->map[u.rx[color] == WSE_PORT_R ? ROOM : WAVELET][i] +=
				c->core[i].mover[color];
	}
	maps_read(c->ops, c->machine, WSE_CNT_LWAIT, c->rows * c->cols, c->rows * c->cols,
		  c->map[LWAIT]);
	snprintf(title, sizeof(title), "model %s, %" PRIu64 " cycles", c->ops->name,
		 now - c->began);
	return wse_heat_draw(path, title, c->rows, c->cols, panels, MAPS, c->map);
}

void causes_free(struct causes *c)
{
	if (c)
		free(c->map[0]);
	free(c);
}
