// SPDX-License-Identifier: MIT
/* Sparse runs over several ranks, threads of this process: the checkpoint of one process. */
#include "base/error.h"
#include "ranks.h"
#include "tap.h"
#define OWN_DIR "/dev/shm/wse-test-XXXXXX"
#include "whole_run.h"

static const char model[] =
	"model={name: gpt2, vocab_size: 256, max_position_embeddings: 16, hidden_size: 16,"
	" num_hidden_layers: 1, num_heads: 2, filter_size: 29}";

struct job {
	char name[80]; /* of the folder */
	const char *sets[8];
	uint32_t nsets, devices;
	int resume;
	const char *from;
	struct wse_run_result res[RANKS_MAX];
	struct watch w[RANKS_MAX];
};

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;

	j->w[me->rank].link = me->link;
	j->w[me->rank].from = j->from;
	me->ret = go(j->name, four, j->devices, j->sets, j->nsets, j->resume, &j->w[me->rank],
		     &j->res[me->rank]);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* 0, and the hash */
static int on(uint32_t ranks, struct job *j, char hash[65])
{
	struct rank r[RANKS_MAX];
	int bad = all_ranks(ranks, one_rank, j, r);

	memcpy(hash, j->res[0].hash, 65);
	return bad;
}

static struct job job(const char *what, uint32_t ranks, uint32_t devices, const char *sparsity,
		      const char *steps)
{
	struct job j = {.sets = {steps, model, "train_dataloader.micro_batch_size=2",
				 "train_dataloader.batch_size=12", sparsity, "eval_frequency=0"},
			.nsets = 5,
			.devices = devices};

	snprintf(j.name, sizeof(j.name), "%s-%u-%u", what, ranks, devices);
	return j;
}

static void same(const char *what, const char *sparsity)
{
	char one[65] = "", hash[65];
	uint32_t runs = 0;
	int bad = 0;

	for (uint32_t ranks = 1; ranks <= 3; ranks++)
		for (uint32_t d = 1; d <= 3; d += 2) {
			struct job j = job(what, ranks, d, sparsity, "loop.max_steps=5");

			bad |= on(ranks, &j, hash);
			if (!runs++)
				memcpy(one, hash, 65);
			if (strcmp(one, hash))
				bad = printf("# %u ranks of %u: %s, not %s\n", ranks, d, hash, one);
		}
	ok(!bad, "%s: one hash on 1 to 3 ranks of 1 and 3 devices (%u runs)%s%s", sparsity, runs,
	   bad ? ": " : "", bad ? wse_error() : "");
}

/* a checkpoint of three ranks goes on on one, and of one on three */
static void resumed(const char *sparsity)
{
	char whole[65], hash[65];
	struct job j = job("whole", 2, 1, sparsity, "loop.max_steps=6");
	int bad = on(2, &j, whole);

	for (uint32_t first = 1; first <= 3; first += 2) {
		j = job("parts", first, 1, sparsity, "loop.max_steps=3");
		bad |= on(first, &j, hash);
		j.sets[0] = "loop.max_steps=6";
		j.resume = 1;
		memset(j.w, 0, sizeof(j.w));
		bad |= on(4 - first, &j, hash) || strcmp(whole, hash);
	}
	ok(!bad, "%s: three steps on one number of ranks, three on another", sparsity);
}

/* weights without masks are loaded, and cut by their magnitudes: on all ranks as on one */
static void cut(void)
{
	const char *sparsity = "sparsity={sparsity: 0.5, init_method: topk}";
	char one[65] = "", hash[65], from[200];
	struct job j = job("dense", 1, 1, "sparsity=0", "loop.max_steps=2");
	int bad = on(1, &j, hash);

	snprintf(from, sizeof(from), "%s/dense-1-1/checkpoint_2.safetensors", dir);
	for (uint32_t ranks = 1; ranks <= 3; ranks++) {
		j = job("cut", ranks, 1, sparsity, "loop.max_steps=3");
		j.sets[j.nsets++] = "checkpoint.load_checkpoint_states=model";
		j.from = from;
		bad |= on(ranks, &j, hash);
		if (ranks == 1)
			memcpy(one, hash, 65);
		bad |= strcmp(one, hash) != 0;
	}
	ok(!bad, "a dense checkpoint is cut to the largest weights on 1, 2 and 3 ranks alike");
}

int main(void)
{
	char cmd[100];
	int ret = make_text();

	if (ret > 0)
		return 0;
	if (ret) {
		printf("Bail out! no folder\n");
		return 1;
	}
	same("static", "sparsity=0.75");
	same("set", "sparsity={sparsity: 0.75, algorithm: set, update: {freq: 2}}");
	same("rigl",
	     "sparsity={sparsity: 0.75, algorithm: rigl, init_method: topk, update: {freq: 2}}");
	resumed("sparsity={sparsity: 0.75, algorithm: rigl, update: {freq: 2}}");
	cut();
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return tap_end() | system(cmd);
}
