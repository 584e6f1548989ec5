// SPDX-License-Identifier: MIT
/*
 * Wide tiles of the RTL with a bus for each four columns, which `make wide` builds. 1x48 cores: how
 * busy the lanes are in the layers of a GPT block of width 768, and a whole micro-batch of width
 * 192. 16x12 cores: what of a whole micro-batch is useful, with a sequence over 16 rows. Of the
 * twin: what a step costs its host on 64x48 cores.
 */
#include <errno.h>
#include <stdio.h>

#include <wse/wse.h>

#include "base/error.h"
#include "bench.h"
#include "gpt.h"
#include "kernels.h"
#include "train/session.h"
#include "wse_regs.h"

#define COLS  48u
#define URI   "sim:rtl,rows=1,cols=48"
#define K     16u /* inputs of a column: hidden 768 */
#define QKV   48u /* features of a column of the projections to queries, keys and values */
#define LANES (8.0 * COLS)

/* lane-cycles with a multiply-add of each token, input and output, over all lane-cycles */
static int busy(struct bench_measure *m, int wgrad)
{
	static const struct {
		const char *name;
		uint32_t t, b;
	} rows[] = {{"t32", 32, 2}, {"t16", 16, 4}};
	struct bench_kernel_tile s;
	int ret = bench_kernels_open(&s, 1, COLS, (size_t)K * COLS * QKV * COLS * 4 + 4096);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !ret; i++) {
		struct bench_layer l = {
			.k = K, .t = rows[i].t, .b = rows[i].b, .features = QKV, .wgrad = wgrad};
		int64_t cycles = bench_layer_cycles(&s, &l);
		double macs = (double)K * COLS * QKV * COLS * l.t;

		if (cycles < 0) {
			ret = (int)cycles;
			break;
		}
		bench_count(m, rows[i].name, "cycles", (double)cycles);
		if (!i)
			m->value = macs / ((double)cycles * LANES);
		else
			bench_count(m, "busy_t16", "of lanes", macs / ((double)cycles * LANES));
	}
	bench_kernels_close(&s);
	return ret;
}

static int linear_busy(struct bench_measure *m)
{
	return busy(m, 0);
}

static int wgrad_busy(struct bench_measure *m)
{
	return busy(m, 1);
}

struct measured_step {
	struct wse_step_result result;
	struct wse_exec_cost cost;
	double planned, macs; /* cycles; multiply-adds that the model asks for */
};

/* one step of a GPT of one layer, hidden 192, 12 heads */
static int step(const char *uri, const char *filter, const char *positions,
		struct measured_step *of)
{
	const char *const sets[] = {"model.hidden_size=192",
				    "model.num_heads=12",
				    "model.num_hidden_layers=1",
				    filter,
				    positions,
				    "val_dataloader.held_out_bytes=8192"};
	struct wse_session s;
	int ret = bench_session(&s, uri, 1, sets, 6, 0, 0);

	if (ret)
		return ret;
	ret = wse_session_compute(&s, &of->result);
	ret = ret ? ret : wse_swarm_cost(s.swarm, 0, &of->cost);
	ret = ret ? ret : wse_session_commit(&s, &of->result);
	of->planned = (double)s.plan.cycles;
	of->macs = 3.0 * (double)s.cfg.model.family->macs(&s.cfg.model) * s.plan.tokens;
	wse_session_close(&s);
	return ret;
}

/* and the twin's with one bus must have its bits: the sum of all gradients' squares says so */
static int step_and_twin(struct bench_measure *m, const char *rtl, const char *func,
			 const char *filter, const char *positions, struct measured_step *of)
{
	struct measured_step twin;
	int ret = step(func, filter, positions, &twin);

	ret = ret ? ret : step(rtl, filter, positions, of);
	if (ret)
		return ret;
	if (of->result.loss != twin.result.loss || of->result.norm != twin.result.norm)
		return wse_fail(-EIO, "loss %.17g and norm %.17g, the twin has %.17g and %.17g",
				of->result.loss, of->result.norm, twin.result.loss,
				twin.result.norm);
	bench_count(m, "step_cycles", "cycles", of->cost.cycles);
	bench_count(m, "planned_cycles", "cycles", of->planned);
	return 0;
}

/* of a GPT whose filter is as wide as it is */
static int step_cycles(struct bench_measure *m)
{
	struct measured_step of;
	int ret = step_and_twin(m, URI, "sim:func,rows=1,cols=48,group=0", "model.filter_size=192",
				"model.max_position_embeddings=32", &of);

	m->value = ret ? 0 : of.cost.cycles;
	return ret;
}

static int step_useful(struct bench_measure *m)
{
	struct measured_step of;
	int ret = step_and_twin(m, "sim:rtl,rows=16,cols=12,group=4",
				"sim:func,rows=16,cols=12,group=0", "model.filter_size=768",
				"model.max_position_embeddings=256", &of);

	m->value = ret ? 0 : of.macs / (of.cost.cycles * 8.0 * 16.0 * 12.0);
	return ret;
}

/*
 * A layer of Cerebras-GPT 111M, its sequence of 2048 over all rows of a wafer of the twin, on one
 * thread: the first step, of a device that has run nothing yet, and no checkpoint's proof.
 */
static int twin_step(struct bench_measure *m)
{
	static const char *const sets[] = {
		"model.hidden_size=768", "model.num_heads=12", "model.num_hidden_layers=1",
		"model.max_position_embeddings=2048", "val_dataloader.held_out_bytes=16384"};
	struct wse_step_result r;
	struct wse_exec_cost cost;
	struct wse_session s;
	int ret = bench_session(&s, "sim:func,rows=64,cols=48,threads=1", 1, sets, 5, 0, 0);
	double begin = bench_cpu_now();

	if (ret)
		return ret;
	ret = wse_session_compute(&s, &r);
	ret = ret ? ret : wse_session_commit(&s, &r);
	m->value = bench_cpu_now() - begin;
	ret = ret ? ret : wse_swarm_cost(s.swarm, 0, &cost);
	if (!ret) {
		bench_count(m, "norm", "", r.norm);
		bench_count(m, "planned_cycles", "cycles", (double)s.plan.cycles);
		bench_count(m, "step_cycles", "cycles", cost.cycles);
		bench_count(m, "rate", "GMAC/s", (double)cost.count[WSE_CNT_MAC] / m->value * 1e-9);
	}
	wse_session_close(&s);
	return ret;
}

const struct bench bench_wide[] = {
	{"wide_linear_busy", "of lanes",
	 "a layer 768 to 2304 on the RTL, 1x48 cores, 32 tokens each, 12 buses", linear_busy, 0},
	{"wide_wgrad_busy", "of lanes", "its gradient of the weights", wgrad_busy, 0},
	{"wide_step_cycles", "cycles",
	 "GPT of hidden 192, one layer, 32 tokens: a micro-batch on the RTL, 1x48 cores",
	 step_cycles, 1},
	{"wide_step_useful", "of lanes",
	 "hidden 192, filter 768, 256 tokens: multiply-adds of a micro-batch, RTL, 16x12 cores, 3 buses",
	 step_useful, 0},
	{"twin_wide_step", "s",
	 "layer of Cerebras-GPT 111M, 2048 tokens: CPU time of a step, twin, 64x48 cores, one thread",
	 twin_step, 1},
	{0},
};
