// SPDX-License-Identifier: MIT
#include "profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cause.h"
#include "names.h"
#include "timeline.h"
#include "wse_regs.h"

/* tracks of a core */
enum { TASKS, ENGINE_L, ENGINE_M0, ENGINE_M1, WAITS, TRACKS };
static const char *const track_names[TRACKS] = {"tasks", "engine L", "engine M0", "engine M1",
						"waits"};

/* all slices with one name, of all cores, on one kind of track */
struct sum {
	char name[96];
	unsigned int kind;
	uint64_t key; /* what makes the name */
	uint32_t id;  /* in the timeline */
	uint64_t times, cycles;
};

struct slice {
	uint32_t sum, begun; /* begun: it goes on */
	uint64_t begin;
};

struct profile {
	char dir[1024];
	uint32_t rows, cols, cores; /* cores: that have tracks */
	const struct wse_lines *lines;
	struct wse_timeline *t;
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint64_t begin, end; /* cycles of the model */
	struct slice *open;  /* [rows * cols][TRACKS] */
	uint64_t *track;     /* the same; 0: the core has none yet */
	struct sum *sums;
	uint32_t nsums;
	int err;
};

static int refuse(struct profile *p, int err, const char *file, char *why, size_t size)
{
	if (err == -EEXIST)
		snprintf(why, size, "%s is there, of an earlier profile: give another folder",
			 file);
	else
		snprintf(why, size, "cannot write %s: %s", file, strerror(-err));
	free(p);
	return err;
}

int profile_open(const char *dir, uint32_t rows, uint32_t cols, const struct wse_lines *lines,
		 struct profile **out, char *why, size_t size)
{
	struct profile *p = calloc(1, sizeof(*p));
	char file[1100];
	int err;

	if (!p)
		return refuse(p, -ENOMEM, dir, why, size);
	if (!*dir || strlen(dir) >= sizeof(p->dir))
		return refuse(p, *dir ? -ENAMETOOLONG : -ENOENT, dir, why, size);
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	p->rows = rows;
	p->cols = cols;
	p->lines = lines;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return refuse(p, -errno, dir, why, size);
	snprintf(file, sizeof(file), "%s/cores.pftrace", dir);
	err = wse_timeline_create(file, &p->t);
	if (err)
		return refuse(p, err, file, why, size);
	*out = p;
	return 0;
}

static uint64_t *tracks_of(struct profile *p, uint32_t core)
{
	uint64_t *track = p->track + (size_t)core * TRACKS;
	char name[40];

	if (track[TASKS])
		return track;
	snprintf(name, sizeof(name), "core %u,%u", core % p->cols, core / p->cols);
	wse_timeline_process(p->t, core + 1, name);
	for (uint32_t k = 0; k < TRACKS; k++)
		track[k] =
			wse_timeline_track(p->t, core + 1, core * TRACKS + k + 1, track_names[k]);
	p->cores++;
	return track;
}

/* the sum with a name that key stands for: its number, made the first time; ~0: no memory */
static uint32_t sum_of(struct profile *p, unsigned int kind, uint64_t key, const char *name)
{
	struct sum *s;

	for (uint32_t i = 0; i < p->nsums; i++)
		if (p->sums[i].kind == kind && p->sums[i].key == key)
			return i;
	s = realloc(p->sums, (p->nsums + 1) * sizeof(*s));
	if (!s) {
		p->err = -ENOMEM;
		return ~0u;
	}
	p->sums = s;
	s += p->nsums;
	*s = (struct sum){.kind = kind, .key = key, .id = wse_timeline_name(p->t, name)};
	snprintf(s->name, sizeof(s->name), "%s", name);
	return p->nsums++;
}

static void end(struct profile *p, uint32_t core, unsigned int kind, uint64_t cycle)
{
	struct slice *o = &p->open[(size_t)core * TRACKS + kind];
	struct sum *s;

	if (!o->begun)
		return;
	o->begun = 0;
	s = &p->sums[o->sum];
	s->times++;
	s->cycles += cycle - o->begin;
	wse_timeline_slice(p->t, tracks_of(p, core)[kind], s->id, o->begin, cycle);
}

static void begin(struct profile *p, uint32_t core, unsigned int kind, uint64_t cycle, uint64_t key,
		  const char *name)
{
	uint32_t sum = sum_of(p, kind, key, name);

	end(p, core, kind, cycle); /* what goes on there ends without an event of its own */
	if (sum != ~0u)
		p->open[(size_t)core * TRACKS + kind] = (struct slice){sum, 1, cycle};
}

int profile_begin(struct profile *p, const struct wse_machine_ops *ops, struct wse_machine *m,
		  uint32_t core)
{
	size_t n = (size_t)p->rows * p->cols * TRACKS;

	p->ops = ops;
	p->machine = m;
	p->begin = ops->cycles(m);
	p->open = calloc(n, sizeof(*p->open));
	p->track = calloc(n, sizeof(*p->track));
	if (!p->open || !p->track)
		return -ENOMEM;
	begin(p, core, TASKS, 0, ~0ull, "from boot");
	return 0;
}

