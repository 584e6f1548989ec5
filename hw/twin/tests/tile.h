/* SPDX-License-Identifier: MIT */
/* A device on which a program of its own runs in each core. */
#ifndef WSE_TEST_TILE_H
#define WSE_TEST_TILE_H

#include "check.h"
#include "dev.h"
#include "prog.h"

#define ENTRY (WSE_SRAM_BASE + CODE_AT)

/* a fresh device with queues 1 ... 3; programs are added core by core */
static inline void open_dev(struct dev *d, uint32_t rows, uint32_t cols)
{
	unsigned int i;

	if (dev_open(d, "func", rows, cols))
		ok(false, "open");
	for (i = 1; i <= 3; i++)
		if (dev_create_queue(d, i))
			ok(false, "create queue");
}

static inline unsigned int boot(struct dev *d, uint8_t flags, struct wse_cqe *e)
{
	struct wse_sqe s = dev_start(d, ENTRY, WSE_SQF_BOOT | flags, 100000);

	return dev_do(d, 3, &s, e);
}

#endif /* WSE_TEST_TILE_H */
