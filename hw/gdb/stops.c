// SPDX-License-Identifier: MIT
/*
 * Where cores stop: breakpoints, watchpoints, steps, faults. Records of retired instructions find
 * them; the record of an instruction says what follows it, so a core stops before the instruction
 * that has the breakpoint, and nothing in its memory changes for that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "stub.h"

#define QUANTUM 4096u /* cycles between two looks at faults and at the debugger */
#define STILL	4096u /* cycles without an instruction, after which the wafer may be idle */

static bool in_sram(uint64_t addr, uint64_t len)
{
	return addr >= WSE_SRAM_BASE && len <= WSE_SRAM_BYTES &&
	       addr - WSE_SRAM_BASE <= WSE_SRAM_BYTES - len;
}

static void stop(struct gdb_stub *g, struct gdb_core *c, enum hit hit)
{
	if (!c->hit)
		c->hit = (uint8_t)hit;
	g->cfg.ops->brk(g->cfg.machine);
}

static bool break_at(const struct gdb_core *c, uint32_t pc)
{
	uint32_t off = pc - WSE_SRAM_BASE;

	return c->breaks && off < WSE_SRAM_BYTES && !(off & 3) && c->breaks[off / 4];
}

static void on_retire(void *arg, const struct wse_retire *r)
{
	struct gdb_stub *g = arg;
	struct gdb_core *c = &g->core[r->core];
	unsigned int i;

	if (g->cfg.retire && r->core == g->cfg.traced)
		g->cfg.retire(g->cfg.retire_arg, r);
	if (!c->attached)
		return;
	c->told_pc = 1;
	if (r->trap) /* it may have halted: gdb_advance() looks */
		g->cfg.ops->brk(g->cfg.machine);
	for (i = 0; i < c->nwatches && r->mem_size; i++) {
		if (r->mem_addr < c->watch[i].addr + c->watch[i].len &&
		    c->watch[i].addr < r->mem_addr + r->mem_size) {
			c->watch_hit = c->watch[i].addr;
			stop(g, c, HIT_WATCH);
		}
	}
	if (break_at(c, r->next_pc))
		stop(g, c, HIT_BREAK);
	if (c->stepping && r->next_pc - c->from >= c->to - c->from)
		stop(g, c, HIT_STEP);
}

static int set_traces(struct gdb_stub *g)
{
	const struct wse_machine_ops *ops = g->cfg.ops;
	bool want = g->connected && g->nstops;
	int err;

	if (want == g->traced)
		return 0;
	err = ops->trace_retire(g->cfg.machine, ~0u, want ? on_retire : NULL, g);
	if (!err && !want && g->cfg.retire)
		err = ops->trace_retire(g->cfg.machine, g->cfg.traced, on_retire, g);
	if (!err)
		g->traced = want;
	return err;
}

static void remember(struct gdb_stub *g, uint32_t core, struct gdb_watch *w)
{
	if (g->cfg.ops->peek(g->cfg.machine, core, w->addr, w->was, w->len))
		memset(w->was, 0, sizeof(w->was));
}

int gdb_insert(struct gdb_stub *g, uint32_t core, unsigned int type, uint64_t addr, uint64_t len)
{
	struct gdb_core *c = &g->core[core];
	uint8_t bit = type ? BREAK_HARD : BREAK_SOFT, *at;

	if (type == 2) {
		struct gdb_watch *w = &c->watch[c->nwatches];

		if (c->nwatches == WATCHES || !len || len > WATCH_MAX || !in_sram(addr, len))
			return -EINVAL;
		w->addr = (uint32_t)addr;
		w->len = (uint32_t)len;
		remember(g, core, w);
		c->nwatches++;
		g->nstops++;
		return 0;
	}
	if (addr & 3 || !in_sram(addr, 4))
		return -EINVAL;
	if (!c->breaks) {
		c->breaks = calloc(NWORDS, 1);
		if (!c->breaks)
			return -ENOMEM;
	}
	at = &c->breaks[(addr - WSE_SRAM_BASE) / 4];
	if (!*at) {
		c->nbreaks++;
		g->nstops++;
	}
	*at |= bit;
	return 0;
}

