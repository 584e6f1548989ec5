// SPDX-License-Identifier: MIT
/* A whole program around one device. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wse_pci.h"

#define SPIN 10000 /* reads of one register with nothing between, after which the log says so */

static int serve(const char *path, int ready_fd, int stop_fd, const struct wse_pci_id *id,
		 const struct wse_pci_ops *ops, void *dev, struct wse_pci_host *host,
		 struct wse_pci_log *log)
{
	int err = wse_pci_dma_catch_sigbus();

	if (!err)
		err = wse_pci_dma_create(&host->dma);
	if (!err)
		err = wse_pci_create(path, id, host->dma, log, &host->server);
	if (err)
		return err;
	wse_pci_watch_spin(host->server, SPIN);
	if (ready_fd >= 0)
		err = wse_pci_ready(host->server, ready_fd);
	return err ? err : wse_pci_serve(host->server, ops, dev, stop_fd);
}

int wse_pci_main(int argc, char **argv, const struct wse_pci_id *id, const struct wse_pci_ops *ops,
		 void *dev, struct wse_pci_host *host)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *who = slash ? slash + 1 : argc > 0 ? argv[0] : "device";
	struct wse_pci_log log;
	int stop_fd, err;
	char *end = "";
	long fd = -1;

	if (argc == 3)
		fd = strtol(argv[2], &end, 10);
	if (argc < 2 || argc > 3 || *end || (argc == 3 && (fd < 0 || fd > 65535 || !*argv[2]))) {
		fprintf(stderr, "usage: %s SOCKET [READY-FD]\n", who);
		return 2;
	}
	host->dma = NULL;
	host->server = NULL;
	wse_pci_log_init(&log, stderr, who);
	stop_fd = wse_pci_stop_signals();
	err = stop_fd < 0 ? stop_fd : serve(argv[1], (int)fd, stop_fd, id, ops, dev, host, &log);
	if (err)
		fprintf(stderr, "%s: %s: %s\n", who, argv[1], strerror(-err));
	wse_pci_destroy(host->server);
	wse_pci_dma_destroy(host->dma);
	if (stop_fd >= 0)
		close(stop_fd);
	return err ? 1 : 0;
}
