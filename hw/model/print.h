/* SPDX-License-Identifier: MIT */
/* The host's side of wse_printf(): texts of the messages that a core has left in its memory. */
#ifndef WSE_PRINT_H
#define WSE_PRINT_H

#include <stddef.h>
#include <stdint.h>

#define WSE_PRINT_TEXT 1024u /* bytes of one message's text at most; what is longer is cut */

/* What a program's ELF file says. Nothing in it is trusted. */
struct wse_print {
	uint32_t area, bytes; /* where the messages are in a core; 0 bytes: it prints nothing */
	uint32_t formats_at;  /* address of the formats, which are in the file alone */
	const char *formats;
	uint32_t nformats; /* bytes; the last is 0, or no format is read */
	const void *file;  /* for %s: strings of the program as it was loaded */
	size_t size;
};

/* Of a file in memory, which stays there; one that is damaged has no messages. */
void wse_print_find(struct wse_print *p, const void *file, size_t size);

/* text is terminated and may hold any other byte; len without the end */
typedef void (*wse_print_fn)(void *arg, const char *text, size_t len);

/*
 * The messages of a core's area, p->bytes bytes of it as a core left them, in order. Those that the
 * core had no room for are a message, too, the last. -EBADMSG with a sentence in why: the area
 * holds what wse_printf() does not write; fn had those before.
 */
int wse_print_each(const struct wse_print *p, const void *area, wse_print_fn fn, void *arg,
		   char *why, size_t why_len);

#endif /* WSE_PRINT_H */
