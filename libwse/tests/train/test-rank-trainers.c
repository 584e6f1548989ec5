// SPDX-License-Identifier: MIT
/*
 * Trainers under a launcher, threads of this process: each rank loads a checkpoint and sets
 * tensors. Ranks that do not do the same, or of which one cannot, all get one error that names it,
 * and go on.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ranks.h"
#include "swarmx/link.h"
#include "tap.h"

#include "own_model.h"

enum { RANKS = 3, TENSOR = 1, NONE = 1000 };

/* the launcher's, of a thread */
static __thread struct wse_link *my_link;

int __wrap_wse_link_find(struct wse_link **link);
int __wrap_wse_link_find(struct wse_link **link)
{
	*link = my_link;
	return 0;
}

enum odd {
	NOTHING,
	OTHER_FILE,
	NO_FILE,
	ALL_NO_FILE,
	OTHER_VALUES,
	INFINITE,
	SHORT,
	ALL_NO_TENSOR
};

struct job {
	enum odd odd;
	uint32_t rank; /* that has it */
	const char *from, *other, *to;
	int ret[RANKS], after[RANKS];
	char why[RANKS][1024];
	double took[RANKS];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* values for a tensor that it did not have */
static float *values(struct wse_trainer *t, uint64_t *n, int odd)
{
	struct wse_tensor_info info;
	float *v;

	if (wse_trainer_tensor(t, TENSOR, &info))
		return NULL;
	*n = (uint64_t)info.rows * info.cols;
	v = malloc(*n * sizeof(*v));
	for (uint64_t i = 0; v && i < *n; i++)
		v[i] = 0.5f * info.data[i] + 0.001f * (float)(i % 7);
	if (v && odd)
		v[*n - 1] += 0.25f;
	return v;
}

/* load, set, a step, save: the odd one first, then as it should be */
static int use(struct wse_trainer *t, struct job *j, uint32_t rank)
{
	int odd = rank == j->rank || j->odd == ALL_NO_FILE || j->odd == ALL_NO_TENSOR, ret;
	struct wse_step_result r;
	uint64_t n = 0;
	float *v;

	if (j->odd == OTHER_FILE || j->odd == NO_FILE || j->odd == ALL_NO_FILE) {
		j->ret[rank] = wse_trainer_load(t,
						!odd		       ? j->from
						: j->odd == OTHER_FILE ? j->other
								       : "/nonexistent",
						WSE_CKPT_ALL);
		snprintf(j->why[rank], sizeof(j->why[rank]), "%s", wse_error());
		/* some ranks have loaded it */
		j->after[rank] = wse_trainer_save(t, j->to);
	}
	ret = wse_trainer_load(t, j->from, WSE_CKPT_ALL);
	v = ret ? NULL : values(t, &n, 0);
	if (v && j->odd >= OTHER_VALUES) {
		float *w = values(t, &n, odd && j->odd == OTHER_VALUES);

		if (w && odd && j->odd == INFINITE)
			w[3] = INFINITY;
		j->ret[rank] =
			!w ? -ENOMEM
			   : wse_trainer_set_tensor(t, j->odd == ALL_NO_TENSOR ? NONE : TENSOR, w,
						    n - (odd && j->odd == SHORT));
		snprintf(j->why[rank], sizeof(j->why[rank]), "%s", wse_error());
		free(w);
	}
	ret = ret ? ret : v ? wse_trainer_set_tensor(t, TENSOR, v, n) : -ENOMEM;
	free(v);
	ret = ret ? ret : wse_trainer_step(t, &r);
	return ret ? ret : wse_trainer_save(t, j->to);
}

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	double begin = now();
	struct wse_trainer *t;

	my_link = me->link;
	t = open_mlp(1);
	me->ret = t ? use(t, j, me->rank) : -ENODEV;
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	wse_trainer_close(t);
	j->took[me->rank] = now() - begin;
	return NULL;
}

