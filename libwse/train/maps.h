/* SPDX-License-Identifier: MIT */
/* Heat maps of what a swarm's devices count between two moments, and in phases of a micro-batch. */
#ifndef WSE_TRAIN_MAPS_H
#define WSE_TRAIN_MAPS_H

#include <stdint.h>

#define WSE_MAP_PHASES 3u

struct wse_device;
struct wse_maps;
struct wse_swarm;

/*
 * Between steps: counting begins. A device that has no counters, or fails, has no map.
 * -ENOMEM
 */
int wse_maps_open(struct wse_swarm *swarm, struct wse_maps **maps);
/*
 * In the thread of a device, which is at rest: a phase (0 to WSE_MAP_PHASES - 1) of its begins, or
 * ends. One that has not ended, or whose counters cannot be read, has no map.
 */
void wse_maps_phase(struct wse_maps *maps, uint32_t i, struct wse_device *dev, uint32_t phase,
		    int begins);
/*
 * Between steps: dir/wafer-N.svg of every device, dir/wafer-N-PHASE.svg of its phases, by these
 * names, and maps is gone. Else a sentence and the errno
 * of the first file that could not be written.
 */
int wse_maps_close(struct wse_swarm *swarm, const char *dir, const char *const *phases,
		   struct wse_maps *maps);
void wse_maps_free(struct wse_maps *maps);

#endif
