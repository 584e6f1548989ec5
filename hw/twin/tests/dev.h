/* SPDX-License-Identifier: MIT */
/*
 * A device under test: a model, 64 MiB of host memory, the admin queue and one or more I/O queues,
 * driven as a driver would. Works with any model of hw/model/machine.h.
 */
#ifndef WSE_TEST_DEV_H
#define WSE_TEST_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "wse_regs.h"

#define DEV_MEM	   (64u << 20)
#define DEV_RING   64u /* entries of every ring */
#define DEV_FAULTS 16u
#define DEV_DATA   0x100000u /* first byte of host memory free for tests */

struct dev_queue {
	uint64_t sq, cq;
	uint32_t tail, head;
	bool phase;
};

struct dev {
	const struct wse_machine_ops *ops;
	struct wse_machine *m;
	uint8_t *mem;
	struct dev_queue q[WSE_MAX_QUEUES];
	unsigned int irqs[32];
	uint64_t fail_from, fail_to;	 /* bus addresses that give errors */
	uint64_t silent_from, silent_to; /* ... that do not answer */
	uint32_t rows, cols;
	uint16_t cid;
};

/* EN, RDY, no I/O queue yet; flags: WSE_MACHINE_* */
int dev_open_cfg(struct dev *d, const char *model, const struct wse_machine_cfg *cfg);
int dev_open_seed(struct dev *d, const char *model, uint32_t rows, uint32_t cols, uint32_t flags,
		  uint64_t seed);
int dev_open_flags(struct dev *d, const char *model, uint32_t rows, uint32_t cols, uint32_t flags);
int dev_open(struct dev *d, const char *model, uint32_t rows, uint32_t cols);
void dev_close(struct dev *d);
/* sets the admin ring up, anew after a reset, and EN */
void dev_enable(struct dev *d);
int dev_create_queue(struct dev *d, unsigned int id);
uint16_t dev_post(struct dev *d, unsigned int queue,
		  const struct wse_sqe *s); /* without doorbell; the cid given */
void dev_ring(struct dev *d, unsigned int queue);
void dev_ring_more(struct dev *d, unsigned int queue); /* with MORE: the batch goes on */
bool dev_poll(struct dev *d, unsigned int queue,
	      struct wse_cqe *e); /* takes a completion if there is one */
bool dev_wait(struct dev *d, unsigned int queue,
	      struct wse_cqe *e); /* runs the device until there is one */
unsigned int dev_do(struct dev *d, unsigned int queue, const struct wse_sqe *s,
		    struct wse_cqe *e);					   /* status */
const struct wse_fault *dev_fault(struct dev *d, const struct wse_cqe *e); /* NULL: none */

/* commands */
struct wse_sqe dev_copy(struct dev *d, bool in, uint32_t core, uint32_t sram, uint64_t iova,
			uint32_t len);
struct wse_sqe dev_start(struct dev *d, uint32_t entry, uint8_t flags,
			 uint64_t budget); /* whole tile */
int dev_load(struct dev *d, const void *code,
	     uint32_t len); /* same bytes to SRAM offset 0 of all cores */

#endif /* WSE_TEST_DEV_H */
