// SPDX-License-Identifier: MIT
#include "train/profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/dirs.h"
#include "base/error.h"
#include "ops/emit.h"
#include "ops/spill.h"
#include "train/maps.h"
#include "train/session.h"
#include "timeline.h"
#include "wse_regs.h"

#define HOST_PID 1
#define TOP	 10 /* operations in the log */

/* tracks of a wafer beside those of its queues, and of the host */
enum { PHASES = WSE_QUEUES, WAFER_TRACKS };
enum { STEPS = 1, BESIDE, UPDATES, SUMS }; /* SUMS + i: of device i */
enum { FORWARD, LOSS, BACKWARD, OTHER_GRAPH, PHASE_KINDS };
_Static_assert(BACKWARD + 1 == WSE_MAP_PHASES, "phases that have a map");
enum { STARTS, COPIES_IN, COPIES_OUT, OPCODES };

static const char *const phase_names[PHASE_KINDS] = {"forward", "loss", "backward",
						     "text with a past"};
static const char *const opcode_names[OPCODES] = {"", "copy in, ", "copy out, "};

/* operations of one kind on one tensor of whatever layer: "linear h.*.mlp.c_fc" */
struct group {
	char name[96];
	uint64_t times, cycles, planned;
};

/* written by the thread of the device alone */
struct device {
	int tells, mapped; /* mapped: a micro-batch has been run phase by phase */
	uint64_t track[WAFER_TRACKS];
	uint64_t sums;			 /* a track of the host */
	uint32_t phase, phase_index;	 /* PHASE_KINDS: none yet */
	uint64_t phase_begin, phase_end; /* cycles */
	uint64_t first, last; /* cycles at which the first command began, the last one ended */
	uint32_t op, index;   /* of the last command */
	uint64_t other;	      /* cycles of another graph's operations */
	struct {
		uint64_t times, cycles;
	} * op_sum; /* [nops] */
};

struct wse_profile {
	const struct wse_graph *g;
	char dir[WSE_PATH];
	struct wse_timeline *wafers, *host;
	uint64_t track[UPDATES + 1], begin; /* of the host; nanoseconds */
	uint32_t span_name[WSE_SPANS];
	uint32_t (*op_name)[OPCODES]; /* [nops] */
	uint32_t *unit_name;	      /* [nunits], of the host */
	unsigned char *phase;	      /* [nops] */
	uint32_t phase_name[PHASE_KINDS];
	struct wse_maps *maps;
	struct wse_swarm *swarm;
	uint32_t other; /* what operations of another graph are called */
	uint32_t ndevices;
	struct device device[WSE_SWARM_MAX];
};

static const char *const span_names[WSE_SPANS] = {
	[WSE_SPAN_MICRO_BATCHES] = "micro-batches",
	[WSE_SPAN_FINISH] = "rest of the update",
	[WSE_SPAN_COMMIT] = "commit",
	[WSE_SPAN_EVAL] = "evaluation",
	[WSE_SPAN_CHECKPOINT] = "checkpoint",
};

