/* SPDX-License-Identifier: MIT */
/* Who waits for whom: for debuggers, and for the sentence of a deadlock. */
#ifndef WSE_WAITS_H
#define WSE_WAITS_H

#include "machine.h"

struct wse_wafer {
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint32_t rows, cols;
};

struct wse_waits {
	char what[64]; /* what a core waits for; "": it does not wait */
	char whom[96]; /* who has to move: "core X,Y: ...", "host: ..."; "": not known */
};

/*
 * What a core waits for, and who would have to move: the route of a color is followed to where its
 * wavelets come from, or to the queue in which they cannot go on. Between advances, as get_units.
 */
void wse_find_waits(const struct wse_wafer *w, uint32_t core, struct wse_waits *out);

#endif /* WSE_WAITS_H */
