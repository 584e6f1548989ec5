// SPDX-License-Identifier: MIT
/*
 * A file of one rank of several (weights, gradients, images) is on a full disk, or a faulty one, is
 * cut, or has another rank's records; the chain of a checkpoint was edited: all ranks end with one
 * sentence, what is kept is
 * the last checkpoint, and any number of ranks goes on from it to the hash of a run without a
 * fault.
 */
#define _GNU_SOURCE
#include "bad_disk.h"
#include "memx/pieces.h"
#include "ranks.h"
#include "tap.h"
#define OWN_DIR "/tmp/wse-test-XXXXXX"
#include "whole_run.h"

static const char *const twins[] = {"sim:func,rows=2,cols=4", "sim:func,rows=2,cols=4"};

/* of many units, so that most of it is in the files */
static const char *const gpt[] = {
	"model={name: gpt2, vocab_size: 256, max_position_embeddings: 16, hidden_size: 64,"
	" num_hidden_layers: 12, num_heads: 4, filter_size: 256}",
	"train_dataloader={batch_size: 3, micro_batch_size: 1, data_dir: TEXT}",
	"checkpoint.steps=2",
};

enum fault { NONE, FULL, FLIPPED, FOREIGN, CUT };

struct job {
	const char *name, *steps;
	uint32_t files;
	int resume, edited;
	struct wse_run_result res[RANKS_MAX];
	struct watch w[RANKS_MAX];
};

static enum fault fault;
static uint32_t which; /* of the scratch files of all ranks */
static int broken;     /* it was done */
/* of three files: which one becomes what, on rank 1 */
enum kind { GRADS, IMAGES, STATE };
static enum kind kind;
static const char *turns_to;
static const char flips[] = "/bit/flipped"; /* no path: what it writes has another bit */

/* the n-th scratch file, through a door of our own; *fd: it; -1: there is none */
static int door(uint32_t n, int *fd)
{
	int at = -1;

	for (*fd = 0; *fd < 1024 && at < 0; ++*fd) {
		char path[64], to[300];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
		len = readlink(path, to, sizeof(to) - 1);
		to[len < 0 ? 0 : len] = 0;
		if (strstr(to, "wse-memx") && !n--)
			at = open(path, O_RDWR | O_CLOEXEC);
	}
	--*fd;
	return at;
}

static void break_it(void)
{
	enum { BYTES = 1 << 20 };
	int of, fd = door(which, &of), others = door(!which, &(int){0});
	char *a = malloc(BYTES);
	struct stat st;

	broken = fd >= 0 && others >= 0 && a && !fstat(fd, &st) && st.st_size > BYTES;
	full_fd = of;
	full_now = fault == FULL;
	if (fault == CUT) {
		/* what is written behind the cut would make the file long again, with a hole */
		lost_fd = of;
		usleep(50000);
		broken &= !ftruncate(fd, 5 * WSE_DISK_BLOCK);
	}
	if (fault == FOREIGN) {
		broken &= pread(others, a, BYTES, 0) == BYTES;
		broken &= __real_pwrite(fd, a, BYTES, 0) == BYTES;
	}
	/* a record's header is a block */
	for (off_t at = 2 * WSE_DISK_BLOCK; fault == FLIPPED && broken && at < st.st_size;
	     at += 2 * WSE_DISK_BLOCK) {
		broken &= pread(fd, a, 1, at + 600) == 1;
		a[0] ^= 4;
		broken &= __real_pwrite(fd, a, 1, at + 600) == 1;
	}
	free(a);
	close(fd);
	close(others);
}

/* what the run's callback is told: after step 3 the disk breaks */
static int breaks(void *ctx)
{
	struct watch *w = ctx;

	if (fault && !broken && w->step == 3)
		break_it();
	if (!turns_to || broken || w->step != 3)
		return 0;
	full_fd = made[1][kind];
	full_now = !turns_to[0];
	flips_fd = turns_to == flips ? full_fd : -1;
	broken = full_now || flips_fd >= 0 || !becomes(full_fd, turns_to, O_RDWR);
	return 0;
}

static void *one_rank(void *arg)
{
	struct rank *me = arg;
	struct job *j = me->arg;
	/* an evaluation that takes less than the steps */
	const char *sets[] = {gpt[0], gpt[1], gpt[2], j->steps,
			      "val_dataloader.held_out_bytes=128"};
	struct watch *w = &j->w[me->rank];

	maker = me->rank;
	nmade = 0;
	*w = (struct watch){
		.link = me->link, .files = j->files, .ranks = me->ranks, .stop = breaks};
	me->ret = go(j->name, twins, 1, sets, 5, j->resume, w, &j->res[me->rank]);
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

static int there(const char *name, int step)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s/checkpoint_%d.safetensors", dir, name, step);
	return !access(path, R_OK);
}

/* all ranks say the same of rank `who` */
static int same_words(const struct rank *r, uint32_t ranks, uint32_t *who, const char *what,
		      const char *says)
{
	char is[80], ended[80];
	const char *unit;
	int good = 1;

	for (*who = 0; *who < ranks; ++*who) {
		snprintf(is, sizeof(is), "rank %u (thread %u): the %s in a file", *who, *who, what);
		if (strstr(r[*who].why, is))
			break;
	}
	if (*who == ranks)
		return 0;
	unit = strstr(r[*who].why, ": unit ");
	snprintf(ended, sizeof(ended), "rank %u (thread %u) ended the run: ", *who, *who);
	good = unit && strstr(unit, ", piece ") && strstr(unit, says);
	for (uint32_t i = 0; i < ranks && good; i++)
		good = i == *who || (strstr(r[i].why, ended) && strstr(r[i].why, unit));
	return good;
}

