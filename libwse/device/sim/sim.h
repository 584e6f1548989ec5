/* SPDX-License-Identifier: MIT */
/*
 * An in-process device: a model, a thread that runs it, and what the driver does for a real one.
 *
 *   sim.c		open, close, buffers: the transport
 *   sim_bus.c		the address space that the device sees, its DMA
 *   sim_thread.c	the thread: model calls, bells, interrupts
 *   sim_admin.c	start-up, admin commands, reset, lease
 *   sim_ring.c		submission entries in, completions out
 *   sim_job.c		submits: from pending through the rings to their fences
 *   sim_fence.c	fences
 *   sim_wave.c		windows of waves
 *   sim_debug.c	what debuggers see of the cores; gdb
 *
 * Only the thread calls the model once it runs. While gdb holds the wafer it stays in advance(),
 * and serves gdb alone. Locks, outer first: sim_fence.lock, sim.lock,
 * sim_bus.lock.
 */
#ifndef WSE_SIM_H
#define WSE_SIM_H

#include "device/device.h"
#include "gdb/debugger.h"
#include "machine.h"
#include "wave.h"
#include "wse_cmd.h"
#include "wse_ring.h"

#define SIM_FAULTS 64	  /* fault records */
#define SIM_MAX_JOBS 1024 /* of a context; more wait in submit */

/* ---- bus ---- */

/* Host memory. Shared by all devices that map it. */
struct sim_mem {
	atomic_uint refs;
	void *ptr;
	size_t size;		   /* a multiple of 4096 */
	struct wse_buffer *origin; /* whose memory it is, referenced; NULL: our own */
};

struct sim_range {
	uint64_t iova, size;
	char *ptr;
};

struct sim_bus {
	pthread_mutex_t lock;
	struct sim_range *range; /* ascending iova */
	size_t n, max;
	uint64_t next; /* next free bus address */
	size_t last;   /* where the last access was */
	atomic_uint changes; /* that wait for the lock, or have it */
	pthread_cond_t changed;
	bool held; /* by the device's thread, over an advance: only that thread looks */
};

/* Memory mapped into one device. */
struct sim_bo {
	atomic_uint refs; /* the handle, and jobs */
	struct sim_bus *bus;
	struct sim_mem *mem;
	struct wse_buf buf;  /* for submission entries */
	uint64_t iova, span; /* all its ranges lie here */
	struct sim_bo *list; /* page list, or NULL when direct */
};

void sim_bus_init(struct sim_bus *bus);
void sim_bus_fini(struct sim_bus *bus);
/*
 * The device's thread alone: between these two, accesses take no lock each. Changes of the table
 * wait until it leaves, and then come first.
 */
void sim_bus_enter(struct sim_bus *bus);
void sim_bus_leave(struct sim_bus *bus);
/*
 * where the device may read len bytes until it leaves; NULL: nowhere in one piece, or it has not
 * entered
 */
const void *sim_bus_at(struct sim_bus *bus, uint64_t iova, size_t len);
int sim_bus_access(struct sim_bus *bus, uint64_t iova, void *buf, size_t len, bool write);

int sim_mem_create(size_t size, struct sim_mem **mem);
int sim_mem_wrap(struct wse_buffer *origin, struct sim_mem **mem);
void sim_mem_put(struct sim_mem *mem);
/* pshift 0: one direct range; else pages of that size, scattered. Takes over the reference on mem.
 */
int sim_bo_create(struct sim_bus *bus, struct sim_mem *mem, uint32_t pshift, struct sim_bo **bo);
/* Direct, for the library's own use. */
int sim_bo_alloc(struct sim_bus *bus, size_t size, struct sim_bo **bo);
void sim_bo_get(struct sim_bo *bo);
void sim_bo_put(struct sim_bo *bo);

/* ---- fences ---- */

struct sim_job;

struct sim_wait {
	struct sim_fence *fence; /* referenced */
	struct sim_job *job;	 /* NULL: not waiting (any more) */
	struct sim_wait *next;
};

/* device cycles, low halves */
struct sim_span {
	uint32_t start, end;
};

struct sim_fence {
	atomic_uint refs;
	struct sim *sim; /* whose time must pass until it signals; valid until then */
	uint32_t wanted; /* threads, and jobs of other devices, that wait for it */
	pthread_mutex_t lock;
	pthread_cond_t cond; /* CLOCK_MONOTONIC */
	bool done;
	int err;
	uint32_t start, end; /* device cycles */
	struct sim_wait *waits;
	struct sim_span cmd[]; /* of its commands */
};

