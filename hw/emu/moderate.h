/* SPDX-License-Identifier: MIT */
/*
 * Interrupt moderation: a host that submits more commands while an interrupt is due does not wait
 * for it, so one interrupt can stand for many completions. The server finds that out by holding an
 * interrupt back now and then, which delays a host that does wait once in some hundred interrupts.
 * Vector 0, the driver's own queue, is never held.
 */
#ifndef WSE_MODERATE_H
#define WSE_MODERATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MODERATE_VECTORS 32

struct moderate {
	void (*deliver)(void *arg, unsigned int vector);
	void *arg;
	/* time of the last doorbell; any thread may set it, the rest belongs to one thread */
	_Atomic int64_t doorbell;
	uint32_t held;		  /* bit per vector */
	struct {
		int64_t since;	/* held; its first completion */
		uint32_t count; /* completions that it stands for */
		uint32_t skip;	/* interrupts until the next trial */
		uint32_t pause; /* interrupts from a failed trial to the next one */
	} vector[MODERATE_VECTORS];
};

void moderate_init(struct moderate *m, void (*deliver)(void *arg, unsigned int vector), void *arg);
void moderate_doorbell(struct moderate *m, int64_t now);
void moderate_raise(struct moderate *m, unsigned int vector, int64_t now);
/* Delivers the interrupts that are due. Returns nanoseconds until the next, -1: none is held. */
int64_t moderate_run(struct moderate *m, int64_t now);
/* Drops held interrupts: the function was reset. */
void moderate_clear(struct moderate *m);

#endif /* WSE_MODERATE_H */
