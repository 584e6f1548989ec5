/* SPDX-License-Identifier: MIT */
/*
 * Lockstep: the same random program on two models. The leader (rtl) runs first, and the rig records
 * its retired instructions; the follower (func) then runs with the leader's task picks, and the
 * judge compares every instruction as it retires, and the final state at the end of each program.
 */
#ifndef WSE_LOCKSTEP_H
#define WSE_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "wave.h"
#include "wse_regs.h"

/* --- random numbers: every program has a seed of its own --- */

struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 ... n - 1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

/* lo ... hi */
static inline uint32_t rng_range(struct rng *r, uint32_t lo, uint32_t hi)
{
	return lo + rng_below(r, hi - lo + 1);
}

static inline bool rng_chance(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

/* --- programs --- */

#define LS_MAX_CORES 256u /* of a tile */
#define LS_MAX_CMDS  64u
#define LS_QUEUES    4u	       /* the admin queue and three more */
#define LS_MEM	     0x200000u /* bytes of host memory of a program, at LS_IOVA */
#define LS_IOVA	     0x740000000ull
#define LS_MEM_RINGS 0u	      /* offsets in it: rings and fault records */
#define LS_MEM_DATA  0x40000u /* what the program uses */

struct ls_cmd {
	uint8_t queue;
	struct wse_sqe sqe;
};

/* Kinds of resets that can come while commands execute. */
enum ls_reset { LS_CTX_RESET, LS_RST, LS_FLR, LS_RESETS };

#define LS_OPEN 8u
#define LS_ENDS 6u

struct ls_range {
	uint32_t from, to;
};

/*
 * Another program that runs first and is cut off: the judge compares nothing of it, and the next
 * program must find nothing of it.
 */
struct ls_before {
	const struct ls_program *prog; /* NULL: none */
	uint32_t delay;		       /* cycles until the end begins */
	struct ls_cmd end[LS_ENDS];    /* what comes then, of any queue; after each of them */
	uint32_t gap[LS_ENDS];	       /* so many cycles */
	unsigned int nends;
	enum ls_reset reset; /* the last thing */
};

struct ls_program {
	uint64_t seed;
	const char *kind;
	uint32_t rows, cols, group;	  /* of the tile: columns of a bus; 0: all */
	uint8_t (*image)[WSE_SRAM_BYTES]; /* [rows * cols] */
	uint8_t *mem;			  /* [LS_MEM] host memory before the program */
	struct ls_cmd cmd[LS_MAX_CMDS];
	unsigned int ncmds;
	struct ls_range open[LS_OPEN]; /* ranges of mem whose final contents are undefined */
	unsigned int nopen;
	bool faults;		  /* cores fault: the progress of others is then undefined */
	struct ls_program *spare; /* room for a program that runs before */
	struct ls_before before;
};

/* No commands, no code, nothing in memory. */
static inline void ls_blank(struct ls_program *p)
{
	memset(p->image, 0, (size_t)p->rows * p->cols * sizeof(*p->image));
	memset(p->mem, 0, LS_MEM);
	memset(p->cmd, 0, sizeof(p->cmd));
	p->ncmds = p->nopen = 0;
	p->faults = false;
	p->before = (struct ls_before){0};
}

static inline void ls_open(struct ls_program *p, uint32_t from, uint32_t to)
{
	p->open[p->nopen++] = (struct ls_range){from, to};
}

/* Random programs; p has rows, cols, image and mem set, images and memory zeroed. */
void ls_gen_scalar(struct ls_program *p, struct rng *r, uint32_t insns);
void ls_gen_tensor(struct ls_program *p, struct rng *r);
void ls_gen_stream(struct ls_program *p, struct rng *r);
void ls_gen_fabric(struct ls_program *p, struct rng *r);
void ls_gen_fault(struct ls_program *p, struct rng *r);
void ls_gen_host(struct ls_program *p, struct rng *r);
void ls_gen_broken(struct ls_program *p, struct rng *r);
void ls_gen_mixed(struct ls_program *p, struct rng *r);
void ls_gen_cut(struct ls_program *p, struct rng *r); /* p->spare is there, too */
/* counts of all programs so far: ISSUEs by operation, DSRs by kind and element type */
extern uint64_t ls_issued[128], ls_operand[8][3];

/* --- a model with a host --- */

struct ls_done { /* a completion and its fault record, less time */
	uint16_t cid, status, sqhd;
	bool has_fault;
	struct wse_fault fault;
};

struct ls_queue {
	uint32_t tail, head, phase;
	struct ls_done done[LS_MAX_CMDS + 16];
	unsigned int ndone, nsent;
};

struct ls_rig {
	const struct wse_machine_ops *ops;
	struct wse_machine *machine;
	uint32_t rows, cols;
	uint8_t *mem; /* [LS_MEM] */
	struct ls_queue q[LS_QUEUES];
	const char *broken;	    /* how the device itself misbehaved */
	uint64_t ended[256];	    /* commands by opcode between two programs */
	uint64_t cut[256];	    /* ... while a stream was under way */
	uint64_t resets[LS_RESETS]; /* while a stream was under way */
	uint64_t stops;		    /* of the host between two doorbells of a batch */
};

int ls_rig_create(struct ls_rig *rig, const char *model, const struct wse_machine_cfg *cfg);
void ls_rig_destroy(struct ls_rig *rig);
/* Loads the program's images and memory, after running the program before it; nothing runs yet. */
int ls_rig_load(struct ls_rig *rig, const struct ls_program *p);
/* Runs all commands; advances until all have completed and nothing moves, at most max_cycles. */
int ls_rig_run(struct ls_rig *rig, const struct ls_program *p, uint64_t max_cycles);

/* --- coverage --- */

struct ls_cover {
	uint64_t retired[2048], trap[16], status[16], cause[64], command[256], boot;
	uint32_t sample[2048]; /* an instruction of each place */
	uint64_t stream[2][3][6], operand[2][9];
	uint64_t dma[256][6]; /* errors by opcode and missing part */
};

void ls_cover_retire(struct ls_cover *v, const struct wse_retire *r);
void ls_cover_done(struct ls_cover *v, const struct wse_sqe *s, const struct ls_done *d);
/* page: as tables for hw/doc, else as comments of TAP; both end with the rows not hit */
void ls_cover_print(const struct ls_cover *v, const struct ls_rig *lead, FILE *out, bool page);

/* --- the judge --- */

struct ls_trace { /* of one core */
	struct wse_retire *rec;
	size_t count, room, next; /* next: of the follower */
};

/* Events of a model while it runs a program, but those that are of time alone. */
struct ls_events {
	struct ls_event {
		struct wse_ev e;
		uint32_t track; /* events of a track have an order, of two tracks none */
		uint32_t seq;
	} * list;
	size_t count, room;
	bool lost;	 /* no memory */
	uint64_t inject; /* not 0: falsify that event (a test of the judge) */
};

struct ls_judge {
	struct ls_rig lead, follow;
	struct ls_trace *trace; /* [cores] */
	const struct ls_program *prog;
	bool differ;
	char what[512]; /* the first difference */
	/* it is in this record (0 ...) of this core; else in what is left at the end */
	bool placed;
	uint32_t core;
	size_t index;
	uint64_t retired, traps, picks; /* compared so far */
	bool ends;			/* compare final states alone: the follower runs untraced */
	bool events;			/* compare events, too: the follower is exact */
	struct ls_events seen[2];
	uint64_t told[WSE_EV_KINDS]; /* events compared so far */
	uint64_t inject; /* not 0: falsify that instruction of the follower (a test of the judge) */
	struct ls_cover cover;
};

int ls_judge_create(struct ls_judge *j, const char *lead, const char *follow,
		    const struct wse_machine_cfg *cfg);
void ls_judge_destroy(struct ls_judge *j);
/* Fresh models after a difference; the counts stay. */
int ls_judge_renew(struct ls_judge *j, const char *lead, const char *follow,
		   const struct wse_machine_cfg *cfg);
/* 0: alike; 1: they differ, see what; negative: a model failed. */
int ls_judge_run(struct ls_judge *j, const struct ls_program *p, uint64_t max_cycles);

/* --- events --- */

/* Collects a model's events from now on. */
int ls_events_begin(struct ls_rig *rig, struct ls_events *v);
void ls_events_end(struct ls_rig *rig);
/*
 * Are they alike but for time? told counts them; else what names the first difference. Of a program
 * with faults the events of a track on one model may be the first of those on the other.
 */
bool ls_events_alike(struct ls_events *lead, struct ls_events *follow, bool faults, uint64_t *told,
		     char *what, size_t size);

/* --- waves of the RTL around the difference that the judge has found --- */

/* Before a campaign: can there be any? Else why not. */
int ls_wave_check(const struct wse_machine_cfg *cfg, const struct wse_wave_window *wave, char *why,
		  size_t size);
/* Runs the judge's program again, of a window that was not named twice; said: where they are. */
int ls_wave_difference(const struct ls_judge *j, const struct wse_machine_cfg *cfg,
		       const struct wse_wave_window *wave, uint64_t max_cycles, char *said,
		       size_t size);

/* A tensor operation as "MIDX", or "?". */
const char *ls_operation(uint32_t op);
/* A word as "add x1, x2, x3" or ".word": enough to recognise it. */
void ls_disassemble(uint32_t insn, char *text, size_t size);

#endif /* WSE_LOCKSTEP_H */
