// SPDX-License-Identifier: MIT
/*
 * Random scalar programs: straight-line items with forward branches and counted loops, so that
 * every program ends; some code changes itself. A trap handler records cause and value and
 * continues behind the instruction.
 *
 * Registers: x8 data area, x9 address that an item has just made, x25 loop counter, x26 target
 * after a wild jump, x27 digest of the traps, x28-x30 the handler's. All others are random.
 */
#include "lockstep.h"
#include "lockstep_asm.h"
#include "lockstep_tile.h"

#define DATA	 0x8000a000u /* 2 KiB to load and store */
#define CODE_END 0x80009f00u
#define R_DATA	 8u
#define R_ADDR	 9u
#define R_LOOP	 25u
#define R_NEXT	 26u
#define R_HASH	 27u

struct gen {
	struct code c;
	struct rng *r;
	uint32_t handler;
	struct { /* branches that wait for their target item */
		uint32_t pc, items;
		bool jal;
	} fix[64];
	unsigned int nfix;
	uint32_t slot; /* an instruction at the top of the present loop, 0: no loop */
	uint32_t rounds;
};

static uint32_t value(struct rng *r)
{
	static const uint32_t special[] = {
		0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, 0x80000001, 0xfffffffe, 0xffff, 0x8000,
	};

	switch (rng_below(r, 4)) {
	case 0:
		return special[rng_below(r, sizeof(special) / sizeof(*special))];
	case 1:
		return rng_below(r, 64) - 32;
	default:
		return (uint32_t)rng_next(r);
	}
}

static uint32_t any(struct gen *g)
{
	return rng_below(g->r, 32);
}

static uint32_t dest(struct gen *g)
{
	for (;;) {
		uint32_t x = any(g);

		if (x != R_DATA && x != R_ADDR && (x < R_LOOP || x > 30))
			return x;
	}
}

static void item_alu(struct gen *g)
{
	static const uint8_t f7[8] = {0x20, 0, 0, 0, 0, 0x20, 0, 0};
	uint32_t f3 = rng_below(g->r, 8);

	switch (rng_below(g->r, 5)) {
	case 0: /* OP */
		put(&g->c,
		    r_type(0x33, f3, rng_chance(g->r, 40) ? f7[f3] : 0, dest(g), any(g), any(g)));
		break;
	case 1: /* M */
		put(&g->c, r_type(0x33, f3, 1, dest(g), any(g), any(g)));
		break;
	case 2: /* LUI, AUIPC */
		put(&g->c, ((uint32_t)rng_next(g->r) & 0xfffff000) | dest(g) << 7 |
				   (rng_chance(g->r, 50) ? 0x37 : 0x17));
		break;
	default: /* OP-IMM */
		if (f3 == 1 || f3 == 5)
			put(&g->c, r_type(0x13, f3, f3 == 5 && rng_chance(g->r, 50) ? 0x20 : 0,
					  dest(g), any(g), any(g)));
		else
			put(&g->c,
			    i_type(0x13, f3, dest(g), any(g), (int32_t)rng_below(g->r, 4096)));
	}
}

static void item_li(struct gen *g)
{
	li(&g->c, dest(g), value(g->r));
}

static void item_memory(struct gen *g)
{
	static const uint8_t loads[] = {0, 1, 2, 4, 5};
	static const uint32_t edge[] = {
		0x7ffffffc, 0x7fffffff, 0x80000000, 0x8000bffc, 0x8000bfff, 0x8000bffe,
		0x8000c000, 0x8000bffd, 0,	    4,		0xfffffffc, 0x90000000,
	};
	bool store = rng_chance(g->r, 50);
	uint32_t f3 = store ? rng_below(g->r, 3) : loads[rng_below(g->r, 5)];
	int32_t off = (int32_t)rng_below(g->r, 2048);
	uint32_t base = R_DATA;

	if (rng_chance(g->r, 80)) { /* aligned, inside */
		off &= ~((1 << (f3 & 3)) - 1);
	} else if (rng_chance(g->r, 50)) { /* any address: not for stores if valid */
		uint32_t a = rng_chance(g->r, 60) ? edge[rng_below(g->r, 12)] : value(g->r);

		if (store && a - WSE_SRAM_BASE < DATA - WSE_SRAM_BASE)
			a |= 0x40000000;
		li(&g->c, R_ADDR, a);
		base = R_ADDR;
		off = 0;
	}
	if (store)
		put(&g->c, s_type(0x23, f3, base, any(g), off));
	else
		put(&g->c, i_type(0x03, f3, dest(g), base, off));
}

