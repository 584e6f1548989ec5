/* SPDX-License-Identifier: MIT */
/* The functions of exact/. */
#ifndef TWIN_EXACT_EXACT_H
#define TWIN_EXACT_EXACT_H

#include "twin/twin.h"

/* exec.c, decode.c: the scalar side */
void twin_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);
void twin_decode(struct twin_dec *d, uint32_t insn);
/* the instruction at a word of the SRAM, into c->dec */
void twin_decode_at(struct twin_core *c, uint32_t index);
void twin_code_changed(struct twin_core *c, uint32_t off, uint32_t len);

/* csr.c: csr instructions; false: illegal */
bool twin_csr(struct twin_mesh *m, struct twin_core *c, uint32_t insn, uint32_t ran, uint32_t src,
	      bool *counted);
static inline uint32_t twin_csr_dim(const struct twin_mesh *m)
{
	return m->rows << 16 | m->cols;
}

static inline uint32_t twin_csr_cfg(void)
{
	return WSE_SRAM_BYTES / 1024 << 16 | WSE_NCOLORS << 8 | WSE_LANES;
}

/* core.c */
void twin_core_hold(struct twin_mesh *m, struct twin_core *c);
void twin_core_boot(struct twin_mesh *m, struct twin_core *c, uint32_t pc);
void twin_core_start(struct twin_mesh *m, struct twin_core *c, uint32_t entry);
/* a turn, with what the round's limit leaves it */
void twin_core_run(struct twin_mesh *m, struct twin_core *c, uint32_t limit);
void twin_core_fault(struct twin_mesh *m, struct twin_core *c, uint32_t cause, uint32_t pc,
		     uint32_t addr, uint32_t color, uint32_t value);
void twin_core_find_waiter(const struct twin_core *c, uint32_t *cause, uint32_t *color);
bool twin_task_next(struct twin_mesh *m, struct twin_core *c, uint32_t *entry, uint8_t *task);

static inline void twin_wake(struct twin_mesh *m, struct twin_core *c)
{
	if (!c->queued && c->run == WSE_CORE_RUNNING) {
		struct twin_band *b = &m->band[c->band];

		c->queued = true;
		b->run[b->cur ^ 1][b->nrun++] = c->idx;
	}
}

#define TWIN_TCW_FIELD(tcw, name) (((tcw)&WSE_TCW_##name##_MASK) >> WSE_TCW_##name##_SHIFT)
/* the DSRs that a TCW names, as an initializer of pointers to them: [OPND_*] */
#define TWIN_DSRS(c, tcw)                                                                   \
	{                                                                                   \
		(c)->dsr[TWIN_TCW_FIELD(tcw, DST)], (c)->dsr[TWIN_TCW_FIELD(tcw, SRC1)],    \
			(c)->dsr[TWIN_TCW_FIELD(tcw, SRC2)]                                 \
	}

/* L's operations that read a fabric color */
static inline bool twin_is_stream(uint32_t op)
{
	return op >= WSE_TOP_AXPY && op <= WSE_TOP_DOTX;
}

/* engine.c */
bool twin_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);
void twin_engines_run(struct twin_mesh *m, struct twin_core *c);
/* the n instructions behind the first move up */
void twin_engine_next(struct twin_engine *e);

static inline void twin_engine_complete(struct twin_mesh *m, struct twin_core *c,
					struct twin_engine *e)
{
	uint32_t tcw = e->q[0].tcw, task = tcw >> WSE_TCW_TASK_SHIFT;

	if (unlikely(m->events != NULL))
		twin_events_engine(m, c, e, true);
	if (e->claim >= 0)
		c->claimed &= ~(1u << e->claim);
	if (e->op == WSE_TOP_AXPY)
		*c->takes = 0;
	e->claim = e->out = e->wait = -1;
	e->started = false;
	if (--e->n)
		twin_engine_next(e);
	if (tcw & WSE_TCW_ACTIVATE_MASK)
		c->ready |= 1u << task;
	if (tcw & WSE_TCW_UNBLOCK_MASK)
		c->blocked &= ~(1u << task);
	m->moved = true;
}

/* an engine's fault: the record has no address */
void twin_tensor_fault(struct twin_mesh *m, struct twin_core *c, uint32_t cause, uint32_t color,
		       uint32_t value);
/* operand.c: 0, or the CAUSE_* of the violation */
uint32_t twin_engine_check(struct twin_engine *e, unsigned int which);
/* lanes.c, vector.c, mover.c: true when something was done; the instruction may have completed or
 * faulted */
bool twin_run_stream(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);
bool twin_run_vector(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);
bool twin_run_mover(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
		    unsigned int which);
void twin_mover_finish(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e);
/* MIDX: the wavelet of element v, place f of a row; left: rows left, this one included */
uint32_t twin_midx(const struct twin_engine *e, uint32_t v, uint32_t f, uint32_t left);

/* fabric.c */
/* may rs1 of a ROUTE be this? */
static inline bool twin_is_route(uint32_t which)
{
	return (which & 0x1f) < WSE_NCOLORS && !(which & 0x300);
}

void twin_route(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t cfg);
void twin_kick(struct twin_mesh *m, struct twin_core *c, unsigned int color);
/* the color waits until other parts can be looked at */
void twin_postpone(struct twin_mesh *m, struct twin_core *c, unsigned int color);
/* what can move inside the part does */
void twin_fabric_drain(struct twin_mesh *m);
/* what can move in all parts and between them does */
void twin_fabric_settle(struct wse_machine *m);
/* at most that many wavelets of a color by its route; true: that many have moved */
bool twin_fabric_move(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t most);
void twin_fabric_clear(struct wse_machine *m);
struct twin_core *twin_neighbour(struct twin_mesh *m, const struct twin_core *c, unsigned int port);

/* L has wavelets again: the time since its last work is waiting; cycles: those of the new work */
static inline void twin_lane_work(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e,
				  uint32_t cycles)
{
	if (m->dev->now > e->busy_to) {
		c->cnt[WSE_CNT_LWAIT] += m->dev->now - e->busy_to;
		e->busy_to = m->dev->now;
	}
	e->busy_to += cycles;
}

/* a core takes the head of its receive queue */
static inline void twin_recv_pop(struct twin_mesh *m, struct twin_core *c, unsigned int color)
{
	if (unlikely(m->events != NULL))
		twin_events_wavelet(m, c, WSE_EV_IN, color, 0, false);
	chan_pop(&c->recv[color]);
	if (!c->recv[color].count)
		c->recv_any &= ~(1u << color);
	m->moved = true;
	twin_kick(m, c, color);
}

/* a core sends; the caller looked for room in c->in[WSE_PORT_R][color] */
static inline void twin_send(struct twin_mesh *m, struct twin_core *c, unsigned int color,
			     uint32_t data, bool ctrl)
{
	if (unlikely(m->events != NULL))
		twin_events_wavelet(m, c, WSE_EV_OUT, color, data, ctrl);
	chan_push(&c->in[WSE_PORT_R][color], data, ctrl);
	m->inside++;
	m->moved = true;
	twin_kick(m, c, color);
}

#endif /* TWIN_EXACT_EXACT_H */
