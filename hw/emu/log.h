/* SPDX-License-Identifier: MIT */
/* Log of a device server: one line per event, thread-safe, limited in rate. */
#ifndef WSE_EMU_LOG_H
#define WSE_EMU_LOG_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct emu_log {
	FILE *out; /* NULL: quiet */
	pthread_mutex_t lock;
	int64_t second;	    /* of the last line */
	unsigned int lines; /* in that second */
	unsigned long dropped;
};

void emu_log_init(struct emu_log *log, FILE *out);
__attribute__((format(printf, 2, 3))) void emu_logf(struct emu_log *log, const char *fmt, ...);

#endif /* WSE_EMU_LOG_H */
