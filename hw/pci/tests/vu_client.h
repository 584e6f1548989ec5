/* SPDX-License-Identifier: MIT */
/* A vfio-user client for tests: guest memory is a memfd, interrupts are eventfds, no guest. */
#ifndef WSE_VU_CLIENT_H
#define WSE_VU_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pci/vfio_user_proto.h"

struct vu_client {
	int fd;
	uint16_t id;
	int memfd;
	uint8_t *mem; /* guest memory, mem_size bytes */
	size_t mem_size;
	int irq[9];
};

#define VU_LOST (-1000) /* the server hung up */

/* Connects, no handshake yet. 0 or -errno. */
int vu_client_open(struct vu_client *c, const char *path, size_t mem_size);
void vu_client_close(struct vu_client *c);

/* Raw bytes with descriptors, for messages that are not what they should be. */
int vu_client_send(struct vu_client *c, const void *bytes, size_t len, const int *fds,
		   unsigned int nfds);
/*
 * One command and its reply. The reply's body goes to out (room bytes), its length to *got (may be
 * NULL). 0, the negative errno of an error reply, or VU_LOST.
 */
int vu_client_call(struct vu_client *c, uint16_t cmd, const void *body, size_t len, const int *fds,
		   unsigned int nfds, void *out, size_t room, size_t *got);

int vu_client_hello(struct vu_client *c); /* VERSION */
int vu_client_map(struct vu_client *c, int fd, uint64_t offset, uint64_t iova, uint64_t size);
int vu_client_unmap(struct vu_client *c, uint64_t iova, uint64_t size);
int vu_client_read(struct vu_client *c, uint32_t region, uint64_t offset, void *data, uint32_t n);
int vu_client_write(struct vu_client *c, uint32_t region, uint64_t offset, const void *data,
		    uint32_t n);
int vu_client_post(struct vu_client *c, uint64_t offset,
		   uint32_t value);				 /* BAR0, without a reply */
uint32_t vu_client_reg(struct vu_client *c, uint32_t offset);	 /* BAR0 */
uint32_t vu_client_config(struct vu_client *c, uint32_t offset); /* 32 bits */
void vu_client_set_config(struct vu_client *c, uint32_t offset, uint32_t value, uint32_t n);
int vu_client_irqs(struct vu_client *c); /* an eventfd for every vector, MSI-X on, bus master on */
/* Waits up to ms for the vector's event; the count that had gathered, 0: none came. */
uint64_t vu_client_wait(struct vu_client *c, unsigned int vector, int ms);

#endif /* WSE_VU_CLIENT_H */
