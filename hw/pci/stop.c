// SPDX-License-Identifier: MIT
/* What ends a server: signals, as a descriptor. */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "wse_pci.h"

int wse_pci_stop_signals(void)
{
	sigset_t set;
	int fd;

	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
