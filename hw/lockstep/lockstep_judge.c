// SPDX-License-Identifier: MIT
/* Runs a program on both models and finds the first difference. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep.h"

static void differ(struct ls_judge *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void differ(struct ls_judge *j, const char *fmt, ...)
{
	va_list ap;

	if (j->differ)
		return;
	j->differ = true;
	va_start(ap, fmt);
	vsnprintf(j->what, sizeof(j->what), fmt, ap);
	va_end(ap);
}

static uint32_t row_of(const struct ls_judge *j, uint32_t core)
{
	return core / j->lead.cols;
}

static uint32_t col_of(const struct ls_judge *j, uint32_t core)
{
	return core % j->lead.cols;
}

/* --- the leader's side: record --- */

static void cover(struct ls_judge *j, const struct wse_retire *r)
{
	j->retired += !r->trap;
	j->traps += r->trap;
	j->picks += r->pick;
	ls_cover_retire(&j->cover, r);
}

static void on_lead(void *arg, const struct wse_retire *r)
{
	struct ls_judge *j = arg;
	struct ls_trace *t;

	if (r->core >= j->lead.rows * j->lead.cols) {
		differ(j, "the leader reports core %u, which does not exist", r->core);
		return;
	}
	t = &j->trace[r->core];
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 4096;
		struct wse_retire *p = realloc(t->rec, room * sizeof(*p));

		if (!p) {
			differ(j, "out of memory");
			return;
		}
		t->rec = p;
		t->room = room;
	}
	t->rec[t->count++] = *r;
	cover(j, r);
}

/* --- the follower's side: compare --- */

/* Counters of cycles differ between models; programs discard the values that they read there. */
static bool reads_cycles(uint32_t insn)
{
	uint32_t csr = insn >> 20;

	return (insn & 0x7f) == 0x73 && (insn >> 12 & 3) &&
	       (csr == 0xb00 || csr == 0xb80 || csr == 0xc00 || csr == 0xc80);
}

/* The control word of an ISSUE, from the last write of its register, names the operation. */
static void name_operation(const struct ls_trace *t, uint32_t insn, char *text, size_t size)
{
	size_t used = strlen(text);
	const char *name;

	if ((insn & 0x707f) != (0x0b | WSE_F3_ISSUE << 12))
		return;
	for (size_t i = t->next < t->count ? t->next : t->count; i--;) {
		if (!t->rec[i].trap && t->rec[i].rd == (insn >> 15 & 31)) {
			name = ls_operation(t->rec[i].rd_value & WSE_TCW_OP_MASK);
			snprintf(text + used, size - used, " (%s)", name);
			return;
		}
	}
}

static void instruction(struct ls_judge *j, const struct wse_retire *a, const struct wse_retire *b,
			const char *what, uint32_t va, uint32_t vb)
{
	char text[64];

	ls_disassemble(a->insn, text, sizeof(text));
	name_operation(&j->trace[a->core], a->insn, text, sizeof(text));
	differ(j,
	       "core %u,%u instruction %zu pc 0x%08x [%08x %s]: %s is 0x%08x on %s, 0x%08x on %s",
	       col_of(j, a->core), row_of(j, a->core), j->trace[a->core].next, a->pc, a->insn, text,
	       what, va, j->lead.ops->name, vb, j->follow.ops->name);
	(void)b;
}

