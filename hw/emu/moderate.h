/* SPDX-License-Identifier: MIT */
/*
 * Interrupt moderation: a host that goes on to submit while it has an interrupt due does not wait
 * for it, so one interrupt can stand for many completions. Whether it does is found out by holding
 * one back now and then; a host that does wait pays for that once in some hundred times. Vector 0,
 * the driver's own queue, is never held.
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
	/* when the last one came; from any thread, the rest from one at a time */
	_Atomic int64_t doorbell;
	uint32_t held;		  /* bit per vector */
	struct {
		int64_t since;	/* held; its first completion */
		uint32_t count; /* completions that it stands for */
		uint32_t skip;	/* interrupts until the next trial */
		uint32_t pause; /* that a failed trial leaves to the next one */
	} vector[MODERATE_VECTORS];
};

void moderate_init(struct moderate *m, void (*deliver)(void *arg, unsigned int vector), void *arg);
void moderate_doorbell(struct moderate *m, int64_t now);
void moderate_raise(struct moderate *m, unsigned int vector, int64_t now);
/* Delivers what is due. Nanoseconds until more will be, -1: nothing is held. */
int64_t moderate_run(struct moderate *m, int64_t now);
/* Forgets what is held: the function was reset. */
void moderate_clear(struct moderate *m);

#endif /* WSE_MODERATE_H */
