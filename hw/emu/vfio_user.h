/* SPDX-License-Identifier: MIT */
/*
 * vfio-user server of one PCI function: listens on a unix socket, serves one client at a time, and
 * starts each of them on a device as after power-on.
 */
#ifndef WSE_VFIO_USER_H
#define WSE_VFIO_USER_H

#include <stdint.h>

#include "dma_map.h"
#include "emu.h"
#include "log.h"

#define VU_VECTORS 9u /* WSE_MAX_QUEUES: one per queue pair */

struct vu_server;

/*
 * -EADDRINUSE: a server answers at that path; -EEXIST: another file is there; -ENAMETOOLONG; or the
 * error of socket, bind, listen. dma and log must outlive the server.
 */
int vu_create(const char *path, struct dma_map *dma, struct emu_log *log, struct vu_server **s);
void vu_destroy(struct vu_server *s); /* removes the socket */

/*
 * Requests an interrupt; any thread. Remembered while masked, lost while MSI-X is off.
 */
void vu_irq(void *server, unsigned int vector);

/* Serves clients until stop_fd is readable. 0 or -errno. */
int vu_serve(struct vu_server *s, struct emu *emu, int stop_fd);

#endif /* WSE_VFIO_USER_H */
