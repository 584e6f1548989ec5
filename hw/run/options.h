/* SPDX-License-Identifier: MIT */
/* What wse-run was called with: wse-run(1). */
#ifndef WSE_RUN_OPTIONS_H
#define WSE_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "wave.h"

#define EXIT_USAGE 126 /* nothing was run, or what it says is not whole */

struct options {
	const char *program, *model, *trace, *replay, *heat, *waits, *profile, *gdb;
	uint32_t rows, cols, x, y;
	uint64_t max_cycles;
	bool waves, all; /* all: every core runs the program */
	struct wse_wave_window wave;
};

/* -EINVAL after a sentence on standard error; --help and --version end the program. */
int parse_options(int argc, char **argv, struct options *o);

#endif /* WSE_RUN_OPTIONS_H */
