// SPDX-License-Identifier: MIT
/*
 * Training: what a step keeps busy on the RTL, how fast the twin is beside plain fp32 code on the
 * same two threads, and what four wafers do to the time of a step.
 */
#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wse/wse.h>

#include "base/error.h"
#include "model/mlp.h"
#include "ref/mlp_ref.h"
#include "train/session.h"
#include "bench.h"
#include "profile.h"
#include "wse_regs.h"

#define TEXT_BYTES 65536u

static const char yaml[] =
	"trainer:\n"
	"  init:\n"
	"    model: {name: mlp, window: 16, embedding_size: 16, hidden_sizes: [256, 256], "
	"nonlinearity: relu}\n"
	"    optimizer: {AdamW: {betas: [0.9, 0.95]}}\n"
	"    schedulers: [{ConstantLR: {learning_rate: 1.0e-3}}]\n"
	"    loop: {max_steps: 1}\n"
	"  fit:\n"
	"    train_dataloader: {batch_size: 128, micro_batch_size: 64, data_dir: TEXT}\n"
	"    val_dataloader: {held_out_bytes: 64}\n";

/* numbers, so that there is something like words in it; the same every time */
static int write_text(char *path, char *text)
{
	size_t n = 0;
	int fd = mkstemp(path), ret = fd < 0 ? -errno : 0;

	for (unsigned int i = 0; n < TEXT_BYTES; i++)
		n += (size_t)snprintf(text + n, 24, "%u and %x ", i, i * 7919u);
	if (!ret && write(fd, text, TEXT_BYTES) != TEXT_BYTES)
		ret = -EIO;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* n devices of one uri; sets: configuration on top of the above */
static int open_session(struct wse_session *s, const char *uri, uint32_t n, const char *const *sets,
			uint32_t nsets, char *text)
{
	const char *uris[16];
	struct wse_config cfg;
	struct wse_device *dev;
	char path[] = "/tmp/wse-bench-XXXXXX";
	int ret = wse_device_open(uri, &dev);

	if (ret)
		return ret;
	wse_device_close(dev);
	ret = wse_config_parse("bench", yaml, strlen(yaml), sets, nsets, &cfg);
	if (ret)
		return ret;
	ret = write_text(path, text);
	snprintf(cfg.data, sizeof(cfg.data), "%s", path);
	for (uint32_t i = 0; i < n; i++)
		uris[i] = uri;
	memset(s, 0, sizeof(*s));
	ret = ret ? ret : wse_session_open(s, &cfg, uris, n, NULL);
	unlink(path);
	return ret ? ret : bench_profile_opened(s);
}

static int step(struct wse_session *s)
{
	struct wse_step_result r;
	int ret = wse_session_compute(s, &r);

	return ret ? ret : wse_session_commit(s, &r);
}

/* ---- one step of three 256-wide layers on 4 x 4 RTL cores, 16 tokens each, two micro-batches ----
 */

static int rtl_step(struct wse_exec_cost *cost, double *macs)
{
	/* sim:func does for trying out: its cycles are its own */
	const char *uri = getenv("WSE_BENCH_TRAIN");
	char *text = malloc(TEXT_BYTES + 64);
	struct wse_session s;
	int ret = text ? open_session(&s, uri ? uri : "sim:rtl,rows=4,cols=4", 1, NULL, 0, text)
		       : -ENOMEM;

	if (!ret) {
		struct wse_step_result r;

		ret = wse_session_compute(&s, &r);
		ret = ret ? ret : wse_swarm_cost(s.swarm, 0, cost);
		*macs = 3.0 * (double)s.cfg.model.family->macs(&s.cfg.model) * (double)s.cfg.batch;
		wse_session_close(&s);
	}
	free(text);
	return ret;
}

#define LANES (16.0 * 8.0) /* of the tile */

static int figure(struct wse_exec_cost *c, double *macs, struct bench_measure *m)
{
	int ret = rtl_step(c, macs);

	bench_count(m, "model_multiply_adds", "MAC", *macs);
	bench_count(m, "lanes", "", LANES);
	bench_count(m, "step_cycles", "cycles", c->cycles);
	bench_counters(m, c->count);
	return ret;
}

static int utilisation(struct bench_measure *m)
{
	struct wse_exec_cost c = {0};
	double macs = 0.0;
	int ret = figure(&c, &macs, m);

	m->value = (double)c.count[WSE_CNT_MAC] / (c.cycles * LANES);
	return ret;
}

static int useful(struct bench_measure *m)
{
	struct wse_exec_cost c = {0};
	double macs = 0.0;
	int ret = figure(&c, &macs, m);

	m->value = macs / (c.cycles * LANES);
	return ret;
}

/* ---- the twin on two threads beside OpenBLAS on two threads, 0.92 M parameters ---- */

static const char *const million[] = {"model.hidden_sizes=[1024, 512]",
				      "train_dataloader.batch_size=512"};

/* tokens a second of n devices, of a few steps after one to warm up */
static int twin_rate(uint32_t n, const char *const *sets, uint32_t nsets, double *rate, char *text)
{
	enum { STEPS = 3 };
	struct wse_session s;
	int ret = open_session(&s, "sim:func,rows=4,cols=4", n, sets, nsets, text);
	double begin;

	if (ret)
		return ret;
	ret = step(&s);
	begin = bench_now();
	for (int i = 0; i < STEPS && !ret; i++)
		ret = step(&s);
	*rate = STEPS * (double)s.cfg.batch / (bench_now() - begin);
	wse_session_close(&s);
	return ret;
}

static int reference_rate(double *rate, const char *text)
{
	enum { STEPS = 8 };
	static const uint32_t hidden[] = {1024, 512};
	struct mlp_ref ref;
	struct wse_model m;
	int ret = wse_mlp_init(&m, 16, 16, 256, hidden, 2, WSE_RELU);

	ret = ret ? ret : mlp_ref_open(&ref, &m, 512, 1);
	if (ret)
		return ret;
	openblas_set_num_threads(2);
	mlp_ref_train(&ref, (const uint8_t *)text, TEXT_BYTES, 1, 1e-3f, rate);
	mlp_ref_train(&ref, (const uint8_t *)text, TEXT_BYTES, STEPS, 1e-3f, rate);
	mlp_ref_close(&ref);
	return 0;
}

/* both in one run, so that they share the machine's mood */
static int tokens_vs_reference(struct bench_measure *m)
{
	char *text = malloc(TEXT_BYTES + 64);
	double twin = 0.0, ref = 1.0;
	int ret = text ? twin_rate(2, million, 2, &twin, text) : -ENOMEM;

	ret = ret ? ret : reference_rate(&ref, text);
	bench_count(m, "twin", "tokens/s", twin);
	bench_count(m, "reference", "tokens/s", ref);
	m->value = twin / ref;
	free(text);
	return ret;
}

/* ---- the twin's rate in a training step, of CPU time, beside sgemm's in the same run ---- */

/* GMAC per CPU-second of 256^3 on one thread: the best of several */
static int sgemm_gmacs(double *rate)
{
	enum { SIDE = 256, TIMES = 20 };
	float *x = malloc(3 * SIDE * SIDE * sizeof(*x));
	double best = 1e9, s;

	if (!x)
		return -ENOMEM;
	for (int i = 0; i < 3 * SIDE * SIDE; i++)
		x[i] = (float)(i % 251) * 0x1p-7f;
	openblas_set_num_threads(1);
	for (int i = 0; i < TIMES; i++) {
		s = bench_cpu_now();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, x, SIDE,
			    x + SIDE * SIDE, SIDE, 0, x + 2 * SIDE * SIDE, SIDE);
		s = bench_cpu_now() - s;
		best = s < best ? s : best;
	}
	*rate = (double)SIDE * SIDE * SIDE / best * 1e-9;
	free(x);
	return 0;
}

