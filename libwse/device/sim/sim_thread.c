// SPDX-License-Identifier: MIT
/* The thread of an in-process device. Only it calls the model; it sleeps when the model has nothing
 * to do. */
#include <errno.h>
#include <time.h>

#include "sim.h"

/* How long one advance should take: what a new submit waits at most. */
#define ADVANCE_NS 300000
#define CHUNK_MIN  64ull
#define CHUNK_MAX  (1ull << 22)
/*
 * A program may go on after it said DONE, but one that never ends must not keep a host core busy
 * when no thread waits for anything. Cycles; time goes on with the next command.
 */
#define TAIL_CYCLES (1ull << 20)
/*
 * A machine that only waits goes no faster than 1 GHz (hw/doc/host.md): a budget must not run out
 * before the host has written what the machine waits for. How far device time may lead.
 */
#define AHEAD_NS 200000
/*
 * On the RTL the same program gets the same cycle counts, so what it submits must land in the same
 * device cycles whatever the host's threads do: time passes only while a thread waits for a fence,
 * and stands still from the completion that ends the wait. Who only asks whether a fence has
 * signalled waits for ASK_CYCLES. A device for which no thread waits at all runs on after ALONE_S
 * seconds, so that it comes to an end; no program whose cycles are worth noting lets it come to
 * that. Not while it is watched: a host that is slow between two commands of a step would let the
 * short budget of the first one end.
 */
#define ASK_CYCLES 256
#define ALONE_S	   2

uint32_t sim_read(struct sim *sim, uint32_t offset)
{
	return sim->ops->mmio_read(sim->machine, offset);
}