static const char *in(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s.safetensors", dir, name);
	return path;
}

/* what one process makes of it; and checkpoints to load */
static int alone(struct job *j, char hash[65])
{
	struct wse_trainer *t = open_mlp(1);
	struct wse_step_result r;
	int ret = t ? 0 : -ENODEV;

	if (!ret && !is(wse_trainer_load(t, NULL, WSE_CKPT_ALL), -EINVAL, "the path is NULL"))
		ret = -EPROTO;
	ret = ret ? ret : wse_trainer_step(t, &r);
	ret = ret ? ret : wse_trainer_save(t, j->from);
	ret = ret ? ret : wse_trainer_step(t, &r);
	ret = ret ? ret : wse_trainer_save(t, j->other);
	wse_trainer_close(t);
	t = ret ? NULL : open_mlp(1);
	ret = ret ? ret : t ? use(t, j, 0) : -ENODEV;
	wse_trainer_close(t);
	return ret ? ret : wse_checkpoint_hash(j->to, hash);
}

static void odd(struct job j, const char *what, int err, int after, const char *says,
		const char *want)
{
	struct rank r[RANKS_MAX];
	char hash[65] = "";
	double worst = 0.0;
	int bad = 0;

	remove(j.to);
	on_ranks(RANKS, one_rank, &j, r);
	for (uint32_t i = 0; i < RANKS; i++) {
		if (r[i].ret || j.ret[i] != err || j.after[i] != after || !strstr(j.why[i], says))
			bad = printf("# rank %u: %d %d %d, %s; %s\n", i, r[i].ret, j.ret[i],
				     j.after[i], j.why[i], r[i].why);
		worst = j.took[i] > worst ? j.took[i] : worst;
	}
	bad |= wse_checkpoint_hash(j.to, hash) || strcmp(hash, want);
	ok(!bad && worst < 60.0, "%s: %s", what, err ? j.why[2] : "the checkpoint of one process");
}

int main(void)
{
	char from[200], other[200], to[200], want[65] = "";
	struct job j = {.rank = NONE};

	if (!mkdtemp(dir))
		return 1;
	write_text();
	j.from = in("from", from, sizeof(from));
	j.other = in("other", other, sizeof(other));
	j.to = in("to", to, sizeof(to));
	ok(!alone(&j, want), "one process: %s", want);
	odd(j, "each of three ranks loads, and sets", 0, 0, "", want);
	for (j.rank = 0; j.rank < 2; j.rank++) {
		j.odd = OTHER_FILE;
		odd(j, "a rank loads another file", -EINVAL, -ESTALE,
		    "rank 1 (thread 1) has another file as checkpoint", want);
		j.odd = NO_FILE;
		odd(j, "a rank has no such file", -ENOENT, -ESTALE,
		    j.rank ? "rank 1 (thread 1): checkpoint /nonexistent"
			   : "rank 0 (thread 0): checkpoint /nonexistent",
		    want);
		j.odd = OTHER_VALUES;
		odd(j, "a rank sets other values", -EINVAL, 0, "rank 1 (thread 1) has another ",
		    want);
		j.odd = INFINITE;
		odd(j, "a rank sets what is not finite", -ERANGE, 0,
		    j.rank ? "rank 1 (thread 1): " : "rank 0 (thread 0): ", want);
		j.odd = SHORT;
		odd(j, "a rank sets another number of values", -EINVAL, 0,
		    j.rank ? "rank 1 (thread 1): " : "rank 0 (thread 0): ", want);
	}
	j.odd = ALL_NO_FILE;
	odd(j, "no rank has the file", -ENOENT, 0, "rank 0 (thread 0): checkpoint /nonexistent",
	    want);
	j.odd = ALL_NO_TENSOR;
	odd(j, "a tensor that is none", -ENOENT, 0, "there is no tensor 1000", want);
	ok(!dir_remove(), "nothing is left");
	return tap_end();
}
