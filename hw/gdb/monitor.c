// SPDX-License-Identifier: MIT
/* gdb's `monitor COMMAND` and `info os processes`: what a core has beside registers and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "elf32.h"
#include "number.h"
#include "print.h"
#include "stub.h"
#include "waits.h"

static const char *state_of(const struct wse_core_state *st, const char *what)
{
	switch (st->run) {
	case WSE_CORE_HELD:
		return "held";
	case WSE_CORE_FAULTED:
		return "faulted";
	default:
		return *what ? "waits" : "runs";
	}
}

static struct wse_waits waits_of(const struct gdb_stub *g, uint32_t core)
{
	const struct wse_wafer w = {g->cfg.ops, g->cfg.machine, g->cfg.rows, g->cfg.cols};
	struct wse_waits found;

	wse_find_waits(&w, core, &found);
	return found;
}

void gdb_processes_xml(struct gdb_stub *g)
{
	gdb_text(g, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"osdata.dtd\">"
		    "<osdata type=\"processes\">");
	for (uint32_t i = 0; i < g->ncores; i++) {
		struct wse_core_state st = {0};
		const struct wse_waits w = waits_of(g, i);

		g->cfg.ops->get_state(g->cfg.machine, i, &st);
		gdb_text(
			g,
			"<item><column name=\"pid\">%u</column><column name=\"core\">%u,%u</column>"
			"<column name=\"state\">%s</column><column name=\"pc\">0x%08x</column>"
			"<column name=\"waits for\">%s</column>"
			"<column name=\"who has to move\">%s</column></item>",
			i + 1, core_col(g, i), core_row(g, i), state_of(&st, w.what), st.pc,
			st.run == WSE_CORE_FAULTED ? wse_cause_name(st.fault_cause) : w.what,
			w.whom);
	}
	gdb_text(g, "</osdata>");
}

/* --- monitor --- */

static const char *op_name(unsigned int op)
{
	static const char *const name[128] = {
#define OP(x) [WSE_TOP_##x] = #x
		OP(AXPY),  OP(DOT),  OP(DOTX),	OP(MOVE),  OP(MADD), OP(MTEE),	OP(MIDX),
		OP(VADD),  OP(VSUB), OP(VMUL),	OP(VMAC),  OP(VMAX), OP(VMIN),	OP(VMOV),
		OP(VGATE), OP(VCGT), OP(VIADD), OP(VISUB), OP(VAND), OP(VOR),	OP(VXOR),
		OP(VSHL),  OP(VSHR), OP(VSRA),	OP(VF2I),  OP(VI2F), OP(VRSUM), OP(VRMAX),
#undef OP
	};

	return op < 128 && name[op] ? name[op] : "?";
}

static void operand(struct gdb_stub *g, const char *name, const uint32_t d[4])
{
	static const char *const kinds[8] = {"unset", "mem", "acc", "color", "color", "dotq"};
	static const char *const types[3] = {"bf16", "fp32", "i32"};
	unsigned int kind = d[3] & WSE_DSR3_KIND_MASK;
	unsigned int type = (d[3] & WSE_DSR3_DTYPE_MASK) >> WSE_DSR3_DTYPE_SHIFT;

	gdb_text(g, "  %-5s", name);
	switch (kind) {
	case WSE_KIND_MEM:
	case WSE_KIND_ACC:
		gdb_text(g, kind == WSE_KIND_MEM ? "mem 0x%08x" : "acc %u", d[0]);
		gdb_text(g, " %s len %u stride %d, len1 %u stride1 %d\n",
			 type < 3 ? types[type] : "?", d[1] & 0xffff, (int16_t)(d[1] >> 16),
			 d[2] & 0xffff, (int16_t)(d[2] >> 16));
		return;
	case WSE_KIND_FABIN:
	case WSE_KIND_FABOUT:
		gdb_text(g, "%s %u %s\n", kinds[kind], d[0], kind == WSE_KIND_FABIN ? "in" : "out");
		return;
	default:
		gdb_text(g, "%s\n", kind < 8 && kinds[kind] ? kinds[kind] : "?");
	}
}

static void m_dsrs(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	char name[8];

	(void)core;
	for (unsigned int i = 0; i < WSE_NDSR; i++) {
		snprintf(name, sizeof(name), "%u", i);
		operand(g, name, u->dsr[i]);
	}
}

static void m_engines(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	static const char *const name[3] = {"L", "M0", "M1"};

	(void)core;
	for (unsigned int i = 0; i < 3; i++) {
		const struct wse_tensor_ins *t = &u->running[i];

		if (!(u->busy >> i & 1)) {
			gdb_text(g, "%s: idle, %u wait\n", name[i], u->waiting[i]);
			continue;
		}
		gdb_text(g, "%s: %s, scalar 0x%08x, %u wait\n", name[i], op_name(t->tcw & 0x7f),
			 t->scalar, u->waiting[i]);
		operand(g, "dst", t->dst);
		operand(g, "src1", t->src1);
		operand(g, "src2", t->src2);
	}
	gdb_text(g, "DOT queue: %u of %u\n", u->dotq, WSE_DOTQ_DEPTH);
}

