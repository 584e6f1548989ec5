// SPDX-License-Identifier: MIT
/* Waves of the RTL around a difference: the program runs again, once to find the cycle. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lockstep.h"

#define BEFORE 1000u /* cycles of the window before the instruction that differs, and behind it */
#define BEHIND 200u

struct search {
	const struct ls_rig *rig;
	uint32_t core;
	size_t left;	/* records of that core until it is there */
	uint64_t cycle; /* 0: it has not come */
};

static void on_record(void *arg, const struct wse_retire *r)
{
	struct search *s = arg;

	if (r->core == s->core && !s->cycle && !s->left--)
		s->cycle = s->rig->ops->cycles(s->rig->machine);
}

/* The program on a new RTL tile with waves; begin is called where the window's cycles begin. */
static int again(const struct ls_program *p, const struct wse_machine_cfg *cfg, uint64_t max_cycles,
		 int (*begin)(struct ls_rig *rig, void *arg),
		 int (*end)(struct ls_rig *rig, void *arg), void *arg)
{
	struct wse_machine_cfg waves = *cfg;
	struct ls_rig rig;
	int err;

	waves.flags |= WSE_MACHINE_WAVES;
	err = ls_rig_create(&rig, "rtl", &waves);
	if (err)
		return err;
	err = ls_rig_load(&rig, p);
	err = err ? err : begin(&rig, arg);
	if (!err) {
		/* a program that never ends, or halts the device, is why one looks */
		ls_rig_run(&rig, p, max_cycles);
		err = end(&rig, arg);
	}
	ls_rig_destroy(&rig);
	return err;
}

struct window {
	struct search search;
	uint64_t start, cycles;
	const struct wse_wave_window *wave;
	char *said;
	size_t size;
};

static int begin_search(struct ls_rig *rig, void *arg)
{
	struct window *w = arg;

	w->start = rig->ops->cycles(rig->machine);
	w->search.rig = rig;
	return w->search.core == ~0u ? 0
				     : rig->ops->trace_retire(rig->machine, w->search.core,
							      on_record, &w->search);
}

static int end_search(struct ls_rig *rig, void *arg)
{
	struct window *w = arg;
	uint64_t at = w->search.cycle ? w->search.cycle : rig->ops->cycles(rig->machine);

	w->cycles = at - w->start;
	return 0;
}

static int begin_wave(struct ls_rig *rig, void *arg)
{
	struct window *w = arg;

	return wse_wave_open(rig->ops, rig->machine, rig->rows, rig->cols, w->wave, w->said,
			     w->size);
}

static int end_wave(struct ls_rig *rig, void *arg)
{
	struct window *w = arg;

	return wse_wave_close(rig->ops, rig->machine, w->wave, w->said, w->size);
}

int ls_wave_check(const struct wse_machine_cfg *cfg, const struct wse_wave_window *wave, char *why,
		  size_t size)
{
	struct wse_machine_cfg waves = *cfg;
	struct wse_wave on;
	struct ls_rig rig;
	int err = wse_wave_on(wave, cfg->rows, cfg->cols, &on, why, size);

	if (err)
		return err;
	waves.flags |= WSE_MACHINE_WAVES;
	err = ls_rig_create(&rig, "rtl", &waves);
	if (!err)
		ls_rig_destroy(&rig);
	else
		snprintf(why, size,
			 "no %ux%u tile of the RTL with waves was built: make tile TRACE=fst "
			 "ROWS=%u COLS=%u GROUP=%u",
			 cfg->rows, cfg->cols, cfg->rows, cfg->cols, cfg->group);
	return err;
}

int ls_wave_difference(const struct ls_judge *j, const struct wse_machine_cfg *cfg,
		       const struct wse_wave_window *wave, uint64_t max_cycles, char *said,
		       size_t size)
{
	struct wse_wave_window around = *wave;
	struct window w = {.wave = &around, .said = said, .size = size};
	int err = 0;

	w.search.core = j->placed ? j->core : ~0u;
	w.search.left = j->index;
	snprintf(said, size, "the program does not run again on the RTL with waves");
	if (!wave->named) {
		err = again(j->prog, cfg, max_cycles, begin_search, end_search, &w);
		around.from = w.cycles > BEFORE ? w.cycles - BEFORE : 0;
		around.to = w.cycles + BEHIND;
	}
	if (!wave->named && !wave->one && j->placed) {
		around.one = true;
		around.x = j->core % cfg->cols;
		around.y = j->core / cfg->cols;
	}
	return err ? err : again(j->prog, cfg, max_cycles, begin_wave, end_wave, &w);
}
