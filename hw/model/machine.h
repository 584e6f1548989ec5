/* SPDX-License-Identifier: MIT */
/*
 * A model of a wafer: the one interface between a wafer and whatever it is plugged into (wse-emu,
 * libwse's in-process transport, wse-run, the lockstep judge). Two models, `func` (the twin) and
 * `rtl` (Verilator), behave alike in all that hw/doc calls equal. A machine, struct wse_machine, is
 * one wafer that a model has made.
 *
 * Reference: hw/doc/model.md, which selftests/interfaces holds against this file.
 *
 * Threads: a model has no threads and no locks that a caller sees (cfg.threads). Calls for one
 * model must not overlap; different models are independent. Callbacks run on the calling thread,
 * inside advance, step, mmio_read, mmio_write, reset and boot, and may call nothing of the model
 * but brk and cycles.
 *
 * Errors are negative errno values. Nothing prints, exits or aborts; a program on the cores can
 * never make a call here fail: it makes fault records.
 */
#ifndef WSE_MACHINE_H
#define WSE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#define WSE_MACHINE_API 2	/* raised when this file changes incompatibly */

struct wse_machine;

/* What the model needs of its host. All required but dma_at. */
struct wse_host_ops {
	/*
	 * Bus-master access of len bytes at iova: 0, or a negative errno (DMA_ERROR, HALTED for a
	 * ring); -EAGAIN, for streams: no answer yet, the device asks again (hw/doc/model.md).
	 */
	int (*dma_read)(void *host, uint64_t iova, void *buf, size_t len);
	int (*dma_write)(void *host, uint64_t iova, const void *buf, size_t len);
	/* MSI-X request, edge. INTR_MASK has been applied. */
	void (*irq)(void *host, unsigned int vector);
	/*
	 * Optional, asked by func alone: where the len bytes at iova are, which stay there until
	 * the call into the model returns, to be read without a copy. NULL: dma_read decides, also
	 * for what may not be read.
	 */
	const void *(*dma_at)(void *host, uint64_t iova, size_t len);
};

struct wse_machine_cfg {
	uint32_t rows, cols;		/* rtl: with `group` a tile that was built, else -ENOTSUP */
	/* cycles from a bus request to its first data; 0: default (64) */
	uint32_t dma_latency;
	/* columns that share a bus (FEATURES.GROUP), a divisor of cols; 0: one bus for all */
	uint32_t group;
	/* rtl: not 0: random back-pressure and DMA latency, for tests; func: of SHUFFLE */
	uint64_t seed;
	uint32_t flags;			/* WSE_MACHINE_* */
	/* host threads the model may use; 0: the model's choice, 1: the caller's alone */
	uint32_t threads;
};

/*
 * The groups that a tile has if its user says nothing: one bus does not feed many columns
 * (hw/doc/arithmetic.md).
 */
static inline uint32_t wse_machine_group(uint32_t cols)
{
	return cols >= 16 && cols % 4 == 0 ? 4 : 0;
}

#define WSE_MACHINE_CHECK_RACES	(1u << 0)	/* func: report programs that are not confluent */
#define WSE_MACHINE_SHUFFLE	(1u << 2)	/* func: another order of events for each seed */
/* func: none of its fast ways, one thread; the same bits, slowly */
#define WSE_MACHINE_EXACT		(1u << 3)
/* rtl: the build with host floating point; -ENOTSUP if there is none */
#define WSE_MACHINE_HOSTFP	(1u << 1)
/* rtl: the build whose signals can be recorded (wave_begin); -ENOTSUP if there is none */
#define WSE_MACHINE_WAVES		(1u << 4)

/* A window of waves: what the signals are in the cycles from ... to - 1. */
struct wse_wave {
	const char *path;		/* of an FST file, which is made anew; and of FILE.gtkw */
	uint64_t from, to;		/* cycles since wave_begin */
	uint32_t core;			/* row * cols + col, and its router; ~0u: the whole tile */
};

/* Why wse_machine_advance() returned. */
enum wse_stop {
	WSE_STOP_CYCLES,	/* max_cycles have been run */
	/* nothing executes and nothing can happen until the next mmio_write */
	WSE_STOP_IDLE,
	WSE_STOP_HALTED,	/* STATUS.HALTED: only a reset helps */
	WSE_STOP_BREAK,		/* a callback asked for it (brk) */
};

enum wse_core_run {		/* run state of a core */
	WSE_CORE_HELD, WSE_CORE_RUNNING, WSE_CORE_FAULTED,
};

