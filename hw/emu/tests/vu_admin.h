/* SPDX-License-Identifier: MIT */
/* The admin queue of a device behind a vu_client, one command at a time or many; one client at a
 * time. */
#ifndef WSE_VU_ADMIN_H
#define WSE_VU_ADMIN_H

#include "pci/tests/vu_client.h"
#include "wse_regs.h"

/* The client's memory: how much, where the device sees it, and what lies where in it. */
#define VU_MEM (1u << 20)
#define VU_IOVA 0x100000000ull /* above 4 GiB: all address bits count */
#define VU_ASQ 0x0000u
#define VU_ACQ 0x1000u
#define VU_FAULTS 0x2000u
#define VU_DATA 0x10000u /* from here on it is the test's, below cleared by vu_admin_enable() */
#define VU_DEPTH 16u

extern const struct wse_sqe vu_nop; /* its cid is 77 */

double vu_now(void); /* seconds */
void vu_post64(struct vu_client *c, uint32_t reg, uint64_t v);

/* Enables the device with empty rings; false: it does not get ready. */
bool vu_admin_enable(struct vu_client *c);
void vu_admin_push(struct vu_client *c, const struct wse_sqe *s);
/* Next completion: its status, or -1 after ms. *cid may be NULL. */
int vu_admin_complete(struct vu_client *c, int ms, uint16_t *cid);
/* Both. */
int vu_admin_run(struct vu_client *c, const struct wse_sqe *s);

#endif /* WSE_VU_ADMIN_H */