static void on_task(struct profile *p, const struct wse_ev *e, uint64_t cycle)
{
	char place[WSE_LINES_TEXT], name[96];

	wse_lines_place(p->lines, e->pc, place);
	if (e->task == 255)
		snprintf(name, sizeof(name), "start%s%.80s", *place ? " " : "", place);
	else
		snprintf(name, sizeof(name), "T%u%s%.80s", e->task, *place ? " " : "", place);
	begin(p, e->core, TASKS, cycle, (uint64_t)e->task << 32 | e->pc, name);
}

static void on_wait(struct profile *p, const struct wse_ev *e, uint64_t cycle)
{
	char name[40];

	if (!e->data) {
		end(p, e->core, WAITS, cycle);
		return;
	}
	if (e->color == WSE_EV_NO_COLOR)
		snprintf(name, sizeof(name), "%s", ev_wait(e->data));
	else
		snprintf(name, sizeof(name), "%s C%u", ev_wait(e->data), e->color);
	begin(p, e->core, WAITS, cycle, (uint64_t)e->data << 8 | e->color, name);
}

static void on_fault(struct profile *p, const struct wse_ev *e, uint64_t cycle)
{
	char name[140], place[WSE_LINES_TEXT];

	for (unsigned int k = 0; k < TRACKS; k++)
		end(p, e->core, k, cycle);
	wse_lines_place(p->lines, e->pc, place);
	snprintf(name, sizeof(name), "FAULT %s%s%.60s", wse_cause_name(e->data),
		 *place ? " in " : "", place);
	wse_timeline_instant(p->t, tracks_of(p, e->core)[TASKS], wse_timeline_name(p->t, name),
			     cycle);
}

void profile_event(struct profile *p, const struct wse_ev *e)
{
	uint64_t cycle = e->cycle - p->begin;

	switch (e->kind) {
	case WSE_EV_TASK:
		on_task(p, e, cycle);
		break;
	case WSE_EV_TASK_END:
		end(p, e->core, TASKS, cycle);
		break;
	case WSE_EV_ENGINE:
		begin(p, e->core, ENGINE_L + e->unit % 3, cycle, e->data & WSE_TCW_OP_MASK,
		      ev_operation(e->data));
		break;
	case WSE_EV_ENGINE_END:
		end(p, e->core, ENGINE_L + e->unit % 3, cycle);
		break;
	case WSE_EV_FAULT:
		on_fault(p, e, cycle);
		break;
	case WSE_EV_STALL:
		on_wait(p, e, cycle);
		break;
	}
}

void profile_end(struct profile *p)
{
	if (!p || !p->track)
		return;
	p->ops->events(p->machine, ~0u, 0, NULL, NULL);
	p->end = p->ops->cycles(p->machine) - p->begin;
	for (uint32_t core = 0; core < p->rows * p->cols; core++)
		for (unsigned int k = 0; k < TRACKS; k++)
			end(p, core, k, p->end);
}

static int dearer(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int write_table(struct profile *p)
{
	double all = (double)p->end * p->cores;
	char file[1100];
	FILE *f;
	int failed;

	snprintf(file, sizeof(file), "%s/operations.txt", p->dir);
	f = fopen(file, "w");
	if (!f)
		return -errno;
	qsort(p->sums, p->nsums, sizeof(*p->sums), dearer);
	fprintf(f, "%" PRIu64 " cycles of %s, %u cores\n", p->end, p->ops->name, p->cores);
	fprintf(f, "%8s %16s %10s  %-10s %s\n", "percent", "cycles", "times", "of", "what");
	for (uint32_t i = 0; i < p->nsums; i++) {
		const struct sum *s = &p->sums[i];

		fprintf(f, "%8.2f %16" PRIu64 " %10" PRIu64 "  %-10s %s\n",
			all > 0 ? 100 * (double)s->cycles / all : 0, s->cycles, s->times,
			track_names[s->kind], s->name);
	}
	failed = ferror(f);
	return fclose(f) || failed ? -EIO : 0;
}

int profile_close(struct profile *p, char *why, size_t size)
{
	char file[1100];
	int err = 0, closed;

	if (!p)
		return 0;
	if (!p->track) { /* nothing ran */
		snprintf(file, sizeof(file), "%s/cores.pftrace", p->dir);
		unlink(file);
	}
	if (p->track)
		err = p->err ? p->err : write_table(p);
	closed = wse_timeline_close(p->t);
	err = closed ? closed : err;
	if (err)
		snprintf(why, size, "%s ends early: %s", p->dir, strerror(-err));
	free(p->sums);
	free(p->open);
	free(p->track);
	free(p);
	return err;
}
