// SPDX-License-Identifier: MIT
/* The coverage of the programs so far, row by row, and the rows without a hit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lockstep.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

uint64_t ls_issued[128], ls_operand[8][3];

struct row {
	const char *name;
	uint32_t key;
	const char *why; /* why it cannot be hit */
};

/* --- instructions --- */

/* Few enough places to count, and no two mnemonics in one. */
static uint32_t place_of(uint32_t insn)
{
	uint32_t op = insn >> 2 & 31, f3 = insn >> 12 & 7, f7 = insn >> 25, more = 0;

	if (op == 0x0b >> 2)
		more = f7 & 7;
	else if (op == 0x33 >> 2)
		more = (f7 >> 5 & 1) << 1 | (f7 & 1);
	else if (op == 0x13 >> 2 && f3 == 5)
		more = f7 >> 5 & 1;
	else if (op == 0x73 >> 2 && !f3)
		more = insn >> 20 & 7;
	return op << 6 | f3 << 3 | more;
}

void ls_cover_retire(struct ls_cover *v, const struct wse_retire *r)
{
	uint32_t at = place_of(r->insn);

	if (r->trap) {
		v->trap[r->rd_value & 15]++;
		return;
	}
	v->retired[at]++;
	v->sample[at] = r->insn;
}

static uint64_t retired(const struct ls_cover *v, const char *name)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < COUNT(v->retired); i++) {
		char text[64];

		if (!v->retired[i])
			continue;
		ls_disassemble(v->sample[i], text, sizeof(text));
		text[strcspn(text, " ")] = 0;
		if (!strcmp(text, name))
			n += v->retired[i];
	}
	return n;
}

/* --- commands --- */

static const char *const types[] = {"BF16", "FP32", "RAW32"};

/* The stream's mode: what it selects, 0 ... 5. */
static unsigned int selection(uint8_t flags)
{
	return (flags & WSE_SQF_MASKED ? 3u : 0u) + (flags & WSE_SQF_DROP_ZERO	  ? 1u
						     : flags & WSE_SQF_INDEX_ONLY ? 2u
										  : 0u);
}

static void cover_stream(struct ls_cover *v, const struct wse_sqe *s)
{
	unsigned int out = s->opcode == WSE_OP_STREAM_OUT;

	if (s->etype < COUNT(types))
		v->stream[out][s->etype][selection(s->flags)]++;
	if (!(s->flags & WSE_SQF_INDEX_ONLY))
		v->operand[out][s->flags & WSE_SQF_BUF_DIRECT ? 0 : 1]++;
	if (s->flags & WSE_SQF_MASKED)
		v->operand[out][s->flags & WSE_SQF_MASK_DIRECT ? 2 : 3]++;
	v->operand[out][4] += s->kcol == 16384;
	v->operand[out][5] += s->nline > 16;
	v->operand[out][6] += s->off >> 32 != 0;
	if (s->flags & WSE_SQF_LINEAR)
		v->operand[out][s->flags & WSE_SQF_MASKED ? 8 : 7]++;
}

/* What part of a command is missing: data, a list entry, the end of its one piece; or the mask's */
static void cover_dma(struct ls_cover *v, const struct wse_sqe *s, uint64_t iova)
{
	bool end = iova >= LS_IOVA && iova < LS_IOVA + 2 * LS_MEM, mask = iova >> 48 == 0xbeef;
	unsigned int what = 0;

	if (end && s->flags & WSE_SQF_MASKED && iova - (s->mask + s->moff) < 0x80000 &&
	    s->flags & WSE_SQF_MASK_DIRECT)
		what = 5;
	else if (end && s->flags & WSE_SQF_MASKED && iova - s->mask < 0x4000 &&
		 !(s->flags & WSE_SQF_MASK_DIRECT))
		what = 4;
	else if (end)
		what = s->flags & WSE_SQF_BUF_DIRECT ? 2 : 1;
	else if (mask)
		what = 3;
	v->dma[s->opcode][what]++;
}