void sim_write(struct sim *sim, uint32_t offset, uint32_t value)
{
	sim->idle = false;
	sim->ops->mmio_write(sim->machine, offset, value);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void sim_want(struct sim *sim, int n)
{
	sim->wanted += (uint32_t)n;
	sim->alone = false;
	if (n > 0)
		pthread_cond_signal(&sim->wake);
}

void sim_ask(struct sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	if (sim->exact && !sim->held_since && (sim->inflight || sim_ready(sim))) {
		sim->grant = ASK_CYCLES;
		pthread_cond_signal(&sim->wake);
		while (sim->grant && !sim->dead)
			pthread_cond_wait(&sim->changed, &sim->lock);
	}
	pthread_mutex_unlock(&sim->lock);
}

/* With sim.lock. */
static void end_grant(struct sim *sim)
{
	sim->grant = 0;
	pthread_cond_broadcast(&sim->changed);
}

/* With sim.lock: may time pass? Else sleeps until something happens. */
static bool time_passes(struct sim *sim)
{
	struct timespec until;

	if (sim->grant && !sim->inflight && !sim_ready(sim))
		end_grant(sim);
	if (!sim->exact || sim->wanted || sim->grant || sim->alone)
		return true;
	if ((!sim->inflight && !sim_ready(sim)) || sim->watches) {
		pthread_cond_wait(&sim->wake, &sim->lock);
		return false;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ALONE_S;
	sim->alone = pthread_cond_timedwait(&sim->wake, &sim->lock, &until) == ETIMEDOUT;
	return false;
}

/* Called and left with sim.lock. */
static void serve(struct sim *sim, struct sim_request **slot)
{
	struct sim_request *r = *slot;

	pthread_mutex_unlock(&sim->lock);
	r->ret = r->fn(sim, r->arg);
	pthread_mutex_lock(&sim->lock);
	*slot = NULL;
	r->done = true;
	pthread_cond_broadcast(&sim->changed);
}

/* Without sim.lock: serves gdb until it lets time pass. False: the device is being closed. */
static bool gdb_allows(struct sim *sim)
{
	bool quit;

	if (debugger_runs(sim->debugger))
		return true;
	pthread_mutex_lock(&sim->lock);
	sim->held_since = now_ns();
	end_grant(sim);
	while (!sim->quit && !debugger_runs(sim->debugger)) {
		if (sim->gdb_request)
			serve(sim, &sim->gdb_request);
		else
			pthread_cond_wait(&sim->wake, &sim->lock);
	}
	sim->held_ns += now_ns() - sim->held_since;
	sim->held_since = 0;
	quit = sim->quit;
	pthread_mutex_unlock(&sim->lock);
	return !quit;
}

int64_t sim_held_ns(struct sim *sim)
{
	int64_t ns;

	pthread_mutex_lock(&sim->lock);
	ns = sim->held_ns + (sim->held_since ? now_ns() - sim->held_since : 0);
	pthread_mutex_unlock(&sim->lock);
	return ns;
}

/* Without sim.lock; most 0: as many cycles as take a while. */
static enum wse_stop advance(struct sim *sim, uint64_t most, uint64_t *cycles)
{
	const bool debugged = sim->debugger && gdb_allows(sim);
	int64_t begin = now_ns(), ns;
	enum wse_stop stop;
	uint64_t ran = 0;

	if (!most || most > sim->chunk)
		most = sim->chunk;
	sim_bus_enter(&sim->bus);
	stop = debugged ? debugger_advance(sim->debugger, most, &ran)
			: sim->ops->advance(sim->machine, most, &ran);
	sim_bus_leave(&sim->bus);
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
	*cycles = ran;
	return stop;
}

enum wse_stop sim_advance(struct sim *sim, uint64_t most)
{
	uint64_t ran;

	return advance(sim, most, &ran);
}

/*
 * With sim.lock: takes what has completed on the rings from first on. An entry is in memory some
 * time before its interrupt; whether it is found there must not depend on where an advance happened
 * to end.
 */
void sim_poll(struct sim *sim, uint32_t first, struct sim_job_list *done)
{
	if (sim->exact && !sim->rang)
		return;
	sim->rang = false;
	for (uint32_t q = first; q < sim->nrings; q++)
		sim_ring_poll(sim, &sim->ring[q], done);
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
	uint64_t grant, ran;

	if (sim->gdb_request || sim->request) {
		serve(sim, sim->gdb_request ? &sim->gdb_request : &sim->request);
		return;
	}
	if (!sim->dead && (sim->reset_due || sim->reset_reason)) {
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
	/*
	 * before the doorbells, which take cycles: so it does not matter which submits share them
	 */
	if (!time_passes(sim))
		return;
	if (sim_push(sim))
		sim->tail_cycles = 0;
	if (sim->inflight && (sim->halted || sim->idle)) {
		sim->reset_reason = sim->halted
					    ? "it has halted: a ring could not be read or written"
					    : "it stands still with commands left to do";
		return;
	}
	if (may_sleep(sim)) {
		pthread_cond_wait(&sim->wake, &sim->lock);
		return;
	}
	if (sim->inflight)
		sim->tail_cycles = 0;
	grant = sim->grant;
	ran = 0;
	if (!sim->rang) {
		pthread_mutex_unlock(&sim->lock);
		advance(sim, grant, &ran);
		pthread_mutex_lock(&sim->lock);
	}
	sim_list_init(&done);
	sim_poll(sim, 1, &done);
	if (grant && ran < grant)
		sim->grant = grant - ran;
	else if (grant)
		end_grant(sim);
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
	sim->ended = true;
	pthread_cond_broadcast(&sim->changed);
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

/* False: the thread has ended without it. */
static bool post(struct sim *sim, struct sim_request **slot, struct sim_request *r)
{
	pthread_mutex_lock(&sim->lock);
	while (*slot)
		pthread_cond_wait(&sim->changed, &sim->lock);
	*slot = r;
	pthread_cond_signal(&sim->wake);
	while (!r->done && !sim->ended)
		pthread_cond_wait(&sim->changed, &sim->lock);
	if (!r->done) /* no one takes it: the next caller must not wait for that */
		*slot = NULL;
	pthread_mutex_unlock(&sim->lock);
	return r->done;
}

int sim_call(struct sim *sim, int (*fn)(struct sim *sim, void *arg), void *arg)
{
	struct sim_request r = {.fn = fn, .arg = arg};

	post(sim, &sim->request, &r);
	return r.ret;
}

int sim_gdb_call(struct sim *sim, int (*fn)(struct sim *sim, void *arg), void *arg)
{
	struct sim_request r = {.fn = fn, .arg = arg};

	return post(sim, &sim->gdb_request, &r) ? r.ret : fn(sim, arg);
}