/* Scalar state of a core, for debuggers and lockstep. */
struct wse_core_state {
	uint32_t x[32];
	uint32_t pc;
	uint32_t mstatus, mtvec, mepc, mcause, mtval, mscratch;
	uint64_t minstret, mcycle;
	uint32_t run;			/* enum wse_core_run */
	uint32_t fault_cause;		/* CAUSE_* when faulted */
	uint32_t fault_addr;
	uint32_t wdata, winfo;
};

/* One retired scalar instruction. */
struct wse_retire {
	uint32_t core;			/* row * cols + col */
	uint32_t pc, insn;
	uint32_t rd, rd_value;		/* rd = 0: none written */
	uint32_t mem_addr, mem_data;	/* store: address and data; mem_size = 0: no store */
	uint8_t mem_size;
	/* the instruction trapped instead (not retired): cause in rd_value */
	uint8_t trap;
	/* it was TNEXT: pick_task, wdata, winfo say what was taken */
	uint8_t pick;
	uint8_t pick_task;		/* 0 ... 31, or 255 for a start */
	uint32_t wdata, winfo;		/* of TNEXT and RECV */
	uint32_t next_pc;		/* of the instruction that follows */
};

/* A tensor instruction as ISSUE captured it. */
struct wse_tensor_ins {
	uint32_t tcw, scalar;
	uint32_t dst[4], src1[4], src2[4];	/* words of their DSRs */
};

/*
 * What a core has beside its scalar state, and its router, for debuggers. Ports: 0 north, east,
 * south, west, ramp.
 */
struct wse_core_units {
	uint32_t dsr[16][4];
	struct wse_tensor_ins running[3];	/* L, M0, M1; of an engine with the bit `busy` */
	/* mask of engines; instructions that wait for one, the running one not counted */
	uint8_t busy, waiting[3];
	uint8_t dotq;				/* entries of the DOT queue */
	/* a start is pending; DONE was executed since the last one */
	uint8_t start, done, reserved;
	uint32_t entry[32], ready, blocked;	/* tasks */
	uint8_t bind[2][24];			/* [control][color]: task, 0xff: none */
	/* route of a color: port, 7: none; ports as a mask */
	uint8_t rx[24], tx[24];
	/* wavelets in the router's input queues, in the core's receive queues */
	uint8_t queue[5][24], recv[24];
	/* WSE_CAUSE_WAIT_*, 0: it does not wait; ~0: no color */
	uint32_t wait_cause, wait_color;
};

typedef void (*wse_retire_fn)(void *arg, const struct wse_retire *r);

/* What happens inside a wafer; hw/doc/events.md says what each kind's members are. */
enum wse_ev_kind {
	WSE_EV_TASK,	    /* TNEXT takes a task */
	WSE_EV_TASK_END,    /* a core comes to TNEXT */
	WSE_EV_ENGINE,	    /* an engine takes an instruction */
	WSE_EV_ENGINE_END,  /* it has completed it */
	WSE_EV_IN,	    /* a core takes a wavelet from a receive queue */
	WSE_EV_OUT,	    /* a core sends a wavelet to its router */
	WSE_EV_HOP,	    /* a router forwards a wavelet */
	WSE_EV_FAULT,	    /* a core faults */
	WSE_EV_STALL,	    /* what a core waits for is another thing than before */
	WSE_EV_COMMAND,	    /* the device has taken a command from a ring */
	WSE_EV_COMMAND_END, /* a command has its status */
	WSE_EV_KINDS
};

#define WSE_EV_UNIT_SCALAR 3 /* beside the engines L, M0, M1 */
#define WSE_EV_NO_COLOR	   0xff

struct wse_ev {
	uint64_t cycle;	  /* since create; on func that of the round */
	uint32_t core;	  /* row * cols + col; of a command: its queue */
	uint8_t kind;	  /* enum wse_ev_kind */
	uint8_t unit;	  /* enum ENGINE, or WSE_EV_UNIT_SCALAR */
	uint8_t color;	  /* or WSE_EV_NO_COLOR */
	uint8_t ctrl;	  /* 1: a control wavelet */
	uint8_t task;	  /* 0 ... 31, or 255 for a start */
	uint8_t from, to; /* ports as in struct wse_core_units: one, and a mask */
	uint8_t reserved; /* 0 */
	uint32_t pc;
	uint32_t data, info;
};

typedef void (*wse_ev_fn)(void *arg, const struct wse_ev *e);