static void compare(struct ls_judge *j, const struct wse_retire *a, const struct wse_retire *b)
{
	if (a->pc != b->pc)
		instruction(j, a, b, "pc", a->pc, b->pc);
	else if (a->insn != b->insn)
		instruction(j, a, b, "the instruction", a->insn, b->insn);
	else if (a->trap != b->trap)
		instruction(j, a, b, "trapped", a->trap, b->trap);
	else if (a->trap) {
		if (a->rd_value != b->rd_value)
			instruction(j, a, b, "mcause", a->rd_value, b->rd_value);
	} else if (a->rd != b->rd)
		instruction(j, a, b, "rd", a->rd, b->rd);
	else if (a->rd && a->rd_value != b->rd_value && !reads_cycles(a->insn)) {
		char name[8];

		snprintf(name, sizeof(name), "x%u", a->rd & 31);
		instruction(j, a, b, name, a->rd_value, b->rd_value);
	} else if (a->mem_size != b->mem_size)
		instruction(j, a, b, "size of the store", a->mem_size, b->mem_size);
	else if (a->mem_size && a->mem_addr != b->mem_addr)
		instruction(j, a, b, "address of the store", a->mem_addr, b->mem_addr);
	else if (a->mem_size && (a->mem_data ^ b->mem_data) << (32 - 8 * a->mem_size))
		instruction(j, a, b, "data of the store", a->mem_data, b->mem_data);
	else if (a->pick != b->pick)
		instruction(j, a, b, "a pick", a->pick, b->pick);
	else if (a->pick && a->pick_task != b->pick_task)
		instruction(j, a, b, "the task picked", a->pick_task, b->pick_task);
	else if (a->pick && a->wdata != b->wdata)
		instruction(j, a, b, "wse_wdata", a->wdata, b->wdata);
	else if (a->pick && a->winfo != b->winfo)
		instruction(j, a, b, "wse_winfo", a->winfo, b->winfo);
}

static void on_follow(void *arg, const struct wse_retire *r)
{
	struct ls_judge *j = arg;
	struct wse_retire b = *r;
	struct ls_trace *t;

	if (j->differ)
		return;
	if (r->core >= j->lead.rows * j->lead.cols) {
		differ(j, "the follower reports core %u, which does not exist", r->core);
		return;
	}
	t = &j->trace[r->core];
	if (j->inject && !--j->inject) {
		if (b.rd || b.trap)
			b.rd_value ^= 0x00010000;
		else
			b.pc ^= 4;
	}
	if (t->next < t->count) {
		compare(j, &t->rec[t->next], &b);
	} else if (!j->prog->faults) {
		char text[64];

		ls_disassemble(b.insn, text, sizeof(text));
		differ(j,
		       "core %u,%u pc 0x%08x [%08x %s]: retired on %s only, after %zu instructions",
		       col_of(j, r->core), row_of(j, r->core), b.pc, b.insn, text,
		       j->follow.ops->name, t->count);
	}
	j->placed = j->differ;
	j->core = r->core;
	j->index = t->next++;
	if (j->differ)
		j->follow.ops->brk(j->follow.machine);
}

static int replay_picks(struct ls_judge *j)
{
	for (uint32_t core = 0; core < j->lead.rows * j->lead.cols; core++) {
		const struct ls_trace *t = &j->trace[core];

		for (size_t i = 0; i < t->count; i++) {
			const struct wse_retire *r = &t->rec[i];
			int err;

			if (!r->pick || r->trap)
				continue;
			err = j->follow.ops->replay_pick(j->follow.machine, core, r->pick_task,
							 r->winfo);
			if (err && err != -ENOTSUP)
				return err;
		}
	}
	return 0;
}

/* --- final states --- */

