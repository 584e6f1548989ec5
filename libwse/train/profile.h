/* SPDX-License-Identifier: MIT */
/*
 * Where the time goes: a timeline of what the devices execute, in device cycles, one of what this
 * process does, in its own time, a table of operations with their cycles, and a picture of each
 * device's counters (maps.h). Two timelines, for the
 * two clocks have nothing to do with each other: a model of a wafer is slower than a wafer.
 */
#ifndef WSE_TRAIN_PROFILE_H
#define WSE_TRAIN_PROFILE_H

#include <stdint.h>

struct wse_session;
struct wse_profile;

/* what this process does, for its timeline */
enum wse_host_span {
	WSE_SPAN_MICRO_BATCHES,
	WSE_SPAN_FINISH, /* the rest of the last update, while the devices run */
	WSE_SPAN_COMMIT,
	WSE_SPAN_EVAL,
	WSE_SPAN_CHECKPOINT,
	WSE_SPANS
};

/*
 * Makes dir, which must not have a profile, and records from the next step on, into
 * dir/wafers.pftrace and dir/host.pftrace. A device that does not say when its commands ran has a
 * warning and no track.
 */
int wse_profile_open(struct wse_session *s, const char *dir, struct wse_profile **p);
/*
 * Between steps. Ends recording, writes dir/operations.txt and logs its first ten lines. p is gone
 * either way; NULL: 0
 */
int wse_profile_close(struct wse_session *s, struct wse_profile *p);

/* nanoseconds; 0 without a profile, for whom the spans are not written */
uint64_t wse_profile_now(const struct wse_profile *p);
void wse_profile_span(struct wse_profile *p, enum wse_host_span span, uint64_t begin);

#endif
