// SPDX-License-Identifier: MIT
/* Executor of COPY_IN and COPY_OUT: cores in row-major order, line by line. */
#include <string.h>

#include "twin/twin.h"

#define CHUNK 65536u /* bytes of SRAM touched in a round */

void twin_dma_result(struct twin_result *r, uint64_t bad)
{
	r->status = WSE_ST_DMA_ERROR;
	r->f.iova = bad;
}

void twin_copy_begin(struct wse_machine *m, struct twin_job *j)
{
	const struct wse_sqe *s = &j->sqe;

	(void)m;
	twin_buf_open(&j->buf, s->buf, s->flags & WSE_SQF_BUF_DIRECT, s->pshift);
	j->row = j->col = j->line = 0;
}

/* BROADCAST goes along the columns, the rows, or both, where there is no stride */
static uint32_t cast_rows(const struct wse_sqe *s)
{
	return s->flags & WSE_SQF_BROADCAST && !s->rstride ? s->rows : 1;
}

static uint32_t cast_cols(const struct wse_sqe *s)
{
	return s->flags & WSE_SQF_BROADCAST && !s->cstride ? s->cols : 1;
}

/* one line of one core, or of those that it is broadcast to */
static int copy_line(struct wse_machine *m, struct twin_job *j, uint64_t *bad, uint32_t *touched)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t rows = cast_rows(s), cols = cast_cols(s);
	struct twin_core *c = &m->core[(s->row0 + j->row) * m->cols + s->col0 + j->col];
	uint64_t off = s->off + (uint64_t)j->row * s->rstride + (uint64_t)j->col * s->cstride +
		       (uint64_t)j->line * s->lstride;
	uint32_t at = s->sram + j->line * s->sstride, r, i;
	uint8_t *line = c->sram + at;
	int err;

	*touched = s->len;
	if (s->opcode == WSE_OP_COPY_OUT)
		return twin_buf_write(m, &j->buf, off, line, s->len, bad);
	/* what a copy that fails has written by then is not said */
	err = twin_buf_read(m, &j->buf, off, line, s->len, bad);
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

bool twin_copy_run(struct wse_machine *m, struct twin_job *j, struct twin_result *r, bool *done)
{
	const struct wse_sqe *s = &j->sqe;
	uint32_t bytes = 0, touched, cycles = m->cfg.dma_latency;
	uint64_t bad;

	*done = j->row >= s->rows; /* in the round before: its cycles have passed */
	while (bytes < CHUNK && j->row < s->rows) {
		if (copy_line(m, j, &bad, &touched)) {
			twin_dma_result(r, bad);
			*done = true;
			return true;
		}
		bytes += touched;
		cycles += s->len / 8;
		if (++j->line < s->nline)
			continue;
		j->line = 0;
		j->col += cast_cols(s);
		if (j->col < s->cols)
			continue;
		j->col = 0;
		j->row += cast_rows(s);
	}
	if (!*done && cycles > m->round)
		m->round = cycles;
	return true;
}