int gdb_remove(struct gdb_stub *g, uint32_t core, unsigned int type, uint64_t addr, uint64_t len)
{
	struct gdb_core *c = &g->core[core];
	uint8_t bit = type ? BREAK_HARD : BREAK_SOFT, *at;
	unsigned int i;

	if (type == 2) {
		for (i = 0; i < c->nwatches; i++) {
			if (c->watch[i].addr != addr || c->watch[i].len != len)
				continue;
			c->watch[i] = c->watch[--c->nwatches];
			g->nstops--;
			return 0;
		}
		return -EINVAL;
	}
	if (addr & 3 || !in_sram(addr, 4))
		return -EINVAL;
	if (!c->breaks)
		return 0;
	at = &c->breaks[(addr - WSE_SRAM_BASE) / 4];
	if (*at & bit) {
		*at &= (uint8_t)~bit;
		if (!*at) {
			c->nbreaks--;
			g->nstops--;
		}
	}
	return 0;
}

static void park(struct gdb_stub *g, uint32_t core, bool on)
{
	struct wse_core_state st;

	if (g->cfg.ops->get_state(g->cfg.machine, core, &st))
		return;
	if (on && st.run != WSE_CORE_RUNNING) /* it has faulted, and stands anyway */
		return;
	if (!on && (st.run != WSE_CORE_HELD || st.pc != g->core[core].parked_pc))
		return; /* the host has reset it meanwhile */
	g->core[core].parked_pc = st.pc;
	st.run = on ? WSE_CORE_HELD : WSE_CORE_RUNNING;
	if (!g->cfg.ops->set_state(g->cfg.machine, core, &st))
		g->core[core].parked = on;
}

void gdb_forget(struct gdb_stub *g, uint32_t core)
{
	struct gdb_core *c = &g->core[core];

	if (c->parked)
		park(g, core, false);
	c->parked = c->resumed = false;
	g->nstops -= c->nbreaks + c->nwatches + c->stepping;
	free(c->breaks);
	c->breaks = NULL;
	c->nbreaks = c->nwatches = 0;
	c->stepping = false;
	c->hit = HIT_NONE;
	c->told_pc = 1;
	c->attached = false;
	set_traces(g);
}

unsigned int gdb_fault_signal(uint32_t cause)
{
	switch (cause) {
	case WSE_CAUSE_ILLEGAL:
		return 4; /* SIGILL, as gdb counts */
	case WSE_CAUSE_BREAKPOINT:
		return 5; /* SIGTRAP */
	case WSE_CAUSE_FETCH_MISALIGNED:
	case WSE_CAUSE_LOAD_MISALIGNED:
	case WSE_CAUSE_STORE_MISALIGNED:
		return 10; /* SIGBUS */
	case WSE_CAUSE_FETCH_ACCESS:
	case WSE_CAUSE_LOAD_ACCESS:
	case WSE_CAUSE_STORE_ACCESS:
		return 11; /* SIGSEGV */
	case WSE_CAUSE_ECALL:
		return 12; /* SIGSYS */
	default:
		return 6; /* SIGABRT: a fault of the tensor unit */
	}
}

static void end_steps(struct gdb_stub *g)
{
	for (uint32_t i = 0; i < g->ncores; i++) {
		g->nstops -= g->core[i].stepping;
		g->core[i].stepping = g->core[i].resumed = false;
	}
}

/* true: there were parked cores */
static bool end_parking(struct gdb_stub *g)
{
	bool any = false;

	for (uint32_t i = 0; i < g->ncores; i++) {
		if (!g->core[i].parked)
			continue;
		park(g, i, false);
		g->core[i].parked = false;
		any = true;
	}
	return any;
}

