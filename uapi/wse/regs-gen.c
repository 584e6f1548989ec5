// SPDX-License-Identifier: MIT
/*
 * Turns uapi/wse/wse.regs into a C header, a SystemVerilog package, a Markdown page, or a C header
 * with the names of BAR0's registers:
 *	regs-gen c|sv|md|names < wse.regs
 * One pass, one output at a time; the line formats are described at the top of wse.regs. Counters
 * and vector operations, which are written as lists, too, are in regs/.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regs/gen.h"

enum out out;
static FILE *names; /* else NULL: out is C, and its text goes nowhere */
static int lineno;
char group[64];
static char sname[64];	    /* open struct, "" if none */
static unsigned long ssize; /* its size in bytes */
static unsigned long spos;  /* bytes described so far */
static int in_asm_guard;    /* C: inside #ifndef __ASSEMBLER__ */
int table;

void die(const char *what)
{
	fprintf(stderr, "wse.regs:%d: %s\n", lineno, what);
	exit(1);
}

unsigned long number(const char *s)
{
	char *end;
	unsigned long v = strtoul(s, &end, 0);

	if (*end || !*s)
		die("not a number");
	return v;
}

/* splits one word off *p; the rest of the line stays in *p */
char *word(char **p)
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

const char *lower(const char *s)
{
	static char buf[64];

	return cased(s, tolower, buf, sizeof(buf));
}

const char *upper(const char *s)
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

void thead(const char *cols, const char *rule)
{
	if (out == OUT_MD && !table) {
		printf("\n%s\n%s\n", cols, rule);
		table = 1;
	}
}

void define(const char *name, unsigned long v, const char *doc)
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

void mask(const char *name, unsigned int hi, unsigned int lo, const char *doc)
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
	static int paragraph; /* the line before was one of a text */
	char *kind = word(&p), *a, *b, *c, name[160];

	if (!strcmp(kind, "more")) {
		if (!paragraph)
			die("more is another line of a text, and stands behind one");
		if (out == OUT_MD)
			printf("%s\n", p);
		return;
	}
	paragraph = !strcmp(kind, "text");
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
	    (strcmp(kind, "counter") || !have_counters())) {
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
		if (!buf[0] || buf[0] == '#')
			continue;
		if (strchr(buf, '|') && strncmp(buf, "text", 4) && strncmp(buf, "more", 4))
			die("a | would end a column of the page's table: say it in words");
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
