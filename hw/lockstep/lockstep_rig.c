// SPDX-License-Identifier: MIT
/* A model with host memory and four queues, fed with the commands of one program at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep.h"

#define DEPTH	     128u    /* entries of each ring */
#define RING_BYTES   0x8000u /* submission ring of a queue, then its completion ring */
#define NFAULTS	     1024u
#define OFF_FAULTS   (LS_QUEUES * RING_BYTES)
#define SETUP_CYCLES 1000000u

_Static_assert(DEPTH *(sizeof(struct wse_sqe) + sizeof(struct wse_cqe)) <= RING_BYTES, "rings");
_Static_assert(OFF_FAULTS + NFAULTS * sizeof(struct wse_fault) <= LS_MEM_DATA, "fault ring");

static uint8_t *guest(struct ls_rig *rig, uint64_t iova, size_t len)
{
	uint64_t at = iova - LS_IOVA;

	return at < LS_MEM && len <= LS_MEM - at ? rig->mem + at : NULL;
}

static int dma_read(void *host, uint64_t iova, void *buf, size_t len)
{
	uint8_t *p = guest(host, iova, len);

	if (!p)
		return -EFAULT;
	memcpy(buf, p, len);
	return 0;
}

static int dma_write(void *host, uint64_t iova, const void *buf, size_t len)
{
	uint8_t *p = guest(host, iova, len);

	if (!p)
		return -EFAULT;
	memcpy(p, buf, len);
	return 0;
}

static const void *dma_at(void *host, uint64_t iova, size_t len)
{
	return guest(host, iova, len);
}

static void irq(void *host, unsigned int vector)
{
	(void)host, (void)vector; /* the rig reads completions from the rings */
}

static const struct wse_host_ops host_ops = {dma_read, dma_write, irq, dma_at};

static uint64_t sq_iova(unsigned int q)
{
	return LS_IOVA + q * RING_BYTES;
}

static uint64_t cq_iova(unsigned int q)
{
	return sq_iova(q) + DEPTH * sizeof(struct wse_sqe);
}

static void reg(struct ls_rig *rig, uint32_t offset, uint32_t v)
{
	rig->ops->mmio_write(rig->machine, offset, v);
}

/* more: the device waits for the last doorbell of the batch; the admin queue has no batches */
static void submit(struct ls_rig *rig, unsigned int q, const struct wse_sqe *s, bool more)
{
	struct ls_queue *k = &rig->q[q];

	memcpy(guest(rig, sq_iova(q), 0) + k->tail * sizeof(*s), s, sizeof(*s));
	k->tail = (k->tail + 1) % DEPTH;
	k->nsent++;
	reg(rig, WSE_DB_BASE + q * WSE_DB_STRIDE, k->tail | (q && more ? WSE_DB_MORE_MASK : 0));
}

static void collect_fault(struct ls_rig *rig, uint16_t index, struct ls_done *d)
{
	const struct wse_fault *ring = (const void *)(rig->mem + OFF_FAULTS);

	if (index == 0xffff)
		return;
	if (index >= NFAULTS) {
		rig->broken = "a completion names a fault record outside the ring";
		return;
	}
	d->has_fault = true;
	d->fault = ring[index];
	d->fault.cycle = 0;
	d->fault.seq = 0; /* the order between queues is not defined */
}

/* Takes a queue's new completions. True: all commands sent are done. */
static bool collect_queue(struct ls_rig *rig, unsigned int q)
{
	struct ls_queue *k = &rig->q[q];
	const struct wse_cqe *ring = (const void *)guest(rig, cq_iova(q), 0);
	uint32_t was = k->head;

	while ((ring[k->head].status & 1) == k->phase) {
		const struct wse_cqe *e = &ring[k->head];
		struct ls_done *d = &k->done[k->ndone];

		if (k->ndone == k->nsent) {
			rig->broken = "a completion without a command";
			return true;
		}
		*d = (struct ls_done){.cid = e->cid, .status = e->status >> 1, .sqhd = e->sqhd};
		collect_fault(rig, e->fault, d);
		k->ndone++;
		k->head = (k->head + 1) % DEPTH;
		k->phase ^= !k->head;
	}
	if (was != k->head)
		reg(rig, WSE_DB_BASE + q * WSE_DB_STRIDE + 4, k->head);
	return k->ndone == k->nsent;
}

static bool collect(struct ls_rig *rig)
{
	bool all = true;

	for (unsigned int q = 0; q < LS_QUEUES; q++)
		all &= collect_queue(rig, q);
	reg(rig, WSE_REG_FAULT_HEAD, rig->ops->mmio_read(rig->machine, WSE_REG_FAULT_TAIL));
	return all;
}

/* Runs until all commands have completed and nothing moves. -ETIME; -EIO: halted. */
static int drain(struct ls_rig *rig, uint64_t max_cycles)
{
	bool all = false;

	while (max_cycles) {
		uint64_t ran = 0;
		enum wse_stop why = rig->ops->advance(rig->machine,
						      max_cycles < 4096 ? max_cycles : 4096, &ran);

		max_cycles -= ran;
		all = collect(rig);
		if (rig->broken || why == WSE_STOP_HALTED)
			return -EIO;
		if (why == WSE_STOP_BREAK)
			return -EINTR;
		if (why == WSE_STOP_IDLE) {
			if (all)
				return 0;
			if (!ran) {
				rig->broken = "idle, although commands have not completed";
				return -EIO;
			}
		}
	}
	return -ETIME;
}

