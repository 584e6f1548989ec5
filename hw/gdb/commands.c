// SPDX-License-Identifier: MIT
/* gdb's packets, as its manual has them ("Remote Protocol"): a table of names and functions. */
#include <string.h>

#include "stub.h"

/* ids: with multiprocess+ a core is process core + 1 with thread 1, else thread core + 1 */
void gdb_say_thread(struct gdb_stub *g, uint32_t core)
{
	gdb_say(g, g->multi ? "p%x.1" : "%x", core + 1);
}

#define ALL 0xfffffffeu

/* false: no id, or of no core. *core: ALL, or a core */
static bool parse_thread(struct gdb_stub *g, const char **p, uint32_t *core)
{
	uint64_t pid;

	if (**p == 'p') {
		(*p)++;
	} else if (g->multi && **p != '-' && **p != '0') {
		return false;
	}
	if (!strncmp(*p, "-1", 2)) {
		*p += 2;
		*core = ALL;
	} else if (!gdb_number(p, &pid)) {
		return false;
	} else if (!pid) { /* any */
		*core = g->core[g->general].attached ? g->general : ALL;
	} else if (pid > g->ncores) {
		return false;
	} else {
		*core = (uint32_t)pid - 1;
	}
	if (**p == '.') { /* the thread: there is but one */
		uint64_t tid;

		(*p)++;
		if (!strncmp(*p, "-1", 2))
			*p += 2;
		else if (!gdb_number(p, &tid) || tid > 1)
			return false;
	}
	return true;
}

static void ok(struct gdb_stub *g)
{
	gdb_say(g, "OK");
}

void gdb_error(struct gdb_stub *g)
{
	g->nreply = 0;
	gdb_say(g, "E01");
}

static void answer(struct gdb_stub *g, bool good)
{
	if (good)
		ok(g);
	else
		gdb_error(g);
}

static bool alive(const struct gdb_stub *g, uint32_t core)
{
	return core < g->ncores && g->core[core].attached;
}

/* --- queries --- */

static void q_supported(struct gdb_stub *g, const char *p)
{
	g->multi = strstr(p, "multiprocess+") != NULL;
	g->swbreak = strstr(p, "swbreak+") != NULL;
	g->hwbreak = strstr(p, "hwbreak+") != NULL;
	gdb_say(g,
		"PacketSize=%x;QStartNoAckMode+;qXfer:features:read+;qXfer:osdata:read+;"
		"qXfer:threads:read+;vContSupported+%s%s%s%s",
		PACKET_MAX - 8, g->multi ? ";multiprocess+" : "", g->swbreak ? ";swbreak+" : "",
		g->hwbreak ? ";hwbreak+" : "", g->program ? ";qXfer:exec-file:read+" : "");
}

static void q_start_no_ack(struct gdb_stub *g, const char *p)
{
	(void)p;
	ok(g);
	g->no_ack = true;
}

static void q_current(struct gdb_stub *g, const char *p)
{
	(void)p;
	gdb_say(g, "QC");
	gdb_say_thread(g, g->general);
}

static void list(struct gdb_stub *g)
{
	bool any = false;

	for (; g->listed < g->ncores && g->nreply < PACKET_MAX - 32; g->listed++) {
		if (!g->core[g->listed].attached)
			continue;
		gdb_say(g, any ? "," : "m");
		gdb_say_thread(g, g->listed);
		any = true;
	}
	if (!any)
		gdb_say(g, "l");
}

static void q_first_threads(struct gdb_stub *g, const char *p)
{
	(void)p;
	g->listed = 0;
	list(g);
}

static void q_next_threads(struct gdb_stub *g, const char *p)
{
	(void)p;
	list(g);
}

static void q_attached(struct gdb_stub *g, const char *p)
{
	(void)p;
	gdb_say(g, "1"); /* so that gdb leaves by detaching */
}

static void q_command(struct gdb_stub *g, const char *p)
{
	char line[256];
	size_t n = strlen(p) / 2;

	if (n >= sizeof(line) || !gdb_bytes(&p, line, n))
		return gdb_error(g);
	line[n] = 0;
	gdb_text_begin(g);
	gdb_monitor(g, line);
	gdb_console(g, g->text, g->ntext);
	g->nreply = 0;
	ok(g);
}

