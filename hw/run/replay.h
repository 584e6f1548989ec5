/* SPDX-License-Identifier: MIT */
/* A program's events as text, a line each, in the grammar of replay viewers: wse-run(1). */
#ifndef WSE_RUN_REPLAY_H
#define WSE_RUN_REPLAY_H

#include <stddef.h>

#include "machine.h"

struct replay;

/*
 * text: FILE[,core=X.Y], for a tile of that shape. 0, or why not: -EINVAL, the errno of the file,
 * -ENOMEM.
 */
int replay_open(const char *text, uint32_t rows, uint32_t cols, struct replay **out, char *why,
		size_t size);
/* The kinds of events that it writes, and the core, ~0: of all. */
uint32_t replay_kinds(const struct replay *r, uint32_t *core);
/* Writes an event; others than those it leaves out. */
void replay_event(struct replay *r, const struct wse_ev *e);
/*
 * Completes the file; the model may be gone. Else why there is none: the errno of the file, or
 * -ENODATA: the core that was asked for had no event.
 */
int replay_close(struct replay *r, char *why, size_t size);

#endif /* WSE_RUN_REPLAY_H */
