// SPDX-License-Identifier: MIT
/*
 * Turns uapi/wse/wse.regs into a C header, a SystemVerilog package, a Markdown page, or a C header
 * with the names of BAR0's registers:
 *	regs-gen c|sv|md|names < wse.regs
 * One pass, one output at a time; the line formats are described at the top of wse.regs.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum out { OUT_C, OUT_SV, OUT_MD };

static enum out out;
static FILE *names; /* else NULL: out is C, and its text goes nowhere */
static int lineno;
static char group[64];	    /* enum, bits or reg prefix that val/field lines belong to */
static char sname[64];	    /* open struct, "" if none */
static unsigned long ssize; /* its size in bytes */
static unsigned long spos;  /* bytes described so far */
static int in_asm_guard;    /* C: inside #ifndef __ASSEMBLER__ */
static int table;	    /* MD: a table is open */

#define CNT_BASE 0x100ul /* pairs of the totals, 8 bytes a counter */

static const char *const scopes[] = {"tile", "core", "link", "queue"};

struct counter {
	char name[24], doc[200], unit[24];
	unsigned int scope;
	unsigned long width, minor;
	int exact;
};
static struct counter counters[32];
static unsigned long ncounters;
static int counters_done; /* the list is complete and written */

static void die(const char *what)
{
	fprintf(stderr, "wse.regs:%d: %s\n", lineno, what);
	exit(1);
}

static unsigned long number(const char *s)
{
	char *end;
	unsigned long v = strtoul(s, &end, 0);

	if (*end || !*s)
		die("not a number");
	return v;
}

/* splits one word off *p; the rest of the line stays in *p */
static char *word(char **p)
{
	char *w;

	while (isspace((unsigned char)**p))
		(*p)++;
	w = *p;
	while (**p && !isspace((unsigned char)**p))
		(*p)++;
	if (**p)
		*(*p)++ = 0;
	return w;
}

static const char *cased(const char *s, int (*to)(int), char *buf, size_t len)
{
	size_t i;

	for (i = 0; s[i] && i < len - 1; i++)
		buf[i] = to((unsigned char)s[i]);
	buf[i] = 0;
	return buf;
}

static const char *lower(const char *s)
{
	static char buf[64];

	return cased(s, tolower, buf, sizeof(buf));
}

static const char *upper(const char *s)
{
	static char buf[64];

	return cased(s, toupper, buf, sizeof(buf));
}

static void cguard(int want)
{
	if (out != OUT_C || in_asm_guard == want)
		return;
	printf(want ? "#ifndef __ASSEMBLER__\n" : "#endif\n");
	in_asm_guard = want;
}

static void end_struct(void)
{
	if (!sname[0])
		return;
	if (spos != ssize)
		die("the members of the struct before do not add up to its size");
	if (out == OUT_C) {
		printf("};\n");
		printf("_Static_assert(sizeof(struct wse_%s) == %lu, \"wse_%s\");\n", lower(sname),
		       ssize, lower(sname));
	}
	sname[0] = 0;
}

/*
 * Of these the layers below know more than the number: another one is work in hw/rtl and hw/twin,
 * and must not pass for a setting. What may change has a rule instead.
 */
static void check_const(const char *name, unsigned long v)
{
	static const struct {
		const char *name;
		unsigned long v;
		const char *why;
	} fixed[] = {
		{"LANES", 8, "LANES is 8: lanes, accumulators and sums have that width"},
		{"NACC", 128, "NACC is 128: operands and descriptors have seven bits for one"},
		{"NCOLORS", 24, "NCOLORS is 24: routes, masks and queues have a bit for each"},
		{"NTASKS", 32, "NTASKS is 32: a word has a bit for each"},
		{"NDSR", 16, "NDSR is 16: instructions have four bits for one"},
		{"NARGS", 16, "NARGS is 16: START's entry carries them"},
		{"CHAN_DEPTH", 4, "CHAN_DEPTH is 4: credits have three bits"},
		{"ENGINE_DEPTH", 2, "ENGINE_DEPTH is 2: results of random programs depend on it"},
	};
	static unsigned long sram;
	static char text[160];

	for (unsigned int i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (strcmp(name, fixed[i].name) || v == fixed[i].v)
			continue;
		snprintf(text, sizeof(text), "%s in hw/rtl and hw/twin, whatever this says",
			 fixed[i].why);
		die(text);
	}
	if (!strcmp(name, "SRAM_BYTES")) {
		if (v != 0xc000 && v != 0x10000)
			die("SRAM_BYTES is 48 or 64 KiB: an address in it has 16 bits, and "
			    "lockstep's programs take 40 KiB");
		sram = v;
	} else if (!strcmp(name, "ARGS_OFFSET") && v != sram - 64) {
		die("ARGS_OFFSET is SRAM_BYTES - 64, its last 64 bytes: change both");
	}
}

