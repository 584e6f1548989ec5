// SPDX-License-Identifier: MIT
/* The thread of an in-process device. Only it calls the model; it sleeps when the model has nothing
 * to do. */
#include <time.h>

#include "sim.h"

/* How long one advance should take: what a new submit waits at most. */
#define ADVANCE_NS 300000
#define CHUNK_MIN  64ull
#define CHUNK_MAX  (1ull << 22)
/*
 * A program may go on after it said DONE, but one that never ends must not keep a host core busy
 * when nobody waits for anything. Cycles; time goes on with the next command.
 */
#define TAIL_CYCLES (1ull << 20)
/*
 * A machine that only waits goes no faster than 1 GHz (hw/doc/host.md): a budget must not run out
 * before the host has written what the machine waits for. How far device time may lead.
 */
#define AHEAD_NS 200000

uint32_t sim_read(struct sim *sim, uint32_t offset)
{
	return sim->ops->mmio_read(sim->model, offset);
}

void sim_write(struct sim *sim, uint32_t offset, uint32_t value)
{
	sim->idle = false;
	sim->ops->mmio_write(sim->model, offset, value);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Without sim.lock. */
enum wse_stop sim_advance(struct sim *sim)
{
	int64_t begin = now_ns(), ns;
	uint64_t ran = 0;
	enum wse_stop stop = sim->ops->advance(sim->model, sim->chunk, &ran);

	ns = now_ns() - begin;
	/* the lead starts anew after every rest, and a slow model never catches up in a burst */
	if (sim->device_ns < begin)
		sim->device_ns = begin;
	sim->device_ns += (int64_t)ran;
	if (ns > 2 * ADVANCE_NS && sim->chunk > CHUNK_MIN)
		sim->chunk /= 2;
	else if (ns < ADVANCE_NS / 2 && ran >= sim->chunk && sim->chunk < CHUNK_MAX)
		sim->chunk *= 2;
	sim->tail_cycles += ran;
	sim->idle = stop == WSE_STOP_IDLE;
	sim->halted = stop == WSE_STOP_HALTED;
	return stop;
}

/* Sleeps until the host's time has caught up, or there is something to do. With sim.lock. */
static void rest(struct sim *sim)
{
	struct timespec until = {sim->device_ns / 1000000000, sim->device_ns % 1000000000};

	if (sim->device_ns > now_ns() + AHEAD_NS && !sim_ready(sim) && !sim->request && !sim->quit)
		pthread_cond_timedwait(&sim->wake, &sim->lock, &until);
}

/* Nothing to do for the model: sim.lock is held. */
static bool may_sleep(const struct sim *sim)
{
	if (sim->halted || sim->idle)
		return true;
	return !sim->inflight && sim->tail_cycles > TAIL_CYCLES;
}

/* One round. Called and left with sim.lock. */
static void round_of(struct sim *sim)
{
	struct sim_job_list done;
	uint32_t q;

	if (sim->request) {
		struct sim_request *r = sim->request;

		pthread_mutex_unlock(&sim->lock);
		r->ret = r->fn(sim, r->arg);
		pthread_mutex_lock(&sim->lock);
		sim->request = NULL;
		r->done = true;
		pthread_cond_broadcast(&sim->changed);
		return;
	}
	if (!sim->dead && (sim->reset_due || sim->broken)) {
		sim->reset_due = false;
		pthread_mutex_unlock(&sim->lock);
		sim_recover(sim);
		pthread_mutex_lock(&sim->lock);
		return;
	}
	if (sim->dead) {
		pthread_cond_wait(&sim->wake, &sim->lock);
		return;
	}
	if (sim_push(sim))
		sim->tail_cycles = 0;
	if (sim->inflight && (sim->halted || sim->idle)) {
		sim->broken = sim->halted ? "it has halted: a ring could not be read or written"
					  : "it stands still with commands left to do";
		return;
	}
	if (may_sleep(sim)) {
		pthread_cond_wait(&sim->wake, &sim->lock);
		return;
	}
	if (sim->inflight)
		sim->tail_cycles = 0;
	pthread_mutex_unlock(&sim->lock);
	sim_advance(sim);
	sim_list_init(&done);
	pthread_mutex_lock(&sim->lock);
	for (q = 1; q < sim->nrings; q++)
		sim_ring_poll(sim, &sim->ring[q], &done);
	if (!done.first) {
		rest(sim);
		return;
	}
	pthread_mutex_unlock(&sim->lock);
	sim_jobs_signal(&done);
	pthread_mutex_lock(&sim->lock);
}

static void *thread_main(void *arg)
{
	struct sim *sim = arg;

	pthread_mutex_lock(&sim->lock);
	while (!sim->quit)
		round_of(sim);
	pthread_mutex_unlock(&sim->lock);
	return NULL;
}

int sim_thread_start(struct sim *sim)
{
	return -pthread_create(&sim->thread, NULL, thread_main, sim);
}

void sim_thread_stop(struct sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	sim->quit = true;
	pthread_cond_signal(&sim->wake);
	pthread_mutex_unlock(&sim->lock);
	pthread_join(sim->thread, NULL);
}

int sim_call(struct sim *sim, int (*fn)(struct sim *sim, void *arg), void *arg)
{
	struct sim_request r = {.fn = fn, .arg = arg};

	pthread_mutex_lock(&sim->lock);
	while (sim->request)
		pthread_cond_wait(&sim->changed, &sim->lock);
	sim->request = &r;
	pthread_cond_signal(&sim->wake);
	while (!r.done)
		pthread_cond_wait(&sim->changed, &sim->lock);
	pthread_mutex_unlock(&sim->lock);
	return r.ret;
}