static void compare_fault(struct ls_judge *j, unsigned int q, unsigned int i,
			  const struct ls_done *a, const struct ls_done *b)
{
	static const struct {
		const char *name;
		uint8_t at, size;
	} member[] = {
		{"status", 0, 2}, {"queue", 2, 2},  {"cid", 4, 2},    {"ncores", 6, 2},
		{"row", 8, 2},	  {"col", 10, 2},   {"cause", 12, 4}, {"pc", 16, 4},
		{"addr", 20, 4},  {"color", 24, 4}, {"value", 28, 4}, {"iova", 32, 8},
	};

	for (size_t k = 0; k < sizeof(member) / sizeof(*member); k++) {
		uint64_t va = 0, vb = 0;

		/* the scalar core's pc at a tensor fault or a time-out is undefined */
		if (member[k].at == 16 && (a->fault.cause >= 0x100 || a->status == WSE_ST_TIMEOUT))
			continue;
		/* of a DMA error models may name the request or the beat */
		if (member[k].at == 32 && a->fault.iova && b->fault.iova)
			continue;
		memcpy(&va, (const char *)&a->fault + member[k].at, member[k].size);
		memcpy(&vb, (const char *)&b->fault + member[k].at, member[k].size);
		if (va != vb)
			differ(j,
			       "queue %u command %u (%s, opcode 0x%02x): fault record's %s is "
			       "0x%" PRIx64 " on %s, 0x%" PRIx64 " on %s (cause 0x%x, core %u,%u)",
			       q, i, j->prog->kind,
			       j->prog->cmd[a->cid < j->prog->ncmds ? a->cid : 0].sqe.opcode,
			       member[k].name, va, j->lead.ops->name, vb, j->follow.ops->name,
			       a->fault.cause, a->fault.col, a->fault.row);
	}
}

/* The nth command of a queue. */
static const struct wse_sqe *command_of(const struct ls_program *p, unsigned int q, unsigned int n)
{
	for (unsigned int i = 0; i < p->ncmds; i++) {
		if (p->cmd[i].queue == q && !n--)
			return &p->cmd[i].sqe;
	}
	return &p->cmd[0].sqe; /* not reached: the rig refuses a completion too many */
}

static void compare_completions(struct ls_judge *j)
{
	for (unsigned int q = 0; q < LS_QUEUES; q++) {
		const struct ls_queue *ka = &j->lead.q[q], *kb = &j->follow.q[q];

		if (ka->ndone != kb->ndone)
			differ(j, "queue %u: %u completions on %s, %u on %s", q, ka->ndone,
			       j->lead.ops->name, kb->ndone, j->follow.ops->name);
		for (unsigned int i = 0; i < ka->ndone && i < kb->ndone; i++) {
			const struct ls_done *a = &ka->done[i], *b = &kb->done[i];

			ls_cover_done(&j->cover, command_of(j->prog, q, i), a);
			if (a->cid != b->cid)
				differ(j, "queue %u completion %u: cid %u on %s, %u on %s", q, i,
				       a->cid, j->lead.ops->name, b->cid, j->follow.ops->name);
			else if (a->status != b->status)
				differ(j,
				       "queue %u completion %u (cid %u): status %u on %s, %u on %s",
				       q, i, a->cid, a->status, j->lead.ops->name, b->status,
				       j->follow.ops->name);
			else if (a->sqhd != b->sqhd)
				differ(j,
				       "queue %u completion %u (cid %u): sqhd %u on %s, %u on %s",
				       q, i, a->cid, a->sqhd, j->lead.ops->name, b->sqhd,
				       j->follow.ops->name);
			else if (a->has_fault != b->has_fault)
				differ(j,
				       "queue %u completion %u (cid %u): fault record %u on %s, %u "
				       "on %s",
				       q, i, a->cid, a->has_fault, j->lead.ops->name, b->has_fault,
				       j->follow.ops->name);
			else if (a->has_fault)
				compare_fault(j, q, i, a, b);
		}
	}
}

