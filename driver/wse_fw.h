/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_FW_H
#define WSE_FW_H

#include <linux/ratelimit_types.h>
#include <linux/types.h>

struct wse_device;

#define WSE_FIRMWARE "wse/wse-fw.bin"

/* The firmware that contexts boot, in memory that the device can read. */
struct wse_fw_image {
	struct ratelimit_state limit; /* of retries after a file that was missing or invalid */
	int err;		      /* of the last attempt; fw_mutex */
	bool loaded; /* the rest is valid */
	void *cpu;
	dma_addr_t dma;
	u32 bytes; /* goes to SRAM offset 0 */
	u32 entry; /* absolute */
	u32 version;
};

void wse_fw_init(struct wse_device *wdev);
bool wse_fw_loaded(struct wse_device *wdev);
int wse_fw_get(struct wse_device *wdev);

#endif