/* A branch or jump over the next few items. */
static void item_branch(struct gen *g)
{
	static const uint8_t f3s[] = {0, 1, 4, 5, 6, 7};
	uint32_t f3 = f3s[rng_below(g->r, 6)];

	if (g->nfix == 64)
		return;
	g->fix[g->nfix].pc = g->c.pc;
	g->fix[g->nfix].items = 1 + rng_below(g->r, 5);
	g->fix[g->nfix++].jal = rng_chance(g->r, 25);
	/* rd, or rs1 and rs2, are put in now; the offset follows */
	put(&g->c, g->fix[g->nfix - 1].jal ? j_type(dest(g), 0) : b_type(f3, any(g), any(g), 0));
}

static void resolve(struct gen *g, bool all)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < g->nfix; i++) {
		uint32_t at = g->fix[i].pc - WSE_SRAM_BASE, insn;
		int32_t off = (int32_t)(g->c.pc - g->fix[i].pc);

		if (!all && --g->fix[i].items) {
			g->fix[n++] = g->fix[i];
			continue;
		}
		memcpy(&insn, g->c.image + at, 4);
		insn |= g->fix[i].jal ? j_type(0, off) & ~0x7fu : b_type(0, 0, 0, off) & ~0x7fu;
		memcpy(g->c.image + at, &insn, 4);
	}
	g->nfix = n;
}

static void item_jump(struct gen *g)
{
	uint32_t at, rd;

	switch (rng_below(g->r, 4)) {
	case 0: /* through a register, to the next item; jalr clears bit 0 */
		at = li2(&g->c, R_ADDR);
		put(&g->c, JALR(dest(g), R_ADDR, (int32_t)rng_below(g->r, 2)));
		li2_at(g->c.image, at, R_ADDR, g->c.pc);
		break;
	case 1: /* misaligned: traps on the jump */
		if (rng_chance(g->r, 50)) {
			put(&g->c, rng_chance(g->r, 50) ? j_type(dest(g), 6) : b_type(0, 0, 0, 6));
		} else {
			li(&g->c, R_ADDR, g->c.pc + 14);
			put(&g->c, JALR(dest(g), R_ADDR, 0));
		}
		break;
	case 2: /* outside the SRAM: traps at the target, the handler goes on at x26 */
		rd = dest(g);
		at = li2(&g->c, R_NEXT);
		li(&g->c, R_ADDR, (value(g->r) & ~3u) | 0x40000000);
		put(&g->c, JALR(rd, R_ADDR, 0));
		li2_at(g->c.image, at, R_NEXT, g->c.pc);
		break;
	default: /* mret to the next item */
		at = li2(&g->c, R_ADDR);
		put(&g->c, CSRRW(0, 0x341, R_ADDR));
		put(&g->c, 0x30200073);
		li2_at(g->c.image, at, R_ADDR, g->c.pc + rng_below(g->r, 4));
	}
}

static void item_csr(struct gen *g)
{
	/* may be written and compared */
	static const uint16_t plain[] = {
		0x300, 0x301, 0x304, 0x344, 0x340,	   0x341,
		0x342, 0x343, 0xb02, 0xb82, WSE_CSR_WDATA, WSE_CSR_WINFO,
	};
	/* read-only: a write is illegal. 0x310 and others do not exist at all */
	static const uint16_t fixed[] = {
		0xf14,	     0xf11, 0xf12, 0xf13, 0xc02, 0xc82, WSE_CSR_ID, WSE_CSR_DIM,
		WSE_CSR_CFG, 0x310, 0x7a0, 0xc01, 0x000, 0xb03, 0x320,	    0xfff,
	};
	static const uint16_t cycles[] = {0xb00, 0xb80, 0xc00, 0xc80};
	static const uint8_t f3s[] = {1, 2, 3, 5, 6, 7};
	uint32_t f3 = f3s[rng_below(g->r, 6)], rd = dest(g);

	switch (rng_below(g->r, 8)) {
	case 0: /* cycles differ between models: overwrite the value read */
		put(&g->c, i_type(0x73, 2, rd, 0, cycles[rng_below(g->r, 4)]));
		li(&g->c, rd, value(g->r));
		break;
	case 1: /* mtvec ignores the low bits; the handler's address stays */
		li(&g->c, R_ADDR, g->handler | rng_below(g->r, 4));
		put(&g->c, CSRRW(rd, 0x305, R_ADDR));
		break;
	case 2:
	case 3:
		put(&g->c, i_type(0x73, f3, rd, rng_chance(g->r, 50) ? 0 : any(g),
				  fixed[rng_below(g->r, sizeof(fixed) / 2)]));
		break;
	default:
		put(&g->c, i_type(0x73, f3, rd, any(g), plain[rng_below(g->r, sizeof(plain) / 2)]));
	}
}