static void thead(const char *cols, const char *rule)
{
	if (out == OUT_MD && !table) {
		printf("\n%s\n%s\n", cols, rule);
		table = 1;
	}
}

static void define(const char *name, unsigned long v, const char *doc)
{
	if (names && !strncmp(name, "REG_", 4))
		fprintf(names, " \\\n\tX(0x%lx, \"%s\")", v, name + 4);
	switch (out) {
	case OUT_C:
		printf("#define WSE_%-24s 0x%lx\t/* %s */\n", name, v, doc);
		break;
	case OUT_SV:
		printf("  localparam logic [31:0] %-26s = 32'h%lx;  // %s\n", name, v, doc);
		break;
	case OUT_MD:
		printf("| `%s` | 0x%lx | %s |\n", name, v, doc);
		break;
	}
}

static void mask(const char *name, unsigned int hi, unsigned int lo, const char *doc)
{
	unsigned long m = (hi - lo == 31 ? 0xffffffffUL : (1UL << (hi - lo + 1)) - 1) << lo;

	if (hi > 31 || lo > hi)
		die("bad bit range");
	switch (out) {
	case OUT_C:
		printf("#define WSE_%s_%s_SHIFT\t%u\n", group, name, lo);
		printf("#define WSE_%s_%s_MASK\t0x%lx\t/* %s */\n", group, name, m, doc);
		break;
	case OUT_SV:
		printf("  localparam int unsigned %s_%s_LO = %u;\n", group, name, lo);
		printf("  localparam int unsigned %s_%s_HI = %u;  // %s\n", group, name, hi, doc);
		break;
	case OUT_MD:
		printf("| | `%s` %u:%u | %s |\n", name, hi, lo, doc);
		break;
	}
}

static void member(unsigned long off, char *type, const char *name, const char *doc)
{
	unsigned long n = 1, size;
	char *br = strchr(type, '[');

	if (br) {
		*br++ = 0;
		br[strcspn(br, "]")] = 0;
		n = number(br);
	}
	size = number(type + 1) / 8;
	if (!sname[0] || off != spos)
		die("the member does not follow the one before");
	spos += n * size;
	switch (out) {
	case OUT_C:
		if (size == 1)
			printf("\t__u8 %s", name);
		else
			printf("\t__le%lu %s", size * 8, name);
		if (n > 1)
			printf("[%lu]", n);
		printf(";\t/* %lu: %s */\n", off, doc);
		break;
	case OUT_SV:
		printf("  localparam int unsigned %s_%s_OFF = %lu;  // %lu x %lu bits: %s\n", sname,
		       name, off, n, size * 8, doc);
		break;
	case OUT_MD:
		printf("| %lu | %s%s%s%s | `%s` | %s |\n", off, type, n > 1 ? "[" : "",
		       n > 1 ? br : "", n > 1 ? "]" : "", name, doc);
		break;
	}
}

/* ---- counters: one list, written as registers at once and as tables when all are known ---- */
static void counter(char *p)
{
	struct counter *c = &counters[ncounters];
	unsigned long at = CNT_BASE + 8 * ncounters;
	const char *scope, *agree;
	char name[64];

	if (ncounters == sizeof(counters) / sizeof(counters[0]) || counters_done)
		die("more counters than there is room for, or a second list of them");
	if (number(word(&p)) != ncounters)
		die("counters are numbered in order");
	scope = word(&p);
	for (c->scope = 0; c->scope < 4 && strcmp(scopes[c->scope], scope); c->scope++)
		;
	snprintf(c->name, sizeof(c->name), "%s", word(&p));
	c->width = number(word(&p));
	c->minor = number(word(&p));
	agree = word(&p);
	c->exact = !strcmp(agree, "exact");
	snprintf(c->unit, sizeof(c->unit), "%s", word(&p));
	snprintf(c->doc, sizeof(c->doc), "%s", p);
	if (c->scope == 4)
		die("the scope of a counter is tile, core, link or queue");
	if (!c->exact && strcmp(agree, "timing"))
		die("a counter is exact or timing");
	if (c->width > 12 || (c->width != 1 && c->scope == 2) || (!c->width && c->scope))
		die("a counter grows by 1 to 12 bits a cycle, one of a link by 1");
	ncounters++;
	if (out == OUT_MD) {
		thead("| counter | total | of each | unit | since | RTL and twin | |",
		      "|---|---|---|---|---|---|---|");
		printf("| %lu `%s` | `CNT_%s_LO` 0x%04lx | %s | %s | 1.%lu | %s | %s |\n",
		       ncounters - 1, c->name, c->name, at, scope, c->unit, c->minor,
		       c->exact ? "the same" : "timing", c->doc);
		return;
	}
	snprintf(name, sizeof(name), "CNT_%s", c->name);
	define(name, ncounters - 1, c->doc);
	snprintf(name, sizeof(name), "REG_CNT_%s_LO", c->name);
	define(name, at, "its total");
	snprintf(name, sizeof(name), "REG_CNT_%s_HI", c->name);
	define(name, at + 4, "upper half");
}

