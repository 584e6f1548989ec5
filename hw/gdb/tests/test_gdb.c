// SPDX-License-Identifier: MIT
/*
 * The stub, packet by packet, without gdb: one session on each model, whose answers must be equal;
 * and what no debugger would send.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "gdb/gdb.h"
#include "tap.h"
#include "twin/tests/prog.h"

#define CODE  (WSE_SRAM_BASE + CODE_AT)
#define DATA  (WSE_SRAM_BASE + 0x2000)
#define COLOR 5u

struct session {
	struct dev d;
	struct gdb_stub *g;
	uint8_t image[WSE_SRAM_BYTES];
	char answer[1 << 17];
	char log[1 << 18]; /* all answers */
	size_t nlog;
};

static void begin(struct session *s, const char *model, uint32_t rows, uint32_t cols)
{
	struct gdb_cfg cfg = {.rows = rows, .cols = cols, .closed = true};

	memset(s, 0, sizeof(*s));
	if (dev_open(&s->d, model, rows, cols)) {
		printf("Bail out! no %s of %ux%u\n", model, rows, cols);
		exit(1);
	}
	cfg.ops = s->d.ops;
	cfg.machine = s->d.m;
	cfg.program = "kernel#$}*.elf"; /* all that must be escaped */
	if (gdb_create(&cfg, &s->g)) {
		printf("Bail out! no stub\n");
		exit(1);
	}
}

static void end(struct session *s)
{
	gdb_destroy(s->g);
	dev_close(&s->d);
}

static void boot(struct session *s, uint32_t core, const struct code *c)
{
	s->d.ops->poke(s->d.m, core, CODE, s->image + CODE_AT, c->pc - CODE);
	s->d.ops->boot(s->d.m, core, CODE);
}

/* packets that have come, without their frames, one a line */
static const char *heard(struct session *s)
{
	size_t len, n = 0;
	const char *p = gdb_output(s->g, &len);
	bool in = false;

	for (size_t i = 0; i < len && n + 2 < sizeof(s->answer); i++) {
		if (p[i] == '$') {
			in = true;
		} else if (p[i] == '#' && in) {
			s->answer[n++] = '\n';
			in = false;
		} else if (in && p[i] == '}') {
			s->answer[n++] = p[++i] ^ 0x20;
		} else if (in) {
			s->answer[n++] = p[i];
		}
	}
	s->answer[n] = 0;
	gdb_sent(s->g, len);
	if (s->nlog + n < sizeof(s->log)) {
		memcpy(s->log + s->nlog, s->answer, n);
		s->nlog += n;
	}
	return s->answer;
}

static void send_packet(struct session *s, const char *body, size_t len)
{
	char tail[4];
	uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (uint8_t)body[i];
	snprintf(tail, sizeof(tail), "#%02x", sum);
	gdb_input(s->g, "$", 1);
	gdb_input(s->g, body, len);
	gdb_input(s->g, tail, 3);
}

