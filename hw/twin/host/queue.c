// SPDX-License-Identifier: MIT
/* Queues: rings, dispatch to the executors, budgets and deadlocks, fault records, completions. */
#include <string.h>

#include "twin/twin.h"

static void raise_vector(struct wse_machine *m, unsigned int vector)
{
	if (TWIN_REG(m, INTR_MASK) >> vector & 1)
		m->irq_pending |= 1u << vector;
	else
		m->ops.irq(m->host, vector);
}

/* an access to a ring or its entries; false: the device halts */
static bool ring_io(struct wse_machine *m, bool write, uint64_t iova, void *entry, size_t len)
{
	bool ok = !twin_dma(m, write, iova, entry, len);

	m->halted |= !ok;
	return ok;
}

/* ---- fault records ---- */

/* writes a record; its index in the ring, or 0xffff when there is none */
static uint16_t put_fault(struct wse_machine *m, struct wse_fault *f)
{
	uint64_t base = twin_reg64(m, WSE_REG_FAULT_LO);
	uint32_t size = TWIN_REG(m, FAULT_SIZE), i;

	if (!base || !size || size > WSE_MAX_DEPTH || size & (size - 1) ||
	    TWIN_REG(m, FAULT_TAIL) - TWIN_REG(m, FAULT_HEAD) >= size) {
		TWIN_REG(m, FAULT_LOST)++;
		return 0xffff;
	}
	i = TWIN_REG(m, FAULT_TAIL) & (size - 1);
	f->cycle = m->now;
	f->seq = TWIN_REG(m, FAULT_TAIL);
	if (!ring_io(m, true, (base & ~63ull) + i * sizeof(*f), f, sizeof(*f)))
		return 0xffff;
	TWIN_REG(m, FAULT_TAIL)++;
	return i;
}

static void bad_bells(struct wse_machine *m)
{
	unsigned int i;

	for (i = 0; i < m->ndoorbells && !m->halted; i++) {
		struct wse_fault f = {
			.status = WSE_ST_BAD_DOORBELL,
			.queue = m->doorbell[i].queue,
			.color = ~0u,
			.value = m->doorbell[i].value,
		};

		put_fault(m, &f);
		if (!m->halted)
			raise_vector(m, 0);
	}
	m->ndoorbells = 0;
}

/* the last doorbell of a batch: the device takes all tails of it in one cycle */
static void take_batch(struct wse_machine *m)
{
	unsigned int i;

	for (i = 1; i < TWIN_NQ; i++) {
		if (m->q[i].kept)
			m->q[i].sq_tail = m->q[i].kept_tail;
		m->q[i].kept = false;
	}
}

void twin_doorbell(struct wse_machine *m, unsigned int index, uint32_t value)
{
	struct twin_queue *q = &m->q[index / 2 < TWIN_NQ ? index / 2 : 0];
	bool head = index & 1, batch = index >= 2 && !head;
	uint32_t at = batch ? value & ~WSE_DB_MORE_MASK : value;

	if (!m->q[0].exists || index / 2 >= TWIN_NQ || m->halted)
		return;
	if (!q->exists || at > (head ? q->cq_max : q->sq_max)) {
		if (m->ndoorbells < sizeof(m->doorbell) / sizeof(*m->doorbell)) {
			m->doorbell[m->ndoorbells].queue = index / 2;
			m->doorbell[m->ndoorbells++].value = value;
		} else {
			TWIN_REG(m, FAULT_LOST)++;
		}
	} else if (head) {
		q->cq_head = at;
	} else if (!batch) {
		q->sq_tail = at;
	} else {
		q->kept_tail = at;
		q->kept = true;
		if (!(value & WSE_DB_MORE_MASK))
			take_batch(m);
	}
}

/* ---- ends of commands ---- */

/* from one's end to the next one's begin, without the bus's answers: as the RTL */
#define COMMAND_CYCLES 60u