/*
 * Counters of a scope, each shown with its name and its place among them; from the last one down.
 */
static void each_counter(unsigned int scope, void (*show)(const struct counter *c, int first))
{
	unsigned long i;
	int first = 1;

	for (i = ncounters; i--;)
		if (counters[i].scope == scope && counters[i].width) {
			show(&counters[i], first);
			first = 0;
		}
}

static void show_field(const struct counter *c, int first)
{
	(void)first;
	printf("    logic [%lu:0] %s;\n", c->scope == 2 ? 3 : c->width - 1, lower(c->name));
}

static void show_id(const struct counter *c, int first)
{
	printf("%s8'd%lu", first ? "" : ", ", (unsigned long)(c - counters));
}

/*
 * Lanes are written from the last one down, as the fields are: bit is the first of those not seen
 * yet.
 */
static unsigned long lane_bit;

static void show_lane(const struct counter *c, int first)
{
	unsigned long i, n = c->scope == 2 ? 4 : 1, width = c->width;

	for (i = 0; i < n; i++) {
		printf("%s16'(x[%lu:%lu])", first && !i ? "" : ", ", lane_bit - 1,
		       lane_bit - width);
		lane_bit -= width;
	}
}

/* What counts in a cycle is a struct; lanes of 16 bits add such structs up; the ID of each lane. */
static void sv_scope(unsigned int scope)
{
	const char *s = scopes[scope], *name = upper(s), *ports = scope == 2 ? "4*" : "";
	unsigned long i, n = 0, bits = 0;

	for (i = 0; i < ncounters; i++)
		if (counters[i].scope == scope && counters[i].width) {
			n++;
			bits += counters[i].width * (scope == 2 ? 4 : 1);
		}
	if (!n)
		return;
	printf("  // what a %s counts in a cycle%s\n  typedef struct packed {\n", s,
	       scope == 2 ? ", a bit for each port that leads to a neighbour" : "");
	each_counter(scope, show_field);
	printf("  } cnt_%s_t;\n  localparam int unsigned CNT_%s_N = %lu;\n", s, name, n);
	printf("  localparam int unsigned CNT_%s_BITS = %lu;\n", name, bits);
	printf("  localparam logic [8*CNT_%s_N-1:0] CNT_%s_IDS = {", name, name);
	each_counter(scope, show_id);
	printf("};\n  function automatic logic [16*%sCNT_%s_N-1:0] cnt_%s_spread(input logic [%lu:0] x);\n"
	       "    cnt_%s_spread = {",
	       ports, name, s, bits - 1, s);
	lane_bit = bits;
	each_counter(scope, show_lane);
	printf("};\n  endfunction\n");
}

