/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WSE_RESV_H
#define WSE_RESV_H

struct dma_fence;
struct wse_job;
struct ww_acquire_ctx;

int wse_resv_lock(struct wse_job *job, struct ww_acquire_ctx *acquire);
void wse_resv_add(struct wse_job *job, struct dma_fence *fence);
void wse_resv_unlock(struct wse_job *job, struct ww_acquire_ctx *acquire);

#endif
