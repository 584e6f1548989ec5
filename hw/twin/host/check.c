// SPDX-License-Identifier: MIT
/* Checks of a submission entry, in the order of hw/doc/host.md. */
#include <string.h>

#include "twin/twin.h"

#define KMAX	 16384u
#define NVECTORS 32u

/* the members that an opcode names or not, in the order in which they are checked */
/* clang-format off */
#define MEMBERS(X)                                                                   \
	X(flags) X(pshift) X(mshift) X(row0) X(col0) X(rows) X(cols) X(color)        \
	X(etype) X(budget) X(buf) X(off) X(mask) X(moff) X(sram) X(len) X(nline)     \
	X(lstride) X(sstride) X(cstride) X(rstride) X(kcol) X(nfeat) X(queue) X(seq) \
	X(mcstride) X(resv)
/* clang-format on */
#define NUMBER(name) M_##name,
enum member { MEMBERS(NUMBER) M_COUNT };
#define PLACE(name) {offsetof(struct wse_sqe, name), sizeof(((struct wse_sqe *)0)->name)},
static const struct {
	uint8_t off, size;
} member[M_COUNT] = {MEMBERS(PLACE)};

#define BIT(name) (1u << M_##name)
#define RECT	  (BIT(row0) | BIT(col0) | BIT(rows) | BIT(cols))
#define STRIDES	  (BIT(nline) | BIT(lstride) | BIT(cstride) | BIT(rstride))
#define COPY                                                                                       \
	(RECT | STRIDES | BIT(pshift) | BIT(budget) | BIT(buf) | BIT(off) | BIT(sram) | BIT(len) | \
	 BIT(sstride))
#define STREAM                                                                                   \
	(STRIDES | BIT(pshift) | BIT(mshift) | BIT(col0) | BIT(cols) | BIT(color) | BIT(etype) | \
	 BIT(budget) | BIT(buf) | BIT(off) | BIT(mask) | BIT(moff) | BIT(kcol) | BIT(nfeat) |    \
	 BIT(mcstride))
/* START's argument words lie over NLINE and all that follow */
#define START	     (RECT | BIT(budget) | BIT(sram) | ((1u << M_COUNT) - BIT(nline)))
#define STREAM_FLAGS (WSE_SQF_BUF_DIRECT | WSE_SQF_MASK_DIRECT | WSE_SQF_MASKED | WSE_SQF_LINEAR)

enum { ANY = 1, ADMIN, COPIES, STREAMS, STARTS };

/* what an opcode is, and the members and flags that it names; others are no opcodes */
static const struct {
	uint8_t kind, flags;
	uint32_t members;
} opcode[256] = {
	[WSE_OP_NOP] = {ANY, 0, BIT(budget)},
	[WSE_OP_COPY_IN] = {COPIES, WSE_SQF_BUF_DIRECT | WSE_SQF_BROADCAST, COPY},
	[WSE_OP_COPY_OUT] = {COPIES, WSE_SQF_BUF_DIRECT, COPY},
	[WSE_OP_STREAM_IN] = {STREAMS, STREAM_FLAGS | WSE_SQF_DROP_ZERO | WSE_SQF_INDEX_ONLY,
			      STREAM},
	[WSE_OP_STREAM_OUT] = {STREAMS, STREAM_FLAGS, STREAM},
	[WSE_OP_START] = {STARTS, WSE_SQF_BOOT | WSE_SQF_CLOSED, START},
	[WSE_OP_FENCE] = {ANY, 0, BIT(queue) | BIT(seq)},
	[WSE_OP_CREATE_QUEUE] = {ADMIN, 0,
				 BIT(budget) | BIT(buf) | BIT(mask) | BIT(queue) | BIT(seq)},
	[WSE_OP_DELETE_QUEUE] = {ADMIN, 0, BIT(budget) | BIT(queue)},
	[WSE_OP_CTX_RESET] = {ADMIN, 0, BIT(budget)},
	[WSE_OP_SCRUB] = {ADMIN, 0, BIT(budget) | RECT},
};

static bool is_zero(const struct wse_sqe *s, unsigned int m)
{
	static const uint8_t zero[sizeof(s->resv)];

	return !memcmp((const uint8_t *)s + member[m].off, zero, member[m].size);
}

