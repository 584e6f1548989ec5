/* SPDX-License-Identifier: MIT */
/*
 * The twin's inside: what its files share. Nothing here is visible to users of hw/model.h.
 *
 * Time. The twin runs in rounds: every core that can run gets up to TWIN_QUANTUM scalar
 * instructions, engines run as far as their data allows, and the device's cycle counter then moves
 * by the largest share that a core took. In a tile of one part, cores whose block is through go on in the same round.
 * Confluent programs cannot tell; everything else about time is documented as not equal to the RTL.
 *
 * Parts. A large tile is cut into parts (mesh.c), by its shape alone. In a round the cores of a part
 * take their turns by themselves, with the part's own lists and counters; what goes from part to part
 * does so between turns and runs. So any number of threads may run parts beside each other, and the
 * order of events never depends on that number.
 */
#ifndef TWIN_H
#define TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"
#include "twin/exact/fast.h"
#include "twin/func.h"
#include "twin/parts/pace.h"
#include "wse_regs.h"

#define TWIN_QUANTUM 1024u   /* scalar instructions of a core in a round */
#define TWIN_EQUANTUM 16384u /* elements of an engine in a round */
#define TWIN_PARTS_MAX 8u    /* of the mesh; no more threads than that */
#define TWIN_NQ 5u	    /* queue pairs, as the RTL's default */
#define TWIN_NWORDS (WSE_SRAM_BYTES / 4)
#define TWIN_CODE_PAGE 8 /* log2 of the bytes that one flag of twin_core.code covers */
#define TWIN_NPAGES (WSE_SRAM_BYTES >> TWIN_CODE_PAGE)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- channels ---- */

/* CHAN_DEPTH wavelets of one color in one port */
struct twin_chan {
	uint32_t data[WSE_CHAN_DEPTH];
	uint8_t ctrl; /* bit i: data[i] is a control wavelet */
	uint8_t head, count;
};

static inline bool chan_full(const struct twin_chan *q)
{
	return q->count == WSE_CHAN_DEPTH;
}

static inline void chan_push(struct twin_chan *q, uint32_t data, bool ctrl)
{
	unsigned int i = (q->head + q->count++) % WSE_CHAN_DEPTH;

	q->data[i] = data;
	q->ctrl = (q->ctrl & ~(1u << i)) | (uint32_t)ctrl << i;
}

static inline uint32_t chan_head(const struct twin_chan *q, bool *ctrl)
{
	*ctrl = q->ctrl >> q->head & 1;
	return q->data[q->head];
}

static inline void chan_pop(struct twin_chan *q)
{
	q->head = (q->head + 1) % WSE_CHAN_DEPTH;
	q->count--;
}

/* ---- engines ---- */

/* a tensor instruction as ISSUE captured it */
struct twin_tins {
	uint32_t tcw, scalar;
	uint32_t dsr[3][4]; /* DST, SRC1, SRC2 */
};

/* an operand while its instruction runs */
struct twin_opnd {
	uint8_t kind, dtype, color;
	uint16_t len, len1;	 /* len1 >= 1 */
	int32_t stride, stride1; /* bytes or accumulators */
	int32_t base;		 /* SRAM byte offset or accumulator */
	int32_t row, pos;	 /* where the current row starts; where the next element lies */
};

/* what a block needs first, and in few cache lines: of all cores together it does not fit the nearest cache */
struct twin_engine {
	uint64_t busy_to; /* L: device cycle up to which it has had something to do */
	uint8_t n;	  /* instructions, the running one included */
	bool started;	  /* q[0] has been checked and runs */
	bool checked;	  /* q[0] passed the operand checks; the members below stay valid after it completes */
	bool step_singly;	  /* a batched mover, but now element by element, as much as the channel holds */
	uint8_t age;	  /* rounds that it has waited */
	bool crosses_part;	  /* its run leaves the part: found in this round */
	/* from here to rows: what the operand checks derive from an instruction */
	bool end_left __attribute__((aligned(16))); /* only the END wavelet of SEND_END is left to send */
	uint8_t op;
	bool until_end;
	bool batched;	    /* mover from memory to the fabric: runs.c hands out its elements */
	int8_t claim;	    /* color that it reads, -1: none */
	int8_t out;	    /* color that it sends on, -1: none */
	uint8_t src1, src2; /* kinds of its sources */
	int8_t wait;	    /* color that it waits for; -1: not the fabric */
	struct twin_opnd o[3];
	uint32_t inner, outer; /* elements left in the row, rows left; or END marks left in outer */
	uint32_t nfeat, tokens; /* AXPY, DOT */
	uint32_t width, rows;	/* what inner and outer begin with: the shape */
	struct twin_tins q[1 + WSE_ENGINE_DEPTH];
	uint32_t part[WSE_LANES]; /* VRSUM, VRMAX */
} __attribute__((aligned(64)));