static void end_counters(void)
{
	unsigned int scope, bit = 0;
	unsigned long i;

	if (!ncounters || counters_done)
		return;
	counters_done = 1;
	if (out == OUT_MD)
		return;
	define("CNT_COUNT", ncounters, "counters that there are");
	for (scope = 0; out == OUT_SV && scope < 4; scope++)
		sv_scope(scope);
	for (scope = 1; out == OUT_C && scope < 4; scope++) {
		char name[80];
		unsigned long n = 0;

		for (i = 0; i < ncounters; i++)
			n += counters[i].scope == scope;
		snprintf(name, sizeof(name), "CNT_%s_COUNT", upper(scopes[scope]));
		define(name, n, "those of this scope");
	}
	if (out == OUT_C) {
		/* cnt_core_t as the benches of the RTL see it */
		snprintf(group, sizeof(group), "CNT_CORE");
		for (i = 0; i < ncounters; i++)
			if (!strcmp(scopes[counters[i].scope], "core")) {
				mask(counters[i].name, bit + counters[i].width - 1, bit,
				     "what a core counts in a cycle");
				bit += counters[i].width;
			}
		printf("/* X(scope, minor of the ABI) */\n#define WSE_COUNTER_KINDS(X)");
		for (i = 0; i < ncounters; i++)
			printf(" X(WSE_SCOPE_%s, %lu)", upper(scopes[counters[i].scope]),
			       counters[i].minor);
		printf("\n");
		printf("/* X(ID, scope, name, unit, minor of the ABI, exact, what) */\n"
		       "#define WSE_COUNTERS(X)");
		for (i = 0; i < ncounters; i++)
			printf(" \\\n\tX(%lu, WSE_SCOPE_%s, \"%s\", \"%s\", %lu, %d, \"%s\")", i,
			       upper(scopes[counters[i].scope]), lower(counters[i].name),
			       counters[i].unit, counters[i].minor, counters[i].exact,
			       counters[i].doc);
		printf("\n");
	}
}

/* ---- vector operations: values of an enum, and lists of their rows when all are known ---- */
static const char *const vop_kinds[] = {"unary", "binary", "mac", "reduce"};
#define VOP_REDUCE 3

struct vop {
	char name[24], expression[160];
	unsigned long value;
	unsigned int kind;
};
static struct vop vops[128];
static unsigned long nvops;
static int vops_done;

static void vop(char *p)
{
	struct vop *v = &vops[nvops], *w;
	char *kind, *quote, *end, name[160];

	if (nvops == sizeof(vops) / sizeof(vops[0]) || vops_done || !group[0])
		die("more vector operations than there is room for, or not behind their enum");
	snprintf(v->name, sizeof(v->name), "%s", word(&p));
	v->value = number(word(&p));
	for (w = vops; w < v; w++)
		if (w->value == v->value || !strcmp(w->name, v->name))
			die("another vector operation has this name or value");
	if (v->value > 127)
		die("the code of an operation has 7 bits");
	kind = word(&p);
	for (v->kind = 0; v->kind < 4 && strcmp(vop_kinds[v->kind], kind); v->kind++)
		;
	if (v->kind == 4)
		die("the kind of a vector operation is unary, binary, mac or reduce");
	quote = strchr(p, '"');
	end = quote ? strchr(quote + 1, '"') : NULL;
	if (!end || end[1])
		die("a vector operation ends with its description in quotes");
	*quote++ = 0;
	*end = 0;
	for (end = quote - 1; end > p && isspace((unsigned char)end[-1]);)
		*--end = 0;
	if (!*p || strlen(p) >= sizeof(v->expression))
		die("a vector operation needs an expression, of less than 160 characters");
	strcpy(v->expression, p);
	nvops++;
	if (out != OUT_MD) {
		snprintf(name, sizeof(name), "%s_%s", group, v->name);
		define(name, v->value, quote);
		return;
	}
	if (nvops == 1) {
		printf("\nVector operations, and what an element of their result is of elements a of SRC1, "
		       "b of SRC2, d of DST (reduce: of what has been joined so far and the next element; the "
		       "terms of expressions are explained in `uapi/wse/wse.regs`):\n");
		table = 0;
	}
	thead("| name | value | kind | element | |", "|---|---|---|---|---|");
	printf("| `%s_%s` | 0x%lx | %s | `%s` | %s |\n", group, v->name, v->value, kind,
	       v->expression, quote);
}

/* one list of rows; reduce: of the reductions, else of all others */
static void vop_list(const char *name, bool reduce)
{
	unsigned long i;

	printf("#define %s(X)", name);
	for (i = 0; i < nvops; i++)
		if ((vops[i].kind == VOP_REDUCE) == reduce)
			printf(" \\\n\tX(%s, 0x%lx, %s, %s)", vops[i].name, vops[i].value,
			       upper(vop_kinds[vops[i].kind]), vops[i].expression);
	printf("\n");
}

/*
 * Is op a code of that kind? A comparison for each, which simulators and synthesis make the least
 * of.
 */