bool twin_is_ring(uint32_t max)
{
	return max && max < WSE_MAX_DEPTH && !(max & (max + 1));
}

static bool bad_shift(uint8_t shift)
{
	return shift < WSE_PAGE_SHIFT_MIN || shift > WSE_PAGE_SHIFT_MAX;
}

/* a member's bit where its value is wrong */
#define WRONG(name, is) ((is) ? BIT(name) : 0)

static uint32_t wrong_stream(const struct wse_sqe *s)
{
	bool only = s->flags & WSE_SQF_INDEX_ONLY, masked = s->flags & WSE_SQF_MASKED;
	bool linear = s->flags & WSE_SQF_LINEAR, raw = s->etype == WSE_ETYPE_RAW32;

	return WRONG(flags, only && s->flags & (WSE_SQF_DROP_ZERO | WSE_SQF_LINEAR)) |
	       WRONG(len, linear && (!s->len || s->len & 7)) |
	       WRONG(lstride, linear && s->lstride) |
	       WRONG(mshift, masked && !(s->flags & WSE_SQF_MASK_DIRECT) && bad_shift(s->mshift)) |
	       WRONG(color, s->color >= WSE_NCOLORS) | WRONG(etype, s->etype > WSE_ETYPE_RAW32) |
	       WRONG(mask, masked && s->mask & 7) | WRONG(moff, s->moff & 7) |
	       WRONG(kcol, !s->kcol || s->kcol > KMAX) |
	       WRONG(nfeat, s->nfeat != 1 && (raw || (s->nfeat != 2 && s->nfeat != 4))) |
	       WRONG(mcstride, s->mcstride & 7);
}

static uint32_t wrong_values(const struct wse_sqe *s)
{
	bool only = s->flags & WSE_SQF_INDEX_ONLY, bcast = s->flags & WSE_SQF_BROADCAST;
	uint8_t kind = opcode[s->opcode].kind;
	uint32_t w = WRONG(budget, kind >= COPIES && !s->budget);

	if (kind == COPIES || kind == STREAMS)
		w |= WRONG(pshift,
			   !only && !(s->flags & WSE_SQF_BUF_DIRECT) && bad_shift(s->pshift)) |
		     WRONG(buf, !only && s->buf & 7) | WRONG(off, !only && s->off & 7) |
		     WRONG(nline, !s->nline) | WRONG(lstride, !only && s->lstride & 7) |
		     WRONG(cstride, !only && s->cstride & 7) |
		     WRONG(rstride, s->rstride & 7 || (bcast && s->cstride && s->rstride));
	if (kind == COPIES)
		w |= WRONG(sram, s->sram & 7) | WRONG(len, !s->len || s->len & 7) |
		     WRONG(sstride, s->sstride & 7);
	if (kind == STREAMS)
		w |= wrong_stream(s);
	if (kind == STARTS)
		w |= WRONG(sram, s->sram & 3);
	if (s->opcode == WSE_OP_CREATE_QUEUE)
		w |= WRONG(buf, s->buf & 0xfff) | WRONG(mask, s->mask & 0xfff) |
		     WRONG(seq, !twin_is_ring(s->seq & 0xffff) || s->seq >> 16 >= NVECTORS);
	return w;
}

static uint16_t bad_field(uint32_t members, uint32_t *off)
{
	*off = member[__builtin_ctz(members)].off;
	return WSE_ST_BAD_FIELD;
}

uint16_t twin_check_sqe(const struct wse_machine *m, const struct wse_sqe *s, bool admin,
			uint32_t *off)
{
	uint8_t kind = opcode[s->opcode].kind;
	bool stream = kind == STREAMS, copy = kind == COPIES, linear = s->flags & WSE_SQF_LINEAR;
	bool rect = copy || kind == STARTS || s->opcode == WSE_OP_SCRUB;
	uint32_t named, wrong;
	unsigned int i;

	*off = 0;
	if (!kind || (kind == ADMIN && !admin))
		return WSE_ST_BAD_OPCODE;
	named = opcode[s->opcode].members | (stream && linear ? BIT(len) : 0);
	wrong = WRONG(flags, s->flags & ~opcode[s->opcode].flags);
	for (i = M_flags + 1; i < M_COUNT; i++)
		if (!(named >> i & 1) && !is_zero(s, i))
			wrong |= 1u << i;
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