static void m_tasks(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	unsigned int i, c;

	(void)core;
	gdb_text(g, "start %s, done %s\n", u->start ? "pending" : "none", u->done ? "yes" : "no");
	for (i = 0; i < WSE_NTASKS; i++) {
		uint32_t data = 0, ctrl = 0;

		for (c = 0; c < WSE_NCOLORS; c++) {
			data |= (uint32_t)(u->bind[0][c] == i) << c;
			ctrl |= (uint32_t)(u->bind[1][c] == i) << c;
		}
		if (!u->entry[i] && !(u->ready >> i & 1) && !(u->blocked >> i & 1) && !data &&
		    !ctrl)
			continue;
		gdb_text(g, "task %u: entry 0x%08x%s%s, colors", i, u->entry[i],
			 u->ready >> i & 1 ? ", ready" : "",
			 u->blocked >> i & 1 ? ", blocked" : "");
		for (c = 0; c < WSE_NCOLORS; c++) {
			if (data >> c & 1)
				gdb_text(g, " %u", c);
			if (ctrl >> c & 1)
				gdb_text(g, " %u(control)", c);
		}
		gdb_text(g, data | ctrl ? "\n" : " none\n");
	}
}

static void m_queues(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	unsigned int c, p, n = 0;

	(void)core;
	for (c = 0; c < WSE_NCOLORS; c++) {
		uint32_t any = u->recv[c];

		for (p = 0; p < 5; p++)
			any |= u->queue[p][c];
		if (!any)
			continue;
		if (!n++)
			gdb_text(g, "color   N E S W ramp | core\n");
		gdb_text(g, "%5u   %u %u %u %u    %u | %4u\n", c, u->queue[0][c], u->queue[1][c],
			 u->queue[2][c], u->queue[3][c], u->queue[4][c], u->recv[c]);
	}
	if (!n)
		gdb_text(g, "no wavelets\n");
}

static void m_routes(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	static const char *const port[5] = {"N", "E", "S", "W", "ramp"};
	unsigned int c, p, n = 0;

	(void)core;
	for (c = 0; c < WSE_NCOLORS; c++) {
		if (u->rx[c] > 4)
			continue;
		n++;
		gdb_text(g, "color %2u: %s ->", c, port[u->rx[c]]);
		for (p = 0; p < 5; p++)
			if (u->tx[c] >> p & 1)
				gdb_text(g, " %s", port[p]);
		gdb_text(g, u->tx[c] & 31 ? "\n" : " nowhere\n");
	}
	if (!n)
		gdb_text(g, "no routes\n");
}

static void m_colors(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	m_routes(g, core, u);
	m_queues(g, core, u);
}

static void m_waits(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	const struct wse_waits w = waits_of(g, core);

	(void)u;
	gdb_text(g, *w.what ? "waits for %s; %s\n" : "does not wait\n", w.what,
		 *w.whom ? w.whom : "itself");
}

static void print_text(void *arg, const char *text, size_t len)
{
	(void)len;
	gdb_text(arg, "%s", text);
}

static void m_printed(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u)
{
	static uint8_t area[WSE_SRAM_BYTES];
	struct wse_print p;
	char why[400];
	size_t size;
	void *file = g->program ? elf32_read(g->program, &size) : NULL;

	(void)u;
	if (!file) {
		gdb_text(g, "the program's file is not known, and the formats are there\n");
		return;
	}
	wse_print_find(&p, file, size);
	if (!p.bytes)
		gdb_text(g, "%s has no wse_printf()\n", g->program);
	else if (!g->cfg.ops->peek(g->cfg.machine, core, p.area, area, p.bytes) &&
		 wse_print_each(&p, area, print_text, g, why, sizeof(why)))
		gdb_text(g, "%s\n", why);
	free(file);
}

static const struct {
	const char *name, *help;
	void (*fn)(struct gdb_stub *g, uint32_t core, const struct wse_core_units *u);
} monitor[] = {
	{"dsrs", "the sixteen DSRs", m_dsrs},
	{"engines", "what L, M0 and M1 execute; the DOT queue", m_engines},
	{"tasks", "tasks: entries, flags, colors bound to them", m_tasks},
	{"queues", "wavelets in the router's queues and in the core's", m_queues},
	{"routes", "the router's routes", m_routes},
	{"colors", "routes and queues", m_colors},
	{"printed", "messages of wse_printf() that the host has not taken yet", m_printed},
	{"waits", "what the core waits for, and who has to move", m_waits},
};

void gdb_monitor(struct gdb_stub *g, const char *line)
{
	struct wse_core_units u;
	uint32_t core = g->general, x, y;
	char name[16] = "", where[32] = "", more;
	int n;

	n = sscanf(line, " %15s %31s %c", name, where, &more);
	if (n == 2 && !wse_number_pair(where, ',', &x, &y) && x < g->cfg.cols && y < g->cfg.rows) {
		core = y * g->cfg.cols + x;
	} else if (n > 1) {
		gdb_text(g, "a core is X,Y: column below %u, row below %u\n", g->cfg.cols,
			 g->cfg.rows);
		return;
	}
	for (size_t i = 0; i < sizeof(monitor) / sizeof(monitor[0]); i++) {
		if (strcmp(name, monitor[i].name))
			continue;
		gdb_text(g, "core %u,%u\n", core_col(g, core), core_row(g, core));
		if (!g->cfg.ops->get_units(g->cfg.machine, core, &u))
			monitor[i].fn(g, core, &u);
		return;
	}
	gdb_text(g, "monitor COMMAND [X,Y], of gdb's current core or of core X,Y (column, row):\n");
	for (size_t i = 0; i < sizeof(monitor) / sizeof(monitor[0]); i++)
		gdb_text(g, "  %-8s %s\n", monitor[i].name, monitor[i].help);
}