void ls_cover_done(struct ls_cover *v, const struct wse_sqe *s, const struct ls_done *d)
{
	v->status[d->status & 15]++;
	if (d->has_fault) {
		uint32_t c = d->fault.cause;

		v->cause[(c >> 8 & 3) << 4 | (c & 15)]++;
	}
	if (d->status == WSE_ST_DMA_ERROR)
		cover_dma(v, s, d->fault.iova);
	if (d->status)
		return;
	v->command[s->opcode]++;
	if (s->opcode == WSE_OP_START && s->flags & WSE_SQF_BOOT)
		v->boot++;
	if (s->opcode == WSE_OP_STREAM_IN || s->opcode == WSE_OP_STREAM_OUT)
		cover_stream(v, s);
}

/* --- the table --- */

#define OP(name)                            \
	{                                   \
#name, WSE_TOP_##name, NULL \
	}
#define ST(name)                           \
	{                                  \
#name, WSE_ST_##name, NULL \
	}
#define CM(name)                           \
	{                                  \
#name, WSE_OP_##name, NULL \
	}
#define CA(name)                              \
	{                                     \
#name, WSE_CAUSE_##name, NULL \
	}

#define VOP(name, value, kind, expr) {#name, value, NULL},

static const struct row operations[] = {OP(AXPY), OP(DOT),  OP(DOTX), OP(MOVE),
					OP(MADD), OP(MTEE), OP(MIDX), WSE_VOPS(VOP)};
const char *ls_operation(uint32_t op)
{
	for (unsigned int i = 0; i < COUNT(operations); i++) {
		if (operations[i].key == op)
			return operations[i].name;
	}
	return "?";
}

static const struct row operands[] = {
	{"MEM bf16", WSE_KIND_MEM << 4 | WSE_DT_BF16, NULL},
	{"MEM fp32", WSE_KIND_MEM << 4 | WSE_DT_FP32, NULL},
	{"MEM i32", WSE_KIND_MEM << 4 | WSE_DT_I32, NULL},
	{"ACC", WSE_KIND_ACC << 4, NULL},
	{"FABIN", WSE_KIND_FABIN << 4, NULL},
	{"FABOUT", WSE_KIND_FABOUT << 4, NULL},
	{"DOTQ", WSE_KIND_DOTQ << 4, NULL},
};
static const struct row traps[] = {
	CA(FETCH_MISALIGNED), CA(FETCH_ACCESS),	   CA(ILLEGAL),
	CA(BREAKPOINT),	      CA(LOAD_MISALIGNED), CA(LOAD_ACCESS),
	CA(STORE_MISALIGNED), CA(STORE_ACCESS),	   CA(ECALL),
};
static const struct row causes[] = {
	CA(STREAM_INDEX), CA(BAD_DSR),	 CA(OPERAND_ADDR), CA(BAD_CTRL),
	CA(WAIT_TASK),	  CA(WAIT_RECV), CA(WAIT_SEND),	   CA(WAIT_ENGINE),
	CA(WAIT_L),	  CA(WAIT_M0),	 CA(WAIT_M1),	   CA(WAIT_PORT),
};
static const struct row statuses[] = {
	ST(OK),
	ST(BAD_OPCODE),
	ST(BAD_FIELD),
	ST(BAD_RECT),
	ST(BAD_ADDR),
	ST(DMA_ERROR),
	ST(TIMEOUT),
	ST(DEADLOCK),
	ST(CORE_FAULT),
	ST(KERNEL_ERROR),
	ST(BAD_QUEUE),
	ST(BAD_FENCE),
	ST(NOT_BOOTED),
	{"BAD_DOORBELL", WSE_ST_BAD_DOORBELL, "no command has it: a record of the doorbell alone"},
};
static const struct row commands[] = {
	CM(NOP),       CM(COPY_IN),	 CM(COPY_OUT),
	CM(STREAM_IN), CM(STREAM_OUT),	 CM(START),
	CM(FENCE),     CM(CREATE_QUEUE), CM(DELETE_QUEUE),
	CM(CTX_RESET), CM(SCRUB),	 {"CORE_CTL", WSE_OP_CORE_CTL, "reserved: refused"},
};

