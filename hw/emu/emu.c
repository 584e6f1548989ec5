// SPDX-License-Identifier: MIT
#include "emu.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "gdb/debugger.h"
#include "moderate.h"
#include "wse_regs.h"

#define FIFO	    256u   /* posted writes; a power of two */
#define QUANTUM_NS  100000 /* host time one advance should take */
#define QUANTUM_MIN 16u
#define QUANTUM_MAX (1u << 20)
#define AHEAD_NS    200000 /* how far the device clock may lead before its thread sleeps */
/* cycles that a calling thread runs itself, of a model that is fast enough */
#define INLINE 4096u

struct emu {
	struct emu_cfg cfg;
	struct wse_machine *machine;
	struct debugger *debugger; /* NULL: none; under lock */
	pthread_t thread;

	/*
	 * Guards the model. Mutexes are not fair, so a caller first counts itself in `waiters`, and
	 * the model's thread yields between two quanta until that is 0.
	 */
	pthread_mutex_t lock;
	pthread_cond_t gone; /* the last waiter left */
	atomic_uint waiters;

	/* Guards the posted writes and the sleep of the model's thread. */
	pthread_mutex_t fifo_lock;
	pthread_cond_t wake;
	struct {
		uint32_t offset, value;
	} fifo[FIFO];
	uint32_t head, tail;
	bool kick, stop;
	bool asleep; /* the model's thread sleeps */

	/* The pace, under lock. */
	uint32_t quantum;
	int64_t begin, device; /* host time; device time since then, ns */
	struct moderate irq_mod;

	atomic_bool master;
	uint64_t reads, writes, irqs; /* under lock */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* --- callbacks of the model; called with lock held --- */

static int refused(struct emu *e, const char *what, uint64_t iova, size_t len, int err)
{
	wse_pci_logf(e->cfg.log, "IOMMU fault iova=0x%llx len=%zu %s%s", (unsigned long long)iova,
		     len, what, atomic_load(&e->master) ? "" : ", bus master off");
	if (!wse_pci_dma_shared(e->cfg.dma))
		wse_pci_logf(
			e->cfg.log,
			"the client shares no memory: start QEMU with -object "
			"memory-backend-memfd,id=m,size=SIZE,share=on -machine memory-backend=m");
	return err;
}

static int host_dma_read(void *host, uint64_t iova, void *buf, size_t len)
{
	struct emu *e = host;
	int err;

	if (atomic_load(&e->waiters))
		e->cfg.ops->brk(e->machine);
	if (++e->reads == e->cfg.faults.dma_read)
		return refused(e, "read (injected)", iova, len, -EIO);
	err = atomic_load(&e->master) ? wse_pci_dma_read(e->cfg.dma, iova, buf, len) : -EPERM;
	return err ? refused(e, "read", iova, len, err) : 0;
}

static int host_dma_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	struct emu *e = host;
	int err;

	if (atomic_load(&e->waiters))
		e->cfg.ops->brk(e->machine);
	if (++e->writes == e->cfg.faults.dma_write)
		return refused(e, "write (injected)", iova, len, -EIO);
	err = atomic_load(&e->master) ? wse_pci_dma_write(e->cfg.dma, iova, buf, len) : -EPERM;
	return err ? refused(e, "write", iova, len, err) : 0;
}

static void host_irq(void *host, unsigned int vector)
{
	struct emu *e = host;

	if (++e->irqs == e->cfg.faults.irq) {
		wse_pci_logf(e->cfg.log, "interrupt of vector %u lost (injected)", vector);
		return;
	}
	moderate_raise(&e->irq_mod, vector, now_ns());
}

static const struct wse_host_ops host_ops = {
	.dma_read = host_dma_read,
	.dma_write = host_dma_write,
	.irq = host_irq,
};

/* --- the model's thread --- */

/* Called with lock held. */
static void apply_writes(struct emu *e)
{
	for (;;) {
		uint32_t offset, value;
		bool none;

		pthread_mutex_lock(&e->fifo_lock);
		none = e->head == e->tail;
		if (!none) {
			offset = e->fifo[e->head % FIFO].offset;
			value = e->fifo[e->head % FIFO].value;
			e->head++;
			e->kick = true; /* an idle model may have work now */
		}
		pthread_mutex_unlock(&e->fifo_lock);
		if (none)
			return;
		e->cfg.ops->mmio_write(e->machine, offset, value);
	}
}

