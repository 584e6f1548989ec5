/* SPDX-License-Identifier: MIT */
/* What happens in a run, for programs: the same as its lines say, in numbers. */
#ifndef WSE_OUTPUT_EVENT_H
#define WSE_OUTPUT_EVENT_H

#include <stdint.h>

enum wse_event_kind {
	WSE_EVENT_BEGIN,	/* step: the one to go on from; samples: held out */
	WSE_EVENT_TRAIN,	/* after every step */
	WSE_EVENT_EVAL,		/* loss, samples */
	WSE_EVENT_CHECKPOINT,	/* step, text: its path */
};

struct wse_event {
	enum wse_event_kind kind;
	uint64_t step, max_steps;
	double seconds;		/* of the run, over resumes */
	double loss;		/* nats per token */
	double lr, norm;	/* norm: of the gradient, before clipping */
	double ms;		/* of this step, without evaluations and checkpoints */
	double rate;		/* samples a second of this step */
	uint64_t samples;
	uint32_t devices;	/* alive */
	const char *text;
};

#endif
