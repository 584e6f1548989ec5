// SPDX-License-Identifier: MIT
/*
 * Whole runs over several ranks, threads of this process: the checkpoint of one process.
 *
 *	test-ranks --table	all of 1 to 4 ranks, 1 to 3 devices, 1 to 30 micro-batches, a
 *				rank of the RTL among twins, every number of ranks after every
 *				other: minutes, `make test-rank-table`
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "ranks.h"
#include "tap.h"
#define OWN_DIR "/dev/shm/wse-test-XXXXXX" /* hundreds of runs, each of which syncs files */
#include "whole_run.h"

/* a GPT of one block, tied or not, so small that an oracle does a step in milliseconds */
static const char gpt_model[] =
	"model={name: gpt2, vocab_size: 256, max_position_embeddings: 16, hidden_size: 16,"
	" num_hidden_layers: 1, num_heads: 2, filter_size: 29}";

/* one with two tables that are in no unit; that of positions has two pieces */
static const char apart[] =
	"model={name: gpt2, vocab_size: 256, max_position_embeddings: 40000, hidden_size: 32,"
	" num_hidden_layers: 1, num_heads: 2, filter_size: 64, share_embedding_weights: false}";

static const char *const gpt_data = "train_dataloader.micro_batch_size=2";

struct job {
	const char *name; /* of the folder */
	const char *const *uris;
	uint32_t devices; /* of a rank */
	const char *sets[12];
	uint32_t nsets;
	int resume;
	int odd_rank; /* this one has `odd` in place of the last set, and devices of its own */
	const char *odd;
	const char *const *odd_uris;
	int old_rank; /* this one says that it is of another release; 0: none */
	struct wse_run_result res[RANKS_MAX];
	struct watch w[RANKS_MAX];
};

static const struct wse_link_ops *of_pair;

/* the facts of a rank as the release before would send them */
static int old_facts(struct wse_link *l, uint32_t to, uint32_t tag, const void *buf, size_t bytes,
		     void **req)
{
	static const char key[] = "release\n";
	static char facts[1 << 16]; /* stays until it was sent */

	if (bytes > sizeof(facts) || bytes < sizeof(key) || memcmp(buf, key, sizeof(key) - 1))
		return of_pair->send(l, to, tag, buf, bytes, req);
	memcpy(facts, buf, bytes);
	facts[sizeof(key) - 1] = 'x'; /* first of the number */
	return of_pair->send(l, to, tag, facts, bytes, req);
}

static void *one_rank(void *arg)
{
	static struct wse_link_ops old;
	struct rank *me = arg;
	struct job *j = me->arg;
	const char *sets[12];

	memcpy(sets, j->sets, sizeof(sets));
	if (j->odd && (int)me->rank == j->odd_rank)
		sets[j->nsets - 1] = j->odd;
	if (j->old_rank && (int)me->rank == j->old_rank) {
		of_pair = me->link->ops;
		old = *of_pair;
		old.send = old_facts;
		me->link->ops = &old;
	}
	j->w[me->rank].link = me->link;
	me->ret = go(j->name, j->odd_uris && (int)me->rank == j->odd_rank ? j->odd_uris : j->uris,
		     j->devices, sets, j->nsets, j->resume, &j->w[me->rank], &j->res[me->rank]);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* 0 and the hash of what rank 0 wrote */
static int on(uint32_t ranks, struct job *j, struct rank *r, char hash[65])
{
	int bad = 0;

	on_ranks(ranks, one_rank, j, r);
	for (uint32_t i = 0; i < ranks; i++) {
		bad |= r[i].ret || j->res[i].steps != j->res[0].steps;
		if (r[i].ret)
			printf("# rank %u of %u: %s\n", i, ranks, r[i].why);
		if (i)
			bad |= j->res[i].checkpoint[0] || j->w[i].last[0];
	}
	memcpy(hash, j->res[0].hash, 65);
	return bad;
}

static void remove_run(const char *name)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "rm -rf %s/%s", dir, name);
	if (system(cmd))
		printf("# %s\n", cmd);
}