#define TWIN_CHECKED_FROM	  offsetof(struct twin_engine, end_left)
#define TWIN_CHECKED_BYTES (offsetof(struct twin_engine, q) - TWIN_CHECKED_FROM)

/* what is known of a bf16 operand, see f32_copy.c */
struct twin_f32_copy {
	bool full, uses;		     /* it is valid; the operand has been used once */
	struct twin_range range;	     /* of its values */
	int32_t base, stride1;	     /* the operand */
	uint32_t tokens, rows;
	uint32_t lo, hi;	     /* SRAM bytes that it depends on: [lo, hi) */
	const float *copy;	     /* in binary32; NULL: it is too large for one */
	float *v;		     /* room for copies */
	size_t cap;
};

/* rows of elements, as three words of a DSR describe them: an operand of the lanes, see quick.c.
 * That of accumulators has its place, too: which operands overlap is then said by their shapes. */
struct twin_shape {
	uint32_t dsr[3]; /* words 1 to 3 */
	uint32_t base, fixed; /* word 0 where bits of fixed are set: all of them or none */
	uint8_t rule;	 /* TWIN_RULE_*; 0: no such operand */
	bool acc, bf16;
	uint8_t align; /* bits of an offset that are 0 */
	uint16_t len, len1;
	int32_t step;	      /* bytes from row to row */
	int32_t lo, hi;	      /* bytes from the first element: the rows lie in [lo, hi) */
	uint32_t least, most; /* rows of this shape fit where the offset is that */
	uint32_t id;	      /* never 0, never given again */
};

/* what a DSR is as an operand of the lanes, as long as its words are these */
struct twin_lane {
	struct twin_shape s;
	uint32_t id; /* the shape's; 0: words of it were written since, or it does not fit */
	uint8_t page, page_end; /* of SRAM that the rows lie in, from the first to the last */
	uint32_t off; /* in the SRAM; of accumulators, which */
	uint8_t *at;
};

#define TWIN_RULE_LANE	1u /* rows of groups */
#define TWIN_RULE_SINGLE 2u /* one element */

/* ---- cores ---- */

struct twin_dec {		  /* a predecoded instruction; op 0: not decoded yet */
	uint8_t op, rd, rs1, rs2; /* rd 32: nowhere */
	int32_t imm;
};

enum twin_wait {
	WAIT_NONE,
	WAIT_TASK,
	WAIT_RECV,
	WAIT_SEND,
	WAIT_ISSUE,
	WAIT_ENGINES,
};

#define TWIN_NENTERED 8u

struct twin_pick {
	uint8_t task;
	uint32_t winfo;
};

