// SPDX-License-Identifier: MIT
/*
 * Executor of COPY_IN and COPY_OUT: of the columns of each bus, cores in row-major order, line by
 * line.
 */
#include <errno.h>
#include <string.h>

#include "twin/twin.h"

#define CHUNK 65536u /* bytes of SRAM touched in a round, of each bus */

bool twin_copy_begin(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
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
	(void)r;
	return false;
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
static int copy_line(struct wse_machine *m, struct twin_job *j, struct twin_copy *p,
		     uint32_t *touched)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t rows = cast_rows(s), cols = cast_cols(s, p);
	struct twin_core *c = &m->core[(s->row0 + p->row) * m->cols + s->col0 + p->col];
	uint64_t off = s->off + (uint64_t)p->row * s->rstride + (uint64_t)p->col * s->cstride +
		       (uint64_t)p->line * s->lstride;
	uint32_t at = s->sram + p->line * s->sstride, r, i;
	bool out = s->opcode == WSE_OP_COPY_OUT;
	uint8_t *line = c->sram + at;
	int err;

	*touched = s->len;
	err = twin_buf_io(m, j, &p->buf, out, off, line, s->len);
	if (out)
		return err;
	/* what a copy that fails has written by then is not said */
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
static int copy_part(struct wse_machine *m, struct twin_job *j, struct twin_copy *p,
		     uint32_t *cycles)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t bytes = 0, touched;
	int err;

	while (bytes < CHUNK && p->busy) {
		err = copy_line(m, j, p, &touched);
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

enum twin_progress twin_copy_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	bool busy = false;
	uint32_t i;

	for (i = 0; i < m->nbus; i++)
		busy |= m->bus[i].copy.busy;
	if (!busy)
		return RUN_ENDED; /* in the round before: its cycles have passed */
	for (i = 0; i < m->nbus; i++) {
		struct twin_copy *p = &m->bus[i].copy;
		uint32_t cycles = m->cfg.dma_latency;
		int err;

		p->silent = false;
		err = copy_part(m, j, p, &cycles);
		if (err == -EAGAIN)
			twin_silent_ask_again(m, X_COPY, i * (m->cols / m->nbus), j->bad);
		else if (err)
			return twin_dma_error(j, r);
		if (cycles > m->round)
			m->round = cycles;
	}
	return RUN_MOVED;
}

/* TIMEOUT: the groups whose buses do not answer, if that is why */
void twin_copy_find_waiter(struct wse_machine *m, struct twin_job *j, struct twin_result *r)
{
	(void)j;
	if (twin_silent_groups(m, X_COPY, r))
		r->f.cause = WSE_CAUSE_WAIT_PORT;
}