/* number of runs on 1 to 4 ranks of 1 to `most` devices, every step-th; -1: not the same */
static int same_runs(const char *what, const char *const *uris, struct job base, uint32_t most,
		     uint32_t step, uint32_t samples, const uint32_t *leaves, uint32_t n)
{
	char one[65], hash[65], batch[64], name[64];
	struct rank r[RANKS_MAX];
	double held_out = 0.0;
	uint32_t runs = 0;
	int bad = 0;

	for (uint32_t i = 0; i < n; i++) {
		snprintf(batch, sizeof(batch), "train_dataloader.batch_size=%u",
			 samples * leaves[i]);
		base.sets[base.nsets] = batch;
		for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
			for (uint32_t d = 1; d <= most; d += step) {
				struct job j = base;

				snprintf(name, sizeof(name), "%s-%u-%u-%u", what, leaves[i], ranks,
					 d);
				j.name = name;
				j.uris = uris;
				j.devices = d;
				j.nsets++;
				bad |= on(ranks, &j, r, hash);
				runs++;
				if (ranks == 1 && d == 1) {
					memcpy(one, hash, 65);
					held_out = j.res[0].held_out;
				}
				if (strcmp(one, hash) || !j.res[0].evaluated ||
				    held_out != j.res[0].held_out)
					bad |= printf("# %s: %s, not %s; %a, not %a\n", name, hash,
						      one, j.res[0].held_out, held_out);
				remove_run(name);
			}
		}
	}
	return bad ? -1 : (int)runs;
}

static void same(void)
{
	static const uint32_t all[] = {1, 2, 5, 7, 12, 30}, few[] = {1, 6}, seven = 7;
	struct job mlp = {.sets = {"loop.max_steps=2"}, .nsets = 1};
	struct job gpt = {.sets = {"loop.max_steps=2", gpt_model, gpt_data}, .nsets = 3};
	int n = same_runs("mlp", four, mlp, 3, 2, 16, all, sizeof(all) / sizeof(all[0]));

	ok(n > 0,
	   "an MLP, 1 to 30 micro-batches, 1 to 4 ranks of 1 and 3 devices: one hash, one held-out "
	   "loss (%d runs)",
	   n);
	n = same_runs("gpt", four, gpt, 3, 2, 2, few, sizeof(few) / sizeof(few[0]));
	ok(n > 0, "a GPT: one hash (%d runs)", n);
	n = same_runs("rest", four, gpt, 3, 2, 1, &seven, 1);
	ok(n > 0, "seven samples in micro-batches of two: one hash (%d runs)", n);
	gpt.sets[1] = apart;
	gpt.sets[gpt.nsets++] = "train_dataloader.max_sequence_length=16";
	n = same_runs("apart", four, gpt, 3, 2, 2, few, sizeof(few) / sizeof(few[0]));
	ok(n > 0, "a GPT with tables of 1.3 M that ranks share: one hash (%d runs)", n);
}

/* ComputeNorm: each rank sums the squares of its own pieces */
static void norms(void)
{
	static const char *const models[] = {
		NULL, gpt_model,
		"model={name: gpt2, vocab_size: 256, max_position_embeddings: 16, hidden_size: 16,"
		" num_hidden_layers: 2, num_heads: 2, filter_size: 32, share_embedding_weights: false}"};
	char one[600] = "", name[40];
	struct rank r[RANKS_MAX];
	char hash[65];

	for (uint32_t m = 0; m < 3; m++) {
		int bad = 0;

		for (uint32_t ranks = 1; ranks <= 3; ranks++) {
			struct job j = {.name = name,
					.uris = four,
					.devices = 1 + ranks % 2,
					.sets = {"loop.max_steps=2", "callbacks=[ComputeNorm: {}]",
						 "logging.log_steps=1", gpt_data, models[m]},
					.nsets = m ? 5 : 3};

			snprintf(name, sizeof(name), "norms-%u-%u", m, ranks);
			j.w[0].listen = "| Norms";
			bad |= on(ranks, &j, r, hash);
			if (ranks == 1)
				memcpy(one, j.w[0].said, sizeof(one));
			bad |= strcmp(one, j.w[0].said) || !one[0];
		}
		ok(!bad, "1 to 3 ranks: %s", one);
	}
}