/* first what most turns need, as in an engine */
struct twin_core {
	uint32_t x[33]; /* [32] swallows writes to x0 */
	uint32_t pc;
	uint8_t run;  /* enum wse_core_run */
	uint8_t wait; /* enum twin_wait: what the instruction at pc waits for */
	uint8_t wait_color;
	bool queued;	  /* on the run list, or to go on now */
	uint8_t listed;	  /* engines on the list of sources, as a mask */
	bool done, start; /* DONE was executed; a start is pending */
	bool stale;	  /* translated blocks of it were forgotten */
	bool replay;
	uint8_t last_pick; /* task that TNEXT took last */
	struct twin_mesh *mesh; /* its part */
	struct twin_dec *dec; /* [NWORDS + 1] */
	uint32_t *block;     /* [NWORDS] translated blocks that begin here, see translate.c */
	uint8_t *sram;
	struct {
		uint32_t end, block; /* end: the word after the one that it begins at; 0: none */
	} entered[TWIN_NENTERED];     /* blocks that were entered lately */
	uint32_t idx;	       /* row * cols + col */
	uint16_t col, row;     /* CSR_ID as a word */
	wse_retire_fn trace;
	uint64_t minstret;
	uint64_t retired; /* since creation: for step and trace; traps, too */
	uint64_t shared;  /* device cycle of the latest round in which it had a turn */
	uint32_t cyc;	  /* cycles taken in that round by the scalar side */
	uint32_t ecyc[3]; /* by the engines */
	uint32_t wdata, winfo;
	uint32_t ready, blocked; /* tasks */
	uint32_t bound;		 /* colors with a binding of either kind */
	uint32_t claimed;	 /* colors that running engines read */
	uint32_t recv_any;	 /* colors with a wavelet in recv */
	uint32_t f32_most;	 /* values of a copy by rows */
	/* counters of a core's scope; wavelets that left by the links north to west */
	uint64_t cnt[WSE_CNT_COUNT], link[4];
	struct twin_f32_copy f32_copy[2]; /* by rows, by columns */
	/* tensor unit */
	uint32_t acc[WSE_NACC] __attribute__((aligned(64)));
	struct twin_engine eng[3];
	uint32_t dsr[WSE_NDSR][4];
	struct twin_lane lane[WSE_NDSR + 1]; /* the last one: no operand */
	struct {
		uint32_t data[WSE_DOTQ_DEPTH];
		uint8_t end; /* bit i: entry i is an END mark */
		uint8_t head, count;
	} dotq;
	/* tasks */
	uint32_t entry[WSE_NTASKS];
	uint8_t bind[2][WSE_NCOLORS]; /* [control][color] -> task, 0xff: none */
	/* fabric */
	uint32_t kick;	   /* colors on the work list */
	uint32_t crosses_part;	   /* colors whose routes send to a core of another part */
	uint32_t later;	   /* colors on the list of what waits for the other parts */
	uint8_t rx[WSE_NCOLORS], tx[WSE_NCOLORS];
	struct twin_chan in[5][WSE_NCOLORS];
	struct twin_chan recv[WSE_NCOLORS];
	uint8_t code[TWIN_NPAGES + 1]; /* TWIN_PAGE_*; the last one is no page, and 0 */
	uint32_t start_entry, done_value;
	uint32_t mstatus, mtvec, mepc, mcause, mtval, mscratch;
	uint64_t mcycle_off;	 /* mcycle = device cycle + cycles in this round + this */
	uint64_t traps;
	uint32_t last_cause;	 /* of the latest trap */
	uint32_t fault_cause, fault_pc, fault_addr, fault_color, fault_value;
	/* debugging */
	void *trace_arg;
	struct twin_pick *picks;
	uint32_t npicks, pick_at;
	uint8_t pad[64];
};

/* else what cores have at the same place would share a few sets of the cache */
_Static_assert(sizeof(struct twin_core) / 64 % 2, "add or remove pad: an odd number of cache lines");

/* ---- host side ---- */

/* host memory of a command */
struct wse_buf {
	uint64_t base;
	bool direct;
	uint8_t shift;
	uint64_t tag[64], page[64]; /* cache of list entries; tag = index + 1 */
};

enum twin_qstate { Q_EMPTY, Q_WAIT, Q_RUN, Q_FENCE, Q_DONE };
enum twin_exec { X_COPY, X_IN, X_OUT, X_START, X_COUNT };

struct twin_queue {
	bool exists, phase;
	uint64_t sq, cq;
	uint32_t sq_max, cq_max; /* entries - 1 */
	uint32_t sq_head, sq_tail, cq_head, cq_tail;
	bool kept; /* kept_tail came with MORE: it counts with the last doorbell of its batch */
	uint32_t kept_tail;
	uint32_t vector, completed;
	uint8_t state; /* enum twin_qstate */
	uint8_t exec;  /* enum twin_exec */
	struct wse_sqe sqe;
	uint16_t res, fault;
	uint32_t t_start, t_end;
};

struct twin_job { /* what an executor works on */
	bool active;
	uint8_t queue;
	struct wse_sqe sqe;
	uint64_t deadline, began;
	bool look; /* the budget is used up: the next round decides */
	struct wse_buf buf, mask;
	bool failed; /* streams: DMA error at bus address bad */
	uint64_t bad;
	/* copy */
	uint32_t row, col, line;
};

struct twin_result { /* how a job ended */
	uint16_t status;
	struct wse_fault f; /* without status, queue, cid, cycle, seq */
};

struct twin_port_in {	    /* stream-in of a column */
	bool busy, fresh;   /* fresh: before its first block */
	uint8_t color, age; /* age: rounds that it has waited */
	uint32_t block;
	uint32_t *w; /* wavelets of the block; behind them room for values and masks */
	size_t room; /* bytes there, which stay for the next command */
	uint32_t n, pos;
	bool end_due;  /* the block's END comes after the wavelets */
	uint8_t dense; /* features per k when all elements come in order, else 0 */
	bool words;    /* dense: the wavelets have been made; until then there are values alone */
	float *v;      /* dense: [k][f] */
	struct twin_range range; /* of its values */
};

