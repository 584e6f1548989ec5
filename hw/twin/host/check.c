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
#define START (RECT | BIT(budget) | BIT(sram) | ((1u << M_COUNT) - BIT(nline)))

/* members and flags that an opcode names; false: no such opcode */
static bool names(uint8_t op, bool admin, uint32_t *members, uint8_t *flags)
{
	*flags = 0;
	*members = BIT(budget);
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
		*members = BIT(queue) | BIT(seq);
		return true;
	case WSE_OP_CREATE_QUEUE:
		*members |= BIT(buf) | BIT(mask) | BIT(queue) | BIT(seq);
		return admin;
	case WSE_OP_DELETE_QUEUE:
		*members |= BIT(queue);
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

bool twin_is_ring(uint32_t max)
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
		w |= BIT(flags);
	if (linear && (!s->len || s->len & 7))
		w |= BIT(len);
	if (linear && s->lstride)
		w |= BIT(lstride);
	if (masked && !(s->flags & WSE_SQF_MASK_DIRECT) && bad_shift(s->mshift))
		w |= BIT(mshift);
	if (s->color >= WSE_NCOLORS)
		w |= BIT(color);
	if (s->etype > WSE_ETYPE_RAW32)
		w |= BIT(etype);
	if (masked && s->mask & 7)
		w |= BIT(mask);
	if (s->moff & 7)
		w |= BIT(moff);
	if (!s->kcol || s->kcol > KMAX)
		w |= BIT(kcol);
	if (s->nfeat != 1 && (s->etype == WSE_ETYPE_RAW32 || (s->nfeat != 2 && s->nfeat != 4)))
		w |= BIT(nfeat);
	if (s->mcstride & 7)
		w |= BIT(mcstride);
	return w;
}

static uint32_t wrong_values(const struct wse_sqe *s)
{
	bool copy = s->opcode == WSE_OP_COPY_IN || s->opcode == WSE_OP_COPY_OUT;
	bool stream = s->opcode == WSE_OP_STREAM_IN || s->opcode == WSE_OP_STREAM_OUT;
	bool only = s->flags & WSE_SQF_INDEX_ONLY, bcast = s->flags & WSE_SQF_BROADCAST;
	uint32_t w = 0;

	if ((copy || stream || s->opcode == WSE_OP_START) && !s->budget)
		w |= BIT(budget);
	if (copy || stream) {
		if (!only && !(s->flags & WSE_SQF_BUF_DIRECT) && bad_shift(s->pshift))
			w |= BIT(pshift);
		if (!only && s->buf & 7)
			w |= BIT(buf);
		if (!only && s->off & 7)
			w |= BIT(off);
		if (!s->nline)
			w |= BIT(nline);
		if (!only && s->lstride & 7)
			w |= BIT(lstride);
		if (!only && s->cstride & 7)
			w |= BIT(cstride);
		if (s->rstride & 7 || (bcast && s->cstride && s->rstride))
			w |= BIT(rstride);
	}
	if (copy) {
		if (s->sram & 7)
			w |= BIT(sram);
		if (!s->len || s->len & 7)
			w |= BIT(len);
		if (s->sstride & 7)
			w |= BIT(sstride);
	}
	if (stream)
		w |= wrong_stream(s);
	if (s->opcode == WSE_OP_START && s->sram & 3)
		w |= BIT(sram);
	if (s->opcode == WSE_OP_CREATE_QUEUE) {
		if (s->buf & 0xfff)
			w |= BIT(buf);
		if (s->mask & 0xfff)
			w |= BIT(mask);
		if (!twin_is_ring(s->seq & 0xffff) || s->seq >> 16 >= NVECTORS)
			w |= BIT(seq);
	}
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
		named |= BIT(len);
	if (s->flags & ~flags)
		wrong |= BIT(flags);
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