static const char *const scalars[] = {
	"lui",
	"auipc",
	"jal",
	"jalr",
	"beq",
	"bne",
	"blt",
	"bge",
	"bltu",
	"bgeu",
	"lb",
	"lh",
	"lw",
	"lbu",
	"lhu",
	"sb",
	"sh",
	"sw",
	"addi",
	"slti",
	"sltiu",
	"xori",
	"ori",
	"andi",
	"slli",
	"srli",
	"srai",
	"add",
	"sub",
	"sll",
	"slt",
	"sltu",
	"xor",
	"srl",
	"sra",
	"or",
	"and",
	"mul",
	"mulh",
	"mulhsu",
	"mulhu",
	"div",
	"divu",
	"rem",
	"remu",
	"fence",
	"csrrw",
	"csrrs",
	"csrrc",
	"csrrwi",
	"csrrsi",
	"csrrci",
	"mret",
	"wfi",
	"wse.dsr",
	"wse.issue",
	"wse.route",
	"wse.task.bind",
	"wse.task.cbind",
	"wse.task.entry",
	"wse.task.activate",
	"wse.task.block",
	"wse.task.unblock",
	"wse.tnext",
	"wse.send",
	"wse.recv",
	"wse.sys.done",
	"wse.sys.wait",
};

struct table {
	FILE *out;
	bool page;	  /* as a table of a page, else as comment lines */
	const char *kind; /* of the group before */
	char missed[2048];
};

static void group(struct table *t, const char *kind)
{
	if (t->page)
		fprintf(t->out, "\n**%s**\n\n| | count | |\n|---|---|---|\n", kind);
	else
		fprintf(t->out, "%s# %s:", t->kind ? "\n" : "", kind);
	t->kind = kind;
}

static void line(struct table *t, const char *name, uint64_t n, const char *why)
{
	size_t used = strlen(t->missed);

	if (t->page)
		fprintf(t->out, "| %s | %" PRIu64 " | %s |\n", name, n,
			n     ? ""
			: why ? why
			      : "**not hit**");
	else if (n)
		fprintf(t->out, " %s:%" PRIu64, name, n);
	if (!n && !why)
		snprintf(t->missed + used, sizeof(t->missed) - used, "%s %s", used ? "," : "",
			 name);
}

static void streams(const struct ls_cover *v, struct table *t)
{
	static const char *const what[] = {"",	      " DROP_ZERO",	   " INDEX_ONLY",
					   " MASKED", " MASKED DROP_ZERO", " MASKED INDEX_ONLY"};
	static const char *const operand[] = {"BUF_DIRECT",
					      "page list",
					      "MASK_DIRECT",
					      "mask's list",
					      "KCOL 16384",
					      "NLINE > 16",
					      "OFF of more than 32 bits",
					      "LINEAR",
					      "LINEAR MASKED"};
	char name[80];

	group(t, "streams that ended well");
	for (unsigned int out = 0; out < 2; out++) {
		const char *dir = out ? "out" : "in";

		for (unsigned int e = 0; e < COUNT(types); e++) {
			for (unsigned int w = 0; w < COUNT(what); w++) {
				snprintf(name, sizeof(name), "%s %s%s", dir, types[e], what[w]);
				if (!out || w % 3 == 0)
					line(t, name, v->stream[out][e][w], NULL);
			}
		}
		for (unsigned int i = 0; i < COUNT(operand); i++) {
			snprintf(name, sizeof(name), "%s, %s", dir, operand[i]);
			line(t, name, v->operand[out][i], NULL);
		}
	}
}