static void item_system(struct gen *g)
{
	static const uint32_t words[] = {
		0x00000073, 0x00100073, 0x0ff0000f, 0x0000100f, 0x10500073, 0x0330000f,
	};

	put(&g->c, words[rng_below(g->r, 6)]);
}

/*
 * Code that changes itself: another instruction, or half of one, comes behind a fence.i, or to the
 * top of the loop, which has run with the old one, often in one of its last rounds alone.
 */
static void item_patch(struct gen *g)
{
	uint32_t rd = dest(g), to = g->slot, late = 0, at, insn, next = g->c.pc;

	g->c.pc = CODE_END; /* nothing else is there */
	item_alu(g);
	memcpy(&insn, g->c.image + (CODE_END - WSE_SRAM_BASE), 4);
	g->c.pc = next;
	if (to && rng_chance(g->r, 50)) {
		put(&g->c, ADDI(R_ADDR, 0, (int32_t)rng_range(g->r, 1, (g->rounds + 3) / 4)));
		late = g->c.pc;
		g->c.pc += 4;
	}
	at = li2(&g->c, R_ADDR);
	li(&g->c, rd, rng_chance(g->r, 10) ? 0 : insn);
	if (rng_chance(g->r, 75)) {
		put(&g->c, SW(rd, R_ADDR, 0));
	} else {					 /* the upper half: operands */
		put(&g->c, i_type(0x13, 5, rd, rd, 16)); /* srli */
		put(&g->c, s_type(0x23, 1, R_ADDR, rd, 2));
	}
	put(&g->c, 0x0000100f);
	if (late) {
		put_at(&g->c, late, b_type(1, R_LOOP, R_ADDR, (int32_t)(g->c.pc - late)));
	} else if (!to || rng_chance(g->r, 50)) {
		to = g->c.pc;
		item_alu(g);
	}
	li2_at(g->c.image, at, R_ADDR, to);
}

/* custom-0 with a register that holds no color, or a switch position */
static void item_no_color(struct gen *g)
{
	const uint32_t insn[] = {
		WSE(WSE_F3_ROUTE, 0, 0, R_ADDR, 0),
		WSE(WSE_F3_TASK, WSE_TASKOP_BIND, 0, R_ADDR, 0),
		WSE(WSE_F3_TASK, WSE_TASKOP_CBIND, 0, R_ADDR, 0),
		WSE(WSE_F3_SEND, 0, 0, 0, R_ADDR),
		WSE(WSE_F3_RECV, 0, 0, R_ADDR, 0),
	};
	uint32_t k = rng_below(g->r, 6), color = rng_range(g->r, 24, 31) | (value(g->r) & ~0x31fu);

	if (k == 5) {
		k = 0;
		color = rng_below(g->r, 24) | rng_range(g->r, 1, 3) << 8;
	}
	li(&g->c, R_ADDR, color);
	put(&g->c, insn[k] | (k == 4 ? dest(g) << 7 : 0));
}

static void item_illegal(struct gen *g)
{
	static const uint32_t words[] = {
		0x00000000, 0xffffffff, 0x0000007f, 0x0000002b, 0x00000053, 0x0000202f, 0x10200073,
		0x00200073, 0x30300073, 0x00004073, 0x00002063, 0x00003063, 0x00003003, 0x00006003,
		0x00007003, 0x00003023, 0x00004023, 0x00001067, 0x02001013, 0x02005013, 0x04000033,
		0x40001033, 0x40004033, 0x60000033, 0x00000001, 0x00000002, 0x0200000b, 0x0400000b,
		0x0200100b, 0x0200200b, 0x0c00300b, 0x0200400b, 0x0200500b, 0x0200600b, 0x0400700b,
		0x0000001b, 0x0000003b, 0x00000007, 0x00000027,
	};
	uint32_t w = words[rng_below(g->r, sizeof(words) / 4)];

	if (rng_chance(g->r, 20)) {
		item_no_color(g);
		return;
	}
	if (rng_chance(g->r, 30) && (w & 3) == 3 &&
	    (w & 0x7f) != 0x73) /* other registers, as illegal */
		w |= (rng_below(g->r, 32) & ~((w >> 15) & 31)) << 15;
	put(&g->c, w);
}

