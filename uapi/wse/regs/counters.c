// SPDX-License-Identifier: MIT
/* Counters: one list, written as registers at once and as tables when all are known. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

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

void counter(char *p)
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

int have_counters(void)
{
	return ncounters != 0;
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

void end_counters(void)
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