/* Sleeps until there is work, or for at most ns if that is not negative. True: stop. */
static bool rest(struct emu *e, int64_t ns)
{
	struct timespec t;
	bool stop;

	if (ns > 0) {
		int64_t until = now_ns() + ns;

		t.tv_sec = until / 1000000000;
		t.tv_nsec = until % 1000000000;
	}
	pthread_mutex_lock(&e->fifo_lock);
	while (!e->stop && !e->kick && e->head == e->tail) {
		if (!ns)
			break;
		e->asleep = ns < 0;
		if (ns < 0)
			pthread_cond_wait(&e->wake, &e->fifo_lock);
		else if (pthread_cond_timedwait(&e->wake, &e->fifo_lock, &t))
			break;
	}
	e->asleep = false;
	e->kick = false;
	stop = e->stop;
	pthread_mutex_unlock(&e->fifo_lock);
	return stop;
}

static uint32_t next_quantum(uint32_t quantum, uint64_t ran, int64_t took)
{
	if (took > 2 * QUANTUM_NS && quantum > QUANTUM_MIN) {
		/* go directly to the right size: the load may have grown a thousandfold */
		uint64_t fit = ran * QUANTUM_NS / (uint64_t)took;

		return fit < QUANTUM_MIN ? QUANTUM_MIN : fit < quantum ? (uint32_t)fit : quantum;
	}
	if (took < QUANTUM_NS / 2 && ran == quantum && quantum < QUANTUM_MAX)
		return 2 * quantum;
	return quantum;
}

/*
 * Executes posted writes, then a quantum of at most that many cycles; with lock held. Returns how
 * long to rest() then.
 */
static int64_t turn(struct emu *e, uint32_t cycles)
{
	uint32_t quantum = e->quantum < cycles ? e->quantum : cycles;
	int64_t t0, t1, irq, ahead;
	enum wse_stop why;
	uint64_t ran = 0;

	apply_writes(e);
	t0 = now_ns();
	if (e->debugger)
		why = debugger_advance(e->debugger, quantum, &ran);
	else
		why = e->cfg.ops->advance(e->machine, quantum, &ran);
	t1 = now_ns();
	irq = moderate_run(&e->irq_mod, t1);

	if (quantum == e->quantum)
		e->quantum = next_quantum(quantum, ran, t1 - t0);
	if (why == WSE_STOP_IDLE || why == WSE_STOP_HALTED ||
	    (e->debugger && !debugger_runs(e->debugger))) {
		e->begin = t1;
		e->device = 0;
		return irq;
	}
	if (e->cfg.clock_mhz) {
		e->device += (int64_t)(ran * 1000 / e->cfg.clock_mhz);
		if (e->device < t1 - e->begin) { /* a slow model never catches up in a burst */
			e->begin = t1;
			e->device = 0;
		}
	}
	ahead = e->device - (t1 - e->begin);
	if (ahead <= AHEAD_NS)
		return 0;
	return irq >= 0 && irq < ahead ? irq : ahead;
}

static void *model_thread(void *arg)
{
	struct emu *e = arg;
	bool stop = false;

	while (!stop) {
		int64_t ns;

		pthread_mutex_lock(&e->lock);
		while (atomic_load(&e->waiters))
			pthread_cond_wait(&e->gone, &e->lock);
		ns = turn(e, QUANTUM_MAX);
		pthread_mutex_unlock(&e->lock);
		stop = rest(e, ns);
	}
	return NULL;
}

/* --- callers --- */

static void enter(struct emu *e)
{
	atomic_fetch_add(&e->waiters, 1);
	pthread_mutex_lock(&e->lock);
}

static void leave(struct emu *e)
{
	if (atomic_fetch_sub(&e->waiters, 1) == 1)
		pthread_cond_signal(&e->gone);
	pthread_mutex_unlock(&e->lock);
}

static void wake(struct emu *e)
{
	pthread_mutex_lock(&e->fifo_lock);
	if (e->kick || e->stop)
		pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->fifo_lock);
}

/* The model may have work that its thread has not seen. */
static void kick(struct emu *e)
{
	pthread_mutex_lock(&e->fifo_lock);
	e->kick = true;
	pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->fifo_lock);
}

uint32_t emu_read32(struct emu *e, uint32_t offset)
{
	uint32_t v;

	enter(e);
	apply_writes(e);
	v = e->cfg.ops->mmio_read(e->machine, offset);
	leave(e);
	wake(e);
	return v;
}

static bool is_tail_doorbell(uint32_t offset)
{
	return offset >= WSE_DB_BASE + WSE_DB_STRIDE &&
	       offset < WSE_DB_BASE + WSE_DB_STRIDE * WSE_MAX_QUEUES &&
	       (offset - WSE_DB_BASE) % WSE_DB_STRIDE == 0;
}