static void sv_vop_kind(unsigned int kind)
{
	const char *name = vop_kinds[kind];
	unsigned long i;

	printf("  function automatic logic vop_%s(input logic [6:0] op);\n    vop_%s = 1'b0", name,
	       name);
	for (i = 0; i < nvops; i++)
		if (vops[i].kind == kind)
			printf(" || op == 7'h%lx", vops[i].value);
	printf(";\n  endfunction\n");
}

/* the codes as an enum, and what is asked of a code */
static void sv_vops(void)
{
	unsigned long i;
	unsigned int kind;
	const char *low;

	printf("  typedef enum logic [6:0] {\n");
	for (i = 0; i < nvops; i++) {
		low = lower(vops[i].name);
		printf("    Op%c%s = 7'h%lx%s\n", toupper((unsigned char)low[0]), low + 1,
		       vops[i].value, i + 1 < nvops ? "," : "");
	}
	printf("  } vop_e;\n");
	for (kind = 0; kind <= VOP_REDUCE; kind++)
		sv_vop_kind(kind);
	printf("  function automatic logic is_vop(input logic [6:0] op);\n    is_vop = ");
	for (kind = 0; kind <= VOP_REDUCE; kind++)
		printf("%svop_%s(op)", kind ? " || " : "", vop_kinds[kind]);
	printf(";\n  endfunction\n");
}

static void end_vops(void)
{
	if (!nvops || vops_done)
		return;
	vops_done = 1;
	if (out == OUT_SV)
		sv_vops();
	if (out != OUT_C)
		return;
	printf("/* X(name, value, kind, expression of an element): those element by element, the others, all */\n");
	vop_list("WSE_VOPS_ELEMENTS", false);
	vop_list("WSE_VOPS_REDUCE", true);
	printf("#define WSE_VOPS(X) WSE_VOPS_ELEMENTS(X) WSE_VOPS_REDUCE(X)\n");
}

/* The header's text goes nowhere; define() writes a line for each register. */
static void begin_names(void)
{
	names = fdopen(dup(STDOUT_FILENO), "w");
	if (!names || !freopen("/dev/null", "w", stdout)) {
		perror("regs-gen");
		exit(1);
	}
	fprintf(names, "/* SPDX-License-Identifier: MIT */\n"
		       "/* Generated by uapi/wse/regs-gen from uapi/wse/wse.regs: do not edit. */\n"
		       "#ifndef WSE_REG_NAMES_H\n#define WSE_REG_NAMES_H\n\n"
		       "/* X(offset in BAR0, name); doorbells are not among them */\n"
		       "#define WSE_REG_NAMES(X)");
}

static void preamble(void)
{
	switch (out) {
	case OUT_C:
		printf("/* SPDX-License-Identifier: MIT */\n"
		       "/* Generated by uapi/wse/regs-gen from uapi/wse/wse.regs: do not edit. */\n"
		       "#ifndef WSE_REGS_H\n#define WSE_REGS_H\n\n"
		       "#ifndef __ASSEMBLER__\n#ifdef __KERNEL__\n#include <linux/types.h>\n"
		       "#else\n#include <stdint.h>\n"
		       "#ifdef __linux__\n#include <linux/types.h>\n#else\n"
		       "typedef uint8_t __u8;\ntypedef uint16_t __le16;\n"
		       "typedef uint32_t __le32;\ntypedef uint64_t __le64;\n"
		       "#endif\n#endif\n#endif\n\n");
		break;
	case OUT_SV:
		printf("// SPDX-License-Identifier: MIT\n"
		       "// Generated by uapi/wse/regs-gen from uapi/wse/wse.regs: do not edit.\n"
		       "// A package that no module uses whole.\n"
		       "/* verilator lint_off UNUSEDPARAM */\n"
		       "package wse_regs_pkg;\n");
		break;
	case OUT_MD:
		printf("<!-- SPDX-License-Identifier: MIT -->\n"
		       "<!-- Generated by uapi/wse/regs-gen from uapi/wse/wse.regs: do not edit. -->\n"
		       "# Registers, queue entries, instruction encodings\n");
		break;
	}
}

