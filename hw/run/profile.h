/* SPDX-License-Identifier: MIT */
/* When a program's tasks, engines and waits began and ended, a timeline and a table: wse-run(1). */
#ifndef WSE_RUN_PROFILE_H
#define WSE_RUN_PROFILE_H

#include <stddef.h>

#include "lines.h"
#include "machine.h"

#define PROFILE_KINDS                                                      \
	(1u << WSE_EV_TASK | 1u << WSE_EV_TASK_END | 1u << WSE_EV_ENGINE | \
	 1u << WSE_EV_ENGINE_END | 1u << WSE_EV_FAULT | 1u << WSE_EV_STALL)

struct profile;

/*
 * Makes the folder dir, where it is not there yet, and its file cores.pftrace, which must not be.
 * lines, which must stay, name tasks. 0, or why not: the errno.
 */
int profile_open(const char *dir, uint32_t rows, uint32_t cols, const struct wse_lines *lines,
		 struct profile **out, char *why, size_t size);
/* The model's events come from now on; core is about to boot. */
int profile_begin(struct profile *p, const struct wse_machine_ops *ops, struct wse_machine *m,
		  uint32_t core);
/* Writes an event of PROFILE_KINDS; of others nothing. */
void profile_event(struct profile *p, const struct wse_ev *e);
/* The model's cycle is the end of all that goes on; none after it. NULL is allowed. */
void profile_end(struct profile *p);
/* Writes the table, operations.txt, and completes the files; 0, or why there are none. */
int profile_close(struct profile *p, char *why, size_t size);

#endif /* WSE_RUN_PROFILE_H */