static const char *const queue_names[WSE_QUEUES] = {
	[WSE_QUEUE_IN] = "weights in",
	[WSE_QUEUE_RUN] = "starts and copies",
	[WSE_QUEUE_OUT] = "gradients out",
	[WSE_QUEUE_BESIDE] = "copies beside starts",
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t wse_profile_now(const struct wse_profile *p)
{
	return p ? now() : 0;
}

void wse_profile_span(struct wse_profile *p, enum wse_host_span span, uint64_t begin)
{
	if (p && begin)
		wse_timeline_slice(p->host, p->track[span == WSE_SPAN_FINISH ? BESIDE : STEPS],
				   p->span_name[span], begin - p->begin, now() - p->begin);
}

/* "linear h.3.mlp.c_fc", "linear to the data h.3.mlp.c_fc", "add activations" */
static void name_op(const struct wse_session *s, const struct wse_op *op, char *name, size_t size)
{
	const struct wse_graph *g = &s->plan.graph;
	const struct wse_unit *u = op->unit == WSE_NO_UNIT ? NULL : &g->units[op->unit];
	uint32_t tensor = !u			       ? WSE_NO_TENSOR
			  : u->weight != WSE_NO_TENSOR ? u->weight
			  : u->nvec		       ? u->vec[0].tensor
						       : WSE_NO_TENSOR;
	const char *what = "", *end;

	if (tensor != WSE_NO_TENSOR)
		what = s->table->t[tensor].name;
	else if (op->out[0] != WSE_NO_VALUE)
		what = g->values[op->out[0]].what;
	else if (op->in[0] != WSE_NO_VALUE)
		what = g->values[op->in[0]].what;
	end = tensor != WSE_NO_TENSOR ? strrchr(what, '.') : NULL;
	snprintf(name, size, "%s%s %.*s", wse_kind_name(op->kind),
		 wse_linear_is_back(op) ? " to the data" : "",
		 end ? (int)(end - what) : (int)strlen(what), what);
}

static void name_group(const char *op, char *name, size_t size)
{
	size_t n = 0;

	for (; *op && n + 1 < size; op++) {
		int digit = isdigit((unsigned char)*op), alone = n && name[n - 1] == '.';

		if (digit && alone) { /* the number of a layer */
			while (isdigit((unsigned char)op[1]))
				op++;
			name[n++] = '*';
		} else {
			name[n++] = *op;
		}
	}
	name[n] = 0;
}

/* threads of the host: MemoryX's, and one a device */
static void updated(void *ctx, uint32_t who, uint32_t unit, uint64_t begin, uint64_t end)
{
	struct wse_profile *p = ctx;

	(void)who;
	if (unit < p->g->nunits)
		wse_timeline_slice(p->host, p->track[UPDATES], p->unit_name[unit], begin - p->begin,
				   end - p->begin);
}

static void summed(void *ctx, uint32_t device, uint32_t unit, uint64_t begin, uint64_t end)
{
	struct wse_profile *p = ctx;

	if (unit < p->g->nunits && device < p->ndevices)
		wse_timeline_slice(p->host, p->device[device].sums, p->unit_name[unit],
				   begin - p->begin, end - p->begin);
}

static void end_phase(struct wse_profile *p, struct device *d)
{
	if (d->phase != PHASE_KINDS)
		wse_timeline_slice(p->wafers, d->track[PHASES], p->phase_name[d->phase],
				   d->phase_begin, d->phase_end);
	d->phase = PHASE_KINDS;
}

/* starts and copies follow each other, so their phases do, too */
static void note_phase(struct wse_profile *p, struct device *d, const struct wse_exec_command *c,
		       uint64_t begin, uint64_t end)
{
	uint32_t phase = c->graph == p->g ? p->phase[c->op] : OTHER_GRAPH;

	if (phase != d->phase || c->index != d->phase_index) {
		end_phase(p, d);
		d->phase = phase;
		d->phase_index = c->index;
		d->phase_begin = begin;
	}
	d->phase_end = end;
}

static uint32_t slice_name(const struct wse_profile *p, const struct wse_exec_command *c)
{
	if (c->graph != p->g)
		return p->other;
	return p->op_name[c->op][c->opcode == WSE_OP_COPY_IN	? COPIES_IN
				 : c->opcode == WSE_OP_COPY_OUT ? COPIES_OUT
								: STARTS];
}

/* in the thread of a device */
static void command(void *ctx, const struct wse_exec_command *c)
{
	struct wse_profile *p = ctx;
	struct device *d = &p->device[c->device];
	uint64_t busy, begin, end;

	if (!d->first)
		d->first = c->begin;
	if (c->end > d->last)
		d->last = c->end;
	/* the first stream may begin before the first start */
	begin = c->begin > d->first ? c->begin - d->first : 0;
	end = c->end - d->first;
	wse_timeline_slice(p->wafers, d->track[c->queue], slice_name(p, c), begin, end);
	if (c->queue == WSE_QUEUE_RUN)
		note_phase(p, d, c, begin, end);
	/* streams run beside them */
	busy = c->queue == WSE_QUEUE_RUN ? c->end - c->begin : 0;
	if (c->graph != p->g) {
		d->other += busy;
		return;
	}
	if (c->op != d->op || c->index != d->index)
		d->op_sum[c->op].times++;
	d->op = c->op;
	d->index = c->index;
	d->op_sum[c->op].cycles += busy;
}

/* the first whole micro-batch of a device is run phase by phase, for a map of each */
static int pause_due(void *ctx, uint32_t device, const struct wse_graph *g, int backward,
		     uint32_t op)
{
	const struct wse_profile *p = ctx;

	if (g != p->g || !backward || device >= p->ndevices || p->device[device].mapped)
		return 0;
	return !op || op == g->nops || p->phase[op] != p->phase[op - 1];
}

static void at_rest(void *ctx, uint32_t device, uint32_t op)
{
	struct wse_profile *p = ctx;
	struct wse_device *dev = wse_swarm_device(p->swarm, device);

	if (op)
		wse_maps_phase(p->maps, device, dev, p->phase[op - 1], 0);
	if (op < p->g->nops)
		wse_maps_phase(p->maps, device, dev, p->phase[op], 1);
	else
		p->device[device].mapped = 1;
}

static void free_names(struct wse_profile *p)
{
	free(p->op_name);
	free(p->unit_name);
	free(p->phase);
}

static int open_device(struct wse_session *s, struct wse_profile *p, uint32_t i)
{
	struct device *d = &p->device[i];
	struct wse_exec_info info;
	char name[96];
	int ret;

	if (wse_swarm_name(s->swarm, i, &info))
		return 0; /* it has failed */
	d->op_sum = calloc(p->g->nops, sizeof(*d->op_sum));
	d->op = UINT32_MAX;
	d->phase = PHASE_KINDS;
	if (!d->op_sum)
		return -ENOMEM;
	snprintf(name, sizeof(name), "wafer %u: %s", i, info.name);
	wse_timeline_process(p->wafers, i + 1, name);
	for (uint32_t q = WSE_QUEUE_IN; q < (p->g->nspills ? WSE_QUEUES : WSE_QUEUE_BESIDE); q++)
		d->track[q] = wse_timeline_track(p->wafers, i + 1, q, queue_names[q]);
	d->track[PHASES] = wse_timeline_track(p->wafers, i + 1, PHASES, "phases");
	snprintf(name, sizeof(name), "SwarmX: gradients of wafer %u", i);
	d->sums = wse_timeline_track(p->host, HOST_PID, SUMS + i, name);
	ret = wse_swarm_record(s->swarm, i, command, p);
	d->tells = !ret;
	if (ret != -ENOTSUP)
		return ret;
	wse_logf(&s->log, WSE_LOG_WARN,
		 "%s does not say when its commands ran: the profile has the host's time alone",
		 info.name);
	return 0;
}

static int open_file(const char *dir, const char *name, struct wse_timeline **t)
{
	char path[WSE_PATH + 32];
	int ret;

	snprintf(path, sizeof(path), "%.1023s/%s", dir, name);
	ret = wse_timeline_create(path, t);
	if (ret == -EEXIST)
		return wse_fail(ret, "%.300s is there, of an earlier profile: give another folder",
				path);
	return ret ? wse_fail(ret, "profile %.300s: %s", path, strerror(-ret)) : 0;
}

/* of operations, in the order in which a micro-batch runs them, and of units */
static int name_all(struct wse_session *s, struct wse_profile *p)
{
	const struct wse_graph *g = p->g;
	char name[96], with[120];
	uint32_t first = g->nops, last = 0;

	p->op_name = calloc(g->nops, sizeof(*p->op_name));
	p->phase = calloc(g->nops, 1);
	p->unit_name = calloc(g->nunits + 1, sizeof(*p->unit_name));
	if (!p->op_name || !p->phase || !p->unit_name)
		return wse_fail(-ENOMEM, "no memory for a profile");
	for (uint32_t i = 0; i < g->nops; i++) {
		if (strncmp(wse_kind_name(g->ops[i].kind), "loss", 4))
			continue;
		first = i < first ? i : first;
		last = i;
	}
	for (uint32_t i = 0; i < g->nops; i++) {
		p->phase[i] = i < first ? FORWARD : i <= last ? LOSS : BACKWARD;
		name_op(s, &g->ops[i], name, sizeof(name));
		for (int k = 0; k < OPCODES; k++) {
			snprintf(with, sizeof(with), "%s%s", opcode_names[k], name);
			p->op_name[i][k] = wse_timeline_name(p->wafers, with);
		}
	}
	for (int k = 0; k < PHASE_KINDS; k++)
		p->phase_name[k] = wse_timeline_name(p->wafers, phase_names[k]);
	p->other = p->phase_name[OTHER_GRAPH];
	for (uint32_t i = 0; i < g->nunits; i++) {
		const struct wse_unit *u = &g->units[i];
		uint32_t tensor = u->weight != WSE_NO_TENSOR ? u->weight
				  : u->nvec		     ? u->vec[0].tensor
							     : WSE_NO_TENSOR;

		snprintf(name, sizeof(name), "unit %u", i);
		p->unit_name[i] = wse_timeline_name(
			p->host, tensor != WSE_NO_TENSOR ? s->table->t[tensor].name : name);
	}
	return 0;
}

/* p NULL: no more */
static void record_spans(struct wse_session *s, struct wse_profile *p)
{
	const struct wse_spans sums = {p ? summed : NULL, p}, updates = {p ? updated : NULL, p};
	const struct wse_pauses pauses = {pause_due, at_rest, p};

	for (uint32_t i = 0; i < wse_swarm_size(s->swarm); i++)
		wse_swarm_pause(s->swarm, i, p ? &pauses : NULL);
	wse_swarm_spans(s->swarm, &sums);
	if (s->memx)
		wse_memx_spans(s->memx, &updates);
}

int wse_profile_open(struct wse_session *s, const char *dir, struct wse_profile **out)
{
	struct wse_profile *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return wse_fail(-ENOMEM, "no memory for a profile");
	p->g = &s->plan.graph;
	p->swarm = s->swarm;
	snprintf(p->dir, sizeof(p->dir), "%.1023s", dir);
	ret = wse_make_dirs(dir);
	if (ret)
		wse_fail(ret, "profile %.300s: %s", dir, strerror(-ret));
	ret = ret ? ret : open_file(dir, "wafers.pftrace", &p->wafers);
	ret = ret ? ret : open_file(dir, "host.pftrace", &p->host);
	if (ret)
		goto fail;
	wse_timeline_process(p->host, HOST_PID, "trainer");
	p->track[STEPS] = wse_timeline_track(p->host, HOST_PID, STEPS, "steps");
	p->track[BESIDE] = wse_timeline_track(p->host, HOST_PID, BESIDE, "MemoryX beside them");
	p->track[UPDATES] = wse_timeline_track(p->host, HOST_PID, UPDATES, "MemoryX: updates");
	for (int i = 0; i < WSE_SPANS; i++)
		p->span_name[i] = wse_timeline_name(p->host, span_names[i]);
	ret = name_all(s, p);
	p->begin = now() - 1;
	p->ndevices = wse_swarm_size(s->swarm);
	for (uint32_t i = 0; i < p->ndevices && !ret; i++)
		ret = open_device(s, p, i);
	ret = ret ? ret : wse_maps_open(s->swarm, &p->maps);
	if (ret)
		goto fail;
	record_spans(s, p);
	*out = p;
	return 0;
fail:
	wse_timeline_close(p->wafers);
	wse_timeline_close(p->host);
	for (uint32_t i = 0; i < p->ndevices; i++) {
		wse_swarm_record(s->swarm, i, NULL, NULL);
		free(p->device[i].op_sum);
	}
	free_names(p);
	free(p);
	return ret;
}

static int dearer(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* groups [nops], sorted; *busy is the sum of their cycles */
static uint32_t sum_up(const struct wse_session *s, const struct wse_profile *p,
		       struct group *groups, uint64_t *busy)
{
	struct wse_beside beside = {0};
	uint32_t n = 0, k;

	*busy = 0;
	for (uint32_t i = 0; i < p->g->nops; i++) {
		const struct wse_op *op = &p->g->ops[i];
		uint64_t planned = wse_op_cycles(&beside, p->g, op);
		char name[96], group[96];

		name_op(s, op, name, sizeof(name));
		name_group(name, group, sizeof(group));
		for (k = 0; k < n && strcmp(groups[k].name, group); k++)
			;
		if (k == n)
			memcpy(groups[n++].name, group, sizeof(group));
		for (uint32_t d = 0; d < p->ndevices; d++) {
			const struct device *dev = &p->device[d];

			if (!dev->op_sum)
				continue;
			groups[k].times += dev->op_sum[i].times;
			groups[k].cycles += dev->op_sum[i].cycles;
			groups[k].planned += planned * dev->op_sum[i].times;
			*busy += dev->op_sum[i].cycles;
		}
	}
	qsort(groups, n, sizeof(*groups), dearer);
	return n;
}

static int write_table(struct wse_session *s, const struct wse_profile *p)
{
	struct group *groups = calloc(p->g->nops, sizeof(*groups));
	char path[WSE_PATH + 32], line[200];
	uint64_t busy, all = 0, other = 0;
	uint32_t n;
	FILE *f;
	int ret = 0;

	snprintf(path, sizeof(path), "%.1023s/operations.txt", p->dir);
	f = groups ? fopen(path, "we") : NULL;
	if (!f) {
		ret = groups ? -errno : -ENOMEM;
		free(groups);
		return wse_fail(ret, "profile %.300s: %s", path, strerror(-ret));
	}
	n = sum_up(s, p, groups, &busy);
	for (uint32_t d = 0; d < p->ndevices; d++) {
		all += p->device[d].last - p->device[d].first;
		other += p->device[d].other;
	}
	fprintf(f, "%8s %16s %16s %10s  %s\n", "percent", "cycles", "planned", "times",
		"operation");
	for (uint32_t i = 0; i < n; i++) {
		const struct group *x = &groups[i];
		double percent = all ? 100.0 * (double)x->cycles / (double)all : 0.0;

		fprintf(f, "%8.2f %16" PRIu64 " %16" PRIu64 " %10" PRIu64 "  %s\n", percent,
			x->cycles, x->planned, x->times, x->name);
		if (i >= TOP || !x->cycles)
			continue;
		snprintf(line, sizeof(line),
			 "| Profile: %5.2f %% %s, %" PRIu64 " times %" PRIu64
			 " cycles, planned %" PRIu64,
			 percent, x->name, x->times, x->cycles / x->times, x->planned / x->times);
		wse_logf(&s->log, WSE_LOG_INFO, "%s", line);
	}
	busy += other;
	if (other)
		fprintf(f, "%8.2f %16" PRIu64 " %16s %10s  %s\n",
			100.0 * (double)other / (double)all, other, "", "", "(text with a past)");
	fprintf(f, "%8.2f %16" PRIu64 " %16s %10s  %s\n",
		all ? 100.0 * (double)(all - busy) / (double)all : 0.0, all - busy, "", "",
		"(between operations)");
	free(groups);
	ret = ferror(f);
	if (fclose(f) || ret)
		return wse_fail(-EIO, "profile %.300s cannot be written: is the disk full?", path);
	wse_logf(
		&s->log, WSE_LOG_INFO,
		"| Profile in %.300s: operations.txt, wafer-0.svg ..., wafers.pftrace, host.pftrace (https://ui.perfetto.dev)",
		p->dir);
	return 0;
}

int wse_profile_close(struct wse_session *s, struct wse_profile *p)
{
	int ret, failed;

	if (!p)
		return 0;
	for (uint32_t i = 0; i < p->ndevices; i++) {
		wse_swarm_record(s->swarm, i, NULL, NULL);
		end_phase(p, &p->device[i]);
	}
	record_spans(s, NULL);
	failed = wse_timeline_close(p->wafers);
	ret = wse_timeline_close(p->host);
	ret = failed ? failed : ret;
	if (ret)
		wse_fail(ret, "profile %.300s ends early: %s", p->dir, strerror(-ret));
	failed = write_table(s, p);
	if (!failed)
		failed = wse_maps_close(s->swarm, p->dir, phase_names, p->maps);
	else
		wse_maps_free(p->maps);
	for (uint32_t i = 0; i < p->ndevices; i++)
		free(p->device[i].op_sum);
	free_names(p);
	free(p);
	return ret ? ret : failed;
}
