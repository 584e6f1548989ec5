// SPDX-License-Identifier: MIT
/*
 * The copies of stream operands: what they hold, and that every way to write to memory ends them,
 * those of the byte before and after excepted.
 */
#include <string.h>

#include "check.h"
#include "rig.h"
#include "twin/exact/fp.h"
#include "twin/fast/kernels/kernels.h"
#include "twin/fast/opnd_copy.h"
#include "twin/twin.h"

#define AT   0x1010 /* the operand: 19 rows of 24, in steps of 32 elements */
#define LEN  24u
#define ROWS 19u
#define STEP 64
#define END  (AT + (int32_t)(ROWS - 1) * STEP + (int32_t)LEN * 2)

static struct rig r;
static const struct twin_kernels *kernels;
static const struct twin_opnd operand = {
	.kind = WSE_KIND_MEM, .len = LEN, .len1 = ROWS, .stride = 2, .stride1 = STEP, .base = AT};
/* the same rows from the last to the first */
static const struct twin_opnd backwards = {.kind = WSE_KIND_MEM,
					   .len = LEN,
					   .len1 = ROWS,
					   .stride = 2,
					   .stride1 = -STEP,
					   .base = AT + (int32_t)(ROWS - 1) * STEP};

static uint32_t element(const struct twin_opnd *o, uint32_t k, uint32_t t)
{
	uint16_t h;

	memcpy(&h, r.m->core[0].sram + o->base + (int32_t)k * o->stride1 + t * 2, 2);
	return (uint32_t)h << 16;
}

/* makes both copies and compares them with the memory */
static bool copies_fit(const struct twin_opnd *o)
{
	struct twin_core *c = &r.m->core[0];
	const struct twin_opnd_copy *by_rows, *by_cols;
	const uint16_t *cols;
	const float *rows;
	uint32_t k, t, bad = 0;

	twin_opnd_copy_rows(c, kernels, o);
	by_rows = twin_opnd_copy_rows(c, kernels, o);
	by_cols = twin_opnd_copy_cols(c, o);
	if (!by_rows || !by_cols || !by_rows->copy)
		return false;
	rows = by_rows->copy;
	cols = by_cols->copy;
	for (k = 0; k < ROWS; k++)
		for (t = 0; t < LEN; t++) {
			bad += memcmp(&rows[k * LEN + t], (uint32_t[]){element(o, k, t)}, 4) != 0;
			bad += twin_bf16_widen(cols[(k / TWIN_PANEL * LEN + t) * TWIN_PANEL +
						    k % TWIN_PANEL]) != element(o, k, t);
		}
	return !bad;
}

static bool both(bool full)
{
	return r.m->core[0].opnd_copy[0].full == full && r.m->core[0].opnd_copy[1].full == full;
}

static void set(struct code *c, uint32_t size, uint32_t addr, uint32_t value)
{
	li(c, 5, WSE_SRAM_BASE + addr);
	li(c, 6, value);
	put(c, s_type(0x23, size / 2, 5, 6, 0)); /* sb, sh, sw */
}

/* the core stores size bytes there */
static void by_scalar(uint32_t size, uint32_t addr)
{
	struct code c = rig_code(&r);
	struct wse_core_state st;

	set(&c, size, addr, 0x40404040);
	park(&c);
	r.ops->poke(r.m, 0, WSE_SRAM_BASE + CODE_AT, r.image + CODE_AT,
		    c.pc - (WSE_SRAM_BASE + CODE_AT));
	r.ops->boot(r.m, 0, WSE_SRAM_BASE + CODE_AT);
	r.ops->advance(r.m, 100000, NULL);
	r.ops->get_state(r.m, 0, &st);
}