static void end_command(struct wse_machine *m, struct twin_queue *q, uint16_t status,
			struct wse_fault *f)
{
	/* the next START or copy comes when this one is completed and its entry has been read */
	if (q->state == Q_RUN && (q->exec == X_START || q->exec == X_COPY))
		m->spent += COMMAND_CYCLES + 2 * m->cfg.dma_latency;
	q->t_end = (uint32_t)m->now;
	q->res = status;
	q->fault = 0xffff;
	q->state = Q_DONE;
	if (unlikely(m->events != NULL))
		twin_events_command(m, q - m->q, true);
	if (status == WSE_ST_OK)
		return;
	f->status = status;
	f->queue = q - m->q;
	f->cid = q->sqe.cid;
	q->fault = put_fault(m, f);
}

static void refuse(struct wse_machine *m, struct twin_queue *q, uint16_t status, uint32_t off)
{
	struct wse_fault f = {.addr = off, .color = ~0u};

	end_command(m, q, status, &f);
}

/* writes the completion when its ring has room */
static bool complete(struct wse_machine *m, struct twin_queue *q)
{
	uint32_t next = (q->cq_tail + 1) & q->cq_max;
	struct wse_cqe e = {
		.cid = q->sqe.cid,
		.status = q->res << 1 | q->phase,
		.sqhd = q->sq_head,
		.fault = q->fault,
		.start = q->t_start,
		.end = q->t_end,
	};

	if (next == q->cq_head)
		return false;
	if (!ring_io(m, true, q->cq + q->cq_tail * sizeof(e), &e, sizeof(e)))
		return false;
	q->completed++;
	m->cmds[q - m->q]++;
	q->cq_tail = next;
	if (!next)
		q->phase = !q->phase;
	q->state = Q_EMPTY;
	raise_vector(m, q->vector);
	return true;
}

/*
 * What works on a command: it begins, and may end at once (true); a look at it in each round; what
 * it waits for when its budget is used up.
 */