/* a checkpoint of any number of ranks goes on on any other */
static void resumed(void)
{
	struct job one = {.name = "all", .uris = four, .devices = 2, .nsets = 1};
	char whole[65], hash[65];
	struct rank r[RANKS_MAX];
	int bad = 0;

	one.sets[0] = "loop.max_steps=6";
	bad |= on(1, &one, r, whole);
	for (uint32_t ranks = 1; ranks <= 3; ranks++) {
		struct job j = {.name = "parts", .uris = four, .devices = 1, .nsets = 1};
		static const char *const steps[] = {"loop.max_steps=2", "loop.max_steps=4",
						    "loop.max_steps=6"};
		char cmd[100];

		for (uint32_t i = 0; i < 3; i++) {
			j.resume = i > 0;
			j.sets[0] = steps[i];
			memset(j.w, 0, sizeof(j.w));
			bad |= on(1 + (ranks + i) % 4, &j, r, hash);
		}
		bad |= strcmp(whole, hash);
		snprintf(cmd, sizeof(cmd), "rm -rf %s/parts", dir);
		bad |= system(cmd);
	}
	ok(!bad, "1 to 4 ranks go on from checkpoints of 1 to 4: the hash of one run");
}

/* devices that die, all but one of a rank, and a replay by rank 0 */
static void worse(void)
{
	static const char *const dying[] = {"oracle:rows=2,cols=4,die_at=4",
					    "oracle:rows=2,cols=4"};
	struct job one = {.name = "healthy", .uris = four, .devices = 2, .nsets = 1};
	struct job j = {.name = "dying", .uris = dying, .devices = 2, .nsets = 1};
	struct job v = {.name = "replayed", .uris = four, .devices = 1, .nsets = 1};
	struct job d = {.name = "dead", .uris = dying, .devices = 1, .nsets = 1};
	char whole[65], hash[65];
	struct rank r[RANKS_MAX];
	int bad;

	one.sets[0] = j.sets[0] = v.sets[0] = d.sets[0] = "loop.max_steps=6";
	bad = on(1, &one, r, whole) || on(3, &j, r, hash) || strcmp(whole, hash);
	for (uint32_t i = 0; i < 3; i++)
		bad |= !j.w[i].repeated;
	ok(!bad, "a device of each rank dies: it does its range again with the other, same hash");
	v.w[0].verify = 3;
	v.w[0].listen = "Step 3: all";
	bad = on(2, &v, r, hash) || strcmp(whole, hash);
	ok(!bad && strstr(v.w[0].said, "the same bits"), "rank 0 replays a step of all ranks: %s",
	   v.w[0].said);
	on_ranks(2, one_rank, &d, r);
	ok(r[0].ret && r[1].ret && strstr(r[0].why, "the last device failed") &&
		   strstr(r[1].why, "the last device failed"),
	   "a rank without a device ends the run: %s", r[1].why);
}

/* what rank 0 says of the weights it reads on all ranks */
static void reads(void)
{
	struct job one = {.name = "nan-1", .uris = four, .devices = 1, .nsets = 2};
	struct job many = one, run = {.name = "proved", .uris = four, .devices = 1, .nsets = 1};
	char hash[65], path[200], *where;
	struct rank r[RANKS_MAX];
	int bad;

	one.sets[0] = many.sets[0] = run.sets[0] = "loop.max_steps=6";
	one.sets[1] = many.sets[1] = "schedulers=[{ConstantLR: {learning_rate: 1.0e+6}}]";
	many.name = "nan-3";
	on_ranks(1, one_rank, &one, r);
	where = strstr(r[0].why, "step ");
	snprintf(path, sizeof(path), "%.100s", where ? where : "no such thing");
	path[strcspn(path, ";")] = 0;
	on_ranks(3, one_rank, &many, r);
	for (uint32_t i = 0; i < 3; i++)
		ok(r[i].ret && strstr(r[i].why, "; first seen at layer ") && strstr(r[i].why, path),
		   "a number that is not finite is found on rank %u: %s", i, r[i].why);
	bad = on(2, &run, r, hash);
	snprintf(path, sizeof(path), "%s/proved/checkpoint_6.safetensors", dir);
	for (uint32_t i = 0; i < 3; i++) {
		run.w[i].check = path;
		run.w[i].check_from = 5;
		run.w[i].check_to = 6;
	}
	run.w[0].listen = "are what the run says";
	ok(strstr(run.w[0].last, ", Exposed="), "what of the exchange is not hidden: %s",
	   run.w[0].last);
	on_ranks(3, one_rank, &run, r);
	ok(!bad && !r[0].ret && !r[2].ret && strstr(run.w[0].said, "every weight and moment"),
	   "a run of 2 ranks is proved by 3: %s%s", run.w[0].said, r[0].ret ? r[0].why : "");
}