static int train_gmacs(const char *uri, const char *const *sets, uint32_t nsets,
		       struct bench_measure *m)
{
	enum { STEPS = 3 };
	char *text = malloc(TEXT_BYTES + 64);
	double begin, best = 1e9, s, blas = 0.0, macs = 0.0;
	struct wse_session ses;
	int ret = text ? open_session(&ses, uri, 1, sets, nsets, text) : -ENOMEM;

	if (!ret) {
		macs = 3.0 * (double)ses.cfg.model.family->macs(&ses.cfg.model) *
		       (double)ses.cfg.batch;
		ret = step(&ses);
		for (int i = 0; i < STEPS && !ret; i++) {
			begin = bench_cpu_now();
			ret = step(&ses);
			s = bench_cpu_now() - begin;
			best = s < best ? s : best;
		}
		bench_count(m, "weights", "", (double)ses.cfg.model.family->macs(&ses.cfg.model));
		wse_session_close(&ses);
	}
	ret = ret ? ret : sgemm_gmacs(&blas);
	m->value = macs / best * 1e-9;
	bench_count(m, "sgemm", "GMAC/s", blas);
	bench_count(m, "ratio", "", m->value / blas);
	free(text);
	return ret;
}

static int train_gmacs_1m(struct bench_measure *m)
{
	return train_gmacs("sim:func,rows=4,cols=4", million, 2, m);
}

