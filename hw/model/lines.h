/* SPDX-License-Identifier: MIT */
/* Functions and source lines of a core's program, of its symbols and DWARF lines (2 to 5). */
#ifndef WSE_LINES_H
#define WSE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf32.h"

#define WSE_LINES_TEXT 192u /* bytes that a place needs at most */

/* Parts of an ELF32 file in memory, which stays there. Nothing in it is trusted. */
struct wse_lines {
	struct elf32_symbols symbols;
	struct wse_lines_part {
		const uint8_t *at;
		size_t size;
	} line, str, line_str;
};

/* What the file has of them; a file that is damaged, or of another kind, has nothing. */
void wse_lines_find(struct wse_lines *l, const void *file, size_t size);

/*
 * Where pc is, into text of WSE_LINES_TEXT bytes: "main at product.c:9", of code that was inlined
 * "main at product.c:9 (wse_core.h:41)", without lines "main", "" where the file does not know.
 */
void wse_lines_place(const struct wse_lines *l, uint32_t pc, char *text);

#endif /* WSE_LINES_H */
