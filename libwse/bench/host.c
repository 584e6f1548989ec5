// SPDX-License-Identifier: MIT
/*
 * What the host does to 10 M parameters, on one thread: the commit of a step (norm, AdamW, images),
 * initialisation, the hash of a checkpoint, and writing one beside dd.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memx/memx.h"
#include "memx/safetensors.h"
#include "model/mlp.h"
#include "num/num.h"
#include "num/sha256.h"
#include "tests/train/heap.h"
#include "bench.h"

#define SIDE 3200u
#define N    ((size_t)SIDE * SIDE)

static float *array(int value)
{
	float *a = malloc(N * sizeof(*a));

	for (size_t i = 0; a && i < N; i++)
		a[i] = (float)value * (float)(i % 1021) * 0x1p-10f;
	return a;
}

/* MemoryX with one matrix that has nearly all parameters, and a gradient of each */
struct commit {
	struct wse_graph graph;
	struct wse_memx *mx;
	struct wse_shared_buf *sums[2];
	size_t params;
};

static int commit_open(struct commit *c)
{
	const struct wse_tile tile = {.rows = 4, .cols = 4, .lanes = 8, .sram = 1u << 20};
	const uint32_t hidden = SIDE;
	struct wse_memx_cfg cfg = {
		.optim = {.kind = WSE_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8},
		.sched = {1, {{WSE_SCHED_CONSTANT, 1e-3, 1e-3, 1, 0}}},
		.max_norm = 1.0};
	struct wse_memx_state st;
	int ret = wse_mlp_init(&cfg.model, 8, SIDE / 8, 16, &hidden, 1, WSE_RELU);

	ret = ret ? ret : cfg.model.family->graph(&cfg.model, &tile, 8, 0, &c->graph);
	ret = ret ? ret : wse_memx_open(&cfg, &c->graph, &heap, &c->mx);
	if (ret)
		return ret;
	wse_memx_state(c->mx, &st);
	c->params = st.table->params;
	for (uint32_t i = 0; i < c->graph.nunits && !ret; i++) {
		size_t n = wse_unit_grad_floats(&c->graph, &c->graph.units[i]);
		float *g;

		ret = heap_alloc(NULL, n * sizeof(float), &c->sums[i]);
		g = ret ? NULL : c->sums[i]->ptr;
		for (size_t j = 0; g && j < n; j++)
			g[j] = (float)(j % 1021) * 0x1p-10f;
	}
	return ret;
}

static void commit_close(struct commit *c)
{
	wse_memx_close(c->mx);
	for (int i = 0; i < 2; i++)
		if (c->sums[i])
			heap_free(NULL, c->sums[i]);
	wse_graph_fini(&c->graph);
}

static int commit_ns(struct bench_measure *m)
{
	struct commit c = {0};
	double best[2] = {1e9, 1e9}, norm, lr;
	int ret = commit_open(&c);
	float *sums[2] = {NULL};

	for (int i = 0; i < 2 && !ret; i++)
		sums[i] = c.sums[i]->ptr;
	for (int i = 0; i < 4 && !ret; i++) {
		double t[3];

		wse_memx_grads(c.mx, sums);
		t[0] = bench_now();
		ret = wse_memx_commit(c.mx, &norm, &lr);
		t[1] = bench_now();
		wse_memx_finish(c.mx);
		t[2] = bench_now();
		for (int j = 0; j < 2; j++)
			if (t[j + 1] - t[j] < best[j])
				best[j] = t[j + 1] - t[j];
	}
	if (!ret) {
		bench_count(m, "norm", "ns", best[0] / (double)c.params * 1e9);
		bench_count(m, "update", "ns", best[1] / (double)c.params * 1e9);
		m->value = (best[0] + best[1]) / (double)c.params * 1e9;
	}
	commit_close(&c);
	return ret;
}

static int init_ns(struct bench_measure *m)
{
	float *p = array(0);
	double begin = bench_now();

	if (!p)
		return -ENOMEM;
	begin = bench_now();
	wse_rng_normals(1, 2, 0, 0.5f, N, p);
	m->value = (bench_now() - begin) / (double)N * 1e9;
	free(p);
	return 0;
}

static int hash_mbs(struct bench_measure *m)
{
	float *p = array(1);
	struct wse_sha256 s;
	char hex[65];
	double begin;

	if (!p)
		return -ENOMEM;
	begin = bench_now();
	wse_sha256_init(&s);
	wse_sha256_add(&s, p, N * sizeof(*p));
	wse_sha256_hex(&s, hex);
	m->value = (double)(N * sizeof(*p)) / (bench_now() - begin) * 1e-6;
	free(p);
	return 0;
}

/* three arrays of parameters to a file on the disk, and as many bytes by dd, in turns */
static int checkpoint_vs_dd(struct bench_measure *m)
{
	float *p = array(1);
	struct wse_st_tensor t[3];
	struct wse_st st = {.tensors = t, .ntensors = 3};
	char path[] = "wse-bench-XXXXXX", cmd[200];
	double ours = 1e9, dd = 1e9, begin, s;
	int fd = p ? mkstemp(path) : -1, ret = !p ? -ENOMEM : fd < 0 ? -errno : 0;

	memset(t, 0, sizeof(t));
	for (int i = 0; i < 3; i++) {
		snprintf(t[i].name, sizeof(t[i].name), "t%d", i);
		t[i].ndim = 2;
		t[i].dim[0] = t[i].dim[1] = SIDE;
		t[i].count = N;
		t[i].data = p;
	}
	for (int i = 0; i < 3 && !ret; i++) {
		begin = bench_now();
		ret = wse_st_write(path, &st);
		s = bench_now() - begin;
		ours = s < ours ? s : ours;
		unlink(path);
		snprintf(cmd, sizeof(cmd),
			 "dd if=/dev/zero of=%s bs=1M count=%zu conv=fsync 2>/dev/null", path,
			 3 * N * sizeof(*p) >> 20);
		begin = bench_now();
		if (system(cmd))
			ret = -EIO;
		s = bench_now() - begin;
		dd = s < dd ? s : dd;
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
	bench_count(m, "checkpoint", "MB/s", (double)(3 * N * sizeof(*p)) / ours * 1e-6);
	bench_count(m, "dd", "MB/s", (double)(3 * N * sizeof(*p)) / dd * 1e-6);
	m->value = dd / ours;
	free(p);
	return ret;
}

const struct bench bench_host[] = {
	{"host_commit_ns", "ns", "norm, AdamW and images of a parameter, 10 M on one thread",
	 commit_ns, 1},
	{"host_init_ns", "ns", "a parameter's first value", init_ns, 1},
	{"host_hash_mbs", "MB/s", "the hash of a checkpoint", hash_mbs, 0},
	{"host_checkpoint_vs_dd", "1",
	 "writing a checkpoint of 10 M parameters and AdamW's state, here, beside dd",
	 checkpoint_vs_dd, 0},
	{0},
};