struct wse_machine_ops {
	uint32_t api;			/* WSE_MACHINE_API */
	const char *name;		/* "func", "rtl" */

	int (*create)(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
		      struct wse_machine **m);
	void (*destroy)(struct wse_machine *m);

	/*
	 * BAR0, 32-bit, never waits for the wafer to reach some state. offset is a multiple of 4.
	 */
	uint32_t (*mmio_read)(struct wse_machine *m, uint32_t offset);
	void (*mmio_write)(struct wse_machine *m, uint32_t offset, uint32_t value);

	/*
	 * Runs at most max_cycles device cycles and says why it stopped; *ran (may be NULL) gets
	 * the cycles. Returns early when idle, so that the caller can sleep until the next
	 * mmio_write.
	 */
	enum wse_stop (*advance)(struct wse_machine *m, uint64_t max_cycles, uint64_t *ran);
	/*
	 * From a callback: make advance return soon; a core with a trace_retire retires nothing
	 * more before it does.
	 */
	void (*brk)(struct wse_machine *m);
	void (*reset)(struct wse_machine *m);	/* function-level reset */

	/*
	 * Debugger access, between advances, without a cycle passing (but for step, and boot on
	 * rtl). addr is absolute (0x8000...). -EINVAL for a core, a range, an entry or a state that
	 * does not exist.
	 */
	int (*peek)(struct wse_machine *m, uint32_t core, uint32_t addr, void *buf, size_t len);
	int (*poke)(struct wse_machine *m, uint32_t core, uint32_t addr, const void *buf,
		    size_t len);
	int (*get_acc)(struct wse_machine *m, uint32_t core, uint32_t acc[128]);
	int (*get_state)(struct wse_machine *m, uint32_t core, struct wse_core_state *st);
	int (*set_state)(struct wse_machine *m, uint32_t core, const struct wse_core_state *st);
	/* as START with BOOT, without a command */
	int (*boot)(struct wse_machine *m, uint32_t core, uint32_t pc);
	/* Runs until this core has retired one more instruction or max_cycles passed (-ETIME). */
	int (*step)(struct wse_machine *m, uint32_t core, uint64_t max_cycles);

	/*
	 * Called for every retired instruction and trap of a core; fn NULL switches that core off.
	 * core ~0u: all. Each core has a fn and an arg of its own.
	 */
	int (*trace_retire)(struct wse_machine *m, uint32_t core, wse_retire_fn fn, void *arg);

	/*
	 * Replay for lockstep: the next TNEXT of that core takes this task (255: a start) and, of
	 * its sources, this winfo, waiting for it if need be. Picks queue up in order. -ENOTSUP on
	 * rtl, which leads.
	 */
	int (*replay_pick)(struct wse_machine *m, uint32_t core, uint8_t task, uint32_t winfo);

	/* between advances, as get_state */
	int (*get_units)(struct wse_machine *m, uint32_t core, struct wse_core_units *u);

	/* Device cycles since create; callbacks may call it, too. */
	uint64_t (*cycles)(struct wse_machine *m);
	/*
	 * Records a window of waves from now on; no cycle changes. -ENOTSUP: not a model of
	 * WSE_MACHINE_WAVES; -EINVAL: no such core, or from >= to; -EBUSY: a window is open; or the
	 * errno of the file.
	 */
	int (*wave_begin)(struct wse_machine *m, const struct wse_wave *w);
	/*
	 * Completes the file; *ran (may be NULL) gets the cycles since wave_begin. -ENODATA: these
	 * are not more than `from`, and there is no file; -ENOENT: no window was begun; or the
	 * errno with which the file could not be written, and there is none.
	 */
	int (*wave_end)(struct wse_machine *m, uint64_t *ran);
	/*
	 * From now on fn is called for the events whose kind's bit is set in kinds, of a core or
	 * (~0u) of all; commands have no core and always come. It replaces what was asked for
	 * before; fn NULL or kinds 0: no events. -ENOTSUP: func without WSE_MACHINE_EXACT; -EINVAL:
	 * no such core or kind; -ENOMEM.
	 */
	int (*events)(struct wse_machine *m, uint32_t core, uint32_t kinds, wse_ev_fn fn,
		      void *arg);
};

extern const struct wse_machine_ops wse_machine_func;
extern const struct wse_machine_ops wse_machine_rtl;

/* "func" or "rtl"; NULL if unknown or not linked in. */
const struct wse_machine_ops *wse_machine_find(const char *name);

#endif /* WSE_MACHINE_H */
