/* SPDX-License-Identifier: MIT */
/* Text files and directories of them, read into memory or mapped. */
#ifndef WSE_INPUT_TEXT_H
#define WSE_INPUT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* of a file or of all in a directory; three bytes of memory a byte of text */
#define WSE_TEXT_MAX (2ull << 30)

struct wse_text {
	unsigned char *p;
	size_t n, room;
	uint32_t left_out; /* files of a directory that are no text */
	uint32_t links;	   /* directories that were entered by a symbolic link */
	int mapped;	   /* p is a file that was mapped, not memory */
};

/* a directory that is being read, and the one in which it was found */
struct wse_text_level {
	const struct wse_text_level *up;
	const char *path;
	struct stat sb;
};

void wse_text_free(struct wse_text *t);
/* errno's sentence about a path, and that of a text that is too long; -errno */
int wse_text_cannot(const char *path, int err);
int wse_text_too_much(const char *path);
/* appends a file; map: t has nothing yet, and the file is only looked at */
int wse_text_read_file(struct wse_text *t, const char *path, int map);
/* appends the text files of a directory, and of those below it (data.h) */
int wse_text_read_tree(struct wse_text *t, const struct wse_text_level *l);
int wse_text_is_link(const char *path);
/* the sentence about a link that cannot be opened; -errno */
int wse_text_no_target(const char *path, int err);
/* *.bin */
int wse_text_is_tokens(const char *path);
/* -EINVAL: it is no text; words: it is of tokens, where NUL bytes are none */
int wse_text_check(const struct wse_text *t, const char *path, int words);

#endif
