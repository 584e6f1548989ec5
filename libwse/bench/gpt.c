// SPDX-License-Identifier: MIT
/*
 * A GPT: cycles and busy lanes of one micro-batch on the RTL, 4x4 cores, and the twin's rate beside
 * plain fp32 code on the same two threads.
 */
#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "ref/gpt_run.h"
#include "train/memory.h"
#include "train/session.h"
#include "bench.h"
#include "gpt.h"
#include "profile.h"
#include "wse_regs.h"

#define TEXT_BYTES 65536u
#define LANES	   (16.0 * 8.0) /* of the tile */

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: gpt2, hidden_size: 64, num_hidden_layers: 2, num_heads: 4,\n"
	"            max_position_embeddings: 64}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.99], weight_decay: 0.1}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 1.0e-3}}]\n"
	"    precision: {max_gradient_norm: 1.0}\n"
	"    loop: {max_steps: 1}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 1, micro_batch_size: 1, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 1024}\n";

/* numbers, so that there is something like words in it; the same every time */
static void make_text(char *text)
{
	size_t n = 0;

	for (unsigned int i = 0; n < TEXT_BYTES; i++)
		n += (size_t)snprintf(text + n, 24, "%u and %x ", i, i * 7919u);
}

int bench_session(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
		  uint32_t nsets, uint32_t rank, uint32_t ranks)
{
	static char text[TEXT_BYTES + 64];
	char path[] = "/tmp/wse-bench-XXXXXX";
	const char *uris[2] = {uri, uri};
	struct wse_device *dev;
	struct wse_config cfg;
	int fd, ret = wse_device_open(uri, &dev);

	if (ret)
		return ret;
	wse_device_close(dev);
	make_text(text);
	ret = wse_config_parse("bench", yaml, strlen(yaml), sets, nsets, &cfg);
	if (ret)
		return ret;
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, TEXT_BYTES) != TEXT_BYTES)
		ret = -EIO;
	if (fd >= 0)
		close(fd);
	snprintf(cfg.data, sizeof(cfg.data), "%s", path);
	memset(s, 0, sizeof(*s));
	ret = ret ? ret : wse_session_open_part(s, &cfg, uris, n, NULL, rank, ranks);
	unlink(path);
	return ret ? ret : bench_profile_opened(s);
}

/* n devices of one uri; sets: configuration on top of the above */
static int open_session(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
			uint32_t nsets)
{
	return bench_session(s, uri, n, sets, nsets, 0, 0);
}

/* the blocks' matrices, a quarter of their weights there */
static const char sparse[] = "sparsity={sparsity: 0.75}";

/*
 * one micro-batch on the RTL; its cycles are the same every time, so the last one that ran does not
 * run again; more: a set more, or NULL
 */
static int rtl_step(uint32_t hidden, const char *more, struct wse_exec_cost *cost,
		    struct bench_measure *m)
{
	static struct {
		uint32_t hidden;
		const char *more;
		struct wse_exec_cost cost;
		double macs, planned;
	} last;
	char set[40];
	const char *sets[] = {set, more};
	struct wse_session s;
	struct wse_step_result r;
	int ret = 0;

	snprintf(set, sizeof(set), "model.hidden_size=%u", hidden);
	if (last.hidden != hidden || last.more != more) {
		ret = open_session(&s, "sim:rtl,rows=4,cols=4", 1, sets, more ? 2 : 1);
		if (ret)
			return ret;
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_swarm_cost(s.swarm, 0, &last.cost);
		last.macs = 3.0 * (double)s.cfg.model.family->macs(&s.cfg.model) * s.plan.tokens;
		last.planned = (double)s.plan.cycles;
		last.hidden = ret ? 0 : hidden;
		last.more = more;
		wse_session_close(&s);
	}
	*cost = last.cost;
	bench_count(m, "model_multiply_adds", "MAC", last.macs);
	bench_count(m, "step_cycles", "cycles", last.cost.cycles);
	bench_counters(m, last.cost.count);
	bench_count(m, "planned_cycles", "cycles", last.planned);
	m->value = last.macs / (last.cost.cycles * LANES);
	return ret;
}

static int step_cycles(struct bench_measure *m)
{
	struct wse_exec_cost c;
	int ret = rtl_step(64, NULL, &c, m);

	if (!ret)
		m->value = c.cycles;
	return ret;
}

static int utilisation(struct bench_measure *m)
{
	struct wse_exec_cost c;
	int ret = rtl_step(256, NULL, &c, m);

	if (!ret)
		m->value = (double)c.count[WSE_CNT_MAC] / (c.cycles * LANES);
	return ret;
}

static int useful(struct bench_measure *m)
{
	struct wse_exec_cost c;

	return rtl_step(256, NULL, &c, m);
}

static int sparse_step(struct bench_measure *m)
{
	struct bench_measure of_dense = {0};
	struct wse_exec_cost dense, c;
	int ret = rtl_step(256, NULL, &dense, &of_dense);

	ret = ret ? ret : rtl_step(256, sparse, &c, m);
	if (!ret) {
		bench_count(m, "dense_cycles", "cycles", dense.cycles);
		m->value = (double)c.cycles / (double)dense.cycles;
	}
	return ret;
}