static void others(void)
{
	static const struct {
		const char *odd, *says;
	} odd[] = {
		{"optimizer.AdamW.weight_decay=0.02",
		 "rank 1 (thread 1) has weight_decay 0.02, rank 0 (thread 0) has 0.01"},
		{"train_dataloader.batch_size=32",
		 "rank 1 (thread 1) has batch_size 32, rank 0 (thread 0) has 96"},
		{"train_dataloader.data_dir=/usr/share/common-licenses/GPL-3",
		 "rank 1 (thread 1) has text "},
		{"model.hidden_sizes=[64]", "rank 1 (thread 1) has parameters "},
		{"loop.max_steps=77", "rank 1 (thread 1) has max_steps 77, rank 0 (thread 0) has "},
		{"train_dataloader.data_dir=/nonexistent",
		 "rank 1 (thread 1) ended the run: /nonexistent"},
	};
	struct rank r[RANKS_MAX];

	for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct job j = {.name = "odd", .uris = four, .devices = 1, .nsets = 1};

		j.sets[0] = "loop.max_steps=2";
		j.odd_rank = 1;
		j.odd = odd[i].odd;
		on_ranks(3, one_rank, &j, r);
		ok(r[0].ret && r[1].ret && r[2].ret && strstr(r[0].why, odd[i].says) &&
			   strstr(r[2].why, odd[i].says),
		   "%s: %s", odd[i].odd, r[2].why);
	}
}

/* ranks with devices of other tiles, without any, of another release */
static void other_machines(void)
{
	static const char *const tile[] = {"oracle:rows=2,cols=8"}, *const none[] = {"accel:1023"};
	static const struct {
		const char *what;
		const char *const *uris;
		int old_rank;
		const char *says;
	} odd[] = {
		{"another tile", tile, 0, "rank 1 (thread 1) has tile"},
		{"no device", none, 0, "rank 1 (thread 1) ended the run: "},
		{"another release", NULL, 1, "rank 1 (thread 1) has release x"},
	};
	struct rank r[RANKS_MAX];

	for (uint32_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct job j = {.name = "machines",
				.uris = four,
				.devices = 1,
				.nsets = 1,
				.odd_rank = 1,
				.odd_uris = odd[i].uris,
				.old_rank = odd[i].old_rank};

		j.sets[0] = "loop.max_steps=2";
		on_ranks(3, one_rank, &j, r);
		ok(r[0].ret && r[1].ret && r[2].ret && strstr(r[0].why, odd[i].says) &&
			   strstr(r[2].why, odd[i].says),
		   "%s: %s", odd[i].what, r[2].why);
		if (!strstr(r[2].why, odd[i].says))
			printf("# 0: %s\n# 1: %s\n", r[0].why, r[1].why);
	}
}

