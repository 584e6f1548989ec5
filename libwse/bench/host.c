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

#include "memx/optim.h"
#include "memx/safetensors.h"
#include "num/image.h"
#include "num/num.h"
#include "num/sha256.h"
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

static int commit_ns(struct bench_measure *m)
{
	const struct wse_optim_cfg cfg = {
		.kind = WSE_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
	const struct wse_update u = {
		.lr = 1e-3, .beta1_pow = 0.9, .beta2_pow = 0.95, .grad_scale = 1.0f, .decay = 1};
	float *p = array(1), *g = array(1), *mm = array(0), *v = array(0);
	uint16_t *plain = calloc(N, 2), *turned = calloc(N, 2);
	double best[3] = {1e9, 1e9, 1e9}, sum = 0.0;
	int ret = p && g && mm && v && plain && turned ? 0 : -ENOMEM;

	for (int i = 0; i < 4 && !ret; i++) {
		double t[4];

		t[0] = bench_now();
		sum += wse_sum_squares(g, N);
		t[1] = bench_now();
		wse_optim_update(&cfg, &u, N, p, mm, v, g);
		t[2] = bench_now();
		wse_bf16_image(p, SIDE, SIDE, plain, turned);
		t[3] = bench_now();
		for (int j = 0; j < 3; j++)
			if (t[j + 1] - t[j] < best[j])
				best[j] = t[j + 1] - t[j];
	}
	bench_count(m, "norm", "ns", best[0] / (double)N * 1e9);
	bench_count(m, "adamw", "ns", best[1] / (double)N * 1e9);
	bench_count(m, "images", "ns", best[2] / (double)N * 1e9);
	m->value = (best[0] + best[1] + best[2]) / (double)N * 1e9;
	ret = ret ? ret : sum > 0.0 ? 0 : -EPROTO;
	free(p);
	free(g);
	free(mm);
	free(v);
	free(plain);
	free(turned);
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