/* nanoGPT's recipe: both in one run, so that they share the machine's mood */
static int tokens_vs_reference(struct bench_measure *m)
{
	enum { STEPS = 3, REF_STEPS = 10 };
	static const char *const sets[] = {"model.hidden_size=128", "model.num_hidden_layers=4",
					   "train_dataloader.batch_size=12",
					   "train_dataloader.micro_batch_size=auto"};
	const struct gpt_recipe *recipe = &gpt_recipe_nanogpt;
	static char text[TEXT_BYTES + 64];
	double begin = 0, twin, ref, tokens = recipe->batch * recipe->seq;
	struct wse_step_result r;
	struct wse_session s;
	struct gpt_run run;
	int ret = open_session(&s, "sim:func,rows=12,cols=4", 2, sets, 4); /* as `make train` */

	if (ret)
		return ret;
	for (int i = 0; i <= STEPS && !ret; i++) { /* the first one warms up */
		if (i == 1)
			begin = bench_now();
		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_session_commit(&s, &r);
	}
	twin = STEPS * tokens / (bench_now() - begin);
	wse_session_close(&s);
	ret = ret ? ret : gpt_run_open(&run, recipe, 1, 2);
	if (ret)
		return ret;
	make_text(text);
	openblas_set_num_threads(2);
	gpt_run_steps(&run, (const uint8_t *)text, TEXT_BYTES, 1);
	begin = bench_now();
	gpt_run_steps(&run, (const uint8_t *)text, TEXT_BYTES, REF_STEPS);
	ref = REF_STEPS * tokens / (bench_now() - begin);
	gpt_run_close(&run);
	bench_count(m, "twin", "tokens/s", twin);
	bench_count(m, "reference", "tokens/s", ref);
	m->value = twin / ref;
	return 0;
}

static int one_step(struct wse_session *s, double *seconds)
{
	double begin = bench_now();
	struct wse_step_result r;
	int ret = wse_session_compute(s, &r);

	ret = ret ? ret : wse_session_commit(s, &r);
	*seconds = bench_now() - begin;
	return ret;
}

/* steps of 10 M parameters with their state in a file and in memory, in turns */
static int file_vs_ram(struct bench_measure *m)
{
	enum { STEPS = 3 };
	static const char uri[] = "sim:func,rows=4,cols=16";
	static const char *const sets[] = {"model.hidden_size=256", "model.num_hidden_layers=12",
					   "model_dir=.", "memory_limit=200"};
	double best[2] = {1e9, 1e9}, cpu[2] = {1e9, 1e9}, t, c;
	struct wse_memory memory;
	struct wse_session s[2];
	int ret = open_session(&s[0], uri, 1, sets, 3), file;

	if (ret)
		return ret;
	ret = open_session(&s[1], uri, 1, sets, 4);
	if (ret) {
		wse_session_close(&s[0]);
		return ret;
	}
	ret = wse_memory_of(&s[1].cfg, &s[1].plan, uri, 1, 1, &memory);
	file = ret ? ret : wse_memory_file(&memory, s[1].cfg.memory_limit);
	ret = file < 0 ? file : file ? 0 : wse_fail(-EINVAL, "the limit is no limit");
	for (int i = 0; i <= 2 * STEPS + 1 && !ret; i++) { /* each one's first warms up */
		c = bench_cpu_now();
		ret = one_step(&s[i & 1], &t);
		c = bench_cpu_now() - c;
		if (i > 1 && t < best[i & 1])
			best[i & 1] = t;
		if (i > 1 && c < cpu[i & 1])
			cpu[i & 1] = c;
	}
	bench_count(m, "ram", "s", best[0]);
	bench_count(m, "file", "s", best[1]);
	bench_count(m, "ram_cpu", "s", cpu[0]);
	bench_count(m, "file_cpu", "s", cpu[1]);
	m->value = best[1] / best[0];
	wse_session_close(&s[0]);
	wse_session_close(&s[1]);
	return ret;
}

const struct bench bench_gpt[] = {
	{"gpt_step_cycles", "cycles",
	 "GPT of hidden 64, 2 layers, one sequence of 64: a micro-batch on the RTL, 4x4 cores",
	 step_cycles, 1},
	{"gpt_utilisation", "of lanes",
	 "GPT of hidden 256, 2 layers, 16 tokens a core, on the RTL: lane-cycles with a multiply-add",
	 utilisation, 0},
	{"gpt_useful", "of lanes", "the same micro-batch: 3 x the forward's multiply-adds", useful,
	 0},
	{"gpt_sparse_step", "x",
	 "the same with a quarter of the blocks' weights there: cycles over those of all weights",
	 sparse_step, 1},
	{"gpt_tokens_vs_reference", "x",
	 "nanoGPT's recipe: twin against fp32 OpenBLAS, two threads each", tokens_vs_reference, 0},
	{"memx_file_vs_ram", "x",
	 "steps of 10 M parameters, 4x16 cores of a twin: weights in a file, and in memory",
	 file_vs_ram, 1},
	{0}};
