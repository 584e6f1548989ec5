/* SPDX-License-Identifier: MIT */
/* A core, or a row of cores, under test: no queues, only the debugger's side of machine.h. */
#ifndef WSE_TEST_RIG_H
#define WSE_TEST_RIG_H

#include <stdbool.h>

#include "prog.h"

struct rig {
	const struct wse_machine_ops *ops;
	struct wse_machine *m;
	uint8_t image[WSE_SRAM_BYTES], want[WSE_SRAM_BYTES], got[WSE_SRAM_BYTES];
	uint32_t acc[128], want_acc[128];
};

static inline int no_dma(void *h, uint64_t a, void *b, size_t n)
{
	(void)h, (void)a, (void)b, (void)n;
	return -1;
}

static inline int no_dma_w(void *h, uint64_t a, const void *b, size_t n)
{
	(void)h, (void)a, (void)b, (void)n;
	return -1;
}

static inline void no_irq(void *h, unsigned int v)
{
	(void)h, (void)v;
}

static inline bool rig_open_row(struct rig *r, uint32_t flags, uint32_t cores)
{
	static const struct wse_host_ops ops = {no_dma, no_dma_w, no_irq, NULL};
	struct wse_machine_cfg cfg = {.rows = 1, .cols = cores, .flags = flags};

	r->ops = wse_machine_find("func");
	return !r->ops->create(&cfg, &ops, NULL, &r->m);
}

static inline bool rig_open(struct rig *r, uint32_t flags)
{
	return rig_open_row(r, flags, 1);
}

static inline struct code rig_code(struct rig *r)
{
	return (struct code){r->image, WSE_SRAM_BASE + CODE_AT};
}

/* runs the image; accumulators are loaded from and the result compared with r->acc, want, want_acc
 */
static inline void rig_run(struct rig *r, struct wse_core_state *st)
{
	r->ops->poke(r->m, 0, WSE_SRAM_BASE, r->image, sizeof(r->image));
	r->ops->boot(r->m, 0, WSE_SRAM_BASE + CODE_AT);
	r->ops->advance(r->m, 10000000, NULL);
	r->ops->get_state(r->m, 0, st);
	r->ops->peek(r->m, 0, WSE_SRAM_BASE, r->got, sizeof(r->got));
	r->ops->get_acc(r->m, 0, r->acc);
}

#endif /* WSE_TEST_RIG_H */