/* Sets the rings of a queue to their state after creation. */
static void clear_queue(struct ls_rig *rig, unsigned int q)
{
	rig->q[q] = (struct ls_queue){.phase = 1};
	memset(guest(rig, sq_iova(q), 0), 0, RING_BYTES);
}

static struct wse_sqe create_sqe(unsigned int q)
{
	return (struct wse_sqe){
		.opcode = WSE_OP_CREATE_QUEUE,
		.queue = (uint8_t)q,
		.buf = sq_iova(q),
		.mask = cq_iova(q),
		.seq = q << 16 | (DEPTH - 1),
	};
}

/*
 * Executes an admin command to its end. It may empty the other queues: none of their doorbells may
 * come after that (hw/doc/host.md, "CTX_RESET").
 */
static int admin(struct ls_rig *rig, const struct wse_sqe *s)
{
	struct ls_queue *k = &rig->q[0];

	k->ndone = k->nsent = 0;
	submit(rig, 0, s, false);
	for (uint64_t cycles = 0, ran; cycles < SETUP_CYCLES && !k->ndone; cycles += ran + 1) {
		if (rig->ops->advance(rig->machine, 256, &ran) == WSE_STOP_HALTED)
			return -EIO;
		collect_queue(rig, 0);
		if (rig->broken)
			return -EIO;
	}
	if (!k->ndone || k->done[0].status) {
		rig->broken = !k->ndone ? "an admin command does not complete"
			      : s->opcode == WSE_OP_CREATE_QUEUE ? "it refuses to create a queue"
								 : "an admin command fails";
		return -EIO;
	}
	k->ndone = k->nsent = 0;
	return 0;
}

static int setup(struct ls_rig *rig)
{
	int err = 0;

	/* writes in flight may still arrive before the reset is over */
	reg(rig, WSE_REG_CTRL, WSE_CTRL_RST_MASK);
	for (unsigned int q = 0; q < LS_QUEUES; q++)
		clear_queue(rig, q);
	memset(rig->mem, 0, LS_MEM_DATA);
	reg(rig, WSE_REG_AQ_SIZE, (DEPTH - 1) << 16 | (DEPTH - 1));
	reg(rig, WSE_REG_ASQ_LO, (uint32_t)sq_iova(0));
	reg(rig, WSE_REG_ASQ_HI, (uint32_t)(sq_iova(0) >> 32));
	reg(rig, WSE_REG_ACQ_LO, (uint32_t)cq_iova(0));
	reg(rig, WSE_REG_ACQ_HI, (uint32_t)(cq_iova(0) >> 32));
	reg(rig, WSE_REG_FAULT_LO, (uint32_t)(LS_IOVA + OFF_FAULTS));
	reg(rig, WSE_REG_FAULT_HI, (uint32_t)((LS_IOVA + OFF_FAULTS) >> 32));
	reg(rig, WSE_REG_FAULT_SIZE, NFAULTS);
	reg(rig, WSE_REG_CTRL, WSE_CTRL_EN_MASK);
	for (unsigned int q = 1; q < LS_QUEUES && !err; q++) {
		struct wse_sqe s = create_sqe(q);

		err = admin(rig, &s);
	}
	return err;
}

int ls_rig_create(struct ls_rig *rig, const char *model, const struct wse_machine_cfg *cfg)
{
	int err;

	*rig = (struct ls_rig){
		.ops = wse_machine_find(model), .rows = cfg->rows, .cols = cfg->cols};
	if (!rig->ops)
		return -ENOENT;
	rig->mem = calloc(1, LS_MEM);
	if (!rig->mem)
		return -ENOMEM;
	err = rig->ops->create(cfg, &host_ops, rig, &rig->machine);
	if (!err)
		err = setup(rig);
	return err;
}

void ls_rig_destroy(struct ls_rig *rig)
{
	if (rig->machine)
		rig->ops->destroy(rig->machine);
	free(rig->mem);
}

/* --- a program before, which is cut off --- */