static void missing(const struct ls_cover *v, struct table *t)
{
	static const char *const what[] = {
		"a page",	    "an entry of the list",	 "the end of one piece",
		"a page of a mask", "an entry of a mask's list", "the end of a mask in one piece"};
	static const char *const why[] = {NULL, NULL, "as a page that is not there"};
	char name[80];

	group(t, "DMA errors, by what is not there");
	for (uint32_t op = WSE_OP_COPY_IN; op <= WSE_OP_STREAM_OUT; op++) {
		const char *command = op == WSE_OP_COPY_IN     ? "COPY_IN"
				      : op == WSE_OP_COPY_OUT  ? "COPY_OUT"
				      : op == WSE_OP_STREAM_IN ? "STREAM_IN"
							       : "STREAM_OUT";

		for (unsigned int i = 0; i < (op < WSE_OP_STREAM_IN ? 3u : 6u); i++) {
			snprintf(name, sizeof(name), "%s: %s", command, what[i]);
			line(t, name, v->dma[op][i], op < WSE_OP_STREAM_IN ? why[i] : NULL);
		}
	}
}

static void cuts(const struct ls_rig *lead, struct table *t)
{
	static const char *const reset[LS_RESETS] = {"CTX_RESET", "CTRL.RST",
						     "function-level reset"};

	group(t, "while streams run");
	line(t, "SCRUB", lead->cut[WSE_OP_SCRUB], NULL);
	line(t, "DELETE_QUEUE", lead->cut[WSE_OP_DELETE_QUEUE], NULL);
	line(t, "CREATE_QUEUE", lead->cut[WSE_OP_CREATE_QUEUE], NULL);
	line(t, "START with BOOT", lead->cut[WSE_OP_START], NULL);
	for (unsigned int i = 0; i < LS_RESETS; i++)
		line(t, reset[i], lead->resets[i], NULL);
	group(t, "the host is away");
	line(t, "between two doorbells of a batch", lead->stops, NULL);
}

void ls_cover_print(const struct ls_cover *v, const struct ls_rig *lead, FILE *out, bool page)
{
	struct table t = {.out = out, .page = page};

	group(&t, "instructions retired");
	for (unsigned int i = 0; i < COUNT(scalars); i++)
		line(&t, scalars[i], retired(v, scalars[i]), NULL);
	group(&t, "traps");
	for (unsigned int i = 0; i < COUNT(traps); i++)
		line(&t, traps[i].name, v->trap[traps[i].key & 15], NULL);
	group(&t, "tensor operations in the programs");
	for (unsigned int i = 0; i < COUNT(operations); i++)
		line(&t, operations[i].name, ls_issued[operations[i].key], NULL);
	group(&t, "operands in the programs");
	for (unsigned int i = 0; i < COUNT(operands); i++)
		line(&t, operands[i].name, ls_operand[operands[i].key >> 4][operands[i].key & 15],
		     NULL);
	group(&t, "faults and stalls in fault records");
	for (unsigned int i = 0; i < COUNT(causes); i++)
		line(&t, causes[i].name,
		     v->cause[(causes[i].key >> 8 & 3) << 4 | (causes[i].key & 15)], NULL);
	group(&t, "completions");
	for (unsigned int i = 0; i < COUNT(statuses); i++)
		line(&t, statuses[i].name, v->status[statuses[i].key], statuses[i].why);
	group(&t, "commands that ended well");
	for (unsigned int i = 0; i < COUNT(commands); i++)
		line(&t, commands[i].name,
		     v->command[commands[i].key] + lead->ended[commands[i].key], commands[i].why);
	line(&t, "START with BOOT", v->boot, NULL);
	streams(v, &t);
	missing(v, &t);
	cuts(lead, &t);
	fprintf(out, page ? "\nNot hit:%s.\n" : "\n# not hit:%s\n",
		*t.missed ? t.missed : " nothing");
}
