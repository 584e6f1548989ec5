/* SPDX-License-Identifier: MIT */
/* The events of a run as JSON, an object a line. */
#ifndef WSE_OUTPUT_LOG_JSON_H
#define WSE_OUTPUT_LOG_JSON_H

#include <stddef.h>

#include "event.h"

/* text [size]: a line with its newline. -ENOSPC when it does not fit */
int wse_json_event(const struct wse_event *e, char *text, size_t size);
/* {"event":"<what>","text":"<said>"}, said being any bytes; \u00XX for what is not UTF-8 */
int wse_json_text(const char *what, const char *said, char *text, size_t size);

/* {"event":"end", ...}: the last checkpoint and its hash, "" if there is none */
int wse_json_end(uint64_t step, int stopped, const char *checkpoint, const char *hash, char *text,
		 size_t size);

#endif
