/* SPDX-License-Identifier: MIT */
/*
 * The part of vfio-user's wire protocol that a PCI device without migration needs. Source: QEMU's
 * docs/interop/vfio-user.rst; the VFIO constants are those of <linux/vfio.h>. All little-endian.
 */
#ifndef WSE_VFIO_USER_PROTO_H
#define WSE_VFIO_USER_PROTO_H

#include <stdint.h>

enum vu_cmd {
	VU_VERSION = 1,
	VU_DMA_MAP = 2,
	VU_DMA_UNMAP = 3,
	VU_GET_INFO = 4,
	VU_REGION_INFO = 5,
	VU_IRQ_INFO = 7,
	VU_SET_IRQS = 8,
	VU_REGION_READ = 9,
	VU_REGION_WRITE = 10,
	VU_RESET = 13,
	VU_REGION_WRITE_MULTI = 15,
};

#define VU_TYPE_MASK 0xfu /* flags: message type */
#define VU_REQUEST 0x0u
#define VU_REPLY 0x1u
#define VU_NO_REPLY 0x10u
#define VU_ERROR 0x20u

struct vu_hdr {
	uint16_t id;
	uint16_t cmd;
	uint32_t size; /* of the whole message, header included */
	uint32_t flags;
	uint32_t err; /* errno of a reply with VU_ERROR */
};

struct vu_version {
	uint16_t major, minor; /* then JSON, NUL terminated */
};

#define VU_DMA_READABLE 1u
#define VU_DMA_WRITEABLE 2u
struct vu_dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, size;
};

#define VU_UNMAP_ALL 2u
struct vu_dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};

#define VU_DEVICE_RESET 1u
#define VU_DEVICE_PCI 2u
struct vu_device_info {
	uint32_t argsz, flags, nregions, nirqs;
};

#define VU_REGION_R 1u
#define VU_REGION_W 2u
struct vu_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t size, offset;
};

#define VU_IRQ_EVENTFD 1u
#define VU_IRQ_MASKABLE 2u
#define VU_IRQ_NORESIZE 8u
struct vu_irq_info {
	uint32_t argsz, flags, index, count;
};

#define VU_SET_DATA_NONE 0x01u
#define VU_SET_DATA_BOOL 0x02u
#define VU_SET_DATA_EVENTFD 0x04u
#define VU_SET_MASK 0x08u
#define VU_SET_UNMASK 0x10u
#define VU_SET_TRIGGER 0x20u
struct vu_irq_set {
	uint32_t argsz, flags, index, start, count;
};

struct vu_region_rw {
	uint64_t offset;
	uint32_t region, count; /* then count bytes of data */
};

struct vu_write_one { /* after a u64 count in WRITE_MULTI */
	uint64_t offset;
	uint32_t region, count;
	uint8_t data[8];
};

#define VU_NREGIONS 9u /* BAR 0-5, ROM, config, VGA */
#define VU_REGION_BAR0 0u
#define VU_REGION_BAR4 4u
#define VU_REGION_CONFIG 7u
#define VU_NIRQS 5u /* INTx, MSI, MSI-X, ERR, REQ */
#define VU_IRQ_MSIX 2u

#endif /* WSE_VFIO_USER_PROTO_H */
