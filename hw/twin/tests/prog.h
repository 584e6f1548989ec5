/* SPDX-License-Identifier: MIT */
/* Little tensor programs, put together at run time and run on one core or all cores of a twin. */
#ifndef WSE_TEST_PROG_H
#define WSE_TEST_PROG_H

#include <string.h>

#include "dev.h"
#include "machine.h"
#include "twin/func.h"
#include "lockstep/lockstep_asm.h"

#define CODE_AT 0xa000u /* programs lie here, data below */

static inline uint32_t d1(uint32_t len, int32_t stride)
{
	return (len & 0xffff) | (uint32_t)stride << 16;
}

static inline uint32_t kind(uint32_t k, uint32_t dtype)
{
	return k | dtype << WSE_DSR3_DTYPE_SHIFT;
}

static inline void dsr(struct code *c, unsigned int n, uint32_t w0, uint32_t w1, uint32_t w2,
		       uint32_t w3)
{
	li(c, 5, w0);
	li(c, 6, w1);
	put(c, WSE(WSE_F3_DSR, 0, n, 5, 6));
	li(c, 5, w2);
	li(c, 6, w3);
	put(c, WSE(WSE_F3_DSR, 1, n, 5, 6));
}

static inline void issue(struct code *c, uint32_t tcw, uint32_t scalar)
{
	li(c, 5, tcw);
	li(c, 6, scalar);
	put(c, WSE(WSE_F3_ISSUE, 0, 0, 5, 6));
}

static inline uint32_t tcw(uint32_t engine, uint32_t op, uint32_t dst, uint32_t src1, uint32_t src2)
{
	return engine << WSE_TCW_ENGINE_SHIFT | op | dst << WSE_TCW_DST_SHIFT |
	       src1 << WSE_TCW_SRC1_SHIFT | src2 << WSE_TCW_SRC2_SHIFT;
}

static inline void route(struct code *c, uint32_t color, uint32_t rx, uint32_t tx)
{
	li(c, 5, color);
	li(c, 6, rx | tx << WSE_ROUTE_TX_SHIFT);
	put(c, WSE(WSE_F3_ROUTE, 0, 0, 5, 6));
}

static inline void wait_engines(struct code *c, uint32_t mask)
{
	li(c, 5, mask);
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_WAIT, 0, 5, 0));
}

static inline void send(struct code *c, uint32_t value, uint32_t color, bool ctrl)
{
	li(c, 5, value);
	li(c, 6, color | (uint32_t)ctrl << 8);
	put(c, WSE(WSE_F3_SEND, 0, 0, 5, 6));
}

/* receives from color into memory */
static inline void recv(struct code *c, uint32_t color, uint32_t addr)
{
	li(c, 5, color);
	put(c, WSE(WSE_F3_RECV, 0, 6, 5, 0));
	li(c, 5, addr);
	put(c, SW(6, 5, 0));
}

/* the end of every program */
static inline void park(struct code *c)
{
	put(c, WSE(WSE_F3_SYS, WSE_SYSOP_DONE, 0, 0, 0));
	put(c, WSE(WSE_F3_TNEXT, 0, 5, 0, 0));
}

/* puts a program into one core, into all cores */
static inline void program(struct dev *d, uint32_t core,
			   void (*emit)(struct code *c, uint32_t core))
{
	static uint8_t image[WSE_SRAM_BYTES];
	struct code c = {image, (WSE_SRAM_BASE + CODE_AT)};

	memset(image, 0, sizeof(image));
	emit(&c, core);
	d->ops->poke(d->m, core, WSE_SRAM_BASE + CODE_AT, image + CODE_AT,
		     c.pc - (WSE_SRAM_BASE + CODE_AT));
}

static inline void program_all(struct dev *d, void (*emit)(struct code *c, uint32_t core))
{
	uint32_t i;

	for (i = 0; i < d->rows * d->cols; i++)
		program(d, i, emit);
}

#endif /* WSE_TEST_PROG_H */