static void compare_core(struct ls_judge *j, uint32_t core)
{
	static uint8_t sa[WSE_SRAM_BYTES], sb[WSE_SRAM_BYTES];
	struct wse_core_state a = {0}, b = {0};
	uint32_t aa[WSE_NACC], ab[WSE_NACC];
	const uint32_t r = row_of(j, core), c = col_of(j, core);
	const char *la = j->lead.ops->name, *lb = j->follow.ops->name;

	j->lead.ops->get_state(j->lead.machine, core, &a);
	j->follow.ops->get_state(j->follow.machine, core, &b);
	j->lead.ops->get_acc(j->lead.machine, core, aa);
	j->follow.ops->get_acc(j->follow.machine, core, ab);
	j->lead.ops->peek(j->lead.machine, core, WSE_SRAM_BASE, sa, sizeof(sa));
	j->follow.ops->peek(j->follow.machine, core, WSE_SRAM_BASE, sb, sizeof(sb));
	for (uint32_t i = 0; i < WSE_SRAM_BYTES; i += 4) {
		uint32_t va, vb;

		memcpy(&va, sa + i, 4);
		memcpy(&vb, sb + i, 4);
		if (va != vb) {
			differ(j, "core %u,%u SRAM 0x%08x: 0x%08x on %s, 0x%08x on %s", c, r,
			       WSE_SRAM_BASE + i, va, la, vb, lb);
			break;
		}
	}
	for (uint32_t i = 0; i < WSE_NACC; i++) {
		if (aa[i] != ab[i])
			differ(j, "core %u,%u accumulator %u: 0x%08x on %s, 0x%08x on %s", c, r, i,
			       aa[i], la, ab[i], lb);
	}
	if (a.run != b.run)
		differ(j, "core %u,%u run state: %u on %s, %u on %s", c, r, a.run, la, b.run, lb);
	if (a.run == WSE_CORE_FAULTED &&
	    (a.fault_cause != b.fault_cause || a.fault_addr != b.fault_addr))
		differ(j, "core %u,%u fault: cause 0x%x address 0x%08x on %s, 0x%x 0x%08x on %s", c,
		       r, a.fault_cause, a.fault_addr, la, b.fault_cause, b.fault_addr, lb);
	if (j->prog->faults)
		return;
	for (unsigned int x = 1; x < 32; x++) {
		if (a.x[x] != b.x[x])
			differ(j, "core %u,%u x%u at the end: 0x%08x on %s, 0x%08x on %s", c, r, x,
			       a.x[x], la, b.x[x], lb);
	}
	if (a.minstret != b.minstret)
		differ(j, "core %u,%u minstret: %" PRIu64 " on %s, %" PRIu64 " on %s", c, r,
		       a.minstret, la, b.minstret, lb);
}

static bool is_open(const struct ls_program *p, size_t at)
{
	for (unsigned int i = 0; i < p->nopen; i++) {
		if (at >= p->open[i].from && at < p->open[i].to)
			return true;
	}
	return false;
}

static void compare_end(struct ls_judge *j)
{
	uint32_t ncores = j->lead.rows * j->lead.cols;

	for (uint32_t core = 0; core < ncores && !j->prog->faults && !j->ends; core++) {
		const struct ls_trace *t = &j->trace[core];

		if (t->next < t->count) {
			const struct wse_retire *r = &t->rec[t->next];
			char text[64];

			ls_disassemble(r->insn, text, sizeof(text));
			differ(j,
			       "core %u,%u pc 0x%08x [%08x %s]: retired on %s only, after %zu "
			       "instructions",
			       col_of(j, core), row_of(j, core), r->pc, r->insn, text,
			       j->lead.ops->name, t->next);
		}
	}
	compare_completions(j);
	for (uint32_t core = 0; core < ncores && !j->differ; core++)
		compare_core(j, core);
	for (size_t i = LS_MEM_DATA; i < LS_MEM && !j->differ; i++) {
		if (j->lead.mem[i] != j->follow.mem[i] && !is_open(j->prog, i))
			differ(j, "host memory 0x%zx: 0x%02x on %s, 0x%02x on %s", i,
			       j->lead.mem[i], j->lead.ops->name, j->follow.mem[i],
			       j->follow.ops->name);
	}
}

/* --- calls --- */

static int create_rigs(struct ls_judge *j, const char *lead, const char *follow,
		       const struct wse_machine_cfg *cfg)
{
	struct wse_machine_cfg calm = *cfg;
	int err;

	/* the follower runs with other timing, on which results must not depend */
	calm.seed = 0;
	err = ls_rig_create(&j->lead, lead, cfg);
	return err ? err : ls_rig_create(&j->follow, follow, &calm);
}

