/* SPDX-License-Identifier: MIT */
/*
 * A running device: a model with a thread that advances it. All calls are thread-safe and return in
 * bounded time (a few hundred microseconds of the model's work), whatever the wafer does.
 */
#ifndef WSE_EMU_H
#define WSE_EMU_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"
#include "pci/wse_pci.h"

struct emu;

/* Injected faults: the nth event (from 1, counted since start) fails; 0: never. */
struct emu_faults {
	uint64_t dma_read, dma_write; /* refused */
	uint64_t irq;		      /* lost */
};

struct emu_cfg {
	const struct wse_machine_ops *ops;
	struct wse_machine_cfg machine;
	/*
	 * The device never runs ahead of this clock, so that a budget in cycles gives the host at
	 * least the time that a real device would (an idle model skips cycles for free). 0: no
	 * limit.
	 */
	uint32_t clock_mhz;
	struct emu_faults faults;
	uint32_t stall_ms; /* ms for which the caller waits after each submission doorbell */
	struct wse_pci_dma *dma;
	void (*irq)(void *arg, unsigned int vector); /* on the model's thread */
	void *irq_arg;
	struct wse_pci_log *log;
};

/* 0, -ENOTSUP (the model has no such tile), -ENOMEM, or the error of pthread_create. */
int emu_create(const struct emu_cfg *cfg, struct emu **e);
void emu_destroy(struct emu *e);

/*
 * Serves gdb at a TCP port or a unix socket (gdb_listen()); program: ELF file of the kernels, which
 * gdb is told, or NULL. Once. 0, or the error of debugger_create().
 */
int emu_debug(struct emu *e, const char *where, const char *program);

const char *emu_reg_name(uint32_t offset); /* of BAR0, as wse.regs has it; NULL: there is none */
uint32_t emu_read32(struct emu *e, uint32_t offset);		  /* after all earlier writes */
void emu_write32(struct emu *e, uint32_t offset, uint32_t value); /* posted */
void emu_reset(struct emu *e);					  /* function-level */
void emu_bus_master(struct emu *e, bool on);			  /* off: every DMA is refused */

#endif /* WSE_EMU_H */
