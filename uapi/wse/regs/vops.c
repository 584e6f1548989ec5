// SPDX-License-Identifier: MIT
/* Vector operations: values of an enum, and lists of their rows when all are known. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"

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

void vop(char *p)
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
		       "b of SRC2, d of DST\n(reduce: of what has been joined so far and the next element; the "
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

void end_vops(void)
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