/* --- registers, memory --- */

static void c_read_regs(struct gdb_stub *g, const char *p)
{
	(void)p;
	gdb_read_regs(g, g->general);
}

static void c_write_regs(struct gdb_stub *g, const char *p)
{
	answer(g, gdb_write_regs(g, g->general, p));
}

static void c_read_reg(struct gdb_stub *g, const char *p)
{
	uint64_t reg;

	if (!gdb_number(&p, &reg) || *p || reg > 0xffff ||
	    !gdb_read_reg(g, g->general, (uint32_t)reg))
		gdb_error(g);
}

static void c_write_reg(struct gdb_stub *g, const char *p)
{
	uint64_t reg;

	answer(g, gdb_number(&p, &reg) && *p++ == '=' && reg <= 0xffff &&
			  gdb_write_reg(g, g->general, (uint32_t)reg, p));
}

/* ADDR,LEN of SRAM, with no more than most bytes; *p behind it */
static bool range(const char **p, uint64_t most, uint32_t *addr, uint32_t *len)
{
	uint64_t a, n;

	if (!gdb_number(p, &a) || *(*p)++ != ',' || !gdb_number(p, &n) || n > most)
		return false;
	if (a < WSE_SRAM_BASE || a - WSE_SRAM_BASE > WSE_SRAM_BYTES ||
	    n > WSE_SRAM_BYTES - (a - WSE_SRAM_BASE))
		return false;
	*addr = (uint32_t)a;
	*len = (uint32_t)n;
	return true;
}

static void c_read_memory(struct gdb_stub *g, const char *p)
{
	uint8_t bytes[PACKET_MAX / 2];
	uint32_t addr, len;

	if (!range(&p, sizeof(bytes) - 8, &addr, &len) || *p ||
	    g->cfg.ops->peek(g->cfg.machine, g->general, addr, bytes, len))
		return gdb_error(g);
	gdb_say_hex(g, bytes, len);
}

static void write_memory(struct gdb_stub *g, uint32_t addr, const void *bytes, uint32_t len)
{
	answer(g, !g->cfg.ops->poke(g->cfg.machine, g->general, addr, bytes, len));
}

static void c_write_memory(struct gdb_stub *g, const char *p)
{
	uint8_t bytes[PACKET_MAX / 2];
	uint32_t addr, len;

	if (!range(&p, sizeof(bytes), &addr, &len) || *p++ != ':' || !gdb_bytes(&p, bytes, len) ||
	    *p)
		return gdb_error(g);
	write_memory(g, addr, bytes, len);
}

static void c_write_binary(struct gdb_stub *g, const char *p)
{
	uint32_t addr, len;

	if (!range(&p, PACKET_MAX, &addr, &len) || *p++ != ':' ||
	    g->in + g->nin - p != (ptrdiff_t)len)
		return gdb_error(g);
	write_memory(g, addr, p, len);
}

static void stop_at(struct gdb_stub *g, const char *p, bool insert)
{
	uint64_t addr, kind;
	unsigned int type = (unsigned char)p[0] - '0';
	int err;

	if (type > 2 || p[1] != ',')
		return; /* of reads there are no records */
	p += 2;
	if (!gdb_number(&p, &addr) || *p++ != ',' || !gdb_number(&p, &kind) ||
	    !alive(g, g->general))
		return gdb_error(g);
	err = insert ? gdb_insert(g, g->general, type, addr, kind)
		     : gdb_remove(g, g->general, type, addr, kind);
	answer(g, !err);
}

static void c_insert(struct gdb_stub *g, const char *p)
{
	stop_at(g, p, true);
}

static void c_remove(struct gdb_stub *g, const char *p)
{
	stop_at(g, p, false);
}

/* --- threads, running --- */

static void c_thread(struct gdb_stub *g, const char *p)
{
	uint32_t core;
	char op = *p;

	if (op != 'g' && op != 'c')
		return gdb_error(g);
	p++;
	if (!parse_thread(g, &p, &core) || *p)
		return gdb_error(g);
	if (op == 'g' && core != ALL)
		g->general = core;
	ok(g);
}

static void c_alive(struct gdb_stub *g, const char *p)
{
	uint32_t core;

	answer(g, parse_thread(g, &p, &core) && alive(g, core));
}

