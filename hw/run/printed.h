/* SPDX-License-Identifier: MIT */
/* What the program says with wse_printf(), on standard output at the instruction that says it. */
#ifndef WSE_RUN_PRINTED_H
#define WSE_RUN_PRINTED_H

#include <stdbool.h>

#include "machine.h"
#include "print.h"

struct printed {
	struct wse_print print; /* of the program; 0 bytes: it prints nothing */
	bool due;		/* there is a message, or its room is to be given back */
	bool shown;		/* it was written */
};

/* Of an instruction of the core: true where it completes a message, and the model is to stop. */
bool printed_retire(struct printed *p, const struct wse_retire *r);
/*
 * Between advances: writes what is due, and gives the core its room back. On rtl the store that
 * completed the message may still be under way, and would undo that: while p->due, advance by a
 * cycle and call again. -EBADMSG with a sentence in why, or -errno of the model.
 */
int printed_show(struct printed *p, const struct wse_machine_ops *ops, struct wse_machine *machine,
		 uint32_t core, char *why, size_t why_len);

#endif /* WSE_RUN_PRINTED_H */