static int train_gmacs_10m(struct bench_measure *m)
{
	static const char *const sets[] = {"model.hidden_sizes=[2560, 3072, 512]",
					   "train_dataloader.batch_size=256",
					   "train_dataloader.micro_batch_size=128"};

	return train_gmacs("sim:func,rows=8,cols=16,threads=1", sets, 3, m);
}

/* ---- a large tile on one thread and on two ---- */

/* 1.8 M parameters, 32 tokens a core; in turns, so that both have their share of quiet moments */
static int threads(struct bench_measure *m)
{
	static const char *const sets[] = {
		"model.hidden_sizes=[3072]", "model.window=24", "model.vocab_size=192",
		"train_dataloader.batch_size=512", "train_dataloader.micro_batch_size=512"};
	static const char *const uri[2] = {"sim:func,rows=16,cols=48,threads=1",
					   "sim:func,rows=16,cols=48,threads=2"};
	enum { TURNS = 3 };
	struct wse_session s[2] = {0};
	char *text = malloc(TEXT_BYTES + 64);
	double best[2] = {1e9, 1e9};
	int open = 0, ret = text ? 0 : -ENOMEM;

	for (; open < 2 && !ret; open += !ret)
		ret = open_session(&s[open], uri[open], 1, sets, 5, text);
	for (int i = 0; i <= TURNS && !ret; i++) {
		for (int k = 0; k < 2 && !ret; k++) {
			double begin = bench_now();

			ret = step(&s[k]);
			begin = bench_now() - begin;
			/* the first step makes what the others find */
			if (i && begin < best[k])
				best[k] = begin;
		}
	}
	for (int k = 0; k < open; k++)
		wse_session_close(&s[k]);
	bench_count(m, "one_thread", "s", best[0]);
	bench_count(m, "two_threads", "s", best[1]);
	m->value = best[0] / best[1];
	free(text);
	return ret;
}

/* ---- four devices, weak scaling ---- */

/* 1.2 Tb/s at 0.85 GHz over 990 columns: bits per column and cycle, each way */
#define IO_BITS 1.43
/* SwarmX's cycles from an element's arrival to the sum's departure, a level of the tree */
#define TREE_CYCLES 64.0

/*
 * From the first weight to the last gradient accepted. A device's cycles are counted; its link
 * carries the weights of every micro-batch in (one stream, broadcast) and its gradients out, beside
 * the computing; what is left to carry when the last gradient is complete on the wafer, its last
 * row of blocks, comes on top, and then the levels of the tree between the devices.
 */