static void line(char *p)
{
	char *kind = word(&p), *a, *b, *c, name[160];

	if (!strcmp(kind, "val") || !strcmp(kind, "field")) {
		a = word(&p);
		b = word(&p);
		if (!strcmp(kind, "val")) {
			thead("| name | value | |", "|---|---|---|");
			snprintf(name, sizeof(name), "%s_%s", group, a);
			define(name, number(b), p);
			return;
		}
		c = strchr(b, ':');
		if (!c)
			die("a field needs HI:LO");
		*c++ = 0;
		thead("| register | field | |", "|---|---|---|");
		mask(a, number(b), number(c), p);
		return;
	}
	if (!strcmp(kind, "vop")) {
		vop(p);
		return;
	}
	if (!strcmp(kind, "mem")) {
		a = word(&p);
		b = word(&p);
		c = word(&p);
		thead("| offset | type | member | |", "|---|---|---|---|");
		member(number(a), b, c, p);
		return;
	}
	end_struct();
	if (strcmp(kind, "counter"))
		end_counters();
	end_vops();
	if (strcmp(kind, "reg") && strcmp(kind, "const") &&
	    (strcmp(kind, "counter") || !ncounters)) {
		if (out == OUT_MD && table)
			printf("\n");
		table = 0;
	}
	if (!strcmp(kind, "section")) {
		cguard(0);
		printf(out == OUT_C    ? "\n/* ---- %s ---- */\n"
		       : out == OUT_SV ? "\n  // ---- %s ----\n"
				       : "\n## %s\n",
		       p);
	} else if (!strcmp(kind, "text")) {
		if (out == OUT_MD)
			printf("\n%s\n", p);
	} else if (!strcmp(kind, "const")) {
		cguard(0);
		a = word(&p);
		b = word(&p);
		check_const(a, number(b));
		thead("| name | value | |", "|---|---|---|");
		define(a, number(b), p);
	} else if (!strcmp(kind, "counter")) {
		cguard(0);
		counter(p);
	} else if (!strcmp(kind, "reg")) {
		cguard(0);
		a = word(&p);
		b = word(&p);
		c = word(&p);
		snprintf(group, sizeof(group), "%s", a);
		if (out == OUT_MD) {
			thead("| register | field | |", "|---|---|---|");
			printf("| `%s` 0x%04lx | %s | %s |\n", a, number(b), c, p);
		} else {
			snprintf(name, sizeof(name), "REG_%s", a);
			define(name, number(b), p);
		}
	} else if (!strcmp(kind, "enum") || !strcmp(kind, "bits")) {
		cguard(0);
		a = word(&p);
		snprintf(group, sizeof(group), "%s", a);
		printf(out == OUT_C    ? "/* %s: %s */\n"
		       : out == OUT_SV ? "  // %s: %s\n"
				       : "\n**%s**: %s\n",
		       a, p);
	} else if (!strcmp(kind, "struct")) {
		a = word(&p);
		b = word(&p);
		snprintf(sname, sizeof(sname), "%s", a);
		ssize = number(b);
		spos = 0;
		cguard(1);
		if (out == OUT_C)
			printf("/* %s */\nstruct wse_%s {\n", p, lower(a));
		else if (out == OUT_SV)
			printf("  localparam int unsigned %s_BYTES = %lu;  // %s\n", a, ssize, p);
		else
			printf("\n**struct wse_%s** (%lu bytes): %s\n", lower(a), ssize, p);
	} else {
		die("unknown kind of line");
	}
}

int main(int argc, char **argv)
{
	char buf[1024];

	if (argc != 2 || (strcmp(argv[1], "c") && strcmp(argv[1], "sv") && strcmp(argv[1], "md") &&
			  strcmp(argv[1], "names"))) {
		fprintf(stderr, "usage: regs-gen c|sv|md|names < wse.regs\n");
		return 2;
	}
	out = argv[1][0] == 's' ? OUT_SV : argv[1][0] == 'm' ? OUT_MD : OUT_C;
	if (argv[1][0] == 'n')
		begin_names();
	preamble();
	while (fgets(buf, sizeof(buf), stdin)) {
		lineno++;
		if (!strchr(buf, '\n'))
			die("line too long");
		buf[strcspn(buf, "\n")] = 0;
		if (buf[0] && buf[0] != '#')
			line(buf);
	}
	end_struct();
	end_vops();
	cguard(0);
	if (out == OUT_C)
		printf("\n#endif /* WSE_REGS_H */\n");
	else if (out == OUT_SV)
		printf("endpackage\n/* verilator lint_on UNUSEDPARAM */\n");
	else
		printf("\n");
	if (names && (fprintf(names, "\n\n#endif /* WSE_REG_NAMES_H */\n") < 0 || fclose(names))) {
		perror("regs-gen");
		return 1;
	}
	return 0;
}