void sim_cond_init(pthread_cond_t *cond); /* CLOCK_MONOTONIC */
int sim_fence_create(struct sim *sim, uint32_t commands, struct sim_fence **fence);
void sim_fence_get(struct sim_fence *fence);
void sim_fence_put(struct sim_fence *fence);
void sim_fence_signal(struct sim_fence *fence, int err, uint32_t start, uint32_t end);
/* False: it has signalled already. Else sim_dep_signalled(wait->job) will be called. */
bool sim_fence_add(struct sim_fence *fence, struct sim_wait *wait);
void sim_fence_remove(struct sim_wait *wait);
int sim_fence_wait(struct sim_fence *fence, int64_t timeout_ns);

/* ---- rings and jobs ---- */

struct sim;

struct sim_slot {
	struct sim_job *job;
	uint32_t index; /* of the command in its submit */
	uint8_t op;
};

struct sim_ring {
	uint32_t id;
	struct wse_ring_state state;
	struct sim_bo *sq_bo, *cq_bo;
	struct wse_sqe *sq;
	struct wse_cqe *cq;
	struct sim_slot *slot;
};

struct sim_job_cmd {
	struct wse_sqe sqe;
	uint32_t queue;
	uint32_t wait_cmd, wait_queue; /* fence */
	uint32_t seq;
};

/* One submit. Belongs to the submitting thread until it is queued, then to the model's. */
struct sim_job {
	struct sim_job *next;
	struct sim_context *ctx;
	struct sim *sim;
	struct sim_fence *fence;
	int err;
	uint32_t left; /* commands without completion */
	uint32_t need[WSE_MAX_QUEUES];
	bool timed;
	uint32_t start, end;
	atomic_uint ndeps; /* fences that have not signalled, and one for the submitter */
	struct sim_wait *deps;
	uint32_t ndep;
	struct sim_bo **bos;
	uint32_t nbo;
	uint32_t ncmd;
	struct sim_job_cmd cmd[];
};

struct sim_job_list {
	struct sim_job *first, **last;
};

struct sim_context {
	struct wse_context base;
	struct sim *sim;
	int err;	/* not 0: lost, or ended; sim.lock */
	uint32_t njobs; /* sim.lock */
	uint32_t nwait; /* threads that wait for one of them to end; sim.lock */
	bool first;	/* fault says something; sim.lock */
	int fault_err;
	struct drm_wse_fault fault;
};

struct sim_request {
	int (*fn)(struct sim *sim, void *arg);
	void *arg;
	int ret;
	bool done;
};

struct sim {
	struct wse_device base;
	const struct wse_machine_ops *ops;
	struct wse_machine *machine; /* the thread's */
	struct sim_bus bus;
	struct wse_geom geom;
	uint32_t pages; /* page lists with pages of this shift; 0: direct */
	uint32_t abi_minor;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;	/* for the thread: something to do */
	pthread_cond_t changed; /* for the others: a request is done, a job, the lease */
	bool quit, ended;
	struct sim_request *request, *gdb_request; /* the second: also while gdb holds the wafer */
	int64_t held_since, held_ns; /* by gdb: now (0: not), and before; host time */

	struct sim_bo **handles; /* lock; handle - 1 is the index */
	uint32_t nhandles;

	/* lock */
	struct sim_ring ring[WSE_MAX_QUEUES];
	uint32_t nrings;
	struct sim_bo *fault_bo;
	struct wse_fault *faults;
	struct sim_job_list pending, active;
	uint32_t inflight;
	bool admin_done;
	uint32_t admin_status;
	const char *reset_reason; /* why the device needs a reset */
	bool reset_due;	    /* the context is lost and its jobs wait for the reset */
	int dead;
	bool exact;	 /* time passes only while a thread waits (sim_thread.c) */
	uint32_t wanted; /* who waits for a fence that has not signalled */
	uint64_t grant;	 /* cycles that a thread that only asks waits for */
	bool alone;	 /* no thread has asked for long */
	struct sim_context *ctx;
	uint32_t next_ctx;
	uint64_t resets;

