/* SPDX-License-Identifier: MIT */
/*
 * Devices that exist on paper: "plan:rows=R,cols=C,lanes=L,link=B,ghz=F" and presets. A plan for
 * one says what bounds a step, the cores or the link from the host, and how long it takes.
 */
#ifndef WSE_TRAIN_PLAN_DEVICE_H
#define WSE_TRAIN_PLAN_DEVICE_H

#include "input/config.h"
#include "model/plan.h"

struct wse_plan_device {
	struct wse_tile tile;
	uint32_t tiles; /* side by side, each with its part of cols and link; 0: not chosen yet */
	double link;	/* bytes a cycle from the host, and as many to it; 0: not said */
	double ghz;	/* 0: not said */
};

/*
 * 1: the URI is of such a device, 0: of another; -EINVAL: of none, with the key that is wrong.
 * lanes 8, 48 KiB a core where nothing is said of them
 */
int wse_plan_device(const char *uri, struct wse_plan_device *d);

/*
 * As wse_plan_make(), of a tile, on the rows that the samples fill: rows above them are idle, as
 * columns are. Nothing runs on such a device, so no bit depends on what is chosen: where the file
 * has no micro_batch_size, it is the one of the shortest step on that many systems, and so is
 * d->tiles.
 */
int wse_plan_device_make(const struct wse_model *m, struct wse_plan_device *d, uint64_t batch,
			 uint64_t micro_batch, uint32_t systems, struct wse_plan *p);

/* lines of a step on `systems` of them */
void wse_plan_device_print(const struct wse_plan_device *d, const struct wse_config *cfg,
			   const struct wse_plan *p, uint32_t systems,
			   const struct wse_exec_cfg *log);

#endif
