/* SPDX-License-Identifier: MIT */
/*
 * What wse_printf() leaves in the SRAM of a core, and who shows it reads (hw/doc/printf.md).
 *
 * A message is one word, the address of its format in the file's section (which no core has in its
 * memory) in 23:0 and the number of its argument words in 31:24, then those words. A core writes
 * `used` last, so what it counts is whole.
 */
#ifndef WSE_PRINT_AREA_H
#define WSE_PRINT_AREA_H

#include <stdint.h>

#define WSE_PRINT_SECTION    ".wse_print"
#define WSE_PRINT_SYMBOL     "__wse_print"
#define WSE_PRINT_ARGS_SHIFT 24
#define WSE_PRINT_ARGS_MAX   8u

struct wse_print_head {	   /* at the symbol, whose size says how many words follow */
	uint32_t used;	   /* words of messages; the host sets it to 0 */
	uint32_t lost;	   /* messages that found no room since then */
};

#endif /* WSE_PRINT_AREA_H */