/* an engine writes n bf16 there */
static void by_engine(uint32_t engine, uint32_t addr, uint32_t n)
{
	struct code c = rig_code(&r);

	dsr(&c, 0, WSE_SRAM_BASE + addr, d1(n, 2), 1, kind(WSE_KIND_MEM, WSE_DT_BF16));
	dsr(&c, 1, 0, d1(n, 1), 1, kind(WSE_KIND_ACC, 0));
	issue(&c, tcw(engine, engine ? WSE_TOP_MOVE : WSE_TOP_VMOV, 0, 1, 1), 0);
	wait_engines(&c, 7);
	park(&c);
	r.ops->poke(r.m, 0, WSE_SRAM_BASE + CODE_AT, r.image + CODE_AT,
		    c.pc - (WSE_SRAM_BASE + CODE_AT));
	r.ops->boot(r.m, 0, WSE_SRAM_BASE + CODE_AT);
	r.ops->advance(r.m, 100000, NULL);
}

static void test_writes(const struct twin_opnd *o, const char *how)
{
	static const uint8_t zero[8];
	uint32_t size;

	ok(copies_fit(o), "%s: the copies are there and right", how);
	r.ops->poke(r.m, 0, WSE_SRAM_BASE + AT - 8, zero, 8);
	r.ops->poke(r.m, 0, WSE_SRAM_BASE + END, zero, 8);
	ok(both(true), "%s: a poke before and behind leaves them", how);
	r.ops->poke(r.m, 0, WSE_SRAM_BASE + END - 1, zero, 1);
	ok(both(false), "%s: a poke to the last byte ends them", how);
	ok(copies_fit(o), "%s: they are made again", how);
	for (size = 1; size <= 4; size *= 2) {
		by_scalar(size, AT - size);
		by_scalar(size, END);
		ok(both(true), "%s: stores of %u bytes before and behind leave them", how, size);
		by_scalar(size, AT);
		ok(both(false), "%s: one to the first ends them", how);
		ok(copies_fit(o), "%s: they are made again", how);
		by_scalar(size, END - size);
		ok(both(false), "%s: one to the last ends them", how);
		ok(copies_fit(o), "%s: they are made again", how);
	}
	by_engine(WSE_ENGINE_L, AT - 16, 8);
	by_engine(WSE_ENGINE_M1, END, 5);
	ok(both(true), "%s: engines that write before and behind leave them", how);
	by_engine(WSE_ENGINE_L, AT + STEP * 2, 8);
	ok(both(false), "%s: the lanes end them", how);
	ok(copies_fit(o), "%s: they are made again", how);
	by_engine(WSE_ENGINE_M1, END - 2, 1);
	ok(both(false), "%s: a mover ends them", how);
}

/* code and a copy on one page: each ends for itself */
static void test_code_beside(void)
{
	struct twin_opnd o = operand;

	o.base = (CODE_AT & ~0xff) + 0x40;
	o.len1 = 1;
	by_scalar(4, 0x800);
	twin_opnd_copy_rows(&r.m->core[0], kernels, &o);
	ok(twin_opnd_copy_rows(&r.m->core[0], kernels, &o) != NULL,
	   "a copy of a page that holds code");
	by_scalar(4, 0x900);
	ok(r.m->core[0].opnd_copy[0].full, "new code beside it leaves it");
	by_scalar(4, (uint32_t)o.base + 44);
	ok(!r.m->core[0].opnd_copy[0].full, "a store ends it");
}

int main(void)
{
	uint32_t i;

	kernels = twin_kernels_get(0);
	if (!kernels) {
		ok(true, "copies # SKIP no AVX2");
		return tap_end();
	}
	if (!ok(rig_open(&r, 0), "a core"))
		return tap_end();
	for (i = 0; i < CODE_AT; i += 2)
		memcpy(r.m->core[0].sram + i, (uint16_t[]){(uint16_t)(i * 40503u)}, 2);
	test_writes(&operand, "forwards");
	test_writes(&backwards, "backwards");
	test_code_beside();
	r.ops->destroy(r.m);
	return tap_end();
}
