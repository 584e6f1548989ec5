/* SPDX-License-Identifier: MIT */
/*
 * A PCI function for QEMU in a process of its own (libwse-pci, a static library): it listens on a
 * unix socket, speaks vfio-user, serves one client at a time, and starts each of them on a device
 * as after power-on. For C11 and C++. Functions return 0 or a negative errno; none prints or exits,
 * but for wse_pci_main().
 * Registers are 32 bits wide; sizes, offsets and addresses are in bytes.
 *
 *	cc device.c $(pkg-config --cflags --libs libwse-pci)
 */
#ifndef WSE_PCI_H
#define WSE_PCI_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- log: one line per event, thread-safe, at most 50 lines a second ---- */

/* Set up by wse_pci_log_init(), and of the library from there on. */
struct wse_pci_log {
	FILE *out; /* NULL: quiet */
	const char *who; /* begins every line */
	pthread_mutex_t lock;
	int64_t second;	    /* of the last line */
	unsigned int lines; /* in that second */
	unsigned long dropped;
	int err; /* -errno of the first line that could not be written */
};

/* out, which may be NULL, and who outlive the log. */
void wse_pci_log_init(struct wse_pci_log *log, FILE *out, const char *who);
/* Writes "who: text" and a newline; any thread. */
__attribute__((format(printf, 2, 3))) void wse_pci_logf(struct wse_pci_log *log, const char *fmt,
							...);
/* 0, or -errno of the first line that out did not take whole; any thread. */
int wse_pci_log_error(struct wse_pci_log *log);

/* ---- the guest's memory ---- */

/*
 * What the client maps for the device: bus address ranges, each backed by a piece of a file that
 * the client sent, or by nothing. Only the server maps and unmaps.
 */
struct wse_pci_dma;

/* -ENOMEM. */
int wse_pci_dma_create(struct wse_pci_dma **d);
void wse_pci_dma_destroy(struct wse_pci_dma *d); /* NULL: nothing; after wse_pci_destroy() */

/*
 * Copies len bytes between buf and guest memory at the bus address iova (IOVA behind an IOMMU); any
 * thread, any alignment. -EFAULT, and no write, if any byte is not accessible. The library does not
 * ask whether bus mastering is on: the device does, see wse_pci_ops.
 */
int wse_pci_dma_read(struct wse_pci_dma *d, uint64_t iova, void *buf, size_t len);
int wse_pci_dma_write(struct wse_pci_dma *d, uint64_t iova, const void *buf, size_t len);

/* Whether the client shares any memory: if not, its memory is private, and all accesses fail. */
bool wse_pci_dma_shared(struct wse_pci_dma *d);

/*
 * A client may shrink a file that it shared. The accessing thread then gets SIGBUS, which this
 * handler turns into -EFAULT. Process-wide; other SIGBUS keep their default action. Without this
 * call such a client ends the process. 0, or sigaction's errno.
 */
int wse_pci_dma_catch_sigbus(void);

/* ---- the function ---- */

#define WSE_PCI_VECTORS_MAX 32u

/* What a function says that it is. */
struct wse_pci_id {
	uint16_t vendor, device;
	uint32_t class_code; /* base class, subclass, interface: 24 bits */
	uint8_t revision;
	uint32_t bar0_bytes;  /* registers; a power of two from 4096 to 2^31 */
	unsigned int vectors; /* of MSI-X, 1 to WSE_PCI_VECTORS_MAX */
};

/* Whether wse_pci_create() takes it. */
bool wse_pci_id_valid(const struct wse_pci_id *id);

/*
 * The device behind the function. All are called on the thread of wse_pci_serve(), and a reply
 * waits for them: return in bounded time, or the whole guest stands still. offset is below
 * bar0_bytes and a multiple of 4.
 */
struct wse_pci_ops {
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

struct wse_pci_server;

/*
 * Listens at path. -EINVAL: wse_pci_id_valid() says no; -EADDRINUSE: a server answers at that path;
 * -EEXIST: another file is there; -ENAMETOOLONG; -ENOMEM; or the error of socket, bind, listen. dma
 * and log must outlive the server.
 */
int wse_pci_create(const char *path, const struct wse_pci_id *id, struct wse_pci_dma *dma,
		   struct wse_pci_log *log, struct wse_pci_server **s);
void wse_pci_destroy(struct wse_pci_server *s); /* removes the socket; NULL: nothing */

/*
 * Requests an interrupt, server being a struct wse_pci_server; any thread. Remembered while masked,
 * lost while MSI-X is off. A vector that the function does not have: nothing.
 */
void wse_pci_irq(void *server, unsigned int vector);

/*
 * For a --ready-fd: writes the line "ready PATH" and closes fd. Clients may connect, and wait until
 * wse_pci_serve() takes them. 0, or -errno: fd is no descriptor that takes a line at once.
 */
int wse_pci_ready(struct wse_pci_server *s, int fd);

/*
 * Logs, and does no more, that a client has read one register so many times with no other message
 * between: it polls for what does not come. 0: never, as before this call.
 */
void wse_pci_watch_spin(struct wse_pci_server *s, uint64_t reads);

/*
 * Logs now what name() makes the log say when the client has gone, or a line that there is nothing;
 * any thread, while the server exists.
 */
void wse_pci_report(struct wse_pci_server *s);

/*
 * For a main(), before any thread starts, as all inherit the mask: SIGTERM, SIGINT and SIGHUP make
 * the descriptor that is returned readable in place of ending the process, SIGPIPE does nothing: a
 * reader of the log may leave. The descriptor, which the caller closes, or -errno.
 */
int wse_pci_stop_signals(void);

/*
 * Serves clients until stop_fd is readable (that of wse_pci_stop_signals(), an eventfd, a pipe). 0
 * or -errno: -EBADF, no descriptor. The caller ignores SIGPIPE, or has called
 * wse_pci_stop_signals().
 */
int wse_pci_serve(struct wse_pci_server *s, const struct wse_pci_ops *ops, void *dev, int stop_fd);

/* ---- a program that is one device ---- */

struct wse_pci_host {
	struct wse_pci_dma *dma;
	struct wse_pci_server *server;
};

/*
 * All of the above as a main(), for `PROGRAM SOCKET [READY-FD]`: signals end it, the log goes to
 * stderr, a client that spins is logged. *host is there before the device's first call. The exit
 * status: 0, 1 (why is on stderr: this function alone prints), 2 for other arguments. A device that
 * has threads makes them in its calls, or has a main() of its own.
 */
int wse_pci_main(int argc, char **argv, const struct wse_pci_id *id, const struct wse_pci_ops *ops,
		 void *dev, struct wse_pci_host *host);

#ifdef __cplusplus
}
#endif

#endif /* WSE_PCI_H */
