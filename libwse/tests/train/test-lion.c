// SPDX-License-Identifier: MIT
/*
 * Lion: its arithmetic beside a plain loop, one moment in memory and in checkpoints, and the same
 * run resumed and over ranks; the schedule of inverse square roots.
 */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "memx/optim.h"
#include "num/num.h"
#include "ranks.h"
#include "st_whole.h"
#include "tap.h"
#include "train/memory.h"
#define OWN_DIR "/dev/shm/wse-lion-XXXXXX"
#include "whole_run.h"

static const char *const lion_sets[] = {
	"optimizer={Lion: {betas: [0.95, 0.98], weight_decay: 0.1}}",
	"schedulers=[{InverseSquareRootDecayLR: {scale: 0.004, warmup_steps: 4}}]",
	"loop.max_steps=6",
	"checkpoint.steps=2",
};

enum { SETS = 4 };

/* as the paper's listing has it, in double, but for the sign: that must be the same everywhere */
static void arithmetic(void)
{
	enum { N = 1003 };
	const struct wse_optim_cfg c = {
		.kind = WSE_OPTIM_LION, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1};
	struct wse_update u = {.lr = 1e-3, .grad_scale = 0.5f};
	static float p[N], m[N], g[N], v = 7.0f;
	static double dp[N], dm[N];
	double worst = 0.0;
	uint32_t still = 0;

	for (int i = 0; i < N; i++)
		dp[i] = p[i] = (float)wse_rng_normal(1, 2, (uint64_t)i);
	for (int step = 0; step < 20; step++) {
		u.decay = step % 2;
		for (int i = 0; i < N; i++)
			g[i] = i % 10 ? (float)wse_rng_normal(step + 2, 3, (uint64_t)i) : 0.0f;
		wse_optim_update(&c, &u, N, p, m, NULL, g);
		for (int i = 0; i < N; i++) {
			double gi = 0.5 * g[i], way = 0.9 * dm[i] + 0.1 * gi;

			dp[i] *= 1.0 - (u.decay ? 1e-3 * 0.1 : 0.0);
			dp[i] -= 1e-3 * ((way > 0.0) - (way < 0.0));
			dm[i] = 0.99 * dm[i] + 0.01 * gi;
		}
	}
	for (int i = 0; i < N; i++) {
		worst = fmax(worst, fabs(p[i] - dp[i]));
		worst = fmax(worst, fabs(m[i] - dm[i]));
		still += !m[i] && i % 10 == 0;
	}
	ok(worst < 3e-6, "twenty steps, worst %.1e", worst);
	ok(still == (N + 9) / 10, "where there was no gradient there is no moment: %u", still);
	wse_optim_update(&c, &u, 1, p, m, &v, g);
	ok(v == 7.0f && wse_optim_arrays(&c) == 2, "it keeps one moment");
}

static void schedule(void)
{
	const struct wse_sched_list l = {
		2, {{WSE_SCHED_LINEAR, 0, 0.5, 10, 0}, {WSE_SCHED_INVERSE_SQRT, 2.0, 2.0, 16, 10}}};
	struct wse_config c;
	int ret;

	ok(wse_sched_rate(&l, 9) == 0.45 && wse_sched_rate(&l, 10) == 0.5 &&
		   wse_sched_rate(&l, 26) == 0.5 && wse_sched_rate(&l, 110) == 0.2,
	   "2 / sqrt(max(step, 16))");
	ret = wse_config_parse("t", yaml, strlen(yaml), lion_sets, SETS, &c);
	ok(!ret && c.optim.kind == WSE_OPTIM_LION && c.optim.beta1 == 0.95 &&
		   c.optim.beta2 == 0.98 && c.optim.weight_decay == 0.1 &&
		   c.sched.s[0].kind == WSE_SCHED_INVERSE_SQRT && c.sched.s[0].from == 0.004 &&
		   c.sched.s[0].total_iters == 4,
	   "by the Model Zoo's keys%s%s", ret ? ": " : "", ret ? wse_error() : "");
}

static void refused(const char *set, const char *says)
{
	struct wse_config c;
	int ret = wse_config_parse("t", yaml, strlen(yaml), &set, 1, &c);

	ok(ret == -EINVAL && strstr(wse_error(), says), "%s", ret ? wse_error() : "it was taken");
}

static void faults(void)
{
	refused("optimizer={Lion: {eps: 1.0e-8}}", "eps is unknown");
	refused("optimizer={Lion: {betas: [0.9]}}", "must be a list of two numbers");
	refused("optimizer={Adafactor: {scale_parameter: true}}",
		"is Adafactor, which is not available");
	refused("optimizer={Lions: {}}", "did you mean Lion?");
	refused("schedulers=[{SequentialLR: {schedulers: [{InverseSquareRootDecayLR: {}},"
		" {ConstantLR: {learning_rate: 0.1}}]}}]",
		"has no end: put it last, or give milestones");
}

