/* SPDX-License-Identifier: MIT */
/* Everything that is wrong with a file, so that it can be mended in one go. */
#ifndef WSE_INPUT_FAULTS_H
#define WSE_INPUT_FAULTS_H

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define WSE_FAULTS 64
#define WSE_FAULT 512 /* bytes of one, terminated */

struct wse_config_fault {
	int line;		/* of the file; INT_MAX: of none, such as --set */
	char text[WSE_FAULT];	/* "f.yaml: line 12: trainer.init.seed must be ..." */
};

struct wse_faults {
	uint32_t n;		/* the first WSE_FAULTS are kept */
	struct wse_config_fault f[WSE_FAULTS];	/* in the order of lines */
};

__attribute__((format(printf, 3, 4)))
static inline void wse_fault_add(struct wse_faults *faults, int line, const char *fmt, ...)
{
	struct wse_config_fault *f = &faults->f[faults->n];
	va_list ap;

	if (faults->n == WSE_FAULTS)
		return;
	faults->n++;
	f->line = line ? line : INT_MAX;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	wse_one_line(f->text);
}

/* ret of who looked for faults: for an error the first one is the sentence */
static inline int wse_faults_say(const struct wse_faults *faults, int ret)
{
	return ret && faults->n ? wse_fail(ret, "%s", faults->f[0].text) : ret;
}

#endif