static int modelled(uint32_t n, double *cycles, char *text, struct bench_measure *m)
{
	char batch[64];
	const char *sets[] = {batch};
	struct wse_session s;
	double in, out, link = 4 * IO_BITS / 8, worst = 0.0;
	uint32_t levels = 0, per;
	int ret;

	snprintf(batch, sizeof(batch), "train_dataloader.batch_size=%u", 128 * n);
	ret = open_session(&s, "sim:func,rows=4,cols=4", n, sets, 1, text);
	if (ret)
		return ret;
	ret = step(&s);
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct wse_exec_cost c;

		ret = wse_swarm_cost(s.swarm, i, &c);
		if (!ret && c.last_grad > worst)
			worst = c.last_grad;
	}
	per = s.plan.micro_batches / n;
	in = per * (double)s.plan.streamed_in / link;
	out = per * (double)s.plan.streamed_out / link;
	while (1u << levels < n)
		levels++;
	bench_count(m, "wafers", "", n);
	bench_count(m, "last_gradient_counted", "cycles", worst);
	bench_count(m, "link_in", "cycles", in);
	bench_count(m, "link_out", "cycles", out);
	worst = worst > in ? worst : in;
	worst = worst > out ? worst : out;
	*cycles = worst + 4.0 * wse_mlp(&s.cfg.model)->width[0] * 4 / link + levels * TREE_CYCLES;
	bench_count(m, "step", "cycles", *cycles);
	wse_session_close(&s);
	return ret;
}

static int scaling_4(struct bench_measure *m)
{
	char *text = malloc(TEXT_BYTES + 64);
	double one = 1.0, four = 1.0;
	int ret = text ? modelled(1, &one, text, m) : -ENOMEM;

	ret = ret ? ret : modelled(4, &four, text, m);
	m->value = one / four;
	free(text);
	return ret;
}

/* the same in wall time on this machine's cores: at most cores / 4 */
static int scaling_4_wall(struct bench_measure *m)
{
	static const char *const small[] = {"train_dataloader.batch_size=128"};
	static const char *const large[] = {"train_dataloader.batch_size=512"};
	char *text = malloc(TEXT_BYTES + 64);
	double one = 1.0, four = 0.0;
	int ret = text ? twin_rate(1, small, 1, &one, text) : -ENOMEM;

	ret = ret ? ret : twin_rate(4, large, 1, &four, text);
	bench_count(m, "one_wafer", "tokens/s", one);
	bench_count(m, "four_wafers", "tokens/s", four);
	m->value = four / (4 * one);
	free(text);
	return ret;
}

const struct bench bench_train[] = {
	{"train_utilisation", "of lanes",
	 "a training step on the RTL: lane-cycles with a multiply-add", utilisation, 0},
	{"train_useful", "of lanes", "the same step: 3 x the forward's multiply-adds", useful, 0},
	{"train_tokens_vs_reference", "x",
	 "twin against fp32 OpenBLAS, two threads each, 0.92 M parameters", tokens_vs_reference, 0},
	{"twin_train_gmacs", "GMAC/s",
	 "a training step of 0.92 M parameters on the twin, of CPU time", train_gmacs_1m, 0},
	{"twin_train_gmacs_10m", "GMAC/s", "the same of 10 M parameters, 8x16 cores",
	 train_gmacs_10m, 0},
	{"twin_threads", "1",
	 "a training step of 1.8 M parameters on the twin, 16x48 cores: two threads over one",
	 threads, 0},
	{"scaling_4", "x", "1 -> 4 wafers, weak; cycles counted (twin), links modelled", scaling_4,
	 0},
	{"scaling_4_wall", "x", "1 -> 4 twins in wall time on this machine", scaling_4_wall, 0},
	{0}};