/* all of what same() takes samples of */
static void whole_table(void)
{
	static const uint32_t few[] = {1, 2, 3, 4, 7, 11, 30};
	struct job mlp = {.sets = {"loop.max_steps=2"}, .nsets = 1};
	struct job gpt = {.sets = {"loop.max_steps=2", gpt_model, gpt_data}, .nsets = 3};
	uint32_t all[30];
	int n;

	for (uint32_t i = 0; i < 30; i++)
		all[i] = i + 1;
	for (uint32_t i = 0; i < 30; i += 5) {
		n = same_runs("mlp", four, mlp, 3, 1, 16, all + i, 5);
		ok(n == 5 * 4 * 3,
		   "an MLP, %u to %u micro-batches, 1 to 4 ranks of 1 to 3 devices: one hash (%d "
		   "runs)",
		   i + 1, i + 5, n);
	}
	n = same_runs("gpt", four, gpt, 3, 1, 2, few, sizeof(few) / sizeof(few[0]));
	ok(n == 7 * 4 * 3, "a GPT, 1 to 30 micro-batches: one hash (%d runs)", n);
	gpt.sets[1] = apart;
	gpt.sets[gpt.nsets++] = "train_dataloader.max_sequence_length=16";
	n = same_runs("apart", four, gpt, 3, 1, 2, few, 5);
	ok(n == 5 * 4 * 3, "a GPT with tables of 1.3 M that ranks share: one hash (%d runs)", n);
}

/* a checkpoint of each number of ranks goes on on each other, with other numbers of devices */
static void each_after_each(void)
{
	struct job one = {.name = "straight", .uris = four, .devices = 1, .nsets = 1};
	char whole[65], hash[65], name[32];
	struct rank r[RANKS_MAX];

	one.sets[0] = "loop.max_steps=4";
	if (on(1, &one, r, whole)) {
		ok(0, "a run of four steps");
		return;
	}
	for (uint32_t a = 1; a <= RANKS_MAX; a++) {
		int bad = 0;

		for (uint32_t b = 1; b <= RANKS_MAX; b++) {
			struct job j = {.name = name, .uris = four, .nsets = 1};

			snprintf(name, sizeof(name), "after-%u-%u", a, b);
			j.sets[0] = "loop.max_steps=2";
			j.devices = 1 + (a + b) % 3;
			bad |= on(a, &j, r, hash) || !strcmp(whole, hash);
			memset(j.w, 0, sizeof(j.w));
			j.sets[0] = "loop.max_steps=4";
			j.devices = 1 + a * b % 3;
			j.resume = 1;
			bad |= on(b, &j, r, hash) || j.res[0].steps != 4 || strcmp(whole, hash);
			remove_run(name);
		}
		ok(!bad, "checkpoints of %u ranks go on on 1 to 4: the hash of one run", a);
	}
}

/* each rank in turn is the RTL, its neighbours are twins */
static void among_twins(void)
{
	static const char *const twins[] = {"sim:func,rows=2,cols=2", "sim:func,rows=2,cols=2"},
				 *const rtl[] = {"sim:rtl,rows=2,cols=2", "sim:func,rows=2,cols=2"};
	static const char *const batches[] = {"train_dataloader.batch_size=32",
					      "train_dataloader.batch_size=112"};

	for (uint32_t k = 0; k < 2; k++) {
		struct job one = {.name = "twin", .uris = twins, .devices = 1, .nsets = 2};
		char whole[65], hash[65];
		struct rank r[RANKS_MAX];
		int bad;

		one.sets[0] = "loop.max_steps=2";
		one.sets[1] = batches[k];
		bad = on(1, &one, r, whole);
		for (uint32_t ranks = 1; ranks <= 3; ranks++) {
			for (uint32_t i = 0; i < ranks; i++) {
				struct job j = one;

				memset(j.w, 0, sizeof(j.w));
				j.name = "mixed";
				j.devices = 1 + (ranks + i) % 2;
				j.odd_rank = (int)i;
				j.odd_uris = rtl;
				bad |= on(ranks, &j, r, hash) || strcmp(whole, hash);
				remove_run("mixed");
			}
		}
		ok(!bad, "1 to 3 ranks, each in turn of the RTL, %s: the hash of one twin",
		   batches[k]);
		remove_run("twin");
	}
}

int main(int argc, char **argv)
{
	int none = make_text();

	if (none)
		return none < 0;
	if (argc > 1 && !strcmp(argv[1], "--table")) {
		whole_table();
		each_after_each();
		among_twins();
		ok(!dir_remove(), "cleaned up");
		return tap_end();
	}
	same();
	norms();
	resumed();
	worse();
	reads();
	others();
	other_machines();
	ok(!dir_remove(), "cleaned up");
	return tap_end();
}