/*
 * While the model's thread sleeps, the caller executes a short command here, without the time that
 * waking that thread takes; the thread gets the rest.
 */
static void run_here(struct emu *e)
{
	int64_t ns = 0;

	enter(e);
	if (e->quantum >= INLINE)
		ns = turn(e, INLINE);
	/* before another thread may kick, whose kick this would take back */
	pthread_mutex_lock(&e->fifo_lock);
	e->kick = ns >= 0;
	if (e->kick)
		pthread_cond_signal(&e->wake);
	pthread_mutex_unlock(&e->fifo_lock);
	leave(e);
}

/* For tests: a processor that the host takes away between two writes while the device continues. */
static void stall(uint32_t ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

void emu_write32(struct emu *e, uint32_t offset, uint32_t value)
{
	bool full, asleep;

	if (is_tail_doorbell(offset))
		moderate_doorbell(&e->irq_mod, now_ns());
	pthread_mutex_lock(&e->fifo_lock);
	full = e->tail - e->head == FIFO;
	asleep = e->asleep;
	if (!full) {
		e->fifo[e->tail % FIFO].offset = offset;
		e->fifo[e->tail % FIFO].value = value;
		e->tail++;
		if (!asleep)
			pthread_cond_signal(&e->wake);
	}
	pthread_mutex_unlock(&e->fifo_lock);
	if (full) {
		enter(e);
		apply_writes(e);
		e->cfg.ops->mmio_write(e->machine, offset, value);
		leave(e);
		kick(e); /* its thread may have emptied the FIFO and have gone to sleep */
	} else if (asleep) {
		run_here(e);
	}
	if (e->cfg.stall_ms && is_tail_doorbell(offset))
		stall(e->cfg.stall_ms);
}

void emu_reset(struct emu *e)
{
	enter(e);
	pthread_mutex_lock(&e->fifo_lock);
	e->head = e->tail;
	e->kick = true;
	pthread_mutex_unlock(&e->fifo_lock);
	e->cfg.ops->reset(e->machine);
	moderate_clear(&e->irq_mod);
	leave(e);
	wake(e);
}

void emu_bus_master(struct emu *e, bool on)
{
	atomic_store(&e->master, on);
}

static void debugger_call(void *arg, void (*work)(void *work_arg), void *work_arg)
{
	struct emu *e = arg;

	enter(e);
	work(work_arg);
	leave(e);
	kick(e); /* time may pass now */
}

int emu_debug(struct emu *e, const char *where, const char *program)
{
	struct debugger_cfg cfg = {
		.gdb.ops = e->cfg.ops,
		.gdb.machine = e->machine,
		.gdb.rows = e->cfg.machine.rows,
		.gdb.cols = e->cfg.machine.cols,
		.gdb.program = program,
		.where = where,
		.call = debugger_call,
		.arg = e,
	};
	struct debugger *d;
	int err;

	enter(e);
	err = debugger_create(&cfg, &d);
	if (!err)
		e->debugger = d;
	leave(e);
	if (!err)
		wse_pci_logf(e->cfg.log, "gdb: target extended-remote %s", debugger_address(d));
	return err;
}

int emu_create(const struct emu_cfg *cfg, struct emu **out)
{
	struct emu *e = calloc(1, sizeof(*e));
	pthread_condattr_t mono;
	int err;

	if (!e)
		return -ENOMEM;
	e->cfg = *cfg;
	e->quantum = QUANTUM_MIN;
	e->begin = now_ns();
	moderate_init(&e->irq_mod, cfg->irq, cfg->irq_arg);
	err = cfg->ops->create(&cfg->machine, &host_ops, e, &e->machine);
	if (err)
		goto free_emu;
	pthread_mutex_init(&e->lock, NULL);
	pthread_mutex_init(&e->fifo_lock, NULL);
	pthread_cond_init(&e->gone, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&e->wake, &mono);
	pthread_condattr_destroy(&mono);
	err = -pthread_create(&e->thread, NULL, model_thread, e);
	if (err)
		goto destroy;
	*out = e;
	return 0;

destroy:
	cfg->ops->destroy(e->machine);
free_emu:
	free(e);
	return err;
}

void emu_destroy(struct emu *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->fifo_lock);
	e->stop = true;
	pthread_mutex_unlock(&e->fifo_lock);
	wake(e);
	pthread_join(e->thread, NULL);
	debugger_destroy(e->debugger);
	e->cfg.ops->destroy(e->machine);
	pthread_cond_destroy(&e->wake);
	pthread_cond_destroy(&e->gone);
	pthread_mutex_destroy(&e->fifo_lock);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
