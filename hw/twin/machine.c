// SPDX-License-Identifier: MIT
/* The twin as a device model: creation, and the rounds that make time pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "twin/exact/fp.h"
#include "twin/exact/sources.h"
#include "twin/parts/pace.h"
#include "twin/parts/team.h"
#include "twin/twin.h"

#define WORTH 24u /* cores of a round whose turns are worth a hand-over to other threads */
#define AHEAD 2u  /* cores whose memory is asked for before their turns */
#define LINE  64u /* of the host's caches */
/* an odd number of lines a core: else the same place of all SRAMs would share a few sets */
#define SRAM_STRIDE (WSE_SRAM_BYTES + LINE)
#define HUGE	    ((size_t)2 << 20) /* a huge page of the host */

/*
 * Cores, and their SRAMs behind them; on huge pages if they fill one, see README.md. Not from the
 * heap: what it has used before lies on small pages already.
 */
static int map_cores(struct wse_machine *m)
{
	size_t bytes = m->ncores * (sizeof(*m->core) + SRAM_STRIDE);
	bool huge = bytes >= HUGE;

	if (huge)
		bytes = (bytes + HUGE - 1) & ~(HUGE - 1);
	m->mapped = bytes + HUGE;
	m->map = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->map == MAP_FAILED)
		return -ENOMEM;
	m->core = (void *)(((uintptr_t)m->map + HUGE - 1) & ~(HUGE - 1));
	if (huge)
		madvise(m->core, bytes, MADV_HUGEPAGE);
	return 0;
}

static void destroy(struct wse_machine *m)
{
	uint32_t i;

	if (!m)
		return;
	if (m->in && m->out) {
		twin_ports_reset(m, X_IN);
		twin_ports_reset(m, X_OUT);
		for (i = 0; i < m->cols; i++)
			free(m->in[i].w);
	}
	if (m->fast)
		m->fast->destroy(m);
	for (i = 0; m->core && i < m->ncores; i++)
		free(m->core[i].picks);
	if (m->core)
		munmap(m->map, m->mapped);
	free(m->dec);
	free(m->takes);
	twin_mesh_destroy(m);
	free(m->in);
	free(m->bus);
	free(m->out);
	free(m->races);
	free(m->events);
	free(m->pace);
	twin_team_destroy(m->team);
	twin_team_enter(-1);
	free(m);
}

static int create(const struct wse_machine_cfg *cfg, const struct wse_host_ops *ops, void *host,
		  struct wse_machine **out)
{
	struct wse_machine *m;
	size_t n, i;

	if (!cfg || !ops || !ops->dma_read || !ops->dma_write || !ops->irq || !out)
		return -EINVAL;
	if (!cfg->rows || !cfg->cols || cfg->rows > 0xffff || cfg->cols > 0xffff)
		return -EINVAL;
	if (cfg->group && cfg->cols % cfg->group)
		return -EINVAL;
	n = (size_t)cfg->rows * cfg->cols;
	if (n >= 1u << 24)
		return -ENOTSUP;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->cfg = *cfg;
	if (!m->cfg.dma_latency)
		m->cfg.dma_latency = 64;
	m->ops = *ops;
	m->host = host;
	m->rows = cfg->rows;
	m->cols = cfg->cols;
	m->ncores = n;
	m->fast = cfg->flags & WSE_MACHINE_EXACT ? NULL : twin_fast_find();
	twin_team_enter(1);
	m->cpus = twin_team_cpus();
	m->team = twin_team_create();
	m->dec = calloc(n * (TWIN_NWORDS + 1), sizeof(*m->dec));
	m->takes = calloc(n, sizeof(*m->takes));
	m->in = calloc(m->cols, sizeof(*m->in));
	m->out = calloc(m->cols, sizeof(*m->out));
	/* written each round: its lines are shared with no other device's */
	m->pace = aligned_alloc(64, (sizeof(*m->pace) + 63) & ~63ul);
	if (m->pace)
		memset(m->pace, 0, sizeof(*m->pace));
	if (map_cores(m) || !m->team || !m->pace || !m->dec || !m->takes || !m->in || !m->out) {
		destroy(m);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		m->core[i].idx = i;
		m->core[i].sram = (uint8_t *)(m->core + n) + i * SRAM_STRIDE;
		m->core[i].row = i / m->cols;
		m->core[i].col = i % m->cols;
		m->core[i].takes = &m->takes[m->core[i].col * m->rows + m->core[i].row];
		m->core[i].dec = m->dec + i * (TWIN_NWORDS + 1);
	}
	if ((cfg->flags & WSE_MACHINE_CHECK_RACES && twin_races_create(m)) || twin_mesh_create(m) ||
	    (m->fast && m->fast->create(m)) || twin_bus_create(m)) {
		destroy(m);
		return -ENOMEM;
	}
	twin_reset(m);
	*out = m;
	return 0;
}

