/* SPDX-License-Identifier: MIT */
/* Windows of waves as users name them: FILE.fst,from=A,to=B,core=X.Y. See hw/doc/waves.md. */
#ifndef WSE_MODEL_WAVE_H
#define WSE_MODEL_WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

#define WSE_WAVE_CYCLES 10000u /* of a window whose end is not named */
#define WSE_WAVE_FAULT	UINT64_MAX /* as a step: the one that ends with a fault */

struct wse_wave_window {
	char path[1024];
	uint64_t from, to;
	bool named;    /* from= or to= was */
	uint64_t step; /* of a training run, or WSE_WAVE_FAULT; 0: not named */
	bool one;      /* core x (column), y (row) alone */
	uint32_t x, y;
};

/* where to look: cycles as a window's, from where a device was asked to watch */
struct wse_watch {
	uint64_t moved;	 /* something in a core or router happened last */
	uint64_t failed; /* the first command that failed had its status; 0: none has */
};

/* -EINVAL: why says what is wrong with the text, and what would be right. */
int wse_wave_parse(const char *text, struct wse_wave_window *w, char *why, size_t size);

/* The window for a tile of that shape; w stays, for its path. -EINVAL as above: no such core. */
int wse_wave_on(const struct wse_wave_window *w, uint32_t rows, uint32_t cols,
		struct wse_wave *wave, char *why, size_t size);

/*
 * What a window that did not begin, or is not in the file, came to: err of wave_begin or wave_end,
 * ran cycles.
 */
void wse_wave_explain(const struct wse_wave_window *w, int err, uint64_t ran, char *why,
		      size_t size);

/* Begins the window on a model; 0, or why not. */
int wse_wave_open(const struct wse_machine_ops *ops, struct wse_machine *m, uint32_t rows,
		  uint32_t cols, const struct wse_wave_window *w, char *why, size_t size);
/* Ends it: said is where the waves are, or why there are none. */
int wse_wave_close(const struct wse_machine_ops *ops, struct wse_machine *m,
		   const struct wse_wave_window *w, char *said, size_t size);

#endif