static void faulty(const char *name, enum fault f, uint32_t file, int err, const char *says,
		   const char *want)
{
	struct job j = {.name = name, .steps = "loop.max_steps=6", .files = WSE_FILES_STATE};
	struct rank r[RANKS_MAX];
	char hash[65];
	uint32_t who;
	int bad = 0;

	fault = f;
	which = file;
	broken = 0;
	no_ring = 1;
	on_ranks(2, one_rank, &j, r);
	fault = NONE;
	full_now = no_ring = 0;
	full_fd = lost_fd = -1;
	bad = !broken || r[0].ret != err || r[1].ret != err ||
	      !same_words(r, 2, &who, "weights", says);
	if (!ok(!bad && there(name, 2) && !there(name, 6), "%s: %s", name, r[0].why))
		printf("# %d: %s\n# %d: %s\n", r[0].ret, r[0].why, r[1].ret, r[1].why);
	j.resume = 1;
	bad = on(1 + 2 * file, &j, hash);
	ok(!bad && !strcmp(hash, want), "%u ranks go on from there: the hash of a run without it",
	   1 + 2 * file);
}

/*
 * gradients or images of rank 1: behind its file there is another one, which the kernel has; path
 * "": it is what it was, but full; flips: or with a disk that does not keep what is written
 */
static void turned(enum kind k, const char *path, int err, const char *says, const char *want)
{
	static const char *const what[] = {"gradients", "images", "weights"};
	struct job j = {.steps = "loop.max_steps=6", .files = WSE_FILES_IMAGES};
	struct rank r[RANKS_MAX];
	char name[40], hash[65];
	uint32_t who = 0;
	int bad;

	snprintf(name, sizeof(name), "%s-%s", what[k], path[0] ? path + 5 : "full");
	j.name = name;
	kind = k;
	turns_to = path;
	broken = 0;
	no_ring = !path[0] || path == flips; /* the thread writes: pwrite() */
	on_ranks(2, one_rank, &j, r);
	turns_to = NULL;
	full_now = no_ring = 0;
	full_fd = flips_fd = -1;
	bad = !broken || r[0].ret != err || r[1].ret != err ||
	      !same_words(r, 2, &who, what[k], says) || who != 1;
	if (!ok(!bad && there(name, 2) && !there(name, 6), "%s: %s", name, r[0].why))
		printf("# %d: %s\n# %d: %s\n", r[0].ret, r[0].why, r[1].ret, r[1].why);
	if (!want)
		return;
	j.resume = 1;
	bad = on(2, &j, hash);
	ok(!bad && !strcmp(hash, want),
	   "2 ranks go on, all in files: the hash of a run without it");
}

/* a checkpoint that was changed by hand */
static void edited(const char *want)
{
	struct job j = {.name = "edited", .steps = "loop.max_steps=4"}, go_on = j;
	struct rank r[RANKS_MAX];
	char cmd[400], hash[65];
	int bad = on(2, &j, hash);

	snprintf(
		cmd, sizeof(cmd),
		"sed -i 's/\"chain\":\"....../\"chain\":\"000000/' %s/edited/checkpoint_4.safetensors",
		dir);
	bad |= system(cmd);
	go_on.resume = 1;
	go_on.steps = "loop.max_steps=6";
	on_ranks(3, one_rank, &go_on, r);
	for (uint32_t i = 0; i < 3; i++)
		bad |= r[i].ret != -EBADMSG || !strstr(r[i].why, "checkpoint_4.safetensors") ||
		       !strstr(r[i].why, "checkpoint_2.safetensors is good");
	ok(!bad, "an edited chain: %s", r[2].why);
	snprintf(cmd, sizeof(cmd), "rm %s/edited/checkpoint_4.safetensors", dir);
	bad = system(cmd) || on(3, &go_on, hash) || strcmp(hash, want);
	ok(!bad, "3 ranks go on from the one before it: the hash of a run without it");
}

int main(void)
{
	struct job whole = {.name = "whole", .steps = "loop.max_steps=6"};
	char want[65];

	if (make_text())
		return 0;
	ok(!on(1, &whole, want), "a run without a fault: %s", want);
	faulty("full", FULL, 0, -ENOSPC, "no room is left: make some", want);
	faulty("flipped", FLIPPED, 1, -EBADMSG, "what is read is not what was written", want);
	if (!TAP_SANITIZED)
		faulty("foreign", FOREIGN, 0, -EBADMSG, "the record is another one", want);
	faulty("cut", CUT, 1, -EIO, "the file ends too early", want);
	for (enum kind k = GRADS; k <= IMAGES; k++) {
		turned(k, "", -ENOSPC, "no room is left: make some", want);
		if (TAP_SANITIZED)
			continue;
		turned(k, flips, -EBADMSG, "what is read is not what was written", NULL);
		turned(k, "/dev/null", -EIO, "the file ends too early", NULL);
		turned(k, "/dev/zero", -EBADMSG, "the record is another one", NULL);
	}
	edited(want);
	ok(!dir_remove(), "nothing is left");
	return tap_end();
}
