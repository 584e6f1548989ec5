// SPDX-License-Identifier: MIT
/*
 * Weights, gradients and images in files, on several ranks: the checkpoint of one process that has
 * all of it in memory, also where a run goes on from one of another number of ranks and files.
 */
#include <sys/stat.h>

#include "ranks.h"
#include "tap.h"
#define OWN_DIR "/tmp/wse-test-XXXXXX"
#include "whole_run.h"

static const char *const twins[] = {"sim:func,rows=4,cols=4", "sim:func,rows=4,cols=4"};

/* of many units, so that little of it is in memory */
static const char *const gpt[] = {
	"model={name: gpt2, vocab_size: 256, max_position_embeddings: 32, hidden_size: 64,"
	" num_hidden_layers: 10, num_heads: 4, filter_size: 256}",
	"train_dataloader={batch_size: 5, micro_batch_size: 1, data_dir: TEXT}",
};

/* its embedding's gradient is scattered after the step: that unit's stays in memory */
static const char *const mlp[] = {
	"model={name: mlp, window: 8, embedding_size: 32, hidden_sizes: [256, 256, 256, 256, 256,"
	" 256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256]}",
	"train_dataloader={batch_size: 160, micro_batch_size: 32, data_dir: TEXT}",
};

static const char *const in_files[] = {"", "weights and moments in a file",
				       "moments and gradients in files",
				       "gradients and images in files"};

struct job {
	const char *name, *const *model, *steps;
	uint32_t devices, files;
	int resume;
	uint64_t verify; /* a step that is replayed; 0: none */
	struct wse_run_result res[RANKS_MAX];
	struct watch w[RANKS_MAX];
};

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	/* an evaluation that takes less than the steps */
	const char *sets[] = {j->model[0], j->model[1], j->steps,
			      "val_dataloader.held_out_bytes=256"};
	struct watch *w = &j->w[me->rank];

	*w = (struct watch){.link = me->link,
			    .files = j->files,
			    .ranks = me->ranks,
			    .verify = j->verify,
			    .verify_uri = twins[0],
			    .listen = j->files ? in_files[j->files] : NULL};
	me->ret = go(j->name, twins, j->devices, sets, 4, j->resume, w, &j->res[me->rank]);
	snprintf(me->why, sizeof(me->why), "%s", wse_error());
	return NULL;
}

/* what rank 0 wrote; the files were there */
static int on(uint32_t ranks, struct job *j, char hash[65])
{
	struct rank r[RANKS_MAX];
	int bad = 0;

	on_ranks(ranks, one_rank, j, r);
	for (uint32_t i = 0; i < ranks; i++) {
		bad |= r[i].ret != 0;
		if (r[i].ret)
			printf("# %s, files %u: rank %u of %u: %s\n", j->name, j->files, i, ranks,
			       r[i].why);
	}
	if (j->files && !j->w[0].said[0])
		bad |= printf("# %s, %u ranks: not \"%s\"\n", j->name, ranks, in_files[j->files]);
	memcpy(hash, j->res[0].hash, 65);
	return bad;
}

static void same(const char *what, const char *const *model, uint32_t most)
{
	char name[64];
	struct job j = {.name = what, .model = model, .steps = "loop.max_steps=2", .devices = 1};
	char want[65], got[65];
	int bad = on(1, &j, want), runs = 0;

	j.verify = 2;
	for (j.files = WSE_FILES_STATE; j.files <= WSE_FILES_IMAGES; j.files++)
		for (uint32_t ranks = 1; ranks <= most; ranks++) {
			/* each kind of files on one number of ranks */
			if (TAP_SANITIZED && ranks != 1 + j.files % most)
				continue;
			runs++;
			snprintf(name, sizeof(name), "%s-%u-%u", what, j.files, ranks);
			j.name = name;
			j.devices = 1 + (ranks == 2);
			bad |= on(ranks, &j, got);
			if (strcmp(want, got))
				bad |= printf("# files %u, %u ranks: %s, not %s\n", j.files, ranks,
					      got, want);
		}
	ok(!bad && runs && want[0],
	   "%s: 1 to %u ranks, weights, gradients, images in files, a step replayed: one hash (%d runs)",
	   what, most, runs);
}

static void resumed(void)
{
	static const char *const steps[] = {"loop.max_steps=1", "loop.max_steps=2",
					    "loop.max_steps=3", "loop.max_steps=4"};
	static const uint32_t ranks[] = {2, 1, 3, 1}, files[] = {WSE_FILES_IMAGES, WSE_FILES_IMAGES,
								 WSE_FILES_GRADS, WSE_FILES_GRADS};
	const uint32_t parts = TAP_SANITIZED ? 2 : 4;
	struct job one = {.name = "whole", .model = gpt, .steps = steps[parts - 1], .devices = 1};
	struct job j = {.name = "parts", .model = gpt, .devices = 1};
	char want[65], got[65];
	int bad = on(1, &one, want);

	for (uint32_t i = 0; i < parts; i++) {
		j.steps = steps[i];
		j.files = files[i];
		j.resume = i > 0;
		bad |= on(ranks[i], &j, got);
		bad |= j.res[0].steps != i + 1;
	}
	ok(!bad && !strcmp(want, got),
	   "resumed with gradients and images in files, from 2 ranks to 1%s: the hash of one run",
	   parts == 4 ? ", to 3, to 1" : "");
}

int main(void)
{
	if (make_text())
		return 0;
	same("gpt", gpt, 4);
	same("mlp", mlp, 2); /* of more ranks it has less than the buffers of files take */
	resumed();
	ok(!dir_remove(), "nothing is left");
	return tap_end();
}
