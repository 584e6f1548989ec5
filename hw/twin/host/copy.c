// SPDX-License-Identifier: MIT
/*
 * Executor of COPY_IN and COPY_OUT: of the columns of each bus, cores in row-major order, line by
 * line.
 */
#include <errno.h>
#include <string.h>

#include "twin/twin.h"

#define CHUNK 65536u /* bytes of SRAM touched in a round, of each bus */

void twin_dma_result(struct twin_result *r, uint64_t bad)
{
	r->status = WSE_ST_DMA_ERROR;
	r->f.iova = bad;
}

void twin_copy_begin(struct wse_machine *m, struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t cols = m->cols / m->nbus, i;

	for (i = 0; i < m->nbus; i++) {
		struct twin_copy *c = &m->bus[i].copy;
		uint32_t from = i * cols, end = from + cols;

		from = from > s->col0 ? from - s->col0 : 0;
		end = end > s->col0 ? end - s->col0 : 0;
		*c = (struct twin_copy){.first = from, .end = end < s->cols ? end : s->cols};
		c->col = c->first;
		c->busy = c->first < c->end;
		twin_buf_open(&c->buf, s->buf, s->flags & WSE_SQF_BUF_DIRECT, s->pshift);
	}
}

/* BROADCAST goes along the columns, the rows, or both, where there is no stride */
static uint32_t cast_rows(const struct wse_sqe *s)
{
	return s->flags & WSE_SQF_BROADCAST && !s->rstride ? s->rows : 1;
}

static uint32_t cast_cols(const struct wse_sqe *s, const struct twin_copy *p)
{
	return s->flags & WSE_SQF_BROADCAST && !s->cstride ? p->end - p->first : 1;
}

/* one line of one core, or of those that it is broadcast to */
static int copy_line(struct wse_machine *m, const struct wse_sqe *s, struct twin_copy *p,
		     uint64_t *bad, uint32_t *touched)
{
	uint32_t rows = cast_rows(s), cols = cast_cols(s, p);
	struct twin_core *c = &m->core[(s->row0 + p->row) * m->cols + s->col0 + p->col];
	uint64_t off = s->off + (uint64_t)p->row * s->rstride + (uint64_t)p->col * s->cstride +
		       (uint64_t)p->line * s->lstride;
	uint32_t at = s->sram + p->line * s->sstride, r, i;
	uint8_t *line = c->sram + at;
	int err;

	*touched = s->len;
	if (s->opcode == WSE_OP_COPY_OUT)
		return twin_buf_write(m, &p->buf, off, line, s->len, bad);
	/* what a copy that fails has written by then is not said */
	err = twin_buf_read(m, &p->buf, off, line, s->len, bad);
	twin_code_changed(c, at, s->len);
	if (err)
		return err;
	for (r = 0; r < rows; r++) {
		for (i = 0; i < cols; i++) {
			struct twin_core *to = c + r * m->cols + i;

			if (to == c)
				continue;
			memcpy(to->sram + at, line, s->len);
			twin_code_changed(to, at, s->len);
		}
	}
	*touched *= rows * cols;
	return 0;
}

/* as much of a bus's part as a round has; cycles: what it takes there */
static int copy_part(struct wse_machine *m, const struct wse_sqe *s, struct twin_copy *p,
		     uint64_t *bad, uint32_t *cycles)
{
	uint32_t bytes = 0, touched;
	int err;

	while (bytes < CHUNK && p->busy) {
		err = copy_line(m, s, p, bad, &touched);
		if (err)
			return err;
		bytes += touched;
		*cycles += s->len / 8;
		if (++p->line < s->nline)
			continue;
		p->line = 0;
		p->col += cast_cols(s, p);
		if (p->col < p->end)
			continue;
		p->col = p->first;
		p->row += cast_rows(s);
		p->busy = p->row < s->rows;
	}
	return 0;
}

bool twin_copy_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r, bool *done)
{
	bool all = true;
	uint32_t i;

	for (i = 0; i < m->nbus; i++)
		all &= !m->bus[i].copy.busy;
	*done = all; /* in the round before: its cycles have passed */
	for (i = 0; i < m->nbus && !all; i++) {
		struct twin_copy *p = &m->bus[i].copy;
		uint32_t cycles = m->cfg.dma_latency;
		uint64_t bad;
		int err;

		p->silent = false;
		err = copy_part(m, &j->sqe, p, &bad, &cycles);
		if (err == -EAGAIN) {
			twin_silent_ask_again(m, X_COPY, i * (m->cols / m->nbus), bad);
		} else if (err) {
			twin_dma_result(r, bad);
			*done = true;
			return true;
		}
		if (cycles > m->round)
			m->round = cycles;
	}
	return true;
}

/* TIMEOUT: the groups whose buses do not answer, if that is why */
void twin_copy_find_waiter(struct wse_machine *m, struct twin_result *r)
{
	if (twin_silent_groups(m, X_COPY, r))
		r->f.cause = WSE_CAUSE_WAIT_PORT;
}