/* what a turn looks at first; on a large tile it has left the caches since the last one */
static void prefetch(const struct twin_core *c)
{
	uint32_t i;

	__builtin_prefetch(c);
	__builtin_prefetch(c->entry);
	for (i = 0; i < 3; i++)
		__builtin_prefetch(&c->eng[i]);
}

void twin_band_run(struct twin_mesh *m, struct twin_band *b)
{
	uint32_t n = b->nrun, i, *list;
	bool far = m->dev->nmesh > 1;

	b->cur ^= 1;
	list = b->run[b->cur];
	b->nrun = 0;
	if (unlikely(m->shuffle))
		twin_shuffle_list(m, list, n);
	for (i = 0; i < n; i++) {
		struct twin_core *c = &m->core[list[i]];

		if (far && i + 2 * AHEAD < n)
			__builtin_prefetch(&m->core[list[i + 2 * AHEAD]].pc);
		if (far && i + AHEAD < n)
			prefetch(&m->core[list[i + AHEAD]]);
		c->queued = false;
		if (unlikely(m->shuffle))
			twin_shuffle_turn(m, c);
		else
			twin_core_run(m, c, m->limit);
	}
}

/* the turns of a part's cores */
static void run_part(struct twin_mesh *m)
{
	uint32_t i;

	for (i = 0; i < m->nbands; i++)
		if (m->band[i].nrun)
			twin_band_run(m, &m->band[i]);
	twin_fabric_drain(m);
}

struct turns {
	struct wse_machine *m;
	uint32_t threads;
	bool taken[TWIN_PARTS_MAX];
};

/* a thread's own parts, whose memory is near; then those that other threads have not begun */
static void run_parts(void *arg, uint32_t thread)
{
	struct turns *t = arg;
	uint32_t n = t->m->nmesh, i;

	for (i = 0; i < n; i++)
		if (twin_mesh_thread(t->m, i, t->threads) == thread &&
		    !__atomic_exchange_n(&t->taken[i], true, __ATOMIC_RELAXED))
			run_part(&t->m->mesh[i]);
	for (i = n; t->threads > 1 && i-- > 0;)
		if (!t->taken[i] && !__atomic_exchange_n(&t->taken[i], true, __ATOMIC_RELAXED))
			run_part(&t->m->mesh[i]);
}

static void run_cores(struct wse_machine *m)
{
	struct turns t = {.m = m, .threads = 1};
	uint32_t n = 0, i;

	for (i = 0; i < m->nmesh; i++)
		n += twin_mesh_nrun(&m->mesh[i]);
	m->pace->work += n;
	if (n >= WORTH || m->cfg.flags & TWIN_MODEL_PARTS)
		t.threads = m->threads;
	m->mesh->ways.threaded += t.threads > 1;
	twin_team_run(m->team, t.threads, run_parts, &t);
	twin_fabric_settle(m);
}

/* the work of one round; false: nothing moved and nothing can until the host acts or a budget ends
 */
static bool round_work(struct wse_machine *m)
{
	bool any;

	m->moved = false;
	m->round = m->spent = 0;
	m->threads = twin_pace(m, m->most);
	twin_mesh_begin(m);
	any = twin_queues_run(m);
	if (!m->halted) {
		run_cores(m);
		any |= twin_sources_run(m);
	}
	any |= twin_mesh_gather(m);
	return any || m->moved || m->halted;
}

/* the next cycle at which a budget ends; UINT64_MAX: none */
static uint64_t next_deadline(const struct wse_machine *m)
{
	uint64_t t = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < X_COUNT; i++)
		if (m->job[i].active && m->job[i].deadline < t)
			t = m->job[i].deadline;
	return t;
}

/* one round, at most up to cycle end; true: idle */
static bool round_once(struct wse_machine *m, uint64_t end)
{
	uint64_t t, room = end - m->now;

	if (m->uncounted_cycles) {
		t = m->uncounted_cycles < room ? m->uncounted_cycles : room;
		m->now += t;
		m->uncounted_cycles -= t;
		return false;
	}
	if (!round_work(m)) {
		if (m->quiet) {
			if (!twin_queues_busy(m))
				return true;
			t = next_deadline(m);
			m->now = t < end ? (t > m->now ? t : m->now) : end;
			return false;
		}
		m->quiet = true;
		return false;
	}
	m->quiet = false;
	t = (uint64_t)m->spent + m->round;
	t = twin_bus_round(m, t ? t : 1);
	m->now += t < room ? t : room;
	m->uncounted_cycles = t < room ? 0 : t - room;
	return false;
}

