// SPDX-License-Identifier: MIT
/* Names of BAR0's registers, as wse.regs has them. */
#include <stddef.h>

#include "emu.h"
#include "wse_reg_names.h"
#include "wse_regs.h"

#define ENTRIES(x) (sizeof(x) / sizeof((x)[0]))

const char *emu_reg_name(uint32_t offset)
{
#define NAME(offset, name) [(offset) / 4] = (name),
	static const char *const reg[] = {WSE_REG_NAMES(NAME)};
#define PAIR(q) "DB" #q ".SQ_TAIL", "DB" #q ".CQ_HEAD"
	static const char *const doorbell[] = {PAIR(0), PAIR(1), PAIR(2), PAIR(3), PAIR(4),
					       PAIR(5), PAIR(6), PAIR(7), PAIR(8)};

	_Static_assert(ENTRIES(doorbell) == 2 * WSE_MAX_QUEUES && WSE_DB_STRIDE == 8,
		       "two doorbells of each queue");
	_Static_assert(ENTRIES(reg) * 4 <= WSE_DB_BASE, "doorbells lie behind the registers");
	if (offset / 4 < ENTRIES(reg))
		return reg[offset / 4];
	offset -= WSE_DB_BASE; /* wraps in front of it */
	return offset / 4 < ENTRIES(doorbell) ? doorbell[offset / 4] : NULL;
}
