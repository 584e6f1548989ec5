// SPDX-License-Identifier: MIT
/* Control and status registers. */
#include "twin/twin.h"

#define MSTATUS_MIE  (1u << 3)
#define MSTATUS_MPIE (1u << 7)
#define MSTATUS_MPP  (3u << 11)
#define MISA	     0x40001100u /* RV32, I and M */
#define UPPER	     0x80u	 /* of a counter's CSR: its upper half */

static uint64_t cycles(const struct twin_mesh *m, const struct twin_core *c, uint32_t ran)
{
	return m->dev->now + c->cyc + ran + c->mcycle_off;
}

/* a register that is what was last written to it, in the bits of *mask; NULL: another */
static uint32_t *plain_csr(struct twin_core *c, uint32_t csr, uint32_t *mask)
{
	*mask = ~0u;
	switch (csr) {
	case 0x300:
		*mask = MSTATUS_MIE | MSTATUS_MPIE;
		return &c->mstatus;
	case 0x305:
		*mask = ~3u;
		return &c->mtvec;
	case 0x340:
		return &c->mscratch;
	case 0x341:
		*mask = ~3u;
		return &c->mepc;
	case 0x342:
		return &c->mcause;
	case 0x343:
		return &c->mtval;
	case WSE_CSR_WDATA:
		return &c->wdata;
	case WSE_CSR_WINFO:
		return &c->winfo;
	}
	return NULL;
}

static bool read_csr(struct twin_mesh *m, struct twin_core *c, uint32_t csr, uint32_t ran,
		     uint32_t *v)
{
	uint32_t mask;
	const uint32_t *plain = plain_csr(c, csr, &mask);

	if (plain) {
		*v = *plain | (csr == 0x300 ? MSTATUS_MPP : 0);
		return true;
	}
	switch (csr) {
	case 0x301:
		*v = MISA;
		break;
	case 0x304: /* mie */
	case 0x344: /* mip */
	case 0xf11:
	case 0xf12:
	case 0xf13:
		*v = 0;
		break;
	case 0xf14:
		*v = c->idx;
		break;
	case 0xb00:
	case 0xc00:
	case 0xb80:
	case 0xc80:
		*v = (uint32_t)(cycles(m, c, ran) >> (csr & UPPER ? 32 : 0));
		break;
	case 0xb02:
	case 0xc02:
	case 0xb82:
	case 0xc82:
		*v = (uint32_t)(c->minstret >> (csr & UPPER ? 32 : 0));
		break;
	case WSE_CSR_ID:
		*v = (uint32_t)c->row << 16 | c->col;
		break;
	case WSE_CSR_DIM:
		*v = twin_csr_dim(m);
		break;
	case WSE_CSR_CFG:
		*v = twin_csr_cfg();
		break;
	default:
		return false;
	}
	return true;
}

/* a counter of which one half is written */
static uint64_t with_half(uint64_t old, uint32_t csr, uint32_t v)
{
	return csr & UPPER ? (uint64_t)v << 32 | (uint32_t)old : (old & ~0xffffffffull) | v;
}

static void write_csr(struct twin_mesh *m, struct twin_core *c, uint32_t csr, uint32_t ran,
		      uint32_t v, bool *counted)
{
	uint64_t now = cycles(m, c, ran);
	uint32_t mask, *plain = plain_csr(c, csr, &mask);

	if (plain)
		*plain = v & mask;
	switch (csr) {
	case 0xb00:
	case 0xb80:
		c->mcycle_off += with_half(now, csr, v) - now - 1;
		break;
	case 0xb02:
	case 0xb82:
		c->minstret = with_half(c->minstret, csr, v);
		*counted = true;
		break;
	} /* misa, mie, mip: writes are ignored */
}

bool twin_csr(struct twin_mesh *m, struct twin_core *c, uint32_t insn, uint32_t ran, uint32_t src,
	      bool *counted)
{
	uint32_t csr = insn >> 20, rd = insn >> 7 & 0x1f, f3 = insn >> 12 & 7, old;
	bool write = (f3 & 3) == 1 || (insn >> 15 & 0x1f);

	*counted = false;
	if (!read_csr(m, c, csr, ran, &old) || (write && csr >> 10 == 3))
		return false;
	if (write) {
		if ((f3 & 3) == 2)
			src = old | src;
		else if ((f3 & 3) == 3)
			src = old & ~src;
		write_csr(m, c, csr, ran, src, counted);
	}
	c->x[rd ? rd : 32] = old;
	return true;
}