int ls_judge_create(struct ls_judge *j, const char *lead, const char *follow,
		    const struct wse_machine_cfg *cfg)
{
	memset(j, 0, sizeof(*j));
	j->trace = calloc((size_t)cfg->rows * cfg->cols, sizeof(*j->trace));
	return j->trace ? create_rigs(j, lead, follow, cfg) : -ENOMEM;
}

int ls_judge_renew(struct ls_judge *j, const char *lead, const char *follow,
		   const struct wse_machine_cfg *cfg)
{
	ls_rig_destroy(&j->lead);
	ls_rig_destroy(&j->follow);
	return create_rigs(j, lead, follow, cfg);
}

void ls_judge_destroy(struct ls_judge *j)
{
	for (uint32_t core = 0; j->trace && core < j->lead.rows * j->lead.cols; core++)
		free(j->trace[core].rec);
	free(j->trace);
	free(j->seen[0].list);
	free(j->seen[1].list);
	ls_rig_destroy(&j->lead);
	ls_rig_destroy(&j->follow);
}

/* The first command without a completion. */
static void missing(const struct ls_rig *rig, const struct ls_program *p, char *text, size_t size)
{
	*text = 0;
	for (unsigned int q = 0; q < LS_QUEUES; q++) {
		unsigned int n = 0;

		for (unsigned int i = 0; i < p->ncmds; i++) {
			if (p->cmd[i].queue == q && n++ == rig->q[q].ndone) {
				snprintf(text, size,
					 ", waiting for queue %u command %u (opcode 0x%02x)", q,
					 n - 1, p->cmd[i].sqe.opcode);
				return;
			}
		}
	}
}

static int failed(struct ls_judge *j, const struct ls_rig *rig, int err)
{
	char what[80];

	missing(rig, j->prog, what, sizeof(what));
	differ(j, "%s: %s%s", rig->ops->name,
	       rig->broken     ? rig->broken
	       : err == -ETIME ? "did not come to rest in time"
	       : err == -EIO   ? "the device halted"
			       : strerror(-err),
	       what);
	return 1;
}

int ls_judge_run(struct ls_judge *j, const struct ls_program *p, uint64_t max_cycles)
{
	int err;

	j->prog = p;
	j->differ = j->placed = false;
	for (uint32_t core = 0; core < p->rows * p->cols; core++)
		j->trace[core].count = j->trace[core].next = 0;

	j->lead.ops->trace_retire(j->lead.machine, ~0u, NULL, NULL);
	err = ls_rig_load(&j->lead, p);
	if (!err)
		err = j->lead.ops->trace_retire(j->lead.machine, ~0u, on_lead, j);
	if (!err && j->events)
		err = ls_events_begin(&j->lead, &j->seen[0]);
	if (!err)
		err = ls_rig_run(&j->lead, p, max_cycles);
	if (j->events)
		ls_events_end(&j->lead);
	if (err)
		return failed(j, &j->lead, err);

	j->follow.ops->trace_retire(j->follow.machine, ~0u, NULL, NULL);
	err = ls_rig_load(&j->follow, p);
	if (!err && !j->ends)
		err = j->follow.ops->trace_retire(j->follow.machine, ~0u, on_follow, j);
	if (!err)
		err = replay_picks(j);
	if (!err && j->events)
		err = ls_events_begin(&j->follow, &j->seen[1]);
	if (!err)
		err = ls_rig_run(&j->follow, p, max_cycles);
	if (j->events)
		ls_events_end(&j->follow);
	if (err && !j->differ)
		return failed(j, &j->follow, err);
	if (!j->differ)
		compare_end(j);
	if (!j->differ && j->events)
		j->differ = !ls_events_alike(&j->seen[0], &j->seen[1], p->faults, j->told, j->what,
					     sizeof(j->what));
	return j->differ;
}
