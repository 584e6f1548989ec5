// SPDX-License-Identifier: MIT
#include "printed.h"

#include <stdio.h>

#include "wse_regs.h"

bool printed_retire(struct printed *p, const struct wse_retire *r)
{
	if (!p->print.bytes || r->mem_size != 4 || r->mem_addr != p->print.area || !r->mem_data)
		return false;
	p->due = true;
	return true;
}

static void show(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

int printed_show(struct printed *p, const struct wse_machine_ops *ops, struct wse_machine *machine,
		 uint32_t core, char *why, size_t why_len)
{
	static const uint32_t none[2];
	uint8_t area[WSE_SRAM_BYTES];
	uint32_t used;
	int err;

	if (!p->due)
		return 0;
	snprintf(why, why_len, "the model refuses to show the messages");
	if (!p->shown) {
		err = ops->peek(machine, core, p->print.area, area, p->print.bytes);
		err = err ? err : wse_print_each(&p->print, area, show, NULL, why, why_len);
		fflush(stdout);
		if (err)
			return err;
	}
	err = ops->poke(machine, core, p->print.area, none, sizeof(none));
	/* it shows a store to come: until that is in memory the core loads nothing */
	err = err ? err : ops->peek(machine, core, p->print.area, &used, sizeof(used));
	p->shown = p->due = !err && used;
	return err;
}
