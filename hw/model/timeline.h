/* SPDX-License-Identifier: MIT */
/*
 * A timeline that https://ui.perfetto.dev opens: Perfetto's protobuf (protos/perfetto/trace), of
 * which four messages suffice: TracePacket, TrackDescriptor, TrackEvent, InternedData.
 *
 * Calls may come from several threads. The first error of writing is kept and told by close; after
 * it all other calls do nothing.
 */
#ifndef WSE_TIMELINE_H
#define WSE_TIMELINE_H

#include <stdint.h>

struct wse_timeline;

/* -errno of creating the file; it must not exist */
int wse_timeline_create(const char *path, struct wse_timeline **t);
/* a process with a name, pid above 0, and a track of it: its number, for slices */
void wse_timeline_process(struct wse_timeline *t, uint32_t pid, const char *name);
uint64_t wse_timeline_track(struct wse_timeline *t, uint32_t pid, uint32_t tid, const char *name);
/* a name that many slices have: its number */
uint32_t wse_timeline_name(struct wse_timeline *t, const char *name);
/* from begin to end, nanoseconds; slices of a track follow each other or lie within each other */
void wse_timeline_slice(struct wse_timeline *t, uint64_t track, uint32_t name, uint64_t begin,
			uint64_t end);
/* what has no length */
void wse_timeline_instant(struct wse_timeline *t, uint64_t track, uint32_t name, uint64_t at);
/* 0, or the first error; t is gone either way. NULL: 0 */
int wse_timeline_close(struct wse_timeline *t);

#endif