static void item(struct gen *g)
{
	uint32_t k = rng_below(g->r, 100);

	if (k < 40)
		item_alu(g);
	else if (k < 50)
		item_li(g);
	else if (k < 72)
		item_memory(g);
	else if (k < 83)
		item_branch(g);
	else if (k < 88)
		item_jump(g);
	else if (k < 95)
		item_csr(g);
	else if (k < 96)
		item_system(g);
	else if (k < 98)
		item_patch(g);
	else
		item_illegal(g);
	resolve(g, false);
}

/* Digest of cause and value, then behind the instruction; cause 1 has no instruction: to x26. */
static void handler(struct gen *g)
{
	struct code *c = &g->c;

	put(c, CSRRS(28, 0x342, 0));
	put(c, CSRRS(29, 0x343, 0));
	put(c, r_type(0x33, 4, 0, R_HASH, R_HASH, 29)); /* xor */
	put(c, ADDI(30, 0, 31));
	put(c, r_type(0x33, 0, 1, R_HASH, R_HASH, 30)); /* mul */
	put(c, ADD(R_HASH, R_HASH, 28));
	put(c, ADDI(29, 0, 1));
	put(c, CSRRS(30, 0x341, 0));
	put(c, ADDI(30, 30, 4));
	put(c, b_type(1, 28, 29, 8)); /* bne cause, 1 */
	put(c, ADDI(30, R_NEXT, 0));
	put(c, CSRRW(0, 0x341, 30));
	put(c, 0x30200073);
}

static void core_program(struct gen *g, uint32_t insns, uint32_t result)
{
	uint32_t start = g->c.pc, end;

	put(&g->c, j_type(0, 0)); /* filled in: over the handler */
	g->handler = g->c.pc;
	handler(g);
	li2_at(g->c.image, g->c.pc, R_ADDR, g->handler);
	memcpy(g->c.image + (start - WSE_SRAM_BASE),
	       &(uint32_t){j_type(0, (int32_t)(g->c.pc - start))}, 4);
	g->c.pc += 8;
	put(&g->c, CSRRW(0, 0x305, R_ADDR));
	li(&g->c, R_DATA, DATA);
	li(&g->c, R_NEXT, WSE_SRAM_BASE);
	for (uint32_t x = 1; x < 32; x++) {
		if (x != R_DATA && x != R_NEXT)
			li(&g->c, x, value(g->r));
	}
	end = g->c.pc + 4 * insns;
	if (end > CODE_END)
		end = CODE_END;
	while (g->c.pc < end) {
		if (rng_chance(g->r, 3)) {
			uint32_t n = rng_range(g->r, 1, 8), top;

			resolve(g, true); /* no branch enters a loop */
			g->rounds = rng_chance(g->r, 10) ? rng_range(g->r, 12, 24)
							 : rng_range(g->r, 1, 10);
			li(&g->c, R_LOOP, g->rounds);
			top = g->slot = g->c.pc;
			item_alu(g);
			while (n--)
				item(g);
			resolve(g, true);
			put(&g->c, ADDI(R_LOOP, R_LOOP, -1));
			put(&g->c, b_type(1, R_LOOP, 0, (int32_t)(top - g->c.pc)));
			g->slot = 0;
		} else {
			item(g);
		}
	}
	resolve(g, true);
	put(&g->c, ADDI(R_ADDR, 0, (int32_t)result));
	put(&g->c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, R_ADDR, 0));
	put(&g->c, WSE(WSE_F3_TNEXT, 0, R_ADDR, 0, 0));
}

void ls_gen_scalar(struct ls_program *p, struct rng *r, uint32_t insns)
{
	uint32_t bad = rng_below(r, 8 * p->rows * p->cols); /* at most one core reports an error */

	p->kind = "scalar";
	for (uint32_t core = 0; core < p->rows * p->cols; core++) {
		struct gen g = {.c = {p->image[core], WSE_SRAM_BASE}, .r = r};

		for (uint32_t i = DATA - WSE_SRAM_BASE; i < DATA - WSE_SRAM_BASE + 2048; i++)
			p->image[core][i] = (uint8_t)rng_next(r);
		core_program(&g, insns, core == bad ? rng_range(r, 1, 2047) : 0);
	}
	p->ncmds = 0;
	tile_start(p, r, WSE_SQF_BOOT | WSE_SQF_CLOSED, WSE_SRAM_BASE, 1);
}
