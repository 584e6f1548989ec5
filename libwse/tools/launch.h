/* SPDX-License-Identifier: MIT */
/*
 * wse-train --launch: a parent, without MPI, of a launcher that starts wse-train on several hosts.
 */
#ifndef WSE_TOOLS_LAUNCH_H
#define WSE_TOOLS_LAUNCH_H

#include <stdint.h>

/*
 * Runs `launcher` (words between blanks) with this program and its arguments that are not NULL; up
 * to `restarts` times more, from the last checkpoint, when it failed and there is a newer one in
 * model_dir than when it began. Returns the exit status.
 */
int launch(const char *launcher, uint32_t restarts, const char *model_dir, int argc, char **argv);

#endif