static void c_why(struct gdb_stub *g, const char *p)
{
	(void)p;
	for (uint32_t i = 0; i < g->ncores; i++) {
		if (alive(g, g->stop_core))
			break;
		g->stop_core = i;
	}
	if (!alive(g, g->stop_core)) {
		gdb_say(g, "W00");
		return;
	}
	g->general = g->stop_core;
	gdb_say(g, "T%02xthread:", g->stop_signal);
	gdb_say_thread(g, g->stop_core);
	gdb_say(g, ";");
}

static void step(struct gdb_stub *g, uint32_t core, uint32_t from, uint32_t to)
{
	struct gdb_core *c = &g->core[core];

	g->nstops += !c->stepping;
	c->stepping = true;
	c->from = from;
	c->to = to;
}

/* gdb hears of the stops of these cores; those of others wait until it resumes them */
static void hear_of(struct gdb_stub *g, uint32_t core)
{
	for (uint32_t i = 0; i < g->ncores; i++)
		g->core[i].resumed |= g->core[i].attached && (core == ALL || core == i);
}

/*
 * c, s and r FROM,TO, each for a thread or for the others. Time passes for all cores: with a thread
 * of its own gdb steps over a breakpoint and wants to hear of nothing else; with the threads of a
 * process, or of all, of whatever stops.
 */
static void v_cont(struct gdb_stub *g, const char *p)
{
	bool any = false;

	while (*p == ';') {
		uint64_t from = 0, to = 0, signal;
		uint32_t core = ALL;
		char op = *++p;
		bool one = false;

		if (!op || !strchr("cCsSr", op))
			return gdb_error(g);
		p++;
		if ((op == 'C' || op == 'S') && !gdb_number(&p, &signal))
			return gdb_error(g); /* a core has no signals */
		if (op == 'r' && (!gdb_number(&p, &from) || *p++ != ',' || !gdb_number(&p, &to)))
			return gdb_error(g);
		if (*p == ':') {
			const char *id = ++p;

			if (!parse_thread(g, &p, &core))
				return gdb_error(g);
			one = core != ALL && strncmp(p - 3, ".-1", 3) && p > id + 1;
		}
		any = true;
		for (uint32_t i = 0; i < g->ncores && op != 'c' && op != 'C'; i++)
			if (g->core[i].attached && (core == ALL || core == i) &&
			    !g->core[i].resumed)
				step(g, i, (uint32_t)from, (uint32_t)to);
		hear_of(g, one ? core : ALL);
	}
	if (*p || !any)
		return gdb_error(g);
	gdb_resume(g);
}

static void v_cont_query(struct gdb_stub *g, const char *p)
{
	(void)p;
	gdb_say(g, "vCont;c;C;s;S;r");
}

static void go_on(struct gdb_stub *g, const char *p)
{
	uint64_t pc;

	hear_of(g, ALL);
	if (!*p)
		return gdb_resume(g);
	if (!gdb_number(&p, &pc) || *p || !alive(g, g->general))
		return gdb_error(g);
	/* with an address: from there */
	struct wse_core_state st;

	if (g->cfg.ops->get_state(g->cfg.machine, g->general, &st))
		return gdb_error(g);
	st.pc = (uint32_t)pc;
	if (g->cfg.ops->set_state(g->cfg.machine, g->general, &st))
		return gdb_error(g);
	gdb_resume(g);
}

static void c_continue(struct gdb_stub *g, const char *p)
{
	go_on(g, p);
}

static void c_step(struct gdb_stub *g, const char *p)
{
	if (alive(g, g->general))
		step(g, g->general, 0, 0);
	go_on(g, p);
}

/* --- processes come and go --- */

static bool parse_pid(struct gdb_stub *g, const char *p, uint32_t *core)
{
	uint64_t pid;

	if (!gdb_number(&p, &pid) || *p || !pid || pid > g->ncores)
		return false;
	*core = (uint32_t)pid - 1;
	return true;
}

void gdb_release(struct gdb_stub *g, uint32_t core)
{
	gdb_forget(g, core);
	for (uint32_t i = 0; i < g->ncores; i++)
		if (g->core[i].attached)
			return;
	g->running = true; /* the debugger holds none */
}

