// SPDX-License-Identifier: MIT
/* Checks of a submission entry, in the order of hw/doc/host.md. */
#include <string.h>

#include "twin/twin.h"

#define KMAX	 16384u
#define NVECTORS 32u

enum member {
	M_FLAGS,
	M_PSHIFT,
	M_MSHIFT,
	M_ROW0,
	M_COL0,
	M_ROWS,
	M_COLS,
	M_COLOR,
	M_ETYPE,
	M_BUDGET,
	M_BUF,
	M_OFF,
	M_MASK,
	M_MOFF,
	M_SRAM,
	M_LEN,
	M_NLINE,
	M_LSTRIDE,
	M_SSTRIDE,
	M_CSTRIDE,
	M_RSTRIDE,
	M_KCOL,
	M_NFEAT,
	M_QUEUE,
	M_SEQ,
	M_MCSTRIDE,
	M_RESV,
	M_COUNT
};

#define MEMBER(name)                                                                \
	{                                                                           \
		offsetof(struct wse_sqe, name), sizeof(((struct wse_sqe *)0)->name) \
	}
static const struct {
	uint8_t off, size;
} member[M_COUNT] = {
	MEMBER(flags),	  MEMBER(pshift), MEMBER(mshift),  MEMBER(row0),    MEMBER(col0),
	MEMBER(rows),	  MEMBER(cols),	  MEMBER(color),   MEMBER(etype),   MEMBER(budget),
	MEMBER(buf),	  MEMBER(off),	  MEMBER(mask),	   MEMBER(moff),    MEMBER(sram),
	MEMBER(len),	  MEMBER(nline),  MEMBER(lstride), MEMBER(sstride), MEMBER(cstride),
	MEMBER(rstride),  MEMBER(kcol),	  MEMBER(nfeat),   MEMBER(queue),   MEMBER(seq),
	MEMBER(mcstride), MEMBER(resv),
};

#define BIT(m)	(1u << (m))
#define RECT	(BIT(M_ROW0) | BIT(M_COL0) | BIT(M_ROWS) | BIT(M_COLS))
#define STRIDES (BIT(M_NLINE) | BIT(M_LSTRIDE) | BIT(M_CSTRIDE) | BIT(M_RSTRIDE))
#define COPY                                                                                      \
	(RECT | STRIDES | BIT(M_PSHIFT) | BIT(M_BUDGET) | BIT(M_BUF) | BIT(M_OFF) | BIT(M_SRAM) | \
	 BIT(M_LEN) | BIT(M_SSTRIDE))
#define STREAM                                                                                \
	(STRIDES | BIT(M_PSHIFT) | BIT(M_MSHIFT) | BIT(M_COL0) | BIT(M_COLS) | BIT(M_COLOR) | \
	 BIT(M_ETYPE) | BIT(M_BUDGET) | BIT(M_BUF) | BIT(M_OFF) | BIT(M_MASK) | BIT(M_MOFF) | \
	 BIT(M_KCOL) | BIT(M_NFEAT) | BIT(M_MCSTRIDE))
/* START's argument words lie over NLINE and all that follow */
#define START (RECT | BIT(M_BUDGET) | BIT(M_SRAM) | (BIT(M_COUNT) - BIT(M_NLINE)))

/* members and flags that an opcode names; false: no such opcode */
static bool names(uint8_t op, bool admin, uint32_t *members, uint8_t *flags)
{
	*flags = 0;
	*members = BIT(M_BUDGET);
	switch (op) {
	case WSE_OP_NOP:
		return true;
	case WSE_OP_COPY_IN:
	case WSE_OP_COPY_OUT:
		*members = COPY;
		*flags = WSE_SQF_BUF_DIRECT | (op == WSE_OP_COPY_IN ? WSE_SQF_BROADCAST : 0);
		return true;
	case WSE_OP_STREAM_IN:
	case WSE_OP_STREAM_OUT:
		*members = STREAM;
		*flags = WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED |
			 WSE_SQF_LINEAR |
			 (op == WSE_OP_STREAM_IN ? WSE_SQF_DROP_ZERO | WSE_SQF_INDEX_ONLY : 0);
		return true;
	case WSE_OP_START:
		*members = START;
		*flags = WSE_SQF_BOOT | WSE_SQF_CLOSED;
		return true;
	case WSE_OP_FENCE:
		*members = BIT(M_QUEUE) | BIT(M_SEQ);
		return true;
	case WSE_OP_CREATE_QUEUE:
		*members |= BIT(M_BUF) | BIT(M_MASK) | BIT(M_QUEUE) | BIT(M_SEQ);
		return admin;
	case WSE_OP_DELETE_QUEUE:
		*members |= BIT(M_QUEUE);
		return admin;
	case WSE_OP_CTX_RESET:
		return admin;
	case WSE_OP_SCRUB:
		*members |= RECT;
		return admin;
	}
	return false;
}

static bool is_zero(const struct wse_sqe *s, unsigned int m)
{
	static const uint8_t zero[sizeof(s->resv)];

	return !memcmp((const uint8_t *)s + member[m].off, zero, member[m].size);
}

static bool pow2_ring(uint32_t max)
{
	return max && max < WSE_MAX_DEPTH && !(max & (max + 1));
}

static bool bad_shift(uint8_t shift)
{
	return shift < WSE_PAGE_SHIFT_MIN || shift > WSE_PAGE_SHIFT_MAX;
}