struct twin_port_out { /* stream-out of a column */
	bool busy, fresh;
	uint8_t color, etype;
	uint32_t block;
	uint8_t *data;	 /* [nfeat][kcol] elements */
	uint8_t *sel;	 /* [nfeat][(kcol + 7) / 8] mask */
	uint32_t *order; /* selected elements: f * kcol + k */
	uint32_t n, pos;
	uint8_t dense; /* features when all elements are selected, else 0 */
	struct twin_chan q[WSE_NCOLORS]; /* south edge port */
};

/*
 * A part of the mesh: what its cores write in a round beside themselves. Of a small tile there is one.
 * Functions that get a part and a core get the core's part.
 */
struct twin_mesh {
	struct wse_model *dev;
	struct twin_core *core; /* of the whole tile */
	struct twin_port_out *out;
	uint32_t rows, cols;   /* of the whole tile */
	uint32_t first, ncores; /* the part's cores */
	uint32_t index;
	struct twin_translator *translator; /* NULL: there is none */
	const uint8_t *code; /* of translated blocks; the way into them is its beginning */
	struct twin_races *races;
	bool avx2;    /* the processor has it: vector operations in place */
	bool avx512;  /* and quick.c's two groups at a time */
	bool quick;   /* quick.c may run: avx2, no race check and no shuffle */
	struct twin_ways ways; /* what went them; generated: of the translator */
	const struct twin_fast *fast; /* as the model's */
	const uint64_t *generated; /* jit/'s counter of that way; NULL: there is none */
	bool moved;   /* something moved in the current round */
	bool ended;   /* a core has executed DONE or stopped since the start was looked at */
	uint32_t round; /* cycles of the current round */
	uint32_t routes;  /* counts writes to routes: a kept flow with the same count needs no look at its routers */
	uint32_t inside;  /* wavelets in the input queues of routers */
	/* run list and fabric work list */
	uint32_t *run[2];
	uint32_t nrun;
	unsigned int cur;
	uint32_t *resume_list; /* cores that resume after the current run */
	uint32_t nresume;
	bool may_resume; /* they may resume in the same round */
	uint32_t *work; /* core << 5 | color */
	uint32_t nwork;
	uint32_t *later; /* the same: what waits for the other parts */
	uint32_t nlater;
	uint32_t limit;	   /* instructions of a core in this round */
	uint32_t equantum; /* elements of an engine in this round */
	uint64_t shuffle;  /* state of WSE_MODEL_SHUFFLE's random numbers; 0: off */
	uint32_t *source;  /* core << 2 | engine: movers from memory to the fabric */
	uint32_t nsources;
	uint32_t ncrossing; /* of them, whose runs leave the part */
	struct twin_checked *checked_cache;  /* fast/prepared.c */
	struct twin_quick *quicks; /* quick.c */
} __attribute__((aligned(64)));

struct wse_model {
	struct wse_model_cfg cfg;
	struct wse_host_ops ops;
	void *host;
	const struct twin_fast *fast; /* NULL: the exact machine alone */
	struct twin_kernels *k; /* fast/'s, of this processor */
	uint32_t rows, cols, ncores;
	struct twin_core *core;
	uint8_t *sram;
	struct twin_dec *dec;
	size_t dec_bytes;
	uint32_t *block;
	struct twin_mesh *mesh; /* [nmesh] */
	uint32_t nmesh;
	/* registers */
	uint32_t ctrl_en, intr_mask, irq_pending;
	uint32_t reg[0x60 / 4];
	uint32_t latch[2 + WSE_CNT_COUNT]; /* CYCLES, CNT_VAL, totals */
	uint32_t fault_tail, fault_head, fault_lost;
	bool halted, brk;
	struct twin_queue q[TWIN_NQ];
	struct twin_job job[X_COUNT];
	struct twin_port_in *in;
	struct twin_port_out *out;
	struct {
		uint8_t queue;
		uint32_t value;
	} doorbell[8];
	unsigned int ndoorbells;
	/* time */
	uint64_t now;
	uint64_t uncounted_cycles;	/* cycles of work already done that `now` does not include yet */
	uint32_t round; /* cycles of the current round, */
	uint32_t spent; /* and of what went before that in it */
	bool moved;	/* something moved in the current round */
	bool quiet;	/* nothing can move before the host does something */
	uint64_t cnt[WSE_CNT_COUNT]; /* of the tile's scope; the others' are where they happen */
	uint64_t cmds[TWIN_NQ];	     /* commands completed */
	uint32_t cnt_sel;
	void *bulk; /* scratch of twin_runs */
	struct twin_team *team;
	uint32_t most, threads; /* that work in this advance, in this round */
	uint32_t cpus;
	struct twin_pace pace;
	uint32_t traced;	/* cores with a trace_retire */
	struct twin_races *races;
};

