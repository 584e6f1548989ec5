// SPDX-License-Identifier: MIT
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cause.h"
#include "names.h"
#include "number.h"
#include "wse_regs.h"

#define KINDS                                                              \
	(1u << WSE_EV_TASK | 1u << WSE_EV_TASK_END | 1u << WSE_EV_ENGINE | \
	 1u << WSE_EV_ENGINE_END | 1u << WSE_EV_HOP | 1u << WSE_EV_FAULT | 1u << WSE_EV_STALL)

struct replay {
	FILE *f;
	char path[1024];
	uint32_t cols, core; /* ~0u: all cores */
	uint32_t hops;
	uint64_t events;
};

static void hop(struct replay *r, const struct wse_ev *e, const char *at)
{
	static const char port[] = "NESWR", out[] = "ENWSR";
	char to[6] = "_____";
	uint32_t half;

	for (unsigned int i = 0; i < 5; i++)
		if (e->to >> (strchr(port, out[i]) - port) & 1)
			to[i] = out[i];
	fprintf(r->f, "%s landing C%u from link %c,\n", at, e->color, port[e->from]);
	half = e->data >> 16;
	fprintf(r->f,
		"%s wavelet C%u ctrl=%u, idx=%04x, data=%04x (%08x), half=0, ident=%x "
		"landing=[%c] departing=/%s/\n",
		at, e->color, e->ctrl, e->data & 0xffff, half, e->data, r->hops++, port[e->from],
		to);
}

void replay_event(struct replay *r, const struct wse_ev *e)
{
	static const char *const unit[] = {"L", "M0", "M1", "S"};
	char at[80];

	if (!(KINDS >> e->kind & 1) || (r->core != ~0u && r->core != e->core))
		return;
	snprintf(at, sizeof(at), "@%" PRIu64 " P%u.%u (hwtile)", e->cycle, e->core % r->cols,
		 e->core / r->cols);
	r->events++;
	switch (e->kind) {
	case WSE_EV_HOP:
		hop(r, e, at);
		break;
	case WSE_EV_TASK:
		fprintf(r->f, "%s: [EX OP] ^ 0x%08x: T%u task\n", at, e->pc, e->task);
		break;
	case WSE_EV_TASK_END:
		fprintf(r->f, "%s: [EX OP] ^ 0x%08x: IDLE\n", at, e->pc);
		break;
	case WSE_EV_ENGINE:
	case WSE_EV_ENGINE_END:
		fprintf(r->f, "%s: [EX OP] ^ %s: %s%s\n", at, unit[e->unit & 3],
			ev_operation(e->data), e->kind == WSE_EV_ENGINE ? "" : " end");
		break;
	case WSE_EV_FAULT:
		fprintf(r->f, "%s: FAULT 0x%x %s\n", at, e->data, wse_cause_name(e->data));
		break;
	case WSE_EV_STALL:
		if (!e->data)
			fprintf(r->f, "%s: STALL none\n", at);
		else if (e->color == WSE_EV_NO_COLOR)
			fprintf(r->f, "%s: STALL %s\n", at, ev_wait(e->data));
		else
			fprintf(r->f, "%s: STALL %s C%u\n", at, ev_wait(e->data), e->color);
		break;
	}
}

int replay_open(const char *text, uint32_t rows, uint32_t cols, struct replay **out, char *why,
		size_t size)
{
	size_t length = strcspn(text, ",");
	struct replay *r = calloc(1, sizeof(*r));
	uint32_t x, y;
	int err;

	if (!r) {
		snprintf(why, size, "no memory");
		return -ENOMEM;
	}
	snprintf(r->path, sizeof(r->path), "%.*s", (int)length, text);
	r->cols = cols;
	r->core = ~0u;
	if (!length || length >= sizeof(r->path) ||
	    (text[length] && (strncmp(text + length, ",core=", 6) ||
			      wse_number_pair(text + length + 6, '.', &x, &y)))) {
		snprintf(why, size, "needs FILE[,core=COLUMN.ROW], not '%s'", text);
		free(r);
		return -EINVAL;
	}
	if (text[length]) {
		if (x >= cols || y >= rows) {
			snprintf(why, size, "no core %u.%u: core=COLUMN.ROW is from 0.0 to %u.%u",
				 x, y, cols - 1, rows - 1);
			free(r);
			return -EINVAL;
		}
		r->core = y * cols + x;
	}
	r->f = fopen(r->path, "w");
	if (!r->f) {
		err = -errno;
		snprintf(why, size, "cannot write %s: %s", r->path, strerror(-err));
		free(r);
		return err;
	}
	fprintf(r->f, "@0 dimX=%u, dimY=%u\n", cols, rows);
	*out = r;
	return 0;
}

uint32_t replay_kinds(const struct replay *r, uint32_t *core)
{
	*core = r->core;
	return KINDS;
}

int replay_close(struct replay *r, char *why, size_t size)
{
	bool failed;
	int err = 0;

	if (!r)
		return 0;
	failed = ferror(r->f);
	failed |= fclose(r->f) != 0;
	if (failed) {
		err = errno ? -errno : -EIO;
		snprintf(why, size, "cannot write %s: %s; there is no replay", r->path,
			 strerror(-err));
	} else if (!r->events) {
		err = -ENODATA;
		snprintf(why, size, "no event in %s: the core had none in this run", r->path);
	}
	/* a device is not removed */
	if (failed && strncmp(r->path, "/dev/", 5))
		unlink(r->path);
	free(r);
	return err;
}
