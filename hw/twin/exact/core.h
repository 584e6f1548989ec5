/* SPDX-License-Identifier: MIT */
/*
 * A core: its channels, engines and registers. What fast/ and jit/ keep in it (fast.h) lies beside
 * what is used with it.
 */
#ifndef TWIN_EXACT_CORE_H
#define TWIN_EXACT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "twin/exact/fast.h"
#include "wse_regs.h"

#define TWIN_QUANTUM 1024u   /* scalar instructions of a core in a round */
#define TWIN_EQUANTUM 16384u /* elements of an engine in a round */
#define TWIN_NWORDS (WSE_SRAM_BYTES / 4)
#define TWIN_CODE_PAGE 8 /* log2 of the bytes that one flag of twin_core.code covers */
#define TWIN_NPAGES (WSE_SRAM_BYTES >> TWIN_CODE_PAGE)
/* to an odd number of cache lines a core, whose flags of pages fill one for each 16 KiB of SRAM */
#define TWIN_CORE_PAD (WSE_SRAM_BYTES >> 14 & 1 ? 128 : 64)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define OPND_DST 0
#define OPND_SRC1 1
#define OPND_SRC2 2

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

/*
 * first what a block needs: few cache lines, as the engines of all cores do not fit the first cache
 */
struct twin_engine {
	uint64_t busy_to; /* L: device cycle up to which it has had something to do */
	uint8_t n;	  /* instructions, the running one included */
	bool started;	  /* q[0] has been checked and runs */
	/* q[0] passed the operand checks; the members below stay valid after it completes */
	bool checked;
	/* a batched mover, but now element by element, as much as the channel holds */
	bool step_singly;
	uint16_t age;	  /* rounds that it has waited */
	bool crosses_part;	  /* its run leaves the part: found in this round */
	/* from here to rows: what the operand checks derive from an instruction */
	/* only the END wavelet of SEND_END is left to send */
	bool end_left __attribute__((aligned(16)));
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
	WAIT_TRAPS, /* the instruction at mtvec traps: nothing retires before it changes */
};

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
	bool stale;	  /* jit/: words that were translated were written */
	bool replay;
	uint8_t last_pick; /* task that TNEXT took last */
	struct twin_mesh *mesh; /* its part */
	struct twin_dec *dec; /* [NWORDS + 1] */
	struct twin_text *text; /* jit/: what was translated of its words; NULL: nothing yet */
	uint32_t text_end;	/* so much of that agrees with its words */
	uint8_t *sram;
	uint32_t idx;	       /* row * cols + col */
	uint16_t col, row;     /* CSR_ID as a word */
	uint16_t band;	       /* of its part */
	uint32_t *takes;       /* its word of wse_machine.takes */
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
	uint32_t opnd_copy_most; /* fast/: values of a copy by rows */
	/* counters of a core's scope; wavelets that left by the links north to west */
	uint64_t cnt[WSE_CNT_COUNT], link[4];
	struct twin_opnd_copy opnd_copy[2]; /* fast/: by rows, by columns */
	/* tensor unit */
	uint32_t acc[WSE_NACC] __attribute__((aligned(64)));
	struct twin_engine eng[3];
	uint32_t dsr[WSE_NDSR][4];
	struct {
		uint32_t data[WSE_DOTQ_DEPTH];
		uint16_t end; /* bit i: entry i is an END mark */
		uint8_t head, count;
	} dotq;
	/* tasks */
	uint32_t entry[WSE_NTASKS];
	uint8_t bind[2][WSE_NCOLORS]; /* [control][color] -> task, 0xff: none */
	/* fabric */
	uint32_t kick;	   /* colors on the work list */
	uint32_t crosses_part; /* colors whose routes send to a core of another part */
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
	uint8_t pad[TWIN_CORE_PAD];
};

/* an even number would put the same members of all cores into a few sets of the cache */
_Static_assert(sizeof(struct twin_core) / 64 % 2,
	       "change TWIN_CORE_PAD: an odd number of cache lines");

#endif /* TWIN_EXACT_CORE_H */