	/* the thread's own */
	bool idle; /* the model said so, and nothing was written since */
	bool halted;
	bool rang;	      /* exact: an interrupt has come since the rings were looked at */
	bool clean;	      /* SRAM is scrubbed, cores are held */
	uint64_t chunk;	      /* cycles of one advance */
	int64_t device_ns;    /* device time at 1 GHz on the host's clock */
	uint64_t tail_cycles; /* run with nothing in flight */
	struct wse_firmware_image fw;
	struct sim_bo *fw_bo;
	uint32_t fw_version, fw_end;
	struct wse_wave_window wave; /* the last one that was begun */
	struct wse_watch watch;	     /* in the model's cycles, which had come to watched */
	uint64_t watched;
	bool watches; /* between both calls of watch() */
	struct debugger *debugger;   /* NULL: none */
};

static inline struct sim *to_sim(struct wse_device *dev)
{
	return (struct sim *)dev;
}

/* sim_thread.c */
int sim_thread_start(struct sim *sim);
void sim_thread_stop(struct sim *sim);
/* Runs fn in the thread between advances, and waits for it. */
int sim_call(struct sim *sim, int (*fn)(struct sim *sim, void *arg), void *arg);
/* The same for gdb, also while it holds the wafer, and when the thread has ended. */
int sim_gdb_call(struct sim *sim, int (*fn)(struct sim *sim, void *arg), void *arg);
/* Host time that gdb has held the wafer, ns. */
int64_t sim_held_ns(struct sim *sim);
/* More, or (n negative) fewer, wait for this device's time to pass; with sim.lock. */
void sim_want(struct sim *sim, int n);
/* Lets a few cycles pass, the same number every time. */
void sim_ask(struct sim *sim);
/* The thread's: */
uint32_t sim_read(struct sim *sim, uint32_t offset);
void sim_write(struct sim *sim, uint32_t offset, uint32_t value);
enum wse_stop sim_advance(struct sim *sim, uint64_t most); /* 0: for a while of the host's time */
void sim_poll(struct sim *sim, uint32_t first, struct sim_job_list *done);

/* sim_admin.c; in the thread */
int sim_start(struct sim *sim, void *arg);
int sim_boot(struct sim *sim, void *arg);
int sim_end(struct sim *sim, void *arg);
void sim_recover(struct sim *sim);
void sim_give_up(struct sim *sim);
/* any thread */
int sim_context_create(struct wse_device *dev, uint32_t flags, struct wse_context **ctx);
void sim_context_end(struct wse_context *ctx);
void sim_context_free(struct wse_context *ctx);
int sim_context_fault(struct wse_context *ctx, struct drm_wse_fault *fault);
int sim_load_firmware(struct sim *sim);

/* sim_wave.c */
int sim_wave(struct wse_device *dev, const struct wse_wave_window *w);
int sim_watch(struct wse_device *dev, struct wse_watch *seen);

/* sim_debug.c */
int sim_peek(struct wse_device *dev, uint32_t core, uint32_t addr, void *buf, size_t len);
/* gdb may come to this port or socket from now on: time stands until it has. */
int sim_debug(struct sim *sim, const char *where);

/* sim_ring.c; all but alloc and free with sim.lock */
int sim_ring_alloc(struct sim *sim, struct sim_ring *ring, uint32_t id, uint32_t size);
void sim_ring_free(struct sim_ring *ring);
void sim_ring_init(struct sim_ring *ring);
uint32_t sim_ring_put(struct sim_ring *ring, const struct wse_sqe *sqe, struct sim_job *job,
		      uint32_t index);
void sim_ring_kick(struct sim *sim, struct sim_ring *ring, bool more);
void sim_ring_poll(struct sim *sim, struct sim_ring *ring, struct sim_job_list *done);

/* sim_job.c */
int sim_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
	       struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence);
void sim_dep_signalled(struct sim_job *job);
int sim_user_wait(struct wse_fence *fence, int64_t timeout_ns);
int sim_user_cycles(struct wse_fence *fence, uint32_t *start, uint32_t *end);
int sim_command_cycles(struct wse_fence *fence, uint32_t command, uint32_t *start, uint32_t *end);
void sim_user_free(struct wse_fence *fence);
/* with sim.lock: until a job of the context is over, or something else has changed */
void sim_await_job(struct sim_context *ctx);
/* with sim.lock, in the thread */
struct sim_job *sim_ready(struct sim *sim);
bool sim_push(struct sim *sim);
void sim_job_complete(struct sim *sim, struct sim_ring *ring, const struct sim_slot *slot,
		      const struct wse_cqe *cqe, struct sim_job_list *done);
void sim_jobs_fail(struct sim *sim, int err, struct sim_job_list *done);
/* without */
void sim_jobs_signal(struct sim_job_list *done);
void sim_list_init(struct sim_job_list *list);

#endif
