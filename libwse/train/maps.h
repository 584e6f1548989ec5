/* SPDX-License-Identifier: MIT */
/* Heat maps of what a swarm's devices count between two moments. */
#ifndef WSE_TRAIN_MAPS_H
#define WSE_TRAIN_MAPS_H

struct wse_maps;
struct wse_swarm;

/*
 * Between steps: counting begins. A device that has no counters, or fails, has no map.
 * -ENOMEM
 */
int wse_maps_open(struct wse_swarm *swarm, struct wse_maps **maps);
/*
 * Between steps: dir/wafer-N.svg of every device, and maps is gone. Else a sentence and the errno
 * of the first file that could not be written.
 */
int wse_maps_close(struct wse_swarm *swarm, const char *dir, struct wse_maps *maps);
void wse_maps_free(struct wse_maps *maps);

#endif