static const char *ask(struct session *s, const char *format, ...)
{
	char body[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(body, sizeof(body), format, ap);
	va_end(ap);
	send_packet(s, body, strlen(body));
	for (unsigned int i = 0; i < 1000 && gdb_runs(s->g); i++)
		if (gdb_advance(s->g, 100000, NULL) == WSE_STOP_IDLE)
			break;
	return heard(s);
}

static bool is(const char *answer, const char *want)
{
	size_t n = strlen(want);

	return !strncmp(answer, want, n) && !strcmp(answer + n, "\n");
}

static uint32_t reg(struct session *s, unsigned int n)
{
	uint32_t v = (uint32_t)strtoul(ask(s, "p%x", n), NULL, 16);

	return __builtin_bswap32(v);
}

static void greet(struct session *s)
{
	gdb_connect(s->g);
	ask(s, "qSupported:multiprocess+;swbreak+;hwbreak+");
	ask(s, "QStartNoAckMode");
}

/* core 0 counts to five in memory, tells core 1, which waits; then both wait */
static void programs(struct session *s, uint32_t *loop, uint32_t *after)
{
	struct code c = {s->image, CODE};

	route(&c, COLOR, WSE_PORT_W, 1u << WSE_PORT_R);
	recv(&c, COLOR, DATA);
	recv(&c, COLOR, DATA);
	boot(s, 1, &c);
	c.pc = CODE;
	route(&c, COLOR, WSE_PORT_R, 1u << WSE_PORT_E);
	dsr(&c, 3, DATA, d1(8, 4), 1, kind(WSE_KIND_MEM, WSE_DT_FP32));
	li(&c, 7, DATA);
	li(&c, 9, 5);
	*loop = c.pc;
	put(&c, ADDI(8, 8, 1));
	put(&c, SW(8, 7, 0));
	put(&c, 0xfe941ce3); /* bne x8, x9, loop */
	*after = c.pc;
	send(&c, 99, COLOR, false);
	put(&c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
	boot(s, 0, &c); /* last: on rtl some cycles pass */
}

static void session(struct session *s, const char *model)
{
	uint32_t loop, after, i, good = 0;
	const char *a;

	begin(s, model, 2, 2);
	programs(s, &loop, &after);
	gdb_connect(s->g);
	a = ask(s, "qSupported:multiprocess+;swbreak+;hwbreak+");
	ok(strstr(a, "multiprocess+") && strstr(a, "PacketSize=3ff8") && strstr(a, "swbreak+"),
	   "%s: features", model);
	ok(is(ask(s, "QStartNoAckMode"), "OK"), "%s: no acknowledgements", model);
	ok(is(ask(s, "vMustReplyEmpty"), "") && is(ask(s, "qUnheardOf"), ""),
	   "%s: an unknown packet has an empty answer", model);
	ok(!strncmp(ask(s, "?"), "T05thread:p1.1;", 15), "%s: it stands", model);
	ok(is(ask(s, "qfThreadInfo"), "mp1.1,p2.1") && is(ask(s, "qsThreadInfo"), "l"),
	   "%s: the cores that run are processes", model);
	a = ask(s, "qXfer:features:read:target.xml:0,3000");
	ok(a[0] == 'l' && strstr(a, "riscv:rv32") && strstr(a, "dsr15") && strstr(a, "acc15"),
	   "%s: the registers' description", model);
	ok(is(ask(s, "qXfer:exec-file:read:1:0,100"), "lkernel#$}*.elf"), "%s: the program's file",
	   model);
	ok(is(ask(s, "Hgp1.1"), "OK") && is(ask(s, "Z0,%x,4", loop), "OK") &&
		   is(ask(s, "Z0,%x,4", loop + 2), "E01") && is(ask(s, "Z0,0,4"), "E01") &&
		   is(ask(s, "Z3,%x,4", loop), ""),
	   "%s: a breakpoint; not in the middle of an instruction, not outside", model);
	for (i = 0; i < 5; i++) {
		a = ask(s, "vCont;c:p1.-1");
		good += !strncmp(a, "T05", 3) && strstr(a, "thread:p1.1;swbreak:;") &&
			reg(s, 32) == loop && reg(s, 8) == i;
		ask(s, "g");
	}
	ok(good == 5, "%s: it is hit five times, before the instruction", model);
	ok(is(ask(s, "m%x,4", DATA), "04000000"), "%s: memory has what the core stored", model);
	ok(is(ask(s, "z0,%x,4", loop), "OK") && is(ask(s, "Z2,%x,4", DATA), "OK"),
	   "%s: a watchpoint", model);
	a = ask(s, "vCont;c");
	ok(strstr(a, "watch:80002000;") && is(ask(s, "m%x,4", DATA), "05000000") &&
		   reg(s, 32) == loop + 8,
	   "%s: it is hit behind the store", model);
	ask(s, "z2,%x,4", DATA);
	a = ask(s, "vCont;s:p1.1");
	ok(!strncmp(a, "T05", 3) && reg(s, 32) == after, "%s: a step", model);
	a = ask(s, "vCont;r%x,%x:p1.1", after, after + 8);
	ok(!strncmp(a, "T05", 3) && reg(s, 32) == after + 8, "%s: steps to the end of a range",
	   model);
	for (i = 0; i <= 32 + 11 + 8 + 16; i++) /* all but mcycle */
		if (i != 39 && i != 40)
			ask(s, "p%x", i);
	ok(!strncmp(ask(s, "p%x", 33 + 11 + 8 + 3), "0020008008000400", 16), "%s: a DSR", model);
	ok(is(ask(s, "P8=78563412"), "OK") && reg(s, 8) == 0x12345678 &&
		   is(ask(s, "P%x=00000000", 33 + 11 + 8), "E01") && is(ask(s, "p1000"), "E01"),
	   "%s: registers can be set, DSRs can not", model);
	ok(is(ask(s, "M%x,4:01020304", DATA), "OK") && is(ask(s, "m%x,4", DATA), "01020304") &&
		   is(ask(s, "m%x,4", WSE_SRAM_BASE - 4), "E01") &&
		   is(ask(s, "m80000000,ffffffff"), "E01"),
	   "%s: memory can be written; nothing is outside", model);
	send_packet(s, "X80002000,3:a}\x03z", 16);
	heard(s);
	ok(is(ask(s, "m%x,3", DATA), "61237a"), "%s: as binary, escaped", model);
	ask(s, "qXfer:osdata:read::0,1000");
	a = ask(s, "vCont;c");
	ok(strstr(a, "T11") != NULL, "%s: when nothing can move gdb is told", model);
	a = ask(s, "qXfer:osdata:read:processes:0,3000");
	ok(strstr(a, "a start (TNEXT)") && strstr(a, "host: a START") &&
		   strstr(a, "a wavelet of color 5 (RECV)") &&
		   strstr(a, "core 0,0: sends on color 5"),
	   "%s: who waits for whom", model);
	static const char *const monitor[] = {"help",	   "dsrs",   "engines 1,0", "tasks",
					      "queues",	   "routes", "colors",	    "waits 1,0",
					      "waits 7,7", ""};

	for (i = 0; i < sizeof(monitor) / sizeof(monitor[0]); i++) {
		char hex[64] = "";

		for (const char *p = monitor[i]; *p; p++)
			sprintf(hex + strlen(hex), "%02x", *p);
		good += strstr(ask(s, "qRcmd,%s", hex), "OK\n") != NULL;
	}
	ok(good == 5 + i, "%s: monitor", model);
	ok(is(ask(s, "vAttach;4"), "T05thread:p4.1;") && is(ask(s, "Tp4.1"), "OK") &&
		   is(ask(s, "D;4"), "OK") && is(ask(s, "Tp4.1"), "E01") &&
		   is(ask(s, "vAttach;5"), "E01"),
	   "%s: attach to a core that is held, leave it", model);
	ok(is(ask(s, "vKill;2"), "OK") && gdb_killed(s->g, 1) && !gdb_killed(s->g, 0),
	   "%s: kill holds a core", model);
	ok(is(ask(s, "D;1"), "OK") && gdb_runs(s->g), "%s: after the last detach the wafer runs",
	   model);
	end(s);
}

/* two cores at their breakpoints; gdb steps over that of one with a breakpoint behind it */
static void two_cores(struct session *s, const char *model)
{
	struct code c = {s->image, CODE};
	unsigned int i, good = 0, first;
	const char *a;

	begin(s, model, 2, 2);
	put(&c, ADDI(8, 8, 1));
	put(&c, ADDI(9, 9, 1));
	put(&c, 0xff9ff06f); /* j .-8 */
	boot(s, 1, &c);
	boot(s, 2, &c);
	greet(s);
	ask(s, "Hgp2.1");
	ask(s, "Z0,%x,4", CODE);
	ask(s, "Hgp3.1");
	ask(s, "Z0,%x,4", CODE);
	for (i = 0; i < 4; i++) {
		a = strstr(ask(s, "vCont;c:p2.-1"), "thread:p");
		first = a ? (unsigned int)(a[8] - '0') : 0;
		/* as gdb does: without this breakpoint, with one behind it, and this core alone */
		ask(s, "z0,%x,4", CODE);
		ask(s, "Z0,%x,4", CODE + 4);
		a = strstr(ask(s, "vCont;c:p%u.1", first), "thread:p");
		good += a && a[8] == (char)('0' + first) && reg(s, 32) == CODE + 4;
		ask(s, "z0,%x,4", CODE + 4);
		ask(s, "Z0,%x,4", CODE);
	}
	ok(good == 4, "%s: while gdb steps over a breakpoint it hears of that core alone", model);
	ask(s, "Hgp2.1");
	ask(s, "z0,%x,4", CODE);
	good = 0;
	for (i = 0; i < 3; i++)
		good += strstr(ask(s, "vCont;c"), "thread:p3.1;swbreak") != NULL;
	ok(good == 3, "%s: a breakpoint is a core's own", model);
	end(s);
}

static void interrupts(void)
{
	static struct session s;
	struct code c = {s.image, CODE};
	const char *a;

	begin(&s, "func", 2, 2);
	c.image = s.image;
	put(&c, 0x0000006f); /* to itself */
	boot(&s, 2, &c);
	greet(&s);
	a = ask(&s, "?");
	ok(!strncmp(a, "T05thread:p3.1;", 15), "the core that runs is the one that gdb sees");
	send_packet(&s, "vCont;c", 7);
	gdb_advance(s.g, 10000, NULL);
	ok(gdb_runs(s.g) && !*heard(&s), "it runs");
	gdb_input(s.g, "\x03", 1);
	gdb_advance(s.g, 10000, NULL);
	a = heard(&s);
	ok(!gdb_runs(s.g) && !strncmp(a, "T02", 3) && strstr(a, "thread:p3.1;"), "Ctrl-C stops it");
	send_packet(&s, "vCont;c", 7);
	heard(&s);
	gdb_disconnect(s.g); /* it vanishes */
	ok(gdb_runs(s.g) && gdb_advance(s.g, 1000, NULL) == WSE_STOP_CYCLES,
	   "the debugger vanishes: the wafer runs on");
	gdb_connect(s.g);
	ok(!gdb_runs(s.g) && gdb_advance(s.g, 1000, NULL) == WSE_STOP_BREAK,
	   "another one comes: it stands");
	ask(&s, "Z0,%x,4", CODE);
	gdb_disconnect(s.g);
	ok(gdb_advance(s.g, 1000, NULL) == WSE_STOP_CYCLES && gdb_runs(s.g),
	   "its breakpoint went with it");
	end(&s);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void many(void)
{
	static struct session s;
	const char *a;
	double t;
	unsigned int n = 0;

	begin(&s, "func", 16, 16);
	greet(&s);
	t = now();
	for (a = ask(&s, "qfThreadInfo"); *a == 'm'; a = ask(&s, "qsThreadInfo"))
		for (n++; (a = strchr(a, ',')); a++)
			n++;
	for (unsigned int at = 0; *ask(&s, "qXfer:osdata:read:processes:%x,1000", at) == 'm';)
		at += (unsigned int)strlen(s.answer) - 2;
	t = now() - t;
	ok(n == 256 && t < 1, "256 cores are listed, with what they wait for, in %.3f s", t);
	end(&s);
}

static uint32_t rnd(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	return *x ^= *x << 5;
}

static void fuzz(void)
{
	static const char *const seed[] = {
		"vCont;c:p1.-1",
		"vCont;s:p1.1;c",
		"vCont;r80000000,80000010:p1.1",
		"g",
		"p21",
		"P20=00a00080",
		"m8000a000,40",
		"Mffffffff,ffffffff:00",
		"X8000a000,0:",
		"Z0,8000a000,4",
		"Z2,80002000,40",
		"z2,80002000,40",
		"Hgp2.1",
		"Hc-1",
		"Tp1.1",
		"?",
		"D;1",
		"D",
		"k",
		"vAttach;2",
		"vKill;1",
		"qXfer:osdata:read:processes:0,fff",
		"qRcmd,77616974732031",
		"qXfer:features:read:target.xml:ffff,ffffffffffffffff",
		"qfThreadInfo",
		"qC",
		"c8000a000",
		"s",
		"G00000000",
		"qSupported:multiprocess+",
		"QStartNoAckMode",
		"qXfer:exec-file:read::0,1",
	};
	static struct session s;
	uint32_t x = 1, loop, after;
	double t = now();
	unsigned int n = 0;
	size_t len;

	begin(&s, "func", 2, 2);
	for (; n < 200000; n++) {
		char b[512];
		const char *p = seed[rnd(&x) % (sizeof(seed) / sizeof(seed[0]))];

		if (n % 500 == 0) {
			gdb_disconnect(s.g);
			programs(&s, &loop, &after);
			gdb_connect(s.g);
		}
		len = strlen(p);
		memcpy(b, p, len);
		for (unsigned int i = rnd(&x) % 4; i; i--) {
			switch (rnd(&x) % 4) {
			case 0:
				b[rnd(&x) % len] = (char)rnd(&x);
				break;
			case 1:
				len = 1 + rnd(&x) % len;
				break;
			case 2:
				b[rnd(&x) % len] = "0f;:,.-p"[rnd(&x) % 8];
				break;
			case 3: {
				size_t more = rnd(&x) % 200;

				memset(b + len, "0f,;"[rnd(&x) % 4], more);
				len = len + more < 256 ? len + more : len;
				break;
			}
			}
		}
		if (rnd(&x) % 16)
			send_packet(&s, b, len);
		else
			gdb_input(s.g, b, len); /* without a frame */
		if (rnd(&x) % 8 == 0)
			gdb_input(s.g, "\x03", 1);
		if (gdb_runs(s.g))
			gdb_advance(s.g, 50, NULL);
		gdb_output(s.g, &len);
		gdb_sent(s.g, len);
	}
	ok(!gdb_choked(s.g), "%u packets of garbage in %.1f s", n, now() - t);
	gdb_disconnect(s.g);
	greet(&s);
	gdb_input(s.g, "$", 1);
	for (n = 0; n < 1u << 20; n++)
		gdb_input(s.g, "m", 1);
	gdb_input(s.g, "#00", 3);
	ok(is(heard(&s), "E01"), "a packet of a megabyte is refused");
	ok(!strncmp(ask(&s, "qC"), "QCp", 3), "and the next one has its answer");
	for (n = 0; n < 100000 && !gdb_choked(s.g); n++)
		send_packet(&s, "m80000000,1000", 14);
	ok(gdb_choked(s.g), "a debugger that reads no answers is cut off");
	end(&s);
}

int main(void)
{
	static struct session func, rtl, more;

	session(&func, "func");
	two_cores(&more, "func");
	if (wse_machine_find("rtl")) {
		session(&rtl, "rtl");
		ok(func.nlog == rtl.nlog && !memcmp(func.log, rtl.log, func.nlog),
		   "func and rtl: %zu bytes of answers are equal", func.nlog);
		two_cores(&more, "rtl");
	} else {
		printf("# rtl: not built\n");
	}
	interrupts();
	many();
	fuzz();
	return tap_end();
}