static uint32_t wrong_stream(const struct wse_sqe *s)
{
	bool only = s->flags & WSE_SQF_INDEX_ONLY, masked = s->flags & WSE_SQF_MASKED;
	bool linear = s->flags & WSE_SQF_LINEAR;
	uint32_t w = 0;

	if (only && s->flags & (WSE_SQF_DROP_ZERO | WSE_SQF_LINEAR))
		w |= BIT(M_FLAGS);
	if (linear && (!s->len || s->len & 7))
		w |= BIT(M_LEN);
	if (linear && s->lstride)
		w |= BIT(M_LSTRIDE);
	if (masked && !(s->flags & WSE_SQF_MASK_DIRECT) && bad_shift(s->mshift))
		w |= BIT(M_MSHIFT);
	if (s->color >= WSE_NCOLORS)
		w |= BIT(M_COLOR);
	if (s->etype > WSE_ETYPE_RAW32)
		w |= BIT(M_ETYPE);
	if (masked && s->mask & 7)
		w |= BIT(M_MASK);
	if (s->moff & 7)
		w |= BIT(M_MOFF);
	if (!s->kcol || s->kcol > KMAX)
		w |= BIT(M_KCOL);
	if (s->nfeat != 1 && (s->etype == WSE_ETYPE_RAW32 || (s->nfeat != 2 && s->nfeat != 4)))
		w |= BIT(M_NFEAT);
	if (s->mcstride & 7)
		w |= BIT(M_MCSTRIDE);
	return w;
}

static uint32_t wrong_values(const struct wse_sqe *s)
{
	bool copy = s->opcode == WSE_OP_COPY_IN || s->opcode == WSE_OP_COPY_OUT;
	bool stream = s->opcode == WSE_OP_STREAM_IN || s->opcode == WSE_OP_STREAM_OUT;
	bool only = s->flags & WSE_SQF_INDEX_ONLY, bcast = s->flags & WSE_SQF_BROADCAST;
	uint32_t w = 0;

	if ((copy || stream || s->opcode == WSE_OP_START) && !s->budget)
		w |= BIT(M_BUDGET);
	if (copy || stream) {
		if (!only && !(s->flags & WSE_SQF_BUF_DIRECT) && bad_shift(s->pshift))
			w |= BIT(M_PSHIFT);
		if (!only && s->buf & 7)
			w |= BIT(M_BUF);
		if (!only && s->off & 7)
			w |= BIT(M_OFF);
		if (!s->nline)
			w |= BIT(M_NLINE);
		if (!only && s->lstride & 7)
			w |= BIT(M_LSTRIDE);
		if (!only && s->cstride & 7)
			w |= BIT(M_CSTRIDE);
		if (s->rstride & 7 || (bcast && s->cstride && s->rstride))
			w |= BIT(M_RSTRIDE);
	}
	if (copy) {
		if (s->sram & 7)
			w |= BIT(M_SRAM);
		if (!s->len || s->len & 7)
			w |= BIT(M_LEN);
		if (s->sstride & 7)
			w |= BIT(M_SSTRIDE);
	}
	if (stream)
		w |= wrong_stream(s);
	if (s->opcode == WSE_OP_START && s->sram & 3)
		w |= BIT(M_SRAM);
	if (s->opcode == WSE_OP_CREATE_QUEUE) {
		if (s->buf & 0xfff)
			w |= BIT(M_BUF);
		if (s->mask & 0xfff)
			w |= BIT(M_MASK);
		if (!pow2_ring(s->seq & 0xffff) || s->seq >> 16 >= NVECTORS)
			w |= BIT(M_SEQ);
	}
	return w;
}

static uint16_t bad_field(uint32_t members, uint32_t *off)
{
	*off = member[__builtin_ctz(members)].off;
	return WSE_ST_BAD_FIELD;
}

uint16_t twin_check_sqe(const struct wse_model *m, const struct wse_sqe *s, bool admin,
			uint32_t *off)
{
	bool copy = s->opcode == WSE_OP_COPY_IN || s->opcode == WSE_OP_COPY_OUT;
	bool stream = s->opcode == WSE_OP_STREAM_IN || s->opcode == WSE_OP_STREAM_OUT;
	bool rect = copy || s->opcode == WSE_OP_START || s->opcode == WSE_OP_SCRUB;
	uint32_t named, wrong = 0;
	unsigned int i;
	uint8_t flags;

	*off = 0;
	if (!names(s->opcode, admin, &named, &flags))
		return WSE_ST_BAD_OPCODE;
	if (stream && s->flags & WSE_SQF_LINEAR)
		named |= BIT(M_LEN);
	if (s->flags & ~flags)
		wrong |= BIT(M_FLAGS);
	for (i = M_FLAGS + 1; i < M_COUNT; i++)
		if (!(named & BIT(i)) && !is_zero(s, i))
			wrong |= BIT(i);
	if (wrong)
		return bad_field(wrong, off);
	if ((rect || stream) && (!s->cols || s->col0 + s->cols > (int)m->cols ||
				 (!stream && (!s->rows || s->row0 + s->rows > (int)m->rows)))) {
		*off = offsetof(struct wse_sqe, row0);
		return WSE_ST_BAD_RECT;
	}
	*off = offsetof(struct wse_sqe, sram);
	if (copy && (uint64_t)s->sram + s->len + (s->nline ? (s->nline - 1ull) * s->sstride : 0) >
			    WSE_SRAM_BYTES)
		return WSE_ST_BAD_ADDR;
	if (s->opcode == WSE_OP_START && s->sram - WSE_SRAM_BASE >= WSE_SRAM_BYTES)
		return WSE_ST_BAD_ADDR;
	wrong = wrong_values(s);
	if (wrong)
		return bad_field(wrong, off);
	*off = 0;
	return WSE_ST_OK;
}
