// SPDX-License-Identifier: MIT
/*
 * What MPI costs: the same step by two ranks of one device each, and by one process of two, in
 * turns. The ranks are this program under mpirun; rank 0 has the other session, too.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "train/ranks.h"
#include "bench.h"
#include "gpt.h"

enum { STEPS = 3 };

static const char uri[] = "sim:func,rows=4,cols=16";
/* 10 M parameters */
static const char *const sets[] = {
	"model.hidden_size=256",
	"model.num_hidden_layers=12",
	"train_dataloader.batch_size=4",
};

static int one_step(struct wse_session *s, double *seconds)
{
	double begin = bench_now();
	struct wse_step_result r;
	int ret = wse_session_compute(s, &r);

	ret = ret ? ret : wse_session_commit(s, &r);
	*seconds = bench_now() - begin;
	return ret;
}

static int turns(struct wse_session *many, struct wse_session *one)
{
	double best[2] = {1e9, 1e9}, exposed = 0.0, t, gap;
	int ret = 0;

	for (int i = 0; i <= STEPS && !ret; i++) { /* the first one warms up */
		/* so that the gap is between two steps */
		for (int twice = 0; twice < 2 && !ret; twice++) {
			ret = one_step(many, &t);
			gap = wse_swarm_gap(many->swarm);
			if (!ret && i && t < best[0])
				best[0] = t;
			if (!ret && i && gap > 0.0 && (exposed == 0.0 || gap < exposed))
				exposed = gap;
		}
		ret = ret || !one ? ret : one_step(one, &t);
		if (!ret && one && i && t < best[1])
			best[1] = t;
	}
	if (!ret && one)
		printf("mpi_overhead: ranks %.6f alone %.6f exposed %.6f\n", best[0], best[1],
		       exposed);
	return ret;
}

int bench_rank(void)
{
	struct wse_session many, one;
	struct wse_hosts *hosts = NULL;
	struct wse_link *link;
	uint32_t rank = 0;
	int ret = wse_link_find(&link), joined;

	if (!ret && !link)
		ret = wse_fail(-EINVAL, "--rank is for mpirun -n 2 wse-bench --rank");
	ret = ret ? ret : wse_hosts_open(link, &hosts);
	if (ret)
		return ret;
	rank = wse_hosts_rank(hosts);
	ret = bench_session(&many, uri, 1, sets, 3, rank, wse_hosts_ranks(hosts));
	joined = wse_ranks_join(&many, hosts, ret);
	if (joined) {
		if (!ret)
			wse_session_close(&many);
		return joined;
	}
	if (!rank)
		ret = bench_session(&one, uri, 2, sets, 3, 0, 0);
	if (!ret) {
		ret = turns(&many, rank ? NULL : &one);
		if (!rank)
			wse_session_close(&one);
	}
	if (ret)
		wse_ranks_fail(many.ranks, ret);
	wse_session_close(&many);
	return ret;
}

static int mpi_overhead(struct bench_measure *m)
{
	char self[PATH_MAX] = "", cmd[PATH_MAX + 200], line[256];
	double many, alone, exposed;
	int found = 0;
	FILE *f;

	if (system("command -v mpirun >/dev/null"))
		return wse_fail(-ENOTSUP, "no mpirun: install openmpi-bin");
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	snprintf(cmd, sizeof(cmd), "mpirun %s --oversubscribe --bind-to none -n 2 '%s' --rank 2>&1",
		 geteuid() ? "" : "--allow-run-as-root", self);
	fflush(stdout);
	f = popen(cmd, "r");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "mpi_overhead: ranks %lf alone %lf exposed %lf", &many, &alone,
			   &exposed) == 3)
			found = 1;
		else if (!found)
			wse_fail(-EIO, "mpirun -n 2 wse-bench --rank: %.200s", line);
	}
	if (pclose(f) || !found)
		return -EIO; /* its last line is the sentence */
	bench_count(m, "ranks", "s", many);
	bench_count(m, "alone", "s", alone);
	bench_count(m, "exposed", "of a step", exposed / many);
	m->value = many / alone;
	return 0;
}

const struct bench bench_ranks[] = {
	{"mpi_overhead", "x",
	 "steps of 10 M parameters, 4x16 cores of a twin: two ranks of mpirun, and one process of 2",
	 mpi_overhead, 1},
	{0}};
