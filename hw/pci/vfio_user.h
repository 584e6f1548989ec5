/* SPDX-License-Identifier: MIT */
/*
 * vfio-user server of one PCI function: listens on a unix socket, serves one client at a time, and
 * starts each of them on a device as after power-on.
 */
#ifndef WSE_VFIO_USER_H
#define WSE_VFIO_USER_H

#include <stdint.h>

#include "dma_map.h"
#include "log.h"
#include "pci_config.h"

/*
 * The device behind the function. All are called on the thread of vu_serve(), and a reply waits for
 * them: return in bounded time, or the whole guest stands still. offset is below bar0_bytes and a
 * multiple of 4.
 */
struct vu_device_ops {
	uint32_t (*read32)(void *dev, uint32_t offset);
	void (*write32)(void *dev, uint32_t offset, uint32_t value);
	void (*reset)(void *dev);		/* function-level, and for each client */
	void (*bus_master)(void *dev, bool on); /* off: make no DMA; NULL: not told */
	/*
	 * The register's name, NULL: there is none at this offset. With it the log says, when a
	 * client has gone, which registers it touched that are not there. The call may be NULL.
	 */
	const char *(*name)(void *dev, uint32_t offset);
};

struct vu_server;

/*
 * -EINVAL: pci_id_valid() says no; -EADDRINUSE: a server answers at that path; -EEXIST: another
 * file is there; -ENAMETOOLONG; or the error of socket, bind, listen. dma and log must outlive
 * the server.
 */
int vu_create(const char *path, const struct pci_id *id, struct dma_map *dma, struct pci_log *log,
	      struct vu_server **s);
void vu_destroy(struct vu_server *s); /* removes the socket */

/*
 * Requests an interrupt; any thread. Remembered while masked, lost while MSI-X is off.
 */
void vu_irq(void *server, unsigned int vector);

/*
 * For a --ready-fd: writes the line "ready PATH" and closes fd. Clients may connect, and wait until
 * vu_serve() takes them. 0, or -errno: fd is no descriptor that takes a line at once.
 */
int vu_ready(struct vu_server *s, int fd);

/*
 * Logs, and does no more, that a client has read one register so many times with no other message
 * between: it polls for what does not come. 0: never, as before this call.
 */
void vu_watch_spin(struct vu_server *s, uint64_t reads);

/* Serves clients until stop_fd is readable. 0 or -errno. */
int vu_serve(struct vu_server *s, const struct vu_device_ops *ops, void *dev, int stop_fd);

#endif /* WSE_VFIO_USER_H */