static int load(struct ls_rig *rig, const struct ls_program *p)
{
	int err = 0;

	for (uint32_t core = 0; !err && core < p->rows * p->cols; core++)
		err = rig->ops->poke(rig->machine, core, WSE_SRAM_BASE, p->image[core],
				     WSE_SRAM_BYTES);
	memcpy(rig->mem + LS_MEM_DATA, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	return err;
}

/* The same by commands of the admin queue, for a tile that has run a program. */
static int load_by_copy(struct ls_rig *rig, const struct ls_program *p)
{
	struct wse_sqe s = {
		.opcode = WSE_OP_SCRUB,
		.rows = (uint16_t)p->rows,
		.cols = (uint16_t)p->cols,
		.budget = SETUP_CYCLES,
	};
	int err = admin(rig, &s);

	for (uint32_t core = 0; !err && core < p->rows * p->cols; core++) {
		s = (struct wse_sqe){
			.opcode = WSE_OP_COPY_IN,
			.flags = WSE_SQF_BUF_DIRECT,
			.row0 = (uint16_t)(core / p->cols),
			.col0 = (uint16_t)(core % p->cols),
			.rows = 1,
			.cols = 1,
			.budget = SETUP_CYCLES,
			.buf = LS_IOVA + LS_MEM_DATA,
			.len = WSE_SRAM_BYTES,
			.nline = 1,
		};
		memcpy(rig->mem + LS_MEM_DATA, p->image[core], WSE_SRAM_BYTES);
		err = admin(rig, &s);
	}
	memcpy(rig->mem + LS_MEM_DATA, p->mem + LS_MEM_DATA, LS_MEM - LS_MEM_DATA);
	return err;
}

/* Whether a stream is the oldest incomplete command of a queue. */
static bool streaming(struct ls_rig *rig, const struct ls_program *p)
{
	collect(rig);
	for (unsigned int q = 1; q < LS_QUEUES; q++) {
		unsigned int n = 0;

		for (unsigned int i = 0; i < p->ncmds; i++) {
			uint8_t op = p->cmd[i].sqe.opcode;

			if (p->cmd[i].queue == q && rig->q[q].nsent && n++ == rig->q[q].ndone &&
			    (op == WSE_OP_STREAM_IN || op == WSE_OP_STREAM_OUT))
				return true;
		}
	}
	return false;
}

/* Lets time pass, whatever happens in it. */
static void pass(struct ls_rig *rig, uint64_t cycles)
{
	uint64_t ran = 1;

	while (cycles && ran && !rig->broken) {
		uint64_t n = cycles < 256 ? cycles : 256;

		if (rig->ops->advance(rig->machine, n, &ran) == WSE_STOP_IDLE)
			break;
		cycles -= ran < cycles ? ran : cycles;
	}
}

static int end_command(struct ls_rig *rig, const struct ls_cmd *c)
{
	struct wse_sqe s = c->sqe;
	int err = 0;

	if (s.opcode == WSE_OP_CREATE_QUEUE) {
		s = create_sqe(s.queue);
		clear_queue(rig, s.queue);
	}
	if (c->queue)
		submit(rig, c->queue, &s, false);
	else
		err = admin(rig, &s);
	/* no more completions come from there */
	if (!err && s.opcode == WSE_OP_DELETE_QUEUE)
		clear_queue(rig, s.queue);
	return err;
}

static int run_before(struct ls_rig *rig, const struct ls_before *b, uint64_t seed)
{
	const struct wse_sqe reset = {.opcode = WSE_OP_CTX_RESET};
	struct rng r = {seed};
	int err = load(rig, b->prog);

	/* the last doorbell of a batch may never come */
	for (unsigned int i = 0; i < b->prog->ncmds; i++)
		submit(rig, b->prog->cmd[i].queue, &b->prog->cmd[i].sqe, rng_chance(&r, 20));
	pass(rig, b->delay);
	for (unsigned int i = 0; !err && i < b->nends; i++) {
		rig->cut[b->end[i].sqe.opcode] += streaming(rig, b->prog);
		err = end_command(rig, &b->end[i]);
		rig->ended[b->end[i].sqe.opcode]++;
		pass(rig, b->gap[i]);
	}
	rig->resets[b->reset] += streaming(rig, b->prog);
	if (err || rig->broken)
		return -EIO;
	if (b->reset == LS_CTX_RESET) {
		err = admin(rig, &reset);
		for (unsigned int q = 1; q < LS_QUEUES; q++)
			clear_queue(rig, q);
		return err;
	}
	if (b->reset == LS_FLR)
		rig->ops->reset(rig->machine);
	return setup(rig);
}

int ls_rig_load(struct ls_rig *rig, const struct ls_program *p)
{
	int err;

	/* a reset between programs: nothing of one may remain for the next */
	err = setup(rig);
	if (err || !p->before.prog)
		return err ? err : load(rig, p);
	err = run_before(rig, &p->before, p->seed);
	if (err)
		return err;
	return p->before.reset == LS_CTX_RESET ? load_by_copy(rig, p) : load(rig, p);
}

/*
 * All commands as one batch, by a host that may pause between any two of its doorbells. A CLOSED
 * START would be a deadlock there if the device counted one ring after the other.
 */
int ls_rig_run(struct ls_rig *rig, const struct ls_program *p, uint64_t max_cycles)
{
	struct rng r = {p->seed};
	unsigned int last = p->ncmds;

	while (last && !p->cmd[last - 1].queue)
		last--;
	for (unsigned int i = 0; i < p->ncmds; i++) {
		bool more = i + 1 < last;

		submit(rig, p->cmd[i].queue, &p->cmd[i].sqe, more);
		if (more && p->cmd[i].queue && rng_chance(&r, 20)) {
			pass(rig, rng_below(&r, 3000));
			rig->stops++;
		}
	}
	return drain(rig, max_cycles);
}