/* one moment less than AdamW: 4 bytes a parameter, and its checkpoint has two arrays */
static void kept(void)
{
	static const char *const adamw[] = {"optimizer={AdamW: {}}"};
	const struct wse_tile tile = {.rows = 2, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	struct wse_memory m[2];
	struct wse_config c;
	struct wse_plan p;
	uint64_t params = 0;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		ret = wse_config_parse("t", yaml, strlen(yaml), i ? adamw : lion_sets, i ? 1 : SETS,
				       &c);
		ret = ret ? ret : wse_plan_make(&c.model, &tile, c.batch, c.micro_batch, &p);
		ret = ret ? ret : wse_memory_of(&c, &p, four[0], 1, 1, &m[i]);
		wse_plan_fini(&p);
		params = m[0].state / 8;
	}
	ok(!ret && m[0].state == 8 * params && m[1].state == 12 * params && m[0].disk < m[1].disk,
	   "weights and moments: %llu bytes, AdamW's %llu; in a file %llu, %llu",
	   (unsigned long long)m[0].state, (unsigned long long)m[1].state,
	   (unsigned long long)m[0].disk, (unsigned long long)m[1].disk);
}

static void checkpoint(const char *name)
{
	struct st_whole whole;
	uint32_t avg = 0, other = 0, params = 0;
	char path[200];
	int ret;

	snprintf(path, sizeof(path), "%s/%s/checkpoint_6.safetensors", dir, name);
	ret = st_whole_read(path, &whole);
	for (uint32_t i = 0; i < whole.st.ntensors && !ret; i++) {
		const char *t = whole.st.tensors[i].name;

		if (!strncmp(t, "optimizer.exp_avg.", 18))
			avg++;
		else if (!strncmp(t, "optimizer.", 10))
			other++;
		else
			params++;
	}
	ok(!ret && avg && avg == params && !other, "a checkpoint has optimizer.exp_avg alone");
	st_whole_free(&whole);
}

/* ---- whole runs ---- */

struct job {
	const char *name;
	struct watch w[RANKS_MAX];
	struct wse_run_result res[RANKS_MAX];
	int resume;
	const char *last; /* of the sets; NULL: none */
};

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	const char *sets[SETS + 1];

	memcpy(sets, lion_sets, sizeof(lion_sets));
	sets[SETS] = j->last;
	j->w[me->rank].link = me->link;
	me->ret = go(j->name, four, 1, sets, SETS + (j->last != NULL), j->resume, &j->w[me->rank],
		     &j->res[me->rank]);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

static int on(uint32_t ranks, struct job *j, char hash[65])
{
	struct rank r[RANKS_MAX];
	int bad = all_ranks(ranks, one_rank, j, r);

	memcpy(hash, j->res[0].hash, 65);
	return bad;
}

static void runs(void)
{
	struct job one = {.name = "one"}, three = {.name = "three"}, part = {.name = "part"};
	struct wse_run_result res;
	struct watch w = {0};
	char hash[65], again[65];
	int bad = go("alone", four, 1, lion_sets, SETS, 0, &w, &res);

	ok(!bad && res.evaluated && isfinite(res.loss), "six steps: loss %.3f, held out %.3f%s%s",
	   res.loss, res.held_out, bad ? ": " : "", bad ? wse_error() : "");
	checkpoint("alone");
	bad = on(1, &one, hash);
	ok(!bad && !strcmp(hash, res.hash) && !on(3, &three, again) && !strcmp(hash, again),
	   "one process, one rank and three ranks: one hash");
	part.last = "loop.max_steps=2";
	bad = on(2, &part, again);
	part.last = NULL;
	part.resume = 1;
	memset(part.w, 0, sizeof(part.w));
	bad |= on(3, &part, again);
	ok(!bad && !strcmp(hash, again), "two steps of two ranks, four of three: the same hash");
	part.last = "optimizer={AdamW: {}}";
	memset(part.w, 0, sizeof(part.w));
	w = (struct watch){0};
	bad = go("alone", four, 1, (const char *const[]){lion_sets[1], lion_sets[3], part.last}, 3,
		 1, &w, &res);
	ok(bad == -EINVAL && strstr(wse_error(), "\"Lion\" there, \"AdamW\" in this run"),
	   "AdamW does not go on from it: %s", wse_error());
}

int main(void)
{
	int none = make_text();

	if (none)
		return none < 0;
	arithmetic();
	schedule();
	faults();
	kept();
	runs();
	ok(!dir_remove(), "cleaned up");
	return tap_end();
}
