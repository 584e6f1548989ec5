// SPDX-License-Identifier: MIT
/*
 * A write that finds no room among the posted ones goes to the model at once. The model's thread
 * may have taken all of them and have gone to sleep by then: it wakes up for this one. On a model
 * that never has work, with that thread where the race needs it.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static int unlock(pthread_mutex_t *m);
#define pthread_mutex_unlock unlock
#include "emu/emu.c"
#undef pthread_mutex_unlock
#include "tap.h"

static struct emu *emu;
static sem_t gate; /* an advance that is held ends */
static atomic_bool hold;
static atomic_uint advances, writes;
static unsigned int slept; /* advances until the thread slept */
static pthread_t writer;
static bool armed;

static int create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
		  struct wse_machine **m)
{
	static char machine;

	(void)cfg, (void)ops, (void)host;
	*m = (struct wse_machine *)(void *)&machine;
	return 0;
}

static void destroy(struct wse_machine *m)
{
	(void)m;
}

static void mmio_write(struct wse_machine *m, uint32_t offset, uint32_t value)
{
	(void)m, (void)offset, (void)value;
	atomic_fetch_add(&writes, 1);
}

static enum wse_stop advance(struct wse_machine *m, uint64_t max, uint64_t *ran)
{
	(void)m, (void)max;
	*ran = 0;
	atomic_fetch_add(&advances, 1);
	if (atomic_load(&hold))
		sem_wait(&gate);
	return WSE_STOP_IDLE;
}

static bool sleeps(void)
{
	bool is;

	pthread_mutex_lock(&emu->fifo_lock);
	is = emu->asleep;
	pthread_mutex_unlock(&emu->fifo_lock);
	return is;
}

static bool wait_asleep(void)
{
	for (int i = 0; i < 10000 && !sleeps(); i++)
		usleep(1000);
	return sleeps();
}

/* The writer has found no room: the model's thread takes what there is, and sleeps. */
static int unlock(pthread_mutex_t *m)
{
	int err = pthread_mutex_unlock(m);

	if (armed && pthread_equal(pthread_self(), writer)) {
		armed = false;
		atomic_store(&hold, false);
		sem_post(&gate);
		wait_asleep();
		slept = atomic_load(&advances);
	}
	return err;
}

int main(void)
{
	static const struct wse_machine_ops ops = {
		.create = create, .destroy = destroy, .mmio_write = mmio_write, .advance = advance};
	const struct emu_cfg cfg = {.ops = &ops};
	unsigned int before;

	writer = pthread_self();
	if (sem_init(&gate, 0, 0) || emu_create(&cfg, &emu) || !ok(wait_asleep(), "a model sleeps"))
		return 1;
	atomic_store(&hold, true);
	before = atomic_load(&advances);
	emu_write32(emu, 0, 0);
	for (int i = 0; i < 10000 && atomic_load(&advances) == before; i++)
		usleep(1000);
	for (unsigned int i = 0; i < FIFO; i++)
		emu_write32(emu, 0, 0);
	ok(atomic_load(&writes) == 1, "%u writes wait while it works on one", FIFO);
	armed = true;
	emu_write32(emu, 0, 0);
	ok(!armed && atomic_load(&writes) == FIFO + 2, "one more finds no room");
	for (int i = 0; i < 10000 && atomic_load(&advances) == slept; i++)
		usleep(1000);
	ok(atomic_load(&advances) > slept, "the model wakes up for it");
	emu_destroy(emu);
	return tap_end();
}