static const struct {
	bool (*begin)(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
	enum twin_progress (*run)(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
	void (*find_waiter)(struct wse_machine *m, struct twin_job *j, struct twin_result *r);
} executor[X_COUNT] = {
	[X_COPY] = {twin_copy_begin, twin_copy_run, twin_copy_find_waiter},
	[X_IN] = {twin_in_begin, twin_in_run, twin_stream_find_waiter},
	[X_OUT] = {twin_out_begin, twin_out_run, twin_stream_find_waiter},
	[X_START] = {twin_start_begin, twin_start_run, twin_start_find_waiter},
};

static void job_abort(struct wse_machine *m, unsigned int x)
{
	m->job[x].active = false;
	if (x != X_START)
		twin_silent_end(m, x);
	if (x == X_IN || x == X_OUT)
		twin_ports_reset(m, x);
}

static void job_end(struct wse_machine *m, unsigned int x, struct twin_result *r)
{
	struct twin_job *j = &m->job[x];

	job_abort(m, x);
	end_command(m, &m->q[j->queue], r->status, &r->f);
}

/* ---- admin commands ---- */

static void empty_queue(struct twin_queue *q)
{
	q->sq_head = q->sq_tail = q->cq_head = q->cq_tail = 0;
	q->kept = false;
	q->phase = true;
	q->completed = 0;
	q->state = Q_EMPTY;
}

static uint16_t create_queue(struct wse_machine *m, const struct wse_sqe *s)
{
	struct twin_queue *q = &m->q[s->queue < TWIN_NQ ? s->queue : 0];

	if (!s->queue || s->queue >= TWIN_NQ || q->exists)
		return WSE_ST_BAD_QUEUE;
	memset(q, 0, sizeof(*q));
	q->exists = true;
	q->sq = s->buf;
	q->cq = s->mask;
	q->sq_max = q->cq_max = s->seq & 0xffff;
	q->vector = s->seq >> 16;
	empty_queue(q);
	return WSE_ST_OK;
}

static uint16_t delete_queue(struct wse_machine *m, const struct wse_sqe *s)
{
	struct twin_queue *q = &m->q[s->queue < TWIN_NQ ? s->queue : 0];

	if (!s->queue || s->queue >= TWIN_NQ || !q->exists)
		return WSE_ST_BAD_QUEUE;
	if (q->state == Q_RUN)
		job_abort(m, q->exec);
	q->exists = q->kept = false;
	q->state = Q_EMPTY;
	return WSE_ST_OK;
}

/* what ended commands have asked of the buses may still come */
static bool owed(struct wse_machine *m)
{
	return twin_silent_owed(m, X_COPY) || twin_silent_owed(m, X_IN) ||
	       twin_silent_owed(m, X_OUT);
}

static void ctx_reset(struct wse_machine *m)
{
	unsigned int i;

	for (i = 0; i < X_COUNT; i++)
		if (m->job[i].active && m->job[i].queue)
			job_abort(m, i);
	for (i = 1; i < TWIN_NQ; i++)
		empty_queue(&m->q[i]);
	for (i = 0; i < m->ncores; i++)
		twin_core_hold(m->core[i].mesh, &m->core[i]);
	twin_fabric_clear(m);
}

void twin_queues_reset(struct wse_machine *m)
{
	unsigned int i;

	for (i = 0; i < X_COUNT; i++)
		if (m->job[i].active)
			job_abort(m, i);
	memset(m->q, 0, sizeof(m->q));
	m->ndoorbells = 0;
}

/* ---- fetch and dispatch ---- */

static bool fence_open(const struct wse_machine *m, const struct wse_sqe *s)
{
	return (int32_t)(m->q[s->queue].completed - s->seq) >= 0;
}

static void judge_fence(struct wse_machine *m, struct twin_queue *q)
{
	const struct wse_sqe *s = &q->sqe;

	if (s->queue >= TWIN_NQ || !m->q[s->queue].exists ||
	    (&m->q[s->queue] == q && !fence_open(m, s)))
		refuse(m, q, WSE_ST_BAD_FENCE, offsetof(struct wse_sqe, queue));
	else
		q->state = Q_FENCE;
}

static enum twin_exec executor_of(uint8_t opcode)
{
	if (opcode == WSE_OP_COPY_IN || opcode == WSE_OP_COPY_OUT)
		return X_COPY;
	if (opcode == WSE_OP_STREAM_IN || opcode == WSE_OP_STREAM_OUT)
		return opcode == WSE_OP_STREAM_IN ? X_IN : X_OUT;
	return X_START; /* SCRUB, too */
}

static void fetch(struct wse_machine *m, struct twin_queue *q)
{
	uint16_t status;
	uint32_t off;

	if (!ring_io(m, false, q->sq + q->sq_head * sizeof(q->sqe), &q->sqe, sizeof(q->sqe)))
		return;
	q->sq_head = (q->sq_head + 1) & q->sq_max;
	q->t_start = (uint32_t)m->now;
	if (unlikely(m->events != NULL))
		twin_events_command(m, q - m->q, false);
	status = twin_check_sqe(m, &q->sqe, q == m->q, &off);
	if (status) {
		refuse(m, q, status, off);
		return;
	}
	off = offsetof(struct wse_sqe, queue);
	switch (q->sqe.opcode) {
	case WSE_OP_NOP:
		break;
	case WSE_OP_FENCE:
		judge_fence(m, q);
		return;
	case WSE_OP_CREATE_QUEUE:
		status = create_queue(m, &q->sqe);
		break;
	case WSE_OP_DELETE_QUEUE:
		status = delete_queue(m, &q->sqe);
		break;
	case WSE_OP_CTX_RESET:
		ctx_reset(m);
		break;
	default:
		q->exec = executor_of(q->sqe.opcode);
		q->state = Q_WAIT;
		return;
	}
	if (status)
		refuse(m, q, status, off);
	else if ((q->sqe.opcode == WSE_OP_CTX_RESET || q->sqe.opcode == WSE_OP_DELETE_QUEUE) &&
		 owed(m))
		q->state = Q_REST;
	else
		end_command(m, q, WSE_ST_OK, NULL);
}

static void dispatch(struct wse_machine *m, struct twin_queue *q)
{
	struct twin_job *j = &m->job[q->exec];
	struct twin_result r = {.f.color = ~0u};
	uint64_t end = m->now + q->sqe.budget;

	q->t_start = (uint32_t)m->now;
	if (q->sqe.opcode == WSE_OP_SCRUB) {
		twin_scrub(m, &q->sqe);
		end_command(m, q, WSE_ST_OK, NULL);
		return;
	}
	*j = (struct twin_job){
		.active = true,
		.queue = q - m->q,
		.sqe = q->sqe,
		.deadline = end < m->now ? UINT64_MAX : end,
	};
	q->state = Q_RUN;
	if (executor[q->exec].begin(m, j, &r))
		job_end(m, q->exec, &r);
}

static bool fence_step(struct wse_machine *m, struct twin_queue *q)
{
	if (!m->q[q->sqe.queue].exists) {
		refuse(m, q, WSE_ST_BAD_FENCE, offsetof(struct wse_sqe, queue));
		return true;
	}
	if (!fence_open(m, &q->sqe))
		return false;
	end_command(m, q, WSE_ST_OK, NULL);
	return true;
}

static bool queue_step(struct wse_machine *m, struct twin_queue *q)
{
	switch (q->state) {
	case Q_EMPTY:
		if (q->sq_head == q->sq_tail)
			return false;
		fetch(m, q);
		return true;
	case Q_WAIT:
		if (m->job[q->exec].active)
			return false;
		if (!twin_silent_owed(m, q->exec))
			dispatch(m, q);
		return true;
	case Q_REST:
		if (!owed(m))
			end_command(m, q, WSE_ST_OK, NULL);
		return true;
	case Q_FENCE:
		return fence_step(m, q);
	case Q_DONE:
		return complete(m, q);
	}
	return false;
}

/* ---- budgets ---- */

/* all rings empty and no copy executes: what a CLOSED start may rely on */
static bool closed_tile(const struct wse_machine *m)
{
	unsigned int i;

	if (m->job[X_COPY].active)
		return false;
	for (i = 0; i < TWIN_NQ; i++)
		if (m->q[i].exists && m->q[i].sq_head != m->q[i].sq_tail)
			return false;
	return true;
}

static void expire(struct wse_machine *m, unsigned int x, bool moving)
{
	struct twin_result r = {.status = moving ? WSE_ST_TIMEOUT : WSE_ST_DEADLOCK,
				.f.color = ~0u};

	executor[x].find_waiter(m, &m->job[x], &r);
	job_end(m, x, &r);
}

/*
 * m->moved speaks of the round before. A job whose budget is used up gets one more round, the
 * "following 256 cycles" of the contract, unless nothing has moved.
 */
static bool budgets(struct wse_machine *m)
{
	bool any = false;
	unsigned int x;

	for (x = 0; x < X_COUNT; x++) {
		struct twin_job *j = &m->job[x];

		if (!j->active)
			continue;
		if (m->now >= j->deadline && (j->look || m->quiet)) {
			expire(m, x, x == X_COPY || !m->quiet);
			any = true;
		} else if (m->now >= j->deadline) {
			j->look = true;
		} else if (x == X_START && j->sqe.flags & WSE_SQF_CLOSED && m->quiet &&
			   closed_tile(m)) {
			m->now += 1024;
			expire(m, x, false);
			any = true;
		}
	}
	return any;
}

/* one look at everything; true: something happened */
bool twin_queues_run(struct wse_machine *m)
{
	enum twin_progress how;
	bool any = m->ndoorbells;
	unsigned int i, x;

	if (m->ndoorbells)
		bad_bells(m);
	for (x = 0; x < X_COUNT && !m->halted; x++) {
		struct twin_result r = {.f.color = ~0u};

		if (!m->job[x].active)
			continue;
		how = executor[x].run(m, &m->job[x], &r);
		any |= how != RUN_IDLE;
		if (how == RUN_ENDED)
			job_end(m, x, &r);
	}
	if (!m->halted)
		any |= budgets(m);
	for (i = 0; i < TWIN_NQ && !m->halted; i++)
		if (m->q[i].exists)
			any |= queue_step(m, &m->q[i]);
	return any;
}

bool twin_queues_busy(const struct wse_machine *m)
{
	unsigned int i;

	for (i = 0; i < X_COUNT; i++)
		if (m->job[i].active)
			return true;
	return false;
}
