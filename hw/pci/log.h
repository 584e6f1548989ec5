/* SPDX-License-Identifier: MIT */
/* Log of a device server: one line per event, thread-safe, limited in rate. */
#ifndef WSE_PCI_LOG_H
#define WSE_PCI_LOG_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct pci_log {
	FILE *out; /* NULL: quiet */
	const char *who; /* begins every line */
	pthread_mutex_t lock;
	int64_t second;	    /* of the last line */
	unsigned int lines; /* in that second */
	unsigned long dropped;
};

void pci_log_init(struct pci_log *log, FILE *out, const char *who);
__attribute__((format(printf, 2, 3))) void pci_logf(struct pci_log *log, const char *fmt, ...);

#endif /* WSE_PCI_LOG_H */
