// SPDX-License-Identifier: MIT
#include "wse_pci.h"

#include <errno.h>
#include <stdarg.h>
#include <time.h>

#define LINES_PER_SECOND 50

void wse_pci_log_init(struct wse_pci_log *log, FILE *out, const char *who)
{
	*log = (struct wse_pci_log){.out = out, .who = who};
	pthread_mutex_init(&log->lock, NULL);
}

void wse_pci_logf(struct wse_pci_log *log, const char *fmt, ...)
{
	struct timespec now;
	va_list ap;

	if (!log->out)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&log->lock);
	if (now.tv_sec != log->second) {
		if (log->dropped)
			fprintf(log->out, "%s: %lu more lines not shown\n", log->who, log->dropped);
		log->second = now.tv_sec;
		log->lines = 0;
		log->dropped = 0;
	}
	if (log->lines++ < LINES_PER_SECOND) {
		fprintf(log->out, "%s: ", log->who);
		va_start(ap, fmt);
		vfprintf(log->out, fmt, ap);
		va_end(ap);
		fputc('\n', log->out);
		errno = 0;
		if ((fflush(log->out) || ferror(log->out)) && !log->err)
			log->err = errno ? -errno : -EIO;
	} else {
		log->dropped++;
	}
	pthread_mutex_unlock(&log->lock);
}

int wse_pci_log_error(struct wse_pci_log *log)
{
	int err;

	pthread_mutex_lock(&log->lock);
	err = log->err;
	pthread_mutex_unlock(&log->lock);
	return err;
}
