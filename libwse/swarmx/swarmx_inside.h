/* SPDX-License-Identifier: MIT */
/* SwarmX: swarmx.c has the devices and their steps, worker.c what the thread of a device does. */
#ifndef WSE_SWARMX_INSIDE_H
#define WSE_SWARMX_INSIDE_H

#include <time.h>

#include "base/error.h"
#include "swarmx.h"

enum { ASK_NOTHING, ASK_BEGIN, ASK_DONE };

/* a call of the host's, where the thread that is in start() or wait() makes it */
struct ask {
	int what, ret;
	uint32_t index;
	float *parked;
	struct wse_rows *rows;
};

struct worker {
	struct wse_swarm *s;
	struct wse_exec *exec;
	pthread_t thread;
	uint32_t id;
	int alive;
	uint64_t begun, done; /* generations of work */
	uint32_t first, n;    /* micro-batches of this generation */
	size_t lent;	      /* bytes of gradients that it makes */
	struct wse_shared_buf
		*parked[WSE_EXEC_AHEAD]; /* by index: until the host has added to it */
	struct wse_failure failure;	 /* of this generation, err 0: none */
	int no_device; /* it was not the device that failed: images or gradients have a bad file */
	struct ask ask;			 /* what ASK_NOTHING: none waits */
	int served;			 /* a begin of this generation was called */
	struct wse_rows *rows;		 /* [nrows] of the micro-batch that is done */
};

struct pool_buf {
	struct wse_shared_buf buf; /* first: a pool's buffer is one of these */
	struct pool_buf *next;
};

struct wse_swarm {
	struct worker w[WSE_SWARM_MAX];
	uint32_t n;
	struct wse_exec_cfg log;
	pthread_mutex_t lock, pool_lock;
	pthread_cond_t cond;
	int stop, failed;
	int in_flight;
	struct wse_swarm_step step;
	struct wse_reduce *reduce; /* [nreduce]: one a unit */
	uint32_t nreduce;
	/*
	 * of several ranks, [nunits]: the order in which units are complete; leaves that are in;
	 * shared
	 */
	uint32_t *order, *in;
	unsigned char *shared;
	struct wse_row_sum *rows; /* [nrows] */
	uint32_t nrows;
	struct pool_buf *bufs;
	int waiting;	   /* no unit of this step was ready yet */
	double ended, gap; /* when the last device was done with the last backward pass; 0: none */
	struct wse_grad_file *file; /* NULL: gradients are in memory */
	const unsigned char *stays;
	struct wse_bank bank;	/* with a file */
	uint64_t at_a_time;	/* bytes of gradients that a device makes, with a file */
	struct wse_spans spans; /* sums of gradients */
};

static inline double wse_swarm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* this step is given up */
static inline int wse_swarm_failed(struct wse_swarm *s)
{
	return __atomic_load_n(&s->failed, __ATOMIC_RELAXED);
}

/* the thread of a struct worker */
void *wse_worker_main(void *arg);
/* locked, in the thread of start() or wait(): makes a call that a device waits for, or waits */
void wse_worker_serve(struct wse_swarm *s);
/* the devices have what they begin with: the thread may do other things before it is in wait() */
void wse_worker_serve_first(struct wse_swarm *s);

#endif