#define OPND_DST 0
#define OPND_SRC1 1
#define OPND_SRC2 2

/* exec.c, decode.c: the scalar side */
void twin_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);
void twin_decode(struct twin_dec *d, uint32_t insn);
void twin_code_changed(struct twin_core *c, uint32_t off, uint32_t len);

/* exec.c: TASK; false: illegal */
bool twin_task_op(struct twin_mesh *m, struct twin_core *c, uint32_t op, uint32_t a, uint32_t b);

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
void wse_core_run(struct twin_mesh *m, struct twin_core *c, uint32_t limit);
/* another turn in the same round, with what is left of the core's share */
void twin_core_go_on(struct twin_mesh *m, struct twin_core *c);
void twin_core_fault(struct twin_mesh *m, struct twin_core *c, uint32_t cause, uint32_t pc,
		    uint32_t addr, uint32_t color, uint32_t value);
void twin_core_find_waiter(const struct twin_core *c, uint32_t *cause, uint32_t *color);
bool twin_task_next(struct twin_mesh *m, struct twin_core *c, uint32_t *entry, uint8_t *task);

static inline void twin_wake(struct twin_mesh *m, struct twin_core *c)
{
	if (!c->queued && c->run == WSE_CORE_RUNNING) {
		c->queued = true;
		m->run[m->cur ^ 1][m->nrun++] = c->idx;
	}
}

/* L's operations that read a fabric color */
static inline bool twin_is_stream(uint32_t op)
{
	return op >= WSE_TOP_AXPY && op <= WSE_TOP_DOTX;
}

/* engine.c */
bool twin_issue(struct twin_mesh *m, struct twin_core *c, uint32_t tcw, uint32_t scalar);
void twin_engines_run(struct twin_mesh *m, struct twin_core *c);
/* those behind the first move up, n of them */
void twin_engine_next(struct twin_engine *e);

static inline void twin_engine_complete(struct twin_mesh *m, struct twin_core *c, struct twin_engine *e)
{
	uint32_t tcw = e->q[0].tcw, task = tcw >> WSE_TCW_TASK_SHIFT;

	if (e->claim >= 0)
		c->claimed &= ~(1u << e->claim);
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
/* operand.c: TWIN_RULE_* that a DSR's words keep, with the whole range in its store; *o: the operand */
unsigned int twin_operand_rule(const uint32_t dsr[4], struct twin_opnd *o);
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
void twin_fabric_settle(struct wse_model *m);
/* at most that many wavelets of a color by its route; true: that many have moved */
bool twin_fabric_move(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t most);
void twin_fabric_clear(struct wse_model *m);
struct twin_core *twin_neighbour(struct twin_mesh *m, const struct twin_core *c, unsigned int port);

/* L has wavelets again: what lies between its last work and now was waiting; cycles: what the new
 * work takes */
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
	chan_push(&c->in[WSE_PORT_R][color], data, ctrl);
	m->inside++;
	m->moved = true;
	twin_kick(m, c, color);
}

/* shuffle.c: other orders of events, when m->shuffle is not 0 */
uint32_t twin_shuffle_below(struct twin_mesh *m, uint32_t n);
void twin_shuffle_list(struct twin_mesh *m, uint32_t *list, uint32_t n);
void twin_shuffle_turn(struct twin_mesh *m, struct twin_core *c);
void twin_shuffle_drain(struct twin_mesh *m, bool crosses_part);

/* mesh.c: parts */
int twin_mesh_create(struct wse_model *m);
void twin_mesh_destroy(struct wse_model *m);
void twin_mesh_begin(struct wse_model *m);
/* the thread of n that runs a part */
static inline uint32_t twin_mesh_thread(const struct wse_model *m, uint32_t part, uint32_t n)
{
	return part * n / m->nmesh;
}
/* what the parts have done in the round; true: something is left to do */
bool twin_mesh_gather(struct wse_model *m);