static void c_detach(struct gdb_stub *g, const char *p)
{
	uint32_t core;

	if (*p == ';') {
		if (!parse_pid(g, p + 1, &core))
			return gdb_error(g);
		gdb_release(g, core);
	} else {
		for (core = 0; core < g->ncores; core++)
			gdb_release(g, core);
	}
	ok(g);
}

static void v_attach(struct gdb_stub *g, const char *p)
{
	uint32_t core;

	if (*p++ != ';' || !parse_pid(g, p, &core))
		return gdb_error(g);
	g->running = false;
	g->core[core].attached = true;
	g->core[core].told_pc = 1;
	g->stop_core = g->general = core;
	gdb_say(g, "T05thread:");
	gdb_say_thread(g, core);
	gdb_say(g, ";");
}

static void kill_core(struct gdb_stub *g, uint32_t core)
{
	struct wse_core_state st;

	if (!g->cfg.ops->get_state(g->cfg.machine, core, &st)) {
		st.run = WSE_CORE_HELD;
		g->cfg.ops->set_state(g->cfg.machine, core, &st);
		g->core[core].killed = true;
		g->core[core].parked = false;
	}
	gdb_release(g, core);
}

static void v_kill(struct gdb_stub *g, const char *p)
{
	uint32_t core;

	if (*p++ != ';' || !parse_pid(g, p, &core))
		return gdb_error(g);
	kill_core(g, core);
	ok(g);
}

/* without an answer */
static void c_kill(struct gdb_stub *g, const char *p)
{
	(void)p;
	for (uint32_t i = 0; i < g->ncores; i++)
		if (g->core[i].attached)
			kill_core(g, i);
}

static void extended(struct gdb_stub *g, const char *p)
{
	(void)p;
	ok(g);
}

static void empty(struct gdb_stub *g, const char *p)
{
	(void)g, (void)p;
}

/* the first name that a packet begins with decides */
static const struct command {
	const char *name;
	void (*fn)(struct gdb_stub *g, const char *p); /* p: behind the name */
	enum { REPLIES, RUNS, SILENT } then; /* RUNS: it replies itself, or with an error */
} command[] = {
	{"qSupported", q_supported, REPLIES},
	{"QStartNoAckMode", q_start_no_ack, REPLIES},
	{"qXfer:", gdb_xfer, REPLIES},
	{"qfThreadInfo", q_first_threads, REPLIES},
	{"qsThreadInfo", q_next_threads, REPLIES},
	{"qAttached", q_attached, REPLIES},
	{"qRcmd,", q_command, REPLIES},
	{"qC", q_current, REPLIES},
	{"q", empty, REPLIES},
	{"Q", empty, REPLIES},
	{"vMustReplyEmpty", empty, REPLIES},
	{"vCont?", v_cont_query, REPLIES},
	{"vCont", v_cont, RUNS},
	{"vAttach", v_attach, REPLIES},
	{"vKill", v_kill, REPLIES},
	{"v", empty, REPLIES},
	{"g", c_read_regs, REPLIES},
	{"G", c_write_regs, REPLIES},
	{"p", c_read_reg, REPLIES},
	{"P", c_write_reg, REPLIES},
	{"m", c_read_memory, REPLIES},
	{"M", c_write_memory, REPLIES},
	{"X", c_write_binary, REPLIES},
	{"Z", c_insert, REPLIES},
	{"z", c_remove, REPLIES},
	{"H", c_thread, REPLIES},
	{"T", c_alive, REPLIES},
	{"?", c_why, REPLIES},
	{"!", extended, REPLIES},
	{"D", c_detach, REPLIES},
	{"c", c_continue, RUNS},
	{"s", c_step, RUNS},
	{"k", c_kill, SILENT},
};

void gdb_command(struct gdb_stub *g, char *packet, size_t len)
{
	const struct command *c;

	for (c = command; c < command + sizeof(command) / sizeof(command[0]); c++) {
		size_t n = strlen(c->name);

		if (len < n || memcmp(packet, c->name, n))
			continue;
		c->fn(g, packet + n);
		if (c->then == REPLIES || (c->then == RUNS && g->nreply))
			gdb_send(g);
		return;
	}
	gdb_send(g); /* not known: empty */
}