void gdb_report(struct gdb_stub *g, uint32_t core, enum hit hit, unsigned int signal)
{
	struct gdb_core *c = &g->core[core];
	struct wse_core_state st = {0};

	end_parking(g);
	g->cfg.ops->get_state(g->cfg.machine, core, &st);
	if (hit == HIT_FAULT) {
		char line[160];
		int n = snprintf(line, sizeof(line), "core %u,%u: %s, address 0x%08x\n",
				 core_col(g, core), core_row(g, core),
				 wse_cause_name(st.fault_cause), st.fault_addr);

		gdb_console(g, line, (size_t)n);
		signal = gdb_fault_signal(st.fault_cause);
		c->told = true;
	}
	g->running = g->interrupted = false;
	g->stop_core = g->general = core;
	g->stop_signal = signal;
	c->hit = HIT_NONE;
	c->told_pc = st.pc;
	end_steps(g);
	g->nreply = 0;
	gdb_say(g, "T%02x20:", signal);
	gdb_say_hex(g, &st.pc, 4);
	gdb_say(g, ";02:");
	gdb_say_hex(g, &st.x[2], 4);
	gdb_say(g, ";thread:");
	gdb_say_thread(g, core);
	gdb_say(g, ";");
	if (hit == HIT_WATCH)
		gdb_say(g, "watch:%x;", c->watch_hit);
	else if (hit == HIT_BREAK && g->swbreak && c->breaks &&
		 c->breaks[(st.pc - WSE_SRAM_BASE) / 4] & BREAK_SOFT)
		gdb_say(g, "swbreak:;");
	else if (hit == HIT_BREAK && g->hwbreak)
		gdb_say(g, "hwbreak:;");
	gdb_send(g);
}

/* memory that an engine, the host or a debugger has changed */
static void look_at_watches(struct gdb_stub *g, uint32_t core)
{
	struct gdb_core *c = &g->core[core];
	uint8_t is[WATCH_MAX];

	for (unsigned int i = 0; i < c->nwatches; i++) {
		struct gdb_watch *w = &c->watch[i];

		if (g->cfg.ops->peek(g->cfg.machine, core, w->addr, is, w->len) ||
		    !memcmp(is, w->was, w->len))
			continue;
		memcpy(w->was, is, w->len);
		c->watch_hit = w->addr;
		if (!c->hit)
			c->hit = HIT_WATCH;
	}
}

/* what has stopped a core, once it has been looked at. resumed: nothing has run yet */
static void judge(struct gdb_stub *g, uint32_t core, const struct wse_core_state *st, bool resumed)
{
	struct gdb_core *c = &g->core[core];

	if (c->nwatches)
		look_at_watches(g, core);
	if (st->run != WSE_CORE_FAULTED)
		c->told = false;
	else if (!c->told)
		c->hit = HIT_FAULT;
	/* reached while another core's stop was reported */
	if (!c->hit && resumed && st->run == WSE_CORE_RUNNING && st->pc != c->told_pc &&
	    break_at(c, st->pc))
		c->hit = HIT_BREAK;
	if (c->hit == HIT_BREAK && !break_at(c, st->pc))
		c->hit = HIT_NONE; /* removed since */
	if (c->hit == HIT_STEP && !c->stepping)
		c->hit = HIT_NONE; /* of a step that another stop ended */
	if (c->stepping && !c->hit && st->run != WSE_CORE_RUNNING)
		c->hit = HIT_STEP; /* it will never */
}

/*
 * Reports one core that has come to a stop. One that gdb did not resume is held where it is until
 * gdb hears of it.
 */
static void look(struct gdb_stub *g, bool resumed)
{
	uint32_t i, found = g->ncores;

	g->retired = 0;
	for (i = 0; i < g->ncores; i++) {
		struct gdb_core *c = &g->core[i];
		struct wse_core_state st;

		if (!c->attached || g->cfg.ops->get_state(g->cfg.machine, i, &st))
			continue;
		g->retired += st.minstret;
		if (c->parked)
			continue;
		judge(g, i, &st, resumed);
		if (c->hit && !c->resumed)
			park(g, i, true);
		else if (c->hit && (found == g->ncores || c->stepping))
			found = i;
	}
	if (found < g->ncores)
		gdb_report(g, found, g->core[found].hit, 5);
}