/* dma.c: 0, or an errno with *bad the bus address */
int twin_dma_read(struct wse_model *m, uint64_t iova, void *buf, size_t len);
int twin_dma_write(struct wse_model *m, uint64_t iova, const void *buf, size_t len);
void twin_buf_open(struct wse_buf *b, uint64_t base, bool direct, uint8_t shift);
/* where len bytes are, as model.h's dma_at; NULL: twin_buf_read() decides */
const void *twin_buf_at(struct wse_model *m, struct wse_buf *b, uint64_t off, size_t len);
int twin_buf_read(struct wse_model *m, struct wse_buf *b, uint64_t off, void *dst, size_t len,
		 uint64_t *bad);
int twin_buf_write(struct wse_model *m, struct wse_buf *b, uint64_t off, const void *src, size_t len,
		  uint64_t *bad);

/* check.c: status of an entry; *off: byte offset of the bad member */
uint16_t twin_check_sqe(const struct wse_model *m, const struct wse_sqe *s, bool admin,
		       uint32_t *off);

/* queue.c */
bool twin_queues_run(struct wse_model *m);
void twin_queues_reset(struct wse_model *m);
void twin_doorbell(struct wse_model *m, unsigned int index, uint32_t value);
void twin_raise(struct wse_model *m, unsigned int vector);
bool twin_queues_busy(const struct wse_model *m);

/* copy.c, stream.c, start.c: executors. begin may end at once; run: true when something moved; both
 * set *done */
void twin_copy_begin(struct wse_model *m, struct twin_job *j);
bool twin_copy_run(struct wse_model *m, struct twin_job *j, struct twin_result *r, bool *done);
void twin_in_begin(struct wse_model *m, struct twin_job *j);
bool twin_in_run(struct wse_model *m, struct twin_job *j, struct twin_result *r, bool *done);
bool twin_in_inject(struct wse_model *m, unsigned int col);
const uint32_t *twin_in_words(struct twin_port_in *p);
void twin_out_begin(struct wse_model *m, struct twin_job *j);
bool twin_out_run(struct wse_model *m, struct twin_job *j, struct twin_result *r, bool *done);
void twin_out_take(struct wse_model *m, unsigned int col, const uint32_t *w, uint32_t n);
void twin_stream_find_waiter(struct wse_model *m, unsigned int exec, struct twin_result *r);
void twin_ports_reset(struct wse_model *m, unsigned int exec);
bool twin_start_begin(struct wse_model *m, struct twin_job *j, struct twin_result *r);
bool twin_start_poll(struct wse_model *m, struct twin_job *j, struct twin_result *r);
void twin_start_find_waiter(struct wse_model *m, struct twin_job *j, struct twin_result *r);
void twin_scrub(struct wse_model *m, const struct wse_sqe *s);

/* mmio.c */
uint32_t twin_mmio_read(struct wse_model *m, uint32_t offset);
void twin_mmio_write(struct wse_model *m, uint32_t offset, uint32_t value);
void twin_reset(struct wse_model *m);

/* peek.c: the debugger's side of hw/model/model.h, and tracing */
int twin_peek(struct wse_model *m, uint32_t core, uint32_t addr, void *buf, size_t len);
int twin_poke(struct wse_model *m, uint32_t core, uint32_t addr, const void *buf, size_t len);
int twin_get_acc(struct wse_model *m, uint32_t core, uint32_t acc[128]);
int twin_get_state(struct wse_model *m, uint32_t core, struct wse_core_state *st);
int twin_set_state(struct wse_model *m, uint32_t core, const struct wse_core_state *st);
int twin_trace_retire(struct wse_model *m, uint32_t core, wse_retire_fn fn, void *arg);
int twin_replay_pick(struct wse_model *m, uint32_t core, uint8_t task, uint32_t winfo);
void twin_trace_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);

/* races.c: only with m->races */
int twin_races_create(struct wse_model *m);
void twin_races_issue(struct twin_mesh *m, struct twin_core *c, unsigned int which,
		     const struct twin_tins *t);
void twin_races_claim(struct twin_mesh *m, struct twin_core *c, unsigned int color);
void twin_races_route(struct twin_mesh *m, struct twin_core *c, unsigned int color, uint32_t rx,
		     uint32_t tx);
void twin_races_reset(struct twin_mesh *m, const struct twin_core *c);
void twin_races_exec(struct twin_mesh *m, struct twin_core *c, uint32_t limit);

/* copy.c */
void twin_dma_result(struct twin_result *r, uint64_t bad);

#endif /* TWIN_H */
