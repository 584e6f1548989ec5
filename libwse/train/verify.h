/* SPDX-License-Identifier: MIT */
/* --verify-steps: the same step once more on another model of the wafer, every bit compared. */
#ifndef WSE_TRAIN_VERIFY_H
#define WSE_TRAIN_VERIFY_H

#include "session.h"

/*
 * Between wse_session_compute() and wse_session_commit(): run the step's micro-batches on one
 * device opened at `uri` and compare losses, reduced gradients and dx bit for bit.
 * -EILSEQ, with the first difference in the sentence; -errno when the device cannot do it.
 */
int wse_verify_step(struct wse_session *s, const char *uri);
/* The same, and a window of waves (wse_device_wave()), counted from the step's begin. */
int wse_verify_wave(struct wse_session *s, const char *uri, const char *wave);
/*
 * Behind wse_session_compute() that a fault of the last device ended: the step is replayed twice,
 * once to find the cycle in which it comes, and with waves, without from and to, of the last ones
 * before it. said: what is in the file. Else why there is none: the fault does not come again, ...
 */
int wse_verify_fault(struct wse_session *s, const char *uri, const char *wave, char *said,
		     size_t size);

#endif