/* instructions of a core in a round */
static void set_limit(struct wse_machine *m, uint32_t limit)
{
	uint32_t i;

	for (i = 0; i < m->nmesh; i++) {
		m->mesh[i].limit = limit;
		/*
		 * a step is one instruction, and the threads of parts know no other lists than
		 * their own
		 */
		m->mesh[i].may_resume = limit > 1 && m->nmesh == 1 && !m->mesh[i].shuffle;
	}
}

/*
 * How many threads work. Nothing depends on it but time; traces are called from the caller's
 * thread. The exact twin has one, unless a test of threads cuts it into parts.
 */
static uint32_t threads(struct wse_machine *m)
{
	uint32_t n = m->cfg.threads ? m->cfg.threads : twin_team_share(m->cpus);

	if (n > m->nmesh)
		n = m->nmesh;
	if (m->traced || m->events || (!m->fast && !(m->cfg.flags & TWIN_MODEL_PARTS)))
		n = 1;
	return n > 1 ? twin_team_size(m->team, n) : 1;
}

/*
 * Rounds of at most max_cycles in all. stepped: until that core, if any, has retired an
 * instruction, one in a round.
 */
static enum wse_stop run(struct wse_machine *m, uint64_t max_cycles,
			 const struct twin_core *stepped)
{
	uint64_t end = m->now + max_cycles, before = stepped ? stepped->retired : 0;
	enum wse_stop why = WSE_STOP_CYCLES;
	unsigned int csr = twin_fp_enter();

	if (end < max_cycles)
		end = UINT64_MAX;
	m->most = stepped ? 1 : threads(m);
	set_limit(m, stepped ? 1 : TWIN_QUANTUM);
	while (m->now < end && why == WSE_STOP_CYCLES) {
		if (m->halted) {
			why = WSE_STOP_HALTED;
			break;
		}
		m->brk = false; /* it would hold traced cores */
		if (round_once(m, end))
			why = WSE_STOP_IDLE;
		else if (m->brk && !stepped)
			why = WSE_STOP_BREAK;
		if (stepped && stepped->retired != before)
			why = WSE_STOP_BREAK;
	}
	twin_fp_leave(csr);
	return why;
}

static enum wse_stop advance(struct wse_machine *m, uint64_t max_cycles, uint64_t *ran)
{
	uint64_t start = m->now;
	enum wse_stop why = run(m, max_cycles, NULL);

	if (ran)
		*ran = m->now - start;
	return why;
}

static void brk(struct wse_machine *m)
{
	m->brk = true;
}

static int boot(struct wse_machine *m, uint32_t core, uint32_t pc)
{
	if (core >= m->ncores || pc & 3 || pc - WSE_SRAM_BASE >= WSE_SRAM_BYTES)
		return -EINVAL;
	twin_core_boot(m->core[core].mesh, &m->core[core], pc);
	return 0;
}

static int step(struct wse_machine *m, uint32_t core, uint64_t max_cycles)
{
	if (core >= m->ncores)
		return -EINVAL;
	return run(m, max_cycles, &m->core[core]) == WSE_STOP_BREAK ? 0 : -ETIME;
}

static uint64_t cycles(struct wse_machine *m)
{
	return m->now;
}

/* each part counts by itself */
void twin_ways(const struct wse_machine *m, struct twin_ways *w)
{
	uint32_t i;

	memset(w, 0, sizeof(*w));
	for (i = 0; i < m->nmesh; i++) {
#define WAY_SUM(name, what) w->name += m->mesh[i].ways.name;
		TWIN_WAYS(WAY_SUM)
	}
}

bool twin_has_ways(void)
{
	return twin_fast_find() != NULL;
}

/* the twin has no signals */
static int wave_begin(struct wse_machine *m, const struct wse_wave *w)
{
	(void)m, (void)w;
	return -ENOTSUP;
}

static int wave_end(struct wse_machine *m, uint64_t *ran)
{
	(void)m, (void)ran;
	return -ENOENT;
}

const struct wse_machine_ops wse_machine_func = {
	.api = WSE_MACHINE_API,
	.name = "func",
	.create = create,
	.destroy = destroy,
	.mmio_read = twin_mmio_read,
	.mmio_write = twin_mmio_write,
	.advance = advance,
	.brk = brk,
	.reset = twin_reset,
	.peek = twin_peek,
	.poke = twin_poke,
	.get_acc = twin_get_acc,
	.get_state = twin_get_state,
	.set_state = twin_set_state,
	.boot = boot,
	.step = step,
	.trace_retire = twin_trace_retire,
	.replay_pick = twin_replay_pick,
	.get_units = twin_get_units,
	.cycles = cycles,
	.wave_begin = wave_begin,
	.wave_end = wave_end,
	.events = twin_ask_events,
};
