/* SPDX-License-Identifier: MIT */
/* What a client did with registers that the device does not have, and on which one it spins. */
#ifndef PCI_TOUCHED_H
#define PCI_TOUCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "wse_pci.h"

#define TOUCHED_MAX 32u /* registers with a line of their own */

struct touched {
	pthread_mutex_t lock; /* of what unknown accesses leave: others may report it */
	struct {
		uint32_t offset;
		uint64_t reads, writes;
	} reg[TOUCHED_MAX];
	unsigned int count;
	uint64_t more; /* accesses of others */
	/* of the server's thread alone */
	uint64_t spin; /* reads of spin_at, one behind the other */
	uint32_t spin_at;
};

/* An access of a register that the device does not have. */
void touched_unknown(struct touched *t, uint32_t offset, bool write);
/* A read: true when it is the limit-th of this register with nothing between. limit 0: never. */
bool touched_spins(struct touched *t, uint32_t offset, uint64_t limit);
/* Logs a line for each register, in the order of the first access; any thread. Their number. */
unsigned int touched_report(struct touched *t, struct wse_pci_log *log);
/* Forgets all. */
void touched_clear(struct touched *t);

#endif /* PCI_TOUCHED_H */
