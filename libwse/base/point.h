/* SPDX-License-Identifier: MIT */
/*
 * Numbers as text have a point: parameter files, metrics, checkpoints' headers and sentences are
 * read and written so, whatever locale the program has chosen. A public call of a handle is within
 * such a pair (base/handle.h), and a thread that writes numbers.
 */
#ifndef WSE_BASE_POINT_H
#define WSE_BASE_POINT_H

/* From here on this thread's numbers have a point; nothing where they do. owner: who says end. */
void wse_point_begin(const void *owner);

/* As before begin; nothing where another owner has begun. */
void wse_point_end(const void *owner);

#endif