void gdb_resume(struct gdb_stub *g)
{
	if (set_traces(g)) {
		gdb_say(g, "E01");
		gdb_send(g);
		return;
	}
	g->running = true;
	look(g, true);
}

void gdb_brk(struct gdb_stub *g)
{
	g->asked = true;
	g->cfg.ops->brk(g->cfg.machine);
}

bool gdb_runs(const struct gdb_stub *g)
{
	return g->running;
}

static void interrupt(struct gdb_stub *g, unsigned int signal)
{
	uint32_t core = g->general;

	for (uint32_t i = 0; i < g->ncores && !g->core[core].attached; i++)
		core = i;
	gdb_report(g, core, HIT_NONE, signal);
}

/*
 * With watchpoints and steps time passes cycle by cycle (func: an instruction of each core), so
 * that a write of an engine is seen where it happens, and no core runs ahead of a step. That does
 * not tell whether the wafer is idle.
 */
static enum wse_stop one_cycle(struct gdb_stub *g, uint32_t core, uint64_t *ran)
{
	uint64_t retired = g->retired;
	enum wse_stop why = WSE_STOP_CYCLES;

	*ran = 1;
	if (g->still == STILL)
		why = g->cfg.ops->advance(g->cfg.machine, 1, ran);
	else
		g->cfg.ops->step(g->cfg.machine, core, 1);
	look(g, false);
	g->still = g->retired == retired && g->still < STILL ? g->still + 1 : 0;
	return why;
}

enum wse_stop gdb_advance(struct gdb_stub *g, uint64_t max_cycles, uint64_t *ran)
{
	enum wse_stop why = WSE_STOP_CYCLES;
	uint32_t singly = g->ncores, nattached = 0, nresumed = 0, one = 0;
	uint64_t n, done = 0, retired;

	if (ran)
		*ran = 0;
	if (!g->running)
		return WSE_STOP_BREAK;
	g->asked = false;
	for (uint32_t i = 0; i < g->ncores; i++) {
		const struct gdb_core *c = &g->core[i];

		if (c->nwatches || c->stepping)
			singly = i;
		nattached += c->attached;
		nresumed += c->resumed;
		one = c->resumed ? i : one;
	}
	if (!nattached) /* as without a debugger */
		return g->cfg.ops->advance(g->cfg.machine, max_cycles, ran);
	if (nresumed < nattached) /* gdb steps over a breakpoint */
		singly = one;
	while (g->running && done < max_cycles && why == WSE_STOP_CYCLES && !g->interrupted &&
	       !g->asked) {
		n = max_cycles - done < QUANTUM ? max_cycles - done : QUANTUM;
		retired = g->retired;
		if (singly < g->ncores) {
			why = one_cycle(g, singly, &n);
		} else {
			why = g->cfg.ops->advance(g->cfg.machine, n, &n);
			look(g, false);
		}
		done += n;
		/* what gdb lets run waits for what is held: rather miss a stop of that */
		if (g->running && why == WSE_STOP_IDLE && retired == g->retired && end_parking(g)) {
			why = WSE_STOP_CYCLES;
			g->still = 0;
		}
	}
	if (g->running && g->interrupted)
		interrupt(g, 2);
	if (g->running && g->cfg.closed && (why == WSE_STOP_IDLE || why == WSE_STOP_HALTED)) {
		static const char text[] = "nothing moves: every core waits, is held or has "
					   "faulted (info os processes)\n";

		gdb_console(g, text, sizeof(text) - 1);
		interrupt(g, 17); /* SIGSTOP */
	}
	if (ran)
		*ran = done;
	return why;
}
